"""Pretrained models on disk: found, and named as transformers wants them. Every room may import it, as `files`.

A model is a folder, a .gguf file, something inside an installed package (`package:NAME/PATH`, found without importing
that package's code) or a hub name. Nothing here imports torch or transformers before a model is loaded.

>>> on_disk("some/hub-name", "system.model", "expected a folder") is None
True
>>> on_disk("package:numpy/linalg", "system.model", "expected a folder").name
'linalg'
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from harness.types import HarnessError

DTYPES = ("float32", "bfloat16", "float16")


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
        found = "is a file" if path.exists() else "does not exist"
        raise HarnessError(f"{option}={model} {found}; {expected}")
    return None


def package_folder(package: str) -> Path | None:
    """Where an installed package is, without importing it."""
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def arguments(path: Path) -> tuple[str, dict[str, Any]]:
    """(what, options) that `from_pretrained` is called with for a model on disk."""
    return (str(path.parent), {"gguf_file": path.name}) if path.is_file() else (str(path), {})


def check_dtype(dtype: str, place: str) -> None:
    if dtype not in DTYPES:
        raise HarnessError(f"{place}.dtype={dtype}; expected one of {', '.join(DTYPES)}")


def device_of(wanted: str) -> str:
    """`auto`: the accelerator where there is one."""
    import torch

    if wanted != "auto":
        return wanted
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


def quiet() -> None:
    """Transformers' own bars and warnings off: the harness has its own."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
