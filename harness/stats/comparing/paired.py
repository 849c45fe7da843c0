"""What the comparisons of systems on one data set share: of each system's rows the estimates, the replicates, and the
sums of what randomisation swaps.

Rows that are missing in either of two systems are left out of both, so a system has as many samples as it has ways to
be paired; each is drawn once, on counts that all share, for all pairs that it is in. Of these only the scores that are
tested are kept, and in a bounded part of memory; the sums are gone once they are scored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.stats.comparing.paired_seeds import Seeds
from harness.stats.comparing.posterior import Posterior, posterior_draws
from harness.stats.design import Design, Kept
from harness.stats.expansion import Expansion
from harness.stats.options import ComparisonOptions
from harness.stats.proportions import Evidence, scale_of
from harness.stats.resampling import (
    Draws,
    Sample,
    portions,
    quiet_single_thread,
    replicates,
    resampled,
    shared,
    swapped_all,
)
from harness.stats.spilled import Spilled
from harness.types import Advance, Array, HarnessError, Metric, RunResult

Key = tuple[int, bytes]
"""(statistics, which of their rows are kept)."""
SAMPLES = 32
"""That are kept: what is asked for next is often of one of the last pairs."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems on one metric and the same units."""

    baseline: RunResult
    system: RunResult
    name: str
    before: Key
    after: Key
    n: int
    excluded: int

    @property
    def metric(self) -> Metric:
        return self.system.statistics[self.name].metric


class Paired:
    def __init__(
        self, group: Sequence[tuple[RunResult, RunResult]], options: ComparisonOptions, purpose: str, advance: Advance
    ) -> None:
        self._designs: dict[tuple[int, int], Design] = {}
        """By the rows and the seeds that a run has; the units are the same."""
        self.options, self.purpose = options, purpose
        self.design = self._design(group[0][0])
        self.seeds = Seeds(group, options)
        if options.posterior and self.seeds.asked:
            raise HarnessError("posterior: of these outputs, not of new seeds; expected the question outputs")
        self.swaps = Draws(self.design, options.resamples, options.seed, f"{purpose} swaps", flips=True)
        units = self.design.units
        self.exact = options.test == "randomization" and units < 63 and 2**units <= options.resamples
        self._statistics = {id(scored): scored for pair in group for run in pair for scored in run.statistics.values()}
        self._of = {
            id(scored): self._design(run) for pair in group for run in pair for scored in run.statistics.values()
        }
        self._complete = {key: self._of[key].complete(of.scored) for key, of in self._statistics.items()}
        self._keys: dict[Key, Key] = {}
        """Each once: there are tens of thousands of pairs."""
        self._partners: dict[Key, tuple[int, int]] = {}
        """Two systems that leave these rows."""
        self._units: dict[bytes, tuple[int, int]] = {}
        """(units that are left, outputs of a system that are not) of each way to leave examples out."""
        self._samples: dict[Key, Sample] = {}
        self._replicates, self._marked, self._scored = Spilled(), Spilled(), Spilled()
        self._posterior = Spilled()
        self._estimates: dict[Key, Array] = {}
        self._evidence: dict[tuple[bytes, int, int], Evidence] = {}
        self._right_or_wrong: dict[int, Kept] = {}
        self.pairs = [self._pair(a, b, name) for a, b in group for name in b.statistics]
        self._draw([key for key in self._partners if tested(self._statistics[key[0]].metric, options)], advance)

    def _pair(self, baseline: RunResult, system: RunResult, name: str) -> Pair:
        before, after = id(baseline.statistics[name]), id(system.statistics[name])
        keep = self._complete[before] & self._complete[after]
        which = b"" if keep.all() else hashlib.sha256(keep.tobytes()).digest()
        if which not in self._units:
            rows = self._of[before].rows_of(keep)
            self._units[which] = self._of[before].count(rows), int((~rows).sum())
        n, excluded = self._units[which]
        if n < 2:
            units = self.design.label
            units = units.replace("examples", "example", 1).replace("clusters", "cluster", 1) if n == 1 else units
            raise HarnessError(
                f"{baseline.name} and {system.name} share {n} {units} with {name} scores; "
                "expected at least 2 to compare"
            )
        first, second = (self._keys.setdefault((key, which), (key, which)) for key in (before, after))
        for key in (first, second):
            self._partners.setdefault(key, (first[0], second[0]))
        return Pair(baseline, system, name, first, second, n, excluded)

    def _draw(self, keys: Sequence[Key], advance: Advance) -> None:
        """Fills what is shared, as many samples at a time as fit into memory."""
        options = self.options
        widths = [self._statistics[key[0]].rows.shape[1] * self._of[key[0]].repeats for key in keys]
        parts = portions(widths, self.design.units, options.resamples)
        for part, step in zip(parts, shared(advance, len(parts)), strict=True):
            chosen = [keys[i] for i in part]
            samples = [self._made(key) for key in chosen]
            drawn = replicates(samples, options.resamples, options.seed, self.purpose, step)
            marked = self._marks(samples) if options.test == "randomization" else []
            with quiet_single_thread():
                for key, sample, values in zip(chosen, samples, drawn, strict=True):
                    self._replicates[key] = values[:, tested(sample.metric, options)].T
                    self._estimates[key] = sample.estimate()
                    self.seeds.add(key, sample, tested(sample.metric, options))
            if options.posterior:
                believed = posterior_draws(samples, options.resamples, options.seed, self.purpose)
                for key, sample, values in zip(chosen, samples, believed, strict=True):
                    self._posterior[key] = values[:, tested(sample.metric, options)].T
            for key, sums in zip([k for k, s in zip(chosen, samples, strict=True) if s.summable], marked, strict=False):
                self._marked[key] = sums
        with quiet_single_thread():
            for which in dict.fromkeys(key[0] for key in keys):
                scored = self._statistics[which]
                values = scored.metric.score_examples(scored.rows)[:, tested(scored.metric, options)]
                self._right_or_wrong[which] = _right_or_wrong(scored.metric, values)
                self._scored[which] = self._of[which].averaged(values).T

    def _marks(self, samples: Sequence[Sample]) -> list[Array]:
        """Sums (resamples, k) of the rows whose outputs are to be swapped, the same units for all systems."""
        rows = [sample.rows for sample in samples if sample.summable]
        return swapped_all(rows, self.design.units) if self.exact else resampled(rows, self.swaps)

    def _made(self, key: Key) -> Sample:
        statistics = self._statistics[key[0]]
        design = self._of[key[0]]
        return Sample(statistics.metric, statistics.whole, design, design.rows_of(self._keep(key)) if key[1] else None)

    def _design(self, run: RunResult) -> Design:
        rows = next((len(statistics.rows) for statistics in run.statistics.values()), 0)
        if (rows, run.seeds) not in self._designs:
            self._designs[rows, run.seeds] = Design.of_run(run, self.options.seed)
        return self._designs[rows, run.seeds]

    def _keep(self, key: Key) -> Kept:
        """(examples,) those that are complete in both systems."""
        first, second = self._partners[key]
        return np.asarray(self._complete[first] & self._complete[second])

    def sample(self, key: Key) -> Sample:
        """The rows of a system in a pair."""
        if key not in self._samples:
            if len(self._samples) == SAMPLES:
                self._samples.pop(next(iter(self._samples)))
            self._samples[key] = self._made(key)
        return self._samples[key]

    def estimates(self, pair: Pair) -> tuple[Array, Array]:
        """The scores (s,) of baseline and system."""
        return self._estimates[pair.before], self._estimates[pair.after]

    def differences(self, pair: Pair) -> Array:
        """Replicates (resamples, tested) of the differences."""
        return (self._replicates[pair.after] - self._replicates[pair.before]).T

    def posterior(self, pair: Pair, score: int) -> Posterior:
        """What is believed of the difference in one of the tested scores."""
        sign = 1.0 if pair.metric.higher_is_better else -1.0
        differences = sign * (self._posterior[pair.after][score] - self._posterior[pair.before][score])
        return Posterior(differences, self.evidence(pair).expansion)

    def marked(self, pair: Pair) -> tuple[Array, Array]:
        """Sums (resamples, k) of the rows of baseline and system that are to be swapped."""
        return self._marked[pair.before], self._marked[pair.after]

    def examples(self, pair: Pair) -> tuple[Array, Array]:
        """The scores (tested, examples that both have) of baseline and system, example by example; several outputs of
        an example are averaged."""
        keep = self._keep(pair.after)
        return self._scored[pair.before[0]][:, keep], self._scored[pair.after[0]][:, keep]

    def evidence(self, pair: Pair) -> Evidence:
        """What the rows that both have say of the whole: of different numbers of outputs, as much as the harmonic mean
        of these, with which the variance of a difference goes."""
        before, after = (self._of[key[0]] for key in (pair.before, pair.after))
        key = pair.after[1], id(before), id(after)
        if key not in self._evidence:
            both = [self._evidence_of(design, pair) for design in (before, after)]
            first, second = sorted(both, key=lambda evidence: evidence.rows)
            rows = 2 / (1 / first.rows + 1 / second.rows) if first.rows != second.rows else first.rows
            self._evidence[key] = replace(
                first, rows=rows, independent=first.independent and second.independent and rows == first.rows
            )
        return self._evidence[key]

    def _evidence_of(self, whole: Design, pair: Pair) -> Evidence:
        kept = whole.rows_of(self._keep(pair.after))
        design = replace(whole, members=whole.members[kept]) if pair.after[1] else whole
        return Evidence.of(design, Expansion.of(design.members, design.sizes))

    def right_or_wrong(self, pair: Pair) -> Kept:
        """(tested,) by which scores every output of both systems is right or wrong."""
        return self._right_or_wrong[pair.before[0]] & self._right_or_wrong[pair.after[0]]

    def differing(self, pair: Pair, gains: Array) -> list[int]:
        """In how many units the two systems differ, by each tested score; from gains (examples, tested)."""
        keep, before, after = self._keep(pair.after), *(self._statistics[key[0]] for key in (pair.before, pair.after))
        members, metric = self.design.of_examples[keep], pair.metric
        if metric.lists or len(before.rows) != len(after.rows):  # what lies beside the numbers is not looked at
            return [pair.n] * gains.shape[1]
        if metric.averaged:
            apart = [outcome != 0 for outcome in gains.T]
        else:
            rows = self._of[pair.after[0]].complete((before.rows == after.rows).all(axis=1))
            apart = [~rows[keep]] * gains.shape[1]
        return [int(np.count_nonzero(np.bincount(members[mask]))) for mask in apart]


def _right_or_wrong(metric: Metric, values: Array) -> Kept:
    """(s,) of outputs' scores (n, s), missing ones aside."""
    low, high = scale_of(metric)
    ends = (values == low) | (values == high) | np.isnan(values)
    return np.asarray(ends.all(axis=0) & metric.averaged)


def tested(metric: Metric, options: ComparisonOptions) -> list[int]:
    """Which of a metric's scores are tested: its headline scores, or those of them that are asked for."""
    names = enumerate(metric.score_names)
    return [i for i, name in names if "." not in name and (options.scores is None or name in options.scores)]
