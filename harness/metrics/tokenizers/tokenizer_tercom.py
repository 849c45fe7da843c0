"""The words of TER: sacreBLEU's tercom, which lower-cases and splits at white space unless told otherwise.

>>> tercom(normalized=True)(["It's, or not"], ["It's, or not"])  # an output, a reference
["it's , or not", "it 's , or not"]
"""

from __future__ import annotations

from collections.abc import Callable

from harness.metrics.tokenizers.tokenizer_base import as_is, lowered


def tercom(
    normalized: bool = False, no_punct: bool = False, asian_support: bool = False, case_sensitive: bool = False
) -> Callable[[list[str], list[str]], list[str]]:
    """What turns outputs and references into texts to be split at white space, the outputs first.

    sacreBLEU tokenizes references twice, which makes a difference where it is more than leaving characters out.
    """
    if not normalized and not no_punct:
        plain = as_is if case_sensitive else lowered
        return lambda outputs, references: plain(outputs + references)
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    theirs = TercomTokenizer(normalized, no_punct, asian_support, case_sensitive)
    tokenize = TercomTokenizer.__call__.__wrapped__  # without its cache, which keeps 65,536 texts

    def prepared(texts: list[str]) -> list[str]:
        return [tokenize(theirs, text.rstrip()) for text in texts]

    def prepare(outputs: list[str], references: list[str]) -> list[str]:
        once = prepared(references)
        return prepared(outputs) + (prepared(once) if normalized else once)

    return prepare
