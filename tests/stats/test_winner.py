"""The best of many: the winner's curse is there, and the correction takes most of it away."""

from __future__ import annotations

import numpy as np
import pytest

import harness
from harness.stats.options import Options
from harness.stats.selection.winner import best_of
from harness.types import HarnessError
from tests.stats.test_comparison import Lower, run


def test_the_winners_curse_is_corrected() -> None:
    """Best of 12 equal systems, true score 0.5: naively too high, corrected nearer, and covered as stated."""
    rng = np.random.default_rng(1)
    naive, corrected, held, held_naively = [], [], 0, 0
    for _ in range(80):
        shared = rng.normal(0, 0.1, 50)
        runs = [run(0.5 + shared + rng.normal(0, 0.2, 50), str(i)) for i in range(12)]
        (winner,) = harness.best(runs, resamples=200)
        naive.append(winner.estimate)
        corrected.append(winner.corrected)
        held += winner.corrected_low <= 0.5 <= winner.corrected_high
        held_naively += winner.low <= 0.5 <= winner.high
    assert np.mean(naive) > 0.535
    assert abs(np.mean(corrected) - 0.5) < 0.4 * (np.mean(naive) - 0.5)
    assert held / 80 > 0.93 > held_naively / 80


def test_the_corrected_interval_holds_where_truths_are_spread_by_about_their_noise() -> None:
    """Runs of which some are in truth better: the interval by the luck of resamples held 88 times in 100."""
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(150):
        truths = rng.normal(0.5, 4 * 0.2 / np.sqrt(40), 20)
        runs = [run(truth + rng.normal(0, 0.2, 40), str(i)) for i, truth in enumerate(truths)]
        (winner,) = harness.best(runs, resamples=200)
        assert winner.corrected_low <= winner.low
        assert winner.corrected_high == winner.high
        held += winner.corrected_low <= truths[int(winner.system)] <= winner.corrected_high
    assert held / 150 > 0.93


def test_it_stays_inside_the_scale_and_ties_are_named() -> None:
    right = np.ones(50)
    nearly = np.ones(50)
    nearly[:2] = 0.0
    answers = {"a": right, "b": nearly, "c": right, "d": 1 - nearly}
    runs = [
        harness.evaluate(
            ["yes" if x else "no" for x in values], [["yes"]] * 50, ["exact_match"], resamples=200, name=name
        )
        for name, values in answers.items()
    ]
    (winner,) = harness.best(runs, resamples=200)
    assert (winner.system, winner.ties, winner.estimate) == ("a", ("c",), 100.0)
    assert winner.chosen_again == pytest.approx(0.5, abs=0.1)  # b is as good in some resamples
    assert winner.contenders == 3
    assert 0 <= winner.corrected_low <= winner.low <= 100 == winner.corrected_high
    (second, *_) = harness.best([runs[1], runs[3]], resamples=200)
    assert second.corrected_high <= 100
    assert second.contenders == 1


def test_what_is_told_apart_agrees_with_the_tests() -> None:
    """Runs that paired tests tell from the best are no rivals; which could have won is asked with more care."""
    rng = np.random.default_rng(6)
    rivals, contenders = 0, 0
    for _ in range(4):
        shared = rng.normal(0.5, 0.2, 80)
        gains = (0.0, 0.004, 0.05, 0.06, 0.07, 0.3)
        runs = [run(shared - gain + rng.normal(0, 0.1, 80), str(i)) for i, gain in enumerate(gains)]
        (winner,) = harness.best(runs, resamples=1000)
        rows = harness.compare(runs, baseline=runs[winner.place], resamples=1000)
        unclear = {row.system for row in rows if row.verdict == "not distinguishable"}
        assert unclear <= set(winner.rivals) and "5" not in winner.rivals
        rivals, contenders = rivals + len(winner.rivals), contenders + winner.contenders - 1
    assert contenders > rivals > 0


def test_lower_is_better_moves_the_upper_bound() -> None:
    rng = np.random.default_rng(3)
    runs = [run(rng.random(60), str(i), Lower()) for i in range(8)]
    (winner,) = harness.best(runs, resamples=300)
    assert winner.corrected > winner.estimate
    assert winner.corrected_low == winner.low
    assert winner.corrected_high > winner.high


def test_a_held_out_half_is_scored_by_itself() -> None:
    """The luck of choosing is in one half only: the other is unbiased, and holds as stated."""
    rng = np.random.default_rng(4)
    off, held = [], 0
    for _ in range(150):
        runs = [run(rng.normal(0.5, 0.2, 60), str(i)) for i in range(10)]
        (winner,) = harness.best(runs, resamples=200, split=True)
        assert (winner.n, winner.held_out) == (30, 30)
        off.append(winner.corrected - 0.5)
        held += winner.corrected_low <= 0.5 <= winner.corrected_high
    assert abs(np.mean(off)) < 3 * 0.2 / np.sqrt(30 * 150)
    assert held / 150 > 0.88
    with pytest.raises(HarnessError, match=r"--split of 10 examples; expected at least 20"):
        harness.best([run(rng.random(10), name) for name in "ab"], split=True)


def test_a_clear_winner_needs_no_correction() -> None:
    rng = np.random.default_rng(1)
    base = rng.random(80)
    runs = [run(base, "a"), run(base + 0.5, "b"), run(base + 0.1, "c")]
    (winner,) = harness.best(runs, resamples=500)
    assert (winner.system, winner.of, winner.n, winner.chosen_again) == ("b", 3, 80, 1.0)
    assert winner.corrected == pytest.approx(winner.estimate, abs=1e-12)
    assert (winner.corrected_low, winner.corrected_high) == pytest.approx((winner.low, winner.high), abs=0.02)
    lower = [run(base, "a", Lower()), run(base + 0.5, "b", Lower())]
    assert harness.best(lower, resamples=100)[0].system == "a"


def test_without_a_choice_bleu_is_not_corrected_and_its_interval_is_that_of_the_run() -> None:
    """BLEU's resamples lie a little off its estimate, which is no luck of being chosen."""
    words = [[f"w{(7 * i + j) % 40}" for j in range(8 + i % 5)] for i in range(30)]
    references = [[" ".join(some)] for some in words]
    good = [" ".join(some[: 6 + i % 3] + ["x"] * (i % 4)) for i, some in enumerate(words)]
    bad = [" ".join([*some[:2], "x", "y", "z"]) for some in words]
    runs = [
        harness.evaluate(texts, references, ["bleu"], resamples=300, seed=1, name=name)
        for name, texts in (("good", good), ("bad", bad))
    ]
    (winner,) = harness.best(runs, resamples=400)
    assert (winner.system, winner.chosen_again) == ("good", 1.0)
    assert winner.corrected == pytest.approx(winner.estimate, abs=1e-9)
    stored = runs[0].scores["bleu"]
    assert (winner.low, winner.high) == (stored.low, stored.high)
    (wider,) = harness.best(runs, level=0.99, resamples=400)
    assert wider.low < winner.low < winner.high < wider.high


def test_needs_runs_on_the_same_data() -> None:
    with pytest.raises(HarnessError, match="1 run given; expected at least 2"):
        harness.best([run([1.0, 2.0], "a")])
    with pytest.raises(HarnessError, match="runs on different data"):
        harness.best([run([1.0, 2.0], "a"), run([1.0, 2.0, 3.0], "b")])


@pytest.mark.parametrize("split", [False, True])
def test_studentised_replicates_have_the_errors_of_their_own_resamples(split: bool) -> None:
    """Large losses are rare, so that resamples without any are too high and have small errors: the interval is long on
    the side of the losses. Errors of other resamples, as they were, made it as long on the other."""
    values = 1 - np.random.default_rng(5).exponential(size=60) ** 2
    (winner,) = best_of([run(values, "a")], Options(2000, method="studentized"), split)
    low, high = (winner.corrected_low, winner.corrected_high) if split else (winner.low, winner.high)
    assert winner.corrected - low > 1.2 * (high - winner.corrected)
