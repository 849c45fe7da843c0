"""Data as an evaluation data set in MLflow: a file, rows, or the data of a stored run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.datasets.file import FileDataset
from harness.inputs import functions
from harness.inputs.blocks import examples_in_parts
from harness.inputs.files import Row
from harness.inputs.kept import Kept
from harness.inputs.parts import parts_of
from harness.inputs.project import runs_folder
from harness.inputs.rows import Reader
from harness.run.reading import content_of
from harness.store.rescored import Stored, StoredDataset
from harness.tracking import evaluation_datasets
from harness.tracking.backend import default_uri
from harness.tracking.surrounding import settled
from harness.types import Examples, HarnessError, RunResult


def log_dataset(
    data: RunResult | str | Path | Sequence[Mapping[str, Any]],
    name: str | None,
    uri: str | None,
    experiment: str | None,
) -> dict[str, str]:
    """Writes it, and says under which name, id and digest."""
    own, blocks = _read(data)
    called = name or own
    if not called:
        raise HarnessError("rows have no name; expected log_dataset(rows, NAME)")
    examples = Kept.of(*blocks)
    if not len(examples):
        raise HarnessError(f"the data of {called!r} has no example; expected at least one")
    where = settled({"experiment": experiment, "uri": uri})
    place = evaluation_datasets.Place(
        uri or default_uri(runs_folder()), where["experiment"], runs_folder() / "mlartifacts"
    )
    return {"name": called, **evaluation_datasets.write(called, list(examples), content_of(examples).key, place)}


def _read(data: Any) -> tuple[str | None, Iterator[Examples]]:
    """(what the data is called, its blocks)."""
    if isinstance(data, RunResult):
        if data.path is None:
            raise HarnessError(f"{data.name} is in memory only; expected a stored run, a data file or rows")
        stored = StoredDataset(Stored(data.path))
        return stored.name, stored.blocks()
    if isinstance(data, str | Path):
        file = FileDataset(str(data))
        return file.name, file.blocks()

    if not isinstance(data, Iterable):
        raise HarnessError(f"log_dataset got {functions.kind(data)}; expected a stored run, a data file or rows")

    def rows() -> Iterator[Row]:
        for number, row in enumerate(data, start=1):
            if not isinstance(row, Mapping):
                raise HarnessError(f"row {number} is no mapping; expected one with source and references")
            yield f"row {number}", dict(row)

    return None, examples_in_parts(parts_of(rows()), Reader(rows, None, None))
