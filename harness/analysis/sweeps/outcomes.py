"""What came out of runs that belong together (a sweep, the checkpoints of a training run), as a page can show it: the
score table with verdicts, the best with its score corrected for the choice, what `harness sweep` says of parameters
and of score and cost, figures, and the report.

The number of tests grows with the square of the runs: of more than `MOST` no pairs are tested, only the best is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.comparing.comparing import best
from harness.analysis.comparing.study import study
from harness.analysis.comparing.training_curves import curves_of
from harness.analysis.pages.pages import PageOptions, page_of
from harness.analysis.stored import cell_names
from harness.analysis.stored import parameters as sweeps
from harness.analysis.stored.loading import Run, loaded_runs
from harness.analysis.sweeps.sweep_study import Asked, sweep
from harness.report.curve_words import answer, outlook, training_run
from harness.report.score_titles import titled_rows
from harness.report.tables import csv, markdown, notes
from harness.report.tables.cells import lay_out, number
from harness.report.tables.sweep_section import section
from harness.stats.options import ComparisonOptions, Options
from harness.stats.selection.by_step import CurveOptions
from harness.stats.selection.winner import Best
from harness.store.sweep_cells import short_names
from harness.types import Figure, HarnessError, Outcome, RunResult, Study

MOST = 24
"""Runs of which all pairs are tested and which a report shows."""
RESAMPLES = 2000
"""Enough for verdicts on a page; `harness compare` and `best` draw more."""
EXAMPLES = 300
"""Of the report on a page."""
FIGURES = ("curve", "forest", "sweep", "parameters", "front")
"""Those that a page of many runs is looked at for, of those that make sense."""


def outcome(runs: Sequence[Run]) -> Outcome:
    """Of at least two runs, on the same data or on several data sets."""
    loaded, _ = loaded_runs(runs, None)
    if len(loaded) < 2:
        raise HarnessError(f"{len(loaded)} run given; expected at least 2 that belong together")
    few = len(loaded) <= MOST
    options = ComparisonOptions(resamples=RESAMPLES)
    compared = study(loaded, None, options, tests=few)
    choosing = Options(resamples=RESAMPLES)
    if _steps(compared):  # with the numbers that the run's command printed
        choosing = _own_options(loaded[0])
        compared = replace(compared, curves=curves_of(compared.groups, CurveOptions(choosing)))
    winners = _winners(loaded, choosing)
    shown = lay_out(compared, None, "bounds", None)
    table = markdown.written(shown, notes.sentences(compared, shown) if few else (), (), ())
    files = {"scores.csv": csv.written(compared, shown, None).encode(), "scores.md": table.encode()}
    files |= {f"{figure.name}.png": content for figure, content in _figures(compared)}
    if few:
        files["report.html"] = page_of(
            compared, PageOptions(alignments=0, max_examples=EXAMPLES, kinds=FIGURES)
        ).encode()
    varied = _varied(compared)
    return Outcome(
        name=_name(compared, list(varied)),
        note="\n\n".join(
            [*_sentences(winners, compared), *_sections(loaded, compared), table.partition("<!--")[0].strip()]
        ),
        files=files,
        tags={f"varied.{name}": ", ".join(map(str, values)) for name, values in varied.items()},
        best={
            name: value
            for row in winners
            for name, value in ((row.score, row.estimate), (f"{row.score}.corrected", row.corrected))
            if len(compared.groups) == 1
        },
    )


def _own_options(run: RunResult) -> Options:
    """Those that a run was evaluated with."""
    stats = run.manifest.get("config", {}).get("stats") or {}
    given = {name: stats[name] for name in ("resamples", "level", "seed") if stats.get(name)}
    return Options(**{"resamples": RESAMPLES, **given})


def _winners(runs: Sequence[RunResult], options: Options) -> list[Best]:
    """The best by each score; none where runs are alone on their data, or nothing can be scored again."""
    try:
        return best(runs, options)
    except HarnessError:
        return []


def _sections(runs: Sequence[RunResult], compared: Study) -> list[str]:
    """What the parameters of a sweep do; none of checkpoints, whose curve says it, nor where cells do not compare."""
    if _steps(compared):
        return []
    try:
        swept = sweep([run.path for run in runs if run.path is not None], Asked(resamples=RESAMPLES))
    except HarnessError:
        return []
    return [section(part) for part in swept.parts]


def _sentences(winners: Sequence[Best], compared: Study) -> list[str]:
    """The best by each score, as it stands and corrected, and what equals it; of checkpoints what their curve says."""
    several = len(compared.groups) > 1
    trainings = {(curve.dataset, curve.series) for curve in compared.curves}
    lines = []
    for curve in titled_rows(compared.curves):
        which = f"{training_run(curve.series)} on {curve.dataset}: " if len(trainings) > 1 else ""
        lines.append(f"- {markdown.escaped(f'{which}{answer(curve)} {outlook(curve)}')}")
    per_score = Counter((curve.dataset, curve.score) for curve in compared.curves)
    for row in winners:
        if per_score[row.dataset, row.score] == 1:
            continue
        name = markdown.escaped(compared.labels.get(row.system, row.system))
        where = f" on {markdown.escaped(row.dataset)}" if several else ""
        as_it_stands, corrected, low, high = (
            number(value, row.digits) for value in (row.estimate, row.corrected, row.corrected_low, row.corrected_high)
        )
        alike = len(compared.leaders.get((row.dataset, row.score), ())) - 1
        rest = f"; {alike} of {row.of - 1} others not told apart from it" if alike > 0 else ""
        lines.append(
            f"- **{markdown.escaped(row.title or row.score)}**{where}: the best of {row.of} is **{name}**, "
            f"{as_it_stands}; corrected for the choice {corrected} [{low}, {high}]{rest}"
        )
    return ["\n".join(lines)] if lines else []


def _figures(compared: Study) -> list[tuple[Figure, bytes]]:
    from harness.analysis.figures import figures
    from harness.analysis.figures.by_score import forest_figures
    from harness.analysis.figures.view import View
    from harness.report.charts.rendering import rendered

    drawn = figures(compared, kinds=FIGURES)
    if _steps(compared):  # beside the curve, for the verdicts
        drawn += [figure for group in compared.groups for figure in forest_figures(View(compared, group))]
    return [(figure, rendered(figure, ".png")) for figure in drawn]


def _steps(compared: Study) -> list[int]:
    """Those of a training run's checkpoints; none where the runs are something else."""
    systems = [run.manifest.get("system", {}) for run in compared.runs]
    return sorted({int(system["step"]) for system in systems}) if all(s.get("series") for s in systems) else []


def _varied(compared: Study) -> dict[str, Sequence[object]]:
    """What the cells were set to, by the names that their own tags have, and the steps of checkpoints; of runs that are
    no cells what differs between their configs."""
    steps = _steps(compared)
    cells = [cell for run in compared.runs if (cell := cell_names.cell_of(run)) is not None]
    if not cells and not steps:
        return {
            parameter.name: parameter.levels for group in compared.groups for parameter in sweeps.parameters(group.runs)
        }
    levels: dict[str, Sequence[object]] = {}
    for name in dict.fromkeys(name for cell in cells for name in cell["parameters"]):
        values = list(dict.fromkeys(cell["parameters"][name] for cell in cells if name in cell["parameters"]))
        if len(values) > 1:
            levels[name] = values
    return {**levels, **({"system.step": steps} if steps else {})}


def _name(compared: Study, varied: Sequence[str]) -> str:
    """`9 runs on dev by temperature, top_p`."""
    kind = "checkpoints" if _steps(compared) else "runs"
    datasets = ", ".join(dict.fromkeys(group.dataset for group in compared.groups))
    by = f" by {', '.join(short_names([*varied]).values())}" if varied else ""
    return f"{len(compared.runs)} {kind} on {datasets}{by}"
