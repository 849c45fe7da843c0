"""A learning curve for a terminal: each headline score by training step, its interval drawn as a band.

step  exact_match  95% interval      0.0000 to 0.9900
 100       0.0133  [0.0000, 0.0300]  ●─
 200       0.4200  [0.3633, 0.4767]               ───●───
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.numbers import digits_of, interval, number
from harness.report.terminal.layout import GAP, Columns, show
from harness.report.terminal.summary import console
from harness.types import RunResult, Score

WIDTH = 48
"""Of the band, where there is room for it."""
LEAST = 12
"""A shorter band shows nothing."""


def print_curve(runs: Sequence[RunResult]) -> None:
    """A table for each headline score, a row for each run, ordered by step."""
    ordered = sorted(runs, key=lambda run: run.manifest["system"]["step"])
    out = console()
    title = f"{ordered[0].manifest['system']['series']} on {ordered[0].dataset}, by step"
    out.print(Text(in_line(title), "bold"))
    names = list(dict.fromkeys(name for run in ordered for name, score in run.scores.items() if score.headline))
    for name in names:
        scored = [(run, run.scores[name]) for run in ordered if name in run.scores]
        digits = digits_of(ordered, name)
        values = [value for _, score in scored for value in _known(score)]
        low, high = (min(values), max(values)) if values else (0.0, 0.0)
        level = scored[0][1].level
        axis = f"{number(low, digits)} to {number(high, digits)}"
        heads = (("step", "right"), (name, "right"), (f"{100 * level:g}% interval", "interval"))
        plain, drawn = Columns(*heads), Columns(*heads, (axis, "left"))
        rows = [
            (f"{run.manifest['system']['step']:,}", number(score.estimate, digits), interval(score, digits), score)
            for run, score in scored
        ]
        for *cells, _ in rows:
            plain.add_row(*cells)
        room = min(WIDTH, out.width - plain.width - GAP)
        for *cells, score in rows:
            drawn.add_row(*cells, band(score, low, high, max(room, 1)))
        show(out, drawn if room >= LEAST else plain, plain, last=plain)
        out.print()


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
