"""How the package is built: `python -m benchmarks.house [REVISION…]`, the table of docs/decisions/0009-the-house.md.

A revision is anything that git knows; `.` is the working tree. What is counted is said in the table's first column.
A module is touched by an example if one of its functions is called, in any thread, while `harness run` evaluates that
example: `limit=1`, a baseline, BLEU, ROUGE and no tracking, in an empty folder. What Numba compiled is not seen.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
KINDS = ("datasets", "systems", "metrics")
PARAMETERS = 6
EXAMPLE = ["run", "dataset=embedded", "limit=1", "system=lead", "metrics=lexical", "tracking=none", "progress=false"]
WATCH = """
import contextlib, io, json, sys, threading
touched = set()
def watch(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & 1:  # a function; bodies of modules and classes have no fast locals
        touched.add(frame.f_globals.get("__name__", ""))
from harness.cli{main} import main
threading.setprofile(watch)
sys.setprofile(watch)
with contextlib.redirect_stdout(io.StringIO()):
    try:
        main(sys.argv[1:])
    except SystemExit as ended:
        assert not ended.code, ended
sys.setprofile(None)
def ours(names):
    return sorted(name for name in names if name == "harness" or name.startswith("harness."))
print(json.dumps([ours(touched), ours(sys.modules)]))
"""


def exported(revision: str, folder: Path) -> Path:
    """The files of a revision, in a folder."""
    if revision == ".":
        return ROOT
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


def touched(tree: Path, folder: Path) -> tuple[int, int, int]:
    """How many modules an example touches, in how many places at the package's root, and how many are loaded."""
    main = ".main" if (tree / "harness" / "cli").is_dir() else ""
    environment = {**os.environ, "PYTHONPATH": str(tree), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", WATCH.replace("{main}", main), *EXAMPLE]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{tree}: {ended.stderr}")
    calls, loads = json.loads(ended.stdout.splitlines()[-1])
    return len(calls), len({name.split(".")[1] for name in calls if "." in name}), len(loads)


def duplicates(files: list[Path], package: Path) -> list[str]:
    """Names of modules that are used twice; a kind of data set, system and metric may share one."""
    named = [path for path in files if path.name != "__init__.py"]
    kinds = {path.stem for path in named if path.parent.parent == package and path.parent.name in KINDS}
    others = [path for path in named if path.parent.parent != package or path.parent.name not in KINDS]
    return sorted(name for name, times in Counter([*kinds, *(path.stem for path in others)]).items() if times > 1)


def long_signatures(files: list[Path]) -> int:
    """Functions with more than six parameters; constructors, whose parameters are options, and kernels apart."""
    count = 0
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name == "__init__":
                continue
            if any(ast.unparse(decorator).endswith("compiled") for decorator in node.decorator_list):
                continue
            names = [a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
            count += len([name for name in names if name not in ("self", "cls")]) > PARAMETERS
    return count


def measured(tree: Path, folder: Path) -> dict[str, str]:
    """The cells of one revision, by row."""
    package = tree / "harness"
    files = sorted(package.rglob("*.py"))
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    root = [path for path in files if path.parent == package and not path.name.startswith("__")]
    longest = max(files, key=lines.__getitem__)
    calls, places, loads = touched(tree, folder)
    twice = len(duplicates(files, package))
    return {
        "modules": f"{len(files)}",
        "modules at the root of harness/": f"{len(root)}",
        "their lines": f"{sum(lines[path] for path in root):,}",
        "longest file, lines": f"{lines[longest]:,} ({longest.relative_to(package)})",
        "median file, lines": f"{sorted(lines.values())[len(files) // 2]}",
        "modules touched by one example": f"{calls}",
        "rooms and loose modules that these are in": f"{places}",
        "modules loaded by that command": f"{loads}",
        "functions with more than six parameters (constructors and kernels apart)": f"{long_signatures(files)}",
        "names of modules used twice (kinds of data sets, systems and metrics apart)": f"{twice}",
    }


def main(revisions: list[str]) -> None:
    columns = []
    for revision in revisions:
        with tempfile.TemporaryDirectory() as files, tempfile.TemporaryDirectory() as empty:
            columns.append(measured(exported(revision, Path(files)), Path(empty)))
    print(f"| | {' | '.join('now' if revision == '.' else revision for revision in revisions)} |")
    print(f"| --- |{' ---: |' * len(revisions)}")
    for row in columns[0]:
        print(f"| {row} | {' | '.join(column[row] for column in columns)} |")


if __name__ == "__main__":
    main(sys.argv[1:] or ["30ee394", "."])
