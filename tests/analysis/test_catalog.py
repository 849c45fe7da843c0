"""Which runs are offered for a comparison, from their records alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.stored import catalog
from harness.analysis.stored.catalog import newest_comparable, side_by_side
from harness.store.records import record
from harness.types import RunRecord
from tests.made_up import write_run


def made(folder: Path, metrics: dict[str, str], **more: Any) -> RunRecord:
    """A run with these metrics by their signatures, each with one score of its name."""
    scores = dict.fromkeys(metrics, (1.0, 0.0, 2.0))
    return record(write_run(folder, folder.name, scores=scores, signatures=metrics, **more))


@pytest.mark.parametrize(
    ("metrics", "kept"),
    [
        ([{"bleu": "a"}, {"bleu": "a"}, {"bleu": "a"}], [0, 1, 2]),
        ([{"bleu": "a"}, {"chrf": "a"}], [0]),
        ([{"bleu": "a"}, {"bleu": "b"}, {"bleu": "a"}], [0, 2]),
        ([{"bleu": "a", "ter": "x"}, {"bleu": "a"}, {"ter": "x"}], [0, 1]),
        ([{"bleu": "a", "ter": "x"}, {"bleu": "a", "ter": "y"}], [0]),  # of which one cannot be compared: refused
        ([{"bleu": "a"}, {}], [0]),
    ],
)
def test_runs_that_can_be_shown_together(tmp_path: Path, metrics: list[dict[str, str]], kept: list[int]) -> None:
    runs = [made(tmp_path / str(i), own) for i, own in enumerate(metrics)]
    assert side_by_side(runs) == [runs[i] for i in kept]


def test_runs_on_other_data_are_beside_them(tmp_path: Path) -> None:
    runs = [made(tmp_path / name, {"bleu": "a"}, dataset=name[0]) for name in ("x1", "y1", "x2")]
    assert side_by_side(runs) == runs


def test_few_folders_are_read_for_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(60):
        made(tmp_path / f"old-{i}", {"bleu": "a"}, ended=f"2026-03-01T10:00:{i:02}+00:00")
        os.utime(tmp_path / f"old-{i}", (i, i))
    own = made(tmp_path / "own", {"bleu": "a"}).path
    (tmp_path / "old-57" / "scores.json").unlink()
    made(tmp_path / "other", {"bleu": "b"}, ended="2026-03-03T10:00:00+00:00")
    read: list[Path] = []
    monkeypatch.setattr(catalog, "record", lambda folder: read.append(folder) or record(folder))
    assert newest_comparable(own) == tmp_path / "old-59"
    assert len(read) <= catalog.RECENT + 2


def test_a_run_without_any_score_is_no_hint(tmp_path: Path) -> None:
    own = made(tmp_path / "own", {"bleu": "a"}).path
    failed = made(tmp_path / "failed", {"bleu": "a"}).path
    stored = json.loads((failed / "scores.json").read_text())
    stored["scores"]["bleu"] |= {"estimate": None, "low": None, "high": None}
    (failed / "scores.json").write_text(json.dumps(stored))
    assert newest_comparable(own) is None
