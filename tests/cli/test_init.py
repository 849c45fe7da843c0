"""`harness init`, and what the project file does to commands."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import harness
from tests.conftest import Called

Cli = Callable[..., Called]
QUICK = ("tracking=none", "stats.resamples=20")


@pytest.fixture
def begun(cli: Cli) -> Iterator[Path]:
    """A folder after `harness init`."""
    assert cli("init").code == 0
    yield Path.cwd()
    for name in ("faq", "numbers_kept", "test_plugins"):
        sys.modules.pop(name, None)


def test_init_writes_what_runs(cli: Cli, begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = cli("run", *QUICK)
    assert called.code == 0, called.err
    run = harness.load_run("faq-copy", trust=True)
    assert {"chrf", "numbers_kept"} <= run.scores.keys() and run.scores["numbers_kept"].estimate == 100
    monkeypatch.syspath_prepend(begun / "tests")
    import test_plugins  # type: ignore[import-not-found]

    test_plugins.test_the_metric()
    test_plugins.test_the_data()
    test_plugins.test_the_experiment(tmp_path)


def test_init_leaves_what_is_there(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "new" / "data").mkdir(parents=True)
    (tmp_path / "new" / "data" / "faq.txt").write_text("mine")
    called = cli("init", "new")
    assert "new/data/faq.txt  is there already, left as it is" in called.out and "cd new" in called.out
    assert (tmp_path / "new" / "data" / "faq.txt").read_text() == "mine"
    assert "harness.yaml is there already" in cli("init", "new").err


def test_what_is_typed_takes_the_place_of_defaults(cli: Cli, begun: Path) -> None:
    (begun / "harness.yaml").write_text(
        "config_dir: conf\ndefaults: [dataset=faq, system=lead, system.sentences=3, 'metrics=[chrf]', limit=2]\n"
    )
    shown = cli("run", "--cfg", "job").out
    assert "sentences: 3" in shown and "limit: 2" in shown and "chrf:" in shown
    shown = cli("run", "--cfg", "job", "system=copy", "metrics=[exact_match]", "limit=1").out
    assert "sentences" not in shown and "limit: 1" in shown and "chrf:" not in shown
    shown = cli("run", "--cfg", "job", "experiment=first").out
    assert "harness.systems.copy" in shown and "numbers_kept:" in shown and "limit: 2" in shown


def test_commands_below_use_the_projects_runs_and_metrics(
    cli: Cli, begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("run", *QUICK).code == 0
    assert cli("run", "system=lead", *QUICK).code == 0
    (begun / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(begun / "deep" / "er")
    listed = json.loads(cli("runs", "--json").out)["runs"]
    assert {run["folder"].split("runs")[0] for run in listed} == {"../../"}
    called = cli("compare", "faq-copy", "faq-lead", "--resamples", "20")
    assert called.code == 0 and "not tested" not in called.err and "numbers_kept" in called.out
    assert not os.path.exists("runs")
    called = cli("run", "limit=2", "name=as-set-up", *QUICK)
    assert called.code == 0, called.err
    assert list((begun / "runs" / "harness").glob("as-set-up-*"))
    called = cli("run", "dataset.path=../../data/faq.txt", "name=below", *QUICK, "--multirun", "limit=1,2")
    assert called.code == 0, called.err
    assert len(list((begun / "runs" / "harness").glob("below-*"))) == 2
    assert not os.path.exists("runs") and not list((begun / "runs" / ".multirun").glob("*"))
    assert len(harness.runs()) == 5


def test_code_is_found_beside_its_yaml_without_a_project_file(cli: Cli, begun: Path) -> None:
    (begun / "harness.yaml").unlink()
    words = ("dataset=faq", "system=copy", "metrics=[numbers_kept]", *QUICK)
    assert "Could not find 'dataset/faq'" in cli("run", *words).err or cli("run", *words).code == 1
    called = cli("run", "--config-dir", "conf", *words)
    assert called.code == 0, called.err
    assert harness.run("--config-dir", "conf", *words).scores["numbers_kept"].estimate == 100  # type: ignore[union-attr]


def test_a_project_file_that_is_wrong_ends_any_command(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "harness.yaml").write_text("configs: conf\n")
    for words in (["run", "system=lead"], ["runs"]):
        called = cli(*words)
        assert called.code == 1 and "harness.yaml: configs is not a key" in called.err and "Traceback" not in called.err
