"""Paired tests: identical systems, false alarms, power, exact enumeration, correction over the family."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import harness
from harness.metrics.rouge import Rouge
from harness.stats.comparison import max_t
from harness.types import Array, HarnessError, Metric, RunResult

REFERENCES = [[f"w{i} w{i + 1} w{i + 2} w{i + 3}"] for i in range(12)]


class Given(Metric):
    """Outputs are numbers; the score is their mean."""

    name, columns, score_names = "given", ("value", "count"), ("given",)

    def statistics(self, outputs, references, sources):  # type: ignore[no-untyped-def]
        return np.array([[float(text), 1.0] for text in outputs])

    def score(self, sums: Array) -> Array:
        return sums[..., :1] / sums[..., 1:]


class Lower(Given):
    higher_is_better = False


def run(values: object, name: str, metric: Metric | None = None, clusters: list[object] | None = None) -> RunResult:
    outputs = [str(value) for value in np.asarray(values)]
    return harness.evaluate(
        outputs, [["r"]] * len(outputs), [metric or Given()], resamples=0, name=name, clusters=clusters
    )


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_identical_systems_get_p_1(test: str) -> None:
    values = np.random.default_rng(0).random(50)
    row = harness.compare([run(values, "a"), run(values, "b")], test=test, resamples=500)[0]
    assert (row.difference, row.p_value, row.p_adjusted, row.verdict) == (0, 1, 1, "not distinguishable")


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_a_clear_difference(test: str) -> None:
    rng = np.random.default_rng(1)
    base = rng.random(80)
    rows = harness.compare([run(base, "a"), run(base + rng.normal(0.2, 0.1, 80), "b")], test=test, resamples=999)
    row = rows[0]
    assert (row.baseline, row.system, row.n, row.excluded, row.verdict) == ("a", "b", 80, 0, "better")
    assert row.p_value == pytest.approx(1 / 1000)
    assert row.low is not None and row.high is not None and 0 < row.low < row.difference < row.high  # type: ignore[operator]
    assert row.smallest_detectable is not None
    # the standard error of the mean difference times (1.96 + 0.84)
    assert row.smallest_detectable == pytest.approx(2.8 * 0.1 / np.sqrt(80), rel=0.2)


def test_lower_can_be_better() -> None:
    base = np.random.default_rng(1).random(40)
    assert (
        harness.compare([run(base, "a", Lower()), run(base - 0.3, "b", Lower())], resamples=500)[0].verdict == "better"
    )
    assert (
        harness.compare([run(base, "a", Lower()), run(base + 0.3, "b", Lower())], resamples=500)[0].verdict == "worse"
    )


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_false_alarms_at_the_stated_rate(test: str) -> None:
    """Pairs of equal quality are called different about 5 times in 100. sacreBLEU's rule (|d*| before centring) gives 11
    and forgetting the pairing, with outputs this correlated, about 0."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(300):
        shared = rng.normal(0, 1, 40)
        a, b = (run(shared + rng.normal(0, 0.3, 40), name) for name in "ab")
        alarms += harness.compare([a, b], test=test, resamples=199)[0].verdict != "not distinguishable"
    assert 0.02 <= alarms / 300 <= 0.095


def test_randomization_enumerates_small_n() -> None:
    a, b = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([1.5, 2.0, 3.7, 4.1, 5.9, 6.2])
    difference = abs((b - a).mean())
    signs = np.array(list(itertools.product([1, -1], repeat=6)))
    expected = np.mean(np.abs((signs * (b - a)).mean(1)) >= difference - 1e-12)
    row = harness.compare([run(a, "a"), run(b, "b")], test="randomization", resamples=1000)[0]
    assert row.p_value == pytest.approx(expected)


def test_bootstrap_p_value_by_its_definition() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(30), rng.random(30) + 0.1
    row = harness.compare([run(a, "a"), run(b, "b")], resamples=4000)[0]
    d = (b - a).mean()
    picks = rng.integers(0, 30, (20_000, 30))
    replicated = (b - a)[picks].mean(1)
    assert row.p_value == pytest.approx((1 + np.sum(np.abs(replicated - d) >= abs(d))) / 20_001, abs=0.02)
    assert (row.low, row.high) == pytest.approx(np.quantile(replicated, [0.025, 0.975]), abs=0.02)


def test_max_t_controls_the_family() -> None:
    """With 10 true null hypotheses the smallest adjusted p is below 0.05 in about 5 of 100 families."""
    rng = np.random.default_rng(2)
    alarms, plain = 0, 0
    for _ in range(300):
        nulls = rng.normal(size=(400, 10))
        seen = rng.normal(size=10)
        alarms += min(max_t(seen.tolist(), nulls)) <= 0.05
        plain += np.any((1 + (np.abs(nulls) >= np.abs(seen)).sum(0)) / 401 <= 0.05)
    assert 0.02 <= alarms / 300 <= 0.09
    assert plain / 300 > 0.3


def test_max_t_smallest_p_does_not_grow_with_the_family() -> None:
    nulls = np.random.default_rng(2).normal(size=(999, 200))
    adjusted = max_t([10.0] + [0.0] * 199, nulls)
    assert adjusted[0] == pytest.approx(1 / 1000)
    assert adjusted[1:] == pytest.approx([1.0] * 199)


def test_failed_examples_are_excluded_and_counted() -> None:
    rng = np.random.default_rng(9)
    base = rng.random(30)
    a, b = run(base, "a"), run(base + 0.2 + rng.normal(0, 0.01, 30), "b")
    b.statistics["given"].rows[4] = np.nan
    a.statistics["given"].rows[5] = np.nan
    row = harness.compare([a, b], resamples=500)[0]
    assert (row.n, row.excluded) == (28, 2)
    kept = np.delete(np.arange(30), [4, 5])
    expected = (b.statistics["given"].rows - a.statistics["given"].rows)[kept, 0].mean()
    assert row.difference == pytest.approx(expected)


def test_clusters_are_resampled_whole() -> None:
    rng = np.random.default_rng(7)
    clusters = np.repeat(np.arange(10), 8).tolist()
    base = rng.random(80)
    shifted = base + np.repeat(rng.normal(0.02, 0.05, 10), 8)
    alone = harness.compare([run(base, "a"), run(shifted, "b")], resamples=2000)[0]
    whole = harness.compare([run(base, "a", clusters=clusters), run(shifted, "b", clusters=clusters)], resamples=2000)[
        0
    ]
    assert (alone.n, alone.unit, whole.n, whole.unit) == (80, "examples", 10, "clusters by cluster")
    assert whole.difference == pytest.approx(alone.difference)
    assert whole.smallest_detectable > 2 * alone.smallest_detectable  # type: ignore[operator]


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_a_median_is_compared_like_everything_else(test: str) -> None:
    from tests.stats.test_resampling import Median

    rng = np.random.default_rng(3)
    lengths = rng.integers(20, 30, 40)
    a, b = (
        harness.evaluate(["x" * n for n in values], [["r"]] * 40, [Median()], resamples=0, name=name)
        for values, name in ((lengths, "a"), (lengths + rng.integers(2, 6, 40), "b"))
    )
    row = harness.compare([a, b], test=test, resamples=400)[0]
    assert row.verdict == "better"
    assert row.difference == np.median(b.statistics["median"].rows) - np.median(lengths)
    assert harness.compare([a, a.__class__(**{**a.__dict__, "name": "same"})], test=test, resamples=400)[0].p_value == 1


def test_all_pairs_or_a_baseline() -> None:
    rng = np.random.default_rng(7)
    runs = [run(rng.random(20), name) for name in "abc"]
    pairs = [(r.baseline, r.system) for r in harness.compare(runs, resamples=200)]
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    pairs = [(r.baseline, r.system) for r in harness.compare(runs, baseline=runs[1], resamples=200)]
    assert pairs == [("b", "a"), ("b", "c")]


def test_sub_scores_are_not_tested() -> None:
    outputs = [references[0] for references in REFERENCES]
    a = harness.evaluate(outputs, REFERENCES, [Rouge(["rouge1", "rougeL"])], resamples=0, name="a")
    b = harness.evaluate(outputs[::-1], REFERENCES, [Rouge(["rouge1", "rougeL"])], resamples=0, name="b")
    assert [row.score for row in harness.compare([a, b], resamples=200)] == ["rouge1", "rougeL"]


def test_refusals() -> None:
    values = np.random.default_rng(7).random(20)
    a, b = run(values, "a"), run(values, "b")
    other = run(values[:19], "c")
    with pytest.raises(
        HarnessError, match=r"c and a are runs on different data: c has 19 examples .* 1 ids differ \('20'\)"
    ):
        harness.compare([a, b, other])
    with pytest.raises(HarnessError, match="1 run given; expected at least 2"):
        harness.compare([a])
    with pytest.raises(HarnessError, match="the test 'magic' is not known"):
        harness.compare([a, b], test="magic")
    with pytest.raises(HarnessError, match="share 1 examples with given scores; expected at least 2 to compare"):
        harness.compare([run([1.0], "a"), run([2.0], "b")])
    stemmed, plain = (
        harness.evaluate(["x"] * 3, [["x"]] * 3, [Rouge(stemmer=stem)], resamples=0, name=str(stem))
        for stem in (True, False)
    )
    with pytest.raises(HarnessError, match=r"rouge of True and False are defined differently \(stem: porter and no\)"):
        harness.compare([stemmed, plain])
    bleu = harness.evaluate(["x"] * 3, [["x"]] * 3, ["bleu"], resamples=0)
    with pytest.raises(HarnessError, match=r"no metric in common \(rouge; bleu\)"):
        harness.compare([stemmed, bleu])


def test_other_versions_only_warn(caplog: pytest.LogCaptureFixture) -> None:
    class Newer(Given):
        def provenance(self) -> dict[str, str]:
            return {"version": "2"}

    values = np.random.default_rng(7).random(20)
    rows = harness.compare([run(values, "a"), run(values, "b", Newer())], resamples=200)
    assert rows[0].p_value == 1
    assert "given of a and b were made with other versions" in caplog.text
