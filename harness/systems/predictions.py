"""`system=predictions system.path=sysA.jsonl`: outputs that exist already.

A .txt file is aligned with the data set line by line; .jsonl, .json, .csv, .tsv and .parquet have the columns `id` and
`output` and are aligned by id, or by the numbers of their rows where neither they nor the data have ids; a null output
is a failed example. With a column `repeat` (0, 1, …) an example has several outputs, one example maybe more than
another. A column `contexts` holds what was retrieved for each. Other names go into `system.columns`
(harness/systems/prediction_rows.py). A column of numbers, such as what people gave each output, is kept beside it; any
other that nobody reads is named in a warning.
"""

from __future__ import annotations

import glob
import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from harness.inputs import files, remote
from harness.inputs.blocks import Odd
from harness.inputs.kept import Kept
from harness.inputs.parts import read_parts
from harness.inputs.row_index import RowIndex, Span
from harness.inputs.text_lines import texts_of_lines
from harness.systems.prediction_files import PredictionFiles
from harness.systems.prediction_rows import Fields
from harness.types import Array, Example, Examples, HarnessError, Output, Outputs, System, Systems, Texts, text_columns
from harness.types.shown import counted
from harness.types.text_columns import in_blocks
from harness.types.texts import Places, starts_of

log = logging.getLogger(__name__)
EXPECTED = "a file of outputs (system.path)"


class Predictions(System):
    stored = True

    def __init__(
        self, path: str, quoting: bool = True, columns: Mapping[str, Any] | None = None, name: str | None = None
    ) -> None:
        """`quoting=false`: quotes in a CSV or TSV file are plain characters."""
        self._given = path
        self._numbered = False
        """Whether rows have their numbers as ids, as those of the data have."""
        self.name = name or remote.stem_of(path)
        self.quoting, self.columns = quoting, columns
        self.fields()  # says now what is wrong with the columns
        several = type(self) is Predictions and glob.has_magic(path) and not Path(path).exists()
        self.several: Systems | None = (
            PredictionFiles(path, name, {"quoting": quoting, "columns": columns}) if several else None
        )
        """Of a pattern, such as outputs/*.jsonl: a system for each file."""
        self._ids = Index(Texts.of([]))
        """Of the whole data set."""
        self._outputs: Kept[Outputs] = Kept()
        """For each of these ids its outputs by repeat, one after the other."""
        self._starts: Places | None = None
        """(ids + 1) where the outputs of each begin; None where each id has one."""
        self._beside: dict[str, Array] = {}
        """By name the numbers beside these outputs, NaN where there is none."""
        self._next = 0
        """The row that is asked for next where batches come in the data set's order."""
        self._index: RowIndex | None = None
        self._order: Places | None = None
        """Where in the file the output for each id is, of outputs in another order."""

    @cached_property
    def path(self) -> Path:
        """On this machine."""
        return remote.on_disk(self._given, EXPECTED)

    def fields(self) -> Fields:
        """Which columns are read."""
        return Fields(self.columns, numbered=self._numbered)

    def key(self) -> str:
        content = files.file_digest(files.existing(self.path, "a file of outputs"))
        named = {field: name for field, name in self.fields().names.items() if name != field}
        return files.digest(["predictions", content, named] if named else ["predictions", content])

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
            raise HarnessError(
                f"{self.path} has {counted(len(kept), 'line')}; expected {n}, one for each example of the data set"
            )
        return kept

    def _by_id(self, ids: Texts) -> Kept[Outputs]:
        self._numbered = False
        try:
            kept, order = self._read(ids)
        except (Odd, HarnessError):
            if not _are_numbers(ids):
                self._explain(ids)
            self._numbered = True  # the data may have no ids: where the file has none either, they are alike
            try:
                kept, order = self._read(ids)
            except (Odd, HarnessError):
                self._explain(ids)
        if order is None:
            return kept
        self._beside = {name: numbers[order] for name, numbers in self._beside.items()}
        return _reordered(kept, order, self._place)

    def _read(self, ids: Texts) -> tuple[Kept[Outputs], Places | None]:
        """(the outputs as they are in the file, where in it the output for each id and repeat is, or None where they
        are in that order). Odd where they are not what the ids call for."""
        kept: Kept[Outputs] = Kept(self._place)
        places: list[Places] = []
        repeats: list[NDArray[np.int64]] = []
        in_order = True
        fields = self.fields()
        self._index = self._order = None
        if self.indexed:
            self._index = RowIndex(files.existing(self.path, EXPECTED), self._given)
        for part in read_parts(self.path, EXPECTED, self.quoting):
            stored_ids, outputs, repeat = fields.columns(part, len(kept))
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
        self.repeats, self._starts = 1, None
        self._beside = fields.beside.columns(len(kept))
        if in_order:
            if len(kept) != len(ids):
                raise Odd
            self.warn_of_unread(fields.beside.unread)
            return kept, None
        each, which = np.concatenate(repeats), np.concatenate(places)
        counts = np.bincount(which, minlength=len(ids))
        if not counts.all() or (each >= counts[which]).any():
            raise Odd
        starts = starts_of(counts)
        order = np.full(len(kept), -1)
        order[starts[which] + each] = np.arange(len(kept))
        if (order < 0).any():
            raise Odd
        self.repeats, self._starts = int(counts.max()), starts if counts.max() > 1 else None
        self._order = order if self._index is not None else None
        self.warn_of_unread(fields.beside.unread)
        return kept, order

    def warn_of_unread(self, names: Collection[str]) -> None:
        """Names the columns of the file that are no field, where there are any."""
        if names:
            log.warning(
                "%s has columns that are not read: %s (system.columns says which are)", self.path, files.listed(names)
            )

    @property
    def _place(self) -> Path | None:
        """Of a temporary file: the run folder, where there is one."""
        return self.folder if self.folder is not None and self.folder.is_dir() else None

    def _explain(self, ids: Texts) -> NoReturn:
        """Goes through the file row by row and says what is wrong with it."""
        places: dict[tuple[str, int], str] = {}
        fields = self.fields()
        for number, (place, row) in enumerate(files.read_rows(self.path, EXPECTED, self.quoting), start=1):
            id_, repeat = fields.key(row, place, number)
            if (id_, repeat) in places:
                repeated = fields.names["repeat"] in row
                which = f"the id {id_!r}" + (f" with the repeat {repeat}" if repeated else "")
                raise HarnessError(f"{place} has {which}, already used in {places[id_, repeat]}; expected it once")
            fields.output(row, place)
            places[id_, repeat] = place
        wanted: list[Any] = ids.strings()
        known, answered = set(wanted), {id_ for id_, _ in places}
        missing = [id_ for id_ in wanted if id_ not in answered]
        extra = sorted(answered - known)
        faults = []
        if missing:
            faults.append(f"lacks {len(missing):,} of the data set's ids ({files.some(missing)})")
        if extra:
            faults.append(f"has {counted(len(extra), 'id')} that the data set does not have ({files.some(extra)})")
        if faults:
            raise HarnessError(
                f"{self.path} {' and '.join(faults)}; expected the data set's {counted(len(ids), 'id')}, each once"
                + (" (where there is no output, null: it counts as failed)" if missing and not extra else "")
            )
        counts = Counter(id_ for id_, _ in places)
        id_, repeat = next((i, r) for i in wanted for r in range(counts[i]) if (i, r) not in places)
        raise HarnessError(
            f"{self.path} lacks the repeat {repeat} of {id_!r}; expected the repeats of an id from 0 on, without a gap"
        )

    def expand(self, examples: Sequence[Example]) -> Sequence[Example]:
        """Each example as often as the file has outputs for it, with the numbers beside each."""
        if not isinstance(examples, Kept) or (self._starts is None and not self._beside):
            return super().expand(examples) if self.repeats > 1 else examples
        return Kept.of(*in_blocks(map(self._expanded, examples.blocks())), folder=self._place)

    def _expanded(self, block: Examples) -> Examples:
        places = self._ids.places(block.ids)
        if self._starts is not None:
            counts = np.diff(self._starts)[places]
            block = block.repeated(counts)
            places = np.repeat(self._starts[places], counts) + block.repeat
        beside = {name: _values(numbers[places]) for name, numbers in self._beside.items()}
        own = {name: column for name, column in beside.items() if not _same(block.metadata.get(name), column)}
        return replace(block, metadata={**block.metadata, **own}) if own else block

    def generate(self, batch: Sequence[Example]) -> Sequence[Output]:
        """As columns where the batch is."""
        if isinstance(batch, Examples):
            return self._of(batch.ids, batch.repeats)
        ids, repeats = [example.id for example in batch], [example.repeat for example in batch]
        return list(self._of(Texts.of(ids), np.array(repeats, np.int32)))

    def located(self, first: int, rows: int) -> Span | str:
        if self._index is None or self.repeats > 1 or self._beside:
            reason: str = super().located(first, rows)
            return reason
        if self._order is None:
            return self._index.span(first, rows)
        return self._index.lines(self._order[first : first + rows])

    def read_located(self, place: Span) -> Outputs:
        fields = self.fields()
        outputs = Outputs.joined([fields.columns(part, 0)[1] for part in place.parts()])
        return outputs[place.skip : place.skip + place.rows]

    def _of(self, ids: Texts, repeats: NDArray[np.int32] | None) -> Outputs:
        n = len(ids)
        if not n:
            return Outputs.of([])
        if self._starts is None and (repeats is None or not repeats.any()):
            first = self._next if self._next < len(self._outputs) else 0
            if same(self._ids.texts[first : first + n], ids):
                self._next = first + n
                return self._outputs[first : first + n]
        try:
            places = self._ids.places(ids)
        except Odd:
            raise KeyError(f"{self.path} was not aligned with these ids") from None
        begins = places if self._starts is None else self._starts[places]
        return self._outputs.taken(begins if repeats is None else begins + repeats.astype(np.int64))


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


def _are_numbers(ids: Texts) -> bool:
    """Whether ids are the numbers of rows."""
    return bool(len(ids)) and ids[-1] == str(len(ids)) and all(id_ == str(i) for i, id_ in enumerate(ids, start=1))


def _values(numbers: Array) -> list[Any]:
    """As a field has them; None where there is none."""
    return [None if number != number else number for number in numbers.tolist()]


def _same(field: Sequence[Any] | None, column: list[Any]) -> bool:
    """Whether the data has the very numbers: where both are in one file, the field stays as it is."""
    return field is not None and list(field) == column


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
