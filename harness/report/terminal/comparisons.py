"""Comparisons, rankings and the best of many, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from harness.inputs.choices import CORRECTIONS
from harness.inputs.visible import in_line
from harness.report.numbers import bounds, counted, number, signed
from harness.report.score_titles import apart, titled_rows
from harness.report.terminal.layout import Columns, show
from harness.report.terminal.slice_table import interaction_lines
from harness.report.terminal.summary import console
from harness.report.terminal.wording import listed, sentence, stages, units
from harness.types import Comparison, Comparisons

LETTERS = 12
"""Characters of a label of letters that are still read."""
MANY = 10
"""More pairs than this are shown as a ranking only."""


class Settings(Protocol):
    """How the comparisons were made: what is shown of `harness.stats.options.ComparisonOptions`."""

    @property
    def level(self) -> float: ...
    @property
    def test(self) -> str: ...
    @property
    def correction(self) -> str: ...
    @property
    def alternative(self) -> str: ...
    @property
    def margins(self) -> tuple[tuple[str, float], ...]: ...
    @property
    def cross_check(self) -> bool:
        """Whether the t-test and Wilcoxon's were asked for."""


def print_comparisons(rows: Comparisons, rankings: Sequence[Any], options: Settings) -> None:
    """A table and a sentence for each pair of systems, then rankings and averages over data sets."""
    out = console()
    titles = apart({row.score: row.title for row in rows})
    rows = Comparisons(titled_rows(rows), titled_rows(rows.macro), titled_rows(rows.interactions))
    rankings = [replace(ranking, score=titles[ranking.score]) for ranking in rankings]
    pairs = {(row.dataset, row.baseline, row.system) for row in rows}
    for dataset, group in groupby(rows, key=lambda r: r.dataset):
        on_it = list(group)
        out.print(Text(f"{in_line(dataset)}: {_units(on_it)}, {_test(on_it, options)}", "bold"))
        if len(pairs) <= MANY or not rankings:
            _print_pairs(out, on_it, options)
        _print_rankings(out, [ranking for ranking in rankings if ranking.dataset == dataset], options)
        out.print()
    if rows.macro:
        out.print(Text(f"{in_line(rows.macro[0].dataset)}: each score's mean over them, paired {options.test}", "bold"))
        _print_pairs(out, rows.macro, options)
        out.print()
    if rows.interactions:
        for line in interaction_lines(rows.interactions, options.level):
            out.print(line)
        out.print("P-values of whether a difference varies: Cochran's Q, by Holm.", style="dim")
        out.print()
    if len(pairs) > MANY and rankings:
        hint = f"{len(pairs):,} pairs were compared; --json lists them, --baseline RUN shows those of one run."
        out.print(hint, style="dim")
    unchecked = dict.fromkeys(row.score for row in rows if row.p_t is None)
    if options.cross_check and unchecked:
        hint = (
            f"No t-test and no Wilcoxon's for {listed(list(unchecked))}: they are for means over independent examples."
        )
        out.print(hint, style="dim")
    averages = ", averages over data sets by themselves" if rows.macro and options.correction != "none" else ""
    note = f"Intervals are unadjusted; p adj.: {adjusted(options.correction)}{averages}; verdicts follow it."
    out.print(note, style="dim")
    if options.margins:
        by = "not adjusted" if options.correction == "none" else "adjusted over the rows that have a margin"
        out.print(f"Equivalent, not worse: one-sided tests against the margin, {by}.", style="dim")


def adjusted(correction: str, family: str = "all rows") -> str:
    """How p-values are adjusted, in words."""
    if correction == "none":
        return CORRECTIONS[correction]
    return f"{CORRECTIONS[correction]} over {family}" + (" (the share of false alarms)" if correction == "bh" else "")


def _print_pairs(out: Console, rows: Sequence[Comparison], options: Settings) -> None:
    for (system, baseline), group in groupby(rows, key=lambda r: (r.system, r.baseline)):
        by_score = list(group)
        out.print(Text(f"\n{in_line(system)} against {in_line(baseline)}", "bold"))
        show(out, *_pair_layouts(by_score, options))
        out.print(in_line(sentence(by_score, options.alternative)))
        if said := stages(by_score):
            out.print(in_line(said))
        for row in (row for row in by_score if row.caution):
            out.print(in_line(f"{row.score}: {row.caution}."))


def _pair_layouts(rows: Sequence[Comparison], options: Settings) -> tuple[Columns, Columns]:
    """The comparisons of one pair of systems: one line per score, or two lines where that is too wide."""
    checked = any(row.p_t is not None for row in rows)
    bounds_head = f"{100 * options.level:g}% interval"
    checks = [("p, t-test", "right"), ("p, Wilcoxon", "right")] if checked else []
    wide = Columns(
        ("score", "left"), ("difference", "point"), (bounds_head, "interval"), ("p", "right"), *checks,
        ("p adj.", "right"), *((head, "right") for head in _beliefs(rows)), ("won/tied/lost %", "right"),
        ("verdict", "left"),
    )  # fmt: skip
    believed = _beliefs(rows)
    narrow = Columns(("score", "left"), ("diff.", "point"), (bounds_head, "interval"), ("verdict", "left"))
    narrow.add_row("", "p", "p adj.", "won/tied/lost %", style="dim")
    if checked:
        narrow.add_row("", "p", "p", "t-test, Wilcoxon", style="dim")
    if believed:
        narrow.add_row("", *(*believed, "")[:2], "", style="dim")
    for row in rows:
        style = {"better": "green", "worse": "red"}.get(row.verdict, "")
        difference = signed(row.difference, row.digits)
        ends = bounds(row.low, row.high, row.digits)
        others = [_p(p) for p in ((row.p_t, row.p_wilcoxon) if checked else ())]
        unclear = row.verdict == "not distinguishable" and options.alternative != "two-sided"
        verdict = Text(f"not shown {options.alternative}" if unclear else row.verdict, style)
        beliefs = [_p(value) for value in (row.posterior_better, row.posterior_within)[: len(believed)]]
        wide.add_row(
            row.score, difference, ends, _p(row.p_value), *others, _p(row.p_adjusted), *beliefs, _shares(row), verdict
        )
        narrow.add_row(row.score, difference, ends, verdict)
        narrow.add_row("", _p(row.p_value), _p(row.p_adjusted), _shares(row), style="dim")
        if checked:
            narrow.add_row("", *others, "", style="dim")
        if believed:
            narrow.add_row("", *(*beliefs, "")[:2], "", style="dim")
    return wide, narrow


def _beliefs(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """The heads of the probabilities that there are."""
    if all(row.posterior_better is None for row in rows):
        return ()
    return ("P(better)", "P(within margin)") if any(row.margin for row in rows) else ("P(better)",)


def _print_rankings(out: Console, rankings: Sequence[Any], options: Settings) -> None:
    """For each score the range of ranks of each system, and letters shared by those that cannot be told apart; a table
    a score where all of them are too wide."""
    if not rankings:
        return
    longest = max(len(rank.letters) for ranking in rankings for rank in ranking.systems)
    lettered = longest <= LETTERS
    ranks = [
        {rank.system: f"{_places(rank)} {rank.letters}" if lettered else _places(rank) for rank in ranking.systems}
        for ranking in rankings
    ]
    names = [rank.system for rank in rankings[0].systems]
    head = "rank and group" if lettered else "rank"
    wide = Columns((head, "left"), *((ranking.score, "left") for ranking in rankings))
    for name in names:
        wide.add_row(name, *(cells.get(name, "") for cells in ranks))
    out.print()
    if wide.width <= out.width:
        out.print(wide)
    else:
        for ranking, cells in zip(rankings, ranks, strict=True):
            narrow = Columns((head, "left"), (ranking.score, "left"))
            for rank in ranking.systems:
                narrow.add_row(rank.system, cells[rank.system])
            show(out, narrow)
    two_sided = "" if options.alternative == "two-sided" else "two-sided "
    alike = " or are equivalent" if options.margins and two_sided == "" else ""
    shared = f"systems that share a letter cannot be told apart{alike}" if lettered else "--json has the groups"
    out.print(f"Ranks that {two_sided or 'the '}tests leave open; {shared}.", style="dim")


def _places(rank: Any) -> str:
    return f"{rank.low}" if rank.low == rank.high else f"{rank.low}-{rank.high}"


def _units(rows: Sequence[Comparison]) -> str:
    excluded = max(row.excluded for row in rows)
    return units(rows) + (f", up to {counted(excluded, 'output')} excluded" if excluded else "")


def _test(rows: Sequence[Comparison], options: Settings) -> str:
    """The test, and where there are seeds what it is of."""
    if rows[0].question != "seeds":
        return f"paired {options.test}"
    counts = sorted({count for row in rows for count in row.seeds or ()})
    shown = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{shown} seeds of each system, t-test for new seeds (Satterthwaite)"


def _p(value: float | None) -> str:
    return "n/a" if value is None else "<0.0001" if value < 0.00005 else f"{value:.4f}"


def _shares(row: Comparison) -> str:
    shares = (row.won, row.tied, row.lost)
    return "n/a" if None in shares else "/".join(f"{100 * (share or 0):.0f}" for share in shares)


def print_best(rows: Sequence[Any]) -> None:
    """The best of several runs, as it stands and corrected for the choice."""
    out = console()
    for dataset, group in groupby(titled_rows(rows), key=lambda r: r.dataset):
        winners = list(group)
        first = winners[0]
        halves = "" if first.held_out is None else f" to choose on, {first.held_out:,} held out"
        title = f"{in_line(dataset)}: the best of {first.of} runs, n = {first.n:,} {first.unit}{halves}"
        out.print(Text(title, "bold"))
        bounds_head = f"{100 * first.level:g}% interval"
        reported = "corrected" if first.held_out is None else "held out"
        shown = Columns(
            ("score", "left"), ("best", "left"), ("as it stands", "point"), (bounds_head, "interval"),
            (reported, "point"), (bounds_head, "interval"), ("chosen again", "right"),
        )  # fmt: skip
        narrow = Columns(
            ("score", "left"), ("best", "left"), ("estimate", "point"), (bounds_head, "interval"),
            ("chosen again", "right"),
        )  # fmt: skip
        for row in winners:
            pairs = ((row.estimate, row.low, row.high), (row.corrected, row.corrected_low, row.corrected_high))
            cells = [
                cell
                for estimate, low, high in pairs
                for cell in (number(estimate, row.digits), bounds(low, high, row.digits))
            ]
            shown.add_row(row.score, row.system, *cells, f"{row.chosen_again:.0%}")
            narrow.add_row(row.score, row.system, *cells[:2], f"{row.chosen_again:.0%}")
            narrow.add_row("", f"  {reported}", *cells[2:], "")
        show(out, shown, narrow)
        for row in (row for row in winners if row.ties):
            out.print(
                in_line(f"{row.score}: {listed(row.ties)} {'has' if len(row.ties) == 1 else 'have'} the same score")
            )
        out.print(in_line(_contenders(winners)))
        out.print()
    luck = "minus what the best of so many gains by luck, with bounds that hold whichever run had won"
    other = "the winner's score on the half that it was not chosen on"
    out.print(
        f"{'Corrected: ' + luck if rows[0].held_out is None else 'Held out: ' + other}. Chosen again: the share of "
        "resamples in which the same run wins.",
        style="dim",
    )


def _contenders(rows: Sequence[Any]) -> str:
    """How many runs could as well be the best."""
    parts = [f"{row.contenders - 1} by {row.score}" for row in rows if row.contenders > 1]
    return f"Others that could be the best: {listed(parts)}." if parts else "No other run could be the best."
