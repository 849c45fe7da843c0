"""`harness best RUN RUN…`: the best of several runs, corrected for having been chosen."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import as_json, grouping, loaded, progress, resampling, trusting
from harness.cli.output import print_json, show_warnings


def add(commands: Any) -> None:
    best = commands.add_parser("best", help="the best of several runs, corrected for having been chosen")
    best.add_argument("runs", nargs="+", metavar="RUN", help="all the runs that the best was chosen from")
    best.add_argument(
        "--split",
        action="store_true",
        help="choose on a random half of the examples and report the other half (default: all of them, corrected)",
    )
    grouping(best, question=False)
    resampling(best, scores=False)
    trusting(best)
    as_json(best)
    best.set_defaults(call=call)


def call(options: Any) -> None:
    from dataclasses import asdict

    from harness.analysis.comparing import best
    from harness.stats.options import Options

    show_warnings()
    chosen = Options(resamples=options.resamples, level=options.level, seed=options.seed)
    rows = best(loaded(options)[0], chosen, options.split, progress(options))
    if options.json:
        print_json(level=options.level, rows=[asdict(row) for row in rows])
    else:
        from harness.report.terminal.comparisons import print_best

        print_best(rows)
