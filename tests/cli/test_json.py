"""`--json`: one document on standard output and nothing else, whatever else is said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import harness
from tests.conftest import Called

Cli = Callable[..., Called]
ARGUMENTS = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=lexical", "tracking=none")
STORED = (*ARGUMENTS, "system=predictions")


def test_a_run(files: Path, cli: Cli) -> None:
    called = cli(*STORED, "system.path=good.jsonl", "--json")
    assert called.code == 0, called.err
    answer = json.loads(called.out)
    assert (answer["schema"], answer["failures"]) == (1, [])
    (run,) = answer["runs"]
    folder = Path(run["folder"])
    assert run["scores"] == json.loads((folder / "scores.json").read_text())["scores"]
    assert {k: run[k] for k in ("name", "dataset", "system", "examples", "failed", "mlflow")} == {
        "name": "dev-good", "dataset": "dev", "system": "good", "examples": 4, "failed": 0, "mlflow": None,
    }  # fmt: skip
    plain = cli(*STORED, "system.path=good.jsonl")  # the same config: the same folder
    assert f"run folder  {folder}" in plain.out


def test_where_a_run_was_logged(files: Path, cli: Cli) -> None:
    called = cli(
        "run", *STORED[1:4], *STORED[5:], "metrics=bleu", "system.path=good.jsonl", "json=true", "stats.resamples=0"
    )
    (run,) = json.loads(called.out)["runs"]
    assert run["mlflow"]["uri"] == f"sqlite:///{files}/runs/mlflow.db"
    assert run["mlflow"]["run_id"] in run["mlflow"]["where"]
    shown = cli("run", *STORED[1:4], *STORED[5:], "metrics=bleu", "system.path=good.jsonl", "stats.resamples=0")
    assert shown.out.splitlines()[-1] == "  harness ui"


def test_a_multirun_with_a_failure(files: Path, cli: Cli) -> None:
    called = cli(*STORED, "--multirun", "system.path=good.jsonl,nowhere.jsonl,bad.jsonl", "--json")
    assert called.code == 1
    answer = json.loads(called.out)
    assert [run["name"] for run in answer["runs"]] == ["dev-good", "dev-bad"]
    (failure,) = answer["failures"]
    assert (failure["cell"], failure["label"]) == (1, "path=nowhere.jsonl")
    assert failure["error"].startswith("nowhere.jsonl does not exist; ")
    assert "1 of 3 cells failed" in called.err


@pytest.mark.slow
def test_a_multirun_is_the_same_one_with_and_without(files: Path, cli: Cli) -> None:
    groups = set()
    for flags in ((), ("--json",)):
        assert cli(*STORED, "--multirun", "system.path=good.jsonl,bad.jsonl", *flags).code == 0
        groups |= {run.manifest["group"] for run in harness.runs()}
    assert len(groups) == 1  # under one parent in MLflow


def test_a_run_that_fails(files: Path, cli: Cli) -> None:
    for flags in ((), ("--dry-run",)):
        called = cli(*STORED, "system.path=nowhere.jsonl", "--json", *flags)
        assert called.code == 1
        answer = json.loads(called.out)
        assert (answer["runs"], [failure["cell"] for failure in answer["failures"]]) == ([], [0])
        assert called.err.startswith("harness: nowhere.jsonl does not exist")
    wrong = cli(*STORED, "system.pth=nowhere.jsonl", "--json")
    assert (wrong.code, wrong.out) == (1, "")


def test_what_the_users_own_code_prints_goes_elsewhere(files: Path, cli: Cli) -> None:
    (files / "loud.py").write_text("def answer(example):\n    print('thinking')\n    return example['source']\n")
    called = cli(*ARGUMENTS, "system=python", "system.function=loud.py:answer", "--json")
    assert called.code == 0, called.err
    assert json.loads(called.out)["runs"][0]["examples"] == 4
    assert "thinking" in called.err


def test_a_dry_run(files: Path, cli: Cli) -> None:
    for flags, names in (((), ["dev-lead"]), (("--multirun", "limit=1,2"), ["dev-lead", "dev-lead"])):
        answer = json.loads(cli(*ARGUMENTS, "system=lead", "--dry-run", "--json", *flags).out)
        assert [run["name"] for run in answer["runs"]] == names
        assert {"examples", "outputs", "generate", "cost"} <= answer["runs"][0].keys()
    assert not Path("runs").exists()


def test_scoring_again_and_the_cache(files: Path, cli: Cli) -> None:
    assert cli(*ARGUMENTS, "system=lead").code == 0
    answer = json.loads(cli("score", "dev-lead", "metrics=ter", "--json").out)
    assert {"bleu", "ter"} <= answer["runs"][0]["scores"].keys()
    answer = json.loads(cli("cache", "--json").out)
    assert answer["outputs"]["entries"] == answer["systems"]["lead"]["entries"] == 4
    cleared = cli("cache", "--clear", "--json")
    assert json.loads(cleared.out)["removed"] == 4
    assert cleared.err == "4 entries removed\n"


@pytest.mark.parametrize("flag", ["--cfg=job", "--help"])
def test_hydras_own_flags_are_as_before(files: Path, cli: Cli, flag: str) -> None:
    with_json, without = cli("run", flag, "--json"), cli("run", flag)
    assert (with_json.code, without.code) == (0, 0)
    assert with_json.out.replace("json: true", "json: false") == without.out


def test_next_commands(files: Path, cli: Cli) -> None:
    first = cli(*STORED, "system.path=good.jsonl")
    assert "harness compare" not in first.out  # with what?
    assert "  harness report runs/harness/dev-good-" in first.out
    second = cli(*STORED, "system.path=bad.jsonl")
    (command,) = [line.split() for line in second.out.splitlines() if line.startswith("  harness compare ")]
    assert [Path(folder).name.rsplit("-", 1)[0] for folder in command[2:]] == ["dev-good", "dev-bad"]
    assert cli(*command[1:]).code == 0
    elsewhere = cli(*STORED, "system.path=bad.jsonl", "limit=2")
    assert "harness compare" not in elsewhere.out  # other data


@pytest.mark.slow
def test_next_offers_only_what_can_be_compared(files: Path, cli: Cli) -> None:
    plain = tuple(word for word in STORED if not word.startswith("metrics="))
    chrf = cli(*plain, "metrics=chrf", "system.path=good.jsonl")
    for other in (
        ("metrics=bleu",),
        ("metrics=chrf", "metrics.chrf.beta=1"),
    ):  # no metric in common, another definition
        shown = cli(*plain, *other, "system.path=bad.jsonl", "name=other")
        assert shown.code == 0, shown.err
        assert "harness compare" not in shown.out
    again = cli(*plain, "metrics=[chrf,ter]", "system.path=bad.jsonl")
    assert f"  harness compare {folder_of(chrf)} {folder_of(again)}\n" in again.out
    several = cli(*plain, "--multirun", "metrics=bleu,[bleu,ter],ter", "system.path=bad.jsonl", "output_dir=out")
    commands = [line.split()[1:] for line in several.out.splitlines() if line.startswith("  harness ")]
    assert [(words[0], len(words)) for words in commands] == [("compare", 3), ("report", 5)]
    assert [cli(*words).code for words in commands] == [0, 0]


def folder_of(run: Called) -> str:
    (folder,) = re.findall(r"^run folder  (.*)$", run.out, re.MULTILINE)
    return str(folder)


def test_every_command_with_json_is_in_the_docs() -> None:
    import argparse

    from harness.cli.main import _parser

    (commands,) = [action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction)]
    having = {name for name, parser in commands.choices.items() if "--json" in parser._option_string_actions} | {"run"}
    root = Path(__file__).parents[2]
    (sentence,) = re.findall(r"([^.]*) answer with one JSON document", (root / "docs" / "index.md").read_text())
    assert set(re.findall("`([a-z]+)`", sentence)) == having
    table = (root / "docs" / "runs.md").read_text().partition("| command | the document |")[2]
    assert {name for name in having if not re.search(rf"^\| .*`(harness )?{name}\b.*\|", table, re.MULTILINE)} == set()
