"""What to type next, to be copied."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from harness.inputs.visible import in_line
from harness.report.terminal.summary import console

FEW, MANY = 2, 6
"""Up to so many folders are written out; of more, a pattern or the runs' names where these say the same, up to MANY."""
KEYED = re.compile(r"(.+)-[0-9a-f]{8}")
"""A run folder: its run's name and key."""


def print_next(
    folders: Sequence[Path],
    comparable: Sequence[Path],
    pages: bool,
    sweep: str | None = None,
    passed_over: Collection[Path] = (),
) -> None:
    """`comparable`: those of the folders (and maybe an earlier run's) that are on the same data as another one.
    `pages`: the runs are in a store that `harness ui` shows. `sweep`: the sweep whose cells they are. `passed_over`:
    folders beside them that every command leaves out by itself."""
    group = sweep if sweep is not None and not Path(sweep).exists() and len(folders) > FEW else None

    def words_for(paths: Sequence[Path]) -> list[str]:
        if short := _short(paths, passed_over):
            return short
        return [shlex.quote(group)] if group is not None and {*paths} == {*folders} else _spelt(paths)

    others, named = words_for(comparable), words_for(folders)
    words = [] if sweep is None else [["sweep", shlex.quote(sweep)]]
    words += [["compare", *others]] if others and len(comparable) > 1 else []
    words += [["best", *others]] if others and len(comparable) > 2 else []
    words += [["report", *named, "-o", "report.html"]] if named else [["runs"]]
    words += [["ui"]] if pages else []
    out = console()
    out.print("next", style="dim")
    for command in words:
        out.print(f"  harness {in_line(' '.join(command))}", soft_wrap=True)


def _short(folders: Sequence[Path], passed_over: Collection[Path]) -> list[str]:
    """Few words for many folders, quoted for a shell: a pattern, or the names of their runs; nothing where there are
    none, or few folders."""
    parents = {folder.parent for folder in folders}
    if len(folders) <= FEW or len(parents) > 1:
        return []
    parent = next(iter(parents))
    if (pattern := _pattern(parent, set(folders), {*folders, *passed_over})) is not None:
        return [pattern]
    names = [match[1] for folder in folders if (match := KEYED.fullmatch(folder.name))]
    just_made = parent.parts[:1] == ("runs",)  # so that they are the newest of their names
    return [shlex.quote(name) for name in names] if len(set(names)) == len(folders) <= MANY and just_made else []


def _spelt(folders: Sequence[Path]) -> list[str]:
    """All of them; nothing where that would be too long to read."""
    return [shlex.quote(str(folder)) for folder in folders] if len(folders) <= MANY else []


def _pattern(parent: Path, folders: Collection[Path], allowed: Collection[Path]) -> str | None:
    """A shell's pattern that matches these folders and nothing that is not allowed: all of the parent, or all that
    begin with the words that their names begin with; None where there is none."""
    beside = [path for path in parent.iterdir() if not path.name.startswith(".")]
    shared = os.path.commonprefix([folder.name for folder in folders])  # noqa: RUF071  # letter by letter
    for start in ("", shared[: shared.rfind("-") + 1]):
        if set(folders) <= {path for path in beside if path.name.startswith(start)} <= set(allowed):
            return f"{shlex.quote(f'{parent}/{start}') if start else f'{shlex.quote(str(parent))}/'}*"
    return None
