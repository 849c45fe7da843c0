"""What `harness reproduce` found: what differs with both values, what is missing, what is another one here, and a
verdict line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from harness.inputs.visible import visible
from harness.report.numbers import bounds, counted, number
from harness.report.terminal.summary import console
from harness.types.reproductions import Difference, OutputsAgain, Reproduction, Reproductions

MOST = 8
"""Differences that are shown of one run."""
LONGEST = 300
"""Characters of a text that are shown."""
LEVELS = {"outputs": "stored outputs scored again", "system": "outputs generated again"}
NOTHING_GENERATED = "data and system looked at, nothing generated"


def print_reproductions(result: Reproductions) -> None:
    out = console()

    def line(text: str, style: str | None = None) -> None:
        out.print(visible(text), soft_wrap=True, style=style, markup=False, highlight=False)

    if result.bundle is not None and result.bundle.sha256:
        line(f"{result.bundle.file}  SHA-256 {result.bundle.sha256}")
    for run in result.runs:
        line(f"{run.run}  {run.verdict}", "bold")
        for text in _lines(run):
            line(f"  {text}")
    for difference in result.beside[:MOST]:
        line(_shown(difference))
    _more(result.beside, line)
    if result.bundle is not None and result.bundle.figures:
        line(f"figures/  not drawn again ({result.bundle.figures}): SHA256SUMS alone holds them")
    for text in result.about.get("notes", ()):
        line(f"environment: {text}")
    line(_verdict(result), "bold")


def _lines(run: Reproduction) -> list[str]:
    done = NOTHING_GENERATED if run.level == "system" and run.outputs is None else LEVELS[run.level]
    lines = [f"{done}, {counted(run.compared, 'value')} compared"] if run.compared else []
    if run.outputs is not None:
        lines += _outputs(run.outputs)
    if run.example is not None:
        lines.append(f"the first example that differs is {_shown(run.example)}")
    lines += [_shown(difference) for difference in run.differences[:MOST]]
    if len(run.differences) > MOST:
        lines.append(f"and {len(run.differences) - MOST} more (--json has all)")
    lines += [f"missing: {what}" for what in run.missing]
    if run.notes:
        lines += [f"not the same here: {note}" if " there, " in note else note for note in run.notes]
        lines.append(f"the largest relative change of a score or a bound is {run.spread:.2g}")
    return lines


def _outputs(outputs: OutputsAgain) -> list[str]:
    lines = [f"{outputs.identical:,} of {outputs.of:,} outputs are identical ({outputs.identical / outputs.of:.1%})"]
    if outputs.first is not None:
        lines.append(f"the first output that differs is of {outputs.first.place}")
        lines += [f"  there  {_text(outputs.first.stored)}", f"  here   {_text(outputs.first.here)}"]
    for row in outputs.changes:
        change, interval = number(row.difference, row.digits), bounds(row.low, row.high, row.digits)
        lines.append(f"{row.score} changed by {change} {interval}, p {number(row.p_value, 4)}: {row.verdict}")
    return lines


def _shown(difference: Difference) -> str:
    if difference.stored is None and difference.here is None:
        return f"{difference.place}: {difference.what}"
    return f"{difference.place}: {difference.what} is {_text(difference.stored)} there, {_text(difference.here)} here"


def _text(value: Any) -> str:
    """Numbers with all their digits, texts as JSON writes them, so that every character is seen."""
    text = json.dumps(value, ensure_ascii=False, default=str) if not isinstance(value, float) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text):,} characters)"


def _more(differences: Sequence[Difference], line: Any) -> None:
    if len(differences) > MOST:
        line(f"and {len(differences) - MOST} more (--json has all)")


def _verdict(result: Reproductions) -> str:
    total = result.compared + sum(run.compared for run in result.runs)
    names = ", ".join(run.run for run in result.runs if run.verdict == result.verdict)
    if result.verdict == "same":
        return f"same: {counted(len(result.runs), 'run')}, {counted(total, 'value')}"
    if result.verdict == "different":
        return f"different: {names or 'what lies beside the runs'}"
    return f"cannot be tried: {names}"
