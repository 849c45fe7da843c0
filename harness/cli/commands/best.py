"""`harness best RUN RUN…`: the best of several runs, corrected for having been chosen."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import as_json, grouping, loaded, progress, resampling, trusting
from harness.cli.output import print_json, show_warnings, tell


def add(commands: Any) -> None:
    best = commands.add_parser("best", help="the best of several runs, corrected for having been chosen")
    best.add_argument("runs", nargs="+", metavar="RUN", help="all the runs that the best was chosen from")
    best.add_argument(
        "--split",
        action="store_true",
        help="choose on a random half of the examples and report the other half (default: all of them, corrected)",
    )
    best.add_argument("--score", metavar="NAME", help="only by this score (default: by each)")
    best.add_argument(
        "--alias",
        metavar="NAME",
        help="give the best run's model this alias in MLflow's registry, where it is registered: champion, say",
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
    runs = loaded(options)[0]
    rows = best(runs, chosen, options.split, progress(options))
    if options.score is not None:
        rows = _of_score(rows, options.score)
    aliased = _aliased(rows, runs, options.alias) if options.alias else None
    if options.json:
        more = {} if aliased is None else {"aliased": aliased}
        print_json(level=options.level, rows=[asdict(row) for row in rows], **more)
    else:
        from harness.report.terminal.comparisons import print_best

        print_best(rows)
        for entry in aliased or []:
            tell(f"{entry['model']} version {entry['version']} is now {entry['model']}@{options.alias}")


def _of_score(rows: list[Any], score: str) -> list[Any]:
    from harness.types import HarnessError, nearest

    kept = [row for row in rows if row.score == score]
    if not kept:
        known = list(dict.fromkeys(row.score for row in rows))
        raise HarnessError(f"--score {score}{nearest(score, known)}; expected one of {', '.join(known)}")
    return kept


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
