"""A folder of line-aligned text files, as translation papers ship them: one run a system.

| there | here |
| --- | --- |
| a file with the part `ref`, `refs`, `reference(s)` or `target` in its name, `ref0` and `refA` too | references |
| one with `src`, `source` or `input` | sources |
| every other text file, in subfolders too | the outputs of the system of that name |
| the line's number, from 1 | id |

`ref.en`, `reference0.txt`, `wmt.refA.de`, `references/newstest.en` and `src.de` are examples of such names. All files
have as many lines as the references. Nothing is scored there, so that BLEU and ROUGE are (`--metrics` chooses others).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.importers.checked import Choice, named
from harness.importers.log import Log, Origin, Sample
from harness.inputs import files
from harness.types import HarnessError
from harness.types.shown import counted

NAME = "aligned"
REFERENCE = re.compile(r"(ref|refs|reference|references|target)([-_]?[0-9a-z])?", re.IGNORECASE)
SOURCE = re.compile(r"(src|source|sources|input)", re.IGNORECASE)
OTHER = (".json", ".jsonl", ".eval", ".csv", ".tsv", ".parquet", ".md", ".py", ".yaml", ".yml", ".zip", ".gz", ".pdf")
"""Endings of files that are no lines of text."""


def refusal(path: Path) -> str | None:
    """Why a path is none of this format; None: it is."""
    if not path.is_dir():
        return "it is no folder"
    kinds = _kinds(path)
    if not kinds["references"]:
        return "no text file in it has ref, reference or target as a part of its name"
    return None if kinds["outputs"] else "it has references, and no other text file that could be a system's outputs"


def _kinds(folder: Path) -> dict[str, list[Path]]:
    """The text files by what they hold."""
    kinds: dict[str, list[Path]] = {"references": [], "sources": [], "outputs": []}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or path.suffix.lower() in OTHER or any(part[0] == "." for part in inside.parts):
            continue
        if path.name.lower().startswith(("readme", "license")):
            continue
        parts = [*inside.parts[:-1], *re.split(r"[.]", path.name)]
        if any(REFERENCE.fullmatch(part) for part in parts):
            kinds["references"].append(path)
        elif any(SOURCE.fullmatch(part) for part in parts):
            kinds["sources"].append(path)
        else:
            kinds["outputs"].append(path)
    return kinds


def logs(path: Path, choice: Choice) -> Iterator[Log]:
    """A log for each system; it has no scores to choose from."""
    kinds = _kinds(path)
    if len(kinds["sources"]) > 1:
        shown = ", ".join(map(str, kinds["sources"]))
        raise HarnessError(f"{path} has {len(kinds['sources'])} files of sources ({shown}); expected one at most")
    lines = {file: files.read_lines(file) for each in kinds.values() for file in each}
    first = kinds["references"][0]
    for file, texts in lines.items():
        if len(texts) != len(lines[first]):
            raise HarnessError(
                f"{file} has {counted(len(texts), 'line')}, {first} has {len(lines[first])}; expected the "
                "same number in each"
            )
    references = list(zip(*(lines[file] for file in kinds["references"]), strict=True))
    sources = lines[kinds["sources"][0]] if kinds["sources"] else [None] * len(references)
    for file, system in zip(kinds["outputs"], _names(kinds["outputs"], path), strict=True):
        result = Log(Origin(NAME, str(file), dataset=named(path.resolve().name), system=system))
        for i, output in enumerate(lines[file]):
            result.add(Sample(str(i + 1), sources[i], references[i], output), f"{file} line {i + 1}")
        if not len(result):
            raise HarnessError(f"{file} is empty; expected a line for each sample")
        yield result


def _names(outputs: Sequence[Path], folder: Path) -> list[str]:
    """What tells the files apart: without the ending that all of them share."""
    endings = {path.suffix for path in outputs}
    short = [path.name.removesuffix(path.suffix) if len(endings) == 1 else path.name for path in outputs]
    if len(set(short)) < len(short):
        short = [path.relative_to(folder).as_posix().replace("/", "-") for path in outputs]
    return short
