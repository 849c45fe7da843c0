"""A learning curve in sentences: the best step, the earliest that could have been stopped at, and what more training
could be worth."""

from __future__ import annotations

import re

from harness.report.numbers import bounds, number
from harness.types import Curve
from harness.types.curves import IMPROVING, WORSENING
from harness.types.shown import counted


def answer(curve: Curve) -> str:
    """`bleu is best at step 1,200 (31.40); the earliest step that cannot be told from it is 900 (worse by at most
    0.52). The luck of being chosen was worth 0.11: 31.29 [30.10, 32.51] is what to report.`"""
    return " ".join((choice(curve), luck(curve)))


def choice(curve: Curve) -> str:
    """The best step, and the first that will do."""
    best, first = curve.at(curve.best), curve.at(curve.earliest)
    said = f"{curve.score} is best at step {best.step:,} ({number(best.estimate, curve.digits)})"
    if first.step != best.step:
        said += f"; the earliest step that cannot be told from it is {first.step:,} (worse by at most "
        said += f"{number(first.at_most, curve.digits)})."
    elif first.step != curve.steps[0].step:
        said += "; every earlier step is worse."
    else:
        said += "; no later step is shown to be better."
    if curve.margin is None:
        return said
    if curve.within is None:
        return f"{said} No step is shown to be within {curve.margin:g} of the best: more examples could."
    return f"{said} Step {curve.within:,} is the first that is shown to be within {curve.margin:g} of the best."


def luck(curve: Curve) -> str:
    """What the choice of the best was worth."""
    digits = curve.digits
    worth = number(curve.luck, digits) if round(curve.luck, digits) else "nothing"
    ends = bounds(curve.corrected_low, curve.corrected_high, digits)
    return f"The luck of being chosen was worth {worth}: {number(curve.corrected, digits)} {ends} is what to report."


def outlook(curve: Curve) -> str:
    """Whether training still helped, and what more of it could do."""
    trend = curve.trend
    how = {IMPROVING: "It is still improving", WORSENING: "It is getting worse"}
    said = how.get(trend.verdict, "It is not shown to be improving any more")
    p = trend.p_worsening if trend.verdict == WORSENING else trend.p_improving
    said += f" (steps {trend.first:,} to {trend.last:,}, p = {p:.4f})"
    worth = number(trend.worth, curve.digits)
    said += (
        f"; {counted(trend.further, 'more step')} could be worth {worth} at most, if scores do not rise faster again."
    )
    if trend.noise is None:
        return said
    noise = number(trend.noise, curve.digits)
    return f"{said} From step to step scores vary by {noise} around the line: the best of them is no surer than that."


def training_run(series: str) -> str:
    """The series without the key that told training runs apart.

    >>> training_run("dates-1a2b3c4d")
    'dates'
    """
    return re.sub(r"-[0-9a-f]{8}$", "", series)
