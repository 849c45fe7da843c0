"""What to type next, to be copied."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from harness.inputs.visible import in_line
from harness.report.terminal.summary import console

MANY = 8
"""More folders than this are named by a pattern, where one names them and nothing else."""


def print_next(folders: Sequence[Path], comparable: Sequence[Path], pages: bool) -> None:
    """`comparable`: those of the folders (and maybe an earlier run's) that are on the same data as another one.
    `pages`: the runs are in a store that `harness ui` shows."""
    words = [["compare", *_named(comparable)]] if len(comparable) > 1 else []
    words += [["best", *_named(comparable)]] if len(comparable) > 2 else []
    words += [["report", *_named(folders), "-o", "report.html"]]
    words += [["ui"]] if pages else []
    out = console()
    out.print("next", style="dim")
    for command in words:
        out.print(f"  harness {in_line(' '.join(command))}", soft_wrap=True)


def _named(folders: Sequence[Path]) -> list[str]:
    """The folders, quoted for a shell."""
    parents = {folder.parent for folder in folders}
    if len(folders) > MANY and len(parents) == 1:
        parent = parents.pop()
        if {path for path in parent.iterdir() if not path.name.startswith(".")} == set(folders):
            return [f"{shlex.quote(str(parent))}/*"]
    return [shlex.quote(str(folder)) for folder in folders]
