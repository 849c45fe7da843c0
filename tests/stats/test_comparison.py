"""Paired tests: identical systems, false alarms, power, exact enumeration, correction over the family."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pyarrow as pa
import pytest
import sacrebleu
import scipy.stats
import statsmodels.stats.multitest
from sacrebleu.significance import PairedTest

import harness
from harness.analysis.comparing.study import study
from harness.metrics.rouge import Rouge
from harness.stats.comparing import comparison
from harness.stats.expansion import Expansion
from harness.stats.options import ComparisonOptions
from harness.testing import CannedMetric
from harness.types import Array, Batch, HarnessError, Metric, RunResult, Signature, Statistics

REFERENCES = [[f"w{i} w{i + 1} w{i + 2} w{i + 3}"] for i in range(12)]


class Given(CannedMetric):
    """Outputs are numbers; the score is their mean."""

    name, score_names = "given", ("given",)


class Lower(Given):
    higher_is_better = False


def run(values: object, name: str, metric: Metric | None = None, clusters: list[object] | None = None) -> RunResult:
    """A run whose examples score these values."""
    metric = metric or Given()
    outputs = [str(value) for value in np.asarray(values)]
    rows = metric.statistics(Batch(outputs, []))
    n = len(rows)
    table = pa.table({"id": [str(i) for i in range(1, n + 1)], "repeat": [0] * n})
    if clusters is not None:
        table = table.append_column("cluster", pa.array(clusters))
    statistics = Statistics.of(metric, rows, Signature({}, metric.provenance()), "")
    return RunResult(
        name,
        "memory",
        str(n),
        name,
        {},
        {metric.name: statistics},
        lambda: table,
        0,
        None if clusters is None else "cluster",
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
    least = 1 / 1000 if test == "randomization" else Expansion.of(np.arange(80), np.array([80])).p_value(1 / 1000)
    assert row.p_value == pytest.approx(least)
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
    assert harness.compare([a, dataclasses.replace(a, name="same")], test=test, resamples=400)[0].p_value == 1


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
        HarnessError, match=r"c and a are runs on different data: c has 19 examples .* 1 id not in both \('20'\)"
    ):
        harness.compare([a, b, other])
    with pytest.raises(HarnessError, match="1 run given; expected at least 2"):
        harness.compare([a])
    with pytest.raises(HarnessError, match="test=magic; expected one of bootstrap, randomization"):
        harness.compare([a, b], test="magic")
    with pytest.raises(HarnessError, match="share 1 example with given scores; expected at least 2 to compare"):
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
    assert "given of a and b were made with different versions" in caplog.text


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_one_sided(test: str) -> None:
    rng = np.random.default_rng(4)
    base = rng.random(60)
    a, b = run(base, "a"), run(base + rng.normal(0.03, 0.1, 60), "b")
    two, better, worse = (
        harness.compare([a, b], test=test, resamples=4000, alternative=side)[0]
        for side in ("two-sided", "better", "worse")
    )
    assert better.p_value == pytest.approx(two.p_value / 2, abs=0.01)  # type: ignore[operator]
    assert better.p_value + worse.p_value == pytest.approx(1, abs=0.01)  # type: ignore[operator]
    assert two.p_value == pytest.approx(scipy.stats.ttest_rel(base + 0, _values(b)).pvalue, abs=0.02)
    lower = [run(base, "a", Lower()), run(_values(b), "b", Lower())]
    mirrored = harness.compare(lower, test=test, resamples=4000, alternative="worse")[0]
    assert mirrored.p_value == better.p_value


def _values(result: RunResult) -> Array:
    return np.asarray(result.statistics["given"].rows[:, 0])


def test_cross_checks_are_scipys() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.random(50), rng.random(50)
    row = harness.compare([run(a, "a"), run(b, "b")], resamples=200, cross_check=True)[0]
    assert row.p_t == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue)
    assert row.p_wilcoxon == pytest.approx(scipy.stats.wilcoxon(b - a, method="approx").pvalue)
    assert harness.compare([run(a, "a"), run(b, "b")], resamples=200)[0].p_t is None
    same = harness.compare([run(a, "a"), run(a, "b")], resamples=200, cross_check=True)[0]
    assert (same.p_t, same.p_wilcoxon) == (1.0, 1.0)
    bleu = [harness.evaluate(["a b", "c d"], ["a b", "c e"], ["bleu"], resamples=0, name=n) for n in "ab"]
    assert harness.compare(bleu, resamples=200, cross_check=True)[0].p_t is None  # corpus BLEU is no mean
    clustered = [run(values, name, clusters=list(range(25)) * 2) for values, name in ((a, "a"), (b, "b"))]
    assert harness.compare(clustered, resamples=200, cross_check=True)[0].p_t is None  # examples depend on each other


def test_effect_size_and_shares() -> None:
    rng = np.random.default_rng(4)
    base = rng.random(400)
    gains = rng.normal(0.05, 0.1, 400)
    gains[:100] = 0
    row = harness.compare([run(base, "a"), run(base + gains, "b")], resamples=4000)[0]
    assert row.effect_size == pytest.approx(gains.mean() / gains.std(), rel=0.05)
    assert row.standard_error == pytest.approx(gains.std() / 20, rel=0.05)
    assert row.tied == 0.25
    assert row.won == (gains > 0).mean()
    assert row.lost == (gains < 0).mean()
    lower = harness.compare([run(base, "a", Lower()), run(base + gains, "b", Lower())], resamples=200)[0]
    assert (lower.won, lower.lost) == (row.lost, row.won)
    same_gain = harness.compare([run(base, "a"), run(base + 0.1, "b")], resamples=200)[0]
    assert same_gain.effect_size is None  # a spread of last bits is none


@pytest.mark.parametrize("method", ["percentile", "basic", "bca", "normal"])
def test_intervals_of_the_difference(method: str) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.exponential(size=60), rng.exponential(size=60)
    row = harness.compare([run(a, "a"), run(b, "b")], resamples=20_000, method=method)[0]
    if method == "normal":
        error = 1.96 * (b - a).std() / np.sqrt(60)
        expected = ((b - a).mean() - error, (b - a).mean() + error)
    else:
        theirs = {"percentile": "percentile", "basic": "basic", "bca": "BCa"}[method]
        interval = scipy.stats.bootstrap(
            (b - a,), np.mean, method=theirs, n_resamples=20_000, rng=np.random.default_rng(1)
        )
        expected = tuple(interval.confidence_interval)
    assert (row.low, row.high) == pytest.approx(expected, abs=0.02)


def test_a_family_of_chosen_scores() -> None:
    outputs = [[references[0] for references in REFERENCES], [f"w{i} x" for i in range(12)]]
    runs = [harness.evaluate(o, REFERENCES, ["lexical"], resamples=0, name=str(i)) for i, o in enumerate(outputs)]
    everything = harness.compare(runs, resamples=300)
    rows = harness.compare(runs, resamples=300, scores=["bleu", "rougeL"])
    assert [row.score for row in rows] == ["bleu", "rougeL"]
    assert all(row in [r.score for r in everything] for row in ("bleu", "rougeL"))
    with pytest.raises(
        HarnessError,
        match=r"no run has the score 'blue' \(did you mean 'bleu'\?\); expected one of bleu, rouge1, rouge2",
    ):
        harness.compare(runs, scores=["blue"])
    with pytest.raises(HarnessError, match=r"bleu\.bp is a sub-score, which gets an interval only; expected bleu"):
        harness.compare(runs, scores=["bleu.bp"])
    for option in ("method", "alternative", "correction"):
        with pytest.raises(HarnessError, match=f"{option}=magic; expected one of"):
            harness.compare(runs, **{option: "magic"})  # type: ignore[arg-type]


def test_a_score_that_one_of_the_runs_lacks() -> None:
    outputs = [references[0] for references in REFERENCES]
    metrics = {"a": ["bleu"], "b": ["bleu", "chrf"], "c": ["bleu", "chrf"]}
    a, b, c = (harness.evaluate(outputs, REFERENCES, some, resamples=0, name=name) for name, some in metrics.items())
    expected = r"^a has no chrf; expected it in every run: harness score a 'metrics=\[chrf\]' adds it$"
    with pytest.raises(HarnessError, match=expected):
        harness.compare([a, b], resamples=50, scores=["chrf"])
    with pytest.raises(HarnessError, match=expected):
        study([a, b], options=ComparisonOptions(resamples=50, scores=("chrf",)))
    with pytest.raises(HarnessError, match=expected):
        harness.compare([b, c], baseline=a, resamples=50, scores=["chrf"])
    assert [(row.baseline, row.system) for row in harness.compare([a, b, c], resamples=50, scores=["chrf"])] == [
        ("b", "c")
    ]


def test_what_runs_with_other_lists_of_scores_share_is_compared(caplog: pytest.LogCaptureFixture) -> None:
    random = np.random.default_rng(3)
    words = [random.choice(list("abcdefgh"), 12) for _ in range(30)]
    references = [[" ".join(each)] for each in words]
    lists = {"a": ["rouge1", "rouge2"], "b": ["rougeL", "rouge2"], "c": ["rouge2"]}
    runs = [
        harness.evaluate(
            [" ".join(random.permutation(each)) for each in words], references, [{"rouge": {"types": types}}],
            resamples=0, name=name,
        )
        for name, types in lists.items()
    ]  # fmt: skip
    (row,) = harness.compare(runs[:2], resamples=50)
    assert row.score == "rouge2" and "not in all of 'a', 'b', so not compared: rouge1, rougeL" in caplog.text
    assert row.difference == pytest.approx(runs[1].scores["rouge2"].estimate - runs[0].scores["rouge2"].estimate)
    assert [each.score for each in harness.compare(runs, resamples=50)] == ["rouge2"] * 3
    with pytest.raises(HarnessError, match="^'b', 'c' have no rouge1; expected it in every run$"):
        harness.compare(runs, resamples=50, scores=["rouge1"])
    other = harness.evaluate(["a"] * 30, references, [{"rouge": {"types": ["rouge3"]}}], resamples=0, name="d")
    with pytest.raises(HarnessError, match=r"defined differently \(scores: rouge2, .* and rouge3, "):
        harness.compare([runs[2], other], resamples=50)


def test_no_number_of_examples_shows_a_difference_in_the_untested_direction() -> None:
    values = np.random.default_rng(0).random(60)
    for metric, tested, untested in ((Given(), "better", "worse"), (Lower(), "worse", "better")):
        runs = [run(values, "a", metric), run(values[::-1] + 0.1, "b", metric)]
        shown, not_shown = (harness.compare(runs, alternative=side, resamples=200)[0] for side in (tested, untested))
        assert shown.needed is not None and shown.needed > 2
        assert (not_shown.needed, not_shown.verdict) == (None, "not distinguishable")


def test_corrections_by_choice(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(8)
    base = rng.random(100)
    runs = [run(base, "a"), *(run(base + rng.normal(shift, 0.1, 100), f"b{shift}") for shift in (0.0, 0.02, 0.03))]
    by_correction = {c: harness.compare(runs, resamples=2000, correction=c) for c in ("none", "max-t", "holm", "bh")}
    plain = [row.p_value for row in by_correction["none"]]
    assert [row.p_adjusted for row in by_correction["none"]] == plain
    for correction, theirs in (("holm", "holm"), ("bh", "fdr_bh")):
        expected = statsmodels.stats.multitest.multipletests(plain, method=theirs)[1]
        assert [row.p_adjusted for row in by_correction[correction]] == pytest.approx(expected)
    assert all(
        t.p_adjusted <= h.p_adjusted + 0.01 for t, h in zip(by_correction["max-t"], by_correction["holm"], strict=True)
    )  # type: ignore[operator]
    assert "Holm's smallest possible p" not in caplog.text
    harness.compare(runs, resamples=50, correction="holm")
    assert "Holm's smallest possible p for 6 hypotheses and 50 resamples is 0.118, above 0.05" in caplog.text


def test_the_average_over_data_sets_has_its_own_test() -> None:
    """Two sets on which b is ahead by as much: apart not distinguishable, together they are."""
    rng = np.random.default_rng(3)
    groups, gains = [], []
    for dataset in ("one", "two"):
        base, gain = rng.random(60), rng.normal(0, 0.1, 60)
        gain = 0.024 + 0.1 * (gain - gain.mean()) / gain.std()  # z = 1.86 in each, 2.6 together
        gains.append(gain)
        for name, values in (("a", base), ("b", base + gain)):
            groups.append(_on(dataset, name, values))
    rows = harness.compare(groups, resamples=4000, correction="none")
    assert [row.dataset for row in rows] == ["one", "two"]
    assert [row.verdict for row in rows] == ["not distinguishable"] * 2
    (macro,) = rows.macro
    assert (macro.dataset, macro.baseline, macro.system, macro.n) == ("average of 2 data sets", "a", "b", 120)
    assert macro.difference == pytest.approx(0.024)
    assert macro.standard_error == pytest.approx(np.sqrt(sum(g.var() / 60 for g in gains)) / 2, rel=0.1)
    assert macro.verdict == "better"
    one_set = harness.compare(groups[:2], resamples=200)
    assert one_set.macro == []


def _on(dataset: str, system: str, values: Array) -> RunResult:
    result = run(values, f"{dataset}-{system}")
    return dataclasses.replace(result, dataset=dataset, dataset_key=dataset, system=system)


def test_several_outputs_of_an_example_are_averaged() -> None:
    """Units are examples, in whatever order the rows are, and one system may have more outputs than the other."""
    rng = np.random.default_rng(3)
    base = np.repeat(rng.random(40), 3)

    def repeated(values: Array, name: str, order: Array | None = None) -> RunResult:
        result = run(values, name)
        table = result.examples.assign(id=[str(i // 3) for i in range(120)], repeat=[i % 3 for i in range(120)])
        result = dataclasses.replace(result.with_examples(table), dataset_key="same")
        if order is not None:
            part = result.statistics["given"]
            statistics = {"given": part.with_rows(part.rows[order])}
            result = dataclasses.replace(result.with_examples(table.iloc[order]), statistics=statistics)
        return result

    b = base + rng.normal(0.05, 0.1, 120)
    row = harness.compare([repeated(base, "a"), repeated(b, "b")], resamples=1000)[0]
    assert (row.n, row.unit) == (40, "examples")
    shuffled = harness.compare([repeated(base, "a"), repeated(b, "b", rng.permutation(120))], resamples=1000)[0]
    assert shuffled == row
    averages = b.reshape(40, 3).mean(1)

    def once(values: Array, name: str) -> RunResult:
        result = run(values, name)
        table = result.examples.assign(id=[str(i) for i in range(40)])
        return dataclasses.replace(result.with_examples(table), dataset_key="same")

    for test in ("bootstrap", "randomization"):
        options = {"resamples": 1000, "test": test, "cross_check": True}
        several = harness.compare([once(base[::3], "c"), repeated(b, "b")], **options)[0]
        single = harness.compare([once(base[::3], "c"), once(averages, "b")], **options)[0]
        same = ("difference", "low", "high", "p_value", "won", "p_t", "effect_size")
        assert [getattr(several, name) for name in same] == pytest.approx([getattr(single, name) for name in same])


def test_agrees_with_sacrebleu_run_live() -> None:
    """Approximate randomisation: the same p within the Monte Carlo error of both."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(30)]
    references = [" ".join(rng.choice(words, 14)) for _ in range(120)]
    drop = [[" ".join(w for w in r.split() if rng.random() < keep) for r in references] for keep in (0.85, 0.83)]
    runs = [harness.evaluate(o, references, ["bleu", "chrf"], resamples=0, name=str(i)) for i, o in enumerate(drop)]
    ours = {row.score: row for row in harness.compare(runs, test="randomization", resamples=4000)}
    metrics = {"BLEU": sacrebleu.BLEU(), "chrF2": sacrebleu.CHRF()}
    named = [(str(i), outputs) for i, outputs in enumerate(drop)]
    theirs = PairedTest(named, metrics, [references], "ar", 4000)()[1]
    for score, name in (("bleu", "BLEU"), ("chrf", "chrF2")):
        p = theirs[name][1].p_value
        assert 0.02 < p < 0.9
        assert ours[score].p_value == pytest.approx(p, abs=4 * np.sqrt(2 * p * (1 - p) / 4000))


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_what_does_not_fit_into_memory_is_compared_just_so(test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one go, and a sample at a time with all draws in a file."""
    rng = np.random.default_rng(5)
    runs = [run(rng.normal(i / 10, 1, 40), f"s{i}") for i in range(4)]
    runs[1].statistics["given"].rows[3] = np.nan  # pairs with it leave out another example
    runs[2].statistics["given"].rows[5] = np.nan
    expected = harness.compare(runs, test=test, resamples=300)
    monkeypatch.setattr("harness.stats.spilled.MEMORY", 0)
    monkeypatch.setattr("harness.stats.resampling.CELLS", 1)
    monkeypatch.setattr("harness.stats.resampling.COLUMNS", 1)
    steps: list[int] = []
    pairs = [(a, b) for i, a in enumerate(runs) for b in runs[i + 1 :]]
    rows = comparison.compare([pairs], ComparisonOptions(test=test, resamples=300), steps.append)
    assert [dataclasses.replace(row, dataset="memory") for row in rows] == list(expected)
    assert sum(steps) == 300


def test_no_room_for_draws_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**options: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("harness.stats.spilled.MEMORY", 0)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(HarnessError) as error:
        harness.compare([run([1.0, 2.0], "a"), run([1.0, 3.0], "b")], resamples=50)
    assert "has no room for the resamples of so many systems (No space left on device); expected more" in str(
        error.value
    )
