"""Races: who is dropped, when, and that the best is not."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.design import Design
from harness.stats.selection.racing import Entries, Race, order, standing
from harness.testing import CannedMetric
from harness.types import Array, Rows


class Bounded(CannedMetric):
    bounds = (0.0, 1.0)


class Corpus(CannedMetric):
    averaged = False


class Lower(Bounded):
    higher_is_better = False


def entries(values: Array, metric: CannedMetric, clusters: list[int] | None = None) -> Entries:
    """Systems by their values (systems, n)."""
    n = values.shape[1]
    design = Design.of(n, clusters=clusters)
    rows = [Rows.of(np.stack([own, np.where(np.isnan(own), np.nan, 1.0)], axis=1)) for own in values]
    return Entries(metric, 0, rows, design, np.arange(design.units))


def drawn(rates: list[float], n: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.random((len(rates), n)) < np.array(rates)[:, None]).astype(np.float64)


def test_looks_and_what_each_may_err() -> None:
    race = Race(5, 1600)
    assert race.looks == (100, 200, 400, 800, 1600)
    assert race.each == 0.05 / 4
    assert sum(race.tail(look) for look in range(5)) == pytest.approx(race.each)
    assert Race(5, 20).looks == (10, 20) and Race(5, 4).looks == (4,)


@pytest.mark.parametrize("metric", [Bounded(), Corpus()])
def test_what_is_clearly_worse_is_dropped(metric: CannedMetric) -> None:
    now = standing(Race(3, 1600), entries(drawn([0.7, 0.69, 0.2], 200), metric), 1)
    assert now.leader in (0, 1) and now.beaten.tolist() == [False, False, True]
    assert now.lead[2] == pytest.approx(now.estimates[now.leader] - now.estimates[2])
    early = standing(Race(3, 96), entries(drawn([0.7, 0.69, 0.4], 12), metric), 0)
    assert not early.beaten.any()  # twelve examples tell nothing


def test_lower_is_better_and_failures_count_for_nobody() -> None:
    values = drawn([0.2, 0.8, 0.5], 300)
    values[1, :5] = np.nan
    now = standing(Race(3, 1200), entries(values, Lower()), 1)
    assert now.leader == 0 and now.beaten.tolist() == [False, True, True]


@pytest.mark.parametrize("metric", [Bounded(), Corpus()])
def test_by_cluster_less_is_known(metric: CannedMetric) -> None:
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(20), 20)
    gain = rng.normal(0.1, 0.3, 20)[clusters]  # what differs, differs by cluster
    worth = rng.uniform(0.3, 0.6, 400)
    values = np.clip(np.stack([worth + gain, worth]), 0, 1)
    alone = standing(Race(2, 1600), entries(values, metric), 2)
    together = standing(Race(2, 80, clustered=True), entries(values, metric, clusters.tolist()), 1)
    assert alone.beaten.any() and not together.beaten.any()


def test_the_order_is_by_name_alone() -> None:
    names = [f"example {i}" for i in range(50)]
    whole = [names[i] for i in order(names, 7)]
    some = names[10:40]
    assert [some[i] for i in order(some, 7)] == [name for name in whole if name in some]
    assert whole != [names[i] for i in order(names, 8)]


def test_equal_systems_are_never_dropped() -> None:
    own = drawn([0.5], 400)[0]
    for metric in (Bounded(), Corpus()):
        assert not standing(Race(2, 800), entries(np.stack([own, own]), metric), 3).beaten.any()
