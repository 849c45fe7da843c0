"""`harness score`: another look at stored outputs gives the files that a run would have given, and generates nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness
from tests.conftest import ROWS, Called, called_in, write_files, write_jsonl
from tests.made_up import ARGUMENTS, calls, install

Cli = Callable[..., Called]
RESULT = ("scores.json", "examples.parquet", "statistics.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with repeats, a failure and metadata of every kind, in the folder that it was made in."""
    files = write_files(tmp_path_factory.mktemp("made"))
    install(files)
    rows = [
        {
            **row,
            "chrf": i,
            "nested": {"deep": [i]},
            "output": "mine",
            "mixed": i if i % 2 else "x",
            "list": ["a", "b"][:i],
        }
        for i, row in enumerate(ROWS)
    ]
    write_jsonl(files / "dev.jsonl", rows)
    (files / "broken.txt").write_text("b")
    how = ("system.repeats=2", "dataset.cluster=output", "metrics=[bleu,rouge]")
    called_in(files, *ARGUMENTS, *how, "output_dir=first")
    return files


@pytest.fixture
def stored(made: Path, tmp_path: Path, cli: Cli) -> Path:
    """The folder of that run, for one test."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "first"


def elsewhere(stored: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run folder alone on another machine."""
    there = stored.parent / "there"
    there.mkdir()
    shutil.copytree(stored, there / "copied")
    monkeypatch.chdir(there)
    return there


def folder() -> Path:
    (run_folder,) = Path("runs/harness").iterdir()
    return run_folder


@pytest.mark.parametrize(
    ("overrides", "as_a_run"),
    [
        (["metrics=[chrf,ter]"], ["metrics=[bleu,rouge,chrf,ter]"]),
        (["metrics=chrf"], ["metrics=[bleu,rouge,chrf]"]),
        (["metrics=[chrf]", "metrics.chrf.char_order=3", "metrics.bleu.lowercase=true"],
         ["metrics=[bleu,rouge,chrf]", "metrics.chrf.char_order=3", "metrics.bleu.lowercase=true"]),
        (["~metrics.rouge"], ["metrics=bleu"]),
        (["postprocess=strip", "postprocess.lowercase=true"], ["metrics=[bleu,rouge]", "postprocess=strip", "postprocess.lowercase=true"]),
        (["postprocess.extract=cat.*"], ["metrics=[bleu,rouge]", "postprocess.extract=cat.*"]),
        (["stats.method=bca", "stats.resamples=40", "stats.seed=3"],
         ["metrics=[bleu,rouge]", "stats.method=bca", "stats.resamples=40", "stats.seed=3"]),
    ],
)  # fmt: skip
def test_the_same_bytes_as_a_run(
    stored: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, overrides: list[str], as_a_run: list[str]
) -> None:
    ran = cli(*ARGUMENTS, "system.repeats=2", "dataset.cluster=output", *as_a_run)
    assert ran.code == 0, ran.err
    run, there = folder().absolute(), elsewhere(stored, monkeypatch)
    called = cli("score", "copied", *overrides)
    assert called.code == 0, called.err
    assert folder().name == run.name  # the same config, so the same folder and the same key
    for name in RESULT:
        assert (folder() / name).read_bytes() == (run / name).read_bytes(), name
    mine, theirs = (json.loads((f / "manifest.json").read_text()) for f in (folder(), run))
    for field in ("key", "dataset", "system", "metrics", "health", "files"):
        assert mine[field] == theirs[field], field
    assert mine["generation"] == json.loads((stored / "manifest.json").read_text())["generation"]
    assert not (there / "calls.txt").exists()


def test_rows_of_other_metrics_are_not_computed_again(stored: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: Any) -> None:
        raise AssertionError("scored again")

    elsewhere(stored, monkeypatch)
    monkeypatch.setattr("harness.types.Metric.extremes", lambda *arguments: None)  # of failed examples, asked each time
    monkeypatch.setattr("harness.metrics.bleu.Bleu.statistics", never)
    monkeypatch.setattr("harness.metrics.rouge.Rouge.statistics", never)
    assert cli("score", "copied", "metrics=chrf").code == 0
    assert cli("score", "dev-made-up", "metrics=chrf", "stats.level=0.9").code == 0  # by name, and once more
    assert {score.level for score in harness.load_run("dev-made-up").scores.values()} == {0.9}


def test_a_run_goes_on_from_what_was_scored(stored: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal came along, so the same config generates nothing where the cache is not."""
    there = elsewhere(stored, monkeypatch)
    assert cli("score", "copied", "metrics=chrf").code == 0
    before = (folder() / "scores.json").read_bytes()
    for name in ("dev.jsonl", "broken.txt"):
        shutil.copy(stored.parent / name, there / name)
    install(there)
    called = cli(*ARGUMENTS, "system.repeats=2", "dataset.cluster=output", "metrics=[bleu,rouge,chrf]")
    assert called.code == 0, called.err
    assert calls() == []
    assert (folder() / "scores.json").read_bytes() == before


def test_a_metric_of_ones_own(stored: Path, cli: Cli) -> None:
    own = Path("mine/metrics")
    own.mkdir(parents=True)
    (own / "short.yaml").write_text("short:\n  _target_: harness.metrics.squad.TokenF1\n")
    called = cli("score", "first", "--config-dir", "mine", "metrics=short", "name=own", "output_dir=out")
    assert called.code == 0, called.err
    assert called.out.startswith("own  4 examples, 2 outputs each, 2 failed")
    assert "short" in harness.load_run("out").scores


def test_another_config_never_overwrites_a_folder(stored: Path, cli: Cli) -> None:
    before = (stored / "scores.json").read_bytes()
    called = cli("score", "first", "metrics=chrf", "output_dir=first")
    assert called.code == 1
    assert "first holds a run of another config" in called.err
    assert (stored / "scores.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["nowhere"], 1, "there is no run 'nowhere'; expected a run folder"),
        (["conf"], 1, "conf is not a finished run"),
        (["first", "system=lead"], 1, "system=lead: harness score generates nothing, so system stays as it is; expected metrics,"),
        (["first", "limit=2"], 1, "limit stays as it is"),
        (["first", "metrics=blue"], 1, "metrics=blue is not a choice (did you mean 'bleu'?)"),
        (["first", "metrics.bleu.tokenise=zh"], 1, "metrics.bleu.tokenise is not in the config (did you mean 'metrics.bleu.tokenize'?)"),
        (["first", "metrics"], 2, "metrics is not an override"),
        (["first", "~metrics.bleu", "~metrics.rouge"], 1, "no metric was chosen"),
        (["first", "metrics=[bertscore]", "metrics.bertscore.layer=x"], 1, "metrics.bertscore.layer is 'x'"),
    ],
)  # fmt: skip
def test_what_it_refuses(stored: Path, cli: Cli, arguments: list[str], code: int, expected: str) -> None:
    called = cli("score", *arguments)
    assert called.code == code
    assert expected in called.err
    assert "Traceback" not in called.err
