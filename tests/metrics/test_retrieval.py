"""Measures of retrieval against pytrec_eval (trec_eval itself) and ir_measures, live, on hostile runs."""

from __future__ import annotations

import math
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import example, given
from hypothesis import strategies as st

import harness
from harness.metrics.retrieval import Retrieval
from harness.types import Array, Batch, Contexts, HarnessError

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]
BY_TREC_EVAL = {
    "nDCG": "ndcg", "nDCG@1": "ndcg_cut_1", "nDCG@3": "ndcg_cut_3", "nDCG@10": "ndcg_cut_10",
    "P@1": "P_1", "P@3": "P_3", "P@10": "P_10", "precision": "set_P",
    "R@1": "recall_1", "R@3": "recall_3", "R@10": "recall_10", "recall": "set_recall",
    "RR": "recip_rank", "AP": "map", "AP@3": "map_cut_3",
    "Success@1": "success_1", "Success@3": "success_3", "Rprec": "Rprec",
}  # fmt: skip
ASKED = {
    "ndcg", "ndcg_cut.1,3,10", "P.1,3,10", "set_P", "recall.1,3,10", "set_recall", "recip_rank", "map", "map_cut.3",
    "success.1,3", "Rprec",
}  # fmt: skip
SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 1.0 - 1e-9, 0.1, -3.5, 1e30, 3e38, -3e38, 1e-45]),
    st.floats(-10, 10, width=32),
)
IDS = st.sampled_from(["a", "b", "B", "aa", "ab", "é", "z", "zz", "1", "10", "9", "d-1", "漢", "\U0001f600"])
GRADES = st.dictionaries(IDS, st.integers(-2, 4), min_size=1)
QRELS = st.dictionaries(st.sampled_from("pqr"), GRADES.filter(lambda grades: max(grades.values()) >= 0), min_size=1)
"""A query whose grades are all negative ends pytrec_eval's process."""
RUNS = st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(IDS, SCORES))


def rows(metric: Retrieval, qrels: Qrels, run: Run) -> Array:
    """Of the judged queries."""
    contexts = [[{"id": id_, "score": score} for id_, score in run.get(query, {}).items()] for query in qrels]
    passages = {"contexts": Contexts.of(contexts), "relevant": Contexts.of_grades(list(qrels.values()))}
    return metric.statistics(Batch([""] * len(qrels), [], passages=passages))


def expected(qrels: Qrels, run: Run, level: int = 1) -> dict[str, dict[str, float]]:
    """What trec_eval says; a query without results counts 0, as with -c."""
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=level)
    results = evaluator.evaluate({query: run.get(query, {}) for query in qrels})
    return {query: results[query] for query in qrels}


@given(QRELS, RUNS)
@example({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0 + 1e-9, "b": 1.0}})  # the same in 32 bits
@example({"q": {"a": 1}, "p": {"b": 2}}, {})
@example({"q": {"a": -1, "b": -2, "z": 1}}, {"q": {"a": 3.0, "b": 2.0, "z": 1.0}})
def test_hostile_runs_as_trec_eval_scores_them(qrels: Qrels, run: Run) -> None:
    metric = Retrieval(list(BY_TREC_EVAL))
    computed = rows(metric, qrels, run)
    for query, row in zip(qrels, computed, strict=True):
        peer = expected(qrels, run)[query]
        assert row[:-1] == pytest.approx([peer[name] for name in BY_TREC_EVAL.values()], abs=1e-12)
    assert (computed[:, -1] == 1).all()


def test_grades_that_are_all_negative() -> None:
    """Judged, and nothing is relevant: 0, as for grades that are all 0."""
    negative, zero = (rows(Retrieval(list(BY_TREC_EVAL)), {"q": {"a": g, "b": g}}, {"q": {"a": 1.0}}) for g in (-1, 0))
    assert negative.tolist() == zero.tolist() == [[0.0] * len(BY_TREC_EVAL) + [1.0]]


@given(QRELS, RUNS, st.integers(2, 3))
def test_another_least_grade(qrels: Qrels, run: Run, least: int) -> None:
    names = {"P(rel={})@3": "P_3", "R(rel={})@3": "recall_3", "RR(rel={})": "recip_rank", "AP(rel={})": "map"}
    computed = rows(Retrieval([name.format(least) for name in names]), qrels, run)
    for query, row in zip(qrels, computed, strict=True):
        peer = expected(qrels, run, least)[query]
        assert row[:-1] == pytest.approx([peer[name] for name in names.values()], abs=1e-12)


OURS = [
    ir_measures.parse_measure(name) for name in ("nDCG@3", "P@3", "R@3", "RR", "AP", "Success@3", "Rprec", "AP(rel=2)")
]


@given(QRELS, RUNS)
def test_names_and_means_of_ir_measures(qrels: Qrels, run: Run) -> None:
    """Its own mean is over judged queries, those without results at 0."""
    metric = Retrieval([str(measure) for measure in OURS])
    means = metric.score(rows(metric, qrels, run).sum(0))
    peer = ir_measures.calc_aggregate(OURS, qrels, run)
    assert means == pytest.approx([peer[measure] for measure in OURS], abs=1e-12)


def test_some_of_its_measures() -> None:
    """As if it had been asked for no others: of rows, columns, titles and scores."""
    batch = Batch(["", ""], [], passages={
        "contexts": Contexts.of([[{"id": "a", "score": 2}, {"id": "b", "score": 1}], [{"id": "c", "score": 1}]]),
        "relevant": Contexts.of_grades([{"b": 2}, {"c": 1, "d": 1}]),
    })  # fmt: skip
    whole, alone = Retrieval(["nDCG@10", "RR", "AP"], order="given"), Retrieval(["AP", "RR"], order="given")
    part = whole.of_scores(["map", "mrr"])
    assert (part.columns, part.score_names, part.definition()) == (alone.columns, alone.score_names, alone.definition())
    assert [part.title_of(name) for name in part.score_names] == ["MAP", "MRR"]
    np.testing.assert_array_equal(part.statistics(batch), alone.statistics(batch))
    assert whole.score_names == ("ndcg_10", "mrr", "map")


@given(QRELS, RUNS)
def test_judged(qrels: Qrels, run: Run) -> None:
    """As many of the first three as have any grade. (ir_measures breaks ties the other way.)"""
    computed = rows(Retrieval(["Judged@3", "Judged"]), qrels, run)
    for query, row in zip(qrels, computed, strict=True):
        order = sorted(
            run.get(query, {}).items(), key=lambda pair: (np.float32(pair[1]), pair[0].encode()), reverse=True
        )
        for value, first in ((row[0], order[:3]), (row[1], order)):
            judged = [id_ in qrels[query] for id_, _ in first]
            assert value == (sum(judged) / len(judged) if judged else 0)


@given(st.lists(IDS, max_size=8), QRELS)
def test_contexts_without_scores_are_in_their_order(ids: list[str], qrels: Qrels) -> None:
    """And an id that occurs again counts where it stands first."""
    judged = next(iter(qrels.values()))
    distinct = list(dict.fromkeys(ids))
    run = {"q": {id_: float(-i) for i, id_ in enumerate(distinct)}}
    peer = expected({"q": judged}, run)["q"]
    for order, contexts in (
        ("score", [{"id": id_} for id_ in ids]),
        ("given", [{"id": id_, "score": float(i)} for i, id_ in enumerate(ids)]),
    ):
        metric = Retrieval(list(BY_TREC_EVAL), order)
        passages = {"contexts": Contexts.of([contexts]), "relevant": Contexts.of_grades([judged])}
        (row,) = metric.statistics(Batch([""], [], passages=passages))
        assert row[:-1] == pytest.approx([peer[name] for name in BY_TREC_EVAL.values()], abs=1e-12)


@given(st.lists(st.tuples(IDS, SCORES), max_size=8), QRELS)
def test_an_id_retrieved_twice_stands_where_it_is_best(retrieved: list[tuple[str, float]], qrels: Qrels) -> None:
    judged = next(iter(qrels.values()))
    best: dict[str, float] = {}
    for id_, score in retrieved:
        best[id_] = max(score, best.get(id_, -np.inf))
    metric = Retrieval(list(BY_TREC_EVAL))
    contexts = Contexts.of([[{"id": id_, "score": score} for id_, score in retrieved]])
    (row,) = metric.statistics(
        Batch([""], [], passages={"contexts": contexts, "relevant": Contexts.of_grades([judged])})
    )
    peer = expected({"q": judged}, {"q": best})["q"]
    assert row[:-1] == pytest.approx([peer[name] for name in BY_TREC_EVAL.values()], abs=1e-12)


# ---------------------------------------------------------------- as users call it


CONTEXTS: list[list[Any]] = [
    [{"id": "d1", "text": "one"}, {"id": "d2", "text": "two"}],
    [{"id": "d9", "text": "nine"}],
    [],
    [{"id": "d1", "text": "one"}],
]
RELEVANT: list[Any] = [["d2"], {"d9": 2, "d8": 1}, ["d1"], None]


def evaluated(**options: Any) -> harness.RunResult:
    n = len(CONTEXTS)
    return harness.evaluate(
        [""] * n, [[]] * n, options.pop("metrics", "retrieval"), contexts=CONTEXTS, relevant=RELEVANT, **options
    )


def test_in_python() -> None:
    run = evaluated(resamples=200)
    assert "1 of 4" in str(run.scores["mrr"].note)
    assert "have no judgement" in str(run.scores["mrr"].note)
    assert list(run.scores) == ["ndcg_10", "recall_10", "precision_10", "mrr", "map", "success_10"]
    assert run.scores["mrr"].estimate == pytest.approx(
        (1 / 2 + 1 + 0) / 3
    )  # nothing retrieved: 0; not judged: left out
    assert run.scores["recall_10"].estimate == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert run.examples["mrr"].tolist()[:3] == [0.5, 1, 0]
    assert np.isnan(run.examples["mrr"].tolist()[3])
    score = run.scores["ndcg_10"]
    assert (score.title, score.units) == ("nDCG@10", "3 examples")
    assert score.low is not None
    assert score.low <= score.estimate <= score.high  # type: ignore[operator]
    assert run.health["empty"] is None  # nobody reads the texts
    assert run.health["warnings"] == []


def test_measures_that_the_interface_names() -> None:
    named = {"retrieval": {"measures": ["nDCG@10", "RR", "AP", "R@100", "P@10"]}}
    assert list(evaluated(metrics=named, resamples=0).scores) == ["ndcg_10", "mrr", "map", "recall_100", "precision_10"]


def test_contexts_without_ids() -> None:
    words = (
        "retrieval: context 2 of example '2' ('a text') has no id, as 1 of 3 contexts; expected ids such as 'relevant' "
        """names ('d2'): {"id": …, "text": …}"""
    )
    with pytest.raises(HarnessError) as raised:
        harness.evaluate(
            ["", ""],
            [[], []],
            "retrieval",
            contexts=[[{"id": "d1"}], [{"id": "d3"}, "a text"]],
            relevant=[["d1"], ["d2"]],
        )
    assert str(raised.value) == words


def test_no_judgement_at_all() -> None:
    lacking = "retrieval needs relevant, and no example has any; expected it in the data .*; in Python relevant="
    with pytest.raises(HarnessError, match=lacking):
        harness.evaluate([""], [[]], "retrieval", contexts=[[{"id": "d1"}]])
    with pytest.raises(
        HarnessError, match="retrieval needs contexts, and no example has any; expected them beside the outputs"
    ):
        harness.evaluate([""], [[]], "retrieval", relevant=[["d1"]])


def test_ids_of_other_documents(caplog: pytest.LogCaptureFixture) -> None:
    harness.evaluate([""], [[]], "retrieval", contexts=[[{"id": "doc-1"}]], relevant=[["1"]], resamples=0)
    assert "of 1 retrieved ids and 1 judged ones not one is both (example '1': " in caplog.text


def test_an_empty_list_of_measures() -> None:
    with pytest.raises(HarnessError, match="metrics.retrieval.measures=.*expected a list such as"):
        Retrieval([])
    with pytest.raises(HarnessError, match="metrics.retrieval.order=rank; expected"):
        Retrieval(order="rank")


def test_what_failed_queries_could_have_given() -> None:
    metric = Retrieval(["nDCG@2", "P@2", "AP"], order="given")
    judged = Contexts.of_grades([{"a": 0, "b": 1, "c": 2}, None])
    worst, best = metric.extremes(Batch(["", ""], [], passages={"contexts": Contexts.nones(2), "relevant": judged}))
    assert worst[0].tolist() == [0, 0, 0, 1]
    assert best[0].tolist() == [1, 1, 1, 1]
    assert np.isnan(worst[1]).all()
    assert np.isnan(best[1]).all()


def test_fractional_grades_of_very_different_size() -> None:
    relevant = [{"a": 0.25, "b": 0.5}, {"a": 1e12, "b": 0.75, "c": -3.5}, {}, None]
    contexts = [[{"id": "a"}, {"id": "b"}], [{"id": "b"}, {"id": "x"}, {"id": "a"}], [], []]
    passages = {"contexts": Contexts.of(contexts), "relevant": Contexts.of_grades(relevant)}
    values = Retrieval(["nDCG", "RR(rel=1)"]).statistics(Batch([""] * 4, [], passages=passages))
    third, second = 1 / math.log2(4), 1 / math.log2(3)
    assert values[0, 0] == pytest.approx((0.25 + 0.5 * second) / (0.5 + 0.25 * second), rel=1e-15)
    assert values[1, 0] == pytest.approx((0.75 + 1e12 * third) / (1e12 + 0.75 * second), rel=1e-15)
    assert values[:2, 1].tolist() == [0, 1 / 3]
    assert np.isnan(values[2:]).all()
