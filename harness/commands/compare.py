"""`harness compare RUN RUN…`: paired comparison of stored runs."""

from __future__ import annotations

from typing import Any

from harness.commands import RUN, as_json, print_json, resampling, settings, testing


def add(commands: Any) -> None:
    compare = commands.add_parser("compare", help="paired comparison of stored runs")
    compare.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    compare.add_argument("--baseline", metavar="RUN", help="compare each run with this one; without it, all pairs")
    compare.add_argument(
        "--alternative",
        choices=("two-sided", "better", "worse"),
        default="two-sided",
        help="one-sided: only a better (worse) system counts (default: %(default)s)",
    )
    compare.add_argument(
        "--method", choices=("percentile", "basic", "bca", "normal"), default="percentile", help="of the intervals"
    )
    compare.add_argument("--cross-check", action="store_true", help="also the paired t-test and Wilcoxon's, for means")
    testing(compare)
    resampling(compare)
    as_json(compare)
    compare.set_defaults(call=call)


def call(options: Any) -> None:
    from dataclasses import asdict

    from harness.api import compare
    from harness.stats.ranking import rankings

    chosen = ("test", "alternative", "correction", "method", "cross_check")
    rows = compare(options.runs, baseline=options.baseline, scores=options.score, **settings(options, *chosen))
    ranked = rankings(rows)
    if options.json:
        fields = {name: getattr(options, name) for name in ("test", "alternative", "correction", "method", "level")}
        fields |= {"resamples": options.resamples, "seed": options.seed}
        fields |= {"comparisons": [asdict(row) for row in rows], "macro_average": [asdict(row) for row in rows.macro]}
        print_json(**fields, rankings=[asdict(ranking) for ranking in ranked])
    else:
        from harness.report.comparisons import print_comparisons

        how = options.test, options.correction, options.alternative, options.cross_check
        print_comparisons(rows, ranked, options.level, *how)
