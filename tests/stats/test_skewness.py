"""Slices with gains of one side: what their common skewness sets back, and that nothing else is touched."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.coverage.cells import Mean, run
from harness.stats.comparing.comparison import compare
from harness.stats.comparing.skewness import common_skewness, set_back
from harness.stats.options import ComparisonOptions
from harness.types import Array, Comparisons

SIZES = (30,) * 20


def compared(
    slices: list[Array], correction: str = "max-t", test: str = "bootstrap", by: str | None = "kind"
) -> Comparisons:
    groups = [
        [(run("a", np.zeros(len(gains)), Mean(), data=f"{i}"), run("b", gains, Mean(), data=f"{i}"))]
        for i, gains in enumerate(slices)
    ]
    return compare(groups, ComparisonOptions(resamples=400, test=test, correction=correction, sliced_by=by))


def skewed(seed: int) -> list[Array]:
    """Gains that are 0 on average: many small losses against rare large gains."""
    rng = np.random.default_rng(seed)
    return [rng.gamma(0.5, 1.0, n) - 0.5 for n in SIZES]


def test_slices_with_rare_large_gains_alarm_no_more_than_stated() -> None:
    """By their tests alone 4 of 10 such comparisons call some slice worse."""
    alarms = {by: sum(_alarms(compared(skewed(seed), by=by)) for seed in range(14)) for by in (None, "kind")}
    assert alarms[None] >= 4
    assert alarms["kind"] <= 1


def _alarms(rows: Comparisons) -> bool:
    return any(row.verdict in ("better", "worse") for row in rows)


@pytest.mark.parametrize("correction", ["max-t", "holm"])
@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_only_what_lies_away_from_the_long_tail_is_set_back(correction: str, test: str) -> None:
    slices = skewed(3)
    slices[0], slices[1] = slices[0] - 0.4, slices[1] + 0.9
    plain, allowed = compared(slices, correction, test, by=None), compared(slices, correction, test)
    assert (allowed[0].p_adjusted or 0.0) > 2 * (plain[0].p_adjusted or 1.0)
    assert allowed[1].verdict == plain[1].verdict
    assert [row.p_value for row in allowed] == [row.p_value for row in plain]
    assert [row.low for row in allowed] == [row.low for row in plain]


def test_even_gains_stay_as_they_are() -> None:
    rng = np.random.default_rng(4)
    slices = [rng.normal(0.8 * (i == 0), 1, n) for i, n in enumerate(SIZES)]
    assert [row.p_adjusted for row in compared(slices)] == [row.p_adjusted for row in compared(slices, by=None)]
    assert common_skewness(slices) == 0


def test_the_skewness_of_the_values_is_found() -> None:
    rng = np.random.default_rng(5)
    values = [rng.gamma(2.0, 1.0, n) + n for n in (40_000, 80_000)]
    assert common_skewness(values) == pytest.approx(2**0.5, rel=0.1)
    assert common_skewness([-part for part in values]) == -common_skewness(values)
    assert (common_skewness([]), common_skewness([np.ones(9)])) == (0.0, 0.0)


def test_further_out_is_never_nearer() -> None:
    far = [set_back(-t, 1.5, 20) for t in np.linspace(0, 12, 200)]
    assert all(b <= a <= 0 for a, b in pairwise(far))
    assert all(-t <= moved for t, moved in zip(np.linspace(0, 12, 200), far, strict=True))
    assert [-moved for moved in far] == [set_back(t, -1.5, 20) for t in np.linspace(0, 12, 200)]
