"""BLEU of few examples: how often its interval and that of a difference hold, and tests raise an alarm.

Of summaries, few share any 4-gram with their reference and some copy many: BLEU of twenty of them is mostly too low.
The first set is made up to be like that, of random words; the others are of ../shared/data, where they are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage.cells import LEVEL, RESAMPLES, Section, Tally, simulated, table
from benchmarks.coverage.texts import Population, _run, population
from benchmarks.lexical import SHARED
from harness.metrics.bleu import Bleu
from harness.stats import intervals
from harness.stats.comparing.comparison import compare
from harness.stats.design import Design
from harness.stats.options import ComparisonOptions, Options
from harness.stats.resampling import Sample, quiet_single_thread, replicates
from harness.types import Array, Batch, Comparison

SIZES = (10, 20, 50)
METHODS = ("auto", "expanded", "bca")
SUMMARIES = "made-up summaries"
SETS = {
    SUMMARIES: (),
    "comparemt_sum": ("sys1", "sys2"),
    "comparemt_ted_detok": ("sys1", "sys2"),
    "wmt22_de-en": ("LT22", "PROMT"),
}
COPIED = (0.34, 0.14, 0.26, 0.11, 0.07, 0.03, 0.03, 0.01, 0.01)
"""Shares of outputs that have 0, 1, … words in a row from their reference: about those of comparemt_sum, headlines."""
SCORE = "BLEU of 20 examples or more"
DIFFERENCE = "a difference of two systems by BLEU of 10 examples or more"
TEST = "a paired test of BLEU of 10 examples or more"


@cache
def summaries(size: int = 2000) -> Population:
    """References of 6 to 12 random words, some of them frequent; of each system's outputs one in seven copies four
    words or more in a row, the others fewer or none."""
    rng = np.random.default_rng(17)
    systems = []
    references = [_words(rng, int(rng.integers(6, 13))) for _ in range(size)]
    for _ in range(2):
        outputs = [_summary(rng, reference) for reference in references]
        systems.append(Bleu().statistics(Batch(outputs, [[" ".join(words)] for words in references])))
    return Population(SUMMARIES, {"bleu": np.stack(systems)})


def _words(rng: np.random.Generator, n: int) -> list[str]:
    common, rare = rng.integers(0, 12, n), rng.integers(12, 5000, n)
    return [f"w{number}" for number in np.where(rng.random(n) < 0.4, common, rare)]


def _summary(rng: np.random.Generator, reference: list[str]) -> str:
    copied = min(int(rng.choice(len(COPIED), p=COPIED)), len(reference))
    start = int(rng.integers(0, len(reference) - copied + 1))
    own = max(int(rng.integers(5, 11)) - copied, 0)
    return " ".join(reference[start : start + copied] + _words(rng, own))


@cache
def people_of(name: str) -> Population:
    return population(name, SETS[name], ("bleu",)) if SETS[name] else summaries()


def sampled(name: str, n: int, rng: np.random.Generator, seed: int) -> Tally:
    """Whether the interval of the first system's score, that of the difference and the test under the null hypothesis
    are right."""
    people = people_of(name)
    rows, truth, picks = people.rows["bleu"], people.truth("bleu"), people.draw(n, rng)
    tally = _scores(rows[0, picks], float(truth[0]), seed)
    swap = rng.random(n) < 0.5
    tally["alarm"] = float((compared(_swapped(rows[:, picks], swap), seed).p_value or 0.0) <= 1 - LEVEL)
    row = compared(rows[:, picks], seed)
    tally["difference"] = float(row.low <= truth[1] - truth[0] <= row.high)  # type: ignore[operator]
    return tally


def compared(rows: Array, seed: int, resamples: int = RESAMPLES) -> Comparison:
    """Two systems, of rows (2, n, k)."""
    before, after = (_run(str(system), {"bleu": of_system}) for system, of_system in enumerate(rows))
    options = ComparisonOptions(resamples=resamples, seed=seed, level=LEVEL)
    return next(row for row in compare([[(before, after)]], options) if row.score == "bleu")


def _swapped(rows: Array, swap: NDArray[np.bool_]) -> Array:
    """Rows (2, n, k), those of the two systems exchanged where `swap` (n,) says so."""
    return np.where(swap[None, :, None], rows[::-1], rows)


def _scores(rows: Array, truth: float, seed: int) -> Tally:
    """By method whether the interval holds, and its width."""
    sample = Sample(Bleu(), rows, Design.of(len(rows)))
    drawn = replicates([sample], RESAMPLES, seed, "intervals")[0]
    tally = {}
    with quiet_single_thread():
        for method in METHODS:
            (low, high), *_ = intervals.bounds(sample, drawn, sample.estimate(), Options(RESAMPLES, LEVEL, method))
            tally[f"{method} held"] = float(low[0] <= truth <= high[0])
            tally[f"{method} width"] = float(high[0] - low[0])
    return tally


def lines(section: Section) -> Iterator[str]:
    heads = ["examples", "BLEU", "n", "default (log-t)", "width", "expanded", "width", "bca", "difference", "alarms"]
    rows = []
    for name in (name for name, systems in SETS.items() if not systems or (SHARED / name).is_dir()):
        for n in SIZES:
            tally = simulated(partial(sampled, name, n), section.samples, (n,))
            held = tally["auto held"]
            own = section.held(held, SCORE) if n >= 20 else section.plain(held)
            width, old = (f"{tally[f'{method} width']:.1f}" for method in ("auto", "expanded"))
            others = [f"{100 * tally[f'{method} held']:.1f}" for method in METHODS[1:]]
            rows.append([
                name, f"{people_of(name).truth('bleu')[0]:.1f}", str(n), own, width, others[0], old, others[1],
                section.held(tally["difference"], DIFFERENCE), section.alarms(tally["alarm"], TEST),
            ])  # fmt: skip
    yield from table(heads, rows)
