"""What one would write without a harness: `python transformers_loop.py MODEL DATA NEW BUDGET OUTPUTS sorted|ordered`.

Prompts sorted by length, in batches of at most BUDGET tokens; or in the order of the data, eight at a time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def loop(model_folder: str, data: str, new: int, budget: int, out: str, order: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32).eval()
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    prompts = [json.loads(line)["source"] for line in Path(data).read_text().splitlines()]
    lengths = [len(ids) for ids in tokenizer(prompts)["input_ids"]]
    batches: list[list[int]] = []
    if order == "ordered":
        batches = [list(range(i, min(i + 8, len(prompts)))) for i in range(0, len(prompts), 8)]
    else:
        for i in sorted(range(len(prompts)), key=lambda i: (-lengths[i], i)):
            if not batches or (len(batches[-1]) + 1) * (lengths[batches[-1][0]] + new) > budget:
                batches.append([])
            batches[-1].append(i)
    with open(out, "w") as file, torch.inference_mode():
        for batch in batches:
            encoded = tokenizer([prompts[i] for i in batch], return_tensors="pt", padding=True)
            made = model.generate(
                input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"], max_new_tokens=new,
                do_sample=False, pad_token_id=tokenizer.pad_token_id,
            )  # fmt: skip
            texts = tokenizer.batch_decode(made[:, encoded["input_ids"].shape[1] :], skip_special_tokens=True)
            for i, text in zip(batch, texts, strict=True):
                file.write(json.dumps({"prompt": prompts[i], "text": text}) + "\n")


if __name__ == "__main__":
    model, data, new, budget, out, order = sys.argv[1:]
    loop(model, data, int(new), int(budget), out, order)
