"""What a cell of a multirun costs beside its own work, and what cells of one model save by sharing its weights.

Each command is a process of its own, imports and all; processor seconds, so that fsync and a busy machine count little.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import harness
from benchmarks.processes import measured
from benchmarks.resume import write

EXAMPLES, FEW, MANY, RESAMPLES = 200, 2, 32, 1000
BEAMS = (1, 2, 4)
RUN = [sys.executable, "-m", "harness", "run", "tracking=none", "progress=false"]


def tables() -> Iterator[str]:
    yield from lexical_cells()
    yield ""
    yield from shared_weights()


def lexical_cells() -> Iterator[str]:
    """Cells of one lexical metric on a small file."""
    data = ["dataset=file", "dataset.path=dev.jsonl", "metrics=[bleu]", f"stats.resamples={RESAMPLES}"]
    swept = [*RUN, *data, "system=lead", "--multirun"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, EXAMPLES)
        alone = _used([*RUN, *data, "system=lead", "output_dir=alone"], folder)
        few, many = (
            _used([*swept, f"system.sentences=range(1,{count + 1})", f"output_dir=o{count}"], folder)
            for count in (FEW, MANY)
        )
        run = harness.load_run(next((folder / f"o{MANY}").iterdir()))
        outputs, references = list(run.examples["output"]), [list(r) for r in run.examples["references"]]
        harness.evaluate(outputs=outputs, references=references, metrics=["bleu"], resamples=RESAMPLES)
        start = time.process_time()
        for _ in range(10):
            harness.evaluate(outputs=outputs, references=references, metrics=["bleu"], resamples=RESAMPLES)
        own = (time.process_time() - start) / 10
    cell = (many - few) / (MANY - FEW)
    yield f"| {EXAMPLES} examples, BLEU, {RESAMPLES:,} resamples, `tracking=none` | processor, s |"
    yield "| --- | ---: |"
    yield f"| one run | {alone:.2f} |"
    yield f"| a multirun of {MANY} cells | {many:.2f} |"
    yield f"| each further cell of it | {cell:.3f} |"
    yield f"| of which `harness.evaluate` of the same outputs takes | {own:.3f} |"
    yield f"| beside its own work | {cell - own:.3f} |"


def shared_weights() -> Iterator[str]:
    """Cells of SmolLM2 that differ in how they decode."""
    data = ["system=smollm2", "limit=1", "metrics=[rouge]", "cache=none"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shared = _used([*RUN, *data, "--multirun", f"system.num_beams={','.join(map(str, BEAMS))}"], folder)
        apart = [_used([*RUN, *data, f"system.num_beams={beams}", f"output_dir=o{beams}"], folder) for beams in BEAMS]
    yield f"| SmolLM2, one output with {', '.join(map(str, BEAMS))} beams | processor, s |"
    yield "| --- | ---: |"
    yield f"| three runs | {sum(apart):.1f} |"
    yield f"| a multirun of three cells, weights loaded once | {shared:.1f} |"


def _used(command: list[str], folder: Path) -> float:
    return measured(command, folder).processor
