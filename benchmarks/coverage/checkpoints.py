"""Learning curves: how often the band holds at all steps at once, how often the earliest step that cannot be told from
the best is later than it should be, and how often the one that is named is truly worse by more than was said.

Curves are made up: scores rise and flatten out, an example keeps much of its own luck from one checkpoint to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.coverage.cells import LEVEL, Mean, Section, Share, Tally, run, simulated, table
from harness.stats.options import Options
from harness.stats.selection.by_step import CurveOptions, curves
from harness.types import Array, RunResult

RESAMPLES = 1000
MARGIN = {"mean": 1.0, "share": 0.05}
"""A difference that does not matter: a point, or five answers of a hundred."""
EXAMPLE, OUTPUT, KEPT = 10.0, 4.0, 0.7
"""Standard deviations, in points: of examples, and of one output of one; and how much of the latter a checkpoint keeps
of the one before."""
HANDFUL = 4
"""Examples that are answered by nobody but the last third, where training reaches the ceiling."""
SIZES, COUNTS = (50, 400), (5, 20)
SHAPES = ("flattening", "rising", "cliff", "ceiling")


@dataclass(frozen=True)
class Training:
    """A training run. Its last third is equally good (`flattening`), or what came before is worse by the margin
    exactly (`cliff`), or scores rise to the end, by less and less (`rising`), or the last third answers everything and
    what came before all but a handful (`ceiling`)."""

    kind: str
    shape: str
    count: int
    n: int

    @property
    def steps(self) -> list[int]:
        return [100 * (i + 1) for i in range(self.count)]

    def truth(self, more: int = 0) -> Array:
        """The true scores (checkpoints,), and of so many checkpoints that were not trained any more."""
        at = np.arange(1, self.count + 1 + more) / self.count
        if self.shape == "ceiling":
            return np.asarray(1.0 - HANDFUL / self.n * (at <= 2 / 3))
        low, scale = (0.3, 0.4) if self.kind == "share" else (20.0, 10.0)
        if self.shape == "cliff":
            return np.asarray(low + scale - MARGIN[self.kind] * (at <= 2 / 3))
        grown = np.sqrt(at / 2) if self.shape == "rising" else 1 - (1 - np.minimum(1.5 * at, 1.0)) ** 2
        return np.asarray(low + scale * grown)

    def runs(self, rng: np.random.Generator) -> dict[int, RunResult]:
        drawn = rng.normal(0, EXAMPLE, self.n)
        luck = rng.normal(0, OUTPUT, self.n)
        made = {}
        for step, truth in zip(self.steps, self.truth(), strict=True):
            luck = KEPT * luck + np.sqrt(1 - KEPT**2) * rng.normal(0, OUTPUT, self.n)
            values = truth + drawn + luck
            if self.kind == "share":
                distance = (drawn + luck) / np.hypot(EXAMPLE, OUTPUT)
                values = (_normal_cdf(distance) < truth).astype(np.float64)
            made[step] = run(str(step), values, Share() if self.kind == "share" else Mean())
        return made


def _normal_cdf(values: Array) -> Array:
    from scipy.special import ndtr

    return np.asarray(ndtr(values))


def judged(training: Training, rng: np.random.Generator, seed: int) -> Tally:
    """What one training run's curve says, held against the truth."""
    margin = MARGIN[training.kind]
    options = CurveOptions(Options(RESAMPLES, LEVEL, seed=seed), ((training.kind, margin),))
    (curve,) = curves("made up", training.runs(rng), options)
    truth = training.truth(more=training.count)
    now = truth[: training.count]
    worse = dict(zip(training.steps, now.max() - now, strict=True))
    first_best = next(step for step in training.steps if worse[step] < 1e-9)
    points = list(zip(curve.steps, now, strict=True))
    later = training.steps.index(curve.trend.last) + round(curve.trend.further / 100)
    return {
        "band": float(all(point.band_low <= true <= point.band_high for point, true in points)),
        "pointwise": float(all(point.low <= true <= point.high for point, true in points)),
        "too late": float(curve.earliest > first_best),
        "bound": float(worse[curve.earliest] <= curve.at(curve.earliest).at_most),
        "worse": float(worse[curve.earliest] >= margin - 1e-9),
        "beyond": float(curve.within is not None and worse[curve.within] >= margin - 1e-9),
        "worth": float(truth[later] - now[-1] <= curve.trend.worth),
    }


def lines(section: Section) -> Iterator[str]:
    yield from ("### Learning curves", "")
    yield "Simulated training runs, %. *Band*: the 95 % band holds at all steps at once; beside it, intervals of"
    yield "single steps. *Too late*: the earliest step that cannot be told from the best comes after the first that"
    yield "is truly the best. *Bound*: it is truly worse by no more than `at_most`. *Worse*: it is truly worse by"
    yield "the margin (a point, or 0.05 of a share) or more, which few examples cannot show. *Beyond*: with the"
    yield "margin given, the step named as within it is not. *Worth*: as many more steps gain no more than stated."
    rows = []
    for kind in MARGIN:
        for shape in SHAPES if kind == "share" else SHAPES[:-1]:
            for count in COUNTS:
                for n in SIZES:
                    training = Training(kind, shape, count, n)
                    purpose = (11, len(kind), SHAPES.index(shape), count, n)
                    tally = simulated(partial(judged, training), section.samples, purpose)
                    rows.append(
                        [
                            kind, shape, f"{count}", f"{n}",
                            section.held(tally["band"], "a band of a learning curve"),
                            section.plain(tally["pointwise"]),
                            section.alarms(tally["too late"], "a best step taken for worse"),
                            section.held(tally["bound"], "how much worse the earliest step can be"),
                            section.plain(tally["worse"]),
                            section.alarms(tally["beyond"], "a step named within the margin that is not"),
                            section.held(tally["worth"], "what more steps are worth at most"),
                        ]
                    )  # fmt: skip
    heads = ["score", "training", "steps", "n", "band", "pointwise", "too late", "bound", "worse", "beyond", "worth"]
    yield from ("", *table(heads, rows, left=2))
