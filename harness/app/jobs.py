"""The job that a composed config describes, after all checks."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from harness import config as core
from harness import masking
from harness.app.calling import command
from harness.types import HarnessError

PASSED = ("name", "limit", "output_dir", "group", "retry_failed", "max_failed", "cache", "cache_gb")


def jobs(composed: DictConfig, many: bool = False) -> Iterator[Any]:
    """The job that a composed config describes, or one for each of the systems that its system stands for."""
    whole = job(composed, many)
    if not hasattr(whole.system, "cells"):
        yield whole
        return
    raw = OmegaConf.to_container(composed, resolve=False)
    resolved = OmegaConf.to_container(composed, resolve=True)
    assert isinstance(raw, dict)
    for spec in whole.system.cells():
        yield replace(
            whole,
            system=_build(spec, "system"),
            key=core.key({**cast(dict[str, Any], resolved), "system": spec}, cast(dict[str, Any], raw)),
            config={**whole.config, "system": masking.masked(spec, raw["system"], raw, ("system",))},
            name=whole.name and f"{whole.name}-step-{spec['step']}",
            many=True,
        )


def job(composed: DictConfig, many: bool = False) -> Any:
    """The job that a composed config describes, after all checks."""
    from harness.generation import CACHE, limit_of
    from harness.runner import Job

    for key in sorted(OmegaConf.missing_keys(composed)):
        raise HarnessError(f"{key} is not set; expected {key}=…")
    known = [f.name for f in fields(core.Config)]
    for name in map(str, composed):
        if name not in known:
            raise HarnessError(f"{name} is not in the config{core.nearest(name, known)}")
    raw = OmegaConf.to_container(composed, resolve=False)
    resolved = OmegaConf.to_container(composed, resolve=True)
    assert isinstance(resolved, dict)
    config = masking.masked(resolved, raw)
    limit_of(resolved["max_failed"], 1)
    if resolved["cache"] not in CACHE:
        raise HarnessError(f"cache={resolved['cache']}; expected one of {', '.join(CACHE)}")
    scoring = parts(resolved)
    dataset, select = _dataset(resolved["dataset"])
    return Job(
        dataset=dataset,
        select=select,
        system=_build(resolved["system"], "system"),
        **scoring,
        specs=config["metrics"],
        key=core.key(cast(dict[str, Any], resolved), cast(dict[str, Any], raw)),
        config=config,
        many=many,
        command=command(),
        stop=_stop(resolved["stop"]),
        **{k: resolved[k] for k in PASSED},
    )


def _stop(options: Mapping[str, Any]) -> Any:
    """When a run ends before its examples do; None where it does not."""
    from harness.sequential import Stop

    given = [name for name in ("width", "threshold", "baseline") if options[name] is not None]
    if options["score"] is None:
        if given:
            raise HarnessError(f"stop.{given[0]} is set and stop.score is not; expected the score to stop by")
        return None
    from harness.api import load_run

    run = None if options["baseline"] is None else load_run(options["baseline"])
    return Stop(options["score"], options["width"], options["threshold"], run, options["batch"])


def parts(resolved: Mapping[Any, Any]) -> dict[str, Any]:
    """What of a job decides how outputs are scored and where that is logged."""
    from harness.stats.estimation import Options

    if not resolved["metrics"]:
        raise HarnessError("no metric was chosen; expected for instance metrics=lexical or 'metrics=[bleu,rouge]'")
    stats = Options(**resolved["stats"])
    stats.check()
    return {
        "postprocess": _build(resolved["postprocess"], "postprocess"),
        "metrics": {name: _build(spec, f"metrics.{name}") for name, spec in resolved["metrics"].items()},
        "stats": stats,
        "tracker": _build(resolved["tracking"], "tracking"),
    }


def _dataset(spec: Any) -> tuple[Any, Any]:
    """A data set, and the selection from it: the options that every data set has."""
    from harness.datasets.selection import Selection

    if not isinstance(spec, Mapping):
        return _build(spec, "dataset"), iter
    shared = inspect.signature(Selection).parameters
    own = {k: v for k, v in spec.items() if k not in shared}
    chosen = {k: v for k, v in spec.items() if k in shared}
    return _build(own, "dataset", shared), Selection(**core.checked(Selection, chosen, "dataset"))


def _build(spec: Any, where: str, shared: Iterable[str] = ()) -> Any:
    """What a spec describes; `shared`: options valid beside its own, for the message about a misspelt one."""
    if not isinstance(spec, Mapping) or "_target_" not in spec:
        raise HarnessError(f"{where} has no _target_; expected the name of a class, as in the files of conf/")
    return core.build(spec["_target_"], {k: v for k, v in spec.items() if k != "_target_"}, where, shared)
