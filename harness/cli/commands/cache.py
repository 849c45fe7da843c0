"""`harness cache`: what runs below runs/ share, and how to make it smaller."""

from __future__ import annotations

import sys
from typing import Any

from harness.cli.arguments import as_json
from harness.cli.output import print_json, show_warnings


def add(commands: Any) -> None:
    cache = commands.add_parser(
        "cache",
        help="show or prune the outputs and embeddings that runs below runs/ share",
        description="Shows how many outputs and embeddings runs below runs/ share, and their size; --prune and --clear "
        "remove some or all. What is removed is made again when a run needs it; stored runs keep theirs.",
    )
    cache.add_argument("--prune", action="store_true", help="remove what --older-than and --max-size select")
    cache.add_argument(
        "--max-size", metavar="SIZE", help="with --prune: the size to keep, such as 2GB or 500MB; embeddings go first"
    )
    cache.add_argument(
        "--older-than", metavar="AGE", help="with --prune: entries unused for this long, such as 30d or 12h"
    )
    cache.add_argument("--clear", action="store_true", help="remove everything")
    as_json(cache)
    cache.set_defaults(call=call, parser=cache)


def call(options: Any) -> None:
    import time
    from dataclasses import asdict

    from harness.analysis.stored.query import AGES
    from harness.report.terminal.costs import print_cache
    from harness.store.arrays import ArrayStore
    from harness.store.outputs import OutputCache
    from harness.store.places import shared_folder
    from harness.types.shown import counted

    show_warnings()
    if options.prune != bool(options.max_size or options.older_than):
        options.parser.error("--prune, --max-size and --older-than: expected --prune with one or both of the others")
    cache, arrays = OutputCache(shared_folder() / "outputs.sqlite"), ArrayStore(shared_folder() / "arrays.sqlite")
    removed = 0
    if options.prune or options.clear:
        most = 0 if options.clear else _amount(options, "max_size", SIZES)
        age = _amount(options, "older_than", AGES)
        since = None if age is None else time.time() - age
        removed = cache.store.prune(most, since)
        left = None if most is None else max(0, most - cache.store.usage().size)
        removed += arrays.prune(left, since)
        print(f"{counted(removed, 'entry')} removed", file=sys.stderr)
    outputs, systems, embeddings = cache.store.usage(), cache.by_system(), arrays.usage()
    if options.json:
        by_system = {name: asdict(usage) for name, usage in systems.items()}
        usages = {"outputs": asdict(outputs), "systems": by_system, "embeddings": asdict(embeddings)}
        print_json(folder=str(shared_folder()), removed=removed, **usages)
    else:
        print_cache(str(shared_folder()), outputs, systems, embeddings)


SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def _amount(options: Any, name: str, units: dict[str, int]) -> int | None:
    """`2GB` in bytes, `30d` in seconds."""
    typed = getattr(options, name)
    if typed is None:
        return None
    for unit, factor in units.items():
        number = typed.removesuffix(unit)
        if number != typed and number.replace(".", "", 1).isdecimal():
            return int(float(number) * factor)
    expected = ", ".join(f"2{unit}" for unit in units)
    return options.parser.error(f"--{name.replace('_', '-')} {typed}: expected a number and its unit: {expected}")  # type: ignore[no-any-return]
