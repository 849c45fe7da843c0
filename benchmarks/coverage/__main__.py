"""`python -m benchmarks.coverage [SECTION…] [--samples N]`: runs sections, writes their tables to docs/statistics.md.

With other than the usual number of samples the tables are printed only.
"""

from __future__ import annotations

import argparse

from benchmarks.coverage import checkpoints, few, race, repeats, several, shares, texts
from benchmarks.coverage.cells import PAGE, Section, summary, write

SECTIONS = {
    "shares": shares.lines,
    "few": few.lines,
    "several": several.lines,
    "repeats": repeats.lines,
    "checkpoints": checkpoints.lines,
    "texts": texts.lines,
    "race": race.lines,
}
SAMPLES = 1000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="simulations a cell (default: %(default)s)")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]}; expected {', '.join(SECTIONS)}")
    for name in chosen.sections or SECTIONS:
        section, made = Section(name, chosen.samples), []
        for line in SECTIONS[name](section):
            print(line, flush=True)
            made.append(line)
        rates = ["| question | rates | should be | missed |", "| --- | ---: | ---: | ---: |", *section.rates()]
        print(*rates, sep="\n", flush=True)
        if chosen.samples == SAMPLES:
            write(
                name,
                [
                    f"{SAMPLES:,} samples a cell where simulated, each with its Monte Carlo error.",
                    "",
                    *made,
                    "",
                    *rates,
                ],
            )
    if chosen.samples == SAMPLES:
        write("summary", summary())
        print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
