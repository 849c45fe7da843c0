"""Scores as LaTeX macros, so that prose and tables cannot disagree: `\\harness{dev-sysA}{bleu}` prints 4.12.

Names of bounds end in `.low` and `.high`. A name that is not defined shows in the text, and stops nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.report.tables.cells import Table, number

HEAD = (
    "% \\input{this file}, then \\harness{RUN}{SCORE}, \\harness{RUN}{SCORE.low}; written by harness table --macros.\n"
    "\\providecommand{\\harness}[2]{\\ifcsname harness:#1:#2\\endcsname\\csname harness:#1:#2\\endcsname"
    "\\else\\textbf{??\\detokenize{#1 #2}??}\\fi}"
)
DEFINED = re.compile(r"\\expandafter\\def\\csname harness:(.+?):([\w.]+)\\endcsname\{([^}]*)\}")
USED = re.compile(r"\\harness\{([^}]+)\}\{([\w.]+)\}")


def written(table: Table, traces: Sequence[str]) -> str:
    lines = [HEAD, *(f"% {trace}" for trace in traces)]
    for section in table.sections:
        for row in section.rows:
            name = row.run.manifest.get("name", row.run.name)
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell is None:
                    continue
                ends = {"": cell.score.estimate, ".low": cell.score.low, ".high": cell.score.high}
                lines += [
                    rf"\expandafter\def\csname harness:{name}:{column.score}{end}\endcsname"
                    rf"{{{number(value, column.digits).replace('-', '$-$')}}}"
                    for end, value in ends.items()
                    if value is not None
                ]
    return "\n".join(lines) + "\n"
