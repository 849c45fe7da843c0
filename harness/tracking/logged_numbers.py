"""The numbers of a run in MLflow, in groups that its pages show apart.

Headline scores stand alone at the top level and come first; the bounds of `bleu` are `interval/bleu.low` and
`interval/bleu.high`, its sub-scores (where asked for) `sub/bleu.p1`; bookkeeping is below `run/`, `health/`,
`generation/`, and scores by slice, with their bounds, below `slice/`. Each number carries the data set that it is of, and its model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.tracking.content import milliseconds, named
from harness.types import RunResult, Score, bound_name

SIDES = ("low", "high")


@dataclass(frozen=True)
class Of:
    """What numbers are of: a data set by name and digest, and a model."""

    dataset: str | None = None
    digest: str | None = None
    model: str | None = None

    def metric(self, name: str, value: float, moment: int, step: int) -> Any:
        """A number as MLflow has it; MLflow takes a data set only with both its name and its digest."""
        from mlflow.entities import Metric

        known = self.dataset if self.digest else None
        return Metric(name, value, moment, step, self.model, known, self.digest if known else None)


def metrics_of(run: RunResult, of: Of, subscores: bool = False) -> list[Any]:
    """Every number of a run, at the training step where it has one."""
    ended, step = milliseconds(run.manifest["ended"]), run.manifest["system"].get("step") or 0
    values: dict[str, float | None] = {
        **scored(run.scores, subscores),
        "run/examples": float(run.manifest["dataset"]["examples"]),
        "run/failed": float(run.failed),
        "run/seconds": (ended - milliseconds(run.manifest["started"])) / 1000,
        **{f"health/{name}": value for name, value in run.health.items() if name != "warnings"},
        **{f"generation/{name}": value for name, value in run.manifest["generation"].items()},
        **sliced(run),
    }
    known = {name: value for name, value in values.items() if value is not None}
    return [of.metric(name, value, ended, step) for name, value in named(known.items())]


def scored(scores: Mapping[str, Score], subscores: bool = False) -> dict[str, float]:
    """Headline scores, then their bounds, then sub-scores where asked for; without those that are missing."""
    headlines = {name: score for name, score in scores.items() if score.headline}
    values: dict[str, float | None] = {name: score.estimate for name, score in headlines.items()}
    for name, score in headlines.items():
        values.update({bound_name(name, side): getattr(score, side) for side in SIDES})
    if subscores:
        values.update({f"sub/{name}": score.estimate for name, score in scores.items() if not score.headline})
    return {name: value for name, value in values.items() if value is not None}


def sliced(run: RunResult) -> dict[str, float]:
    """The headline scores by slice, `slice/domain: news/bleu`, with their bounds beside them, `….low` and `….high`."""
    values: dict[str, float | None] = {}
    for part in run.slices:
        for name, score in part.scores.items():
            key = f"slice/{part.by}: {part.label}/{name}"
            values[key] = score.estimate
            values.update({f"{key}.{side}": getattr(score, side) for side in SIDES})
    return {name: value for name, value in values.items() if value is not None}
