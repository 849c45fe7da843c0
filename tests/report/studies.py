"""Studies made by hand, so that tests decide what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pandas as pd

from harness.types import Comparison, Comparisons, Group, RunResult, Score, Study

LOWER = ("ter",)


def run(system: str, estimates: Mapping[str, float | None], dataset: str = "dev", **fields: Any) -> RunResult:
    """A run whose intervals reach from 0.2 below to 0.4 above the estimate."""
    scores = {
        name: Score(
            name=name,
            estimate=value,
            low=None if value is None else value - 0.2,
            high=None if value is None else value + 0.4,
            level=0.95,
            method="percentile",
            resamples=1000,
            signature=f"of:{name.partition('.')[0]}|version:1",
            higher_is_better=name not in LOWER,
        )
        for name, value in estimates.items()
    }
    examples = pd.DataFrame({"id": ["1", "2", "3"]})
    made = RunResult(f"{dataset}-{system}", dataset, dataset, system, scores, {}, examples, 0)
    return replace(made, **fields)


def comparison(baseline: RunResult, system: RunResult, score: str, verdict: str = "not distinguishable") -> Comparison:
    before, after = baseline.scores[score].estimate, system.scores[score].estimate
    difference = None if before is None or after is None else after - before
    found: dict[str, Any] = dict.fromkeys(field.name for field in fields(Comparison))
    found |= {"dataset": baseline.dataset, "baseline": baseline.name, "system": system.name, "score": score}
    found |= {"baseline_estimate": before, "system_estimate": after, "difference": difference}
    found |= {"n": 3, "unit": "examples", "excluded": 0, "p_value": None if difference is None else 0.5}
    return Comparison(**{**found, "verdict": verdict, "higher_is_better": score not in LOWER})


def study(*groups: list[RunResult], tests: list[Comparison] = [], against: list[Comparison] = []) -> Study:  # noqa: B006
    return Study(
        groups=tuple(Group(runs[0].dataset, tuple(runs)) for runs in groups),
        labels={one.name: one.system for runs in groups for one in runs},
        comparisons=Comparisons(tests),
        against=Comparisons(against),
        level=0.95, test="bootstrap", correction="max-t", resamples=1000, seed=7,
    )  # fmt: skip
