"""`harness import PATH…`: runs from other tools' logs."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import as_json

FORMATS = ("lm-eval", "inspect", "eee", "aligned")


def add(commands: Any) -> None:
    command = commands.add_parser(
        "import",
        help="runs from logs of lm-evaluation-harness, Inspect, Every Eval Ever, or files of aligned lines",
        description="Makes ordinary runs of other tools' logs: every stored score gets an interval and can be tested, "
        "outputs can be scored by other metrics (harness score). All logs are read before the first run is written.",
    )
    command.add_argument("paths", nargs="+", metavar="PATH", help="a log, or a folder of them")
    command.add_argument("--as", dest="format", choices=FORMATS, help="the format (default: the first that fits)")
    command.add_argument(
        "-o", "--output", metavar="DIR", help="the run folder, or the parent of several (default: runs/)"
    )
    command.add_argument("--scores", metavar="NAME,…", help="these of the log's scores (default: all)")
    command.add_argument(
        "--metrics",
        metavar="NAME,…",
        help="computed of the outputs as well: bleu,rouge (default: none; lexical where the log has no scores)",
    )
    command.add_argument("--system", metavar="NAME", help="what the system is called (default: the log's model)")
    command.add_argument(
        "--cluster", metavar="FIELD", help="the field by which samples belong together (default: as the log says)"
    )
    command.add_argument("--resamples", type=int, help="of the intervals (default: 10000)")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--uri", help="the MLflow store to log to (default: MLFLOW_TRACKING_URI, else SQLite in runs/)")
    where.add_argument("--no-tracking", action="store_const", const="none", dest="uri", help="log to no store")
    command.add_argument("--no-progress", action="store_true", help="no progress bar")
    as_json(command)
    command.set_defaults(call=call)


def call(options: Any) -> None:
    from harness.analysis.importing import Asked, imported
    from harness.cli.arguments import progress
    from harness.cli.output import print_json, reserved, show_warnings
    from harness.run.from_log import Destination

    show_warnings()
    asked = Asked(options.paths, options.format, _names(options.scores), options.system, options.cluster)
    to = Destination(options.output, options.uri, _names(options.metrics) or (), options.resamples)
    runs = []
    with reserved(options.json):
        for run in imported(asked, to, progress(options)):
            runs.append(run)
            if not options.json:
                from harness.report.terminal.summary import print_run

                print_run(run)
    if options.json:
        from harness.analysis.stored.catalog import json_of
        from harness.store.records import record

        print_json(runs=[json_of(record(run.path)) for run in runs if run.path is not None])


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())
