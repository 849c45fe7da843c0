"""The simulation of `python -m benchmarks.meta_coverage` in small, with bounds that a wrong implementation does not
keep."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import meta_coverage
from benchmarks.meta_coverage import World
from harness.stats import exchange, panel
from harness.types import Array


@pytest.fixture(autouse=True)
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meta_coverage, "RESAMPLES", 100)
    monkeypatch.setattr("harness.stats.system_level.PERMUTATIONS", 320)


def check_coverage() -> None:
    for name, share in meta_coverage.held("items", 4, 50, 80).items():
        assert share >= 0.86, name


def check_alarms() -> None:
    for name, share in meta_coverage.alarms("both", 5, 40, 100, World(system_error=0.0)).items():
        assert 0.01 <= share <= 0.12, name


def test_intervals_hold() -> None:
    check_coverage()


def test_alarms_are_as_rare_as_stated() -> None:
    check_alarms()


def test_metrics_that_err_on_whole_systems_are_told_apart_by_systems_only() -> None:
    """The reason for the second p: outputs swapped one by one take these systems for all there are."""
    world = World(system_error=0.6, error=0.5)
    assert meta_coverage.alarms("both", 6, 40, 40, world)["system spa"] > 0.25
    assert meta_coverage.alarms("systems", 6, 40, 40, world)["system spa"] <= 0.15


def test_swaps_of_a_few_outputs_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in twenty swapped instead of every other: nothing is ever called different."""
    whole = exchange.Swaps._block

    def few(swaps: exchange.Swaps, block: int) -> Array:
        return whole(swaps, block) * (np.random.default_rng(block).random((1, *swaps.whole)) < 0.1).astype(np.uint8)

    monkeypatch.setattr(exchange.Swaps, "_block", few)
    with pytest.raises(AssertionError):
        check_alarms()


def test_items_that_are_not_drawn_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other item drawn once in each resample: intervals 1.4 times too narrow."""
    drawn = panel.Draws.counts

    def half(draws: panel.Draws, block: int) -> Array:
        counts = drawn(draws, block)
        counts[:, ::2] = 1
        counts[:, 1::4] = 1
        return counts

    monkeypatch.setattr(panel.Draws, "counts", half)
    with pytest.raises(AssertionError):
        check_coverage()
