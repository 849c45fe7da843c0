"""`hydra/sweeper=race`: bad cells are dropped early, nothing is generated twice, and it goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.store.records import records
from tests.conftest import interrupted, needs_plugin, no_workers, write_jsonl

N = 160


@pytest.fixture
def grid(cli: Callable[..., Any]) -> Callable[..., Any]:
    """Stored outputs of four systems, of which one is good, one nearly so and two bad."""
    words = [f"w{i}" for i in range(40)]
    rows = [
        {
            "id": str(i),
            "source": "s",
            "references": [" ".join(words[(i * 7 + j) % 40] for j in range(8))],
            "doc": i // 2,
        }
        for i in range(N)
    ]
    write_jsonl(Path("dev.jsonl"), rows)
    for name, right in (("good", 8), ("near", 8), ("bad", 3), ("worst", 1)):
        outputs = []
        for i, row in enumerate(rows):
            kept = row["references"][0].split()
            keep = right - (name == "near" and i % 40 == 0)
            outputs.append({"id": row["id"], "output": " ".join(kept[:keep] + ["x"] * (8 - keep))})
        write_jsonl(Path(f"{name}.jsonl"), outputs)
    return cli


RACE = (
    "run", "--multirun", "hydra/sweeper=race", "dataset=file", "dataset.path=dev.jsonl", "system=predictions",
    "tracking=none", "progress=false", "stats.resamples=100",
)  # fmt: skip


def raced(cli: Callable[..., Any], *more: str) -> Any:
    return cli(*RACE, "system.path=worst.jsonl,good.jsonl,near.jsonl,bad.jsonl", *more)


def test_bad_cells_are_dropped_and_the_winner_is_finished(grid: Callable[..., Any]) -> None:
    called = raced(grid, "metrics=[bleu]")
    assert called.code == 0, called.err
    runs = {run.config["system"]["path"].removesuffix(".jsonl"): run for run in records(Path("runs"))}
    shares = {name: run.manifest["raced"]["examples"] for name, run in runs.items()}
    assert shares["good"] == shares["near"] == N
    assert shares["worst"] < N and shares["bad"] < N
    assert [runs[name].manifest["cell"]["number"] for name in ("worst", "good", "near", "bad")] == [0, 1, 2, 3]
    assert "dropped path=worst.jsonl" in called.out and "The race saved" in called.out
    assert "Best: path=good.jsonl" in called.out and "4 cells: 2 done, 2 dropped" in called.out
    note = next(iter(runs["worst"].values.values()))["note"]
    assert note.startswith(f"of the first {shares['worst']} of {N} examples")
    answer = json.loads(grid("sweep", "--json", "--resamples", "100").out)
    assert [cell["state"] for cell in answer["cells"]] == ["dropped", "done", "done", "dropped"]
    (part,) = answer["parts"]
    assert part["saved"]["outputs"] == 4 * N - sum(shares.values()) and part["saved"]["error"] == 0.05
    assert (part["outputs"], part["of"]) == (min(shares.values()), N)
    said = f"Means and importance are of the {part['outputs']} of {N} outputs that all cells have a score for."
    assert said in called.out and "of generation" not in called.out  # reading them took no time
    folders = [str(run.path) for run in runs.values()]
    compared = grid("compare", *folders, "--resamples", "100", "--json")
    assert len(json.loads(compared.out)["comparisons"]) == 1 and "a race dropped them" in compared.err


def test_what_is_wrong_with_the_outputs_is_said_once_a_cell(grid: Callable[..., Any]) -> None:
    for name in ("good", "near"):
        rows = [json.loads(line) for line in Path(f"{name}.jsonl").read_text().splitlines()]
        write_jsonl(
            Path(f"{name}.jsonl"), [row | {"output": row["output"] * (i % 3 > 0)} for i, row in enumerate(rows)]
        )
    called = raced(grid, "metrics=[bleu]", "system.path=good.jsonl,near.jsonl")
    lines = called.out.splitlines()
    assert sum("path=good.jsonl  BLEU" in line for line in lines) > 1  # once a round
    assert sum("of the outputs are empty" in line for line in lines) == 2
    assert ["of the outputs are empty" in line for line in lines[:4]] == [False, True, False, True]


@pytest.mark.slow
@pytest.mark.parametrize("more", [["metrics=[token_f1]"], ["metrics=[bleu]", "dataset.cluster=doc"]])
def test_called_again_no_cell_goes_back(grid: Callable[..., Any], more: list[str]) -> None:
    assert raced(grid, *more).code == 0
    before = {run.path: run.manifest["raced"]["examples"] for run in records(Path("runs"))}
    assert sorted(before.values())[2:] == [N, N] and min(before.values()) < N
    assert raced(grid, *more).code == 0
    assert {run.path: run.manifest["raced"]["examples"] for run in records(Path("runs"))} == before


def test_no_output_is_generated_twice(grid: Callable[..., Any]) -> None:
    Path("mine.py").write_text(
        "def answer(example, quality=1):\n"
        "    with open('asked.txt', 'a') as file:\n"
        "        file.write(f\"{example['id']} {quality}\\n\")\n"
        "    return 'right' if quality or example['id'] == '0' else 'wrong'\n"
    )
    write_jsonl(Path("dev.jsonl"), [{"id": str(i), "source": "s", "references": ["right"]} for i in range(N)])
    called = grid(
        "run", "--multirun", "hydra/sweeper=race", "dataset=file", "dataset.path=dev.jsonl", "system=python",
        "system.function=mine.py:answer", "system.options={quality:0},{quality:1}", "metrics=[exact_match]", "tracking=none",
        "progress=false", "stats.resamples=50", "cache=none",
    )  # fmt: skip
    assert called.code == 0, called.err
    asked = Path("asked.txt").read_text().splitlines()
    assert len(asked) == len(set(asked))
    assert sum(line.endswith(" 1") for line in asked) == N > sum(line.endswith(" 0") for line in asked)


def test_a_race_that_was_broken_off(grid: Callable[..., Any]) -> None:
    """A cell that waits for its turn in a round was not dropped."""
    with interrupted(after=5):  # four of the first round, one of the second
        assert raced(grid, "metrics=[bleu]", "system.path=good.jsonl,near.jsonl,bad.jsonl,worst.jsonl").code == 130
    cells = json.loads(grid("sweep", "--json", "--resamples", "100").out)["cells"]
    furthest = max((run.manifest["raced"] for run in records(Path("runs"))), key=lambda own: float(own["share"]))
    assert 1 in furthest["left"] and 3 not in furthest["left"]
    assert [cells[i]["state"] for i in (0, 1, 3)] == ["interrupted", "interrupted", "dropped"]
    assert raced(grid, "metrics=[bleu]", "system.path=good.jsonl,near.jsonl,bad.jsonl,worst.jsonl").code == 0
    cells = json.loads(grid("sweep", "--json", "--resamples", "100").out)["cells"]
    assert [cell["state"] for cell in cells] == ["done", "done", "dropped", "dropped"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("race=5", "race=5; expected null, or what hydra/sweeper=race sets"),
        ("race={part:0.5}", "race.part is not an option; race has: share, score, error, left"),
        ("race={share:2,score:bleu,error:0.05}", "race.share=2; expected a share of the data"),
    ],
)
def test_a_round_that_nobody_asked_for(words: str, message: str, grid: Callable[..., Any]) -> None:
    called = grid("run", "system=lead", "tracking=none", words)
    assert (called.code, called.err.count("\n")) == (1, 1) and message in called.err


def test_cells_may_run_in_other_processes(grid: Callable[..., Any]) -> None:
    needs_plugin("hydra_joblib_launcher")
    no_workers()
    called = raced(
        grid, "metrics=[bleu]", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "system.path=good.jsonl,worst.jsonl"
    )
    assert called.code == 0, called.err
    dropped = [run for run in records(Path("runs")) if run.manifest["raced"]["examples"] < N]
    assert [run.config["system"]["path"] for run in dropped] == ["worst.jsonl"]
    assert "Best: path=good.jsonl" in called.out and "The race saved" in called.out


def test_a_cell_that_fails_is_left_out(grid: Callable[..., Any]) -> None:
    Path("near.jsonl").unlink()
    called = raced(grid, "metrics=[bleu]")
    assert called.code == 1 and "near.jsonl does not exist" in called.err
    assert "Best: path=good.jsonl" in called.out or "good.jsonl" in called.out


def test_files_that_one_system_stands_for(grid: Callable[..., Any]) -> None:
    called = grid(*RACE, "metrics=[bleu]", "system.path=*o*.jsonl")  # good, worst
    assert called.code == 0, called.err
    assert "1/2  path=good.jsonl" in called.out and "dropped path=worst.jsonl" in called.out
    cells = json.loads(grid("sweep", "--json", "--resamples", "100").out)["cells"]
    assert [(cell["label"], cell["state"]) for cell in cells] == [
        ("path=good.jsonl", "done"),
        ("path=worst.jsonl", "dropped"),
    ]
    none = grid(*RACE, "metrics=[bleu]", "system.path=no*.jsonl")
    assert (none.code, none.err.count("\n")) == (1, 1) and "system.path=no*.jsonl matches no file" in none.err


def test_what_cannot_be_raced(grid: Callable[..., Any]) -> None:
    alone = grid("run", "--multirun", "hydra/sweeper=race", "system=lead", "tracking=none")
    assert alone.code == 1 and "hydra/sweeper=race of one cell; expected a parameter with several values" in alone.err
    odd = raced(grid, "metrics=[bleu]", "hydra.sweeper.error=2")
    assert odd.code == 1 and "hydra.sweeper.error=2" in odd.err
    unscored = raced(grid, "metrics=[]")
    assert unscored.code == 1 and unscored.err.startswith("harness: no metric was chosen; expected")


def test_what_is_said_counts_the_cells_of_the_grid(grid: Callable[..., Any]) -> None:
    """Each round is counted for itself, and what comes next is named by one pattern."""
    called = grid(
        *RACE, "system.path=good.jsonl,nowhere.jsonl,near.jsonl,worst.jsonl,bad.jsonl", "metrics=[bleu]", "limit=150",
        "output_dir=out",
    )  # fmt: skip
    assert called.code == 1 and "\nharness: 1 of 5 cells failed:\n  1 path=nowhere.jsonl" in called.err
    counts = [line.split()[0] for line in called.out.splitlines() if "BLEU" in line and "  out/" in line]
    assert counts[:4] == ["1/5", "3/5", "4/5", "5/5"]
    assert counts[-2:] == ["1/2", "2/2"]


def test_what_comes_next_is_short(grid: Callable[..., Any]) -> None:
    for i in (1, 2):
        Path(f"good{i}.jsonl").write_bytes(Path("good.jsonl").read_bytes())
    called = grid(*RACE, "system.path=worst.jsonl,good.jsonl,good1.jsonl,good2.jsonl", "metrics=[bleu]", "name=same")
    assert called.code == 0 and "dropped path=worst.jsonl" in called.out
    assert called.out.partition("\nnext\n")[2].splitlines()[1:] == [
        "  harness compare runs/harness/*", "  harness best runs/harness/*",
        "  harness report runs/harness/* -o report.html",
    ]  # fmt: skip
    compared = grid("compare", *map(str, Path("runs/harness").iterdir()))
    assert compared.code == 0 and "a race dropped them" in compared.err
    (Path("runs/harness/same-another")).mkdir()
    again = grid(*RACE, "system.path=worst.jsonl,good.jsonl,good1.jsonl,good2.jsonl", "metrics=[bleu]", "name=same")
    group, *commands = again.out.partition("\nnext\n  harness sweep ")[2].splitlines()
    assert commands == [
        f"  harness compare {group}", f"  harness best {group}", f"  harness report {group} -o report.html",
    ]  # fmt: skip
    by_group, by_folder = grid("compare", group, "--json"), grid("compare", "runs/harness", "--json")
    assert by_group.code == 0 and json.loads(by_group.out) == json.loads(by_folder.out)


def test_data_that_are_too_few_for_a_race(cli: Callable[..., Any]) -> None:
    words = (*RACE[:3], *RACE[6:], "system=lead,lexrank", "system.sentences=1,30", "metrics=ter")
    called = cli(*words, "limit=30")
    assert called.code == 0
    assert "10 clusters are too few to drop a cell early: all cells answer everything" in called.out
    assert "The race saved 0 of 120 outputs" in called.out and "Means and importance" not in called.out


def test_those_left_are_called_as_the_others(cli: Callable[..., Any]) -> None:
    """Though their systems alone would tell them apart."""
    called = cli(*RACE[:3], *RACE[6:], "system=lead,lexrank", "system.sentences=1,30", "metrics=ter")
    table = called.out.partition("95% intervals")[2].partition("sweep ")[0]
    assert called.code == 0 and "2 done, 2 dropped" in called.out
    assert "lead sentences=1 " in table and "lexrank sentences=1 " in table


def test_files_with_long_paths_that_one_system_stands_for_are_told_apart(grid: Callable[..., Any]) -> None:
    for name in ("good", "worst"):
        folder = Path(f"outputs/of-a-long-name-{name}-of-the-seventh-of-may")
        folder.mkdir(parents=True)
        Path(f"{name}.jsonl").rename(folder / "predictions.jsonl")
    called = grid(*RACE, "metrics=[bleu]", "system.path=outputs/*/predictions.jsonl")
    assert called.code == 0, called.err
    labels = [run.cell for run in records(Path("runs"))]
    assert len(set(labels)) == 2 and all("-good-" in str(own) or "-worst-" in str(own) for own in labels)
