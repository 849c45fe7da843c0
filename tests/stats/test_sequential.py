"""Looking after every example, as often as one likes, is wrong no more often than stated."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.selection import sequential
from harness.stats.selection.sequential import ConfidenceSequence, around, without_luck


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_it_is_hardly_ever_wrong_at_any_time(share: float) -> None:
    """The bounds only tighten, so the last ones tell whether the mean was thrown out at any time. Of repeated 95 %
    intervals more than a quarter are wrong at some time."""
    rng = np.random.default_rng(3)
    wrong, repeated = 0, 0
    for _ in range(150):
        values = (rng.random(200) < share).astype(float)
        seen = ConfidenceSequence(0, 1, 0.95)
        seen.add(values)
        wrong += not seen.low <= share <= seen.high
        n = np.arange(20, 201)
        means = values.cumsum()[19:] / n
        repeated += bool((np.abs(means - share) > 1.96 * np.sqrt(means * (1 - means) / n) + 1e-9).any())
    assert wrong / 150 <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 150)
    assert repeated / 150 > 0.2


def test_it_narrows_and_never_widens() -> None:
    rng = np.random.default_rng(3)
    seen = ConfidenceSequence(0, 100, 0.95)
    assert (seen.low, seen.high) == (0, 100)
    widths = []
    for _ in range(30):
        low, high = seen.low, seen.high
        seen.add(100 * rng.beta(8, 2, 50))
        assert low <= seen.low <= seen.high <= high
        widths.append(seen.high - seen.low)
    assert widths[-1] < 4 < widths[0]
    assert seen.n == 1500
    assert seen.low < 80 < seen.high
    assert seen.estimate == pytest.approx(80, abs=2)


def test_batches_do_not_matter() -> None:
    values = np.random.default_rng(0).random(90)
    whole, several = ConfidenceSequence(0, 1, 0.9), ConfidenceSequence(0, 1, 0.9)
    whole.add(values)
    for part in np.split(values, [7, 40]):
        several.add(part)
    assert (whole.low, whole.high) == (several.low, several.high)


def test_values_outside_are_refused() -> None:
    with pytest.raises(ValueError, match="1.5 is not between 0 and 1"):
        ConfidenceSequence(0, 1, 0.95).add([1.5])


@pytest.mark.slow
def test_the_estimate_after_an_early_end_is_not_lucky(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of what was seen when it ended is too high by points; the estimate is right on average."""
    monkeypatch.setattr(sequential, "ORDERS", 60)
    rng = np.random.default_rng(5)
    means, estimates = [], []

    def start() -> ConfidenceSequence:
        return ConfidenceSequence(0, 100, 0.9, around(50, 0, 100))

    def known(low: float, high: float) -> bool:
        return low > 50 or high < 50

    for _ in range(300):
        batches, sequence = [], start()
        while not known(sequence.low, sequence.high):
            batches.append(100.0 * (rng.random(8) < 0.8))
            sequence.add(batches[-1])
        means.append(np.concatenate(batches).mean())
        estimates.append(without_luck(batches, start, known, rng))
    error = np.std(estimates) / np.sqrt(300)
    assert abs(np.mean(estimates) - 80) < 2.5 * error
    assert np.mean(means) - 80 > 4 * np.std(means) / np.sqrt(300)
