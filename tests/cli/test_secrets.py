"""Secrets stay out of every file that a run leaves, and still tell configs apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.test_runner import PREDICT, Cli


def test_values_of_the_environment_are_keyed_but_not_shown(
    files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [a for a in PREDICT if not a.startswith("dataset.path")]
    (files / "other.jsonl").write_text((files / "dev.jsonl").read_text().replace("snow", "hail"))
    for name in ("dev.jsonl", "other.jsonl"):
        monkeypatch.setenv("DATA", name)
        assert cli("run", *arguments, "dataset.path=${oc.env:DATA}", "system.path=good.jsonl", "name=e").code == 0
    folders = list(Path("runs/harness").iterdir())
    assert len(folders) == 2
    assert all("path: '***'" in (folder / "config.yaml").read_text() for folder in folders)


def test_a_planted_secret_is_in_no_file(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "judge.py").write_text(
        "from harness.testing import WordCount\n"
        "class Judge(WordCount):\n"
        "    name = 'judge'\n"
        "    def __init__(self, api_key, url): self.key, self.url = api_key, url\n"
    )
    inline = "+metrics.judge={_target_: judge.Judge, api_key: PLANTED, url: '${oc.env:JUDGE}'}"
    monkeypatch.setenv("JUDGE", "PLANTED too")
    called = cli("run", *PREDICT[:-1], inline, "system.path=good.jsonl", "--multirun", "limit=2,3")
    assert called.code == 0, called.err
    assert "PLANTED" not in called.out + called.err
    paths = [path for path in Path("runs").rglob("*") if path.is_file()]
    assert len(paths) > 10
    assert [path for path in paths if b"PLANTED" in path.read_bytes()] == []
