"""The simulation behind docs/statistics.md in small, with bounds that a wrong implementation does not keep.

The population is ROUGE-L and BLEU of two summarisers on the embedded data set. Each sabotage is a mistake that a tool of
this field has made; the same check must then fail.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import texts as coverage
from harness.stats import intervals, kernels, resampling
from harness.stats.comparing import comparison, paired
from harness.stats.options import ComparisonOptions
from harness.types import Array


@pytest.fixture(scope="module")
def people() -> coverage.Population:
    coverage.SHARED = coverage.SHARED / "not there"
    return coverage.population("none", ("first", "two"), ("bleu", "rougeL"))


def check_coverage(people: coverage.Population) -> None:
    """95 % intervals of samples of 60 hold the truth 92 to 97 times in 100, Monte Carlo error aside."""
    shares = coverage.average(coverage.held, people, 60, simulations=250, resamples=250)
    for name, share in shares.items():
        assert 0.89 <= share <= 0.985, name


def check_alarms(people: coverage.Population) -> None:
    """Of samples of 60 in which nothing differs, a test at 5 % calls 2 to 9 in 100 different."""
    shares = coverage.average(coverage.alarms, people, 60, simulations=250, resamples=250)
    for name, share in shares.items():
        if name.endswith("null"):
            assert 0.012 <= share <= 0.095, name


def test_intervals_hold_the_truth_as_often_as_stated(people: coverage.Population) -> None:
    check_coverage(people)


def test_alarms_are_false_as_often_as_stated(people: coverage.Population) -> None:
    check_alarms(people)


@pytest.mark.slow
def test_half_of_n_would_be_noticed(people: coverage.Population, monkeypatch: pytest.MonkeyPatch) -> None:
    """compare-mt and MT-Telescope resample half of the examples: 1.4 times too wide."""

    def half(state: Array, sizes: Array, counts: Array) -> None:
        n = counts.shape[1]
        for row, picks in zip(counts, np.random.default_rng(state).integers(0, n, (len(counts), n // 2)), strict=True):
            row[:] = np.bincount(picks, minlength=n)

    monkeypatch.setattr(kernels, "bootstrap_counts", half)
    with pytest.raises(AssertionError):
        check_coverage(people)


@pytest.mark.slow
def test_division_by_the_root_of_the_resamples_would_be_noticed(
    people: coverage.Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """lighteval takes the bootstrap's standard deviation for one of a single draw."""
    real = intervals.interval

    def narrow(drawn: Array, estimates: Array, **more: object) -> tuple[Array, Array]:
        return real(estimates + (drawn - estimates) / np.sqrt(len(drawn)), estimates, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(intervals, "interval", narrow)
    with pytest.raises(AssertionError):
        check_coverage(people)


@pytest.mark.slow
def test_unpaired_draws_would_be_noticed(people: coverage.Population, monkeypatch: pytest.MonkeyPatch) -> None:
    """lm-evaluation-harness compares as if the two systems had seen different examples."""

    def apart(samples: list[resampling.Sample], resamples: int, seed: int, purpose: str, *more: object) -> list[Array]:
        return [
            resampling.replicates([sample], resamples, seed, f"{purpose} {i}")[0] for i, sample in enumerate(samples)
        ]

    monkeypatch.setattr(paired, "replicates", apart)
    with pytest.raises(AssertionError):
        check_alarms(people)


@pytest.mark.slow
def test_centring_after_the_bars_would_be_noticed(people: coverage.Population, monkeypatch: pytest.MonkeyPatch) -> None:
    """sacreBLEU's paired bootstrap takes |d*| before centring: some 11 false alarms in 100."""
    real = comparison.share

    def theirs(nulls: Array, statistic: float, exact: bool = False) -> float:
        replicates = nulls.mean() - nulls + statistic
        return real(np.abs(np.abs(replicates) - np.abs(replicates).mean()), statistic, exact)

    monkeypatch.setattr(ComparisonOptions, "statistic", lambda self, differences, up: differences)
    monkeypatch.setattr(comparison, "share", lambda nulls, t, exact=False: theirs(nulls, abs(t), exact))
    shares = coverage.average(coverage.alarms, people, 60, simulations=250, resamples=250)
    assert shares["rougeL bootstrap null"] > 0.095
