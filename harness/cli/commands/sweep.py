"""`harness sweep [NAME|GROUP|DIR|RUN…]`: a sweep as a thing."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import as_json, progress, resampling, trust_of, trusting
from harness.cli.output import print_json, show_warnings

AGAINST = ("cost", "tokens", "seconds", "latency")


def add(commands: Any) -> None:
    sweep = commands.add_parser(
        "sweep",
        help="a sweep: its cells, what its parameters do, the best and what equals it",
        description="Lists the cells of a multirun (done, dropped by a race, running, failed, missing), shows what "
        "each parameter does to a score and how much it matters, the best cell corrected for having been chosen, all "
        "that cannot be told apart from it, and the front of the score against what an output costs.",
    )
    sweep.add_argument(
        "runs",
        nargs="*",
        metavar="SWEEP",
        help="the group of a multirun, the name of its runs, the folder that they are in, one of them, or several runs "
        "(default: the newest sweep)",
    )
    sweep.add_argument("--score", metavar="NAME", help="by this score (default: what was raced for, else the first)")
    sweep.add_argument(
        "--against",
        choices=AGAINST,
        help="what an output takes, for the front: its cost, its tokens, the seconds to make it, or the median time a "
        "server took to answer (default: the first that is known)",
    )
    resampling(sweep, scores=False)
    trusting(sweep)
    as_json(sweep)
    sweep.set_defaults(call=call)


def call(options: Any) -> None:
    from harness.analysis.sweeps.sweep_study import Asked, document, sweep

    show_warnings()
    asked = Asked(options.score, options.against, options.level, options.resamples, options.seed)
    swept = sweep(options.runs, asked, trust_of(options), progress(options))
    if options.json:
        print_json(**document(swept))
    else:
        from harness.report.terminal.sweep_table import print_again, print_sweep

        print_sweep(swept)
        print_again(swept.ledger)
