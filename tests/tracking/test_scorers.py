"""Our metrics as scorers of MLflow, and its scorers as metrics here."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.tracking import scorers
from harness.types import HarnessError
from tests.conftest import Called

ROWS = [
    ("the cat sat down", ["the cat sat down", "a cat was sitting"]),
    ("a dog stood", ["the dog stood up"]),
    ("rain fell on us", ["rain fell on all of us"]),
]
JUDGES = """
from mlflow.entities import Feedback
from mlflow.genai.scorers import Scorer, scorer

@scorer
def polite(inputs, outputs, expectations):
    if "dog" in outputs:
        raise ValueError("no dogs")
    return "yes" if len(outputs) < len(expectations["expected_response"]) else "no"

class Long(Scorer):
    name: str = "long"
    def __call__(self, *, outputs):
        return Feedback(value=len(outputs.split()))

def plain(outputs):
    return 1
"""


def test_rows_and_the_corpus_are_as_evaluate_has_them() -> None:
    for scorer, metric, name in ((scorers.Bleu(resamples=100), "bleu", "bleu"), (scorers.Rouge("rouge1"), "rouge", "rouge1")):  # fmt: skip
        scorer.resamples = 100
        for again in range(2):  # a scorer may be used for one evaluation after another
            values: list[float] = []
            for output, references in reversed(ROWS):  # threads take rows in any order
                feedback = scorer(inputs={"q": "x"}, outputs=output, expectations={"expected_response": references})
                alone = harness.evaluate(outputs=[output], references=[references], metrics=[metric], resamples=0)
                assert (feedback.name, feedback.value) == (name, alone.scores[name].estimate)
                values.insert(0, feedback.value)
            if again == 1:  # other objects: the rows are sorted
                values = [float(repr(value)) for value in values]
            corpus, low, high = (aggregate(values) for aggregate in scorer.aggregations)
            outputs, references = zip(*(sorted(ROWS) if again == 1 else ROWS), strict=True)
            whole = harness.evaluate(
                outputs=list(outputs), references=list(references), metrics=[metric], resamples=100
            )
            score = whole.scores[name]
            assert (corpus, low, high) == (score.estimate, score.low, score.high), again


def test_rows_that_disagree_are_refused() -> None:
    scorer = scorers.ExactMatch()
    scorer(outputs="a", expectations={"references": ["a"]})
    with pytest.raises(HarnessError, match="kept 1 row and MLflow has 2 values"):
        scorer.aggregations[0]([1.0, 0.0])
    for wrong, said in (
        ({"outputs": 3, "expectations": {"references": "a"}}, "outputs are int; expected a text"),
        ({"outputs": "a", "expectations": {}}, "expected a reference, or a list of them"),
    ):
        with pytest.raises(HarnessError, match=said):
            scorer(**wrong)
    with pytest.raises(HarnessError, match="rouge has no score 'rouge7x'|rouge7x"):
        scorers.Rouge("rouge7x")(outputs="a", expectations={"references": "a"})


def test_what_a_metric_warns_of_is_said_once_for_all_rows(caplog: pytest.LogCaptureFixture) -> None:
    scorer = scorers.Rouge("rouge1", resamples=20)
    rows = [("ação é boa", ["a ação é boa"]), ("não há pão", ["não há mais pão"])]
    values = [scorer(outputs=text, expectations={"references": references}).value for text, references in rows]
    assert caplog.messages == []
    scorer.aggregations[0](values)
    (said,) = caplog.messages
    assert "62 % of the references' words" in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow warns of itself
def test_mlflow_evaluates_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow

    monkeypatch.setattr(mlflow.tracking._tracking_service.utils, "_tracking_uri", None)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "scored")
    data = [{"inputs": {"q": "x"}, "outputs": o, "expectations": {"expected_response": r[0]}} for o, r in ROWS]
    made = mlflow.genai.evaluate(data=data, scorers=[scorers.ChrF(resamples=50)])
    whole = harness.evaluate(
        outputs=[o for o, _ in ROWS], references=[[r[0]] for _, r in ROWS], metrics=["chrf"], resamples=50
    )
    score = whole.scores["chrf"]
    bounds = {"chrf/corpus": score.estimate, "chrf/low": score.low, "chrf/high": score.high}
    assert {name: made.metrics[name] for name in bounds} == bounds


def test_a_scorer_of_mlflow_is_a_metric_with_an_interval(files: Path, cli: Callable[..., Called]) -> None:
    Path("judges.py").write_text(JUDGES)
    run = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "tracking=none", "stats.resamples=50")
    for system in ("good", "bad"):
        called = cli(*run, f"system.path={system}.jsonl", "metrics=[mlflow]", "metrics.mlflow.scorer=judges.py:polite")
        assert called.code == 0, called.err
    stored = harness.load_run("dev-good")
    score = stored.scores["polite"]
    assert score.estimate is not None and score.low is not None and 0 <= score.low <= score.estimate
    assert "scorer:polite" in str(score.signature)
    compared = harness.compare(["dev-good", "dev-bad"], resamples=50)  # stored rows need no scorer
    assert [row.score for row in compared] == ["polite"]
    frame: Any = harness.load_run("dev-bad").examples
    dogs = frame["output"].str.contains("dog")
    assert frame["polite"][dogs].isna().all() and frame["polite"][~dogs].isin([0.0, 1.0]).all()
    wrong = cli(*run, "system.path=good.jsonl", "metrics=[mlflow]", "metrics.mlflow.scorer=judges.py:plain")
    assert wrong.code == 1 and "expected a scorer of MLflow" in wrong.err


def test_what_a_scorer_says_as_a_number() -> None:
    from harness.tracking.scorer_metric import _number

    assert [_number(said) for said in (2, True, "YES", "fail", [0.5])] == [2.0, 1.0, 1.0, 0.0, 0.5]
    assert all(math.isnan(_number(said)) for said in (None, "maybe", float("inf"), [1, 2], {}))
