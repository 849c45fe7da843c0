"""A learning curve as statistics see it: which step is the best, and which could have been stopped at."""

from __future__ import annotations

from dataclasses import dataclass

IMPROVING, WORSENING, LEVEL = "improving", "worsening", "not distinguishable"
"""What the last steps are shown to do; the third: neither can be told."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint, by one score."""

    step: int
    run: str
    """The run's name."""
    estimate: float
    low: float
    high: float
    """Its own interval, as if there were no other step."""
    band_low: float
    band_high: float
    """The band: it holds at all steps at once."""
    behind: float
    """How much worse than the best it scored."""
    at_most: float
    """How much worse than the truly best it can be at most; holds for all steps at once."""
    p_best: float
    """Of the hypothesis that no other step is better."""


@dataclass(frozen=True, slots=True)
class Trend:
    """What the last steps did, and what more of them could do."""

    first: int
    last: int
    steps: int
    """How many checkpoints from `first` to `last` it is of."""
    gain: float
    """From first to last by the straight line through them, above 0 where scores got better."""
    p_improving: float
    p_worsening: float
    verdict: str
    """`improving`, `worsening` or `not distinguishable`, by one-sided tests at the level."""
    further: int
    """So many more steps ..."""
    worth: float
    """... are worth this at most, if they gain no more each than the last ones did."""
    noise: float | None = None
    """How far the scores of these steps lie from the line, one standard deviation; None of two steps."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The checkpoints of one training run on one data set, by one score."""

    dataset: str
    series: str
    """The training run."""
    score: str
    n: int
    unit: str
    level: float
    digits: int
    higher_is_better: bool
    steps: tuple[Checkpoint, ...]
    """In their order."""
    best: int
    """The step with the best score."""
    corrected: float
    corrected_low: float
    corrected_high: float
    """The best step's score, corrected for having been chosen."""
    chosen_again: float
    earliest: int
    """The first step that cannot be told from the best."""
    trend: Trend
    margin: float | None = None
    """A difference that does not matter, where one was given."""
    within: int | None = None
    """The first step that is shown to be worse than the best by less than the margin, if any is."""
    title: str = ""
    """What papers call the score; empty: its name."""

    def at(self, step: int) -> Checkpoint:
        return next(point for point in self.steps if point.step == step)

    @property
    def luck(self) -> float:
        """What the luck of being chosen was worth."""
        return abs(self.at(self.best).estimate - self.corrected)
