"""`make notebooks`: executes the notebooks, each in an empty folder, and keeps their outputs; `python -m
notebooks.execute paper`: that one only.

tests/test_notebooks.py executes them the same way and compares what they print with what is kept.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent


def executed(path: Path, folder: Path, steps: int | None = None) -> Any:
    """The notebook with its outputs, executed in `folder`; `steps`: of training, where fewer will do."""
    notebook = nbformat.read(path, as_version=4)
    kept = [cell.source for cell in notebook.cells]
    for cell in notebook.cells:
        if steps is not None:
            cell.source = re.sub(r"--steps \d+", f"--steps {steps}", cell.source)
    path_before = os.environ["PATH"]
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{path_before}"
    try:
        place = {"metadata": {"path": str(folder)}}
        NotebookClient(
            notebook, timeout=900, kernel_name="python3", resources=place, record_timing=False, coalesce_streams=True
        ).execute()
    finally:
        os.environ["PATH"] = path_before
    for cell, source in zip(notebook.cells, kept, strict=True):
        cell.source = source
    return notebook


def printed(notebook: Any) -> list[str]:
    """What the cells print, pictures and HTML left out; seconds, which are never the same, as `…`."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    found = [
        o.get("text") or o.get("data", {}).get("text/markdown") or o.get("data", {}).get("text/plain", "")
        for o in outputs
    ]
    return [re.sub(r"\b\d+(\.\d+)? s\b", "… s", "".join(text)) for text in found]


if __name__ == "__main__":
    for path in sorted(path for path in FOLDER.glob("*.ipynb") if path.stem in (sys.argv[1:] or [path.stem])):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)
        print(path.name)
