"""`python -m benchmarks.views`: a metric in a view beside the same metric on as many pairs of an output and a
reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.retrieval import used
from harness.metrics.bertscore import BertScore
from harness.metrics.bleu import Bleu
from harness.metrics.chrf import Chrf
from harness.metrics.rouge import Rouge
from harness.metrics.squad import TokenF1
from harness.metrics.viewed import View, ViewOptions
from harness.types import Batch, Contexts, Metric, Rows, TextLists, Texts

EXAMPLES, CONTEXTS, WORDS, LONG = 2_000, 5, 20, 80
"""How many examples, contexts of each, and words of an output and of a context."""
NEURAL = 100
"""Examples that an encoder is given."""
VOCABULARY = [
    f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("a", "e", "ion", "o", "ur") for c in ("s", "ed", "", "ly", "x")
]
METRICS: dict[str, tuple[Callable[[], Metric], int]] = {
    "ROUGE-1, 2, L, Lsum": (Rouge, EXAMPLES),
    "BLEU": (Bleu, EXAMPLES),
    "chrF": (Chrf, EXAMPLES),
    "token F1": (TokenF1, EXAMPLES),
    "BERTScore": (BertScore, NEURAL),
}


def texts(count: int, words: int, rng: np.random.Generator) -> list[str]:
    """Frequent words and rare ones, as texts have them."""
    drawn = np.minimum(rng.zipf(1.3, (count, words)), len(VOCABULARY)) - 1
    return [" ".join(VOCABULARY[place] for place in row) + "." for row in drawn]


def made(n: int) -> tuple[Batch, Batch]:
    """(n outputs with their contexts, every output with each of its contexts as its reference)."""
    rng = np.random.default_rng(1)
    outputs, passages = Texts.of(texts(n, WORDS, rng)), Texts.of(texts(n * CONTEXTS, LONG, rng))
    contexts = Contexts.of_texts(TextLists(passages, np.arange(0, n * CONTEXTS + 1, CONTEXTS)))
    every = outputs.taken(np.repeat(np.arange(n), CONTEXTS))
    return (
        Batch(outputs, [], passages={"contexts": contexts}),  # type: ignore[arg-type]
        Batch(every, TextLists(passages, np.arange(n * CONTEXTS + 1))),  # type: ignore[arg-type]
    )


def tables() -> Iterator[str]:
    yield f"Outputs of {WORDS} words against {CONTEXTS} contexts of {LONG} words each, in a view (`of: output, against:"
    yield f"contexts`), beside the metric on the same pairs as outputs and references: {EXAMPLES * CONTEXTS:,} of them,"
    yield f"{NEURAL * CONTEXTS:,} for BERTScore. Rows and each pair's score, in one process; the best of several."
    yield ""
    yield "| metric | in a view, s | of processor | on the pairs, s | of processor | ratio | of processor |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, (make, n) in METRICS.items():
        of_outputs, of_pairs = made(n)
        metric, view = make(), View("viewed", make(), ViewOptions("output", "contexts"))

        def alone(metric: Metric = metric, batch: Batch = of_pairs) -> None:
            metric.score_examples(Rows.of(metric.statistics(batch)).values)

        def viewed(view: View = view, batch: Batch = of_outputs) -> None:
            view.statistics(batch)

        ours, theirs = used(viewed, alone)
        cells = [ours.wall, ours.processor, theirs.wall, theirs.processor]
        ratios = [ours.wall / theirs.wall, ours.processor / theirs.processor]
        yield f"| {name} | " + " | ".join([*(f"{c:.3f}" for c in cells), *(f"{r:.2f}" for r in ratios)]) + " |"


if __name__ == "__main__":
    for line in tables():
        print(line, flush=True)
