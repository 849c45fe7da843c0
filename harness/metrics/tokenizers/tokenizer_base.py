"""What the tokenizers have in common: classes of characters for the compiled kernel, and texts prepared for it.

>>> split = Tokenizer("none", white_space(), as_is)
>>> split.spelt(["Olá,  mundo"])
[['Olá,', 'mundo']]
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs import arrow
from harness.metrics.columns import ALONE, DASH, DIGIT, EDGE, POINT, SPACE, Integers, Table, Tokens, tokenized
from harness.types import Texts
from harness.types.texts import starts_of

WHITE = [*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
         0x3000]  # fmt: skip
"""What str.split takes for white space."""
CLASSES = {"alone": ALONE, "digit": DIGIT, "point": POINT, "dash": DASH, "edge": EDGE}


@dataclass(frozen=True)
class Tokenizer:
    """`prepare` turns texts into the form that the table splits."""

    signature: str
    table: Table
    prepare: Callable[[Texts], Texts]

    def __call__(self, texts: Sequence[str | None]) -> Tokens:
        return tokenized(self.prepare(arrow.column(texts)), self.table)

    def spelt(self, texts: Sequence[str | None]) -> list[list[str]]:
        """The tokens as text."""
        tokens = self(texts)
        words = tokens.vocabulary()
        return [[words[i] for i in tokens.ids[a:b]] for a, b in zip(tokens.starts[:-1], tokens.starts[1:], strict=True)]


def classes(**members: Any) -> NDArray[np.uint8]:
    """The class of each code point: white space, and `members` by the names of CLASSES."""
    points = np.zeros(0x110000, np.uint8)
    points[WHITE] |= SPACE
    for name, codes in members.items():
        points[list(map(ord, codes)) if isinstance(codes, str) else codes] |= CLASSES[name]
    return points


@cache
def white_space() -> Table:
    """Splits at white space and nowhere else."""
    return Table(classes())


def as_is(texts: Texts) -> Texts:
    return texts


def lowered(texts: Texts) -> Texts:
    """As `str.lower` does it, which may look at the letters around one (Σ), and change the number of bytes (İ)."""
    data, starts = texts.utf8
    raw = data[starts[0] : starts[-1]].tobytes()
    if raw.isascii():
        return Texts.of_bytes(raw.lower(), starts - starts[0])
    separator = next((bytes([c]) for c in range(9) if c not in raw), None)
    if separator is None:
        return arrow.column([text.lower() for text in arrow.plain(texts)])
    # all at once, each text with a control character after it, which no letter looks beyond
    apart = np.insert(np.frombuffer(raw, np.uint8), starts[1:] - starts[0], separator[0]).tobytes()
    small = apart.decode("utf-8", "surrogatepass").lower().encode("utf-8", "surrogatepass")
    ends = np.flatnonzero(np.frombuffer(small, np.uint8) == separator[0])
    return Texts.of_bytes(small.replace(separator, b""), np.append(0, ends - np.arange(len(ends))))


def lowered_ascii(texts: Texts) -> Texts:
    """ASCII letters only, as mteval does it."""
    data, starts = texts.utf8
    return Texts.of_bytes(data[starts[0] : starts[-1]].tobytes().lower(), starts - starts[0])


def each(prepare: Callable[[str], str]) -> Callable[[Texts], Texts]:
    """`prepare` on each text."""
    return lambda texts: arrow.column([prepare(text) for text in arrow.plain(texts)])


def where(marks: bytes, prepare: Callable[[str], str]) -> Callable[[Texts], Texts]:
    """`prepare` on each text that has one of the ASCII characters `marks` in it."""

    def prepared(texts: Texts) -> Texts:
        data, starts = texts.utf8
        low, high = int(starts[0]), int(starts[-1])
        raw = data[low:high].tobytes()
        places = [np.flatnonzero(data[low:high] == mark) + low for mark in marks if mark in raw]
        if not places:
            return texts
        return changed_at(texts, np.unique(np.searchsorted(starts, np.concatenate(places), "right") - 1), prepare)

    return prepared


def changed_at(texts: Texts, changed: Integers, prepare: Callable[[str], str]) -> Texts:
    """The same column, `prepare` done on some of its texts."""
    data, starts = texts.utf8
    lengths = np.diff(starts)
    parts: list[bytes] = []
    done = int(starts[0])
    for i, a, b in zip(changed.tolist(), starts[changed].tolist(), starts[changed + 1].tolist(), strict=True):
        new = prepare(data[a:b].tobytes().decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
        parts += [data[done:a].tobytes(), new]
        lengths[i], done = len(new), b
    return Texts.of_bytes(b"".join([*parts, data[done : int(starts[-1])].tobytes()]), starts_of(lengths))


def once(tokenize: Callable[[str], str]) -> Callable[[Texts], Texts]:
    """`tokenize` on each distinct text, for libraries that are not made for several threads."""
    lock = threading.Lock()

    def prepare(texts: Texts) -> Texts:
        strings = arrow.plain(texts)
        with lock:
            prepared = {text: tokenize(text) for text in dict.fromkeys(strings)}
        return arrow.column([prepared[text] for text in strings])

    return prepare
