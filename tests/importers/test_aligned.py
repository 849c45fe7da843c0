from __future__ import annotations

from pathlib import Path

import pytest

import harness
from harness.types import HarnessError
from tests.importers.conftest import Import


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """As a translation paper ships it."""
    folder = tmp_path / "wmt-tiny"
    (folder / "outputs").mkdir(parents=True)
    (folder / "src.de").write_text("der Hund\ndie Katze\ndas Haus am See\n")
    (folder / "ref.en").write_text("the dog\nthe cat\nthe house by the lake\n")
    (folder / "refB.en").write_text("a dog\na cat\nthe lake house\n")
    (folder / "outputs" / "base.en").write_text("dog\ncat\nthe house on sea\n")
    (folder / "outputs" / "ours.en").write_text("the dog\nthe cat\nthe house by the sea\n")
    (folder / "README").write_text("not a system\n")
    return folder


def test_one_run_a_system(paper: Path, import_logs: Import) -> None:
    runs = import_logs(paper)
    assert [run.name for run in runs] == ["wmt-tiny-base", "wmt-tiny-ours"]
    ours = runs[1]
    assert list(ours.examples["references"][2]) == ["the house by the lake", "the lake house"]
    assert ours.examples["source"][0] == "der Hund" and ours.examples["id"].tolist() == ["1", "2", "3"]
    own = harness.evaluate(
        list(ours.examples["output"]), [list(r) for r in ours.examples["references"]], "bleu", resamples=0
    )
    assert ours.scores["bleu"].estimate == own.scores["bleu"].estimate
    assert "rouge1" in ours.scores
    rows = harness.compare(runs, baseline=runs[0], resamples=200)
    assert rows[0].system == "wmt-tiny-ours"


def test_other_metrics(paper: Path, import_logs: Import) -> None:
    runs = import_logs(paper, metrics=("chrf",))
    assert list(runs[0].scores) == ["chrf"]


def test_files_that_do_not_align(paper: Path, import_logs: Import, tmp_path: Path) -> None:
    (paper / "outputs" / "short.en").write_text("the dog\n")
    with pytest.raises(HarnessError, match=r"short\.en has 1 line, .*ref\.en has 3; expected the same number"):
        import_logs(paper)
    assert not (tmp_path / "runs").exists()


def test_an_unknown_format_says_which_were_tried(tmp_path: Path, import_logs: Import) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "today.txt").write_text("nothing\n")
    with pytest.raises(HarnessError) as error:
        import_logs(tmp_path / "notes")
    for tried in ("lm-eval: no file samples_", "inspect: no .eval file", "eee: no UUID", "aligned: no text file"):
        assert tried in str(error.value)
    with pytest.raises(HarnessError, match="--as"):
        import_logs(tmp_path / "notes", format="helm")
    with pytest.raises(HarnessError, match="does not exist"):
        import_logs(tmp_path / "nowhere")
