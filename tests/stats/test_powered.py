"""Prediction-powered estimates: against ppi-python, by brute force for clusters, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import meta
from harness.stats.people.powered import Labelled, powered, predictions
from harness.types import Array, HarnessError

HUMAN = [3.0, 4.5, 2.0, 5.0, 1.5, 4.0, 3.5, 2.5, 4.0, 1.0, 3.0, 5.0]
METRIC = [31.0, 44, 25, 47, 22, 35, 38, 20, 45, 18, 28, 52]
OTHERS = [40.0, 30, 20, 50, 35, 42, 27, 33, 48, 24]


def labelled(units: Array | None = None) -> Labelled:
    n = len(METRIC) + len(OTHERS)
    human = np.array([*HUMAN, *[np.nan] * len(OTHERS)])
    return Labelled(human, np.array([*METRIC, *OTHERS]), np.arange(n) if units is None else units.astype(int))


def test_the_numbers_of_ppi_python() -> None:
    """ppi-python 0.2.3: `ppi_mean_pointestimate(HUMAN, METRIC, OTHERS, lam=0.057848461565326706)` is 3.31652573, its 95 %
    interval [2.79415134, 3.83890012]. It divides by n, not by what is left of n, and takes 1.96 for t."""
    made = powered(labelled(), 0.95)
    assert made.weight == pytest.approx(0.057848461565326706)
    assert made.estimate == pytest.approx(3.31652573, abs=1e-8)
    assert made.plain == pytest.approx(np.mean(HUMAN))
    assert made.plain_error == pytest.approx(np.std(HUMAN, ddof=1) / np.sqrt(12))
    theirs = (3.83890012 - 2.79415134) / 2 / 1.959964
    assert theirs < made.error < 1.1 * theirs


def test_items_of_a_cluster_err_together() -> None:
    """Every item twice is no more than once, where the two are one cluster."""
    once = powered(labelled(), 0.95)
    given = labelled()
    twice = Labelled(np.repeat(given.human, 2), np.repeat(given.metric, 2), np.repeat(given.units, 2))
    made = powered(twice, 0.95)
    assert made.plain_error == pytest.approx(once.plain_error, rel=1e-9)
    assert made.error == pytest.approx(once.error, rel=0.05)


def test_a_metric_that_says_nothing_changes_nothing() -> None:
    given = labelled()
    flat = Labelled(given.human, np.ones_like(given.metric), given.units)
    made = powered(flat, 0.95)
    assert (made.estimate, made.error, made.weight) == (made.plain, made.plain_error, 0.0)


def test_a_metric_that_says_all_is_worth_all_labels() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(3, 1, (1, 2000))
    human = np.where(np.arange(2000) < 200, truth, np.nan)
    (row,) = predictions(human, {"m": 10 * truth}, np.arange(2000), ["a"], 0.95)
    assert 1500 < row.effective <= 2100
    assert row.saved == row.effective - 200
    assert row.estimate == pytest.approx(truth.mean(), abs=0.05)


def test_differences_of_systems_that_people_judged_on_other_items() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 1, (2, 600)) + np.array([[0.0], [0.5]])
    human = truth.copy()
    human[0, 100:], human[1, :500] = np.nan, np.nan
    metric = truth + rng.normal(0, 0.3, truth.shape)
    gap = predictions(human, {"m": metric}, np.arange(600), ["a", "b"], 0.95)[2]
    assert (gap.baseline, gap.system) == ("a", "b")
    assert gap.low < 0.5 < gap.high
    assert gap.high - gap.low < 0.7 * (gap.plain_high - gap.plain_low)
    assert gap.p_adjusted is not None and gap.p_adjusted < 0.001


def test_intervals_hold_as_often_as_stated() -> None:
    for labels, error in ((20, 3.0), (50, 0.3)):
        tallies = [meta.predicted(labels, error, np.random.default_rng(seed), seed, n=300) for seed in range(250)]
        tally = {name: float(np.mean([part[name] for part in tallies])) for name in tallies[0]}
        assert 0.90 <= tally["mean"] <= 0.985
        assert 0.90 <= tally["difference"] <= 0.985
        assert tally["worth"] > 1


def test_too_few_labels() -> None:
    with pytest.raises(HarnessError, match="people judged 1 item of a; expected 10 or more"):
        predictions(np.array([[1.0, np.nan]]), {"m": np.ones((1, 2))}, np.arange(2), ["a"], 0.95)
