"""Figures of scores against what was set: the training step of checkpoints, the parameters of a sweep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.analysis.comparing.training_curves import series_of, step_of
from harness.analysis.figures.view import View
from harness.analysis.stored.parameters import Parameter, parameters
from harness.report.charts import curve, forest, heatmap, parallel
from harness.report.charts.theme import plain, short
from harness.report.curve_words import choice, training_run
from harness.store.sweep_cells import short_names
from harness.types import Figure, RunResult

LINES = 8
"""Runs from which on parallel coordinates are drawn without being asked for."""
LUCK = "The best of many runs is flattered by chance: harness best says by how much."


def has_curve(view: View) -> bool:
    """Whether some series has two steps or more."""
    steps = {(series_of(run), step_of(run)) for run in view.group.runs if step_of(run) is not None}
    return len(steps) > len({series for series, _ in steps})


def curve_figures(view: View) -> Iterator[Figure]:
    if not has_curve(view):
        return
    runs = [run for run in view.group.runs if step_of(run) is not None]
    known = list(dict.fromkeys(map(series_of, runs)))
    bare = [training_run(name) for name in known]
    labels = dict(zip(known, short(bare if len(set(bare)) == len(bare) else known), strict=True))
    base = view.group.baseline
    base = None if base is None or step_of(base) is not None else base
    panels = []
    for score in view.scores:
        points = [_point(view, run, score, labels) for run in runs if _estimate(run, score) is not None]
        line = None if base is None else _estimate(base, score)
        if points:
            panels.append(curve.Panel(view.title(score), points, view.digits(score), view.higher(score), line))
    dashed = f" Dashed: {view.labels[base.name]}." if base is not None else ""
    rest = [view.labels[run.name] for run in view.group.runs if step_of(run) is None and run is not base]
    dashed += f" Without a step, so not shown: {', '.join(rest)}." if rest else ""
    banded = {drawn.score for drawn in view.curves()}
    bands = f"{view.level()} bands that hold at all steps at once"
    single = [view.title(score) for score in view.scores if score not in banded]
    bands += f" (of {', '.join(single)}: intervals of single checkpoints)" if single and banded else ""
    bands = bands if banded else f"bands are {view.intervals()} of each checkpoint"
    ringed = " Ringed: the best step, and in a dashed ring the earliest that cannot be told from it." if banded else ""
    several = len(known) > 1
    said = "".join(
        f" {f'{labels[each.series]}: ' if several else ''}{choice(replace(each, score=view.title(each.score)))}"
        for each in view.curves()
    )
    caption = f"Scores by training step with {bands}.{ringed}{dashed}{said}"
    yield view.figure("curve", "Learning curve", caption, curve.draw(panels, "step", view.width))


def _estimate(run: RunResult, score: str) -> float | None:
    return run.scores[score].estimate if score in run.scores else None


def _point(view: View, run: RunResult, score: str, labels: Mapping[str, str]) -> curve.Point:
    """A checkpoint by one score, with the bounds of the band where there is one."""
    own, series, step = run.scores[score], series_of(run), step_of(run) or 0
    drawn = next((each for each in view.curves() if (each.series, each.score) == (series, score)), None)
    where, name = (labels[series], float(step)), view.labels[run.name]
    if drawn is None:
        return curve.Point(*where, own.estimate, own.low, own.high, name)
    point = drawn.at(step)
    mark = "best" if step == drawn.best else "earliest" if step == drawn.earliest else ""
    return curve.Point(*where, own.estimate, point.band_low, point.band_high, name, mark)


# ---------------------------------------------------------------- sweeps


def is_sweep(view: View) -> bool:
    """Whether the runs vary a number or several parameters: with one text, the forest shows it all, and so it does of
    runs that are of a different system each, whatever else they differ in."""
    varied = parameters(view.group.runs)
    of_system = [parameter for parameter in varied if "system" in (parameter.name, *parameter.also)]
    if any(len(parameter.levels) == len(view.group.runs) for parameter in of_system):
        return False
    return len(varied) > 1 or any(parameter.numeric for parameter in varied)


def is_clear(view: View) -> bool:
    """Whether the figure of the sweep shows something: of three parameters or more, that there are lines enough, and
    that levels have several of them."""
    varied = parameters(view.group.runs)
    shared = all(min(map(parameter.values.count, parameter.values)) > 1 for parameter in varied)
    return len(varied) < 3 or (len(view.group.runs) >= LINES and shared)


def sweep_figures(view: View) -> Iterator[Figure]:
    """One parameter: the score against it; two: a heat map; more: parallel coordinates."""
    varied = parameters(view.group.runs)
    if not varied:
        return
    names = short([*short_names([parameter.name for parameter in varied]).values()], 24)
    together = "".join(
        f" Changing along with {name}: {', '.join(plain(other) for other in parameter.also)}."
        for name, parameter in zip(names, varied, strict=True)
        if parameter.also
    )
    if len(varied) == 1:
        chart, caption = _by_one(view, varied[0], names[0])
    elif len(varied) == 2:
        chart, caption = _by_two(view, varied, names)
    else:
        chart, caption = _by_many(view, varied, names)
    title = f"Scores by {' and '.join(names) if len(names) < 3 else f'{len(names)} parameters'}"
    yield view.figure("sweep", title, f"{caption}{together} {LUCK}", chart)


def _by_one(view: View, parameter: Parameter, name: str) -> tuple[Any, str]:
    if parameter.numeric:
        panels = []
        for score in view.scores:
            points = []
            for run, value in zip(view.group.runs, parameter.values, strict=True):
                scored = run.scores.get(score)
                if scored is not None and scored.estimate is not None:
                    bounds, label = (scored.low, scored.high), view.labels[run.name]
                    points.append(curve.Point(name, float(value), scored.estimate, *bounds, label))
            if points:
                panels.append(curve.Panel(view.title(score), points, view.digits(score), view.higher(score)))
        return curve.draw(panels, name, view.width), f"Scores by {name} with {view.intervals()}."
    panels_ = []
    labels = short([str(value) for value in parameter.values])
    for score in view.scores:
        of_runs = [run.scores.get(score) for run in view.group.runs]
        rows = [
            forest.Row(label, *((scored.estimate, scored.low, scored.high) if scored else (None, None, None)))
            for label, scored in zip(labels, of_runs, strict=True)
        ]
        panels_.append(forest.Panel(view.title(score), rows, view.digits(score), view.higher(score)))
    return forest.draw(panels_, None, view.width), f"Scores by {name} with {view.intervals()}."


def _by_two(view: View, varied: Sequence[Parameter], names: Sequence[str]) -> tuple[Any, str]:
    across, down = sorted((0, 1), key=lambda i: (not varied[i].numeric, -len(varied[i].levels)))
    levels = [short([_shown(value) for value in parameter.levels], 14) for parameter in varied]
    place = [
        dict(zip(map(repr, parameter.levels), labels, strict=True))
        for parameter, labels in zip(varied, levels, strict=True)
    ]
    panels = []
    for score in view.scores:
        leaders = view.leaders(score)
        leaders = set() if len(leaders) == len(view.group.runs) else leaders  # a frame around each says nothing
        cells = []
        for i, run in enumerate(view.group.runs):
            scored = run.scores.get(score)
            if scored is not None:
                x, y = (place[axis][repr(varied[axis].values[i])] for axis in (across, down))
                values, label = (scored.estimate, scored.low, scored.high), view.labels[run.name]
                cells.append(heatmap.Cell(x, y, *values, run.name in leaders, label))
        panels.append(heatmap.Panel(view.title(score), cells, view.digits(score), view.higher(score)))
    caption = f"Scores by {names[across]} and {names[down]}."
    framed = any(cell.best for panel in panels for cell in panel.cells)
    caption += " Framed: the best run and those not distinguishable from it." if framed else ""
    same = [panel.score for panel in panels if not any(cell.best for cell in panel.cells)]
    caption += (
        f" By {', '.join(same)} no run can be told apart from the best." if same and view.study.comparisons else ""
    )
    chart = heatmap.draw(panels, (names[across], names[down]), (levels[across], levels[down]), view.width)
    return chart, caption


def _by_many(view: View, varied: Sequence[Parameter], names: Sequence[str]) -> tuple[Any, str]:
    axes, places = [], []
    for parameter, name in zip(varied, names, strict=True):
        on_axis, of_runs = _placed(parameter)
        labels = short([_shown(value) for value in parameter.levels], 12)
        axes.append(parallel.Axis(name, _apart(list(zip(on_axis, labels, strict=True)))))
        places.append(of_runs)
    panels = []
    for score in view.scores:
        leaders = view.leaders(score)
        lines = []
        for i, run in enumerate(view.group.runs):
            scored = run.scores.get(score)
            if scored is not None and scored.estimate is not None:
                where = [of_runs[i] for of_runs in places]
                lines.append(parallel.Line(view.labels[run.name], where, scored.estimate, run.name in leaders))
        if lines:
            panels.append(parallel.Panel(view.title(score), lines, view.digits(score), view.higher(score)))
    caption = "One line per run, one axis per parameter, the score last; the better the bluer."
    caption += " Orange: the best run and those not distinguishable from it." if view.study.comparisons else ""
    return parallel.draw(panels, axes, view.width), caption


def _placed(parameter: Parameter) -> tuple[list[float], list[float]]:
    """From 0 to 1, where each level and each run stands on the parameter's axis: by number, or evenly."""
    levels = parameter.levels
    if parameter.numeric and len(levels) > 1:
        log = curve.spans_decades([float(value) for value in levels])
        numbers = [math.log(value) if log else float(value) for value in levels]
        at = [(value - numbers[0]) / (numbers[-1] - numbers[0]) for value in numbers]
    else:
        at = [(i + 0.5) / len(levels) for i in range(len(levels))]
    place = dict(zip(map(repr, levels), at, strict=True))
    return at, [place[repr(value)] for value in parameter.values]


def _apart(ticks: Sequence[tuple[float, str]], least: float = 0.07) -> list[tuple[float, str]]:
    """Ticks whose labels do not touch, the last one kept."""
    kept: list[tuple[float, str]] = []
    for tick in reversed(ticks):
        if not kept or kept[-1][0] - tick[0] >= least:
            kept.append(tick)
    return kept[::-1]


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
