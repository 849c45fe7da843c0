"""What the comparisons of systems on one data set share where each has several seeds and the question is of new ones.

A system is drawn by itself: which of its seeds stands beside which of another's says nothing, and no number given to a
seed changes a result.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from harness.stats.design import Design
from harness.stats.options import ComparisonOptions
from harness.stats.resampling import Sample, generator
from harness.stats.seeds import Seeded, Spread, by_seed, seeded
from harness.stats.spilled import Spilled
from harness.types import Array, HarnessError, RunResult


class Seeds:
    def __init__(self, group: Sequence[tuple[RunResult, RunResult]], options: ComparisonOptions) -> None:
        runs = {run.name: run for pair in group for run in pair}
        several = {name: run.seeds > 1 for name, run in runs.items()}
        self.asked = all(several.values())
        """Whether the question is of new seeds."""
        if not self.asked and any(several.values()):
            alone = next(name for name, many in several.items() if not many)
            raise HarnessError(
                f"{alone} has one seed, and others have several; expected two or more seeds of each system for the "
                "question of new seeds, or --question outputs"
            )
        if self.asked and options.test == "randomization":
            raise HarnessError(
                "test=randomization with seeds: swapping outputs tells nothing of new seeds; expected test=bootstrap, "
                "or --question outputs"
            )
        self._options = options
        self._owner = {id(part): run for run in runs.values() for part in run.statistics.values()}
        self._moves = Spilled()
        self._parts: dict[Hashable, Seeded] = {}
        self._orders: dict[str, list[int]] = {}

    def add(self, key: tuple[int, bytes], sample: Sample, tested: Sequence[int]) -> None:
        """A system's sample in some pairs: what of it is needed later."""
        if not self.asked:
            return
        parts, order = seeded(sample), self._order(self._owner[key[0]], sample.design)
        self._moves[key] = parts.moves[:, tested].T
        kept = np.empty((0, len(tested)))
        self._parts[key] = Seeded(parts.by_seed[order][:, tested], kept, parts.interaction[tested], parts.strata)

    def spreads(self, before: tuple[int, bytes], after: tuple[int, bytes]) -> list[Spread]:
        """The variance of each tested difference."""
        baseline, system = (self._whole(key) for key in (before, after))
        return [system.spread(i, baseline) for i in range(system.moves.shape[1])]

    def null(self, before: tuple[int, bytes], after: tuple[int, bytes], drawn: Array) -> Array:
        """Draws (resamples, tested) of the differences under the null, from replicates `drawn` of them with examples
        resampled: the parts of the examples and of the seeds, each with its variance."""
        spreads = self.spreads(before, after)
        share = np.array([np.sqrt(s.main / s.examples) if s.examples > 0 else 0.0 for s in spreads])
        draws = (drawn - np.nanmean(drawn, axis=0)) * share
        for key, sign in ((after, 1.0), (before, -1.0)):
            name = self._owner[key[0]].name
            rng = generator(self._options.seed, f"seeds of {name}")
            draws = draws + sign * self._parts[key].shifts(len(drawn), rng)
        return np.asarray(draws)

    def _whole(self, key: tuple[int, bytes]) -> Seeded:
        parts = self._parts[key]
        return Seeded(parts.by_seed, self._moves[key].T, parts.interaction, parts.strata)

    def _order(self, run: RunResult, design: Design) -> list[int]:
        """The seeds of a run in an order that does not depend on their numbers: by their scores."""
        if run.name not in self._orders:
            scores = [by_seed(Sample.scored(part, design)) for part in run.statistics.values()]
            self._orders[run.name] = np.lexsort(np.nan_to_num(np.concatenate(scores, axis=1)).T[::-1]).tolist()
        return self._orders[run.name]
