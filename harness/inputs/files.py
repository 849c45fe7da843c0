"""Reading the user's files, so that whatever is wrong with one is reported with its place, and hashing what was read.

A leaf, for every room: data sets and stored predictions come in the same formats and deserve the same messages.

Text is UTF-8; a byte order mark and CRLF line ends are accepted and dropped. Lines end at "\\n" only, never at the
other characters that `str.splitlines` honours (form feed, U+2028 …), which would shift line-aligned files.

Here a file is read row by row, with the place of each; harness/inputs/parts.py reads whole columns, and comes here with
what is odd. Every format but .json, which is one value, is read as a stream. JSON is parsed by orjson, and what that
refuses once more by the standard library, which accepts more (NaN) and says more about what is wrong; a whole number
beyond 64 bits becomes a float, so an id that long belongs in quotes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import orjson

from harness.inputs import parquet
from harness.types import HarnessError, nearest, text_fault
from harness.types.shown import counted

TABULAR = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
BLOCK = 2**20
MOST_FIELDS = 10_000
"""Of a row: each becomes a column of examples.parquet."""
LOOKED = 2_000
"""Files that are looked at for one that was moved."""
csv.field_size_limit(2**31 - 1)  # the default of 128 KiB refuses a long document

T = TypeVar("T")
Row = tuple[str, dict[str, Any]]
"""(place such as "dev.jsonl line 12", fields)."""


def digest(value: Any) -> str:
    """Hash of a JSON value, the same for the same content in any key order."""
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()


def canonical(value: Any) -> str:
    """A JSON value as text, the same for the same content in any key order."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)


def bytes_digest(content: bytes) -> str:
    """SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes; of weights and data that several ask for it is computed once."""
    with open(path, "rb") as handle:
        state = os.fstat(handle.fileno())
        identity = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        if identity not in _digests or time.time() - state.st_ctime < SETTLED:
            _digests[identity] = hashlib.file_digest(handle, "sha256").hexdigest()
        return _digests[identity]


SETTLED = 5.0
"""Seconds after which another change of a file would show in its times, however coarse a file system keeps them."""
_digests: dict[tuple[int, ...], str] = {}


def existing(path: str | Path, expected: str) -> Path:
    """The path, if there is a file at it."""
    file = Path(path).expanduser()
    try:
        kind = os.stat(file).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # a named pipe would be waited for, and can be read once
            raise HarnessError(f"{file} is not a regular file; expected {expected}")
        with open(file, "rb"):
            return file
    except (FileNotFoundError, IsADirectoryError):
        pass
    except OSError as error:
        raise HarnessError(f"{str(file)[:200]} cannot be read ({error.strerror}); expected {expected}") from None
    if file.is_dir():
        raise HarnessError(f"{file} is a folder; expected {expected}")
    near = file.parent if file.parent.is_dir() else None
    names = sorted(p.name for p in near.iterdir() if not p.name.startswith(".")) if near else []
    nearby = f"{near} has: {_few(names)}" if near else f"there is no folder {file.parent}"
    moved = _moved(file.name)
    alike = [name for name in names if nearest(file.stem, [Path(name).stem])]  # .jsonl alone makes no two alike
    hint = f"; a file of that name is {moved}" if moved else nearest(file.name, alike)
    raise HarnessError(f"{file} does not exist; expected {expected} ({nearby}){hint}")


def _moved(name: str) -> Path | None:
    """A file of that name in a folder of this one, or in one of theirs; only so many are looked at."""
    looked = islice(chain(Path().glob("*/*"), Path().glob("*/*/*")), LOOKED)
    with suppress(OSError):
        return next((path for path in looked if path.name == name and path.is_file()), None)
    return None


def text(value: Any, place: str, field: str) -> str:
    """The value, if it is a text that can be stored as UTF-8."""
    if type(value) is str and value.isascii() and "\0" not in value:
        return value
    if not isinstance(value, str):
        empty = ", empty where there is nothing" if value is None else ""
        raise HarnessError(f"{place}: '{field}' is {_kind(value)}; expected a string{empty}")
    fault = text_fault(value)
    if fault:
        raise HarnessError(f"{place}: '{field}' holds {fault}; expected Unicode text")
    return value


def absent(value: Any) -> bool:
    """Whether there is no value: null, or NaN, which pandas writes for it."""
    return value is None or (isinstance(value, float) and value != value)


def read_lines(path: str | Path, expected: str = "a text file") -> list[str]:
    """The lines of a UTF-8 text file."""
    return list(stream_lines(path, expected))


def stream_lines(path: str | Path, expected: str = "a text file") -> Iterator[str]:
    """The lines of a UTF-8 text file, one at a time."""
    return (line for _, line in _lines(existing(path, expected)))


def count_lines(path: str | Path, expected: str = "a text file") -> int:
    """How many lines `stream_lines` gives, without decoding them."""
    count, last = 0, b"\n"
    with open(existing(path, expected), "rb") as handle:
        while block := handle.read(BLOCK):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


def read_rows(path: str | Path, expected: str, quoting: bool = True) -> Iterator[Row]:
    """The rows of a .jsonl, .json, .csv, .tsv or .parquet file."""
    return read_by(existing(path, expected), {".jsonl": _jsonl, ".json": _json, ".parquet": _parquet}, _csv, quoting)


def read_by(
    file: Path,
    readers: Mapping[str, Callable[[Path], Iterator[T]]],
    separated: Callable[[Path, str, bool], Iterator[T]],
    quoting: bool,
) -> Iterator[T]:
    """What the reader for files of this suffix gives; `separated` reads lines of cells, given what is between them."""
    suffix = file.suffix.lower()
    if suffix in readers:
        return readers[suffix](file)
    if suffix in (".csv", ".tsv"):
        return separated(file, separator(file) if suffix == ".csv" else "\t", quoting)
    raise HarnessError(f"{file} ends in '{file.suffix}'; expected one of {', '.join(TABULAR)}")


def identifier(value: Any, place: str, field: str) -> str:
    """An id as text; numbers are taken as they print."""
    if type(value) is str and value and value.isascii() and "\0" not in value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise HarnessError(f"{place}: '{field}' is {_kind(value)}; expected a non-empty string or a whole number")
    return text(value, place, field)


def missing_field(place: str, field: str, row: Mapping[str, Any], hint: str = "") -> HarnessError:
    return HarnessError(f"{place} has no '{field}'; found: {listed(row) or 'nothing'}{hint}")


def listed(names: Iterable[str], most: int = 30) -> str:
    """Names for a message: all of them, or the first and how many there are."""
    names = [str(name) for name in names]
    return ", ".join(names[:most]) + (f", … ({len(names):,} in all)" if len(names) > most else "")


def some(items: list[str], most: int = 3) -> str:
    """The first few of a list for a message: `a, b, c and 7 more`."""
    shown = ", ".join(repr(item) for item in items[:most])
    return shown + (f" and {len(items) - most} more" if len(items) > most else "")


def _few(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "") if names else "no files"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return f"one object ({', '.join(map(str, value))[:40]})" if value else "an empty object"
    return f"{type(value).__name__} {str(value)[:40]!r}" if not isinstance(value, str) else repr(value[:40])


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(line number, bytes) of a UTF-8 file, line ends included, its byte order mark not."""
    with open(path, "rb", buffering=BLOCK) as handle:
        first = handle.readline()
        if first:
            yield 1, without_mark(path, first)
        yield from enumerate(handle, start=2)


def without_mark(path: Path, start: bytes) -> bytes:
    """The start of a file without its byte order mark."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise HarnessError(f"{path} starts with a UTF-16 byte order mark; expected UTF-8")
    return start.removeprefix(b"\xef\xbb\xbf")


def mark_size(path: Path) -> int:
    """Bytes of the byte order mark that a file begins with."""
    with open(path, "rb") as handle:
        return 3 if handle.read(3) == b"\xef\xbb\xbf" else 0


def line_text(path: Path, number: int, raw: bytes) -> str:
    """The text of a line, without its end."""
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        line = raw.decode()
    except UnicodeDecodeError as error:
        byte = f"byte 0x{raw[error.start]:02x} at position {error.start + 1}"
        raise HarnessError(
            f"{path} line {number} has {byte}, which is not UTF-8; expected UTF-8 text (of Windows and "
            "Excel it may be: iconv -f WINDOWS-1252 -t UTF-8, or save it as CSV UTF-8)"
        ) from None
    if "\0" in line:
        raise HarnessError(
            f"{path} line {number} has a NUL character at position {line.index(chr(0)) + 1}; expected text"
        )
    return line


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number, text) of a UTF-8 file, without line ends."""
    for number, raw in raw_lines(path):
        yield number, line_text(path, number, raw)


def check_width(row: Mapping[str, Any], place: str) -> None:
    """Refuses a row of more fields than any table has."""
    if len(row) > MOST_FIELDS:
        raise HarnessError(f"{place} has {len(row):,} fields; expected at most {MOST_FIELDS:,}")


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise HarnessError(f"{place} is {_kind(value)}; expected an object with fields")
    return value


def _jsonl(path: Path) -> Iterator[Row]:
    return json_rows(path, raw_lines(path))


def json_rows(path: Path, lines: Iterable[tuple[int, bytes]]) -> Iterator[Row]:
    """The rows of (line number, bytes) of a file of JSON lines."""
    head = f"{path} line "
    for number, raw in lines:
        place = head + str(number)
        try:
            value = orjson.loads(raw)
        except ValueError:
            line = line_text(path, number, raw)
            if not line.strip():
                continue
            value = _forgiving(line, place, "one object per line")
        yield place, value if type(value) is dict else _object(value, place)


def read_json(path: Path, expected: str = "a list of objects") -> Any:
    """The value of a .json file."""
    try:
        return orjson.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return _forgiving("\n".join(line for _, line in _lines(path)), str(path), expected)


def _json(path: Path) -> Iterator[Row]:
    return item_rows(path, read_items(path))


def read_items(path: Path) -> list[Any]:
    """The items of a .json file that holds a list."""
    items = read_json(path)
    if not isinstance(items, list):
        raise HarnessError(f"{path} holds {_kind(items)[:60]}; expected a list of objects")
    return items


def item_rows(path: Path, items: Iterable[Any], before: int = 0) -> Iterator[Row]:
    """The rows of such items, of which there were some before."""
    for number, value in enumerate(items, start=before + 1):
        place = f"{path} item {number}"
        yield place, _object(value, place)


def _forgiving(content: str, place: str, expected: str) -> Any:
    """What the standard library makes of JSON that orjson refused."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise HarnessError(f"{place} is not JSON ({error}); expected {expected}") from None


def _csv(path: Path, delimiter: str, quoting: bool) -> Iterator[Row]:
    reader = csv_reader((line + "\n" for _, line in _lines(path)), delimiter, quoting)
    try:
        header = csv_header(path, reader, delimiter)
        start = reader.line_num + 1
        for fields in reader:
            if fields:
                yield csv_row(path, start, header, fields)
            start = reader.line_num + 1
    except csv.Error as error:
        where = f"{path} line {reader.line_num} cannot be read ({error})."
        hint = " If its quotes are plain characters, set dataset.quoting=false (of outputs: system.quoting=false)."
        raise HarnessError(where + (hint if quoting else "")) from None


def separator(path: Path) -> str:
    """What is between the cells of a .csv file: a comma, unless its header has none, but semicolons, as Excel writes
    where the comma is the decimal point, or tabs."""
    head = re.sub(rb'"[^"]*"', b"", next(raw_lines(path), (1, b""))[1])
    return next((mark for mark in (",", ";", "\t") if mark.encode() in head), ",")


def csv_reader(lines: Iterable[str], delimiter: str, quoting: bool) -> Any:
    """Records of lines that end in a newline."""
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE, strict=True)


def csv_header(path: Path, reader: Any, delimiter: str) -> list[str]:
    """The names in the first record; none where there is no record."""
    header: list[str] = next(reader, [])
    if len(header) > MOST_FIELDS:
        raise HarnessError(
            f"{path} line 1 names {len(header):,} columns; expected at most {MOST_FIELDS:,}, separated by {delimiter!r}"
        )
    twice = sorted(name for name, count in Counter(header).items() if count > 1)
    if twice:
        raise HarnessError(f"{path} line 1 names the column {twice[0]!r} twice; expected each name once")
    return header


def csv_row(path: Path, line: int, header: list[str], fields: list[str]) -> Row:
    """The row of a record that begins in this line."""
    if len(fields) != len(header):
        raise HarnessError(
            f"{path} line {line} has {counted(len(fields), 'field')}; expected {len(header)} as in the "
            f"header ({listed(header)})"
        )
    return f"{path} line {line}", dict(zip(header, fields, strict=True))


def _parquet(path: Path) -> Iterator[Row]:
    for before, batch in parquet.batches_of(path):
        yield from parquet_rows(path, batch, before)


def parquet_rows(path: Path, batch: Any, before: int) -> Iterator[Row]:
    """The rows of a batch of a Parquet file."""
    for number, row in enumerate(parquet.rows_of(path, batch, before), start=before + 1):
        yield f"{path} row {number}", row
