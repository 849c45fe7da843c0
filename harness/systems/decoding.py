"""How a transformers model is decoded: its options, checked, and randomness that belongs to each output alone.

Sampling takes one uniform number a token from a generator of (seed, prompt, repeat), so that an output is the same in
any batch, after an interruption, and on its own; transformers' own sampling draws from one global state for all rows.

>>> Decoding(max_new_tokens=8, temperature=0.7)
Traceback (most recent call last):
    ...
harness.types.errors.HarnessError: system.temperature=0.7 is for sampling; expected it with system.do_sample=true
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from harness.inputs.prompts import generator
from harness.types import HarnessError, check_least

UNSAMPLED = {"temperature": 1.0, "top_p": 1.0, "top_k": 0}
"""Sampling from the model's distribution as it is."""
OWN = {"num_return_sequences": "repeats", "stop_strings": "stop", "max_length": "max_new_tokens"}
"""What `generation` may not set, because an option of the system does."""
INTERNAL = ("return_dict_in_generate", "output_scores", "output_logits", "pad_token_id", "max_time")
"""Nor these: they change what `generate` returns, or make the output depend on the machine."""
WHOLE: Mapping[str, Any] = {"return_dict_in_generate": False, "num_return_sequences": 1, "max_time": None}
"""What of them a model's own generation config may set, which would be followed."""


@dataclass(frozen=True)
class Decoding:
    """The options; None: as the model's own generation config has it. `num_beams` and sampling never follow that."""

    max_new_tokens: int
    min_new_tokens: int | None = None
    num_beams: int = 1
    length_penalty: float | None = None
    no_repeat_ngram_size: int | None = None
    repetition_penalty: float | None = None
    do_sample: bool = False
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = 0
    stop: Sequence[str] = ()
    generation: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least in (("max_new_tokens", 1), ("num_beams", 1), ("top_k", 0)):
            check_least(f"system.{name}", getattr(self, name), least)
        if (self.min_new_tokens or 0) > self.max_new_tokens:
            raise HarnessError(
                f"system.min_new_tokens={self.min_new_tokens}; expected at most max_new_tokens={self.max_new_tokens}"
            )
        if not 0 < self.top_p <= 1:
            raise HarnessError(f"system.top_p={self.top_p}; expected more than 0 and at most 1")
        if self.temperature <= 0:
            raise HarnessError(f"system.temperature={self.temperature}; expected more than 0 (greedy: do_sample=false)")
        for name, off in UNSAMPLED.items():
            if not self.do_sample and getattr(self, name) != off:
                raise HarnessError(
                    f"system.{name}={getattr(self, name)} is for sampling; expected it with system.do_sample=true"
                )
        if self.do_sample and self.num_beams > 1:
            raise HarnessError(f"system.num_beams={self.num_beams} with do_sample=true; expected one of the two")
        if "" in self.stop:
            raise HarnessError("system.stop holds an empty text; expected texts that end an output")
        for name in self.generation:
            if name in INTERNAL or name in OWN or name in asdict(self):
                instead = f"system.{OWN.get(name, name)}" if name not in INTERNAL else "another parameter"
                raise HarnessError(f"system.generation.{name} cannot be set; expected {instead}")

    def arguments(self, pad: int) -> dict[str, Any]:
        """What `model.generate` is called with, beside the batch, its randomness and its stop strings."""
        from transformers import GenerationConfig

        for name in self.generation:
            if not hasattr(GenerationConfig(), name):
                raise HarnessError(
                    f"system.generation.{name} is not known to transformers; expected a field of its GenerationConfig"
                )
        optional = ("min_new_tokens", "length_penalty", "no_repeat_ngram_size", "repetition_penalty")
        always = ("max_new_tokens", "num_beams", "do_sample", *(UNSAMPLED if self.do_sample else ()))
        chosen = {name: getattr(self, name) for name in optional if getattr(self, name) is not None}
        fixed = {name: getattr(self, name) for name in always}
        return {**chosen, **fixed, **WHOLE, "pad_token_id": pad, **self.generation}

    def randomness(self, prompts: Sequence[Any], repeats: Sequence[int], seed: int) -> dict[str, Any]:
        """What makes `model.generate` sample each row from its own numbers."""
        if not self.do_sample:
            return {}
        rows = [
            generator(seed, prompt, repeat).random(self.max_new_tokens)
            for prompt, repeat in zip(prompts, repeats, strict=True)
        ]
        return {"custom_generate": Sampler(np.stack(rows))}

    def stopping(self, tokenizer: Any, start: int) -> dict[str, Any]:
        """What makes `model.generate` end a row at a stop string; new tokens begin at `start`."""
        return {"stopping_criteria": [Stop(tokenizer, self.stop, start)]} if self.stop else {}

    def cut(self, text: str) -> tuple[str, bool]:
        """(the text before the first stop string, whether there was one)."""
        ends = [text.index(stop) for stop in self.stop if stop in text]
        return (text[: min(ends)], True) if ends else (text, False)


class Sampler:
    """transformers' decoding loop with the next token drawn here: by inversion, from uniform numbers (rows, steps).

    `generate` hands the finished list of logits processors (temperature, top-p and all) to a `custom_generate`
    callable; one more behind them leaves only the token that was drawn, and the loop takes the best.
    """

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def __call__(self, model: Any, input_ids: Any, **state: Any) -> Any:
        state["logits_processor"].append(_Draw(self.numbers, input_ids.shape[1]))
        state["generation_config"].do_sample = False
        return model._sample(input_ids, **state)


class _Draw:
    def __init__(self, numbers: Any, start: int) -> None:
        self.numbers, self.start = numbers, start

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores (rows, vocabulary): -inf but for the token whose stretch of the distribution the number falls in."""
        import torch

        reached = scores.double().softmax(-1).cumsum(-1)
        number = torch.as_tensor(self.numbers[:, input_ids.shape[1] - self.start], device=scores.device)[:, None]
        token = torch.searchsorted(reached, number * reached[:, -1:], right=True).clamp(max=scores.shape[1] - 1)
        return torch.full_like(scores, -torch.inf).scatter(1, token, 0.0)


class Stop:
    """Whether the text generated so far holds a stop string; the prompt does not count."""

    def __init__(self, tokenizer: Any, stop: Sequence[str], start: int) -> None:
        self.tokenizer, self.stop, self.start = tokenizer, stop, start
        self.tail = max(len(text.encode()) for text in stop) + 8
        """A token is at least a byte, so that the last ones of this number hold any stop string that just ended."""

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        import torch

        begin = max(self.start, input_ids.shape[1] - self.tail)
        texts = self.tokenizer.batch_decode(input_ids[:, begin:], skip_special_tokens=True)
        stopped = [any(stop in text for stop in self.stop) for text in texts]
        return torch.tensor(stopped, device=input_ids.device)
