"""`make bench`: every benchmark once, tables to docs/performance.md; `python -m benchmarks neural`: that part only."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import sacrebleu

import harness
from benchmarks import generation, lexical, neural

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
PAIRS, RESAMPLES = 2000, 1000
Row = tuple[str, str, float, str, float]


def bleu_with_interval() -> Row:
    outputs, references = lexical.zipf(PAIRS)
    wrapped = [[r] for r in references]
    ours = lexical.clock(lambda: harness.evaluate(outputs, wrapped, ["bleu"], resamples=RESAMPLES), 3)
    peer = lexical.clock(lambda: sacrebleu.BLEU().corpus_score(outputs, [references], n_bootstrap=RESAMPLES), 1)
    return (
        f"BLEU of {PAIRS:,} pairs with {RESAMPLES:,} resamples",
        "harness.evaluate",
        ours,
        "sacrebleu n_bootstrap",
        peer,
    )


def paired_comparison() -> Row:
    from sacrebleu.significance import PairedTest

    outputs, references = lexical.zipf(PAIRS)
    systems = [outputs, [output.replace("w7 ", "w8 ") for output in outputs]]
    runs = [
        harness.evaluate(outputs, references, ["bleu"], resamples=0, name=str(i)) for i, outputs in enumerate(systems)
    ]
    ours = lexical.clock(lambda: harness.compare(runs, resamples=RESAMPLES), 3)

    def theirs() -> object:
        named = [(str(i), outputs) for i, outputs in enumerate(systems)]
        return PairedTest(named, {"BLEU": sacrebleu.BLEU()}, [references], "bs", RESAMPLES)()

    label = f"two systems of {PAIRS:,} outputs compared, {RESAMPLES:,} resamples"
    return label, "harness.compare of stored rows", ours, "sacrebleu PairedTest", lexical.clock(theirs, 1)


def start_of_the_command_line() -> float:
    command = [sys.executable, "-m", "harness", "--help"]
    return lexical.clock(lambda: subprocess.run(command, check=True, capture_output=True), 5)


def others() -> Iterator[str]:
    yield "| what | ours | seconds | beside | seconds | ratio |"
    yield "| --- | --- | ---: | --- | ---: | ---: |"
    for what, mine, ours, peer, theirs in (bleu_with_interval(), paired_comparison()):
        yield f"| {what} | `{mine}` | {ours:.3f} | `{peer}` | {theirs:.3f} | {theirs / ours:.1f} |"
    yield ""
    start = start_of_the_command_line()
    yield f"`harness --help` answers in {start:.2f} s: nothing heavy is imported before it is known which command runs."


def main(chosen: list[str]) -> None:
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    head = f"""# Performance

Written by `make bench` on {machine}; the peer runs in the same process on the same data.
Machines are noisy: read ratios, not seconds.
"""
    tables: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
        "lexical": ("Lexical metrics", lexical.tables),
        "start": ("Cold start", lexical.starting),
        "neural": ("BERTScore", neural.tables),
        "generation": ("Generation", generation.tables),
        "others": ("Intervals and comparisons", others),
    }
    _, *before = PAGE.read_text().split("\n## ") if PAGE.exists() else [""]
    parts = dict(part.split("\n", 1) for part in before)
    for name, (title, table) in tables.items():
        if name in (chosen or tables):
            lines = [""]
            for line in table():
                print(line, flush=True)
                lines.append(line)
            parts[title] = "\n".join(lines) + "\n"
    PAGE.write_text(head + "".join(f"\n## {title}\n{parts[title]}" for title, _ in tables.values() if title in parts))


if __name__ == "__main__":
    main(sys.argv[1:])
