"""Are the outputs healthy? What is wrong with many of them should be seen before any score is believed.

Counted over the outputs that are scored, after postprocessing; failed examples are counted elsewhere.

| field | share of the outputs that |
| --- | --- |
| `empty` | have no character but white space |
| `cut` | ended at the token limit, of those whose system says how they ended (`finish`) |
| `loop` | end in a loop: the same again at least two and a half times, over half of the text and 32 characters |
| `copied` | are their source, of those that have one |

and `length_ratio`: characters of all outputs over those of their references, the mean of each example's.

>>> looping("I see. " + "It is what it is. " * 5)
True
>>> looping("Row, row, row your boat, gently down the stream.")
False
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.types import Example, Output

LOOP = 32
"""Characters that a loop has at least: "ha ha ha" is an answer, not a model that cannot stop."""
PROBE = 16
"""A loop's last characters are there once more, one repetition earlier; so most texts are done after one search."""

PROBES = 64
"""Places that are tried one by one; a text of nothing but dots at its end has more."""

UNUSUAL = {"empty": 0.01, "cut": 0.05, "loop": 0.01, "copied": 0.1}
"""Shares above which a warning is worth it."""
RATIO = (0.5, 2.0)
"""Length ratios outside of which a warning is worth it."""
SENTENCES = {
    "empty": "{share} of the outputs are empty: see raw_output in examples.parquet, the prompt and postprocessing",
    "cut": "{share} of the outputs were cut at the token limit: scores are of unfinished texts, raise the limit",
    "loop": "{share} of the outputs end in a repetition loop",
    "copied": "{share} of the outputs are a copy of their source",
}


def health(rows: Sequence[Example], outputs: Sequence[Output], finish: Sequence[str | None]) -> dict[str, Any]:
    """The shares, None where there is nothing to count, and what is unusual in words."""
    scored = [(row, output.text) for row, output in zip(rows, outputs, strict=True) if output.text is not None]
    texts = [text.strip() for _, text in scored]
    ends = [end for end, output in zip(finish, outputs, strict=True) if end is not None and output.text is not None]
    sources = [(row.source.strip(), text) for (row, _), text in zip(scored, texts, strict=True) if row.source]
    measured = [(len(text), row.references) for row, text in scored if row.references]
    expected = sum(sum(map(len, references)) / len(references) for _, references in measured)
    shares: dict[str, float | None] = {
        "empty": _share([not text for text in texts]),
        "cut": _share([end == "length" for end in ends]),
        "loop": _share([looping(text) for text in texts]),
        "copied": _share([text == source for source, text in sources]),
    }
    ratio = sum(length for length, _ in measured) / expected if expected else None
    return {**shares, "length_ratio": ratio, "warnings": _warnings(shares, ratio)}


def looping(text: str) -> bool:
    """Whether a text ends in a loop."""
    text = text.strip()
    n = len(text)
    if n < LOOP:
        return False
    probe = text[-PROBE:]
    earlier = text.rfind(probe, 0, n - 1)
    for _ in range(PROBES):
        if earlier < 0:
            return False
        period = n - PROBE - earlier
        length = max((5 * period + 1) // 2, n // 2 + 1, LOOP)
        if length <= n and text[n - length : n - period] == text[n - length + period :]:
            return True
        if 5 * period > 2 * n:
            return False
        earlier = text.rfind(probe, 0, earlier + PROBE - 1)
    return _repeats(text)


def _repeats(text: str) -> bool:
    """The same in time linear in the text, for one of which many parts could be the beginning of a loop.

    The Z algorithm on the text read backwards: how far it agrees with itself, moved by each period.
    """
    backwards = text[::-1]
    n = len(backwards)
    agreed = [0] * (2 * n // 5 + 1)
    left = right = 0  # the part that reaches furthest and agrees with the beginning
    for period in range(1, len(agreed)):
        same = min(right - period, agreed[period - left]) if period < right else 0
        while period + same < n and backwards[same] == backwards[period + same]:
            same += 1
        agreed[period] = same
        if period + same > right:
            left, right = period, period + same
        if period + same >= max((5 * period + 1) // 2, n // 2 + 1, LOOP):
            return True
    return False


def _share(which: Sequence[bool]) -> float | None:
    return sum(which) / len(which) if which else None


def _warnings(shares: dict[str, float | None], ratio: float | None) -> list[str]:
    said = [
        SENTENCES[name].format(share=f"{share:.1%}")
        for name, share in shares.items()
        if share is not None and share > UNUSUAL[name]
    ]
    if ratio is not None and not RATIO[0] <= ratio <= RATIO[1]:
        said.append(f"the outputs are {ratio:.2f} times as long as the references")
    return said
