"""`python -m benchmarks.retrieval`: `retrieval` beside pytrec_eval, which is trec_eval's C in Python: 10,000 queries of
100 documents, ten of them judged."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytrec_eval

import harness
from benchmarks.processes import Used, measured
from harness.datasets.trec import TrecDataset
from harness.metrics.retrieval import Retrieval
from harness.systems.trec import TrecRun
from harness.types import Batch, Contexts, Examples, Outputs

QUERIES, DOCUMENTS, JUDGED, CORPUS = 10_000, 100, 10, 1_000_000
PEER = {"ndcg_cut.10", "recall.10", "P.10", "recip_rank", "map", "success.10"}
"""What `retrieval` computes by default."""
REPEATS = 7
SCRIPT = """import sys, pytrec_eval
qrels, run = pytrec_eval.parse_qrel(open(sys.argv[1])), pytrec_eval.parse_run(open(sys.argv[2]))
rows = list(pytrec_eval.RelevanceEvaluator(qrels, set(sys.argv[3:])).evaluate(run).values())
print({name: sum(row[name] for row in rows) / len(rows) for name in rows[0]})
"""
"""What one writes with pytrec_eval: the means of a run, no intervals, no value of a query kept."""


def made() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """(judgements, a run) with ties, as pytrec_eval takes them."""
    rng = np.random.default_rng(1)
    qrels, run = {}, {}
    for query in range(QUERIES):
        documents = [f"D{number}" for number in rng.choice(CORPUS, DOCUMENTS, replace=False)]
        scores, grades = rng.normal(10, 3, DOCUMENTS).round(2), rng.integers(0, 3, JUDGED)
        run[f"q{query}"] = dict(zip(documents, scores.tolist(), strict=True))
        qrels[f"q{query}"] = dict(
            zip(rng.choice(documents, JUDGED, replace=False).tolist(), grades.tolist(), strict=True)
        )
    return qrels, run


def written(folder: Path, qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> tuple[Path, Path]:
    """The two as files; a retriever writes the best document first."""
    judged, ranked = folder / "qrels.txt", folder / "made.run"
    judged.write_text("".join(f"{q} 0 {d} {g}\n" for q, grades in qrels.items() for d, g in grades.items()))
    best_first = {query: sorted(scores.items(), key=lambda pair: -pair[1]) for query, scores in run.items()}
    ranked.write_text(
        "".join(f"{q} Q0 {d} {k} {s} made\n" for q, pairs in best_first.items() for k, (d, s) in enumerate(pairs, 1))
    )
    return judged, ranked


def used(*works: Callable[[], Any]) -> list[Used]:
    """The least that each took of several times, after one that is not counted; in turns, so that a busy machine is
    as busy for all of them."""
    for work in works:
        work()
    processor, wall = (np.empty((REPEATS, len(works))) for _ in range(2))
    for turn in range(REPEATS):
        for i, work in enumerate(works):
            start, begun = time.process_time(), time.perf_counter()
            work()
            processor[turn, i] = time.process_time() - start
            wall[turn, i] = time.perf_counter() - begun
    return [Used(*least) for least in zip(processor.min(0).tolist(), wall.min(0).tolist(), strict=True)]


def from_files(judged: Path, ranked: Path) -> Any:
    """What a run does between the two files and the rows."""
    examples = Examples.joined(list(TrecDataset(str(judged)).blocks()))
    system, metric = TrecRun(str(ranked)), Retrieval()
    system.align(examples.ids)  # type: ignore[arg-type]
    outputs = Outputs.of(system.generate(examples))
    return metric.statistics(Batch.of(outputs.texts, examples, metric.reads, outputs.contexts))


def peer_from_files(judged: Path, ranked: Path) -> Any:
    with open(judged) as qrels, open(ranked) as run:
        return pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), PEER).evaluate(pytrec_eval.parse_run(run))


def commands(judged: Path, ranked: Path) -> tuple[Used, Used]:
    """(`harness run`, the script), from start to end; the least of three, after one that is not counted."""
    ours = [
        *(sys.executable, "-m", "harness", "run", "dataset=trec", f"dataset.qrels={judged}", "system=trec"),
        *(f"system.path={ranked}", "metrics=[retrieval]", "tracking=none", "progress=false", "output_dir=made"),
    ]
    theirs = [sys.executable, "-c", SCRIPT, str(judged), str(ranked), *PEER]
    return tuple(_least(command, judged.parent) for command in (ours, theirs))  # type: ignore[return-value]


def _least(command: list[str], folder: Path) -> Used:
    all_used = []
    for _ in range(4):
        shutil.rmtree(folder / "made", ignore_errors=True)
        all_used.append(measured(command, folder))
    return Used(min(used.processor for used in all_used[1:]), min(used.wall for used in all_used[1:]))


def tables() -> Iterator[str]:
    qrels, run = made()
    lists = [[{"id": d, "score": s} for d, s in scores.items()] for scores in run.values()]
    contexts, relevant = Contexts.of(lists), Contexts.of_grades(list(qrels.values()))
    by_id, grades, nothing = list(run.values()), list(qrels.values()), [""] * QUERIES
    batch, metric = Batch(nothing, [], passages={"contexts": contexts, "relevant": relevant}), Retrieval()

    def evaluated(contexts: Any, relevant: Any) -> Any:
        none: list[list[str]] = [[]] * QUERIES
        return harness.evaluate(nothing, none, "retrieval", contexts=contexts, relevant=relevant, resamples=0)

    def peer() -> Any:
        return pytrec_eval.RelevanceEvaluator(qrels, PEER).evaluate(run)

    yield f"{QUERIES:,} queries of {DOCUMENTS} documents, {JUDGED} of them judged, the six measures of"
    yield "`metrics=retrieval` of each query. pytrec_eval has its dictionaries in memory, we have what is named."
    yield f"The best of {REPEATS}, after one; processor time is that of all threads."
    yield ""
    yield "| what | ours, s | of processor | pytrec_eval, s | of processor | ratio | of processor |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    with tempfile.TemporaryDirectory() as folder:
        paths = written(Path(folder), qrels, run)
        for what, (ours, theirs) in (
            ("rows of columns, as a run has them, one core", used(lambda: metric.statistics(batch), peer)),
            ("`harness.evaluate` of columns", used(lambda: evaluated(contexts, relevant), peer)),
            ("`harness.evaluate` of `{id: score}`", used(lambda: evaluated(by_id, grades), peer)),
            ("`harness.evaluate` of lists of `{id, score}`", used(lambda: evaluated(lists, grades), peer)),
            ("from the two files", used(lambda: from_files(*paths), lambda: peer_from_files(*paths))),
            ("`harness run`, 10,000 resamples, everything stored, beside a script that prints means", commands(*paths)),
        ):
            cells = [ours.wall, ours.processor, theirs.wall, theirs.processor]
            ratios = [theirs.wall / ours.wall, theirs.processor / ours.processor]
            yield f"| {what} | " + " | ".join([*(f"{c:.3f}" for c in cells), *(f"{r:.1f}" for r in ratios)]) + " |"


if __name__ == "__main__":
    for line in tables():
        print(line, flush=True)
