"""The section `meta` of `python -m benchmarks.coverage` in small, with bounds that a wrong implementation does not
keep."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from benchmarks.coverage import meta
from benchmarks.coverage.meta import World
from harness.stats.people import agreement, exchange, panel
from harness.types import Array


@pytest.fixture(autouse=True)
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meta, "RESAMPLES", 100)
    monkeypatch.setattr(meta, "CORES", 1)
    monkeypatch.setattr("harness.stats.people.system_level.PERMUTATIONS", 320)


def check_coverage() -> None:
    for name, share in meta.held("items", 5, 40, 80, 100).items():
        assert share >= 0.86, name


def alarms(drawn: str, world: World, samples: int, s: int = 6, n: int = 40) -> dict[str, float]:
    shares: dict[str, float] = defaultdict(float)
    for seed in range(samples):
        for name, alarm in meta.alarms(drawn, s, n, world, np.random.default_rng([seed, 1]), seed).items():
            shares[name] += alarm / samples
    return shares


def check_alarms() -> None:
    for name, share in alarms("items", World(system_error=0.0), 100).items():
        assert 0.01 <= share <= 0.12, name


def test_intervals_hold() -> None:
    check_coverage()


@pytest.mark.slow
def test_intervals_of_many_systems_on_few_items_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Percentiles of the resampled scores held 44 to 67 in 100: means of people and metrics share the luck of the items."""
    assert meta.held("items", 25, 25, 40, 100)["system pearson"] >= 0.9
    monkeypatch.setattr(agreement, "without_luck_of_items", lambda people, metric, noise: (people, metric))
    assert meta.held("items", 25, 25, 40, 100)["system pearson"] < 0.86


@pytest.mark.slow
def test_alarms_are_as_rare_as_stated() -> None:
    check_alarms()


@pytest.mark.slow
def test_metrics_that_misjudge_whole_systems_raise_no_alarm() -> None:
    """Outputs that change places one by one take these systems for all there are; the verdict does not follow them."""
    shares = alarms("both", World(system_error=0.6, error=0.5), 40)
    for name in ("segment kendall_b", "system spa"):
        assert shares[f"{name} by outputs"] > 0.15
        assert shares[name] <= 0.13


@pytest.mark.slow
def test_swaps_of_a_few_outputs_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in twenty swapped instead of every other: nothing is ever called different."""
    whole = exchange.Swaps._block

    def few(swaps: exchange.Swaps, block: int) -> Array:
        return whole(swaps, block) * (np.random.default_rng(block).random((1, *swaps.whole)) < 0.1).astype(np.uint8)

    monkeypatch.setattr(exchange.Swaps, "_block", few)
    with pytest.raises(AssertionError):
        check_alarms()


def test_items_that_are_not_drawn_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three in four items drawn once in each resample: intervals twice too narrow."""
    drawn = panel.Draws.counts

    def half(draws: panel.Draws, block: int) -> Array:
        counts = drawn(draws, block)
        counts[:, ::2] = 1
        counts[:, 1::4] = 1
        return counts

    monkeypatch.setattr(panel.Draws, "counts", half)
    with pytest.raises(AssertionError):
        check_coverage()
