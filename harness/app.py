"""`harness run` as a Hydra application: composes, checks, builds the job, hands it to the runner.

Hydra reports errors with tracebacks of its own making; here every error passes `_report`, which turns what a user can
mend into one message, a misspelt name with the nearest valid one.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

import hydra
import hydra._internal.utils as hydra_utils
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
from harness.files import digest
from harness.types import HarnessError


def run(arguments: list[str]) -> None:
    """`harness run ARGUMENTS…`"""
    logging.basicConfig(level=logging.WARNING, format="harness: %(message)s", stream=sys.stderr, force=True)
    store = ConfigStore.instance()
    store.store(name="core", node=core.Config)
    hydra_utils.run_and_report = lambda func: _report(func, arguments)
    sys.argv = ["harness run", *_flags_first(arguments)]
    main = hydra.main(config_path=str(core.conf_dir()), config_name="config", version_base="1.3")(_task)
    try:
        _report(main, arguments)
        sys.exit(Sweep.end())
    finally:
        Sweep.clean()


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
    results = []
    try:
        for one in jobs(composed, many):
            results.append(runner.run(one, bars(composed.progress)))
            print_run(results[-1], scores=not (many or one.many))
    except HarnessError as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        print(f"harness: {error}", file=sys.stderr)
        if not many:
            sys.exit(1)
        # the other cells go on, maybe on other machines; raising would make Hydra print the overrides, secrets and all
        sweep = Path(hydra_config.sweep.dir)
        sweep.mkdir(parents=True, exist_ok=True)
        (sweep / f"{hydra_config.job.num}.failed").write_text(str(error))
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
            config={**whole.config, "system": core.masked(spec, raw["system"], raw)},
            name=whole.name and f"{whole.name}-step-{spec['step']}",
            many=True,
        )


def job(composed: DictConfig, many: bool = False) -> Any:
    """The job that a composed config describes, after all checks."""
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
    config = core.masked(resolved, raw)
    metrics = resolved["metrics"]
    if not metrics:
        raise HarnessError("no metric was chosen; expected for instance metrics=lexical or 'metrics=[bleu,rouge]'")
    stats = resolved["stats"]
    from harness.stats.intervals import check_options

    check_options(**stats)
    return Job(
        dataset=_build(resolved["dataset"], "dataset"),
        system=_build(resolved["system"], "system"),
        postprocess=_build(resolved["postprocess"], "postprocess"),
        metrics={name: _build(spec, f"metrics.{name}") for name, spec in metrics.items()},
        specs=config["metrics"],
        stats=stats,
        tracker=_build(resolved["tracking"], "tracking"),
        key=core.key(cast(dict[str, Any], resolved)),
        config=config,
        many=many,
        **{k: resolved[k] for k in ("name", "limit", "output_dir", "group", "retry_failed")},
    )


def _build(spec: Any, where: str) -> Any:
    if not isinstance(spec, Mapping) or "_target_" not in spec:
        raise HarnessError(f"{where} has no _target_; expected the name of a class, as in the files of conf/")
    return core.build(spec["_target_"], {k: v for k, v in spec.items() if k != "_target_"}, where)


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

    @classmethod
    def clean(cls) -> None:
        """Removes the sweep's folder: Hydra's copy of the config there is not masked."""
        if cls.started is not None:
            folder, cls.started = Path(cls.started[0].hydra.sweep.dir), None
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.parent.rmdir()


# ---------------------------------------------------------------- errors


def _report(func: Callable[[], Any], arguments: list[str]) -> Any:
    """Calls; an error that a user can mend becomes one message and exit code 1."""
    try:
        return func()
    except KeyboardInterrupt:
        print(
            "\nharness: interrupted; every finished batch is kept, the same command goes on from here", file=sys.stderr
        )
        sys.exit(130)
    except Exception as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        if isinstance(error, HarnessError):
            print(f"harness: {error}", file=sys.stderr)
        elif isinstance(error, HydraException | OmegaConfBaseException):
            print(f"harness: {_explained(error, arguments)}", file=sys.stderr)
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
        options = GlobalHydra.instance().config_loader().get_group_options(group)
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
    try:
        single = [a for a, o in zip(kept, parser.parse_overrides(kept), strict=True) if not o.is_sweep_override()]
        composed = loader.compose_config("config", single, run_mode=RunMode.RUN, with_log_configuration=False)
    except (HydraException, OmegaConfBaseException):
        composed = loader.compose_config("config", [], run_mode=RunMode.RUN, with_log_configuration=False)
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
