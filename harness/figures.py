"""The figures of a study: which make sense for its runs, and the numbers that each one shows.

Imported where figures are drawn only: altair takes long to import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from harness.report.figures import forest, matrix
from harness.report.figures.theme import DARK, LIGHT, WIDTH, number, plain, responsive, short, themed
from harness.report.progress import silent
from harness.types import Comparison, Figure, Group, Progress, RunResult, Study

__all__ = ["DARK", "LIGHT", "figures", "responsive", "themed"]
MOST_IN_MATRIX = 60


def figures(
    study: Study, *, bucket_fields: Sequence[str] = (), width: float = WIDTH, progress: Progress = silent
) -> list[Figure]:
    """All figures that make sense for the runs, data set by data set."""
    found: list[Figure] = []
    for group in study.groups:
        view = View(study, group, width)
        for make in (_forest, _effects, _matrix):
            found.extend(make(view))
    return found


class View:
    """One data set of a study, with what its runs are called in figures."""

    def __init__(self, study: Study, group: Group, width: float = WIDTH) -> None:
        self.study, self.group, self.width = study, group, width
        names = [run.name for run in group.runs]
        self.labels = dict(zip(names, short([study.labels.get(name, name) for name in names]), strict=True))
        self.of = f" on {plain(group.dataset)}"
        place = [one.dataset for one in study.groups].index(group.dataset)
        self.slug = slugs([one.dataset for one in study.groups])[place]

    def figure(self, kind: str, title: str, caption: str, chart: Any) -> Figure:
        return Figure(f"{kind}-{self.slug}", f"{title}{self.of}", caption, chart)

    @property
    def scores(self) -> list[str]:
        """The headline scores of the runs."""
        return list(dict.fromkeys(n for run in self.group.runs for n, one in run.scores.items() if one.headline))

    def higher(self, score: str) -> bool:
        return next(run.scores[score].higher_is_better for run in self.group.runs if score in run.scores)

    def ordered(self, score: str) -> list[RunResult]:
        """The runs by a score, the best first, those without one last."""
        sign = -1.0 if self.higher(score) else 1.0

        def place(run: RunResult) -> tuple[bool, float]:
            estimate = run.scores[score].estimate if score in run.scores else None
            return estimate is None, sign * (estimate or 0.0)

        return sorted(self.group.runs, key=place)

    def pairs(self, score: str) -> list[Comparison]:
        return [row for row in self.study.comparisons if (row.dataset, row.score) == (self.group.dataset, score)]

    def leaders(self, score: str) -> set[str]:
        """The best run and those not distinguishable from it, by adjusted p; empty where nothing was tested."""
        pairs = self.pairs(score)
        best = self.ordered(score)[0]
        if not pairs or score not in best.scores or best.scores[score].estimate is None:
            return set()
        alike = {
            name
            for row in pairs
            if best.name in (row.baseline, row.system) and row.verdict == "not distinguishable"
            for name in (row.baseline, row.system)
        }
        return {best.name} | alike


def slugs(names: Sequence[str]) -> list[str]:
    """The names as parts of file names, each different."""
    found: list[str] = []
    for name in names:
        slug = base = re.sub(r"[^\w.-]+", "-", plain(name)).strip("-.")[:60] or "data"
        again = 1
        while slug in found:
            again += 1
            slug = f"{base}-{again}"
        found.append(slug)
    return found


def _level(study: Study, view: View) -> str:
    level = next((score.level for run in view.group.runs for score in run.scores.values()), study.level)
    return f"{level:.0%}"


def _forest(view: View) -> Iterator[Figure]:
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
            one = run.scores.get(score)
            standing = list(forest.STANDINGS)[run.name not in leaders] if leaders else ""
            values = (one.estimate, one.low, one.high) if one else (None, None, None)
            rows.append(forest.Row(view.labels[run.name], *values, standing, (one.note or "") if one else "not scored"))
        line = base.scores[score].estimate if base is not None and score in base.scores else None
        panels.append(forest.Panel(plain(score), rows, view.higher(score), line))
    said = [f"Scores with {_level(view.study, view)} bootstrap intervals, each score on a scale of its own."]
    if tested:
        said.append(
            f"Diamonds: the best system of a score and those not distinguishable from it (paired {view.study.test}, "
            f"p adjusted by {view.study.correction}); overlap of intervals is no test."
        )
    if base is not None:
        said.append(f"Dashed: the baseline, {view.labels[base.name]}.")
    chart = forest.draw(panels, forest.STANDINGS if tested else None, view.width)
    yield view.figure("forest", "Scores", " ".join(said), chart)


def _effects(view: View) -> Iterator[Figure]:
    """Differences from the baseline, or of the second from the first of two runs."""
    study, group = view.study, view.group
    rows = [row for row in study.against if row.dataset == group.dataset]
    if not rows and len(group.runs) == 2:
        rows = [row for row in study.comparisons if row.dataset == group.dataset]
    if not rows:
        return
    scores = list(dict.fromkeys(row.score for row in rows))
    found = {(row.system, row.score): row for row in rows}
    names = [run.name for run in view.ordered(scores[0]) if any(name == run.name for name, _ in found)]
    panels = []
    for score in scores:
        shown = []
        for name in names:
            row = found.get((name, score))
            if row is None:
                shown.append(forest.Row(view.labels[name], None, None, None, "", "not scored"))
                continue
            more = f"p = {number(row.p_value, 4)}, adjusted {number(row.p_adjusted, 4)}; n = {row.n:,} {row.unit}"
            shown.append(forest.Row(view.labels[name], row.difference, row.low, row.high, row.verdict, more))
        panels.append(forest.Panel(plain(score), shown, view.higher(score), 0.0, signed=True))
    base = view.labels[rows[0].baseline]
    caption = (
        f"Differences from {base} with {study.level:.0%} bootstrap intervals on the same examples; verdicts by the "
        f"paired {study.test}, p adjusted by {study.correction}, which a difference can fail though its own interval "
        "leaves out zero."
    )
    chart = forest.draw(panels, forest.VERDICTS, view.width)
    yield view.figure("effects", f"Differences from {base}", caption, chart)


def _matrix(view: View) -> Iterator[Figure]:
    if not 2 <= len(view.group.runs) <= MOST_IN_MATRIX:
        return
    panels = []
    turned = {"better": "worse", "worse": "better"}
    for score in view.scores:
        cells = []
        for row in view.pairs(score):
            a, b = view.labels[row.system], view.labels[row.baseline]
            cells.append(matrix.Cell(a, b, row.verdict, row.difference, row.low, row.high, row.p_adjusted))
            less, low, high = (None if value is None else -value for value in (row.difference, row.high, row.low))
            verdict = turned.get(row.verdict, row.verdict)
            cells.append(matrix.Cell(b, a, verdict, less, low, high, row.p_adjusted))
        if cells:
            order = [view.labels[run.name] for run in view.ordered(score)]
            panels.append(matrix.Panel(plain(score), order, cells))
    if panels:
        study = view.study
        caption = (
            "Is the system of the row better or worse than that of the column? Systems by score, the best first; "
            f"paired {study.test}, p adjusted by {study.correction} over all pairs, scores and data sets at the level "
            f"{study.level:.0%}."
        )
        yield view.figure("matrix", "Pairwise verdicts", caption, matrix.draw(panels, view.width))
