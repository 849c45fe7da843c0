"""What of a run folder may be built. A folder may come from anyone, and names metrics, functions, files and models.

This package's own metrics score stored rows, made of options that name nothing else (`Metric.plain`). What is the
user's own runs only where the caller named it too: in a YAML of theirs, as an object handed in, or by trusting the
folder as a whole.

>>> Trust().strangers({"_target_": "os.system", "command": "rm"})
['os.system']
>>> Trust().strangers({"_target_": "harness.metrics.bleu.Bleu", "tokenize": "zh"})
[]
>>> Trust().strangers({"_target_": "harness.metrics.bertscore.BertScore", "model": "./theirs"})
['harness.metrics.bertscore.BertScore with model=./theirs']
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from harness.inputs import plugins
from harness.inputs.functions import kind
from harness.masking import masked
from harness.metrics.named import dressed
from harness.types import HarnessError, Metric
from harness.types.real_numbers import is_number

log = logging.getLogger(__name__)
METRICS = frozenset({
    "harness.metrics.bertscore.BertScore",
    "harness.metrics.bleu.Bleu",
    "harness.metrics.chrf.Chrf",
    "harness.metrics.chrf.ChrfPlusPlus",
    "harness.metrics.column.Column",
    "harness.metrics.command.CommandMetric",
    "harness.metrics.distinct.Distinct",
    "harness.metrics.diversity.Diversity",
    "harness.metrics.imported.Imported",
    "harness.metrics.moverscore.MoverScore",
    "harness.metrics.nist.Nist",
    "harness.metrics.perplexity.Perplexity",
    "harness.metrics.python.PythonMetric",
    "harness.metrics.retrieval.Retrieval",
    "harness.metrics.rouge.Rouge",
    "harness.metrics.squad.ExactMatch",
    "harness.metrics.squad.TokenF1",
    "harness.metrics.ter.Ter",
    "harness.tracking.scorer_metric.MlflowScorer",
})  # fmt: skip
"""This package's own: the only classes that are made because a folder names them."""


@dataclass(frozen=True)
class Trust:
    """What a caller names beside this package's own metrics."""

    everything: bool = False
    """Whatever the folders name (`--trust`, `trust=True`)."""
    metrics: tuple[Metric, ...] = ()
    """Metrics of the caller's own, for the rows that are stored under their names."""
    specs: tuple[Mapping[str, Any], ...] = ()
    """`_target_` and options in the caller's own configuration."""
    shown: set[str] = field(default_factory=set, compare=False)
    """What was announced."""

    @classmethod
    def of(cls, given: Trusted) -> Trust:
        if isinstance(given, Trust):
            return given
        if isinstance(given, bool):
            return cls(everything=given)
        metrics = (given,) if isinstance(given, Metric) else tuple(given)
        if strange := [metric for metric in metrics if not isinstance(metric, Metric)]:
            raise HarnessError(f"trust has {strange[0]!r}; expected True, or objects with the Metric seam")
        return cls(metrics=metrics)

    def metric(self, name: str, stored: Mapping[str, Any]) -> Metric | None:
        """What scores the rows that are stored under a name; None where that would run what nobody here named."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        target, options = stored["_target_"], {k: v for k, v in stored["options"].items() if k != "view"}
        view = stored["options"].get("view")
        scorer = _own(target, options, stored["columns"], f"metrics.{name}") if target in METRICS else None
        full = scorer is None or scorer.aligns < type(scorer).aligns  # whose model the folder names
        strangers = self.strangers({**options, "_target_": target}) if full else []
        if not full or (strangers and not self.everything):
            return None if scorer is None else dressed(name, scorer, view)
        self.announce(strangers)
        built = plugins.build(target, options, f"metrics.{name}")
        if not isinstance(built, Metric):
            raise HarnessError(f"metrics.{name}._target_={target} makes {kind(built)}; expected a harness.Metric")
        return dressed(name, built, view)

    def announce(self, strangers: Sequence[str]) -> None:
        """Shows what runs because the folder was trusted, before it does, each once."""
        for what in strangers:
            if what not in self.shown:
                self.shown.add(what)
                log.warning("trusted, so run or loaded: %s", what)

    def strangers(self, spec: Mapping[str, Any], given: Collection[str] = ()) -> list[str]:
        """The code, files and models that a stored spec names and the caller does not, for a message; `given`: the
        fields of it that are the caller's."""
        target = spec["_target_"]
        if target in METRICS:
            own_class = plugins.locate(target)
            parameters = inspect.signature(own_class).parameters.values()
            names, known = own_class.plain, [{p.name: p.default for p in parameters}, *self._named(target)]
        else:
            names, known = (), [*([{}] if "_target_" in given else []), *self._named(target)]
        theirs = {k: v for k, v in spec.items() if k not in ("_target_", "view", *given)}  # a view names texts only
        naming = {k: v for k, v in theirs.items() if (_is_path(v) if k in names else not _names_nothing(v))}
        unknown = [{k: v for k, v in naming.items() if there.get(k, MISSING) != v} for there in known]
        if not unknown:
            return [target]
        fewest = min(unknown, key=len)
        shown = masked(fewest)
        return [f"{target} with " + ", ".join(f"{name}={shown[name]}" for name in fewest)] if fewest else []

    def _named(self, target: str) -> list[Mapping[str, Any]]:
        return [spec for spec in self.specs if spec.get("_target_") == target]


Trusted = bool | Metric | Sequence[Metric] | Trust
"""What says whom a caller trusts: everything or nothing, or metrics of their own."""
MISSING = object()


def _names_nothing(value: Any) -> bool:
    """Numbers and null; true may well be `trust_remote_code`."""
    return value is None or is_number(value)


def _is_path(value: Any) -> bool:
    """A tokenizer is a name, or the path of a SentencePiece model."""
    return isinstance(value, str) and (value.endswith(".model") or "/" in value or "\\" in value)


def _own(target: str, options: Mapping[str, Any], columns: Sequence[str], where: str) -> Metric | None:
    own_class: type[Metric] = plugins.locate(target)
    plain = {option: value for option, value in options.items() if option in own_class.plain}
    return own_class.stored({**options, **plugins.typed(own_class, plain, where)}, columns)


def described(stored: Mapping[str, Any]) -> str:
    """What stored rows would run, for people."""
    options = masked({k: v for k, v in stored["options"].items() if not _names_nothing(v)})
    named = ", ".join(f"{option}={value}" for option, value in options.items())
    text = f"{stored['_target_']}({named})"
    return text if len(text) <= 300 else f"{text[:300]} …"


def in_folder(folder: str | Path) -> tuple[Mapping[str, Any], ...]:
    """The metrics that the YAML files of a folder of configs name: DIR/metrics/*.yaml."""
    place = Path(folder)
    if not place.is_dir():
        raise HarnessError(f"--config-dir {folder} is no folder; expected one with YAML files of your own")
    specs: list[Mapping[str, Any]] = []
    for path in sorted((place / "metrics").glob("*.yaml")):
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise HarnessError(f"{path} cannot be read ({error}); expected the YAML of a metric") from None
        metrics = content.values() if isinstance(content, Mapping) else ()
        specs += [spec for spec in metrics if isinstance(spec, Mapping) and isinstance(spec.get("_target_"), str)]
    return tuple(specs)
