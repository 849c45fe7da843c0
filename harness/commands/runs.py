"""`harness runs [WHERE…]`: the finished runs below runs/, filtered and sorted."""

from __future__ import annotations

import argparse
from typing import Any

from harness.commands import as_json

EPILOG = """conditions, all of which must hold (quote > and < for the shell)
  dataset=wmt22  system=lead,lexrank  experiment!=trial      equal to a value, or to one of several
  name~^dev-  folder!~old                                    a regular expression that is found in it
  'bleu>30'  'bleu/ci_low>=30'  'failed>0'  'examples<100'   numbers: scores, bounds of scores, counts
  since=2d  before=2026-01-31                                when it ended: an age (m, h, d, w) or a date
  stats.seed=1  system.model=gpt2  limit=null                values of the config, by their dotted names
  dev                                                        a part of the name or the folder
"""


def add(commands: Any) -> None:
    runs = commands.add_parser(
        "runs",
        help="list, filter and sort stored runs",
        description="Lists the finished runs below runs/, the newest first, from the run folders themselves.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    runs.add_argument("where", nargs="*", metavar="WHERE", help="conditions, see below")
    runs.add_argument("--score", metavar="NAME", action="append", help="show this score; may be given again")
    runs.add_argument("--sort", metavar="FIELD", help="by this field, -FIELD from the highest down (default: -ended)")
    runs.add_argument("--limit", metavar="N", type=int, help="the first N only")
    runs.add_argument("--in", metavar="DIR", dest="below", default="runs", help="below this folder (default: runs)")
    as_json(runs)
    runs.set_defaults(call=call)


def call(options: Any) -> None:
    from pathlib import Path

    from harness.listing import runs, told
    from harness.report.runs import print_runs
    from harness.types import HarnessError
    from harness.where import check_score, condition

    if not Path(options.below).is_dir():
        raise HarnessError(
            f"there is no folder {options.below}; expected one with runs (call this in the folder where you called "
            "harness run, or give --in DIR)"
        )
    found = runs(options.where, options.sort, options.below, options.limit)
    wanted = options.score or []
    for name in wanted:
        check_score(found, name, f"--score {name}")
    if options.json:
        import orjson

        unfinished = [{"folder": str(path), "reason": reason} for path, reason in found.unfinished.items()]
        document = {"schema": 1, "runs": [told(run, wanted) for run in found], "unfinished": unfinished}
        print(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
    else:
        named = [condition(text).field for text in options.where] + [(options.sort or "").removeprefix("-")]
        print_runs(found, wanted, [name.partition("/ci_")[0] for name in named], options.below)
