"""`torchrun two_ranks.py MODEL OUT plain|broken|fsdp`: trains a little, writes what the callback saw on this rank."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.systems.huggingface import HuggingFace
from harness.training import HarnessCallback, evaluate_checkpoint

ROWS = [{"id": str(i), "source": f"w{i % 9} w{i % 7 + 1}", "references": [f"w{i % 5} w14"]} for i in range(40)]
METRICS = ["chrf", "exact_match"]
OPTIONS: dict[str, Any] = {"max_new_tokens": 4, "resamples": 200, "track": False, "batch_tokens": 60}


def sharded(model: Any, tokenizer: Any) -> None:
    from torch.distributed.fsdp import fully_shard

    fully_shard(model)
    evaluate_checkpoint(model, tokenizer, ROWS, METRICS, **OPTIONS)


def main(folder: str, out: Path, mode: str) -> None:
    from transformers import AutoTokenizer, T5ForConditionalGeneration, Trainer, TrainingArguments, set_seed

    set_seed(0)
    rank, made = int(os.environ["RANK"]), 0
    real = HuggingFace.generate

    def generate(self: HuggingFace, batch: Any) -> Any:
        nonlocal made
        made += len(batch)
        if mode == "broken" and rank == 1:
            raise RuntimeError("no room on rank 1")
        return real(self, batch)

    HuggingFace.generate = generate  # type: ignore[method-assign]
    arguments = TrainingArguments(
        str(out / "training"), max_steps=4, save_steps=2, eval_steps=2, eval_strategy="steps", report_to=[],
        use_cpu=True, per_device_train_batch_size=2, disable_tqdm=True, save_only_model=True, learning_rate=0.01,
        dataloader_pin_memory=False, metric_for_best_model="chrf", load_best_model_at_end=True, ddp_backend="gloo",
    )  # fmt: skip
    model, tokenizer = T5ForConditionalGeneration.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    if mode == "fsdp":  # by hand, as the Trainer does not shard on a processor
        sharded(model, tokenizer)
        return
    data = [{"input_ids": [5, 6, 2], "labels": [5, 18, 2]}] * 16
    callback = HarnessCallback(ROWS, METRICS, stop_when="no further gain of 0.001 chrf can be told", **OPTIONS)
    Trainer(
        model, arguments, train_dataset=data, eval_dataset=data[:4], processing_class=tokenizer, callbacks=[callback]
    ).train()  # fmt: skip
    scores = {step: {name: asdict(score) for name, score in known.items()} for step, known in callback.scores.items()}
    (out / f"rank-{rank}.json").write_text(json.dumps({"scores": scores}, sort_keys=True))
    (out / f"share-{rank}.json").write_text(json.dumps(made))
    if rank == 0:
        rows = [result.statistics["chrf"].rows.tobytes() for result in callback.results.values()]
        (out / "statistics").write_bytes(b"".join(rows))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
