"""Figures of scores against what was set: the training step of checkpoints, the parameters of a sweep."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from harness.figures.view import View
from harness.report.figures import curve, forest, heatmap, parallel
from harness.report.figures.theme import plain, short
from harness.sweeps import Parameter, parameters
from harness.types import Figure, RunResult

LUCK = "The best of many runs is flattered by chance: harness best says by how much."


def step_of(run: RunResult) -> int | None:
    step: int | None = run.manifest.get("system", {}).get("step")
    return step


def has_curve(view: View) -> bool:
    """Whether some series has two steps or more."""
    steps = {(_series(run), step_of(run)) for run in view.group.runs if step_of(run) is not None}
    return len(steps) > len({series for series, _ in steps})


def _series(run: RunResult) -> str:
    return str(run.manifest["system"].get("series") or run.system)


def curve_figures(view: View) -> Iterator[Figure]:
    if not has_curve(view):
        return
    runs = [run for run in view.group.runs if step_of(run) is not None]
    known = list(dict.fromkeys(map(_series, runs)))
    bare = [re.sub(r"-[0-9a-f]{8}$", "", name) for name in known]  # the key that told training runs apart
    labels = dict(zip(known, short(bare if len(set(bare)) == len(bare) else known), strict=True))
    base = view.group.baseline
    base = None if base is None or step_of(base) is not None else base
    panels = []
    for score in view.scores:
        points = []
        for run in runs:
            one = run.scores.get(score)
            if one is not None and one.estimate is not None:
                name = view.labels[run.name]
                step = float(step_of(run) or 0)
                points.append(curve.Point(labels[_series(run)], step, one.estimate, one.low, one.high, name))
        line = base.scores[score].estimate if base is not None and score in base.scores else None
        if points:
            panels.append(curve.Panel(plain(score), points, view.higher(score), line))
    dashed = f" Dashed: {view.labels[base.name]}." if base is not None else ""
    rest = [view.labels[run.name] for run in view.group.runs if step_of(run) is None and run is not base]
    dashed += f" Without a step, so not shown: {', '.join(rest)}." if rest else ""
    caption = f"Scores by training step; bands are {view.level()} bootstrap intervals of each checkpoint.{dashed}"
    yield view.figure("curve", "Learning curve", caption, curve.draw(panels, "step", view.width))


# ---------------------------------------------------------------- sweeps


def is_sweep(view: View) -> bool:
    """Whether the runs vary a number or several parameters: with one text, the forest shows it all."""
    found = parameters(view.group.runs)
    return len(found) > 1 or any(one.numeric for one in found)


def sweep_figures(view: View) -> Iterator[Figure]:
    """One parameter: the score against it; two: a heat map; more: parallel coordinates."""
    found = parameters(view.group.runs)
    if not found:
        return
    names = short([one.name for one in found], 24)
    together = "".join(
        f" With {name} change: {', '.join(plain(other) for other in one.also)}."
        for name, one in zip(names, found, strict=True)
        if one.also
    )
    if len(found) == 1:
        chart, said = _one(view, found[0], names[0])
    elif len(found) == 2:
        chart, said = _two(view, found, names)
    else:
        chart, said = _many(view, found, names)
    title = f"Scores by {' and '.join(names) if len(names) < 3 else f'{len(names)} parameters'}"
    yield view.figure("sweep", title, f"{said}{together} {LUCK}", chart)


def _one(view: View, parameter: Parameter, name: str) -> tuple[Any, str]:
    if parameter.numeric:
        panels = []
        for score in view.scores:
            points = []
            for run, value in zip(view.group.runs, parameter.values, strict=True):
                one = run.scores.get(score)
                if one is not None and one.estimate is not None:
                    point = curve.Point(name, float(value), one.estimate, one.low, one.high, view.labels[run.name])
                    points.append(point)
            if points:
                panels.append(curve.Panel(plain(score), points, view.higher(score)))
        return curve.draw(panels, name, view.width), f"Scores by {name} with {view.level()} bootstrap intervals."
    panels_ = []
    labels = short([str(value) for value in parameter.values])
    for score in view.scores:
        found = [run.scores.get(score) for run in view.group.runs]
        rows = [
            forest.Row(label, *((one.estimate, one.low, one.high) if one else (None, None, None)))
            for label, one in zip(labels, found, strict=True)
        ]
        panels_.append(forest.Panel(plain(score), rows, view.higher(score)))
    return forest.draw(panels_, None, view.width), f"Scores by {name} with {view.level()} bootstrap intervals."


def _two(view: View, found: Sequence[Parameter], names: Sequence[str]) -> tuple[Any, str]:
    across, down = sorted((0, 1), key=lambda i: (not found[i].numeric, -len(found[i].levels)))
    levels = [short([_shown(value) for value in one.levels], 14) for one in found]
    place = [dict(zip(map(repr, one.levels), some, strict=True)) for one, some in zip(found, levels, strict=True)]
    panels = []
    for score in view.scores:
        leaders = view.leaders(score)
        cells = []
        for i, run in enumerate(view.group.runs):
            one = run.scores.get(score)
            if one is not None:
                x, y = (place[axis][repr(found[axis].values[i])] for axis in (across, down))
                label = view.labels[run.name]
                cells.append(heatmap.Cell(x, y, one.estimate, one.low, one.high, run.name in leaders, label))
        panels.append(heatmap.Panel(plain(score), cells, view.higher(score)))
    said = f"Scores by {names[across]} and {names[down]}."
    said += " Framed: the best run and those not distinguishable from it." if view.study.comparisons else ""
    chart = heatmap.draw(panels, (names[across], names[down]), (levels[across], levels[down]), view.width)
    return chart, said


def _many(view: View, found: Sequence[Parameter], names: Sequence[str]) -> tuple[Any, str]:
    axes, places = [], []
    for parameter, name in zip(found, names, strict=True):
        on_axis, of_runs = _placed(parameter)
        labels = short([_shown(value) for value in parameter.levels], 12)
        some = list(zip(on_axis, labels, strict=True))
        axes.append(parallel.Axis(name, _apart(some)))
        places.append(of_runs)
    panels = []
    for score in view.scores:
        leaders = view.leaders(score)
        lines = []
        for i, run in enumerate(view.group.runs):
            one = run.scores.get(score)
            if one is not None and one.estimate is not None:
                where = [of_runs[i] for of_runs in places]
                lines.append(parallel.Line(view.labels[run.name], where, one.estimate, run.name in leaders))
        if lines:
            panels.append(parallel.Panel(plain(score), lines, view.higher(score)))
    said = "A line a run, an axis a parameter, the score last; the better the bluer."
    said += " Orange: the best run and those not distinguishable from it." if view.study.comparisons else ""
    return parallel.draw(panels, axes, view.width), said


def _placed(one: Parameter) -> tuple[list[float], list[float]]:
    """From 0 to 1, where each level and each run stands on the parameter's axis: by number, or evenly."""
    levels = one.levels
    if one.numeric and len(levels) > 1:
        log = curve.spans_decades([float(value) for value in levels])
        numbers = [math.log(value) if log else float(value) for value in levels]
        at = [(value - numbers[0]) / (numbers[-1] - numbers[0]) for value in numbers]
    else:
        at = [(i + 0.5) / len(levels) for i in range(len(levels))]
    place = dict(zip(map(repr, levels), at, strict=True))
    return at, [place[repr(value)] for value in one.values]


def _apart(ticks: Sequence[tuple[float, str]], least: float = 0.07) -> list[tuple[float, str]]:
    """Ticks whose labels do not touch, the last one kept."""
    found: list[tuple[float, str]] = []
    for tick in reversed(ticks):
        if not found or found[-1][0] - tick[0] >= least:
            found.append(tick)
    return found[::-1]


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
