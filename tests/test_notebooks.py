"""The notebooks run from an empty folder, and print what is kept in them."""

from __future__ import annotations

import warnings
from pathlib import Path

import nbformat
import pytest

import harness
from notebooks.execute import FOLDER, executed, printed

NOTEBOOKS = [
    ("compare", "lexrank"), ("paper", "lexrank"), ("rag", "faithfulness"),
    pytest.param("sweep", "sentences", marks=pytest.mark.slow),
]  # fmt: skip
"""With a word that each prints."""
SMALL = 300_000
"""Bytes of a notebook with its outputs."""


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings.filterwarnings("ignore", module="(zmq|jupyter_client|nbclient|traitlets).*")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "word"), NOTEBOOKS)
def test_a_notebook_prints_what_is_kept_in_it(name: str, word: str, tmp_path: Path) -> None:
    kept = printed(nbformat.read(FOLDER / f"{name}.ipynb", as_version=4))
    assert printed(executed(FOLDER / f"{name}.ipynb", tmp_path)) == kept, "make notebooks keeps what they print now"
    assert any(word in text for text in kept)
    for table in tmp_path.glob("*.tex"):  # as a paper's CI would
        verified = harness.verify([table], tmp_path / "runs")
        assert verified.findings == [] and verified.numbers > 10


@pytest.mark.slow
def test_the_learning_curve_is_drawn(tmp_path: Path) -> None:
    made = executed(FOLDER / "checkpoints.ipynb", tmp_path, steps=25)
    outputs = [output for cell in made.cells if cell.cell_type == "code" for output in cell.outputs]
    rows = printed(made)[0].splitlines()[1:]
    assert [row.split()[1] for row in rows] == ["5", "10", "15", "20", "25"]
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_is_kept_is_small_and_whole(path: Path) -> None:
    text = path.read_text()
    assert len(text) < SMALL
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    assert str(Path.home()) not in text and "/tmp" not in text
