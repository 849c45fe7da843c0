"""Ranks that the tests leave open, and letters for what cannot be told apart."""

from __future__ import annotations

import numpy as np
import pytest

import harness
from harness.analysis.comparing import comparing
from harness.stats.comparing.ranking import rankings
from harness.stats.options import ComparisonOptions
from harness.types import HarnessError
from tests.report.terminal.test_terminal import row
from tests.stats.test_comparison import Lower, run


def pair(a: str, b: str, verdict: str, up: bool = True, **estimates: float) -> object:
    values = {"w": 4.0, "x": 3.0, "y": 2.0, "z": 1.0, **estimates}
    return row(
        "bleu",
        verdict,
        baseline=a,
        system=b,
        baseline_estimate=values[a],
        system_estimate=values[b],
        higher_is_better=up,
    )


def test_ranks_and_letters() -> None:
    """w beats z only; x, y and z cannot be told apart: two overlapping groups."""
    rows = [
        pair("w", "x", "not distinguishable"), pair("w", "y", "not distinguishable"), pair("w", "z", "worse"),
        pair("x", "y", "not distinguishable"), pair("x", "z", "not distinguishable"), pair("y", "z", "not distinguishable"),
    ]  # fmt: skip
    (ranking,) = rankings(rows)  # type: ignore[arg-type]
    assert [(r.system, r.low, r.high, r.letters) for r in ranking.systems] == [
        ("w", 1, 3, "a"), ("x", 1, 4, "ab"), ("y", 1, 4, "ab"), ("z", 2, 4, "b"),
    ]  # fmt: skip


def test_all_different_and_all_alike() -> None:
    names = "wxyz"
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    (apart,) = rankings([pair(a, b, "worse") for a, b in pairs])  # type: ignore[misc]
    assert [(r.low, r.high, r.letters) for r in apart.systems] == [(1, 1, "a"), (2, 2, "b"), (3, 3, "c"), (4, 4, "d")]
    (alike,) = rankings([pair(a, b, "not distinguishable") for a, b in pairs])  # type: ignore[misc]
    assert {(r.low, r.high, r.letters) for r in alike.systems} == {(1, 4, "a")}


def test_letters_are_shared_exactly_where_not_distinguishable() -> None:
    rng = np.random.default_rng(0)
    names = [f"s{i}" for i in range(9)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    estimates = {name: float(i) for i, name in enumerate(names)}
    verdicts = {p: str(rng.choice(["not distinguishable", "better"])) for p in pairs}
    (ranking,) = rankings([pair(a, b, verdicts[a, b], **estimates) for a, b in pairs])  # type: ignore[misc]
    letters = {r.system: set(r.letters) for r in ranking.systems}
    for a, b in pairs:
        assert bool(letters[a] & letters[b]) == (verdicts[a, b] == "not distinguishable")


def test_of_runs() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(60)
    shifts = {"low": 0.0, "mid": 0.3, "near": 0.301, "top": 0.6}
    runs = [run(base + s + rng.normal(0, 0.02, 60), name) for name, s in shifts.items()]
    (ranking,) = rankings(harness.compare(runs, resamples=500))
    assert [(r.system, r.low, r.high) for r in ranking.systems][::3] == [("top", 1, 1), ("low", 4, 4)]
    assert {(r.low, r.high, r.letters) for r in ranking.systems[1:3]} == {(2, 3, "b")}
    lower = [run(base + s + rng.normal(0, 0.02, 60), name, Lower()) for name, s in shifts.items()]
    assert rankings(harness.compare(lower, resamples=500))[0].systems[0].system == "low"
    assert rankings(harness.compare(runs, baseline=runs[0], resamples=500)) == []
    assert rankings(harness.compare(runs[:2], resamples=500)) == []


def test_letters_stay_few_where_groups_overlap_in_every_way() -> None:
    """28 systems, each told apart from one other only, have 2^14 largest groups: labels had 29,882 characters."""
    names = [f"s{i:02}" for i in range(28)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    verdicts = {
        p: "worse" if names.index(p[0]) // 2 == names.index(p[1]) // 2 else "not distinguishable" for p in pairs
    }
    estimates = {name: -float(i) for i, name in enumerate(names)}
    (ranking,) = rankings([pair(a, b, verdicts[a, b], **estimates) for a, b in pairs])  # type: ignore[misc]
    letters = {r.system: set(r.letters) for r in ranking.systems}
    assert max(map(len, letters.values())) <= 12
    for a, b in pairs:
        assert bool(letters[a] & letters[b]) == (verdicts[a, b] == "not distinguishable")


def test_one_sided_tests_are_ranked_by_two_sided_ones() -> None:
    """Three clearly different systems, the best first: "better" alone shows nothing, and all were called alike."""
    rng = np.random.default_rng(0)
    base = rng.random(60)
    runs = [run(base + s + rng.normal(0, 0.02, 60), name) for name, s in (("top", 0.6), ("mid", 0.3), ("low", 0.0))]
    for alternative in ("better", "worse", "two-sided"):
        options = ComparisonOptions(resamples=500, alternative=alternative)
        rows = comparing.compare(runs, None, options)
        (ranking,) = comparing.ranked(runs, rows, options)
        assert [(r.system, r.low, r.high, r.letters) for r in ranking.systems] == [
            ("top", 1, 1, "a"), ("mid", 2, 2, "b"), ("low", 3, 3, "c"),
        ]  # fmt: skip
    with pytest.raises(HarnessError, match="alternative='better', which say nothing of the other direction; expected"):
        rankings(comparing.compare(runs, None, ComparisonOptions(resamples=500, alternative="better")))
