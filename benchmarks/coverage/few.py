"""Few examples, few clusters and small strata: how often the default interval holds, and how often tests alarm where
nothing differs.

Under the null hypothesis gains lie as often on one side of zero as on the other: the two systems' outputs could as well
change places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.coverage.cells import LEVEL, RESAMPLES, Mean, Section, Share, Tally, run, simulated, table
from harness.inputs.choices import TESTS
from harness.stats import intervals
from harness.stats.comparing.comparison import compare
from harness.stats.design import Design
from harness.stats.options import ComparisonOptions, Options
from harness.types import Array, Metric, Signature, Statistics

EXAMPLES, CLUSTERS = (6, 10, 20, 50, 100), (5, 10, 20, 50)
FEWEST = (2, 3, 4, 5)
"""Of which no test says anything, and an interval little."""
METHODS = ("auto", "expanded", "percentile")
SHARES = (0.02, 0.1, 0.5)
STRATA = (2, 3, 4, 6, 10)


def even(n: int, rng: np.random.Generator) -> Array:
    return rng.normal(size=n)


def skewed(n: int, rng: np.random.Generator) -> Array:
    return rng.gamma(2.0, 1.0, n) - 2.0


def perfect(n: int, rng: np.random.Generator) -> Array:
    """One of the two systems is perfect, the other's scores vary."""
    return (1 - rng.beta(2, 5, n)) * rng.choice([-1.0, 1.0], n)


def rare(n: int, rng: np.random.Generator) -> Array:
    """Two systems that are right 9 times in 10, each by itself."""
    return (rng.random(n) < 0.9).astype(float) - (rng.random(n) < 0.9)


def swapped(n: int, rng: np.random.Generator) -> Array:
    """Skewed gains of either sign."""
    return rng.gamma(2.0, 1.0, n) * rng.choice([-1.0, 1.0], n)


def lines(section: Section) -> Iterator[str]:
    yield from _examples(section)
    yield from _clusters(section)
    yield from _strata(section)


# ---------------------------------------------------------------- examples


def _examples(section: Section) -> Iterator[str]:
    yield from ("### Few examples", "")
    yield "How often 95 % intervals of a mean hold, %: of values that lie evenly around it, and of skewed ones."
    yield "The default is `t` up to 6, `expanded` from there on, to 29 moved as `bca` moves it."
    rows = []
    for n in (*FEWEST, *EXAMPLES):
        tally = simulated(partial(interval_of_examples, n), section.samples, (1, n))
        for name in ("even", "skewed"):
            own = tally[f"{name} auto"]
            shown = section.held(own, "a mean of 20 examples or more") if n >= 20 else section.plain(own)
            others = [section.plain(tally[f"{name} {method}"]) for method in METHODS[1:]]
            rows.append([name, f"{n}", shown, *others])
    yield from ("", *table(["values", "n", "default", *METHODS[1:]], rows), "")
    yield "Alarms of tests at 5 % where nothing differs, %."
    rows = []
    for n in EXAMPLES:
        tally = simulated(partial(alarms_of_examples, n), section.samples, (2, n))
        for gains in NULLS:
            shown = [section.alarms(tally[f"{gains.__name__} {test}"], "a test of few examples") for test in TESTS]
            rows.append([gains.__name__, f"{n}", *shown])
    yield from ("", *table(["gains", "n", "bootstrap (default)", "randomisation"], rows), "")


NULLS: tuple[Callable[[int, np.random.Generator], Array], ...] = (even, perfect, rare, swapped)


def interval_of_examples(n: int, rng: np.random.Generator, seed: int) -> Tally:
    tally = {}
    for draw in (even, skewed):
        tally |= {
            f"{draw.__name__} {m}": held for m, held in _held(draw(n, rng), 0.0, Mean(), Design.of(n), seed).items()
        }
    return tally


def alarms_of_examples(n: int, rng: np.random.Generator, seed: int) -> Tally:
    tally = {}
    for gains in NULLS:
        values = gains(n, rng)
        for test in TESTS:
            tally[f"{gains.__name__} {test}"] = _alarm(np.zeros(n), values, None, test, seed)
    return tally


# ---------------------------------------------------------------- clusters


def sizes_of(count: int, rng: np.random.Generator) -> Array:
    """Clusters of unequal sizes: 1 to some dozens, six at the median."""
    return np.maximum(1, np.round(rng.lognormal(np.log(6), 0.8, count))).astype(np.int64)


def _clusters(section: Section) -> Iterator[str]:
    yield from ("### Few clusters of unequal sizes", "")
    yield "How often 95 % intervals hold, %: of a mean whose values have a correlation of 0.3 within a cluster, and of"
    yield "shares (0.2). The first of each is the default, the second `percentile`."
    kinds = ["mean", *(f"share {share:g}" for share in SHARES)]
    rows = []
    for count in CLUSTERS:
        tally = simulated(partial(interval_of_clusters, count), section.samples, (3, count))
        cells = []
        for kind in kinds:
            own, plain = tally[f"{kind} auto"], section.plain(tally[f"{kind} percentile"])
            cells.append(f"{section.held(own, 'a score of 5 clusters or more')}; {plain}")
        rows.append([f"{count}", *cells])
    yield from ("", *table(["clusters", *kinds], rows, left=0), "")
    yield "Alarms of tests at 5 % where nothing differs, %. Five clusters cannot reach 5 %, and the verdict says so."
    rows = []
    for count in CLUSTERS:
        tally = simulated(partial(alarms_of_clusters, count), section.samples, (4, count))
        shown = [section.alarms(tally[test], "a test of few clusters") for test in TESTS]
        rows.append([f"{count}", *shown, f"{100 * tally['too few']:.0f}"])
    heads = ["clusters", "bootstrap (default)", "randomisation", "too few to tell, %"]
    yield from ("", *table(heads, rows, left=0), "")


def interval_of_clusters(count: int, rng: np.random.Generator, seed: int) -> Tally:
    sizes = sizes_of(count, rng)
    clusters = np.repeat(np.arange(count), sizes)
    design = Design.of(len(clusters), clusters=clusters.tolist())
    values = np.sqrt(0.3) * rng.normal(size=count)[clusters] + np.sqrt(0.7) * rng.normal(size=len(clusters))
    tally = {f"mean {m}": held for m, held in _held(values, 0.0, Mean(), design, seed).items()}
    for share in SHARES:
        rates = rng.beta(4 * share, 4 * (1 - share), count)  # a correlation of 1 / (4 + 1)
        right = (rng.random(len(clusters)) < rates[clusters]).astype(float)
        tally |= {f"share {share:g} {m}": held for m, held in _held(right, share, Share(), design, seed).items()}
    return tally


def alarms_of_clusters(count: int, rng: np.random.Generator, seed: int) -> Tally:
    clusters = np.repeat(np.arange(count), sizes_of(count, rng))
    gains = rng.normal(size=count)[clusters] + rng.normal(size=len(clusters))
    tally = {test: _alarm(np.zeros(len(gains)), gains, clusters.tolist(), test, seed) for test in TESTS}
    return {**tally, "too few": float(count < 6)}


# ---------------------------------------------------------------- strata


def _strata(section: Section) -> Iterator[str]:
    yield from ("### Small strata", "")
    yield "How often 95 % intervals hold, %, where each of ten strata has so few examples; below 4 they are merged."
    rows = []
    for size in STRATA:
        tally = simulated(partial(interval_of_strata, size), section.samples, (5, size))
        rows.append([f"{size}", section.held(tally["auto"], "a mean over small strata"), section.plain(tally["apart"])])
    yield from ("", *table(["examples of each", "default", "percentile, never merged"], rows, left=0))


def interval_of_strata(size: int, rng: np.random.Generator, seed: int) -> Tally:
    strata = np.repeat(np.arange(10), size).tolist()
    design, values = Design.of(10 * size, strata=strata), rng.gamma(2.0, 1.0, 10 * size) - 2.0
    merged = _held(values, 0.0, Mean(), design.with_small_strata_merged(), seed)
    return {"auto": merged["auto"], "apart": _held(values, 0.0, Mean(), design, seed)["percentile"]}


# ---------------------------------------------------------------- both


def _held(values: Array, truth: float, metric: Metric, design: Design, seed: int) -> Tally:
    """For the default and others whether the interval holds the truth."""
    statistics = Statistics.of(metric, np.stack([values, np.ones(len(values))], axis=1), Signature({}, {}), "")
    tally = {}
    for method in METHODS:
        score = intervals.scores([statistics], design, Options(RESAMPLES, LEVEL, method, seed))[metric.name]
        assert score.low is not None
        assert score.high is not None
        tally[method] = float(score.low <= truth <= score.high)
    return tally


def _alarm(before: Array, after: Array, clusters: Sequence[int] | None, test: str, seed: int) -> float:
    pair = (run("a", before, Mean(), clusters), run("b", after, Mean(), clusters))
    (row,) = compare([[pair]], ComparisonOptions(test, RESAMPLES, LEVEL, seed))
    return float(row.verdict in ("better", "worse"))
