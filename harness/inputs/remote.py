"""Files on an object store or a server, by their address: `s3://bucket/dev.jsonl`.

They are reached through Arrow's file systems (`s3`, `gs`, `abfs`, `hdfs`, `file`), or for other addresses through those
of fsspec. Whoever needs a file whole gets a temporary copy, made in one stream; replicas read ranges of it. A file that
is compressed, here or there, is read through a copy too, which is not.

>>> is_remote("s3://bucket/dev.jsonl"), is_remote("data/dev.jsonl"), name_of("s3://bucket/dev.jsonl")
(True, False, 'dev.jsonl')
>>> stem_of("s3://bucket/dev.jsonl"), stem_of("data/dev.jsonl.gz")
('dev', 'dev')
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from harness.inputs.files import BLOCK
from harness.types import HarnessError

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def is_remote(path: str) -> bool:
    return ADDRESS.match(path) is not None


def name_of(url: str) -> str:
    """The last part of its path."""
    return PurePosixPath(urlsplit(url).path).name


def stem_of(given: str) -> str:
    """The name of a path or an address, without its endings."""
    name = PurePosixPath(name_of(given) if is_remote(given) else Path(given).name)
    return PurePosixPath(name.stem).stem if is_compressed(given) else name.stem


def suffix_of(given: str) -> str:
    """What the file is, compressed or not: `.jsonl`."""
    path = PurePosixPath(given)
    return PurePosixPath(path.stem if is_compressed(given) else path.name).suffix.lower()


def is_compressed(given: str) -> bool:
    return PurePosixPath(given).suffix.lower() in COMPRESSED


def on_disk(given: str, expected: str) -> Path:
    """The file of a path or an address on this machine, not compressed."""
    path = fetched(given, expected) if is_remote(given) else Path(given)
    return _expanded(path, expected) if is_compressed(given) and path.is_file() else path


@cache
def _expanded(path: Path, expected: str) -> Path:
    """A copy of a compressed file that is not."""
    import pyarrow as pa

    copied = _folder() / path.stem
    with (
        _explained(str(path), expected),
        pa.OSFile(str(path)) as file,
        pa.CompressedInputStream(file, COMPRESSED[path.suffix.lower()]) as source,
        open(copied, "wb") as copy,
    ):
        while piece := source.read(BLOCK):
            copy.write(piece)
    return copied


def _folder() -> Path:
    """A new one, which is gone when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="harness-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def fetched(url: str, expected: str) -> Path:
    """A copy of the file, which is gone when the process ends."""
    path = _folder() / (name_of(url) or "file")
    with _explained(url, expected), opened(url) as source, open(path, "wb") as copy:
        while piece := source.read(BLOCK):
            copy.write(piece)
    _copies[url] = path
    return path


_copies: dict[str, Path] = {}


def copy_of(url: str) -> Path | None:
    """The copy of the file that this process has made, if it has."""
    return _copies.get(url)


def size_of(url: str) -> int:
    system, path = _system(url)
    return int(system.get_file_info(path).size or 0)


def read_range(url: str, start: int, stop: int) -> bytes:
    with _explained(url, "a file that can be read in parts"), opened(url) as file:
        file.seek(start)
        return bytes(file.read(stop - start))


@contextmanager
def opened(url: str) -> Iterator[Any]:
    system, path = _system(url)
    with system.open_input_file(path) as file:
        yield file


@cache
def _system(url: str) -> tuple[Any, str]:
    """(the file system, the path in it)."""
    import pyarrow as pa
    from pyarrow import fs

    try:
        system, path = fs.FileSystem.from_uri(url)
        return system, str(path)
    except pa.ArrowInvalid:  # not one of Arrow's own
        pass
    try:
        import fsspec
    except ImportError:
        raise HarnessError(f"{url} needs fsspec, which is not installed; expected pip install fsspec") from None
    system, path = fsspec.core.url_to_fs(url)
    return fs.PyFileSystem(fs.FSSpecHandler(system)), str(path)


@contextmanager
def _explained(url: str, expected: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (OSError, ValueError, ImportError, pa.ArrowException) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise HarnessError(f"{url} cannot be read ({reason}); expected {expected}") from None
