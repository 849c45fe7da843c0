"""`harness.log_dataset`: examples as an evaluation data set in MLflow (`mlflow.genai.datasets`).

| example | record |
| --- | --- |
| source, contexts, every field of the metadata | `inputs` |
| references: the text of one, a list of several | `expectations.expected_response` |
| reference_contexts, relevant | `expectations` |
| id | `tags.id`, and `inputs.id` where two examples have the same inputs: MLflow keeps one record of each |
| place | `tags.row`: MLflow gives records in any order, and outputs in a text file are told by their line |

The data set carries the content key and the order of its examples as tags. So the same data is written once, and
`dataset=mlflow` reads such a data set back as the examples that it was made of: runs on it and runs on the file are
comparable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.inputs.files import digest
from harness.tracking import backend
from harness.types import Example, HarnessError

KEY, ORDER = "harness.key", "harness.order"
ROW = "row"
ANSWER = "expected_response"
PAGE = 1000
"""Records in a call."""


@dataclass(frozen=True)
class Place:
    """Where a data set goes."""

    uri: str
    experiment: str
    artifacts: Path
    """Of an experiment that is made for it."""


def write(name: str, examples: Sequence[Example], key: str, place: Place) -> dict[str, str]:
    """Writes the examples, of this content key, under a name; its id and digest. What the data set has and the examples
    do not is deleted."""
    backend.check_uri(place.uri)
    backend.reachable(place.uri)
    content = {KEY: key, ORDER: digest([example.id for example in examples])[:16]}
    with backend.bounded(0), backend.alone(place.uri):
        client = backend.opened(place.uri)
        dataset = _claimed(client, name, place)
        if any(dataset.tags.get(tag) != value for tag, value in content.items()):
            _fill(place.uri, dataset.dataset_id, records_of(examples))
            client.set_dataset_tags(dataset.dataset_id, content)  # last: what was cut short is done again
            dataset = client.get_dataset(dataset.dataset_id)
    return {"dataset_id": str(dataset.dataset_id), "digest": str(dataset.digest)}


def _claimed(client: Any, name: str, place: Place) -> Any:
    """The data set of that name, made where there is none; one that others wrote is left alone."""
    matches = named(client, name)
    if not matches:
        experiment = backend.experiment(client, place.uri, place.experiment, place.artifacts)
        return client.create_dataset(name=name, experiment_id=experiment.experiment_id, tags={KEY: "unfinished"})
    if len(matches) > 1 or KEY not in matches[0].tags:
        raise HarnessError(
            f"MLflow has an evaluation data set {name!r} that harness.log_dataset did not write; expected another name"
        )
    return matches[0]


def named(client: Any, name: str) -> list[Any]:
    """The evaluation data sets of a name, two at most."""
    quoted = name.replace("'", "''")
    return list(client.search_datasets(filter_string=f"name = '{quoted}'", max_results=2))


def records_of(examples: Sequence[Example]) -> list[dict[str, Any]]:
    """As MLflow has them."""
    records = [_record(example, row) for row, example in enumerate(examples)]
    if len({json.dumps(record["inputs"], sort_keys=True) for record in records}) < len(records):
        for record in records:
            record["inputs"]["id"] = record["tags"]["id"]
    return records


def _record(example: Example, row: int) -> dict[str, Any]:
    inputs = {name: value for name, value in example.fields().items() if name != "id"}
    answers = example.references
    expectations = {
        ANSWER: answers[0] if len(answers) == 1 else list(answers) or None,
        "reference_contexts": None if example.reference_contexts is None else list(example.reference_contexts),
        "relevant": example.relevant,
    }
    return {
        "inputs": inputs,
        "expectations": {name: value for name, value in expectations.items() if value is not None},
        "tags": {"id": example.id, ROW: str(row)},
    }


def _fill(uri: str, dataset_id: str, records: Sequence[dict[str, Any]]) -> None:
    """From the store itself: the public `merge_records` knows the store of the process only."""
    from mlflow.tracking._tracking_service.utils import _get_store

    store = _get_store(uri)
    for start in range(0, len(records), PAGE):
        store.upsert_dataset_records(dataset_id, list(records[start : start + PAGE]))
    kept = {json.dumps(record["inputs"], sort_keys=True) for record in records}
    others = [
        record.dataset_record_id
        for record in paged(store, dataset_id)
        if json.dumps(record.inputs, sort_keys=True) not in kept
    ]
    if others:
        store.delete_dataset_records(dataset_id, others)


def paged(store: Any, dataset_id: str) -> Iterator[Any]:
    """The records of a data set, from the store itself: the public `records` holds all of them and reads the
    process-wide tracking URI."""
    token = None
    while True:
        records, token = store._load_dataset_records(dataset_id, max_results=PAGE, page_token=token)
        yield from records
        if not token:
            return


def in_order(records: Iterable[Any]) -> list[Any]:
    """Records that were written here as the data had them; all are held for that."""
    return sorted(records, key=lambda record: int((record.tags or {}).get(ROW, 0)))


def row_of(record: Any) -> dict[str, Any]:
    """A record that was written here, as a row of the data that it was made of."""
    expectations = dict(record.expectations or {})
    answers = expectations.pop(ANSWER, None)
    return {**record.inputs, **expectations, "id": record.tags["id"], "references": _listed(answers)}


def _listed(answers: Any) -> list[str]:
    return [] if answers is None else answers if isinstance(answers, list) else [answers]
