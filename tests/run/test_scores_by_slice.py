"""`stats.slices`: the scores of each slice in the folder, on the terminal and in MLflow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import harness
from harness.tracking.logged_numbers import sliced
from tests.conftest import write_jsonl
from tests.run.test_runner import Cli

RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=copy", "metrics=[exact_match]", "tracking=none",
       "stats.resamples=100", "output_dir=out")  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """24 of news, all of which a copy gets right, and 12 of law, of which it gets half."""
    rows = [
        {
            "id": str(i),
            "source": f"text {i}",
            "references": [f"text {i}" if i < 30 else "other"],
            "topic": "news" if i < 24 else "law",
        }
        for i in range(36)
    ]
    write_jsonl(tmp_path / "dev.jsonl", rows)
    return tmp_path


def test_scores_by_slice(data: Path, cli: Cli) -> None:
    called = cli(*RUN, "stats.slices=[topic,source_length]")
    assert called.code == 0, called.err
    written = json.loads(Path("out/scores.json").read_text())
    slices = {(part["by"], part["slice"]): part for part in written["slices"]}
    assert slices["topic", "news"]["examples"] == 24
    assert slices["topic", "news"]["scores"]["exact_match"]["estimate"] == 100
    law = slices["topic", "law"]["scores"]["exact_match"]
    assert law["estimate"] == 50
    assert 0 < law["low"] < 50 < law["high"] < 100
    assert law["units"] == "12 examples"
    assert "worst       Exact match 50.00 for topic = law" in called.out
    run = harness.load_run("out")
    assert [(part.by, part.label, part.examples) for part in run.slices][:2] == [
        ("topic", "news", 24),
        ("topic", "law", 12),
    ]
    assert run.slices[1].scores["exact_match"].low == law["low"]
    logged = sliced(run)
    assert logged["slice/topic: law/exact_match"] == 50
    assert logged["slice/topic: law/exact_match.low"] == law["low"]
    assert logged["slice/topic: law/exact_match.high"] == law["high"]
    before = Path("out/scores.json").read_bytes()
    assert cli(*RUN, "stats.slices=[topic,source_length]").code == 0
    assert Path("out/scores.json").read_bytes() == before


def test_a_field_that_no_example_has(data: Path, cli: Cli) -> None:
    refused = cli(*RUN, "stats.slices=[topics]")
    assert refused.code == 1
    assert "have no field 'topics' (did you mean 'topic'?)" in refused.err


def test_slices_of_two_examples_say_little_and_are_not_the_worst(tmp_path: Path, cli: Cli) -> None:
    """Half of 24 are right; a pair, both wrong, is no finding."""
    rows = [
        {
            "id": str(i),
            "source": f"text {i}",
            "references": [f"text {i}" if i % 2 and i < 24 else "other"],
            "topic": "rare" if i >= 24 else "news" if i < 12 else "law",
        }
        for i in range(26)
    ]
    write_jsonl(tmp_path / "dev.jsonl", rows)
    called = cli(*RUN, "stats.slices=[topic]")
    assert called.code == 0, called.err
    assert "note        rare: 2 examples: the interval says little" in called.out
    assert "\nworst " not in called.out  # the others are alike
