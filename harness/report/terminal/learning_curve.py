"""A learning curve for a terminal: each headline score by training step with its band, and the answer below it.

step  Exact match  95% band          0.0000 to 0.9900
 100       0.0133  [0.0000, 0.0300]  ●─
 200       0.4200  [0.3633, 0.4767]               ───●───   best
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.curve_words import answer, outlook, training_run
from harness.report.numbers import digits_of, interval, number
from harness.report.score_titles import score_titles, titled_rows
from harness.report.terminal.layout import GAP, Columns, show
from harness.report.terminal.summary import console
from harness.types import Curve, RunResult, Score

WIDTH = 48
"""Of the band, where there is room for it."""
LEAST = 12
"""A shorter band shows nothing."""


def print_curve(runs: Sequence[RunResult], curves: Sequence[Curve] = ()) -> None:
    """A table for each headline score, a row for each run, ordered by step; of those that have a curve with the band
    that holds at all steps at once, and what it says."""
    ordered = sorted(runs, key=lambda run: run.manifest["system"]["step"])
    out = console()
    title = f"{ordered[0].manifest['system']['series']} on {ordered[0].dataset}, by step"
    out.print(Text(in_line(title), "bold"))
    titles = score_titles(ordered)
    by_score = {curve.score: curve for curve in curves}
    names = list(dict.fromkeys(name for run in ordered for name, score in run.scores.items() if score.headline))
    for name in names:
        scored = [(run.manifest["system"]["step"], run.scores[name]) for run in ordered if name in run.scores]
        curve = by_score.get(name) and replace(by_score[name], score=titles[name])
        banded = [(step, _banded(score, step, curve)) for step, score in scored]
        _print_score(titles[name], banded, digits_of(ordered, name), curve)
        if curve is not None:
            out.print(in_line(f"{answer(curve)} {outlook(curve)}"))
        out.print()
    if by_score:
        out.print("Bands hold at all steps at once; each score is judged by itself.", style="dim")


def print_answers(curves: Sequence[Curve]) -> None:
    """What the steps of checkpoints say, without the tables."""
    out = console()
    for (dataset, series), some in groupby(titled_rows(curves), key=lambda curve: (curve.dataset, curve.series)):
        out.print()
        out.print(Text(in_line(f"{training_run(series)} on {dataset}, by step"), "bold"))
        for curve in some:
            out.print(in_line(f"{answer(curve)} {outlook(curve)}"))


def _print_score(title: str, scored: Sequence[tuple[int, Score]], digits: int, curve: Curve | None) -> None:
    """The table of one score."""
    out = console()
    values = [value for _, score in scored for value in _known(score)]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    level = scored[0][1].level
    axis = f"{number(low, digits)} to {number(high, digits)}"
    what = "interval" if curve is None else "band"
    heads = (("step", "right"), (title, "right"), (f"{100 * level:g}% {what}", "interval"))
    marks = {} if curve is None else {curve.earliest: "cannot be told from it", curve.best: "best"}
    last = [("", "left")] if marks else []
    plain, drawn = Columns(*heads, *last), Columns(*heads, (axis, "left"), *last)
    rows = []
    for step, score in scored:
        cells = [f"{step:,}", number(score.estimate, digits), interval(score, digits)]
        rows.append((cells, score, [marks.get(step, "")][: len(last)]))
    for cells, _, mark in rows:
        plain.add_row(*cells, *mark)
    room = min(WIDTH, out.width - plain.width - GAP)
    for cells, score, mark in rows:
        drawn.add_row(*cells, band(score, low, high, max(room, 1)), *mark)
    show(out, drawn if room >= LEAST else plain, plain, last=plain)


def _banded(score: Score, step: int, curve: Curve | None) -> Score:
    """The score with the bounds of the band, where there is one."""
    if curve is None:
        return score
    point = curve.at(step)
    return replace(score, low=point.band_low, high=point.band_high)


def _known(score: Score) -> list[float]:
    return [value for value in (score.low, score.estimate, score.high) if value is not None]


def band(score: Score, low: float, high: float, width: int = WIDTH) -> str:
    """The interval and the estimate on a line that reaches from `low` to `high`.

    >>> band(Score("bleu", 5.0, 2.5, 10.0, 0.95, "percentile", 100, ""), 0.0, 10.0, width=9)
    '  ──●────'
    """
    if score.estimate is None:
        return ""

    def place(value: float) -> int:
        return round((value - low) / ((high - low) or 1.0) * (width - 1))

    known = _known(score)
    cells = [" "] * place(min(known)) + ["─"] * (place(max(known)) - place(min(known)) + 1)
    cells[place(score.estimate)] = "●"
    return "".join(cells)
