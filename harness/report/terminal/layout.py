"""Columns of text for a terminal: as wide as their widest cell, numbers aligned, nothing cut and nothing wrapped.

Rich's own table shortens or folds what does not fit, lines up no points, and takes twice as long for 2,000 rows as all
else that `harness runs` does. Here a table too wide for the terminal is shown in another layout,
one line per cell at last.

>>> shown = Columns(("score", "left"), ("estimate", "point"), ("95% interval", "interval"))
>>> shown.add_row("bleu", "4.12", "[-3.40, 4.83]")
>>> shown.add_row("chrf", "34.50", "[33.20, 35.81]")
>>> shown.add_row("rougeL", "0.1859", "[0.1743, 0.1968]")
>>> print("\\n".join(shown.lines()))
score   estimate  95% interval
bleu      4.12    [-3.40,  4.83]
chrf     34.50    [33.20, 35.81]
rougeL    0.1859  [0.1743, 0.1968]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from harness.inputs.visible import in_line, visible

GAP = 2
INTERVAL = re.compile(r"\[(\S+), (\S+)\]")
Cell = str | Text
Line = list[tuple[str, str | Style]]
"""Pieces of (text, style)."""


class Columns:
    """Rows of cells under heads. A cell is a text, or a `Text` of one style; a row of a first cell alone is a heading
    above those that follow, as wide as it is."""

    def __init__(self, *columns: tuple[str, str], title: str | None = None) -> None:
        """`columns`: (head, alignment); `left`, `right`, `point` (decimal points line up) or `interval` (the bounds of
        one scale line up)."""
        self.heads = [in_line(head) for head, _ in columns]
        self.kinds = [kind for _, kind in columns]
        self.title = None if title is None else in_line(title)
        self.rows: list[tuple[list[Cell], str]] = []
        self._made: list[Line] = []

    def add_row(self, *cells: Cell, style: str | None = None) -> None:
        assert len(cells) == len(self.heads), cells
        self.rows.append((list(cells), style or ""))
        self._made = []

    @property
    def width(self) -> int:
        """Of its widest line."""
        return max(_width(line) for line in self.lines())

    @property
    def widths(self) -> list[int]:
        """Of its columns, without the gaps between them."""
        return [_width(column[0]) for column in self._aligned(self.heads)]

    def keeping(self, columns: Sequence[int]) -> Columns:
        """The same rows with these columns only."""
        kept = Columns(*((self.heads[i], self.kinds[i]) for i in columns), title=self.title)
        kept.rows = [([cells[i] for i in columns], style) for cells, style in self.rows]
        return kept

    def lines(self) -> list[str]:
        """As plain text."""
        return ["".join(text for text, _ in line) for line in self._lines()]

    def _lines(self) -> list[Line]:
        """Made once, to be measured and printed."""
        self._made = self._made or list(self._styled())
        return self._made

    def _styled(self) -> Iterator[Line]:
        if self.title is not None:
            yield [(self.title, "bold")]
        columns = self._aligned(self.heads)
        yield self._line([(column[0], "dim") for column in columns])
        for r, (cells, style) in enumerate(self.rows, 1):
            styles = [cell.style if isinstance(cell, Text) else style for cell in cells]
            if _alone(cells):
                yield [(_plain(cells[0]), styles[0])]
                continue
            yield self._line([(column[r], styles[i]) for i, column in enumerate(columns)])

    def _aligned(self, heads: Sequence[str]) -> list[list[str]]:
        """For each column its head and its cells, all of one width."""
        rows = [[""] * len(heads) if _alone(cells) else cells for cells, _ in self.rows]
        return [_aligned([_plain(cells[i]) for cells in rows], self.kinds[i], head) for i, head in enumerate(heads)]

    def _line(self, cells: Line) -> Line:
        """One line, its cells in one piece where their style is the same; without blanks at its end."""
        while cells and not cells[-1][0].strip():
            cells.pop()
        pieces: Line = []
        for i, (text, style) in enumerate(cells):
            shown = text.rstrip() if i == len(cells) - 1 else text + " " * GAP
            bare = shown.strip()
            if isinstance(style, Style) and bare and bare != shown:  # a link covers its text, not the blanks around it
                before, after = shown.split(bare, 1)
                pieces += [(before, ""), (bare, style), (after, "")]
            elif pieces and pieces[-1][1] == style:
                pieces[-1] = (pieces[-1][0] + shown, style)
            else:
                pieces.append((shown, style))
        return pieces

    def stacked(self, width: int) -> Columns:
        """One line per cell, the row's first cell above them: for terminals too narrow for the columns. A value
        that has no room beside its label stands below it."""
        stack = _Stacked((self.heads[0], "left"), ("", "left"), title=self.title)
        longest = max((_width(head) for head in self.heads[1:]), default=0)
        aligned = self._aligned([""] * len(self.heads))
        for r, (cells, style) in enumerate(self.rows, 1):
            if _plain(cells[0]).strip():
                stack.add_row(cells[0], "", style=style or "bold")
            for i, head in enumerate(self.heads[1:], 1):
                value = aligned[i][r].strip() if self.kinds[i] in ("left", "right") else aligned[i][r].rstrip()
                if not value.strip():
                    continue
                label = f"  {head}" + " " * (longest - _width(head) + GAP)
                if _width(label) + _width(value) > width:
                    stack.add_row(Text(label.rstrip(), "dim"), "")
                    label, value = " " * 2 * GAP, value.strip()
                styled = cells[i]
                stack.add_row(label, Text(value, styled.style) if isinstance(styled, Text) else value)
        return stack

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        styles: dict[str, Style] = {}
        for line in self._lines():
            for text, style in line:
                if isinstance(style, str):
                    if style not in styles:
                        styles[style] = console.get_style(style) if style else Style.null()
                    style = styles[style]
                yield Segment(text, style)
            yield Segment.line()


class _Stacked(Columns):
    """Rows of a first cell alone, or of a label and a value; the heads are in the labels."""

    def _styled(self) -> Iterator[Line]:
        if self.title is not None:
            yield [(self.title, "bold")]
        for (first, second), style in self.rows:
            if second:
                yield [(_plain(first), "dim"), (_plain(second), second.style if isinstance(second, Text) else "")]
            else:
                yield [(_plain(first), first.style if isinstance(first, Text) else style)]


def show(out: Console, wide: Columns, *narrower: Columns, last: Columns | None = None) -> None:
    """Prints the first layout that the terminal has room for; where there is none, the last or the wide one, a line a
    cell. What is too long even then, a path for instance, is wrapped by the terminal."""
    fits = (layout for layout in (wide, *narrower) if layout.width <= out.width)
    out.print(next(fits, None) or (last or wide).stacked(out.width), crop=False)


def put(out: Console, shown: Columns) -> None:
    """Prints a table that may have thousands of lines: to what is no terminal as plain text, without rich."""
    if out.is_terminal:
        out.print(shown, crop=False)
    else:
        out.file.write("".join(f"{visible(line)}\n" for line in shown.lines()))


def _width(text: str) -> int:
    """In columns of a terminal; rich looks at each text of a table of thousands several times."""
    return len(text) if text.isascii() else cell_len(text)


def _alone(cells: Sequence[Cell]) -> bool:
    return len(cells) > 1 and not any(cell.plain if isinstance(cell, Text) else cell for cell in cells[1:])


def _plain(cell: Cell) -> str:
    """As it is shown, so that its width is that of what stands there."""
    return in_line(cell.plain if isinstance(cell, Text) else cell)


def _aligned(cells: Sequence[str], kind: str, head: str) -> list[str]:
    """The head and the cells of one column, all of one width."""
    if kind == "point":
        cells = _by_point(cells)
    elif kind == "interval":
        cells = _by_bounds(cells)
    lines = [head, *cells]
    widths = [_width(text) for text in lines]
    widest, right = max(widths), kind in ("right", "point")
    blanks = [" " * (widest - width) for width in widths]
    return [blank + text if right else text + blank for text, blank in zip(lines, blanks, strict=True)]


def _by_point(cells: Sequence[str]) -> list[str]:
    """Blanks after numbers with fewer digits; what is not a number ends at the point."""
    after = [len(text) - text.rfind(".") if "." in text else 0 for text in cells]
    most = max(after, default=0)
    return [text + " " * (most - digits) if text else "" for text, digits in zip(cells, after, strict=True)]


def _by_bounds(cells: Sequence[str]) -> list[str]:
    """Both bounds as wide as the widest of those with as many digits after the point."""
    matches = [INTERVAL.fullmatch(text) for text in cells]
    digits = [_digits(match[2]) if match else 0 for match in matches]
    widths: dict[int, tuple[int, int]] = {}
    for match, after in zip(matches, digits, strict=True):
        if match:
            low, high = widths.get(after, (0, 0))
            widths[after] = max(low, len(match[1])), max(high, len(match[2]))
    return [
        f"[{match[1]:>{widths[after][0]}}, {match[2]:>{widths[after][1]}}]" if match else text
        for text, match, after in zip(cells, matches, digits, strict=True)
    ]


def _digits(text: str) -> int:
    return len(text.partition(".")[2])
