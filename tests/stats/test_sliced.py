"""Slices of a run are data sets of their own: the same scores as a run of these examples alone, and honest tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from harness.stats.comparing.comparison import _group
from harness.stats.comparing.interaction import interactions
from harness.stats.options import ComparisonOptions
from harness.stats.slices.divided import divided
from harness.types import Array, HarnessError, RunResult
from tests.stats.test_comparison import run

TEXT = "the quick brown fox jumps over a lazy dog while rain falls on old roofs"
WORDS = TEXT.split()


def evaluated(name: str, seed: int, n: int = 40, **more: Any) -> RunResult:
    """References of 4 to 11 words; outputs that lose some of them."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(WORDS[(i + j) % len(WORDS)] for j in range(4 + i % 8)) for i in range(n)]
    outputs = [" ".join(word for word in text.split() if rng.random() < 0.8) or "x" for text in texts]
    result = harness.evaluate(
        outputs, [[text] for text in texts], ["bleu", "token_f1"], sources=texts, resamples=200, name=name, **more
    )
    topics = ["news" if i % 3 else "law" for i in range(n)]
    return result.with_examples(result.examples.assign(topic=topics, number=np.arange(n) * 1.5))


def test_the_slices_of_fields_lengths_and_expressions() -> None:
    run = evaluated("a", 1)
    topic = divided(run, "topic")
    assert topic.labels == ("news", "law")
    assert np.bincount(topic.codes).tolist() == [26, 14]
    long = divided(run, "len(source) > 40")
    texts = run.examples["source"]
    assert {label: int((long.codes == i).sum()) for i, label in enumerate(long.labels)} == {
        "yes": int((texts.str.len() > 40).sum()),
        "no": int((texts.str.len() <= 40).sum()),
    }
    assert divided(run, "reference_length").labels == divided(run, "source_length").labels
    assert divided(run, "number").ordered
    assert divided(run, "novelty").labels == ("0",)  # the sources are the references
    rarest = divided(run, "word_frequency")
    counts = pd.Series(" ".join(texts).split()).value_counts()
    lowest = [counts[text.split()].min() for text in texts]
    assert all(
        np.diff(
            [
                min(x for x, c in zip(lowest, rarest.codes, strict=True) if c == code)
                for code in range(len(rarest.labels))
            ]
        )
        > 0
    )


def test_spaces_between_clauses_are_not_between_words() -> None:
    """As subtitles in Chinese have them: 16 characters a space."""
    texts = ["我们今天要讲的是一个很长的故事 它从很久以前的一个小村子开始", "那里的人们每天都要走很远的路去取水"] * 10
    run = harness.evaluate(texts, [[text] for text in texts], ["exact_match"], sources=texts, resamples=0)
    assert divided(run, "source_length").labels == ("17", "30")


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("topics", "have no field 'topics' .did you mean 'topic'.*expected one of source_length"),
        ("len(source) >", "the slices by len\\(source\\) >: not an expression"),
        ("len(source) + 1", "'.*' for the example '.*'; expected true or false, or a field"),
        ("nothing > 3", "fail on the example .*it has: id, source, references"),
    ],
)
def test_what_divides_nothing_is_refused(by: str, message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        divided(evaluated("a", 1), by)


def test_a_slice_is_scored_as_a_corpus_of_its_own() -> None:
    runs = [evaluated("a", 1), evaluated("b", 2)]
    rows = harness.compare(runs, baseline=runs[0], resamples=300, by="topic")
    assert [row.dataset for row in rows if row.score == "bleu"] == ["memory, topic = news", "memory, topic = law"]
    table = [run.examples for run in runs]
    for row in rows:
        topic = row.dataset.rpartition(" ")[2]
        alone = [
            harness.evaluate(
                list(frame.loc[frame.topic == topic, "output"]), [list(r) for r in frame.loc[frame.topic == topic, "references"]],
                [row.score], resamples=0,
            ).scores[row.score].estimate
            for frame in table
        ]  # fmt: skip
        assert (row.baseline_estimate, row.system_estimate) == pytest.approx(tuple(alone), abs=1e-9)
        assert row.p_adjusted is not None
        assert row.p_value is not None
        assert row.p_adjusted >= row.p_value
    assert rows.macro == []
    assert {(row.score, row.slices) for row in rows.interactions} == {("bleu", 2), ("token_f1", 2)}
    text = harness.table(runs, by="topic", resamples=100)
    assert "topic = law" in text
    assert text.index("topic = news") < text.index("topic = law")


def test_a_slice_of_one_example_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It has a score in the table, and is no comparison."""
    runs = []
    for name, seed in (("a", 1), ("b", 2)):
        run = evaluated(name, seed)
        runs.append(run.with_examples(run.examples.assign(topic=["odd", *run.examples.topic[1:]])))
    with caplog.at_level("WARNING"):
        rows = harness.compare(runs, baseline=runs[0], resamples=100, by="topic")
    assert {row.dataset for row in rows} == {"memory, topic = news", "memory, topic = law"}
    assert "memory, topic = odd: fewer than 2 examples" in caplog.text
    assert "topic = odd" in harness.table(runs, by="topic", resamples=100)
    alone = [run.with_examples(run.examples.assign(name=[f"n{i}" for i in range(5)])) for run in short()]
    with pytest.raises(HarnessError, match="every slice by name has fewer than 2 examples"):
        harness.compare(alone, baseline=alone[0], resamples=100, by="name")


def short() -> list[RunResult]:
    return [evaluated("a", 1, n=5), evaluated("b", 2, n=5)]


def test_whether_a_difference_varies_is_told_at_its_level() -> None:
    """Two systems that differ alike in four slices of 30: few alarms; by much in one of them: told."""
    rng = np.random.default_rng(7)

    def is_noticed(shift: float) -> bool:
        gains = [0.5 + rng.normal(0, 1, 30) for _ in range(4)]
        gains[3] += shift
        return seeming_to_differ(gains)

    alarms = np.mean([is_noticed(0.0) for _ in range(150)])
    assert 0.01 < alarms < 0.11
    assert np.mean([is_noticed(1.5) for _ in range(20)]) > 0.9


def test_gains_of_one_side_make_no_slices_differ() -> None:
    """Few examples gain much: resampled one by one, such slices seemed to differ in 17 cases of 100."""
    rng = np.random.default_rng(8)
    alarms = np.mean([
        seeming_to_differ([rng.exponential(size=n) ** 2 for n in (10, 20, 40, 80)]) for _ in range(150)
    ])  # fmt: skip
    assert alarms <= 0.06 + 2 * 0.019


def seeming_to_differ(gains: Sequence[Array]) -> bool:
    """Whether slices with these gains of their examples are said to differ."""
    options, groups = ComparisonOptions(resamples=200, sliced_by="slice"), []
    for i, own in enumerate(gains):
        pair = (run(np.zeros(len(own)), "a"), run(own, "b"))
        groups.append(_group([tuple(_on(part, str(i)) for part in pair)], options, lambda n: None))  # type: ignore[list-item]
    return any(row.p_value <= 0.05 for row in interactions(groups, 1))


def _on(run: RunResult, dataset: str) -> RunResult:
    from dataclasses import replace

    return replace(run, dataset=dataset, dataset_key=dataset)
