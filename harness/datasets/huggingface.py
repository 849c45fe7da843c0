"""`dataset=huggingface dataset.path=cnn_dailymail dataset.name=3.0.0 dataset.split=test`: through `datasets`.

The path is a hub name, a folder of data files, or a folder written by `save_to_disk`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness import files
from harness.datasets.rows import columns_of, examples_of
from harness.types import Example, HarnessError


class HuggingFaceDataset:
    def __init__(
        self,
        path: str,
        split: str,
        name: str | None = None,
        revision: str | None = None,
        columns: Mapping[str, Any] | None = None,
        cluster: str | None = None,
    ) -> None:
        columns_of(columns)
        self.path, self.config, self.split, self.revision = path, name, split, revision
        self.name = Path(path).name
        self.columns = columns
        self.cluster = cluster

    def examples(self) -> Iterator[Example]:
        return examples_of(self._rows(), self.columns, self.cluster)

    def _rows(self) -> Iterator[files.Row]:
        try:
            import datasets
        except ImportError:
            raise HarnessError(
                "dataset=huggingface needs the package datasets, which is not installed; "
                "expected this package with its extra: pip install '.[huggingface]' in a checkout"
            ) from None
        datasets.disable_progress_bars()
        try:
            if (Path(self.path) / "state.json").exists() or (Path(self.path) / "dataset_dict.json").exists():
                loaded = datasets.load_from_disk(self.path)
                if isinstance(loaded, datasets.DatasetDict):
                    if self.split not in loaded:
                        raise ValueError(f'Unknown split "{self.split}". Should be one of {list(loaded)}.')
                    loaded = loaded[self.split]
            else:
                loaded = datasets.load_dataset(self.path, self.config, split=self.split, revision=self.revision)
        except Exception as error:  # datasets raises its own, its hub client's and plain errors alike
            where = f"dataset.path={self.path} dataset.name={self.config} dataset.split={self.split}"
            raise HarnessError(
                f"{where} cannot be loaded: {str(error).strip() or type(error).__name__}; "
                "expected a data set of the hub (while online), a folder of data files or one written by save_to_disk"
            ) from error
        for number, row in enumerate(loaded, start=1):
            yield f"{self.path} [{self.split}] row {number}", dict(row)
