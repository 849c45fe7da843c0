"""`system=huggingface system.model=DIR_OR_NAME`: a causal or sequence-to-sequence model through transformers.

The model is a folder, a GGUF file, a hub name (while online), or a file inside an installed Python package written
`package:NAME/FILE`, which is found without importing that package's code. The prompt is a Jinja template over the
example's fields (`{{ source }}`, metadata by name). Decoding is greedy (one beam, no sampling; a minimum
length or the like in the model's own generation config stays in force). Batches are planned by length from all examples
before the first one runs, so that an interrupted run ends with the same outputs as an uninterrupted one.

Within a batch, padding changes the last bits of a model's arithmetic, and where two tokens are almost equally likely
the greedy choice can flip with them: `system.batch_size=1` rules that out. The batch size is part of the key.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.files import digest, file_digest
from harness.types import Example, HarnessError, Output, System

VERSION = 1
DTYPES = ("float32", "bfloat16", "float16")
WEIGHTS = ("*.safetensors", "*.gguf", "*.bin", "*.json", "*.model", "*.jinja", "*.txt")


class HuggingFace(System):
    def __init__(
        self,
        model: str,
        name: str | None = None,
        revision: str | None = None,
        prompt: str = "{{ source }}",
        chat: bool | None = None,
        max_new_tokens: int = 128,
        batch_size: int = 8,
        device: str = "auto",
        dtype: str = "float32",
    ) -> None:
        """`chat`: wrap the prompt in the model's chat template; by default where it has one."""
        self.model, self.revision = model, revision
        self.location = _locate(model)
        self.name = name or (self.location.stem if self.location else model.rsplit("/", 1)[-1])
        self.prompt, self.chat = prompt, chat
        self.max_new_tokens, self.batch_size = max_new_tokens, batch_size
        if batch_size < 1 or max_new_tokens < 1:
            raise HarnessError("system.batch_size and system.max_new_tokens: expected at least 1")
        if dtype not in DTYPES:
            raise HarnessError(f"system.dtype={dtype}; expected one of {', '.join(DTYPES)}")
        self.device, self.dtype = device, dtype

    def key(self) -> str | None:
        options = [self.prompt, self.chat, self.max_new_tokens, self.batch_size, self.dtype]
        identity = self._identity()
        return None if identity is None else digest(["huggingface", VERSION, identity, options])

    def _identity(self) -> Any:
        """Hashes of the files that make the model; for a hub name its pinned revision, None where none is given."""
        if self.location is None:
            return [self.model, self.revision] if self.revision else None
        if self.location.is_file():
            return file_digest(self.location)
        found = sorted({path for pattern in WEIGHTS for path in self.location.glob(pattern)})
        return [[path.name, file_digest(path)] for path in found]

    def seen(self, example: Example) -> str:
        return self._render(example)

    def plan(self, examples: Sequence[Example]) -> list[list[int]]:
        order = sorted(range(len(examples)), key=lambda i: (-len(self._render(examples[i])), i))
        return [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        import torch

        tokenizer, model = self._loaded
        prompts = [self._render(example) for example in batch]
        chat = bool(tokenizer.chat_template) if self.chat is None else self.chat
        if chat:
            prompts = [
                tokenizer.apply_chat_template(
                    [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
                )
                for prompt in prompts
            ]
        lengths = [len(ids) for ids in tokenizer(prompts, add_special_tokens=not chat)["input_ids"]]
        room = self._room(model.config)
        outputs = [Output(None, f"the prompt has {length} tokens; the model has room for {room}") for length in lengths]
        fitting = [i for i, length in enumerate(lengths) if length <= room]
        if not fitting:
            return outputs
        some = [prompts[i] for i in fitting]
        encoded = tokenizer(some, return_tensors="pt", padding=True, add_special_tokens=not chat)
        encoded.pop("token_type_ids", None)
        with torch.inference_mode():
            generated = model.generate(
                **encoded.to(model.device),
                max_new_tokens=self.max_new_tokens,
                do_sample=False,
                num_beams=1,
                pad_token_id=tokenizer.pad_token_id,
            )
        if not model.config.is_encoder_decoder:
            generated = generated[:, encoded["input_ids"].shape[1] :]
        for i, text in zip(fitting, tokenizer.batch_decode(generated, skip_special_tokens=True), strict=True):
            outputs[i] = Output(text)
        return outputs

    def _room(self, config: Any) -> int:
        """Tokens that a prompt may have."""
        positions = getattr(config, "max_position_embeddings", None) or 10**9
        return positions if config.is_encoder_decoder else positions - self.max_new_tokens

    def _render(self, example: Example) -> str:
        import jinja2

        try:
            return str(self._template.render(**example.metadata, id=example.id, source=example.source))
        except jinja2.UndefinedError as error:
            fields = ", ".join(["id", "source", *example.metadata])
            raise HarnessError(f"system.prompt: {error} in example {example.id!r}; expected one of: {fields}") from None

    @cached_property
    def _template(self) -> Any:
        import jinja2

        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
        try:
            return environment.from_string(self.prompt)
        except jinja2.TemplateSyntaxError as error:
            raise HarnessError(f"system.prompt is not a Jinja template: {error}") from None

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise HarnessError(
                f"system=huggingface needs {error.name}, which is not installed; "
                "expected this package with its extra: pip install '.[huggingface]' in a checkout"
            ) from None
        transformers.utils.logging.disable_progress_bar()
        transformers.utils.logging.set_verbosity_error()
        source: dict[str, Any] = {"revision": self.revision} if self.revision else {}
        where: str = self.model
        if self.location is not None:
            where = str(self.location.parent if self.location.is_file() else self.location)
            if self.location.is_file():
                source["gguf_file"] = self.location.name
        device = _device(torch) if self.device == "auto" else self.device
        try:
            config = transformers.AutoConfig.from_pretrained(where, **source)
            kind = "AutoModelForSeq2SeqLM" if config.is_encoder_decoder else "AutoModelForCausalLM"
            side = "right" if config.is_encoder_decoder else "left"
            tokenizer = transformers.AutoTokenizer.from_pretrained(where, padding_side=side, **source)
            with contextlib.redirect_stderr(io.StringIO()):  # a bar for GGUF files that no setting turns off
                model = getattr(transformers, kind).from_pretrained(where, dtype=getattr(torch, self.dtype), **source)
        except (OSError, ValueError, ImportError) as error:
            raise HarnessError(
                f"system.model={self.model} cannot be loaded: {str(error).strip()}\n"
                "expected a folder with a model, a .gguf file, package:NAME/FILE, or a hub name while online"
            ) from error
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        model.generation_config.temperature = model.generation_config.top_p = model.generation_config.top_k = None
        return tokenizer, model.to(device).eval()


def _locate(model: str) -> Path | None:
    """The folder or file of a model on disk, None for a hub name."""
    if model.startswith("package:"):
        package, _, inside = model.removeprefix("package:").partition("/")
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            name = package.replace("_", "-")
            raise HarnessError(
                f"system.model={model}: the package {package} is not installed; expected: pip install --no-deps {name}"
            )
        path = Path(spec.submodule_search_locations[0]) / inside
        if not path.exists():
            raise HarnessError(f"system.model={model}: the package {package} has no {inside}")
        return path
    path = Path(os.path.expanduser(model))
    if path.exists():
        return path
    if model.startswith((".", "/", "~")) or model.endswith(".gguf"):
        raise HarnessError(f"system.model={model} does not exist; expected a folder with a model or a .gguf file")
    return None


def _device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
