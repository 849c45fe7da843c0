"""Up to six units have Student's t: the replicates of so few do not reach as far as an interval has to."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import harness
from harness.metrics.bleu import Bleu
from harness.metrics.perplexity import Perplexity
from harness.stats.design import Design
from harness.stats.intervals import SHORT_TAILED, scores
from harness.stats.options import Options
from harness.types import Array, Metric, RunResult, Score, Signature, Statistics
from tests.stats.test_comparison import Given, run
from tests.stats.test_intervals import mean
from tests.stats.test_small import Share, sets


class Unit(Given):
    bounds = (0.0, 1.0)


def reach(values: Array) -> float:
    """Half of the textbook interval of a mean."""
    return float(scipy.stats.t.isf(0.025, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def of_metric(metric: Metric, rows: object, **options: object) -> dict[str, Score]:
    statistics = Statistics.of(metric, np.asarray(rows, dtype=float), Signature({}, {}), "")
    return scores([statistics], None, Options(**options))  # type: ignore[arg-type]


def compared(before: object, after: object, metric: Metric, **options: object) -> harness.types.Comparison:
    return harness.compare([run(before, "a", metric), run(after, "b", metric)], **options)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("n", range(2, SHORT_TAILED + 1))
def test_a_mean_has_the_textbook_interval(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    score = mean(values, resamples=20_000)
    assert score.method == "t"
    assert (score.low, score.high) == pytest.approx(
        np.clip(values.mean() + np.array([-1, 1]) * reach(values), 0, 1), abs=0.03
    )
    assert score.low_error is not None
    assert mean(np.append(values, values)).method == ("t" if 2 * n <= SHORT_TAILED else "expanded")
    assert mean(values, method="expanded").method == "expanded"


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_it_holds_where_quantiles_do_not(n: int) -> None:
    """Expanded quantiles of the replicates held 48, 75, 90 and 92 times in 100."""
    rng, held = np.random.default_rng(n), {"auto": 0, "expanded": 0}
    for seed in range(150):
        values = rng.normal(size=n)
        for method in held:
            row = compared(np.zeros(n), values, Given(), resamples=200, seed=seed, method=method)
            held[method] += row.low <= 0 <= row.high  # type: ignore[operator]
    assert held["auto"] / 150 >= 0.93 - 2 * 0.021
    assert held["expanded"] < held["auto"]


def test_a_difference_has_it_too_inside_the_scale() -> None:
    before, after = np.array([0.1, 0.4, 0.3, 0.2]), np.array([0.3, 0.45, 0.6, 0.25])
    row = compared(before, after, Unit(), resamples=20_000)
    gains = after - before
    assert row.method == "t"
    assert (row.low, row.high) == pytest.approx((gains.mean() - reach(gains), gains.mean() + reach(gains)), abs=0.005)
    wide = compared([0.0, 0.5], [0.9, 0.6], Unit(), resamples=1000)
    assert (wide.low, wide.high) == (-1.0, 1.0)
    assert compared([0.0, 0.5], [0.9, 0.6], Given(), resamples=1000).high > 2  # type: ignore[operator]
    assert compared(before, after, Unit(), resamples=1000, method="percentile").method == "percentile"


def test_units_that_both_systems_have_are_counted() -> None:
    """Of eight examples four failed in one of the two."""
    values = np.random.default_rng(1).random(8)
    holes = np.where(np.arange(8) < 4, np.nan, values + np.arange(8) / 10)
    first, second = run(values, "a"), run(values, "b")
    rows = second.statistics["given"]
    missing = Statistics.of(Given(), np.column_stack([holes, np.ones(8)]), rows.signature, "")
    object.__setattr__(second, "statistics", {"given": missing})
    row = harness.compare([first, second], resamples=500)[0]
    assert (row.n, row.method) == (4, "t")


def test_shares_bleu_and_new_seeds_keep_their_own() -> None:
    assert of_metric(Share(), [[1, 1], [0, 1], [1, 1]])["share"].method == "agresti-coull"
    assert compared([1, 0, 1], [1, 1, 1], Share(), resamples=200).method == "tango"
    sums = [[9, 9] + [m, m - 3, 2, 1] + [9, 8, 7, 6] * 2 for m in (5, 6, 8)]
    of_bleu = of_metric(Bleu(), sums, resamples=200)
    assert of_bleu["bleu"].method == "log-t"
    assert of_bleu["bleu.bp"].method == "expanded", "nobody says where its scale ends"


def test_sub_scores_that_are_means_have_it_as_well() -> None:
    values = np.array([0.2, 0.5, 0.9])
    made = of_metric(harness.metrics.rouge.Rouge(["rouge1"]), np.column_stack([values, values, values, np.ones(3)]))
    assert {name: score.method for name, score in made.items()} == dict.fromkeys(made, "t")
    assert len({(score.low, score.high) for score in made.values()}) == 1


def test_a_scale_without_an_end_and_replicates_without_a_value() -> None:
    endless = of_metric(Perplexity("gpt2"), [[5.0, 4, 20], [9.0, 4, 21], [2.0, 3, 17]], resamples=300)
    score = endless["perplexity"]
    assert score.method == "t"
    assert score.low is not None and score.high is not None
    assert 1 <= score.low < score.high < math.inf


def test_few_clusters_have_it() -> None:
    """Five of one example each are five examples; of unequal sizes they count as fewer."""
    values = np.random.default_rng(0).random(5)
    assert mean(values, Design.of(5, clusters=list("abcde"))).low == mean(values).low
    clusters = np.repeat(np.arange(5), (1, 1, 1, 1, 16))
    score = mean(np.random.default_rng(0).random(20), Design.of(20, clusters=clusters.tolist()))
    assert score.method == "t"
    assert (score.low, score.high) == (0.0, 1.0), "one degree of freedom, or hardly more"


def test_an_average_over_data_sets_has_it_where_one_of_them_is_so_small() -> None:
    rng = np.random.default_rng(2)

    def average(*sizes: int, metric: type[Given] = Given) -> harness.types.Comparison:
        gains = [rng.normal(size=n).tolist() for n in sizes]
        runs: list[RunResult] = sets(gains, (metric,))
        return harness.compare(runs, resamples=500).macro[0]

    assert [average(2, 3).method, average(6, 20).method, average(7, 8).method] == ["t", "t", "expanded"]
    bounded = average(2, 3, metric=Unit)
    assert bounded.low is not None and bounded.high is not None
    assert -1 <= bounded.low < bounded.high <= 1


def test_averages_over_tiny_data_sets_hold() -> None:
    """Quantiles held 65 times in 100."""
    rng, held = np.random.default_rng(3), 0
    for seed in range(80):
        row = harness.compare(
            sets([rng.normal(size=2).tolist(), rng.normal(size=3).tolist()]), resamples=200, seed=seed
        ).macro[0]
        held += row.low <= 0 <= row.high  # type: ignore[operator]
    assert held / 80 >= 0.93 - 2 * 0.029
