"""Are the outputs healthy? What is wrong with many of them should be seen before any score is believed.

Counted over the outputs that are scored, after postprocessing; failed examples are counted elsewhere.

| field | share of the outputs that |
| --- | --- |
| `empty` | have no character but white space |
| `cut` | ended at the token limit, of those whose system says how they ended (`finish`) |
| `loop` | end in a loop: the same again at least two and a half times, over half of the text and 32 characters |
| `copied` | are their source, of those that have one |

`windows`, where a metric has a window: the share of the examples of which a text was longer, so that it was scored in
parts; and `length_ratio`: characters of all outputs over those of their references, the mean of each example's.

>>> looping("I see. " + "It is what it is. " * 5)
True
>>> looping("Row, row, row your boat, gently down the stream.")
False
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.run import health_kernels
from harness.types import Array, Examples, Outputs, Texts

WINDOWS = "windows"
"""The column of metrics that split long texts."""
UNUSUAL = {"empty": 0.01, "cut": 0.05, "loop": 0.01, "copied": 0.1}
"""Shares above which a warning is worth it."""
AS_LISTS = 0.5
"""Share of the references above which lists that are written as text are no part of the task."""
QUOTES = [ord('"'), ord("'")]
RATIO = (0.5, 2.0)
"""Length ratios outside of which a warning is worth it."""
SENTENCES = {
    "empty": "{share} of the outputs are empty: see raw_output in examples.parquet, the prompt and postprocessing",
    "cut": "{share} of the outputs were cut at the token limit: scores are of unfinished texts, raise the limit",
    "loop": "{share} of the outputs end in a repetition loop",
    "copied": "{share} of the outputs are a copy of their source",
}


class Health:
    """What is odd about outputs, counted block by block."""

    def __init__(self) -> None:
        self._odd, self._of = dict.fromkeys(UNUSUAL, 0), dict.fromkeys(UNUSUAL, 0)
        self._written, self._expected = 0, 0.0
        """Characters of the outputs that have references, and of those references."""
        self._first: bytes | None = None
        self._rows, self._same = 0, True
        """How many outputs there were, and whether all of them are the first one."""
        self._in_windows, self._of_windows = 0, 0
        """Examples with a text that was split for a metric, and those that such a metric scored."""
        self._as_lists, self._references = 0, 0
        """References that are a list written as text, beside an output that is none, and all references."""

    def add(self, rows: Examples, outputs: Outputs) -> None:
        """The next rows with their outputs after postprocessing, of which some may have failed."""
        if outputs.failed:
            rows, outputs = rows.taken(outputs.good), outputs.taken(outputs.good)
        self._compare(outputs.texts)
        flags = _flags(outputs.texts, rows.sources)
        with_source = int(np.count_nonzero(np.diff(rows.sources.utf8[1])))
        ends = [] if outputs.infos is None else [end for info in outputs.infos if (end := info.get("finish"))]
        self._count("empty", flags & health_kernels.EMPTY, len(rows))
        self._count("loop", flags & health_kernels.LOOP, len(rows))
        self._count("copied", flags & health_kernels.COPIED, with_source)
        self._count("cut", np.array([end == "length" for end in ends]), len(ends))
        number = rows.references.lengths
        as_lists = _like_lists(rows.references.flat) & ~np.repeat(_like_lists(outputs.texts), number)
        self._as_lists += int(np.count_nonzero(as_lists))
        self._references += int(number.sum())
        has = number > 0
        self._written += int(_characters(outputs.texts)[has].sum())
        of_references = np.concatenate([[0], np.cumsum(_characters(rows.references.flat))])
        starts = rows.references.starts - rows.references.starts[0]
        self._expected += float((np.diff(of_references[starts])[has] / number[has]).sum())

    def add_windows(self, columns: Sequence[Array]) -> None:
        """For metrics that split texts which are longer than their window: (n,) 1 where an example has one, NaN where
        it has no row."""
        if columns:
            self._of_windows += len(columns[0])
            self._in_windows += int(np.count_nonzero(np.nansum(columns, axis=0)))

    def _compare(self, texts: Texts) -> None:
        """Whether the outputs are still all the same."""
        data, starts = texts.utf8
        self._rows += len(texts)
        if not self._same or not len(texts):
            return
        if self._first is None:
            self._first = bytes(data[starts[0] : starts[1]])
        first = np.frombuffer(self._first, np.uint8)
        own = np.asarray(data[starts[0] : starts[-1]])
        self._same = bool((np.diff(starts) == len(first)).all()) and bool(
            (own.reshape(len(texts), len(first)) == first).all()
        )

    def _count(self, name: str, odd: NDArray[Any], of: int) -> None:
        self._odd[name] += int(np.count_nonzero(odd))
        self._of[name] += of

    def document(self) -> dict[str, Any]:
        """The shares, None where there is nothing to count, and what is unusual in words."""
        shares = {name: self._odd[name] / self._of[name] if self._of[name] else None for name in UNUSUAL}
        ratio = self._written / self._expected if self._expected else None
        windows = {WINDOWS: self._in_windows / self._of_windows} if self._of_windows else {}
        same = self._rows if self._same and self._first else 0
        said = _warnings(shares, ratio, same)
        if self._as_lists > AS_LISTS * self._references:
            said.append(
                f"{self._as_lists:,} of {self._references:,} references are lists written as text, each taken as one "
                "reference: a CSV has no lists; give each reference a column, or write .jsonl or .parquet"
            )
        return {**shares, **windows, "length_ratio": ratio, "warnings": said}


def looping(text: str) -> bool:
    """Whether a text ends in a loop."""
    return bool(_flags(Texts.of([text]), Texts.of([""]))[0] & health_kernels.LOOP)


def _flags(outputs: Texts, sources: Texts) -> NDArray[np.uint8]:
    """(n,) what is odd about each output."""
    data, starts = outputs.utf8
    room = np.empty((2, int(np.diff(starts).max(initial=0))), np.int32)
    flags = np.empty(len(outputs), np.uint8)
    health_kernels.examine(data, starts, *sources.utf8, room, flags)
    return flags


def _like_lists(texts: Texts) -> NDArray[np.bool_]:
    """(n,) which texts are a list of texts as JSON or Python writes it.

    >>> _like_lists(Texts.of(['["a", "b"]', "['a']", "[1] a", "[]", ""])).tolist()
    [True, True, False, False, False]
    """
    data, starts = texts.utf8
    likely = np.diff(starts) >= len("['']")
    begin, end = starts[:-1][likely], starts[1:][likely]
    opened = (data[begin] == ord("[")) & np.isin(data[begin + 1], QUOTES)
    likely[likely] = opened & (data[end - 1] == ord("]")) & (data[end - 2] == data[begin + 1])
    return likely


def _characters(texts: Texts) -> NDArray[np.int64]:
    counts = np.empty(len(texts), np.int64)
    health_kernels.characters(*texts.utf8, counts)
    return counts


def _warnings(shares: Mapping[str, float | None], ratio: float | None, same: int = 0) -> list[str]:
    """`same`: how many outputs there are, where all are the same text."""
    said = [
        SENTENCES[name].format(share=f"{share:.1%}")
        for name, share in shares.items()
        if share is not None and share > UNUSUAL[name]
    ]
    if same > 1:
        said.append(f"all {same:,} outputs are the same text: look at the prompt, and at what the system is asked")
    if ratio is not None and not RATIO[0] <= ratio <= RATIO[1]:
        said.append(f"the outputs are {ratio:.2f} times as long as the references")
    return said
