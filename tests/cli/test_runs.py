"""`harness runs` and `harness.runs`: what is listed is what is in the folders; what cannot be listed is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import harness
from tests.cli.test_main import imported_by
from tests.conftest import Called
from tests.made_up import write_run

Cli = Callable[..., Called]


def test_a_real_run_is_listed_as_it_was_scored(files: Path, cli: Cli) -> None:
    arguments = ("dataset=file", "dataset.path=dev.jsonl", "system=predictions", "metrics=lexical", "tracking=none")
    for name in ("good", "bad"):
        assert cli("run", *arguments, f"system.path={name}.jsonl").code == 0
    best, worst = harness.runs(sort="-bleu")
    assert (best.name, best.dataset, best.system, best.examples, best.failed) == ("dev-good", "dev", "good", 4, 0)
    loaded = harness.load_run(best.path)
    assert best.scores == loaded.scores
    assert best.dataset_key == loaded.dataset_key
    assert best.config["stats"]["seed"] == 12345
    row = worst.row()
    assert (row["name"], row["folder"]) == ("dev-bad", str(worst.path))
    assert (row["bleu"], row["interval/bleu.low"]) == (worst.scores["bleu"].estimate, worst.scores["bleu"].low)
    listed = cli("runs", "--sort", "-bleu")
    assert listed.code == 0, listed.err
    head, first, second, note = listed.out.splitlines()
    assert head.split() == [
        "name", "data", "set", "system", "examples", "BLEU", "ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum", "ended", "folder"
    ]  # fmt: skip
    bleu = best.scores["bleu"]
    assert first.split()[:4] == ["dev-good", "dev", "good", "4"]
    assert f"{bleu.estimate:.2f}  [{bleu.low:.2f}, {bleu.high:.2f}]" in first
    assert first.endswith(str(best.path))
    assert second.startswith("dev-bad ")
    assert note == "2 runs, 95% intervals"
    assert "\x1b" not in listed.out


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Two finished runs, and folders of three that are not: never scored, cut in the middle, of another program."""
    write_run(tmp_path / "runs" / "x" / "a-1", "a", failed=3, ended="2026-03-02T10:00:00+00:00")
    write_run(tmp_path / "runs" / "x" / "b-2", "b", scores={"ter": (60.0, 50.0, 70.0)})
    for name in ("begun", "cut", "old"):
        write_run(tmp_path / "runs" / name, name)
    (tmp_path / "runs" / "begun" / "scores.json").unlink()
    (tmp_path / "runs" / "cut" / "manifest.json").write_text('{"schema": 1, "na')
    (tmp_path / "runs" / "old" / "manifest.json").write_text('{"schema": 1}')
    (tmp_path / "runs" / "x" / "notes").mkdir()  # no run at all
    return tmp_path


def test_what_is_no_finished_run_is_said(three: Path, cli: Cli) -> None:
    shown = cli("runs")
    assert shown.code == 0
    assert shown.out.splitlines()[-1] == (
        "3 folders are not finished runs: runs/begun (no scores.json: not finished), runs/cut (manifest.json is not "
        "JSON), runs/old (not as this harness writes it: no 'dataset')"
    )
    assert [line.split()[0] for line in shown.out.splitlines()[1:3]] == ["a", "b"]
    answer = json.loads(cli("runs", "--json").out)
    assert [run["name"] for run in answer["runs"]] == ["a", "b"]
    assert [entry["folder"] for entry in answer["unfinished"]] == ["runs/begun", "runs/cut", "runs/old"]
    only = cli("runs", "--in", "runs/cut")
    assert only.code == 0
    assert "1 folder is not a finished run: runs/cut" in only.out


@pytest.mark.parametrize(
    ("file", "path", "value"),
    [
        ("scores.json", ("examples",), "many"),
        ("scores.json", ("name",), None),
        ("scores.json", ("scores",), []),
        ("scores.json", ("scores", "bleu"), {}),
        ("scores.json", ("scores", "bleu", "estimate"), "30"),
        ("scores.json", ("scores", "bleu", "level"), None),
        ("manifest.json", ("ended",), "yesterday"),
        ("manifest.json", ("system",), None),
        ("manifest.json", ("config",), "…"),
    ],
)
def test_no_file_breaks_the_list(three: Path, cli: Cli, file: str, path: tuple[str, ...], value: object) -> None:
    broken = three / "runs" / "x" / "a-1" / file
    content = json.loads(broken.read_text())
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    broken.write_text(json.dumps(content))
    for flags in ((), ("--sort", "-ter"), ("since=1w", "--sort", "ended")):
        called = cli("runs", *flags)
        assert (called.code, called.err) == (0, "")
    answer = json.loads(cli("runs", "--json").out)
    assert [run["name"] for run in answer["runs"]] == ["b"]
    (reason,) = [entry["reason"] for entry in answer["unfinished"] if entry["folder"] == "runs/x/a-1"]
    assert reason.startswith("not as this harness writes it: ")


def test_options(three: Path, cli: Cli) -> None:
    shown = cli("runs", "dataset=dev", "--score", "ter", "b-").out.splitlines()  # words on both sides of a flag
    assert shown[0].split() == ["name", "data", "set", "system", "examples", "ter", "ended", "folder"]
    assert [line.split()[0] for line in shown[1:2]] == ["b"]
    assert "60.00  [50.00, 70.00]" in shown[1]
    assert "failed" in cli("runs").out.splitlines()[0]
    assert cli("runs", "--limit", "1", "--sort", "name").out.splitlines()[2].startswith("1 run")
    answer = json.loads(cli("runs", "--json", "--score", "ter").out)
    assert [list(run["scores"]) for run in answer["runs"]] == [[], ["ter"]]
    assert answer["runs"][0] | {"scores": {}} == {
        "name": "a", "dataset": "dev", "system": "a", "experiment": "harness", "examples": 100, "failed": 3,
        "started": "2026-03-02T10:00:00+00:00", "ended": "2026-03-02T10:00:00+00:00", "folder": "runs/x/a-1",
        "mlflow": None, "scores": {}, "cell": None,
    }  # fmt: skip
    assert cli("runs", "name=nobody").out.startswith("none of the 2 finished runs below runs fits the conditions\n")
    printed = cli("runs", "--in", "runs/x/a-1", "name=nobody").out
    assert printed == "the only finished run below runs/x/a-1 does not fit the conditions\n"
    assert cli("runs", "--in", "runs/x/notes", "name=nobody").out == "there is no finished run below runs/x/notes\n"
    for wrong, said in (
        (
            ("--score", "blue"),
            "--score blue: no run has a score blue (did you mean 'bleu'?); expected one of bleu, rouge1",
        ),
        (("--score", "dataset"), "--score dataset: no run has a score dataset; expected one of bleu"),
        (
            ("--json", "--score", "stats.seed"),
            "--score stats.seed: no run has a score stats.seed; expected one of bleu",
        ),
        (("--score", "interval/ter.low"), "--score interval/ter.low: no run has a score interval/ter.low"),
        (("--in", "nowhere"), "no folder nowhere"),
    ):
        refused = cli("runs", *wrong)
        assert (refused.code, refused.out) == (1, "")
        assert said in refused.err
    assert cli("runs", "--nope").code == 2


def test_scores_that_half_of_the_runs_have_and_those_asked_about(three: Path, cli: Cli) -> None:
    from harness.report.terminal.run_list import common

    write_run(three / "runs" / "x" / "c-3", "c")
    listed = harness.runs()
    assert common(listed) == ["bleu", "rouge1"]
    assert common(listed, ["ter", "name"]) == ["ter", "bleu", "rouge1"]
    assert "60.00" in cli("runs", "--sort", "-ter").out
    assert "60.00" not in cli("runs").out


def test_listing_imports_nothing_heavy(three: Path) -> None:
    modules = imported_by("import harness.cli.main; harness.cli.main.main(['runs'])", three)
    assert not modules & {"pandas", "mlflow", "pyarrow", "hydra", "numba", "torch"}
