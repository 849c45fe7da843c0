"""What a user calls, from start to end, beside the peer: `harness.evaluate`, `harness run`, a whole job into MLflow.

`BENCH_SCALE=0.01 python -m benchmarks whole` tries it on a hundredth of the pairs, and at least 100. No text occurs
twice, so that no peer is helped by what it remembers: TED talks where ../shared/data is there, else generated
sentences, over and over, each time with the number of the row spelt in three words of that text.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import orjson

from benchmarks.lexical import ROUGE, Pairs, evaluated, peer_of, stored, zipf
from benchmarks.processes import ENVIRONMENT, Used, measured

SCALE = float(os.environ.get("BENCH_SCALE", "1"))
FEW = 100


def scaled(pairs: int) -> int:
    return max(FEW, round(pairs * SCALE))


EVALUATED, TER_PAIRS, LISTED, MILLION, MANY, JOB = map(scaled, (48_900, 2_000, 100_000, 1_000_000, 10_000_000, 10_000))
EVALUATIONS: dict[str, tuple[Any, int, str]] = {
    "BLEU, 13a": ("bleu", EVALUATED, "60 times"),
    ROUGE: ({"rouge": {"stemmer": True}}, EVALUATED, "150 times"),
    "TER": ("ter", TER_PAIRS, "30 times"),
}
"""Metric, number of pairs and target."""
REPEATS = 5
BEFORE = 48
"""Seconds of wall time that the run of a million pairs took before text moved as columns."""
BYTES = 1_000
"""Disk for a pair: 400 bytes of data, 200 of the run's files, and room to spare."""
HEAVY = ("pandas", "mlflow", "torch")
WORDS = 1_000
"""The first so many of the text are the digits in which the number of a row is spelt."""
BY_HAND = Path(__file__).parent / "by_hand.py"


class Example(NamedTuple):
    source: str
    reference: str
    output: str


class Row(NamedTuple):
    """A line of the table."""

    what: str
    mine: Used
    target: str
    peer: str = ""
    theirs: Used | None = None

    def __str__(self) -> str:
        peak = "" if self.mine.peak is None else f"{self.mine.peak:.2f}"
        cells = [self.what, *seconds(self.mine), peak, self.peer]
        if self.theirs:
            ratios = self.theirs.processor / self.mine.processor, self.theirs.wall / self.mine.wall
            cells += [*seconds(self.theirs), *(f"{ratio:.1f}" for ratio in ratios)]
        else:
            cells += [""] * 4
        return f"| {' | '.join([*cells, self.target])} |"


def seconds(used: Used) -> list[str]:
    return [f"{value:.{2 if value > 0.1 else 3}f}" for value in (used.processor, used.wall)]


# ---------------------------------------------------------------- data


def examples(n: int) -> Iterator[Example]:
    """n examples, no two with the same texts."""
    base = texts()
    every = dict.fromkeys(word for example in base for word in example.reference.split() if word.isalnum())
    words = list(every)[:WORDS]
    for i in range(n):
        number = " ".join(words[i // power % len(words)] for power in (len(words) ** 2, len(words), 1))
        source, reference, output = base[i % len(base)]
        yield Example(f"{source} {number}", f"{reference} {number}", f"{output} {number}")


def texts() -> list[Example]:
    if rows := stored("comparemt_ted", "sys1"):
        return [Example(row["source"], row["references"][0], row["output"]) for row in rows]
    return [Example(reference, reference, output) for output, reference in zip(*zipf(2_445), strict=True)]


def pairs_of(n: int) -> Pairs:
    chosen = list(examples(n))
    return [example.output for example in chosen], [example.reference for example in chosen]


@contextmanager
def folder_of(n: int, plain: bool = True) -> Iterator[Path]:
    """A folder, removed afterwards, with data.jsonl and outputs.jsonl; plain text for sacrebleu where asked for."""
    names = ("data.jsonl", "outputs.jsonl", "references.txt", "outputs.txt")
    with tempfile.TemporaryDirectory() as name:
        with ExitStack() as stack:
            data, outputs, *lines = (stack.enter_context(open(Path(name) / file, "wb")) for file in names)
            for i, (source, reference, output) in enumerate(examples(n)):
                row = {"id": f"{i}", "source": source, "references": [reference]}
                data.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
                outputs.write(orjson.dumps({"id": f"{i}", "output": output}, option=orjson.OPT_APPEND_NEWLINE))
                if plain:
                    for file, text in zip(lines, (reference, output), strict=True):
                        file.write(text.encode() + b"\n")
        yield Path(name)


# ---------------------------------------------------------------- commands


def run(metrics: str, resamples: int, out: str = "out", tracking: str = "tracking=none") -> list[str]:
    """`harness run` of a folder's data."""
    return [
        sys.executable, "-m", "harness", "run", "dataset=file", "dataset.path=data.jsonl", "system=predictions",
        "system.path=outputs.jsonl", f"metrics=[{metrics}]", f"stats.resamples={resamples}", "progress=false",
        f"output_dir={out}", *tracking.split(),
    ]  # fmt: skip


def sacrebleu() -> list[str]:
    return [sys.executable, "-m", "sacrebleu", "references.txt", "-i", "outputs.txt", "-m", "bleu", "-b"]


def warmed(folder: Path) -> None:
    """What is made on first use is on disk, kernels and MLflow's tables: a user has that behind him after his first
    run."""
    for units in ("examples", "buckets"):
        store = f"tracking=mlflow tracking.uri=sqlite:///{folder / units}.db"
        measured([*run("bleu,rouge,chrf", 100, f"warm-{units}", store), f"stats.units={units}"], folder)


def imported(folder: Path) -> list[str]:
    """Which of the heavy packages `harness run` imports."""
    python, *arguments = run("bleu", 10_000, "imported")
    command = [python, "-X", "importtime", *arguments]
    ended = subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    names = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    return [package for package in HEAVY if package in names]


# ---------------------------------------------------------------- rows


def evaluations(names: list[str]) -> Iterator[Row]:
    """In this process, compiled before the clocks start."""
    for name in names:
        metric, n, target = EVALUATIONS[name]
        mine, theirs = evaluated(name, metric, pairs_of(n), REPEATS)
        yield Row(f"`harness.evaluate`, {n:,} pairs, {name}, no resamples", mine, target, peer_of(name), theirs)


def listed() -> Row:
    with folder_of(LISTED) as folder:
        mine, theirs = measured(run("bleu", 10_000), folder), measured(sacrebleu(), folder)
    what = f"`harness run`, {LISTED:,} pairs, BLEU, 10,000 resamples"
    return Row(what, mine, "4 times, of processor", "`sacrebleu`, corpus BLEU alone", theirs)


def large(n: int, target: str) -> Row:
    with folder_of(n, plain=False) as folder:
        mine = measured(run("bleu,rouge", 1_000), folder)
    return Row(f"`harness run`, {n:,} pairs, BLEU and ROUGE, 1,000 resamples", mine, target)


def small(folder: Path) -> Row:
    ours = [measured(run("bleu", 10_000, f"small-{i}"), folder) for i in range(REPEATS)]
    theirs = [measured(sacrebleu(), folder) for _ in range(REPEATS)]
    what = f"`harness run`, {FEW} pairs, BLEU, 10,000 resamples"
    return Row(what, middle(ours), "under 0.9 s of processor", "`sacrebleu`, corpus BLEU alone", middle(theirs))


def middle(runs: list[Used]) -> Used:
    return Used(*(median(values) for values in zip(*runs, strict=True)))


def whole_job() -> Row:
    """Each makes its own store."""
    with folder_of(JOB) as folder:
        store = f"tracking=mlflow tracking.uri=sqlite:///{folder / 'ours.db'}"
        mine = measured(run("bleu,rouge,chrf", 10_000, tracking=store), folder)
        uri = f"sqlite:///{folder / 'theirs.db'}"
        theirs = measured([sys.executable, str(BY_HAND), "data.jsonl", "outputs.jsonl", uri], folder)
    what = f"`harness run`, {JOB:,} pairs, BLEU, ROUGE and chrF, 10,000 resamples, into MLflow"
    return Row(what, mine, "10 times", "a script, benchmarks/by_hand.py", theirs)


def tables() -> Iterator[str]:
    yield from introduction()
    head = "what | harness: processor, s | wall, s | peak, GB | peer | processor, s | wall, s | ratio of processor"
    yield f"| {head} | of wall | target |"
    yield "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- |"
    with folder_of(FEW) as folder:
        warmed(folder)
        yield from map(str, evaluations(["BLEU, 13a", ROUGE]))
        yield str(listed())
        million = large(MILLION, "16 s of wall, under 1.2 GB")
        yield str(million)
        many = large(MANY, "ends, under 3 GB, linear") if room() >= MANY * BYTES else None
        if many:
            yield str(many)
        yield str(small(folder))
        yield from map(str, evaluations(["TER"]))
        yield str(whole_job())
        packages = imported(folder)
    yield ""
    if SCALE == 1:
        yield f"The run of {MILLION:,} pairs is {BEFORE / million.mine.wall:.1f} times as fast as before ({BEFORE} s)."
    yield growth(million.mine, many.mine) if many else left_out()
    yield f"The run of {FEW} pairs imports {', '.join(packages) or 'none'} of {', '.join(HEAVY)}."


def introduction() -> Iterator[str]:
    yield (
        "What a user calls, from start to end. Each command is a new process, and its time includes imports and all "
        "files, with `progress=false` and, except in the last row, `tracking=none`; kernels and the tables of a new "
        "MLflow store are on disk from an earlier run. `harness.evaluate` is called in one process, already compiled, "
        "the best "
        f"of {REPEATS} by processor time; its peer scores every pair and the corpus, once. The run of {FEW} pairs is "
        f"the median of {REPEATS}. "
        "No text occurs twice. Processor time is that of all threads."
    )
    if SCALE != 1:
        yield f"BENCH_SCALE={SCALE:g}: fewer pairs than the targets are for; the ratios mostly show what a start costs."
    yield ""


def growth(million: Used, many: Used) -> str:
    wall, processor = many.wall / million.wall, many.processor / million.processor
    return (
        f"{MANY / MILLION:.0f} times the pairs take {wall:.1f} times the wall time and "
        f"{processor:.1f} times the processor time."
    )


def room() -> int:
    """Free bytes where temporary folders are made."""
    return shutil.disk_usage(tempfile.gettempdir()).free


def left_out() -> str:
    needed, free = MANY * BYTES / 1e9, room() / 1e9
    return f"The run of {MANY:,} pairs was left out: it needs {needed:.0f} GB of disk, {free:.0f} GB are free."
