"""Studies made by hand, so that tests decide what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from harness.analysis.comparing.leaders import leaders_of
from harness.metrics.bleu import Bleu
from harness.metrics.chrf import ChrfPlusPlus
from harness.metrics.rouge import Rouge
from harness.metrics.ter import Ter
from harness.types import Comparison, Comparisons, Group, Metric, RunResult, Score, Study

LOWER = ("ter",)
METRICS: list[Metric] = [Bleu(), ChrfPlusPlus(), Rouge(), Ter()]


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
            **_shown(name),
        )
        for name, value in estimates.items()
    }
    table = pa.table({"id": ["1", "2", "3"]})
    made = RunResult(f"{dataset}-{system}", dataset, dataset, system, scores, {}, lambda: table, 0)
    return replace(made, **fields)


def _shown(score: str) -> dict[str, Any]:
    """What the metric says of its score; nothing where no metric gives it."""
    metric = next((metric for metric in METRICS if score in metric.score_names), None)
    return {} if metric is None else {"title": metric.title_of(score), "digits": metric.digits_of(score)}


def comparison(baseline: RunResult, system: RunResult, score: str, verdict: str = "not distinguishable") -> Comparison:
    before, after = baseline.scores[score].estimate, system.scores[score].estimate
    difference = None if before is None or after is None else after - before
    values: dict[str, Any] = dict.fromkeys(field.name for field in fields(Comparison))
    values |= {"dataset": baseline.dataset, "baseline": baseline.name, "system": system.name, "score": score}
    values |= {"baseline_estimate": before, "system_estimate": after, "difference": difference}
    values |= {"n": 3, "unit": "examples", "excluded": 0, "p_value": None if difference is None else 0.5}
    return Comparison(**{**values, "verdict": verdict, "higher_is_better": score not in LOWER, "digits": 2})


def study(*groups: list[RunResult], tests: list[Comparison] = [], against: list[Comparison] = []) -> Study:  # noqa: B006
    made = tuple(Group(runs[0].dataset, tuple(runs)) for runs in groups)
    return Study(
        groups=made,
        labels={result.name: result.system for runs in groups for result in runs},
        comparisons=Comparisons(tests),
        against=Comparisons(against),
        level=0.95, test="bootstrap", correction="max-t", resamples=1000, seed=7,
        leaders=leaders_of(made, tests),
    )  # fmt: skip
