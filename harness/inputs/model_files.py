"""A pretrained model on disk: where it is, which of its files make it, and their hash, the same whoever uses it.

A model is a folder, a .gguf file, or either inside an installed package (`package:NAME/PATH`, found without importing
that package's code).

Weights, configs, tokenizer, chat template, adapter and the model's own code decide what it computes, and count. What
lies beside them in a training checkpoint (the trainer's and the optimizer's state, results) or in a folder of the hub
(the same weights for another framework, a README) decides nothing, and is left out. So a checkpoint has the hash of the
model that was exported from it, and a folder that of its copy anywhere else.

>>> on_disk("some/hub-name", "system.model", "expected a folder") is None
True
>>> on_disk("package:numpy/linalg", "system.model", "expected a folder").name
'linalg'
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     for name in ("config.json", "trainer_state.json", "model.safetensors", "pytorch_model.bin", "optimizer.pt"):
...         _ = Path(folder, name).write_text(name)
...     sorted(digests(Path(folder)))
['config.json', 'model.safetensors']
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.inputs.files import digest, file_digest
from harness.types import HarnessError

SAFETENSORS = ("*.safetensors", "*.safetensors.index.json")
PICKLED = ("pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json", "adapter_model.bin")
"""Only where there are no safetensors, or where the user names them: transformers chooses in the same way."""
PARTS = (
    "*.json", "*.txt", "*.model", "*.spm", "*.tiktoken", "*.bpe", "*.codes", "*.jinja",
    "additional_chat_templates/*.jinja", "*.py",
)  # fmt: skip
"""Configs, vocabularies and merges of tokenizers, chat templates, code."""
ASIDE = ("trainer_state.json", "*_results.json", "*_results.txt", "requirements.txt", "*.index.json")
"""Of these patterns, what decides no output; an index counts with its weights."""


def on_disk(model: str, option: str, expected: str) -> Path | None:
    """The folder or .gguf file that `model` names, None for a hub name; `option` and `expected` are for messages."""
    if model.startswith("package:"):
        package, _, inside = model.removeprefix("package:").partition("/")
        folder = package_folder(package)
        if folder is None:
            raise HarnessError(f"{option}={model}: {package} is not installed; {expected}")
        path = folder / inside
        if not path.exists():
            raise HarnessError(f"{option}={model}: {package} has no {inside}; {expected}")
        return path
    path = Path(model).expanduser()
    if path.is_dir() or (path.is_file() and path.suffix == ".gguf"):
        return path
    if model.startswith((".", "/", "~")) or path.exists() or path.suffix == ".gguf":
        state = "is a file" if path.exists() else "does not exist"
        raise HarnessError(f"{option}={model} {state}; {expected}")
    return None


def package_folder(package: str) -> Path | None:
    """Where an installed package is, without importing it."""
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def arguments(path: Path) -> tuple[str, dict[str, Any]]:
    """(what, options) that `from_pretrained` is called with for a model on disk."""
    return (str(path.parent), {"gguf_file": path.name}) if path.is_file() else (str(path), {})


def digests(path: Path, pickled: bool = False, weights: bool = True) -> dict[str, str]:
    """The SHA-256 of each file that decides what a model computes, by its name in the folder; the name of a .gguf file
    decides nothing. `pickled`: the user named pickled weights; `weights=False`: a tokenizer's files only."""
    if path.is_file():  # all in one, but for how it generates
        beside = {file.name: file_digest(file) for file in path.parent.glob("generation_config.json")}
        return {".gguf": file_digest(path), **beside}
    return {name: file_digest(path / name) for name in names(path, pickled, weights)}


def names(folder: Path, pickled: bool = False, weights: bool = True) -> list[str]:
    """Of the files of a folder those that decide what a model computes."""
    files = [file for file in _matching(folder, PARTS) if not any(file.match(pattern) for pattern in ASIDE)]
    if weights:
        safe = [] if pickled else _matching(folder, SAFETENSORS)
        files += safe or _matching(folder, PICKLED)
    return [file.relative_to(folder).as_posix() for file in files]


def fingerprint(digests: Mapping[str, str]) -> str:
    """The hash of a model by those of its files."""
    return digest(sorted(digests.items()))


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
