"""`harness best RUN RUN…`: the best of several runs, corrected for having been chosen; of checkpoints, the earliest
step that cannot be told from it. `harness best --on RUN… --report RUN…`: chosen on dev data, reported on test data."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import as_json, grouping, loaded, margins, progress, resampling, trust_of, trusting
from harness.cli.output import print_json, show_warnings, tell


def add(commands: Any) -> None:
    best = commands.add_parser(
        "best",
        help="the best of several runs, corrected for having been chosen",
        description="The best of several runs on the same data, corrected for having been chosen. Of checkpoints also "
        "the earliest step that cannot be told from the best, whether training still helped, and what more of it could "
        "be worth. With --on and --report: chosen on one data set, reported on another.",
    )
    best.add_argument("runs", nargs="*", metavar="RUN", help="all the runs that the best was chosen from")
    best.add_argument("--on", nargs="+", metavar="RUN", help="choose the best of these runs, on dev data ...")
    best.add_argument(
        "--report",
        nargs="+",
        metavar="RUN",
        help="... and report the same system's run of these, on test data, which needs no correction",
    )
    best.add_argument(
        "--split",
        action="store_true",
        help="choose on a random half of the examples and report the other half (default: all of them, corrected)",
    )
    best.add_argument(
        "--alias",
        metavar="NAME",
        help="give the best run's model this alias in MLflow's registry, where it is registered: champion, say",
    )
    best.add_argument(
        "--margin",
        metavar="SCORE=X",
        action="append",
        default=[],
        help="of checkpoints: a difference in SCORE that does not matter; which step is the first shown to be that "
        "near the best? may be repeated",
    )
    best.add_argument(
        "--further",
        type=int,
        metavar="N",
        help="of checkpoints: what N more steps could be worth at most (default: as many as the last ones span)",
    )
    grouping(best, question=False)
    resampling(best)
    trusting(best)
    as_json(best)
    best.set_defaults(call=call, parser=best)


def call(options: Any) -> None:
    from harness.stats.options import Options
    from harness.stats.selection.by_step import CurveOptions

    if bool(options.on) != bool(options.report):
        options.parser.error("--on and --report belong together: choose on some runs, report others")
    if options.on and (options.runs or options.split):
        options.parser.error(f"--on with {'--split' if options.split else options.runs[0]}; expected one way to choose")
    if options.on and (options.margin or options.further is not None):
        given = "--margin" if options.margin else "--further"
        options.parser.error(f"{given} with --on; expected it with the runs of a learning curve alone")
    if options.on and options.alias:
        options.parser.error("--alias with --on; expected it with the runs that the best is chosen from")
    if not options.on and not options.runs:
        options.parser.error("expected runs, or --on RUN… --report RUN…")
    show_warnings()
    resampled = Options(resamples=options.resamples, level=options.level, seed=options.seed)
    asked = CurveOptions(resampled, margins(options.margin), options.further)
    (_reported if options.on else _chosen)(options, asked)


def _chosen(options: Any, asked: Any) -> None:
    from dataclasses import asdict

    from harness.analysis.comparing.comparing import best
    from harness.analysis.comparing.training_curves import asked_curves

    runs = loaded(options)[0]
    rows = best(runs, asked.resampling, options.split, progress(options))
    rows = _wanted(rows, options.score)
    curves = [] if options.split else _wanted(asked_curves(runs, asked, progress(options)), options.score)
    aliased = _aliased(rows, runs, options.alias) if options.alias else []
    if options.json:
        more = {"aliased": aliased} if options.alias else {}
        print_json(
            level=options.level,
            rows=[asdict(row) for row in rows],
            curves=[asdict(curve) for curve in curves],
            **more,
        )
        return
    from harness.report.terminal.comparisons import print_best
    from harness.report.terminal.learning_curve import print_answers

    print_best(rows)
    print_answers(curves)
    for entry in aliased:
        tell(f"{entry['model']} version {entry['version']} is now {entry['model']}@{options.alias}")


def _reported(options: Any, asked: Any) -> None:
    from dataclasses import asdict

    from harness.analysis.comparing.groups import by_parameter
    from harness.analysis.stored.loading import loaded_runs
    from harness.analysis.sweeps.dev_to_test import report_chosen

    on, report = (
        by_parameter(loaded_runs(runs, None, trust_of(options))[0], options.group_by)
        for runs in (options.on, options.report)
    )
    rows = _wanted(report_chosen(on, report, asked, progress(options)), options.score)
    if options.json:
        print_json(level=options.level, rows=[asdict(row) for row in rows])
        return
    from harness.report.terminal.reported import print_reported

    print_reported(rows)


def _wanted(rows: Any, scores: list[str] | None) -> Any:
    """Those of the scores that are asked for; each has some."""
    from harness.analysis.comparing.pairing import check_known

    if rows:
        check_known(scores, dict.fromkeys(row.score for row in rows))
    return [row for row in rows if scores is None or row.score in scores]


def _aliased(rows: list[Any], runs: Any, alias: str) -> list[dict[str, str]]:
    """The alias goes to the model of the one run that is best; what has it now."""
    from harness.run.logging import set_alias
    from harness.types import HarnessError

    winners = {row.system: f"{row.score} on {row.dataset}" for row in rows}
    if len(winners) != 1:
        shown = ", ".join(f"{name} by {score}" for name, score in winners.items())
        raise HarnessError(f"--alias {alias}: the best are {shown}; expected one, so choose a score with --score")
    (run,) = [run for run in runs if run.name in winners]
    return [{"model": name, "version": version} for name, version in set_alias(run, alias)]
