"""Runs side by side: grouped by data, all pairs tested, labels that tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.analysis.comparing.study import study
from harness.stats.options import ComparisonOptions
from tests.conftest import BAD, GOOD, ROWS, write_jsonl

FAST = ComparisonOptions(resamples=100)
REFERENCES = [row["references"] for row in ROWS]
METRICS = ["bleu", "rouge"]


def run(outputs: list[str], system: str, dataset: str = "dev") -> harness.types.RunResult:  # type: ignore[name-defined]
    made = harness.evaluate(outputs, REFERENCES, METRICS, resamples=100, name=f"{dataset}-{system}")
    return replace(made, system=system, dataset=dataset, dataset_key=dataset)


def test_all_pairs_and_the_baseline_are_two_families() -> None:
    runs = [run(GOOD, "good"), run(BAD, "bad"), run(GOOD[::-1], "other")]
    studied = study(runs, baseline="dev-bad", options=ComparisonOptions(resamples=200))
    assert [group.dataset for group in studied.groups] == ["dev"]
    assert studied.groups[0].baseline is studied.groups[0].runs[1]
    assert len(studied.comparisons) == 3 * len({row.score for row in studied.comparisons})
    assert {(row.baseline, row.system) for row in studied.against} == {
        ("dev-bad", "dev-good"),
        ("dev-bad", "dev-other"),
    }
    alone = harness.compare(runs, baseline="dev-bad", resamples=200)
    assert [row.p_adjusted for row in studied.against] == [row.p_adjusted for row in alone]


def test_a_run_alone_on_its_data_is_shown_and_not_tested() -> None:
    studied = study([run(GOOD, "good"), run(BAD, "bad"), run(GOOD, "good", "test")], options=FAST)
    assert [len(group.runs) for group in studied.groups] == [2, 1]
    assert {row.dataset for row in studied.comparisons} == {"dev"}
    assert not studied.against and studied.groups[1].baseline is None
    assert not study(run(GOOD, "good"), options=FAST).comparisons


def test_labels_are_systems_where_that_is_clear() -> None:
    two = [run(GOOD, "good"), run(GOOD, "good", "test"), run(BAD, "bad", "test")]
    assert study(two, options=FAST).labels == {"dev-good": "good", "test-good": "good", "test-bad": "bad"}
    same = [replace(run(GOOD, "good"), name="first"), replace(run(BAD, "good"), name="second")]
    assert study(same, options=FAST).labels == {"first": "first", "second": "second"}


def test_no_run_is_an_error() -> None:
    with pytest.raises(harness.HarnessError, match="no run given; expected at least 1"):
        study([])


def test_a_run_that_failed_on_hard_examples_does_not_lead(tmp_path: Path, cli: Callable[..., Any]) -> None:
    """Its own estimate is the best of all, and on the examples that both have it is the worse one."""
    n = 60
    write_jsonl(tmp_path / "dev.jsonl", [{"id": str(i), "references": [f"word{i} and more of it"]} for i in range(n)])
    outputs = {
        "failed": [f"word{i} and more" if i < n // 2 else None for i in range(n)],
        "whole": [f"word{i} and more of it" if i < n // 2 else "nothing of that kind" for i in range(n)],
    }
    for name, texts in outputs.items():
        write_jsonl(tmp_path / f"{name}.jsonl", [{"id": str(i), "output": text} for i, text in enumerate(texts)])
        options = (f"system.path={name}.jsonl", "metrics=[rouge]", "tracking=none", "stats.resamples=100")
        assert cli("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", *options).code == 0
    studied = study(["dev-failed", "dev-whole"], options=ComparisonOptions(resamples=500))
    estimates = {run.name: run.scores["rouge1"].estimate for run in studied.groups[0].runs}
    assert estimates["dev-failed"] > estimates["dev-whole"]  # type: ignore[operator]
    (row,) = [row for row in studied.comparisons if row.score == "rouge1"]
    assert (row.system, row.verdict, row.excluded) == ("dev-whole", "better", n // 2)
    assert studied.leaders["dev", "rouge1"] == ["dev-whole"]


def test_intervals_are_of_the_level_asked_for() -> None:
    runs = [run(GOOD, "good"), run(BAD, "bad")]
    asked = study(runs, baseline=runs[1], options=ComparisonOptions(resamples=200, level=0.8))
    assert {score.level for result in asked.runs for score in result.scores.values()} == {0.8}
    assert asked.groups[0].baseline is asked.groups[0].runs[1]
    same = study(runs, options=ComparisonOptions(resamples=200))
    assert [result.scores for result in same.runs] == [result.scores for result in runs]


def test_runs_of_one_folder_name_are_told_apart() -> None:
    same = [replace(run(GOOD, "good"), name="B", path=Path(f"{place}/B-1f2e")) for place in ("o1", "o2")]
    third = replace(run(BAD, "good"), name="C", path=Path("o2/C-1f2e"))
    assert list(study([*same, third], options=FAST).labels.values()) == ["o1/B-1f2e", "o2/B-1f2e", "C"]


def test_a_warning_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    runs = [run(GOOD, "good"), run(BAD, "bad"), run(GOOD, "other")]
    runs[2].statistics.pop("rouge")
    study(runs, baseline="dev-good", options=FAST)
    messages = [record.getMessage() for record in caplog.records]
    assert sorted(messages) == sorted(set(messages)) and len(messages) == 2


def test_runs_of_a_sweep_are_called_by_what_differs() -> None:
    made = [replace(run(GOOD, "lead"), name="dev-lead", path=Path(f"runs/dev-lead-{n}")) for n in (1, 2)]
    configs = [{"system": {"_target_": "x.Lead", "sentences": n}, "postprocess": {}} for n in (1, 2)]
    runs = [replace(result, manifest={"config": config}) for result, config in zip(made, configs, strict=True)]
    assert list(study(runs, options=FAST).labels.values()) == ["lead sentences=1", "lead sentences=2"]
