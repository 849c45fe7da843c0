"""Runs side by side: grouped by data, all pairs tested, labels that tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.report.leaders import estimates_of, leaders
from harness.study import study
from tests.conftest import BAD, GOOD, ROWS, write_jsonl

REFERENCES = [row["references"] for row in ROWS]
METRICS = ["bleu", "rouge"]


def run(outputs: list[str], system: str, dataset: str = "dev") -> harness.types.RunResult:  # type: ignore[name-defined]
    made = harness.evaluate(outputs, REFERENCES, METRICS, resamples=100, name=f"{dataset}-{system}")
    return replace(made, system=system, dataset=dataset, dataset_key=dataset)


def test_all_pairs_and_the_baseline_are_two_families() -> None:
    runs = [run(GOOD, "good"), run(BAD, "bad"), run(GOOD[::-1], "other")]
    found = study(runs, baseline="dev-bad", resamples=200)
    assert [group.dataset for group in found.groups] == ["dev"]
    assert found.groups[0].baseline is found.groups[0].runs[1]
    assert len(found.comparisons) == 3 * len({row.score for row in found.comparisons})
    assert {(row.baseline, row.system) for row in found.against} == {("dev-bad", "dev-good"), ("dev-bad", "dev-other")}
    alone = harness.compare(runs, baseline="dev-bad", resamples=200)
    assert [row.p_adjusted for row in found.against] == [row.p_adjusted for row in alone]


def test_a_run_alone_on_its_data_is_shown_and_not_tested() -> None:
    found = study([run(GOOD, "good"), run(BAD, "bad"), run(GOOD, "good", "test")], resamples=100)
    assert [len(group.runs) for group in found.groups] == [2, 1]
    assert {row.dataset for row in found.comparisons} == {"dev"}
    assert not found.against and found.groups[1].baseline is None
    assert not study(run(GOOD, "good"), resamples=100).comparisons


def test_labels_are_systems_where_that_is_clear() -> None:
    two = [run(GOOD, "good"), run(GOOD, "good", "test"), run(BAD, "bad", "test")]
    assert study(two, resamples=100).labels == {"dev-good": "good", "test-good": "good", "test-bad": "bad"}
    same = [replace(run(GOOD, "good"), name="first"), replace(run(BAD, "good"), name="second")]
    assert study(same, resamples=100).labels == {"first": "first", "second": "second"}


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
    found = study(["dev-failed", "dev-whole"], resamples=500)
    estimates = estimates_of(found.groups[0].runs, "rouge1")
    assert estimates["dev-failed"] > estimates["dev-whole"]  # type: ignore[operator]
    (row,) = [row for row in found.comparisons if row.score == "rouge1"]
    assert (row.system, row.verdict, row.excluded) == ("dev-whole", "better", n // 2)
    assert leaders(found.comparisons, "rouge1", estimates) == ["dev-whole"]


def test_intervals_are_of_the_level_asked_for() -> None:
    runs = [run(GOOD, "good"), run(BAD, "bad")]
    asked = study(runs, baseline=runs[1], resamples=200, level=0.8)
    assert {score.level for one in asked.runs for score in one.scores.values()} == {0.8}
    assert asked.groups[0].baseline is asked.groups[0].runs[1]
    same = study(runs, resamples=200)
    assert [one.scores for one in same.runs] == [one.scores for one in runs]


def test_runs_of_one_folder_name_are_told_apart() -> None:
    same = [replace(run(GOOD, "good"), name="B", path=Path(f"{place}/B-1f2e")) for place in ("o1", "o2")]
    third = replace(run(BAD, "good"), name="C", path=Path("o2/C-1f2e"))
    assert list(study([*same, third], resamples=100).labels.values()) == ["o1/B-1f2e", "o2/B-1f2e", "C"]


def test_a_warning_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    runs = [run(GOOD, "good"), run(BAD, "bad"), run(GOOD, "other")]
    runs[2].statistics.pop("rouge")
    study(runs, baseline="dev-good", resamples=100)
    told = [record.getMessage() for record in caplog.records]
    assert sorted(told) == sorted(set(told)) and len(told) == 2


def test_runs_of_a_sweep_are_called_by_what_differs() -> None:
    made = [replace(run(GOOD, "lead"), name="dev-lead", path=Path(f"runs/dev-lead-{n}")) for n in (1, 2)]
    configs = [{"system": {"_target_": "x.Lead", "sentences": n}, "postprocess": {}} for n in (1, 2)]
    runs = [replace(one, manifest={"config": config}) for one, config in zip(made, configs, strict=True)]
    assert list(study(runs, resamples=100).labels.values()) == ["lead sentences=1", "lead sentences=2"]
