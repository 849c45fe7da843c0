"""Cells of a sweep: what each is called, and what a run folder tells of one that has not finished.

A run of a multirun has in its manifest, under `cell`, what the sweep varies with the values that it has there, and its
number in the sweep's order. While it is not finished the same stands in cell.json, with what went wrong if it failed.

>>> cell({"system.temperature": 0.7, "system.top_p": 0.9}, 3)["label"]
'temperature=0.7 top_p=0.9'
>>> cell({"system": "lead", "system.sentences": 2}, 0)["label"]
'lead sentences=2'
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os.path import commonprefix
from pathlib import Path
from typing import Any

from harness.inputs import regular
from harness.inputs.locks import held
from harness.inputs.visible import in_line
from harness.masking import excerpt
from harness.store import atomic, shape
from harness.types import HarnessError

NAME = "cell.json"
TYPED = 12
"""Letters of a number that a person types."""
LONGEST = 40
"""Letters of a value in a label: more of a prompt tells nothing more."""
HEAD = 10
"""Letters of its beginning, where what follows is cut from the middle."""


def cell(
    parameters: Mapping[str, Any],
    number: int,
    space: Mapping[str, Sequence[Any] | None] | None = None,
    known: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, Any]:
    """The cell of a sweep, as its manifest has it.

    `space`: the values that the sweep gives each parameter, in their order; None for one whose values a sweeper chooses
    as it goes. `known`: values that parameters have elsewhere in the sweep, beside those of its space.
    """
    return {
        "label": label(parameters, {**(space or {}), **(known or {})}),
        "parameters": dict(parameters),
        "number": number,
        "space": dict(space or {}),
    }


def label(parameters: Mapping[str, Any], known: Mapping[str, Sequence[Any] | None] | None = None) -> str:
    """What a cell is called: as much of each parameter's name as tells it from the others, and as much of its value as
    tells it from those that are `known`."""
    names = short_names(list(parameters))
    words = []
    for name, value in parameters.items():
        (own, *_) = told_apart([value, *((known or {}).get(name) or ())])
        words.append(own if name == "system" else f"{names[name]}={own}")
    return " ".join(words)


def short_names(names: list[str]) -> dict[str, str]:
    """Each name's last parts, as many as tell it from the others."""
    short: dict[str, str] = {}
    for name in names:
        parts = name.split(".")
        ends = [".".join(parts[-n:]) for n in range(1, len(parts) + 1)]
        others = [other for other in names if other != name]
        short[name] = next(
            (end for end in ends if not any(other == end or other.endswith(f".{end}") for other in others)), name
        )
    return short


def shown(value: Any) -> str:
    """A value in a label: on one line, cut in the middle where it is long; of a number with more digits than a person
    types (0.30000000000000004, or what a sampler drew) the first six.

    >>> shown(0.7), shown(4.361394135211272), shown(12345678.25), shown(None), shown("")
    ('0.7', '4.36139', '12345678.25', 'null', '""')
    """
    if isinstance(value, float) and len(repr(value)) > TYPED:
        return f"{value:.6g}"
    text = _in_full(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}…{text[1 - LONGEST // 2 :]}"


def told_apart(values: Sequence[Any]) -> list[str]:
    """Values of a parameter as `shown`; those that differ and would look the same show where: long texts are cut around
    it, and a text that reads like another value is in quotes.

    >>> told_apart([f"Translate this into German, {how}, and say nothing else." for how in ("freely", "closely")])
    ['Translate …freely, and say nothing else.', 'Translate …closely, and say nothing else.']
    >>> told_apart([None, "null", 4])
    ['null', '"null"', '4']
    """
    alike: dict[str, dict[str, Any]] = {}
    for value in values:
        alike.setdefault(shown(value), {})[json.dumps(value)] = value
    apart = {}
    for name, different in alike.items():
        texts = dict(zip(different, map(_in_full, different.values()), strict=True))
        same = len(set(texts.values())) < len(texts)
        for key, text in texts.items():
            others = {other for other in texts.values() if other != text}
            cut = name if not others else _cut(text, others)
            apart[key] = json.dumps(cut, ensure_ascii=False) if same and isinstance(different[key], str) else cut
    return [apart[json.dumps(value)] for value in values]


def _in_full(value: Any) -> str:
    return in_line(value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False))


def _cut(text: str, others: Iterable[str]) -> str:
    """A text around the word that tells it from all others."""
    place = max(len(commonprefix([text, other])) for other in others)  # noqa: RUF071  # letter by letter
    start = max(text.rfind(" ", 0, place) + 1, place - HEAD)
    before = f"{text[:HEAD]}…" if start > HEAD + 1 else text[:start]
    end = start + LONGEST - len(before)
    return f"{before}{text[start:end]}{'…' if end < len(text) - 1 else text[end:]}"


# ---------------------------------------------------------------- cells that have not finished


@contextmanager
def working(folder: Path, group: str | None, cell: Mapping[str, Any] | None, started: str) -> Iterator[None]:
    """Leaves word of a cell in its folder until it is finished; where it fails, of what went wrong."""
    if cell is None:
        yield
        return
    content = {"group": group, "cell": dict(cell), "started": started}
    _write(folder, content)
    try:
        yield
    except HarnessError as error:
        _write(folder, {**content, "error": excerpt(str(error))})
        raise
    except Exception as error:
        _write(folder, {**content, "error": excerpt(f"{type(error).__name__}: {error}")})
        raise
    (folder / NAME).unlink(missing_ok=True)


def _write(folder: Path, content: Mapping[str, Any]) -> None:
    with suppress(OSError):  # that the folder cannot be written, the run says
        folder.mkdir(parents=True, exist_ok=True)
        atomic.write(folder / NAME, json.dumps(content, ensure_ascii=False, indent=2).encode())


@dataclass(frozen=True)
class Unfinished:
    """A cell that its folder says is being worked on, or was."""

    folder: Path
    group: str | None
    cell: Mapping[str, Any]
    error: str | None
    """What went wrong; None where nothing did, or nobody could say so any more."""
    running: bool
    """Whether a process is at work on it."""


def unfinished(below: Path) -> list[Unfinished]:
    """The cells in folders one or two levels below that have not finished; what is not a cell's is passed over."""
    cells = []
    for path in sorted([*below.glob(f"*/{NAME}"), *below.glob(f"*/*/{NAME}")]):
        with suppress(OSError, ValueError):
            content = shape.parsed(regular.read(path))
            shape.check_cell(content)
            error = content.get("error")
            cells.append(Unfinished(path.parent, content["group"], content["cell"], error, _held(path.parent)))
    return cells


def _held(folder: Path) -> bool:
    try:
        with held(folder / ".lock", 0):
            return False
    except TimeoutError:
        return True
    except OSError:  # a folder that cannot be written, or has no locks: nobody can say
        return False
