"""Where configs are, the key of a composed one, and the metrics that names and options stand for.

Dataset, system, postprocess and metric are plug-ins: a Python file and a YAML that names it with `_target_`
(harness/inputs/plugins.py). The keys of the top level, with what each decides, are in harness/types/settings.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import yaml

from harness.inputs import plugins
from harness.inputs.files import digest
from harness.masking import NOWHERE, Origins, keyed
from harness.metrics.named import dressed
from harness.types import HarnessError, Metric, nearest
from harness.types.settings import deciding

UNKEYED = deciding("place", "manner")
"""Parts of the config that do not change what is computed."""
Choice = str | Mapping[str, Any] | Metric
"""A metric as Python code names it: by name, `{name: options}`, `{own_name: {"_target_": …, options}}`, or as an object
with the Metric seam."""


def conf_dir() -> Path:
    """The configs: inside the package when installed from a wheel, beside it in a checkout."""
    package = Path(__file__).parents[1]
    return package / "conf" if (package / "conf").is_dir() else package.parent / "conf"


def key(resolved: Mapping[str, Any], origins: Origins = NOWHERE, received: bool = False) -> str:
    """The config's key: runs of the same config find the same folder again. Secrets are not part of it.

    `origins`: which values interpolations made of secrets.
    `received`: the system is that of a run folder, which may name anything: nothing but this package is imported.
    """
    kept = {k: _keyed(v, received) if k == "system" else v for k, v in resolved.items() if k not in UNKEYED}
    return digest(keyed(kept, origins))


def of_whole(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """The config of the whole data set that this one is a shard of."""
    dataset = resolved["dataset"]
    return {**resolved, "dataset": {**dataset, "shard": None} if isinstance(dataset, Mapping) else dataset}


OWN_METRIC = re.compile(r"harness\.metrics\.[a-z_0-9]+\.[A-Za-z]+")
OWN_SYSTEM = re.compile(r"harness\.(systems|tracking)\.[a-z_]+\.[A-Za-z]+")


def _keyed(system: Any, received: bool = False) -> Any:
    """A system's options without those that say how its outputs are made, not what they are."""
    if not isinstance(system, Mapping) or not isinstance(system.get("_target_"), str):
        return system
    if received and not OWN_SYSTEM.fullmatch(system["_target_"]):
        return system
    incidental = getattr(plugins.locate(system["_target_"], "system"), "incidental", ())
    return {k: v for k, v in system.items() if k not in incidental}


# ---------------------------------------------------------------- metrics by name


def chosen_metrics(choices: Sequence[Choice] | Choice) -> dict[str, Metric]:
    """The metrics that Python code asks for, by their names."""
    chosen: dict[str, Mapping[str, Any] | Metric] = {}
    alone: set[str] = set()  # asked for by themselves, whose options a suite leaves as they are
    several = isinstance(choices, Iterable) and not isinstance(choices, str | Mapping | Metric)
    for choice in cast("Iterable[Any]", choices) if several else [choices]:
        if not isinstance(choice, str | Mapping | Metric):
            raise HarnessError(
                f"metrics has {choice!r}; expected a name, {{name: options}} or an object with the Metric seam"
            )
        for name, meant in _meant(choice).items():
            if isinstance(choice, str) and choice != name:
                if name not in alone:
                    chosen[name] = meant
                continue
            if name in alone and chosen[name] != meant:
                target = meant["_target_"] if isinstance(meant, Mapping) else "module.Class"
                raise HarnessError(
                    f"metrics has {name!r} twice, with different options; expected one, or a name of its own for the "
                    f"other: {{'my_{name}': {{'_target_': '{target}', …}}}}"
                )
            chosen[name] = meant
            alone.add(name)
    if not chosen:
        raise HarnessError("metrics is empty; expected at least one metric")
    return {name: meant if isinstance(meant, Metric) else build_metric(name, meant) for name, meant in chosen.items()}


def _meant(choice: Choice) -> Mapping[str, Mapping[str, Any] | Metric]:
    if isinstance(choice, Metric):
        return {choice.name: choice}
    return metric_specs(choice) if isinstance(choice, str) else _with_options(choice)


def build_metrics(specs: Mapping[str, Any] | None) -> dict[str, Metric]:
    """All that were chosen, by their names."""
    if not specs:
        raise HarnessError("no metric was chosen; expected for instance metrics=lexical or 'metrics=[bleu,rouge]'")
    return {name: build_metric(name, spec) for name, spec in specs.items()}


def build_metric(name: str, spec: Mapping[str, Any]) -> Metric:
    """The metric of a config's `{_target_, options, view}`, under the name that it has there."""
    options = {k: v for k, v in spec.items() if k not in ("_target_", "view")}
    made: Any = plugins.build(spec["_target_"], options, f"metrics.{name}", shared=("view",))
    metric: Metric = dressed(name, made, spec.get("view")) if isinstance(made, Metric) else made
    if isinstance(metric, Metric):
        metric.spec = dict(spec)
    return metric


def _with_options(choice: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    specs = {}
    for name, given in choice.items():
        options = {} if given is None else given
        if not isinstance(options, Mapping):
            raise HarnessError(f"metrics.{name} is {options!r}; expected its options, such as {{{name!r}: {{…}}}}")
        if "_target_" in options:  # a metric under a name of its own
            specs[name] = dict(options)
            continue
        known = metric_specs(name)
        if name not in known:
            raise HarnessError(f"{name!r} is a suite and takes no options; expected one metric")
        specs[name] = _merged(known[name], options)
    return specs


def _merged(spec: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """A metric's spec with other options; those of its view that are not named stay as they are."""
    view = options.get("view")
    both = isinstance(view, Mapping) and isinstance(spec.get("view"), Mapping)
    return {**spec, **options, **({"view": {**spec["view"], **view}} if both else {})}  # type: ignore[dict-item]


def metric_specs(name: str, folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """The `{key: {_target_, options}}` of conf/metrics/NAME.yaml, suites followed."""
    folder = folder or conf_dir() / "metrics"
    path = folder / f"{name}.yaml"
    if not path.exists():
        known = sorted(p.stem for p in folder.glob("*.yaml"))
        raise HarnessError(
            f"the metric {name!r} is not known{nearest(name, known)}; expected one of {', '.join(known)}"
        )
    content = deepcopy(_parsed(path.read_text(encoding="utf-8")))
    specs: dict[str, dict[str, Any]] = {}
    for other in content.pop("defaults", []):
        specs.update(metric_specs(other, folder))
    return {**specs, **content}


@lru_cache(maxsize=128)
def _parsed(text: str) -> Any:
    """What YAML says, which takes longer to find out than to score ten pairs: a training loop asks at every step."""
    return yaml.safe_load(text)
