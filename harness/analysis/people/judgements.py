"""What people said of outputs: read from a file, and joined with stored runs by id and system.

A row is one judgement: `system` (a run's system or name; not needed for one run), `id` (of an example; without it the
judgements are of systems only) and the score, in a column `score`, in the one column of numbers there is, or in the one
that is named.

    {"id": "84", "system": "Online-W", "mqm": -5.0}
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.comparing.pairing import grouped, pairs_of
from harness.inputs import files
from harness.stats.design import Codes, Design, Kept
from harness.stats.people.panel import Corpus, Panel
from harness.stats.resampling import Sample
from harness.types import Array, HarnessError, RunResult, Statistics, nearest
from harness.types.shown import counted

log = logging.getLogger(__name__)
EXPECTED = "a file of human scores (--human)"


@dataclass(frozen=True)
class HumanFile:
    """Where the human scores are."""

    path: str | Path
    score_field: str | None = None
    id_field: str | None = None
    system_field: str = "system"
    lower_is_better: bool = False


@dataclass(frozen=True)
class Judgement:
    place: str
    id: str | None
    system: str | None
    value: float


@dataclass(frozen=True)
class Joined:
    """Runs beside what people said of them."""

    dataset: str
    panel: Panel
    field: str
    """The column that the human scores are in."""
    titles: Mapping[str, str]
    """What each score is called, for people."""
    sign: float
    """-1 where people gave less to better outputs, and the panel has it the other way round."""


def read(given: HumanFile) -> tuple[str, list[Judgement]]:
    """(the column of the scores, the judgements that have one)."""
    field: str | None = None
    judgements: list[Judgement] = []
    for place, row in files.read_rows(given.path, EXPECTED):
        field = field or _field(given, place, row)
        if field not in row:
            raise files.missing_field(place, field, row)
        value = _number(row[field], place, field)
        if value is None:
            continue
        id_, system = _name(row, given.id_field or "id", place), _name(row, given.system_field, place)
        if id_ is None and (given.id_field or (judgements and judgements[0].id is not None)):
            raise files.missing_field(place, given.id_field or "id", row)
        judgements.append(Judgement(place, id_, system, -value if given.lower_is_better else value))
    if field is None or not judgements:
        raise HarnessError(f"{given.path} has no score; expected {EXPECTED}, a row for each judgement")
    return field, judgements


def _field(given: HumanFile, place: str, row: Mapping[str, Any]) -> str:
    if given.score_field is not None:
        if given.score_field not in row:
            near = nearest(given.score_field, row)
            raise HarnessError(f"{place} has no {given.score_field!r}{near}; found: {files.listed(row)}")
        return given.score_field
    if "score" in row:
        return "score"
    keys = {given.id_field or "id", given.system_field}
    numbers = [name for name, value in row.items() if name not in keys and _is_number(value)]
    if len(numbers) == 1:
        return numbers[0]
    raise HarnessError(
        f"{place} has no 'score'; found: {files.listed(row)}; expected --score-field NAME"
        + (f", one of {', '.join(numbers)}" if numbers else ", a column of numbers")
    )


def _is_number(value: Any) -> bool:
    """A number, or the text of one, as CSV has it."""
    try:
        return not isinstance(value, bool) and math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _number(value: Any, place: str, field: str) -> float | None:
    """A score; None where nobody gave one. In CSV a number is text, and nothing is an empty one."""
    if value is None or value == "":
        return None
    if not _is_number(value):
        raise HarnessError(f"{place}: {field!r} is {str(value)[:40]!r}; expected a number")
    return float(value)


def _name(row: Mapping[str, Any], field: str, place: str) -> str | None:
    return files.identifier(row[field], place, field) if field in row else None


# ---------------------------------------------------------------- joined with runs


def joined(runs: Sequence[RunResult], given: HumanFile, scores: Sequence[str] | None, seed: int) -> Joined:
    """The runs on one data set that people judged, with their scores."""
    field, judgements = read(given)
    groups = grouped(runs)
    if len(groups) != 1:
        names = ", ".join(group.dataset for group in groups)
        raise HarnessError(
            f"{given.path} and runs on {len(groups)} data sets ({names}); expected runs on the same data"
        )
    by_run = _by_run(groups[0].runs, judgements, given)
    group = replace(groups[0], runs=tuple(run for run in groups[0].runs if run.name in by_run))
    statistics = _statistics(group.runs, pairs_of(group, group.runs[0]), scores)
    panel = _panel(group.runs, by_run, statistics, given, seed)
    titles = {name: group.runs[0].scores[name].title or name for name in panel.scores}
    return Joined(group.dataset, panel, field, titles, -1.0 if given.lower_is_better else 1.0)


def _by_run(runs: Sequence[RunResult], judgements: Sequence[Judgement], given: HumanFile) -> dict[str, list[Judgement]]:
    """The judgements of each run, by its name; runs that nobody judged are left out, and said."""
    if all(judgement.system is None for judgement in judgements):
        if len(runs) > 1:
            raise HarnessError(
                f"{judgements[0].place} has no {given.system_field!r}, and there are {len(runs)} runs; expected whose "
                "output was judged (a run's system or name), or one run"
            )
        return {runs[0].name: list(judgements)}
    by_run: dict[str, list[Judgement]] = {}
    unknown: dict[str, Judgement] = {}
    for judgement in judgements:
        run = _owner(runs, judgement)
        if run is None:
            unknown.setdefault(str(judgement.system), judgement)
        else:
            by_run.setdefault(run.name, []).append(judgement)
    names = list(dict.fromkeys(run.system for run in runs))
    if not by_run:
        first = next(iter(unknown))
        raise HarnessError(
            f"{given.path} has scores of {files.some(list(unknown))}, and no run is of such a system"
            f"{nearest(first, names)}; expected one of {files.listed(names)}"
        )
    for name, judgement in unknown.items():
        log.warning(
            "%s: no run is of the system %r%s; its scores are left out (expected one of %s)",
            judgement.place, name, nearest(name, names), files.listed(names, 5),
        )  # fmt: skip
    for run in runs:
        if run.name not in by_run:
            log.warning("%s has no score of %s; the run is left out", given.path, run.system)
    return by_run


def _owner(runs: Sequence[RunResult], judgement: Judgement) -> RunResult | None:
    """The run that a judgement is of: by its name, or by its system."""
    if judgement.system is None:
        raise HarnessError(f"{judgement.place} has no 'system'; expected it in every row, or in none")
    named = [run for run in runs if run.name == judgement.system] or [r for r in runs if r.system == judgement.system]
    if len(named) > 1:
        raise HarnessError(
            f"{judgement.place}: {len(named)} runs are of the system {judgement.system!r} "
            f"({', '.join(run.name for run in named[:3])}); expected one, or the run's name"
        )
    return named[0] if named else None


def _statistics(
    runs: Sequence[RunResult], pairs: Sequence[tuple[RunResult, RunResult]], scores: Sequence[str] | None
) -> dict[str, str]:
    """The metric of each headline score that all runs have, or of each that was asked for."""
    common = [run.statistics for pair in pairs for run in pair] or [runs[0].statistics]
    metrics = {name: part.metric for name, part in common[0].items() if all(name in other for other in common)}
    known = {score: name for name, metric in metrics.items() for score in metric.score_names}
    headline = [score for score in known if "." not in score]
    for score in scores or ():
        if score not in known:
            raise HarnessError(
                f"not every run has the score {score!r}{nearest(score, known)}; expected one of {', '.join(headline)}"
            )
    if not known:
        raise HarnessError(f"{runs[0].name} and the other runs have no score in common; expected at least one")
    return {score: known[score] for score in (scores or headline)}


def _panel(
    runs: Sequence[RunResult],
    by_run: Mapping[str, Sequence[Judgement]],
    owners: Mapping[str, str],
    given: HumanFile,
    seed: int,
) -> Panel:
    ids = runs[0].columns("id").column("id").to_pylist()
    items: dict[str, int] = {}
    item = np.array([items.setdefault(id_, len(items)) for id_ in ids], dtype=np.int64)
    design = Design.of_run(runs[0], seed)
    units = np.empty(len(items), np.int64)
    units[item] = design.members
    segments = {
        score: np.array([_per_item(run.statistics[name], score, item, len(items)) for run in runs])
        for score, name in owners.items()
    }
    for score in [score for score, values in segments.items() if np.isnan(values).all()]:
        log.warning("%s has no score of single outputs; it is left out", score)
        del segments[score]
    if not segments:
        raise HarnessError("no metric has a score of single outputs; expected at least one")
    systems = tuple(run.system if len({r.system for r in runs}) == len(runs) else run.name for run in runs)
    known = next(iter(by_run.values()))[0].id is not None
    human = _matrix(runs, by_run, items, given) if known else None
    ratings = () if known else tuple(np.array([part.value for part in by_run[run.name]]) for run in runs)
    _check_varied(given, human if human is not None else np.concatenate(ratings))
    panel = Panel(systems, human, segments, {}, design, units, ratings)
    keep = panel.cells[:, item] if known else np.ones((len(runs), len(item)), bool)
    for system, judged in zip(systems, keep, strict=True):
        if not judged.any():
            raise HarnessError(f"{given.path}: no judged output of {system} has a score of every metric; expected some")
    return replace(panel, corpora=_corpora(runs, {score: owners[score] for score in segments}, design, keep))


def _per_item(statistics: Statistics, score: str, item: Codes, count: int) -> Array:
    """(items,) the score of single outputs, the more the better, averaged over repeats; NaN where there is none."""
    metric = statistics.metric
    with np.errstate(divide="ignore", invalid="ignore"):
        values = metric.score_examples(statistics.rows)[:, metric.score_names.index(score)]
        known = np.isfinite(values)
        sums = np.bincount(item[known], values[known], minlength=count)
        means = sums / np.bincount(item[known], minlength=count)
    return np.asarray(means if metric.higher_is_better else -means)


def _matrix(
    runs: Sequence[RunResult], by_run: Mapping[str, Sequence[Judgement]], items: Mapping[str, int], given: HumanFile
) -> Array:
    """(s, n) the human scores by run and item, NaN where there is none."""
    matrix = np.full((len(runs), len(items)), np.nan)
    places: dict[tuple[int, int], str] = {}
    others: dict[str, Judgement] = {}
    for i, run in enumerate(runs):
        for judgement in by_run[run.name]:
            id_ = str(judgement.id)
            if id_ not in items:
                others.setdefault(id_, judgement)
                continue
            if (i, items[id_]) in places:
                whose = "" if judgement.system is None else f" and the system {judgement.system!r}"
                raise HarnessError(
                    f"{judgement.place} has the id {id_!r}{whose}, already judged in {places[i, items[id_]]}; expected "
                    "one score of an output: average those of several people first"
                )
            places[i, items[id_]] = judgement.place
            matrix[i, items[id_]] = judgement.value
    if not places:
        raise HarnessError(
            f"{given.path}: none of its {len(others)} ids ({files.some(list(others))}) is one of the {len(items)} of "
            f"{runs[0].dataset} ({files.some(list(items))}); expected the same ids"
        )
    if others:
        log.warning(
            "%s has %s that %s does not have (%s); left out",
            given.path, counted(len(others), "id"), runs[0].dataset, files.some(list(others)),
        )  # fmt: skip
    return matrix


def _check_varied(given: HumanFile, human: Array) -> None:
    known = human[np.isfinite(human)]
    if len(known) < 2 or known.min() == known.max():
        each = f"all {len(known)} human scores are {known[0]:g}" if len(known) > 1 else "there is one human score"
        raise HarnessError(f"{given.path}: {each}, and nothing can agree with that; expected scores that differ")


def _corpora(runs: Sequence[RunResult], owners: Mapping[str, str], design: Design, keep: Kept) -> dict[str, Corpus]:
    """By score; scores of one metric share its samples."""
    samples: dict[str, list[Sample]] = {}
    for name in dict.fromkeys(owners.values()):
        parts = [run.statistics[name] for run in runs]
        samples[name] = [
            Sample(part.metric, part.whole, design, part.scored & counted)
            for part, counted in zip(parts, keep, strict=True)
        ]
    corpora = {}
    for score, name in owners.items():
        metric = runs[0].statistics[name].metric
        sign = 1.0 if metric.higher_is_better else -1.0
        corpora[score] = Corpus(samples[name], metric.score_names.index(score), sign)
    return corpora
