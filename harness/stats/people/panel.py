"""What people and metrics say of the same outputs, and how that is drawn anew: items, systems, or both.

A cell is the output of one system for one item. Everything here counts the cells that people have judged and that every
metric has scored, so that metrics are compared on the same ones.

>>> panel = Panel(("a", "b"), np.array([[1.0, 2.0, np.nan], [2.0, 2.0, 3.0]]), {}, {}, Design.of(3), np.arange(3))
>>> panel.cells.tolist()
[[True, True, False], [True, True, True]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from harness.inputs.choices import CORRECTION, CORRECTIONS, LEVEL, META_DRAWN, META_GROUPS, META_RESAMPLES, SEED
from harness.stats.design import Codes, Design
from harness.stats.options import Options
from harness.stats.resampling import BLOCK, Draws, Sample, generator
from harness.types import Advance, Array, check_choice

PURPOSE = "meta"


@dataclass(frozen=True)
class MetaOptions:
    """How the agreement of metrics with people is measured."""

    resamples: int = META_RESAMPLES
    level: float = LEVEL
    seed: int = SEED
    group: str = META_GROUPS[0]
    drawn: str = META_DRAWN[0]
    correction: str = CORRECTION

    def check(self) -> None:
        Options(resamples=self.resamples, level=self.level, seed=self.seed).check()
        check_choice("group", self.group, META_GROUPS)
        check_choice("resample", self.drawn, META_DRAWN)
        check_choice("correction", self.correction, CORRECTIONS)


@dataclass(frozen=True)
class Corpus:
    """A score of each of s systems as a whole, of the cells that count."""

    samples: Sequence[Sample]
    place: int
    """Of the score among those of its metric."""
    sign: float = 1.0
    """-1 where lower is better."""

    @cached_property
    def scores(self) -> Array:
        """(s,) the more the better."""
        return self.sign * np.array([sample.estimate()[self.place] for sample in self.samples])

    @cached_property
    def shares(self) -> Array:
        """(s, units) what each unit adds to the score, by leaving it out (pseudo-values, Tukey 1958): their mean is the
        score. Of a mean over items they are the items' own values."""
        parts = []
        for sample, score in zip(self.samples, self.scores, strict=True):
            units = sample.design.units
            left_out = self.sign * sample.left_out()[:, self.place]
            values = np.nan_to_num(units * score - (units - 1) * left_out, nan=score)
            parts.append(values + (score - values.mean()))
        return np.array(parts)


@dataclass(frozen=True)
class Panel:
    """s systems on n items, judged by people and scored by metrics; the more, the better, in all of them."""

    systems: tuple[str, ...]
    human: Array | None
    """(s, n) NaN where nobody judged; None where judgements are not of items that are known."""
    segments: Mapping[str, Array]
    """By score (s, n), NaN where there is none."""
    corpora: Mapping[str, Corpus]
    """By score, of the same cells."""
    design: Design
    """Of the rows that corpora are made of."""
    units: Codes
    """(n,) the unit that each item is drawn with."""
    ratings: Sequence[Array] = field(default=())
    """Where items are not known: all judgements of each system."""

    @property
    def scores(self) -> list[str]:
        return list(self.corpora)

    @cached_property
    def cells(self) -> NDArray[np.bool_]:
        """(s, n) which ones count."""
        assert self.human is not None
        known = [np.isfinite(values) for values in (self.human, *self.segments.values())]
        return np.asarray(np.logical_and.reduce(known))

    @cached_property
    def means(self) -> Array:
        """(s,) of the human scores."""
        if self.human is None:
            return np.array([values.mean() for values in self.ratings])
        return np.array([row[keep].mean() for row, keep in zip(self.human, self.cells, strict=True)])

    def by_unit(self, values: Array) -> Array:
        """(…, units) sums of values (…, n) over the items of each unit."""
        flat = values.reshape(-1, values.shape[-1])
        summed = [np.bincount(self.units, row, minlength=self.design.units) for row in flat]
        return np.array(summed, dtype=np.float64).reshape(*values.shape[:-1], self.design.units)


class Resampling:
    """Which items and systems are drawn: the same for everyone who names the same options."""

    def __init__(self, panel: Panel, options: MetaOptions) -> None:
        systems = len(panel.systems)
        self.resamples = options.resamples
        self.items = options.drawn in ("both", "items") and options.resamples > 0
        self.draws = Draws(panel.design, options.resamples, options.seed, PURPOSE)
        self.of_systems = np.ones((options.resamples, systems))
        if options.drawn in ("both", "systems"):
            chances = np.full(systems, 1 / systems)
            drawn = generator(options.seed, f"{PURPOSE} systems").multinomial(systems, chances, options.resamples)
            self.of_systems = drawn.astype(np.float64)

    def weights(self, block: int) -> tuple[Array, Array]:
        """How often each system (r, s) and each unit (r, units) was drawn, in one block of resamples."""
        of_systems = self.of_systems[block * BLOCK : (block + 1) * BLOCK]
        if not self.items:
            return of_systems, np.ones((len(of_systems), self.draws.design.units))
        return of_systems, self.draws.counts(block)[: len(of_systems)].astype(np.float64)

    def mapped(self, work: Callable[[Array, Array], Array], advance: Advance) -> Array:
        """What `work` makes of the weights of each block, one after the other (resamples, …)."""
        blocks = range(self.draws.blocks)
        return np.concatenate(list(in_order(lambda block: work(*self.weights(block)), blocks, advance)))


def in_order(work: Callable[[int], Array], blocks: Sequence[int], advance: Advance) -> Iterator[Array]:
    """What `work` gives for each block, in their order, on all cores."""
    with ThreadPoolExecutor(cpu_count()) as pool:
        for part in pool.map(work, blocks):
            advance(len(part))
            yield part
