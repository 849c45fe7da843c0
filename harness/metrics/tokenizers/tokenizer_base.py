"""What the tokenizers have in common: classes of characters for the compiled kernel, and texts prepared for it.

>>> split = Tokenizer("none", white_space(), as_is)
>>> split.spelt(["Olá,  mundo"])
[['Olá,', 'mundo']]
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.metrics.columns import ALONE, DASH, DIGIT, EDGE, POINT, SPACE, Table, Tokens, tokenized

WHITE = [*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
         0x3000]  # fmt: skip
"""What str.split takes for white space."""
CLASSES = {"alone": ALONE, "digit": DIGIT, "point": POINT, "dash": DASH, "edge": EDGE}


@dataclass(frozen=True)
class Tokenizer:
    """`prepare` turns texts into the form that the table splits."""

    signature: str
    table: Table
    prepare: Callable[[list[str]], list[str]]

    def __call__(self, texts: list[str]) -> Tokens:
        return tokenized(self.prepare(texts), self.table)

    def spelt(self, texts: list[str]) -> list[list[str]]:
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


def as_is(texts: list[str]) -> list[str]:
    return texts


def lowered(texts: list[str]) -> list[str]:
    return [text.lower() for text in texts]


def once(tokenize: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    """`tokenize` on each distinct text, for libraries that are not made for several threads."""
    lock = threading.Lock()

    def prepare(texts: list[str]) -> list[str]:
        with lock:
            prepared = {text: tokenize(text) for text in dict.fromkeys(texts)}
        return [prepared[text] for text in texts]

    return prepare
