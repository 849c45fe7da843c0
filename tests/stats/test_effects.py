"""What parameters of a sweep do: means by level, shares of the variance, interactions."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.design import Design
from harness.stats.options import Options
from harness.stats.resampling import Sample
from harness.stats.selection.effects import Grid, effects
from harness.testing import CannedMetric
from harness.types import Array

A, B = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])
OPTIONS = Options(resamples=400, seed=1)


def samples(gains: Array, n: int = 300, noise: float = 0.3) -> list[Sample]:
    """Cells whose examples share what they are worth."""
    rng = np.random.default_rng(3)
    worth = rng.normal(0, 1, n)
    made = []
    for gain in gains:
        values = worth + gain + rng.normal(0, noise, n)
        made.append(Sample(CannedMetric(), np.stack([values, np.ones(n)], axis=1), Design.of(n)))
    return made


def test_one_parameter_matters() -> None:
    estimated = effects(samples(A * 0.5), 0, Grid({"a": A, "b": B}), OPTIONS, "test")
    a, b = estimated.importance
    assert a.share > 0.95 and a.low > 0.9 and b.high < 0.05
    assert estimated.interactions == ()
    means = {(mean.parameter, mean.level): mean for mean in estimated.means}
    assert means["a", 2].estimate - means["a", 0].estimate > 0.8
    assert means["a", 0].cells == 2 and means["b", 1].cells == 3
    assert all(mean.low < mean.estimate < mean.high for mean in means.values())


def test_two_that_work_on_each_other() -> None:
    gains = np.where(B == 1, A - 1, 1 - A) * 0.5
    estimated = effects(samples(gains), 0, Grid({"a": A, "b": B}), OPTIONS, "test")
    (both,) = estimated.interactions
    assert both.parameters == ("a", "b") and both.share > 0.9 and both.low > 0.8


def test_nothing_matters() -> None:
    alike = samples(np.zeros(6), n=40)
    estimated = effects([alike[0]] * 6, 0, Grid({"a": A, "b": B}), OPTIONS, "test")
    assert estimated.importance == ()
    noisy = effects(alike, 0, Grid({"a": A, "b": B}), OPTIONS, "test")
    assert all(own.low < 0.1 for own in noisy.importance)


@pytest.mark.parametrize("worth", [0.4, 7.0, 41.3, 1e6])
def test_cells_with_the_same_score_differ_in_nothing(worth: float) -> None:
    """Sums of squares of equal numbers are no exact zeros, and the last bits are no interaction."""
    n = 67
    values = np.random.default_rng(5).normal(worth, worth / 10, n)
    alike = Sample(CannedMetric(), np.stack([values, np.ones(n)], axis=1), Design.of(n))
    for grid in (Grid({"a": A, "b": B}), Grid({"a": A[:5], "b": B[:5]})):
        estimated = effects([alike] * grid.cells, 0, grid, OPTIONS, "test")
        assert (estimated.importance, estimated.interactions) == ((), ())


def test_a_grid_with_a_hole_has_the_means_of_the_whole() -> None:
    scores = A * 1.0 + B * 10.0
    grid = Grid({"a": A[:-1], "b": B[:-1]})
    assert np.allclose(grid.means(scores[:-1, None])[:, 0], [5, 6, 7, 1, 11])
    tied = Grid({"a": A, "b": A})  # cannot be told apart: plain means
    assert np.allclose(tied.means(scores[:, None])[:, 0], [5, 6, 7] * 2)


def test_means_of_a_complete_grid_are_those_of_its_cells_and_within_the_bounds_of_the_score() -> None:
    scores = np.array([0.1, 0.2, 0.0, 0.0, 0.7, 0.9])
    grid = Grid({"a": A, "b": B})
    levels = [scores[codes == level].mean() for codes in (A, B) for level in range(codes.max() + 1)]
    assert grid.means(scores[:, None])[:, 0].tolist() == pytest.approx(levels, rel=1e-15, abs=0)
    metric = CannedMetric()
    metric.bounds = (0.0, 1.0)
    rare = np.stack([(np.arange(40) == 3) * 1.0, np.ones(40)], axis=1)
    cells = [Sample(metric, rare * [share, 1.0], Design.of(40)) for share in scores]
    means = effects(cells, 0, grid, OPTIONS, "test").means
    assert all(mean.low >= 0 for mean in means)
