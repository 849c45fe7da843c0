"""What comparisons show, in sentences: who is better, which part moved, and what could have been seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.report.numbers import number
from harness.types import Comparison

REACH = 20
"""A number of examples beyond so many times those at hand helps nobody: the difference seen is next to none."""
STAGES = ("retrieval", "faithfulness", "answer")
"""Parts of a system that retrieves and answers."""


def sentence(rows: Sequence[Comparison], alternative: str = "two-sided") -> str:
    """Who is better, in words.

    One of: `A is better than B on x and y.`, `A and B cannot be told apart. Smallest difference that 40 examples can
    detect: x 0.8. To detect a difference as seen: 90 examples for x.` A one-sided test has nothing to say of the other
    direction, so there it is `A is not shown to be better than B. …`. With margins, `A and B are equivalent on x
    (within ±0.5).` and `A is not worse than B on x (by 0.5 or more).`
    """
    first = rows[0]
    by_verdict = {verdict: [row for row in rows if row.verdict == verdict] for verdict in {row.verdict for row in rows}}
    parts = [
        f"{verdict} than {first.baseline} on {listed([row.score for row in some])}"
        for verdict in ("better", "worse")
        if (some := by_verdict.get(verdict))
    ]
    said = [f"{first.system} is {' and '.join(parts)}"] if parts else []
    said += _within_margins(first, by_verdict)
    too_few = by_verdict.get("too few to tell", [])[:1]  # the others say the same
    said += [f"too few to tell {row.system} from {row.baseline} ({row.note})" for row in too_few]
    unclear = by_verdict.get("not distinguishable", [])
    if not unclear:
        return f"{'; '.join(said)}."
    one_sided = alternative != "two-sided"
    limits = _limits(first, unclear, one_sided)
    if not said:
        apart = f"is not shown to be {alternative} than {first.baseline}"
        tied = f"and {first.baseline} cannot be told apart"
        more = ", which is not to say that they are equal" if any(row.margin for row in unclear) else ""
        return f"{first.system} {apart if one_sided else tied}{more}. {limits}"
    rest = f"not shown to be {alternative}" if one_sided else "not distinguishable"
    return f"{'; '.join(said)}; {rest} on the rest. {limits}"


def units(rows: Sequence[Comparison]) -> str:
    """`n = 40 examples`, or `n = 38 to 40 examples` where some scores are of fewer."""
    counts = sorted({row.n for row in rows})
    shown = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"n = {shown} {rows[0].unit}"


def stages(rows: Sequence[Comparison]) -> str | None:
    """Which part of a system that retrieves and answers moved, by the verdicts; None where no score is of contexts.

    `Which part moved: retrieval is better (mrr); faithfulness is worse (faithfulness); the answer is not shown to have
    moved.`
    """
    by_stage = {stage: [row for row in rows if row.stage == stage] for stage in STAGES}
    if not (by_stage["retrieval"] or by_stage["faithfulness"]):
        return None
    said, still = [], []
    for stage, of_it in by_stage.items():
        name = f"the {stage}" if stage == "answer" else stage
        ways = [(way, [row.score for row in of_it if row.verdict == way]) for way in ("better", "worse")]
        moved = [f"{way} ({listed(scores)})" for way, scores in ways if scores]
        if moved:
            said.append(f"{name} is {' and '.join(moved)}")
        elif of_it:
            still.append(name)
    if still:
        said.append(f"{listed(still)} {'is' if len(still) == 1 else 'are'} not shown to have moved")
    return f"Which part moved: {'; '.join(said)}."


def _within_margins(first: Comparison, by_verdict: Mapping[str, Sequence[Comparison]]) -> list[str]:
    """What the margins show."""
    said = []
    if some := by_verdict.get("equivalent"):
        within = listed([f"{row.score} (within ±{row.margin:g})" for row in some])
        said.append(f"{first.system} and {first.baseline} are equivalent on {within}")
    if some := by_verdict.get("not worse"):
        within = listed([f"{row.score} (by {row.margin:g} or more)" for row in some])
        said.append(f"{first.system} is not worse than {first.baseline} on {within}")
    return said


def _limits(first: Comparison, unclear: Sequence[Comparison], one_sided: bool) -> str:
    """What could have been seen. A one-sided test asks for no more where the difference is in the other direction."""
    reach = listed([f"{row.score} {number(row.smallest_detectable, row.digits)}" for row in unclear])
    limits = [f"Smallest difference that {first.n:,} {first.unit} can detect: {reach}."]
    unit = first.unit.split(" by ")[0]
    needed = [row for row in unclear if row.needed and row.needed <= REACH * row.n]
    if needed:
        limits.append(f"To detect a difference as seen: {_each(needed, [row.needed for row in needed], unit)}.")
    seeds = [row for row in unclear if row.needed_seeds and not row.needed]
    if seeds:
        more = _each(seeds, [row.needed_seeds for row in seeds], "seeds of each system")
        limits.append(f"No number of {unit} alone will do, but {more}.")
    both = [row.score for row in unclear if row.seeds and row.difference and not (row.needed or row.needed_seeds)]
    if both and not one_sided:
        limits.append(f"Neither more {unit} nor more seeds alone will do for {listed(both)}.")
    return " ".join(limits)


def _each(rows: Sequence[Comparison], counts: Sequence[int | None], unit: str) -> str:
    """`90 examples for x and 1,200 for y`"""
    parts = [
        f"{count:,} {unit if i == 0 else ''}".rstrip() + f" for {row.score}"
        for i, (row, count) in enumerate(zip(rows, counts, strict=True))
    ]
    return listed(parts)


def listed(items: Sequence[str]) -> str:
    """`a, b and c`"""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
