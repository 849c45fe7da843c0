"""`harness power RUN RUN…`: what a comparison can detect; with one run, or none, what one would."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import as_json, comparison_options, grouping, loaded, progress, resampling, trusting
from harness.cli.output import print_json, show_warnings


def add(commands: Any) -> None:
    power = commands.add_parser(
        "power",
        help="what a comparison can detect, and how many examples or seeds it would take",
        description="With two runs or more: what their comparison can detect. With one: what a comparison of two "
        "systems like it would. With none: by --sd, --n, --seeds and --seed-sd.",
    )
    power.add_argument("runs", nargs="*", metavar="RUN", help="runs or groups (NAME=GLOB) on the same data")
    power.add_argument("--baseline", metavar="RUN", help="against this run only; without it, all pairs")
    power.add_argument(
        "--difference", type=float, help="the difference to detect, of one metric (default: the one seen, of two runs)"
    )
    power.add_argument("--power", type=float, default=0.8, help="the chance of detecting it (default: %(default)s)")
    power.add_argument("--sd", type=float, help="without runs: standard deviation of a difference on one example")
    power.add_argument("--n", type=int, help="without runs: how many examples (default: as many as it takes)")
    power.add_argument("--seeds", type=int, default=1, help="without runs: of each system (default: %(default)s)")
    power.add_argument("--seed-sd", type=float, default=0.0, help="without runs: standard deviation between seeds")
    power.add_argument(
        "--correlation",
        type=float,
        default=0.0,
        help="with one run: of the two systems' scores of an example (default: %(default)s, which asks for most)",
    )
    grouping(power)
    resampling(power)
    trusting(power)
    as_json(power)
    power.set_defaults(call=call, parser=power)


def call(options: Any) -> None:
    from dataclasses import asdict

    from harness.analysis.comparing.comparing import power
    from harness.report.terminal.powers import print_powers
    from harness.stats.power.experiments import Aim, Plan, planned

    show_warnings()
    aim = Aim(options.difference, options.power, options.level, options.correlation)
    given = [name for name in ("sd", "n") if getattr(options, name) is not None]
    given += [name for name, usual in (("seeds", 1), ("seed_sd", 0.0)) if getattr(options, name) != usual]
    if options.runs and given:
        options.parser.error(f"--{given[0].replace('_', '-')} with runs: expected it without any")
    if not options.runs and options.sd is None:
        options.parser.error("no runs: expected two, one as a pilot, or --sd and --difference or --n")
    if options.runs:
        rows = power(*loaded(options), comparison_options(options), aim, progress(options))
    else:
        rows = [planned(Plan(options.sd, options.n, options.seeds, options.seed_sd), aim)]
    if options.json:
        print_json(level=options.level, power=options.power, rows=[asdict(row) for row in rows])
    else:
        print_powers(rows, options.power)
