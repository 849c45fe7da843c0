"""`harness table RUN…`: a results table for a paper."""

from __future__ import annotations

import sys
from typing import Any

from harness.cli.arguments import (
    RUN,
    by_slice,
    comparison_options,
    grouping,
    loaded,
    progress,
    resampling,
    testing,
    trusting,
)
from harness.cli.output import show_warnings
from harness.inputs.visible import visible

SUFFIXES = {".md": "markdown", ".tex": "latex", ".csv": "csv"}


def add(commands: Any) -> None:
    table = commands.add_parser(
        "table",
        help="a results table for a paper: Markdown, LaTeX or CSV",
        description="Systems as rows, scores as columns, data sets as groups. Bold: the best, and all that the "
        "adjusted tests cannot tell apart from it. With --baseline: † significantly better, ‡ worse.",
    )
    table.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    table.add_argument(
        "--format", choices=("markdown", "latex", "csv"), help="(default: by the suffix of FILE, else markdown)"
    )
    table.add_argument("--baseline", metavar="RUN", help="mark what is significantly better or worse than this run")
    table.add_argument(
        "--interval", choices=("bounds", "plus-minus", "none"), default="bounds", help="(default: %(default)s)"
    )
    table.add_argument("--digits", type=int, metavar="N", help="after the decimal point (default: as each metric says)")
    table.add_argument("--caption", metavar="LATEX", help="of the LaTeX table")
    table.add_argument("--label", metavar="KEY", help="of the LaTeX table (default: tab:scores)")
    table.add_argument("-o", "--output", metavar="FILE", help="write it there, not to standard output")
    by_slice(table)
    testing(table)
    grouping(table)
    resampling(table)
    trusting(table)
    table.set_defaults(call=call, parser=table)


def call(options: Any) -> None:
    from pathlib import Path

    from harness.analysis.tabulate import Layout, table
    from harness.types import HarnessError

    file = Path(options.output) if options.output else None
    form = options.format or SUFFIXES.get(file.suffix if file else "", "markdown")
    if form != "latex" and (options.caption is not None or options.label is not None):
        options.parser.error("--caption and --label: expected them with --format latex")
    show_warnings()
    layout = Layout(form, options.interval, options.digits, options.caption, options.label)
    text = table(*loaded(options), layout, comparison_options(options), progress(options))
    if file is None:
        sys.stdout.write(visible(text))
        return
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise HarnessError(f"{file}: {error.strerror or error}; expected a file that can be written") from None
