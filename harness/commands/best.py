"""`harness best RUN RUN…`: the best of several runs, corrected for having been chosen."""

from __future__ import annotations

from typing import Any

from harness.commands import as_json, print_json, resampling, settings


def add(commands: Any) -> None:
    best = commands.add_parser("best", help="the best of several runs, corrected for having been chosen")
    best.add_argument("runs", nargs="+", metavar="RUN", help="the runs it is chosen from, all of them")
    resampling(best, scores=False)
    as_json(best)
    best.set_defaults(call=call)


def call(options: Any) -> None:
    from dataclasses import asdict

    from harness.api import best

    rows = best(options.runs, **settings(options))
    if options.json:
        print_json(level=options.level, rows=[asdict(row) for row in rows])
    else:
        from harness.report.comparisons import print_best

        print_best(rows)
