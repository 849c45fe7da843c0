"""`python -m benchmarks.people [DATA [PACKAGE]]`: agreement with people beside SciPy and mt-metrics-eval. Writes
docs/meta.md.

DATA holds sets with human scores, by default ../shared/data, which is no part of this repository. PACKAGE is the folder
with `mt_metrics_eval` (github.com/google-research/mt-metrics-eval); without it, SciPy alone stands beside ours.
"""

from __future__ import annotations

import importlib
import json
import logging
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats

import harness
from benchmarks.agreement import DATA
from harness.analysis.people.judgements import HumanFile, joined
from harness.stats.people.agreement import agreement
from harness.stats.people.exchange import Swaps, of_segments
from harness.stats.people.panel import MetaOptions, Panel
from harness.stats.people.segment_level import Groups
from harness.types import RunResult, nothing

PAGE = Path(__file__).parent.parent / "docs" / "meta.md"
BY = {"item": "item", "system": "sys", "none": "none"}
METRICS = ("bleu", "chrf")
SWAPS = 100
"""Of mt-metrics-eval, which takes seconds for each."""
Row = tuple[str, str, str]


def runs(where: Path, reference: int | None = None) -> list[RunResult]:
    """Every system of a set, in memory, against all references or one of them."""
    examples = [json.loads(line) for line in (where / "examples.jsonl").read_text(encoding="utf-8").splitlines()]
    ids = [row["id"] for row in examples]
    references = [row["references"] if reference is None else [row["references"][reference]] for row in examples]
    made = []
    for path in sorted((where / "systems").glob("*.jsonl")):
        outputs = {row["id"]: row["output"] for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
        result = harness.evaluate([outputs[i] for i in ids], references, list(METRICS), ids=ids, resamples=0)
        made.append(replace(result, name=path.stem, system=path.stem))
    return made


def panel(where: Path, field: str, reference: int | None = None) -> Panel:
    return joined(runs(where, reference), HumanFile(where / "human.jsonl", field), METRICS, 1).panel


def rows(data: Path, theirs: Any) -> Iterator[Row]:
    for reference, name in ((0, "first"), (1, "second")):
        for row in agreement(panel(data / "mqm_ted_zh-en", "mqm", reference), MetaOptions(0), ["pearson"]).coefficients:
            if (row.level, row.score) == ("system", "bleu"):
                yield f"mqm_ted_zh-en: Pearson of BLEU over 13 systems, {name} reference", "", f"{row.estimate:.4f}"
    for folder, field, reference in (("mqm_ted_zh-en", "mqm", 1), ("topical_chat", "overall", None)):
        given = panel(data / folder, field, reference)
        for kind in BY:
            yield from _outputs(given, folder, kind, theirs)
        yield from _systems(given, folder, theirs)
    given = panel(data / "mqm_ted_zh-en", "mqm", 1)
    if theirs is not None:
        yield from _swaps(given, theirs)
    yield _speed(given)
    wmt = panel(data / "wmt22_de-en", "z")
    for row in agreement(wmt, MetaOptions(0), ["pearson", "kendall"]).coefficients:
        by = scipy.stats.pearsonr if row.coefficient == "pearson" else scipy.stats.kendalltau
        expected = by(wmt.corpora[row.score].scores, wmt.means).statistic
        yield (
            f"wmt22_de-en: {row.coefficient} of {row.score} over 9 systems (SciPy)",
            f"{expected:.10f}",
            f"{row.estimate:.10f}",
        )


def _outputs(given: Panel, folder: str, kind: str, theirs: Any) -> Iterator[Row]:
    assert given.human is not None
    answer = agreement(given, MetaOptions(0, group=kind)).coefficients
    ours = {(row.score, row.coefficient): row.estimate for row in answer if row.level == "segment"}
    if theirs is None and kind == "none":
        x, y = given.segments["bleu"][given.cells], given.human[given.cells]
        expected = {"pearson": scipy.stats.pearsonr(x, y), "spearman": scipy.stats.spearmanr(x, y)}
        expected["kendall_b"], expected["kendall_c"] = (scipy.stats.kendalltau(x, y, variant=v) for v in "bc")
        for name, value in expected.items():
            yield (
                f"{folder}: {name} of BLEU, all outputs (SciPy)",
                f"{value.statistic:.10f}",
                f"{ours['bleu', name]:.10f}",
            )
    if theirs is None:
        return
    for score in METRICS:
        flat = [values.ravel().tolist() for values in (given.human, given.segments[score])]
        pair = theirs.Correlation(len(given.systems), *flat)
        by = BY[kind]
        expected = {
            "pearson": pair.Pearson(by)[0],
            "spearman": pair.Spearman(by)[0],
            "kendall_b": pair.Kendall(by)[0],
            "kendall_c": pair.Kendall(by, variant="c")[0],
        }
        if kind == "item":
            expected["acc_eq"] = pair.KendallWithTiesOpt(by, sample_rate=1.0)[0]
        for name, value in expected.items():
            label = f"{folder}: {name} of {score}, by {kind} (mt-metrics-eval)"
            yield label, f"{value:.10f}", f"{ours[score, name]:.10f}"


def _systems(given: Panel, folder: str, theirs: Any) -> Iterator[Row]:
    assert given.human is not None
    answer = agreement(given, MetaOptions(0), ["kendall", "accuracy", "spa"]).coefficients
    ours = {(row.score, row.coefficient): row.estimate for row in answer}
    for score in METRICS:
        expected = scipy.stats.kendalltau(given.corpora[score].scores, given.means).statistic
        yield f"{folder}: Kendall of {score} over systems (SciPy)", f"{expected:.10f}", f"{ours[score, 'kendall']:.10f}"
        if theirs is not None:
            flat = [values.ravel().tolist() for values in (given.human, given.segments[score])]
            value = theirs.Correlation(len(given.systems), *flat).PairwiseConfidenceError()[0]
            yield (
                f"{folder}: SPA of {score} (mt-metrics-eval, 1,000 permutations)",
                f"{value:.3f}",
                f"{ours[score, 'spa']:.3f}",
            )


def _swaps(given: Panel, theirs: Any) -> Iterator[Row]:
    """The spread of differences under swaps, which p-values come from: exact p-values are of few swaps there."""
    assert given.human is not None
    pairs = [
        theirs.Correlation(len(given.systems), *(v.ravel().tolist() for v in (given.human, given.segments[m])))
        for m in METRICS
    ]
    np.random.seed(0)
    once = theirs.PermutationSigDiffParams(block_size=10 * SWAPS)
    _, gap, _, drawn = theirs.PermutationSigDiff(*pairs, theirs.KendallVariants, "item", k=SWAPS, params=once)
    statistic = of_segments(Groups(given, "item"), *(given.segments[name] for name in METRICS), "kendall_b")
    swaps = Swaps(given, MetaOptions(5_000))
    null = swaps.nulls(statistic, nothing)
    label = "mqm_ted_zh-en: PERM-BOTH of Kendall by item, chrF against BLEU"
    yield f"{label}: difference (mt-metrics-eval)", f"{gap:.10f}", f"{swaps.seen(statistic):.10f}"
    spread = np.std([a - b for a, b in drawn])
    yield f"{label}: its spread under swaps ({SWAPS} of theirs)", f"{spread:.4f}", f"{null.std():.4f}"


def _speed(given: Panel) -> Row:
    agreement(given, MetaOptions(2))  # compiled
    start = time.process_time()
    agreement(given, MetaOptions(1_000))
    spent = time.process_time() - start
    return (
        "mqm_ted_zh-en: all coefficients, 1,000 resamples, tests: seconds of processor for 2 metrics",
        "",
        f"{spent:.1f}",
    )


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    if not data.is_dir():
        print(f"there is no folder {data}; nothing to compare with, nothing written")
        return
    theirs = None
    if len(sys.argv) > 2:
        sys.path.insert(0, sys.argv[2])
        theirs = importlib.import_module("mt_metrics_eval.stats")
    logging.disable(logging.WARNING)  # the references were judged too
    lines = ["| what | theirs | ours |", "| --- | ---: | ---: |"]
    for row in rows(data, theirs):
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
    made = "\n".join(["<!-- made by `python -m benchmarks.people` -->", *lines, "<!-- end of people -->"])
    pattern = r"<!-- made by `python -m benchmarks.people` -->.*?<!-- end of people -->"
    PAGE.write_text(re.sub(pattern, lambda _: made, PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
