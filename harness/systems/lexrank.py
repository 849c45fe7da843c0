"""`system=lexrank`: the most central sentences of the source, by LexRank (Erkan and Radev 2004) as in sumy.

Needs the package sumy: `pip install '.[demo]'` in a checkout. sumy's own tokenizer wants NLTK data from the network, so
sentences and words are split here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness.inputs.files import digest
from harness.systems.sentences import sentences as split
from harness.types import Example, HarnessError, Output, System, check_least

VERSION = 2
DIGITS = 9
"""Of a rank that count."""
_WORD = re.compile(r"\w+")


class _Tokenizer:
    """What sumy asks of a tokenizer."""

    def to_sentences(self, text: str) -> tuple[str, ...]:
        return tuple(split(text))

    def to_words(self, sentence: str) -> tuple[str, ...]:
        return tuple(_WORD.findall(sentence))


class LexRank(System):
    name = "lexrank"

    def __init__(self, sentences: int = 2, threshold: float = 0.02) -> None:
        """`threshold`: sentences more similar than this are neighbours. sumy's own 0.1 leaves the few sentences of a
        short text without any, so that the first one always wins."""
        check_least("system.sentences", sentences)
        self.sentences, self.threshold = sentences, threshold
        try:
            self.sumy = version("sumy")
        except PackageNotFoundError:
            raise HarnessError(
                "system=lexrank needs the package sumy, which is not installed; "
                "expected this package with its extra: pip install '.[demo]' in a checkout"
            ) from None

    def key(self) -> str:
        return digest(["lexrank", VERSION, self.sumy, self.sentences, self.threshold])

    def seen(self, example: Example) -> str | None:
        return example.source

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        from sumy.nlp.stemmers import Stemmer
        from sumy.parsers.plaintext import PlaintextParser
        from sumy.summarizers.lex_rank import LexRankSummarizer
        from sumy.utils import get_stop_words

        class Rounded(LexRankSummarizer):  # type: ignore[misc]  # sumy has no types
            """Sentences that nothing tells apart have ranks that differ in the last bits, by the processor's own way to
            multiply matrices: of those the first is taken."""

            @staticmethod
            def power_method(matrix: Any, epsilon: float) -> Any:
                return LexRankSummarizer.power_method(matrix, epsilon).round(DIGITS)

        summarize = Rounded(Stemmer("english"))
        summarize.stop_words = get_stop_words("english")
        summarize.threshold = self.threshold
        summarize.epsilon = 1e-6  # sumy stops at 0.1, before the ranks have parted from their uniform start
        outputs = []
        for example in batch:
            if example.source is None:
                outputs.append(Output(None, "the example has no source"))
                continue
            # one line: sumy takes lines in capitals for headings and drops them
            document = PlaintextParser.from_string(" ".join(example.source.split()), _Tokenizer()).document
            chosen = summarize(document, self.sentences)
            outputs.append(Output(" ".join(str(sentence) for sentence in chosen)))
        return outputs
