"""`python -m benchmarks.trec [DATA]`: `retrieval` beside trec_eval, query by query. Writes its table into
docs/retrieval.md.

`trec_eval_test` has what trec_eval itself prints, to four digits; on `trec_robust03`, two runs of a track, pytrec_eval
is called. DATA is by default ../shared/data, which is no part of this repository.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytrec_eval

from benchmarks.agreement import DATA
from harness.datasets.trec import TrecDataset
from harness.metrics.retrieval import Retrieval
from harness.systems.trec import TrecRun
from harness.types import Batch, Examples, Outputs

PAGE = Path(__file__).parents[1] / "docs" / "retrieval.md"
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
KINDS = {"nDCG@{}": "ndcg_cut_{}", "P@{}": "P_{}", "R@{}": "recall_{}", "AP@{}": "map_cut_{}"}
NAMES = {
    "nDCG": "ndcg", "AP": "map", "RR": "recip_rank", "Rprec": "Rprec",
    "Success@1": "success_1", "Success@5": "success_5", "Success@10": "success_10",
    **{ours.format(k): theirs.format(k) for ours, theirs in KINDS.items() for k in CUTS},
}  # fmt: skip
"""Our measures, and what trec_eval calls them."""
Values = Mapping[str, Mapping[str, float]]
"""By query and measure."""


def ours(qrels: Path, run: Path) -> Values:
    """What the product makes of the two files."""
    examples = Examples.joined(list(TrecDataset(str(qrels)).blocks()))
    system = TrecRun(str(run), unknown="ignore")
    system.align(examples.ids)  # type: ignore[arg-type]
    outputs = Outputs.of(system.generate(examples))
    metric = Retrieval(list(NAMES))
    scores = metric.score_examples(metric.statistics(Batch.of(outputs.texts, examples, metric.reads, outputs.contexts)))
    return {
        str(query): dict(zip(NAMES.values(), row.tolist(), strict=True))
        for query, row in zip(examples.ids, scores, strict=True)
    }


def printed(folder: Path) -> Values:
    """What trec_eval printed."""
    values: Any = json.loads((folder / "goldens.json").read_text())
    return {query: measures for query, measures in values.items() if query != "all"}


def called(qrels: Path, run: Path) -> Values:
    """What pytrec_eval says of the queries that the run has."""
    with open(qrels) as judged, open(run) as ranked:
        families = {name.rpartition("_")[0] if name[-1].isdigit() else name for name in NAMES.values()}
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), families)
        return evaluator.evaluate(pytrec_eval.parse_run(ranked))


def row(name: str, tool: str, mine: Values, theirs: Values, close: Callable[[float, float], bool]) -> str:
    pairs = [(mine[query][m], values[m]) for query, values in theirs.items() for m in NAMES.values() if m in values]
    agree = sum(close(a, b) for a, b in pairs)
    largest = max(abs(a - b) for a, b in pairs)
    return f"| {name} | {tool} | {len(theirs)} | {len(pairs):,} | {agree / len(pairs):.0%} | {largest:.1g} |"


def rows(data: Path) -> Iterator[str]:
    yield "| run | beside | queries | values compared | agree | largest difference |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    folder = data / "trec_eval_test"
    mine = ours(folder / "qrels.txt", folder / "run.txt")
    yield row("trec_eval's own test", "trec_eval, as printed (4 digits)", mine, printed(folder), _as_printed)
    yield row("trec_eval's own test", "pytrec_eval", mine, called(folder / "qrels.txt", folder / "run.txt"), _equal)
    folder = data / "trec_robust03"
    for run in ("humR03dc", "uic0301"):
        paths = folder / "qrels.txt", folder / f"{run}.run"
        yield row(f"TREC 2003 Robust, {run}", "pytrec_eval", ours(*paths), called(*paths), _equal)


def _as_printed(ours: float, theirs: float) -> bool:
    return f"{ours:.4f}" == f"{theirs:.4f}"


def _equal(ours: float, theirs: float) -> bool:
    return abs(ours - theirs) < 1e-12


def main(data: Path = DATA) -> None:
    if not (data / "trec_eval_test").is_dir():
        print(f"there is no {data / 'trec_eval_test'}; nothing to compare with, nothing written")
        return
    lines = []
    for line in rows(data):
        print(line, flush=True)
        lines.append(line)
    made = "\n".join(["<!-- made by `python -m benchmarks.trec` -->", *lines, "<!-- end of trec -->"])
    pattern = r"<!-- made by `python -m benchmarks.trec` -->.*?<!-- end of trec -->"
    if PAGE.exists():
        PAGE.write_text(re.sub(pattern, lambda _: made, PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
