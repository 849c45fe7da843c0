"""`python two_ranks.py MODEL OUT plain|broken|fsdp`, maybe under torchrun: trains a little, writes what the callback
saw on this rank. Every rank trains on the same examples, so that any number of them learns the same."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, T5ForConditionalGeneration, Trainer, TrainingArguments, set_seed

from harness.systems.huggingface import HuggingFace
from harness.training import HarnessCallback

ROWS = [{"id": str(i), "source": f"w{i % 9} w{i % 7 + 1}", "references": [f"w{i % 5} w14"]} for i in range(40)]
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def main(folder: str, out: Path, mode: str) -> None:
    set_seed(0)
    made = 0
    real = HuggingFace.generate

    def generate(self: HuggingFace, batch: Any) -> Any:
        nonlocal made
        made += len(batch)
        if mode == "broken" and RANK == 1:
            raise RuntimeError("no room on rank 1")
        return real(self, batch)

    HuggingFace.generate = generate  # type: ignore[method-assign]
    arguments = TrainingArguments(
        str(out / "training"), max_steps=4, save_steps=2, eval_steps=2, eval_strategy="steps", report_to=[],
        use_cpu=True, per_device_train_batch_size=4 // WORLD, disable_tqdm=True, save_only_model=True,
        learning_rate=0.01, dataloader_pin_memory=False, metric_for_best_model="chrf", load_best_model_at_end=True,
        ddp_backend="gloo" if WORLD > 1 else None, fsdp=mode == "fsdp",
    )  # fmt: skip
    model = T5ForConditionalGeneration.from_pretrained(folder, dropout_rate=0.0)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    data = [{"input_ids": [5, 6, 2], "labels": [5, 18, 2]}] * 16
    callback = HarnessCallback(
        ROWS, ["chrf", "exact_match"], max_new_tokens=4, resamples=200, track=False, batch_tokens=60,
        stop_when="no further gain of 0.001 chrf can be told",
    )  # fmt: skip
    Trainer(
        model, arguments, train_dataset=data, eval_dataset=data[:4], processing_class=tokenizer, callbacks=[callback]
    ).train()  # fmt: skip
    scores = {step: {name: asdict(score) for name, score in known.items()} for step, known in callback.scores.items()}
    (out / f"rank-{RANK}.json").write_text(json.dumps({"scores": scores}, sort_keys=True))
    (out / f"share-{RANK}.json").write_text(json.dumps(made))
    if RANK == 0:
        rows = [result.statistics["chrf"].rows.tobytes() for result in callback.results.values()]
        (out / "statistics").write_bytes(b"".join(rows))


main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
