"""The command that measures how far scores of an answer against its passage agree with people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import faithful
from tests.conftest import write_jsonl

PASSAGE = "the ferry is run by the harbour office and opened in the spring of 1932"
ROWS = [
    ("it opened in the spring of 1932", "Fully attributable"),
    ("the harbour office runs the ferry", "Fully attributable"),
    ("the ferry is run by the harbour office", "Fully attributable"),
    ("dogs bark at everyone who passes", "Not fully attributable"),
    ("snow fell all night long on the hills", "Not fully attributable"),
    ("no idea", "Generic"),
]


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=12))
def test_the_area_counts_pairs(answers: list[tuple[int, bool]]) -> None:
    values, supported = np.array([v for v, _ in answers], float), np.array([s for _, s in answers])
    if supported.all() or not supported.any():
        return
    pairs = [(a > b) + 0.5 * (a == b) for a in values[supported] for b in values[~supported]]
    assert faithful.area(values, supported) == pytest.approx(np.mean(pairs))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of two folders of different labels, printed and put between the marks of a page."""
    for name in ("labels", "numbers"):
        (tmp_path / name).mkdir()
    rows = [{"response": text, "retrieved_contexts": [PASSAGE], "label": label} for text, label in ROWS]
    write_jsonl(tmp_path / "labels" / "rag.jsonl", rows)
    numbers = [{**row, "consistent": int(row["label"].startswith("Fully"))} for row in rows]
    write_jsonl(tmp_path / "numbers" / "rag.jsonl", numbers)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{faithful.BEGIN}old\n{faithful.END}after\n")
    monkeypatch.setattr(faithful, "PAGE", page)
    monkeypatch.setattr(faithful, "RESAMPLES", 50)
    faithful.main([str(tmp_path / "labels"), str(tmp_path / "numbers"), "--write"])
    printed = capsys.readouterr().out
    assert printed.startswith("| score | labels (3 of 5 supported) | numbers (3 of 6 supported) |\n")
    assert "| BERTScore precision | **1.000** [1.000, 1.000] |" in printed
    assert page.read_text() == f"before\n{faithful.BEGIN}{printed}{faithful.END}after\n"
