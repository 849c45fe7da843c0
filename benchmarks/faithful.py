"""`python -m benchmarks.faithful FOLDER…`: which score of an answer against its passage agrees best with people.

A folder has `rag.jsonl` with ragas' columns and people's labels: `consistent` (1 or 0), or `label`, of which `Fully
attributable` counts as supported, and `Generic`, an answer that says nothing, is left out. For each score, the area
under the ROC curve: how often an answer that people call supported has a higher score than one that they do not, with
an interval from resampling the answers. The scores are those of views (`view: {of: output, against: contexts}`), as a
run has them. With `--write` the table goes into docs/rag.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import harness
from harness.stats.resampling import generator
from harness.types import Array

PAGE = Path(__file__).parents[1] / "docs" / "rag.md"
BEGIN, END = "<!-- agreement with people -->\n", "<!-- end -->\n"
LABELS = {"Fully attributable": 1, "Not fully attributable": 0, "Generic": None}
RESAMPLES, LEVEL, SEED, DIGITS = 2000, 0.95, 12345, 3
ONE = {"of": "output", "against": "contexts", "fold": "mean"}
METRICS: dict[str, dict[str, Any]] = {
    "bertscore": {"_target_": "harness.metrics.bertscore.BertScore", "view": {**ONE, "score": "bertscore.precision"}},
    "rouge1": {
        "_target_": "harness.metrics.rouge.Rouge",
        "types": ["rouge1"],
        "view": {**ONE, "score": "rouge1.precision"},
    },
    "token_f1": {"_target_": "harness.metrics.squad.TokenF1", "view": ONE},
}
ROWS = {
    "BERTScore precision": "bertscore", "BERTScore F1": "bertscore.f1", "BERTScore recall": "bertscore.recall",
    "ROUGE-1 precision": "rouge1", "ROUGE-1 F1": "rouge1.f1", "ROUGE-1 recall": "rouge1.recall",
    "token F1": "token_f1",
}  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """Answers with their passages, and what people say of them."""

    name: str
    answers: Sequence[str]
    contexts: Sequence[Sequence[str]]
    supported: np.ndarray
    """(n,) whether people call it supported."""


def read(folder: Path) -> Judged:
    """The answers of a folder that people called supported or not."""
    rows = [json.loads(line) for line in (folder / "rag.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = [row["consistent"] if "consistent" in row else LABELS[row["label"]] for row in rows]
    kept = [(row, label) for row, label in zip(rows, labels, strict=True) if label is not None]
    return Judged(
        folder.name,
        [row["response"] for row, _ in kept],
        [row["retrieved_contexts"] for row, _ in kept],
        np.array([label for _, label in kept], dtype=np.bool_),
    )


def area(values: Array, supported: np.ndarray) -> float:
    """The area under the ROC curve: of all pairs of a supported answer and another the share in which the first has the
    higher value, ties counting a half (Mann and Whitney's U).

    >>> area(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
    0.875
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    yes = int(supported.sum())
    return float((ranks[supported].sum() - yes * (yes + 1) / 2) / (yes * (len(values) - yes)))


def interval(values: Array, supported: np.ndarray, draws: np.ndarray) -> tuple[float, float]:
    """Percentiles of the areas of resamples (resamples, n)."""
    areas = [area(values[draw], supported[draw]) for draw in draws if 0 < supported[draw].sum() < len(draw)]
    low, high = np.quantile(areas, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def measured(judged: Judged) -> dict[str, tuple[float, float, float]]:
    """(area, low, high) of each score."""
    metrics = [{name: spec} for name, spec in METRICS.items()]
    nothing = [[] for _ in judged.answers]
    run = harness.evaluate(judged.answers, nothing, metrics, contexts=judged.contexts, resamples=0)
    table = run.columns(*ROWS.values()).to_pydict()
    n = len(judged.answers)
    draws = generator(SEED, f"area under the curve, {judged.name}").integers(0, n, (RESAMPLES, n))
    areas = {}
    for name, column in ROWS.items():
        values = np.array(table[column])
        areas[name] = (area(values, judged.supported), *interval(values, judged.supported, draws))
    return areas


def table(sets: Sequence[Judged], areas: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> str:
    """As Markdown, the largest area of each set in bold."""
    heads = [f"{judged.name} ({judged.supported.sum()} of {len(judged.supported)} supported)" for judged in sets]
    lines = [f"| score | {' | '.join(heads)} |", "| --- |" + " --- |" * len(sets)]
    for row in ROWS:
        cells = []
        for judged in sets:
            best = max(round(value, DIGITS) for value, *_ in areas[judged.name].values())
            value, low, high = areas[judged.name][row]
            mark = "**" if round(value, DIGITS) == best else ""
            cells.append(f"{mark}{value:.{DIGITS}f}{mark} [{low:.{DIGITS}f}, {high:.{DIGITS}f}]")
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithful", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="each with a rag.jsonl")
    parser.add_argument("--write", action="store_true", help="put the table into docs/rag.md")
    options = parser.parse_args(arguments)
    sets = [read(folder) for folder in options.folders]
    written = table(sets, {judged.name: measured(judged) for judged in sets})
    print(written, end="")
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}{written}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
