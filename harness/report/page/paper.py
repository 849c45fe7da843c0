"""The answer on one data set as a sentence for a paper: scores with their intervals, the differences, the tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.inputs.choices import CORRECTIONS, OVER_SEEDS
from harness.report.numbers import bounds, digits_of, number, signed
from harness.report.page.differences_from import p_of
from harness.report.score_titles import score_titles
from harness.report.terminal.wording import listed, units
from harness.types import Comparison, Curve, Group, RunResult, Study
from harness.types.shown import counted

Titles = Mapping[str, str]
NAMED = 3
"""Systems that are named one by one; of more, the others are counted."""
SHOWN = 4
"""Of so many systems the difference from the baseline is told."""


def sentences(study: Study, group: Group) -> str:
    """Of a run alone its first score; of two all differences; of more who is best by the first score, and who cannot
    be told from it; of checkpoints the best step."""
    titles = score_titles(group.runs)
    pairs = any(row.dataset == group.dataset for row in study.comparisons)
    curves = [curve for curve in study.curves if curve.dataset == group.dataset]
    if curves:
        said = [_curve(curves[0], titles), _signatures(group, [curves[0].score], titles)]
    elif not pairs:
        score = next((name for name in group.runs[0].scores if "." not in name), None)
        if score is None:
            return ""
        said = [f"{_reached(study, group.runs[0], score, titles)} on {group.dataset}."]
        said.append(_signatures(group, [score], titles))
    else:
        said = list(_against(study, group, titles) if group.baseline and study.against else _best(study, group, titles))
    return " ".join(part for part in said if part)


def _against(study: Study, group: Group, titles: Titles) -> Iterator[str]:
    """Each system by the first score against the baseline; of one system all scores."""
    rows = [row for row in study.against if row.dataset == group.dataset]
    base, first = group.baseline, rows[0]
    assert base is not None
    shown = rows if len(group.runs) == 2 else rows[:1]
    yield f"On {group.dataset} ({units(shown)}), {_reached(study, base, first.score, titles)}."
    if len(group.runs) == 2:
        yield f"Differences of {study.labels[first.system]} from it: {_listed(group, rows, titles, study)}."
    else:
        order = [row for row in rows if row.score == first.score and row.difference is not None]
        order.sort(key=lambda row: (row.difference or 0.0) * (-1 if row.higher_is_better else 1))
        names = {row.system: study.labels[row.system] for row in order}
        more = f" ({len(order) - SHOWN} more in the table)" if len(order) > SHOWN else ""
        yield f"Differences from it: {_listed(group, order[:SHOWN], names, study)}{more}."
    yield _tests(study, len(study.against))
    yield _signatures(group, [row.score for row in rows] if len(group.runs) == 2 else [first.score], titles)


def _best(study: Study, group: Group, titles: Titles) -> Iterator[str]:
    """Whom the tests call the best by the first score, and what they say of the others."""
    pairs = [row for row in study.comparisons if row.dataset == group.dataset]
    best = study.best(group, pairs[0].score)
    if best is None:
        return
    seen = [row if row.system == best.name else row.turned() for row in pairs]
    rows = [row for row in seen if row.system == best.name]
    first = rows[0]
    if len(group.runs) == 2:
        yield f"On {group.dataset} ({units(rows)}), {_reached(study, best, first.score, titles)}."
        yield f"Differences from {study.labels[first.baseline]}: {_listed(group, rows, titles, study)}."
    else:
        yield from _of_many(study, group, best, [row for row in rows if row.score == first.score])
    yield _tests(study, len(study.comparisons))
    yield _signatures(group, [row.score for row in rows] if len(group.runs) == 2 else [first.score], titles)


def _listed(group: Group, rows: Sequence[Comparison], names: Mapping[str, str], study: Study) -> str:
    """`BLEU +1.02 (95% CI [0.34, 1.71], p = 0.039); …`; `names` of scores or systems."""
    return "; ".join(
        f"{names.get(row.score) or names[row.system]} {_difference(study, group, row)}"
        for row in rows
        if row.difference is not None
    )


def _difference(study: Study, group: Group, row: Comparison) -> str:
    digits = digits_of(group.runs, row.score)
    ends = bounds(row.low, row.high, digits)
    return f"{signed(row.difference, digits)} ({100 * study.level:g}% CI {ends}, {p_of(row)})"


def _of_many(study: Study, group: Group, best: RunResult, rows: Sequence[Comparison]) -> Iterator[str]:
    first = rows[0]
    most = "highest" if first.higher_is_better else "lowest"
    score, digits = best.scores[first.score], digits_of(group.runs, first.score)
    title = score_titles(group.runs)[first.score]
    yield (
        f"On {group.dataset} ({units(rows[:1])}), {study.labels[best.name]} has the {most} {title} of "
        f"{len(group.runs)} systems, {number(score.estimate, digits)}{_interval(best, first.score, digits)}."
    )
    known = [row for row in rows if row.difference is not None]
    beaten = [row for row in known if row.verdict == "better"]
    alike = [row for row in known if row.verdict != "better"]
    parts = []
    if beaten:
        worst = max(beaten, key=lambda row: row.p_adjusted or 0.0)
        said = p_of(worst) if len(beaten) == 1 else f"each {p_of(worst).replace('=', '≤')}"
        parts.append(f"is better than {_named(study, beaten)} ({said})")
    if alike:
        close = min(alike, key=lambda row: abs(row.difference or 0.0))
        nearest = f"{study.labels[close.baseline]}: " if len(alike) > 1 else ""
        parts.append(f"cannot be told apart from {_named(study, alike)} ({nearest}{_difference(study, group, close)})")
    if parts:
        yield f"It {' and '.join(parts)}."


def _curve(curve: Curve, titles: Titles) -> str:
    best, digits = curve.at(curve.best), curve.digits
    most = "highest" if curve.higher_is_better else "lowest"
    return (
        f"On {curve.dataset} (n = {curve.n:,} {curve.unit}), {titles[curve.score]} is {most} at step {best.step:,} of "
        f"{len(curve.steps)} checkpoints, {number(best.estimate, digits)}; corrected for the choice among them "
        f"{number(curve.corrected, digits)} ({100 * curve.level:g}% CI "
        f"{bounds(curve.corrected_low, curve.corrected_high, digits)})."
    )


def _reached(study: Study, run: RunResult, score: str, titles: Titles) -> str:
    """`lexrank reaches BLEU 4.12 (95% CI [3.40, 4.90])`"""
    digits = run.scores[score].digits
    estimate = number(run.scores[score].estimate, digits)
    return f"{study.labels[run.name]} reaches {titles[score]} {estimate}{_interval(run, score, digits)}"


def _interval(run: RunResult, name: str, digits: int) -> str:
    score = run.scores[name]
    if score.low is None or score.high is None:
        return ""
    seeds = " for new seeds" if score.method == OVER_SEEDS else ""
    return f" ({100 * score.level:g}% CI{seeds} {bounds(score.low, score.high, digits)})"


def _named(study: Study, rows: Sequence[Comparison]) -> str:
    names = [study.labels[row.baseline] for row in sorted(rows, key=lambda row: abs(row.difference or 0.0))]
    if len(names) > NAMED + 1:
        names = [*names[:NAMED], f"{len(names) - NAMED} others"]
    return listed(names)


def _tests(study: Study, count: int) -> str:
    by = f", adjusted over {counted(count, 'test')} by {CORRECTIONS[study.correction]}"
    by = "" if study.correction == "none" or count == 1 else by
    test = study.tested_by if study.of_seeds else f"{study.tested_by} test, {study.resamples:,} resamples"
    return f"P-values: {test}{by}."


def _signatures(group: Group, scores: Sequence[str], titles: Titles) -> str:
    """Of the scores that were told; those of one metric share theirs."""
    sharing: dict[str, list[str]] = {}
    for score in scores:
        signature = next((run.scores[score].signature for run in group.runs if score in run.scores), "")
        sharing.setdefault(signature, []).append(titles[score])
    sharing.pop("", None)
    return " ".join(f"{listed(names)} signature: {signature}." for signature, names in sharing.items())
