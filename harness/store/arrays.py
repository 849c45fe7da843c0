"""The shared cache of arrays: content-addressed bytes in one SQLite file of bounded size.

A key names everything that decides a value (weights, layer, dtype, text), so an entry is never wrong, only unused or
damaged: each has a checksum of its key and its bytes, and what does not match is dropped, to be computed again.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     store = ArrayStore(Path(folder) / "embeddings.sqlite")
...     store.put({"5f70bf18": b"the bytes of an array"})
...     store.get(["5f70bf18", "e3b0c442"])
{'5f70bf18': b'the bytes of an array'}

Several processes may share a store. It has a rollback journal, not a WAL: what is appended is written once instead of
twice, and a store in a read-only folder can be read. Recency has a table of its own because it changes and the bytes
do not. A store that is full, locked or broken costs a warning and the time to compute again, never an exception; only
pruning it, which is nothing but a wish for room, fails.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.inputs.locks import held, without_record_locks
from harness.types import HarnessError
from harness.types.shown import counted

log = logging.getLogger(__name__)

WAIT = 30.0  # seconds for a lock; once that was in vain the next call does not wait
FRESH = 3600  # seconds; recency is no finer, so that a get seldom writes
CREATE = """
pragma page_size = 16384;
pragma auto_vacuum = incremental;
begin immediate;
create table if not exists entries (key blob primary key, id integer, used integer, size integer, checksum integer)
    without rowid;
create table if not exists data (id integer primary key, value blob);
commit;
"""
OPEN = "pragma journal_mode = truncate; pragma synchronous = normal; pragma secure_delete = off;"
FIND = "select key, used < ?, checksum, value from entries left join data using (id) where key in ({})"
TABLES = "select type, name, tbl_name, sql from sqlite_master where name not like 'sqlite_%'"
COUNT = "select count(*), coalesce(sum(size), 0), min(used) from entries"
OLDEST = """
select key, id from (select key, id, size, sum(size) over (order by used, id) as total from entries)
where total - size < ?
"""
FILLED = """
select (page_count - freelist_count) * page_size from pragma_page_count, pragma_freelist_count, pragma_page_size
"""
# what SQLite says of a file that is not a database, a damaged one, one with other tables
BROKEN = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT)

NO_LOCKS = (
    "the cache %s is on a file system without locks (%s) and is not used; cache=none does without it, and a working "
    "folder on a local disk has one"
)
FAULTS = (sqlite3.Error, OSError, UnicodeDecodeError)
"""What can go wrong with a store."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How full a store is."""

    entries: int
    size: int
    """Bytes of its values."""
    oldest: int | None
    """When its least recently used entry was used, in seconds since 1970."""


class ArrayStore:
    """Bytes by key in the file `path`, made by the first put; above `limit` bytes the least recently used go."""

    def __init__(self, path: Path, limit: int = 4 << 30, touch: bool = True) -> None:
        """`touch=False`: what is read does not become recent, so that reading writes nothing."""
        self.path = path
        self.limit = limit
        self.touch = touch
        self._wait = WAIT
        self._locks = True
        """False once it is known that the file system has none."""
        self._warned: set[str] = set()

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values that are there and intact."""
        values: dict[str, bytes] = {}
        if os.path.exists(self.path):
            self.use("read", lambda connection: self._read(connection, [key.encode() for key in keys], values))
        return values

    def put(self, items: Mapping[str, bytes]) -> None:
        """Keeps the values, all or none; one above a tenth of the limit is left out."""
        self.use("written", lambda connection: self._write(connection, items))

    def usage(self) -> Usage:
        """How full it is."""
        usage = Usage(0, 0, None)

        def count(connection: sqlite3.Connection) -> None:
            nonlocal usage
            usage = Usage(*connection.execute(COUNT).fetchone())

        if os.path.exists(self.path):
            self.use("read", count)
        return usage

    def prune(self, most: int | None = None, unused_since: float | None = None) -> int:
        """Removes what was not used since a moment, then the least recently used above `most` bytes of values, and
        shrinks the file; how many entries went."""
        gone = 0

        def work(connection: sqlite3.Connection) -> None:
            nonlocal gone
            connection.execute("begin immediate")
            before = _number(connection, "select count(*) from entries")
            if unused_since is not None:
                connection.execute("delete from entries where used < ?", (int(unused_since),))
            if most is not None:
                excess = _number(connection, "select coalesce(sum(size), 0) from entries") - most
                if excess > 0:
                    oldest = connection.execute(OLDEST, (excess,)).fetchall()
                    connection.executemany("delete from entries where key = ?", [(key,) for key, _ in oldest])
            connection.execute("delete from data where id not in (select id from entries)")
            gone = before - _number(connection, "select count(*) from entries")
            connection.execute("commit")
            connection.executescript("pragma incremental_vacuum")

        if os.path.exists(self.path):
            try:
                self._use(work)
            except FAULTS as error:  # who asks for room must know that there is none
                raise HarnessError(
                    f"the cache {self.path} cannot be pruned ({error}); expected a file that can be written"
                ) from error
        return gone

    def _read(self, connection: sqlite3.Connection, keys: Sequence[bytes], values: dict[str, bytes]) -> None:
        now = int(time.time())
        old, damaged = [], []
        for part in (keys[start : start + 500] for start in range(0, len(keys), 500)):
            query = FIND.format(",".join("?" * len(part)))
            for key, is_old, checksum, value in connection.execute(query, (now - FRESH, *part)):
                if isinstance(value, bytes) and checksum == _checksum(key, value):
                    values[key.decode()] = value
                    if is_old:
                        old.append((now, key))
                else:
                    damaged.append((key,))
        if damaged:
            self._warn(
                "damaged", "%s: %s dropped, to be computed again", self.path, counted(len(damaged), "damaged entry")
            )
        else:
            connection.execute("pragma busy_timeout = 0")  # recency is not worth waiting for
        if self.touch and (old or damaged):
            with suppress(sqlite3.OperationalError):
                connection.execute("begin immediate")
                connection.executemany("update entries set used = ? where key = ?", old)
                connection.executemany("delete from data where id = (select id from entries where key = ?)", damaged)
                connection.executemany("delete from entries where key = ?", damaged)
                connection.execute("commit")

    def _write(self, connection: sqlite3.Connection, items: Mapping[str, bytes]) -> None:
        now, room = int(time.time()), 0
        connection.execute("begin immediate")
        for key, value in ((key.encode(), value) for key, value in items.items()):
            known = connection.execute("select 1 from entries where key = ?", (key,)).fetchone()
            if known or len(value) > self.limit // 10:
                continue
            share = 2 * len(value) + 1024  # no value takes more of the file
            if share > room:
                room = self._make_room(connection, len(value))
            room -= share
            row = connection.execute("insert into data (value) values (?)", (value,)).lastrowid
            entry = (key, row, now, len(value), _checksum(key, value))
            connection.execute("insert into entries values (?, ?, ?, ?, ?)", entry)
        connection.execute("commit")
        excess = _number(connection, "pragma page_count") - self.limit // _number(connection, "pragma page_size")
        if excess > 0:  # the limit was lowered, and a file does not shrink by itself
            connection.executescript(f"pragma incremental_vacuum({excess})")

    def _make_room(self, connection: sqlite3.Connection, size: int) -> int:
        """Bytes below the limit; if fewer than `size`, the least recently used go, down to nine tenths of the limit."""
        if (left := self.limit - _number(connection, FILLED)) >= size:
            return left
        while (excess := _number(connection, FILLED) - self.limit * 9 // 10) > 0:
            oldest = connection.execute(OLDEST, (excess,)).fetchall()
            connection.executemany("delete from data where id = ?", [(row,) for _, row in oldest])
            gone = connection.executemany("delete from entries where key = ?", [(key,) for key, _ in oldest]).rowcount
            if gone < 1:  # damage hides the rest
                connection.execute("delete from entries")
                connection.execute("delete from data")
                break
        return self.limit - _number(connection, FILLED)

    def use(self, verb: str, work: Callable[[sqlite3.Connection], None]) -> None:
        """Does the work on the store, or on a new one if this one is broken; a failure is a warning."""
        if not self._locks:
            return
        try:
            self._use(work)
            self._wait = WAIT
        except FAULTS as error:
            self._wait = 0.0 if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY else WAIT
            if (fault := without_record_locks(self.path.parent)) is not None:
                self._locks = False
                self._warn("locks", NO_LOCKS, self.path, fault.strerror)
                return
            self._warn(verb, "the cache %s cannot be %s (%s); going on without it", self.path, verb, error)

    def _use(self, work: Callable[[sqlite3.Connection], None]) -> None:
        seen = self.path.stat().st_ino if self.path.exists() else None
        try:
            self._connect(work)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a message may quote damaged names
            if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF not in BROKEN:
                raise
            self._set_aside(seen, error)
            self._connect(work)

    def _connect(self, work: Callable[[sqlite3.Connection], None]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=self._wait, isolation_level=None)) as connection:
            connection.text_factory = bytes  # a blob damaged into a text must not fail before its checksum does
            if not _number(connection, "select count(*) from sqlite_master"):  # a page is there before the tables are
                connection.executescript(CREATE)
            _check_tables(connection)
            connection.executescript(OPEN)
            work(connection)

    def _set_aside(self, seen: int | None, error: Exception) -> None:
        """Renames the broken file unless another process has done so, and may have begun the next."""
        with suppress(FileNotFoundError), held(Path(f"{self.path}.lock"), WAIT):
            if self.path.stat().st_ino == seen:
                Path(f"{self.path}-journal").unlink(missing_ok=True)  # or it is rolled back into the next file
                self.path.replace(f"{self.path}.broken")
                self._warn("broken", "the cache %s is broken (%s); set aside, a new one begins", self.path, error)

    def _warn(self, kind: str, message: str, *values: object) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning(message, *values)


def _checksum(key: bytes, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(key + b"\0"))


def _check_tables(connection: sqlite3.Connection) -> None:
    """Refuses a file with other tables than these, with views or triggers: one that came with someone else's folder
    could have what never ends in their place."""
    if set(connection.execute(TABLES)) != _own_tables():
        error = sqlite3.DatabaseError("it has other tables than a cache")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


@cache
def _own_tables() -> set[tuple[bytes, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.text_factory = bytes
        connection.executescript(CREATE)
        return set(connection.execute(TABLES))


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])
