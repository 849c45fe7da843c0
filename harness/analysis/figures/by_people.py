"""A figure of metrics against people: systems, or single outputs, with the line through them and its band."""

from __future__ import annotations

from functools import partial

import numpy as np

from harness.analysis.figures.view import slugs
from harness.analysis.people.meta_study import Meta
from harness.report.charts import scatter
from harness.report.charts.theme import plain, short
from harness.stats.people.panel import MetaOptions, Panel, Resampling
from harness.stats.people.system_level import drawn_means, drawn_scores
from harness.stats.resampling import generator, quiet_single_thread
from harness.types import Array, Figure, HarnessError, nothing
from harness.types.shown import counted

MOST_POINTS = 2_000
"""Outputs that are shown; of more, a sample."""
PLACES = 40
"""Along the line, at which its band is drawn."""
LAST_BITS = 1e-12
"""Of a sum of squares, what is rounding."""


def scatter_figure(meta: Meta, kind: str | None = None) -> Figure:
    """`systems`, where there are three or more, or `outputs`."""
    panel = meta.joined.panel
    kind = kind or ("systems" if len(panel.systems) >= 3 else "outputs")
    if kind == "systems" and len(panel.systems) < 3:
        raise HarnessError(
            f"--figure systems of {counted(len(panel.systems), 'run')}; expected 3 or more, or --figure outputs"
        )
    if kind == "outputs" and panel.human is None:
        raise HarnessError("--figure outputs, and the human scores have no ids; expected --figure systems")
    options = MetaOptions(max(meta.resamples, 2), meta.level, meta.seed, drawn=meta.resample)
    resampling = Resampling(panel, options)
    names = short(panel.systems)
    panels = _of_systems(meta, resampling, names) if kind == "systems" else _of_outputs(meta, resampling, names)
    drawn = {"both": "items and systems", "items": "items", "systems": "systems"}[meta.resample]
    caption = (
        f"{'A point is a system' if kind == 'systems' else 'A point is an output'}; the line of least squares with its "
        f"{100 * meta.level:g}% band over resamples of {drawn}."
    )
    count = int(panel.cells.sum()) if panel.human is not None else 0
    if kind == "outputs" and count > MOST_POINTS:
        caption += f" {MOST_POINTS:,} of {count:,} outputs are shown, the line is of all."
    chart = scatter.draw(panels, plain(meta.human), names)
    return Figure(f"people-{slugs([meta.dataset])[0]}", f"Metrics and people on {plain(meta.dataset)}", caption, chart)


def _of_systems(meta: Meta, resampling: Resampling, names: list[str]) -> list[scatter.Panel]:
    panel, panels = meta.joined.panel, []
    way = meta.joined.sign
    means, scores = way * drawn_means(panel, resampling, meta.seed), drawn_scores(panel, resampling, meta.seed)
    for name, corpus in panel.corpora.items():
        sign = corpus.sign
        points = [scatter.Point(*point) for point in zip(names, sign * corpus.scores, way * panel.means, strict=True)]
        sums = _sums(sign * scores[name], means, resampling.of_systems)
        whole = _sums(sign * corpus.scores[None], way * panel.means[None], np.ones((1, len(names))))
        band = _band(sign * corpus.scores, whole, sums, meta.level)
        panels.append(scatter.Panel(_title(meta, name), points, band, _digits(panel, name)))
    return panels


def _sums(x: Array, y: Array, weights: Array) -> Array:
    """(r, 5) what a line is fitted from, of points x and y (r, s)."""
    parts = (np.ones_like(x), x, y, x * x, x * y)
    return np.stack([(weights * part).sum(1) for part in parts], axis=1)


def _of_outputs(meta: Meta, resampling: Resampling, names: list[str]) -> list[scatter.Panel]:
    panel, panels = meta.joined.panel, []
    assert panel.human is not None
    systems, items = np.nonzero(panel.cells)
    rng = generator(meta.seed, "meta points")
    few = np.arange(len(items))
    if len(items) > MOST_POINTS:
        few = np.sort(rng.choice(len(items), MOST_POINTS, replace=False))
    human = meta.joined.sign * panel.human[systems, items]
    for name, values in panel.segments.items():
        x = panel.corpora[name].sign * values[systems, items]
        shown = zip(systems[few], x[few], human[few], strict=True)
        points = [scatter.Point(names[system], float(a), float(b)) for system, a, b in shown]
        middle = x.mean()
        parts = np.zeros((5, *panel.cells.shape))
        parts[:, systems, items] = np.stack(
            [np.ones_like(x), x - middle, human, (x - middle) ** 2, (x - middle) * human]
        )
        by_unit = panel.by_unit(parts)  # (5, s, units)
        with quiet_single_thread():
            sums = resampling.mapped(partial(_drawn, by_unit), nothing)
        whole = by_unit.sum(axis=(1, 2))[None]
        band = _band(x - middle, whole, sums, meta.level)
        moved = [scatter.Band(part.x + middle, part.y, part.low, part.high) for part in band]
        panels.append(scatter.Panel(_title(meta, name), points, moved, _digits(panel, name)))
    return panels


def _drawn(by_unit: Array, of_systems: Array, of_units: Array) -> Array:
    """(r, 5)"""
    return np.asarray(np.einsum("rs,psu,ru->rp", of_systems, by_unit, of_units, optimize=True))


def _band(x: Array, whole: Array, sums: Array, level: float) -> list[scatter.Band]:
    """The line through all points, and the quantiles of those of the resamples, along x."""
    places = np.linspace(x.min(), x.max(), PLACES)
    line, drawn = _lines(whole, places)[0], _lines(sums, places)
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    if not len(drawn) or not np.isfinite(line).all():
        return []
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [scatter.Band(*map(float, part)) for part in zip(places, line, low, high, strict=True)]


def _lines(sums: Array, places: Array) -> Array:
    """(r, places) of sums (r, 5); NaN where all points lie above each other, to the last bits of their sums."""
    count, x, y, xx, xy = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = xx - x * x / count
        slope = (xy - x * y / count) / np.where(wide > LAST_BITS * xx, wide, np.nan)
        level = (y - slope * x) / count
    return np.asarray(level[:, None] + slope[:, None] * places)


def _title(meta: Meta, name: str) -> str:
    lower = meta.joined.panel.corpora[name].sign < 0
    return f"{plain(meta.joined.titles[name])}{' (lower is better)' if lower else ''}"


def _digits(panel: Panel, name: str) -> int:
    corpus = panel.corpora[name]
    metric = corpus.samples[0].metric
    return metric.digits_of(name)
