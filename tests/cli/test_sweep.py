"""`harness sweep`: the cells of a sweep, what its parameters do, the best and what equals it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.store.records import records

SWEEP = (
    "run", "--multirun", "limit=24", "metrics=bleu", "stats.resamples=50", "tracking=none", "progress=false",
    "output_dir=swept", "system=lead,lexrank", "system.sentences=1,4",
)  # fmt: skip


@pytest.fixture
def swept(cli: Callable[..., Any]) -> Callable[..., Any]:
    assert cli(*SWEEP).code == 0
    return cli


def asked(cli: Callable[..., Any], *words: str) -> Any:
    called = cli("sweep", *words, "--json", "--resamples", "200")
    assert called.code == 0, called.err
    return json.loads(called.out)


def test_a_sweep_and_what_is_missing_of_it(swept: Callable[..., Any]) -> None:
    answer = asked(swept, "swept", "--against", "seconds")  # of baselines these may be too few to be shown unasked
    assert [cell["label"] for cell in answer["cells"]] == [
        "lead sentences=1", "lead sentences=4", "lexrank sentences=1", "lexrank sentences=4",
    ]  # fmt: skip
    (part,) = answer["parts"]
    means = {(mean["parameter"], mean["level"]): mean["estimate"] for mean in part["effects"]["means"]}
    runs = {run.cell: run.values["bleu"]["estimate"] for run in records(Path("swept"))}
    assert means["sentences", "1"] == pytest.approx((runs["lead sentences=1"] + runs["lexrank sentences=1"]) / 2)
    assert part["best"]["system"] in runs and part["best"]["of"] == 4
    assert set(part["best"]["rivals"]) <= set(runs) - {part["best"]["system"]}
    front = [point["label"] for point in part["points"] if point["front"]]
    assert part["best"]["system"] in front
    shown = swept("sweep", "swept", "--resamples", "200").out
    assert answer["again"] is None and "To go on" not in shown
    assert "4 cells: 4 done" in shown and "corrected for the choice among 4" in shown
    gone = next(run.path for run in records(Path("swept")) if run.cell == "lead sentences=4")
    (gone / "manifest.json").unlink()
    (gone / "cell.json").write_text(
        json.dumps(
            {
                "group": answer["group"],
                "cell": {"label": "lead sentences=4", "parameters": {}, "number": 1},
                "error": "no room",
            }
        )
    )
    other = next(run.path for run in records(Path("swept")) if run.cell == "lexrank sentences=1")
    for path in other.iterdir():
        path.unlink()
    answer = asked(swept, "swept")
    states = {cell["label"]: (cell["state"], cell["reason"]) for cell in answer["cells"]}
    assert states["lead sentences=4"] == ("failed", "no room")
    assert states["lexrank sentences=1"] == ("missing", None)
    assert answer["again"].endswith(f"harness {' '.join(SWEEP)} retry_failed=true")
    shown = swept("sweep", "swept", "--resamples", "200").out
    assert shown.endswith(f"To go on with what is not done:\n  {answer['again']}\n")


def test_which_sweep(swept: Callable[..., Any]) -> None:
    folders = sorted(str(run.path) for run in records(Path("swept")))
    group = asked(swept, "swept")["group"]
    assert asked(swept, folders[0])["group"] == group  # one of its runs: all of it
    assert len(asked(swept, *folders[:2])["cells"]) == 2
    for words, message in (
        (["nowhere"], "there is no sweep 'nowhere' below runs"),
        (
            ["swept", "--score", "blue"],
            "no score 'blue' that all cells have (did you mean 'bleu'?); expected one of bleu",
        ),
        (["swept", "--against", "cost"], "the cost of lead sentences=1 is not known"),
    ):
        called = swept("sweep", *words)
        assert called.code == 1 and message in called.err


def test_runs_that_are_no_sweep(cli: Callable[..., Any]) -> None:
    plain = ("run", "limit=8", "metrics=bleu", "stats.resamples=50", "tracking=none", "progress=false")
    assert cli(*plain, "system.sentences=1").code == cli(*plain, "system.sentences=2").code == 0
    folders = [str(run.path) for run in records(Path("runs"))]
    answer = asked(cli, *folders)
    assert {cell["label"] for cell in answer["cells"]} == {"sentences=1", "sentences=2"}
    alone = cli("sweep", folders[0])
    assert alone.code == 1 and "is a run of its own; expected a cell of a sweep" in alone.err
    none = cli("sweep")
    assert none.code == 1 and "there is no sweep below runs" in none.err


def test_cells_that_are_one_run_are_not_missing(cli: Callable[..., Any]) -> None:
    run = ("run", "limit=24", "metrics=bleu", "stats.resamples=50", "tracking=none", "system=lead")
    first = cli(*run, "--multirun", "system.sentences=1,2,2", "progress=true,false", "output_dir=swept")
    assert first.code == 0 and first.err.count("changes no output") == 2
    assert [cell["state"] for cell in asked(cli, "swept")["cells"]] == ["done", "done"]


def test_a_run_stays_a_cell_of_its_first_sweep(cli: Callable[..., Any]) -> None:
    """It may be a cell of another sweep too, or be evaluated by itself once more."""
    run = ("run", "limit=24", "metrics=bleu", "stats.resamples=50", "tracking=none", "system=lead")
    assert cli(*run, "--multirun", "system.sentences=1,2").code == 0
    first = asked(cli)["group"]
    assert cli(*run, "--multirun", "system.sentences=2,3").code == 0
    assert cli(*run, "system.sentences=2").code == 0
    second = asked(cli)["group"]
    assert second != first
    for group, labels in ((first, ["sentences=1", "sentences=2"]), (second, ["sentences=2", "sentences=3"])):
        cells = asked(cli, group)["cells"]
        assert [(cell["label"], cell["state"]) for cell in cells] == [(label, "done") for label in labels]


def answer(example: dict[str, Any], n: int = 3, fails: int = 0) -> str:
    """The first words, except of odd or of even examples, or of all."""
    if fails == 3 or fails == 1 + int(example["id"].strip("abcdefghijklmnopqrstuvwxyz-_")) % 2:
        raise ValueError("asked to fail")
    return " ".join(example["source"].split()[:n])


def failing(cli: Callable[..., Any], *words: str) -> Any:
    function = f"system.function={Path(__file__)}:answer"
    return cli(*SWEEP[:-3], "output_dir=swept", "system=python", function, *words)


def test_a_cell_whose_outputs_all_failed_is_left_out(cli: Callable[..., Any]) -> None:
    called = failing(cli, "+system.options.n=3,9", "+system.options.fails=0,3")
    assert called.code == 1 and "2 of 4 cells failed" in called.err
    folders = sorted(str(run.path) for run in records(Path("swept")))
    for words in (["swept"], folders):
        compared = cli("compare", *words, "--json", "--resamples", "100")
        assert compared.code == 0, compared.err
        assert len(json.loads(compared.out)["comparisons"]) == 1
        assert "left out, since all of their outputs failed: 'n=3 fails=3', 'n=9 fails=3'" in compared.err
    answer = asked(cli, *folders)
    assert [cell["state"] for cell in answer["cells"]] == ["done", "failed", "done", "failed"]
    assert all(point["score"] > 0 for point in answer["parts"][0]["points"])
    alone = [run for run in records(Path("swept")) if run.cell and run.cell.startswith("n=3")]
    refused = cli("compare", *(str(run.path) for run in alone), "--resamples", "100")
    assert refused.code == 1 and "share 0 clusters" in refused.err


def test_cells_that_share_no_scored_output(cli: Callable[..., Any]) -> None:
    """Their means are not 0."""
    assert failing(cli, "+system.options.fails=1,2").code == 0
    called = cli("sweep", "swept")
    assert called.code == 1 and "no output has a bleu score in all 2 cells: fails=" in called.err
