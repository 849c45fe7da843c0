"""`system=bm25`: BM25 finds passages in a corpus, and a language model answers with them.

The corpus is a file of passages as BEIR has it (`_id`, `title`, `text`), by default the one that comes with the
package. The words of a question are looked up in the chosen fields of each passage, whole or by their stems; the `k`
passages of the highest scores become the `contexts` that the prompt shows. Of equal scores the first passage of the
corpus wins, and one that shares no word with the question is never retrieved. All other options are those of
`system=huggingface`.

Needs the package bm25s: `pip install '.[demo]'` in a checkout.

>>> words_of("Who keeps the sheep-dogs?", "english"), words_of("É a água!")
(['who', 'keep', 'the', 'sheep', 'dog'], ['é', 'a', 'água'])
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files as packaged
from pathlib import Path
from typing import Any

import numpy as np

from harness.inputs import files, plugins
from harness.inputs.stems import LANGUAGES, stemmer
from harness.systems.huggingface import HuggingFace
from harness.types import Context, Example, HarnessError, Output, check_least

VERSION = 1
OWN = ("corpus", "fields", "k", "stem")
"""Options beside those of system=huggingface."""
FIELDS = ("title", "text")
EXPECTED = "a file of passages with _id, title and text (system.corpus)"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Passage:
    id: str
    text: str
    words: tuple[str, ...]
    """By which it is found."""


class Bm25(HuggingFace):
    def __init__(
        self,
        model: str,
        corpus: str | None = None,
        fields: Sequence[str] = FIELDS,
        k: int = 3,
        stem: str | None = None,
        **options: Any,
    ) -> None:
        """The options are explained in conf/system/bm25.yaml; `options` are those of system=huggingface."""
        super().__init__(**plugins.checked(HuggingFace, {"model": model, **options}, "system", OWN))
        check_least("system.k", k)
        self.fields, self.k, self.stem = tuple(fields), k, stem
        if not self.fields or not set(self.fields) <= set(FIELDS):
            raise HarnessError(f"system.fields={list(fields)}; expected {' or '.join(FIELDS)}, or both")
        self.corpus = Path(corpus) if corpus else Path(str(packaged("harness") / "data" / "passages.jsonl"))
        try:
            self.bm25s = version("bm25s")
        except PackageNotFoundError:
            raise HarnessError(
                "system=bm25 needs the package bm25s, which is not installed; "
                "expected this package with its extra: pip install '.[demo]' in a checkout"
            ) from None

    def key(self) -> str | None:
        generator = super().key()
        retriever = [files.file_digest(files.existing(self.corpus, EXPECTED)), self.fields, self.k, self.stem]
        return None if generator is None else files.digest(["bm25", VERSION, self.bm25s, retriever, generator])

    def seen(self, example: Example) -> Any:
        return super().seen(self._given(example))

    def plan(self, examples: Sequence[Example]) -> list[list[int]]:
        return super().plan([self._given(example) for example in examples])

    def estimate(self, examples: Sequence[Example]) -> dict[str, int] | None:
        return super().estimate([self._given(example) for example in examples])

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        given = [self._given(example) for example in batch]
        outputs = super().generate(given)
        return [replace(output, contexts=each.contexts) for output, each in zip(outputs, given, strict=True)]

    # ------------------------------------------------------------ retrieval

    def _given(self, example: Example) -> Example:
        """The example with what is retrieved for it."""
        return replace(example, contexts=self.retrieved(example))

    def retrieved(self, example: Example) -> tuple[Context, ...]:
        """The best passages for the example's source, the best first; at most k."""
        language = self._language(example.metadata, f"example {example.id!r}")
        asked = [word for word in words_of(example.source or "", language) if word in self._known]
        if not asked:
            return ()
        scores = self._index.get_scores(asked)
        best = [i for i in np.argsort(-scores, kind="stable")[: self.k].tolist() if scores[i] > 0]
        return tuple(Context(self._passages[i].text, self._passages[i].id, float(scores[i])) for i in best)

    def _language(self, fields: Mapping[str, Any], place: str) -> str | None:
        """Whose stems are taken: `stem` itself, or what the field of that name says."""
        if self.stem is None or self.stem in LANGUAGES:
            return self.stem
        language = fields.get(self.stem)
        if language not in LANGUAGES:
            raise HarnessError(
                f"{place}: system.stem={self.stem}, found {language!r}; expected a language of Snowball "
                f"({', '.join(LANGUAGES)}), or a field that names one"
            )
        return str(language)

    @cached_property
    def _passages(self) -> list[Passage]:
        passages = []
        for place, row in files.read_rows(self.corpus, EXPECTED):
            for field in ("_id", *self.fields, "text"):
                if field not in row:
                    raise files.missing_field(place, field, row)
            indexed = " ".join(files.text(row[field], place, field) for field in self.fields)
            words = words_of(indexed, self._language(row, place))
            text = files.text(row["text"], place, "text")
            passages.append(Passage(files.identifier(row["_id"], place, "_id"), text, tuple(words)))
        if not any(passage.words for passage in passages):
            raise HarnessError(f"{self.corpus} has no words; expected {EXPECTED}")
        return passages

    @cached_property
    def _known(self) -> set[str]:
        return {word for passage in self._passages for word in passage.words}

    @cached_property
    def _index(self) -> Any:
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.WARNING)  # it says that it builds an index
        index = bm25s.BM25()
        index.index([list(passage.words) for passage in self._passages], show_progress=False)
        return index


def words_of(text: str, language: str | None = None) -> list[str]:
    """Words in small letters, or their stems."""
    words = _WORD.findall(text.lower())
    return words if language is None else list(map(stemmer(language), words))
