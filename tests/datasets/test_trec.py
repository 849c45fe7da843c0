"""dataset=trec and dataset=beir: judged queries from the files that retrieval people have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.datasets.beir import BeirDataset
from harness.datasets.trec import TrecDataset, read_topics
from harness.testing import CannedSystem
from harness.types import Dataset, Example, HarnessError
from tests.conftest import write_jsonl

QRELS = "301 0 FT-1 1\n301 0 FT-2 0\n302 0 FT-1 2\n303 0 FT-9 -1\n"
MARKED = """
<top>

<num> Number: 302
<title> Poliomyelitis &amp; Post-Polio

<desc> Description:
Is the disease of
polio under control?

<narr> Narrative:
Relevant documents say so.
</top>
<top>
<num> Number: 301
<title> Topic: International Organized Crime
<desc> Description:
Identify organizations.
</top>
<top>
<num> Number: 303
<title>Hubble</title>
</top>
<top><num>304</num><title>Not judged</title></top>
"""
COVID = """<?xml version="1.0"?>
<topics task="COVIDSearch">
  <topic number="301"><query>coronavirus origin</query><question>what is the origin?</question></topic>
  <topic number="302"><query>weather</query></topic>
  <topic number="303"><query>heat</query></topic>
</topics>
"""


def examples(dataset: Dataset) -> list[Example]:
    return list(dataset.examples())


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    path = tmp_path / "qrels.txt"
    path.write_text(QRELS)
    return path


def written(qrels: Path, content: str) -> str:
    path = qrels.parent / "topics.txt"
    path.write_text(content)
    return str(path)


def test_judgements_alone(qrels: Path) -> None:
    queries = examples(TrecDataset(str(qrels)))
    assert [(e.id, e.source, e.references, e.relevant) for e in queries] == [
        ("301", None, (), {"FT-1": 1, "FT-2": 0}),
        ("302", None, (), {"FT-1": 2}),
        ("303", None, (), {"FT-9": -1}),
    ]
    assert TrecDataset(str(qrels)).name == "qrels"


def test_topics_in_markup(qrels: Path) -> None:
    queries = examples(TrecDataset(str(qrels), written(qrels, MARKED)))
    assert [(e.id, e.source) for e in queries] == [
        ("302", "Poliomyelitis & Post-Polio"),
        ("301", "International Organized Crime"),
        ("303", "Hubble"),
        ("304", "Not judged"),
    ]
    assert queries[0].metadata == {
        "description": "Is the disease of polio under control?",
        "narrative": "Relevant documents say so.",
    }
    assert [e.relevant for e in queries] == [{"FT-1": 2}, {"FT-1": 1, "FT-2": 0}, {"FT-9": -1}, None]


def test_topics_with_attributes(qrels: Path) -> None:
    queries = examples(TrecDataset(str(qrels), written(qrels, COVID), cluster=None))
    assert [(e.id, e.source) for e in queries] == [
        ("301", "coronavirus origin"),
        ("302", "weather"),
        ("303", "heat"),
    ]
    assert queries[0].metadata == {"question": "what is the origin?"}


def test_topics_by_line(qrels: Path) -> None:
    topics = written(qrels, "301\torganized crime\n302\tpolio \n\n303\t<hubble>\n")
    assert [e.source for e in examples(TrecDataset(str(qrels), topics))] == ["organized crime", "polio", "<hubble>"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("301\ta\n302\tb\n", "judges 1 query that .*topics.txt does not have .'303'.; expected a topic for each"),
        ("301 a\n", "topics.txt line 1 is '301 a'; expected an id, a tab and the text of the query"),
        ("301\ta\n301\tb\n", "topics.txt line 2 has the id '301', which an earlier topic has; expected unique ids"),
        ("<top><title> no number </top>\n", "line 1: the topic has no number .<num>.; found: title"),
        ("\n<top><num> 7 <desc> x </top>\n", "line 2: the topic has no query .<query> or <title>.; found: desc"),
        ("<html>\n", "has no topics; expected <top>…</top>, or lines of an id, a tab and a text"),
        ("\n", "has no topics"),
    ],
)
def test_topics_that_are_wrong(qrels: Path, content: str, message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        examples(TrecDataset(str(qrels), written(qrels, content)))


def test_clusters_are_parts_of_topics(qrels: Path) -> None:
    with pytest.raises(HarnessError, match="dataset.cluster=domain without topics; expected dataset.topics=FILE"):
        examples(TrecDataset(str(qrels), cluster="domain"))
    with pytest.raises(HarnessError, match="not every topic has 'narrative'; found: description, narrative"):
        examples(TrecDataset(str(qrels), written(qrels, MARKED), cluster="narrative"))


def test_a_sign_that_is_no_tag(qrels: Path) -> None:
    assert list(read_topics(written(qrels, "<top><num> 7 <title> x < y </top>"))) == [("7", "x < y", {})]


# ---------------------------------------------------------------- BEIR


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "scifact"
    (folder / "qrels").mkdir(parents=True)
    corpus = [
        {"_id": "d1", "title": "Polio", "text": "is rare.", "metadata": {}},
        {"_id": "d2", "title": "", "text": "Cats sleep."},
        {"_id": "d3", "text": "Dogs bark."},
    ]
    write_jsonl(folder / "corpus.jsonl", corpus)
    write_jsonl(folder / "queries.jsonl", [{"_id": str(i), "text": f"question {i}"} for i in range(4)])
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n2\td1\t2\n0\td2\t1\n0\td3\t0\n")
    return folder


def test_beir(beir: Path) -> None:
    dataset = BeirDataset(str(beir))
    assert dataset.name == "scifact"
    first, second = examples(dataset)
    assert (first.id, first.source, first.relevant) == ("0", "question 0", {"d2": 1, "d3": 0})
    assert (second.id, second.relevant) == ("2", {"d1": 2})
    assert first.reference_contexts is not None
    assert [(c.id, c.text) for c in first.reference_contexts] == [("d2", "Cats sleep.")]
    assert second.reference_contexts is not None
    assert second.reference_contexts[0].text == "Polio is rare."


def test_beir_without_its_corpus(beir: Path) -> None:
    (beir / "corpus.jsonl").unlink()
    assert [e.reference_contexts for e in examples(BeirDataset(str(beir), corpus=False))] == [None, None]
    with pytest.raises(HarnessError, match="corpus.jsonl does not exist; expected a folder with corpus.jsonl"):
        examples(BeirDataset(str(beir)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("query-id\tcorpus-id\tscore\n", "test.tsv is empty; expected lines of query-id, corpus-id, score"),
        ("2\td1\t1\n0\td2\t1\n", "test.tsv line 2 has no 'query-id'; found: 2, d1, 1"),
        ("query-id\tcorpus-id\tscore\n2\td1\tyes\n", "test.tsv line 2 has the score 'yes'; expected a whole number"),
        ("query-id\tcorpus-id\tscore\n2\td1\n", "test.tsv line 2 has 2 fields; expected 3"),
        ("query-id\tcorpus-id\tscore\n2\td1\t1\n2\td1\t0\n", "line 3 has the document 'd1' for the query '2', which .* line 2 has"),
        ("query-id\tcorpus-id\tscore\n9\td1\t1\n", "queries.jsonl lacks 1 of the queries that qrels/test.tsv judges .'9'."),
        ("query-id\tcorpus-id\tscore\n2\tD1\t1\n", "qrels/test.tsv judges 1 document that .*corpus.jsonl does not have .'D1'."),
    ],
)  # fmt: skip
def test_beir_that_is_wrong(beir: Path, content: str, message: str) -> None:
    (beir / "qrels" / "test.tsv").write_text(content)
    with pytest.raises(HarnessError, match=message):
        examples(BeirDataset(str(beir)))


def test_beir_splits(beir: Path) -> None:
    with pytest.raises(HarnessError, match="train.tsv does not exist; expected a folder .*qrels has: test.tsv"):
        examples(BeirDataset(str(beir), split="train"))


def test_no_system_sees_judgements(beir: Path) -> None:
    system = CannedSystem()
    seen: Any = [(system.seen(example), example.fields()) for example in examples(BeirDataset(str(beir)))]
    assert "d1" not in repr(seen)
    assert "Polio" not in repr(seen)
