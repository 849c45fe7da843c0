"""Scores by bucket: those of the bucket's examples evaluated alone."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import harness
from harness.stats.options import Options
from harness.stats.slices import slicing
from harness.types import RunResult

WORDS = ["river", "stone", "bird", "cloud", "tree", "wind", "road", "lamp"]
N = 60
GENERATOR = random.Random(5)
REFERENCES = [" ".join(GENERATOR.choice(WORDS) for _ in range(GENERATOR.randint(3, 12))) for _ in range(N)]
THREADS = [f"t{i // 3}" for i in range(N)]
DOMAIN = np.array([i % 3 for i in range(N)])


def outputs(quality: float, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(w if draw.random() < quality else draw.choice(WORDS) for w in r.split()) for r in REFERENCES]


def run(some: list[int], seed: int, clustered: bool = False) -> RunResult:
    texts = outputs(0.6, seed)
    return harness.evaluate(
        [texts[i] for i in some],
        [REFERENCES[i] for i in some],
        ["bleu", "rouge", "ter"],
        resamples=300,
        clusters=[THREADS[i] for i in some] if clustered else None,
    )


@pytest.mark.parametrize("clustered", [False, True])
def test_a_bucket_is_its_examples_evaluated_alone(clustered: bool) -> None:
    everything = list(range(N))
    runs = [run(everything, seed, clustered) for seed in (1, 2)]
    split = slicing.Split(("a", "b", "c"), DOMAIN, False)
    sliced = slicing.scores(runs, [split, split], ["bleu", "rougeL", "ter"], Options(300))
    assert len(sliced) == 2 * 3 * 3
    alone = {(i, b): run([j for j in everything if DOMAIN[j] == b], i + 1, clustered) for i in (0, 1) for b in range(3)}
    for bucket in sliced:
        wanted = alone[bucket.run, bucket.bucket].scores[bucket.score]
        assert (bucket.estimate, bucket.low, bucket.high) == pytest.approx(
            (wanted.estimate, wanted.low, wanted.high), abs=1e-12
        )
        assert bucket.n == 20


def test_a_corpus_score_of_a_bucket_is_no_mean_of_sentences() -> None:
    whole = run(list(range(N)), 1)
    split = slicing.Split(("a", "b", "c"), DOMAIN, False)
    sliced = slicing.scores([whole], [split], ["bleu"], Options(0))
    means = [whole.examples["bleu"][bucket.bucket == DOMAIN].mean() for bucket in sliced]
    assert all(
        abs(bucket.estimate - mean) > 0.1
        for bucket, mean in zip(sliced, means, strict=True)
        if bucket.estimate is not None
    )


def test_failed_examples_are_left_out_and_small_buckets_have_no_interval() -> None:
    whole = run(list(range(N)), 1)
    rows = {name: part.rows.copy() for name, part in whole.statistics.items()}
    for values in rows.values():
        values[:2] = np.nan
    failed = replace(whole, statistics={k: v.with_rows(rows[k]) for k, v in whole.statistics.items()})
    codes = np.array([0] * 6 + [1] * (N - 6))
    few, many = slicing.scores([failed], [slicing.Split(("few", "many"), codes, True)], ["bleu"], Options(100))
    assert few.n == 4 < slicing.LEAST and few.estimate is not None and few.low is None and few.high is None
    assert many.n == N - 6 and many.low is not None


def test_numbers_are_split_evenly_with_ties_together() -> None:
    split = slicing.by_number([1] * 50 + [2] * 30 + list(range(3, 23)))
    assert sum(np.bincount(split.codes)) == 100
    assert split.labels[0] == "1" and split.ordered
    sizes = slicing.by_number(list(range(100)))
    assert np.bincount(sizes.codes).tolist() == [20] * 5
    assert sizes.labels == ("0–19", "20–39", "40–59", "60–79", "80–99")


def test_missing_numbers_are_a_bucket_of_their_own() -> None:
    split = slicing.by_number([None, float("nan"), *range(60)])
    assert split.labels[-1] == "(none)" and split.codes[:2].tolist() == [len(split.labels) - 1] * 2


def test_many_values_leave_the_rare_ones_to_other() -> None:
    values = [f"v{i:02d}" for i in range(20) for _ in range(20 - i)]
    split = slicing.by_value(values)
    assert split.labels == (*(f"v{i:02d}" for i in range(8)), "other (12 values)")
    assert np.bincount(split.codes)[-1] == sum(20 - i for i in range(8, 20))
    assert slicing.by_value(["b", "a", "a", None]).labels == ("a", "(none)", "b")
    assert slicing.by_value(["a", "", "a", " ", None, ""]).labels == ("(empty)", "a", "(none)")
    assert slicing.by_value([10, 2, 2, None]).labels == ("2", "10", "(none)")
    assert slicing.by_value([True, False, True]).labels == ("yes", "no")
