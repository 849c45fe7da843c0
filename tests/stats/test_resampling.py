"""The engine: counts, replicates, clusters, strata, repeats, and that nothing else changes the bytes."""

from __future__ import annotations

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from harness.metrics.bleu import Bleu
from harness.metrics.rouge import Rouge
from harness.stats import resampling
from harness.stats.design import Design, codes
from harness.stats.resampling import BLOCK, Draws, Sample, generator, replicates, resampled
from harness.types import Array, Batch, HarnessError, Lists, Metric, Rows


def rouge_rows(n: int, seed: int = 0) -> Array:
    rows = np.random.default_rng(seed).random((n, 4))
    rows[:, 3] = 1
    return rows


def drawn(design: Design, resamples: int, seed: int = 1) -> Array:
    """Counts (resamples, units), as the engine draws them."""
    return resampled([np.eye(design.units)], Draws(design, resamples, seed, "x"))[0]


ROUGE = Rouge(["rouge1"])


@pytest.mark.parametrize(("n", "resamples"), [(1, 100), (7, 100), (300, 1000), (30_000, 33)])
def test_counts_sum_to_n(n: int, resamples: int) -> None:
    ones = resampled([np.ones((n, 1))], Draws(Design.of(n), resamples, 1, "x"))[0]
    assert ones.shape == (resamples, 1)
    assert (ones == n).all()


def test_counts_are_multinomial() -> None:
    """Mean 1, variance 1 - 1/n, covariance -1/n: what resampling n of n with replacement gives."""
    weights = drawn(Design.of(10), 40_000, seed=3)
    assert weights.mean(0) == pytest.approx(np.ones(10), abs=0.03)
    assert np.cov(weights.T) == pytest.approx(np.eye(10) - 0.1, abs=0.03)


@pytest.mark.parametrize("n", [3, 1000, 2**20 + 7])
def test_every_unit_is_as_likely(n: int) -> None:
    """A chi-squared test of the draws over ten parts of the units; n that do not divide a power of two included."""
    total = np.zeros(n)
    for block in range(4 if n > 10_000 else 300):
        total += Draws(Design.of(n), BLOCK, 5, "x").counts(block).sum(0)
    parts = min(n, 10)
    edges = np.linspace(0, n, parts + 1).astype(int)
    seen = np.add.reduceat(total, edges[:-1])
    expected = np.diff(edges) * total.sum() / n
    assert ((seen - expected) ** 2 / expected).sum() < 30  # p < 0.0005 for 9 degrees of freedom


def test_coins_are_fair_and_their_own() -> None:
    flips = np.concatenate([Draws(Design.of(130), BLOCK, 2, "x", flips=True).counts(block) for block in range(100)])
    assert set(np.unique(flips)) == {0, 1}
    assert flips.mean(0) == pytest.approx(np.full(130, 0.5), abs=0.05)
    assert np.abs(np.corrcoef(flips[:, ::13].T.astype(float)) - np.eye(10)).max() < 0.08


def test_randomness_by_seed_purpose_and_block() -> None:
    def first(seed: int, purpose: str, block: int = 0) -> float:
        return float(generator(seed, purpose, block).random())

    assert first(1, "a") == first(1, "a")
    assert len({first(1, "a"), first(2, "a"), first(1, "b"), first(1, "a", 1)}) == 4
    draws = [
        Draws(Design.of(50), BLOCK, seed, purpose).counts(block).tobytes()
        for seed, purpose, block in ((1, "a", 0), (2, "a", 0), (1, "b", 0), (1, "a", 1))
    ]
    assert len(set(draws)) == 4


def test_the_product_is_that_of_numpy() -> None:
    rows = np.random.default_rng(0).integers(0, 100, (700, 11)).astype(float)  # whole numbers: no rounding
    design = Design.of(700)
    weights = drawn(design, 70)
    assert (resampled([rows], Draws(design, 70, 1, "x"))[0] == weights @ rows).all()


def test_bytes_do_not_depend_on_other_metrics_workers_or_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, more = rouge_rows(300), np.random.default_rng(1).random((300, 14))
    design = Design.of(300)
    alone = replicates([Sample(ROUGE, rows, design)], 500, 7, "x")[0]
    together = replicates([Sample(Bleu(), more, design), Sample(ROUGE, rows, design)], 500, 7, "x")[1]
    assert alone.tobytes() == together.tobytes()
    monkeypatch.setattr(resampling, "WORTH_THREADS", 0)
    assert replicates([Sample(ROUGE, rows, design)], 500, 7, "x")[0].tobytes() == alone.tobytes()
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert replicates([Sample(ROUGE, rows, design)], 500, 7, "x")[0].tobytes() == alone.tobytes()
    monkeypatch.setattr(resampling, "CELLS", 10)
    monkeypatch.setattr(resampling, "COLUMNS", 1)
    assert (
        replicates([Sample(Bleu(), more, design), Sample(ROUGE, rows, design)], 500, 7, "x")[1].tobytes()
        == alone.tobytes()
    )


def test_fewer_resamples_are_the_first_of_more() -> None:
    rows = rouge_rows(40)
    some, all_ = (replicates([Sample(ROUGE, rows, Design.of(40))], r, 7, "x")[0] for r in (70, 200))
    assert some.tobytes() == all_[:70].tobytes()


class Median(Metric):
    """No function of a sum: the wider seam."""

    name, columns, score_names = "median", ("value",), ("median",)

    def statistics(self, batch: Batch) -> Array:
        return np.array([[float(len(text))] for text in batch.outputs])

    def score(self, sums: Array) -> Array:
        return sums

    def score_weighted(self, weights: Array, rows: Rows) -> Array:
        return np.array([[np.median(np.repeat(rows.values[:, 0], w.astype(int)))] for w in weights])


class Threads(Median):
    """Scores with the number of BLAS threads that its products would use."""

    def score_weighted(self, weights: Array, rows: Rows) -> Array:
        most = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return np.full((len(weights), 1), float(most))


def test_scores_use_one_thread() -> None:
    """The last bits of a float product can depend on how many threads share it."""
    with threadpool_limits(limits=2, user_api="blas"):
        assert set(replicates([Sample(Threads(), np.ones((5, 1)), Design.of(5))], 300, 7, "x")[0][:, 0]) == {1.0}


def test_a_replicate_is_the_score_of_the_resampled_rows() -> None:
    rows = rouge_rows(20)
    weights = drawn(Design.of(20), 100, seed=5)
    replicated = replicates([Sample(ROUGE, rows, Design.of(20))], 100, 5, "x")[0]
    again = np.repeat(rows, weights[3].astype(int), axis=0)
    assert replicated[3] == pytest.approx(again[:, :3].mean(0))


def test_jackknife_leaves_one_out() -> None:
    rows = rouge_rows(6)
    expected = [np.delete(rows, i, 0)[:, :3].mean(0) for i in range(6)]
    assert Sample(ROUGE, rows, Design.of(6)).left_out() == pytest.approx(np.array(expected))
    clustered = Sample(ROUGE, rows, Design.of(6, clusters=list("aabbbc")))
    expected = [rows[[i for i, c in enumerate("aabbbc") if c != left], :3].mean(0) for left in "abc"]
    assert clustered.left_out() == pytest.approx(np.array(expected))


def test_what_is_no_function_of_a_sum() -> None:
    rows = np.arange(1.0, 8.0)[:, None]
    sample = Sample(Median(), rows, Design.of(7))
    assert sample.left_out()[0, 0] == 4.5
    assert sample.estimate() == [4.0]
    assert set(replicates([sample], 200, 1, "x")[0][:, 0]) <= set(range(1, 8))


def test_a_median_by_cluster_and_without_failed_examples() -> None:
    """Clusters are drawn whole and failed examples have no weight, for what is no function of a sum too."""
    rows = np.array([[1.0], [2.0], [100.0], [np.nan], [5.0]])
    design = Design.of(5, clusters=["x", "x", "y", "y", "z"])
    sample = Sample(Median(), rows, design, np.array([True, True, True, False, True]))
    assert design.units == 3
    weights = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 0.0, 3.0]])
    assert sample.weighted(weights)[:, 0].tolist() == [3.5, 2.0, 5.0]
    assert sample.left_out()[:, 0].tolist() == [52.5, 2.0, 2.0]


class Entropy(Metric):
    """Of the pooled values of all lists: no function of a sum, and of lists that no number can stand for."""

    name, columns, lists, score_names = "entropy", ("count",), ("values",), ("entropy",)
    needs_references = False

    def statistics(self, batch: Batch) -> Rows:
        lists = [[ord(letter) for letter in text] for text in batch.outputs]
        return Rows(np.array([[float(len(values))] for values in lists]), {"values": Lists.of(lists)})

    def score(self, sums: Array) -> Array:
        return sums

    def score_weighted(self, weights: Array, rows: Rows) -> Array:
        lists = rows.lists["values"]
        of_values = np.repeat(weights, np.diff(lists.starts), axis=1)
        return np.array([[_entropy(np.bincount(lists.values, weight))] for weight in of_values])


def _entropy(counts: Array) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def test_lists_are_resampled_with_their_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["aab", "b", "", "cc", "abc", "a"]
    metric = Entropy()
    rows = metric.statistics(Batch(texts, []))
    keep = np.array([True, True, True, False, True, True])
    design = Design.of(6, clusters=list("xxyyzz"), strata=list("aabbaa"))
    sample = Sample(metric, rows, design, keep)
    weights = resampled([np.eye(design.units)], Draws(design, 40, 1, "x"))[0]
    monkeypatch.setattr(resampling, "WEIGHTS", 8)  # one resample at a time
    for weight, replicate in zip(weights, replicates([sample], 40, 1, "x")[0], strict=True):
        pool = "".join(text * int(weight[design.members[i]]) for i, text in enumerate(texts) if keep[i])
        assert replicate[0] == pytest.approx(_entropy(np.bincount([ord(letter) for letter in pool])))
    without_y = Sample(metric, rows[[0, 1, 4, 5]], Design.of(4)).estimate()
    assert sample.left_out()[design.members[2]] == pytest.approx(without_y)


def test_clusters_are_summed_and_numbered_as_they_come() -> None:
    assert codes(["x", "y", "x", None]).tolist() == [0, 1, 0, 2]
    rows = np.array([[1.0, 1], [2.0, 1], [3.0, 1], [4.0, 1]])
    sample = Sample(Bleu(), rows, Design.of(4, clusters=["x", "y", "x", None]))
    assert sample.rows.tolist() == [[4.0, 2], [2.0, 1], [4.0, 1]]


def test_strata_keep_their_sizes() -> None:
    strata = ["a", "b", "a", "b", "b", "a", "a"]
    design = Design.of(7, strata=strata)
    assert design.sizes.tolist() == [4, 3]
    of_a = np.array([[s == "a", 1.0] for s in strata], dtype=float)
    sums = resampled([Sample(Bleu(), of_a, design).rows], Draws(design, 500, 1, "x"))[0]
    assert (sums == [4, 7]).all()
    values = np.arange(7.0)[:, None]
    totals = resampled([Sample(Bleu(), values, design).rows], Draws(design, 20_000, 1, "x"))[0][:, 0]
    within = sum(values[[i for i, s in enumerate(strata) if s == name], 0].var() * strata.count(name) for name in "ab")
    assert totals.mean() == pytest.approx(21, abs=0.1)
    assert totals.var() == pytest.approx(within, rel=0.05)


def test_strata_of_clusters() -> None:
    clusters, strata = list("xxyzzz"), list("aabaaa")
    design = Design.of(6, clusters=clusters, strata=strata)
    assert (design.units, design.sizes.tolist()) == (3, [2, 1])
    sums = resampled(
        [Sample(Bleu(), np.array([[c == "y"] for c in clusters], float), design).rows],
        Draws(design, 200, 1, "x"),
    )
    assert (sums[0] == 1).all()  # y is alone in its stratum
    with pytest.raises(HarnessError, match="the cluster of row 1 lies in two strata .* expected every cluster within"):
        Design.of(3, clusters=list("xxy"), strata=list("bab"))


def test_left_out_rows_take_their_units_along() -> None:
    design = Design.of(6, clusters=list("xxyzzz"), strata=list("aabaaa"))
    kept = design.kept(np.array([True, True, False, False, True, True]))
    assert (kept.units, kept.sizes.tolist(), kept.members.tolist()) == (2, [2], [0, 0, 1, 1])


def test_all_outputs_of_an_example_are_drawn_together() -> None:
    n, repeats = 30, 4
    ids, which = np.repeat(np.arange(n), repeats), np.tile(np.arange(repeats), n)
    rows = np.random.default_rng(0).random((n * repeats, 4))
    rows[:, 3] = 1
    seeds = Design.of(n * repeats, repeats=which.tolist(), ids=ids.tolist())
    assert (seeds.units, seeds.repeats, seeds.label) == (n, repeats, "examples")
    weights = drawn_of(seeds, 64)[:, ids]
    for design in (seeds, seeds.of_seeds(2), seeds.of_seeds(1)):
        values = replicates([Sample(ROUGE, rows, design)], 64, 3, "x")[0]
        assert values[:, 0] == pytest.approx((weights @ rows[:, 0]) / weights.sum(1))


def drawn_of(design: Design, resamples: int) -> Array:
    return resampled([np.eye(design.units)], Draws(design, resamples, 3, "x"))[0]
