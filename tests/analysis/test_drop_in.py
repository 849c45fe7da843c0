"""`harness.load` in the place of `evaluate.load`.

The package `evaluate` gets its metrics from a hub, so that it cannot be asked here: `EXPECTED` is what its 0.4.6 gave
with the metrics of its repository, and the reference packages that these call are asked again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer

import harness
from tests.metrics import tiny
from tests.metrics.test_bertscore import theirs

PREDICTIONS = ["The cat, sat on a mat.", "it is raining &amp; cold", "dogs bark in 3.5 m - loudly", "snow fell all the night", "Agent 007"]  # fmt: skip
REFERENCES = [
    ["the cat sat on the mat.", "The cat sat on a big mat"],
    ["it is raining & cold today", "rain falls"],
    ["dogs bark in 3.5 m loudly", "the dogs, 3.5-m away, are loud indeed"],
    ["it snowed all night", "snow fell all through the night"],
    ["agent 007", "Agent"],
]
FIRST = [references[0] for references in REFERENCES]
SHORT = ["the cat sat on the mat", "dogs bark so very loudly"]
LONG = [["the cat sat on the mat today", "on that day the cat sat on the mat"], ["dogs bark so very loudly at night"]]
IGNORING = {"ignore_case": True, "ignore_punctuation": True, "ignore_numbers": True, "regexes_to_ignore": ["the ", "on .*"]}  # fmt: skip
EXPECTED: list[tuple[str, Any, dict[str, Any], dict[str, Any]]] = [
    ("bleu", REFERENCES, {}, {"bleu": 0.5552760815203431, "precisions": [0.9629629629629629, 0.6818181818181818, 0.47058823529411764, 0.3076923076923077], "brevity_penalty": 1.0, "length_ratio": 1.35, "translation_length": 27, "reference_length": 20}),
    ("bleu", FIRST, {}, {"bleu": 0.43171439606555423, "precisions": [0.7037037037037037, 0.45454545454545453, 0.35294117647058826, 0.3076923076923077], "brevity_penalty": 1.0, "length_ratio": 1.08, "translation_length": 27, "reference_length": 25}),
    ("bleu", REFERENCES, {"max_order": 2}, {"bleu": 0.8102873913406629, "precisions": [0.9629629629629629, 0.6818181818181818], "brevity_penalty": 1.0, "length_ratio": 1.35, "translation_length": 27, "reference_length": 20}),
    ("bleu", REFERENCES, {"smooth": True}, {"bleu": 0.5883048965656383, "precisions": [0.9642857142857143, 0.6956521739130435, 0.5, 0.35714285714285715], "brevity_penalty": 1.0, "length_ratio": 1.35, "translation_length": 27, "reference_length": 20}),
    ("bleu", [["zzz"]] * 5, {}, {"bleu": 0.0, "precisions": [0.0, 0.0, 0.0, 0.0], "brevity_penalty": 1.0, "length_ratio": 5.4, "translation_length": 27, "reference_length": 5}),
    ("sacrebleu", REFERENCES, {}, {"score": 55.52760815203432, "counts": [26, 15, 8, 4], "totals": [27, 22, 17, 13], "precisions": [96.29629629629629, 68.18181818181819, 47.05882352941177, 30.76923076923077], "bp": 1.0, "sys_len": 27, "ref_len": 25}),
    ("sacrebleu", FIRST, {"lowercase": True, "tokenize": "intl"}, {"score": 36.354843951634535, "counts": [21, 11, 5, 3], "totals": [29, 24, 19, 15], "precisions": [72.41379310344827, 45.833333333333336, 26.31578947368421, 20.0], "bp": 1.0, "sys_len": 29, "ref_len": 25}),
    ("bleu", REFERENCES, {"tokenizer": str.split}, {"bleu": 0.4331473541335987, "precisions": [0.88, 0.55, 0.4, 0.18181818181818182], "brevity_penalty": 1.0, "length_ratio": 1.3157894736842106, "translation_length": 25, "reference_length": 19}),
    ("sacrebleu", REFERENCES, {"smooth_method": "add-k", "smooth_value": 2.0, "force": True}, {"score": 61.55855452274056, "counts": [26, 17.0, 10.0, 6.0], "totals": [27, 24.0, 19.0, 15.0], "precisions": [96.29629629629629, 70.83333333333333, 52.63157894736842, 40.0], "bp": 1.0, "sys_len": 27, "ref_len": 25}),
    ("rouge", FIRST, {"use_aggregator": False, "use_stemmer": True, "tokenizer": str.split, "rouge_types": ["rouge1", "rouge2"]}, {"rouge1": [0.5, 8 / 11, 12 / 13, 4 / 9, 0.5], "rouge2": [0.2, 4 / 9, 8 / 11, 0.0, 0.0]}),
    ("chrf", REFERENCES, {}, {"score": 67.00864396483848, "char_order": 6, "word_order": 0, "beta": 2}),
    ("chrf", REFERENCES, {"word_order": 2, "lowercase": True}, {"score": 69.50419679596828, "char_order": 6, "word_order": 2, "beta": 2}),
    ("ter", REFERENCES, {}, {"score": 25.53191489361702, "num_edits": 6, "ref_length": 23.5}),
    ("ter", REFERENCES, {"normalized": True, "ignore_punct": True, "case_sensitive": True}, {"score": 20.408163265306122, "num_edits": 5, "ref_length": 24.5}),
    ("exact_match", FIRST, {}, {"exact_match": 0.0}),
    ("exact_match", FIRST, {"ignore_case": True}, {"exact_match": 0.2}),
    ("exact_match", FIRST, IGNORING, {"exact_match": 0.2}),
    ("rouge", FIRST, {"use_aggregator": False, "use_stemmer": True, "rouge_types": ["rouge1", "rougeL"]}, {"rouge1": [0.8333333333333334, 0.8, 1.0, 2 / 3, 1.0], "rougeL": [0.8333333333333334, 0.8, 1.0, 2 / 3, 1.0]}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "references", "options", "expected"), EXPECTED)
def test_as_evaluate(name: str, references: Any, options: dict[str, Any], expected: dict[str, Any]) -> None:
    answer = harness.load(name).compute(predictions=PREDICTIONS, references=references, **options)
    assert list(answer) == list(expected)
    for key, value in expected.items():
        assert answer[key] == pytest.approx(value, rel=1e-12), key


def test_brevity_is_against_the_shortest_reference() -> None:
    answer = harness.load("bleu").compute(predictions=SHORT, references=LONG)
    assert answer["translation_length"] == 11 and answer["reference_length"] == 14
    assert answer["bleu"] == pytest.approx(0.7613003866968737, rel=1e-12)


def test_as_the_reference_packages() -> None:
    streams = [[references[i] for references in REFERENCES] for i in range(2)]
    asked = sacrebleu.corpus_bleu(PREDICTIONS, streams, smooth_method="floor", use_effective_order=True)
    ours = harness.load("sacrebleu").compute(
        predictions=PREDICTIONS, references=REFERENCES, smooth_method="floor", use_effective_order=True
    )
    assert (ours["score"], ours["counts"]) == (pytest.approx(asked.score), asked.counts)
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])
    theirs = [scorer.score_multi(*pair) for pair in zip(REFERENCES, PREDICTIONS, strict=True)]
    rouge = harness.load("rouge").compute(predictions=PREDICTIONS, references=REFERENCES)
    for name, value in rouge.items():
        assert value == pytest.approx(sum(scores[name].fmeasure for scores in theirs) / len(theirs))


QUESTIONS = [
    {"id": "1", "answers": {"answer_start": [0, 3], "text": ["the Normans", "in France"]}},
    {"id": "2", "answers": {"answer_start": [97], "text": ["1976"]}},
    {"id": "3", "answers": {"answer_start": [1], "text": ["Denmark, Iceland and Norway"]}},
]
ANSWERS = [
    {"id": "3", "prediction_text": "Iceland"},
    {"id": "1", "prediction_text": "Normans in France"},
    {"id": "2", "prediction_text": "1976"},
]


def test_squad_pairs_by_id() -> None:
    answer = harness.load("squad").compute(predictions=ANSWERS, references=QUESTIONS)
    assert answer == pytest.approx({"exact_match": 100 / 3, "f1": 100 * (0.8 + 1 + 0.4) / 3})  # by SQuAD's script
    bounds = harness.load("squad").compute(predictions=ANSWERS, references=QUESTIONS, confidence=True)
    assert list(bounds["confidence_interval"]) == ["exact_match", "f1"]
    with pytest.raises(harness.HarnessError, match="'2' is not in both predictions and references"):
        harness.load("squad").compute(predictions=[*ANSWERS[:2], {**ANSWERS[2], "id": "4"}], references=QUESTIONS)
    with pytest.raises(harness.HarnessError, match="expected predictions {'id', 'prediction_text'}"):
        harness.load("squad").compute(predictions=["1976"], references=QUESTIONS[:1])


def test_bertscore_as_the_package_that_evaluate_calls(tmp_path: Path) -> None:
    folder = str(tiny.make("bert", tmp_path / "bert"))
    expected = theirs(folder, 2, PREDICTIONS, REFERENCES)
    options = {"model_type": folder, "num_layers": 2, "device": "cpu", "batch_size": 2, "verbose": True}
    answer = harness.load("bertscore").compute(
        predictions=PREDICTIONS, references=REFERENCES, confidence=True, **options
    )
    assert list(answer) == ["precision", "recall", "f1", "hashcode", "confidence_interval"]
    for values, key in zip(expected, ("precision", "recall", "f1"), strict=True):
        assert answer[key] == pytest.approx(values, abs=1e-5)
        low, high = answer["confidence_interval"][key]
        assert low < sum(answer[key]) / len(PREDICTIONS) < high
    assert "harness" in answer["hashcode"]


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, "neither lang nor model_type"), ({"model_type": "x", "rescale_with_baseline": True}, "without lang")],
)
def test_bertscore_needs_a_model(options: dict[str, Any], message: str) -> None:
    with pytest.raises(harness.HarnessError, match=message):
        harness.load("bertscore").compute(predictions=PREDICTIONS, references=FIRST, **options)


def test_batches_add_up_and_are_forgotten() -> None:
    metric = harness.load("chrf")
    metric.add(prediction=PREDICTIONS[0], reference=REFERENCES[0])
    metric.add_batch(predictions=PREDICTIONS[1:], references=REFERENCES[1:])
    whole = harness.load("chrf").compute(predictions=PREDICTIONS, references=REFERENCES)
    assert metric.compute() == whole
    assert metric.compute(predictions=PREDICTIONS[:2], references=REFERENCES[:2]) != whole


@pytest.mark.parametrize("name", ["bleu", "sacrebleu", "rouge", "chrf", "ter", "exact_match"])
def test_intervals_on_the_same_scale(name: str) -> None:
    references = [*FIRST[:4], PREDICTIONS[4]] if name == "exact_match" else REFERENCES
    answer = harness.load(name).compute(predictions=PREDICTIONS, references=references, confidence=True, level=0.9)
    intervals = answer.pop("confidence_interval")
    assert intervals and set(intervals) <= set(answer)
    for key, (low, high) in intervals.items():
        assert low <= answer[key] <= high and low < high


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("blue", {}, "harness.load.*did you mean .bleu"),
        (
            "bleu",
            {"smoth": True},
            r"no option 'smoth' \(did you mean 'smooth'\?\); expected one of tokenizer, max_order, smooth",
        ),
        ("bleu", {"references": []}, "5 predictions and 0 references"),
        ("rouge", {"predictions": "abcde", "references": "abcde"}, "predictions or references is a string; expected a"),
        ("bleu", {"predictions": None, "references": None}, "there are no predictions; expected some"),
        ("bleu", {"predictions": None, "preds": ["a"]}, "bleu has no option 'preds'"),
        ("bleu", {"prediction": ["a"]}, r"bleu has no option 'prediction' \(did you mean 'predictions'\?\)"),
    ],
)
def test_what_is_wrong_is_said(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(harness.HarnessError, match=message):
        harness.load(name).compute(**{"predictions": PREDICTIONS, "references": REFERENCES, **options})
