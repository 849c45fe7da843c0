"""`harness power RUN RUN…`: what a comparison can detect."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import as_json, comparison_options, grouping, loaded, progress, resampling, trusting
from harness.cli.output import print_json, show_warnings


def add(commands: Any) -> None:
    power = commands.add_parser("power", help="what a comparison can detect, and how many examples it would take")
    power.add_argument("runs", nargs="+", metavar="RUN", help="two or more runs on the same data")
    power.add_argument("--baseline", metavar="RUN", help="against this run only; without it, all pairs")
    power.add_argument(
        "--difference", type=float, help="the difference to detect, of one metric (default: the one seen)"
    )
    power.add_argument("--power", type=float, default=0.8, help="the chance of detecting it (default: %(default)s)")
    grouping(power)
    resampling(power)
    trusting(power)
    as_json(power)
    power.set_defaults(call=call)


def call(options: Any) -> None:
    from dataclasses import asdict

    from harness.analysis.comparing import power

    show_warnings()
    chosen, target = comparison_options(options), (options.difference, options.power)
    rows = power(*loaded(options), chosen, *target, progress(options))
    if options.json:
        print_json(level=options.level, power=options.power, rows=[asdict(row) for row in rows])
    else:
        from harness.report.terminal.comparisons import print_powers

        print_powers(rows, options.power)
