"""Results as a Python session and a notebook show them: a short table of text, and the same as HTML.

The rows are of whatever has the fields of a `Score`, a `Comparison` or a run; numbers are shown as everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from unicodedata import combining, east_asian_width

from harness.types.nouns import Score

MOST = 30
"""Rows of a table that are shown; the rest is counted."""


def number(value: float | None, digits: int) -> str:
    """Never `-0.00`.

    >>> number(1234.5, 2), number(None, 2), number(-0.001, 2)
    ('1,234.50', 'n/a', '0.00')
    """
    return "n/a" if value is None else f"{value:z,.{digits}f}"


def signed(value: float | None, digits: int) -> str:
    """A difference.

    >>> signed(1234.5, 2), signed(-0.5, 1), signed(-0.001, 2)
    ('+1,234.50', '-0.5', '+0.00')
    """
    return "n/a" if value is None else f"{value:+z,.{digits}f}"


def bounds(low: float | None, high: float | None, digits: int) -> str:
    """
    >>> bounds(0.25, 0.5, 4)
    '[0.2500, 0.5000]'
    """
    return f"[{number(low, digits)}, {number(high, digits)}]"


def interval(score: Score, digits: int) -> str:
    """A score's bounds, or why there are none."""
    if score.low is None or score.high is None:
        return score.note or "n/a"
    return bounds(score.low, score.high, digits)


@dataclass(frozen=True)
class Shape:
    """A table to look at.

    >>> print(Shape("two runs", ("name", "BLEU"), [("a", "31.20"), ("long", "9.10")]).text())
    two runs
      name  BLEU
      a     31.20
      long  9.10
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        """In columns, without control characters: names may come from anyone's folder."""
        cells = [[_printable(cell) for cell in row] for row in (self.head, *self.rows[:MOST])]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(_padded, row, widths)) for row in cells]
        return "\n  ".join([_printable(self.title), *(line.rstrip() for line in lines), *self._rest()])

    def html(self) -> str:
        """As a notebook shows it."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.head)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows[:MOST]
        )
        rest = "".join(f"<p>{line}</p>" for line in self._rest())
        caption = f'<caption style="text-align: left">{escape(self.title)}</caption>'
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def _rest(self) -> list[str]:
        return [f"… and {len(self.rows) - MOST} more"] if len(self.rows) > MOST else []


class Shown:
    """What Python and notebooks show as tables."""

    __slots__ = ()

    def shapes(self) -> Iterable[Shape]:
        """The tables, one below the other."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n".join(shape.text() for shape in self.shapes())

    def _repr_html_(self) -> str:
        return "\n".join(shape.html() for shape in self.shapes())


def scores_of(run: Any) -> Shape:
    """The headline scores of a run; sub-scores are counted."""
    headline = [score for score in run.scores.values() if score.headline]
    rest = len(run.scores) - len(headline)
    units = next((score.units for score in headline if score.units), "")
    units = "1 example" if units == "1 examples" else units
    facts = [units, f"{run.failed} failed" if run.failed else "", f"and {rest} sub-scores in .scores" if rest else ""]
    named = run.name if run.name == run.system else f"{run.name}: {run.system}"
    title = ", ".join([f"{named} on {run.dataset}", *filter(None, facts)])
    rows = [[score.title, number(score.estimate, score.digits), interval(score, score.digits)] for score in headline]
    head = ["score", "estimate", f"{headline[0].level:.0%} interval" if headline else "interval"]
    if any(score.note and score.low is not None for score in headline):  # else the note stands for the interval
        head.append("note")
        for row, score in zip(rows, headline, strict=True):
            row.append(score.note or "")
    return Shape(title, head, rows)


def runs_of(runs: Sequence[Any], title: str, labels: Mapping[str, str] | None = None) -> Shape:
    """Runs below each other, the headline scores beside each other; without `labels` with what cells are called."""
    shared = {name: score for run in runs for name, score in run.scores.items() if score.headline}
    names = [(run.manifest.get("cell") or {}).get("label", "") if run.manifest else "" for run in runs]
    swept, rows = labels is None and any(names), []
    for run, name in zip(runs, names, strict=True):
        scores = [run.scores.get(name) for name in shared]
        cells = ["" if score is None else number(score.estimate, score.digits) for score in scores]
        own = (name,) if swept else ()
        rows.append(((labels or {}).get(run.name, run.name), *own, run.dataset, run.system, *cells))
    head = ("run", "cell", "data set") if swept else ("run", "data set")
    return Shape(title, (*head, "system", *(score.title for score in shared.values())), rows)


def comparisons_of(rows: Sequence[Any], title: str) -> Shape:
    """Differences with their intervals, what p is after correction, and the verdict."""
    head = ("data set", "system", "baseline", "score", "difference", "interval", "p adjusted", "verdict")
    body = []
    for row in rows:
        difference, p_value = signed(row.difference, row.digits), number(row.p_adjusted, 4)
        within = bounds(row.low, row.high, row.digits)
        names = (row.dataset, row.system, row.baseline, row.title)
        body.append((*names, difference, within, p_value, row.verdict))
    return Shape(title, head, body)


def comparison_line(row: Any) -> str:
    """One comparison in a line."""
    within = f"{signed(row.difference, row.digits)} {bounds(row.low, row.high, row.digits)}"
    return _printable(
        f"{row.system} against {row.baseline} on {row.dataset}: {row.title} {within}, "
        f"p adj. {number(row.p_adjusted, 4)}, {row.verdict}"
    )


def bests_of(rows: Sequence[Any]) -> Shape:
    """The best by each score, as it stands and corrected for having been chosen, with those of the same score."""
    tied = any(row.ties for row in rows)
    head = (
        *("data set", "score", "best", "of", "as it stands", "corrected", "interval", "chosen again"),
        *(("with the same score",) if tied else ()),
    )
    body = [
        (
            row.dataset, row.title, row.system, f"{row.of:,}", number(row.estimate, row.digits),
            number(row.corrected, row.digits), bounds(row.corrected_low, row.corrected_high, row.digits),
            f"{row.chosen_again:.0%}", *((", ".join(row.ties),) if tied else ()),
        )
        for row in rows
    ]  # fmt: skip
    return Shape("the best, and what remains of it after correction for the choice", head, body)


def powers_of(rows: Sequence[Any]) -> Shape:
    """What comparisons can detect."""
    seeds = any(row.seeds for row in rows)
    head = (
        *("data set", "system", "baseline", "score", "n", "smallest detectable", "difference", "power", "n for it"),
        *(("seeds for it",) if seeds else ()),
    )
    body = [
        (
            row.dataset, row.system, row.baseline, row.title or row.score, f"{row.n:,}",
            number(row.smallest_detectable, row.digits), number(row.difference, row.digits),
            "n/a" if row.power is None else f"{row.power:.0%}", number(row.needed, 0),
            *((number(row.needed_seeds, 0),) if seeds else ()),
        )
        for row in rows
    ]  # fmt: skip
    return Shape("what can be detected", head, body)


def variances_of(rows: Sequence[Any]) -> Shape:
    """Where the noise of scores comes from."""
    head = ("data set", "system", "score", "standard error", "source", "share of the noise", "interval")
    body = []
    for row in rows:
        names = (row.dataset, row.system, row.title, number(row.standard_error, row.digits))
        if not row.sources:
            body.append((*names, "n/a", "n/a", "n/a"))
        for place, source in enumerate(row.sources):
            ends = f"{source.low:.0%} to {source.high:.0%}"
            body.append((*(names if not place else ("",) * len(names)), source.name, f"{source.share:.0%}", ends))
    return Shape("where the noise comes from", head, body)


def curves_of(rows: Sequence[Any]) -> Shape:
    """Learning curves by their best and earliest steps."""
    head = ("data set", "training run", "score", "steps", "best at", "corrected", "interval", "earliest")
    body = [
        (
            row.dataset, row.series, row.title or row.score, f"{len(row.steps):,}", f"{row.best:,}",
            number(row.corrected, row.digits), bounds(row.corrected_low, row.corrected_high, row.digits),
            f"{row.earliest:,}",
        )
        for row in rows
    ]  # fmt: skip
    return Shape("the best step, and the first that cannot be told from it", head, body)


def counted(n: int, noun: str) -> str:
    """
    >>> counted(1, "run"), counted(2000, "run"), counted(2, "query")
    ('1 run', '2,000 runs', '2 queries')
    """
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{n:,} {noun}s"


def _width(text: str) -> int:
    """Places of a terminal: letters of Chinese, Japanese and Korean take two, accents on another letter none.

    >>> _width("日本"), _width("e" + chr(0x301))
    (4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
