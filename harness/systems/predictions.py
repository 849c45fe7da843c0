"""`system=predictions system.path=sysA.jsonl`: outputs that exist already.

A .txt file is aligned with the data set line by line; .jsonl, .json, .csv, .tsv and .parquet have the columns `id` and
`output` and are aligned by id; a null output is a failed example. With a column `repeat` (0, 1, …) each example has
several outputs, all of them the same number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from harness.inputs import files, remote
from harness.inputs.blocks import Odd, complete, identifiers, is_arrow, texts_of
from harness.inputs.kept import Kept
from harness.inputs.parts import Column, Part, read_parts
from harness.inputs.row_index import RowIndex, Span
from harness.inputs.text_lines import texts_of_lines
from harness.types import ABSENT, Example, Examples, HarnessError, Output, Outputs, System, Texts, text_columns
from harness.types.texts import SMALL, Places

EXPECTED = "a file of outputs (system.path)"
NULL = "the output is null"


class Predictions(System):
    stored = True

    def __init__(self, path: str, quoting: bool = True) -> None:
        """`quoting=false`: quotes in a CSV or TSV file are plain characters."""
        self._given = path
        self.name = Path(remote.name_of(path) if remote.is_remote(path) else path).stem
        self.quoting = quoting
        self._ids = Index(Texts.of([]))
        """Of the whole data set."""
        self._outputs: Kept[Outputs] = Kept()
        """For each of these ids its outputs by repeat, one after the other."""
        self._next = 0
        """The row that is asked for next where batches come in the data set's order."""
        self._index: RowIndex | None = None
        self._order: Places | None = None
        """Where in the file the output for each id is, of outputs in another order."""

    @cached_property
    def path(self) -> Path:
        """On this machine."""
        given = self._given
        return remote.fetched(given, EXPECTED) if remote.is_remote(given) else Path(given)

    def key(self) -> str:
        return files.digest(["predictions", files.file_digest(files.existing(self.path, "a file of outputs"))])

    def align(self, ids: Sequence[str]) -> None:
        texts = Texts.of(ids)
        self._ids, self._next = Index(texts), 0
        self._outputs.close()
        aligned = self.path.suffix.lower() == ".txt"
        self._outputs = self._by_line(len(ids)) if aligned else self._by_id(texts)

    def _by_line(self, n: int) -> Kept[Outputs]:
        kept: Kept[Outputs] = Kept(self._place)
        for texts in texts_of_lines(self.path, EXPECTED):
            kept.append(Outputs.of_texts(texts))
        if len(kept) != n:
            raise HarnessError(f"{self.path} has {len(kept)} lines; expected {n}, one for each example of the data set")
        return kept

    def _by_id(self, ids: Texts) -> Kept[Outputs]:
        try:
            kept, order = self._read(ids)
        except (Odd, HarnessError):
            self._explain(ids)
        return kept if order is None else _reordered(kept, order, self._place)

    def _read(self, ids: Texts) -> tuple[Kept[Outputs], Places | None]:
        """(the outputs as they are in the file, where in it the output for each id and repeat is, or None where they
        are in that order). Odd where they are not what the ids call for."""
        kept: Kept[Outputs] = Kept(self._place)
        places: list[Places] = []
        repeats: list[NDArray[np.int64]] = []
        in_order = True
        self._index = self._order = None
        if self.indexed:
            self._index = RowIndex(files.existing(self.path, EXPECTED), self._given)
        for part in read_parts(self.path, EXPECTED, self.quoting):
            stored_ids, outputs, repeat = _columns(part)
            first, n = len(kept), len(outputs)
            if self._index is not None:
                self._index.add(part, n)
            if not n:
                continue
            here = ids[first : first + n]
            if same(here, stored_ids):
                places.append(np.arange(first, first + n))
            else:
                in_order = False
                places.append(self._ids.places(stored_ids))
            repeats.append(repeat)
            in_order = in_order and not repeat.any()
            kept.append(outputs)
        self.repeats = 1
        if in_order:
            if len(kept) != len(ids):
                raise Odd
            return kept, None
        each, which = np.concatenate(repeats), np.concatenate(places)
        count = int(each.max()) + 1
        if len(kept) != count * len(ids):
            raise Odd
        order = np.full(len(kept), -1)
        order[which * count + each] = np.arange(len(kept))
        if (order < 0).any():
            raise Odd
        self.repeats = count
        self._order = order if self._index is not None else None
        return kept, order

    @property
    def _place(self) -> Path | None:
        """Of a temporary file: the run folder, where there is one."""
        return self.folder if self.folder is not None and self.folder.is_dir() else None

    def _explain(self, ids: Texts) -> NoReturn:
        """Goes through the file row by row and says what is wrong with it."""
        places: dict[tuple[str, int], str] = {}
        for place, row in files.read_rows(self.path, EXPECTED, self.quoting):
            id_, repeat = _key(row, place)
            if (id_, repeat) in places:
                which = f"the id {id_!r}" + (f" with the repeat {repeat}" if "repeat" in row else "")
                raise HarnessError(f"{place} has {which}, already used in {places[id_, repeat]}; expected it once")
            _output(row, place)
            places[id_, repeat] = place
        wanted: list[Any] = ids.strings()
        known, answered = set(wanted), {id_ for id_, _ in places}
        missing = [id_ for id_ in wanted if id_ not in answered]
        extra = sorted(answered - known)
        faults = []
        if missing:
            faults.append(f"lacks {len(missing)} of the data set's ids ({files.some(missing)})")
        if extra:
            faults.append(f"has {len(extra)} ids that the data set does not have ({files.some(extra)})")
        if faults:
            raise HarnessError(f"{self.path} {' and '.join(faults)}; expected the data set's {len(ids)} ids, each once")
        repeats = max((repeat for _, repeat in places), default=0) + 1
        id_, repeat = next((i, r) for i in wanted for r in range(repeats) if (i, r) not in places)
        raise HarnessError(
            f"{self.path} lacks the repeat {repeat} of {id_!r}; expected the repeats 0 to {repeats - 1} of each id"
        )

    def generate(self, batch: Sequence[Example]) -> Sequence[Output]:
        """As columns where the batch is."""
        if isinstance(batch, Examples):
            return self._of(batch.ids, batch.repeats)
        ids, repeats = [example.id for example in batch], [example.repeat for example in batch]
        return list(self._of(Texts.of(ids), np.array(repeats, np.int32)))

    def located(self, first: int, rows: int) -> Span | str:
        if self._index is None or self.repeats > 1:
            reason: str = super().located(first, rows)
            return reason
        if self._order is None:
            return self._index.span(first, rows)
        return self._index.lines(self._order[first : first + rows])

    def read_located(self, place: Span) -> Outputs:
        outputs = Outputs.joined([_columns(part)[1] for part in place.parts()])
        return outputs[place.skip : place.skip + place.rows]

    def _of(self, ids: Texts, repeats: NDArray[np.int32] | None) -> Outputs:
        count, n = self.repeats, len(ids)
        if not n:
            return Outputs.of([])
        if count == 1 and (repeats is None or not repeats.any()):
            first = self._next if self._next < len(self._outputs) else 0
            if same(self._ids.texts[first : first + n], ids):
                self._next = first + n
                return self._outputs[first : first + n]
        try:
            places = self._ids.places(ids) * count
        except Odd:
            raise KeyError(f"{self.path} was not aligned with these ids") from None
        return self._outputs.taken(places if repeats is None else places + repeats)


# ---------------------------------------------------------------- ids


class Index:
    """Where ids are in a data set: 16 bytes an id, once a place is asked for."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts

    @cached_property
    def _sorted(self) -> tuple[Places, Places]:
        """(the hashes of the ids in their order, which id each is of)."""
        keys = _hashes(self.texts)
        order = np.argsort(keys)
        return keys[order], order

    @cached_property
    def _by_text(self) -> dict[str | None, int] | None:
        """Each id's place, where the hashes of two ids are the same."""
        keys, _ = self._sorted
        return {id_: i for i, id_ in enumerate(self.texts)} if (keys[1:] == keys[:-1]).any() else None

    def places(self, ids: Texts) -> Places:
        """(n,) of each id; Odd where one is not there."""
        if self._by_text is not None:
            places = [self._by_text.get(id_, -1) for id_ in ids]
            if -1 in places:
                raise Odd
            return np.array(places, np.int64)
        if not len(self.texts):
            raise Odd
        keys, order = self._sorted
        slots = np.searchsorted(keys, _hashes(ids))
        near = order[np.minimum(slots, len(keys) - 1)]
        if not same(self.texts.taken(near), ids):
            raise Odd
        return near


def _hashes(texts: Texts) -> Places:
    starts = range(0, len(texts), text_columns.BLOCK)
    strings = chain.from_iterable(texts[start : start + text_columns.BLOCK] for start in starts)
    return np.fromiter(map(hash, strings), np.int64, len(texts))


def same(texts: Texts, others: Texts) -> bool:
    """Whether two columns, in which nothing is missing, have the same texts."""
    if len(texts) != len(others):
        return False
    (data, starts), (other_data, other_starts) = texts.utf8, others.utf8
    return np.array_equal(starts - starts[0], other_starts - other_starts[0]) and np.array_equal(
        data[starts[0] : starts[-1]], other_data[other_starts[0] : other_starts[-1]]
    )


# ---------------------------------------------------------------- outputs


def _columns(part: Part) -> tuple[Texts, Outputs, NDArray[np.int64]]:
    """(ids, outputs, repeats) of some rows."""
    try:
        if part.columns is None:
            raise Odd
        ids, _ = identifiers(complete(part.columns, "id"))
        return ids, _outputs(part.columns), _repeats(part.columns.get("repeat"), len(ids))
    except Odd:
        pass
    rows = [(*_key(row, place), _output(row, place)) for place, row in part.rows()]
    ids, repeats, outputs = Texts.of([row[0] for row in rows]), [row[1] for row in rows], [row[2] for row in rows]
    if max(repeats, default=0) > SMALL:
        raise Odd
    return ids, Outputs.of(outputs), np.array(repeats, np.int64)


def _outputs(columns: Mapping[str, Column]) -> Outputs:
    texts = texts_of(complete(columns, "output"))
    if not texts.array.null_count:
        return Outputs.of_texts(texts)
    errors: list[str | None] = [None] * len(texts)
    reasons = columns.get("error", [ABSENT] * len(texts))
    reasons = reasons.to_pylist() if is_arrow(reasons) else reasons
    for i in np.flatnonzero(~texts.present).tolist():
        errors[i] = NULL if reasons[i] is ABSENT else str(reasons[i] or NULL)
    return Outputs(texts, texts_of(errors))


def _repeats(column: Column | None, n: int) -> NDArray[np.int64]:
    if column is None:
        return np.zeros(n, np.int64)
    values = column.to_pylist() if is_arrow(column) else column
    try:
        return np.fromiter((0 if value is ABSENT else _whole(value) for value in values), np.int64, n)
    except (ValueError, OverflowError):
        raise Odd from None


def _reordered(kept: Kept[Outputs], order: Places, folder: Path | None) -> Kept[Outputs]:
    """The outputs in this order. As many are put together as fit into memory, each time in one walk over the blocks:
    far fewer walks than there are blocks."""
    walks = 1 + kept.written // max(Kept.in_memory // 2, 1)
    step = max(1, len(order) // walks)
    result: Kept[Outputs] = Kept(folder)
    for start in range(0, len(order), step):
        outputs = kept.taken(order[start : start + step])
        for first in range(0, len(outputs), text_columns.BLOCK):
            result.append(outputs[first : first + text_columns.BLOCK])
    kept.close()
    return result


def _key(row: Mapping[str, Any], place: str) -> tuple[str, int]:
    """(id, repeat) of a row."""
    for field in ("id", "output"):
        if field not in row:
            raise files.missing_field(place, field, row)
    return files.identifier(row["id"], place, "id"), _repeat(row, place)


def _repeat(row: Mapping[str, Any], place: str) -> int:
    """Which output of its example a row holds."""
    repeat = row.get("repeat", 0)
    try:
        return _whole(repeat)
    except ValueError as error:
        raise HarnessError(f"{place}: 'repeat' is {error}; expected a whole number from 0") from None


def _whole(repeat: Any) -> int:
    """In CSV a number is text."""
    if isinstance(repeat, str) and repeat.isdecimal():
        repeat = int(repeat)
    if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 0:
        raise ValueError(repr(repeat))
    return repeat


def _output(row: Mapping[str, Any], place: str) -> Output:
    """A null output is a failed example: kept, excluded from the scores and counted."""
    if row["output"] is None:
        return Output(None, files.text(str(row.get("error") or NULL), place, "error"))
    return Output(files.text(row["output"], place, "output"))
