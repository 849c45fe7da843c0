"""`harness runs [WHERE…]`: the finished runs below runs/, filtered and sorted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

from harness.cli.arguments import as_json
from harness.inputs.visible import in_json

EPILOG = """conditions, all of which must hold (quote > and < for the shell)
  dataset=wmt22  system=lead,lexrank  experiment!=trial      equal to a value, or to one of several
  name~^dev-  folder!~old                                    a regular expression that occurs in it
  'bleu>30'  'interval/bleu.low>=30'  'failed>0'  'examples<100'   numbers: scores, bounds of scores, counts
  since=2d  before=2026-01-31                                when it ended: an age (m, h, d, w) or a date
  stats.seed=1  system.model=gpt2  limit=null                values of the config, by their dotted names
  dev                                                        a part of the name or the folder
"""


def add(commands: Any) -> None:
    runs = commands.add_parser(
        "runs",
        help="list, filter and sort stored runs",
        description="Lists the finished runs below runs/, newest first, from the run folders themselves.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    runs.add_argument("where", nargs="*", metavar="WHERE", help="conditions, see below")
    runs.add_argument("--score", metavar="NAME", action="append", help="show this score; may be repeated")
    runs.add_argument(
        "--show", metavar="FIELD", action="append", help="show this field, say system.temperature; may be repeated"
    )
    runs.add_argument("--sort", metavar="FIELD", help="by this field; -FIELD: highest first (default: -ended)")
    runs.add_argument("--limit", metavar="N", type=int, help="the first N only")
    runs.add_argument("--in", metavar="DIR", dest="below", help="below this folder (default: runs)")
    as_json(runs)
    runs.set_defaults(call=call)


def call(options: Any) -> None:
    import os

    from harness.analysis.stored.catalog import json_of, runs
    from harness.analysis.stored.query import check, check_score, condition, text_of
    from harness.inputs.garbage import left_alone
    from harness.inputs.project import runs_folder
    from harness.report.terminal.run_list import print_runs
    from harness.types import HarnessError

    options.below = options.below or str(runs_folder())
    if not os.path.isdir(options.below):  # pathlib raises where a name is longer than a file's can be
        raise HarnessError(
            f"there is no folder {options.below[:200]}; expected one with runs (call this in the folder where you "
            "called harness run, or give --in DIR)"
        )
    with left_alone():
        listed = runs(options.where, options.sort, options.below, options.limit)
        wanted = options.score or []
        for name in wanted:
            check_score(listed, name, f"--score {name}")
        fields = options.show or []
        for name in fields:
            check(listed, name, f"--show {name}", ())
        if options.json:
            unfinished = [{"folder": str(path), "reason": reason} for path, reason in listed.unfinished.items()]
            _write_json({"schema": 1}, (json_of(run, wanted, fields) for run in listed), unfinished)
        else:
            named = [condition(text).field for text in options.where] + [(options.sort or "").removeprefix("-")]
            values = {name: [text_of(run, name) for run in listed] for name in fields}
            print_runs(listed, wanted, [name.partition("/ci_")[0] for name in named], options.below, values)


def _write_json(head: dict[str, Any], runs: Iterable[Any], unfinished: list[Any]) -> None:
    """The document run by run: of ten thousand it has 150 MB."""
    import orjson

    def shown(value: Any, before: str = "") -> str:
        text = in_json(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
        return text.replace("\n", f"\n{before}")

    write = sys.stdout.write
    write(shown(head)[:-2] + ',\n  "runs": [')
    last = ""
    for run in runs:
        write(f"{last}\n    {shown(run, '    ')}")
        last = ","
    write("\n  ]" if last else "]")
    write(f',\n  "unfinished": {shown(unfinished, "  ")}\n}}\n')
