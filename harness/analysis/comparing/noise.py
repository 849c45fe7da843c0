"""Where the noise of stored runs comes from: their examples, their seeds, a prompt or whatever else differs between
runs that should not matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from harness.analysis.comparing import groups
from harness.analysis.comparing.batch_order import is_greedy
from harness.analysis.comparing.pairing import check_known
from harness.analysis.stored import parameters as sweeps
from harness.analysis.stored.loading import Run, loaded_runs
from harness.analysis.stored.trust import Trusted
from harness.inputs.choices import LEVEL, SEED
from harness.stats.design import Design
from harness.stats.intervals import ROUNDING, number
from harness.stats.power.components import EXAMPLE, Parts, Purchase, Source, decomposed
from harness.stats.resampling import Sample, quiet_single_thread
from harness.stats.seeds import cells
from harness.store.sweep_cells import short_names
from harness.types import Array, HarnessError, RunResult

BATCH_ORDER = "batch order"
"""What repeats of a greedy run differ by: a batch's size and order change the last bits of its numbers."""


@dataclass(frozen=True)
class Variance:
    """Where the noise of one score of one system comes from."""

    dataset: str
    system: str
    score: str
    n: int
    unit: str
    estimate: float | None
    standard_error: float | None
    """None where nothing varies, or of one example: then no noise can be seen, and there are no sources of it."""
    level: float
    sources: tuple[Source, ...]
    purchases: tuple[Purchase, ...]
    """What two more of each parameter would do."""
    levels: Mapping[str, int]
    """How many of each there are."""
    note: str | None
    digits: int
    title: str = ""
    """What papers call the score; empty: its name."""


@dataclass(frozen=True)
class Asked:
    """Of which scores, and how."""

    scores: Sequence[str] | None = None
    """Headline scores; all where None."""
    level: float = LEVEL
    seed: int = SEED
    group_by: str | None = None
    """The parameter in which runs of one system differ."""


DEFAULT = Asked()


def variance(runs: Sequence[Run], asked: Asked = DEFAULT, trust: Trusted = False) -> list[Variance]:
    """For each group (`NAME=GLOB`), each run with several outputs an example, and all other runs on one data set
    together: the noise of every headline score by its sources."""
    if not 0 < asked.level < 1:
        raise HarnessError(f"level={asked.level}; expected a share between 0 and 1, such as 0.95")
    subjects = _subjects(runs, asked.group_by, trust)
    known = {
        name: None
        for subject in subjects
        for statistics in subject.run.statistics.values()
        for name in statistics.metric.score_names
        if "." not in name
    }
    check_known(asked.scores, known)
    return [part for subject in subjects for part in _of_subject(subject, asked)]


@dataclass(frozen=True)
class _Subject:
    """A system whose noise is asked for: its runs in one, and which parameters its repeats are cells of."""

    run: RunResult
    levels: Mapping[str, NDArray[np.int64]]
    """Empty: one output of each example."""
    nested: bool = False
    note: str | None = None


def _subjects(runs: Sequence[Run], group_by: str | None, trust: Trusted) -> list[_Subject]:
    subjects: list[_Subject] = []
    single: list[RunResult] = []
    for run in runs:
        group = groups.members(run) if isinstance(run, str) else None
        if group is not None:
            name, folders = group
            subjects += _of_cells(name, loaded_runs(folders, trust=trust)[0])
            continue
        for loaded in loaded_runs([run], trust=trust)[0]:
            several = groups.outputs_each(loaded) > 1
            (subjects.append(_of_repeats(loaded)) if several else single.append(loaded))
    together = groups.split(single, group_by) if single else None
    if together is None:
        together = [("", single)] if single else []
    return subjects + [subject for name, members in together for subject in _of_cells(name, members)]


def _of_repeats(run: RunResult) -> _Subject:
    count = groups.outputs_each(run)
    if run.seeds > 1:
        return _Subject(run, {"seed": np.arange(run.seeds)})
    name = BATCH_ORDER if is_greedy(run) else "output"
    return _Subject(replace(run, seeds=count), {name: np.arange(count)}, nested=True)


def _of_cells(name: str, runs: Sequence[RunResult]) -> list[_Subject]:
    """The runs on each data set as cells of one design."""
    made = []
    for key in dict.fromkeys(run.dataset_key for run in runs):
        members = [run for run in runs if run.dataset_key == key]
        if len(members) == 1:
            alone = replace(members[0], name=name or members[0].name)
            made.append(_Subject(alone, {}, note="one run: what another seed would do cannot be seen"))
            continue
        levels, note = _levels(members, "seed" if name else "run")
        shown = name or f"{len(members)} runs"
        (merged,) = groups.merged(shown, members)
        made.append(_Subject(merged, levels, note=note))
    return made


def _levels(runs: Sequence[RunResult], otherwise: str) -> tuple[dict[str, NDArray[np.int64]], str | None]:
    """(which level of each parameter every run has, what to say of it)."""
    varied = sweeps.parameters(runs)
    short = short_names([parameter.name for parameter in varied])
    codes = {short[parameter.name]: _codes(parameter) for parameter in varied}
    sizes = [int(column.max()) + 1 for column in codes.values()]
    combinations = set(zip(*(column.tolist() for column in codes.values()), strict=True))
    if codes and prod(sizes) == len(runs) == len(combinations):
        return codes, None
    note = None
    if codes:
        names = " × ".join(codes)
        note = f"the {len(runs)} runs are no grid of {names}, so that what differs between them is one source"
    return {otherwise: np.arange(len(runs))}, note


def _codes(parameter: sweeps.Parameter) -> NDArray[np.int64]:
    known: dict[str, int] = {}
    return np.array([known.setdefault(repr(value), len(known)) for value in parameter.values], dtype=np.int64)


def _of_subject(subject: _Subject, asked: Asked) -> list[Variance]:
    run, level = subject.run, asked.level
    design = Design.of_run(run, asked.seed)
    variances: list[Variance] = []
    for statistics in run.statistics.values():
        wanted = [
            i
            for i, name in enumerate(statistics.metric.score_names)
            if "." not in name and (asked.scores is None or name in asked.scores)
        ]
        if not wanted:
            continue
        keep = design.rows_of(design.complete(statistics.scored))
        if not keep.any():
            continue
        sample = Sample(statistics.metric, statistics.whole[keep], design.kept(keep))
        with quiet_single_thread():
            estimates, of_cells = sample.estimate(), list(cells(sample))
        for i in wanted:
            by_cell = np.array([own[i] for own, _ in of_cells]), np.array([moves[:, i] for _, moves in of_cells])
            parts = _parts(subject, *by_cell, level, len(sample.design.sizes))
            score = statistics.metric.score_names[i]
            variances.append(_variance(subject, sample, score, float(estimates[i]), level, parts))
    return variances


def _parts(subject: _Subject, scores: Array, moves: Array, level: float, strata: int) -> Parts:
    if subject.levels:
        return decomposed(scores, moves, subject.levels, level, subject.nested, strata)
    variance = float((moves**2).sum())
    units = moves.shape[1]
    alone = Source(EXAMPLE, variance, 1.0, 1.0, 1.0, float(np.sqrt(variance * units)), units)
    return Parts((alone,), units, {})


def _variance(subject: _Subject, sample: Sample, score: str, estimate: float, level: float, parts: Parts) -> Variance:
    run = subject.run
    seen = parts.error > ROUNDING * abs(estimate)  # of one example it is NaN
    return Variance(
        dataset=run.dataset,
        system=run.name,
        score=score,
        n=sample.design.count(),
        unit=sample.design.label,
        estimate=number(estimate),
        standard_error=parts.error if seen else None,
        level=level,
        sources=parts.sources if seen else (),
        purchases=tuple(parts.purchases()) if seen else (),
        levels=parts.levels,
        note=subject.note,
        digits=sample.metric.digits_of(score),
        title=sample.metric.title_of(score),
    )
