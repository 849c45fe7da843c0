"""The lexical metrics beside their reference implementations: speed, growth, memory and cold start.

`python -m benchmarks.lexical ours METRIC PAIRS` is one measurement in a process of its own, for its peak memory;
`python -m benchmarks.lexical columns` prints the table of `from_columns`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

import harness
from benchmarks.processes import Used
from harness.metrics.bleu import Bleu
from harness.metrics.chrf import Chrf, ChrfPlusPlus
from harness.metrics.nist import Nist
from harness.metrics.rouge import Rouge
from harness.metrics.ter import Ter
from harness.types import Batch, Metric, TextLists, Texts

SHARED = Path(__file__).parents[2] / "shared" / "data"
SETS = {"TED": ("comparemt_ted_detok", "sys1"), "WMT": ("wmt22_de-en", "Online-A")}
PAIRS, PEER_PAIRS = 100_000, 20_000
DISTINCT = 48_900
CALLED = {"TER": ("ter", 2_000), "NIST": ("nist", 4_000)}
"""What a user calls, and on how many distinct pairs: as many as the peer gets through in a while."""
ROUGE = "ROUGE-1/2/L/Lsum, stemmed"
METRICS: dict[str, Callable[[], Metric]] = {
    "BLEU, 13a": Bleu,
    ROUGE: lambda: Rouge(stemmer=True),
    "chrF": Chrf,
    "chrF++": ChrfPlusPlus,
    "NIST": Nist,
    "TER": Ter,
}
PEERS = {ROUGE: "rouge-score 0.1.2", "NIST": "NLTK corpus_nist, corpus only"}
Pairs = tuple[list[str], list[str]]
FIRST: Pairs = ["the peer imports what it needs, once"], ["the peer imports what it needs, and once only"]
"""Scored by the peer before the clock starts."""


# ---------------------------------------------------------------- data


def zipf(n: int) -> Pairs:
    """Sentences of 8 to 30 words with Zipf-distributed frequencies, a third of the words changed in the output."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(8, 31, n)
    words = np.minimum(rng.zipf(1.3, lengths.sum()), 20_000)
    changed = np.where(rng.random(len(words)) < 0.3, np.minimum(rng.zipf(1.3, len(words)), 20_000), words)
    ends = np.cumsum(lengths)[:-1]

    def sentences(numbers: np.ndarray) -> list[str]:
        return [" ".join(f"w{w}" for w in part) + "." for part in np.split(numbers, ends)]

    return sentences(changed), sentences(words)


def data(n: int = PAIRS, sets: int = 2) -> dict[str, Pairs]:
    """The sets of ../shared/data where they are there, else generated text; each repeated to n pairs."""
    pairs = {}
    for name, (folder, system) in list(SETS.items())[:sets]:
        if rows := stored(folder, system):
            pairs[name] = repeated([row["output"] for row in rows], [row["references"][0] for row in rows], n)
    return pairs or {"Zipf": zipf(n)}


def stored(folder: str, system: str) -> list[dict[str, Any]]:
    """The examples of a set of ../shared/data, each with the system's output; none where that is not there."""
    if not (SHARED / folder).is_dir():
        return []
    outputs = {row["id"]: row["output"] for row in read(SHARED / folder / "systems" / f"{system}.jsonl")}
    return [{**row, "output": outputs[row["id"]]} for row in read(SHARED / folder / "examples.jsonl")]


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def repeated(outputs: list[str], references: list[str], n: int) -> Pairs:
    """n pairs, every text an object of its own."""
    return [(o + " ")[:-1] for o in islice(cycle(outputs), n)], [(r + " ")[:-1] for r in islice(cycle(references), n)]


# ---------------------------------------------------------------- ours and theirs


def wrapped(pairs: Pairs) -> tuple[list[str], list[list[str]]]:
    """The form that our metrics take: a list of references for each output."""
    return pairs[0], [[reference] for reference in pairs[1]]


def ours(metric: Metric, pairs: tuple[list[str], list[list[str]]]) -> None:
    """Statistics and score of each example, and the score of the corpus."""
    outputs, references = pairs
    fitted = metric.fit(references)
    rows = fitted.statistics(Batch(outputs, references))
    fitted.score_examples(rows)
    fitted.score(rows.sum(0))


def theirs(name: str, pairs: Pairs) -> None:
    """The same by the reference implementation."""
    import sacrebleu
    from nltk.translate.nist_score import corpus_nist
    from rouge_score.rouge_scorer import RougeScorer

    outputs, references = pairs
    if name.startswith("ROUGE"):
        scorer = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=True)
        for output, reference in zip(outputs, references, strict=True):
            scorer.score(reference, output)
        return
    if name == "NIST":
        split = sacrebleu.BLEU().tokenizer
        corpus_nist([[split(r.lower()).split()] for r in references], [split(o.lower()).split() for o in outputs])
        return
    sentence: Any = {
        "BLEU, 13a": sacrebleu.BLEU(effective_order=True),
        "chrF": sacrebleu.CHRF(),
        "TER": sacrebleu.TER(),
    }
    sentence["chrF++"] = sacrebleu.CHRF(word_order=2)
    for output, reference in zip(outputs, references, strict=True):
        sentence[name].sentence_score(output, [reference])
    corpus = sacrebleu.BLEU() if name.startswith("BLEU") else sentence[name]
    corpus.corpus_score(outputs, [references])


def peer_of(name: str) -> str:
    return PEERS.get(name, "sacrebleu 2.6.0")


def clock(work: Callable[[], object], repeats: int) -> float:
    """The best of several times, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def child(*arguments: str, **environment: str) -> dict[str, Any]:
    """What this module prints when it is called with these arguments in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.lexical", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


# ---------------------------------------------------------------- tables


def speed() -> Iterator[str]:
    yield "| data | metric | ours, s | pairs a second | peer | peer, s | ratio |"
    yield "| --- | --- | ---: | ---: | --- | ---: | ---: |"
    for label, pairs in data().items():
        given = wrapped(pairs)
        for name, make in METRICS.items():
            metric = make()
            ours(metric, (given[0][:100], given[1][:100]))  # compiled, or loaded
            mine = clock(lambda metric=metric, given=given: ours(metric, given), 5)  # type: ignore[misc]
            step = 50 if name == "TER" else PAIRS // PEER_PAIRS
            few = pairs[0][: PAIRS // step], pairs[1][: PAIRS // step]
            theirs(name, FIRST)
            other = clock(lambda name=name, few=few: theirs(name, few), 1) * step  # type: ignore[misc]
            peer = peer_of(name) + (f", {PAIRS // step:,} pairs" if name == "TER" else "")
            yield f"| {label} | {name} | {mine:.2f} | {PAIRS / mine:,.0f} | {peer} | {other:.1f} | {other / mine:.0f} |"


def called() -> Iterator[str]:
    """One call of what a user calls beside the same scores by the peer, in this process, no text twice."""
    yield "| data | call | pairs | ours, s | of processor | peer, s | of processor | ratio | of processor |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for label, pairs in data().items():
        distinct = list(dict.fromkeys(zip(*pairs, strict=True)))
        for name, (metric, n) in CALLED.items():
            outputs, references = map(list, zip(*distinct[:n], strict=True))
            mine, other = evaluated(name, metric, (outputs, references))
            seconds = " | ".join(f"{value:.2f}" for value in (mine.wall, mine.processor, other.wall, other.processor))
            ratios = f"{other.wall / mine.wall:.0f} | {other.processor / mine.processor:.0f}"
            yield f"| {label} | `evaluate(…, metrics=['{metric}'])` | {len(outputs):,} | {seconds} | {ratios} |"


def from_columns() -> Iterator[str]:
    """What the metric itself takes where text comes as columns, no text twice; the peer on a tenth before and after."""
    yield "| data | metric | pairs | ours, s of processor | the first time | peer | ratio | the first time |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for label, pairs in data(DISTINCT).items():
        outputs, references = ([f"{text} {i}" for i, text in enumerate(texts)] for texts in pairs)
        batch = Batch(Texts.of(outputs), TextLists.of([[text] for text in references]))  # type: ignore[arg-type]
        for name in list(METRICS)[:2]:
            few = outputs[: DISTINCT // 10], references[: DISTINCT // 10]
            metric = METRICS[name]()
            metric.score_examples(metric.statistics(batch[:100]))  # type: ignore[arg-type]  # compiled, or loaded
            peer = both_clocks(partial(theirs, name, few)).processor
            mine = [both_clocks(partial(_scored, METRICS[name](), batch)).processor for _ in range(7)]
            peer = 5 * (peer + both_clocks(partial(theirs, name, few)).processor)
            seconds = f"{min(mine):.3f} | {mine[0]:.3f} | {peer:.1f}"
            yield f"| {label} | {name} | {DISTINCT:,} | {seconds} | {peer / min(mine):.0f} | {peer / mine[0]:.0f} |"


def _scored(metric: Metric, batch: Batch) -> None:
    rows: Any = metric.statistics(batch)
    metric.score_examples(rows)
    metric.score(rows.sum(0))


def evaluated(name: str, metric: Any, pairs: Pairs, repeats: int = 1) -> tuple[Used, Used]:
    """What a call of `harness.evaluate` takes, the best of several, and what the peer does once; both give the score of
    the corpus and of each example."""
    outputs, references = pairs

    def evaluate(n: int | None = None) -> object:
        return harness.evaluate(outputs[:n], references[:n], metrics=[metric], resamples=0).table

    evaluate(100)  # compiled, or loaded
    mine = min(both_clocks(evaluate) for _ in range(repeats))
    theirs(name, FIRST)
    return mine, both_clocks(partial(theirs, name, pairs))


def both_clocks(work: Callable[[], object]) -> Used:
    """Seconds of processor time and of wall time."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Used(time.process_time() - processor, time.perf_counter() - wall)


def growth() -> Iterator[str]:
    yield "| metric | pairs | seconds | pairs a second | peak memory, MiB | of it before scoring |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name in METRICS:
        for n in (10_000, 100_000, 1_000_000):
            yield _grown(name, n, child("ours", name, str(n)))
    for name in list(METRICS)[:3]:
        yield _grown(f"{name}, streamed", 10_000_000, child("stream", name, str(10_000_000)))


def _grown(name: str, n: int, run: dict[str, Any]) -> str:
    rate = n / run["seconds"]
    return f"| {name} | {n:,} | {run['seconds']:.2f} | {rate:,.0f} | {run['peak']:.0f} | {run['before']:.0f} |"


def cold_start() -> Iterator[str]:
    """First use ever, then from the cache."""
    yield "| 100 pairs in a new process | first use ever, s | afterwards, s |"
    yield "| --- | ---: | ---: |"
    for name in ("BLEU, 13a", ROUGE, "chrF", "NIST", "TER", "all of them"):
        tries = []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                tries.append([child("cold", name, NUMBA_CACHE_DIR=folder) for _ in range(2)])
        first, second = (min((times[i] for times in tries), key=lambda cold: cold["seconds"]) for i in range(2))
        yield f"| {name} | {first['seconds']:.2f} | {second['seconds']:.2f} |"


def beside_numpy() -> Iterator[str]:
    """The same clipped 4-gram counts from the same token ids, by the kernel and by sorting in NumPy."""
    from harness.metrics import columns
    from harness.metrics.tokenizers import tokenizer

    outputs, references = next(iter(data().values()))
    n = 20_000
    tokens = tokenizer("13a")([*outputs[:n], *references[:n]])
    first = np.arange(n, 2 * n + 1)
    counts = [columns.overlap(tokens, np.arange(n), first, 4)[0], sorted_overlap(tokens, n, 4)]
    if not np.array_equal(*counts):
        raise SystemExit("the two counts differ")
    kernel = clock(lambda: columns.overlap(tokens, np.arange(n), first, 4), 3)
    other = clock(lambda: sorted_overlap(tokens, n, 4), 3)
    yield "| n-gram matches of 20,000 pairs, one core | seconds |"
    yield "| --- | ---: |"
    yield f"| compiled kernel | {kernel:.3f} |"
    yield f"| NumPy (`unique`, `bincount`) | {other:.3f} |"


def sorted_overlap(tokens: Any, n: int, order: int) -> np.ndarray:
    """(n, order): matches of text i with text n + i."""
    owner = np.repeat(np.arange(2 * n) % n, tokens.lengths)
    side = np.repeat(np.arange(2 * n) // n, tokens.lengths)
    left = np.repeat(tokens.starts[1:], tokens.lengths) - np.arange(len(tokens.ids))
    grams, matches = owner, np.zeros((n, order))
    for k in range(order):
        places = np.flatnonzero(left > k)
        keys = grams[places].astype(np.int64) << 32 | tokens.ids[places + k]
        known, inverse = np.unique(keys, return_inverse=True)
        given, wanted = (np.bincount(inverse[side[places] == s], minlength=len(known)) for s in (0, 1))
        whose = np.zeros(len(known), np.int64)
        whose[inverse] = owner[places]
        matches[:, k] = np.bincount(whose, np.minimum(given, wanted), minlength=n)
        grams = np.full(len(tokens.ids), -1)
        grams[places] = inverse
    return matches


# ---------------------------------------------------------------- in a process of its own


def _peak() -> float:
    """MiB. getrusage would count the parent's memory too, at the moment of the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _measured(name: str, n: int, stream: bool) -> dict[str, float]:
    metric = METRICS[name]()
    ((outputs, references),) = data(PAIRS if stream else n, 1).values()
    ours(metric, wrapped((outputs[:100], references[:100])))
    given = wrapped((outputs, references))
    before, start = _peak(), time.perf_counter()
    if stream:  # a list of 100,000 pairs again and again, as a reader of a file would give them
        sums: Any = 0
        for _ in range(n // PAIRS):
            chunk = repeated(outputs, references, PAIRS)
            sums = sums + metric.statistics(Batch(chunk[0], [(r,) for r in chunk[1]])).sum(0)
        metric.score(sums)
    else:
        ours(metric, given)
    return {"seconds": time.perf_counter() - start, "before": before, "peak": _peak()}


def _cold(name: str) -> dict[str, float]:
    outputs, references = (texts[:100] for texts in zipf(100))
    import nltk.stem.porter  # noqa: F401  (the stemmer's package takes its own time)

    start = time.perf_counter()
    for chosen in METRICS if name == "all of them" else [name]:
        ours(METRICS[chosen](), wrapped((outputs, references)))
    if name == "all of them":
        Rouge(["rougeLsum"]).statistics(Batch(["a\nb c"], [["a b\nc"]]))
        Rouge(["rougeW"], compat="rouge155").statistics(Batch(["a b"], [["a b"]]))
    return {"seconds": time.perf_counter() - start}


def main(what: str, name: str = "", *n: str) -> None:
    if what == "columns":
        print("\n".join(from_columns()))
        return
    measured = _cold(name) if what == "cold" else _measured(name, int(n[0]), what == "stream")
    print(json.dumps(measured))


def tables() -> Iterator[str]:
    yield (
        f"Statistics and score of each of {PAIRS:,} pairs, and the corpus score; the peer does `sentence_score` for "
        f"each pair and `corpus_score`, on {PEER_PAIRS:,} of them or as many as are named, its time scaled up.\n"
    )
    yield from speed()
    yield (
        "\nOne call of `harness.evaluate`, no resamples, beside the same scores by sacreBLEU (corpus and sentences) "
        "and NLTK (corpus only); no text twice, one process, wall time and processor time of all threads.\n"
    )
    yield from called()
    yield "\nCost grows with the number of pairs. Streamed: chunk by chunk, keeping only the sums.\n"
    yield from growth()


def starting() -> Iterator[str]:
    yield "Kernels are compiled on first use and kept on disk; a run pays for those it needs. The best of three.\n"
    yield from cold_start()
    yield "\nWhy kernels are compiled ([decision 5](decisions/0005-compiled-kernels.md)):\n"
    yield from beside_numpy()


if __name__ == "__main__":
    main(*sys.argv[1:])
