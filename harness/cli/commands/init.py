"""`harness init [FOLDER]`: a project to begin with."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    init = commands.add_parser(
        "init",
        help="a project to begin with: harness.yaml, a metric, a data set, an experiment, a test",
        description="Writes a commented harness.yaml, the project file that every command below that folder reads, and "
        "with it an example metric, data set and experiment, and a test for them. What is there is left as it is.",
    )
    init.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="where (default: here)")
    init.set_defaults(call=call)


def call(options: Any) -> None:
    from harness.cli.commands.new_project import FILES
    from harness.cli.output import tell, write_text
    from harness.inputs.project import YAML
    from harness.types import HarnessError

    folder = Path(options.folder)
    if (folder / YAML).exists():
        raise HarnessError(f"{folder / YAML} is there already; expected a folder without one")
    for name, text in FILES.items():
        path = folder / name
        if path.exists():
            tell(f"{path}  is there already, left as it is")
            continue
        with suppress(OSError):  # writing says it
            path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        tell(str(path))
    there = "" if folder == Path() else f"  cd {folder}\n"
    tell(f"\nnext\n{there}  harness run\n  harness run experiment=first\n  python -m pytest")
