"""Cells of a multirun have names, and stand in the sweep's order."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.analysis.stored.cell_names import labels, listed
from harness.store.records import records

SWEEP = (
    "run", "--multirun", "limit=6", "metrics=bleu", "stats.resamples=50", "tracking=none", "progress=false",
    "system.sentences=3,1,2",
)  # fmt: skip


@pytest.fixture
def swept(cli: Callable[..., Any]) -> Callable[..., Any]:
    assert cli(*SWEEP).code == 0
    return cli


def test_cells_are_called_by_what_varies(swept: Callable[..., Any]) -> None:
    runs = sorted(records(Path("runs")), key=lambda run: run.manifest["cell"]["number"])
    assert [run.cell for run in runs] == ["sentences=3", "sentences=1", "sentences=2"]
    assert runs[0].manifest["cell"] == {
        "label": "sentences=3",
        "parameters": {"system.sentences": 3},
        "number": 0,
        "space": {"system.sentences": [3, 1, 2]},
    }
    assert "sweep" not in runs[0].config
    folders = sorted(str(run.path) for run in runs)
    best = swept("best", *folders, "--resamples", "50", "--json")
    assert {row["system"] for row in json.loads(best.out)["rows"]} <= {"sentences=3", "sentences=1", "sentences=2"}
    table = swept("table", *folders, "--format", "csv", "--resamples", "50").out
    assert [line.split(",")[1] for line in table.splitlines()[1:4]] == ["sentences=3", "sentences=1", "sentences=2"]
    named = swept("table", folders[1], folders[0], folders[2], "--format", "csv", "--resamples", "50").out
    called = {str(run.path): run.cell for run in runs}
    order = [called[folders[i]] for i in (1, 0, 2)]  # as they were typed
    assert [line.split(",")[1] for line in named.splitlines()[1:4]] == order


def test_runs_shows_cells_and_fields(swept: Callable[..., Any]) -> None:
    shown = swept("runs", "cell~2", "--show", "system.sentences", "--show", "stats.seed").out
    head, row = shown.splitlines()[:2]
    assert head.split()[:4] == ["name", "cell", "system.sentences", "stats.seed"]
    assert row.split()[:4] == ["embedded-lead", "sentences=2", "2", "12345"]
    (run,) = json.loads(swept("runs", "cell=sentences=2", "--show", "system.sentences", "--json").out)["runs"]
    assert run["shown"] == {"system.sentences": 2} and run["cell"]["label"] == "sentences=2"
    wrong = swept("runs", "--show", "system.sentence")
    assert wrong.code == 1 and "did you mean 'system.sentences'?" in wrong.err


def test_a_dry_run_names_cells(cli: Callable[..., Any]) -> None:
    shown = cli(*SWEEP, "--dry-run").out
    assert [line.split()[1] for line in shown.splitlines()[1:4]] == ["sentences=3", "sentences=1", "sentences=2"]


def test_a_parameter_that_changes_nothing(cli: Callable[..., Any]) -> None:
    called = cli(*SWEEP[:-1], "cache=auto,none")
    assert called.code == 0
    assert "the cells cache=auto and cache=none have the same key, and are one run" in called.err


def answer(example: dict[str, Any], text: Any = None) -> str:
    return f"{text} {example['source']}"[:80]


def test_values_that_look_alike_are_cells_of_their_own(cli: Callable[..., Any]) -> None:
    """Long prompts that begin and end alike, and texts that read like another value."""
    prompts = [f'"Summarise the text in {count} of your own words: {{source}}"' for count in ("ten", "six")]
    values = [*prompts, "null", '"null"', "1e-05", "'it\\'s'", '"x: y"', "[1,2]"]
    labels = [
        "text=Summarise …ten of your own words: {sourc…", "text=Summarise …six of your own words: {sourc…",
        "text=null", 'text="null"', "text=1e-05", "text=it's", "text=x: y", "text=[1, 2]",
    ]  # fmt: skip
    function = f"system.function={Path(__file__)}:answer"
    typed = (*SWEEP[:-1], "system=python", function, f"+system.options.text={','.join(values)}")
    called = cli(*typed)
    assert called.code == 0 and [label for label in labels if called.out.count(label) < 2] == []
    cells = json.loads(cli("sweep", "--json", "--resamples", "50").out)["cells"]
    assert [cell["label"] for cell in cells] == labels
    for run in records(Path("runs")):
        if run.cell not in labels[:1]:
            (run.path / "manifest.json").unlink()
    states = json.loads(cli("sweep", "--json", "--resamples", "50").out)["cells"]
    assert [(cell["label"], cell["state"]) for cell in states] == list(
        zip(labels, ["done", *["missing"] * 7], strict=True)
    )


def test_prompts_that_a_sampler_chooses_from_are_told_apart(cli: Callable[..., Any]) -> None:
    pytest.importorskip("optuna")
    prompts = ",".join(f'"Summarise the text in {count} of your own words: {{source}}"' for count in ("ten", "six"))
    function = f"system.function={Path(__file__)}:answer"
    words = ("hydra/sweeper=harness", "hydra.sweeper.sampler=grid", "hydra.sweeper.trials=null", "objective=bleu")
    assert cli(*SWEEP[:-1], *words, "system=python", function, f"+system.options.text={prompts}").code == 0
    answer = json.loads(cli("sweep", "--json", "--resamples", "50").out)
    labels = [f"text=Summarise …{count} of your own words: {{sourc…" for count in ("ten", "six")]
    assert sorted(cell["label"] for cell in answer["cells"]) == sorted(labels)
    assert len(answer["parts"][0]["levels"]["text"]) == 2


def test_what_cannot_be_told_by_a_sweep() -> None:
    def run(group: str | None, label: str, number: int = 0) -> Any:
        cell = {"label": label, "number": number}
        return SimpleNamespace(manifest={"group": group, "cell": cell, "system": {}, "started": ""}, path=label)

    assert labels([run("a", "n=1"), run("a", "n=2")]) == ["n=1", "n=2"]
    assert labels([run("a", "n=1"), run("b", "n=2")]) is None  # of two sweeps
    assert labels([run("a", "n=1"), run("a", "n=1")]) is None
    assert labels([run(None, "n=1")]) is None
    mixed = [run("a", "x", 1), run(None, "alone"), run("a", "y", 0)]
    assert [r.path for r in listed(mixed, ["1", "2", "3"])] == ["y", "alone", "x"]
    assert [r.path for r in listed(mixed, ["3", "2", "1"])] == ["x", "alone", "y"]
