"""`harness gate NEW --baseline OLD`: has a change made the model worse? An exit code for CI, not flipped by noise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from harness.cli.arguments import (
    RUN,
    as_json,
    comparison_options,
    grouping,
    margins,
    progress,
    resampling,
    trust_of,
    trusting,
)
from harness.cli.output import print_json, show_warnings, write_text
from harness.inputs.choices import CORRECTION, CORRECTIONS

if TYPE_CHECKING:
    from harness.types import RunResult


def add(commands: Any) -> None:
    gate = commands.add_parser(
        "gate",
        help="has a change made it worse? exit 0: better or not worse, 1: worse, 3: cannot tell",
        description="Compares runs with those of a baseline on the same data. Exit code 0: better, or not worse by the "
        "margin; 1: worse; 3: these examples cannot tell; 2: an error.",
    )
    gate.add_argument("runs", nargs="+", metavar="NEW", help=RUN)
    gate.add_argument("--baseline", nargs="+", required=True, metavar="OLD", help="a run on each of the same data sets")
    gate.add_argument(
        "--margin",
        nargs="+",
        metavar="SCORE=X",
        action="extend",
        default=[],
        help="a loss in SCORE that does not matter; these scores alone are asked for",
    )
    gate.add_argument("--policy", metavar="FILE", help="YAML: margins, floors, slices, limits (docs/gate.md)")
    gate.add_argument(
        "--on-unknown", choices=("pass", "fail"), help="exit 0 or 1 instead of 3 where nothing can be told"
    )
    gate.add_argument("--junit", metavar="FILE", help="write JUnit XML there")
    gate.add_argument("--markdown", metavar="FILE", help="append Markdown to it, such as a job's summary")
    gate.add_argument("--correction", choices=tuple(CORRECTIONS), default=CORRECTION, help="of worse and better")
    grouping(gate)
    resampling(gate)
    trusting(gate)
    as_json(gate)
    gate.set_defaults(call=call, error_code=2)


def call(options: Any) -> None:
    from dataclasses import asdict, replace

    from harness.analysis.gate import gating, policies
    from harness.report.tables import junit
    from harness.report.terminal import gate_answers

    show_warnings()
    policy = policies.load(options.policy) if options.policy else policies.Policy()
    policy = policy.with_margins(margins(options.margin))
    policy = replace(policy, on_unknown=options.on_unknown or policy.on_unknown)
    new, old = (_grouped(gating.loaded(runs, trust_of(options)), options) for runs in (options.runs, options.baseline))
    gated = gating.gate(new, old, policy, comparison_options(options), progress(options))
    if options.junit:
        write_text(options.junit, '<?xml version="1.0" encoding="utf-8"?>\n' + junit.written(gated, "harness gate"))
    if options.markdown:
        write_text(options.markdown, gate_answers.written(gated, options.runs, options.baseline), "a")
    if options.json:
        print_json(
            verdict=gated.verdict,
            exit_code=gated.code,
            level=gated.level,
            correction=gated.correction,
            on_unknown=gated.on_unknown,
            checks=[asdict(check) for check in gated.checks],
        )
    else:
        gate_answers.print_gate(gated)
    sys.exit(gated.code)


def _grouped(runs: list[RunResult], options: Any) -> list[RunResult]:
    """Seeds of one system as one; a run alone is itself."""
    from harness.analysis.comparing.groups import by_parameter

    return by_parameter(runs, options.group_by) if len(runs) > 1 else runs
