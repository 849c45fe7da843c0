"""`harness report`: a study as one HTML file that opens from disk."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import harness
from harness import config, masking
from harness.api import Run
from harness.report.comparisons import CORRECTIONS
from harness.report.page import alignments as aligned
from harness.report.page import examples
from harness.report.page.build import build
from harness.report.page.configs import common_count, differing
from harness.report.page.packed import packed_json
from harness.report.page.scores import average, tables
from harness.report.progress import silent
from harness.runner import SHARED
from harness.store import atomic
from harness.store.arrays import ArrayStore
from harness.study import study
from harness.types import Figure, Group, HarnessError, Metric, Progress, RunResult, Study

LENGTHS = ("source_length", "reference_length", "output_length")
"""Fields to draw scores by that every data set has."""
ALIGNMENTS = 20
"""Examples of each data set that come with BERTScore's alignment, unless asked for otherwise."""
LISTS = {"scores": "score", "by": "by"}
"""Options of which there may be several, and what the command line calls each."""


def write_report(
    runs: Sequence[Run],
    path: str | Path,
    baseline: Run | None = None,
    scores: Sequence[str] | None = None,
    title: str | None = None,
    by: Sequence[str] = (),
    alignments: int = ALIGNMENTS,
    max_examples: int | None = None,
    test: str = "bootstrap",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 12345,
    correction: str = "max-t",
    progress: Progress = silent,
) -> Path:
    """Writes the runs side by side as one HTML file and says where: the answer in a sentence, scores with intervals,
    pictures, and every example to search, sort, filter and read.

    `by`: metadata fields that scores are also drawn by. `alignments`: of how many biggest wins and losses the words
    that BERTScore matched are kept. `max_examples`: of larger data the biggest differences and an even share of the
    rest. The same runs give the same bytes.
    """
    if max_examples is not None and max_examples < 1:
        raise HarnessError(f"max_examples={max_examples}; expected at least 1")
    if alignments < 0:
        raise HarnessError(f"alignments={alignments}; expected 0 or more")
    target = Path(path)
    if not target.parent.is_dir():
        raise HarnessError(f"{target}: there is no folder {target.parent}; expected one that is there")
    found = study(runs, baseline, test, resamples, level, seed, correction, scores, progress=progress)
    page = page_of(found, title, by, alignments, max_examples, progress, scores)
    try:
        atomic.write(target, page.encode())
    except OSError as error:
        raise HarnessError(
            f"{target} cannot be written ({error.strerror or error}); expected a writable file"
        ) from None
    return target


def page_of(
    found: Study,
    title: str | None = None,
    by: Sequence[str] = (),
    alignments: int = ALIGNMENTS,
    max_examples: int | None = None,
    progress: Progress = silent,
    scores: Sequence[str] | None = None,
) -> str:
    """The page of a study; `scores` are those that it was made of, where not of all."""
    from harness.figures import figures as drawn
    from harness.report.figures.theme import DARK, LIGHT, responsive

    if scores is not None:
        found = _only(found, scores)
    _check_fields(found, by)
    figures = drawn(found, bucket_fields=by, progress=progress)
    runs, configs = found.runs, [masking.masked(run.manifest.get("config", {})) for run in found.runs]
    blocks: dict[str, str] = {}
    groups = []
    for place, group in enumerate(found.groups):
        kept = examples.kept_rows(group, max_examples)
        info, data = examples.blocks(found, group, place, kept, by)
        matched, missing = aligned_rows(group, kept, alignments, progress)
        groups.append({**info, "unaligned": missing})
        blocks |= {**data, f"alignments-{place}": packed_json(matched)}
    panels = [responsive(figure.chart.to_dict(validate=False)) for figure in figures]
    charts = {
        "figures": [
            {"name": figure.name, "legend": legend, "panels": parts}
            for figure, (legend, parts) in zip(figures, panels, strict=True)
        ],
        "light": LIGHT,
        "dark": DARK,
    }
    blocks = {"index": packed_json({"groups": groups}), **blocks, "charts": packed_json(charts)}
    content = {
        "title": title or _title(found),
        "version": harness.__version__,
        "about": _about(found),
        "average": average(found),
        "tables": tables(found),
        "note": _note(found),
        "figures": [
            {"title": one.title, "caption": one.caption, "tab": tab}
            for one, tab in zip(figures, _tabs(found, figures), strict=True)
        ],
        "runs": [_run(run, found, masked) for run, masked in zip(runs, configs, strict=True)],
        "several": len(found.groups) > 1,
        "configured": any(configs),
        "differing": differing(configs) if len(runs) > 1 else [],
        "common": common_count(configs),
        "commands": _commands(
            found, scores=scores, by=tuple(by), title=title, alignments=alignments, max_examples=max_examples
        ),
    }
    return build(content, blocks, bool(figures))


def _only(found: Study, scores: Sequence[str]) -> Study:
    """The study with these headline scores and their sub-scores."""

    def reduced(run: RunResult) -> RunResult:
        kept = {name: score for name, score in run.scores.items() if name.partition(".")[0] in scores}
        if not kept:
            raise HarnessError(f"{run.name} has none of the scores {', '.join(scores)}; found: {', '.join(run.scores)}")
        gone = [name for name in run.scores if name not in kept and name in run.examples]
        return replace(run, scores=kept, examples=run.examples.drop(columns=gone))

    groups = []
    for group in found.groups:
        runs = tuple(reduced(run) for run in group.runs)
        base = next((one for one, run in zip(runs, group.runs, strict=True) if run is group.baseline), None)
        groups.append(replace(group, runs=runs, baseline=base))
    return replace(found, groups=tuple(groups))


def _check_fields(found: Study, by: Sequence[str]) -> None:
    columns = {str(column) for run in found.runs for column in run.examples.columns}
    for field in by:
        if field not in columns and field not in LENGTHS:
            known = [name for name in columns if name not in examples.OWN and name not in found.runs[0].scores]
            raise HarnessError(
                f"--by {field}: no run has that field{config.nearest(field, known)}; "
                f"expected one of {', '.join(sorted(known)) or 'none: the data has no metadata'}"
            )


def _tabs(found: Study, figures: Sequence[Figure]) -> list[str]:
    """What figures are called where one is chosen: their titles without the data set."""
    from harness.report.figures.theme import plain

    ends = sorted((f" on {plain(group.dataset)}" for group in found.groups), key=len, reverse=True)
    return [
        next((one.title.removesuffix(end) for end in ends if one.title.endswith(end)), one.title) for one in figures
    ]


def _title(found: Study) -> str:
    names = list(dict.fromkeys(found.labels[run.name] for run in found.runs))
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
    systems = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{systems} on {', '.join(group.dataset for group in found.groups)}"


def _about(found: Study) -> str:
    """`3 runs on 1 data set, 16 November 2026, harness 0.1.0`."""
    runs, groups = len(found.runs), len(found.groups)
    parts = [f"{runs} run{'s' * (runs > 1)} on {groups} data set{'s' * (groups > 1)}"]
    days = sorted({run.manifest["ended"][:10] for run in found.runs if run.manifest})
    if days:
        first, last = (f"{(day := datetime.fromisoformat(one)).day} {day:%B %Y}" for one in (days[0], days[-1]))
        parts.append(f"evaluated {first}" if first == last else f"evaluated {first} to {last}")
    versions = sorted({run.manifest["harness"] for run in found.runs if run.manifest})
    if versions:
        parts.append(f"with harness {', '.join(versions)}")
    return ", ".join(parts)


def _note(found: Study) -> str:
    levels = sorted({score.level for run in found.runs for score in run.scores.values()})
    said = f"In brackets {' and '.join(f'{100 * level:g}%' for level in levels)} bootstrap intervals."
    if found.comparisons:
        said += (
            f" Bold: the best, and what cannot be told apart from it by the paired {found.test} test at the level "
            f"{1 - found.level:.2g} ({CORRECTIONS[found.correction].replace('all rows', 'all pairs and scores')}; "
            f"{found.resamples:,} resamples, seed {found.seed})."
        )
    if found.against:
        said += " ▲ ▼: better or worse than the baseline, by the same test over all comparisons with it."
    return said


def _run(run: RunResult, found: Study, masked: dict[str, Any]) -> dict[str, Any]:
    manifest = {**masking.masked(run.manifest), "config": masked} if run.manifest else {}
    commit = (manifest.get("git") or {}).get("commit", "")[:8]
    ended = manifest.get("ended", "")[:16].replace("T", " ")
    return {
        "label": found.labels[run.name],
        "name": run.name,
        "dataset": run.dataset,
        "when": ", ".join(
            part for part in (f"{ended} UTC" if ended else "in memory", commit and f"commit {commit}") if part
        ),
        "signatures": [(name, str(one.signature)) for name, one in run.statistics.items()],
        "manifest": json.dumps(manifest, indent=2, ensure_ascii=False, default=str) if manifest else "",
    }


def _commands(found: Study, **view: Any) -> list[str]:
    """What makes the comparison and the page again, with all options that are not the default; runs by the names of
    their folders."""
    usual = {name: one.default for name, one in inspect.signature(write_report).parameters.items()}
    tests = {name: getattr(found, name) for name in ("test", "correction", "level", "resamples", "seed")}
    given = {name: value for name, value in {**view, **tests}.items() if value != usual[name]}
    base = next((group.baseline for group in found.groups if group.baseline), None)
    if any(run.path is None for run in found.runs):
        chosen = {"baseline": base.name} if base else {}
        options = [f", {name}={list(v) if name in LISTS else v!r}" for name, v in {**chosen, **given}.items()]
        call = f"harness.write_report(runs, 'report.html'{''.join(options)})"
        return [f"{call}  # in Python: the runs were made in memory"]
    shared = [run.path.name for run in found.runs if run.path]
    if base and base.path:
        shared += ["--baseline", base.path.name]
    said = [["report", *shared, *_options(given), "-o", "report.html"]]
    if all(len(group.runs) > 1 for group in found.groups):
        compared = {name: value for name, value in given.items() if name == "scores" or name in tests}
        said.insert(0, ["compare", *shared, *_options(compared)])
    return [shlex.join(["harness", *words]) for words in said]


def _options(given: Mapping[str, Any]) -> list[str]:
    """As the command line has them, with `=`, since a title or a field may begin with a hyphen."""
    return [
        f"--{LISTS.get(name, name).replace('_', '-')}={one}"
        for name, value in given.items()
        for one in (value if name in LISTS else [value])
    ]


def aligned_rows(group: Group, kept: Any, n: int, progress: Progress) -> tuple[dict[str, Any], str]:
    """({run: {row: matches}} by their places in the page, why there are none)."""
    metrics = [
        next((one.metric for one in run.statistics.values() if one.metric.name == "bertscore"), None)
        for run in group.runs
    ]
    if not any(metrics):
        return {}, "These runs have no BERTScore; harness score RUN 'metrics=[bertscore]' adds it."
    if n == 0:
        return {}, "The report was made with --alignments 0."
    (a, b), main = examples.first_view(group)
    by = [name for name in dict.fromkeys((main, "bertscore")) if name]
    rows = sorted(
        {i for name in by for i in aligned.extremes([c[kept] for c in examples.columns(group, name)], (a, b), n)}
    )
    found: dict[str, Any] = {}
    with progress("aligning", len(rows) * len(group.runs)) as step:
        for r, (run, metric) in enumerate(zip(group.runs, metrics, strict=True)):
            if metric is None:
                continue
            try:
                found[str(r)] = _aligned(run, metric, kept, rows)
            except Exception as error:  # no torch, no model, a model of another machine: the page says so
                return {}, f"BERTScore's model could not be used where the report was made ({_first_line(error)})."
            step.advance(len(rows))
    return found, ""


def _aligned(run: RunResult, metric: Metric, kept: Any, rows: Sequence[int]) -> dict[str, Any]:
    frame = run.examples.iloc[kept]
    some = [i for i in rows if isinstance(frame["output"].iloc[i], str) and len(frame["references"].iloc[i])]
    outputs = [frame["output"].iloc[i] for i in some]
    references = [list(frame["references"].iloc[i]) for i in some]
    store = SHARED / "arrays.sqlite"
    if store.exists():
        metric.arrays = ArrayStore(store)
    fitted = metric.fit([list(one) for one in run.examples["references"]])
    matched = fitted.align(outputs, references) or []
    return {
        str(i): aligned.compact(one, output, texts[one.reference])
        for i, one, output, texts in zip(some, matched, outputs, references, strict=True)
        if one is not None
    }


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
