"""`python -m benchmarks.layers`: which layer of BERTScore's default model goes best with human judgements.

Segment-level correlation of F1 with human scores, layer by layer, on the sets of ../shared/data that have such scores;
intervals from resampling segments, all systems of a segment together. Writes the table into docs/metrics.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from benchmarks.lexical import SHARED, read
from harness.metrics.bertscore import BertScore
from harness.types import Batch

PAGE = Path(__file__).parent.parent / "docs" / "metrics.md"
SETS = {"mqm_ted_zh-en": ("mqm", "MQM, TED zh-en"), "topical_chat": ("overall", "Topical-Chat, overall")}
RESAMPLES = 200


def pairs(name: str, field: str) -> tuple[list[str], list[list[str]], np.ndarray, np.ndarray]:
    """(outputs, references, human scores, segment of each)."""
    folder = SHARED / name
    references = {e["id"]: e["references"] for e in read(folder / "examples.jsonl")}
    human = {(row["id"], row["system"]): row[field] for row in read(folder / "human.jsonl")}
    judged = []
    for path in sorted((folder / "systems").glob("*.jsonl")):
        for row in read(path):
            if (row["id"], path.stem) in human:
                judged.append((row["output"], references[row["id"]], human[row["id"], path.stem], row["id"]))
    outputs, refs, scores, ids = zip(*judged, strict=True)
    return list(outputs), list(refs), np.array(scores), np.unique(ids, return_inverse=True)[1]


def correlations(scores: np.ndarray, human: np.ndarray, segments: np.ndarray) -> list[np.ndarray]:
    """For each column of scores (n, layers) its Kendall tau-b: the estimate, then the replicates."""
    rng = np.random.default_rng(12345)
    places = [np.flatnonzero(segments == s) for s in range(segments.max() + 1)]
    draws = [np.arange(len(human))]
    draws += [np.concatenate([places[s] for s in rng.integers(0, len(places), len(places))]) for _ in range(RESAMPLES)]
    return [np.array([kendalltau(column[d], human[d]).statistic for d in draws]) for column in scores.T]


def main() -> None:
    if not SHARED.is_dir():
        print(f"{SHARED} is not there; nothing to measure")
        return
    metric = BertScore(all_layers=True, device="cpu")
    columns = [i for i, name in enumerate(metric.score_names) if re.fullmatch(r"bertscore\.layer\d+", name)]
    cells: list[list[str]] = [[str(i)] for i in range(len(columns))]
    for name, (field, _) in SETS.items():
        outputs, references, human, segments = pairs(name, field)
        rows = metric.statistics(Batch(outputs, references))
        for cell, taus in zip(cells, correlations(rows[:, columns], human, segments), strict=True):
            low, high = np.quantile(taus[1:], [0.025, 0.975])
            cell.append(f"{taus[0]:.3f} [{low:.3f}, {high:.3f}]")
    table = "\n".join(
        [
            f"| layer | {' | '.join(title for _, title in SETS.values())} |",
            "| ---: |" + " --- |" * len(SETS),
            *(f"| {' | '.join(cell)} |" for cell in cells),
        ]
    )
    print(table)
    text = PAGE.read_text()
    start, end = "<!-- layers: written by python -m benchmarks.layers -->\n", "<!-- end of layers -->"
    before, _, rest = text.partition(start)
    PAGE.write_text(before + start + table + "\n" + end + rest.partition(end)[2])


if __name__ == "__main__":
    main()
