"""A sweep for a terminal: its cells, what its parameters do, the best and what equals it, and what that costs."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.text import Text

from harness.inputs.visible import in_line, visible
from harness.report.numbers import bounds, number
from harness.report.score_titles import titled_rows
from harness.report.terminal.layout import Columns, show
from harness.report.terminal.summary import console, labelled
from harness.report.terminal.wording import listed
from harness.types.shown import counted

STATES = ("done", "dropped", "running", "failed", "interrupted", "missing")
UNITS = {
    "cost": "cost of an output", "tokens": "tokens of an output", "seconds": "seconds an output",
    "latency": "median latency",
}  # fmt: skip
NAMED = 8
"""So many names are listed; of more their number."""


def print_sweep(swept: Any) -> None:
    """Everything that is known of a sweep."""
    out = console()
    ledger = swept.ledger
    counts = Counter(cell.state for cell in ledger.cells)
    states = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    head = "sweep" if ledger.group is None else f"sweep {in_line(ledger.group)}"
    out.print(Text.assemble((head, "bold"), f"  {counted(len(ledger.cells), 'cell')}: {states}"))
    for state in STATES[1:]:
        cells = [cell for cell in ledger.cells if cell.state == state]
        for cell in cells[:NAMED]:
            labelled(out, state, f"{cell.label}{f': {cell.reason}' if cell.reason else ''}")
        if len(cells) > NAMED:
            labelled(out, "", f"and {len(cells) - NAMED} more {state} (--json lists them)")
    out.print()
    for part in titled_rows(swept.parts):
        _print_part(out, part)


def print_again(ledger: Any) -> None:
    """The command that goes on with the cells that are not done, if there are any."""
    if ledger.again is None:
        return
    elsewhere = ledger.folder is not None and Path(ledger.folder) != Path.cwd()
    out = console()
    out.print(f"To go on with what is not done{in_line(f', in {ledger.folder}') if elsewhere else ''}:")
    out.print(visible(f"  {ledger.again}"), soft_wrap=True)


def _print_part(out: Any, part: Any) -> None:
    show(out, parameters(part))
    for line in sentences(part):
        out.print(in_line(line))
    if part.against is not None:
        out.print()
        show(out, front(part))
    if part.saved is not None:
        out.print()
        out.print(in_line(saved(part.saved)))
    out.print()


def parameters(part: Any) -> Columns:
    """Means by level, the most important parameter first."""
    title = f"{part.dataset}: {part.score} by parameter, n = {part.n:,} {part.unit}"
    shown = Columns(
        ("parameter", "left"), ("importance", "right"), ("", "interval"), ("level", "left"), ("cells", "right"),
        (part.score, "point"), (f"{100 * part.level:g}% interval", "interval"), title=title,
    )  # fmt: skip
    for name, own in ranked(part):
        for i, mean in enumerate(mean for mean in part.effects.means if mean.parameter == name):
            importance = ("n/a", "") if own is None else (f"{own.share:.0%}", f"[{own.low:.0%}, {own.high:.0%}]")
            shown.add_row(
                "" if i else name,
                *(("", "") if i else importance),
                part.levels[name][mean.level],
                f"{mean.cells:,}",
                number(mean.estimate, part.digits),
                bounds(mean.low, mean.high, part.digits),
            )
    return shown


def ranked(part: Any) -> list[tuple[str, Any]]:
    """(parameter, its importance where that is known), the most important first."""
    known = {own.parameters[0]: own for own in part.effects.importance}
    return sorted(((name, known.get(name)) for name in part.levels), key=lambda own: -(own[1].share if own[1] else 0.0))


def sentences(part: Any) -> list[str]:
    """What is to be said of the parameters and of the best."""
    lines = []
    if part.outputs < part.of:
        what = "Means and importance" if part.against is None else "Means, importance and the front"
        lines.append(f"{what} are of the {part.outputs:,} of {part.of:,} outputs that all cells have a score for.")
    if not part.effects.importance:
        lines.append("The cells differ by no more than chance: no parameter is seen to matter.")
    for own in part.effects.interactions:
        lines.append(
            f"Worth a look: {' and '.join(own.parameters)} interact "
            f"({own.share:.0%} of the variance [{own.low:.0%}, {own.high:.0%}])."
        )
    return [*lines, *best(part)]


def best(part: Any) -> list[str]:
    """The best with its correction, what equals it, and the cheapest of those."""
    row = part.best
    if part.alone is not None:
        return [f"Best: {part.alone}: the race dropped all others."]
    if row is None:
        return ["Fewer than two cells have answered all examples: there is no best yet."]
    own = f"{number(row.corrected, row.digits)} {bounds(row.corrected_low, row.corrected_high, row.digits)}"
    lines = [
        f"Best: {row.system}, {part.score} {own} corrected for the choice among {row.of} "
        f"({number(row.estimate, row.digits)} as it stands)."
    ]
    if 2 < len(row.rivals) == row.of - 1:
        lines.append("None of the others is told apart from it.")
    elif row.rivals:
        names = listed(row.rivals) if len(row.rivals) <= NAMED else f"{len(row.rivals)} others"
        lines.append(f"Not told apart from it: {names}.")
    else:
        lines.append("All others are told apart from it.")
    if part.cheapest is not None:
        expense = {point.label: point.expense for point in part.points}
        ratio = expense[part.cheapest] / expense[row.system] if expense[row.system] else 1.0
        share = f"{ratio:.0%}" if ratio >= 0.01 else "under 1%"
        lines.append(f"The cheapest of these: {part.cheapest}, {share} of the best's {part.against}.")
    return lines


def front(part: Any) -> Columns:
    """The front of score and expense, the best score first."""
    title = f"{part.score} against {UNITS[part.against]}: no other cell has a better score for less"
    shown = Columns(("cell", "left"), (part.score, "point"), (UNITS[part.against], "point"), title=title)
    points = sorted((point for point in part.points if point.front), key=lambda point: point.expense)
    for point in points:
        shown.add_row(point.label, number(point.score, part.digits), f"{point.expense:.4g}")
    return shown


def saved(race: Any) -> str:
    """What a race spared, and what it risks."""
    parts = [f"{race.outputs:,} of {race.of:,} outputs ({race.outputs / max(race.of, 1):.0%})"]
    parts += [f"about {timedelta(seconds=round(race.seconds))} of generation"] if round(race.seconds or 0.0) else []
    parts += [f"a cost of about {race.cost:.2f}"] if race.cost else []
    return f"The race saved {listed(parts)}. Such a race drops the best cell in at most {race.error:.0%} of cases."
