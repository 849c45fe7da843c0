"""What sections share: simulations on all cores, cells with their Monte Carlo error, marks where one misses, and the
block of the page that each section writes.
"""

from __future__ import annotations

import math
import multiprocessing
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from harness.inputs.cores import cores
from harness.testing import CannedMetric
from harness.types import Array, Metric, RunResult, Signature, Statistics

PAGE = Path(__file__).parent.parent.parent / "docs" / "statistics.md"
LEVEL, RESAMPLES = 0.95, 1000
CORES = cores()
HOLDS, ALARMS = 0.93, 0.06
"""What a cell has to reach: intervals that hold at least so often, tests that alarm at most so often."""
MISS = " ✗"
Tally = dict[str, float]
One = Callable[[np.random.Generator, int], Tally]
"""One simulation, from its generator and its seed."""


class Mean(CannedMetric):
    """The mean of values known beforehand."""

    name, score_names = "mean", ("mean",)


class Share(CannedMetric):
    """The share of examples that are right."""

    name, score_names, bounds = "share", ("share",), (0.0, 1.0)


def run(
    name: str, values: Array, metric: Metric, clusters: Sequence[int] | None = None, data: str = "set"
) -> RunResult:
    """A run of examples that score these values (n,)."""
    n = len(values)
    rows = np.stack([values, np.ones(n)], axis=1)
    columns: dict[str, object] = {"id": np.arange(n).astype(str), "repeat": np.zeros(n, dtype=int)}
    table = pa.table(columns if clusters is None else {**columns, "cluster": np.asarray(clusters)})
    statistics = {metric.name: Statistics.of(metric, rows, Signature({}, {}), "")}
    cluster = None if clusters is None else "cluster"
    return RunResult(name, data, data, name, {}, statistics, lambda: table, 0, cluster)


def simulated(simulation: One, samples: int, purpose: Sequence[int] = ()) -> Tally:
    """The mean of each number over so many simulations, each with a seed of its own, on all cores."""
    shares = [range(first, samples, CORES) for first in range(CORES)]
    parts = list(workers().map(_sums, [simulation] * CORES, shares, [tuple(purpose)] * CORES))
    return {name: sum(part.get(name, 0.0) for part in parts) / samples for name in parts[0]}


@cache
def workers() -> ProcessPoolExecutor:
    """One process a core, for all sections."""
    return ProcessPoolExecutor(CORES, mp_context=multiprocessing.get_context("spawn"))


def _sums(simulation: One, seeds: Sequence[int], purpose: Sequence[int]) -> Tally:
    sums: dict[str, float] = defaultdict(float)
    for seed in seeds:
        for name, value in simulation(np.random.default_rng([seed, *purpose]), seed).items():
            sums[name] += value
    return dict(sums)


@dataclass
class Section:
    """The lines of one section, and the worst of its cells by what was asked of them."""

    name: str
    samples: int
    """Simulations a cell."""
    worst: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """By question and what is wanted, the cells."""
    missed: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def held(self, share: float, question: str, exact: bool = False) -> str:
        """A cell of an interval that should hold."""
        return self._cell(share, share < HOLDS, (question, f"at least {100 * HOLDS:g} %"), exact)

    def alarms(self, share: float, question: str, exact: bool = False) -> str:
        """A cell of a test that should not alarm."""
        return self._cell(share, share > ALARMS, (question, f"at most {100 * ALARMS:g} %"), exact)

    def _cell(self, share: float, miss: bool, question: tuple[str, str], exact: bool) -> str:
        error = 0.0 if exact else self.error(share)
        wanted = HOLDS if question[1].startswith("at least") else ALARMS
        miss = miss and abs(share - wanted) > 2 * error
        self.worst[question].append(share)
        self.missed[question[0]] += miss
        return self.plain(share, exact) + (MISS if miss else "")

    def plain(self, share: float, exact: bool = False) -> str:
        """A cell of which nothing is asked."""
        return f"{100 * share:.1f}" if exact else f"{100 * share:.1f} ± {100 * self.error(share):.1f}"

    def error(self, share: float) -> float:
        """The Monte Carlo error of a share."""
        return math.sqrt(max(share * (1 - share), 1 / self.samples) / self.samples)


def rates(section: Section) -> Iterator[str]:
    """A line for each question, from which the table at the top of the page is made."""
    yield from ("| question | rates | should be | missed |", "| --- | ---: | ---: | ---: |")
    for (question, wanted), cells in section.worst.items():
        missed = section.missed[question]
        last = f"{missed} of {len(cells)} cells" if missed else "none"
        yield f"| {question} | {100 * min(cells):.1f} to {100 * max(cells):.1f} % | {wanted} | {last} |"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """A Markdown table, its first columns to the left."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * left}{' ---: |' * (len(heads) - left)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


# ---------------------------------------------------------------- the page


def write(name: str, lines: Sequence[str], page: Path = PAGE) -> None:
    """Puts a section's lines into its place on the page."""
    made = "\n".join([f"<!-- made by `python -m benchmarks.coverage {name}` -->", *lines, f"<!-- end of {name} -->"])
    text = page.read_text()
    pattern = rf"<!-- made by `python -m benchmarks.coverage {name}` -->.*?<!-- end of {name} -->"
    if not re.search(pattern, text, flags=re.DOTALL):
        raise SystemExit(
            f"{page} has no place for {name}; expected <!-- made by … {name}` --> and <!-- end of {name} -->"
        )
    page.write_text(re.sub(pattern, lambda _: made, text, flags=re.DOTALL))


def summary(page: Path = PAGE) -> list[str]:
    """The questions of all sections on the page with their rates, for its top."""
    text = re.sub(r"coverage summary` -->.*?<!-- end of summary -->", "", page.read_text(), flags=re.DOTALL)
    rows = re.findall(r"^\| .* \| (?:[\d.]+ to [\d.]+ %) \| at (?:least|most) .* \|$", text, re.MULTILINE)
    return [
        "| question | rates | should be | cells that miss it |",
        "| --- | ---: | ---: | ---: |",
        *dict.fromkeys(rows),
    ]
