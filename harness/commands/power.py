"""`harness power RUN RUN…`: what a comparison can detect."""

from __future__ import annotations

from typing import Any

from harness.commands import as_json, print_json, resampling, settings


def add(commands: Any) -> None:
    power = commands.add_parser("power", help="what a comparison can detect, and how many examples it would take")
    power.add_argument("runs", nargs="+", metavar="RUN", help="two runs or more on the same data")
    power.add_argument("--baseline", metavar="RUN", help="against this run only; without it, all pairs")
    power.add_argument(
        "--difference", type=float, help="the difference to detect, of one metric (default: the one seen)"
    )
    power.add_argument("--power", type=float, default=0.8, help="chance to detect it (default: %(default)s)")
    resampling(power)
    as_json(power)
    power.set_defaults(call=call)


def call(options: Any) -> None:
    from dataclasses import asdict

    from harness.api import power

    rows = power(options.runs, scores=options.score, **settings(options, "baseline", "difference", "power"))
    if options.json:
        print_json(level=options.level, power=options.power, rows=[asdict(row) for row in rows])
    else:
        from harness.report.comparisons import print_powers

        print_powers(rows, options.power)
