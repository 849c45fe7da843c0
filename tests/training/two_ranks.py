"""`torchrun two_ranks.py MODEL OUT MODE`: trains a little, writes what the callback saw on this rank.

Modes: `plain`; `few`, one example for two ranks; `fsdp`, weights that are sharded, and `unseen`, the same without the
callback; `broken`, a rank that fails.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.systems.huggingface import HuggingFace
from harness.training import HarnessCallback, load_best

ROWS = [{"id": str(i), "source": f"w{i % 9} w{i % 7 + 1}", "references": [f"w{i % 5} w14"]} for i in range(40)]
METRICS = ["chrf", "exact_match"]
OPTIONS: dict[str, Any] = {"max_new_tokens": 4, "resamples": 200, "track": False, "batch_tokens": 60}
FSDP = {"fsdp": True, "fsdp_config": {"version": 2, "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}}


def shard_on_a_processor() -> None:
    """Accelerate shards on accelerators only, unless it takes this machine for one with several."""
    from accelerate.state import PartialState
    from accelerate.utils import DistributedType

    PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU


def main(folder: str, out: Path, mode: str) -> None:
    from transformers import AutoTokenizer, Trainer, TrainingArguments, set_seed

    from harness.inputs.pretrained import Pretrained

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
    sharded = mode in ("fsdp", "unseen")
    arguments = TrainingArguments(
        str(out / "training"), max_steps=4, save_steps=2, eval_steps=2, eval_strategy="steps", report_to=[],
        use_cpu=True, per_device_train_batch_size=2, disable_tqdm=True, save_only_model=not sharded, learning_rate=0.01,
        dataloader_pin_memory=False, ddp_backend="gloo", **(FSDP if sharded else {}),
        **({} if mode == "unseen" else {"metric_for_best_model": "chrf", "load_best_model_at_end": not sharded}),
    )  # fmt: skip
    if sharded:
        shard_on_a_processor()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = Pretrained(folder, "model").load("AutoModelForCausalLM" if sharded else "T5ForConditionalGeneration")[2]
    rows = ROWS[:1] if mode == "few" else ROWS
    data = [{"input_ids": [5, 6, 2], "labels": [5, 18, 2]}] * 16
    callback = HarnessCallback(rows, METRICS, stop_when="no further gain of 0.001 chrf can be told", **OPTIONS)
    trainer = Trainer(
        model, arguments, train_dataset=data, eval_dataset=data[:4], processing_class=tokenizer,
        callbacks=[] if mode == "unseen" else [callback],
    )  # fmt: skip
    trainer.train()
    if mode == "fsdp":
        for weight in trainer.model.parameters():
            weight.data.zero_()
        best = load_best(trainer, callback, "chrf")
        again = trainer.evaluate()["eval_chrf"]
        assert again == callback.scores[best.step]["chrf"].estimate, (again, best.step)
    scores = {step: {name: asdict(score) for name, score in known.items()} for step, known in callback.scores.items()}
    (out / f"rank-{rank}.json").write_text(json.dumps({"scores": scores}, sort_keys=True))
    (out / f"share-{rank}.json").write_text(json.dumps(made))
    if rank == 0:
        statistics = [result.statistics["chrf"].rows.tobytes() for result in callback.results.values()]
        (out / "statistics").write_bytes(b"".join(statistics))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
