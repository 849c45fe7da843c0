"""What cells of a sweep are called, and what their folders tell while they are not finished."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.store.sweep_cells import LONGEST, NAME, cell, label, short_names, told_apart, working
from harness.types import HarnessError


def test_labels() -> None:
    assert label({"system.temperature": 0.7, "system.top_p": None}) == "temperature=0.7 top_p=null"
    assert label({"system": "lead", "dataset": "a", "metrics": ["bleu", "ter"]}) == (
        'lead dataset=a metrics=["bleu", "ter"]'
    )
    assert label({"system.prompt": "one\ntwo"}) == "prompt=one\\ntwo"
    long = label({"p": "x" * 100 + "end"})
    assert long.startswith("p=xxx") and long.endswith("end") and len(long) == len("p=") + LONGEST


def test_values_that_differ_have_names_that_differ() -> None:
    path = "/data/outputs/{}/{}/predictions-of-all-examples.jsonl"
    values = [
        *("a" * 100, "a" * 101, "a" * 50 + "b" + "a" * 50), *(path.format(a, b) for a in "xy" for b in "xy"),
        *(0.12345678901234, 0.12345678901235), *(1, True, 1.0, "1", "true", None, "null", "", [1, 2], "[1, 2]"),
    ]  # fmt: skip
    names = told_apart(values)
    assert len(set(names)) == len(values) and max(map(len, names)) < LONGEST + 2
    assert told_apart(["null", "0.5"]) == ["null", "0.5"]  # alone they need no quotes


def test_names_are_as_long_as_tells_them_apart() -> None:
    assert short_names(["system.a.model", "metrics.b.model", "limit"]) == {
        "system.a.model": "a.model",
        "metrics.b.model": "b.model",
        "limit": "limit",
    }
    assert short_names(["model", "system.model"]) == {"model": "model", "system.model": "system.model"}


def test_a_folder_tells_of_its_cell_until_it_is_finished(tmp_path: Path) -> None:
    folder, own = tmp_path / "run", cell({"system.n": 1}, 0)
    with working(folder, "g", own, "now"):
        noted = json.loads((folder / NAME).read_text())
        assert (noted["group"], noted["cell"]["label"], "error" in noted) == ("g", "n=1", False)
    assert not (folder / NAME).exists()
    for error, said in ((HarnessError("no room"), "no room"), (ValueError("odd"), "ValueError: odd")):
        with pytest.raises(type(error)), working(folder, "g", own, "now"):
            raise error
        assert json.loads((folder / NAME).read_text())["error"] == said
    with pytest.raises(KeyboardInterrupt), working(folder, "g", own, "now"):
        raise KeyboardInterrupt
    assert "error" not in json.loads((folder / NAME).read_text())


def test_a_run_of_its_own_is_no_cell(tmp_path: Path) -> None:
    with working(tmp_path / "run", None, None, "now"):
        assert not (tmp_path / "run").exists()
