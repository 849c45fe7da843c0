"""P-values of a family: against statsmodels, and the rate of false alarms that they promise."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.stats.multitest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.stats.corrections import benjamini_hochberg, holm, max_t, share


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_and_bh_are_those_of_statsmodels(p_values: list[float]) -> None:
    for ours, theirs in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        assert ours(p_values) == pytest.approx(statsmodels.stats.multitest.multipletests(p_values, method=theirs)[1])


def test_max_t_controls_the_family() -> None:
    """With 10 true null hypotheses the smallest adjusted p is below 0.05 in about 5 of 100 families."""
    rng = np.random.default_rng(2)
    alarms, plain = 0, 0
    for _ in range(300):
        nulls = np.abs(rng.normal(size=(10, 400)))
        observed = np.abs(rng.normal(size=10))
        adjusted = max_t(observed.tolist(), list(nulls))
        alarms += min(adjusted) <= 0.05
        plain += any(share(null, t) <= 0.05 for null, t in zip(nulls, observed, strict=True))
    assert 0.02 <= alarms / 300 <= 0.09
    assert plain / 300 > 0.3


def test_max_t_steps_down() -> None:
    """Algorithm 2.8 by hand: each p counts the maximum over the hypotheses not yet rejected."""
    nulls = [np.array([0.0, 1.0, 2.0, 3.0]), np.array([3.0, 0.0, 1.0, 2.0])]
    size = np.sqrt(14 / 4)
    largest = np.array([3.0, 1.0, 2.0, 3.0]) / size
    first = (1 + np.sum(largest >= 2.5 / size)) / 5
    second = (1 + np.sum(nulls[1] / size >= 1.5 / size)) / 5
    assert max_t([2.5, 1.5], nulls) == pytest.approx([first, max(first, second)])


def test_the_smallest_p_does_not_grow_with_the_family() -> None:
    rng = np.random.default_rng(1)
    nulls = list(np.abs(rng.normal(size=(200, 999))))
    adjusted = max_t([100.0] + [0.0] * 199, nulls)
    assert adjusted[0] == pytest.approx(1 / 1000)
    assert adjusted[1:] == pytest.approx([1.0] * 199)


def test_nothing_varies() -> None:
    """Where no resample differs, a difference is certain and none is p = 1."""
    assert max_t([0.0, 1.0], [np.zeros(9), np.zeros(9)]) == pytest.approx([1.0, 0.1])
    assert max_t([0.0, 1.0], [np.full(9, np.nan), np.abs(np.arange(9.0))])[0] == 1.0


def test_exact_draws_hold_the_observed_one() -> None:
    assert share(np.array([1.0, 2.0, 3.0, 4.0]), 4.0, exact=True) == 0.25
    assert share(np.array([1.0, 2.0, 3.0, 4.0]), 4.0) == 0.4
    assert max_t([4.0], [np.array([1.0, 2.0, 3.0, 4.0])], exact=True) == [0.25]
