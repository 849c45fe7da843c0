"""A zip file of many files: packed to the same bytes from the same content, and unpacked with care, since it may come
from anyone.

Members that leave the folder, links, a name twice (in whatever case of letters) and contents that are far larger than
they look are refused before anything is written.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from harness.types import HarnessError

DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError, OSError, ValueError,
)  # fmt: skip
"""What reading a file that is no zip, or half of one, raises."""
WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of every member: the earliest that the format has."""
SUMS = "SHA256SUMS"
MOST_MEMBERS = 100_000
MOST_PARTS = 8
"""Folders within folders: a bundle has two, and a thousand can hardly be removed again."""
LONGEST = 80
"""Characters of a member's name that a message shows."""
MOST_BYTES = 1 << 30
MOST_TIMES = 100
"""A gigabyte, or a hundred times the file: tables of numbers become a tenth of their size, hardly less."""


def packed(files: Mapping[str, bytes]) -> bytes:
    """The zip file, with a list of the SHA-256 of all members as `sha256sum -c` reads it."""
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in sorted({**files, SUMS: sums.encode()}.items()):
            member = zipfile.ZipInfo(name, WHEN)
            member.create_system = 3  # Unix, wherever it is packed
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return buffer.getvalue()


def unpack(path: Path, folder: Path) -> None:
    """Puts the members into an empty folder."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            _check(path, members)
            for member in members:
                place = folder / member.filename
                place.parent.mkdir(parents=True, exist_ok=True)
                left = member.file_size
                with archive.open(member) as source, open(place, "xb") as copy:
                    while piece := source.read(min(left, 1 << 20) + 1):
                        left -= len(piece)
                        if left < 0:
                            raise HarnessError(f"{path}: {member.filename} is larger than it says; expected a bundle")
                        copy.write(piece)
    except DAMAGED as error:
        raise HarnessError(f"{path} cannot be unpacked ({error}); expected a zip that harness bundle wrote") from None


def _check(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """Refuses what would leave the folder or fill the disk."""
    names = [member.filename for member in members]
    for member in members:
        name = member.filename
        parts = PurePosixPath(name).parts
        outside = name.startswith(("/", "\\")) or ".." in parts or "\\" in name or ":" in name or "\0" in name
        plain = name.isprintable() and "/".join(parts) == name and len(parts) <= MOST_PARTS
        if outside or not plain:
            raise HarnessError(
                f"{path} has the member {name[:LONGEST]!r}, which leaves the folder or is no plain name; "
                "expected names inside it"
            )
        mode = member.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise HarnessError(f"{path}: {name!r} is no plain file; expected plain files only")
    if len(names) > MOST_MEMBERS:
        raise HarnessError(f"{path} has {len(names):,} members; expected at most {MOST_MEMBERS:,}")
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if other is not name:
            both = f"{name!r} twice" if other == name else f"{other!r} and {name!r}, one file on some disks"
            raise HarnessError(f"{path} has {both}; expected every file once")
    total = sum(member.file_size for member in members)
    if total > max(MOST_BYTES, MOST_TIMES * path.stat().st_size):
        raise HarnessError(f"{path} would become {total:,} bytes; expected at most {MOST_TIMES} times its size")


def changed(folder: Path) -> Iterator[tuple[str, str | None, str | None]]:
    """(name, SHA-256 in the list, SHA-256 of the file) of each file that is not as the list says; None: not there."""
    listed = {}
    for line in (folder / SUMS).read_text("utf-8", "replace").splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    there = {
        p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file() and p != folder / SUMS
    }
    for name in sorted({*listed, *there}):
        here = hashlib.sha256(there[name].read_bytes()).hexdigest() if name in there else None
        if here != listed.get(name):
            yield name, listed.get(name), here
