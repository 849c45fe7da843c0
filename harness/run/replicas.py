"""What runs elsewhere: replicas of metrics and of a system, made of their recipes where they run.

A replica must compute what this process would: the code that decides results is the same, or it is not made.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
from harness.inputs import plugins
from harness.run import manifest
from harness.run.answers import Answered, bounded
from harness.run.config import build_metric
from harness.run.scoring import Scorer, Table
from harness.types import Example, HarnessError, Metric, Output, System


class Scoring:
    """Metrics that compute rows of blocks."""

    def __init__(
        self,
        code: str,
        specs: Mapping[str, Mapping[str, Any]],
        fitted: Mapping[str, Mapping[str, Any]],
        stored: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """`code`: the hash of that of the run; `fitted`: what metrics hold that were fitted to the data set; `stored`:
        the data set, the system and the postprocessing, for blocks that are read here."""
        _check_code(code)
        metrics: dict[str, Metric] = {name: build_metric(name, spec) for name, spec in specs.items()}
        for name, state in fitted.items():
            _teach(metrics[name], state)
        self._scorer = Scorer(metrics, {})
        self._stored, self._parts = stored, dict[str, Any]()

    def __call__(self, item: tuple[Sequence[str], Answered | tuple[Any, Any]]) -> Table | str:
        """Rows of the metrics named, for a block, or for one that is read here; why it cannot be read."""
        names, block = item
        if isinstance(block, tuple):
            for place in block:
                if not place.there:
                    return f"{place.path} is not on the node {socket.gethostname()}, or was changed"
            block = self._read(*block)
        return self._scorer.rows_of((names, block))

    def _read(self, place: Any, of_outputs: Any) -> Answered:
        if not self._parts:
            self._parts = {part: _built(spec, part) for part, spec in self._stored.items()}
        rows = self._parts["dataset"].read_located(place)
        raw = self._parts["system"].read_located(of_outputs)
        return Answered(rows, raw, bounded(self._parts["postprocess"].column(raw)))


class Generating:
    """A system that answers batches."""

    def __init__(self, code: str, spec: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """`state`: what the system holds that looked at the data before it answers."""
        _check_code(code)
        self._system: System = _built(spec, "system")
        vars(self._system).update(state)

    def load(self) -> None:
        self._system.load()

    def __call__(self, batch: Sequence[Example]) -> list[dict[int, Output]]:
        """The outputs by their place in the batch, in the groups in which they came."""
        return [dict(group) for group in self._system.stream(batch)]

    def close(self) -> None:
        self._system.close()


def _check_code(code: str) -> None:
    if manifest.code() != code:
        raise HarnessError(
            f"the code of harness {harness.__version__} in {Path(harness.__file__).parent} is not that of the run; "
            "expected the same version on all nodes"
        )


def _teach(metric: Metric, state: Mapping[str, Any]) -> None:
    """Hands on what its like was fitted to; a metric under a name of its own has another one inside."""
    for name, value in state.items():
        inner = vars(metric).get(name)
        if isinstance(inner, Metric):
            _teach(inner, value)
        else:
            setattr(metric, name, value)


def _built(spec: Mapping[str, Any], where: str) -> Any:
    return plugins.build(spec["_target_"], {name: value for name, value in spec.items() if name != "_target_"}, where)
