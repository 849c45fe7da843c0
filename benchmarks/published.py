"""`python -m benchmarks.published`: our statistics beside published values. Writes its table into docs/statistics.md.

The data are sets of ../shared/data, which is no part of this repository.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import harness
from benchmarks.agreement import DATA, read
from benchmarks.coverage.cells import PAGE
from harness.metrics.bleu import Bleu
from harness.metrics.rouge import Rouge
from harness.stats.design import Design
from harness.stats.intervals import scores, spread
from harness.stats.options import Options
from harness.stats.resampling import Sample, replicates
from harness.types import Array, Batch, Metric, RunResult, Signature, Statistics

Row = tuple[str, str, str]


def run(name: str, metric: Metric, rows: Array, ids: list[int], repeats: list[int]) -> RunResult:
    table = pa.table({"id": [str(i) for i in ids], "repeat": repeats})
    statistics = {metric.name: Statistics.of(metric, rows, Signature({}, {}), "")}
    return RunResult(name, "data", "data", name, {}, statistics, lambda: table, 0)


def multeval() -> Iterator[Row]:
    """Three optimiser runs of each system are repeats of it."""
    golden = json.loads((DATA / "multeval_example" / "goldens.json").read_text())["table"]
    metric = Bleu(tokenize="none")
    runs, apart = {}, {}
    for system in ("baseline", "sys1", "sys2"):
        parts = [read("multeval_example", f"{system}.opt{k}") for k in range(3)]
        rows = np.stack([metric.statistics(Batch(o, r)) for o, r in parts], axis=1)
        n = rows.shape[0]
        alone = Sample(metric, rows[:, 0], Design.of(n))
        error = spread(replicates([alone], 10_000, 1, "x")[0])[0]
        yield f"MultEval: bootstrap standard error of BLEU, {system}", f"{golden[system]['BLEU_s_sel']}", f"{error:.2f}"
        flat = rows.reshape(n * 3, -1)
        runs[system] = run(system, metric, flat, np.repeat(np.arange(n), 3).tolist(), [0, 1, 2] * n)
        apart[system] = run(system, metric, flat, list(range(3 * n)), [0] * (3 * n))
    for system, note in (("sys1", ""), ("sys2", " (identical to the baseline)")):
        for some, unit in ((apart, "outputs swapped one by one, as MultEval does"), (runs, "by sentence")):
            row = harness.compare([some["baseline"], some[system]], test="randomization", resamples=10_000)[0]
            label = f"MultEval: approximate randomisation of BLEU, {system}{note}, {unit}"
            yield label, f"p = {golden[system]['BLEU_p']:.2f}", f"p = {row.p_value:.4f}"


def means() -> Iterator[Row]:
    where = DATA / "stats_goldens"
    golden = json.loads((where / "goldens.json").read_text())
    pairs = [json.loads(line) for line in (where / "dror_paired_scores.jsonl").read_text().splitlines()]
    metric = Rouge(["rouge1"])

    def statistics(values: Array) -> Array:
        return np.column_stack([values, values, values, np.ones(len(values))])

    values = {name: np.array([pair[name] for pair in pairs]) for name in "AB"}
    a, b = (run(name, metric, statistics(v), list(range(len(v))), [0] * len(v)) for name, v in values.items())
    row = harness.compare([a, b], alternative="better", cross_check=True, scores=["rouge1"])[0]
    published = golden["dror_2018_paired_scores"]["published"]["paired_t_test_one_sided_p"]
    yield "Dror et al. 2018: paired t-test, one-sided", f"p = {published:.5f}", f"p = {row.p_t:.5f}"
    yield "the same, paired bootstrap", "", f"p = {row.p_value:.4f}"
    boot = golden["r_boot_ci_mean"]
    for method in ("basic", "percentile", "BCa"):
        sample = [Statistics.of(metric, statistics(np.array(boot["x"])), Signature({}, {}), "")]
        estimated = scores(sample, None, Options(1_000_000, method=method.lower()))["rouge1"]
        low, high = boot["expected"][method]
        yield f"R boot.ci, {method}", f"[{low}, {high}]", f"[{estimated.low:.2f}, {estimated.high:.2f}]"
    small = golden["google_rouge_bootstrap_small"]
    rows = np.column_stack([np.array(small["scores_P_R_F"]), np.ones(3)])
    by_column = rows[:, [2, 0, 1, 3]]  # F, precision, recall, count
    small_scores = scores([Statistics.of(metric, by_column, Signature({}, {}), "")], None, Options(100_000, 0.9))
    for score, key in (("rouge1", "F"), ("rouge1.precision", "P"), ("rouge1.recall", "R")):
        low, _, high = small["confidence_0.9_low_mid_high"][key]
        interval = small_scores[score]
        label = f"rouge-score, 90 % percentile bootstrap of three items, {key}"
        yield label, f"[{low:.4f}, {high:.4f}]", f"[{interval.low:.4f}, {interval.high:.4f}]"


def main() -> None:
    if not DATA.is_dir():
        print("there is no ../shared/data beside the repository; nothing to compare with, nothing written")
        return
    lines = ["| what | published | ours |", "| --- | --- | --- |"]
    for row in (*multeval(), *means()):
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
    made = "\n".join(["<!-- made by `python -m benchmarks.published` -->", *lines, "<!-- end of published -->"])
    pattern = r"<!-- made by `python -m benchmarks.published` -->.*?<!-- end of published -->"
    PAGE.write_text(re.sub(pattern, lambda _: made, PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
