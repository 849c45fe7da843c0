"""The parts of the variance of a score: as an analysis of variance has them, and with intervals that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.stats.power.components import Parts, decomposed

SEED = np.arange(5)


def cells_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(scores, moves) of means of values (cells, examples)."""
    n = values.shape[1]
    scores = values.mean(1)
    return scores, (values - scores[:, None]) / n * math.sqrt(n / (n - 1))


def drawn(rng: np.random.Generator, n: int, seeds: int, deviations: tuple[float, float, float]) -> np.ndarray:
    example, seed, both = deviations
    shape = (seeds, n)
    return rng.normal(0, example, (1, n)) + rng.normal(0, seed, (seeds, 1)) + rng.normal(0, both, shape)


def test_as_the_mean_squares_have_it() -> None:
    rng = np.random.default_rng(3)
    n, seeds = 60, 5
    values = drawn(rng, n, seeds, (3.0, 1.0, 2.0))
    parts = {source.name: source for source in decomposed(*cells_of(values), {"seed": SEED}).sources}
    of_example, of_seed, grand = values.mean(0), values.mean(1), values.mean()
    examples = seeds * ((of_example - grand) ** 2).sum() / (n - 1)
    between = n * ((of_seed - grand) ** 2).sum() / (seeds - 1)
    rest = ((values - of_example - of_seed[:, None] + grand) ** 2).sum() / ((n - 1) * (seeds - 1))
    assert parts["example"].single == pytest.approx(math.sqrt((examples - rest) / seeds))
    assert parts["seed"].single == pytest.approx(math.sqrt((between - rest) / n))
    assert parts["example × seed"].single == pytest.approx(math.sqrt(rest))
    assert sum(part.share for part in parts.values()) == pytest.approx(1)
    assert [part.count for part in parts.values()] == [n, seeds, n * seeds]


@pytest.mark.parametrize(
    ("seeds", "deviations"), [(3, (30.0, 3.0, 20.0)), (5, (30.0, 1.0, 20.0)), (10, (20.0, 4.0, 5.0))]
)
def test_shares_have_intervals_that_hold(seeds: int, deviations: tuple[float, float, float]) -> None:
    n, simulations = 150, 200
    variances = np.array([deviations[0] ** 2 / n, deviations[1] ** 2 / seeds, deviations[2] ** 2 / (n * seeds)])
    truths, held = variances / variances.sum(), np.zeros(3)
    for simulation in range(simulations):
        values = drawn(np.random.default_rng(simulation), n, seeds, deviations)
        sources = decomposed(*cells_of(values), {"seed": np.arange(seeds)}).sources
        held += [source.low <= truth <= source.high for source, truth in zip(sources, truths, strict=True)]
    assert (held / simulations > 0.95 - 3 * math.sqrt(0.05 * 0.95 / simulations)).all()


def test_two_parameters() -> None:
    """Prompts and seeds in a grid: each has its share, and what is between them has none."""
    rng = np.random.default_rng(2)
    seed, prompt = (codes.ravel() for codes in np.meshgrid(np.arange(6), np.arange(5)))
    effects = rng.normal(0, 2, 6)[seed] + rng.normal(0, 5, 5)[prompt]
    values = rng.normal(0, 20, 300) + effects[:, None] + rng.normal(0, 10, (30, 300))
    parts = decomposed(*cells_of(values), {"seed": seed, "prompt": prompt})
    shares = {source.name: source.share for source in parts.sources}
    assert list(shares) == [
        "example", "seed", "prompt", "the rest", "example × seed", "example × prompt", "example × the rest",
    ]  # fmt: skip
    assert shares["prompt"] > shares["seed"] > shares["the rest"]
    assert {purchase.name for purchase in parts.purchases()} == {"seed", "prompt"}


def test_outputs_that_belong_to_their_example() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(0, 3, (1, 200)) + rng.normal(0, 6, (4, 200))
    parts = decomposed(*cells_of(values), {"output": np.arange(4)}, nested=True)
    example, output = parts.sources
    assert (example.name, output.name) == ("example", "example × output")
    assert output.single == pytest.approx(6, rel=0.1)
    averaged = values.mean(0)
    assert parts.error == pytest.approx(averaged.std(ddof=1) / math.sqrt(200), rel=1e-6)


def test_what_to_buy() -> None:
    """Two more seeds, and the examples that do as much: the variance is the same with either."""
    values = drawn(np.random.default_rng(1), 400, 5, (40.0, 1.0, 20.0))
    parts = decomposed(*cells_of(values), {"seed": SEED})
    (purchase,) = parts.purchases()
    assert parts.at(400, {"seed": 5}) == pytest.approx(parts.variance)
    assert purchase.error == pytest.approx(math.sqrt(parts.at(400, {"seed": 7})))
    assert purchase.examples is not None
    assert math.sqrt(parts.at(400 + purchase.examples, {"seed": 5})) == pytest.approx(purchase.error)
    noisy = decomposed(*cells_of(drawn(np.random.default_rng(1), 400, 5, (5.0, 9.0, 1.0))), {"seed": SEED})
    assert next(noisy.purchases()).examples is None


def test_nothing_varies() -> None:
    parts = decomposed(np.ones(3), np.zeros((3, 10)), {"seed": np.arange(3)})
    assert isinstance(parts, Parts)
    assert (parts.error, [source.share for source in parts.sources]) == (0.0, [0.0, 0.0, 0.0])
