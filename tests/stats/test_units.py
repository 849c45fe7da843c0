"""Buckets of units: who is in which, and what intervals they give."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import harness
from harness.metrics.squad import ExactMatch
from harness.stats import intervals
from harness.stats.design import Design
from harness.stats.options import Options
from harness.stats.units import LEAST, Units, hashes, into_buckets
from harness.types import HarnessError, Signature, Statistics

N = 70_000


def design(n: int = N, kind: str = "auto", buckets: int = 16_384, **options: object) -> Design:
    ids = [str(i) for i in range(n)]
    whole = Design.of(n, ids=ids, **options)  # type: ignore[arg-type]
    return whole.in_buckets(ids, Units(kind, buckets))


@pytest.mark.parametrize(
    ("n", "kind", "units", "described"),
    [
        (65_536, "auto", 65_536, "65536 examples"),
        (N, "auto", 16_152, "16152 buckets of 70000 examples"),
        (N, "examples", N, "70000 examples"),
        (20_000, "auto", 20_000, "20000 examples"),
        (20_000, "buckets", 11_577, "11577 buckets of 20000 examples"),
        (16_384, "buckets", 16_384, "16384 examples"),
    ],
)
def test_when_examples_go_into_buckets(n: int, kind: str, units: int, described: str) -> None:
    drawn = design(n, kind)
    assert drawn.units == pytest.approx(units, rel=0.01)
    assert drawn.description == f"{drawn.units} {described.partition(' ')[2]}"
    assert drawn.count() == n


def test_a_hash_depends_on_the_name_and_the_seed_alone() -> None:
    names = ["a", "b", "né", "", "a" * 1000]
    assert hashes(names, 1).tolist() == hashes(names[::-1], 1).tolist()[::-1]
    assert not set(hashes(names, 1).tolist()) & set(hashes(names, 2).tolist())
    code = f"from harness.stats.units import hashes; print(hashes({names!r}, 1).tolist())"
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert elsewhere.stdout.strip() == str(hashes(names, 1).tolist())


def test_buckets_are_even() -> None:
    """Chi-squared over 1,024 buckets, within five standard deviations."""
    counts = np.bincount(
        (hashes([f"doc-{i}" for i in range(200_000)], 3) % np.uint64(1024)).astype(int), minlength=1024
    )
    statistic = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert abs(statistic - 1023) < 5 * np.sqrt(2 * 1023)


def test_the_order_of_rows_does_not_matter() -> None:
    ids = [str(i) for i in range(N)]
    shuffled = np.random.default_rng(0).permutation(N)
    plain = Design.of(N, ids=ids).in_buckets(ids, Units())
    other = Design.of(N, ids=ids).in_buckets([ids[i] for i in shuffled], Units())
    assert np.array_equal(plain.members[shuffled], other.members)


def test_clusters_stay_whole_and_strata_apart() -> None:
    clusters = [f"c{i // 2}" for i in range(4 * N)]
    strata = ["large" if i < 3.9 * N else "small" for i in range(4 * N)]
    whole = Design.of(4 * N, clusters=clusters, strata=strata, label="clusters by talk")
    drawn = whole.in_buckets(clusters, Units())
    assert np.array_equal(drawn.members[0::2], drawn.members[1::2])
    assert drawn.description.endswith("buckets of 140000 clusters by talk")
    of_large, of_small = (set(drawn.members[np.array(strata) == name].tolist()) for name in ("large", "small"))
    assert not of_large & of_small
    assert drawn.sizes.tolist() == [len(of_large), len(of_small)]
    assert sorted(of_large) == list(range(len(of_large)))
    assert len(of_small) == pytest.approx(LEAST, rel=0.05)  # its share of the buckets would be fewer


def test_a_small_stratum_keeps_its_examples() -> None:
    sizes = np.array([100_000, 500])
    buckets = into_buckets(sizes, np.arange(100_500, dtype=np.uint64), most=16_384)
    assert len(np.unique(buckets[100_000:])) == 500


def test_intervals_are_as_wide_as_those_by_example() -> None:
    """The same estimate, bounds within a few percent of the width; the same bytes again."""
    rng = np.random.default_rng(5)
    rows = np.column_stack([100.0 * (rng.random(N) < 0.3), np.ones(N)])
    statistics = [Statistics.of(ExactMatch(), rows, Signature({}, {}), "key")]
    options = Options(resamples=1000)
    by_example, by_bucket, again = (
        intervals.scores(statistics, design(kind=kind), options)["exact_match"] for kind in ("examples", "auto", "auto")
    )
    assert by_bucket == again
    assert by_bucket.estimate == by_example.estimate
    assert by_bucket.high - by_bucket.low == pytest.approx(by_example.high - by_example.low, rel=0.1)  # type: ignore[operator]
    assert by_example.units == "70000 examples"


def test_a_comparison_counts_examples_and_pairs_them() -> None:
    outputs = [[str(i % 10) if (i * 7 + k) % 3 else "x" for i in range(N)] for k in range(2)]
    references = [[str(i % 10)] for i in range(N)]
    runs = [
        harness.evaluate(texts, references, ["exact_match"], resamples=0, name=name)
        for texts, name in zip(outputs, "ab", strict=True)
    ]
    (row,) = harness.compare(runs, resamples=200)
    assert row.n == N
    assert row.low < row.difference < row.high


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (Units("all"), "stats.units=all; expected one of auto, examples, buckets"),
        (Units("auto", 12), "stats.buckets=12; expected 1024 to 65536"),
        (Units("auto", 10**6), "stats.buckets=1000000; expected 1024 to 65536"),
    ],
)
def test_what_cannot_be_meant(units: Units, message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        units.check()


@pytest.mark.parametrize("stored", [None, 3, {"units": ["x"]}, {"buckets": "many"}, {"buckets": True}])
def test_a_stored_config_that_says_nothing_sensible(stored: object) -> None:
    assert Units.of_config(stored, 7) == Units(seed=7)
    assert Units.of_config({"units": "examples", "buckets": 2048}, 7) == Units("examples", 2048, 7)
