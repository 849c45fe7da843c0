"""What an experiment can detect: by formula, and by trying it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import harness
from harness.stats.expansion import student_quantile
from harness.stats.power.detection import Known, needed, power_of, smallest_detectable
from harness.stats.power.experiments import NOTHING_VARIES, Aim, Plan, planned
from harness.stats.proportions import agresti_coull
from harness.types import Comparison, HarnessError
from tests.stats.test_comparison import run


def test_by_the_textbook() -> None:
    """(1.96 + 0.8416) standard errors at 80 % power and 5 %; (1.6449 + 0.8416) for one side."""
    assert smallest_detectable(1.0, 0.95) == pytest.approx(2.8016, abs=1e-3)
    assert smallest_detectable(1.0, 0.95, sides=1) == pytest.approx(2.4865, abs=1e-3)
    assert needed(Known(100, 0.2, np.inf), 0.2802, 0.95) == 400
    assert power_of(2.8016, 1.0, 0.95) == pytest.approx(0.8, abs=1e-3)
    assert power_of(0.0, 0.0, 0.95) == 0.0


@pytest.mark.parametrize("df", [1.0, 5.0, 19.9, 20.0, 41.0, 1000.0])
@pytest.mark.parametrize("power", [0.3, 0.5, 0.8, 0.95])
def test_few_units_are_judged_by_students_distribution(df: float, power: float) -> None:
    expected = scipy.stats.t.isf(0.025, df) + scipy.stats.t.isf(1 - power, df)
    assert smallest_detectable(2.0, 0.95, power, df=df) == pytest.approx(2 * expected, rel=1e-4)
    assert power_of(2 * expected, 2.0, 0.95, df=df) == pytest.approx(power, abs=1e-4)
    n = needed(Known(50, 1.0, 49.0), 0.7, 0.95, power)
    sizes = np.arange(6, 2000)
    reach = scipy.stats.t.isf(0.025, sizes - 1) + scipy.stats.t.isf(1 - power, sizes - 1)
    assert n == sizes[np.argmax(np.sqrt(50 / sizes) * reach <= 0.7)]


@pytest.mark.parametrize(("n", "said"), [(7, 0.7), (10, 0.75), (20, 0.8)])
def test_a_detectable_difference_is_detected_as_often_as_said(n: int, said: float) -> None:
    """By the normal distribution 54, 63 and 74 of 100 were. The test itself is a little shy of 7 examples."""
    rng = np.random.default_rng(n)

    def compared(shift: float) -> Comparison:
        pair = [run(np.zeros(n), "a"), run(rng.normal(shift, 1, n), "b")]
        return harness.compare(pair, resamples=500)[0]

    shift = float(np.mean([compared(0.0).smallest_detectable for _ in range(60)]))  # type: ignore[misc]
    detected = sum(compared(shift).verdict == "better" for _ in range(200)) / 200
    assert detected >= said - 2 * 0.03


def test_the_number_needed_detects_as_often_as_said() -> None:
    rng = np.random.default_rng(5)
    base = rng.random(100)
    pilot = [run(base, "a"), run(base + rng.normal(0.0, 0.3, 100), "b")]
    (row,) = harness.power(pilot, difference=0.1, resamples=2000)
    assert row.needed == pytest.approx(100 * (2.85 * row.standard_error / 0.1) ** 2, rel=0.02)
    detected = 0
    for _ in range(150):
        values = rng.random(row.needed)
        pair = [run(values, "a"), run(values + rng.normal(0.1, 0.3, len(values)), "b")]
        detected += harness.compare(pair, resamples=300)[0].verdict == "better"
    assert 0.68 <= detected / 150 <= 0.92


def test_clusters_are_the_units() -> None:
    rng = np.random.default_rng(5)
    base = rng.random(80)
    shifted = base + np.repeat(rng.normal(0, 0.1, 20), 4)
    clusters = np.repeat(np.arange(20), 4).tolist()
    (row,) = harness.power([run(base, "a", clusters=clusters), run(shifted, "b", clusters=clusters)], difference=0.02)
    assert (row.n, row.unit) == (20, "clusters by cluster")
    assert row.needed > 100  # type: ignore[operator]


def test_a_pilot_in_which_nothing_varies() -> None:
    """50 of 50 right: the smallest detectable difference was 0, the power 1.0, n 2."""
    pilot = harness.evaluate(["yes"] * 50, ["yes"] * 50, ["exact_match"], resamples=0)
    (row,) = harness.power([pilot], difference=5)
    low, _ = agresti_coull(np.array(50.0), 50.0, student_quantile(0.025, 49))
    expected = 100 * np.sqrt(2) * (1 - float(low)) / (2 * student_quantile(0.025, 49))
    assert row.standard_error == pytest.approx(expected)
    assert (row.needed, row.needed_low, row.needed_high) == (157, None, None)
    assert row.power == pytest.approx(0.34, abs=0.01)
    assert row.note is not None and row.note.endswith(NOTHING_VARIES)
    unbounded = harness.evaluate(["yes"] * 50, ["yes"] * 50, ["bleu"], resamples=0)
    (unknown,) = harness.power([unbounded], difference=5)
    assert (unknown.standard_error, unknown.power, unknown.needed) == (None, None, None)


def test_a_share_near_its_end_plans_by_its_interval() -> None:
    """One of 50 wrong: another sample may have none or three."""
    pilot = harness.evaluate(["yes"] * 49 + ["no"], ["yes"] * 50, ["exact_match"], resamples=0)
    (row,) = harness.power([pilot], difference=5)
    plain = 100 * np.sqrt(2 * 0.98 * 0.02 / 49)
    assert plain < row.standard_error < 1.5 * plain  # type: ignore[operator]


def test_no_fewer_examples_than_could_show_anything() -> None:
    """Two examples were planned for a difference of a hundred standard deviations: their p is 0.5 at least."""
    plan = planned(Plan(sd=1.0), Aim(difference=100.0))
    assert (plan.n, plan.needed, plan.power) == (6, 6, pytest.approx(1.0))
    few = planned(Plan(sd=1.0, n=4), Aim(difference=100.0))
    assert (few.power, few.smallest_detectable, few.needed) == (0.0, None, 6)
    assert few.note == (
        "4 examples: no p below 0.12 is possible; 6 examples are the fewest that could show a difference at 0.05"
    )
    (row,) = harness.power([run([0.1, 0.5, 0.4, 0.2], "a"), run([5.0, 5.5, 5.3, 5.1], "b")], difference=5)
    assert (row.power, row.needed, row.smallest_detectable, row.note) == (0.0, 6, None, few.note)


def test_a_comparison_in_which_nothing_differs_says_so() -> None:
    right = [harness.evaluate(["yes"] * 50, ["yes"] * 50, ["exact_match"], name=name) for name in "ab"]
    (row,) = harness.power(right, difference=5)
    assert row.note == "no example differs: the standard error is the largest that this leaves likely"
    assert row.needed == 220


def test_refusals() -> None:
    runs = [run([0.1, 0.5, 0.4], "a"), run([0.2, 0.4, 0.6], "b")]
    with pytest.raises(HarnessError, match="power=80; expected a share between 0 and 1"):
        harness.power(runs, difference=1, power=80)
    with pytest.raises(HarnessError, match="difference=0; expected a difference to detect"):
        harness.power(runs, difference=0)
    assert harness.power(runs)[0].difference == pytest.approx(0.2 / 3)
