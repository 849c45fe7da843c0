"""The probability that a system is better: what the Bayesian bootstrap says, and how often that is right."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import harness
from harness.stats.comparing.posterior import SCALE, Weights
from harness.stats.design import Design
from harness.types import HarnessError
from tests.stats.test_comparison import run


@pytest.mark.parametrize("n", [8, 40])
def test_the_posterior_is_that_of_a_mean_under_a_flat_prior(n: int) -> None:
    """Student's distribution around the mean, of which the plain Bayesian bootstrap of 8 examples is too sure."""
    rng = np.random.default_rng(n)
    base, gains = rng.random(n), rng.normal(0.05, 0.3, n)
    runs = [run(base, "a"), run(base + gains, "b")]
    (row,) = harness.compare(runs, posterior=True, margins={"given": 0.1}, resamples=4000)
    known = scipy.stats.t(n - 1, loc=gains.mean(), scale=gains.std(ddof=1) / np.sqrt(n))
    assert row.posterior_better == pytest.approx(known.sf(0), abs=0.03)
    assert row.posterior_within == pytest.approx(known.cdf(0.1) - known.cdf(-0.1), abs=0.05)
    (again,) = harness.compare(runs, posterior=True, margins={"given": 0.1}, resamples=4000)
    assert again == row
    (other,) = harness.compare(runs[::-1], posterior=True, resamples=4000)
    assert other.posterior_better == pytest.approx(1 - row.posterior_better, abs=1e-9)
    assert other.posterior_within is None
    (plain,) = harness.compare(runs, resamples=500)
    assert plain.posterior_better is None


def test_probabilities_are_as_often_right_as_they_say() -> None:
    """Where the true gain is drawn like those of examples, `better` is true as often as it is believed."""
    rng, believed, true = np.random.default_rng(3), [], []
    for seed in range(300):
        gain = rng.normal(0, 0.3)
        pair = [run(np.zeros(10), "a"), run(rng.normal(gain, 1, 10), "b")]
        (row,) = harness.compare(pair, posterior=True, resamples=200, seed=seed)
        assert row.posterior_better is not None
        believed.append(row.posterior_better)
        true.append(gain > 0)
    sure = np.array(believed) > 0.9
    assert sure.sum() > 20
    assert np.mean(np.array(true)[sure]) > 0.8


def test_no_probability_where_nothing_was_seen() -> None:
    values = np.random.default_rng(0).random(20)
    (same,) = harness.compare([run(values, "a"), run(values, "b")], posterior=True, resamples=200)
    (few,) = harness.compare([run(values[:5], "a"), run(values[:5] ** 2, "b")], posterior=True, resamples=200)
    assert same.posterior_better is None is few.posterior_better
    lost = np.where(np.arange(20) < 3, 0.0, 1.0)
    (three,) = harness.compare([run(np.ones(20), "a"), run(lost, "b")], posterior=True, resamples=200)
    assert three.posterior_better == 0.5**4  # three of twenty, and the next might be won


def test_the_posterior_of_corpus_scores_clusters_and_strata() -> None:
    """Weights of a stratum add up to its units; clusters are weighted whole."""
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(12), 3).tolist()
    base = rng.random(36)
    gains = rng.normal(0.3, 0.1, 12)[clusters]
    runs = [run(base, "a", clusters=clusters), run(base + gains, "b", clusters=clusters)]
    (row,) = harness.compare(runs, posterior=True, margins={"given": 0.3}, resamples=2000)
    assert row.posterior_better is not None and row.posterior_better > 0.99
    of_clusters = scipy.stats.t(11, loc=gains.mean(), scale=gains[::3].std(ddof=1) / np.sqrt(12))
    assert row.posterior_within == pytest.approx(of_clusters.cdf(0.3), abs=0.05)
    weights = Weights(Design.of(10, strata=[0] * 4 + [1] * 6), 32, 1, "test").counts(0) / SCALE
    assert weights[:, :4].sum(1) == pytest.approx(np.full(32, 4.0), abs=0.01)
    assert weights[:, 4:].sum(1) == pytest.approx(np.full(32, 6.0), abs=0.01)


def test_of_new_seeds_there_is_none() -> None:
    from benchmarks.coverage.repeats import World

    pair = World(20, 3, effect=1.0, seeds=True).pair(np.random.default_rng(1))
    with pytest.raises(
        HarnessError, match="posterior: of these outputs, not of new seeds; expected the question outputs"
    ):
        harness.compare(pair, posterior=True)
    (row,) = harness.compare(pair, posterior=True, question="outputs", resamples=200)
    assert row.posterior_better is not None


def test_the_note_of_nist_stands_beside_its_comparison() -> None:
    outputs = [f"w{i} w{i + 1} w{i + 2} x" for i in range(12)]
    references = [[f"w{i} w{i + 1} w{i + 2} w{i + 3}"] for i in range(12)]
    runs = [
        harness.evaluate(texts, references, ["nist", "bleu"], resamples=100, name=name)
        for name, texts in (("a", outputs), ("b", outputs[::-1]))
    ]
    nist, bleu = harness.compare(runs, resamples=100)
    assert nist.caution is not None and "compare on the same data only" in nist.caution
    assert bleu.caution is None
