"""`harness variance RUN…|NAME=GLOB…`: where the noise of scores comes from, and what to buy against it."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import as_json, grouping, trust_of, trusting
from harness.cli.output import print_json, show_warnings
from harness.inputs.choices import LEVEL, SEED


def add(commands: Any) -> None:
    variance = commands.add_parser(
        "variance",
        help="where the noise of scores comes from: examples, seeds, prompts; and what to buy against it",
        description="Splits the noise of each score by its sources: examples, and whatever differs between the runs of "
        "a group (seeds, prompts, any parameter that should not matter), or between several outputs of an example.",
    )
    variance.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="NAME=GLOB: runs of one system; runs by name or folder: those on one data set together; a run with "
        "several outputs of each example: by itself",
    )
    variance.add_argument("--score", metavar="NAME", action="append", help="this score only; may be repeated")
    variance.add_argument("--level", type=float, default=LEVEL, help="of the intervals (default: %(default)s)")
    variance.add_argument("--seed", type=int, default=SEED, help="(default: %(default)s)")
    grouping(variance, question=False)
    trusting(variance)
    as_json(variance)
    variance.set_defaults(call=call)


def call(options: Any) -> None:
    from dataclasses import asdict

    from harness.analysis.comparing.noise import Asked, variance

    show_warnings()
    asked = Asked(options.score and tuple(options.score), options.level, options.seed, options.group_by)
    rows = variance(options.runs, asked, trust_of(options))
    if options.json:
        print_json(level=options.level, rows=[asdict(row) for row in rows])
    else:
        from harness.report.terminal.variances import print_variances

        print_variances(rows)
