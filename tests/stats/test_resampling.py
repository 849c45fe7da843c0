"""The engine: counts, replicates, clusters, and that nothing else changes the bytes."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from harness.metrics.bleu import Bleu
from harness.metrics.rouge import Rouge
from harness.stats.resampling import Sample, by_cluster, cluster_codes, draws, generator, jackknife, replicates
from harness.types import Array, Metric


def rouge_rows(n: int, seed: int = 0) -> Array:
    rows = np.random.default_rng(seed).random((n, 4))
    rows[:, 3] = 1
    return rows


ROUGE = Rouge(["rouge1"])


@pytest.mark.parametrize(("n", "resamples"), [(1, 100), (7, 100), (300, 1000), (30_000, 300)])
def test_counts_sum_to_n(n: int, resamples: int) -> None:
    parts = list(draws(n, resamples, 1, "x"))
    assert sum(len(part) for part in parts) == resamples
    assert all((part.sum(1) == n).all() for part in parts)


def test_counts_are_multinomial() -> None:
    """Mean 1, variance 1 - 1/n, covariance -1/n: what resampling n of n with replacement gives."""
    counts = np.concatenate(list(draws(10, 40_000, 3, "x")))
    assert counts.mean(0) == pytest.approx(np.ones(10), abs=0.03)
    assert np.cov(counts.T) == pytest.approx(np.eye(10) - 0.1, abs=0.03)


def test_randomness_by_seed_and_purpose() -> None:
    def first(seed: int, purpose: str) -> float:
        return float(generator(seed, purpose, 0).random())

    assert first(1, "a") == first(1, "a")
    assert len({first(1, "a"), first(2, "a"), first(1, "b")}) == 3


def test_replicates_do_not_depend_on_other_metrics() -> None:
    rows, more = rouge_rows(50), np.random.default_rng(1).integers(1, 9, (50, 14)).astype(float)
    alone = replicates([Sample(ROUGE, rows)], 500, 7, "x")[0]
    together = replicates([Sample(Bleu(), more), Sample(ROUGE, rows)], 500, 7, "x")[1]
    assert alone.tobytes() == together.tobytes()


class Median(Metric):
    """No function of a sum: the wider seam."""

    name, columns, score_names = "median", ("value",), ("median",)

    def statistics(self, outputs, references, sources):  # type: ignore[no-untyped-def]
        return np.array([[float(len(text))] for text in outputs])

    def score(self, sums: Array) -> Array:
        return sums

    def score_weighted(self, weights: Array, rows: Array) -> Array:
        return np.array([[np.median(np.repeat(rows[:, 0], w.astype(int)))] for w in weights])


class Threads(Median):
    """Scores with the number of BLAS threads that its products would use."""

    def score_weighted(self, weights: Array, rows: Array) -> Array:
        most = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return np.full((len(weights), 1), float(most))


def test_products_use_one_thread() -> None:
    """The last bits of a float product can depend on how many threads share it."""
    with threadpool_limits(limits=2, user_api="blas"):
        assert set(replicates([Sample(Threads(), np.ones((5, 1)))], 300, 7, "x")[0][:, 0]) == {1.0}


def test_a_replicate_is_the_score_of_the_resampled_rows() -> None:
    rows = rouge_rows(20)
    counts = next(iter(draws(20, 100, 5, "x")))
    replicated = replicates([Sample(ROUGE, rows)], 100, 5, "x")[0]
    resampled = np.repeat(rows, counts[3].astype(int), axis=0)
    assert replicated[3] == pytest.approx(resampled[:, :3].mean(0))


def test_jackknife_leaves_one_out() -> None:
    rows = rouge_rows(6)
    expected = [np.delete(rows, i, 0)[:, :3].mean(0) for i in range(6)]
    assert jackknife(Sample(ROUGE, rows)) == pytest.approx(np.array(expected))


def test_what_is_no_function_of_a_sum() -> None:
    rows = np.arange(1.0, 8.0)[:, None]
    assert jackknife(Sample(Median(), rows))[0, 0] == 4.5
    replicated = replicates([Sample(Median(), rows)], 200, 1, "x")[0]
    assert set(replicated[:, 0]) <= set(range(1, 8))


def test_a_median_by_cluster_and_without_failed_examples() -> None:
    """Clusters are drawn whole and failed examples have no weight, for what is no function of a sum too."""
    rows = np.array([[1.0], [2.0], [100.0], [np.nan], [5.0]])
    codes, keep = cluster_codes(["x", "x", "y", "y", "z"]), np.array([True, True, True, False, True])
    sample = Sample(Median(), rows, codes, keep)
    assert sample.units == 3
    weights = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 0.0, 3.0]])
    assert sample.scores(weights)[:, 0].tolist() == [3.5, 2.0, 5.0]
    assert jackknife(sample)[:, 0].tolist() == [52.5, 2.0, 2.0]


def test_clusters_are_summed() -> None:
    codes = cluster_codes(["x", "y", "x", None])
    assert codes is not None
    assert codes.tolist() == [0, 1, 0, 2]
    assert by_cluster(np.array([[1.0], [2.0], [3.0], [4.0]]), codes).tolist() == [[4.0], [2.0], [4.0]]
    assert cluster_codes(None) is None
