"""Rows that come block by block give what all rows at once give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.metrics.bleu import Bleu
from harness.metrics.distinct import Distinct
from harness.stats.design import Design
from harness.stats.intervals import scores, tallied_scores
from harness.stats.options import Options
from harness.stats.resampling import Sample
from harness.stats.tally import Tally
from harness.stats.units import Units
from harness.types import Batch, Metric, Rows, Signature, Statistics

N = 60
SIGNATURE = Signature({}, {})
DESIGNS: dict[str, dict[str, Any]] = {
    "examples": {},
    "clusters": {"clusters": [i % 7 for i in range(N)]},
    "strata": {"strata": [i % 3 for i in range(N)]},
    "repeats": {"repeats": [i % 4 for i in range(N)], "ids": [i // 4 for i in range(N)]},
}


def rows_of(metric: Metric) -> Rows:
    words = np.random.default_rng(1).choice(list("abcdefg"), (N, 9))
    outputs = [" ".join(line) for line in words]
    rows = Rows.of(metric.statistics(Batch(outputs, [[" ".join(line[::-1]), "a b c"] for line in words])))
    rows.values[[3, 17]] = np.nan
    return rows


@pytest.mark.parametrize("blocks", [1, 7, N])
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("metric", [Bleu(), Distinct()], ids=lambda metric: metric.name)
def test_blocks(metric: Metric, design: str, blocks: int) -> None:
    rows, drawn = rows_of(metric), Design.of(N, **DESIGNS[design])
    tally = Tally(metric, SIGNATURE, drawn)
    for part in np.array_split(np.arange(N), blocks):
        tally.add(rows[part])
    statistics = Statistics(metric, lambda: rows, SIGNATURE, "")
    expected = Sample.scored(statistics, drawn)
    assert tally.sample().estimate() == pytest.approx(expected.estimate(), rel=1e-12)
    assert np.array_equal(tally.scored, statistics.scored)
    options = Options(resamples=64)
    by_blocks, at_once = tallied_scores([tally], options), scores([statistics], drawn, options)
    assert list(by_blocks) == list(at_once)
    for name, score in at_once.items():
        assert [by_blocks[name].low, by_blocks[name].high] == pytest.approx([score.low, score.high], rel=1e-12)
        assert by_blocks[name].units == score.units


@pytest.mark.parametrize("metric", [Bleu(), Distinct()], ids=lambda metric: metric.name)
def test_what_failed_rows_could_have_been(metric: Metric) -> None:
    rows, drawn = rows_of(metric), Design.of(N)
    tally = Tally(metric, SIGNATURE, drawn)
    tally.add(rows)
    places = np.array([3, 17])
    more = Rows.of(metric.statistics(Batch(["a b c", ""], [["a b c"], ["a b d"]])))
    order = np.arange(N)
    order[places] = N + np.arange(2)
    expected = Sample(metric, Rows.joined(rows, more)[order], drawn).estimate()
    assert tally.estimate_with(more, places) == pytest.approx(expected, rel=1e-12)


def test_ten_million_rows_need_the_room_of_the_buckets() -> None:
    """The sums alone are kept, however many rows are added."""
    ids = [str(i) for i in range(70_000)]
    drawn = Design.of(len(ids), ids=ids).in_buckets(ids, Units(buckets=1024))
    tally = Tally(Bleu(), SIGNATURE, drawn)
    for part in np.array_split(np.arange(len(ids)), 9):
        tally.add(Rows(np.ones((len(part), len(Bleu().columns)))))
    sample = tally.sample()
    assert sample.rows.shape == (1024, len(Bleu().columns))
    assert sample.rows.sum() == len(ids) * len(Bleu().columns)
    assert tally.__dict__["_kept"] == []
