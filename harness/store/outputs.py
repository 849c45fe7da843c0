"""The shared cache of outputs: what a system gave, by a key that names everything that decided it.

A key holds the system, what it saw and which repeat was asked for, so an entry is never wrong, only unused. The outputs
lie as JSON in an `ArrayStore`, which several processes may use at once, keeps itself below its limit by dropping what
was not used for the longest time, and turns damage into a warning: every output is in its run's journal too.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     cache = OutputCache(Path(folder) / "outputs.sqlite")
...     cache.put({"5f70bf18": Output("It rained.", info={"output_tokens": 4})}, system="lead")
...     cache.get(["5f70bf18", "e3b0c442"])["5f70bf18"].text, cache.by_system()["lead"].entries
('It rained.', 1)
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from harness.store.arrays import ArrayStore, Usage
from harness.types import Gate, Output

BY_SYSTEM = """
select case when json_valid(text) then json_extract(text, '$.system') end, count(*), sum(size), min(used)
from (select cast(value as text) as text, size, used from entries join data using (id)) group by 1 order by 3 desc
"""


class OutputCache:
    """Outputs by key in the file `path`, made by the first put; above `limit` bytes the least recently used go."""

    def __init__(self, path: Path, limit: int = 4 << 30, touch: bool = True) -> None:
        """`touch=False`: what is read does not become recent, so that reading writes nothing."""
        self.store = ArrayStore(path, limit, touch)

    def get(self, keys: Sequence[str]) -> dict[str, Output]:
        """The outputs that are there."""
        gate = Gate(str(self.store.path))
        outputs: dict[str, Output] = {}
        for key, value in self.store.get(keys).items():
            with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):  # damaged: as if not there
                entry = json.loads(value)
                outputs[key] = gate(Output(entry["text"], None, entry.get("info") or {}, entry.get("contexts")))
        return {key: output for key, output in outputs.items() if output.text is not None}

    def put(self, outputs: Mapping[str, Output], system: str) -> None:
        """Keeps the outputs of a system, whose name is for `harness cache` only; failures are not kept."""
        values = {
            key: {"system": system, "text": output.text} | output.beside()
            for key, output in outputs.items()
            if output.text is not None
        }
        if values:
            self.store.put({key: json.dumps(value).encode() for key, value in values.items()})

    def by_system(self) -> dict[str, Usage]:
        """How much each system has here, the most first."""
        usages: dict[str, Usage] = {}

        def count(connection: sqlite3.Connection) -> None:
            for name, *usage in connection.execute(BY_SYSTEM):
                usages[name.decode() if isinstance(name, bytes) else "damaged"] = Usage(*usage)

        if self.store.path.exists():
            self.store.use("read", count)
        return usages
