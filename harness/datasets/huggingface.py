"""`dataset=huggingface dataset.path=cnn_dailymail dataset.name=3.0.0 dataset.split=test`: through `datasets`.

The path is a hub name, a folder of data files, or a folder written by `save_to_disk`. What was read is pinned in the
manifest: the commit that the hub resolved `dataset.revision` to, or a hash of the data files. `dataset.streaming=true`
reads a hub's files row by row as they arrive instead of downloading and converting all of them first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from harness.inputs import files
from harness.inputs.blocks import examples_in_parts
from harness.inputs.parts import Part, in_one, parts_of
from harness.inputs.rows import Columns, Reader
from harness.types import BlockDataset, Examples, HarnessError

AT_ONCE = 1024
"""Rows that are taken from a table together."""
COMMIT = re.compile(r"[0-9a-f]{40}")


class HuggingFaceDataset(BlockDataset):
    def __init__(
        self,
        path: str,
        split: str,
        name: str | None = None,
        revision: str | None = None,
        streaming: bool = False,
        columns: Mapping[str, Any] | None = None,
        cluster: str | None = None,
    ) -> None:
        Columns(columns)  # says now what is wrong with them
        self.path, self.config, self.split, self.revision = path, name, split, revision
        self.streaming = streaming
        self.name = Path(path).name
        self.columns = columns
        self.cluster = cluster
        self._about: dict[str, str] = {}

    def blocks(self) -> Iterator[Examples]:
        yield from examples_in_parts(self._parts(), Reader(self._rows, self.columns, self.cluster))

    def about(self) -> Mapping[str, str]:
        return self._about

    def _parts(self) -> Iterator[Part]:
        loaded = self._loaded()
        if self.streaming or not _plain(loaded.features):
            yield from parts_of(self._rows_of(loaded))
            return
        tables, before = iter(loaded.with_format("arrow").iter(AT_ONCE)), 0
        while True:
            try:
                table = next(tables)
            except StopIteration:
                return
            except Exception:  # a file in the middle: reading on row by row says after which row
                yield Part(None, partial(self._rows_of, loaded, before))
                return
            columns = dict(zip(table.column_names, (in_one(column) for column in table.columns), strict=True))
            last = before + table.num_rows
            yield Part(columns, partial(self._rows_of, loaded, before, last))
            before = last

    def _rows(self) -> Iterator[files.Row]:
        return self._rows_of(self._loaded())

    def _rows_of(self, loaded: Any, before: int = 0, last: int | None = None) -> Iterator[files.Row]:
        """All rows, or those from one to another."""
        if before or last is not None:
            loaded = loaded.select(range(before, len(loaded) if last is None else last))
        number = before
        rows = iter(loaded)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except Exception as error:  # a file in the middle, a connection
                raise HarnessError(
                    f"{self.path} [{self.split}] cannot be read after row {number}: {str(error).strip()}"
                ) from error
            number += 1
            yield f"{self.path} [{self.split}] row {number}", dict(row)

    def _loaded(self) -> Any:
        """The rows, opened; what pins them is known from now on."""
        try:
            import datasets
        except ImportError:
            raise HarnessError(
                "dataset=huggingface needs the package datasets, which is not installed; "
                "expected this package with its extra: pip install '.[huggingface]' in a checkout"
            ) from None
        datasets.disable_progress_bars()
        saved = any((Path(self.path) / name).exists() for name in ("state.json", "dataset_dict.json"))
        try:
            loaded, sources, commit = self._saved() if saved else self._built()
        except Exception as error:  # datasets raises its own, its hub client's and plain errors alike
            where = f"dataset.path={self.path} dataset.name={self.config} dataset.split={self.split}"
            raise HarnessError(
                f"{where} cannot be loaded: {str(error).strip() or type(error).__name__}; "
                "expected a data set of the hub (while online), a folder of data files or one written by save_to_disk"
            ) from error
        self._about = _pins(sources, commit)
        return loaded

    def _saved(self) -> tuple[Any, list[str], str | None]:
        """(rows, the files they come from, None)."""
        import datasets

        loaded = datasets.load_from_disk(self.path)
        if isinstance(loaded, datasets.DatasetDict):
            if self.split not in loaded:
                raise ValueError(f'Unknown split "{self.split}". Should be one of {list(loaded)}.')
            loaded = loaded[self.split]
        return loaded, [file["filename"] for file in loaded.cache_files], None

    def _built(self) -> tuple[Any, list[str], str | None]:
        """(rows, the local files they come from, the hub's commit)."""
        import datasets

        builder = datasets.load_dataset_builder(self.path, self.config, revision=self.revision)
        if self.streaming:
            loaded = builder.as_streaming_dataset(split=self.split)
        else:
            builder.download_and_prepare()
            loaded = builder.as_dataset(split=self.split)
        data_files = builder.config.data_files or {}
        sources = [str(file) for paths in data_files.values() for file in paths]
        commit = builder.hash if builder.repo_id and COMMIT.fullmatch(builder.hash or "") else None
        if COMMIT.fullmatch(self.revision or "") and commit != self.revision:  # offline, datasets takes what is cached
            raise ValueError(
                f"what is cached is of the revision {commit}, not dataset.revision={self.revision}: the same command "
                f"while online (HF_HUB_OFFLINE=0) gets that one, dataset.revision={commit} takes what is cached"
            )
        return loaded, [] if builder.repo_id else sources, commit


def _plain(feature: Any) -> bool:
    """Whether rows are what Arrow has: nothing is to be decoded, such as images."""
    import datasets

    if isinstance(feature, Mapping):
        return all(map(_plain, feature.values()))
    if isinstance(feature, list | tuple):
        return all(map(_plain, feature))
    if isinstance(feature, datasets.Value | datasets.ClassLabel | datasets.Translation):
        return True
    return hasattr(feature, "feature") and _plain(feature.feature)


def _pins(sources: list[str], commit: str | None) -> dict[str, str]:
    """The commit of a hub, or the hash of local files by their names and contents."""
    if commit is not None:
        return {"revision": commit}
    local = sorted(path for path in map(Path, sources) if path.is_file())
    if not local:
        return {}
    return {
        "files": str(len(local)),
        "sha256": files.digest([[path.name, files.file_digest(path)] for path in local]),
    }
