"""Several outputs of an example: independent ones are averaged, seeds are a source of chance of their own."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.stats

from benchmarks.coverage.cells import Share
from benchmarks.coverage.repeats import World, made, shares
from benchmarks.coverage.shares import repeated
from harness.inputs.choices import OVER_SEEDS
from harness.metrics.bleu import Bleu
from harness.stats import intervals
from harness.stats.comparing.comparison import compare
from harness.stats.design import Design
from harness.stats.options import ComparisonOptions, Options
from harness.stats.power.planning import needed_seeds, needed_units, seeds_detectable, seeds_power
from harness.stats.resampling import Sample, replicates
from harness.stats.seeds import Spread, seeded
from harness.testing import CannedMetric
from harness.types import Batch, HarnessError, RunResult, Score, Signature, Statistics

FEW = ComparisonOptions(resamples=200)


def binomial(share: float, simulations: int) -> float:
    """Three standard errors."""
    return 3 * float(np.sqrt(share * (1 - share) / simulations))


@pytest.mark.slow
@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_independent_repeats_keep_the_level_and_have_full_power(test: str) -> None:
    """Drawn as seeds, as they once were, they alarm in 0.2 to 0.6 % and their error is 1.5 times too large."""
    world, n = World(150, 5), 400
    null = shares(world, n, test, resamples=300)
    assert abs(null["alarms"] - 0.055) < binomial(0.05, n)
    assert null["error"] == pytest.approx(1.0, abs=0.05)
    real = shares(World(150, 5, gain=2.8 * world.error), 150, test, resamples=300, first=n)
    assert abs(real["alarms"] - 0.8) < binomial(0.8, 150)


@pytest.mark.slow
@pytest.mark.parametrize(("effect", "seeds"), [(0.0, 3), (1.0, 5), (3.0, 3), (3.0, 10)])
def test_seeds_keep_the_level(effect: float, seeds: int) -> None:
    """By examples alone an eighth of all and more are alarms, where seeds differ by 3 points."""
    n = 400
    null = shares(World(200, seeds, effect, seeds=True), n, resamples=20)
    assert abs(null["alarms"] - 0.05) < binomial(0.05, n)
    assert abs(null["held"] - 0.95) < binomial(0.05, n)
    if effect == 3.0:
        assert shares(World(200, seeds, effect), 100, resamples=200)["alarms"] > 0.12


def test_more_seeds_have_more_power() -> None:
    powers = [shares(World(200, seeds, 1.0, 4.0, seeds=True), 60, resamples=20)["alarms"] for seeds in (2, 4, 12)]
    assert powers[0] < powers[1] < powers[2]


def test_the_number_of_a_seed_says_nothing() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(50, 20, (60, 4)), rng.normal(54, 20, (60, 4)) + rng.normal(0, 3, 4)
    rows = [
        compare([[(made("a", a, seeds=True), made("b", b[:, order], seeds=True))]], FEW)[0]
        for order in ([0, 1, 2, 3], [2, 0, 3, 1])
    ]
    for name in ("difference", "low", "high", "p_value", "p_adjusted", "won"):
        assert getattr(rows[0], name) == pytest.approx(getattr(rows[1], name), rel=1e-9), name


def test_as_an_analysis_of_variance_has_it() -> None:
    """The parts of the variance of a mean are those of the mean squares of a two-way table."""
    rng = np.random.default_rng(5)
    n, seeds = 40, 4
    values = rng.normal(0, 1, (n, 1)) + rng.normal(0, 0.5, (1, seeds)) + rng.normal(0, 2, (n, seeds))
    spread = seeded(sample_of(values)).spread(0)
    grand, of_examples, of_seeds = values.mean(), values.mean(1), values.mean(0)
    examples = seeds * ((of_examples - grand) ** 2).sum() / (n - 1)
    between = n * ((of_seeds - grand) ** 2).sum() / (seeds - 1)
    rest = ((values - of_examples[:, None] - of_seeds + grand) ** 2).sum() / ((n - 1) * (seeds - 1))
    cells = n * seeds
    assert spread.examples == pytest.approx(examples / cells)
    assert spread.between[0] == pytest.approx(between / cells)
    assert spread.interactions[0] == pytest.approx(rest / cells)
    assert spread.variance == pytest.approx((max(examples - rest, 0) + between) / cells)


def sample_of(values: np.ndarray) -> Sample:
    run = made("a", values, seeds=True)
    statistics = run.statistics["canned"]
    return Sample(statistics.metric, statistics.rows, Design.of_run(run))


def test_where_nothing_but_seeds_differ_it_is_welchs_test() -> None:
    a, b = np.tile([1.0, 2.0, 4.0], (30, 1)), np.tile([3.0, 3.5, 6.0, 7.0], (30, 1))
    row = compare([[(made("a", a, seeds=True), made("b", b, seeds=True))]], FEW)[0]
    expected = scipy.stats.ttest_ind(b[0], a[0], equal_var=False)
    assert (row.p_value, row.degrees) == (pytest.approx(expected.pvalue), pytest.approx(expected.df))
    assert (row.question, row.seeds) == ("seeds", (3, 4))
    bounds = expected.confidence_interval(0.95)
    assert (row.low, row.high) == (pytest.approx(bounds.low), pytest.approx(bounds.high))
    for alternative, other in (("better", "greater"), ("worse", "less")):
        one_sided = compare(
            [[(made("a", a, seeds=True), made("b", b, seeds=True))]],
            dataclasses.replace(FEW, alternative=alternative),
        )[0]
        assert one_sided.p_value == pytest.approx(
            scipy.stats.ttest_ind(b[0], a[0], equal_var=False, alternative=other).pvalue
        )


def test_margins_by_the_same_t() -> None:
    a, b = np.tile([1.0, 2.0, 4.0], (30, 1)), np.tile([1.5, 2.0, 4.5, 3.0], (30, 1))
    options = dataclasses.replace(FEW, margins=(("canned", 8.0),))
    row = compare([[(made("a", a, seeds=True), made("b", b, seeds=True))]], options)[0]
    below = scipy.stats.ttest_ind(b[0] + 8, a[0], equal_var=False, alternative="greater").pvalue
    above = scipy.stats.ttest_ind(b[0] - 8, a[0], equal_var=False, alternative="less").pvalue
    assert (row.p_not_worse, row.p_equivalent) == (pytest.approx(below), pytest.approx(max(below, above)))
    assert row.verdict == "equivalent"


def test_identical_systems_get_p_1() -> None:
    same = np.tile(np.arange(10.0)[:, None], (1, 3))
    row = compare([[(made("a", same, seeds=True), made("b", same, seeds=True))]], FEW)[0]
    assert (row.difference, row.p_value, row.p_adjusted, row.verdict) == (0, 1, 1, "not distinguishable")


def test_a_corpus_score_of_seeds() -> None:
    """BLEU, a function of sums: its jackknifed parts agree with bootstrapping examples."""
    rng = np.random.default_rng(2)
    words = np.array(["the", "cat", "sat", "on", "a", "mat", "dog", "ran"])
    references = [" ".join(rng.choice(words, 12)) for _ in range(80)]

    def output(reference: str, keep: float) -> str:
        return " ".join(word if rng.random() < keep else str(rng.choice(words)) for word in reference.split())

    outputs = [output(reference, keep) for reference in references for keep in (0.7, 0.75, 0.8)]
    metric = Bleu()
    rows = metric.statistics(Batch(outputs, [[reference] for reference in references for _ in range(3)]))
    ids, which = np.repeat(np.arange(80), 3), np.tile(np.arange(3), 80)
    design = Design.of(240, repeats=which, ids=ids.tolist())
    parts = seeded(Sample(metric, rows, design))
    alone = metric.score(rows[which == 1].sum(0))
    assert parts.by_seed[1] == pytest.approx(alone)
    drawn = replicates([Sample(metric, rows, design)], 4000, 1, "x")[0][:, 0]
    assert drawn.std() == pytest.approx(np.sqrt(parts.spread(0).examples), rel=0.08)
    statistics = Statistics.of(metric, rows, Signature({}, {}), "")
    score = intervals.scores([statistics], design, Options(resamples=100))["bleu"]
    assert score.method == OVER_SEEDS
    reach = parts.spread(0).reach(0.95)
    assert (score.low, score.high) == (
        pytest.approx(score.estimate - reach),  # type: ignore[operator]
        pytest.approx(score.estimate + reach),  # type: ignore[operator]
    )


def test_intervals_of_a_score_hold_for_new_seeds() -> None:
    held, simulations = 0, 300
    for i in range(simulations):
        rng = np.random.default_rng(i)
        values = rng.normal(50, 20, (80, 1)) + rng.normal(0, 4, (1, 3)) + rng.normal(0, 10, (80, 3))
        statistics, design = made("a", values, seeds=True).statistics["canned"], None
        design = Design.of_run(made("a", values, seeds=True))
        score = intervals.scores([statistics], design, Options(resamples=2))["canned"]
        held += score.low <= 50 <= score.high  # type: ignore[operator]
    assert abs(held / simulations - 0.95) < binomial(0.05, simulations)


@pytest.mark.slow
def test_plans_are_kept() -> None:
    """The power that a plan promises, and that no n will do where seeds differ too much."""
    world = World(200, 4, 2.0, seeds=True)
    of_one = (world.error**2) / 2
    between = (2.0**2 + 20.0**2 / 200) / 4
    spread = Spread(2 * (10**2 + 20**2 / 4) / 200, (20**2 / 800,) * 2, (between,) * 2, (4, 4), 200)
    assert spread.variance == pytest.approx(2 * of_one)
    difference = seeds_detectable(spread, 0.95, 0.8)
    assert seeds_power(difference, spread, 0.95) == pytest.approx(0.8)
    seen = shares(World(200, 4, 2.0, difference, seeds=True), 300, resamples=20)["alarms"]
    assert abs(seen - 0.8) < binomial(0.8, 300) + 0.02
    assert needed_units(difference, spread, 0.95) == 200
    assert needed_units(3.0, spread, 0.95) is None
    seeds = needed_seeds(3.0, spread, 0.95)
    assert seeds is not None and seeds > 4
    seen = shares(World(200, seeds, 2.0, 3.0, seeds=True), 150, resamples=20)["alarms"]
    assert abs(seen - 0.8) < binomial(0.8, 150) + 0.03


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    several, single = made("a", rng.random((20, 3)), seeds=True), made("b", rng.random((20, 1)))
    with pytest.raises(HarnessError, match="b has one seed, and others have several; expected two or more seeds"):
        compare([[(several, single)]], FEW)
    other = made("c", rng.random((20, 3)), seeds=True)
    with pytest.raises(HarnessError, match="test=randomization with seeds: .* expected test=bootstrap"):
        compare([[(several, other)]], dataclasses.replace(FEW, test="randomization"))
    with pytest.raises(HarnessError, match="a says that it has 7 seeds, and has 3 outputs an example"):
        compare([[(dataclasses.replace(several, seeds=7), other)]], FEW)
    with pytest.raises(HarnessError, match="repeats=folds; expected one of independent, seeds"):
        Options(repeats="folds").check()


def test_examples_of_which_an_output_failed_are_left_out() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((20, 3)), rng.random((20, 3))
    torn = failing(made("a", a, seeds=True), 4)
    row = compare([[(torn, made("b", b, seeds=True))]], FEW)[0]
    assert (row.n, row.excluded) == (19, 3)
    left = np.arange(20) != 1
    assert row.difference == pytest.approx(b[left].mean() - a[left].mean())


def failing(run: RunResult, place: int) -> RunResult:
    part = run.statistics["canned"]
    rows = part.rows.copy()
    rows[place] = np.nan
    return dataclasses.replace(run, statistics={"canned": part.with_rows(rows)})


def test_several_scores_share_the_correction() -> None:
    """Max-T over scores that are one and the same costs nothing; over those that are not, something."""
    rng = np.random.default_rng(8)
    base = rng.normal(50, 20, (80, 1))
    a, b, c = (base + rng.normal(gain, 10, (80, 5)) + rng.normal(0, 1, 5) for gain in (0, 2.5, 2.5))

    def run(name: str, *values: np.ndarray) -> RunResult:
        parts = [made(name, part, seeds=True) for part in values]
        metrics = [CannedMetric(name=f"m{i}") for i in range(len(values))]
        statistics = {
            metric.name: Statistics.of(metric, part.statistics["canned"].rows, Signature({}, {}), "")
            for metric, part in zip(metrics, parts, strict=True)
        }
        return dataclasses.replace(parts[0], statistics=statistics)

    options = ComparisonOptions(resamples=4000)
    twice = compare([[(run("a", a, a), run("b", b, b))]], options)
    assert twice[0].p_adjusted == pytest.approx(twice[0].p_value, abs=0.02)  # type: ignore[arg-type]
    other = compare([[(run("a", a, a), run("b", b, c))]], options)
    assert other[0].p_adjusted > 1.3 * other[0].p_value  # type: ignore[operator]


# ---------------------------------------------------------------- right or wrong


def share_of(run: RunResult) -> Score:
    return intervals.scores([run.statistics["share"]], Design.of_run(run), Options(resamples=200))["share"]


def test_a_share_over_seeds_stays_on_its_scale_and_has_a_width() -> None:
    """All right in every seed was [1, 1], and 3 wrong of 150 went up to 1.07."""
    right = np.ones((50, 3))
    every = share_of(made("a", right, True, Share()))
    alone = share_of(made("a", right[:, :1], False, Share()))
    assert (every.low, every.high) == pytest.approx((alone.low, 1.0))
    assert (every.method, every.note) == (OVER_SEEDS, None)
    right[:3, 2] = 0
    almost = share_of(made("a", right, True, Share()))
    assert almost.low is not None and 0.85 < almost.low < 0.9
    assert almost.high == 1.0


def test_a_headline_score_over_seeds_stays_on_its_scale() -> None:
    values = np.array([[1.0, 0.9, 0.8]] * 5 + [[1.0, 1.0, 0.9]] * 5)
    score = share_of(made("a", values, True, Share()))
    assert score.high == 1.0
    assert score.low is not None and 0 < score.low < 0.9


def test_nothing_varies_between_seeds() -> None:
    """Two systems that are right throughout had a difference of [0, 0]; and one that is wrong throughout p = 0."""
    right, wrong = np.ones((50, 3)), np.zeros((50, 3))
    a, b, c = (made(name, values, True, Share()) for name, values in (("a", right), ("b", right), ("c", wrong)))
    (same,) = compare([[(a, b)]], FEW)
    assert (same.question, same.seeds, same.p_value) == ("seeds", (3, 3), 1.0)
    assert (same.low, same.high) == pytest.approx((-0.0747, 0.0747), abs=1e-4)
    assert same.smallest_detectable == pytest.approx(0.106, abs=1e-3)
    (worse,) = compare([[(a, c)]], FEW)
    assert worse.p_value is not None and 0 < worse.p_value < 0.05
    assert (worse.verdict, worse.low) == ("worse", -1.0)
    assert worse.high is not None and -0.9 < worse.high < -0.8


def test_no_p_of_seeds_is_smaller_than_the_units_permit() -> None:
    """Four examples, each better by about as much in every seed: p was 0.0007."""
    rng = np.random.default_rng(0)
    before, after = (level + rng.normal(0, 0.01, (4, 3)) for level in (0.0, 5.0))
    (row,) = compare([[(made("a", before, True), made("b", after, True))]], FEW)
    assert row.p_value == pytest.approx(0.125)
    assert row.verdict == "too few to tell"


def test_degrees_of_freedom_are_no_fewer_than_those_of_the_worst_known_part() -> None:
    """What examples and seeds have in common is taken off, and little may be left: 0.03 degrees made an interval of
    1e30."""
    spread = Spread(examples=4.0, interactions=(2.1, 2.0), between=(0.05, 0.1), seeds=(3, 3), units=20)
    assert spread.main == 0
    assert spread.degrees == 2
    assert spread.reach(0.95) == pytest.approx(scipy.stats.t.ppf(0.975, 2) * np.sqrt(0.15))


def test_a_difference_of_shares_of_several_outputs_has_a_score_interval() -> None:
    """Three of 150 answers are wrong in one system and none in the other: resampled, no more was possible than 0."""
    before, after = np.ones((50, 3)), np.ones((50, 3))
    after[:3, 0] = 0
    (row,) = compare([[(made("a", before, False, Share()), made("b", after, False, Share()))]], FEW)
    assert (row.method, row.difference) == ("tango", pytest.approx(-0.02))
    assert row.low is not None and -0.07 < row.low < -0.05
    assert row.high is not None and 0.001 < row.high < 0.01
    (apart,) = compare([[(made("a", before[:, :1], False, Share()), made("b", after, False, Share()))]], FEW)
    assert apart.low is not None and apart.low < row.low  # as much as one output of each says, not three


@pytest.mark.parametrize("seeds", [False, True])
def test_shares_of_several_outputs_hold(seeds: bool) -> None:
    """As t over seeds they held 62 times in 100."""
    inside = differences = 0.0
    for seed in range(100):
        tally = repeated((0.98, 0.9), 20, seeds, np.random.default_rng([seed, 3]), seed)
        inside, differences = inside + tally["score"], differences + tally["difference"]
    assert inside >= 100 * (0.93 - 2 * 0.026)
    assert differences >= 100 * (0.93 - 2 * 0.026)
