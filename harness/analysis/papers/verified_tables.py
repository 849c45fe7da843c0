"""A Markdown or LaTeX table beside the same made again: numbers, marks, signatures, numbers of examples; and macros."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.analysis.papers.findings import Document
from harness.analysis.papers.tabulate import Tabulated
from harness.inputs import table_text
from harness.inputs.table_text import TableCell, TableRow
from harness.report.tables import macros

SIGNATURE = re.compile(r"^(?:- )?(.+?): (`.*`|\\texttt\{.*\}\.)\s*$")
COUNT = re.compile(r"\bn = ([\d,]+) examples of (.+?)(?= in [\d,]+ clusters|[.;,] |[.;,]?$)")
SENTENCE = re.compile(r"(?<=\.) (?=[A-Z†‡])")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
OWN = "harness"
"""What stands before the version of this program, which may be another one."""


def check_table(page: Document, line: int, made: Tabulated) -> None:
    """The table beside its comment in this line, beside the same made again."""
    if macros.DEFINED.search(page.text):
        return _check_macros(page, made)
    lines, first = table_beside(page.text, line, made.layout.format)
    if not lines:
        return page.say(line, 1, "the comment of a table has no table beside it")
    page.verified.tables += 1
    text = made.text()
    end = 0 if made.layout.format == "latex" else len(text.splitlines()) + 1
    made_lines, _ = table_beside(text, end, made.layout.format)
    there = table_text.latex if made.layout.format == "latex" else table_text.markdown
    _compare(page, there(lines, first), there(made_lines, 1))
    below = first + len(lines) - 1
    rest = page.text.splitlines()[below:]
    ends = (i for i, row in enumerate(rest) if row.startswith((r"\end{table", "<!--")))
    note = rest[: next(ends, len(rest))]
    _compare_notes(page, below, note, text.splitlines())
    return _compare_sentences(page, below, note, text.splitlines())


def table_beside(text: str, line: int, form: str) -> tuple[list[str], int]:
    """(the lines of the table that a comment in a line is of, the number of the first)."""
    return table_text.below(text, line) if form == "latex" else table_text.above(text, line)


def row_of(page: Document, line: int, form: str, label: str) -> tuple[int, int]:
    """(line, column) of the row of that name in the table beside a comment; of the comment where there is none."""
    lines, first = table_beside(page.text, line, form)
    rows = (table_text.latex if form == "latex" else table_text.markdown)(lines, first)
    plain = {row.cells[i].text.replace("\\", ""): row.cells[i] for row in rows for i in (1, 0) if i < len(row.cells)}
    cell = plain.get(label)
    return (line, 1) if cell is None else (cell.line, cell.column)


def _compare(page: Document, rows: Sequence[TableRow], expected: Sequence[TableRow]) -> None:
    heads = [cell.text for cell in expected[0].cells]
    columns = [heads.index(cell.text) if cell.text in heads else None for cell in rows[0].cells]
    for cell, place in zip(rows[0].cells, columns, strict=True):
        if place is None:
            page.say(cell.line, cell.column, f"no column {cell.text!r} in the runs' table; expected one of {heads}")
    labels = 1 + (len(heads) > 1 and heads[0] == "Data set")
    by_name = dict(_by_name(expected[1:], labels))
    for name, row in _by_name(rows[1:], labels):
        if name not in by_name:
            first = row.cells[0]
            page.say(first.line, first.column, f"no run of the table is called {name[-2]!r}")
            continue
        for cell in row.cells[len(columns) :]:
            page.say(cell.line, cell.column, f"{cell.text!r} is in no column of the table")
        for cell, place in zip(row.cells[labels:], columns[labels:], strict=False):
            if place is not None and place < len(by_name[name].cells):
                _compare_cell(page, cell, by_name[name].cells[place], f"{heads[place]} of {name[-2]}")


def _by_name(rows: Sequence[TableRow], labels: int) -> Iterator[tuple[tuple[str, ...], TableRow]]:
    """Each row by (data set and) name, and how often that came before; a row without a name is of the one above."""
    last: list[str] = [""] * labels
    times: dict[tuple[str, ...], int] = {}
    for row in rows:
        own = [cell.text for cell in row.cells[:labels]]
        last = [text or before for text, before in zip(own, last, strict=False)] if any(own) else last
        place = times[tuple(last)] = times.get(tuple(last), -1) + 1
        yield (*last, str(place)), row


def _compare_cell(page: Document, cell: TableCell, expected: TableCell, what: str) -> None:
    seen, wanted = table_text.numbers(cell), table_text.numbers(expected)
    for (text, column), (right, _) in zip(seen, wanted, strict=False):
        page.verified.numbers += 1
        if text != right:
            page.say(cell.line, column, f"{text}, where the run has {right} ({what})")
    if len(seen) != len(wanted):
        page.say(cell.line, cell.column, f"{cell.text!r}, where the run has {expected.text!r} ({what})")
    (bold, dagger), (right_bold, right_dagger) = table_text.marks(cell), table_text.marks(expected)
    if bold != right_bold:
        says = ("is bold", "the tests do not say so") if bold else ("is not bold", "the tests say it is of the best")
        page.say(cell.line, cell.column, f"{cell.text!r} {says[0]}; {says[1]} ({what})")
    if dagger != right_dagger:
        shown = right_dagger or "no mark"
        page.say(cell.line, cell.column, f"{cell.text!r} has {dagger or 'no mark'}; the tests give {shown} ({what})")


def _compare_notes(page: Document, below: int, lines: Sequence[str], expected: Sequence[str]) -> None:
    """Signatures and numbers of examples, where the lines below a table still say them as it was written."""
    signatures = {match[1]: match[2] for line in expected if (match := SIGNATURE.match(line))}
    counts = {match[2]: match[1] for line in expected for match in COUNT.finditer(line)}
    for number, line in enumerate(lines, below + 1):
        match = SIGNATURE.match(line)
        if match and match[1] != OWN and signatures.get(match[1], match[2]) != match[2]:
            right = signatures[match[1]]
            page.say(number, match.start(2) + 1, f"{match[2]}, where the runs have {right} (signature of {match[1]})")
        for count in COUNT.finditer(line):
            if counts.get(count[2], count[1]) != count[1]:
                right = counts[count[2]]
                page.say(
                    number, count.start(1) + 1, f"{count[1]}, where the runs have {right} (examples of {count[2]})"
                )


def _compare_sentences(page: Document, below: int, lines: Sequence[str], expected: Sequence[str]) -> None:
    """Levels, resamples, seeds and p-values of the note, where its sentences stand as they were written otherwise."""
    notes = [line for line in expected if not SIGNATURE.match(line) and not line.startswith(("|", "%", "\\", "<!--"))]
    sentences = [part for line in notes for part in SENTENCE.split(line) if "&" not in part and not COUNT.match(part)]
    for sentence in sentences:
        wanted = NUMBER.findall(sentence)
        pattern = re.compile(f"({NUMBER.pattern})".join(map(re.escape, NUMBER.split(sentence))))
        for number, line in enumerate(lines, below + 1):
            match = pattern.search(line) if wanted else None
            if match is None or match[0] in sentences:
                continue
            for i, right in enumerate(wanted, 1):
                if match[i] != right:
                    page.say(number, match.start(i) + 1, f"{match[i]}, where the runs have {right} (the note)")


def _check_macros(page: Document, made: Tabulated) -> None:
    page.verified.tables += 1
    right = {(run, name): value for run, name, value in macros.DEFINED.findall(made.macros())}
    for line, text in enumerate(page.text.splitlines(), 1):
        for match in macros.DEFINED.finditer(text):
            run, name, value = match.groups()
            page.verified.numbers += 1
            if (run, name) not in right:
                page.say(line, match.start() + 1, f"{name} of {run} is of no run of the table")
            elif right[run, name] != value:
                page.say(line, match.start(3) + 1, f"{value}, where the run has {right[run, name]} ({name} of {run})")
