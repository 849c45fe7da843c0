"""Tests hold their level with few examples, few clusters and several small data sets; and say where they cannot."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

import harness
from harness.stats.options import ComparisonOptions
from harness.testing import CannedMetric
from harness.types import Array, HarnessError, RunResult
from tests.stats.test_comparison import Given, run


class Other(Given):
    name, score_names = "other", ("other",)


class Share(CannedMetric):
    """Right or wrong."""

    name, score_names, bounds = "share", ("share",), (0.0, 1.0)


def small(n: int, rng: np.random.Generator) -> Array:
    return rng.normal(size=n)


def perfect(n: int, rng: np.random.Generator) -> Array:
    """One system is perfect, the other's scores vary; which is which changes from example to example."""
    return (1 - rng.beta(2, 5, n)) * rng.choice([-1, 1], n)


def rare(n: int, rng: np.random.Generator) -> Array:
    """Two systems that are right 9 times in 10."""
    return (rng.random(n) < 0.9).astype(float) - (rng.random(n) < 0.9)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [small, perfect, rare])
@pytest.mark.parametrize("n", [6, 20])
def test_few_examples_raise_no_more_alarms_than_stated(n: int, draw: Callable[..., Array]) -> None:
    """The plain bootstrap raised 13 in 100 at 6 and 7 to 8 at 20."""
    rng, alarms = np.random.default_rng(n), 0
    for seed in range(300):
        pair = [run(np.zeros(n), "a"), run(draw(n, rng), "b")]
        alarms += harness.compare(pair, resamples=400, seed=seed)[0].verdict in ("better", "worse")
    assert alarms / 300 <= 0.06 + 2 * 0.014


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 10, 20])
def test_few_clusters_raise_no_more_alarms_than_stated(count: int) -> None:
    """Clusters of unequal sizes: the plain bootstrap raised 16, 13 and 11 in 100."""
    rng, alarms = np.random.default_rng(count), 0
    for seed in range(300):
        sizes = np.maximum(1, rng.lognormal(1.8, 1.0, count).astype(int))
        clusters = np.repeat(np.arange(count), sizes)
        gains = rng.normal(size=count)[clusters] + rng.normal(size=len(clusters))
        a, b = (run(values, name, clusters=clusters.tolist()) for values, name in ((0 * gains, "a"), (gains, "b")))
        row = harness.compare([a, b], resamples=400, seed=seed)[0]
        alarms += row.verdict in ("better", "worse")
        equal = len(clusters) ** 2 / (sizes**2).sum()  # so many of equal sizes are worth as much
        farthest = scipy.stats.norm.isf(0.5 / 10_001) * np.sqrt((equal - 1) / equal)
        never = 2 * scipy.stats.t.sf(farthest, equal - 1) > 0.05
        assert (row.verdict == "too few to tell") == (count < 6 or never)
    assert alarms / 300 <= 0.06 + 2 * 0.014


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
@pytest.mark.parametrize(("n", "least"), [(2, 0.5), (4, 0.125), (5, 0.0625), (6, 0.03125)])
def test_no_p_is_smaller_than_the_units_permit(test: str, n: int, least: float) -> None:
    """Every example is better by about 1: 2 examples gave p = 0.0001."""
    base = np.arange(float(n))
    gains = 1 + np.random.default_rng(0).normal(0, 0.01, n)
    row = harness.compare([run(base, "a"), run(base + gains, "b")], test=test, resamples=2000)[0]
    assert row.p_value == pytest.approx(least)
    if n < 6:
        assert (row.verdict, row.needed, row.smallest_detectable) == ("too few to tell", 6, None)
        assert row.note == (
            f"{n} examples: no p below {least:.2g} is possible; 6 examples are the fewest that could show a difference "
            "at 0.05"
        )
    else:
        assert (row.verdict, row.note) == ("better", None)
    one_sided = harness.compare([run(base, "a"), run(base + gains, "b")], alternative="better", resamples=2000)[0]
    assert one_sided.verdict == ("better" if n > 4 else "too few to tell")


def test_examples_that_differ_count_not_all() -> None:
    """Four of fifty answers changed, all for the better: as likely as a coin that falls four times on one side."""
    before, after = np.ones(50), np.ones(50)
    before[:4] = 0
    row = harness.compare([run(before, "a", Share()), run(after, "b", Share())], resamples=5000)[0]
    assert row.p_value == pytest.approx(0.125)
    assert row.verdict == "not distinguishable"


# ---------------------------------------------------------------- several data sets


def sets(gains: list[list[float]], metrics: tuple[type[Given], ...] = (Given,)) -> list[RunResult]:
    """Two systems on several data sets of different sizes, b ahead by these gains."""
    runs = []
    for values in gains:
        for name, scored in (("a", [0.0] * len(values)), ("b", values)):
            of_metrics = [run(scored, name, metric()) for metric in metrics]
            statistics = {
                metric.name: of.statistics[metric.name] for metric, of in zip(metrics, of_metrics, strict=True)
            }
            object.__setattr__(of_metrics[0], "statistics", statistics)
            runs.append(of_metrics[0])
    return runs


def exact_macro(gains: list[list[float]]) -> float:
    """The share of all swaps on all data sets whose mean difference is as large."""
    means = [
        [np.mean(np.multiply(signs, values)) for signs in itertools.product([1, -1], repeat=len(values))]
        for values in gains
    ]
    seen = abs(np.mean([np.mean(values) for values in gains]))
    drawn = [abs(np.mean(some)) for some in itertools.product(*means)]
    return float(np.mean(np.array(drawn) >= seen - 1e-12))


def test_the_average_over_small_data_sets_is_exact_in_any_order() -> None:
    """The same swaps were used again for every data set: p from 0.016 to 0.063 where 0.047 is exact."""
    rng = np.random.default_rng(2)
    gains = [rng.normal(0.6, 1, n).tolist() for n in (3, 4, 5)]
    expected = exact_macro(gains)
    for order in itertools.permutations(gains):
        rows = harness.compare(sets(list(order)), test="randomization", resamples=5000)
        assert rows.macro[0].p_value == pytest.approx(expected)
    drawn = [
        harness.compare(sets(list(order)), test="randomization", resamples=2000).macro[0].p_value
        for order in itertools.permutations(gains)
    ]
    assert len(set(drawn)) == 1  # not all combinations, and the same ones in any order
    assert drawn[0] == pytest.approx(expected, abs=0.02)


def test_max_t_corrects_over_small_data_sets() -> None:
    """By all swaps of two data sets at once; the second of them was not corrected for at all."""
    gains = [[1.0, 1.4, -0.3, 1.0, 0.2, 0.9], [2.0, 1.1, -0.1, 2.0, 0.4, 1.95, 0.2]]
    rows = harness.compare(sets(gains), test="randomization", resamples=10_000)
    swaps = [np.array(list(itertools.product([1, -1], repeat=len(values)))) for values in gains]
    nulls = [np.abs(signs @ values) for signs, values in zip(swaps, gains, strict=True)]
    sizes = [np.sqrt(np.mean(null**2)) for null in nulls]
    seen = [abs(sum(values)) / size for values, size in zip(gains, sizes, strict=True)]
    first = int(np.argmax(seen))
    largest = np.maximum.outer(nulls[0] / sizes[0], nulls[1] / sizes[1])
    assert rows[first].p_adjusted == pytest.approx(np.mean(largest >= seen[first] - 1e-12))
    assert rows[first].p_adjusted > 1.2 * rows[first].p_value  # type: ignore[operator]
    both = harness.compare(sets(gains, (Given, Other)), test="randomization", resamples=10_000)
    assert both[2 * first].p_adjusted == pytest.approx(rows[first].p_adjusted)  # the other says the same


def test_averages_over_small_data_sets_hold() -> None:
    rng, inside, alarms = np.random.default_rng(4), 0, 0
    for seed in range(150):
        gains = [rng.gamma(2.0, 0.5, n) * rng.choice([-1, 1], n) for n in (8, 12, 20)]
        (row,) = harness.compare(sets([values.tolist() for values in gains]), resamples=300, seed=seed).macro
        inside += row.low <= 0 <= row.high  # type: ignore[operator]
        alarms += row.verdict in ("better", "worse")
    assert inside / 150 >= 0.93 - 2 * 0.021
    assert alarms / 150 <= 0.06 + 2 * 0.019


def test_clusters_too_unequal_for_the_bootstrap_are_said() -> None:
    """Seven clusters of which one has half of the examples: whatever they show, its p is above 0.05."""
    clusters = [0, 1, 2, 3, 4, 5] * 3 + [6] * 22
    rng = np.random.default_rng(1)
    pair = [run(np.zeros(40), "a", clusters=clusters), run(rng.normal(50, 1, 40), "b", clusters=clusters)]
    (row,) = harness.compare(pair)
    assert (row.verdict, row.smallest_detectable) == ("too few to tell", None)
    assert row.note == (
        "7 clusters of such unequal sizes count as 3.0 equal ones: the bootstrap can give no p below 0.088, "
        "test=randomization may"
    )
    assert row.p_value == pytest.approx(0.088, abs=1e-3)
    (power,) = harness.power(pair, difference=50)
    assert (power.power, power.smallest_detectable, power.needed, power.note) == (0, None, 9, row.note)
    (swapped,) = harness.compare(pair, test="randomization")
    assert (swapped.verdict, swapped.p_value) == ("better", 2 / 2**7)
    strict = [run(np.zeros(11), "a"), run(rng.normal(50, 1, 11), "b")]
    (row,) = harness.compare(strict, level=0.999)
    assert row.note == "11 examples: the bootstrap can give no p below 0.004, test=randomization may"
    assert harness.compare(strict, level=0.999, test="randomization")[0].verdict == "better"
    few = [run(np.zeros(40), "a"), run(rng.normal(0, 1, 40), "b")]
    assert harness.compare(few, resamples=10)[0].verdict != "too few to tell"  # it is the resamples that are


# ---------------------------------------------------------------- margins


def test_verdicts_within_margins() -> None:
    rng = np.random.default_rng(0)
    base, noise = rng.random(200), rng.normal(0, 0.1, 200)
    noise -= noise.mean()
    a = run(base, "a")

    def verdict(shift: float, margin: float, **more: object) -> tuple[str, float, float]:
        (row,) = harness.compare([a, run(base + noise + shift, "b")], resamples=2000, margins={"given": margin}, **more)  # type: ignore[arg-type]
        assert row.margin == margin
        assert row.p_not_worse is not None
        assert row.p_equivalent is not None
        return row.verdict, row.p_not_worse, row.p_equivalent

    assert verdict(0.0, 0.05)[0] == "equivalent"
    assert verdict(-0.018, 0.05)[0] == "equivalent"  # worse, and by less than matters
    assert verdict(0.1, 0.05)[0] == "better"
    assert verdict(-0.1, 0.05)[0] == "worse"
    assert verdict(0.01, 0.015)[0] == "not worse"
    assert verdict(0.0, 0.005)[0] == "not distinguishable"
    said, not_worse, equivalent = verdict(0.002, 0.02, method="normal")
    error = np.std(noise) / np.sqrt(200)
    import scipy.stats

    assert not_worse == pytest.approx(scipy.stats.t.sf(0.022 / error, 199), abs=0.004)
    assert equivalent == pytest.approx(scipy.stats.t.sf(0.018 / error, 199), abs=0.006)
    assert said == "equivalent"
    (plain,) = harness.compare([a, run(base + noise, "b")], resamples=500)
    assert (plain.verdict, plain.margin, plain.p_equivalent) == ("not distinguishable", None, None)


@pytest.mark.parametrize("kind", ["means", "shares"])
def test_what_is_worse_by_the_margin_is_seldom_called_not_worse(kind: str) -> None:
    rng, wrong = np.random.default_rng(7), 0
    for seed in range(300):
        if kind == "means":
            pair = [run(np.zeros(20), "a"), run(rng.normal(-0.5, 1, 20), "b")]
            margin = {"given": 0.5}
        else:
            right = [(rng.random(40) < share).astype(float) for share in (0.9, 0.8)]
            pair, margin = [run(right[0], "a", Share()), run(right[1], "b", Share())], {"share": 0.1}
        (row,) = harness.compare(pair, resamples=300, seed=seed, margins=margin)
        wrong += row.p_not_worse <= 0.05  # type: ignore[operator]
    assert wrong / 300 <= 0.06 + 2 * 0.014


def test_equivalence_needs_examples() -> None:
    """Two equal outputs are no evidence that two systems are equal; sixty are."""
    for n, expected in ((3, "too few to tell"), (60, "equivalent")):
        values = np.ones(n)
        (row,) = harness.compare([run(values, "a", Share()), run(values, "b", Share())], margins={"share": 0.2})
        assert row.verdict == expected


def test_lower_is_better_within_margins_too() -> None:
    class Errors(Given):
        higher_is_better = False

    rng = np.random.default_rng(0)
    base, noise = rng.random(100), rng.normal(0, 0.05, 100)
    runs = [run(base, "a", Errors()), run(base + noise - 0.02, "b", Errors())]
    (row,) = harness.compare(runs, margins={"given": 0.02}, resamples=1000)
    assert row.p_not_worse is not None and row.p_not_worse < 0.005 < 0.2 < row.p_equivalent  # type: ignore[operator]


def test_margins_are_corrected_over_those_that_have_one() -> None:
    rng = np.random.default_rng(1)
    base = rng.random(60)
    runs = [run(base + rng.normal(0, 0.05, 60), name) for name in "abc"]
    plain = harness.compare(runs, margins={"given": 0.02}, correction="none", resamples=1000)
    holm = harness.compare(runs, margins={"given": 0.02}, resamples=1000)
    smallest = int(np.argmin([row.p_not_worse for row in plain]))  # type: ignore[arg-type]
    assert holm[smallest].p_not_worse == pytest.approx(3 * plain[smallest].p_not_worse)  # type: ignore[operator]


def test_bad_margins() -> None:
    values = np.random.default_rng(7).random(20)
    runs = [run(values, "a"), run(values, "b")]
    with pytest.raises(HarnessError, match="margin given=-1; expected a difference above 0"):
        harness.compare(runs, margins={"given": -1})
    with pytest.raises(HarnessError, match=r"no run has the score 'giben' \(did you mean 'given'\?\)"):
        harness.compare(runs, margins={"giben": 1})
    with pytest.raises(HarnessError, match="margin other: only given is tested; expected other among them"):
        harness.compare(runs, margins={"other": 1}, scores=["given"])
    with pytest.raises(HarnessError, match="margin given=nan; expected a difference above 0"):
        ComparisonOptions(margins=(("given", float("nan")),)).check()


def test_one_sided_p_values_are_those_of_the_interval() -> None:
    """Rare large losses against many small gains: the replicates' long tail lies on the side of no difference."""
    gains = np.append(np.full(29, 0.1), -1.2) + np.linspace(-0.05, 0.05, 30)
    pair = [run(np.zeros(30), "a"), run(gains, "b")]
    better = harness.compare(pair, alternative="better", resamples=4000)[0]
    rng = np.random.default_rng(0)
    below = (gains[rng.integers(0, 30, (40_000, 30))].mean(1) <= 0).mean()
    above = (gains[rng.integers(0, 30, (40_000, 30))].mean(1) >= 2 * gains.mean()).mean()
    assert above < 0.7 * below, "which tail is taken matters"
    assert better.p_value == pytest.approx(below, rel=0.15)
    mirrored = harness.compare([run(np.zeros(30), "a"), run(-gains, "b")], alternative="worse", resamples=4000)[0]
    assert mirrored.p_value == pytest.approx(better.p_value)
    margin = {"margins": {"given": 0.05}, "resamples": 4000}
    near = harness.compare([run(np.zeros(30), "a"), run(gains - gains.mean() + 0.0001, "b")], **margin)[0]
    rest = gains - gains.mean()
    assert near.p_not_worse == pytest.approx(
        (rest[rng.integers(0, 30, (40_000, 30))].mean(1) <= -0.05).mean(), rel=0.15
    )
