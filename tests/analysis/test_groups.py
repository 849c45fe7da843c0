"""Runs as seeds of one system: by pattern, by a parameter of a sweep, and what question is asked of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.analysis.comparing import groups
from harness.analysis.comparing.study import study
from harness.analysis.stored.loading import loaded_runs
from harness.stats.options import ComparisonOptions
from harness.types import HarnessError
from tests.conftest import Called, called_in, write_jsonl

N = 60
QUICK = ("metrics=[exact_match,token_f1]", "tracking=none", "stats.resamples=200", "progress=false")


@pytest.fixture(scope="module")
def values() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    rates = {"ours": [0.8, 0.72, 0.76], "base": [0.5, 0.58, 0.46, 0.54]}
    return {name: rng.random((N, len(shares))) < shares for name, shares in rates.items()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, values: dict[str, np.ndarray]) -> Path:
    """Three runs of ours and four of base below runs/, and files that have the outputs of all as repeats."""
    place = tmp_path_factory.mktemp("seeds")
    write_jsonl(place / "dev.jsonl", [{"id": str(i), "source": "q", "references": ["yes"]} for i in range(N)])
    for name, right in values.items():
        for seed in range(right.shape[1]):
            outputs = [{"id": str(i), "output": "yes" if right[i, seed] else "no"} for i in range(N)]
            write_jsonl(place / f"{name}{seed}.jsonl", outputs)
            called_in(place, *words(f"{name}{seed}.jsonl", f"{name}-seed{seed}"))
        repeats = [
            {"id": str(i), "repeat": seed, "output": "yes" if right[i, seed] else "no"}
            for i in range(N)
            for seed in range(right.shape[1])
        ]
        write_jsonl(place / f"{name}.jsonl", repeats)
    return place


@pytest.fixture
def seeds(made: Path, tmp_path: Path, cli: Any) -> Any:
    """Commands in a folder that has them."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return cli


def words(file: str, name: str) -> tuple[str, ...]:
    return (
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", f"system.path={file}", *QUICK,
        f"name={name}", f"output_dir=runs/made/{name}",
    )  # fmt: skip


def evaluated(cli: Any, file: str, name: str, *more: str) -> Called:
    called: Called = cli(*words(file, name), *more)
    return called


def test_runs_as_seeds_of_one_system(seeds: Any, values: dict[str, np.ndarray]) -> None:
    called = seeds("compare", "base=runs/made/base-seed*", "ours=runs/made/ours-seed*", "--json", "--no-progress")
    document = json.loads(called.out)
    assert document["question"] == "seeds"
    row = document["comparisons"][0]
    assert (row["baseline"], row["system"], row["n"], row["seeds"], row["verdict"]) == (
        "base", "ours", N, [4, 3], "better",
    )  # fmt: skip
    difference = 100 * (values["ours"].mean() - values["base"].mean())
    assert row["difference"] == pytest.approx(difference)
    by_name = json.loads(seeds("compare", "base=base-seed*", "ours=ours-seed*", "--json").out)
    listed = "ours=ours-seed2,ours-seed0,ours-seed1"
    renumbered = json.loads(seeds("compare", "base=base-seed*", listed, "--json").out)
    assert by_name["comparisons"] == document["comparisons"]
    for before, after in zip(document["comparisons"], renumbered["comparisons"], strict=True):
        assert [after[key] for key in ("p_value", "p_adjusted", "low")] == pytest.approx(
            [before[key] for key in ("p_value", "p_adjusted", "low")]
        )


def test_repeats_are_seeds_where_the_config_or_the_question_says_so(seeds: Any) -> None:
    plain = evaluated(seeds, "ours.jsonl", "ours-repeats")
    assert "ours has 3 outputs for each example, which are taken for independent draws" in plain.err
    assert "set stats.repeats=seeds" in plain.err
    meant = evaluated(seeds, "ours.jsonl", "ours-all", "stats.repeats=seeds")
    assert "independent" not in meant.err
    evaluated(seeds, "base.jsonl", "base-all", "stats.repeats=seeds")
    score = json.loads(Path("runs/made/ours-all/scores.json").read_text())["scores"]["exact_match"]
    averaged = json.loads(Path("runs/made/ours-repeats/scores.json").read_text())["scores"]["exact_match"]
    assert score["method"] == "t over seeds"
    assert averaged["method"] != "t over seeds"
    grouped = harness.compare(["base=base-seed*", "ours=ours-seed*"], scores=["exact_match"], resamples=200)[0]
    stored = harness.compare(["base-all", "ours-all"], scores=["exact_match"], resamples=200)[0]
    asked = harness.compare(["base-all", "ours-repeats"], question="seeds", scores=["exact_match"], resamples=200)[0]
    for row in (stored, asked):
        assert (row.question, row.seeds) == ("seeds", (4, 3))
        assert (row.p_value, row.low) == (pytest.approx(grouped.p_value), pytest.approx(grouped.low))
    outputs = harness.compare(["base-all", "ours-all"], question="outputs", resamples=200)[0]
    assert (outputs.question, outputs.seeds, outputs.difference) == ("outputs", None, pytest.approx(grouped.difference))


def test_one_seed_answers_for_these_outputs_only(seeds: Any) -> None:
    called = seeds("compare", "base-seed0", "ours=runs/made/ours-seed*", "--no-progress")
    assert "'base-seed0' has one seed, so that these outputs are compared" in called.err
    assert "n = 60 examples, paired bootstrap" in called.out
    refused = seeds("compare", "base-seed0", "ours=runs/made/ours-seed*", "--question", "seeds")
    assert refused.err.startswith("harness: base-seed0 has one seed, which tells nothing of another; expected two")
    swapped = seeds("compare", "b=base-seed*", "ours=ours-seed*", "--test", "randomization")
    assert "test=randomization with seeds: swapping outputs tells nothing of new seeds" in swapped.err
    allowed = seeds("compare", "b=base-seed*", "o=ours-seed*", "--test", "randomization", "--question", "outputs")
    assert "paired randomization" in allowed.out
    with pytest.raises(HarnessError, match="question=people; expected one of outputs, seeds"):
        harness.compare(["base-seed0", "ours-seed0"], question="people")


@pytest.mark.slow
def test_tables_reports_and_figures_know_groups(seeds: Any) -> None:
    words = ("ours=runs/made/ours-seed*", "base=runs/made/base-seed*")
    table = seeds("table", *words, "--no-progress").out
    assert "| ours " in table
    assert "seeds: ours 3, base 4. In brackets: 95% intervals (t over seeds)." in table
    assert "(t-tests for new seeds of all pairs" in table
    assert "folder made/ours-seed0, made/ours-seed1, made/ours-seed2" in table
    seeds("report", *words, "-o", "page.html", "--no-progress")
    page = Path("page.html").read_text()
    assert "intervals for new seeds and examples" in page
    assert "by the t-test for new seeds at the level" in page
    assert "harness compare ours=ours-seed0,ours-seed1,ours-seed2 base=base-seed0,base-seed1" in page
    seeds("plot", *words, "--figure", "forest", "-o", "forest.json", "--no-progress")
    assert '"ours"' in Path("forest.json").read_text()
    best = seeds("best", *words, "--no-progress").out
    assert "the best of 2 runs" in best
    made = study(list(words), "base", ComparisonOptions(resamples=200))
    assert [row.question for row in made.against] == ["seeds", "seeds"]
    assert {run.name: run.table.num_rows for run in made.runs} == {"ours": 3 * N, "base": 3 * N}


def test_seeds_of_a_sweep(cli: Any) -> None:
    swept = cli(
        "run", "--multirun", "system=random", "system.seed=1,2,3", "postprocess.lowercase=true,false", "metrics=[bleu]",
        "group_by=system.seed", "tracking=none", "stats.resamples=100", "progress=false", "output_dir=swept",
    )  # fmt: skip
    assert swept.code == 0
    folders = [str(path) for path in sorted(Path("swept").iterdir())]
    rows = json.loads(cli("compare", *folders, "--json", "--score", "bleu", "--resamples", "100").out)
    (row,) = rows["comparisons"]
    assert {row["baseline"], row["system"]} == {
        "random postprocess.lowercase=true",
        "random postprocess.lowercase=false",
    }
    assert (row["seeds"], rows["question"]) == ([3, 3], "seeds")
    apart = ("compare", *folders, "--group-by", "none", "--json", "--score", "bleu", "--resamples", "100")
    assert len(json.loads(cli(*apart).out)["comparisons"]) == 15
    unknown = cli("compare", *folders, "--group-by", "system.sed")
    assert "has no system.sed; did you mean 'system.seed'?" in unknown.err.replace(" (", "; ").replace("?)", "?")
    configs = [json.loads((Path(folder) / "manifest.json").read_text())["config"] for folder in folders]
    first = [folder for folder, config in zip(folders, configs, strict=True) if config["system"]["seed"] == 1]
    nothing = cli("compare", *first, "--group-by", "system.seed")
    assert "no two of the 2 runs differ in system.seed alone; expected seeds of one system" in nothing.err


def test_refusals(seeds: Any) -> None:
    with pytest.raises(HarnessError, match=r"ours=none\*: there is no finished run 'none\*'; expected run folders"):
        loaded_runs(["ours=none*"])
    evaluated(seeds, "ours.jsonl", "ours-repeats")
    message = "x: ours-repeats has 3 outputs an example of 1 seed, base-seed0 1 of 1; expected runs of one seed each"
    with pytest.raises(HarnessError, match=message):
        loaded_runs(["x=base-seed0,ours-repeats"])
    single = seeds(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=ours0.jsonl", *QUICK,
        "stats.repeats=seeds", "name=single",
    )  # fmt: skip
    assert "stats.repeats=seeds with one output for each example; expected several (system.repeats" in single.err
    odd = evaluated_badly(seeds)
    assert "repeats=both; expected one of independent, seeds" in odd.err


def evaluated_badly(cli: Any) -> Called:
    called: Called = cli("run", "system=lead", "tracking=none", "stats.repeats=both")
    return called


def test_a_group_of_one_is_that_run(seeds: Any) -> None:
    (run,), _ = loaded_runs(["ours=runs/made/ours-seed1"])
    assert (run.name, run.system, run.seeds) == ("ours", "ours", 1)
    assert groups.members("dev-sysA") is None
    assert groups.members("runs/x=y") is None
