"""Tables as they stand in a document: the cells of Markdown and LaTeX tables with their places.

>>> rows = markdown(["| System | BLEU |", "| --- | ---: |", "| a | **4.12**† [3.4, 4.9] |"], 1)
>>> [cell.text for cell in rows[1].cells]
['a', '**4.12**† [3.4, 4.9]']
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

RULE = re.compile(r"\|?[\s:|-]+\|?$")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
DECORATION = re.compile(r"\\(?:cellcolor|textcolor|color|h?phantom)(?:\[[^\]]*\])?\{[^{}]*\}")
"""Of LaTeX cells: shades, and blanks that align digits. Its numbers are not the table's."""


@dataclass(frozen=True)
class TableCell:
    text: str
    line: int
    column: int
    """Of its first character, both from 1."""


@dataclass(frozen=True)
class TableRow:
    """The first is the head."""

    cells: tuple[TableCell, ...]


def markdown(lines: Sequence[str], first: int) -> list[TableRow]:
    """Of lines of which the first has the number `first`."""
    rows = []
    for number, line in enumerate(lines, first):
        if not RULE.fullmatch(line.strip()):
            rows.append(TableRow(_cells(line, number, r"(?<!\\)\|", 1 if line.lstrip().startswith("|") else 0)))
    return rows


def above(text: str, line: int) -> tuple[list[str], int]:
    """(the lines of the last Markdown table before a line, the number of the first of them)."""
    lines = text.splitlines()[: line - 1]
    last = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].lstrip().startswith("|")), None)
    if last is None:
        return [], 0
    first = last
    while first and lines[first - 1].lstrip().startswith("|"):
        first -= 1
    return lines[first : last + 1], first + 1


def latex(lines: Sequence[str], first: int) -> list[TableRow]:
    """Of the lines between \\begin{tabular} and \\end{tabular}; what is below a row without a name is of that row."""
    rows = []
    for number, line in enumerate(lines, first):
        bare = line.rstrip()
        if not bare.endswith(r"\\") or bare.lstrip().startswith((r"\multicolumn", "%")):
            continue
        rows.append(TableRow(_cells(bare[:-2], number, r"(?<!\\)&", 0)))
    return rows


def below(text: str, line: int) -> tuple[list[str], int]:
    """(the lines of the first LaTeX table after a line, the number of the first of them)."""
    lines = text.splitlines()
    begin = next((i for i in range(line, len(lines)) if r"\begin{tabular" in lines[i]), None)
    if begin is None:
        return [], 0
    end = next((i for i in range(begin, len(lines)) if r"\end{tabular" in lines[i]), len(lines))
    return lines[begin + 1 : end], begin + 2


def numbers(cell: TableCell) -> list[tuple[str, int]]:
    """(as it is written, its column) of each number; a minus may be set as mathematics."""
    text = DECORATION.sub(lambda match: " " * len(match[0]), cell.text.replace("$-$", "  -"))
    return [(match[0], cell.column + match.start()) for match in NUMBER.finditer(text)]


def marks(cell: TableCell) -> tuple[bool, str]:
    """(bold, † or ‡ or nothing)."""
    bold = r"\textbf{" in cell.text or "**" in cell.text
    if "‡" in cell.text or r"\ddagger" in cell.text:
        return bold, "‡"
    return bold, "†" if "†" in cell.text or r"\dagger" in cell.text else ""


def _cells(line: str, number: int, separator: str, skipped: int) -> tuple[TableCell, ...]:
    ends = [match.start() for match in re.finditer(separator, line)]
    starts = [0, *(end + 1 for end in ends)]
    parts = [(start, line[start:end]) for start, end in zip(starts, [*ends, len(line)], strict=True)][skipped:]
    if skipped and parts and not parts[-1][1].strip():
        parts = parts[:-1]
    return tuple(TableCell(part.strip(), number, start + 1 + len(part) - len(part.lstrip())) for start, part in parts)
