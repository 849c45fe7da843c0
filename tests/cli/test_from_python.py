"""`harness.run(…)`: the command from Python."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

import harness
from harness.types import RunResult, RunResults

WORDS = ("dataset=file", "dataset.path=dev.jsonl", "system=predictions", "metrics=[bleu]", "tracking=none", "stats.resamples=50")  # fmt: skip


@pytest.fixture
def here(files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(files)
    return files


def test_the_run_is_returned_and_nothing_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.argv, list(sys.path), logging.getLogger().handlers[:]
    run = harness.run(*WORDS, "system.path=good.jsonl")
    assert isinstance(run, RunResult)
    assert run.path is not None and (run.path / "scores.json").exists() and "bleu" in run.scores
    assert capsys.readouterr().out == ""
    assert (sys.argv, sys.path, logging.getLogger().handlers) == before
    again = harness.run(*WORDS, "system.path=good.jsonl", "--json")
    assert isinstance(again, RunResult) and again.path == run.path


def test_several_are_a_list(here: Path) -> None:
    runs = harness.run("--multirun", *WORDS, "system.path=good.jsonl,bad.jsonl")
    assert isinstance(runs, RunResults)
    assert len(runs) == 2 and repr(runs).startswith("2 runs\n")
    assert harness.compare(runs, resamples=50)[0].score == "bleu"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("system.path=none.jsonl", "none.jsonl"),
        ("sistem=lead", "sistem"),
        ("system.pth=good.jsonl", "pth"),
        ("--dry-run", "--dry-run runs nothing"),
    ],
)
def test_what_is_wrong_is_raised(here: Path, capsys: pytest.CaptureFixture[str], word: str, message: str) -> None:
    with pytest.raises(harness.HarnessError, match=message):
        harness.run(*WORDS, word)
    assert "harness: " not in capsys.readouterr().err


def test_a_cell_that_fails_is_told_after_the_others_ran(here: Path) -> None:
    with pytest.raises(harness.HarnessError, match="^path=none.jsonl: none.jsonl does not exist"):
        harness.run("--multirun", *WORDS, "system.path=good.jsonl,none.jsonl")
    assert len(harness.runs()) == 1


def test_the_room_is_imported_by_the_same_name() -> None:
    from harness.run import runner

    assert harness.run.runner is runner and callable(harness.run)  # type: ignore[attr-defined]
