"""Resampling and comparison beside sacrebleu and scipy: seconds, ratios, memory.

`python -m benchmarks.resampling large UNITS` is the measurement of a million examples in a process of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import sacrebleu
import scipy.stats

import harness
from benchmarks.lexical import both_clocks, clock, data, zipf
from harness.metrics.rouge import Rouge
from harness.stats.design import Design
from harness.stats.intervals import scores
from harness.stats.options import Options
from harness.types import Metric, RunResult, Signature, Statistics

EXAMPLES, RESAMPLES, PEER_RESAMPLES = 10_000, 10_000, 500
DRAWN = {"auto": "in buckets, as by default", "examples": "with `stats.units=examples`"}
"""What is drawn of a million examples."""
SUITE = ("bleu", "chrf", "chrfpp", "rouge", "nist", "exact_match", "token_f1", "ter")


def suite() -> tuple[list[Statistics], list[str], list[str]]:
    """Rows of the lexical suite on real text where that is there."""
    outputs, references = next(iter(data(EXAMPLES, 1).values()))
    run = harness.evaluate(outputs, references, list(SUITE), resamples=0)
    return list(run.statistics.values()), outputs, references


def against_sacrebleu(statistics: list[Statistics], outputs: list[str], references: list[str]) -> Iterator[str]:
    """Resampling alone: both sides have the statistics of every segment before the clock starts."""
    ours = clock(lambda: scores(statistics, None, Options(RESAMPLES)), 3)
    names = [name for part in statistics for name in part.metric.score_names]
    yield f"| all {len(names)} scores of the lexical suite | {ours:.2f} | | | |"
    theirs = sum(_their_bootstrap(metric, outputs, references) for metric in (sacrebleu.BLEU(), sacrebleu.CHRF()))
    theirs += _their_bootstrap(sacrebleu.TER(), outputs[:500] * (EXAMPLES // 500), references[:500] * (EXAMPLES // 500))
    peer = f"sacrebleu {sacrebleu.__version__}: BLEU, chrF, TER only"
    yield f"| the same | {ours:.2f} | {peer} | {theirs:.1f} | {theirs / ours:.0f} |"
    three = [part for part in statistics if part.metric.name in ("bleu", "chrf", "ter")]
    alone = clock(lambda: scores(three, None, Options(RESAMPLES)), 3)
    yield f"| BLEU, chrF and TER with their sub-scores | {alone:.2f} | the same | {theirs:.1f} | {theirs / alone:.0f} |"


def _their_bootstrap(metric: Any, outputs: list[str], references: list[str]) -> float:
    """Seconds for RESAMPLES resamples, from PEER_RESAMPLES of them: its time grows with their number."""
    from sacrebleu.significance import _bootstrap_resample

    statistics = metric._extract_corpus_statistics(outputs, [references])
    return clock(lambda: _bootstrap_resample(statistics, metric, PEER_RESAMPLES), 1) * RESAMPLES / PEER_RESAMPLES


def against_scipy(statistics: list[Statistics]) -> Iterator[str]:
    means = [part for part in statistics if part.metric.averaged]
    ours = clock(lambda: scores(means, None, Options(RESAMPLES, method="bca")), 3)
    columns = [
        part.metric.score_examples(part.rows)[:, i] for part in means for i in range(len(part.metric.score_names))
    ]
    what = f"BCa of the {len(columns)} scores that are means"
    for batch, how in ((None, "as it is called by default"), (50, "with batch=50")):
        theirs = _their_bca(columns[0], batch) * len(columns)
        peer = f"scipy {scipy.__version__}, one call a score, {how}"
        yield f"| {what} | {ours:.2f} | {peer} | {theirs:.1f} | {theirs / ours:.0f} |"


def _their_bca(values: np.ndarray, batch: int | None) -> float:
    """Seconds for one score."""
    rng = np.random.default_rng(1)
    options: dict[str, Any] = {"n_resamples": RESAMPLES, "method": "BCa", "batch": batch, "rng": rng}
    return clock(lambda: scipy.stats.bootstrap((values,), np.mean, **options), 1)


def stored_runs(n: int, systems: int) -> list[RunResult]:
    """Runs as they are read back: ROUGE and BLEU rows of real text, shuffled a little for each system."""
    outputs, references = next(iter(data(n, 1).values()))
    base = harness.evaluate(outputs, references, ["bleu", "rouge"], resamples=0)
    table = pa.table({"id": [str(i) for i in range(n)], "repeat": [0] * n})
    rng = np.random.default_rng(0)
    runs = []
    for i in range(systems):
        keep = rng.random(n) < 0.9
        statistics = {
            name: Statistics.of(
                part.metric, np.where(keep[:, None], part.rows, part.rows[rng.permutation(n)]), part.signature, ""
            )
            for name, part in base.statistics.items()
        }
        runs.append(RunResult(f"s{i}", "data", "data", f"s{i}", {}, statistics, lambda: table, 0))
    return runs


def all_pairs() -> Iterator[str]:
    runs = stored_runs(EXAMPLES, 20)
    for test in ("bootstrap", "randomization"):
        seconds = clock(lambda test=test: harness.compare(runs, test=test), 1)
        yield f"| 20 runs of {EXAMPLES:,} examples, all 190 pairs, BLEU and ROUGE, {test} | {seconds:.1f} | | | |"


def paired() -> Iterator[str]:
    from sacrebleu.significance import PairedTest

    outputs, references = zipf(2000)
    systems = [outputs, [output.replace("w7 ", "w8 ") for output in outputs]]
    runs = [harness.evaluate(o, references, ["bleu"], resamples=0, name=str(i)) for i, o in enumerate(systems)]
    ours = clock(lambda: harness.compare(runs, resamples=1000), 3)
    named = [(str(i), o) for i, o in enumerate(systems)]
    theirs = clock(lambda: PairedTest(named, {"BLEU": sacrebleu.BLEU()}, [references], "bs", 1000)(), 1)
    what, peer = "two systems of 2,000 outputs, BLEU, 1,000 resamples", "sacrebleu PairedTest, from text"
    yield f"| {what} | {ours:.3f} | {peer} | {theirs:.2f} | {theirs / ours:.0f} |"


def large(units: str) -> None:
    """A million examples: rows of BLEU and of ROUGE-1, 2 and L; `units`: what is drawn, `auto` as by default."""
    n, options = 1_000_000, Options(RESAMPLES, units=units)
    ids = [str(i) for i in range(n)]
    rng = np.random.default_rng(0)
    bleu: Metric = harness.evaluate(["a"], ["a"], ["bleu"], resamples=0).statistics["bleu"].metric
    statistics = [
        Statistics.of(bleu, rng.integers(1, 20, (n, len(bleu.columns))).astype(float), Signature({}, {}), ""),
        Statistics.of(
            rouge := Rouge(["rouge1", "rouge2", "rougeL"]), rng.random((n, len(rouge.columns))), Signature({}, {}), ""
        ),
    ]
    used = both_clocks(lambda: scores(statistics, Design.of(n, ids=ids).in_buckets(ids, options.drawn), options))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"wall": used.wall, "processor": used.processor, "peak": peak}))


def tables() -> Iterator[str]:
    # first: a process counts the memory that its parent had as its own
    measured = {how: _measured_large(units) for units, how in DRAWN.items()}
    statistics, outputs, references = suite()
    yield f"{RESAMPLES:,} resamples of {EXAMPLES:,} examples from stored statistics; the peer's time is scaled up from"
    yield f"{PEER_RESAMPLES} resamples (sacrebleu) or one score (scipy)."
    yield from ("", "| what | ours, s | beside | s | ratio |", "| --- | ---: | --- | ---: | ---: |")
    scores(statistics, None, Options(100))  # compiled
    yield from against_sacrebleu(statistics, outputs, references)
    yield from against_scipy(statistics)
    yield from paired()
    yield from all_pairs()
    for how, used in measured.items():
        costs = f"{used['processor']:.1f} s of processor, peak memory {used['peak']:,.0f} MiB"
        yield f"| 1,000,000 examples, BLEU and ROUGE-1, 2, L, {how} ({costs}) | {used['wall']:.1f} | | | |"


def _measured_large(units: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.resampling", "large", units]
    measured: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return measured


if __name__ == "__main__" and sys.argv[1:2] == ["large"]:
    large(sys.argv[2])
