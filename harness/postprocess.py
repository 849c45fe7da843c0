"""Between system and metrics: what is done to an output before it is scored. The raw output is kept beside it.

Changing it never generates again. The steps run in this order, each off by default:

1. `reasoning`: blocks of these tags are removed, `<think>…</think>`; a block that was cut off before its end goes to
   the end of the text, one whose start stood in the prompt goes from its beginning.
2. `extract`: a regular expression; its first group (or whole match) is the answer, of the last match where
   `which=last`. A dot matches no line end; `(?s)` at the start of the pattern lets it.
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

from harness.types import HarnessError, Output

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


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
    ) -> None:
        """`no_match`: an output without a match is failed (excluded and counted), kept whole, or made empty."""
        if isinstance(reasoning, str):
            reasoning = [reasoning]
        _one_of("which", which, ("first", "last"))
        _one_of("no_match", no_match, ("fail", "keep", "empty"))
        if normalize is not None:
            _one_of("normalize", normalize, FORMS)
        try:
            self.pattern = re.compile(extract) if extract is not None else None
        except re.error as error:
            raise HarnessError(f"postprocess.extract={extract!r} is not a regular expression: {error}") from None
        self.tags = list(reasoning)
        self.which, self.no_match = which, no_match
        self.form, self.lowercase, self.strip = normalize, lowercase, strip

    def __call__(self, text: str) -> Output:
        for tag in self.tags:
            text = _without(text, tag)
        if self.pattern is not None:
            matches = list(self.pattern.finditer(text))
            if matches:
                match = matches[0 if self.which == "first" else -1]
                text = (match.group(1) if self.pattern.groups else match.group(0)) or ""
            elif self.no_match == "fail":
                return Output(None, f"postprocess: no match for {self.pattern.pattern!r}")
            elif self.no_match == "empty":
                text = ""
        if self.form:
            text = unicodedata.normalize(self.form, text)  # type: ignore[arg-type]  # checked above
        if self.lowercase:
            text = text.lower()
        return Output(text.strip() if self.strip else text)


def _without(text: str, tag: str) -> str:
    start, end = re.escape(f"<{tag}>"), re.escape(f"</{tag}>")
    flags = re.DOTALL | re.IGNORECASE
    text = re.sub(f"^((?!{start}).)*?{end}", "", text, flags=flags)  # the block began in the prompt
    text = re.sub(f"{start}.*?{end}", "", text, flags=flags)
    return re.sub(f"{start}.*$", "", text, flags=flags)  # a block that was cut off


def _one_of(option: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise HarnessError(f"postprocess.{option}={value}; expected one of {', '.join(allowed)}")
