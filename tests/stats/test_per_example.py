"""The histogram of differences: everything counted once, wins and losses by the score's direction."""

from __future__ import annotations

import numpy as np
import pytest

import harness
from harness.report.charts import differences
from harness.stats.comparing.per_example import edges, histogram
from tests.stats.test_comparison import run


def test_every_example_is_in_one_bin() -> None:
    values = np.random.default_rng(1).normal(0.1, 1.0, 1_000)
    values[:100] = 0.0
    values[100] = np.nan
    at = edges([values])
    drawn = histogram(values, at)
    assert sum(bar.count for bar in drawn.bins) == drawn.n == 999
    assert sum(bar.share for bar in drawn.bins) == pytest.approx(1.0)
    assert (drawn.won, drawn.tied) == (np.nanmean(values > 0) * 1000 / 999, 100 / 999)
    assert drawn.won + drawn.tied + drawn.lost == pytest.approx(1.0)
    assert drawn.mean == pytest.approx(np.nanmean(values))
    assert len(at) % 2 == 0 and at[0] == -at[-1]  # an odd number of bins, the middle one around zero
    assert len(drawn.bins) <= 3 * 41


def test_lower_is_better_turns_wins_into_losses() -> None:
    values = np.array([-1.0, -2.0, 0.0, 3.0])
    up, down = (histogram(values, edges([values]), higher) for higher in (True, False))
    assert (up.won, up.tied, up.lost) == (0.25, 0.25, 0.5)
    assert (down.won, down.tied, down.lost) == (0.5, 0.25, 0.25)


def test_no_difference_at_all() -> None:
    drawn = histogram(np.zeros(5), edges([np.zeros(5)]))
    assert [(bar.outcome, bar.count, bar.low < 0 < bar.high) for bar in drawn.bins] == [("tied", 5, True)]


def test_rounding_errors_are_ties_as_in_a_comparison() -> None:
    before = np.array([0.3, 0.3, 0.5, 0.9])
    after = np.array([0.1 + 0.2, 0.3, 0.6, 0.8])
    assert after[0] != before[0]
    drawn = histogram(after - before, edges([after - before]))
    (row,) = harness.compare([run(before, "a"), run(after, "b")], resamples=100)
    assert (drawn.won, drawn.tied, drawn.lost) == (row.won, row.tied, row.lost) == (0.25, 0.5, 0.25)


def test_ties_stand_on_top_so_that_a_figure_can_cut_them() -> None:
    values = np.array([0.0] * 8 + [0.001, -0.001, 4.0, -4.0])
    drawn = histogram(values, edges([values]))
    middle = {bar.outcome: bar for bar in drawn.bins if bar.low < 0 < bar.high}
    assert {name: round(12 * bar.below) for name, bar in middle.items()} == {"won": 0, "lost": 1, "tied": 2}
    bars = [differences.Bar(b.low, b.high, b.outcome, b.share, b.below, b.count) for b in drawn.bins]
    panel = differences.Panel("b", "BLEU", bars, 4.0, 0.0, 2, drawn.won, drawn.tied, drawn.lost)
    assert differences._tallest([panel]) == pytest.approx(1.15 * 2 / 12)  # of what is won and lost, not 10 / 12
