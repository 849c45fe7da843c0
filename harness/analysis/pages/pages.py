"""`harness report`: a study as one HTML file that opens from disk."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import harness
from harness import masking
from harness.analysis.comparing.study import study
from harness.analysis.comparing.training_curves import series_of, step_of
from harness.analysis.pages import page_rows
from harness.analysis.stored.loading import Run
from harness.analysis.sweeps.sweep_study import Asked, Part, parts_of
from harness.inputs import arrow
from harness.report.curve_words import training_run
from harness.report.numbers import counted, intervals_by
from harness.report.page import alignments as aligned
from harness.report.page import examples
from harness.report.page.build import build
from harness.report.page.configs import common_count, differing
from harness.report.page.packed import packed_json
from harness.report.page.scores import average, tables
from harness.report.page.swept_parts import section
from harness.report.terminal.comparisons import adjusted
from harness.report.terminal.progress import silent
from harness.report.terminal.wording import listed
from harness.stats.options import ComparisonOptions
from harness.store import atomic
from harness.store.arrays import ArrayStore
from harness.store.places import shared_folder
from harness.types import Figure, Group, HarnessError, Metric, Progress, RunResult, Study, check_least, nearest

LENGTHS = ("source_length", "reference_length", "output_length")
"""Fields to draw scores by that every data set has."""
ALIGNMENTS = 20
"""Biggest wins and losses that come with the words that a metric matched, unless asked for otherwise."""
SHOWN = 4
"""Systems that a title names."""
LISTS = {"scores": "score", "by": "by"}
"""Options of which there may be several, and what the command line calls each."""


@dataclass(frozen=True)
class PageOptions:
    """What a page shows beside the scores and the tests."""

    title: str | None = None
    """By default the systems and the data."""
    by: tuple[str, ...] = ()
    """Metadata fields that scores are also drawn by."""
    alignments: int = ALIGNMENTS
    """Of how many biggest wins and losses the words that a metric matched are kept."""
    max_examples: int | None = None
    """Of larger data the biggest differences and an even share of the rest."""
    kinds: tuple[str, ...] | None = None
    """Figures of these kinds only."""

    def check(self) -> None:
        check_least("max_examples", self.max_examples)
        if self.alignments < 0:
            raise HarnessError(f"alignments={self.alignments}; expected 0 or more")


DEFAULT = PageOptions()


def write_page(
    target: Path,
    runs: Sequence[Run],
    baseline: Run | None,
    page: PageOptions,
    options: ComparisonOptions,
    progress: Progress = silent,
) -> None:
    """Writes the runs side by side as one HTML file. The same runs give the same bytes."""
    page.check()
    if target.suffix.lower() in (".pdf", ".png", ".svg", ".md", ".tex", ".json"):
        raise HarnessError(f"{target}: a report is a page of HTML; expected a file.html, which a browser prints as PDF")
    if not target.parent.is_dir():
        raise HarnessError(f"{target}: there is no folder {target.parent}; expected an existing one")
    compared = study(runs, baseline, options, progress=progress)
    content = page_of(compared, page, options.scores, progress)
    try:
        atomic.write(target, content.encode())
    except OSError as error:
        raise HarnessError(
            f"{target} cannot be written ({error.strerror or error}); expected a writable file"
        ) from None


def page_of(
    study: Study, page: PageOptions = DEFAULT, scores: Sequence[str] | None = None, progress: Progress = silent
) -> str:
    """The page of a study; `scores` are those that it was made of, where not of all."""
    from harness.analysis.figures import figures as drawn
    from harness.report.charts.theme import DARK, LIGHT, responsive

    if scores is not None:
        study = _only(study, scores)
    _check_fields(study, page.by)
    figures = drawn(study, bucket_fields=page.by, kinds=page.kinds, progress=progress)
    runs, configs = study.runs, [masking.masked(run.manifest.get("config", {})) for run in study.runs]
    blocks: dict[str, str] = {}
    groups = []
    for place, group in enumerate(study.groups):
        opening = page_rows.opening(group, page.max_examples)
        info, data = examples.blocks(study, group, place, opening, page.by)
        matched, aligners, missing = aligned_rows(group, opening, page.alignments, progress)
        groups.append({**info, "aligners": aligners, "unaligned": missing})
        blocks |= {**data, f"alignments-{place}": packed_json(matched)}
    panels = [responsive(figure.chart.to_dict(validate=False)) for figure in figures]
    charts = {
        "figures": [
            {"name": figure.name, "legends": legends, "panels": parts}
            for figure, (legends, parts) in zip(figures, panels, strict=True)
        ],
        "light": LIGHT,
        "dark": DARK,
    }
    blocks = {"index": packed_json({"groups": groups}), **blocks}
    content = {
        "title": page.title or _title(study),
        "title_direction": "" if page.title else "ltr",
        "version": harness.__version__,
        "about": _about(study),
        "average": average(study),
        "tables": tables(study),
        "sweeps": [section(part) for group in study.groups for part in _swept(study, group, progress)],
        "note": _note(study),
        "figures": [
            {"title": figure.title, "caption": figure.caption, "tab": tab}
            for figure, tab in zip(figures, _tabs(study, figures), strict=True)
        ],
        "runs": [_run(run, study, masked) for run, masked in zip(runs, configs, strict=True)],
        "several": len(study.groups) > 1,
        "configured": any(configs),
        "differing": differing(configs) if len(runs) > 1 else [],
        "common": common_count(configs),
        "commands": _commands(study, page, scores),
    }
    return build(content, blocks, packed_json(charts) if figures else None)


def _swept(study: Study, group: Group, progress: Progress) -> list[Part]:
    """What the parameters do, where the runs are cells of a sweep."""
    asked = Asked(level=study.level, resamples=study.resamples, seed=study.seed)
    named = [replace(run, name=study.labels[run.name]) for run in group.runs]
    return parts_of(named, asked, progress)


def _only(study: Study, scores: Sequence[str]) -> Study:
    """The study with these headline scores and their sub-scores."""

    def reduced(run: RunResult) -> RunResult:
        kept = {name: score for name, score in run.scores.items() if name.partition(".")[0] in scores}
        if not kept:
            raise HarnessError(f"{run.name} has none of the scores {', '.join(scores)}; found: {', '.join(run.scores)}")
        gone = [name for name in run.scores if name not in kept and name in run.table.column_names]
        return replace(run, scores=kept, load=lambda: run.table.drop_columns(gone))

    groups = []
    for group in study.groups:
        runs = tuple(reduced(run) for run in group.runs)
        base = next((less for less, run in zip(runs, group.runs, strict=True) if run is group.baseline), None)
        groups.append(replace(group, runs=runs, baseline=base))
    return replace(study, groups=tuple(groups))


def _check_fields(study: Study, by: Sequence[str]) -> None:
    columns = {column for run in study.runs for column in run.table.column_names}
    for field in by:
        if field not in columns and field not in LENGTHS:
            known = [name for name in columns if name not in examples.OWN and name not in study.runs[0].scores]
            raise HarnessError(
                f"--by {field}: no run has that field{nearest(field, known)}; "
                f"expected one of {', '.join(sorted(known)) or 'none: the data has no metadata'}"
            )


def _tabs(study: Study, figures: Sequence[Figure]) -> list[str]:
    """What figures are called where one of them is chosen: their titles without the data set."""
    from harness.report.charts.theme import plain

    ends = sorted((f" on {plain(group.dataset)}" for group in study.groups), key=len, reverse=True)
    titles = [figure.title for figure in figures]
    return [next((title.removesuffix(end) for end in ends if title.endswith(end)), title) for title in titles]


def _title(study: Study) -> str:
    """`lead and lexrank on dev`; of many runs the training run or the system that they are of, else some of them."""
    names = list(dict.fromkeys(study.labels[run.name] for run in study.runs))
    systems = list(dict.fromkeys(run.system for run in study.runs))
    trained = {series_of(run) if step_of(run) is not None else None for run in study.runs}
    if len(names) <= SHOWN:
        called = listed(names)
    elif len(trained) == 1 and (series := trained.pop()) is not None:
        called = f"{len(names)} checkpoints of {training_run(series)}"
    elif len(systems) == 1:
        called = f"{systems[0]} in {len(names)} settings"
    else:
        few = systems if len(systems) <= SHOWN else [*systems[: SHOWN - 1], f"{len(systems) - SHOWN + 1} more"]
        called = listed(few)
    return f"{called} on {', '.join(group.dataset for group in study.groups)}"


def _about(study: Study) -> str:
    """`3 runs on 1 data set, 16 November 2026, harness 0.2.0`."""
    parts = [f"{counted(len(study.runs), 'run')} on {counted(len(study.groups), 'data set')}"]
    days = sorted({run.manifest["ended"][:10] for run in study.runs if run.manifest})
    if days:
        first, last = (f"{day.day} {day:%B %Y}" for day in map(datetime.fromisoformat, (days[0], days[-1])))
        parts.append(f"evaluated {first}" if first == last else f"evaluated {first} to {last}")
    versions = sorted({run.manifest["harness"] for run in study.runs if run.manifest})
    if versions:
        parts.append(f"with harness {', '.join(versions)}")
    return ", ".join(parts)


def _note(study: Study) -> str:
    levels = sorted({score.level for run in study.runs for score in run.scores.values()})
    shown = [score for run in study.runs for name, score in run.scores.items() if "." not in name]
    kind = intervals_by(score.method for score in shown if score.low is not None)
    note = f"In brackets {' and '.join(f'{100 * level:g}%' for level in levels)} {kind}."
    if study.comparisons:
        note += (
            f" Bold: the best, and what cannot be told apart from it by the "
            f"{study.tested_by if study.of_seeds else f'{study.tested_by} test'} at the level "
            f"{1 - study.level:.2g} ({adjusted(study.correction, 'all pairs and scores')}; "
            f"{study.resamples:,} resamples, seed {study.seed})."
        )
    if any(study.letters.values()):
        note += " Letters: systems that share one cannot be told apart."
    if study.against:
        note += " ▲ ▼: better or worse than the baseline, by the same test over all comparisons with it."
    return note


def _run(run: RunResult, study: Study, masked: dict[str, Any]) -> dict[str, Any]:
    manifest = {**masking.masked(run.manifest), "config": masked} if run.manifest else {}
    if isinstance(manifest.get("command"), dict):  # where on a machine it was called is nobody's business
        manifest["command"] = {name: value for name, value in manifest["command"].items() if name != "folder"}
    commit = (manifest.get("git") or {}).get("commit", "")[:8]
    ended = manifest.get("ended", "")[:16].replace("T", " ")
    return {
        "label": study.labels[run.name],
        "name": run.name,
        "dataset": run.dataset,
        "when": ", ".join(
            part for part in (f"{ended} UTC" if ended else "in memory", commit and f"commit {commit}") if part
        ),
        "signatures": [(name, str(statistics.signature)) for name, statistics in run.statistics.items()],
        "manifest": json.dumps(manifest, indent=2, ensure_ascii=False, default=str) if manifest else "",
    }


def _commands(study: Study, page: PageOptions, scores: Sequence[str] | None) -> list[str]:
    """What makes the comparison and the page again, with all options that are not the default; runs by the names of
    their folders."""
    usual = asdict(ComparisonOptions()) | asdict(DEFAULT)
    view: dict[str, Any] = {"scores": scores, "by": page.by, "title": page.title}
    view |= {"alignments": page.alignments, "max_examples": page.max_examples}
    tests = {name: getattr(study, name) for name in ("test", "correction", "level", "resamples", "seed")}
    unusual = {name: value for name, value in {**view, **tests}.items() if value != usual[name]}
    base = next((group.baseline for group in study.groups if group.baseline), None)
    if any(run.path is None and not run.manifest.get("runs") for run in study.runs):
        against = {"baseline": base.name} if base else {}
        options = [
            f", {name}={list(value) if name in LISTS else value!r}" for name, value in {**against, **unusual}.items()
        ]
        call = f"harness.write_report(runs, 'report.html'{''.join(options)})"
        return [f"{call}  # in Python: the runs were made in memory"]
    shared = [_word(run) for run in study.runs]
    if base:
        shared += ["--baseline", base.path.name if base.path else base.name]
    commands = [["report", *shared, *_options(unusual), "-o", "report.html"]]
    if all(len(group.runs) > 1 for group in study.groups):
        compared = {name: value for name, value in unusual.items() if name == "scores" or name in tests}
        commands.insert(0, ["compare", *shared, *_options(compared)])
    return [shlex.join(["harness", *words]) for words in commands]


def _word(run: RunResult) -> str:
    """What names a run, or a group of runs, by the names of their folders."""
    if run.path:
        return run.path.name
    return f"{run.name}={','.join(folder.rpartition('/')[2] for folder in run.manifest['runs'])}"


def _options(chosen: Mapping[str, Any]) -> list[str]:
    """As the command line has them, with `=`, since a title or a field may begin with a hyphen."""
    return [
        f"--{LISTS.get(name, name).replace('_', '-')}={item}"
        for name, value in chosen.items()
        for item in (value if name in LISTS else [value])
    ]


def aligned_rows(
    group: Group, opening: examples.Opening, n: int, progress: Progress
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """(of each metric that matched words {run: {row: matches}} by their places in the page, each one's title with why
    there are none, why no metric did)."""
    statistics = [(name, rows.metric) for run in group.runs for name, rows in run.statistics.items()]
    names = list(dict.fromkeys(name for name, metric in statistics if metric.aligns))
    if not names and any(type(metric).aligns for _, metric in statistics):
        return [], [], "The model that matches words is one that a run folder names; --trust loads it."
    if not names:
        reason = "No metric of these runs says which words it matched; harness score RUN 'metrics=[bertscore]' adds one"
        return [], [], f"{reason} that does."
    matched, aligners = [], []
    for name in names:
        matches, title, missing = _matches(group, opening, (name, n), progress)
        matched.append(matches)
        moves = any("moves" in row for rows in matches.values() for row in rows.values())
        aligners.append({"title": title, "moves": moves, "unaligned": missing})
    return matched, aligners, ""


def _matches(
    group: Group, opening: examples.Opening, chosen: tuple[str, int], progress: Progress
) -> tuple[dict[str, Any], str, str]:
    """Of a metric by name, and of so many wins and losses: ({run: {row: matches}}, its title, why there are none)."""
    name, n = chosen
    stored = [run.statistics[name].metric if name in run.statistics else None for run in group.runs]
    metrics = [metric if metric and metric.aligns else None for metric in stored]
    aligner = next(metric for metric in metrics if metric)
    headline = aligner.score_names[0]
    title = aligner.title_of(headline)
    if n == 0:
        return {}, title, "The report was made with --alignments 0."
    kept = opening.kept
    by = [score for score in dict.fromkeys((opening.score, headline)) if score]
    values = {score: [column[kept] for column in examples.columns(group, score)] for score in by}
    rows = sorted({i for score in by for i in page_rows.extremes(values[score], opening.pair, n)})
    matches: dict[str, Any] = {}
    with progress("aligning", len(rows) * len(group.runs)) as step:
        for r, (run, metric) in enumerate(zip(group.runs, metrics, strict=True)):
            if metric is None:
                continue
            try:
                matches[str(r)] = _aligned(run, metric, kept, rows)
            except Exception as error:  # no torch, no model, a model of another machine: the page says so
                reason = f"{title}'s model could not be used where the report was made ({_first_line(error)})."
                return {}, title, reason
            step.advance(len(rows))
    return matches, title, ""


def _aligned(run: RunResult, metric: Metric, kept: examples.Rows, rows: Sequence[int]) -> dict[str, Any]:
    picked = run.table.select(["output", "references"]).take(arrow.numbers(kept[list(rows)])).to_pylist()
    whole = {i: row for i, row in zip(rows, picked, strict=True) if row["output"] is not None and row["references"]}
    outputs = [row["output"] for row in whole.values()]
    references = [row["references"] for row in whole.values()]
    store = shared_folder() / "arrays.sqlite"
    if store.exists():
        metric.arrays = ArrayStore(store)
    fitted = metric.fit(run.table.column("references").to_pylist())
    fitted = fitted.fit_outputs(run.table.column("output").drop_null().to_pylist())
    alignments = fitted.align(outputs, references) or []
    return {
        str(i): aligned.compact(alignment, output, texts[alignment.reference])
        for i, alignment, output, texts in zip(whole, alignments, outputs, references, strict=True)
        if alignment is not None
    }


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
