"""The Python interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu

import harness
from harness.metrics.bleu import Bleu
from harness.metrics.rouge import Rouge
from harness.types import HarnessError, RunResult
from tests.conftest import BAD, GOOD, ROWS, Called

REFERENCES = [row["references"] for row in ROWS]


def test_evaluate() -> None:
    result = harness.evaluate(outputs=GOOD, references=REFERENCES, metrics=["bleu", "rouge"], resamples=500)
    streams = [[refs[i] for refs in REFERENCES] for i in range(2)]
    bleu = result.scores["bleu"]
    assert bleu.estimate == pytest.approx(sacrebleu.corpus_bleu(GOOD, streams).score)
    assert bleu.low is not None and bleu.high is not None and bleu.low <= bleu.estimate <= bleu.high
    assert bleu.headline
    assert not result.scores["bleu.p1"].headline
    assert list(result.examples["output"]) == GOOD
    assert result.statistics["bleu"].rows.shape == (4, 14)


def test_metrics_by_name_options_and_object() -> None:
    result = harness.evaluate(GOOD, REFERENCES, [{"bleu": {"tokenize": "char"}}, Rouge(["rougeL"])], resamples=0)
    assert "tok:char" in result.scores["bleu"].signature
    assert set(result.statistics) == {"bleu", "rouge"}
    assert result.scores["rougeL"].low is None
    assert set(harness.evaluate(GOOD, REFERENCES, "lexical", resamples=0).statistics) == {"bleu", "rouge"}
    by_character = harness.evaluate(GOOD, REFERENCES, {"bleu": {"tokenize": "char"}}, resamples=0)
    assert "tok:char" in by_character.scores["bleu"].signature
    assert set(harness.evaluate(GOOD, REFERENCES, Rouge(["rougeL"]), resamples=0).statistics) == {"rouge"}


def test_one_reference_as_a_string_and_null_references() -> None:
    single = harness.evaluate(["a b"], ["a b"], ["rouge"], resamples=0)
    assert single.scores["rougeL"].estimate == 1
    two = harness.evaluate(["a b"], [["x", None, "a b"]], ["rouge"], resamples=0)  # type: ignore[list-item]
    assert two.scores["rougeL"].estimate == 1


def test_no_references_where_no_metric_needs_them() -> None:
    assert harness.evaluate(["a b a"], metrics=["distinct"], resamples=0).scores["distinct1"].estimate == 2 / 3


def test_ids_are_texts_or_whole_numbers_of_any_kind() -> None:
    result = harness.evaluate(["a", "b", "c"], ["a", "b", "c"], "rouge", ids=[7, np.int64(8), "ü"], resamples=0)
    assert list(result.examples["id"]) == ["7", "8", "ü"]


def test_options_of_ones_own_stay_beside_a_suite_and_a_name_has_one_choice() -> None:
    def bleu(*metrics: Any) -> float | None:
        return harness.evaluate(GOOD, REFERENCES, metrics, resamples=0).scores["bleu"].estimate

    own = {"bleu": {"tokenize": "char"}}
    assert bleu("lexical", own) == bleu(own, "lexical") == bleu(own) != bleu("lexical")
    assert bleu("bleu", {"bleu": {}}, "bleu") == bleu("bleu")
    for first, second in ((own, "bleu"), ("bleu", own), (own, {"bleu": {"tokenize": "zh"}}), (own, Bleu())):
        with pytest.raises(HarnessError, match="metrics has 'bleu' twice, with different options; expected one, or a"):
            bleu(first, second)
    named = {"bleu_char": {"_target_": "harness.metrics.bleu.Bleu", "tokenize": "char"}}
    scores = harness.evaluate(GOOD, REFERENCES, ["bleu", named], resamples=0).scores
    assert scores["bleu_char"].estimate == bleu(own) and scores["bleu"].estimate == bleu("bleu")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"outputs": [], "references": []}, "outputs is empty"),
        ({"outputs": ["a"], "references": []}, "references has 0 items; expected 1, one for each output"),
        ({"outputs": ["a", "b"], "references": ["a", "b"], "sources": ["x"]}, "sources has 1 item; expected 2"),
        ({"outputs": [None], "references": ["a"]}, r"outputs\[0\]: 'output' is null; expected a string"),
        ({"outputs": "ab", "references": ["a", "b"]}, "outputs is a string; expected a list"),
        ({"outputs": ["a", "b"], "references": ["a", "b"], "sources": "ab"}, "sources is a string; expected a list"),
        ({"outputs": None}, "outputs is None; expected a list"),
        ({"outputs": 5}, "outputs is 5; expected a list"),
        ({"outputs": ["a"]}, "1 of 1 examples has no references"),
        ({"outputs": ["a"], "references": [{"b": 1}]}, r"references\[0\] is dict {'b': 1}; expected a list of strings"),
        ({"outputs": ["a"], "references": [5]}, r"references\[0\] is int 5; expected a list of strings"),
        (
            {"outputs": ["a"], "references": ["a"], "ids": [None]},
            r"ids\[0\]: 'id' is null; expected a non-empty string",
        ),
        ({"outputs": ["a"], "references": ["a"], "ids": [1.5]}, r"ids\[0\]: 'id' is float '1.5'; expected a non-empty"),
        ({"outputs": ["a"], "references": ["a"], "ids": [""]}, r"ids\[0\]: 'id' is ''; expected a non-empty string"),
        ({"outputs": ["a"], "references": ["a"], "level": "0.95"}, "level='0.95'; expected a number"),
        ({"outputs": ["a"], "references": ["a"], "seed": None}, "seed=None; expected a whole number"),
        ({"outputs": ["a"], "references": ["a"], "resamples": 1e4}, "resamples=10000.0; expected a whole number"),
        ({"outputs": ["a"], "references": ["a"], "metrics": None}, "metrics has None; expected a name"),
        ({"outputs": ["a"], "references": ["a"], "metrics": [["bleu"]]}, r"metrics has \['bleu'\]; expected a name"),
        ({"outputs": ["a"], "references": ["a"], "metrics": {"bleu": "zh"}}, "metrics.bleu is 'zh'; expected its opt"),
        (
            {"outputs": ["a"], "references": ["a"], "sources": ["\ud800"]},
            r"sources\[0\]: 'source' holds a lone surrogate",
        ),
        ({"outputs": ["a"], "references": [None]}, "1 of 1 examples has no references"),
        ({"outputs": ["a"], "references": [[]]}, "1 of 1 examples has no references"),
        ({"outputs": ["a"], "references": ["a"], "metrics": ["bluer"]}, "the metric 'bluer' is not known"),
        ({"outputs": ["a"], "references": ["a"], "metrics": []}, "metrics is empty"),
        (
            {"outputs": ["a"], "references": ["a"], "metrics": [{"bleu": {"tok": 1}}]},
            "metrics.bleu.tok is not an option",
        ),
        (
            {"outputs": ["a"], "references": ["a"], "metrics": [{"lexical": {}}]},
            "'lexical' is a suite and takes no options",
        ),
    ],
)
def test_bad_arguments(arguments: dict[str, object], expected: str) -> None:
    with pytest.raises(harness.HarnessError, match=expected):
        harness.evaluate(**{"metrics": ["bleu"], **arguments})  # type: ignore[arg-type]


def test_load_and_compare(files: Path, cli: Callable[..., Called]) -> None:
    arguments = (
        "run",
        "dataset=file",
        "dataset.path=dev.jsonl",
        "system=predictions",
        "metrics=lexical",
        "tracking=none",
    )
    for name in ("good", "bad"):
        assert cli(*arguments, f"system.path={name}.jsonl").code == 0
    run_a, run_b = harness.load_run("dev-bad"), harness.load_run("dev-good")
    assert run_b.path is not None
    assert harness.load_run(run_b.path).scores == run_b.scores
    fresh = harness.evaluate(GOOD, REFERENCES, ["lexical"])
    assert run_b.scores == fresh.scores
    assert np.array_equal(run_b.statistics["bleu"].rows, fresh.statistics["bleu"].rows)
    rows = harness.compare([run_a, run_b], baseline=run_a, resamples=500)
    assert {(row.baseline, row.system) for row in rows} == {("dev-bad", "dev-good")}
    memory = [
        harness.evaluate(o, REFERENCES, ["lexical"], name=n, ids=list("abcd"))
        for o, n in ((BAD, "bad"), (GOOD, "good"))
    ]
    assert [row.difference for row in harness.compare(memory, resamples=500)] == [row.difference for row in rows]


def test_runs_are_grouped_by_data(files: Path, cli: Callable[..., Called]) -> None:
    """Two data sets with two systems each: pairs within a data set only, the baseline found by its system."""
    (files / "test.jsonl").write_text((files / "dev.jsonl").read_text().replace("snow", "hail"))
    arguments = ("run", "--multirun", "dataset=file", "dataset.path=dev.jsonl,test.jsonl", "system=predictions")
    done = cli(*arguments, "system.path=good.jsonl,bad.jsonl", "metrics=bleu", "tracking=none")
    assert done.code == 0, done.err
    runs = [f"{data}-{system}" for data in ("dev", "test") for system in ("good", "bad")]
    rows = harness.compare(runs, baseline="dev-bad", resamples=200)
    assert [(row.dataset, row.baseline, row.system) for row in rows] == [
        ("dev", "dev-bad", "dev-good"), ("test", "test-bad", "test-good"),
    ]  # fmt: skip
    with pytest.raises(harness.HarnessError, match="different data"):
        harness.compare(runs[:3], baseline="dev-bad")
    other, base = (harness.evaluate(outputs, REFERENCES, ["bleu"]) for outputs in (BAD, GOOD))
    with pytest.raises(harness.HarnessError, match="has the baseline's name 'outputs' or system 'outputs'"):
        harness.compare([*runs, other], baseline=base)
    with pytest.raises(harness.HarnessError, match="one run given; expected a list"):
        harness.compare("dev-good")
    assert len(harness.compare(runs, resamples=200)) == 2


def test_the_baseline_is_found_among_runs_of_one_name() -> None:
    a, b = (harness.evaluate(o, REFERENCES, ["bleu"], resamples=0) for o in (BAD, GOOD))
    assert harness.compare([a, b], baseline=a, resamples=100)[0].difference > 0  # type: ignore[operator]
    row = harness.compare([a, b], baseline=b, resamples=100)[0]
    assert row.difference < 0  # type: ignore[operator]
    assert (row.baseline, row.system) == ("outputs 2", "outputs 1")


def test_runs_are_aligned_by_id() -> None:
    """The same data in another order is the same data."""
    order = [2, 0, 3, 1]
    a = harness.evaluate(BAD, REFERENCES, ["lexical"], resamples=0, ids=list("abcd"), name="a")
    b = harness.evaluate(GOOD, REFERENCES, ["lexical"], resamples=0, ids=list("abcd"), name="b")
    mixed = harness.evaluate(
        [GOOD[i] for i in order], [REFERENCES[i] for i in order], ["lexical"], resamples=0, ids=["abcd"[i] for i in order], name="b"
    )  # fmt: skip
    assert harness.compare([a, mixed], resamples=100) == harness.compare([a, b], resamples=100)


def test_estimates_of_a_comparison_are_of_the_shared_examples() -> None:
    a, b = (harness.evaluate(o, REFERENCES, ["rouge"], resamples=0, name=n) for o, n in ((BAD, "a"), (GOOD, "b")))
    a.statistics["rouge"].rows[0] = np.nan
    row = harness.compare([a, b], resamples=100)[0]
    assert row.system_estimate - row.baseline_estimate == pytest.approx(row.difference)  # type: ignore[operator]


def test_only_public_names_are_shown() -> None:
    assert dir(harness) == sorted(harness.__all__)
    assert all(getattr(harness, name) is not None for name in dir(harness))


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'evalute'"):
        harness.evalute  # noqa: B018


def test_columns_of_other_libraries() -> None:
    import datasets
    import pandas as pd
    import polars as pl

    plain = {"hyp": GOOD, "refs": REFERENCES, "src": [None, *(["text"] * (len(GOOD) - 1))]}
    expected = harness.evaluate(GOOD, REFERENCES, ["bleu"], plain["src"], resamples=0)
    for table in (pd.DataFrame(plain), pl.DataFrame(plain), datasets.Dataset.from_dict(plain), pl.DataFrame(plain).to_arrow()):  # fmt: skip
        result = harness.evaluate(table["hyp"], table["refs"], ["bleu"], table["src"], resamples=0)
        assert result.dataset_key == expected.dataset_key
        assert result.scores["bleu"].estimate == expected.scores["bleu"].estimate


def test_what_is_asked_of_runs_prints_short(two: tuple[RunResult, RunResult]) -> None:
    rows = harness.compare(list(two), resamples=100)
    assert "\n" not in repr(rows[0]) and len(repr(rows[0])) < 200
    assert f"{rows[0].system} against {rows[0].baseline}" in repr(rows[0]) and "BLEU" in repr(rows[0])
    asked = {
        "best": harness.best(two, resamples=100),
        "power": harness.power(two, resamples=100),
        "variance": harness.variance(two),
    }
    for name, answer in asked.items():
        assert "BLEU" in repr(answer) and "Best(" not in repr(answer), name
        assert answer._repr_html_().startswith("<table>") and len(answer.to_pandas()) == len(answer), name
    assert "with the same score" not in repr(asked["best"])
    twins = [harness.evaluate(GOOD, REFERENCES, ["bleu"], name=name, resamples=0) for name in ("one", "other")]
    assert "with the same score" in repr(harness.best(twins, resamples=100))


def test_a_wrong_kind_of_argument_is_named(two: tuple[RunResult, RunResult]) -> None:
    with pytest.raises(HarnessError, match="rankings of RunResult; expected comparisons"):
        harness.rankings(list(two))  # type: ignore[arg-type]
    with pytest.raises(HarnessError, match="is in memory only; expected a stored run"):
        harness.sweep(list(two))
    with pytest.raises(HarnessError, match="no run given; expected at least 2"):
        harness.compare([])
    with pytest.raises(HarnessError, match="margin bleu='x'; expected a number"):
        harness.compare(list(two), margins={"bleu": "x"})  # type: ignore[dict-item]
    assert harness.compare(list(two), scores="bleu").to_pandas().score.tolist() == ["bleu"]
    with pytest.raises(HarnessError, match=r"nofile\.md: No such file"):
        harness.verify("nofile.md")
    with pytest.raises(HarnessError, match="is no word; expected strings"):
        harness.run(["system=lead"])  # type: ignore[arg-type]
    with pytest.raises(HarnessError, match=r"the metric 'BLEU' is not known \(did you mean 'bleu'\?\)"):
        harness.evaluate(["a"], ["a"], ["BLEU"])
    assert (harness.run.__doc__ or "").startswith("`harness.run(")


@pytest.fixture(name="two", scope="module")
def two_fixture() -> tuple[RunResult, RunResult]:
    references = [["the cat sat on the mat", "a dog"], ["it rains today again"], ["dogs bark loudly at night"]] * 4
    good = [first[0] for first in references]
    bad = [text.replace("the", "a").replace("loudly", "") for text in good]
    a, b = (harness.evaluate(texts, references, ["bleu"], name=name, resamples=100) for texts, name in ((good, "good"), (bad, "bad")))  # fmt: skip
    return a, b
