"""Where the noise of a score comes from: examples, seeds, prompts or any parameter that does not matter, and what of
each is worth buying.

A score is the mean over cells, one for each combination of such parameters, all on the same examples. Its variance is
split as in an analysis of variance of crossed random effects: how far whole cells lie apart, how far examples do, and
how far the examples of one cell lie from those of another (Searle, Casella and McCulloch 1992). What an example does to
a score comes from leaving it out, so that it works for BLEU as for means.

Shares have intervals from draws of the mean squares that could have given the ones seen (generalised intervals,
Weerahandi 1993): with three seeds they are as wide as three seeds deserve.

>>> rng = np.random.default_rng(1)
>>> scores = rng.normal(0, 3, 5)
>>> moves = rng.normal(0, 0.02, (5, 400))
>>> parts = decomposed(scores, moves, {"seed": np.arange(5)})
>>> {source.name: round(source.share, 2) for source in parts.sources}
{'example': 0.0, 'seed': 0.98, 'example × seed': 0.02}
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.inputs.choices import LEVEL, SEED
from harness.stats.resampling import generator
from harness.types import Array

DRAWS = 4_000
MORE = 2
"""Levels of a parameter that are bought."""
EXAMPLE, REST = "example", "the rest"
Levels = Mapping[str, NDArray[np.int64]]
"""For each parameter the level (cells,) that each cell has, from 0; every combination of levels is there once."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source of noise."""

    name: str
    """`example`, a parameter such as `seed`, or what lies between the two: `example × seed`."""
    variance: float
    """Of the score as it was measured, that comes from it."""
    share: float
    """Of the whole variance."""
    low: float
    high: float
    """The interval of the share."""
    single: float
    """The standard deviation of a single one: an example's contribution, a seed's score."""
    count: int
    """How many of it the score is the mean of."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """What more of something would do to the standard error."""

    name: str
    """A source, such as `seed`."""
    more: int
    error: float
    """The standard error then."""
    examples: float | None
    """Examples (or clusters) that would do as much on top of those there are; None where no number would."""


@dataclass(frozen=True)
class Parts:
    """The variance of one score by its sources."""

    sources: tuple[Source, ...]
    units: int
    levels: Mapping[str, int]
    """How many of each parameter there are."""

    @property
    def variance(self) -> float:
        return sum(source.variance for source in self.sources)

    @property
    def error(self) -> float:
        return math.sqrt(self.variance)

    def at(self, units: float, levels: Mapping[str, int]) -> float:
        """The variance with so many units and levels of each parameter."""
        return sum(
            source.variance * self._share(source.name, units, levels) for source in self.sources if source.variance
        )

    def _share(self, name: str, units: float, levels: Mapping[str, int]) -> float:
        """What is left of a source's variance."""
        among, of = name == EXAMPLE or name.startswith(f"{EXAMPLE} × "), name.removeprefix(f"{EXAMPLE} × ")
        share = self.units / units if among else 1.0
        names = list(self.levels) if of == REST else [of]
        for parameter in names:
            share *= self.levels.get(parameter, 1) / levels.get(parameter, 1)
        return share

    def purchases(self) -> Iterator[Purchase]:
        """For each parameter what two more levels of it would do, and how many examples would do as much."""
        for name, count in self.levels.items():
            then = self.at(self.units, {**self.levels, name: count + MORE})
            left = self.at(math.inf, self.levels)
            among = self.variance - left
            units = self.units * among / (then - left) if then > left else None
            yield Purchase(name, MORE, math.sqrt(then), None if units is None else units - self.units)


def decomposed(
    scores: Array, moves: Array, levels: Levels, level: float = LEVEL, nested: bool = False, strata: int = 1
) -> Parts:
    """The parts of the variance of the mean score, from the scores of cells (cells,) and what each unit moves them by
    (cells, units), whose squares add up to a cell's variance over examples.

    `nested`: cells are no more than a way to count outputs, each of which belongs to its example alone: then whole
    cells have no effect.
    """
    units = moves.shape[1]
    counts = {name: int(codes.max()) + 1 for name, codes in levels.items()}
    squares = _squares(scores, moves, levels)
    if nested:
        name = next(iter(levels))
        within = (squares[name] + (units - 1) * squares[f"× {name}"]) / units
        squares |= {name: within, f"× {name}": within}
    degrees = _degrees(squares, counts, len(scores), units - strata)
    rng = generator(SEED, "shares of variance")
    drawn = {name: square * degrees[name] / rng.chisquare(degrees[name], DRAWS) for name, square in squares.items()}
    if nested:  # one and the same mean square
        drawn[name] = drawn[f"× {name}"]
    seen = _components({name: np.array([value]) for name, value in squares.items()}, list(counts))
    draws = _components(drawn, list(counts))
    if nested:
        seen.pop(name), draws.pop(name)
    total, totals = sum(seen.values()), sum(draws.values())
    sources = []
    for name, value in seen.items():
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.nan_to_num(draws[name] / totals)
            share = float(np.nan_to_num(value / total)[0])
        low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2])
        count, variance = _count(name, units, counts, len(scores)), float(value[0])
        ends = min(float(low), share), max(float(high), share)
        sources.append(Source(name, variance, share, *ends, math.sqrt(variance * count), count))
    return Parts(tuple(sources), units, counts)


def _squares(scores: Array, moves: Array, levels: Levels) -> dict[str, float]:
    """Mean squares over the number of cells: `NAME` of a parameter, `× NAME` of it among examples, `examples`; with
    several parameters also `rest` and `× rest`."""
    cells = len(scores)
    squares = {"examples": float((moves.mean(axis=0) ** 2).sum())}
    left, left_among, free = _sum(scores), _sum(moves), cells - 1
    for name, codes in levels.items():
        count = int(codes.max()) + 1
        size = cells // count
        means = np.array([scores[codes == level].mean() for level in range(count)])
        among = np.array([moves[codes == level].mean(axis=0) for level in range(count)])
        of_cells, of_examples = size * _sum(means), size * _sum(among)
        squares[name] = of_cells / (count - 1) / cells
        squares[f"× {name}"] = of_examples / (count - 1) / cells
        left, left_among, free = left - of_cells, left_among - of_examples, free - (count - 1)
    if len(levels) > 1:
        squares["rest"] = max(left, 0.0) / free / cells
        squares["× rest"] = max(left_among, 0.0) / free / cells
    return squares


def _sum(values: Array) -> float:
    """Of squared distances from the mean over the first axis."""
    return float(((values - values.mean(axis=0)) ** 2).sum())


def _degrees(squares: Mapping[str, float], counts: Mapping[str, int], cells: int, units: int) -> dict[str, int]:
    """Of each mean square."""
    free = {name: count - 1 for name, count in counts.items()}
    free["rest"] = cells - 1 - sum(free.values())
    degrees = {"examples": units}
    for name in squares:
        if name != "examples":
            own = free[name.removeprefix("× ")]
            degrees[name] = own * units if name.startswith("× ") else own
    return degrees


def _components(squares: Mapping[str, Array], names: list[str]) -> dict[str, Array]:
    """The variance of the mean score that each source has, from mean squares; what would be negative is 0."""
    several = len(names) > 1
    nothing = np.zeros_like(squares["examples"])
    rest, rest_among = (squares["rest"], squares["× rest"]) if several else (nothing, nothing)
    parts = {EXAMPLE: squares["examples"]}
    for name in names:
        apart = squares[name] - squares[f"× {name}"] - (rest - rest_among)
        parts[name] = np.maximum(apart, 0.0)
    if several:
        parts[REST] = np.maximum(rest - rest_among, 0.0)
    for name in names:
        parts[f"{EXAMPLE} × {name}"] = np.maximum(squares[f"× {name}"] - rest_among, 0.0)
    if several:
        parts[f"{EXAMPLE} × {REST}"] = rest_among
    shared = sum(value for name, value in parts.items() if name.startswith(f"{EXAMPLE} ×"))
    parts[EXAMPLE] = np.maximum(parts[EXAMPLE] - shared, 0.0)
    return parts


def _count(name: str, units: int, counts: Mapping[str, int], cells: int) -> int:
    """Of how many single ones the score is the mean, as far as a source goes."""
    among, of = name == EXAMPLE or name.startswith(f"{EXAMPLE} × "), name.removeprefix(f"{EXAMPLE} × ")
    own = 1 if of == EXAMPLE else counts.get(of, cells)
    return own * (units if among else 1)
