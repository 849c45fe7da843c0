"""BERTScore against the package bert-score on the embedded model, and what is said where a model cannot be had."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np
import pytest

from harness.datasets.embedded import EmbeddedDataset
from harness.metrics import bertscore
from harness.metrics.bertscore import BertScore
from harness.systems.lead import Lead
from harness.types import HarnessError


@pytest.fixture(scope="module")
def pairs() -> tuple[list[str], list[list[str]]]:
    examples = list(EmbeddedDataset().examples())[::6]
    outputs = [output.text or "" for output in Lead().generate(examples)]
    return outputs, [list(example.references) for example in examples]


@pytest.mark.parametrize("layer", [5, 3])
def test_agrees_with_bert_score(pairs: tuple[list[str], list[list[str]]], layer: int) -> None:
    outputs, references = pairs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score import BERTScorer

        theirs = BERTScorer(model_type=str(BertScore()._folder), num_layers=layer, device="cpu")
        each = [theirs.score(outputs, [refs[i] for refs in references]) for i in range(2)]
    ours = BertScore(layer=layer, device="cpu")
    rows = ours.statistics(outputs, references, [None] * len(outputs))
    f1 = np.stack([np.asarray(f) for _, _, f in each])
    best = f1.argmax(0)  # one coherent triple: the reference of the highest F1
    for column, part in ((0, 2), (1, 0), (2, 1)):
        values = np.stack([np.asarray(triple[part]) for triple in each])
        assert rows[:, column] == pytest.approx(values[best, np.arange(len(best))], abs=1e-5)
    assert ours.score(rows.sum(0)) == pytest.approx(rows[:, :3].mean(0), abs=1e-12)


def test_definition_of_the_default() -> None:
    signature = str(BertScore().signature([["a", "b"]]))
    assert signature.startswith(
        "nrefs:2|model:sentence-transformers/all-MiniLM-L6-v2@53aa5117|layer:5|idf:no|rescale:no|refs:best-f|dtype:float32"
    )


def test_identical_empty_and_long_texts(caplog: pytest.LogCaptureFixture) -> None:
    metric = BertScore(device="cpu")
    long = "word " * 600
    outputs = ["the same text", "", "something", long]
    references = [["the same text"], ["something"], [""], [long]]
    rows = metric.statistics(outputs, references, [None] * 4)
    assert rows[0, :3] == pytest.approx([1, 1, 1], abs=1e-5)
    assert rows[1, :3].tolist() == rows[2, :3].tolist() == [0, 0, 0]
    assert rows[3, 0] == pytest.approx(1, abs=1e-5)
    assert "1 texts are longer than 512 tokens and were cut" in caplog.text


def test_same_bytes_again(pairs: tuple[list[str], list[list[str]]]) -> None:
    outputs, references = pairs
    first, second = (BertScore(device="cpu").statistics(outputs, references, [None] * len(outputs)) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_weights_of_another_hash_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package, inside, _ = bertscore.PACKAGED[bertscore.DEFAULT_MODEL]
    wrong = hashlib.sha256(b"other").hexdigest()
    monkeypatch.setitem(bertscore.PACKAGED, bertscore.DEFAULT_MODEL, (package, inside, wrong))
    with pytest.raises(HarnessError, match=f"has the sha256 53aa5117.*; expected {wrong}"):
        BertScore().definition()


def test_a_model_that_cannot_be_had() -> None:
    with pytest.raises(
        HarnessError, match=r"metrics.bertscore.model=./nowhere is not a folder; expected one of: a folder"
    ):
        BertScore("./nowhere").definition()
    with pytest.raises(HarnessError, match=r"no/such-model: not a folder here, and not to be had from the model hub"):
        BertScore("no/such-model").definition()
    with pytest.raises(HarnessError, match=r"metrics.bertscore.layer=9; expected 1 to 6"):
        BertScore(layer=9).definition()


def test_any_encoder_by_folder(tmp_path: Path) -> None:
    import torch
    from transformers import AutoTokenizer, RobertaConfig, RobertaModel

    torch.manual_seed(0)
    words = AutoTokenizer.from_pretrained(str(BertScore()._folder))
    config = RobertaConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=80,
    )  # fmt: skip
    RobertaModel(config).save_pretrained(tmp_path / "tiny")
    words.save_pretrained(tmp_path / "tiny")
    metric = BertScore(str(tmp_path / "tiny"), device="cpu")
    rows = metric.statistics(["a cat", "a dog"], [["a cat"], ["the moon", "a dog"]], [None, None])
    assert rows[:, 0] == pytest.approx([1, 1], abs=1e-5)
    assert metric.definition()["layer"] == "3"
    assert metric.definition()["model"].startswith("tiny@")
