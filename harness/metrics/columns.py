"""Columns of text: in chunks over all cores, from text to token ids to counts.

The compiled work is in `kernels`. Nothing here depends on the number of cores or the size of a chunk, and no chunk
knows of another, so that memory is bounded by the chunk and the rows.

>>> table = Table(np.array([SPACE if chr(c).isspace() else 0 for c in range(0x110000)], np.uint8))
>>> tokens = tokenized(["a b a", "b c"], table)
>>> tokens.ids.tolist(), tokens.starts.tolist(), tokens.vocabulary()
([0, 1, 0, 1, 2], [0, 3, 5], ['a', 'b', 'c'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.inputs import arrow
from harness.inputs.cores import cores
from harness.types import Advance, Array, Batch, TextLists, Texts
from harness.types.texts import Repeated, starts_of

Integers = NDArray[np.integer[Any]]

SPACE, ALONE, DIGIT, POINT, DASH, EDGE = 1, 2, 4, 8, 16, 32
"""Classes of characters, as in `kernels.text`, which cannot be imported before it is used."""
NEWLINE = 10
EXAMPLES, CHARACTERS = 8192, 4_000_000
"""A chunk ends with one of the two."""


@dataclass(frozen=True)
class Table:
    """A tokenizer: the class of each code point, and the switches of `kernels.decode` and `kernels.split`."""

    classes: NDArray[np.uint8]
    padded: bool = False
    fold: bool = False
    edges: bool = False


@dataclass(frozen=True)
class Tokens:
    """Text i has the tokens `ids[starts[i]:starts[i + 1]]`."""

    ids: Integers
    starts: Integers
    size: int
    """One more than the largest id."""
    vocabulary: Callable[[], list[str]]
    """The spelling of each id."""

    @property
    def lengths(self) -> Integers:
        return np.diff(self.starts)


# ---------------------------------------------------------------- chunks


def rows(
    batch: Batch,
    columns: int,
    work: Callable[[Chunk], Array],
    advance: Advance,
    characters: int = CHARACTERS,
) -> Array:
    """(n, columns): `work` on each chunk of a batch, on all cores where there are several; a chunk ends with that many
    characters."""
    parts = list(_chunks(batch, characters))
    if len(parts) == 1:
        whole = work(Chunk.of(batch.outputs, batch.references))
        advance(len(batch))
        return whole
    statistics = np.empty((len(batch), columns))

    def fill(part: tuple[int, int]) -> int:
        first, last = part
        statistics[first:last] = work(Chunk.of(batch.outputs[first:last], batch.references[first:last]))
        return last - first

    with ThreadPoolExecutor(cores()) as pool:
        for done in pool.map(fill, parts):
            advance(done)
    return statistics


def _chunks(batch: Batch, characters: int) -> Iterator[tuple[int, int]]:
    """(first, last) of each chunk; long texts make small chunks."""
    before = starts_of(_sizes(batch))
    waiting = [(i, min(i + EXAMPLES, len(batch))) for i in range(0, len(batch), EXAMPLES)][::-1]
    while waiting:
        first, last = waiting.pop()
        if before[last] - before[first] > characters and last - first > 1:
            middle = (first + last) // 2
            waiting += [(middle, last), (first, middle)]
        else:
            yield first, last


def _sizes(batch: Batch) -> Integers:
    """(n,) characters of each example's output and references; of columns bytes, which are not fewer."""
    n, outputs, references = len(batch), batch.outputs, batch.references
    sizes = np.diff(outputs.utf8[1]) if isinstance(outputs, Texts) else np.fromiter(map(len, outputs), np.int64, n)
    if isinstance(references, TextLists):
        wanted = np.diff(references.flat.utf8[1][references.starts - references.starts[0]])
    else:
        wanted = np.fromiter((sum(map(len, texts)) for texts in references), np.int64, n)
    return np.asarray(sizes + wanted)


@dataclass(frozen=True)
class Chunk:
    """Some examples as one column: the outputs, each once, then the references of each example."""

    all: Texts
    output: Integers
    """(n,): which text of the column is the output of each example."""
    first: Integers
    """(n + 1): the references of example i are the texts `first[i]` to `first[i + 1] - 1` of the column."""

    @staticmethod
    def of(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Chunk:
        if isinstance(references, TextLists):
            counts, flat = references.lengths, references.flat
        else:
            counts = np.fromiter(map(len, references), np.int64, len(references))
            flat = arrow.column(list(chain.from_iterable(references)))
        if not counts.all():
            raise ValueError("an example without references; expected at least one each")
        once, output = arrow.column(outputs), np.arange(len(outputs))
        if isinstance(outputs, Repeated) and len(outputs):
            low = int(outputs.places[0])
            once, output = outputs.once[low : int(outputs.places[-1]) + 1], outputs.places - low
        return Chunk(Texts.joined([once, flat]), output, len(once) + starts_of(counts))

    def __len__(self) -> int:
        """How many examples."""
        return len(self.first) - 1

    @property
    def each(self) -> Integers:
        """(n + 1) where the pairs of each example begin, and the last ones end."""
        return np.asarray(self.first - self.first[0])

    @property
    def pairs(self) -> tuple[Integers, Integers]:
        """(the output, the reference) of each pair, as places in the column."""
        return np.repeat(self.output, np.diff(self.first)), np.arange(self.first[0], len(self.all))


def lines(texts: Texts) -> tuple[Texts, Integers] | None:
    """(the lines of all texts that are not empty, (n, 2) the first of each text and the one after its last), or None
    where no text has several.

    >>> split, ends = lines(Texts.of(["a\\n\\nb", "", "c\\n"]))
    >>> list(split), ends.tolist()
    (['a', 'b', 'c'], [[0, 2], [2, 2], [2, 3]])
    """
    data, starts = texts.utf8
    data, starts = data[starts[0] : starts[-1]], starts - starts[0]
    breaks = np.flatnonzero(data == NEWLINE)
    if not len(breaks):
        return None
    begins = starts - np.searchsorted(breaks, starts)  # in the bytes without line breaks
    bounds = np.unique(np.concatenate([begins, breaks - np.arange(len(breaks))]))
    first = np.searchsorted(bounds, begins)
    return Texts.of_bytes(data[data != NEWLINE], bounds), np.column_stack([first[:-1], first[1:]])


def best(values: Array, first: Integers) -> Integers:
    """(n, types): for each example and type which pair has the highest of `values` (pairs, types), the first if equal.

    >>> best(np.array([[1.0], [3.0], [3.0], [0.0]]), np.array([0, 3, 4])).tolist()
    [[1], [3]]
    """
    if len(values) == len(first) - 1:
        return np.repeat(np.arange(len(values))[:, None], values.shape[1], axis=1)
    top = np.maximum.reduceat(values, first[:-1], axis=0)
    is_best = values == np.repeat(top, np.diff(first), axis=0)
    places = np.where(is_best, np.arange(len(values))[:, None], len(values))
    return np.minimum.reduceat(places, first[:-1], axis=0)


# ---------------------------------------------------------------- text to tokens


def tokenized(texts: Sequence[str | None], table: Table, stemmed: bool = False) -> Tokens:
    """The tokens of texts, numbered in the order in which they appear; `stemmed` by Porter's rules, for words of small
    ASCII letters and digits."""
    with _Scratch.borrowed() as scratch:
        return _tokenized(texts, table, stemmed, scratch)


def _tokenized(texts: Sequence[str | None], table: Table, stemmed: bool, scratch: _Scratch) -> Tokens:
    from harness.metrics import kernels

    data, offsets = arrow.utf8(texts)
    size = int(offsets[-1] - offsets[0]) + len(texts) + 1
    codes, low = np.empty(size, np.int32), scratch.empty("low", size + kernels.SHORT, np.uint8)
    points, kinds = scratch.empty("points", size, np.int32), scratch.empty("kinds", size, np.uint8)
    bounds, starts = np.empty((2, len(texts) + 1), np.int64), np.empty(len(texts) + 1, np.int64)
    kernels.decode(data, offsets, table.classes, table.fold, False, codes, low, kinds, points, bounds)
    firsts, lengths = scratch.empty("firsts", size, np.int32), scratch.empty("lengths", size, np.int32)
    kernels.split(kinds, points, bounds, table.padded, table.edges, firsts, lengths, starts)
    count = int(starts[-1])
    ids, words, sizes = _numbered(codes, low, firsts[:count], lengths[:count], scratch)
    if stemmed:  # the vocabulary, not the text
        kernels.stem(codes, low, words, sizes, kernels.RULES, kernels.IRREGULAR)
        stems, words, sizes = _numbered(codes, low, words, sizes, scratch)
        ids = stems[ids]
    return Tokens(ids, starts, len(words), lambda: _spelling(codes, words, np.abs(sizes)))


def _numbered(
    codes: Integers, low: Integers, firsts: Integers, lengths: Integers, scratch: _Scratch
) -> tuple[Integers, Integers, Integers]:
    """(the id of each token, where the token of each id begins, its length): see `kernels.number`."""
    from harness.metrics import kernels

    count = len(firsts)
    ids, words, sizes = (np.empty(count, np.int32) for _ in range(3))
    slots, keys = scratch.zeros("slots", power(2 * count), np.int32), scratch.empty("keys", count, np.int64)
    known = kernels.number(codes, low, firsts, lengths, ids, slots, keys, words, sizes)
    return ids, words[:known], sizes[:known]


class _Scratch:
    """Arrays for the moment, from the last time where those are large enough: new memory costs as much as a kernel."""

    spare: ClassVar[list[_Scratch]] = []
    """Those that no thread is using."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    @classmethod
    @contextmanager
    def borrowed(cls) -> Iterator[_Scratch]:
        try:
            scratch = cls.spare.pop()
        except IndexError:
            scratch = cls()
        yield scratch
        cls.spare.append(scratch)

    def empty(self, name: str, size: int, dtype: type) -> NDArray[Any]:
        array = self.arrays.get(name)
        if array is None or len(array) < size:
            array = np.empty(size, dtype)
            if size <= 4 * CHARACTERS:
                self.arrays[name] = array
        return array[:size]

    def zeros(self, name: str, size: int, dtype: type) -> NDArray[Any]:
        array = self.empty(name, size, dtype)
        array.fill(0)
        return array


def _spelling(codes: Integers, words: Integers, sizes: Integers) -> list[str]:
    """The text of each word: all in one array, each with a line's end after it, which no word has in it."""
    last = np.cumsum(sizes + 1)
    places = np.repeat(words - (last - sizes - 1), sizes + 1) + np.arange(last[-1] if len(last) else 0)
    letters = np.append(codes, np.int32(0))[places]
    letters[last - 1] = 10
    text: str = letters.tobytes().decode("utf-32-le", "surrogatepass")
    return text.split("\n")[:-1]


def characters(texts: Sequence[str | None], table: Table, spaces: bool) -> Tokens:
    """The code points of texts, white space left out unless `spaces`."""
    from harness.metrics import kernels

    data, offsets = arrow.utf8(texts)
    size = int(offsets[-1] - offsets[0]) + len(texts)
    codes, low, points = np.empty(size, np.int32), np.empty(0, np.uint8), np.empty(0, np.int32)
    bounds = np.empty((2, len(texts) + 1), np.int64)
    classes = np.zeros_like(table.classes) if spaces else table.classes
    kernels.decode(data, offsets, classes, False, True, codes, low, low, points, bounds)
    starts = bounds[0]
    return Tokens(codes[: starts[-1]], starts, 0x110000, lambda: [chr(c) for c in range(0x110000)])


def power(n: int) -> int:
    """The first power of two above n."""
    return 1 << max(n, 7).bit_length()


# ---------------------------------------------------------------- counts


def overlap(
    tokens: Tokens, outputs: Integers, first: Integers, order: int, weights: Array | None = None
) -> tuple[Array, Array]:
    """(matches, totals), each (g, order): see `kernels.overlap`."""
    from harness.metrics import kernels

    outputs, first = np.ascontiguousarray(outputs, np.int64), np.ascontiguousarray(first, np.int64)
    matches, totals = np.zeros((len(outputs), order)), np.zeros((len(outputs), order))
    if not len(outputs):
        return matches, totals
    wanted = np.diff(tokens.starts[first])
    most = int(wanted.max())
    table, scratch = np.empty(power(2 * most), np.int64), np.empty((7, most + 24), np.int64)
    grams = np.empty((2, int((tokens.starts[outputs + 1] - tokens.starts[outputs] + wanted).max()) + 1), np.int64)
    values, words = np.zeros((0, 0)) if weights is None else weights, np.zeros(tokens.size + 1, np.int64)
    kernels.overlap(tokens.ids, tokens.starts, outputs, first, values, words, table, scratch, grams, matches, totals)
    return matches, totals


def totals(lengths: Integers, order: int) -> Array:
    """(n, order): how many n-grams texts of these lengths have.

    >>> totals(np.array([3, 0]), 4).tolist()
    [[3.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    counts: Array = np.maximum(lengths[:, None] - np.arange(order), 0).astype(np.float64)
    return counts


def lcs(tokens: Tokens, first: Integers, second: Integers) -> Integers:
    """Length of the longest common subsequence of each pair of texts."""
    from harness.metrics import kernels

    lengths = np.zeros(len(first), np.int64)
    masks = np.zeros(tokens.size + 1, np.int64)
    carries = np.empty(int(tokens.lengths.max(initial=0)) + 1, np.int64)
    kernels.lcs(tokens.ids, tokens.starts, first, second, masks, carries, lengths)
    return lengths


def union_lcs(tokens: Tokens, outputs: Integers, references: Integers) -> Integers:
    """Hits of ROUGE-Lsum; `outputs` and `references` (p, 2): first and last line of each pair."""
    from harness.metrics import kernels

    hits = np.zeros(len(outputs), np.int64)
    longest, wanted = _longest(tokens, outputs), _longest(tokens, references)
    blocks = wanted // kernels.BITS + 1
    size = tokens.size + 1
    left, right, places = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    masks = np.zeros((min(wanted, size) + 1, blocks), np.int64)
    kept = np.empty((kernels.ROWS + 3 + longest // kernels.ROWS, blocks), np.int64)
    marked = np.zeros(wanted + 1, np.int64)
    ends = np.ascontiguousarray(outputs).ravel(), np.ascontiguousarray(references).ravel()
    kernels.union_lcs(tokens.ids, tokens.starts, *ends, left, right, places, masks, kept, marked, hits)
    return hits


def _longest(tokens: Tokens, lines: Integers) -> int:
    """The tokens of the longest of the lines `lines` (p, 2), first and last."""
    return int(np.maximum.reduceat(np.append(tokens.lengths, 0), np.ravel(lines))[::2].max(initial=0))


def ter(tokens: Tokens, outputs: Integers, references: Integers) -> Integers:
    """Edits of each pair of texts, shifts among them: see `kernels.ter`."""
    from harness.metrics import kernels

    edits, lengths = np.zeros(len(outputs), np.int64), tokens.lengths
    longest = int(lengths.max(initial=0)) + 2
    sizes, rests = lengths[outputs], lengths[references]
    half = rests / np.maximum(sizes, 1) / 2
    beam = np.where(half > kernels.BEAM, np.ceil(half + kernels.BEAM), kernels.BEAM)
    cells = (sizes + 1) * np.minimum(2 * beam + 2, rests + 1)  # memory grows with the length, not with its square
    saved = np.empty(int(cells.max(initial=0)), np.int32)
    masks, places = np.zeros((2, tokens.size + 1), np.int64), np.empty((8, longest), np.int64)
    room = np.empty((3, longest), np.int64), np.empty(longest, np.int64)
    kernels.ter(tokens.ids, tokens.starts, outputs, references, masks, places, *room, saved, edits)
    return edits
