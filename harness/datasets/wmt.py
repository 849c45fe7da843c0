"""`dataset=wmt dataset.testset=wmt22 dataset.langpair=de-en`: a WMT (or IWSLT, MTNT …) test set through sacreBLEU.

sacreBLEU downloads the set on first use and keeps it in ~/.sacrebleu (or the folder that the environment variable
SACREBLEU names); `sacrebleu --list` names all sets. Source and references are those that `sacrebleu -t` scores against,
one example per line, ids are line numbers from 1. What sacreBLEU knows of a line's document is metadata: `docid`,
`origlang`, `genre`, `domain`, so that `dataset.cluster=docid` resamples documents and
`'dataset.filter="origlang == \\"de\\""'` keeps what was written in German.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.datasets.text import by_line
from harness.inputs import files
from harness.types import BlockDataset, Examples, HarnessError, nearest

METADATA = ("docid", "origlang", "genre", "domain")


class WmtDataset(BlockDataset):
    def __init__(self, testset: str, langpair: str, cluster: str | None = None) -> None:
        self.testset, self.langpair, self.cluster = testset, langpair, cluster
        self.name = f"{testset}-{langpair}"

    def blocks(self) -> Iterator[Examples]:
        source, references, others = self._files
        if self.cluster is not None and self.cluster not in others:
            raise HarnessError(
                f"{self.testset} {self.langpair} has no {self.cluster!r}; found: {', '.join(others) or 'nothing'} "
                f"(dataset.cluster={self.cluster})"
            )
        yield from by_line(source, references, others)

    def about(self) -> dict[str, str]:
        from importlib.metadata import version

        source, references, others = self._files
        hashes = [files.file_digest(Path(path)) for path in (source, *references, *others.values())]
        return {"sacrebleu": version("sacrebleu"), "sha256": files.digest(hashes)}

    @cached_property
    def _files(self) -> tuple[str, list[str], dict[str, str]]:
        """(the file of sources, those of references, those of metadata by field), downloaded on first use."""
        from sacrebleu.dataset import DATASETS
        from sacrebleu.utils import SACREBLEU_DIR

        testset = _known(DATASETS, self.testset, "dataset.testset")
        _known(testset.langpairs, self.langpair, f"dataset.langpair of {self.testset}")
        logging.getLogger("sacrebleu").setLevel(logging.ERROR)
        try:
            fields = dict(zip(testset.fieldnames(self.langpair), testset.get_files(self.langpair), strict=True))
            source, references = testset.get_source_file(self.langpair), testset.get_reference_files(self.langpair)
        except (Exception, SystemExit) as error:  # sacreBLEU exits where a checksum is wrong
            reason = str(error) if isinstance(error, Exception) else "the download is damaged, see above"
            raise HarnessError(
                f"{self.testset} {self.langpair} is not available ({reason}); expected a network on first use, or "
                f"sacreBLEU's files of the set in {SACREBLEU_DIR} (the environment variable SACREBLEU names another)"
            ) from None
        return source, references, {name: fields[name] for name in METADATA if name in fields}


def _known(names: Any, name: str, option: str) -> Any:
    if name not in names:
        listed = ", ".join(sorted(names)[:8])
        more = f" and {len(names) - 8} more (sacrebleu --list)" if len(names) > 8 else ""
        raise HarnessError(
            f"{option}={name} is not known to sacreBLEU{nearest(name, names)}; expected one of {listed}{more}"
        )
    return names[name]
