"""Intervals of scores that are shares of examples: against the binomial distribution itself, and statsmodels."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.proportion import proportion_confint

import harness
from benchmarks.coverage.repeats import made
from harness.stats.design import Design
from harness.stats.expansion import Expansion, student_quantile, student_tail
from harness.stats.intervals import scores
from harness.stats.options import Options
from harness.stats.proportions import (
    MeanOfPairedShares,
    PairedShares,
    agresti_coull,
    tango,
    tango_distance,
    wilson,
)
from harness.types import RunResult, Signature, Statistics
from tests.stats.test_comparison import run
from tests.stats.test_intervals import mean
from tests.stats.test_small import Share

CELLS = [(share, n) for share in (0.02, 0.1, 0.5, 0.98) for n in (5, 20, 50, 100, 400)]


def answers(right: int, n: int, name: str = "outputs", **more: object) -> RunResult:
    """A run of which so many answers are right."""
    outputs = ["yes"] * right + ["no"] * (n - right)
    return harness.evaluate(outputs, ["yes"] * n, ["exact_match"], resamples=500, name=name, **more)  # type: ignore[arg-type]


def held(low: np.ndarray, high: np.ndarray, share: float) -> float:
    """How often bounds for 0 to n events hold, exactly."""
    n = len(low) - 1
    inside = (low <= share) & (share <= high)
    return float(scipy.stats.binom.pmf(np.arange(n + 1), n, share)[inside].sum())


@pytest.mark.parametrize(("share", "n"), CELLS)
def test_the_default_holds_at_least_93_times_in_100(share: float, n: int) -> None:
    reach = Expansion.of(np.arange(n), np.array([n])).reach(0.95)
    assert held(*agresti_coull(np.arange(n + 1.0), float(n), reach), share) >= 0.93


def test_runs_have_it_and_say_so() -> None:
    """`49 of 50` was [94, 100] and `50 of 50` [100, 100] from resamples."""
    almost, every = (answers(right, 50).scores["exact_match"] for right in (49, 50))
    assert (almost.method, every.method, every.note) == ("agresti-coull", "agresti-coull", None)
    expected = 100 * np.array(agresti_coull(np.array(49.0), 50.0, student_quantile(0.025, 49)))
    assert (almost.low, almost.high) == pytest.approx(tuple(expected))
    assert every.low == pytest.approx(91.08, abs=0.01)
    assert every.high == 100
    assert (every.low_error, every.high_error) == (0, 0)
    partly = harness.evaluate(["yes", "no", "yes sir"] * 10, ["yes"] * 30, ["token_f1"], resamples=100)
    assert partly.scores["token_f1"].method == "expanded"


@pytest.mark.parametrize("events", [0, 1, 25, 49, 50])
def test_wilson_is_that_of_statsmodels(events: int) -> None:
    theirs = proportion_confint(events, 50, 0.05, "wilson")
    assert wilson(np.array(float(events)), 50.0, 1.959964) == pytest.approx(theirs, abs=1e-6)
    score = answers(events, 50, method="wilson").scores["exact_match"]
    assert (score.low, score.high) == pytest.approx(tuple(np.multiply(100, theirs)))
    assert score.method == "wilson"
    assert agresti_coull(np.array(float(events)), 50.0, 1.959964) == pytest.approx(
        proportion_confint(events, 50, 0.05, "agresti_coull"), abs=1e-6
    )


def test_of_other_scores_wilson_is_the_expanded_interval() -> None:
    values = np.random.default_rng(0).random(30)
    asked, expanded = (mean(values, method=method) for method in ("wilson", "expanded"))
    assert (asked.low, asked.high, asked.method) == (expanded.low, expanded.high, "expanded")


def test_clusters_count_by_what_they_are_worth() -> None:
    """Ten examples of a cluster that are always alike are worth one; such that are not, ten."""
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(40), 10).tolist()
    alike, apart = np.repeat(rng.random(40) < 0.5, 10).astype(float), (rng.random(400) < 0.5).astype(float)
    widths = []
    for values, design in ((alike, clusters), (apart, clusters), (apart, None)):
        score = mean(values, Design.of(400, clusters=design), resamples=2000)
        assert score.method == "agresti-coull"
        assert score.low is not None and score.high is not None
        widths.append(score.high - score.low)
    assert widths[0] == pytest.approx(widths[2] * np.sqrt(10), rel=0.1)
    assert widths[1] == pytest.approx(widths[2], rel=0.2)
    none = mean(np.zeros(400), Design.of(400, clusters=clusters))
    assert none.high == pytest.approx(agresti_coull(np.array(0.0), 40.0, student_quantile(0.025, 39))[1])


def test_few_clusters_of_unequal_sizes_hold() -> None:
    """Answers of a cluster that agree more than chance has it; percentiles held 69 times in 100 at 2 %."""
    rng = np.random.default_rng(3)
    for share, count in ((0.02, 10), (0.1, 20)):
        inside = 0
        for seed in range(200):
            sizes = np.maximum(1, rng.lognormal(1.8, 0.7, count).astype(int))
            rates = rng.beta(share * 4, (1 - share) * 4, count)
            values = (rng.random(sizes.sum()) < np.repeat(rates, sizes)).astype(float)
            design = Design.of(len(values), clusters=np.repeat(np.arange(count), sizes).tolist())
            score = mean(values, design, resamples=200, seed=seed)
            inside += score.low <= share <= score.high  # type: ignore[operator]
        assert inside / 200 >= 0.93 - 2 * 0.018


# ---------------------------------------------------------------- differences


def test_tango_is_the_published_interval() -> None:
    """Tango 1998, table III: 43 pairs with 0 and 1 that differ, and 32 with 9 and 3 (Newcombe 1998)."""
    assert tango(9, 3, 32, 1.959964) == pytest.approx((-0.0270, 0.3897), abs=1e-3)
    assert tango(0, 1, 44, 1.959964) == pytest.approx((-0.1182, 0.0592), abs=2e-3)
    assert tango(0, 0, 50, 1.96) == pytest.approx((-(1.96**2) / (50 + 1.96**2), 1.96**2 / (50 + 1.96**2)))
    assert tango_distance(9, 3, 32, 0.0) == pytest.approx((9 - 3) / np.sqrt(12))  # McNemar's


def test_identical_outputs_still_have_a_width() -> None:
    every = answers(50, 50)
    (row,) = harness.compare([every, dataclasses.replace(every, name="same")], resamples=500)
    assert (row.difference, row.p_value, row.method) == (0, 1, "tango")
    assert row.low is not None and row.high is not None and row.low == pytest.approx(-row.high)
    assert row.high == pytest.approx(7.47, abs=0.01)
    # and power is a bound from what could have been: it was 0, 1.0 and n = 2
    (power,) = harness.power([every, dataclasses.replace(every, name="same")], difference=2.0, resamples=500)
    reach = student_quantile(0.025, 49)
    assert power.smallest_detectable == pytest.approx(row.high * (1 + student_quantile(0.2, 49) / reach), abs=0.01)
    assert power.power is not None and power.power < 0.2
    assert power.needed is not None and power.needed > 500
    rouge = harness.evaluate(["a b", "c d"] * 10, ["a b", "x d"] * 10, ["rouge", "bleu"], resamples=0, name="a")
    same = dataclasses.replace(rouge, name="b")
    by_score = {row.score: row for row in harness.compare([rouge, same], resamples=200)}
    assert by_score["rouge1"].smallest_detectable > 0.1  # type: ignore[operator]
    assert by_score["rouge1"].note is not None and by_score["rouge1"].note.startswith("no example differs")
    assert by_score["bleu"].smallest_detectable is None  # it has no scale of single examples
    assert {row.power for row in harness.power([rouge, same], scores=["bleu"], resamples=200)} == {None}


@pytest.mark.parametrize(("won", "lost"), [(0.02, 0.02), (0.1, 0.1), (0.05, 0.0), (0.3, 0.1)])
@pytest.mark.parametrize("n", [20, 50])
def test_differences_hold_at_least_93_times_in_100(won: float, lost: float, n: int) -> None:
    reach = student_quantile(0.025, n - 1)
    inside = 0.0
    for a in range(n + 1):
        for b in range(n + 1 - a):
            chance = scipy.stats.multinomial.pmf([a, b, n - a - b], n, [won, lost, 1 - won - lost])
            if chance > 1e-6:
                low, high = tango(a, b, n, reach)
                inside += chance * (low <= won - lost <= high)
    assert inside >= 0.93


def pairs_of(n: int, won: int, lost: int) -> PairedShares:
    return PairedShares(won, lost, n, 1.0, Expansion.of(np.arange(n), np.array([n])))


def test_a_mean_of_differences_adds_what_each_leaves_open() -> None:
    parts = [pairs_of(20, 0, 0), pairs_of(50, 3, 1), pairs_of(30, 0, 2)]
    mean = MeanOfPairedShares.of(parts, 0.95)
    low, high = mean.interval(0.95)
    reach = student_quantile(0.025, mean.expansion.df)
    ends = np.array([tango(part.won, part.lost, part.n, reach) for part in parts]).T
    seen = np.array([0, 2 / 50, -2 / 30])
    assert mean.difference == pytest.approx(seen.mean())
    assert seen.mean() - low == pytest.approx(np.linalg.norm(seen - ends[0]) / 3)
    assert high - seen.mean() == pytest.approx(np.linalg.norm(ends[1] - seen) / 3)
    assert (mean.p_above(low), mean.p_above(high)) == pytest.approx((0.025, 0.975))
    only = MeanOfPairedShares.of(parts[1:2], 0.95)
    assert only.interval(0.9) == pytest.approx(parts[1].interval(0.9))
    assert only.p_above(-0.1) == pytest.approx(parts[1].p_above(-0.1))
    assert only.p_above(0.2) == pytest.approx(parts[1].p_above(0.2))


def test_averages_over_data_sets_of_rare_events_hold() -> None:
    """From replicates: 84 of 100 held, [0, 0] where no example differed, and 10 of 100 were "not worse" that were."""
    rng, inside, wrong = np.random.default_rng(3), 0, 0
    for seed in range(100):
        group = []
        for n in (50, 60):
            drawn = rng.random(n)
            runs = [run((drawn >= share).astype(float), name, Share()) for name, share in (("a", 0), ("b", 0.04))]
            group += [dataclasses.replace(part, dataset=f"{n}", dataset_key=f"{n}") for part in runs]
        (row,) = harness.compare(group, resamples=100, seed=seed, margins={"share": 0.04}).macro
        assert row.method == "tango"
        inside += row.low <= -0.04 <= row.high  # type: ignore[operator]
        wrong += row.p_not_worse <= 0.05  # type: ignore[operator]
    assert inside / 100 >= 0.93 - 0.025
    assert wrong / 100 <= 0.06 + 2 * 0.024


def test_a_difference_of_one_output_and_of_several() -> None:
    """The outputs of the system with fewer were all that counted: the interval was a quarter too wide, and held 99."""
    rng, inside, widths = np.random.default_rng(8), 0, []
    for seed in range(150):
        a, b = (rng.random((40, count)) < share for count, share in ((1, 0.8), (4, 0.55)))
        first, second = (made(name, values.astype(float), metric=Share()) for name, values in (("a", a), ("b", b)))
        options = {"resamples": 200, "seed": seed}
        (row,), (back,) = (harness.compare(pair, **options) for pair in ([first, second], [second, first]))  # type: ignore[arg-type]
        assert (row.low, row.high) == pytest.approx((-back.high, -back.low), abs=1e-9)  # type: ignore[operator]
        inside += row.low <= -0.25 <= row.high  # type: ignore[operator]
        widths.append(row.high - row.low)  # type: ignore[operator]
    assert inside / 150 >= 0.93
    error = np.sqrt(0.8 * 0.2 / 40 + 0.55 * 0.45 / 160)
    assert np.mean(widths) < 1.12 * 2 * student_quantile(0.025, 39) * error


def test_a_difference_of_other_scores_is_expanded() -> None:
    rng = np.random.default_rng(1)
    a = rng.random(40)
    (row,) = harness.compare([run(a, "a"), run(a + rng.normal(0, 0.1, 40), "b")], resamples=500)
    assert row.method == "expanded"


# ---------------------------------------------------------------- expansion


@pytest.mark.parametrize("df", [1.0, 1.3, 2.0, 4.0, 19.5, 400.0, 60_000.0])
def test_students_distribution_is_scipys(df: float) -> None:
    for t in (-3.0, 0.0, 0.1, 1.0, 2.5, 12.0):
        assert student_tail(t, df) == pytest.approx(scipy.stats.t.sf(t, df), rel=1e-8)
    for tail in (0.05, 0.025, 0.0005):
        assert student_quantile(tail, df) == pytest.approx(scipy.stats.t.isf(tail, df), rel=1e-8)


def merged(strata: Sequence[object] | None, n: int) -> Design:
    return Design.of(n, strata=strata).with_small_strata_merged()


@pytest.mark.slow
@pytest.mark.parametrize(
    "strata", [None, np.repeat(np.arange(10), 2).tolist(), np.minimum(np.arange(20) // 3, 5).tolist()]
)
def test_twenty_examples_hold(strata: list[int] | None) -> None:
    """At n = 20 percentiles held 91 to 92.7 times in 100, with strata of 2 and 3 examples 81 and 89."""
    rng, inside = np.random.default_rng(5), 0
    for seed in range(400):
        score = mean(rng.gamma(4.0, 0.25, 20), merged(strata, 20), resamples=400, seed=seed)
        inside += score.low <= 1.0 <= score.high  # type: ignore[operator]
    assert inside / 400 >= 0.93 - 2 * 0.012


def test_small_strata_are_merged_and_said(caplog: pytest.LogCaptureFixture) -> None:
    strata = ["a"] * 6 + ["b", "c", "c", "d", "d", "d"]
    assert merged(strata, 12).sizes.tolist() == [6, 6]
    assert merged(strata[:8], 8).sizes.tolist() == [8]
    assert merged(["a", "b", "c", "d"], 4).sizes.tolist() == [4]
    assert merged(["a", "b"] * 4, 8).sizes.tolist() == [4, 4]
    clustered = Design.of(12, clusters=[*"aabbccddeeff"], strata=[*"ppppqqqqqqqq"]).with_small_strata_merged()
    assert (clustered.sizes.tolist(), clustered.members.tolist()) == ([6], [i // 2 for i in range(12)])
    harness.evaluate(["x y"] * 12, ["x z"] * 12, ["rouge"], strata=strata, resamples=50)
    assert "stats.strata=stratum: 3 of its values have fewer than 4 examples, too few to draw from" in caplog.text


def test_an_expanded_interval_by_hand() -> None:
    values = np.random.default_rng(2).exponential(size=30)
    score = mean(values, resamples=20_000)
    tail = scipy.stats.norm.cdf(-np.sqrt(30 / 29) * scipy.stats.t.isf(0.025, 29))
    picks = np.random.default_rng(3).integers(0, 30, (40_000, 30))
    assert (score.low, score.high) == pytest.approx(np.quantile(values[picks].mean(1), [tail, 1 - tail]), abs=0.02)
    assert score.method == Options().method.replace("auto", "expanded")


def test_rare_events_that_a_few_clusters_hold() -> None:
    """At the effective n alone the interval held 88 in 100: its variance rests on the few clusters that have events."""
    held, count, rate = 0, 15, 0.05
    for seed in range(150):
        rng = np.random.default_rng([seed, 17])
        clusters = np.repeat(np.arange(count), rng.integers(2, 60, count))
        right = (rng.random(len(clusters)) < rng.beta(2 * rate, 2 * (1 - rate), count)[clusters]).astype(float)
        statistics = Statistics.of(Share(), np.stack([right, np.ones(len(right))], axis=1), Signature({}, {}), "")
        design = Design.of(len(clusters), clusters=clusters.tolist())
        score = scores([statistics], design, Options(200, seed=seed))["share"]
        held += score.low <= rate <= score.high  # type: ignore[operator]
    assert held / 150 >= 0.93
