"""`python -m benchmarks.coverage [SECTION…] [--samples N]`: runs sections, writes their tables to docs/statistics.md.

Each section has a number of samples that its cells need and a machine can bear. With `--samples` the tables are printed
only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from benchmarks.coverage import (
    best,
    checkpoints,
    few,
    gate,
    meta,
    products,
    race,
    repeats,
    several,
    shares,
    slices,
    stopping,
    texts,
)
from benchmarks.coverage.cells import PAGE, Section, rates, summary, write

SECTIONS: dict[str, tuple[Callable[[Section], Iterator[str]], int]] = {
    "shares": (shares.lines, 1000),
    "few": (few.lines, 600),
    "products": (products.lines, 400),
    "several": (several.lines, 1000),
    "repeats": (repeats.lines, 1000),
    "best": (best.lines, 600),
    "stopping": (stopping.lines, 400),
    "slices": (slices.lines, 600),
    "meta": (meta.lines, 200),
    "checkpoints": (checkpoints.lines, 1000),
    "gate": (gate.lines, 1000),
    "race": (race.lines, 200),
    "texts": (texts.lines, 400),
}
"""What makes each, and from how many samples a cell."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--samples", type=int, help="simulations a cell, for a look: nothing is written")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]}; expected {', '.join(SECTIONS)}")
    for name in chosen.sections or SECTIONS:
        lines, samples = SECTIONS[name]
        section = Section(name, chosen.samples or samples)
        made = [f"{section.samples:,} samples a cell where simulated, each with its Monte Carlo error.", ""]
        for line in lines(section):
            print(line, flush=True)
            made.append(line)
        made += ["", *rates(section)]
        print(*rates(section), sep="\n", flush=True)
        if not chosen.samples:
            write(name, made)
            write("summary", summary())
            print(f"written to {PAGE}", flush=True)


if __name__ == "__main__":
    main()
