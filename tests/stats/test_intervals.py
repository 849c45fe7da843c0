"""Intervals against scipy and R, their Monte Carlo error, and the cases where there can be none."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import scipy.stats

import harness
from harness.inputs.choices import METHODS
from harness.metrics.bleu import Bleu
from harness.metrics.chrf import Chrf
from harness.metrics.rouge import Rouge
from harness.stats.design import Design
from harness.stats.estimation import Failures, design_of, estimate
from harness.stats.intervals import scores
from harness.stats.options import Options
from harness.stats.tally import Tally
from harness.types import Array, Batch, Example, Examples, HarnessError, Score, Signature, Statistics
from tests.stats.test_resampling import Median

SIGNATURE = Signature({}, {})
SKEWED = [10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213]
"""The example of R's boot.ci in scipy's own tests."""


def mean_statistics(values: Array) -> Statistics:
    rows = np.column_stack([values, values, values, np.where(np.isnan(values), np.nan, 1.0)])
    return Statistics.of(Rouge(["rouge1"]), rows, SIGNATURE, "")


def mean(values: object, design: Design | None = None, **options: object) -> Score:
    return scores([mean_statistics(np.asarray(values, dtype=float))], design, Options(**options))["rouge1"]  # type: ignore[arg-type]


@pytest.mark.parametrize(("method", "theirs"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "BCa")])
def test_agrees_with_scipy(method: str, theirs: str) -> None:
    values = np.random.default_rng(4).exponential(size=60)
    ours = mean(values, method=method, resamples=20_000)
    bounds = scipy.stats.bootstrap(
        (values,), np.mean, method=theirs, n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours.estimate == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx((bounds.low, bounds.high), abs=0.012)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "low", "high"), [("basic", 23.77, 79.12), ("percentile", 28.86, 84.21), ("bca", 32.31, 91.43)]
)
def test_agrees_with_r(method: str, low: float, high: float) -> None:
    """boot.ci of R's package boot, 1e6 resamples, as scipy's tests quote it."""
    score = mean(SKEWED, method=method, resamples=400_000)
    assert (score.low, score.high) == pytest.approx((low, high), rel=0.01)


def test_normal_and_studentised_of_a_mean_by_their_textbook_formulas() -> None:
    values = np.array(SKEWED)
    n, error = len(values), values.std() / np.sqrt(len(values))
    normal = mean(values, method="normal", resamples=50_000)
    assert (normal.low, normal.high) == pytest.approx(
        (values.mean() - 1.96 * error, values.mean() + 1.96 * error), rel=0.01
    )
    rng = np.random.default_rng(1)
    again = values[rng.integers(0, n, (200_000, n))]
    spread = again.std(1) / np.sqrt(n)
    t = (again.mean(1) - values.mean())[spread > 0] / spread[spread > 0]
    expected = values.mean() - np.quantile(t, [0.975, 0.025]) * error
    score = mean(values, method="studentized", resamples=50_000)
    assert (score.low, score.high) == pytest.approx(tuple(expected), rel=0.03)


@pytest.mark.parametrize("metric", [Bleu(), Chrf()])
def test_the_delta_method_of_a_corpus_score(metric: Bleu | Chrf) -> None:
    """The standard error that studentising takes agrees with the bootstrap's own on a smooth score."""
    rng = np.random.default_rng(0)
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "then", "it", "ran", "off", "home"]
    references = [" ".join(rng.choice(words, 12)) for _ in range(150)]
    outputs = [" ".join(w for w in text.split() if rng.random() < 0.85) for text in references]
    rows = metric.statistics(Batch(outputs, [[r] for r in references]))
    statistics = [Statistics.of(metric, rows, SIGNATURE, "")]
    normal, studentised = (
        scores(statistics, None, Options(4000, method=m))[metric.name] for m in ("normal", "studentized")
    )
    assert normal.low is not None and normal.high is not None
    assert studentised.low is not None and studentised.high is not None
    assert studentised.method == "studentized"
    assert studentised.high - studentised.low == pytest.approx(normal.high - normal.low, rel=0.15)
    assert studentised.low == pytest.approx(normal.low, abs=0.25 * (normal.high - normal.low))


def test_what_cannot_be_studentised_says_that_it_was_not() -> None:
    rows = np.random.default_rng(0).random((30, 1))
    score = scores([Statistics.of(Median(), rows, SIGNATURE, "")], None, Options(200, method="studentized"))["median"]
    assert score.method == "percentile"
    assert score.low is not None
    stratified = mean(np.arange(10.0), Design.of(10, strata=list("aabbaabbab")), method="studentized", resamples=200)
    assert stratified.method == "percentile"
    rare = mean([1.0] * 2 + [0.0] * 98, method="studentized", resamples=500)  # one resample in seven holds no 1
    assert rare.method == "percentile"
    assert mean([1.0] * 20 + [0.0] * 80, method="studentized", resamples=500).method == "studentized"


def test_corpus_bleu_is_resampled_as_corpus_bleu() -> None:
    outputs = [
        "the cat sat on the mat",
        "a dog ran in the park today",
        "it is cold",
        "we went home by bus at night",
    ] * 8
    references = [
        ["the cat sat on a mat"],
        ["a dog ran in a park"],
        ["it is very cold"],
        ["we went home by night bus"],
    ] * 8
    metric = Bleu()
    rows = metric.statistics(Batch(outputs, references))
    score = scores([Statistics.of(metric, rows, SIGNATURE, "")], None, Options(500))["bleu"]
    rng = np.random.default_rng(0)
    resampled = [metric.score(rows[rng.integers(0, 32, 32)].sum(0))[0] for _ in range(4000)]
    low, high = np.quantile(resampled, [0.025, 0.975])
    assert score.estimate == metric.score(rows.sum(0))[0]
    assert (score.low, score.high) == pytest.approx((low, high), abs=2.0)


def test_clusters_widen_the_interval_and_strata_narrow_it() -> None:
    values = np.repeat(np.random.default_rng(2).random(12), 10)
    alone = mean(values)
    clustered = mean(values, Design.of(120, clusters=np.repeat(np.arange(12), 10).tolist()))
    stratified = mean(values, Design.of(120, strata=np.repeat(np.arange(12), 10).tolist()))
    assert alone.low is not None and alone.high is not None
    assert clustered.low is not None and clustered.high is not None
    assert clustered.estimate == pytest.approx(alone.estimate)
    assert 2.4 < (clustered.high - clustered.low) / (alone.high - alone.low) < 4.0
    assert stratified.low == pytest.approx(stratified.high)  # all that varies, varies between the strata


def test_few_skewed_values_reach_further_to_the_side_of_the_rare_ones() -> None:
    """Of ten skewed values an expanded interval held in 92 %: the mean is mostly on the side of the many."""
    skewed, even = np.random.default_rng(3).exponential(size=20) ** 2, np.linspace(-1, 1, 20)
    few, plain = mean(skewed), mean(skewed, method="expanded")
    assert few.high - plain.high > 0.1 * (plain.high - plain.low)  # type: ignore[operator]
    assert few.low >= plain.low - 0.05 * (plain.high - plain.low)  # type: ignore[operator]
    symmetric, usual = mean(even), mean(even, method="expanded")
    assert (symmetric.low, symmetric.high) == pytest.approx((usual.low, usual.high), abs=0.03)
    many = np.tile(skewed, 2)
    assert mean(many) == mean(many, method="expanded")
    unequal = Design.of(40, clusters=np.repeat(np.arange(10), (1, 1, 1, 1, 1, 1, 2, 2, 10, 20)).tolist())
    assert mean(many, unequal) == mean(many, unequal, method="expanded"), "the expansion allows for their sizes"


def test_seed_and_level() -> None:
    values = np.random.default_rng(2).random(40)
    first, same, other, wide = mean(values), mean(values), mean(values, seed=1), mean(values, level=0.99)
    assert (first.low, first.high) == (same.low, same.high)
    assert (first.low, first.high) != (other.low, other.high)
    assert wide.low is not None and first.low is not None and wide.low < first.low


@pytest.mark.parametrize("method", METHODS)
def test_the_monte_carlo_error_is_what_other_seeds_show(method: str) -> None:
    values = np.random.default_rng(2).exponential(size=50)
    by_seed = [mean(values, seed=seed, resamples=1000, method=method) for seed in range(60)]
    for bound in ("low", "high"):
        seen = np.std([getattr(score, bound) for score in by_seed], ddof=1)
        said = np.sqrt(np.mean([getattr(score, f"{bound}_error") ** 2 for score in by_seed]))
        assert said == pytest.approx(seen, rel=0.35)


def test_missing_rows_are_left_out() -> None:
    values = np.array([0.2, np.nan, 0.4, 0.9])
    assert mean(values).estimate == pytest.approx(0.5)
    assert mean(values).low == mean(np.array([0.2, 0.4, 0.9])).low


@pytest.mark.parametrize("value", [0.1, 1 / 3, -0.7, 1e-9, 12345.6789])
@pytest.mark.parametrize("n", [5, 7, 10, 49])
def test_a_constant_score_has_no_width_whatever_the_last_bits(value: float, n: int) -> None:
    """The mean of drawn values is not always the same to the last bit."""
    equal = mean(np.full(n, value), resamples=300)
    assert equal.note == f"the same on every resample of the {n} examples: the interval has no width"
    assert mean(np.append(np.full(n, value), value + 1e-6), resamples=300).note is None


@pytest.mark.parametrize("method", METHODS)
def test_degenerate_cases_say_so(method: str) -> None:
    single = mean(np.array([0.5]), method=method)
    assert (single.estimate, single.low, single.note) == (0.5, None, "one example: no interval")
    none = mean(np.array([np.nan, np.nan]), method=method)
    assert (none.estimate, none.low, none.note) == (None, None, "no example could be scored")
    equal = mean(np.full(5, 0.25), method=method)
    assert (equal.estimate, equal.low, equal.high) == pytest.approx((0.25, 0.25, 0.25))
    assert equal.note == "the same on every resample of the 5 examples: the interval has no width"
    two = mean(np.array([0.0, 1.0]), method=method)
    assert two.low is not None and two.high is not None and two.low < 0.5 < two.high
    assert two.note == "2 examples: the interval says little"
    cluster = mean(np.array([0.1, 0.2]), Design.of(2, clusters=["x", "x"]), method=method)
    assert (cluster.low, cluster.note) == (None, "one cluster: no interval")
    assert mean(np.array([0.1, 0.2]), resamples=0).low is None
    assert mean(np.array([0.1, 0.2]), resamples=0).note is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"method": "magic"},
            "method=magic; expected one of auto, expanded, percentile, basic, bca, normal, studentized, wilson",
        ),
        ({"level": 95}, "level=95; expected a share between 0 and 1"),
        ({"resamples": 1}, "resamples=1; expected 2 or more, or 0"),
        ({"seed": -1}, "seed=-1; expected 0 or more"),
    ],
)
def test_bad_options(options: dict[str, object], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        mean(np.array([0.1, 0.2]), **options)
    assert expected in str(raised.value)


def test_two_metrics_with_one_score_are_refused() -> None:
    statistics = mean_statistics(np.array([0.1, 0.2]))
    with pytest.raises(HarnessError, match="two metrics give the score 'rouge1'"):
        scores([statistics, statistics])


# ---------------------------------------------------------------- from examples


def examples(n: int, **fields: list[object]) -> list[Example]:
    return [Example(str(i), "s", ("a b c d",), {name: values[i] for name, values in fields.items()}) for i in range(n)]


def estimated(
    statistics: list[Statistics], some: list[Example], failed: list[int], cluster: str | None, options: Options
) -> dict[str, Score]:
    design = design_of([Examples.of(some[:1]), Examples.of(some[1:])], cluster, options)
    failures = Failures(np.array(failed, np.int64), Examples.of([some[i] for i in failed]))
    return estimate([Tally.of(of_metric, design) for of_metric in statistics], failures, options)


def test_failures_could_have_changed_the_score_so_much() -> None:
    """Three of four examples score, one failed: had it given nothing, and had it given the reference."""
    metrics = [Bleu(), Rouge(["rouge1"])]
    some = examples(4)
    references, sources = [e.references for e in some], [e.source for e in some]
    outputs = ["a b c d", "a b x y", "a b c x"]
    statistics = []
    for metric in metrics:
        rows = np.full((4, len(metric.columns)), np.nan)
        rows[:3] = metric.statistics(Batch(outputs, references[:3], sources[:3]))
        statistics.append(Statistics.of(metric, rows, SIGNATURE, ""))
    scored = estimated(statistics, some, [3], None, Options(resamples=50))
    whole = {
        text: estimated(
            [Statistics.of(m, m.statistics(Batch([*outputs, text], references, sources)), SIGNATURE, "") for m in metrics],
            some, [], None, Options(resamples=0),
        )
        for text in ("", "a b c d")
    }  # fmt: skip
    for name in ("bleu", "rouge1"):
        score = scored[name]
        assert (score.if_worst, score.if_best) == (whole[""][name].estimate, whole["a b c d"][name].estimate)
        assert score.if_worst < score.estimate < score.if_best  # type: ignore[operator]
    assert whole[""]["bleu"].if_worst is None


def test_a_field_that_groups_examples_is_pointed_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    design_of([Examples.of(examples(6, doc_id=["x", "x", "y", "y", "z", "z"], domain=["n"] * 6))], None, Options())
    assert "the field doc_id has 3 values for 6 examples" in caplog.text
    assert "dataset.cluster=doc_id" in caplog.text
    caplog.clear()
    for ids in (["x", "y", "z"], ["x", "x", "x"]):  # one each; not a grouping
        design_of([Examples.of(examples(3, doc_id=list(ids), domain=["n", "n", "o"]))], None, Options())
    assert caplog.text == ""
    estimated([mean_statistics(np.arange(4.0))], examples(4, doc_id=list("aabb")), [], "doc_id", Options(resamples=0))
    assert caplog.text == ""


def test_strata_by_a_field() -> None:
    some = examples(8, domain=list("aaaabbbb"))
    statistics = [mean_statistics(np.array([1.0] * 4 + [3.0] * 4))]
    score = estimated(statistics, some, [], None, Options(resamples=200, strata="domain"))["rouge1"]
    assert (score.estimate, score.low, score.high) == (2.0, 2.0, 2.0)
    with pytest.raises(HarnessError, match="stats.strata=: the example '0' has no such field; its fields: domain"):
        estimated(statistics, some, [], None, Options(strata=""))
    with pytest.raises(HarnessError, match="stats.strata=topic: the example '0' has no such field; its fields: domain"):
        estimated(statistics, some, [], None, Options(strata="topic"))
    run = harness.evaluate(["a", "b"] * 4, ["a"] * 8, ["rouge"], strata=["x", "y"] * 4, resamples=100)
    scored = run.scores["rouge1"]  # nothing varies within a stratum, which says little of so few
    assert (scored.estimate, scored.method) == (0.5, "agresti-coull")
    assert scored.low is not None and scored.high is not None and 0.1 < scored.low < 0.3 < 0.7 < scored.high < 0.9
