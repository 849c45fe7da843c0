"""`harness compare RUN RUN…`: paired comparison of stored runs, or of groups of them (`ours=runs/ours-seed*`)."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import (
    RUN,
    as_json,
    by_slice,
    comparison_options,
    grouping,
    loaded,
    margins,
    progress,
    resampling,
    testing,
    trusting,
)
from harness.cli.output import print_json, show_warnings
from harness.inputs.choices import ALTERNATIVES, DIFFERENCE_METHODS, METHOD


def add(commands: Any) -> None:
    compare = commands.add_parser(
        "compare",
        help="paired comparison of stored runs",
        description="Compares runs on the same examples: of each pair and score the difference with its "
        "interval, p-values corrected for all tests, a verdict, and what could have been detected.",
    )
    compare.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    compare.add_argument("--baseline", metavar="RUN", help="compare each run with this one; without it, all pairs")
    compare.add_argument(
        "--alternative",
        choices=ALTERNATIVES,
        default="two-sided",
        help="one-sided: only a better (worse) system counts (default: %(default)s)",
    )
    compare.add_argument(
        "--method",
        choices=DIFFERENCE_METHODS,
        default=METHOD,
        help="how the intervals are computed (default: %(default)s)",
    )
    compare.add_argument(
        "--cross-check", action="store_true", help="also run the paired t-test and Wilcoxon's test, for means"
    )
    compare.add_argument(
        "--margin",
        metavar="SCORE=X",
        action="append",
        default=[],
        help="a difference in SCORE that does not matter: is the system equivalent, or not worse? may be repeated",
    )
    compare.add_argument(
        "--posterior",
        action="store_true",
        help="also the probability that the system is better, and that the difference is within its margin",
    )
    by_slice(compare)
    testing(compare)
    grouping(compare)
    resampling(compare)
    trusting(compare)
    as_json(compare)
    compare.set_defaults(call=call)


def call(options: Any) -> None:
    from dataclasses import asdict, replace

    from harness.analysis.comparing.comparing import compare, ranked

    show_warnings()
    chosen = replace(comparison_options(options), margins=margins(options.margin), posterior=options.posterior)
    runs, baseline = loaded(options)
    rows = compare(runs, baseline, chosen, progress(options))
    ranking = ranked(runs, rows, chosen, progress(options))
    if options.json:
        fields = {name: getattr(options, name) for name in ("test", "alternative", "correction", "method", "level")}
        fields |= {"margins": dict(chosen.margins), "question": rows[0].question}
        fields |= {"resamples": options.resamples, "seed": options.seed}
        fields |= {"comparisons": [asdict(row) for row in rows], "macro_average": [asdict(row) for row in rows.macro]}
        fields |= (
            {"by": options.sliced_by, "interactions": [asdict(row) for row in rows.interactions]}
            if options.sliced_by
            else {}
        )
        print_json(**fields, rankings=[asdict(each) for each in ranking])
    else:
        from harness.report.terminal.comparisons import print_comparisons

        print_comparisons(rows, ranking, chosen)
