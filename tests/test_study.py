"""Runs side by side: grouped by data, all pairs tested, labels that tell them apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

import harness
from harness.study import study
from tests.conftest import BAD, GOOD, ROWS

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
