"""What a transformers model is made of: weights, tokenizer, adapter; found, hashed and loaded.

>>> Weights("some/model").name, Weights("some/model").identity()
('model', None)
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness import models
from harness.files import file_digest
from harness.types import HarnessError

FILES = ("*.safetensors", "*.gguf", "*.bin", "*.json", "*.model", "*.jinja", "*.txt")
"""What makes a model."""
STATE = ("trainer_state.json", "training_args.bin", "optimizer.bin", "scheduler.bin")
"""What lies beside it in a checkpoint and decides no output."""
EXPECTED = "expected a folder with a model, a .gguf file, package:NAME/FILE of an installed package, or a hub name"


@dataclass(frozen=True)
class Weights:
    """A model as the user named it."""

    model: str
    revision: str | None = None
    tokenizer: str | None = None
    adapter: str | None = None
    device: str = "auto"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        models.check_dtype(self.dtype, "system")
        self.location  # noqa: B018  (says at once that there is no such model)

    @cached_property
    def location(self) -> Path | None:
        """The folder or file on disk; None for a hub name."""
        return models.on_disk(self.model, "system.model", EXPECTED)

    @property
    def name(self) -> str:
        return self.location.stem if self.location else self.model.rsplit("/", 1)[-1]

    def identity(self) -> Any:
        """Hashes of the files, revisions of hub names; None where a part's identity cannot be known."""
        parts = [_identity(self.model, self.location, self.revision)]
        for option in ("adapter", "tokenizer"):
            named = getattr(self, option)
            parts += [] if named is None else [_identity(named, self._beside(option), None)]
        return None if None in parts else [parts, self.dtype]

    def load_tokenizer(self) -> Any:
        where, source = self._source
        if self.tokenizer is not None:
            beside = self._beside("tokenizer")
            where, source = (self.tokenizer, {}) if beside is None else models.arguments(beside)
        with self._explained():
            from transformers import AutoTokenizer

            return AutoTokenizer.from_pretrained(where, **source)

    def load_model(self) -> Any:
        """The model on its device, the adapter merged into it."""
        where, source = self._source
        with self._explained():
            import torch
            import transformers

            config = transformers.AutoConfig.from_pretrained(where, **source)
            kind = "AutoModelForSeq2SeqLM" if config.is_encoder_decoder else "AutoModelForCausalLM"
            with contextlib.redirect_stderr(io.StringIO()):  # a bar for GGUF files that no setting turns off
                model = getattr(transformers, kind).from_pretrained(where, dtype=getattr(torch, self.dtype), **source)
            if self.adapter is not None:
                import peft

                adapter = str(self._beside("adapter") or self.adapter)
                model = peft.PeftModel.from_pretrained(model, adapter).merge_and_unload()
            return model.to(models.device_of(self.device)).eval()

    @cached_property
    def _source(self) -> tuple[str, dict[str, Any]]:
        """What `from_pretrained` is called with."""
        with self._explained():
            models.quiet()
        if self.location is not None:
            return models.arguments(self.location)
        return self.model, {"revision": self.revision} if self.revision else {}

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except ModuleNotFoundError as error:
            raise HarnessError(
                f"system=huggingface needs {error.name}, which is not installed; "
                "expected this package with its extra: pip install '.[huggingface]' in a checkout"
            ) from None
        except (OSError, ValueError, ImportError) as error:
            raise HarnessError(
                f"system.model={self.model} cannot be loaded: {str(error).strip()}\n{EXPECTED} while online"
            ) from error

    def _beside(self, option: str) -> Path | None:
        """Where an adapter or a tokenizer of its own is on disk."""
        expected = f"expected a folder with {'an adapter' if option == 'adapter' else 'a tokenizer'}, or a hub name"
        return models.on_disk(getattr(self, option), f"system.{option}", expected)


def _identity(name: str, location: Path | None, revision: str | None) -> Any:
    """Hashes of the files that make a model; for a hub name its pinned revision, None where none is given."""
    if location is None:
        return [name, revision] if revision else None
    if location.is_file():
        return file_digest(location)
    found = sorted({path for pattern in FILES for path in location.glob(pattern) if path.name not in STATE})
    return [[path.name, file_digest(path)] for path in found]
