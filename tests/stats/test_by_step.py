"""Learning curves: a band for all steps, the best step, the earliest that cannot be told from it, what comes next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.coverage import cells
from benchmarks.coverage import checkpoints as coverage
from harness.stats.expansion import Expansion
from harness.stats.options import Options
from harness.stats.selection import by_step
from harness.stats.selection.by_step import CurveOptions
from harness.stats.selection.winner import best_of
from harness.types import Curve, HarnessError, Metric
from tests.stats.test_comparison import Lower, run

FAST = Options(resamples=400)


def curve(truth: Sequence[float], n: int = 200, metric: Metric | None = None, **more: object) -> Curve:
    """Of checkpoints every 100 steps that truly score so."""
    rng = np.random.default_rng(1)
    base = rng.normal(0, 5, n)
    runs = {100 * (i + 1): run(value + base + rng.normal(0, 1, n), str(i), metric) for i, value in enumerate(truth)}
    (made,) = by_step.curves("mine", runs, CurveOptions(FAST, **more))  # type: ignore[arg-type]
    return made


def test_a_curve_that_flattens_out() -> None:
    made = curve([10, 14, 16, 16, 16, 16], margins=(("given", 0.8),), further=2_000)
    assert made.best in (300, 400, 500, 600)
    assert made.earliest == 300
    assert made.within == 300
    assert [point.step for point in made.steps if point.p_best <= 0.05] == [100, 200]
    first = made.at(100)
    assert first.behind == pytest.approx(6, abs=0.5)
    assert first.behind < first.at_most < 7
    for point in made.steps:
        assert point.band_low < point.low < point.estimate < point.high < point.band_high
    assert made.trend.verdict == "not distinguishable"
    assert (made.trend.first, made.trend.last, made.trend.steps, made.trend.further) == (400, 600, 3, 2_000)
    assert 0 <= made.trend.worth < 2_000 * 0.005
    assert made.luck == pytest.approx(abs(made.at(made.best).estimate - made.corrected))


def test_a_curve_that_rises_and_one_that_falls() -> None:
    rising = curve([10, 11, 12, 13, 14])
    assert (rising.best, rising.earliest, rising.within, rising.trend.verdict) == (500, 500, None, "improving")
    assert rising.trend.gain == pytest.approx(2, abs=0.3)
    assert rising.trend.further == 200
    assert 2 < rising.trend.worth < 3
    falling = curve([16, 14, 12, 10])
    assert (falling.best, falling.earliest, falling.trend.verdict, falling.trend.worth) == (100, 100, "worsening", 0.0)


def test_lower_is_better_is_the_same_upside_down() -> None:
    up, down = curve([10, 14, 16, 16.2]), curve([-10, -14, -16, -16.2], metric=Lower())
    # other noise, the same sense: -x is not what was drawn
    assert (up.higher_is_better, down.higher_is_better) == (True, False)
    assert up.best == down.best == 400
    assert down.at(100).behind == pytest.approx(6.2, abs=0.4)
    assert down.trend.gain > 0


def test_the_luck_is_that_of_harness_best() -> None:
    rng = np.random.default_rng(2)
    runs = {step: run(rng.normal(0.5, 0.2, 60), str(step)) for step in range(1, 9)}
    (made,) = by_step.curves("mine", runs, CurveOptions(FAST))
    (best,) = best_of(list(runs.values()), FAST)
    assert (made.corrected, made.corrected_low, made.corrected_high) == (
        best.corrected, best.corrected_low, best.corrected_high,
    )  # fmt: skip
    assert made.earliest == 1
    assert made.luck > 0


def test_identical_checkpoints_and_too_few_examples() -> None:
    values = np.random.default_rng(3).random(40)
    (same,) = by_step.curves("mine", {step: run(values, str(step)) for step in (1, 2, 3)}, CurveOptions(FAST))
    assert (same.best, same.earliest, same.luck) == (1, 1, pytest.approx(0))
    assert same.trend.p_improving == 1
    assert same.trend.worth == 0
    few = {step: run([value + step for value in (1.0, 2.0, 3.0)], str(step)) for step in (1, 2, 3)}
    (small,) = by_step.curves("mine", few, CurveOptions(FAST))
    assert (small.best, small.earliest) == (3, 1)  # three examples show nothing at 5 %
    two = curve([10, 12])
    assert (two.trend.steps, two.earliest, two.trend.verdict) == (2, 200, "improving")


def test_a_handful_of_examples_that_differ_bounds_no_better_than_none() -> None:
    """Shares near the ceiling: resampling one example that differs knows nothing of those that could."""
    worse = []
    for wrong in range(4):
        right = np.arange(300) >= wrong
        steps = {
            100: cells.run("a", right.astype(float), cells.Share()),
            200: cells.run("b", np.ones(300), cells.Share()),
        }
        (made,) = by_step.curves("mine", steps, CurveOptions(FAST))
        assert made.earliest == 100
        worse.append(made.at(100).at_most)
    assert worse == sorted(worse)
    assert worse[1] > 4.74 / 300  # the exact upper bound of one that was seen, 95 %, one-sided
    training = coverage.Training("share", "ceiling", 5, 50)
    held = [coverage.judged(training, np.random.default_rng([seed, 2]), seed)["bound"] for seed in range(60)]
    assert np.mean(held) > 0.89


def test_the_same_seed_gives_the_same_numbers() -> None:
    assert curve([1, 2, 3]) == curve([1, 2, 3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (CurveOptions(FAST, (("given", 0.0),)), "margin given=0; expected a difference above 0"),
        (CurveOptions(FAST, further=0), "further=0; expected 1 step or more"),
        (CurveOptions(Options(resamples=0)), "resamples=0; expected 2 or more for a learning curve"),
    ],
)
def test_what_is_refused(options: CurveOptions, message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        by_step.curves("mine", {1: run([1.0, 2.0], "a"), 2: run([1.0, 2.0], "b")}, options)


def test_a_distance_is_stretched_as_it_is_shrunk() -> None:
    few = Expansion.of(np.arange(12), np.array([12]))
    assert few.shrunk(few.stretched(2.0)) == pytest.approx(2.0, abs=1e-6)
    assert few.stretched(2.0) > 2.3
    assert few.stretched(-1.0) == -1.0


@pytest.mark.slow
def test_bands_hold_and_early_steps_are_not_named_too_good() -> None:
    """benchmarks.coverage checkpoints in small, where it is hardest: 20 steps, those before worse by the margin."""
    training = coverage.Training("mean", "cliff", 20, 50)
    tallies = [coverage.judged(training, np.random.default_rng([seed, 1]), seed) for seed in range(120)]
    rates = {name: float(np.mean([tally[name] for tally in tallies])) for name in tallies[0]}
    assert rates["band"] > 0.89
    assert rates["pointwise"] < rates["band"] - 0.05
    assert rates["too late"] < 0.1
    assert rates["bound"] > 0.89
    assert rates["beyond"] < 0.1
