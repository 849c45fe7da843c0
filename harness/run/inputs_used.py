"""The files that a run was made of: data, outputs, weights and code that the options of its parts name, each with its
plain SHA-256, so that anybody can tell whether a file of theirs is the same (`sha256sum FILE`).

A file counts where an option is its path: `dataset.path=dev.jsonl`, `system.function=mine.py:answer`, an argument of
`system.command`. Of the folder of a model those files count that decide what it computes (inputs/model_files.py), of a
folder of data all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.inputs import model_files, remote
from harness.inputs.files import file_digest
from harness.masking import redacted
from harness.types import HarnessError

NAMES = ("_target_", "name", "cluster", "columns", "drop", "filter", "field", "others")
"""Options that name no file, though a file may be called so."""
FOLDERS = ("path", "model", "adapter", "tokenizer", "references", "source", "corpus")
"""Options that may name a folder."""
MOST_FILES = 1000
"""Of a folder of data."""


def used(parts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For the manifest: of each file the part of the config that names it, its path as it was given, the name below
    that where it is a folder, its size and hash."""
    seen: dict[tuple[str, str, str | None], dict[str, Any]] = {}
    for part in ("dataset", "system", "postprocess", "metrics"):
        for option, given in _texts(parts.get(part), part):
            for inside, path in _files(option, given):
                place = (part, given, inside)
                if place not in seen and (about := _about(path)):
                    named = {} if inside is None else {"file": inside}
                    seen[place] = {"option": option, "path": redacted(given), **named, **about}
    return list(seen.values())


def _texts(value: Any, option: str) -> Iterator[tuple[str, str]]:
    """(dotted name, text) of each option that may name a file."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in NAMES:
                yield from _texts(inner, f"{option}.{name}")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, option)
    elif isinstance(value, str) and value and len(value) < 4096 and "\n" not in value and "\0" not in value:
        yield option, value


def _files(option: str, given: str) -> Iterator[tuple[str | None, Path]]:
    """(name inside the folder or None, path) of the files that a text names."""
    part, last = option.partition(".")[0], option.rpartition(".")[2]
    if given.startswith("package:"):
        try:
            path = model_files.on_disk(given, option, "")
        except HarnessError:
            return
    elif remote.is_remote(given):
        path = remote.copy_of(given)
    else:
        code = given.rpartition(":")[0] if last in ("function", "score") else ""
        path = Path(code or given).expanduser()
    if path is None:
        return
    if os.path.isfile(path):
        yield None, path
    elif last in FOLDERS and os.path.isdir(path):
        if part == "dataset":
            inside = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
        else:
            inside = [path / name for name in model_files.names(path)]
        yield from ((file.relative_to(path).as_posix(), file) for file in inside[:MOST_FILES])


def _about(path: Path) -> dict[str, Any] | None:
    try:
        return {"bytes": path.stat().st_size, "sha256": file_digest(path)}
    except OSError:
        return None
