"""Figures of scores and of the tests between them: intervals, differences from the baseline, verdicts of all pairs."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.figures.view import View
from harness.report.charts import forest, matrix
from harness.report.charts.theme import number, short
from harness.report.numbers import intervals_by
from harness.report.terminal.comparisons import adjusted
from harness.types import Figure

MOST_IN_MATRIX = 60


def forest_figures(view: View) -> Iterator[Figure]:
    if not view.scores:
        return
    order = view.ordered(view.scores[0])
    base = view.group.baseline
    panels, tested = [], False
    for score in view.scores:
        leaders = view.leaders(score)
        tested |= bool(leaders)
        rows = []
        for run in order:
            scored = run.scores.get(score)
            standing = list(forest.STANDINGS)[run.name not in leaders] if leaders else ""
            values = (scored.estimate, scored.low, scored.high) if scored else (None, None, None)
            note = (scored.note or "") if scored else "not scored"
            rows.append(forest.Row(view.labels[run.name], *values, standing, note))
        line = base.scores[score].estimate if base is not None and score in base.scores else None
        panels.append(forest.Panel(view.title(score), rows, view.digits(score), view.higher(score), line))
    caption = [f"Scores with {view.intervals()}, each score on a scale of its own."]
    if tested:
        caption.append(
            f"Diamonds: the best system of a score and those not distinguishable from it ({view.study.tested_by}, "
            f"{adjusted(view.study.correction, 'all pairs, scores and data sets')}); overlapping intervals are no test."
        )
    if base is not None:
        caption.append(f"Dashed: the baseline, {view.labels[base.name]}.")
    chart = forest.draw(panels, forest.STANDINGS if tested else None, view.width)
    yield view.figure("forest", "Scores", " ".join(caption), chart)


def effect_figures(view: View) -> Iterator[Figure]:
    """Differences from the baseline, or of the second from the first of two runs."""
    study, group = view.study, view.group
    rows = [row for row in study.against if row.dataset == group.dataset]
    if not rows and len(group.runs) == 2:
        rows = [row for row in study.comparisons if row.dataset == group.dataset]
    if not rows:
        return
    scores = list(dict.fromkeys(row.score for row in rows))
    by_system = {(row.system, row.score): row for row in rows}
    names = [run.name for run in view.ordered(scores[0]) if any(name == run.name for name, _ in by_system)]
    panels = []
    for score in scores:
        shown = []
        for name in names:
            row = by_system.get((name, score))
            if row is None:
                shown.append(forest.Row(view.labels[name], None, None, None, "", "not scored"))
                continue
            more = f"p = {number(row.p_value, 4)}, adjusted {number(row.p_adjusted, 4)}; n = {row.n:,} {row.unit}"
            shown.append(forest.Row(view.labels[name], row.difference, row.low, row.high, row.verdict, more))
        panels.append(forest.Panel(view.title(score), shown, view.digits(score), view.higher(score), 0.0, signed=True))
    base = view.labels[rows[0].baseline]
    kind = "intervals for new seeds" if study.of_seeds else intervals_by(row.method for row in rows if row.method)
    caption = (
        f"Differences from {base} with {100 * study.level:g}% {kind} on the same examples; verdicts by "
        f"the {study.tested_by}, {adjusted(study.correction, 'all comparisons')}, which a difference can fail "
        "though its own interval leaves out zero."
    )
    chart = forest.draw(panels, forest.looks_of(row.standing for panel in panels for row in panel.rows), view.width)
    yield view.figure("effects", f"Differences from {base}", caption, chart)


def matrix_figures(view: View) -> Iterator[Figure]:
    if not 2 <= len(view.group.runs) <= MOST_IN_MATRIX:
        return
    names = [run.name for run in view.group.runs]
    called = [view.study.labels.get(name, name) for name in names]
    labels = dict(zip(names, short(called, min(view.limit, 30)), strict=True))
    panels = []
    for score in view.scores:
        cells = []
        for row in view.pairs(score):
            for seen in (row, row.turned()):
                pair, values = (labels[seen.system], labels[seen.baseline]), (seen.difference, seen.low, seen.high)
                cells.append(matrix.Cell(*pair, seen.verdict, *values, seen.p_adjusted))
        if cells:
            order = [labels[run.name] for run in view.ordered(score)]
            panels.append(matrix.Panel(view.title(score), order, cells, view.digits(score)))
    if panels:
        study = view.study
        caption = (
            "Is the system of the row better or worse than that of the column? Systems by score, the best first; "
            f"{study.tested_by}, {adjusted(study.correction, 'all pairs, scores and data sets')}, "
            f"at the level {1 - study.level:.2g}."
        )
        yield view.figure("matrix", "Pairwise verdicts", caption, matrix.draw(panels, view.width))
