"""The figures of a study: which make sense for its runs, and the numbers that each one shows.

`figures` gives all of them, `wanted_figures` those that are asked for, `chart_of` an altair chart of them. Imported
where figures are drawn only: altair takes long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.analysis.comparing.study import study as made
from harness.analysis.figures.by_example import bucket_figures, difference_figures
from harness.analysis.figures.by_parameter import front_figures, parameter_figures
from harness.analysis.figures.by_score import effect_figures, forest_figures, matrix_figures
from harness.analysis.figures.by_setting import curve_figures, has_curve, is_clear, is_sweep, sweep_figures
from harness.analysis.figures.view import View
from harness.analysis.stored.loading import Run, loaded_runs
from harness.report.charts.theme import DARK, LIGHT, responsive, themed
from harness.report.terminal.progress import silent
from harness.stats.options import ComparisonOptions
from harness.types import Figure, HarnessError, Progress, Study, nearest

__all__ = ["DARK", "KINDS", "LIGHT", "Wanted", "chart_of", "figures", "responsive", "themed", "wanted_figures"]

KINDS = {
    "forest": "a run with scores",
    "effects": "--baseline RUN, or two runs on the same data",
    "matrix": "two or more runs on the same data (60 at most)",
    "differences": "two or more runs on the same data, with a score of single examples",
    "curve": "two checkpoints or more of a training run (system=checkpoints, or system.step and system.series)",
    "sweep": "two or more runs on the same data whose configs differ in a parameter of the system or postprocess",
    "parameters": "three or more cells of a sweep, or runs whose configs differ in a parameter",
    "front": "three or more runs whose systems say what an output costs, or takes (a millisecond or more)",
    "buckets": "a run with scores",
}
"""The figures by name, with what each one needs."""
TESTED = ("forest", "effects", "matrix", "sweep")
"""Figures that show verdicts."""
CHECKPOINTS = 12
"""Of a learning curve up to which all pairs of checkpoints are shown without being asked for."""


def figures(
    study: Study,
    *,
    bucket_fields: Sequence[str] = (),
    scores: Sequence[str] | None = None,
    width: float | None = None,
    kinds: Sequence[str] | None = None,
    progress: Progress = silent,
) -> list[Figure]:
    """All figures that make sense for the runs, or those of them that are of these kinds, data set by data set.

    `bucket_fields` names fields of the metadata, or `source_length`, `reference_length`, `output_length`; without,
    those that lend themselves. `scores` are the headline scores unless others are named.
    """
    pictures: list[Figure] = []
    for group in study.groups:
        view = View(study, group, scores, width)
        for kind in _sensible(view):
            if kinds is not None and kind not in kinds:
                continue
            pictures.extend(_of_kind(kind, view, bucket_fields, progress))
    return pictures


def _sensible(view: View) -> list[str]:
    """Which figures to draw without being asked: none that shows the same as another."""
    if not view.scores:
        return []
    count = len(view.group.runs)
    effects = ["effects"] if count == 2 or view.group.baseline is not None else []
    if has_curve(view):
        return ["curve", *effects, *(["matrix"] if count <= CHECKPOINTS else [])]
    pairs = [*effects, "matrix", "differences"] if count > 1 else []
    swept = [*(["sweep"] if is_clear(view) else []), "parameters", "front"] if is_sweep(view) else []
    return ["forest", *pairs, *swept, "buckets"]


def _of_kind(kind: str, view: View, fields: Sequence[str], progress: Progress) -> Iterator[Figure]:
    if kind == "buckets":
        return bucket_figures(view, fields, progress)
    makers = {
        "forest": forest_figures, "effects": effect_figures, "matrix": matrix_figures,
        "differences": difference_figures, "curve": curve_figures, "sweep": sweep_figures,
        "parameters": parameter_figures, "front": front_figures,
    }  # fmt: skip
    return makers[kind](view)


@dataclass(frozen=True)
class Wanted:
    """Which figures to draw."""

    figure: str | None = None
    """One of `KINDS`; by default all that make sense."""
    by: tuple[str, ...] = ()
    """Fields of the buckets."""
    width: float | None = None
    """In pixels."""

    def check(self) -> None:
        if self.figure is not None and self.figure not in KINDS:
            near = nearest(self.figure, KINDS)
            raise HarnessError(f"there is no figure {self.figure!r}{near}; expected one of {', '.join(KINDS)}")
        if self.by and self.figure not in (None, "buckets"):
            raise HarnessError(f"--by {self.by[0]} with the figure {self.figure}; expected it with buckets only")


def wanted_figures(
    runs: Sequence[Run] | Run,
    baseline: Run | None,
    wanted: Wanted,
    options: ComparisonOptions,
    progress: Progress = silent,
) -> list[Figure]:
    """The figures of one name for each data set, or all that make sense.

    `options.scores` may hold sub-scores too, which are shown and not tested.
    """
    wanted.check()
    loaded, base = loaded_runs([runs] if isinstance(runs, Run) else runs, baseline)
    tested = replace(options, scores=_headline(options.scores))
    whole = made(loaded, base, tested, tests=False, progress=progress)
    views = [View(whole, group, options.scores, wanted.width) for group in whole.groups]
    kinds = {wanted.figure} if wanted.figure is not None else {kind for view in views for kind in _sensible(view)}
    if kinds & set(TESTED):  # which takes long for many runs, so only where it is shown
        whole = made(loaded, base, tested, progress=progress)
        views = [View(whole, group, options.scores, wanted.width) for group in whole.groups]
    if wanted.figure is None:
        return figures(whole, bucket_fields=wanted.by, scores=options.scores, width=wanted.width, progress=progress)
    pictures = [figure for view in views for figure in _of_kind(wanted.figure, view, wanted.by, progress)]
    if not pictures:
        names = ", ".join(run.name for run in whole.runs[:5]) + (" …" if len(whole.runs) > 5 else "")
        raise HarnessError(f"the figure {wanted.figure} cannot be drawn from {names}; expected {KINDS[wanted.figure]}")
    return pictures


def _headline(scores: Sequence[str] | None) -> tuple[str, ...] | None:
    """Those that are tested: sub-scores are only shown."""
    return None if scores is None else tuple(name for name in scores if "." not in name)


def chart_of(figures: Sequence[Figure], dark: bool = False) -> Any:
    """Figures as an altair chart with its theme: one as it is, several below each other under their titles."""
    import altair as alt

    if len(figures) == 1:
        return themed(figures[0].chart, dark)
    charts = [alt.vconcat(figure.chart, title=alt.Title(figure.title, offset=10)) for figure in figures]
    return themed(alt.vconcat(*charts, spacing=30).resolve_scale(color="independent", shape="independent"), dark)
