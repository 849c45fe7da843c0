"""`make bench`: every benchmark once, the table to docs/performance.md."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sacrebleu

import harness
from harness.datasets.embedded import EmbeddedDataset
from harness.metrics.bertscore import BertScore
from harness.systems.lead import Lead

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
PAIRS, RESAMPLES = 2000, 1000
Row = tuple[str, str, float, str, float]


def timed(work: Callable[[], object], repeats: int = 3) -> float:
    """The best of several times, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def texts(n: int, seed: int) -> list[str]:
    """Sentences of 8 to 30 words with Zipf-distributed frequencies."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(8, 31, n)
    words = np.minimum(rng.zipf(1.3, lengths.sum()), 20_000)
    return [" ".join(f"w{w}" for w in part) for part in np.split(words, np.cumsum(lengths)[:-1])]


def noisy(lines: list[str], share: float, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(w if rng.random() > share else "x" for w in line.split()) for line in lines]


def bleu_with_interval() -> Row:
    references = texts(PAIRS, 1)
    outputs = noisy(references, 0.3, 2)
    wrapped = [[r] for r in references]
    ours = timed(lambda: harness.evaluate(outputs, wrapped, ["bleu"], resamples=RESAMPLES))
    peer = timed(lambda: sacrebleu.BLEU().corpus_score(outputs, [references], n_bootstrap=RESAMPLES), 1)
    return (
        f"BLEU of {PAIRS:,} pairs with {RESAMPLES:,} resamples",
        "harness.evaluate",
        ours,
        "sacrebleu n_bootstrap",
        peer,
    )


def paired_comparison() -> Row:
    from sacrebleu.significance import PairedTest

    references = texts(PAIRS, 1)
    systems = [noisy(references, share, 3) for share in (0.30, 0.32)]
    runs = [
        harness.evaluate(outputs, references, ["bleu"], resamples=0, name=str(i)) for i, outputs in enumerate(systems)
    ]
    ours = timed(lambda: harness.compare(runs, resamples=RESAMPLES))

    def theirs() -> object:
        named = [(str(i), outputs) for i, outputs in enumerate(systems)]
        return PairedTest(named, {"BLEU": sacrebleu.BLEU()}, [references], "bs", RESAMPLES)()

    label = f"two systems of {PAIRS:,} outputs compared, {RESAMPLES:,} resamples"
    return label, "harness.compare of stored rows", ours, "sacrebleu PairedTest", timed(theirs, 1)


def bertscore() -> Row:
    examples = list(EmbeddedDataset().examples())
    outputs = [output.text or "" for output in Lead(1).generate(examples)]
    references = [example.references[0] for example in examples]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score import BERTScorer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        peer = BERTScorer(model_type=str(BertScore()._folder), num_layers=5, device="cpu")
        mine = BertScore(device="cpu")
        ours = timed(lambda: mine.statistics(outputs, [[r] for r in references], [None] * len(outputs)))
        theirs = timed(lambda: peer.score(outputs, references))
    return f"BERTScore of {len(outputs)} pairs, model loaded", "bertscore", ours, "bert-score 0.3.13", theirs


def start_of_the_command_line() -> float:
    command = [sys.executable, "-m", "harness", "--help"]
    return timed(lambda: subprocess.run(command, check=True, capture_output=True), 5)


def main() -> None:
    rows = []
    for benchmark in (bleu_with_interval, paired_comparison, bertscore):
        rows.append(benchmark())
        label, mine, ours, peer, theirs = rows[-1]
        print(f"{label}: {mine} {ours:.3f} s, {peer} {theirs:.3f} s, ratio {theirs / ours:.1f}", flush=True)
    start = start_of_the_command_line()
    print(f"harness --help: {start:.3f} s")
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    lines = [
        "# Performance",
        "",
        f"Written by `make bench` on {machine}; the peer runs in the same process",
        "on the same data. Machines are noisy: read ratios, not seconds.",
        "",
        "| what | ours | seconds | beside | seconds | ratio |",
        "| --- | --- | ---: | --- | ---: | ---: |",
        *(f"| {w} | `{m}` | {o:.3f} | `{p}` | {t:.3f} | {t / o:.1f} |" for w, m, o, p, t in rows),
        "",
        f"`harness --help` answers in {start:.2f} s: nothing heavy is imported before it is known which command runs.",
        "",
    ]
    PAGE.write_text("\n".join(lines))
    print(f"written to {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE}")


if __name__ == "__main__":
    main()
