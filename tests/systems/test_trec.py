"""system=trec: a run file with judged queries, from the command to the comparison."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import pytrec_eval

import harness
from harness.systems.trec import TrecRun
from harness.types import HarnessError
from tests.conftest import Called

Cli = Callable[..., Called]
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\nq2 0 a 1\nq3 0 d 1\nq4 0 e 0\n"
RUN = "q1 Q0 b 2 1.5 t\nq1 Q0 a 1 1.5 t\nq2 Q0 x 1 3 t\nq2 Q0 a 2 2 t\nq2 Q0 c 3 2 t\nq4 Q0 e 1 1 t\n"
OTHER = "q1 Q0 a 1 9 t\nq2 Q0 c 1 9 t\nq2 Q0 a 2 8 t\nq3 Q0 d 1 1 t\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in (("qrels.txt", QRELS), ("first.run", RUN), ("second.run", OTHER)):
        (tmp_path / name).write_text(content)
    return tmp_path


def arguments(*more: str, run: str = "first") -> list[str]:
    return [
        "run", "dataset=trec", "dataset.qrels=qrels.txt", "system=trec", f"system.path={run}.run", "metrics=[retrieval]",
        "metrics.retrieval.measures=[nDCG@10,RR,AP,R@100,P@10]", "tracking=none", "stats.resamples=300", *more,
    ]  # fmt: skip


def test_contexts_are_sorted_as_trec_eval_sorts(folder: Path) -> None:
    system = TrecRun(str(folder / "first.run"))
    system.align(["q3", "q2", "q1", "q4"])
    outputs = system._of(system._ids.texts, None)
    assert [output.text for output in outputs] == [""] * 4
    assert [[c.id for c in output.contexts or ()] for output in outputs] == [[], ["x", "c", "a"], ["b", "a"], ["e"]]


def test_as_a_command(folder: Path, cli: Cli) -> None:
    for run in ("first", "second"):
        called = cli(*arguments(f"output_dir={run}", run=run))
        assert called.code == 0, called.err
        assert "empty" not in called.out + called.err
        loaded = harness.load_run(run)
        with open("qrels.txt") as qrels, open(f"{run}.run") as file:
            judged, ranked = pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(file)
        evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "recip_rank", "map", "recall.100", "P.10"})
        peer = evaluator.evaluate({query: ranked.get(query, {}) for query in judged})
        names = {
            "ndcg_10": "ndcg_cut_10",
            "mrr": "recip_rank",
            "map": "map",
            "recall_100": "recall_100",
            "precision_10": "P_10",
        }
        assert list(loaded.scores) == list(names)
        for ours, theirs in names.items():
            expected = [peer[query][theirs] for query in ("q1", "q2", "q3", "q4")]
            assert loaded.examples[ours].tolist() == pytest.approx(expected, abs=1e-12)
            assert loaded.scores[ours].estimate == pytest.approx(sum(expected) / 4)
    compared = cli("compare", "first", "second", "--json")
    assert compared.code == 0, compared.err
    assert [row.score for row in harness.compare(["first", "second"])] == list(names)


def test_scored_again_from_the_folder_alone(folder: Path, cli: Cli) -> None:
    assert cli(*arguments("output_dir=first")).code == 0
    for name in ("qrels.txt", "first.run"):
        (folder / name).unlink()
    called = cli("score", "first", "metrics.retrieval.measures=[Success@1,nDCG@10]", "output_dir=again")
    assert called.code == 0, called.err
    before, after = (harness.load_run(name).scores["ndcg_10"] for name in ("first", "again"))
    assert (before.estimate, before.low, before.high) == (after.estimate, after.low, after.high)
    assert harness.load_run("again").examples["success_1"].tolist() == [0, 0, 0, 0]


def test_queries_that_the_data_does_not_have(folder: Path, cli: Cli) -> None:
    (folder / "first.run").write_text(RUN + "q9 Q0 a 1 1 t\n")
    called = cli(*arguments())
    assert called.code == 1
    assert "first.run has 1 of 4 queries that the data set does not have ('q9'); expected some of its 4 ids ('q1', …); system.unknown=ignore leaves them out" in called.err  # fmt: skip
    assert cli(*arguments("system.unknown=ignore")).code == 0


def test_a_run_of_other_data(folder: Path) -> None:
    system = TrecRun(str(folder / "first.run"), unknown="ignore")
    with pytest.raises(
        HarnessError, match="has 3 of 3 queries that the data set does not have .* expected some of its 2"
    ):
        system.align(["1", "2"])


def test_options() -> None:
    with pytest.raises(HarnessError, match="system.unknown=drop; expected"):
        TrecRun("x.run", unknown="drop")
    assert TrecRun("x.run", name="BM25").name == "BM25"


def test_the_first_queries_alone(folder: Path, cli: Cli) -> None:
    assert cli(*arguments("limit=2", "output_dir=two")).code == 0
    assert harness.load_run("two").examples["id"].tolist() == ["q1", "q2"]
