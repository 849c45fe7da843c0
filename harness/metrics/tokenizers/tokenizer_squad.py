"""The words that SQuAD 1.1's evaluation script compares: lower case, without ASCII punctuation and English articles.

>>> tokens = squad_words(Texts.of(["An apple, THE_end (a.k.a. 'the' end)", "the apple"]))
>>> words = tokens.vocabulary()
>>> [words[i] for i in tokens.ids], tokens.starts.tolist()
(['apple', 'theend', 'aka', 'end', 'apple'], [0, 4, 5])
"""

from __future__ import annotations

import re
import string

import numpy as np

from harness.metrics.columns import Integers, Tokens, characters, tokenized
from harness.metrics.tokenizers.tokenizer_base import changed_at, lowered, white_space
from harness.types import Texts
from harness.types.texts import starts_of

ARTICLES = "a an the"
_ARTICLE = re.compile(rf"\b(?:{ARTICLES.replace(' ', '|')})\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_IS_KEPT = np.ones(256, np.bool_)
_IS_KEPT[np.frombuffer(string.punctuation.encode(), np.uint8)] = False
"""Of each byte of UTF-8, of which those of ASCII characters are part of no other."""


def squad_words(texts: Texts) -> Tokens:
    column = lowered(texts)
    column = _without_punctuation(changed_at(column, _with_marks(column), _without_articles))
    articles = Texts.of([ARTICLES])
    return _without_last(tokenized(Texts.joined([column, articles]), white_space()))


def _without_articles(text: str) -> str:
    return _ARTICLE.sub(" ", text.translate(_PUNCTUATION))


def _with_marks(texts: Texts) -> Integers:
    """Which texts have characters where a word ends though no white space follows (“the”): there, articles are looked
    for letter by letter. In all others they are the words that white space separates."""
    codes = characters(texts, white_space(), spaces=True)
    is_mark = np.zeros(codes.size, np.bool_)
    is_mark[codes.ids] = True
    seen = np.flatnonzero(is_mark)
    is_mark[seen] = [_is_mark(chr(code)) for code in seen.tolist()]
    return np.unique(np.searchsorted(codes.starts, np.flatnonzero(is_mark[codes.ids]), "right") - 1)


def _is_mark(character: str) -> bool:
    r"""Whether a character is neither of \w nor of \s, and stays."""
    return not (character.isalnum() or character.isspace() or character in string.punctuation)


def _without_punctuation(texts: Texts) -> Texts:
    data, starts = texts.utf8
    is_kept = _IS_KEPT[data[starts[0] : starts[-1]]]
    return Texts.of_bytes(data[starts[0] : starts[-1]][is_kept], starts_of(is_kept)[starts - starts[0]])


def _without_last(tokens: Tokens) -> Tokens:
    """Without the last text, and without its words in all others."""
    end = int(tokens.starts[-2])
    is_kept = np.ones(end, np.bool_)
    for word in tokens.ids[end:]:
        is_kept &= tokens.ids[:end] != word
    return Tokens(tokens.ids[:end][is_kept], starts_of(is_kept)[tokens.starts[:-1]], tokens.size, tokens.vocabulary)
