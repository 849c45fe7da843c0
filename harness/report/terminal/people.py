"""Agreement of metrics with people, and human scores predicted from few, as tables and sentences for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.numbers import bounds, counted, number, signed
from harness.report.score_titles import apart
from harness.report.terminal.comparisons import adjusted
from harness.report.terminal.layout import Columns, show
from harness.report.terminal.summary import console
from harness.report.terminal.wording import listed

TITLES = {
    "pearson": "Pearson", "spearman": "Spearman", "kendall_b": "Kendall b", "kendall_c": "Kendall c",
    "acc_eq": "acc*eq", "kendall": "Kendall", "accuracy": "pair accuracy", "spa": "SPA",
}  # fmt: skip
"""Of the coefficients."""
WITHIN = {"item": "within items, averaged over them", "system": "within systems, averaged over them", "none": "all"}
DRAWN = {"both": "items and systems", "items": "items", "systems": "systems"}
DIGITS = 3


def print_agreement(meta: Any) -> None:
    """A table of coefficients for each level, then who agrees better."""
    out = console()
    titles = apart(meta.joined.titles)
    rows = [replace(row, score=titles[row.score]) for row in meta.agreement.coefficients]
    tests = [replace(row, score=titles[row.score], baseline=titles[row.baseline]) for row in meta.agreement.tests]
    about = (
        f"{counted(meta.n, 'judgement')} of {counted(len(meta.systems), 'system')}"
        if meta.items is None
        else _about(meta)
    )
    out.print(Text(f"{in_line(meta.dataset)}: {about}, {in_line(meta.human)} against metrics", "bold"))
    for level, group in groupby(rows, key=lambda row: row.level):
        on_level = list(group)
        title = f"single outputs, {WITHIN[meta.group]}" if level == "segment" else "systems"
        out.print(Text(f"\n{title}", "bold"))
        _print_coefficients(out, on_level, meta.level)
    undefined = max((row.undefined for row in rows), default=0)
    if undefined:
        most = max(row.groups for row in rows if row.groups)
        out.print(f"Up to {undefined:,} of {most:,} groups have no correlation: all the same in them.", style="dim")
    if tests:
        _print_tests(out, tests, meta)
    note = f"Intervals: expanded percentiles over {meta.resamples:,} resamples of {DRAWN[meta.resample]}."
    if meta.agreement.sampled:
        note += " acc*eq on a sample of all pairs."
    out.print(f"\n{note}" if not tests else note, style="dim")


def _about(meta: Any) -> str:
    outputs, systems = counted(meta.n, "output"), counted(len(meta.systems), "system")
    return f"{outputs} of {systems} on {counted(meta.items, 'item')}"


def _print_coefficients(out: Console, rows: Sequence[Any], level: float) -> None:
    names = list(dict.fromkeys(row.coefficient for row in rows))
    scores = list(dict.fromkeys(row.score for row in rows))
    cells = {(row.score, row.coefficient): _cell(row) for row in rows}
    wide = Columns(("score", "left"), *((TITLES[name], "left") for name in names))
    for score in scores:
        wide.add_row(score, *(cells[score, name] for name in names))
    narrow = Columns(
        ("score", "left"), ("coefficient", "left"), ("estimate", "point"), (f"{100 * level:g}% interval", "interval")
    )
    for row in rows:
        first = row.score if row.coefficient == names[0] else ""
        narrow.add_row(first, TITLES[row.coefficient], number(row.estimate, DIGITS), bounds(row.low, row.high, DIGITS))
    show(out, wide, narrow, last=narrow)


def _cell(row: Any) -> str:
    if row.estimate is None:
        return "n/a"
    return f"{number(row.estimate, DIGITS)} {bounds(row.low, row.high, DIGITS)}"


def _print_tests(out: Console, tests: Sequence[Any], meta: Any) -> None:
    by_output = any(row.p_outputs is not None for row in tests)
    for coefficient, group in groupby(tests, key=lambda row: (row.level, row.coefficient)):
        rows = list(group)
        level = "single outputs" if coefficient[0] == "segment" else "systems"
        out.print(Text(f"\n{TITLES[coefficient[1]]} of {level}: who agrees better", "bold"))
        more = [("p, these systems", "right")] if by_output else []
        shown = Columns(
            ("metric", "left"), ("against", "left"), ("difference", "point"),
            (f"{100 * meta.level:g}% interval", "interval"), ("p", "right"), ("p adj.", "right"), *more,
            ("verdict", "left"),
        )  # fmt: skip
        for row in rows:
            style = "green" if row.verdict == "better" else "red" if row.verdict == "worse" else ""
            outputs = [] if not by_output else ["n/a" if row.p_outputs is None else f"{row.p_outputs:.4f}"]
            difference = signed(row.difference, DIGITS)
            shown.add_row(
                row.score, row.baseline, difference, bounds(row.low, row.high, DIGITS), f"{row.p_value:.4f}",
                f"{row.p_adjusted:.4f}", *outputs, Text(row.verdict, style),
            )  # fmt: skip
        show(out, shown)
        out.print(in_line(sentence(rows)))
    if meta.agreement.note:
        out.print(f"\n{meta.agreement.note}")
    swapped = {"both": "single outputs", "items": "items", "systems": "systems"}[meta.resample]
    family = adjusted(meta.correction, "all tests")
    note = f"\np: the metrics' scores of {swapped} change places at random; p adj.: {family}"
    if by_output:
        note = (
            "\np: the metrics' scores of whole systems, and those of single outputs, change places at random: the "
            f"larger of both; p adj.: {family}; p, these systems: that of single outputs, adjusted too"
        )
    out.print(f"{note}.", style="dim")


def sentence(rows: Sequence[Any]) -> str:
    """Who agrees better with people, in words: `chrF agrees better than BLEU (p = 0.0120).`, one part for each pair
    that a test tells apart."""
    parts = []
    for row in rows:
        if row.verdict not in ("better", "worse"):
            continue
        winner, loser = (row.score, row.baseline) if row.verdict == "better" else (row.baseline, row.score)
        parts.append(f"{winner} agrees better than {loser} (p = {row.p_adjusted:.4f})")
    if not parts:
        return "No metric is shown to agree better than another."
    return f"{listed(parts)}."


def print_predictions(meta: Any) -> None:
    """Human scores of all outputs from those of some, a table for each metric."""
    out = console()
    out.print(
        Text(f"{in_line(meta.dataset)}: {in_line(meta.human)} of all outputs, from those that people judged", "bold")
    )
    head = f"{100 * meta.level:g}% interval"
    titles = apart(meta.joined.titles)
    predictions = [replace(row, score=titles[row.score]) for row in meta.predictions]
    for score, group in groupby(predictions, key=lambda row: row.score):
        rows = list(group)
        out.print(Text(f"\nwith {score}", "bold"))
        for kind in (False, True):
            some = [row for row in rows if (row.baseline is not None) == kind]
            if not some:
                continue
            tail = [("p adj.", "right")] if kind else []
            shown = Columns(
                ("difference" if kind else "system", "left"), ("labels", "right"), ("labels alone", "point"),
                (head, "interval"), ("with metric", "point"), (head, "interval"), ("as good as", "right"), *tail,
            )  # fmt: skip
            for row in some:
                name = row.system if row.baseline is None else f"{row.system} − {row.baseline}"
                shown.add_row(
                    name, f"{row.labels:,} of {row.items:,}", number(row.plain, DIGITS),
                    bounds(row.plain_low, row.plain_high, DIGITS), number(row.estimate, DIGITS),
                    bounds(row.low, row.high, DIGITS), f"{row.effective:,} labels",
                    *([f"{row.p_adjusted:.4f}"] if kind else []),
                )  # fmt: skip
            show(out, shown)
    out.print(f"\n{saved(predictions)}", style="dim")


def saved(rows: Sequence[Any]) -> str:
    """How many labels the best metric is worth, and what that rests on."""
    gains: dict[str, list[float]] = {}
    for row in rows:
        if row.baseline is None:
            gains.setdefault(row.score, []).append(row.effective / row.labels)
    best = max(gains, key=lambda score: sum(gains[score]) / len(gains[score]))
    saving = [row.saved for row in rows if row.score == best and row.baseline is None]
    mean = round(sum(saving) / len(saving))
    labels = "1 label a system was" if mean == 1 else f"{mean:,} labels a system were"
    worth = f"With {best}, {labels} saved" if mean > 0 else "No metric saved labels"
    return f"{worth}. This holds where the judged outputs are a random part of all."
