"""The words of TER: sacreBLEU's tercom, which lower-cases and splits at white space unless told otherwise.

>>> list(tercom(normalized=True)(Texts.of(["It's, or not", "It's, or not"]), 1))  # an output, a reference
["it's , or not", "it 's , or not"]
"""

from __future__ import annotations

from collections.abc import Callable

from harness.inputs import arrow
from harness.metrics.tokenizers.tokenizer_base import lowered
from harness.types import Texts


def tercom(
    normalized: bool = False, no_punct: bool = False, asian_support: bool = False, case_sensitive: bool = False
) -> Callable[[Texts, int], Texts]:
    """What turns so many outputs, and references after them, into texts to be split at white space.

    sacreBLEU tokenizes references twice, which makes a difference where it is more than leaving characters out.
    """
    if not normalized and not no_punct:
        return lambda texts, outputs: texts if case_sensitive else lowered(texts)
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    theirs = TercomTokenizer(normalized, no_punct, asian_support, case_sensitive)
    tokenize = TercomTokenizer.__call__.__wrapped__  # without its cache, which keeps 65,536 texts

    def prepared(texts: list[str]) -> list[str]:
        return [tokenize(theirs, text.rstrip()) for text in texts]

    def prepare(texts: Texts, outputs: int) -> Texts:
        once = prepared(arrow.plain(texts))
        return arrow.column(once[:outputs] + (prepared(once[outputs:]) if normalized else once[outputs:]))

    return prepare
