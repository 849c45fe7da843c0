"""Intervals against scipy, their coverage, and the cases where there can be none."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from harness.metrics.bleu import Bleu
from harness.metrics.rouge import Rouge
from harness.stats.intervals import scores
from harness.types import Array, HarnessError, Score, Signature, Statistics

SIGNATURE = Signature({}, {})


def mean_statistics(values: Array) -> Statistics:
    rows = np.column_stack([values, values, values, np.where(np.isnan(values), np.nan, 1.0)])
    return Statistics(Rouge(["rouge1"]), rows, SIGNATURE, "")


def mean(values: Array, **options: object) -> Score:
    return scores([mean_statistics(np.asarray(values, dtype=float))], **options)["rouge1"]  # type: ignore[arg-type]


@pytest.mark.parametrize(("method", "theirs"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "BCa")])
def test_agrees_with_scipy(method: str, theirs: str) -> None:
    values = np.random.default_rng(4).exponential(size=60)
    ours = mean(values, method=method, resamples=20_000)
    bounds = scipy.stats.bootstrap(
        (values,), np.mean, method=theirs, n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours.estimate == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx((bounds.low, bounds.high), abs=0.012)


def test_coverage_is_as_stated() -> None:
    """95 % intervals of 400 samples of 60 hold the true mean about 93 to 96 times in 100; one that resampled half as
    many would be 1.4 times too wide (over 98), one divided by the root of the resamples far too narrow."""
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(400):
        score = mean(rng.normal(0.5, 0.2, 60), resamples=400)
        assert score.low is not None
        assert score.high is not None
        held += score.low <= 0.5 <= score.high
    assert 0.90 <= held / 400 <= 0.975


def test_corpus_bleu_is_resampled_as_corpus_bleu() -> None:
    outputs = [
        "the cat sat on the mat",
        "a dog ran in the park today",
        "it is cold",
        "we went home by bus at night",
    ] * 8
    references = [
        ["the cat sat on a mat"],
        ["a dog ran in a park"],
        ["it is very cold"],
        ["we went home by night bus"],
    ] * 8
    metric = Bleu()
    rows = metric.statistics(outputs, references, [None] * 32)
    found = scores([Statistics(metric, rows, SIGNATURE, "")], resamples=500)["bleu"]
    rng = np.random.default_rng(0)
    resampled = [metric.score(rows[rng.integers(0, 32, 32)].sum(0))[0] for _ in range(4000)]
    low, high = np.quantile(resampled, [0.025, 0.975])
    assert found.estimate == metric.score(rows.sum(0))[0]
    assert (found.low, found.high) == pytest.approx((low, high), abs=2.0)


def test_clusters_widen_the_interval() -> None:
    values = np.repeat(np.random.default_rng(2).random(12), 10)
    alone, clustered = mean(values), mean(values, clusters=np.repeat(np.arange(12), 10).tolist())
    assert alone.low is not None and alone.high is not None
    assert clustered.low is not None and clustered.high is not None
    assert clustered.estimate == pytest.approx(alone.estimate)
    assert 2.4 < (clustered.high - clustered.low) / (alone.high - alone.low) < 4.0


def test_seed_and_level() -> None:
    values = np.random.default_rng(2).random(40)
    first, same, other, wide = mean(values), mean(values), mean(values, seed=1), mean(values, level=0.99)
    assert (first.low, first.high) == (same.low, same.high)
    assert (first.low, first.high) != (other.low, other.high)
    assert wide.low is not None and first.low is not None and wide.low < first.low


def test_missing_rows_are_left_out() -> None:
    values = np.array([0.2, np.nan, 0.4, 0.9])
    assert mean(values).estimate == pytest.approx(0.5)
    assert mean(values).low == mean(np.array([0.2, 0.4, 0.9])).low


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_degenerate_cases_say_so(method: str) -> None:
    one = mean(np.array([0.5]), method=method)
    assert (one.estimate, one.low, one.note) == (0.5, None, "one example or cluster: no interval")
    none = mean(np.array([np.nan, np.nan]), method=method)
    assert (none.estimate, none.low, none.note) == (None, None, "no example could be scored")
    equal = mean(np.full(5, 0.25), method=method)
    assert (equal.estimate, equal.low, equal.high) == pytest.approx((0.25, 0.25, 0.25))
    two = mean(np.array([0.0, 1.0]), method=method)
    assert two.low is not None and two.high is not None and two.low < 0.5 < two.high
    assert mean(np.array([0.1, 0.2]), resamples=0).low is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"method": "magic"}, "method=magic; expected one of percentile, basic, bca"),
        ({"level": 95}, "level=95; expected a share between 0 and 1"),
        ({"resamples": 1}, "resamples=1; expected 2 or more, or 0"),
        ({"seed": -1}, "seed=-1; expected 0 or more"),
    ],
)
def test_bad_options(options: dict[str, object], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        mean(np.array([0.1, 0.2]), **options)
    assert expected in str(raised.value)


def test_two_metrics_with_one_score_are_refused() -> None:
    one = mean_statistics(np.array([0.1, 0.2]))
    with pytest.raises(HarnessError, match="two metrics give the score 'rouge1'"):
        scores([one, one])
