"""A run of another schema or of older rows, a file that was moved: the message has the command that helps."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import harness
from harness.metrics.bleu import Bleu
from tests.conftest import Called

Cli = Callable[..., Called]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl", "metrics=[bleu]", "tracking=none", "stats.resamples=20")  # fmt: skip


def command_of(message: str) -> list[str]:
    """The command that a message names."""
    named = re.search(r"harness (score .+?) computes them", message)
    assert named is not None, message
    return shlex.split(named[1])


@pytest.mark.slow
@pytest.mark.parametrize("what", ["older rows", "other columns", "damaged"])
def test_statistics_of_another_harness(cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    assert cli(*RUN, "output_dir=kept here").code == 0
    assert cli(*RUN, "name=other", "limit=4").code == 0
    if what == "older rows":
        monkeypatch.setattr(Bleu, "version", Bleu.version + 1)
    elif what == "other columns":
        monkeypatch.setattr(Bleu, "__init__", _with_a_column(Bleu.__init__))
    else:
        (files / "kept here" / "statistics.parquet").write_bytes(b"PAR1 and nothing else")
    called = cli("compare", "kept here", "other")
    assert called.code == 1
    words = command_of(called.err)
    assert words == ["score", "kept here"]
    mended = cli(*words, "tracking=none", "--json")
    assert mended.code == 0, mended.err
    folder = json.loads(mended.out)["runs"][0]["folder"]
    assert harness.load_run(folder).statistics["bleu"].rows.shape[0] == 4


def _with_a_column(made: Callable[..., None]) -> Callable[..., None]:
    def init(self: Bleu, *args: object, **options: object) -> None:
        made(self, *args, **options)
        self.columns = (*self.columns, "more")
        rows = self.statistics
        import numpy as np

        self.statistics = lambda batch: np.pad(rows(batch), ((0, 0), (0, 1)))  # type: ignore[method-assign]

    return init


def test_a_newer_schema(cli: Cli, files: Path) -> None:
    assert cli(*RUN, "output_dir=kept").code == 0
    manifest = json.loads((files / "kept" / "manifest.json").read_text())
    (files / "kept" / "manifest.json").write_text(json.dumps({**manifest, "schema": 99}))
    called = cli("compare", "kept", "kept")
    assert called.code == 1
    assert "written by a newer harness" in called.err and "pip install --upgrade harness-eval" in called.err


def test_a_file_that_was_moved(cli: Cli, files: Path) -> None:
    assert cli(*RUN).code == 0
    (files / "data" / "dev").mkdir(parents=True)
    (files / "dev.jsonl").rename(files / "data" / "dev" / "dev.jsonl")
    called = cli(*RUN)
    assert called.code == 1
    assert "dev.jsonl does not exist; expected a data file (dataset.path)" in called.err
    moved = re.search(r"a file of that name is (\S+)", called.err)
    assert moved is not None
    assert cli(*RUN, f"dataset.path={moved[1]}").code == 0
    assert "(did you mean 'good.jsonl'?)" in cli(*RUN, f"dataset.path={moved[1]}", "system.path=god.jsonl").err
