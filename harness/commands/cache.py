"""`harness cache`: what runs below runs/ share, and how to make it smaller."""

from __future__ import annotations

import sys
from typing import Any

from harness.commands import as_json, print_json, warn


def add(commands: Any) -> None:
    cache = commands.add_parser("cache", help="show or prune what runs below runs/ share: outputs and embeddings")
    cache.add_argument("--prune", action="store_true", help="remove what --older-than and --max-size say")
    cache.add_argument("--max-size", metavar="SIZE", help="with --prune: 2GB, 500MB; embeddings go first, then outputs")
    cache.add_argument("--older-than", metavar="AGE", help="with --prune: what was not used for 30d, 12h")
    cache.add_argument("--clear", action="store_true", help="remove everything")
    as_json(cache)
    cache.set_defaults(call=call, parser=cache)


def call(options: Any) -> None:
    import time
    from dataclasses import asdict

    from harness.report.costs import print_cache
    from harness.runner import SHARED
    from harness.store.arrays import ArrayStore
    from harness.store.cache import OutputCache
    from harness.where import AGES

    warn()
    if options.prune != bool(options.max_size or options.older_than):
        options.parser.error("--prune, --max-size and --older-than: expected --prune with one or both of the others")
    cache, arrays = OutputCache(SHARED / "outputs.sqlite"), ArrayStore(SHARED / "arrays.sqlite")
    gone = 0
    if options.prune or options.clear:
        most = 0 if options.clear else _amount(options, "max_size", SIZES)
        age = _amount(options, "older_than", AGES)
        since = None if age is None else time.time() - age
        gone = cache.store.prune(most, since)
        left = None if most is None else max(0, most - cache.store.usage().size)
        gone += arrays.prune(left, since)
        print(f"{gone:,} entries removed", file=sys.stderr)
    outputs, systems, embeddings = cache.store.usage(), cache.by_system(), arrays.usage()
    if options.json:
        by_system = {name: asdict(one) for name, one in systems.items()}
        told = {"outputs": asdict(outputs), "systems": by_system, "embeddings": asdict(embeddings)}
        print_json(folder=str(SHARED), removed=gone, **told)
    else:
        print_cache(str(SHARED), outputs, systems, embeddings)


SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def _amount(options: Any, name: str, units: dict[str, int]) -> int | None:
    """`2GB` in bytes, `30d` in seconds."""
    given = getattr(options, name)
    if given is None:
        return None
    for unit, factor in units.items():
        number = given.removesuffix(unit)
        if number != given and number.replace(".", "", 1).isdecimal():
            return int(float(number) * factor)
    expected = ", ".join(f"2{unit}" for unit in units)
    return options.parser.error(f"--{name.replace('_', '-')} {given}: expected a number and its unit: {expected}")  # type: ignore[no-any-return]
