"""Levels of parameters: values in a grid, groups of neighbours where a sweeper chose numbers as it went."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.sweeps.parameter_levels import levels_of
from harness.stats.selection.effects import Grid
from harness.types import HarnessError

RNG = np.random.default_rng(7)


def test_numbers_of_a_grid_are_levels_of_their_own_in_order() -> None:
    cells = [{"system": system, "system.beams": beams} for system in ("b", "a") for beams in (16, 2, 9, 4, 1)]
    codes, levels = levels_of(cells)
    assert levels == {"system": ("b", "a"), "beams": ("1", "2", "4", "9", "16")}
    assert codes["beams"].tolist() == [4, 1, 3, 2, 0] * 2


def test_what_some_cells_lack_is_a_level() -> None:
    _, levels = levels_of([{"system": "lead", "k": 3}, {"system": "copy"}, {"system": "lead", "k": 1}])
    assert levels["k"] == ("3", "not set", "1")
    with pytest.raises(HarnessError, match="nothing varies between the 2 cells"):
        levels_of([{"k": 1}, {"k": 1}])


@pytest.mark.parametrize(("cells", "groups"), [(5, 2), (8, 2), (12, 3), (16, 4), (100, 4)])
def test_numbers_that_a_sampler_drew_are_grouped(cells: int, groups: int) -> None:
    drawn = RNG.random(cells).tolist()
    codes, levels = levels_of([{"system.t": value} for value in drawn], sampled=["system.t"])
    assert len(levels["t"]) == groups
    sizes = np.bincount(codes["t"])
    assert sizes.min() >= 2 and sizes.max() - sizes.min() <= 1
    order = np.argsort(drawn)
    assert (np.diff(codes["t"][order]) >= 0).all()  # neighbours are together


def test_equal_numbers_are_never_apart() -> None:
    drawn = [1] * 9 + [2, 3, 4, 5, 6]
    codes, levels = levels_of([{"k": value} for value in drawn], sampled=["k"])
    assert len(set(codes["k"][:9].tolist())) == 1
    assert levels["k"][0].startswith("1")
    few, names = levels_of([{"k": value} for value in (4, 1, 4, 2)], sampled=["k"])
    assert names["k"] == ("1", "2", "4") and few["k"].tolist() == [2, 0, 2, 1]


def test_two_numbers_that_were_drawn_can_be_told_apart() -> None:
    """Levels of one cell each say all there is, so that each parameter would add nothing to the other."""
    cells = [{"a": a, "b": b} for a, b in RNG.random((24, 2)).tolist()]
    scores = np.array([cell["a"] for cell in cells])
    codes, _ = levels_of(cells, sampled=["a", "b"])
    a, b = (scores @ Grid(codes).added(name) @ scores for name in ("a", "b"))
    assert a > 10 * b and a > 0.5 * scores.var() * len(scores)
