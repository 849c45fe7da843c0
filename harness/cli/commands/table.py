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
from harness.cli.output import show_warnings, write_text
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
    table.add_argument(
        "--digits",
        type=_digits,
        default="auto",
        metavar="N",
        help="after the point; auto: by the width of the intervals; metric: as each metric says (default: %(default)s)",
    )
    table.add_argument("--sort", metavar="SCORE", help="rows by this score, the best first (default: as given)")
    table.add_argument(
        "--name",
        metavar="RUN=NAME",
        action="append",
        default=[],
        help="what a run or system is called in the table; may be repeated",
    )
    table.add_argument(
        "--note", choices=("full", "short", "none"), default="full", help="below the table (default: %(default)s)"
    )
    table.add_argument("--wide", action="store_true", help="LaTeX: over both columns of a page (table*)")
    table.add_argument("--macros", metavar="FILE", help="also write the scores as LaTeX macros, for prose")
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

    from harness.analysis.papers.tabulate import Layout, tabulated

    file = Path(options.output) if options.output else None
    form = options.format or SUFFIXES.get(file.suffix if file else "", "markdown")
    if form != "latex" and (options.caption is not None or options.label is not None or options.wide):
        options.parser.error("--caption, --label and --wide: expected them with --format latex")
    if unnamed := [text for text in options.name if "=" not in text]:
        options.parser.error(f"--name {unnamed[0]}: expected RUN=NAME")
    show_warnings()
    names = tuple((text.rpartition("=")[0], text.rpartition("=")[2]) for text in options.name)
    layout = Layout(
        form, options.interval, options.digits, options.caption, options.label, options.wide, options.note,
        options.sort, names,
    )  # fmt: skip
    made = tabulated(*loaded(options), layout, comparison_options(options), progress(options))
    if options.macros:
        write_text(options.macros, made.macros())
    if file is None:
        sys.stdout.write(visible(made.text()))
    else:
        write_text(file, made.text())


def _digits(text: str) -> int | str:
    return text if text in ("auto", "metric") else int(text)
