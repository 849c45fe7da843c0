"""Agreement with people: coefficients against SciPy and brute force, resamples against repeated rows, swaps against
swapped rows, and the refusals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.coverage.meta import panel_of
from harness.stats.people import exchange
from harness.stats.people.agreement import agreement
from harness.stats.people.panel import MetaOptions, Panel
from harness.stats.people.segment_level import RANKED, Groups, SegmentLevel
from harness.stats.people.system_level import SoftPairs, ordered, soft
from harness.types import Array, HarnessError

QUIET = MetaOptions(resamples=0)


@st.composite
def panels(draw: st.DrawFn) -> Panel:
    """Few values, so that there are ties and constant rows and columns, and holes."""
    s, n = draw(st.integers(2, 5)), draw(st.integers(2, 7))
    cell = st.one_of(st.integers(0, 3).map(float), st.just(float("nan")))
    human = np.array(draw(st.lists(st.lists(cell, min_size=n, max_size=n), min_size=s, max_size=s)))
    numbers = st.lists(st.lists(st.integers(-4, 4).map(float), min_size=n, max_size=n), min_size=s, max_size=s)
    segments = {name: np.array(draw(numbers)) / 3 for name in ("a", "b")}
    human[:, 0] = np.nan_to_num(human[:, 0])  # every system has been judged
    return panel_of(human, segments)


def grouped(panel: Panel, kind: str, values: Array) -> Iterator[tuple[Array, Array]]:
    """(the metric's, people's) of each group of two cells or more."""
    assert panel.human is not None
    kept = np.where(panel.cells, panel.human, np.nan)
    if kind == "none":
        rows = [(values.ravel(), kept.ravel())]
    else:
        rows = list(zip(values.T, kept.T, strict=True)) if kind == "item" else list(zip(values, kept, strict=True))
    for x, y in rows:
        known = np.isfinite(y)
        if known.sum() > 1:
            yield x[known], y[known]


def by_scipy(x: Array, y: Array) -> list[float]:
    if len(set(x)) < 2 or len(set(y)) < 2:
        return [np.nan] * 4
    return [
        scipy.stats.pearsonr(x, y).statistic,
        scipy.stats.spearmanr(x, y).statistic,
        scipy.stats.kendalltau(x, y).statistic,
        scipy.stats.kendalltau(x, y, variant="c").statistic,
    ]


@settings(max_examples=30)
@given(panels(), st.sampled_from(["item", "system", "none"]))
def test_coefficients_of_outputs_are_those_of_scipy(panel: Panel, kind: str) -> None:
    groups = list(grouped(panel, kind, panel.segments["a"]))
    answer = agreement(panel, MetaOptions(resamples=0, group=kind))
    estimates = {row.coefficient: row for row in answer.coefficients if (row.level, row.score) == ("segment", "a")}
    if not groups:
        assert not estimates
        return
    table = np.array([by_scipy(*group) for group in groups])
    for k, name in enumerate(RANKED):
        column = table[~np.isnan(table[:, k]), k]
        if len(column):
            assert estimates[name].estimate == pytest.approx(column.mean(), abs=1e-12)
        else:
            assert estimates[name].estimate is None
        assert estimates[name].undefined == (len(groups) - len(column) if kind != "none" else 0)
    assert estimates["acc_eq"].estimate == pytest.approx(brute_accuracy(groups), abs=1e-12)


def brute_accuracy(groups: list[tuple[Array, Array]]) -> float:
    """acc*eq at every threshold there can be."""
    sizes = {0.0} | {abs(a - b) for x, _ in groups for a, b in combinations(x, 2)}

    def share(threshold: float) -> float:
        shares = []
        for x, y in groups:
            pairs = list(combinations(range(len(x)), 2))
            metric = [0 if abs(x[i] - x[j]) <= threshold else np.sign(x[i] - x[j]) for i, j in pairs]
            shares.append(np.mean([m == np.sign(y[i] - y[j]) for m, (i, j) in zip(metric, pairs, strict=True)]))
        return float(np.mean(shares))

    return max(map(share, sizes))


@settings(max_examples=40)
@given(panels(), st.integers(0, 2**32 - 1))
def test_a_resample_is_as_good_as_its_rows_repeated(panel: Panel, seed: int) -> None:
    """Of all outputs, and by system: where a cell was drawn three times it stands three times."""
    rng = np.random.default_rng(seed)
    s, n = panel.cells.shape
    of_systems, of_units = rng.integers(0, 3, s), rng.integers(0, 4, n)
    assert panel.human is not None
    for kind in ("none", "system"):
        groups = Groups(panel, kind)
        if not len(groups):
            continue
        level = SegmentLevel(groups, panel.segments["a"])
        drawn = level.coefficients(of_systems[None].astype(float), of_units[None].astype(float))[0]
        values = []
        if kind == "none":
            times = (of_systems[:, None] * of_units)[panel.cells]
            if panel.cells.sum() > 1:
                x, y = (np.repeat(part[panel.cells], times) for part in (panel.segments["a"], panel.human))
                values = [by_scipy(x, y)[:3]]
        else:
            for i in range(s):
                keep = panel.cells[i]
                if keep.sum() > 1:
                    x, y = (np.repeat(part[i][keep], of_units[keep]) for part in (panel.segments["a"], panel.human))
                    values += [by_scipy(x, y)[:3]] * int(of_systems[i])
        table = np.array(values).reshape(-1, 3)
        for k in range(3):
            column = table[~np.isnan(table[:, k]), k]
            expected = column.mean() if len(column) else np.nan
            assert drawn[k] == pytest.approx(expected, abs=1e-9, nan_ok=True)


@settings(max_examples=30)
@given(panels(), st.integers(0, 2**32 - 1), st.sampled_from(["item", "system", "none"]))
def test_swapped_metrics_have_the_coefficients_of_swapped_rows(panel: Panel, seed: int, kind: str) -> None:
    groups = Groups(panel, kind)
    if not len(groups):
        return
    flips = np.random.default_rng(seed).integers(0, 2, (1, *panel.cells.shape), np.uint8)
    cells = (groups.systems, groups.items)
    a, b = (np.zeros(panel.cells.shape), np.zeros(panel.cells.shape))
    a[cells], b[cells] = (exchange.standardised(groups.values(panel.segments[name])) for name in "ab")
    mixed = np.where(flips[0] == 1, b, a), np.where(flips[0] == 1, a, b)
    for k, name in enumerate(RANKED):
        both = exchange.of_segments(groups, panel.segments["a"], panel.segments["b"], name)(flips)[0]
        for side in range(2):
            table = np.array([by_scipy(*group) for group in grouped(panel, kind, mixed[side])])
            column = table[~np.isnan(table[:, k]), k]
            expected = column.mean() if len(column) else np.nan
            assert both[side] == pytest.approx(expected, abs=1e-9, nan_ok=True)
    both = exchange.of_segments(groups, panel.segments["a"], panel.segments["b"], "acc_eq")(flips)[0]
    for side in range(2):  # thresholds are looked for in bins, so the best of them may be missed by a little
        expected = brute_accuracy(list(grouped(panel, kind, mixed[side])))
        assert both[side] <= expected + 1e-9
        assert both[side] == pytest.approx(expected, abs=0.34)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=9))
def test_coefficients_of_systems_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    pearson, kendall, accuracy = ordered(x[None], y[None], np.ones((1, len(x))))[0]
    expected = by_scipy(x, y)
    assert pearson == pytest.approx(expected[0], abs=1e-12, nan_ok=True)
    assert kendall == pytest.approx(expected[2], abs=1e-12, nan_ok=True)
    signs = [np.sign(x[i] - x[j]) == np.sign(y[i] - y[j]) for i, j in combinations(range(len(x)), 2)]
    assert accuracy == pytest.approx(np.mean(signs))


def test_soft_pairwise_accuracy_by_all_permutations() -> None:
    rng = np.random.default_rng(3)
    human, metric = rng.normal(size=(2, 4, 10)) + np.arange(4)[:, None] / 3
    panel = panel_of(human, {"a": metric})
    signs = 2 * ((np.arange(2**10)[:, None] >> np.arange(10)) & 1) - 1
    p = {
        name: np.array(
            [np.mean(signs @ (v[i] - v[j]) >= (v[i] - v[j]).sum() - 1e-9) for i, j in combinations(range(4), 2)]
        )
        for name, v in (("human", human), ("a", metric))
    }
    expected = 1 - np.abs(p["human"] - p["a"]).mean()
    (row,) = [r for r in agreement(panel, QUIET, ["spa"]).coefficients if r.coefficient == "spa"]
    assert row.estimate == pytest.approx(expected, abs=0.01)
    assert SoftPairs(panel, human).p_values(1) == pytest.approx(p["human"], abs=0.015)
    limits = [SoftPairs(panel, values).limits(np.ones((1, 10))) for values in (human, metric)]
    assert soft(*limits, np.ones((1, 6)))[0] == pytest.approx(expected, abs=0.03)


def test_the_score_of_a_system_is_the_mean_of_what_its_units_add() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(3, 12))
    values[1, 4] = np.nan
    corpus = panel_of(np.where(np.isnan(values), np.nan, rng.normal(size=(3, 12))), {"a": values}).corpora["a"]
    assert corpus.scores == pytest.approx(np.nanmean(values, axis=1))
    assert corpus.shares.mean(1) == pytest.approx(corpus.scores)
    assert corpus.shares[0] == pytest.approx(values[0])


def test_a_better_metric_is_called_better_and_the_same_one_is_not() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(6, 60)) + rng.normal(0, 0.5, 6)[:, None]
    good, bad = human + rng.normal(0, 0.4, human.shape), rng.normal(size=human.shape)
    panel = panel_of(human, {"good": good, "again": good.copy(), "bad": bad})
    answer = agreement(panel, MetaOptions(resamples=200), ["kendall_b"])
    verdicts = {(row.baseline, row.score): row for row in answer.tests}
    assert verdicts["good", "bad"].verdict == "worse"
    assert verdicts["good", "again"].p_value == 1.0
    assert verdicts["good", "again"].verdict == "not distinguishable"
    row = verdicts["good", "bad"]
    assert row.low is not None and row.high is not None and row.difference is not None
    assert row.low < row.difference < row.high < 0


def test_the_same_on_any_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    panel = panel_of(rng.normal(size=(4, 30)), {"a": rng.normal(size=(4, 30)), "b": rng.normal(size=(4, 30))})
    several = agreement(panel, MetaOptions(resamples=100))
    monkeypatch.setattr("harness.stats.people.panel.cpu_count", lambda: 1)
    assert agreement(panel, MetaOptions(resamples=100)) == several


def test_refusals() -> None:
    panel = panel_of(np.array([[1.0, 2.0], [2.0, 1.0]]), {"a": np.array([[1.0, 2.0], [2.0, 1.0]])})
    with pytest.raises(HarnessError, match="coefficient=tau; expected one of pearson, spearman, kendall_b"):
        agreement(panel, QUIET, ["tau"])
    with pytest.raises(HarnessError, match="group=document; expected one of item, system, none"):
        agreement(panel, MetaOptions(group="document"))
