"""`python -m benchmarks.analysing`: commands on stored runs, and `harness.evaluate` as a training loop or a test calls
it, on a few pairs again and again. Processor time, which other work on the machine disturbs least."""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sacrebleu

import harness
from benchmarks.lexical import both_clocks
from benchmarks.processes import measured
from benchmarks.whole import examples

EXAMPLES, RUNS, REPEATS = 3_000, (2, 20), 3
METRICS = ["bleu", "rouge", "chrf", "token_f1", "exact_match"]
COMMANDS = ("compare", "table", "best", "report -o page.html", "plot --figure forest -o forest.svg", "sweep")
PAIRS, CALLS = 10, 50


def stored(folder: Path, count: int) -> None:
    """Run folders `run-00`, … of systems that get a word or two of each output wrong."""
    chance, chosen = random.Random(1), list(examples(EXAMPLES))
    for i in range(count):
        outputs = [example.output.split() for example in chosen]
        for words in outputs:
            for _ in range(chance.randrange(3)):
                words[chance.randrange(len(words))] = "the"
        run = harness.evaluate(
            [" ".join(words) for words in outputs],
            [[example.reference] for example in chosen],
            METRICS,
            sources=[example.source for example in chosen],
            resamples=1_000,
            name=f"run-{i:02}",
        )
        run.save(folder / f"run-{i:02}")


def commands() -> Iterator[str]:
    yield f"| runs of {EXAMPLES:,} examples, {len(METRICS)} metrics | {' | '.join(f'`{c}`' for c in COMMANDS)} |"
    yield f"| --- |{' ---: |' * len(COMMANDS)}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stored(folder, max(RUNS))
        for count in RUNS:
            runs = [f"run-{i:02}" for i in range(count)]
            cells = [f"{_seconds(command, runs, folder):.2f}" for command in COMMANDS]
            yield f"| {count} | {' | '.join(cells)} |"


def _seconds(command: str, runs: list[str], folder: Path) -> float:
    """The least of several, after one that is not counted: what is made once on a machine is on disk."""
    name, *options = command.split()
    words = [sys.executable, "-m", "harness", name, *runs, *options]
    return min([measured(words, folder).processor for _ in range(1 + REPEATS)][1:])


def calls() -> Iterator[str]:
    """A call on a few pairs, everything imported and compiled before."""
    chosen = list(examples(PAIRS))
    outputs, references = [e.output for e in chosen], [[e.reference] for e in chosen]

    def of(metrics: Any, resamples: int) -> Callable[[], object]:
        return lambda: harness.evaluate(outputs, references, metrics, resamples=resamples)

    loaded = harness.load("bleu")
    asked: dict[str, Callable[[], object]] = {
        "`evaluate`, BLEU, no resamples": of("bleu", 0),
        "`evaluate`, BLEU and ROUGE, no resamples": of(["bleu", "rouge"], 0),
        "`evaluate`, BLEU and ROUGE, 1,000 resamples": of(["bleu", "rouge"], 1_000),
        "`evaluate`, token F1, no resamples": of("token_f1", 0),
        '`harness.load("bleu").compute`': lambda: loaded.compute(predictions=outputs, references=references),
        f"sacrebleu {sacrebleu.__version__}, `corpus_bleu` alone": lambda: sacrebleu.corpus_bleu(
            outputs, [[texts[0] for texts in references]]
        ),
    }
    yield f"| {PAIRS} pairs, a call | ms |"
    yield "| --- | ---: |"
    for what, call in asked.items():
        call()
        yield f"| {what} | {1_000 * min(both_clocks(call).processor for _ in range(CALLS)):.2f} |"


def tables() -> Iterator[str]:
    yield "Seconds of processor time of a command from start to end, imports included, the least of"
    yield f"{REPEATS}; and milliseconds that a call takes in a process that has called before, the least of {CALLS}."
    yield ""
    yield from commands()
    yield ""
    yield from calls()


if __name__ == "__main__":
    for line in tables():
        print(line, flush=True)
