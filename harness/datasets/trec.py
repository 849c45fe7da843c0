"""`dataset=trec dataset.qrels=qrels.txt dataset.topics=topics.txt`: judged queries as TREC has them.

An example is a query: its id, its text (`source`) where there are topics, and the grades of judged documents
(`relevant`), which no system sees. Without topics the examples are the queries that were judged, in the order of the
qrels; with topics they are the topics, in their order, and one that nobody judged is left out of `retrieval` alone.

Topics come in TREC's own markup (`<top><num> Number: 301 <title> …`, or `<topic number="1"><query>…`), the parts that
are not the query kept as metadata, or as lines of an id, a tab and the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path

import numpy as np

from harness.inputs import files
from harness.inputs.trec_files import QRELS, Table, read_table
from harness.types import ABSENT, BLOCK, BlockDataset, Contexts, Examples, HarnessError, TextLists, Texts
from harness.types.shown import counted

JUDGEMENTS, TOPICS = "relevance judgements (dataset.qrels)", "a file of topics (dataset.topics)"
TOPIC = re.compile(r"<(top|topic)(\s[^>]*)?>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
NUMBER = re.compile(r"""\b(?:number|id|qid)\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
PART = re.compile(r"<(\w+)[^>]*>(.*?)(?=</?\w|\Z)", re.DOTALL)
LABEL = re.compile(r"\s*(number|topic|description|narrative|domain|title)\s*:", re.IGNORECASE)
"""Words that stand before a part in TREC's markup."""
FULL = {"desc": "description", "narr": "narrative", "dom": "domain"}
QUERIES = ("query", "title")
"""Parts that are what is asked, the first that there is."""
Topic = tuple[str, str, dict[str, str]]
"""(id, query, other parts)."""


class TrecDataset(BlockDataset):
    def __init__(
        self, qrels: str, topics: str | None = None, cluster: str | None = None, name: str | None = None
    ) -> None:
        self.qrels, self.topics, self.cluster = Path(qrels), topics, cluster
        self.name = name or self.qrels.stem

    def blocks(self) -> Iterator[Examples]:
        judged = read_table(self.qrels, QRELS, JUDGEMENTS)
        if self.topics is None:
            if self.cluster is not None:
                raise HarnessError(f"dataset.cluster={self.cluster} without topics; expected dataset.topics=FILE")
            yield from judged_blocks(judged, judged.queries, Texts.nulls(len(judged.queries)), {})
            return
        topics = list(read_topics(self.topics))
        _check_known(judged, [topic[0] for topic in topics], self.qrels, self.topics)
        fields = dict.fromkeys(field for *_, parts in topics for field in parts)
        if self.cluster is not None and not all(self.cluster in parts for *_, parts in topics):
            raise HarnessError(
                f"{self.topics}: not every topic has {self.cluster!r}; found: {files.listed(fields) or 'nothing'} "
                f"(dataset.cluster={self.cluster})"
            )
        metadata = {field: [parts.get(field, ABSENT) for *_, parts in topics] for field in fields}
        ids, queries = Texts.of([topic[0] for topic in topics]), Texts.of([topic[1] for topic in topics])
        yield from judged_blocks(judged, ids, queries, metadata)


def judged_blocks(judged: Table, ids: Texts, queries: Texts, metadata: Mapping[str, list[str]]) -> Iterator[Examples]:
    """The examples of these queries, with what was judged for each of them."""
    place = {query: i for i, query in enumerate(judged.queries)}
    places = np.array([place.get(id_, len(place)) for id_ in ids], np.int64)
    known = np.append(np.ones(len(place), np.bool_), False)
    starts = np.append(judged.starts, judged.starts[-1])
    grades = Contexts(judged.documents, Texts.nulls(len(judged.documents)), judged.values, starts, known).taken(places)
    n = len(ids)
    references = TextLists(Texts.nulls(0), np.zeros(n + 1, np.int64))
    whole = Examples(ids, queries, references, metadata, relevant=grades)
    yield from (whole[i : i + BLOCK] for i in range(0, n, BLOCK))


def _check_known(judged: Table, ids: list[str], qrels: Path, topics: str) -> None:
    """Refuses judgements of queries that nobody asks: scores would be means over fewer than were judged."""
    known = set(ids)
    strangers = [str(query) for query in judged.queries if query not in known]
    if strangers:
        raise HarnessError(
            f"{qrels} judges {counted(len(strangers), 'query')} that {topics} does not have "
            f"({files.some(strangers)}); expected a topic for each"
        )


# ---------------------------------------------------------------- topics


def read_topics(path: str | Path) -> Iterator[Topic]:
    """The topics of a file, each id once."""
    file = files.existing(path, TOPICS)
    lines = files.read_lines(file, TOPICS)
    marked = next((line.lstrip().startswith("<") for line in lines if line.strip()), False)
    seen: set[str] = set()
    for place, topic in _marked(file, "\n".join(lines)) if marked else _by_line(file, lines):
        if topic[0] in seen:
            raise HarnessError(f"{place} has the id {topic[0]!r}, which an earlier topic has; expected unique ids")
        seen.add(topic[0])
        yield topic
    if not seen:
        raise HarnessError(f"{file} has no topics; expected <top>…</top>, or lines of an id, a tab and a text")


def _by_line(file: Path, lines: list[str]) -> Iterator[tuple[str, Topic]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        id_, tab, query = line.partition("\t")
        place = f"{file} line {number}"
        if not tab or not id_.strip():
            raise HarnessError(f"{place} is {line[:40]!r}; expected an id, a tab and the text of the query")
        yield place, (id_.strip(), query.strip(), {})


def _marked(file: Path, content: str) -> Iterator[tuple[str, Topic]]:
    for topic in TOPIC.finditer(content):
        place = f"{file} line {content.count(chr(10), 0, topic.start()) + 1}"
        parts = {name.lower(): _text(text) for name, text in PART.findall(topic[3])}
        number = NUMBER.search(topic[2] or "")
        id_ = number[1].strip() if number else parts.pop("num", "")
        asked = next((name for name in QUERIES if parts.get(name)), None)
        if not id_ or asked is None:
            lacks = "number (<num>)" if not id_ else f"query ({' or '.join(f'<{name}>' for name in QUERIES)})"
            raise HarnessError(f"{place}: the topic has no {lacks}; found: {files.listed(parts) or 'nothing'}")
        query = parts.pop(asked)
        yield place, (id_, query, {FULL.get(name, name): text for name, text in parts.items() if text})


def _text(text: str) -> str:
    return " ".join(unescape(LABEL.sub("", text, count=1)).split())
