"""A run without its texts, where a licence forbids to pass them on: every text is replaced by its hash.

Ids, repeats and scores of the examples stay, numbers of the metadata, and of its texts what intervals need: clusters,
strata and the fields that slices and metrics are made of. The rows of statistics stay, so every interval and comparison
can be computed again; the texts cannot be scored again, and whoever has them can tell by the hashes that they are the
same.

>>> hashed("abc")[:24]
'sha256:ba7816bf8f01cfea4'
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from harness.inputs.files import bytes_digest
from harness.store.example_table import EACH, metadata_name, read_examples
from harness.types import PASSAGES

TEXTS = ("source", "output", "error")
HASHED = "hashed"
"""`texts` of the manifest of such a run."""


def hashed(text: str | None) -> str | None:
    return None if text is None else f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def without_texts(
    folder: Path, manifest: Mapping[str, Any], scores: Collection[str], read: Collection[str] = ()
) -> tuple[bytes, dict[str, Any]]:
    """(examples.parquet, manifest.json) of the run without its texts; `read`: fields that its metrics read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = read_examples(folder)
    dataset = manifest["dataset"]
    slices = (manifest["config"].get("stats") or {}).get("slices") or []
    needed = {dataset["cluster"], dataset.get("strata"), *slices, *(metadata_name(field, scores) for field in read)}
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name)
        if name in ("id", "repeat") or name.removesuffix(EACH) in scores or name in needed:
            columns[name] = column
        elif name in TEXTS:
            columns[name] = pa.array([hashed(text) for text in column.to_pylist()], pa.string())
        elif name == "references":
            lists = [[hashed(text) for text in texts] for texts in column.to_pylist()]
            columns[name] = pa.array(lists, pa.list_(pa.string()))
        elif name == "raw_output":  # none where postprocessing failed, so that the same rows fail again
            pairs = zip(column.to_pylist(), table.column("output").to_pylist(), strict=True)
            columns[name] = pa.array([None if done is None else hashed(text) for text, done in pairs], pa.string())
        elif name in PASSAGES:
            columns[name] = pa.array([_passages(value) for value in column.to_pylist()], column.type)
        elif name == "finish" or pa.types.is_primitive(column.type):
            columns[name] = column
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    content = buffer.getvalue()
    described = dataset.get("fields", {})
    fields = {name: about for name, about in described.items() if metadata_name(name, scores) in columns}
    changed = {
        **manifest,
        "texts": HASHED,
        "files": {**manifest["files"], "examples.parquet": bytes_digest(content)},
        "dataset": {**dataset, "fields": fields},
    }
    return content, changed


def _passages(contexts: list[Any] | None) -> list[Any] | None:
    """Passages with their ids and numbers, their texts as hashes."""
    if contexts is None:
        return None
    return [
        {**each, "text": hashed(each["text"])} if isinstance(each, dict) and "text" in each
        else hashed(each) if isinstance(each, str) else each
        for each in contexts
    ]  # fmt: skip
