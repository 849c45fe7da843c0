"""Scores of real texts: how often intervals hold the truth, and how often tests raise an alarm.

A large real data set stands for the population: its scores are the truth. Samples of n examples are drawn from it with
replacement, each gets its intervals and tests from `harness.stats` itself, and what they say is held against the truth.
Under the null hypothesis the two systems' outputs change places at random, example by example.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.coverage.cells import CORES, LEVEL, RESAMPLES, Section, Tally, workers
from benchmarks.lexical import SHARED, read
from harness.inputs.choices import TESTS
from harness.metrics.bertscore import BertScore
from harness.metrics.bleu import Bleu
from harness.metrics.rouge import Rouge
from harness.stats import intervals
from harness.stats.comparing.comparison import compare
from harness.stats.design import Design
from harness.stats.options import ComparisonOptions, Options
from harness.stats.resampling import Sample, quiet_single_thread, replicates
from harness.stats.selection.sequential import ConfidenceSequence
from harness.stats.selection.winner import best_of
from harness.types import Array, Batch, Metric, RunResult, Signature, Statistics

SIZES = (25, 100, 400, 1600)
METHODS = ("expanded", "percentile", "basic", "bca", "normal", "studentized")
MAKE: dict[str, Callable[[], Metric]] = {
    "bleu": Bleu,
    "rougeL": lambda: Rouge(["rougeL"]),
    "bertscore": BertScore,
}


@dataclass(frozen=True)
class Population:
    """Rows (systems, N, k) of each headline score; what is drawn from it is drawn with replacement."""

    name: str
    rows: Mapping[str, Array]

    @property
    def size(self) -> int:
        return next(iter(self.rows.values())).shape[1]

    def truth(self, score: str) -> Array:
        """(systems,) the scores of the whole population."""
        return MAKE[score]().score(self.rows[score].sum(1))[:, _place(score)]

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(0, self.size, n)


def _place(score: str) -> int:
    """Where the headline score stands among the metric's."""
    return MAKE[score]().score_names.index(score)


def population(folder: str, systems: Sequence[str], scores: Sequence[str]) -> Population:
    """A set of ../shared/data, or the embedded one with first sentences as systems where that is not there."""
    where = SHARED / folder
    if where.is_dir():
        examples = read(where / "examples.jsonl")
        references = [e["references"] for e in examples]
        texts_by_id = [
            {row["id"]: row["output"] for row in read(where / "systems" / f"{name}.jsonl")} for name in systems
        ]
        outputs = [[texts[e["id"]] for e in examples] for texts in texts_by_id]
    else:
        from harness.datasets.embedded import EmbeddedDataset
        from harness.systems.lead import Lead

        folder = "the embedded data set"
        some = list(EmbeddedDataset().examples())
        references = [list(e.references) for e in some]
        outputs = [[o.text or "" for o in Lead(k + 1).generate(some)] for k in range(len(systems))]
    made = {score: MAKE[score]() for score in scores}
    return Population(
        folder, {s: np.stack([m.statistics(Batch(texts, references)) for texts in outputs]) for s, m in made.items()}
    )


# ---------------------------------------------------------------- one simulation each


def held(people: Population, n: int, resamples: int, rng: np.random.Generator, seed: int) -> Tally:
    """For each score and method whether the interval of the first system's score holds the truth."""
    picks, design, shares = people.draw(n, rng), Design.of(n), {}
    samples = {score: Sample(MAKE[score](), rows[0, picks], design) for score, rows in people.rows.items()}
    drawn = replicates(list(samples.values()), resamples, seed, "intervals")
    with quiet_single_thread():
        for (score, sample), replicate in zip(samples.items(), drawn, strict=True):
            truth, i = people.truth(score)[0], _place(score)
            for method in METHODS:
                options = Options(resamples, LEVEL, method, seed)
                ends, *_ = intervals.bounds(sample, replicate, sample.estimate(), options)
                shares[f"{score} {method}"] = float(ends[0][i] <= truth <= ends[1][i])
    return shares


def alarms(people: Population, n: int, resamples: int, rng: np.random.Generator, seed: int) -> Tally:
    """For each score and test whether it rejects, under the null hypothesis and as things are."""
    picks = people.draw(n, rng)
    swap = rng.random(n) < 0.5
    shares: Tally = {}
    for world, mark in (("null", swap), ("real", np.zeros(n, dtype=bool))):
        pair = []
        for system in (0, 1):
            rows = {s: np.where(mark[:, None], r[1 - system, picks], r[system, picks]) for s, r in people.rows.items()}
            pair.append(_run(str(system), rows))
        for test in TESTS:
            options = ComparisonOptions(test=test, resamples=resamples, seed=seed, level=LEVEL)
            compared = compare([[(pair[0], pair[1])]], options)
            for row in compared:
                shares[f"{row.score} {test} {world}"] = float((row.p_value or 0.0) <= 1 - LEVEL)
                if world == "real" and test == "bootstrap":
                    truth = people.truth(row.score)
                    shares[f"{row.score} difference"] = float(row.low <= truth[1] - truth[0] <= row.high)  # type: ignore[operator]
            if world == "null":
                shares[f"any {test} null"] = float(any((row.p_adjusted or 0.0) <= 1 - LEVEL for row in compared))
    return shares


def _run(name: str, rows: Mapping[str, Array]) -> RunResult:
    n = len(next(iter(rows.values())))
    statistics = {s: Statistics.of(MAKE[s](), r, Signature({}, {}), "") for s, r in rows.items()}
    table = pa.table({"id": np.arange(n).astype(str), "repeat": np.zeros(n, dtype=int)})
    return RunResult(name, "simulated", "simulated", name, {}, statistics, lambda: table, 0)


def clustered(people: Population, n: int, resamples: int, rng: np.random.Generator, seed: int, size: int = 10) -> Tally:
    """Whether intervals by example and by cluster hold the truth, where `size` neighbours are drawn together."""
    starts = rng.integers(0, people.size // size, n // size) * size
    picks = (starts[:, None] + np.arange(size)).ravel()
    shares = {}
    whole = slice(0, people.size // size * size)
    for label, design in (
        ("by example", Design.of(len(picks))),
        ("by cluster", Design.of(len(picks), clusters=np.repeat(np.arange(n // size), size).tolist())),
    ):
        samples = {score: Sample(MAKE[score](), rows[0, picks], design) for score, rows in people.rows.items()}
        drawn = replicates(list(samples.values()), resamples, seed, "intervals")
        with quiet_single_thread():
            for (score, sample), replicate in zip(samples.items(), drawn, strict=True):
                i = _place(score)
                truth = sample.metric.score(people.rows[score][0, whole].sum(0))[i]
                (low, high), *_ = intervals.bounds(sample, replicate, sample.estimate(), Options(resamples, LEVEL))
                shares[f"{score} {label}"] = float(low[i] <= truth <= high[i])
    return shares


def chosen(people: Population, n: int, resamples: int, rng: np.random.Generator, seed: int) -> Tally:
    """The best of all systems: whether its interval holds its truth, and how far off its score is, both ways."""
    picks = people.draw(n, rng)
    systems = next(iter(people.rows.values())).shape[0]
    runs = [_run(str(i), {s: rows[i, picks] for s, rows in people.rows.items()}) for i in range(systems)]
    tally = {}
    for best in best_of(runs, Options(resamples, LEVEL, seed=seed)):
        truth = people.truth(best.score)[int(best.system)]
        tally[f"{best.score} held"] = float(best.low <= truth <= best.high)
        tally[f"{best.score} held, corrected"] = float(best.corrected_low <= truth <= best.corrected_high)
        tally[f"{best.score} off"] = best.estimate - truth
        tally[f"{best.score} off, corrected"] = best.corrected - truth
    return tally


def peeked(people: Population, n: int, resamples: int, rng: np.random.Generator, seed: int) -> Tally:
    """Looking after every 25 examples: whether bounds for mean ROUGE-L were ever wrong."""
    metric, truth = MAKE["rougeL"](), people.truth("rougeL")[0]
    values = metric.score_examples(people.rows["rougeL"][0, people.draw(n, rng)])[:, _place("rougeL")]
    sequence, wrong = ConfidenceSequence(0.0, 1.0, LEVEL), False
    for end in range(25, n + 1, 25):
        sequence.add(values[end - 25 : end])
        low, high = _normal(values[:end])
        wrong |= not low <= truth <= high
    low, high = _normal(values)
    return {
        "sequence": float(not sequence.low <= truth <= sequence.high),
        "repeated": float(wrong),
        "width": (sequence.high - sequence.low) / (high - low),
    }


def _normal(values: Array) -> tuple[float, float]:
    reach = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - reach), float(values.mean() + reach)


# ---------------------------------------------------------------- many


Simulation = Callable[[Population, int, int, np.random.Generator, int], Tally]


def average(
    simulation: Simulation, people: Population, n: int, simulations: int, resamples: int, first: int = 0
) -> Tally:
    """The mean of each number over simulations, each with its own seed."""
    sums: dict[str, float] = defaultdict(float)
    for seed in range(first, first + simulations):
        rng = np.random.default_rng([seed, n])
        for name, value in simulation(people, n, resamples, rng, seed).items():
            sums[name] += value
    return {name: total / simulations for name, total in sums.items()}


def spread_out(simulation: Simulation, people: Population, n: int, samples: int) -> Tally:
    """The same on all cores."""
    share = max(1, samples // CORES)
    work = partial(average, simulation, people, n, share, RESAMPLES)
    parts = list(workers().map(work, range(0, share * CORES, share)))
    return {name: float(np.mean([part[name] for part in parts])) for name in parts[0]}


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def lines(section: Section) -> Iterator[str]:
    people = population("comparemt_ted_detok", ("sys1", "sys2"), ("bleu", "rougeL", "bertscore"))
    samples = section.samples
    yield f"Population: {people.name}, {people.size:,} examples; {RESAMPLES:,} resamples of each sample."
    yield from ("", "### Coverage of 95 % intervals of a score, %", "")
    yield f"| score | n | {' | '.join(METHODS)} |"
    yield f"| --- | ---: |{' ---: |' * len(METHODS)}"
    cells = {n: spread_out(held, people, n, samples) for n in SIZES}
    for score in people.rows:
        for n in SIZES:
            own = section.held(cells[n][f"{score} expanded"], "BLEU, ROUGE-L, BERTScore from 25 examples on")
            shares = [percent(cells[n][f"{score} {method}"]) for method in METHODS[1:]]
            yield f"| {score} | {n:,} | {own} | {' | '.join(shares)} |"
    yield from ("", "### Tests at 5 %: false alarms and power, %", "")
    yield "| score | n | bootstrap: alarms | power | randomisation: alarms | power | interval of the difference holds |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    cells = {n: spread_out(alarms, people, n, samples) for n in SIZES}
    for score in people.rows:
        for n in SIZES:
            shown = [
                section.alarms(cells[n][f"{score} {test} null"], "a paired test of BLEU, ROUGE-L or BERTScore")
                + f" | {percent(cells[n][f'{score} {test} real'])}"
                for test in TESTS
            ]
            difference = section.held(
                cells[n][f"{score} difference"], "a difference of two systems by BLEU, ROUGE-L or BERTScore"
            )
            yield f"| {score} | {n:,} | {' | '.join(shown)} | {difference} |"
    for n in SIZES:
        shown = [section.alarms(cells[n][f"any {test} null"], "any of three tests of them, by max-T") for test in TESTS]
        yield f"| any of the three, adjusted by max-T | {n:,} | {shown[0]} | | {shown[1]} | | |"
    truths = {score: people.truth(score) for score in people.rows}
    seen = ", ".join(f"{score} {values[1] - values[0]:+.4g}" for score, values in truths.items())
    yield from ("", f"True differences, for which the power stands: {seen}.")
    yield from ("", "### Examples that belong together: coverage of 95 % intervals, %", "")
    yield "Ten neighbouring sentences of a talk are drawn together."
    yield from ("", "| score | n | by example | by cluster |", "| --- | ---: | ---: | ---: |")
    for n in (400, 1600):
        tally = spread_out(clustered, people, n, samples)
        for score in people.rows:
            own = section.held(tally[f"{score} by cluster"], "BLEU, ROUGE-L, BERTScore of clusters")
            yield f"| {score} | {n:,} | {percent(tally[f'{score} by example'])} | {own} |"
    yield from _best_of_many(section)
    yield from ("", "### Looking after every 25 examples: bounds for mean ROUGE-L ever wrong, %", "")
    yield "| up to n | repeated 95 % intervals | confidence sequence | its width, in widths of the interval at n |"
    yield "| ---: | ---: | ---: | ---: |"
    for n in SIZES[1:]:
        tally = spread_out(peeked, people, n, samples)
        wrong = section.alarms(tally["sequence"], "bounds that are looked at again and again")
        yield f"| {n:,} | {percent(tally['repeated'])} | {wrong} | {tally['width']:.2f} |"


def _best_of_many(section: Section) -> Iterator[str]:
    systems = sorted(p.stem for p in (SHARED / "wmt22_de-en" / "systems").glob("*.jsonl")) or list("123456789")
    many = population("wmt22_de-en", systems, ("bleu", "rougeL"))
    yield from ("", f"### The best of {len(systems)} systems", "")
    yield f"Population: {many.name}, {many.size:,} examples. Off: the mean error of the winner's score."
    yield from ("", "| score | n | off | coverage, % | off, corrected | coverage, corrected, % |")
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for n in (25, 100, 400):
        tally = spread_out(chosen, many, n, section.samples)
        for score in many.rows:
            off, fixed = (f"{tally[f'{score} {name}']:+.4f}" for name in ("off", "off, corrected"))
            before = percent(tally[f"{score} held"])
            after = section.held(tally[f"{score} held, corrected"], "the best of nine systems, by BLEU and ROUGE-L")
            yield f"| {score} | {n:,} | {off} | {before} | {fixed} | {after} |"
