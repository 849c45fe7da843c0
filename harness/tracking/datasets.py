"""`dataset=mlflow dataset.path=support_qa`: data that is in MLflow.

The path is
- the name or id of an evaluation data set (`mlflow.genai.datasets`), whose records have `inputs`, `expectations` and
  `tags`: `dataset.columns.source=inputs.question dataset.columns.references=expectations.expected_response`; one that
  `harness.log_dataset` wrote needs no columns. Its digest, which changes with every change, is the version that the
  run's config and key are pinned to (`dataset.version`);
- an artifact, `runs:/RUN_ID/eval.json`: a table of `mlflow.log_table`, or any file that dataset=file reads;
- a run, `runs:/RUN_ID`: the data set that was logged as its input (`mlflow.log_input`), read again from its source;
  `dataset.input=NAME` says which where there are several.

It stands here and not with the other data sets because this is the only room that imports mlflow.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.inputs import files
from harness.inputs.blocks import examples_in_parts
from harness.inputs.parts import parts_of
from harness.inputs.project import runs_folder
from harness.inputs.rows import Columns, Reader
from harness.tracking import evaluation_datasets
from harness.tracking.backend import client_of, default_uri, quiet, reachable
from harness.types import BlockDataset, Examples, HarnessError

TARGET = "harness.tracking.datasets.MlflowDataset"
log = logging.getLogger(__name__)
RUN = re.compile(r"runs:/([^/]+)/?")


class MlflowDataset(BlockDataset):
    def __init__(
        self,
        path: str,
        uri: str | None = None,
        input: str | None = None,
        columns: Mapping[str, Any] | None = None,
        cluster: str | None = None,
        version: str | None = None,
    ) -> None:
        """`version`: the digest that an evaluation data set must have."""
        Columns(columns)  # what is wrong with them is said at once
        self.path, self.input, self.columns, self.cluster = path, input, columns, cluster
        self.uri, self.version = uri or default_uri(runs_folder()), version
        if version is not None and ":/" in path:
            raise HarnessError(f"dataset.version={version} of {path}; expected it of an evaluation data set only")
        run = RUN.fullmatch(path)
        self.name = input or (run[1] if run else Path(path).stem if ":/" in path else path)
        self._about: dict[str, str] = {}

    def blocks(self) -> Iterator[Examples]:
        reader = Reader(self._rows, self.columns, self.cluster)
        yield from examples_in_parts(parts_of(self._rows()), reader)

    def about(self) -> Mapping[str, str]:
        return self._about

    def _rows(self) -> Iterator[files.Row]:
        self._check_store()
        run = RUN.fullmatch(self.path)
        try:
            if run:
                content: Path | Iterator[files.Row] = self._input(run[1])
            else:
                content = self._artifact() if ":/" in self.path else self._records()
            if isinstance(content, Path):
                self._about["sha256"] = files.file_digest(files.existing(content, "a data file"))
                content = _table(content)
            yield from content
        except HarnessError:
            raise
        except Exception as error:  # MLflow raises its own, its database's and its storage's errors
            raise self._unreadable(str(error).strip() or type(error).__name__) from error

    def _check_store(self) -> None:
        """Refuses a store that is not there at once: MLflow would make an empty one, or retry for minutes."""
        store = Path(self.uri.removeprefix("sqlite:///"))
        if self.uri.startswith("sqlite:///") and not store.exists():
            raise self._unreadable(f"there is no {store}")
        try:
            reachable(self.uri)
        except ConnectionError as error:
            raise self._unreadable(str(error)) from None

    def _unreadable(self, reason: str) -> HarnessError:
        return HarnessError(
            f"dataset.path={self.path} cannot be read from MLflow ({reason}); expected an evaluation data set, "
            "runs:/RUN_ID/FILE or runs:/RUN_ID in the store that dataset.uri or tracking.uri names"
        )

    def _artifact(self) -> Path:
        from mlflow.artifacts import download_artifacts

        quiet()
        self._about = {"artifact": self.path}
        return Path(download_artifacts(artifact_uri=self.path, tracking_uri=self.uri))

    def _input(self, run_id: str) -> Path | Iterator[files.Row]:
        """What the data set logged as an input of the run was made from."""
        import mlflow.data

        logged = [entry.dataset for entry in client_of(self.uri).get_run(run_id).inputs.dataset_inputs]
        chosen = [dataset for dataset in logged if self.input in (None, dataset.name)]
        if len(chosen) != 1:
            names = ", ".join(sorted(dataset.name for dataset in logged)) or "none"
            named = f" named {self.input!r}" if self.input else ""
            raise HarnessError(
                f"the run {run_id} has {len(chosen)} data sets{named} as inputs (all: {names}); expected one; "
                "dataset.input=NAME chooses it"
            )
        (dataset,) = chosen
        self._about = {"run": run_id, "input": dataset.name, "digest": dataset.digest, "source": dataset.source}
        source = mlflow.data.get_source(dataset)
        try:
            loaded = source.load()
        except (NotImplementedError, AttributeError):
            loaded = None
        if isinstance(loaded, str | Path):
            return Path(loaded)
        if hasattr(loaded, "features"):  # a data set of Hugging Face's library
            return ((f"{dataset.name} row {number}", dict(row)) for number, row in enumerate(loaded, start=1))
        raise HarnessError(
            f"the data set {dataset.name!r} of the run {run_id} was logged with a source of the kind "
            f"{dataset.source_type!r}, which cannot be read again; expected one logged with source=FILE or URL, "
            "or the data as an artifact (mlflow.log_table)"
        )

    def _records(self) -> Iterator[files.Row]:
        """The records of an evaluation data set, page by page."""
        from mlflow.tracking._tracking_service.utils import _get_store

        dataset = self._dataset(client_of(self.uri))
        if self.version not in (None, dataset.digest):
            raise HarnessError(
                f"the data set {dataset.name!r} in MLflow has the version {dataset.digest} now; expected "
                f"{self.version} (dataset.version): it was changed since"
            )
        self._about = {"dataset_id": dataset.dataset_id, "digest": str(dataset.digest)}
        self.name = dataset.name
        return _rows_of(_get_store(self.uri), dataset)

    def _dataset(self, client: Any) -> Any:
        """The evaluation data set of the name or id."""
        if re.fullmatch(r"d-[0-9a-f]{32}", self.path):
            return client.get_dataset(self.path)
        matches = evaluation_datasets.named(client, self.path)
        if len(matches) != 1:
            count = "no evaluation data set has" if not matches else "several evaluation data sets have"
            raise self._unreadable(f"{count} this name" + ("; give the id, d-…" if matches else ""))
        return matches[0]

    def now(self) -> str | None:
        """The version that an evaluation data set has at this moment; None of anything else, or where that cannot be
        known: what is wrong is said when it is read."""
        if ":/" in self.path:
            return None
        try:
            self._check_store()
            return str(self._dataset(client_of(self.uri)).digest)
        except Exception as error:
            log.debug("%s gives no version of %s: %s", self.uri, self.path, error)
            return None


def pinned(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a data set; of an evaluation data set in MLflow with the version that it has."""
    if dataset.get("_target_") != TARGET or dataset.get("version") or not isinstance(dataset.get("path"), str):
        return dict(dataset)
    return {**dataset, "version": MlflowDataset(dataset["path"], dataset.get("uri")).now()}


def _rows_of(store: Any, dataset: Any) -> Iterator[files.Row]:
    """The records of an evaluation data set; of one that harness.log_dataset wrote the rows that it was made of."""
    own = evaluation_datasets.KEY in dataset.tags
    records = evaluation_datasets.paged(store, dataset.dataset_id)
    for number, record in enumerate(evaluation_datasets.in_order(records) if own else records, start=1):
        fields = {name: getattr(record, name) for name in ("inputs", "expectations", "outputs", "tags")}
        row = {"id": record.dataset_record_id, **{k: v for k, v in fields.items() if v}}
        place = f"{dataset.name} record {number} ({record.dataset_record_id})"
        yield place, evaluation_datasets.row_of(record) if own and "id" in (record.tags or {}) else row


def _table(path: Path) -> Iterator[files.Row]:
    """A file that dataset=file reads, or what `mlflow.log_table` writes: {"columns": […], "data": [[…], …]}."""
    if path.suffix.lower() != ".json":
        return files.read_rows(path, "a data file", quoting=True)
    content = files.read_json(path)
    if isinstance(content, Mapping) and set(content) >= {"columns", "data"}:
        columns = content["columns"]
        rows = (dict(zip(columns, row, strict=True)) for row in content["data"])
        return ((f"{path.name} row {number}", row) for number, row in enumerate(rows, start=1))
    return files.read_rows(path, "a data file", quoting=True)
