"""`harness variance` and `harness power` on stored runs, and the noise of batch order."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from benchmarks.coverage.cells import Share
from benchmarks.coverage.repeats import made
from harness.analysis.comparing.batch_order import is_greedy
from harness.report.terminal.variances import sentence
from harness.types import HarnessError, RunResult
from tests.conftest import called_in, write_jsonl

N = 40


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, seeds of one system."""
    place = tmp_path_factory.mktemp("seeds")
    rng = np.random.default_rng(4)
    write_jsonl(place / "dev.jsonl", [{"id": str(i), "source": "q", "references": ["yes"]} for i in range(N)])
    for seed, rate in enumerate((0.9, 0.5, 0.7)):
        outputs = [{"id": str(i), "output": "yes" if rng.random() < rate else "no"} for i in range(N)]
        write_jsonl(place / f"{seed}.jsonl", outputs)
        called_in(
            place, "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", f"system.path={seed}.jsonl",
            "metrics=[exact_match]", "tracking=none", "stats.resamples=50", f"output_dir=runs/made/s{seed}",
            f"name=s{seed}",
        )  # fmt: skip
    return place


@pytest.fixture
def seeds(stored: Path, tmp_path: Path, cli: Any) -> Any:
    """Commands in a folder that has them."""
    shutil.copytree(stored, tmp_path, dirs_exist_ok=True)
    return cli


def test_noise_that_cannot_be_seen() -> None:
    """Of 50 of 50 right two more seeds "would make it 0.00, which no number of examples would"; of one it was NaN."""
    right = made("right", np.ones((25, 4)), True, Share())
    alone = harness.evaluate(["yes"], ["yes"], ["exact_match"], resamples=0, name="alone")
    for run, why in ((right, "nothing varies over 25 examples"), (alone, "there is one example")):
        (row,) = harness.variance([run])
        assert (row.standard_error, row.sources, row.purchases) == (None, (), ())
        assert sentence(row) == f"{row.score}: {why}, so that the noise cannot be seen."
        assert "n/a" in str(harness.variance([run]))
    (power,) = harness.power([alone])
    assert power.note is not None and power.note.endswith(
        "1 example: no p below 1 is possible; 6 examples are the fewest that could show a difference at 0.05"
    )


def test_variance_of_a_group(seeds: Any) -> None:
    called = seeds("variance", "ours=runs/made/s*")
    assert "dev: ours, n = 40 examples, 3 seeds" in called.out
    assert "example × seed" in called.out
    assert "Two more seeds would make it" in called.out
    document = json.loads(seeds("variance", "ours=s*", "--json").out)
    (row,) = document["rows"]
    assert (row["score"], row["n"], row["levels"]) == ("exact_match", N, {"seed": 3})
    assert [source["name"] for source in row["sources"]] == ["example", "seed", "example × seed"]
    assert all(0 <= source["low"] <= source["share"] <= source["high"] <= 1 for source in row["sources"])
    together = json.loads(seeds("variance", "s0", "s1", "s2", "--json").out)["rows"][0]
    assert together["levels"] == {"run": 3}
    assert together["standard_error"] == pytest.approx(row["standard_error"])
    score = harness.compare(["a=s0,s1", "b=s1,s2"], resamples=50)[0]
    assert score.question == "seeds"


def test_one_run_shows_examples_only(seeds: Any) -> None:
    called = seeds("variance", "s0")
    assert "One run: what another seed would do cannot be seen." in called.out
    assert "twice as many examples would make it" in called.out
    (row,) = harness.variance(["s0"])
    stored = harness.load_run("s0").scores["exact_match"]
    assert [source.share for source in row.sources] == [1.0]
    reach = 1.96 * row.standard_error
    assert (stored.high or 0) - (stored.low or 0) == pytest.approx(2 * reach, rel=0.5)


def test_parameters_that_do_not_matter(cli: Any) -> None:
    swept = cli(
        "run", "--multirun", "system=random", "system.seed=1,2", "postprocess.lowercase=true,false",
        "metrics=[bleu]", "tracking=none", "stats.resamples=20", "progress=false", "output_dir=swept",
    )  # fmt: skip
    assert swept.code == 0
    folders = [str(path) for path in sorted(Path("swept").iterdir())]
    (row,) = harness.variance(folders)
    assert row.levels == {"seed": 2, "lowercase": 2}
    grid = [harness.variance(folders[:3])[0], harness.variance([f"x={','.join(folders[:3])}"])[0]]
    assert [part.levels for part in grid] == [{"run": 3}, {"seed": 3}]
    assert "the 3 runs are no grid of seed × lowercase" in (grid[0].note or "")
    by_seed = harness.variance(folders, group_by="system.seed")
    assert [part.levels for part in by_seed] == [{"seed": 2}, {"seed": 2}]


def test_several_outputs_of_an_example() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(50, 20, (80, 1)) + rng.normal(0, 10, (80, 4))
    (independent,) = harness.variance([made("a", values)])
    assert [source.name for source in independent.sources] == ["example", "example × output"]
    assert independent.sources[1].single == pytest.approx(10, rel=0.15)
    (seeds,) = harness.variance([made("a", values, seeds=True)])
    assert [source.name for source in seeds.sources] == ["example", "seed", "example × seed"]


def test_refusals(seeds: Any) -> None:
    with pytest.raises(HarnessError, match="no run has the score 'exact'.*expected one of exact_match"):
        harness.variance(["s0"], scores=["exact"])
    with pytest.raises(HarnessError, match="level=95; expected a share between 0 and 1"):
        harness.variance(["s0"], level=95)
    assert seeds("variance").code == 2


# ---------------------------------------------------------------- power


def test_power_before_any_run(cli: Any) -> None:
    plan = json.loads(cli("power", "--sd", "20", "--difference", "1", "--json").out)["rows"][0]
    assert (plan["n"], plan["needed"]) == (3142, 3142)
    assert plan["power"] == pytest.approx(0.8, abs=0.001)
    fixed = json.loads(cli("power", "--sd", "20", "--difference", "1", "--n", "785", "--json").out)["rows"][0]
    assert fixed["smallest_detectable"] == pytest.approx(2.0, abs=0.01)
    shown = cli("power", "--sd", "20", "--n", "4000", "--difference", "1", "--seeds", "3", "--seed-sd", "1").out
    assert "3 and 3 seeds" in shown
    assert "no n will do: more seeds" in shown


def test_what_could_be_detected_is_told_without_a_difference(cli: Any, seeds: Any) -> None:
    """By a plan of so many examples, and by a pilot in each of its scores."""
    plan = json.loads(cli("power", "--sd", "20", "--n", "785", "--json").out)["rows"][0]
    assert plan["smallest_detectable"] == pytest.approx(2.0, abs=0.01)
    assert (plan["difference"], plan["power"], plan["needed"], plan["needed_seeds"]) == (None, None, None, None)
    shown = cli("power", "--sd", "20", "--n", "785").out
    assert "smallest detectable" in shown and "power for it" not in shown
    (of_pilot,) = json.loads(seeds("power", "s1", "--json").out)["rows"]
    (asked,) = json.loads(seeds("power", "s1", "--difference", "5", "--json").out)["rows"]
    assert of_pilot["smallest_detectable"] == asked["smallest_detectable"]
    assert of_pilot["difference"] is None


def test_a_difference_that_takes_more_seeds_and_more_examples(cli: Any) -> None:
    plan = ("--sd", "20", "--n", "60", "--difference", "0.3", "--seeds", "3", "--seed-sd", "2")
    row = json.loads(cli("power", *plan, "--json").out)["rows"][0]
    assert (row["needed"], row["needed_seeds"]) == (None, None)
    assert "no n will do: more of both" in cli("power", *plan).out


def test_power_of_one_pilot_run(seeds: Any) -> None:
    row = json.loads(seeds("power", "s1", "--difference", "5", "--json").out)["rows"][0]
    single = harness.variance(["s1"])[0].standard_error
    assert row["standard_error"] == pytest.approx(2**0.5 * single)
    assert row["needed_low"] < row["needed"] < row["needed_high"]
    paired = harness.power(["s1"], difference=5, correlation=0.5)[0]
    assert paired.standard_error == pytest.approx(single)
    assert paired.needed == pytest.approx(row["needed"] / 2, rel=0.05)
    assert (
        "For two systems like s1 whose scores of an example are correlated by 0."
        in seeds("power", "s1", "--difference", "5").out
    )
    group = harness.power(["ours=s*"], difference=40)[0]
    assert group.seeds == (3, 3)


def test_n_with_its_interval() -> None:
    """Of pilots of 60, 95 % intervals of n hold the n that the truth takes."""
    held, simulations, truth = 0, 150, 2 * 10.0**2 * (2.8016 / 2) ** 2
    for simulation in range(simulations):
        rng = np.random.default_rng(simulation)
        pair = [made(name, rng.normal(50, 10, (60, 1))) for name in "ab"]
        (row,) = harness.power(pair, difference=2.0, resamples=1000, seed=simulation)
        held += row.needed_low <= truth <= row.needed_high  # type: ignore[operator]
    assert held / simulations > 0.95 - 3 * np.sqrt(0.05 * 0.95 / simulations)


def test_seeds_that_hide_a_difference() -> None:
    rng = np.random.default_rng(6)
    a, b = (made(name, rng.normal(50, 10, (200, 3)) + np.array([-3, 0, 3]), seeds=True) for name in "ab")
    (row,) = harness.power([a, b], difference=2.0, resamples=50)
    assert (row.needed, row.needed_low, row.needed_high) == (None, None, None)
    assert row.needed_seeds is not None and row.needed_seeds > 10
    assert row.power < 0.2
    outputs = harness.power([a, b], difference=2.0, question="outputs", resamples=50)[0]
    assert outputs.needed is not None


def test_wrong_plans(cli: Any) -> None:
    wrong = [
        (("--sd", "20"), 1, "a plan with neither a difference to detect nor examples; expected --difference, or --n"),
        (("--sd", "-1", "--difference", "1"), 1, "--sd -1; expected a standard deviation, in points of the score"),
        (("--sd", "1", "--difference", "1", "--n", "1"), 1, "--n 1; expected 2 examples or more"),
        (("--sd", "1", "--difference", "1", "--seeds", "0"), 1, "--seeds 0; expected 1 or more"),
        (("--sd", "1", "--difference", "1", "--seed-sd", "1"), 1, "--seed-sd with one seed, which tells nothing"),
        (
            ("--sd", "9", "--difference", "1", "--seeds", "3", "--seed-sd", "2"),
            1,
            "no n will do: with 3 seeds of standard deviation",
        ),
        (("--sd", "9", "--difference", "1", "--correlation", "1"), 1, "correlation=1.0; expected a number between"),
        ((), 2, "no runs: expected two, one as a pilot, or --sd and --difference or --n"),
        (("x", "--sd", "1"), 2, "--sd with runs: expected it without any"),
    ]
    for arguments, code, message in wrong:
        called = cli("power", *arguments)
        assert called.code == code, arguments
        assert message in called.err, arguments
        assert "Traceback" not in called.err


# ---------------------------------------------------------------- batch order


def greedy(run: RunResult, repeats: int, **system: Any) -> RunResult:
    manifest = {"config": {"system": {"temperature": 0, **system}}, "system": {"repeats": repeats}}
    return dataclasses.replace(run, manifest=manifest)


def test_a_difference_below_the_noise_of_batch_order(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(50, 10, (100, 1))
    a = greedy(made("a", base + rng.normal(0, 3, (100, 5))), 5)
    b = made("b", base + rng.normal(0.1, 1, (100, 1)))
    harness.compare([a, b], resamples=50)
    assert "a and b differ by 0." in caplog.text
    assert "that the order of batches alone may make (from 5 repeats of a greedy run)" in caplog.text
    caplog.clear()
    harness.compare([a, made("c", base + 5)], resamples=50)
    harness.compare([dataclasses.replace(a, manifest={}), b], resamples=50)
    assert caplog.text == ""
    (row,) = harness.variance([a])
    assert row.sources[1].name == "example × batch order"


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ({"temperature": 0}, True), ({"temperature": 0.7}, False), ({"do_sample": False, "temperature": 1.0}, True),
        ({"do_sample": True, "temperature": 0}, False), ({"path": "x"}, False),
    ],
)  # fmt: skip
def test_which_runs_are_greedy(system: dict[str, Any], expected: bool) -> None:
    run = dataclasses.replace(made("a", np.ones((3, 1))), manifest={"config": {"system": system}})
    assert is_greedy(run) is expected
    assert not is_greedy(made("a", np.ones((3, 1))))
