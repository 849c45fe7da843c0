"""`harness merge RUN… -o DIR`: one run from the shards of a data set."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import RUN, as_json, trusting_to_run


def add(commands: Any) -> None:
    merge = commands.add_parser(
        "merge",
        help="one run from the shards of a data set (dataset.shard=0/4 … 3/4); nothing is generated",
        description="Makes of the runs of all shards of a data set the run of the whole: the same scores, intervals, "
        "examples and statistics, in the folder where harness run of the whole config finds them. Metrics that are "
        "fitted to all references are fitted to those of all shards. Nothing but the run folders is needed.",
    )
    merge.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    merge.add_argument("-o", "--output", metavar="DIR", help="the run folder (default: that of the whole config)")
    merge.add_argument("--name", help="of the run (default: that of the shards, where they have the same)")
    where = merge.add_mutually_exclusive_group()
    where.add_argument("--uri", help="the MLflow store to log to (default: that of the shards, where it is your own)")
    where.add_argument("--no-tracking", action="store_const", const="none", dest="uri", help="log to no store")
    merge.add_argument("--no-progress", action="store_true", help="no progress bar")
    trusting_to_run(merge)
    as_json(merge)
    merge.set_defaults(call=call)


def call(options: Any) -> None:
    from harness.cli.hydra import merge
    from harness.cli.hydra.rescoring import Options

    settings = {"name": options.name, "output_dir": options.output, "progress": not options.no_progress}
    merge(options.runs, settings, options.uri, Options(options.config_dir, options.json, options.trust))
