"""Figures of a sweep as a whole: what each level of its parameters scores, and scores against what an output takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from harness.analysis.figures.view import View
from harness.analysis.stored.cell_names import cell_of
from harness.analysis.stored.parameters import parameters
from harness.analysis.sweeps.sweep_study import Asked, Measured, expenses_of, measured, points_of
from harness.report.charts import forest, front
from harness.report.charts.theme import short
from harness.report.terminal.sweep_table import UNITS
from harness.types import Figure, HarnessError, RunResult
from harness.types.shown import counted

PANELS = 4
"""Scores that are shown without being asked for: each takes a resampling of all runs."""


def settings(runs: Sequence[RunResult]) -> list[Mapping[str, Any]]:
    """What each run has of what varies between them: as their sweep says, else as their configs do."""
    cells = [cell["parameters"] for run in runs if (cell := cell_of(run)) is not None]
    if len(cells) == len(runs) and len({run.manifest.get("group") for run in runs}) == 1:
        return cells
    varied = parameters(runs)
    return [{setting.name: setting.values[i] for setting in varied} for i in range(len(runs))]


def _measured(view: View, score: str) -> Measured | None:
    own = settings(view.group.runs)
    names = {name for values in own for name in values}
    varies = any(len({repr(values.get(name)) for values in own}) > 1 for name in names)
    known = all(any(score in part.metric.score_names for part in run.statistics.values()) for run in view.group.runs)
    if len(own) < 3 or not varies or not known:
        return None
    study = view.study
    with suppress(HarnessError):  # no output has a score in all of them
        return measured(view.group.runs, own, Asked(score, None, study.level, study.resamples, study.seed))
    return None


def parameter_figures(view: View) -> Iterator[Figure]:
    """A panel for each score, a row for each level of each parameter."""
    panels, sentences = [], []
    for score in view.scores[:PANELS]:
        seen = _measured(view, score)
        if seen is None:
            continue
        labels = [f"{mean.parameter} {seen.levels[mean.parameter][mean.level]}" for mean in seen.effects.means]
        rows = [
            forest.Row(label, mean.estimate, mean.low, mean.high, more=counted(mean.cells, "cell"))
            for label, mean in zip(short(labels, view.limit), seen.effects.means, strict=True)
        ]
        panels.append(forest.Panel(view.title(score), rows, view.digits(score), view.higher(score)))
        sentences.append(_importance(view.title(score), seen))
    if panels:
        caption = f"Scores of all cells with a level, with {view.level()} bootstrap intervals. {' '.join(sentences)}"
        yield view.figure("parameters", "What the parameters do", caption, forest.draw(panels, None, view.width))


def _importance(score: str, seen: Measured) -> str:
    """How much each parameter matters, in a sentence."""
    if not seen.effects.importance:
        return f"{score}: the cells differ by no more than chance."
    ranked = sorted(seen.effects.importance, key=lambda own: -own.share)
    parts = [f"{own.parameters[0]} {own.share:.0%} [{own.low:.0%}, {own.high:.0%}]" for own in ranked]
    both = [f"{' and '.join(own.parameters)} interact ({own.share:.0%})" for own in seen.effects.interactions]
    more = f" Worth a look: {', '.join(both)}." if both else ""
    return f"{score}: share of the variance between cells, {', '.join(parts)}.{more}"


def front_figures(view: View) -> Iterator[Figure]:
    """The first score against what an output takes, where that is known of all runs."""
    score, runs = view.scores[0], view.group.runs
    measure, expenses = expenses_of(runs, None) if len(runs) > 2 and all(run.manifest for run in runs) else (None, [])
    estimates = [run.scores[score].estimate if score in run.scores else None for run in runs]
    if measure is None or None in estimates:
        return
    names = [view.labels[run.name] for run in runs]
    scores = [float(value) for value in estimates if value is not None]
    points = [
        front.Point(point.label, point.expense, point.score, point.front)
        for point in points_of(names, scores, expenses, view.higher(score))
        if point.expense is not None
    ]
    chart = front.draw(points, view.title(score), UNITS[measure], view.digits(score), view.width)
    caption = f"{view.title(score)} against the {UNITS[measure]}. Blue: no other cell has a better score for less."
    yield view.figure("front", "Score and expense", caption, chart)
