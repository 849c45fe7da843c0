"""`objective=bleu`: what a cell of a sweep returns to whatever sweeper chose it, and which way is better.

>>> Objective.of("-generation/cost")
Objective(text='-generation/cost', name='generation/cost', bound=None, negative=True)
>>> Objective.of("bleu.low").name
'bleu'
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.types import HarnessError, Metric, RunResult, nearest

GENERATION = "generation/"
MEASURED = {
    **dict.fromkeys(("seconds", "input_tokens", "output_tokens", "cost"), False),
    **dict.fromkeys(("latency_p50", "latency_p90", "latency_p99"), False),
    **dict.fromkeys(("outputs_per_second", "tokens_per_second"), True),
}
"""Of a run's generation: whether more is better."""
BOUNDS = ("low", "high")


@dataclass(frozen=True)
class Objective:
    """A number of a run."""

    text: str
    """As it was written."""
    name: str
    """Of a score, or of what a run's generation took."""
    bound: str | None = None
    negative: bool = False
    """`-…`: its negative, for sweepers that know one direction only."""

    @classmethod
    def of(cls, text: str) -> Objective:
        name, negative = text.removeprefix("-"), text.startswith("-")
        score, dot, bound = name.rpartition(".")
        return cls(text, score, bound, negative) if dot and bound in BOUNDS else cls(text, name, None, negative)

    def check(self, metrics: Mapping[str, Metric], resamples: int) -> bool:
        """Whether more of it is better, where the metrics have it."""
        scores = {score: metric for metric in metrics.values() for score in metric.score_names}
        known = {GENERATION + name: more for name, more in MEASURED.items()}
        known |= {score: metric.higher_is_better for score, metric in scores.items()}
        if self.name not in known or (self.bound and self.name not in scores):
            main = [score for score in scores if "." not in score]
            raise HarnessError(
                f"objective={self.text}: no chosen metric has it{nearest(self.name, known)}; expected "
                f"{', '.join(main)}, its lower bound ({main[0]}.low), or {GENERATION}cost"
            )
        if self.bound and not resamples:
            raise HarnessError(f"objective={self.text} with stats.resamples=0; expected resamples, which give bounds")
        return known[self.name] != self.negative

    def value(self, result: RunResult) -> float:
        """Of a run that has it."""
        if self.name.startswith(GENERATION):
            number = result.manifest["generation"].get(self.name.removeprefix(GENERATION))
            why = "its system says nothing of it"
        else:
            score = result.scores.get(self.name)
            number = None if score is None else getattr(score, self.bound or "estimate")
            why = (score.note if score is not None else None) or "it could not be computed"
        if number is None or not math.isfinite(number):
            raise HarnessError(f"objective={self.text} is missing in {result.name}: {why}; expected a number")
        return -float(number) if self.negative else float(number)


def objectives(named: Any) -> list[Objective]:
    """One, or several; none where a sweep optimises nothing."""
    if named is None:
        return []
    texts = list(named) if isinstance(named, Sequence) and not isinstance(named, str) else [named]
    for text in texts:
        if not isinstance(text, str) or not text.strip("- "):
            raise HarnessError(f"objective={named}; expected the name of a score, or a list of names")
    if not texts:
        raise HarnessError("objective is an empty list; expected the name of a score, or null")
    if twice := next((text for text in texts if texts.count(text) > 1), None):
        raise HarnessError(f"objective=[{','.join(texts)}] has {twice} twice; expected each once")
    return [Objective.of(text) for text in texts]


def values(named: Any, results: Sequence[RunResult]) -> float | list[float] | None:
    """What a cell returns: of its last run, since checkpoints come by step."""
    wanted = objectives(named)
    if not wanted:
        return None
    numbers = [objective.value(results[-1]) for objective in wanted]
    return numbers[0] if isinstance(named, str) else numbers
