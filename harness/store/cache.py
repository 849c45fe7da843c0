"""The shared cache of outputs: content-addressed texts in one SQLite file, safe with several processes at once.

A key names everything that decides an output (system, what it saw, repeat), so an entry is never wrong, only unused.
Every output is in its run's journal too, so a cache that is broken or full costs a warning and nothing else.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

log = logging.getLogger(__name__)


class SqliteCache:
    def __init__(self, path: Path) -> None:
        self.path = path

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=60)
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table if not exists outputs (key text primary key, value text not null)")
        return connection

    def get(self, keys: Sequence[str]) -> dict[str, str]:
        if not self.path.exists():
            return {}
        found: dict[str, str] = {}
        try:
            with closing(self._open()) as connection:
                for start in range(0, len(keys), 500):
                    part = list(keys[start : start + 500])
                    marks = ",".join("?" * len(part))
                    found.update(connection.execute(f"select key, value from outputs where key in ({marks})", part))
        except (sqlite3.Error, OSError) as error:
            log.warning("the cache %s cannot be read (%s); going on without it", self.path, error)
        return found

    def put(self, items: Mapping[str, str]) -> None:
        try:
            with closing(self._open()) as connection, connection:
                connection.executemany("insert or ignore into outputs values (?, ?)", items.items())
        except (sqlite3.Error, OSError) as error:
            log.warning("the cache %s cannot be written (%s); going on without it", self.path, error)
