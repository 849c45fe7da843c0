"""The job that a composed config describes, after all checks."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness import masking
from harness.cli.hydra import calling, varied, view_words
from harness.cli.hydra.checking import check_flags, check_values
from harness.cli.hydra.interpolations import origins
from harness.cli.hydra.watching import Watch
from harness.inputs import plugins, prompts, shelf
from harness.run import config as core
from harness.run.sharing import stamped
from harness.store.sweep_cells import cell
from harness.tracking import datasets, registry_prompts
from harness.tracking.surrounding import settled
from harness.types import HarnessError, Systems, check_choice, nearest
from harness.types.settings import Config

if TYPE_CHECKING:
    from harness.run.job import Job

PASSED = ("limit", "output_dir", "group", "retry_failed", "max_failed", "cache", "cache_gb")
"""Keys of the config that a job has under the same name."""
NAMED = ("dataset", "system")
"""Parts of the config that are called by their names."""
SCORING = ("metrics", "postprocess", "stats", "tracking")
"""Parts of the config that decide how outputs are scored and where that is logged."""


def jobs(composed: DictConfig, many: bool = False) -> Generator[Job]:
    """The job that a composed config describes, or one for each of the systems that its system stands for."""
    whole = job(composed, many)
    systems: Any = getattr(whole.system, "several", None) or whole.system
    watch = _watch(composed, many)
    if not isinstance(systems, Systems):
        if watch is not None:
            raise HarnessError(f"watch=true with one system, {systems.name}; expected system=checkpoints or adapters")
        yield whole
        return
    together = systems.cells() if watch is None else []
    specs: Iterable[dict[str, Any]] = together if watch is None else watch.cells(systems)
    member = (composed.sweep or {}).get("member")
    if member is not None:
        specs = [spec for spec in specs if member_of(spec) == member]
    try:
        yield from _cells(composed, whole, systems, specs, together)
    finally:
        systems.close()


def _cells(
    composed: DictConfig,
    whole: Job,
    systems: Systems,
    specs: Iterable[dict[str, Any]],
    together: Sequence[dict[str, Any]],
) -> Iterator[Job]:
    """`together`: the systems that are known before, which are told apart by their names."""
    resolved, sources = contents(composed)
    known = dict(whole.cell["space"]) if whole.cell else {}
    for name in {name for spec in together for name in _own(spec)}:
        known[f"system.{name}"] = [_own(spec).get(name) for spec in together]
    for spec in specs:
        own = {f"system.{name}": value for name, value in _own(spec).items()}
        yield replace(
            whole,
            cell=whole.cell and cell({**whole.cell["parameters"], **own}, whole.cell["number"], known=known),
            system=systems.system(spec) or build(spec, "system"),
            recipes={**whole.recipes, "system": spec},
            key=core.key({**resolved, "system": spec}, sources),
            whole_key=core.key(core.of_whole({**resolved, "system": spec}), sources),
            config={**whole.config, "system": masking.masked(spec, sources.below("system"))},
            given_name=whole.given_name and f"{whole.given_name}-{_suffix(spec)}",
            many=True,
        )


def _own(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What tells one of several systems from the others: a checkpoint's step, a file, a column."""
    name = next(name for name in ("step", "path", "field") if spec.get(name) is not None)
    return {name: spec[name]}


def member_of(spec: Mapping[str, Any]) -> str:
    """One of several systems, as a race names it."""
    return str(next(iter(_own(spec).values())))


def members(composed: DictConfig) -> list[str]:
    """The systems that the system of a config stands for, by what tells them apart; none where it is one."""
    system = build(contents(composed)[0]["system"], "system")
    systems: Any = getattr(system, "several", None) or system
    return [member_of(spec) for spec in systems.cells()] if isinstance(systems, Systems) else []


def _suffix(spec: Mapping[str, Any]) -> str:
    """Of a run's name."""
    ((name, value),) = _own(spec).items()
    return f"step-{value}" if name == "step" else Path(value).stem if name == "path" else value


def _typed() -> tuple[str, ...]:
    """The keys that were set on the command line or by a sweep."""
    if not HydraConfig.initialized():
        return ()
    words: Any = OmegaConf.to_container(HydraConfig.get().overrides.task)  # not resolved: `${.key}` means nothing there
    return typed_keys(OverridesParser.create().parse_overrides(words))


def typed_keys(overrides: Iterable[Override]) -> tuple[str, ...]:
    """The keys of overrides, each once."""
    return tuple(dict.fromkeys(override.key_or_group for override in overrides if not override.is_delete()))


def _watch(composed: DictConfig, many: bool) -> Watch | None:
    """How new checkpoints are waited for; None where they are not."""
    if not composed.watch:
        for key in ("watch_until", "watch_idle"):
            if composed[key] is not None:
                raise HarnessError(f"{key}={composed[key]} without watch=true; expected both")
        return None
    if many:
        raise HarnessError("watch=true in a multirun; expected one run, since the first would keep the others waiting")
    return None if composed.dry_run else Watch(composed.watch_until, composed.watch_idle)


def check(composed: DictConfig) -> tuple[dict[str, Any], masking.Origins]:
    """Refuses a config that no job can be made of, whatever its parts are; else its `contents`."""
    resolved, sources = contents(composed)
    _check_keys(composed, resolved)
    check_flags(resolved)
    check_values(resolved)
    return resolved, sources


def job(composed: DictConfig, many: bool = False) -> Job:
    """The job that a composed config describes; its parts are built in the order in which data flows."""
    from harness.run.job import Job

    resolved, sources = check(composed)
    own, race = varied.own(resolved.pop("sweep")), resolved.pop("race")
    config = masking.masked(resolved, sources)
    engine = build(resolved["engine"], "engine")
    shelf.kept.resize(getattr(engine, "keep_models", 0))
    spec = resolved["dataset"]
    dataset, select = shelf.kept.get("data", stamped(spec), lambda: _dataset(spec))
    return Job(
        dataset=dataset,
        select=select,
        system=build(resolved["system"], "system"),
        **scoring_parts(resolved),
        engine=engine,
        recipes=_recipes(resolved),
        specs=config["metrics"],
        key=core.key(resolved, sources),
        whole_key=core.key(core.of_whole(resolved), sources),
        config=config,
        given_name=config["name"],
        cell=own,
        many=many,
        command=calling.command(),
        call=calling.recorded(),
        overrides=_typed(),
        stop=_stop(resolved["stop"], resolved["metrics"]),
        race=_round(race),
        **{key: resolved[key] for key in PASSED},
    )


def contents(composed: DictConfig) -> tuple[dict[str, Any], masking.Origins]:
    """A config as plain values, and which of them are made of secrets or of the environment."""
    try:
        resolved = OmegaConf.to_container(composed, resolve=True)
    except OmegaConfBaseException as error:  # of Hydra's own making: the overrides, then the error
        reason = str(error).strip().splitlines()[0]
        raise HarnessError(
            f"{error.full_key or 'the config'}: {reason}; expected ${{…}} to name what is there"
        ) from None
    assert isinstance(resolved, dict)
    config = {str(k): v for k, v in resolved.items()}
    config["tracking"] = settled(config["tracking"])
    if isinstance(config["system"], Mapping):
        asked = prompts.with_text(config["system"])
        config["system"] = registry_prompts.pinned(asked, config["tracking"].get("uri"))
    if isinstance(config["dataset"], Mapping):
        config["dataset"] = datasets.pinned(config["dataset"])
    return config, origins(composed)


def scoring_parts(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a job by the config's `SCORING`."""
    from harness.stats.options import Options

    if not resolved["metrics"]:
        raise HarnessError("no metric was chosen; expected for instance metrics=lexical or 'metrics=[bleu,rouge]'")
    if "_target_" in resolved["metrics"]:
        raise HarnessError(
            "metrics has a _target_ but no name above it; expected a top key in the metric's YAML, for instance "
            "`my_score:`, with `_target_:` and the options indented below it"
        )
    view_words.check(resolved["metrics"])
    postprocess = build(resolved["postprocess"], "postprocess")
    metrics = {name: _metric(spec, name) for name, spec in resolved["metrics"].items()}
    stats = Options(**resolved["stats"])
    stats.check()
    return {
        "postprocess": postprocess,
        "metrics": metrics,
        "stats": stats,
        "tracker": tracker(resolved),
    }


def tracker(resolved: Mapping[str, Any]) -> Any:
    """What runs of a config are logged by."""
    return build(settled(resolved["tracking"]), "tracking")


def _check_keys(composed: DictConfig, resolved: Mapping[str, Any]) -> None:
    from harness.run.generation import CACHE, limit_of

    if MISSING in str(resolved):  # else a search that takes longer finds nothing
        for key in sorted(OmegaConf.missing_keys(composed)):
            raise HarnessError(f"{key} is not set; expected {key}=…")
    known = [field.name for field in fields(Config)]
    for name in map(str, composed):
        if name not in known:
            raise HarnessError(f"{name} is not in the config{nearest(name, known)}")
    limit_of(composed.max_failed, 1)
    check_choice("cache", composed.cache, CACHE)


def _round(spec: Any) -> Any:
    """How far a cell of a race goes; None where it is in none."""
    from harness.run.job import Round

    if spec is None:
        return None
    if not isinstance(spec, Mapping):
        raise HarnessError(f"race={spec}; expected null, or what hydra/sweeper=race sets")
    return Round(**plugins.checked(Round, {str(name): value for name, value in spec.items()}, "race"))


def _stop(options: Mapping[str, Any], metrics: Mapping[str, Any]) -> Any:
    """When a run ends before its examples do; None where it does not."""
    from harness.run.stopping import Stop

    ends = [name for name in ("width", "threshold", "baseline") if options[name] is not None]
    if options["score"] is None:
        if ends:
            raise HarnessError(f"stop.{ends[0]} is set and stop.score is not; expected the score to stop by")
        return None
    from harness.analysis.stored.loading import load_run
    from harness.analysis.stored.trust import Trust

    run = None if options["baseline"] is None else load_run(options["baseline"], Trust(specs=tuple(metrics.values())))
    return Stop(options["score"], options["width"], options["threshold"], run, options["batch"])


def _dataset(spec: Any) -> tuple[Any, Any]:
    """A data set, and the selection from it: the options that every data set has."""
    from harness.datasets.selection import Selection

    if not isinstance(spec, Mapping):
        return build(spec, "dataset"), iter
    shared = inspect.signature(Selection).parameters
    own = {k: v for k, v in spec.items() if k not in shared}
    chosen = {k: v for k, v in spec.items() if k in shared}
    return build(own, "dataset", shared), Selection(**plugins.checked(Selection, chosen, "dataset")).blocks


def _metric(spec: Any, name: str) -> Any:
    where = f"metrics.{name}"
    _check_target(spec, where)
    return _with_name(core.build_metric(name, spec), spec, where)


def _recipes(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """What makes parts of a job elsewhere; of a data set without the selection from it."""
    from harness.datasets.selection import Selection

    shared = inspect.signature(Selection).parameters
    dataset = resolved["dataset"]
    own = {k: v for k, v in dataset.items() if k not in shared} if isinstance(dataset, Mapping) else dataset
    return {"dataset": own, **{part: resolved[part] for part in ("system", "postprocess", "metrics")}}


def build(spec: Any, where: str, shared: Iterable[str] = ()) -> Any:
    """What a spec describes; `shared`: options valid beside its own, for the message about a misspelt one."""
    _check_target(spec, where)
    part = plugins.build(spec["_target_"], {k: v for k, v in spec.items() if k != "_target_"}, where, shared)
    return _with_name(part, spec, where) if where in NAMED else part


def _check_target(spec: Any, where: str) -> None:
    if not isinstance(spec, Mapping) or "_target_" not in spec:
        raise HarnessError(f"{where} has no _target_; expected the name of a class, as in the files of conf/")


def _with_name(part: Any, spec: Mapping[str, Any], where: str) -> Any:
    if not isinstance(getattr(part, "name", None), str):
        raise HarnessError(f"{where}: {spec['_target_']} has no name; expected a text as its attribute `name`")
    return part
