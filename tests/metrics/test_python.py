"""Metrics by functions of the user's own, as files that a test writes."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
from harness.datasets.embedded import EmbeddedDataset
from harness.metrics.python import PythonMetric, number
from harness.systems.lead import Lead
from harness.types import Batch, HarnessError
from tests.conftest import BAD, GOOD, ROWS, Called

REFERENCES = [row["references"] for row in ROWS]
SOURCES = [row["source"] for row in ROWS]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "tracking=none")
Cli = Callable[..., Called]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """quality.py, in the folder the metric is called in, with a function `f` that returns an expression."""
    monkeypatch.chdir(tmp_path)

    def written(expression: str, name: str = "quality.py", more: str = "") -> Path:
        path = tmp_path / name
        path.write_text(f"{more}\ndef f(outputs, references, sources):\n    return {expression}\n", encoding="utf-8")
        return path

    return written


def values(metric: PythonMetric, outputs: list[str] = GOOD) -> list[list[float]]:
    rows = metric.statistics(Batch(outputs, REFERENCES[: len(outputs)], SOURCES[: len(outputs)]))
    assert rows.shape == (len(outputs), len(metric.columns))
    scores: list[list[float]] = metric.score_examples(rows).tolist()
    return scores


# ---------------------------------------------------------------- what a function gets and returns


def test_a_number_for_each_output(write: Callable[..., Path]) -> None:
    write("[len(o) + len(r) + s.count('.') for o, r, s in zip(outputs, references, sources, strict=True)]")
    result = harness.evaluate(GOOD, REFERENCES, {"python": {"function": "quality.py:f"}}, sources=SOURCES)
    expected = [len(o) + 2 + 1 for o in GOOD]
    score = result.scores["f"]
    assert list(result.scores) == ["f"]
    assert score.estimate == pytest.approx(np.mean(expected))
    student = scipy.stats.t.interval(0.95, len(expected) - 1, np.mean(expected), scipy.stats.sem(expected))
    assert (score.low, score.high) == pytest.approx(student, rel=0.01)  # of up to six examples
    assert result.examples["f"].tolist() == expected
    assert result.statistics["python"].rows.tolist() == [[value, 1.0] for value in expected]


def test_a_function_gets_lists(write: Callable[..., Path]) -> None:
    write("check(outputs, references, sources)", more="""
def check(outputs, references, sources):
    assert type(outputs) is type(references) is type(references[0]) is type(sources) is list
    assert (outputs, references, sources) == (["a"], [["b", "c"]], [None])
    return [1]
""")  # fmt: skip
    assert harness.evaluate(["a"], [("b", "c")], PythonMetric("quality.py:f"), resamples=0).scores["f"].estimate == 1


@pytest.mark.parametrize(
    "expression",
    ["[1, 0, 2.5, 4]", "(1, 0, 2.5, 4)", "np.array([1, 0, 2.5, 4], np.float32)", "(x for x in (1, 0, 2.5, 4))",
     "[True, False, 2.5, np.int8(4)]", "[np.array(1), 0, Fraction(5, 2), np.float64(4)]", "pd.Series([1, 0, 2.5, 4])",
     "{'f': [1, 0, 2.5, 4], 'more': None}", "[[1], [0], [2.5], [4]]", "np.array([[1], [0], [2.5], [4]])"],
)  # fmt: skip
def test_numbers_of_all_kinds(expression: str, write: Callable[..., Path]) -> None:
    write(expression, more="import numpy as np, pandas as pd\nfrom fractions import Fraction")
    assert values(PythonMetric("quality.py:f")) == [[1.0], [0.0], [2.5], [4.0]]


def test_tensors(write: Callable[..., Path]) -> None:
    pytest.importorskip("torch")
    write("torch.tensor([1, 0, 2.5, 4], requires_grad=True)", more="import torch")
    assert values(PythonMetric("quality.py:f")) == [[1.0], [0.0], [2.5], [4.0]]
    write("list(torch.tensor([1, 0, 2.5, 4], dtype=torch.bfloat16))", more="import torch")
    assert values(PythonMetric("quality.py:f")) == [[1.0], [0.0], [2.5], [4.0]]


@pytest.mark.parametrize(
    "expression",
    ["{'fluency': [1, 2, 3, 4], 'adequacy': np.array([4, 2, 0, 0])}", "[(1, 4), (2, 2), (3, 0), (4, 0)]",
     "np.array([[1, 4], [2, 2], [3, 0], [4, 0]])"],
)  # fmt: skip
def test_several_scores(expression: str, write: Callable[..., Path]) -> None:
    write(expression, more="import numpy as np")
    metric = PythonMetric("quality.py:f", name="judge", scores=["fluency", "adequacy"])
    result = harness.evaluate(GOOD, REFERENCES, metric, resamples=50)
    assert {name: score.estimate for name, score in result.scores.items()} == {"fluency": 2.5, "adequacy": 1.5}
    assert all(score.headline for score in result.scores.values())
    assert metric.columns == ("fluency", "adequacy", "count")
    sub = PythonMetric("quality.py:f", scores=["f1", "f1.precision"])
    write("{'f1': [1, 2, 3, 4], 'f1.precision': [4, 2, 0, 0]}")
    scores = harness.evaluate(GOOD, REFERENCES, sub, resamples=0).scores
    assert [(name, score.headline) for name, score in scores.items()] == [("f1", True), ("f1.precision", False)]


@pytest.mark.parametrize("missing", ["None", "float('nan')", "np.float32('nan')"])
def test_a_missing_score_is_missing_and_said(
    missing: str, write: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    write(f"[1, {missing}, 2, 6]", more="import numpy as np")
    result = harness.evaluate(GOOD, REFERENCES, PythonMetric("quality.py:f"), resamples=200)
    assert result.scores["f"].estimate == 3
    assert result.scores["f"].units == "3 examples"
    assert result.examples["f"].isna().tolist() == [False, True, False, False]
    assert np.isnan(result.statistics["f"].rows).tolist() == [[False] * 2, [True] * 2, [False] * 2, [False] * 2]
    assert "f gave no score for 1 of 4 outputs; they are left out" in caplog.text
    write("[None] * len(outputs)")
    none = harness.evaluate(GOOD, REFERENCES, PythonMetric("quality.py:f")).scores["f"]
    assert (none.estimate, none.low, none.note) == (None, None, "no example could be scored")


def test_one_of_several_missing(write: Callable[..., Path]) -> None:
    write("{'a': [1, 2, 3, 4], 'b': [1, None, 1, 1]}")
    result = harness.evaluate(GOOD, REFERENCES, PythonMetric("quality.py:f", scores=["a", "b"]), resamples=0)
    assert result.scores["a"].estimate == pytest.approx(8 / 3)
    assert result.examples["a"].isna().tolist() == result.examples["b"].isna().tolist() == [False, True, False, False]


@settings(max_examples=100)
@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=20))
def test_the_mean_of_random_numbers(numbers: list[float | None]) -> None:
    metric = PythonMetric("tests.metrics.test_python:given_numbers", needs_references=False)
    done: list[int] = []
    metric.advance = done.append  # type: ignore[method-assign, assignment]
    rows = metric.statistics(Batch([repr(x) for x in numbers], [[]] * len(numbers)))
    there = [x for x in numbers if x is not None]
    assert np.isnan(rows).tolist() == [[x is None] * 2 for x in numbers]
    if there:
        assert metric.score(np.nansum(rows, axis=0)).tolist() == pytest.approx([sum(there) / len(there)])
    assert metric.score_examples(rows)[:, 0].tolist() == pytest.approx(
        [np.nan if x is None else x for x in numbers], nan_ok=True
    )
    assert done == [len(numbers)]


def given_numbers(outputs: list[str], references: list[list[str]], sources: list[str | None]) -> list[float | None]:
    return [None if text == "None" else float(text) for text in outputs]


def test_shapes_and_options() -> None:
    metric = PythonMetric("no:where", higher_is_better=False, needs_references=False)
    assert metric.statistics(Batch([], [])).shape == (0, 2)  # nothing is loaded for nothing
    assert metric.score(np.ones((2, 3, 2))).shape == (2, 3, 1)
    assert np.isnan(metric.score(np.array([[np.nan, np.nan], [0.0, 0.0]]))).all()
    assert (metric.higher_is_better, metric.needs_references) == (False, False)


def test_references_are_not_needed_where_the_user_says_so(write: Callable[..., Path]) -> None:
    write("[len(o) for o in outputs]")
    with pytest.raises(HarnessError, match="examples has no references"):
        harness.evaluate(["a"], [[]], PythonMetric("quality.py:f"), resamples=0)
    free = PythonMetric("quality.py:f", needs_references=False)
    assert harness.evaluate(["a"], [[]], free, resamples=0).scores["f"].estimate == 1
    assert "nrefs" not in str(free.signature([["a"]]))


# ---------------------------------------------------------------- statistics with a score function

BLEU = """
import numpy as np
from sacrebleu.metrics import BLEU

def counts(outputs, references, sources):
    bleu = BLEU()
    return [bleu._extract_corpus_statistics([o], [[r] for r in refs])[0] for o, refs in zip(outputs, references)]

def score(sums):
    precisions = sums[:, 2:6] / sums[:, 6:10]
    brevity = np.exp(np.minimum(0, 1 - sums[:, 1] / sums[:, 0]))
    return 100 * brevity * np.exp(np.log(precisions).mean(axis=1))

def both(sums):
    return np.column_stack([score(sums), 100 * sums[:, 2] / sums[:, 6]])
"""
COLUMNS = ["sys_len", "ref_len", *(f"{kind}{n}" for kind in ("correct", "total") for n in range(1, 5))]


def test_a_corpus_score_is_corpus_bleu(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(BLEU)
    examples = list(EmbeddedDataset().examples())[:110]  # from 100 on, intervals of BLEU are quantiles
    outputs = [output.text or "" for output in Lead().generate(examples)]
    references = [list(example.references) for example in examples]
    place = tmp_path / "own.py"
    functions = PythonMetric(f"{place}:counts", "mine", columns=COLUMNS, score=f"{place}:score")
    two = PythonMetric(f"{place}:counts", "both", ["two", "two.p1"], COLUMNS, f"{place}:both")
    ours = {"bleu": {"smooth_method": "none"}}
    result = harness.evaluate(outputs, references, [functions, two, ours], resamples=500)
    streams = [[refs[i] for refs in references] for i in range(len(references[0]))]
    theirs = sacrebleu.corpus_bleu(outputs, streams, smooth_method="none")
    assert result.scores["mine"].estimate == pytest.approx(theirs.score)
    for name, same in (("mine", "bleu"), ("two", "bleu"), ("two.p1", "bleu.p1")):
        interval = [getattr(result.scores[name], key) for key in ("estimate", "low", "high")]
        assert interval == pytest.approx([getattr(result.scores[same], key) for key in ("estimate", "low", "high")])
    assert functions.score(np.ones((2, 3, 10))).shape == (2, 3, 1)
    assert two.score(np.ones(10)).shape == (2,)


def test_statistics_missing_and_as_a_mapping(tmp_path: Path) -> None:
    place = tmp_path / "own.py"
    place.write_text(
        "def rows(outputs, references, sources): return [None, [1, 4], [float('nan'), 1], (1, 1)]\n"
        "def named(outputs, references, sources): return {'right': [None, 1, None, 1], 'all': [1, 4, 1, 1]}\n"
        "def share(sums):\n    assert not (sums != sums).any()\n    return sums[:, 0] / sums[:, 1]\n"
    )
    for name in ("rows", "named"):
        metric = PythonMetric(f"{place}:{name}", columns=["right", "all"], score=f"{place}:share")
        result = harness.evaluate(GOOD, REFERENCES, metric, resamples=20)
        assert result.scores[name].estimate == pytest.approx(2 / 5)
        assert result.examples[name].isna().tolist() == [True, False, True, False]
    assert np.isnan(metric.score(np.full((2, 2), np.nan))).all()
    assert np.isnan(metric.score(np.zeros(2))).all()


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"function": "f"}, "'f' does not name a function; expected module:function or file.py:function"),
        ({"function": ":f"}, "':f' does not name a function; expected module:function or file.py:function"),
        ({"function": "???"}, "metrics.python.function is not set; expected metrics.python.function=…"),
        ({"function": "no_such:f"}, "the module no_such cannot be imported (ModuleNotFoundError: No module named 'no_such'); expected one found from the folder the command is called in, or an installed package"),
        ({"function": "nope.py:f"}, "nope.py does not exist; expected a Python file"),
        ({"function": "broken.py:f"}, "broken.py raised SyntaxError: '(' was never closed (broken.py, line 1)"),
        ({"function": "exits.py:f"}, "exits.py raised SystemExit: usage"),
        ({"function": "quality.py:g"}, "quality.py has no function 'g'; expected one of 'f'"),
        ({"function": "quality.py:x"}, "quality.py has no function 'x'; expected one of 'f'"),
        ({"function": "quality.py:f", "name": "a:b"}, "the score name 'a:b'; expected letters"),
        ({"function": "quality.py:f", "scores": ["a.b"]}, "the scores [a.b] of f; expected one without a dot: only those are compared"),
        ({"function": "quality.py:f", "scores": ["a", "a"]}, "f has the columns a, a; expected distinct names"),
        ({"function": "quality.py:f", "scores": ["count"]}, "f has the columns count, count; expected distinct names"),
        ({"function": "quality.py:f", "scores": "a"}, "metrics.python.scores is 'a'; expected a list of texts or null"),
        ({"function": "quality.py:f", "columns": ["a"]}, "f has columns and no score; expected both: columns=[…] names"),
        ({"function": "quality.py:f", "score": "a:b", "columns": []}, "f has a score and no columns; expected both: columns=[…] names"),
        ({"function": "quality.py:f", "score": "a:b"}, "f has a score and no columns; expected both: columns=[…] names"),
        ({"function": "quality.py:f", "columns": ["a"], "score": "quality.py:g"}, "quality.py has no function 'g'"),
        ({}, "metrics.python.function is not set"),
    ],
)  # fmt: skip
def test_options(options: dict[str, Any], expected: str, write: Callable[..., Path]) -> None:
    write("[1] * len(outputs)", more="x = 3")
    Path("broken.py").write_text("f(")
    Path("exits.py").write_text("raise SystemExit('usage')")
    with pytest.raises(HarnessError) as raised:
        harness.evaluate(GOOD, REFERENCES, {"python": options}, resamples=0)
    assert expected in str(raised.value).replace(f"{Path.cwd()}/", "")
    assert not [name for name in sys.modules if name.startswith(("broken_", "exits_"))]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[1, 2, 3]", "quality.py:f returned 3 values; expected 4 numbers, one for each output"),
        ("0.5", "quality.py:f returned float '0.5'; expected 4 numbers, one for each output"),
        ("None", "quality.py:f returned None; expected 4 numbers"),
        ("'abcd'", "quality.py:f returned str 'abcd'; expected 4 numbers"),
        ("{1, 2, 3, 4}", "quality.py:f returned set '{1, 2, 3, 4}'; expected 4 numbers"),
        ("[1, '2', 3, 4]", "quality.py:f, value 2, is str '2'; expected a finite number, or null where there is no score"),
        ("[1, 2, 3, float('inf')]", "quality.py:f, value 4, is float 'inf'; expected a finite number"),
        ("[1, 2, 3, 10 ** 400]", "quality.py:f, value 4, is int '1000000000000000000000000000000000000000'; expected a finite"),
        ("[1, 2, 3, 1j]", "quality.py:f, value 4, is complex '1j'; expected a finite number"),
        ("[1, 2, 3, {'f': 1}]", "quality.py:f, value 4, is dict \"{'f': 1}\"; expected a finite number"),
        ("[1, 2, 3, [4, 5]]", "quality.py:f, value 4, is list '[4, 5]'; expected 1 number (f)"),
        ("{'g': [1, 2, 3, 4]}", "quality.py:f returned a mapping of 'g'; expected f"),
        ("{}", "quality.py:f returned a mapping of nothing; expected f"),
        ("{'f': [1]}", "quality.py:f, f, returned 1 value; expected 4 numbers, one for each output"),
        ("{'f': [1, 2, 3, 'x']}", "quality.py:f, value 4, is str 'x'; expected a finite number"),
        ("1 / 0", "quality.py:f raised ZeroDivisionError: division by zero"),
        ("exit(3)", "quality.py:f raised SystemExit: 3"),
        ("(1 / (2 - i) for i in range(4))", "quality.py:f raised ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_results(expression: str, expected: str, write: Callable[..., Path]) -> None:
    write(expression)
    with pytest.raises(HarnessError) as raised:
        harness.evaluate(GOOD, REFERENCES, PythonMetric("quality.py:f"), resamples=0)
    assert str(raised.value).startswith(expected)


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [
        ("sums[0] / sums[1]", "quality.py:g of sums (4, 2) has shape (2,); expected (4,)"),
        ("sums[:, :2]", "quality.py:g of sums (4, 2) has shape (4, 2); expected (4,)"),
        ("sums[7]", "quality.py:g of sums (4, 2) raised IndexError: index 7 is out of bounds"),
        ("'abc'", "quality.py:g of sums (4, 2) raised ValueError: could not convert string to float"),
    ],
)
def test_results_of_score_functions(scoring: str, expected: str, write: Callable[..., Path]) -> None:
    write("[[1, 2]] * len(outputs)", more=f"def g(sums):\n    return {scoring}\n")
    metric = PythonMetric("quality.py:f", columns=["a", "b"], score="quality.py:g")
    with pytest.raises(HarnessError) as raised:
        metric.score_examples(metric.statistics(Batch(GOOD, REFERENCES, SOURCES)))
    assert str(raised.value).startswith(expected)
    two = PythonMetric("quality.py:f", scores=["x", "y", "z"], columns=["a", "b"], score="quality.py:g")
    write("[1] * len(outputs)", more="def g(sums):\n    return sums[:, 0]\n")
    with pytest.raises(HarnessError, match=r"has shape \(1,\); expected \(1, 3\): x, y, z"):
        two.score(np.ones(2))
    with pytest.raises(HarnessError, match=r"quality.py:f, value 1, is int '1'; expected 2 numbers \(a, b\)"):
        two.statistics(Batch(GOOD, REFERENCES, SOURCES))


def test_numbers() -> None:
    assert number(3, "x") == 3.0 and number(True, "x") == 1.0 and np.isnan(number(None, "x"))
    with pytest.raises(HarnessError, match="x is float '-inf'; expected a finite number"):
        number(float("-inf"), "x")


# ---------------------------------------------------------------- identity


def signature(metric: PythonMetric) -> str:
    return str(metric.signature(REFERENCES))


def test_the_signature_knows_code_and_revision(write: Callable[..., Path], tmp_path: Path) -> None:
    def seen(**options: Any) -> str:
        return signature(PythonMetric("quality.py:f", **options))

    write("[1] * len(outputs)")
    first = seen()
    assert first.startswith("nrefs:2|function:f|code:") and len(first) == len("nrefs:2|function:f|code:") + 8
    assert seen(name="other", higher_is_better=False) == first == seen()
    assert seen(revision="2") == f"{first}|revision:2"
    write("[2] * len(outputs)")  # in the same second, of the same length
    assert seen() != first
    assert values(PythonMetric("quality.py:f")) == [[2.0]] * 4
    write("[1] * len(outputs)")
    assert seen() == first
    (tmp_path / "elsewhere").mkdir()
    write("[1] * len(outputs)", "elsewhere/quality.py")
    assert signature(PythonMetric("elsewhere/quality.py:f")) == first  # code is what it is wherever it is
    write("[1] * len(outputs)", more="def g(sums): return sums[:, 0]")
    assert (
        len({seen(), seen(columns=["a"], score="quality.py:g"), seen(columns=["a"], score="quality.py:f"), first}) == 4
    )


def test_functions_of_modules(write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write("[1] * len(outputs)", "module_of_own.py")
    Path("passed_on.py").write_text("from module_of_own import f\n")
    try:
        first = [signature(PythonMetric(f"{place}:f")) for place in ("module_of_own", "passed_on", "passed_on.py")]
        assert values(PythonMetric("passed_on:f")) == [[1.0]] * 4
        write("[20] * len(outputs)", "module_of_own.py")
        for place in ("module_of_own", "passed_on", "passed_on.py"):  # what is in memory is not what is in the file
            with pytest.raises(
                HarnessError, match="module_of_own.py was changed after it was imported; expected a new process"
            ):
                signature(PythonMetric(f"{place}:f"))
        assert signature(PythonMetric("module_of_own.py:f")) != first[0]
        for name in ("module_of_own", "passed_on", *[n for n in sys.modules if n.startswith("passed_on_")]):
            del sys.modules[name]
        importlib.invalidate_caches()
        assert not {signature(PythonMetric(f"{place}:f")) for place in ("module_of_own", "passed_on")} & set(first)
    finally:
        for name in [n for n in sys.modules if n.startswith(("module_of_own", "passed_on"))]:
            del sys.modules[name]


def test_what_has_no_source(write: Callable[..., Path]) -> None:
    assert signature(PythonMetric("builtins:zip")).startswith("nrefs:2|function:zip|code:")
    assert signature(PythonMetric("math:sqrt")) != signature(PythonMetric("math:sin"))


def test_a_file_may_hold_dataclasses_and_the_name_of_a_library(write: Callable[..., Path]) -> None:
    more = "from __future__ import annotations\nimport json\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 2\n"
    write("[A().x + json.loads('1')] * len(outputs)", "json.py", more)
    assert values(PythonMetric("json.py:f")) == [[3.0]] * 4
    assert importlib.import_module("json").__name__ == "json"


# ---------------------------------------------------------------- the command line


def test_runs_are_scored_compared_and_scored_again_when_the_code_changes(files: Path, cli: Cli) -> None:
    def rule(factor: int) -> None:
        Path("quality.py").write_text(
            "from pathlib import Path\n"
            "def overlap(outputs, references, sources):\n"
            "    with open('calls', 'a') as calls: calls.write('x')\n"
            f"    return [{factor} * len(set(o.split()) & set(r[0].split())) for o, r in zip(outputs, references)]\n"
        )

    arguments = (*RUN, "metrics=[bleu,python]", "metrics.python.function=quality.py:overlap")
    rule(1)
    for name in ("good", "bad"):
        called = cli(*arguments, f"system.path={name}.jsonl")
        assert called.code == 0, called.err
        assert "overlap" in called.out
    assert cli(*arguments, "system.path=good.jsonl").code == 0
    assert Path("calls").read_text() == "xx"  # unchanged: nothing is scored again
    rows = {row.score: row for row in harness.compare(["dev-bad", "dev-good"], resamples=500)}
    assert rows["overlap"].difference == pytest.approx((4 + 3 + 2 + 2) / 4 - (0 + 3 + 0 + 0) / 4)
    assert (rows["overlap"].n, rows["overlap"].excluded) == (4, 0)
    rule(2)
    assert cli(*arguments, "system.path=good.jsonl").code == 0
    assert Path("calls").read_text() == "xxx"
    compared = cli("compare", "dev-bad", "dev-good")
    assert compared.code == 1
    assert "python of dev-bad and dev-good are defined differently (code: " in compared.err
    assert cli(*arguments, "system.path=bad.jsonl").code == 0
    Path("quality.py").unlink()  # stored rows need no module
    assert cli("compare", "dev-bad", "dev-good").code == 0
    assert harness.load_run("dev-good").scores["overlap"].estimate == 5.5


def test_a_lower_score_can_be_the_better_one(files: Path, cli: Cli) -> None:
    Path("quality.py").write_text("def errors(outputs, references, sources): return [o not in r for o, r in zip(outputs, references)]\n")  # fmt: skip
    options = ("metrics=python", "metrics.python.function=quality.py:errors", "metrics.python.higher_is_better=false")
    for name in ("good", "bad"):
        assert cli(*RUN, *options, f"system.path={name}.jsonl").code == 0
    run = harness.load_run("dev-good")
    assert not run.scores["errors"].higher_is_better
    assert run.examples["errors"].tolist() == [0, 0, 0, 1]


def test_missing_scores_are_left_out_of_both_runs(files: Path, cli: Cli) -> None:
    Path("quality.py").write_text("def words(outputs, references, sources): return [None if 'snow' in o else len(o) for o in outputs]\n")  # fmt: skip
    for name in ("good", "bad"):
        called = cli(*RUN, "metrics=python", "metrics.python.function=quality.py:words", f"system.path={name}.jsonl")
        assert called.code == 0, called.err
        assert ("harness: words gave no score for 1 of 4 outputs; they are left out" in called.err) == (name == "good")
    row = harness.compare(["dev-bad", "dev-good"], resamples=100)[0]
    assert (row.n, row.excluded) == (3, 1)
    assert row.difference == pytest.approx(np.mean([len(o) for o in GOOD[:3]]) - np.mean([len(o) for o in BAD[:3]]))


def test_two_of_them_by_a_yaml_of_ones_own(files: Path, cli: Cli) -> None:
    Path("own_rules.py").write_text(
        "def comet(outputs, references, sources): return [len(s) for s in sources]\n"
        "def brief(outputs, references, sources): return [len(o.split()) < 4 for o in outputs]\n"
    )
    (files / "my" / "metrics").mkdir(parents=True)
    (files / "my" / "metrics" / "comet.yaml").write_text(
        "comet:\n  _target_: harness.metrics.python.PythonMetric\n  function: own_rules:comet\n  revision: wmt22\n"
    )
    options = ("--config-dir", "my", "metrics=[python,comet]", "metrics.python.function=own_rules.py:brief")
    called = cli(*RUN, *options, "system.path=good.jsonl")
    assert called.code == 0, called.err
    scores = harness.load_run("dev-good").scores
    assert {name: score.estimate for name, score in scores.items()} == {"brief": 0.5, "comet": np.mean([len(s) for s in SOURCES])}  # fmt: skip
    assert scores["comet"].signature.endswith("|revision:wmt22")
    del sys.modules["own_rules"]


def test_stored_rows_with_a_score_function_need_it(files: Path, cli: Cli) -> None:
    Path("own.py").write_text(BLEU)
    options = ("metrics=python", "metrics.python.function=own.py:counts", "metrics.python.score=own.py:score",
               f"metrics.python.columns=[{','.join(COLUMNS)}]", "metrics.python.name=mine")  # fmt: skip
    for name in ("good", "bad"):
        called = cli(*RUN, *options, f"system.path={name}.jsonl")
        assert called.code == 0, called.err
    assert cli("compare", "dev-bad", "dev-good").code == 1  # the folder names code, and may be anyone's
    assert cli("compare", "dev-bad", "dev-good", "--trust").code == 0
    Path("own.py").unlink()
    called = cli("compare", "dev-bad", "dev-good", "--trust")
    assert called.code == 1
    assert called.err.splitlines()[-1].startswith(
        "harness: the scores of mine need own.py:score: own.py does not exist; expected a Python file"
    )
    assert harness.load_run("dev-good").scores["mine"].name == "mine"  # what was stored can still be read


def test_errors_are_one_message_and_debug_shows_the_traceback(files: Path, cli: Cli) -> None:
    Path("own_failing.py").write_text("def f(outputs, references, sources):\n    raise KeyError('what')\n")
    arguments = (*RUN, "system.path=good.jsonl", "metrics=python")
    for function, expected in (
        ("own_failing:f", "own_failing:f raised KeyError: 'what'"),
        ("own_failing:g", "own_failing has no function 'g'; expected one of 'f'"),
        ("???", "metrics.python.function is not set; expected metrics.python.function=…"),
    ):
        called = cli(*arguments, f"metrics.python.function={function}")
        assert (called.code, called.out, called.err) == (1, "", f"harness: {expected}\n")
    assert not any(Path("runs").rglob("scores.json"))
    del sys.modules["own_failing"]
    command = [sys.executable, "-m", "harness", *arguments, "metrics.python.function=own_failing:f", "--debug"]
    debug = subprocess.run(command, capture_output=True, text=True)
    assert debug.returncode == 1
    assert "    raise KeyError('what')\n" in debug.stderr
    assert "HarnessError: own_failing:f raised KeyError: 'what'" in debug.stderr
