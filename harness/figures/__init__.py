"""The figures of a study: which make sense for its runs, and the numbers that each one shows.

`figures` gives all of them, `plot` one as an altair chart. Imported where figures are drawn only: altair takes long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.api import Run
from harness.figures.examples import bucket_figures, difference_figures
from harness.figures.scores import effect_figures, forest_figures, matrix_figures
from harness.figures.settings import curve_figures, has_curve, is_sweep, sweep_figures
from harness.figures.view import View
from harness.report.figures.theme import DARK, LIGHT, responsive, themed
from harness.report.progress import silent
from harness.study import study as made
from harness.types import Figure, HarnessError, Progress, Study

__all__ = ["DARK", "KINDS", "LIGHT", "figures", "plot", "responsive", "themed"]

KINDS = {
    "forest": "a run with scores",
    "effects": "--baseline RUN, or two runs on the same data",
    "matrix": "two runs or more on the same data (60 at most)",
    "differences": "two runs or more on the same data, with a score of single examples",
    "curve": "two checkpoints or more of a training run (system=checkpoints, or system.step and system.series)",
    "sweep": "two runs or more on the same data whose configs differ in a parameter of the system or postprocess",
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
    progress: Progress = silent,
) -> list[Figure]:
    """All figures that make sense for the runs, data set by data set.

    `bucket_fields` names fields of the metadata, or `source_length`, `reference_length`, `output_length`; without,
    those that lend themselves. `scores` are the headline scores unless others are named.
    """
    found: list[Figure] = []
    for group in study.groups:
        view = View(study, group, scores, width)
        for kind in _sensible(view):
            found.extend(_drawn(kind, view, bucket_fields, progress))
    return found


def _sensible(view: View) -> list[str]:
    """Which figures to draw without being asked: not the same twice."""
    if not view.scores:
        return []
    if has_curve(view):
        few = len(view.group.runs) <= CHECKPOINTS
        return ["curve", "effects", *(["matrix"] if few else [])]
    return ["forest", "effects", "matrix", "differences", *(["sweep"] if is_sweep(view) else []), "buckets"]


def _drawn(kind: str, view: View, fields: Sequence[str], progress: Progress) -> Iterator[Figure]:
    if kind == "buckets":
        return bucket_figures(view, fields, progress)
    makers = {
        "forest": forest_figures, "effects": effect_figures, "matrix": matrix_figures,
        "differences": difference_figures, "curve": curve_figures, "sweep": sweep_figures,
    }  # fmt: skip
    return makers[kind](view)


def chosen(
    runs: Sequence[Run],
    figure: str | None = None,
    by: Sequence[str] = (),
    scores: Sequence[str] | None = None,
    baseline: Run | None = None,
    width: float | None = None,
    progress: Progress = silent,
    **options: Any,
) -> list[Figure]:
    """The figures of this name for each data set, or all that make sense; `options` are those of `study`."""
    if figure is not None and figure not in KINDS:
        raise HarnessError(f"there is no figure {figure!r}; expected one of {', '.join(KINDS)}")
    if by and figure not in (None, "buckets"):
        raise HarnessError(f"--by {by[0]} with the figure {figure}; expected it with buckets only")
    tests = figure is None or figure in TESTED
    whole = made(runs, baseline, scores=_headline(scores), tests=tests, progress=progress, **options)
    if figure is None:
        return figures(whole, bucket_fields=by, scores=scores, width=width, progress=progress)
    views = [View(whole, group, scores, width) for group in whole.groups]
    found = [one for view in views for one in _drawn(figure, view, by, progress)]
    if not found:
        names = ", ".join(run.name for run in whole.runs[:5]) + (" …" if len(whole.runs) > 5 else "")
        raise HarnessError(f"no figure {figure} can be drawn of {names}; expected {KINDS[figure]}")
    return found


def _headline(scores: Sequence[str] | None) -> list[str] | None:
    """Those that are tested: sub-scores are only shown."""
    return None if scores is None else [name for name in scores if "." not in name]


def plot(
    runs: Sequence[Run],
    figure: str = "forest",
    *,
    by: str | Sequence[str] = (),
    scores: Sequence[str] | None = None,
    baseline: Run | None = None,
    width: float | None = None,
    dark: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> Any:
    """One figure as an altair chart, which a notebook shows and `.save("figure.pdf")` writes.

    `figure` is forest, effects, matrix, differences, curve, sweep or buckets; `by` names the field of the buckets,
    `scores` the scores (the headline ones by default). Charts of several data sets or fields stand below each other.
    `options` are those of the tests: level, resamples, seed, test, correction.
    """
    import altair as alt

    fields = [by] if isinstance(by, str) else list(by)
    found = chosen(runs, figure, fields, scores, baseline, width, progress, **options)
    if len(found) == 1:
        return themed(found[0].chart, dark)
    charts = [one.chart.properties(title=alt.Title(one.title, offset=10)) for one in found]
    return themed(alt.vconcat(*charts, spacing=30).resolve_scale(color="independent", shape="independent"), dark)
