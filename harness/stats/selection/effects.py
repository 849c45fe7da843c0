"""What the parameters of a sweep do to a score: means by level, how much of the spread between cells each accounts for,
and which of them interact.

All of it is linear algebra on the scores of cells, and the replicates of all cells are drawn together, so that its
intervals come from the one resampling engine. Means by level are those that a complete grid would have (least squares
on the levels of all parameters; of a complete grid, plain means). A parameter's *importance* is its share of the
variance between cells: what it adds to all others, over the whole (type II sums of squares). Cells would differ even if
no parameter did anything, because their scores are estimates; what that alone gives, by the covariance of the
replicates, is taken off first.

>>> codes = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
>>> Grid(codes).means(np.array([[1.0], [2.0], [3.0], [4.0]])).ravel().round(9).tolist()
[1.5, 3.5, 2.0, 3.0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from harness.stats.expansion import Expansion
from harness.stats.intervals import interval
from harness.stats.options import Options
from harness.stats.resampling import Sample, quiet_single_thread, replicates
from harness.types import Array, Integers

WORTH = 0.05
"""Share of the variance from which an interaction whose interval excludes none is worth a look."""
DRAWN = 2000
"""Resamples that intervals of shares are from."""
ROUNDING = 1e-14
"""Sums of squares below this share of the scores' own are the last bits of equal numbers."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The score of all cells that have one level of a parameter."""

    parameter: str
    level: int
    cells: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Importance:
    """How much of the variance between cells comes from a parameter, or from two working on each other."""

    parameters: tuple[str, ...]
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Effects:
    """What the parameters do; without importance where the cells differ by no more than chance."""

    means: tuple[Mean, ...]
    importance: tuple[Importance, ...]
    interactions: tuple[Importance, ...]
    """Those worth a look, the largest first."""


@dataclass(frozen=True)
class Grid:
    """Cells by the levels of their parameters, each (cells,) and from 0."""

    codes: Mapping[str, Integers]

    @property
    def cells(self) -> int:
        return len(next(iter(self.codes.values())))

    @cached_property
    def _main(self) -> dict[str, Array]:
        return {name: np.eye(int(codes.max()) + 1)[codes] for name, codes in self.codes.items()}

    @property
    def _one(self) -> Array:
        return np.ones((self.cells, 1))

    def means(self, scores: Array) -> Array:
        """(levels of all parameters, r) of scores (cells, r); plain means where the cells do not tell parameters
        apart."""
        parts = list(self._main.values())
        design = np.hstack([self._one, *parts])
        fitted = np.linalg.pinv(design)
        asked = []
        for place, part in enumerate(parts):
            for level in range(part.shape[1]):
                others = [
                    np.eye(part.shape[1])[level] if i == place else np.full(other.shape[1], 1 / other.shape[1])
                    for i, other in enumerate(parts)
                ]
                row = np.hstack([[1.0], *others])
                weights, plain = row @ fitted, part[:, level] / part[:, level].sum()
                known = np.allclose(weights @ design, row) and not np.allclose(weights, plain)
                asked.append(weights if known else plain)
        return np.asarray(asked) @ scores

    def added(self, *names: str) -> Array:
        """(cells, cells) what a parameter adds to all others, or two of them together to all of them alone."""
        whole = np.hstack([self._one, *self._main.values()])
        if len(names) == 1:
            rest = [self._one, *(part for name, part in self._main.items() if name != names[0])]
            return _projection(whole) - _projection(np.hstack(rest))
        a, b = (self._main[name] for name in names)
        crossed = (a[:, :, None] * b[:, None, :]).reshape(self.cells, -1)
        return _projection(np.hstack([whole, crossed])) - _projection(whole)

    @property
    def whole(self) -> Array:
        """(cells, cells) what cells differ by at all."""
        return np.eye(self.cells) - 1 / self.cells


def _projection(columns: Array) -> Array:
    return np.asarray(columns @ np.linalg.pinv(columns))


def effects(samples: Sequence[Sample], score: int, grid: Grid, options: Options, purpose: str) -> Effects:
    """The effects of parameters on one score, from the samples of cells on the same examples."""
    drawn = np.array(replicates(samples, options.resamples, options.seed, f"effects {purpose}"))[:, :, score]
    with quiet_single_thread():
        seen = np.array([sample.estimate()[score] for sample in samples])
        expansion = samples[0].expansion
        least, most = samples[0].metric.bounds or (-np.inf, np.inf)
        estimates = np.clip(grid.means(seen[:, None])[:, 0], least, most)  # of cells that are missing
        ends = interval(grid.means(drawn).T, estimates, options.level, "expanded", expansion)
        low, high = (np.clip(end, least, most) for end in ends)
        means = [
            Mean(name, level, int(np.count_nonzero(codes == level)), *_plain(estimates[i], low[i], high[i]))
            for i, (name, level, codes) in enumerate(
                (name, level, codes) for name, codes in grid.codes.items() for level in range(int(codes.max()) + 1)
            )
        ]
        shares = _Shares(seen, drawn[:, :DRAWN], expansion, grid)
        single = tuple(shares.of(options.level, name) for name in grid.codes) if shares.known else ()
        pairs = [shares.of(options.level, *pair) for pair in combinations(grid.codes, 2)] if shares.known else []
    worth = sorted((pair for pair in pairs if pair.low > 0 and pair.share >= WORTH), key=lambda pair: -pair.share)
    return Effects(tuple(means), single, tuple(worth))


def _plain(*values: float) -> tuple[float, float, float]:
    estimate, low, high = map(float, values)
    return estimate, low, high


class _Shares:
    """Shares of the variance between cells, what chance alone gives taken off."""

    def __init__(self, seen: Array, drawn: Array, expansion: Expansion, grid: Grid) -> None:
        self.seen, self.drawn, self.grid = seen, drawn, grid
        self.covariance = np.atleast_2d(np.cov(drawn)) * expansion.ratio
        self.total, self.totals = self._squares(grid.whole)
        rounding = ROUNDING * float(seen @ seen)
        self.known = self.total > rounding and bool(np.quantile(self.totals, 0.5) > rounding)

    def _squares(self, part: Array) -> tuple[float, Array]:
        """(of the scores, of the replicates): those are off by chance once, these twice."""
        chance = float((part * self.covariance).sum())
        again = np.einsum("cr,cd,dr->r", self.drawn, part, self.drawn, optimize=True)
        return float(self.seen @ part @ self.seen) - chance, again - 2 * chance

    def of(self, level: float, *names: str) -> Importance:
        own, drawn = self._squares(self.grid.added(*names))
        share = float(np.clip(own / self.total, 0.0, 1.0))
        usable = self.totals > 0
        shares = np.clip(drawn[usable] / self.totals[usable], 0.0, 1.0)
        low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2])
        return Importance(names, share, min(float(low), share), max(float(high), share))
