"""Diversity: by hand and by the metrics it is made of, over repeats and over groups of similar queries."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import harness
from harness.metrics.bertscore import BertScore
from harness.metrics.bleu import Bleu
from harness.metrics.distinct import Distinct
from harness.metrics.diversity import Diversity
from harness.types import Batch, HarnessError
from tests.conftest import ROWS, Called, write_jsonl

Cli = Callable[..., Called]
ENERGY = (
    "Energia solar e energia eólica são tipos de energia renovável.",
    "Fontes renováveis incluem a energia hidrelétrica e a energia geotérmica.",
)
"""The two answers to "Quais são os tipos de energia renovável?" of the documents that the project started from."""
SAME, SHORT = ("the cat sat", "the cat sat", "the cat sat"), ("a b c", "x")


METRIC, BERTSCORE = Diversity(), BertScore()
"""The model is loaded once for each."""


def scores(metric: Diversity, groups: list[tuple[str, ...]]) -> dict[str, float]:
    ids = [str(i) for i, texts in enumerate(groups) for _ in texts]
    rows = metric.statistics(Batch([text for texts in groups for text in texts], [], fields={"id": ids}))
    return dict(zip(metric.score_names, metric.score(np.nansum(rows, axis=0)).tolist(), strict=True))


def test_two_answers_about_energy() -> None:
    """The documents say: a low BERTScore between the two means diverse answers."""
    (row,) = BERTSCORE.statistics(Batch([ENERGY[0]], [[ENERGY[1]]]))
    bleu, distinct = Bleu(), Distinct()
    each = bleu.score_examples(bleu.statistics(Batch(ENERGY, [[ENERGY[1]], [ENERGY[0]]])))[:, 0]
    words = distinct.score_weighted(np.ones((1, 2)), distinct.statistics(Batch(ENERGY, [])))[0]
    computed = scores(METRIC, [ENERGY])
    assert computed == pytest.approx(
        {
            "diversity": 1 - row[0],
            "diversity.similarity": row[0],
            "diversity.self_bleu": each.mean(),
            "diversity.distinct1": words[0],
            "diversity.distinct2": words[1],
        }
    )
    assert 0.25 < computed["diversity"] < 0.4  # of the same topic, yet different; the same answer twice has 0
    assert scores(METRIC, [(ENERGY[0], ENERGY[0])])["diversity"] == 0


def test_the_score_is_the_mean_over_groups() -> None:
    groups = [SAME, SHORT, ENERGY]
    whole = scores(METRIC, groups)
    alone = [scores(METRIC, [group]) for group in groups]
    for name in ("diversity", "diversity.similarity", "diversity.self_bleu", "diversity.distinct1"):
        assert whole[name] == pytest.approx(np.mean([own[name] for own in alone])), name
    pairs = [BERTSCORE.statistics(Batch([a], [[b]]))[0, 0] for a, b in combinations(SAME, 2)]
    assert alone[0]["diversity.similarity"] == pytest.approx(np.mean(pairs), abs=1e-6)
    assert alone[0]["diversity.self_bleu"] == pytest.approx(100)
    assert alone[0]["diversity.distinct1"] == pytest.approx(3 / 9)
    assert alone[1]["diversity.distinct2"] == pytest.approx(1)  # a b, b c; x has none


def test_what_has_nothing_to_compare_is_left_out() -> None:
    rows = METRIC.statistics(Batch(["a", "b", "c"], [], fields={"id": ["1", "1", "2"]}))
    assert np.isnan(rows).all(axis=1).tolist() == [False, False, True]
    assert rows[:2, 4].sum() == 1


def test_empty_outputs_are_alike() -> None:
    computed = scores(METRIC, [("", "")])
    assert (computed["diversity"], computed["diversity.similarity"]) == (0, 1)
    assert np.isnan(computed["diversity.distinct1"])  # no words: missing, not 0


def test_of_repeats(files: Path, cli: Cli) -> None:
    answers = [("it rains", "it rains"), ("a cat sat", "dogs bark"), ENERGY, ("snow", "snow fell")]
    rows = [
        {"id": row["id"], "repeat": r, "output": text}
        for row, texts in zip(ROWS, answers, strict=True)
        for r, text in enumerate(texts)
    ]
    write_jsonl(files / "several.jsonl", rows)
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=several.jsonl",
        "metrics=diversity", "tracking=none", "stats.resamples=500", "output_dir=out",
    )  # fmt: skip
    assert called.code == 0, called.err
    run = harness.load_run("out")
    score = run.scores["diversity"]
    assert score.estimate == pytest.approx(scores(METRIC, answers)["diversity"])
    assert score.low is not None
    assert score.low < score.estimate < score.high  # type: ignore[operator]
    assert run.examples["diversity"].tolist()[:2] == [0, 0]
    assert score.units == "4 examples"


def by_topic(*overrides: str) -> list[str]:
    return [
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl",
        "metrics=diversity", "metrics.diversity.by=topic", "tracking=none", "stats.resamples=200", *overrides,
    ]  # fmt: skip


def test_of_similar_queries(files: Path, cli: Cli) -> None:
    called = cli(*by_topic("dataset.cluster=topic", "output_dir=out"))
    assert called.code == 0, called.err
    run = harness.load_run("out")
    assert run.scores["diversity"].units == "2 clusters by topic"
    outputs = run.examples["output"].tolist()
    pets, weather = (outputs[0], outputs[2]), (outputs[1], outputs[3])
    assert run.scores["diversity"].estimate == pytest.approx(scores(METRIC, [pets, weather])["diversity"])
    assert run.examples["diversity"][0] == run.examples["diversity"][2]


def test_groups_must_be_the_clusters(files: Path, cli: Cli) -> None:
    called = cli(*by_topic())
    assert called.code == 1
    assert "diversity is of groups by 'topic', and there are no clusters; expected dataset.cluster=topic" in called.err


def test_groups_need_one_output_for_each_example(files: Path, cli: Cli) -> None:
    rows = [{"id": row["id"], "repeat": r, "output": f"{r}"} for row in ROWS for r in range(2)]
    write_jsonl(files / "good.jsonl", rows)
    called = cli(*by_topic("dataset.cluster=topic"))
    assert called.code == 1
    assert "metrics.diversity.by=topic, and the example 'a' has several outputs; expected one for each" in called.err


def test_a_field_that_no_example_has(files: Path, cli: Cli) -> None:
    called = cli(*by_topic("metrics.diversity.by=topics"))
    assert called.code == 1
    assert "diversity reads the field 'topics', which neither the examples nor the outputs have (did you mean 'topic'?)" in called.err  # fmt: skip


def test_one_output_is_not_diverse() -> None:
    with pytest.raises(HarnessError, match="each example has one output; expected several for each example"):
        Diversity().statistics(Batch(["a", "b"], [], fields={"id": ["1", "2"]}))
    with pytest.raises(HarnessError, match="no two examples have the same 'topic'; expected several"):
        Diversity("topic").statistics(Batch(["a", "b"], [], fields={"id": ["1", "2"], "topic": ["x", "y"]}))


def test_options_of_bertscore() -> None:
    assert Diversity(bertscore={"layer": 2}).definition()["layer"] == "2"
    with pytest.raises(HarnessError, match="metrics.diversity.bertscore.idf=true.*expected idf=false"):
        Diversity(bertscore={"idf": True})
    with pytest.raises(HarnessError, match="metrics.diversity.bertscore.modell is not an option"):
        Diversity(bertscore={"modell": "x"})


def test_under_another_name_its_groups_must_be_the_clusters(files: Path, cli: Cli) -> None:
    own = "+metrics.by_topic={_target_: harness.metrics.diversity.Diversity, by: topic}"
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl",
        "metrics=[exact_match]", own, "tracking=none",
    )  # fmt: skip
    assert called.code == 1
    assert "by_topic is of groups by 'topic', and there are no clusters; expected dataset.cluster=topic" in called.err
