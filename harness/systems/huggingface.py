"""`system=huggingface system.model=DIR_OR_NAME`: a causal or sequence-to-sequence model through transformers.

The model is a folder, a GGUF file, `package:NAME/FILE` inside an installed Python package, or a hub name with its
revision; `system.adapter=DIR` puts a PEFT adapter on it. The prompt is a Jinja template over the example's fields, with
examples drawn from a file where wanted (harness/inputs/prompts.py); the decoding is greedy, by beams or sampled, each
output from its own random numbers (harness/systems/decoding.py).

Batches hold as many prompts as `batch_tokens` allows, planned by length from all examples before the first one runs;
one that does not fit into memory is halved and tried again. In a batch, padding and shape change the last bits of a
model's arithmetic, and where two tokens are almost equally likely the choice can flip with them: the run says so once,
and `system.batch_invariant=true`, one prompt at a time, rules it out.

>>> HuggingFace("some/model", prompt="Sum up: {{ source }}").seen(Example("1", "It rained.", ()))
'Sum up: It rained.'
"""

from __future__ import annotations

import gc
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache, cached_property
from typing import Any

from harness.inputs import plugins
from harness.inputs.files import digest
from harness.inputs.pretrained import Pretrained
from harness.inputs.prompts import Prompt
from harness.systems.chat import templated
from harness.systems.decoding import Decoding
from harness.types import Example, HarnessError, Output, System

log = logging.getLogger(__name__)
VERSION = 3
MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


class HuggingFace(System):
    def __init__(
        self,
        model: str,
        name: str | None = None,
        revision: str | None = None,
        tokenizer: str | None = None,
        adapter: str | None = None,
        step: int | None = None,
        series: str | None = None,
        prompt: str = "{{ source }}",
        few_shot: Mapping[str, Any] | None = None,
        chat: bool | None = None,
        system_message: str | None = None,
        max_new_tokens: int = 128,
        min_new_tokens: int | None = None,
        stop: str | Sequence[str] = (),
        num_beams: int = 1,
        length_penalty: float | None = None,
        no_repeat_ngram_size: int | None = None,
        repetition_penalty: float | None = None,
        do_sample: bool = False,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int | None = 0,
        repeats: int = 1,
        generation: Mapping[str, Any] | None = None,
        batch_tokens: int = 4096,
        batch_invariant: bool = False,
        device: str = "auto",
        device_map: str | Mapping[str, Any] | None = None,
        dtype: str = "float32",
        quantization: str | Mapping[str, Any] | None = None,
    ) -> None:
        """The options are explained in conf/system/huggingface.yaml."""
        self.pretrained = Pretrained(
            model,
            "system.model",
            revision=revision,
            dtype=dtype,
            device=device,
            any_weights=True,
            own_tokenizer=tokenizer,
            adapter=adapter,
            device_map=device_map,
            quantization=quantization,
        )
        known = self.pretrained.name  # says at once that there is no such model
        self.name = name or known
        self.step, self.series = step, series
        self.prompt = Prompt(prompt, few_shot)
        self.chat, self.system_message = chat, system_message
        if system_message is not None and chat is False:
            raise HarnessError("system.system_message with system.chat=false; expected a chat template to put it in")
        self.decoding = Decoding(
            max_new_tokens=max_new_tokens,
            min_new_tokens=min_new_tokens,
            num_beams=num_beams,
            length_penalty=length_penalty,
            no_repeat_ngram_size=no_repeat_ngram_size,
            repetition_penalty=repetition_penalty,
            do_sample=do_sample,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            seed=seed,
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            generation=dict(generation or {}),
        )
        self.repeats, self.most_tokens = repeats, max_new_tokens
        if repeats < 1 or batch_tokens < 1:
            raise HarnessError("system.repeats and system.batch_tokens: expected at least 1")
        if repeats > 1 and not do_sample:
            raise HarnessError(f"system.repeats={repeats} of the same output; expected system.do_sample=true")
        self.sampled = do_sample and seed is None
        self._seed = secrets.randbits(64) if seed is None else seed
        self.batch_tokens, self.batch_invariant = batch_tokens, batch_invariant
        self._fits = 2**62
        """Tokens of a batch that memory has room for, as far as known."""

    @classmethod
    def in_memory(cls, model: Any, tokenizer: Any, **options: Any) -> HuggingFace:
        """A system of a model that is loaded already, as in a training run."""
        for option in ("revision", "tokenizer", "adapter", "device", "device_map", "dtype", "quantization"):
            if option in options:
                raise HarnessError(
                    f"{option}={options[option]} with a model in memory; expected it to be set when the model is loaded"
                )
        system: HuggingFace = cls(**plugins.checked(cls, {"model": type(model).__name__, **options}, "system"))
        system._tokenizer, system._model = tokenizer, model
        return system

    # ------------------------------------------------------------ what decides an output

    def key(self) -> str | None:
        decoding = asdict(self.decoding)
        if not self.decoding.do_sample:
            del decoding["seed"]
        batch = None if self.batch_invariant else self.batch_tokens
        identity = self.pretrained.identity()
        dtype = self.pretrained.dtype
        bits = [] if self.pretrained.bits is None else [self.pretrained.bits]
        options = [self.prompt.template, self.chat, self.system_message, decoding, batch, *bits]
        return None if identity is None else digest(["huggingface", VERSION, identity, dtype, options])

    def seen(self, example: Example) -> str:
        return self.prompt(example)

    def plan(self, examples: Sequence[Example]) -> list[list[int]]:
        """Batches of similar length, the longest first, so that memory is short at once or not at all."""
        lengths = [len(ids) for ids in self._encoded(examples)]
        batches: list[list[int]] = []
        longest = 0
        for i in sorted(range(len(examples)), key=lambda i: (-lengths[i], i)):
            if not batches or self.batch_invariant or self._size(len(batches[-1]) + 1, longest) > self.batch_tokens:
                batches.append([])
                longest = lengths[i]
            batches[-1].append(i)
        return batches

    def estimate(self, examples: Sequence[Example]) -> dict[str, int] | None:
        """For dry runs: the prompts' tokens, where the model has a tokenizer.json. To load any other, transformers and
        torch with it, takes longer than a dry run should."""
        path = self.pretrained.tokenizer_file
        if path is None:
            return None
        from tokenizers import Tokenizer

        encoded = Tokenizer.from_file(str(path)).encode_batch([self.prompt(example) for example in examples])
        return {"input_tokens": sum(len(each.ids) for each in encoded)}

    def about(self) -> dict[str, str]:
        """For the manifest and for tracking."""
        identity = self.pretrained.identity()
        known = {} if identity is None else {"model_key": identity}
        return {"batch_invariant": str(self.batch_invariant).lower(), **known}

    def _size(self, rows: int, longest: int) -> int:
        return rows * self.decoding.num_beams * (longest + self.decoding.max_new_tokens)

    # ------------------------------------------------------------ generating

    def load(self) -> None:
        _ = self._tokenizer, self._model

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        encoded = self._encoded(batch)
        room = self._room()
        known = getattr(self._model.get_input_embeddings(), "num_embeddings", 2**62)
        outputs = [
            Output(None, f"the prompt has {len(ids)} tokens; expected 1 to {room}")
            if not 0 < len(ids) <= room
            else Output(None, f"the prompt has the token {max(ids)}; the model knows 0 to {known - 1}")
            for ids in encoded
        ]
        fitting = [i for i, ids in enumerate(encoded) if 0 < len(ids) <= room and max(ids) < known]
        for i, output in zip(fitting, self._tried([(batch[i], encoded[i]) for i in fitting]), strict=True):
            outputs[i] = output
        return outputs

    def _tried(self, rows: Sequence[tuple[Example, list[int]]]) -> list[Output]:
        """Outputs of a batch, or of its halves where it does not fit into memory or transformers cannot generate it: in
        the end only what is at fault fails."""
        if not rows:
            return []
        size = self._size(len(rows), max(len(ids) for _, ids in rows))
        if len(rows) == 1 or not (self.batch_invariant or size > self._fits):
            if len(rows) > 1:
                _say_that_batches_matter()
            try:
                return self._generated(rows)
            except HarnessError:
                raise
            except Exception as error:
                fault = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
                short = any(sign in fault.lower() for sign in MEMORY)
                if "CUDA error" in fault and not short:  # no later call to the device can succeed
                    raise HarnessError(
                        f"{self.name} cannot go on: {fault}. What was generated before is kept; "
                        "the same command continues from there"
                    ) from error
            _free()  # behind the except clause, which keeps the failed attempt's tensors alive
            if len(rows) == 1:
                return [Output(None, f"out of memory for one prompt of {len(rows[0][1])} tokens" if short else fault)]
            if short:
                log.warning("out of memory for a batch of %d prompts; going on with half of it", len(rows))
                self._fits = min(self._fits, size - 1)
        half = (len(rows) + 1) // 2
        return [*self._tried(rows[:half]), *self._tried(rows[half:])]

    def _generated(self, rows: Sequence[tuple[Example, list[int]]]) -> list[Output]:
        import torch

        tokenizer, model = self._tokenizer, self._model
        started = time.perf_counter()
        longest = max(len(ids) for _, ids in rows)
        ids = torch.full((len(rows), longest), _pad(tokenizer))
        mask = torch.zeros_like(ids)
        for i, (_, tokens) in enumerate(rows):
            own = slice(0, len(tokens)) if model.config.is_encoder_decoder else slice(longest - len(tokens), longest)
            ids[i, own], mask[i, own] = torch.tensor(tokens, dtype=ids.dtype), 1
        begin = 1 if model.config.is_encoder_decoder else longest  # a decoder begins with its start token
        with torch.no_grad():  # not inference_mode: a model in training must stay trainable
            made = model.generate(
                input_ids=ids.to(model.device),
                attention_mask=mask.to(model.device),
                **self.decoding.arguments(_pad(tokenizer)),
                **self.decoding.randomness(
                    [self.prompt(example) for example, _ in rows], [example.repeat for example, _ in rows], self._seed
                ),
                **self.decoding.stopping(tokenizer, begin),
                synced_gpus=False,  # whatever shards the weights in training, they are whole here
            )[:, begin:].tolist()
        seconds = round((time.perf_counter() - started) / len(rows), 4)
        return [
            self._output(tokens, {"input_tokens": len(prompt), "seconds": seconds})
            for tokens, (_, prompt) in zip(made, rows, strict=True)
        ]

    def _output(self, tokens: list[int], info: dict[str, Any]) -> Output:
        """The text of the new tokens up to the model's end token, a stop string or the limit, and which it was. A row
        that a stop string ended is filled up with padding; a padding token between others was generated."""
        tokenizer, own = self._tokenizer, self._model.generation_config
        ends = self.decoding.generation.get("eos_token_id", own.eos_token_id)
        closing = set(ends if isinstance(ends, list) else [ends])
        padded = len(tokens)
        while self.decoding.stop and padded and tokens[padded - 1] == _pad(tokenizer):
            padded -= 1
        length = next((i for i, token in enumerate(tokens) if token in closing), padded)
        text, stopped = self.decoding.cut(tokenizer.decode(tokens[:length], skip_special_tokens=True))
        forced = own.forced_eos_token_id is not None and length + 1 == self.decoding.max_new_tokens
        finish = "stop" if stopped or (length < len(tokens) and not forced) else "length"
        return Output(text, info={**info, "output_tokens": length, "finish": finish})

    def _encoded(self, examples: Sequence[Example]) -> list[list[int]]:
        """The token ids of each example's prompt."""
        if not examples:
            return []
        tokenizer = self._tokenizer
        chat = bool(tokenizer.chat_template) if self.chat is None else self.chat
        prompts = [self.prompt(example) for example in examples]
        if not tokenizer.chat_template and (chat or self.system_message is not None):
            option = "chat=true" if chat else "system_message"
            raise HarnessError(f"system.{option}: {self.name} has no chat template; expected a model that has one")
        if chat:
            prompts = templated(tokenizer, prompts, self.system_message, self.name)
        ids: list[list[int]] = tokenizer(prompts, add_special_tokens=not chat)["input_ids"]
        return ids

    def _room(self) -> int:
        """Tokens that a prompt may have."""
        config, most = self._model.config, self.decoding.max_new_tokens
        positions = getattr(config, "max_position_embeddings", None) or 10**9
        if config.is_encoder_decoder and most > (written := _positions(self._model.get_decoder())):
            raise HarnessError(
                f"system.max_new_tokens={most}; expected at most {written}, the positions of {self.name}"
            )
        return positions if config.is_encoder_decoder else positions - most

    # ------------------------------------------------------------ loaded when first needed

    @cached_property
    def _tokenizer(self) -> Any:
        return self.pretrained.tokenizer

    @cached_property
    def _model(self) -> Any:
        return self.pretrained.loaded("generator", lambda: self.pretrained.load(self.pretrained.generator)[2])


def _positions(decoder: Any) -> int:
    """Tokens that a decoder can write: as many as it has embeddings of positions, where they are a table."""
    table = getattr(decoder, "embed_positions", None)
    return getattr(table, "num_embeddings", 10**9) - getattr(table, "offset", 0)


def _pad(tokenizer: Any) -> int:
    return int(tokenizer.eos_token_id or 0) if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)


@cache
def _say_that_batches_matter() -> None:
    """Once per process."""
    log.warning(
        "in batches, a few tokens of an output can depend on the batch it is made in; system.batch_invariant=true "
        "generates one prompt at a time"
    )


def _free() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
