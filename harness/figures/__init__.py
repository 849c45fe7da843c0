"""The figures of a study: which make sense for its runs, and the numbers that each one shows.

`figures` gives all of them, `plot` one as an altair chart. Imported where figures are drawn only: altair takes long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.api import Run, loaded_runs
from harness.figures.examples import bucket_figures, difference_figures
from harness.figures.scores import effect_figures, forest_figures, matrix_figures
from harness.figures.settings import curve_figures, has_curve, is_sweep, sweep_figures
from harness.figures.view import View
from harness.report.figures.theme import DARK, LIGHT, responsive, themed
from harness.report.progress import silent
from harness.study import study as made
from harness.types import Figure, HarnessError, Progress, RunResult, Study

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
    count = len(view.group.runs)
    effects = ["effects"] if count == 2 or view.group.baseline is not None else []
    if has_curve(view):
        return ["curve", *effects, *(["matrix"] if count <= CHECKPOINTS else [])]
    pairs = [*effects, "matrix", "differences"] if count > 1 else []
    return ["forest", *pairs, *(["sweep"] if is_sweep(view) else []), "buckets"]


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
    given = [runs] if isinstance(runs, str | Path | RunResult) else runs
    loaded, base = loaded_runs(given, baseline)
    whole = made(loaded, base, scores=_headline(scores), tests=False, progress=progress, **options)
    views = [View(whole, group, scores, width) for group in whole.groups]
    wanted = {figure} if figure is not None else {kind for view in views for kind in _sensible(view)}
    if wanted & set(TESTED):  # which takes long for many runs, so only where it is shown
        whole = made(loaded, base, scores=_headline(scores), progress=progress, **options)
        views = [View(whole, group, scores, width) for group in whole.groups]
    if figure is None:
        return figures(whole, bucket_fields=by, scores=scores, width=width, progress=progress)
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
    charts = [alt.vconcat(one.chart, title=alt.Title(one.title, offset=10)) for one in found]  # a panel has its own
    return themed(alt.vconcat(*charts, spacing=30).resolve_scale(color="independent", shape="independent"), dark)
