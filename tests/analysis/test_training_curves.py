"""Checkpoints as curves, and the best of dev reported on test."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.analysis.comparing.study import study
from harness.analysis.sweeps.outcomes import outcome
from harness.report.curve_words import answer, choice, outlook
from harness.report.page.verdicts import verdicts
from harness.report.terminal.learning_curve import print_curve
from harness.stats.options import ComparisonOptions
from harness.types import HarnessError, RunResult
from tests.conftest import Called, write_jsonl
from tests.stats.test_comparison import run

QUALITY = {100: 0.1, 200: 0.5, 300: 0.9, 400: 0.91}


def checkpoint(step: int, quality: float, data: str = "dev", series: str = "mine-0a1b2c3d") -> RunResult:
    rng = np.random.default_rng([step, len(data)])
    right = rng.random(60) < quality
    outputs = ["yes" if each else "no" for each in right]
    made = harness.evaluate(outputs, [["yes"]] * 60, ["exact_match"], resamples=200, name=f"{data}-step-{step}")
    manifest = {"system": {"step": step, "series": series}}
    return replace(made, manifest=manifest, dataset=data, dataset_key=data, system=f"mine-step-{step}")


def checkpoints(data: str = "dev") -> list[RunResult]:
    return [checkpoint(step, quality, data) for step, quality in reversed(QUALITY.items())]


def test_the_curve_of_runs_in_any_order(capsys: pytest.CaptureFixture[str]) -> None:
    runs = checkpoints()
    (curve,) = harness.curve(runs, margins={"exact_match": 30}, further=500, resamples=300)
    assert [point.step for point in curve.steps] == [100, 200, 300, 400]
    assert [point.run for point in curve.steps] == [f"dev-step-{step}" for step in QUALITY]
    assert (curve.score, curve.dataset, curve.series, curve.n) == ("exact_match", "dev", "mine-0a1b2c3d", 60)
    assert curve.earliest == 300
    assert curve.within == 300
    assert re.fullmatch(
        r"exact_match is best at step \d00 \(\d+\.\d\d\)(; the earliest step that cannot be told from it is 300 \(worse "
        r"by at most \d+\.\d\d\)\.|; every earlier step is worse\.) Step 300 is the first that is shown to be within 30 "
        r"of the best\. The luck of being chosen was worth (nothing|\d+\.\d\d): .* is what to report\.",
        answer(curve),
    )
    assert "500 more steps could be worth" in outlook(curve)
    trend = curve.trend
    last = [(point.step, point.estimate) for point in curve.steps][-trend.steps :]
    residuals = np.polyfit(*zip(*last, strict=True), 1, full=True)[1]
    assert trend.noise == pytest.approx(np.sqrt(residuals.sum() / (trend.steps - 2)), abs=1e-9)
    assert "From step to step scores vary by" in outlook(curve)
    studied = study(runs, options=ComparisonOptions(resamples=300))
    assert studied.curves[0].steps == curve.steps
    said, of_pairs = verdicts(studied, studied.groups[0])
    assert said.startswith("Exact match is best at step ")
    assert of_pairs.startswith("By the tests of all pairs and scores together: mine-step-")
    print_curve(runs, [curve])
    shown = capsys.readouterr().out
    assert "95% band" in shown
    assert re.findall(r"^ +(\d00) ", shown, re.MULTILINE) == ["100", "200", "300", "400"]
    assert choice(replace(curve, score="Exact match")) in shown.replace("\n", " ")  # as papers call it
    assert "Bands hold at all steps at once" in shown


def test_what_is_no_curve() -> None:
    first, second = checkpoint(100, 0.1), checkpoint(200, 0.5)
    with pytest.raises(HarnessError, match=r"no learning curve in a, b; expected two checkpoints or more of one"):
        harness.curve([run([1.0, 2.0, 3.0], "a"), run([1.0, 2.0, 4.0], "b")])
    again = replace(checkpoint(200, 0.6), name="again")
    with pytest.raises(
        HarnessError, match=r"dev-step-200 and again are both at step 200 of mine-0a1b2c3d; expected one"
    ):
        harness.curve([first, second, again])
    assert study([first, second, again], options=ComparisonOptions(resamples=100)).curves == []
    with pytest.raises(HarnessError, match=r"margin blue=1: expected one of the scores exact_match"):
        harness.curve([first, second], margins={"blue": 1}, resamples=100)
    other = replace(checkpoint(200, 0.5), stopped={"examples": 5, "of": 60})
    with pytest.raises(HarnessError, match="ended after 5 of 60 examples"):
        harness.curve([first, other], resamples=100)


def test_chosen_on_dev_reported_on_test() -> None:
    dev, test = checkpoints(), checkpoints("test")
    (row,) = harness.report_best(dev, test, resamples=300)
    (best,) = harness.best(dev, resamples=300)
    assert row.chosen_on == best
    step = best.system.rpartition("-")[2]
    assert (row.run, row.dataset) == (f"test-step-{step}", "test")
    own = next(run for run in test if run.name == row.run).scores["exact_match"]
    assert (row.estimate, row.low, row.high) == (own.estimate, own.low, own.high)  # nothing to correct
    assert (step, row.earliest, row.earliest_run) == ("400", 300, "test-step-300")
    assert row.difference == pytest.approx((row.earliest_estimate or 0) - (row.estimate or 0))
    with pytest.raises(
        HarnessError, match=r"--report has no run of mine-step-\d00 on test; found .mine-step-100.; exp"
    ):
        harness.report_best(dev, [run for run in test if run.name.endswith("100")], resamples=100)
    with pytest.raises(HarnessError, match="--report has runs on dev, which --on chooses on; expected other data"):
        harness.report_best(dev, dev, resamples=100)
    with pytest.raises(HarnessError, match=r"--on has runs on 2 data sets \(dev, test\); expected one to choose on"):
        harness.report_best([*dev, *test], test, resamples=100)
    twice = [*test, replace(test[0], name="again")]
    with pytest.raises(HarnessError, match="test-step-400 and again are both runs of mine-step-400 on test; expected"):
        harness.report_best(dev, twice, resamples=100)


def scored(data: str, name: str, *metrics: Any, references: int = 1) -> RunResult:
    texts = [["it is so", "so it is"][:references]] * 30
    made = harness.evaluate([f"it is {name}"] * 30, texts, list(metrics), resamples=100, name=f"{data}-{name}")
    return replace(made, manifest={"system": {}}, dataset=data, dataset_key=data, system=name)


def test_what_is_chosen_by_is_what_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    dev = [scored("dev", name, "chrf", "exact_match") for name in ("so", "not")]
    test = [scored("test", name, "chrf", references=2) for name in ("so", "not")]
    rows = harness.report_best(dev, test, resamples=100)
    assert [(row.score, row.run) for row in rows] == [("chrf", "test-so")]  # however many references there are
    assert "--report has no run on test with exact_match: not reported" in caplog.text
    other = [scored("test", name, "bleu") for name in ("so", "not")]
    with pytest.raises(HarnessError, match=r"--report has no run on test with 'chrf', 'exact_match', which --on cho"):
        harness.report_best(dev, other, resamples=100)
    longer = [scored("test", name, {"chrf": {"word_order": 2}}) for name in ("so", "not")]
    with pytest.raises(HarnessError, match=r"chrf of dev-so and test-so are defined differently \(nw: 0 and 2\); exp"):
        harness.report_best(dev, longer, resamples=100)


def test_the_page_of_a_training_run_answers_with_the_numbers_that_its_command_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.analysis.sweeps.outcomes.page_of", lambda *_: "")  # those are of stored runs
    monkeypatch.setattr("harness.analysis.sweeps.outcomes._figures", lambda _: [])
    stats = {"resamples": 300, "level": 0.9, "seed": 7}
    runs = [replace(run, manifest={**run.manifest, "config": {"stats": stats}}) for run in checkpoints()]
    (curve,) = harness.curve(runs, **stats)
    made = outcome(runs)
    said = made.note.splitlines()[0].replace("\\", "")
    assert said == f"- {answer(replace(curve, score='Exact match'))} {outlook(curve)}"
    assert made.best["exact_match.corrected"] == curve.corrected
    other = [replace(run, manifest={"system": {**run.manifest["system"], "series": "theirs-11111111"}}) for run in runs]
    both = outcome([*runs, *(replace(run, name=f"{run.name}-too", system=f"{run.system}-too") for run in other)])
    assert [line.split()[1] for line in both.note.splitlines()[:3]] == ["mine", "theirs", "**Exact"]


def test_the_command(tmp_path: Path, cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored outputs as checkpoints: system.step and system.series name them."""
    monkeypatch.chdir(tmp_path)
    for data in ("dev", "test"):
        rows = [{"id": f"{data}{i}", "source": "s", "references": ["yes"]} for i in range(40)]
        write_jsonl(tmp_path / f"{data}.jsonl", rows)
        for step, quality in ((100, 0.1), (400, 0.9)):
            right = np.random.default_rng([step, len(data)]).random(40) < quality
            outputs = [
                {"id": row["id"], "output": "yes" if each else "no"} for row, each in zip(rows, right, strict=True)
            ]
            write_jsonl(tmp_path / f"{data}-{step}.jsonl", outputs)
            made = cli(
                "run", "dataset=file", f"dataset.path={data}.jsonl", "system=predictions", "metrics=[exact_match]",
                f"system.path={data}-{step}.jsonl", f"system.name=step-{step}", "tracking=none", "stats.resamples=100",
            )  # fmt: skip
            assert made.code == 0, made.err
    names = {data: [f"{data}-step-{step}" for step in (100, 400)] for data in ("dev", "test")}
    fast = ("--resamples", "200", "--no-progress")
    called = cli("best", "--on", *names["dev"], "--report", *names["test"], *fast)
    assert called.code == 0, called.err
    assert "chosen on dev (of 2 runs, n = 40), reported on test (n = 40)" in called.out
    assert "had no say in the choice: its scores and intervals need no correction" in called.out.replace("\n", " ")
    document = json.loads(cli("best", "--on", *names["dev"], "--report", *names["test"], *fast, "--json").out)
    (row,) = document["rows"]
    assert (row["dataset"], row["chosen_on"]["dataset"]) == ("test", "dev")
    plain = json.loads(cli("best", *names["dev"], *fast, "--json").out)
    assert plain["curves"] == []
    assert cli("best", "--on", *names["dev"], *fast).code == 2
    assert cli("best", *names["dev"], "--on", "x", "--report", "y", *fast).code == 2
    assert cli("best", "--on", "x", "--report", "y", "--further", "100", *fast).code == 2
    for data in names:  # a folder stands for the runs in it
        for path in (tmp_path / "runs" / "harness").glob(f"{data}-*"):
            (tmp_path / "runs" / data).mkdir(exist_ok=True)
            path.rename(tmp_path / "runs" / data / path.name)
    assert json.loads(cli("best", "--on", "runs/dev", "--report", "runs/test", *fast, "--json").out) == document
    (tmp_path / "runs" / "dev" / "step-900").mkdir()
    (tmp_path / "runs" / "dev" / "step-900" / "outputs.jsonl").touch()
    called = cli("best", "runs/dev", *fast, "--json")
    assert json.loads(called.out) == plain
    assert "runs/dev: 'runs/dev/step-900' left out, not finished" in called.err
    by_system = json.loads(cli("compare", "runs/dev", "--baseline", "step-100", *fast, "--json").out)
    (row,) = by_system["comparisons"]
    assert (row["baseline"], row["system"]) == ("dev-step-100", "dev-step-400")
    assert cli("best", *fast).code == 2
    refused = cli("best", *names["dev"], "--further", "10", *fast)
    assert refused.code == 1
    assert "no learning curve in" in refused.err
