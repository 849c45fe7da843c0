"""What a bundle says of its runs, beside what they are: the files that belong to it, the rows of README.md, the
fingerprints and sums of DATA.md, the results that CITATION.cff names.

SHA256SUMS lies in the bundle itself, and whoever changes a file can write it anew. So all that follows from the runs is
taken from them: a bundle without its comparisons is no bundle of these runs, whatever its list says.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.analysis.papers.bundling import COMPARISONS, PACKED, SUFFIXES, TEXTLESS, comparable, described
from harness.analysis.stored.loading import load_run
from harness.inputs import regular
from harness.report import bundle_texts
from harness.report.bundle_texts import About
from harness.store import finished, zipped
from harness.store.textless import HASHED
from harness.types import HarnessError
from harness.types.reproductions import Difference

ABOUT = ("README.md", "DATA.md", "CITATION.cff", "bundle.json", zipped.SUMS)
TABLES = tuple(f"tables/scores.{suffix}" for suffix in SUFFIXES.values())
FIGURE = re.compile(r"figures/[^/]+\.svg")
MADE = re.compile(r"`((?:tables|figures)/[^`/]+|comparisons\.json)`")
DATA = ("## ", "- examples: ", "- fingerprint: ", "- texts in this bundle: ", "| ")
"""How lines of DATA.md begin that follow from the runs; licences are the packer's word."""
RESULT = re.compile(r"^ *-? *value: *(\S+)$", re.MULTILINE)


def stated_differences(place: Path, folders: Sequence[Path]) -> list[Difference]:
    """Of an unpacked bundle with these run folders; those that cannot be read say so elsewhere."""
    try:
        manifests = {
            folder.relative_to(place.absolute()).as_posix(): finished.documents(folder)[0] for folder in folders
        }
        tested = comparable([load_run(folder) for folder in folders])
    except HarnessError:
        return []
    there = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    about = About(texts=all(manifest.get("texts") != HASHED for manifest in manifests.values()))
    readme = _text(place / "README.md")
    results = [manifest["result"] for manifest in manifests.values() if manifest.get("result")]
    stated_rows = [line for line in readme.splitlines() if line.startswith("| `runs/")]
    stated_data, data = (
        [line for line in text.splitlines() if line.startswith(DATA)]
        for text in (_text(place / "DATA.md"), bundle_texts.data_card(manifests, about))
    )
    made = {name for name in there if name in (*TABLES, COMPARISONS) or FIGURE.fullmatch(name)}
    packed = {f"{folder}/{file}" for folder in manifests for file in (PACKED if about.texts else TEXTLESS)}
    differences = list(_files(there, packed, tested))
    if described(place).get("texts") != about.texts:
        differences.append(Difference("bundle.json", "texts", described(place).get("texts"), about.texts))
    differences += _apart("README.md", stated_rows, bundle_texts.run_rows(manifests))
    typed = [line.removeprefix("$ ") for line in readme.splitlines() if line.startswith("$ ")]
    differences += _apart("README.md", typed, bundle_texts.commands(_zip_of(typed)))
    named = set(MADE.findall(readme))
    differences += [
        Difference("README.md", f"names {name!r}, which is not there", None, None) for name in sorted(named - made)
    ]
    differences += [Difference("README.md", f"does not name {name!r}", None, None) for name in sorted(made - named)]
    differences += _apart("DATA.md", stated_data, data)
    differences += _apart("CITATION.cff", RESULT.findall(_text(place / "CITATION.cff")), results)
    return differences


def _files(there: set[str], packed: set[str], tested: bool) -> Iterator[Difference]:
    """What a bundle of these runs has and this one has not, and the other way round."""
    needed = {*ABOUT, *TABLES, *([COMPARISONS] if tested else [])}
    for name in sorted(needed - there):
        yield Difference(name, "is missing; a bundle of these runs has it", None, None)
    listed = {name.rpartition("/")[0] for name in packed}
    strangers = {name for name in there - needed - packed if not FIGURE.fullmatch(name)}
    unlisted = {folder for name in strangers if (folder := _run_of(name)) and folder not in listed}
    for name in sorted(unlisted):
        yield Difference(name, "is a run that bundle.json does not list", None, None)
    for name in sorted(name for name in strangers if _run_of(name) not in unlisted):
        yield Difference(name, "is no file of a bundle of these runs", None, None)


def _run_of(name: str) -> str | None:
    """The run folder that a file lies in."""
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "runs" and len(parts) > 2 else None


def _zip_of(commands: Sequence[str]) -> str:
    """What the bundle was called when it was packed, by the first command that checks it."""
    try:
        return shlex.split(commands[0])[2]
    except (IndexError, ValueError):
        return About.file


def _apart(name: str, stated: Sequence[str], true: Sequence[str]) -> list[Difference]:
    """Lines that a file has and should not have, and those that it lacks."""
    wrong = [f"says {line!r}, which the runs do not" for line in stated if line not in true]
    lacking = [f"does not say {line!r}" for line in true if line not in stated]
    return [Difference(name, what, None, None) for what in (*wrong, *lacking)]


def _text(path: Path) -> str:
    """Of a file that may not be there, which is said of the files."""
    try:
        return regular.read(path).decode("utf-8", "replace")
    except OSError:
        return ""
