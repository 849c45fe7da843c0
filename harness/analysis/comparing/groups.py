"""Runs that are seeds of one system: `ours=runs/ours-seed*`, or those of a sweep that differ in one parameter only
(`group_by=system.seed`).

A group is one run with the outputs of all of them: the seeds follow each other as repeats. Whatever shows or tests runs
shows and tests groups.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.analysis.comparing.pairing import common_metrics, in_order
from harness.analysis.stored import parameters as sweeps
from harness.inputs import arrow, files
from harness.inputs.choices import LEVEL, METHODS, RESAMPLES, SEED
from harness.inputs.nested import leaves
from harness.inputs.project import runs_folder
from harness.stats import intervals
from harness.stats.design import Design
from harness.stats.options import Options
from harness.store.places import find
from harness.store.records import records
from harness.types import HarnessError, Rows, RunResult, Score, nearest
from harness.types.shown import counted

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)
UNGROUPED = "none"
"""What `--group-by` calls no grouping, where the runs themselves say how."""


def members(word: str) -> tuple[str, list[Path]] | None:
    """(name, run folders) of `NAME=GLOB`: patterns of folders or of names of runs below runs/, names of single runs or
    MLflow run ids, with commas between them; None where the word names no group."""
    name, equals, patterns = word.partition("=")
    if not equals or not name or "/" in name:
        return None
    folders: dict[Path, None] = {}
    for pattern in patterns.split(","):
        places = sorted(Path(place) for place in glob(pattern)) if has_magic(pattern) else [Path(pattern)]
        matches = [place for place in places if (place / "manifest.json").exists()] or _named(pattern)
        if not matches:
            raise HarnessError(
                f"{word}: there is no finished run {pattern!r}; expected run folders, or names of runs below "
                f"{os.path.abspath(runs_folder())}"
            )
        folders |= dict.fromkeys(matches)
    return name, list(folders)


def _named(pattern: str) -> list[Path]:
    """The newest run of each name that fits, in the order of names."""
    if not runs_folder().is_dir():
        return []
    if not has_magic(pattern):
        folder = find(runs_folder(), pattern)
        return [] if folder is None else [folder]
    newest: dict[str, tuple[Any, Path]] = {}
    for run in records(runs_folder()):
        if fnmatch(run.name, pattern):
            newest[run.name] = max(newest.get(run.name, (run.ended, run.path)), (run.ended, run.path))
    return [newest[name][1] for name in sorted(newest)]


def merged(name: str, runs: Sequence[RunResult]) -> list[RunResult]:
    """The runs as seeds of one system of this name, one result for each data set that they are of."""
    by_data: dict[str, list[RunResult]] = {}
    for run in runs:
        by_data.setdefault(run.dataset_key, []).append(run)
    several = len(by_data) > 1
    return [_merged(f"{part[0].dataset}-{name}" if several else name, name, part) for part in by_data.values()]


def _merged(name: str, system: str, runs: Sequence[RunResult]) -> RunResult:
    first = runs[0]
    order = first.columns("id", "repeat")
    each = outputs_each(first)
    ready = [first]
    for run in runs[1:]:
        if run.seeds > 1 or first.seeds > 1 or outputs_each(run) != each:
            raise HarnessError(
                f"{name}: {run.name} has {counted(outputs_each(run), 'output')} an example of "
                f"{counted(run.seeds, 'seed')}, {first.name} "
                f"{each} of {first.seeds}; expected runs of one seed each, with the same number of outputs"
            )
        ready.append(in_order(run, first, order))
    metrics = [metric for metric in first.statistics if all(metric in run.statistics for run in runs)]
    for run in ready[1:]:
        common_metrics(first, run, {})
    if len(runs) == 1:
        return replace(first, name=name, system=system)

    def table() -> pa.Table:
        return _stacked([run.table for run in ready], each)

    statistics = {
        metric: replace(
            first.statistics[metric],
            load=partial(_rows_of, ready, metric),
            key=files.digest([run.statistics[metric].key for run in ready]),
        )
        for metric in metrics
    }
    group = replace(
        first,
        name=name,
        system=system,
        statistics=statistics,
        load=table,
        failed=sum(run.failed for run in runs),
        manifest=_manifest(name, system, ready, each),
        path=None,
        health=_health(runs),
        seeds=len(runs),
        untested={k: v for run in runs for k, v in run.untested.items()},
    )
    return replace(group, scores=_scores(group, first))


def _rows_of(runs: Sequence[RunResult], metric: str) -> Rows:
    return Rows.joined(*(run.statistics[metric].whole for run in runs))


def outputs_each(run: RunResult) -> int:
    """How many outputs an example has, at most."""
    return int(arrow.integers(run.columns("repeat").column("repeat")).max(initial=0)) + 1


def _stacked(tables: Sequence[pa.Table], each: int) -> pa.Table:
    """The rows of all seeds, the repeats of one after those of the other; columns that all of them have."""
    import pyarrow as pa

    shared = [name for name in tables[0].column_names if all(name in table.column_names for table in tables)]
    parts = []
    for seed, table in enumerate(tables):
        repeats = arrow.numbers(arrow.integers(table.column("repeat")) + seed * each)
        part = table.select(shared)
        parts.append(part.set_column(shared.index("repeat"), "repeat", repeats))
    return pa.concat_tables(parts, promote_options="permissive").combine_chunks()


def _manifest(name: str, system: str, runs: Sequence[RunResult], each: int) -> dict[str, Any]:
    """What made the group: what made the first of its runs, what differs in the others, and which runs they are."""
    first = runs[0].manifest
    if not first:
        return {}
    return {
        **first,
        "name": name,
        "key": files.digest([run.manifest.get("key") for run in runs]),
        "system": {**first["system"], "name": system, "repeats": each * len(runs), "seeds": len(runs), "step": None},
        "mlflow": None,
        "cell": None,
        "ended": max(str(run.manifest.get("ended", "")) for run in runs),
        "runs": ["/".join(run.path.absolute().parts[-2:]) if run.path else run.name for run in runs],
        "config": _together([run.manifest.get("config", {}) for run in runs]),
    }


def _together(configs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One config of several: a value that differs is the list of what it is in each."""
    merged: dict[str, Any] = {}
    for key, value in configs[0].items():
        values = [config.get(key) for config in configs]
        if all(isinstance(other, Mapping) for other in values):
            merged[key] = _together(values)  # type: ignore[arg-type]  # all of them are mappings
        else:
            merged[key] = value if all(other == value for other in values) else values
    return merged


def _health(runs: Sequence[RunResult]) -> dict[str, Any]:
    """What is odd about the outputs of each seed."""
    return {"warnings": [f"{run.name}: {line}" for run in runs for line in run.health.get("warnings", ())]}


def _scores(group: RunResult, first: RunResult) -> dict[str, Score]:
    """Every score of all seeds together, with an interval for new ones."""
    stored = next(iter(first.scores.values()), None)
    level, resamples = (LEVEL, RESAMPLES) if stored is None else (stored.level, stored.resamples)
    method = stored.method if stored is not None and stored.method in METHODS else METHODS[0]
    seed = first.manifest.get("seed", SEED) if first.manifest else SEED
    options = Options(resamples, level, method, seed)
    return intervals.scores(list(group.statistics.values()), Design.of_run(group, seed), options)


# ---------------------------------------------------------------- sweeps


def by_parameter(runs: Sequence[RunResult], parameter: str | None) -> list[RunResult]:
    """The runs, those that differ in this parameter alone as one; where none is given, in the one that all of the runs
    were made with (`group_by`)."""
    groups = split(runs, parameter)
    return list(runs) if groups is None else [run for name, group in groups for run in merged(name, group)]


def split(runs: Sequence[RunResult], parameter: str | None) -> list[tuple[str, list[RunResult]]] | None:
    """The same as (name, runs) of each group; None where there is nothing to group by."""
    chosen = parameter or _own(runs)
    if chosen is None or chosen == UNGROUPED:
        return None
    together: dict[str, list[tuple[Any, RunResult]]] = {}
    for run in runs:
        settings = dict(leaves({part: run.manifest.get("config", {}).get(part) for part in sweeps.PARTS}))
        if chosen not in settings:
            raise HarnessError(
                f"{run.name} has no {chosen}{nearest(chosen, list(settings))}; expected a parameter that every run "
                "has, such as system.seed"
            )
        value = settings.pop(chosen)
        rest = {name: setting for name, setting in settings.items() if name not in sweeps.INCIDENTAL[1:]}
        together.setdefault(files.digest([run.dataset_key, rest]), []).append((value, run))
    if parameter is not None and all(len(group) == 1 for group in together.values()):
        raise HarnessError(f"no two of the {len(runs)} runs differ in {chosen} alone; expected seeds of one system")
    groups = [[run for _, run in sorted(group, key=_by_value)] for group in together.values()]
    names = _labels([group[0] for group in groups], chosen)
    return list(zip(names, groups, strict=True))


def _by_value(item: tuple[Any, RunResult]) -> tuple[bool, Any]:
    value = item[0]
    return (False, value) if isinstance(value, int | float) else (True, str(value))


def _own(runs: Sequence[RunResult]) -> str | None:
    """What all of the runs say that they are grouped by."""
    named = (run.manifest.get("config", {}).get("group_by") for run in runs)
    chosen = {name if isinstance(name, str) else None for name in named}  # a damaged folder may hold anything
    only = next(iter(chosen)) if len(chosen) == 1 else None
    return only if isinstance(only, str) else None


def _labels(runs: Sequence[RunResult], parameter: str) -> list[str]:
    """What groups are called: as their runs would be, but for the parameter that does not matter."""
    names = [""] * len(runs)
    for key in dict.fromkeys(run.dataset_key for run in runs):
        places = [i for i, run in enumerate(runs) if run.dataset_key == key]
        shown = [_without(runs[i], parameter) for i in places]
        for i, label in zip(places, sweeps.labels(shown), strict=True):
            names[i] = label
    return names


def _without(run: RunResult, parameter: str) -> RunResult:
    part, _, rest = parameter.partition(".")
    config = dict(run.manifest.get("config", {}))
    config[part] = _dropped(config.get(part), rest.split("."))
    return replace(run, manifest={**run.manifest, "config": config, "cell": None})


def _dropped(tree: Any, path: Sequence[str]) -> Any:
    if not isinstance(tree, Mapping):
        return tree
    if len(path) == 1:
        return {key: value for key, value in tree.items() if key != path[0]}
    return {key: _dropped(value, path[1:]) if key == path[0] else value for key, value in tree.items()}
