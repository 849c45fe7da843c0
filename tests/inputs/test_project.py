"""The project file: where it is looked for, what it may say, whose is not read."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from harness.inputs import project
from harness.types import HarnessError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_none() -> None:
    assert project.current() == project.Project()
    assert project.runs_folder() == Path("runs")


def test_the_nearest_one_above_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "harness.yaml").write_text("config_dir: conf\nruns: kept/runs\ndefaults: [limit=3]\n")
    for folder in ("conf/metrics", "conf/.git", "a/b", "c"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    known = project.current()
    assert (known.config_dir, known.defaults) == (tmp_path / "conf", ("limit=3",))
    assert project.runs_folder() == Path("../../kept/runs")
    assert known.code == [str(tmp_path), str(tmp_path / "conf"), str(tmp_path / "conf" / "metrics")]
    (tmp_path / "c" / "pyproject.toml").write_text('[tool.harness]\nruns = "there"\n')
    monkeypatch.chdir(tmp_path / "c")
    assert project.runs_folder() == Path("there")
    (tmp_path / "c" / "pyproject.toml").write_text('[project]\nname = "mine"\n')  # another tool's: look further above
    assert project.runs_folder() == Path("../kept/runs")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "harness.yaml").write_text("runs: one\n")
    assert project.runs_folder() == Path("one")
    (tmp_path / "harness.yaml").write_text("runs: other\n")
    assert project.runs_folder() == Path("other")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("harness.yaml", "config: conf", r"harness.yaml: config is not a key \(did you mean 'config_dir'\?\); expected config_dir"),
        ("harness.yaml", "defaults: metrics=lexical", "defaults is 'metrics=lexical'; expected a list of overrides"),
        ("harness.yaml", "defaults: [lexical]", r"defaults is \['lexical'\]; expected a list"),
        ("harness.yaml", "config_dir: nowhere", "config_dir is nowhere; expected a folder with YAML files of yours"),
        ("harness.yaml", "runs: 3", "runs is 3; expected a folder"),
        ("harness.yaml", "- a", "is no mapping"),
        ("harness.yaml", "a: [", "cannot be read"),
        ("pyproject.toml", "[tool.harness]\nruns = ", "pyproject.toml cannot be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(HarnessError, match=message):
        project.current()


@pytest.mark.parametrize("names", [("manifest.json", "scores.json"), ("bundle.json",)])
def test_one_that_was_received_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    inside = tmp_path / "received" / "inside"
    inside.mkdir(parents=True)
    for name in names:
        (tmp_path / "received" / name).write_text("{}")
    for folder in (inside, inside.parent):
        (folder / "harness.yaml").write_text("runs: theirs\n")
        monkeypatch.chdir(folder)
        assert project.current() == project.Project()
    (tmp_path / "harness.yaml").write_text("runs: mine\n")
    assert project.current().runs == tmp_path / "mine"


def test_one_of_another_user_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "harness.yaml").write_text("runs: theirs\n")
    monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
    monkeypatch.setattr(project, "ROOT", -1)
    with caplog.at_level(logging.WARNING):
        assert project.current() == project.Project()
    assert "belongs to another user and is not read" in caplog.text
