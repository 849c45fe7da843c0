"""`harness run` as a Hydra application: composes, checks, builds the job, hands it to the runner.

`harness score` composes too: the stored run's config takes the place of conf/config.yaml, overrides go on top.

Hydra reports errors with tracebacks of its own making; here every error passes `_report`, which turns what a user can
mend into one message, a misspelt name with the nearest valid one.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import fields, replace
from datetime import datetime, timezone
from pathlib import Path
from traceback import format_exception
from typing import Any, cast

import hydra
import hydra._internal.utils as hydra_utils
import hydra.core.utils as hydra_jobs
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness import config as core
from harness import masking
from harness.files import digest
from harness.types import HarnessError

program: list[str] = []
typed: list[str] = []
"""The command as it was typed, to be shown where it should be typed again: program, and what came after it."""


def run(arguments: list[str]) -> None:
    """`harness run ARGUMENTS…`"""
    program[:], typed[:] = _program(), ["run", *arguments]
    _keep_secrets()
    store = ConfigStore.instance()
    store.store(name="core", node=core.Config)
    hydra_utils.run_and_report = lambda func: _report(func, arguments)
    flagged = ["dry_run=true" if argument == "--dry-run" else argument for argument in arguments]
    sys.argv = ["harness run", *_flags_first(flagged)]
    main = hydra.main(config_path=str(core.conf_dir()), config_name="config", version_base="1.3")(_task)
    try:
        with _interruptible(), redirect_stderr(masking.RedactingStream(sys.stderr)):  # Hydra tells the overrides there
            _report(main, arguments)
            sys.exit(Sweep.end())
    finally:
        Sweep.clean()


def _program() -> list[str]:
    return ["python", "-m", "harness"] if Path(sys.argv[0]).name == "__main__.py" else ["harness"]


def command() -> str:
    """The command as it was typed, quoted for a shell; secrets are masked, as everywhere."""
    words = []
    for word in typed:
        name, equals, value = word.partition("=")
        words.append(f"{name}={masking.masked({name.rpartition('.')[2]: value}).popitem()[1]}" if equals else word)
    return masking.redacted(shlex.join([*program, *words])) if words else "the same command"


def _keep_secrets() -> None:
    """Out of logs, tracebacks and the files that Hydra writes of itself."""
    masking.log_to(sys.stderr)
    sys.excepthook = lambda *error: print(masking.redacted("".join(format_exception(*error))), end="", file=sys.stderr)
    if not hasattr(OmegaConf.save, "keeps_secrets"):
        OmegaConf.save = staticmethod(_masking(OmegaConf.save))  # type: ignore[method-assign]
        hydra_jobs._save_config = _masking(hydra_jobs._save_config)


def _masking(save: Callable[..., None]) -> Callable[..., None]:
    """A function that saves a config, without its secrets."""

    def masked(config: Any, *place: Any, **options: Any) -> None:
        content = OmegaConf.to_container(config, resolve=False)
        save(OmegaConf.create(_without_secrets(masking.masked(content))), *place, **options)

    masked.keeps_secrets = True  # type: ignore[attr-defined]
    return masked


def _without_secrets(content: Any) -> Any:
    """Overrides are lists of texts, `system.api_key=…`."""
    if isinstance(content, dict):
        return {name: _without_secrets(value) for name, value in content.items()}
    if isinstance(content, list):
        return [_without_secrets(value) for value in content]
    return masking.redacted(content) if isinstance(content, str) else content


@contextmanager
def _interruptible() -> Iterator[None]:
    """The first Ctrl-C ends the command in good order, the second at once."""

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)


VALUED = (
    "--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd", "--cfg", "-c", "--package", "-p",
    "--info", "-i", "--experimental-rerun",
)  # fmt: skip


def _flags_first(arguments: list[str]) -> list[str]:
    """Hydra's parser refuses overrides on both sides of a flag; people type them so."""
    flags: list[str] = []
    overrides: list[str] = []
    for i, argument in enumerate(arguments):
        belongs = argument.startswith("-") or (i > 0 and arguments[i - 1] in VALUED and "=" not in argument)
        (flags if belongs else overrides).append(argument)
    return flags + overrides


def _task(composed: DictConfig) -> str | None:
    """One cell of a run or multirun; returns its run folder."""
    from harness import runner
    from harness.report.curve import print_curve
    from harness.report.progress import bars
    from harness.report.terminal import print_compare_command, print_run

    hydra_config = HydraConfig.get()
    many = hydra_config.mode == RunMode.MULTIRUN
    if composed.dry_run:
        _dry_run(composed, many)
        return None
    results = []
    try:
        for one in jobs(composed, many):
            results.append(runner.run(one, bars(composed.progress)))
            print_run(results[-1], scores=not (many or one.many))
    except HarnessError as error:
        _cell_failed(error, hydra_config)
        return None
    if results[0].manifest["system"]["series"]:
        print_curve(results)
        print_compare_command([result.path for result in results if result.path])
    return str(results[-1].path)


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
            key=core.key({**cast(dict[str, Any], resolved), "system": spec}),
            config={**whole.config, "system": masking.masked(spec, raw["system"], raw)},
            name=whole.name and f"{whole.name}-step-{spec['step']}",
            many=True,
        )


def _cell_failed(error: HarnessError, hydra_config: Any) -> None:
    """Says why; alone the cell ends the command, of several the others go on, maybe on other machines."""
    if os.environ.get("HYDRA_FULL_ERROR") == "1":
        raise error
    told = masking.redacted(error)
    print(f"harness: {told}", file=sys.stderr)
    if hydra_config.mode != RunMode.MULTIRUN:
        sys.exit(1)
    # raising would make Hydra print the overrides, secrets and all
    sweep = Path(hydra_config.sweep.dir)
    sweep.mkdir(parents=True, exist_ok=True)
    (sweep / f"{hydra_config.job.num}.failed").write_text(told)


def _dry_run(composed: DictConfig, many: bool) -> None:
    """Says what a cell would do; those of a multirun are shown together at its end."""
    from dataclasses import asdict

    from harness.dryrun import estimate
    from harness.report.progress import bars
    from harness.report.terminal import print_dry_run

    try:
        found = [asdict(estimate(one, bars(composed.progress))) for one in jobs(composed, many)]
    except HarnessError as error:
        _cell_failed(error, HydraConfig.get())
        return
    if many:
        sweep = Path(HydraConfig.get().sweep.dir)
        sweep.mkdir(parents=True, exist_ok=True)
        (sweep / f"{HydraConfig.get().job.num}.dry").write_text(json.dumps(found))
    else:
        print_dry_run(found)


PASSED = ("name", "limit", "output_dir", "group", "retry_failed", "max_failed", "cache", "cache_gb")


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
    parts = _parts(resolved)
    dataset, select = _dataset(resolved["dataset"])
    return Job(
        dataset=dataset,
        select=select,
        system=_build(resolved["system"], "system"),
        **parts,
        specs=config["metrics"],
        key=core.key(cast(dict[str, Any], resolved)),
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


def _parts(resolved: Mapping[Any, Any]) -> dict[str, Any]:
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


# ---------------------------------------------------------------- scoring a stored run

SCORABLE = ("metrics", "postprocess", "stats", "tracking", "name", "output_dir", "progress")


def score(run: str, overrides: list[str], config_dir: str | None = None) -> None:
    """`harness score RUN OVERRIDES…`"""
    program[:], typed[:] = _program(), ["score", run, *overrides]
    _keep_secrets()
    with _interruptible(), initialize_config_dir(str(core.conf_dir()), version_base="1.3"):
        _report(lambda: _score(run, overrides, config_dir), overrides)


def _score(run: str, overrides: list[str], config_dir: str | None) -> None:
    from harness import runner
    from harness.api import find_run
    from harness.report.progress import bars
    from harness.report.terminal import print_run
    from harness.store.rescored import Stored, StoredDataset, StoredSystem

    folder = find_run(run)
    stored = Stored(folder)
    config = {**stored.manifest["config"], "name": None, "output_dir": None, "group": None}
    composed = compose("stored", overrides=_over_stored(config, overrides, config_dir))
    changed = {k: OmegaConf.to_container(composed[k], resolve=True) for k in SCORABLE[:4]}
    raw = {k: OmegaConf.to_container(composed[k], resolve=False) for k in SCORABLE[:4]}
    config.update({k: composed[k] for k in SCORABLE[4:]})
    plan = runner.Job(
        dataset=StoredDataset(stored),
        system=StoredSystem(stored),
        **_parts(changed),
        specs=masking.masked(changed["metrics"], raw["metrics"]),
        key=core.key({**config, **changed}),
        config={**config, **masking.masked(changed, raw)},
        name=composed.name or stored.manifest["name"],
        output_dir=composed.output_dir,
        command=command(),
        source=folder,
    )
    print_run(runner.run(plan, bars(composed.progress)))


def _over_stored(config: Mapping[str, Any], overrides: list[str], config_dir: str | None) -> list[str]:
    """Puts a stored config where Hydra composes from; the overrides, chosen metrics beside the stored ones."""
    store = ConfigStore.instance()
    store.store(name="core", node=core.Config)
    for group in ("metrics", "postprocess", "stats", "tracking"):
        for name in ("_stored", "_kept"):  # before and after what is chosen: the order and the options that were there
            store.store(group=group, name=name, node=config[group])
    defaults: list[Any] = ["core", {"metrics": ["_stored"]}]
    defaults += [{group: "_stored"} for group in ("postprocess", "stats", "tracking")]
    store.store(name="stored", node={"defaults": [*defaults, "_self_"]})
    found = [f"hydra.searchpath=[file://{Path(config_dir).absolute()}]"] if config_dir else []
    for text, override in zip(overrides, OverridesParser.create().parse_overrides(overrides), strict=True):
        part = override.key_or_group.partition(".")[0]
        if part not in SCORABLE:
            raise HarnessError(
                f"{text}: harness score generates nothing, so {part} stays as it is; expected {', '.join(SCORABLE)}"
            )
        if override.key_or_group == "metrics" and not override.is_delete():
            chosen = override.value()
            names = chosen if isinstance(chosen, list) else [chosen]
            text = f"metrics=[_stored,{','.join(map(str, names))},_kept]"
        found.append(text)
    return found


class Sweep(Callback):  # type: ignore[misc]  # hydra has no types
    """Around a multirun: its cells share a group, and a table of the finished ones ends it."""

    started: tuple[DictConfig, str] | None = None

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        task = config.hydra.overrides.task
        if config.group is None:
            sweep = OmegaConf.to_container(config.hydra.sweeper).get("params") or {}  # type: ignore[union-attr]
            config.group = digest([sorted(task), sweep])[:8]
            task.append(f"group='{config.group}'")
        Sweep.started = config, datetime.now(timezone.utc).isoformat(timespec="milliseconds")

    @classmethod
    def end(cls) -> int:
        """Prints the table; the exit code."""
        if cls.started is None:
            return 0
        if cls.started[0].dry_run:
            return cls._end_of_dry_run(Path(cls.started[0].hydra.sweep.dir))
        from harness.api import load_run
        from harness.report.terminal import print_compare_command, print_summary
        from harness.runner import RUNS
        from harness.store.folder import read_manifest, stored_runs

        config, since = cls.started
        below = Path(config.output_dir) if config.output_dir else RUNS
        folders = sorted(
            path
            for path, manifest in stored_runs(below)
            if manifest["group"] == config.group and manifest["started"] >= since
        )
        folders.sort(key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)])
        if folders:
            print_summary([load_run(folder) for folder in folders])
        keys = [read_manifest(path)["dataset"]["key"] for path in folders]  # type: ignore[index]  # just listed
        paired = [path for path, key in zip(folders, keys, strict=True) if keys.count(key) > 1]
        if paired:
            print_compare_command(paired)
        failed = len(list(Path(config.hydra.sweep.dir).glob("*.failed")))
        if failed:
            print(f"harness: {failed} of {failed + len(folders)} runs failed, see above", file=sys.stderr)
        return 1 if failed else 0

    @staticmethod
    def _end_of_dry_run(folder: Path) -> int:
        from harness.report.terminal import print_dry_run

        found = sorted(folder.glob("*.dry"), key=lambda path: int(path.stem))
        if found:
            print_dry_run([cell for path in found for cell in json.loads(path.read_text())])
        return 1 if list(folder.glob("*.failed")) else 0

    @classmethod
    def clean(cls) -> None:
        """Removes the sweep's folder: Hydra's copy of the config there is not masked."""
        if cls.started is not None:
            folder, cls.started = Path(cls.started[0].hydra.sweep.dir), None
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # kept where there is something else in them
                folder.parent.rmdir()
                folder.parent.parent.rmdir()


# ---------------------------------------------------------------- errors


def _report(func: Callable[[], Any], arguments: list[str]) -> Any:
    """Calls; an error that a user can mend becomes one message and exit code 1."""
    try:
        return func()
    except KeyboardInterrupt:
        print(
            f"\nharness: interrupted; every finished batch is kept. To go on from here:\n  {command()}",
            file=sys.stderr,
        )
        sys.exit(130)
    except Exception as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        if isinstance(error, HarnessError):
            print(f"harness: {masking.redacted(error)}", file=sys.stderr)
        elif isinstance(error, HydraException | OmegaConfBaseException):
            print(f"harness: {masking.redacted(_explained(error, arguments))}", file=sys.stderr)
            sys.exit(2 if isinstance(error, OverrideParseException) else 1)
        else:
            raise
        sys.exit(1)


def _explained(error: Exception, arguments: list[str]) -> str:
    """Hydra's error in a line or two, with the nearest valid name where a name is wrong."""
    text = re.split(r"\n\s*(?:Config s|S)earch path", str(error).strip())[0].strip()
    if isinstance(error, OverrideParseException):
        problem = [line for line in text.splitlines() if line.strip(" ^") and "See https" not in line][-1]
        return f"{error.override} is not an override ({problem}); expected name=value, special characters quoted"
    wrong = re.search(r"Could not override '([^'@]+)", text)
    if wrong:
        name = wrong[1]
        valid = _valid_names(name, arguments)
        parent = name.rpartition(".")[0]
        beside = sorted({n.removeprefix(f"{parent}.") for n in valid if n.rpartition(".")[0] == parent})
        hint = core.nearest(name, valid)
        listed = f"; {parent or 'the top level'} has: {', '.join(beside)}" if beside else ""
        return f"{name} is not in the config{hint}{listed}"
    choice = re.search(r"(?:Could not find|Could not load) '([^']+)/([^'/]+)'", text)
    if choice:
        group, name = choice.groups()
        found = GlobalHydra.instance().config_loader().get_group_options(group)
        options = [option for option in found if not option.startswith("_")]  # those of a stored run, see score()
        if options:
            return f"{group}={name} is not a choice{core.nearest(name, options)}; {group} has: {', '.join(options)}"
    cause = f"\n{error.__cause__}" if error.__cause__ is not None else ""
    noise = ("full_key", "object_type", "reference_type", "See https")
    lines = [line for line in (text + cause).splitlines() if line.strip() and not line.strip().startswith(noise)]
    return "\n".join(lines)


def _valid_names(wrong: str, arguments: list[str]) -> list[str]:
    """Names that can be overridden, in the config composed without the wrong override."""
    loader = GlobalHydra.instance().hydra
    assert loader is not None
    groups = [g for g in loader.config_loader.list_groups("") if not g.startswith("hydra")]
    overrides = [a for a in arguments if not a.startswith("-") and "=" in a]
    kept = [a for a in overrides if not a.lstrip("+~").startswith((wrong + "=", wrong + "@"))]
    parser = OverridesParser.create()
    primary = "stored" if typed[:1] == ["score"] else "config"
    try:
        single = [a for a, o in zip(kept, parser.parse_overrides(kept), strict=True) if not o.is_sweep_override()]
        composed = loader.compose_config(primary, single, run_mode=RunMode.RUN, with_log_configuration=False)
    except (HydraException, OmegaConfBaseException):
        composed = loader.compose_config(primary, [], run_mode=RunMode.RUN, with_log_configuration=False)
    tree = OmegaConf.to_container(composed, resolve=False)
    assert isinstance(tree, dict)
    tree.pop("hydra", None)
    return [*groups, *_paths(tree)]


def _paths(tree: Mapping[Any, Any], prefix: str = "") -> Iterable[str]:
    for key, value in tree.items():
        if key == "_target_":
            continue
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _paths(value, f"{prefix}{key}.")
