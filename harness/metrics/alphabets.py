"""A word to users whose language a tokenizer does not know.

>>> lost(["A ação é boa"])
(0.25, 0.25, ['ação: a o', 'é'])
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence

from harness.inputs import arrow
from harness.types import TextLists

log = logging.getLogger(__name__)
EXAMPLES, CHARACTERS = 1000, 2000
"""So many examples from all over are looked at, and so many characters at the beginning of each text."""
LEAST = 0.01
"""The share of words that is worth a warning: English with foreign names stays below, Dutch or Italian does not."""
_KEPT = re.compile("[a-z0-9]+")
SPACED = ("13a", "intl", "none", "words")
"""Tokenizers that find words by the spaces between them."""
UNSPACED = "".join(
    rf"\p{{Script={name}}}" for name in ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
)
"""Letters of scripts that are written without spaces between words."""


def warn_of_lost_words(references: Sequence[Sequence[str]]) -> None:
    """Says so where a tokenizer that keeps a-z and 0-9 only breaks or drops a share of the references' words."""
    texts = _sampled(references)
    if not texts:
        return
    broken, dropped, such = lost(texts)
    if broken + dropped >= LEAST:
        log.warning(
            "rouge: %.0f %% of the references' words have letters outside a-z and 0-9, all that the tokenizer keeps: "
            "it breaks %.0f %% and drops %.0f %% (%s); use metrics.rouge.tokenizer=unicode (words of any language), or "
            "char where words are not separated by spaces",
            100 * (broken + dropped), 100 * broken, 100 * dropped, ", ".join(such),
        )  # fmt: skip


def warn_of_whole_sentences(tokenize: str, references: Sequence[Sequence[str]]) -> None:
    """Says so where BLEU would take whole sentences for words, since most of the references' letters are of scripts
    that are written without spaces."""
    import regex

    texts = _sampled(references) if tokenize in SPACED else []
    unspaced = sum(len(regex.findall(f"[{UNSPACED}]", text)) for text in texts)
    if 2 * unspaced > sum(len(regex.findall(r"\p{L}", text)) for text in texts):
        such = next(run[0] for text in texts if (run := regex.search(f"[{UNSPACED}]+", text)))
        log.warning(
            "bleu: the references have no spaces between words, by which tokenize=%s finds them: %s is one word; use "
            "metrics.bleu.tokenize=zh, ja-mecab, flores200 or char", tokenize, such[:12],
        )  # fmt: skip


def _sampled(references: Sequence[Sequence[str]]) -> list[str]:
    """The beginnings of some of them; nothing where all are ASCII."""
    sample = references[:: max(1, len(references) // EXAMPLES)]
    texts = sample.flat if isinstance(sample, TextLists) else arrow.column([text for refs in sample for text in refs])
    data, starts = texts.utf8
    if (data[starts[0] : starts[-1]] < 0x80).all():
        return []
    return [text[:CHARACTERS] for text in arrow.plain(texts)]


def lost(texts: Iterable[str]) -> tuple[float, float, list[str]]:
    """(the share of words that are broken, that of words that are dropped, one or two of these with what is left)."""
    import regex  # whose words have their combining marks

    words = [word for text in texts for word in regex.findall(r"[^\W_]+", text.lower())]
    others = [word for word in words if not word.isascii()]
    broken = [word for word in others if _KEPT.search(word)]
    dropped = [word for word in others if not _KEPT.search(word)]
    such = [f"{word}: {' '.join(_KEPT.findall(word))}" for word in broken[:1]] + dropped[:1]
    return len(broken) / max(len(words), 1), len(dropped) / max(len(words), 1), such
