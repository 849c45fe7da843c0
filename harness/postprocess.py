"""Between system and metrics: what is done to an output before it is scored. The raw output is kept beside it.

Changing it generates nothing again. The steps run in this order, each off by default:

1. `reasoning`: blocks of these tags are removed, `<think>…</think>`; a block that was cut off before its end goes to
   the end of the text, one whose start stood in the prompt goes from its beginning.
2. `extract`: a regular expression; its first group (or whole match) is the answer, of the last match where
   `which=last`. A dot matches no line end; `(?s)` at the start of the pattern lets it. An output for which it takes
   longer than `time_limit` seconds is a failed example.
3. `normalize`: a Unicode normal form, NFC, NFD, NFKC or NFKD.
4. `lowercase`.
5. `strip`: white space at both ends.

>>> Postprocess(reasoning=["think"], extract=r"answer: (.*)", strip=True)("<think>hm</think>The answer: 42 ").text
'42'
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from harness.inputs.expressions import SECONDS, Expression, TooSlow
from harness.types import HarnessError, Output, Outputs, Texts, check_choice

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
LONGEST = 3600
MOST_SLOW = 100
"""Outputs for which `extract` may take longer than its limit: each costs that time, and a run can have a million."""


class Postprocess:
    def __init__(
        self,
        reasoning: Sequence[str] | str = (),
        extract: str | None = None,
        which: str = "first",
        no_match: str = "fail",
        normalize: str | None = None,
        lowercase: bool = False,
        strip: bool = False,
        time_limit: float = SECONDS,
    ) -> None:
        """`no_match`: an output without a match is failed (excluded and counted), kept whole, or made empty."""
        if isinstance(reasoning, str):
            reasoning = [reasoning]
        check_choice("postprocess.which", which, ("first", "last"))
        check_choice("postprocess.no_match", no_match, ("fail", "keep", "empty"))
        if normalize is not None:
            check_choice("postprocess.normalize", normalize, FORMS)
        if not 0 < time_limit <= LONGEST:
            raise HarnessError(
                f"postprocess.time_limit={time_limit}; expected seconds, more than 0 and at most {LONGEST}"
            )
        self.extract = None if extract is None else Expression(extract, f"postprocess.extract={extract!r}", time_limit)
        self.tags = [_Tag(tag) for tag in reasoning]
        self.which, self.no_match = which, no_match
        self.form, self.lowercase, self.strip = normalize, lowercase, strip
        self._slow = 0

    def column(self, outputs: Outputs) -> Outputs:
        """The same of a whole column; what failed has failed. The very same where there is nothing to do."""
        if not (self.tags or self.extract or self.form or self.lowercase or self.strip):
            return outputs
        if self.tags or self.extract:
            return Outputs.of([output if output.text is None else self(output.text) for output in outputs])
        texts = outputs.texts.strings()
        if self.form:
            form: Any = self.form
            texts = [text and unicodedata.normalize(form, text) for text in texts]
        if self.lowercase:
            texts = [text and text.lower() for text in texts]
        if self.strip:
            texts = [text and text.strip() for text in texts]
        return Outputs(Texts.of(texts), outputs.errors)

    def __call__(self, text: str) -> Output:
        for tag in self.tags:
            text = tag.without(text)
        if self.extract is not None:
            try:
                answer = self.extract.first(text) if self.which == "first" else self.extract.last(text)
            except TooSlow as error:
                self._slow += 1
                if self._slow > MOST_SLOW:
                    raise HarnessError(
                        f"{error}, and so for {MOST_SLOW} before; expected a simpler expression"
                    ) from None
                return Output(None, str(error))
            if answer is not None:
                text = answer
            elif self.no_match == "fail":
                return Output(None, f"postprocess: no match for {self.extract.pattern!r}")
            elif self.no_match == "empty":
                text = ""
        if self.form:
            text = unicodedata.normalize(self.form, text)  # type: ignore[arg-type]  # checked above
        if self.lowercase:
            text = text.lower()
        return Output(text.strip() if self.strip else text)


class _Tag:
    """A tag around reasoning; in time linear in the text, whatever stands in it."""

    def __init__(self, name: str) -> None:
        self.start = re.compile(re.escape(f"<{name}>"), re.IGNORECASE)
        self.end = re.compile(re.escape(f"</{name}>"), re.IGNORECASE)

    def without(self, text: str) -> str:
        """The text without its blocks."""
        place, parts = 0, []
        start, end = self.start.search(text), self.end.search(text)
        if end and (start is None or end.start() < start.start()):  # the block began in the prompt
            place = end.end()
        while (start := self.start.search(text, place)) and (end := self.end.search(text, start.end())):
            parts.append(text[place : start.start()])
            place = end.end()
        text = "".join([*parts, text[place:]])
        start = self.start.search(text)  # a block that was cut off
        return text[: start.start()] if start else text
