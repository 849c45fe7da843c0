"""What scores are called in tables, figures and pages: the field's own names. What users type, JSON and MLflow keep the
identifiers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from harness.types import RunRecord, RunResult


def score_titles(runs: Iterable[RunResult | RunRecord]) -> dict[str, str]:
    """Of each score of the runs its title; where two share one, the identifier behind it."""
    titles: dict[str, str] = {}
    for run in runs:
        for name, score in run.scores.items():
            titles.setdefault(name, score.title)
    return apart(titles)


def titled_rows(rows: Iterable[Any]) -> list[Any]:
    """Records of scores (comparisons, the best, …), each with its score's title in the place of the identifier."""
    rows = list(rows)
    titles = apart({row.score: row.title or row.score for row in rows})
    return [replace(row, score=titles[row.score]) for row in rows]


def apart(titles: Mapping[str, str]) -> dict[str, str]:
    """
    >>> apart({"bleu": "BLEU", "bleu_zh": "BLEU", "ter": "TER"})
    {'bleu': 'BLEU (bleu)', 'bleu_zh': 'BLEU (bleu_zh)', 'ter': 'TER'}
    """
    counts = Counter(titles.values())
    return {name: title if counts[title] == 1 else f"{title} ({name})" for name, title in titles.items()}
