"""`harness report RUN… -o FILE.html`: runs side by side in one HTML file."""

from __future__ import annotations

import sys
from typing import Any

from harness.commands import RUN, resampling, settings, testing

LARGE = 25_000_000
"""Bytes up to which a page stays quick."""


def add(commands: Any) -> None:
    report = commands.add_parser(
        "report",
        help="one HTML file: who is better, pictures, and every example to search, sort and read",
        description="Writes runs side by side as one HTML file that opens from disk and asks no server.",
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
        help="scores by this metadata field, also as a filter; may be given again",
    )
    report.add_argument(
        "--alignments",
        type=int,
        default=20,
        metavar="N",
        help="keep the words that BERTScore matched for N biggest wins and losses (default: %(default)s)",
    )
    report.add_argument(
        "--max-examples",
        type=int,
        metavar="N",
        help="of larger data the biggest differences and an even share of the rest (default: all)",
    )
    testing(report)
    resampling(report)
    report.set_defaults(call=call)


def call(options: Any) -> None:
    from harness.reports import write_report

    chosen = {name: getattr(options, name) for name in ("baseline", "title", "by", "alignments", "max_examples")}
    chosen |= settings(options, "test", "correction")
    path = write_report(options.runs, options.output, scores=options.score, **chosen)
    size = path.stat().st_size
    print(f"{path}  {size / 1e6:.1f} MB")
    if size > LARGE:
        print("harness: large for a browser or a mail; --max-examples N keeps the biggest differences", file=sys.stderr)
