"""`python -m benchmarks.units`: what it costs to resample buckets instead of examples. Writes docs/statistics.md.

Samples of n examples are drawn from a population whose score is known: rows of (matches, total), a ratio of sums as
BLEU's precisions are, both skewed. Each sample gets intervals by example and by buckets from `harness.stats` itself:
how often they hold the truth, how wide they are beside those by example, and how that varies with the hash alone.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import numpy as np

from harness.stats import intervals
from harness.stats.design import Design
from harness.stats.options import Options
from harness.stats.units import Units
from harness.types import Array, Metric, Signature, Statistics

PAGE = Path(__file__).parent.parent / "docs" / "statistics.md"
N, SAMPLES, HASHES, RESAMPLES = 100_000, 400, 30, 1000
BUCKETS = (65_536, 16_384, 4_096, 1_024)
DIFFICULTY = 2.0, 3.0
"""Of the beta distribution from which the share of matches of an example comes."""


class Share(Metric):
    name, columns, score_names = "share", ("matches", "total"), ("share",)

    def statistics(self, outputs: object, references: object, sources: object) -> Array:
        raise RuntimeError("rows are drawn, not computed")

    def score(self, sums: Array) -> Array:
        return 100 * sums[..., :1] / sums[..., 1:]


def sample(n: int, rng: np.random.Generator) -> Statistics:
    """Rows (n, 2): lengths are log-normal, as those of sentences, and longer texts are harder."""
    totals = np.maximum(1.0, np.round(rng.lognormal(3.0, 0.6, n)))
    matches = np.round(totals * rng.beta(*DIFFICULTY, n) / (1 + totals / 200))
    return Statistics.of(Share(), np.column_stack([matches, totals]), Signature({}, {}), "drawn")


def interval(rows: Statistics, ids: list[str], units: Units, seed: int) -> tuple[float, float, float]:
    """(low, high, seconds of the processor)."""
    began = time.process_time()
    design = Design.of(len(ids), ids=ids).in_buckets(ids, units)
    score = intervals.scores([rows], design, Options(resamples=RESAMPLES, seed=seed))["share"]
    assert score.low is not None
    assert score.high is not None
    return score.low, score.high, time.process_time() - began


def table() -> list[str]:
    rng = np.random.default_rng(20261117)
    large = sample(5_000_000, rng).rows.sum(0)
    truth = float(100 * large[0] / large[1])
    ids = [str(i) for i in range(N)]
    kinds = [Units("examples"), *(Units("buckets", buckets) for buckets in BUCKETS)]
    ends = np.empty((len(kinds), SAMPLES, 3))
    for i in range(SAMPLES):
        rows = sample(N, rng)
        for k, units in enumerate(kinds):
            ends[k, i] = interval(rows, ids, units, seed=i)
    fixed = sample(N, rng)
    whole = np.diff(interval(fixed, ids, kinds[0], 0)[:2])[0]
    lines = [
        f"n = {N:,}, {SAMPLES} samples, {RESAMPLES:,} resamples; nominal 95 %. Width: over that by example, mean over",
        f"the samples, and its standard deviation over {HASHES} hashes of one sample.",
        "",
        "| drawn | held the truth | width | over hashes | processor time |",
        "| --- | --- | --- | --- | --- |",
    ]
    for k, units in enumerate(kinds):
        low, high, seconds = ends[k].T
        share = float(((low <= truth) & (truth <= high)).mean())
        error = np.sqrt(share * (1 - share) / SAMPLES)
        width = (high - low).mean() / (ends[0, :, 1] - ends[0, :, 0]).mean()
        spread = [
            np.diff(interval(fixed, ids, Units(units.kind, units.buckets, seed), 0)[:2])[0] / whole
            for seed in range(HASHES if k else 0)
        ]
        name = f"{units.buckets:,} buckets" if k else "examples"
        over = f"{np.std(spread):.4f}" if spread else ""
        lines.append(f"| {name} | {share:.1%} ± {error:.1%} | {width:.4f} | {over} | {seconds.mean():.2f} s |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    made = "\n".join(["<!-- made by `python -m benchmarks.units` -->", *table(), "<!-- end of units -->"])
    page = PAGE.read_text()
    marked = r"<!-- made by `python -m benchmarks.units` -->.*?<!-- end of units -->"
    PAGE.write_text(re.sub(marked, lambda _: made, page, flags=re.DOTALL))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        SAMPLES = int(sys.argv[1])
    main()
