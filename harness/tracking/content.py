"""What goes to MLflow within its limits: names, texts, calls, and the data set of a run.

Whatever does not fit is cut with a mark, and is whole in an artifact: config.yaml, manifest.json, scores.json.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.inputs.files import digest
from harness.masking import MASK
from harness.types import RunResult

MAX_METRICS, MAX_PARAMS, MAX_TAGS, MAX_TOGETHER, MAX_REQUEST = 1000, 100, 100, 1000, 900_000  # of one call
MAX_KEY, MAX_VALUE, MAX_TAG = 250, 6000, 5000
DIGEST, MAX_DATASET, MAX_SOURCE, MAX_SCHEMA = 16, 500, 65_000, 1_000_000


def dataset_of(run: RunResult, columns: Mapping[str, str]) -> Any:
    """The data set as an input of the run, by our hash of all its rows; `columns`: its fields with their types.

    MLflow takes 36 characters of a digest and shows fewer: the whole key stands in profile, source and a tag.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    about = run.manifest["dataset"]
    whole = {"key": run.dataset_key, **about.get("about", {})}
    path = run.manifest["config"].get("dataset", {}).get("path")
    local = isinstance(path, str) and MASK not in path and Path(path).is_file()
    if local:
        kind, source = "local", {"uri": str(Path(path).absolute()), **whole}
    else:
        kind, source = "code", {"tags": {"mlflow.source.name": f"harness: {run.dataset}", **whole}}
    fields = [{"name": name, "type": type_, "required": False} for name, type_ in columns.items()]
    schema = json.dumps({"mlflow_colspec": fields})
    source_json = json.dumps(source)
    dataset = Dataset(
        name=cut(run.dataset, MAX_DATASET, "") or "_",
        digest=run.dataset_key[:DIGEST],
        source_type=kind,
        source=source_json
        if len(source_json) <= MAX_SOURCE
        else json.dumps({"uri": source.get("uri", ""), "key": run.dataset_key}),
        schema=schema if len(schema) <= MAX_SCHEMA else None,
        profile=json.dumps({"num_rows": about["examples"], "key": run.dataset_key, "cluster": about["cluster"]}),
    )
    return DatasetInput(dataset, tags=[InputTag("mlflow.data.context", "evaluation")])


def batches(metrics: Sequence[Any], params: Sequence[Any], tags: Sequence[Any]) -> Iterator[dict[str, list[Any]]]:
    """The arguments of as few `log_batch` calls as MLflow allows."""
    most = {"tags": MAX_TAGS, "params": MAX_PARAMS, "metrics": MAX_METRICS}
    left = {"tags": deque(tags), "params": deque(params), "metrics": deque(metrics)}
    while any(left.values()):
        batch: dict[str, list[Any]] = {kind: [] for kind in most}
        room, size = MAX_TOGETHER, 0
        for kind, items in left.items():
            while items and room and len(batch[kind]) < most[kind]:
                size += _size(items[0])
                if size > MAX_REQUEST:
                    break
                batch[kind].append(items.popleft())
                room -= 1
        yield batch


def _size(item: Any) -> int:
    """Bytes of an item in a request, or a little more: text outside ASCII is sent as \\u0000."""
    text = item.value if isinstance(item.value, str) else ""
    return 200 + len(json.dumps(item.key + text))


def named(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The items under names that MLflow takes, different ones for different items.

    >>> [name for name, _ in named([("a b/c", 0), ("chrf++", 0), ("slice/kind: (x)/bleu.low", 0)])]
    ['a b/c', 'chrf__-9baa30f1', 'slice/kind: _x_-2aedf14e/bleu.low']
    """
    for name, value in items:
        plain = "/".join(map(_part, name.split("/")))
        yield (plain if len(plain) <= MAX_KEY else f"{plain[: MAX_KEY - 9]}-{digest(name)[:8]}"), value


def _part(part: str) -> str:
    """What stands between two slashes of a name, marked where MLflow refuses it: what follows keeps its name."""
    plain = "_" if not part.strip(".") else re.sub(r"[^\w.\- :]", "_", part)
    return plain if plain == part else f"{plain}-{digest(part)[:8]}"


def cut(text: str, most: int, where: str) -> str:
    """The text without what databases refuse; where it is too long its beginning, and where the whole is."""
    text = text.replace("\0", "\ufffd")
    mark = f" … ({where})" if where else "…"
    return text if len(text) <= most else text[: most - len(mark)] + mark


def milliseconds(moment: str) -> int:
    """Since 1970."""
    return int(datetime.fromisoformat(moment).timestamp() * 1000)
