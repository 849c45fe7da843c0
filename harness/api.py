"""The Python interface: evaluate in memory, load stored runs, compare either."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import config, files, runner
from harness.health import health
from harness.report.progress import silent
from harness.stats import comparison, intervals
from harness.store import folder as store
from harness.types import Comparison, Example, HarnessError, Metric, Output, Progress, RunResult

log = logging.getLogger(__name__)
Run = RunResult | str | Path


def evaluate(
    outputs: Sequence[str],
    references: Sequence[Sequence[str] | str],
    metrics: Sequence[str | Mapping[str, Any] | Metric] | str | Mapping[str, Any] | Metric = "standard",
    sources: Sequence[str | None] | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 12345,
    method: str = "percentile",
    ids: Sequence[str] | None = None,
    clusters: Sequence[Any] | None = None,
    name: str = "outputs",
) -> RunResult:
    """Scores outputs against references, with no files and no MLflow.

    A metric is a name with its defaults, a dict of options `{"bleu": {"tokenize": "zh"}}`, or an object with the Metric
    seam. `resamples=0` gives scores without intervals. `clusters` names the cluster of each example.
    """
    chosen = _metrics([metrics] if isinstance(metrics, str | Mapping | Metric) else metrics)
    if isinstance(outputs, str) or isinstance(references, str):
        raise HarnessError("outputs and references are one string; expected a list, one item for each example")
    outputs, references = list(outputs), list(references)
    sources, clusters = sources if sources is None else list(sources), clusters if clusters is None else list(clusters)
    n = len(outputs)
    if n == 0:
        raise HarnessError("outputs is empty; expected at least one")
    columns = {"references": references, "sources": sources, "ids": ids, "clusters": clusters}
    for what, column in columns.items():
        if column is not None and len(column) != n:
            raise HarnessError(f"{what} has {len(column)} items; expected {n}, one for each output")
    names = [str(i) for i in (ids if ids is not None else range(1, n + 1))]
    if len(set(names)) != n:
        raise HarnessError("ids holds the same id twice; expected unique ids")
    examples = [
        Example(
            names[i],
            _source(sources, i),
            tuple(
                files.text(r, f"references[{i}]", "reference")
                for r in ([refs] if isinstance(refs, str) else refs if refs is not None else [])
                if r is not None
            ),
            {} if clusters is None else {"cluster": clusters[i]},
        )
        for i, refs in enumerate(references)
    ]
    given = [Output(files.text(text, f"outputs[{i}]", "output")) for i, text in enumerate(outputs)]
    runner.check_references(examples, chosen)
    statistics = runner.statistics_of(runner.fitted(chosen, examples), examples, given, {}, silent)
    scores = intervals.scores(
        list(statistics.values()), clusters, resamples=resamples, level=level, method=method, seed=seed
    )
    return RunResult(
        name=name,
        dataset="memory",
        dataset_key=runner.dataset_key(examples),
        system=name,
        scores=scores,
        statistics=statistics,
        examples=store.examples_table(examples, given, given, statistics).to_pandas(),
        failed=0,
        cluster=None if clusters is None else "cluster",
        health=health(examples, given, [None] * n),
    )


def _source(sources: Sequence[str | None] | None, i: int) -> str | None:
    source = None if sources is None else sources[i]
    return None if source is None else files.text(source, f"sources[{i}]", "source")


def _metrics(metrics: Sequence[str | Mapping[str, Any] | Metric]) -> dict[str, Metric]:
    chosen: dict[str, Metric] = {}
    for metric in metrics:
        if isinstance(metric, str):
            specs = config.metric_specs(metric)
        elif isinstance(metric, Mapping):
            specs = {name: _with_options(name, options) for name, options in metric.items()}
        else:
            chosen[metric.name] = metric
            continue
        for name, spec in specs.items():
            options = {k: v for k, v in spec.items() if k != "_target_"}
            chosen[name] = config.build(spec["_target_"], options, f"metrics.{name}")
    if not chosen:
        raise HarnessError("metrics is empty; expected at least one metric")
    return chosen


def _with_options(name: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    specs = config.metric_specs(name)
    if name not in specs:
        raise HarnessError(f"{name!r} is a suite and takes no options; expected one metric")
    return {**specs[name], **(options or {})}


def load_run(path: str | Path) -> RunResult:
    """A stored run: `.scores`, `.examples` (pandas), `.statistics`. `path` is a run folder, the name of a run below
    runs/ (the newest of that name) or an MLflow run id."""
    return store.read(find_run(path), config.build)


def find_run(path: str | Path) -> Path:
    """The folder of a stored run."""
    folder = Path(path)
    if not _exists(folder / "manifest.json"):
        found = store.find(runner.RUNS, str(path)) if runner.RUNS.is_dir() else None
        if found is None and not _exists(folder):
            raise HarnessError(
                f"there is no run {str(path)!r}; expected a run folder, the name of a finished run below "
                f"{runner.RUNS.absolute()}, or its MLflow run id"
            )
        folder = found or folder  # where it is read, it is said what is missing
    return folder


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have
        return False


def compare(
    runs: Sequence[Run],
    baseline: Run | None = None,
    test: str = "bootstrap",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 12345,
    progress: Progress = silent,
) -> list[Comparison]:
    """Paired comparison of runs on the same data: each against the baseline, or all pairs where there is none.

    Runs are grouped by their data; in a group without the baseline run itself, the run of the same system is taken.
    """
    if isinstance(runs, str | Path | RunResult):
        raise HarnessError("one run given; expected a list of at least 2 to compare")
    loaded = _once([one if isinstance(one, RunResult) else load_run(one) for one in runs])
    base = _base(loaded, baseline)
    if base is not None and not any(_same(one, base) for one in loaded):
        loaded.insert(0, base)
    if len(loaded) < 2:
        raise HarnessError(
            f"{'the same run twice' if len(runs) > 1 else '1 run given'}; expected at least 2 to compare"
        )
    groups: dict[str, list[int]] = {}
    for i, one in enumerate(loaded):
        groups.setdefault(one.dataset_key, []).append(i)
    datasets = [loaded[members[0]].dataset for members in groups.values()]
    named = _distinctly_named(loaded)
    pairs = []
    for key, members in groups.items():
        first = loaded[members[0]]
        if len(members) == 1:
            raise HarnessError(_alone(first, loaded))
        against = None if base is None else members.index(_baseline_of(members, loaded, base))
        dataset = first.dataset if datasets.count(first.dataset) == 1 else f"{first.dataset} ({key[:8]})"
        group = [replace(_in_order(named[i], first), dataset=dataset) for i in members]
        if against is None:
            chosen = [(a, b) for i, a in enumerate(group) for b in group[i + 1 :]]
        else:
            chosen = [(group[against], one) for i, one in enumerate(group) if i != against]
        pairs.append([_comparable(a, b) for a, b in chosen])
    with progress("resampling", resamples * len(pairs)) as step:
        return comparison.compare(pairs, test=test, resamples=resamples, level=level, seed=seed, advance=step.advance)


def _same(a: RunResult, b: RunResult) -> bool:
    return a is b or (a.path is not None and b.path is not None and a.path.resolve() == b.path.resolve())


def _once(runs: list[RunResult]) -> list[RunResult]:
    found: list[RunResult] = []
    for run in runs:
        if not any(_same(run, other) for other in found):
            found.append(run)
    return found


def _distinctly_named(runs: list[RunResult]) -> list[RunResult]:
    """Runs of one name are told apart by their folder, or by number."""
    names = [run.name for run in runs]
    folders = [str(run.path) if run.path else None for run in runs]
    return [
        run
        if names.count(run.name) == 1
        else replace(run, name=folders[i] or f"{run.name} {names[: i + 1].count(run.name)}")
        for i, run in enumerate(runs)
    ]


def _base(runs: Sequence[RunResult], baseline: Run | None) -> RunResult | None:
    """The baseline: a run, or what names one, first among the given runs."""
    if baseline is None or isinstance(baseline, RunResult):
        return baseline
    return next((one for one in runs if one.name == str(baseline)), None) or load_run(baseline)


def _baseline_of(members: Sequence[int], runs: Sequence[RunResult], base: RunResult) -> int:
    """Which run of a group is the baseline, or has its name, or is of its system."""
    rules = (
        lambda one: _same(one, base),
        lambda one: one.name == base.name,
        lambda one: one.system == base.system,
    )
    for rule in rules:
        for i in members:
            if rule(runs[i]):
                return i
    raise HarnessError(
        f"no run of the baseline's name {base.name!r} or system {base.system!r} on the data of {runs[members[0]].name} "
        f"({', '.join(runs[i].name for i in members)}); expected one in every group of runs on the same data"
    )


def _in_order(run: RunResult, first: RunResult) -> RunResult:
    """The run with its examples in the order of the first one's, by id."""
    ids, wanted = run.examples["id"].tolist(), first.examples["id"].tolist()
    if ids == wanted:
        return run
    place = {id_: i for i, id_ in enumerate(ids)}
    order = [place[id_] for id_ in wanted]
    statistics = {name: replace(one, rows=one.rows[order]) for name, one in run.statistics.items()}
    return replace(run, examples=run.examples.iloc[order].reset_index(drop=True), statistics=statistics)


def _alone(run: RunResult, runs: Sequence[RunResult]) -> str:
    """Why a run cannot be paired: how its data differs from the next one's."""
    other = next(one for one in runs if one is not run)
    mine, theirs = list(run.examples["id"]), list(other.examples["id"])
    missing, extra = set(theirs) - set(mine), set(mine) - set(theirs)
    if missing or extra:
        found = f"{len(missing | extra)} ids differ ({files.some(sorted(missing | extra))})"
    else:
        found = "the ids are the same but sources, references or metadata differ"
    return (
        f"{run.name} and {other.name} are runs on different data: {run.name} has {len(mine)} examples of "
        f"{run.dataset}, {other.name} {len(theirs)} of {other.dataset}; {found}; "
        "expected two or more runs on the same data"
    )


def _comparable(a: RunResult, b: RunResult) -> tuple[RunResult, RunResult]:
    """The pair, reduced to the metrics both have, if these are of the same definition."""
    if a.cluster != b.cluster:
        raise HarnessError(
            f"{a.name} has the cluster field {a.cluster}, {b.name} {b.cluster}; expected the same dataset.cluster"
        )
    common = [name for name in a.statistics if name in b.statistics]
    if not common:
        raise HarnessError(
            f"{a.name} and {b.name} have no metric in common ({', '.join(a.statistics)}; {', '.join(b.statistics)}); "
            "expected at least one"
        )
    for name in common:
        mine, theirs = a.statistics[name], b.statistics[name]
        first, second = mine.signature.definition, theirs.signature.definition
        changed = [k for k in {**first, **second} if first.get(k) != second.get(k)]
        if changed or mine.metric.columns != theirs.metric.columns:
            what = ", ".join(f"{k}: {first.get(k)} and {second.get(k)}" for k in changed)
            what = what or f"scores: {', '.join(mine.metric.score_names)} and {', '.join(theirs.metric.score_names)}"
            raise HarnessError(
                f"{name} of {a.name} and {b.name} are defined differently ({what}): "
                f"{mine.signature} and {theirs.signature}; expected the same definition"
            )
        if mine.metric.higher_is_better != theirs.metric.higher_is_better:
            raise HarnessError(
                f"{name}: higher is better in one of {a.name} and {b.name}, lower in the other; expected the same"
            )
        if mine.signature.provenance != theirs.signature.provenance:
            log.warning(
                "%s of %s and %s were made with other versions: %s and %s",
                name, a.name, b.name, mine.signature, theirs.signature,
            )  # fmt: skip
    left_out = sorted((a.statistics.keys() | b.statistics.keys()) - set(common))
    if left_out:
        log.warning("not in both %s and %s, so not compared: %s", a.name, b.name, ", ".join(left_out))
    return (
        replace(a, statistics={name: a.statistics[name] for name in common}),
        replace(b, statistics={name: b.statistics[name] for name in common}),
    )
