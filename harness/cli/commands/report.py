"""`harness report RUN… -o FILE.html`: runs side by side in one HTML file."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import RUN, comparison_options, grouping, loaded, progress, resampling, testing, trusting
from harness.cli.output import complain, show_warnings, tell
from harness.inputs.visible import in_line

LARGE = 25_000_000
"""Bytes up to which a page stays quick."""


def add(commands: Any) -> None:
    report = commands.add_parser(
        "report",
        help="one HTML file: which system is better, figures, and every example to search, sort and read",
        description="Writes runs side by side as one HTML file that opens from disk and needs no server.",
    )
    report.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    report.add_argument("-o", "--output", metavar="FILE", default="report.html", help="(default: %(default)s)")
    report.add_argument("--baseline", metavar="RUN", help="what the others are measured against")
    report.add_argument("--title", help="of the page (default: the systems and the data)")
    report.add_argument(
        "--by",
        metavar="FIELD",
        action="append",
        default=[],
        help="scores by this metadata field, also as a filter; may be repeated",
    )
    report.add_argument(
        "--alignments",
        type=int,
        default=20,
        metavar="N",
        help="keep the words a metric (BERTScore) matched for the N biggest wins and losses (default: %(default)s)",
    )
    report.add_argument(
        "--max-examples",
        type=int,
        metavar="N",
        help="keep N examples: the biggest differences and an even share of the rest (default: all)",
    )
    testing(report)
    grouping(report)
    resampling(report)
    trusting(report)
    report.set_defaults(call=call)


def call(options: Any) -> None:
    from pathlib import Path

    from harness.analysis.pages.pages import PageOptions, write_page

    show_warnings()
    page = PageOptions(options.title, tuple(options.by), options.alignments, options.max_examples)
    path = Path(options.output)
    write_page(path, *loaded(options), page, comparison_options(options), progress(options))
    size = path.stat().st_size
    tell(in_line(f"{path}  {size / 1e6:.1f} MB"))
    if size > LARGE:
        complain("large for a browser or an e-mail; --max-examples N keeps the biggest differences")
