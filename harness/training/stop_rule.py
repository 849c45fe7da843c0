"""When training can stop: `no further gain of 0.2 BLEU can be told`.

The rule looks at the straight line through the last evaluations (harness/stats/selection/by_step.py). A further gain
can be told no more once the upper bound of what as many steps again are worth, at the level of the intervals, lies
below the gain that was named: with few examples that is late, or never, and then the callback says what gain could be
told.

>>> StopRule.of("no further gain of 0.2 BLEU can be told")
StopRule(score='bleu', gain=0.2, steps=None)
>>> StopRule.of("no further gain of 0.5 chrF can be told in 2,000 steps").steps
2000
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.report.curve_words import answer, outlook
from harness.stats.options import Options
from harness.stats.selection.by_step import LAST, CurveOptions, curves
from harness.types import Curve, HarnessError, RunResult, nearest

FORM = "no further gain of X SCORE can be told"
PATTERN = re.compile(
    r"no further gain of (?P<gain>[\d.]+) (?P<score>[\w.]+) can be told(?: in (?P<steps>[\d,]+) steps)?", re.IGNORECASE
)


@dataclass(frozen=True)
class StopRule:
    score: str
    gain: float
    steps: int | None = None
    """Within so many more steps; by default as many as the last evaluations span."""

    @classmethod
    def of(cls, text: str) -> StopRule:
        match = PATTERN.fullmatch(text.strip().rstrip("."))
        try:
            gain = float(match["gain"]) if match else 0.0
        except ValueError:
            gain = 0.0
        if match is None or gain <= 0:
            raise HarnessError(
                f"stop_when={text!r}; expected {FORM!r}, or with 'in N steps' behind it, such as "
                "'no further gain of 0.2 BLEU can be told'"
            )
        steps = int(match["steps"].replace(",", "")) if match["steps"] else None
        return cls(match["score"].lower(), gain, steps)

    def check_known(self, scores: Sequence[str]) -> None:
        """Refuses a rule by a score that is none of these."""
        if self.score not in map(str.lower, scores):
            raise HarnessError(
                f"stop_when: no score {self.score!r}{nearest(self.score, list(scores))}; expected one of "
                f"{', '.join(scores)}"
            )

    def curve(self, results: Mapping[int, RunResult], options: Options) -> Curve | None:
        """The score's curve so far; None where there are too few evaluations to say anything."""
        if len(results) < LAST:
            return None
        by_name = {made.score: made for made in curves_of(results, options, self.steps)}
        self.check_known(list(by_name))
        return next(made for name, made in by_name.items() if name.lower() == self.score)

    def met(self, curve: Curve) -> bool:
        """Whether a gain that large is ruled out."""
        return curve.trend.worth < self.gain

    def advice(self, curve: Curve) -> str:
        """What is known, in sentences."""
        said = f"{answer(curve)} {outlook(curve)}"
        if self.met(curve):
            return f"{said} No further gain of {self.gain:g} {curve.score} can be told: stop."
        return f"{said} A further gain of {self.gain:g} {curve.score} is possible: go on."


def curves_of(results: Mapping[int, RunResult], options: Options, further: int | None = None) -> list[Curve]:
    """The curves of results by step, by each headline score."""
    return curves("training", dict(results), CurveOptions(options, further=further))
