"""Which tokens BERTScore matched and MoverScore moved: the same numbers as their scores, on the text that people see."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.inputs.pretrained import Pretrained
from harness.metrics.bertscore import BertScore
from harness.metrics.bleu import Bleu
from harness.metrics.moverscore import MoverScore
from harness.types import Alignment, Batch, HarnessError
from tests.metrics import tiny
from tests.metrics.test_bertscore import OUTPUTS, REFERENCES, Remembered


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("models")
    return {kind: str(tiny.make(kind, place / kind)) for kind in ("bert", "roberta", "t5")}


def triple(alignment: Alignment) -> tuple[float, float, float]:
    precision = float(np.dot(alignment.output_similarity, alignment.output_weights))
    recall = float(np.dot(alignment.reference_similarity, alignment.reference_weights))
    return 2 * precision * recall / (precision + recall), precision, recall


def test_words_meet_what_they_mean() -> None:
    (alignment,) = BertScore(device="cpu").align(["  the dog ran "], [["snow", "The dog walked"]])
    assert alignment is not None and alignment.reference == 1
    assert alignment.output_tokens == ("[CLS]", "the", "dog", "ran", "[SEP]")
    assert alignment.reference_tokens == ("[CLS]", "The", "dog", "walked", "[SEP]")
    assert alignment.output_spans == ((0, 0), (2, 5), (6, 9), (10, 13), (0, 0))
    assert alignment.reference_spans == ((0, 0), (0, 3), (4, 7), (8, 14), (0, 0))
    assert alignment.output_matches == alignment.reference_matches == (0, 1, 2, 3, 4)
    assert alignment.output_weights == pytest.approx((0, 1 / 3, 1 / 3, 1 / 3, 0))
    assert alignment.output_similarity[3] < alignment.output_similarity[2] <= 1.000001


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bert", {}),
        ("bert", {"idf": True}),
        ("bert", {"all_layers": True, "layer": 2}),
        ("bert", {"references": "independent"}),
        ("bert", {"max_length": 6}),
        ("roberta", {"max_length": 6}),
        ("t5", {"idf": True}),
    ],
    ids=str,
)
def test_its_weighted_means_are_the_scores(models: dict[str, str], kind: str, options: dict[str, Any]) -> None:
    metric = BertScore(models[kind], device="cpu", **options).fit(REFERENCES)
    rows = metric.statistics(Batch(OUTPUTS, REFERENCES))
    pairs = [(output, [text]) for output, texts in zip(OUTPUTS, REFERENCES, strict=True) for text in texts]
    each = metric.statistics(Batch([candidate for candidate, _ in pairs], [texts for _, texts in pairs]))
    for i, alignment in enumerate(metric.align(OUTPUTS, REFERENCES)):
        assert alignment is not None
        f, precision, recall = triple(alignment)
        assert f == pytest.approx(rows[i, 0], abs=1e-12)
        if options.get("references") != "independent":  # then precision and recall may be of another reference
            assert (precision, recall) == pytest.approx(tuple(rows[i, 1:3]), abs=1e-12)
        assert alignment.reference == each[2 * i : 2 * i + 2, 0].argmax()


def test_similarities_are_raw_where_scores_are_rescaled(models: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text("LAYER,P,R,F\n" + "".join(f"{i},0.1,0.2,0.3\n" for i in range(4)))
    metric = BertScore(models["bert"], device="cpu", rescale=str(tmp_path / "own.tsv"))
    rows = metric.statistics(Batch(OUTPUTS, REFERENCES))
    for row, alignment in zip(rows, metric.align(OUTPUTS, REFERENCES), strict=True):
        assert alignment is not None
        rescaled = [(x - b) / (1 - b) for x, b in zip(triple(alignment), (0.3, 0.1, 0.2), strict=True)]
        assert rescaled == pytest.approx(row[:3].tolist(), abs=1e-12)


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5"])
def test_each_match_is_the_most_similar_token(models: dict[str, str], kind: str) -> None:
    """The matches point at tokens for which the two directions agree on the cosine where they are mutual."""
    for alignment in BertScore(models[kind], device="cpu").align(OUTPUTS, REFERENCES):
        assert alignment is not None
        for i, j in enumerate(alignment.output_matches):
            assert alignment.output_similarity[i] <= alignment.reference_similarity[j]
            if alignment.reference_matches[j] == i:
                assert alignment.output_similarity[i] == alignment.reference_similarity[j]


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5"])
def test_spans_are_places_in_the_text(models: dict[str, str], kind: str) -> None:
    text = "\n The  fox, 3.5 naïve 日本 👍 "
    (alignment,) = BertScore(models[kind], device="cpu").align([text], [["the dog"]])
    assert alignment is not None
    covered = [text[first:last] for first, last in alignment.output_spans]
    for piece, token, weight in zip(covered, alignment.output_tokens, alignment.output_weights, strict=True):
        assert piece == piece.strip()
        assert token == piece or not piece
        assert piece or weight == 0 or token in ("Ġ", "▁", "</s>")  # spaces, and T5's end of text, which is not special
    seen = {i for first, last in alignment.output_spans for i in range(first, last)}
    assert seen == {i for i, character in enumerate(text) if not character.isspace()}


def test_a_tokenizer_without_offsets_gives_its_tokens(models: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    metric = BertScore(models["bert"], device="cpu")
    tokenizer = metric.pretrained.tokenizer
    monkeypatch.setattr(type(tokenizer), "is_fast", False)
    (alignment,) = metric.align(["the fox"], [["a dog"]])
    assert alignment is not None and set(alignment.output_spans) == {(0, 0)}
    assert alignment.output_tokens == ("[CLS]", "the", "fox", "[SEP]")


def test_nothing_to_align_in_an_empty_text(models: dict[str, str]) -> None:
    alignments = BertScore(models["bert"], device="cpu").align(["", "a dog", "a dog"], [["a dog"], [""], ["a fox"]])
    assert [alignment is None for alignment in alignments] == [True, True, False]


def test_it_is_json(models: dict[str, str]) -> None:
    (alignment,) = BertScore(models["bert"], device="cpu").align(["the fox"], [["a dog"]])
    assert alignment is not None
    assert json.loads(json.dumps(asdict(alignment)))["output_spans"] == [[0, 0], [0, 3], [4, 7], [0, 0]]


def test_what_was_scored_needs_no_model(models: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    store = Remembered()
    first = BertScore(models["bert"], device="cpu")
    first.arrays = store
    first.statistics(Batch(OUTPUTS, REFERENCES))
    second = BertScore(models["bert"], device="cpu")
    second.arrays = store
    monkeypatch.setattr(Pretrained, "load", lambda *_: pytest.fail("the model was loaded"))
    assert all(second.align(OUTPUTS, REFERENCES))


def test_idf_needs_the_data_set(models: dict[str, str]) -> None:
    with pytest.raises(HarnessError, match=r"needs the references of the whole data set; expected fit\(\) before"):
        BertScore(models["bert"], idf=True, device="cpu").align(OUTPUTS, REFERENCES)


def test_other_metrics_have_none() -> None:
    assert Bleu().align(["a"], [["a"]]) is None


# ---------------------------------------------------------------- MoverScore


def test_words_are_moved_to_what_they_mean() -> None:
    """Many to one: both halves of `a bike ride` go to `cycling`."""
    (alignment,) = MoverScore(idf=False, device="cpu").align(["a bike, a ride"], [["snow", "cycling"]])
    assert alignment is not None and alignment.reference == 1
    assert alignment.output_tokens == ("[CLS]", "a", "bike", ",", "a", "ride", "[SEP]")
    assert alignment.output_weights[3] == 0 and alignment.output_matches[3] == -1  # punctuation is not moved
    to_cycling = {
        alignment.output_tokens[i] for i, j, *_ in alignment.moves if alignment.reference_tokens[j] == "cycling"
    }
    assert to_cycling >= {"bike", "ride"}
    assert alignment.reference_spans[1] == (0, 7)


@pytest.mark.parametrize("options", [{}, {"idf": False}, {"compat": "moverscore_v2"}, {"references": "best"}], ids=str)
def test_its_moves_cost_what_the_score_says(models: dict[str, str], options: dict[str, Any]) -> None:
    references = [texts[:1] for texts in REFERENCES]
    metric = MoverScore(models["bert"], device="cpu", **options).fit(references)
    rows = metric.statistics(Batch(OUTPUTS, references))
    some = slice(0, len(OUTPUTS), 2)
    partly = metric.fit_outputs(OUTPUTS).align(OUTPUTS[some], references[some])
    alignments = metric.align(OUTPUTS, references)
    assert partly == alignments[some]
    for alignment, score in zip(alignments, rows[:, 0], strict=True):
        assert alignment is not None
        distances = [(share, 2 - 2 * cosine) for _, _, share, cosine in alignment.moves]
        if options.get("compat") == "moverscore_v2":
            expected = 1 / (1 + sum(share * max(distance, 0) ** 0.5 for share, distance in distances))
        else:
            expected = 1 - sum(share * distance for share, distance in distances)
        assert expected == pytest.approx(score, abs=2e-3 if options.get("compat") else 2e-4)
        for weights, side in ((alignment.output_weights, 0), (alignment.reference_weights, 1)):
            assert sum(weights) == pytest.approx(1)
            shares = np.zeros(len(weights))
            for move in alignment.moves:
                shares[int(move[side])] += move[2]
            assert shares / shares.sum() == pytest.approx(np.array(weights), abs=1e-9)


def test_of_several_references_the_best_is_shown(models: dict[str, str]) -> None:
    metric = MoverScore(models["bert"], idf=False, device="cpu")
    each = [metric.statistics(Batch(OUTPUTS, [[texts[k]] for texts in REFERENCES]))[:, 0] for k in range(2)]
    for i, alignment in enumerate(metric.align(OUTPUTS, REFERENCES)):
        assert alignment is not None and alignment.reference == np.argmax([each[0][i], each[1][i]])


def test_nothing_is_moved_without_weight(models: dict[str, str]) -> None:
    alignments = MoverScore(models["bert"], device="cpu").align(["the fox"], [["the fox"]])  # every idf is 0
    assert alignments == [None]
    with pytest.raises(HarnessError, match="n_gram=2: n-grams overlap.*expected n_gram=1"):
        MoverScore(models["bert"], n_gram=2, device="cpu").align(["a"], [["a"]])
    assert not MoverScore(models["bert"], n_gram=2).aligns


def test_a_stored_run_loads_a_packaged_model_only() -> None:
    assert MoverScore.stored({}, ()).aligns
    for options in ({"model": "any/model"}, {"stop_words": "words.txt"}, {"revision": "x"}, {"n_gram": 2}):
        assert not MoverScore.stored(options, ()).aligns
