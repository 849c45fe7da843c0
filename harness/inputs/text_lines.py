"""The lines of plain text files as columns of texts, many at a time.

A line ends at a newline only, a byte order mark and CRLF are dropped, and what is not text is named with its place, as
in harness/inputs/files.py.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from harness.inputs import files
from harness.inputs.parts import NEWLINE, newlines, pieces
from harness.types import HarnessError, Texts
from harness.types.shown import counted


def texts_of_lines(path: str | Path, expected: str = "a text file") -> Iterator[Texts]:
    """The lines of a file. Those before a fault come before its message."""
    file = files.existing(path, expected)
    number = 1
    for piece in pieces(file):
        yield from _texts(file, piece, number)
        number += newlines(piece)
    if number == 1 and file.stat().st_size == 3:
        yield from _mark_alone(file)


def _texts(path: Path, piece: bytes, number: int) -> Iterator[Texts]:
    try:
        if b"\0" in piece:
            raise ValueError("a NUL character")
        piece.decode()
    except ValueError:
        yield from _one_by_one(path, piece, number)
        return
    if b"\r" in piece:
        piece = piece.replace(b"\r\n", b"\n")
    if not piece.endswith(b"\n"):
        piece = piece.removesuffix(b"\r") + b"\n"
    ends = np.flatnonzero(np.frombuffer(piece, np.uint8) == NEWLINE)
    starts = np.concatenate([[0], ends - np.arange(len(ends))])
    yield Texts.of_bytes(piece.translate(None, b"\n"), starts)


def _one_by_one(path: Path, piece: bytes, number: int) -> Iterator[Texts]:
    lines: list[str] = []
    try:
        for raw in io.BytesIO(piece):
            lines.append(files.line_text(path, number + len(lines), raw))
    except HarnessError:
        if lines:
            yield Texts.of(lines)
        raise
    yield Texts.of(lines)


def _mark_alone(path: Path) -> Iterator[Texts]:
    """A file of nothing but a byte order mark has one line, which is empty."""
    for _, raw in files.raw_lines(path):
        if not raw:
            yield Texts.of([""])


def aligned_texts(paths: Sequence[str], expected: str) -> Iterator[tuple[Texts, ...]]:
    """The lines of several files side by side, after a check that they have the same number of lines."""
    lengths = [files.count_lines(path, expected) for path in paths]
    for path, length in zip(paths, lengths, strict=True):
        if length != lengths[0]:
            raise HarnessError(
                f"{path} has {counted(length, 'line')}, {paths[0]} has {lengths[0]}; expected the same number in each"
            )
    streams = [texts_of_lines(path, expected) for path in paths]
    waiting = [Texts.of([])] * len(paths)
    left = lengths[0]
    while left:
        for i, stream in enumerate(streams):
            while not len(waiting[i]):
                waiting[i] = next(stream)
        n = min(map(len, waiting))
        yield tuple(texts[:n] for texts in waiting)
        waiting = [texts[n:] for texts in waiting]
        left -= n
