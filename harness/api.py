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
from harness.stats import comparison, family
from harness.stats.estimation import Options, estimate
from harness.stats.power import POWER, Power, powers
from harness.stats.selection import Best, best_of
from harness.store import folder as store
from harness.types import Comparisons, Example, HarnessError, Metric, Output, Progress, RunResult

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
    strata: Sequence[Any] | None = None,
    name: str = "outputs",
) -> RunResult:
    """Scores outputs against references, with no files and no MLflow.

    A metric is a name with its defaults, a dict of options `{"bleu": {"tokenize": "zh"}}`, or an object with the Metric
    seam. `resamples=0` gives scores without intervals. `clusters` names the cluster of each example,
    `strata` its stratum.
    """
    chosen = _metrics([metrics] if isinstance(metrics, str | Mapping | Metric) else metrics)
    if isinstance(outputs, str) or isinstance(references, str):
        raise HarnessError("outputs and references are one string; expected a list, one item for each example")
    outputs, references = list(outputs), list(references)
    sources, clusters, strata = (None if given is None else list(given) for given in (sources, clusters, strata))
    n = len(outputs)
    if n == 0:
        raise HarnessError("outputs is empty; expected at least one")
    columns = {"references": references, "sources": sources, "ids": ids, "clusters": clusters, "strata": strata}
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
            {name: values[i] for name, values in (("cluster", clusters), ("stratum", strata)) if values is not None},
        )
        for i, refs in enumerate(references)
    ]
    given = [Output(files.text(text, f"outputs[{i}]", "output")) for i, text in enumerate(outputs)]
    runner.check_references(examples, chosen)
    statistics = runner.statistics_of(runner.fitted(chosen, examples), examples, given, {}, silent)
    options = Options(resamples, level, method, seed, strata=None if strata is None else "stratum")
    scores = estimate(list(statistics.values()), examples, [], None if clusters is None else "cluster", options)
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
        strata=options.strata,
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
    method: str = "percentile",
    alternative: str = "two-sided",
    correction: str = "max-t",
    scores: Sequence[str] | None = None,
    cross_check: bool = False,
    progress: Progress = silent,
) -> Comparisons:
    """Paired comparison of runs on the same data: each against the baseline, or all pairs where there is none.

    Runs are grouped by their data; in a group without the baseline run itself, the run of the same system is taken.
    `scores` restricts the family to these headline scores; `cross_check` adds the paired t-test and Wilcoxon's signed
    ranks where a score is a mean over examples. The result is a list of rows; its `.macro` holds the averages over data
    sets.
    """
    chosen = None if scores is None else tuple(scores)
    options = family.Options(test, resamples, level, seed, method, alternative, correction, chosen, cross_check)
    options.check()
    pairs = _pairs(runs, baseline)
    with progress("resampling", resamples * len(pairs)) as step:
        return comparison.compare(pairs, options, step.advance)


def power(
    runs: Sequence[Run],
    difference: float | None = None,
    baseline: Run | None = None,
    scores: Sequence[str] | None = None,
    level: float = 0.95,
    power: float = POWER,
    resamples: int = 10_000,
    seed: int = 12345,
    progress: Progress = silent,
) -> list[Power]:
    """What comparisons of these runs can detect: the smallest difference, the power for `difference` (by default the
    one seen), and the number of examples or clusters that would detect it."""
    rows = compare(runs, baseline, resamples=resamples, level=level, seed=seed, scores=scores, progress=progress)
    return powers(rows, difference, level, power)


def best(
    runs: Sequence[Run],
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 12345,
    progress: Progress = silent,
) -> list[Best]:
    """The best of several runs on the same data by each headline score, corrected for having been chosen."""
    options = Options(resamples, level, "percentile", seed)
    options.check()
    groups = [_run_of(pairs) for pairs in _pairs(runs, None)]
    with progress("resampling", resamples * len(groups)) as step:
        return [found for group in groups for found in best_of(group, options, step.advance)]


def _run_of(pairs: Sequence[tuple[RunResult, RunResult]]) -> list[RunResult]:
    """The runs of all pairs, each once."""
    return list({run.name: run for pair in pairs for run in pair}.values())


def _pairs(runs: Sequence[Run], baseline: Run | None) -> list[list[tuple[RunResult, RunResult]]]:
    """(baseline, system) pairs of runs, grouped by data."""
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
        if against is None:
            chosen = [(a, b) for i, a in enumerate(members) for b in members[i + 1 :]]
        else:
            chosen = [(members[against], one) for i, one in enumerate(members) if i != against]
        common = [_common(named[a], named[b]) for a, b in chosen]
        ready = {i: replace(_in_order(named[i], first), dataset=dataset) for i in members}
        pairs.append(
            [(_with(ready[a], some), _with(ready[b], some)) for (a, b), some in zip(chosen, common, strict=True)]
        )
    return pairs


def _references(run: RunResult) -> set[tuple[str, ...]]:
    """What each example was scored against, whatever the number of its repeats."""
    columns = run.examples["id"], run.examples["references"]
    return {(id_, *references) for id_, references in zip(*columns, strict=True)}


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
    (ids, wanted) = (list(zip(one.examples["id"], one.examples["repeat"], strict=True)) for one in (run, first))
    if ids == wanted:
        return run
    if set(ids) != set(wanted):
        found = [f"{1 + max(repeat for _, repeat in some)} outputs an example" for some in (ids, wanted)]
        raise HarnessError(f"{run.name} has {found[0]}, {first.name} {found[1]}; expected the same number of repeats")
    place = {key: i for i, key in enumerate(ids)}
    order = [place[key] for key in wanted]
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


def _with(run: RunResult, metrics: Sequence[str]) -> RunResult:
    """The run with these metrics only."""
    return replace(run, statistics={name: run.statistics[name] for name in metrics})


def _common(a: RunResult, b: RunResult) -> list[str]:
    """The metrics that both runs have, if they are of the same definition."""
    for what, mine, theirs in (("dataset.cluster", a.cluster, b.cluster), ("stats.strata", a.strata, b.strata)):
        if mine != theirs:
            raise HarnessError(f"{a.name} has {what}={mine}, {b.name} {what}={theirs}; expected the same")
    common = [name for name in a.statistics if name in b.statistics]
    if not common:
        raise HarnessError(
            f"{a.name} and {b.name} have no metric in common ({', '.join(a.statistics)}; {', '.join(b.statistics)}); "
            "expected at least one"
        )
    for name in common:
        one, other = a.statistics[name], b.statistics[name]
        first, second = one.signature.definition, other.signature.definition
        changed = [k for k in {**first, **second} if first.get(k) != second.get(k)]
        if changed or one.metric.columns != other.metric.columns:
            what = ", ".join(f"{k}: {first.get(k)} and {second.get(k)}" for k in changed)
            what = what or f"scores: {', '.join(one.metric.score_names)} and {', '.join(other.metric.score_names)}"
            raise HarnessError(
                f"{name} of {a.name} and {b.name} are defined differently ({what}): "
                f"{one.signature} and {other.signature}; expected the same definition"
            )
        if first.get("nrefs") == "var" and _references(a) != _references(b):
            raise HarnessError(
                f"{a.name} and {b.name} were scored against different references (as system=human is, which leaves out "
                "the one that it gives); expected the same"
            )
        if one.metric.higher_is_better != other.metric.higher_is_better:
            raise HarnessError(
                f"{name}: higher is better in one of {a.name} and {b.name}, lower in the other; expected the same"
            )
        if one.signature.provenance != other.signature.provenance:
            log.warning(
                "%s of %s and %s were made with other versions: %s and %s",
                name, a.name, b.name, one.signature, other.signature,
            )  # fmt: skip
    left_out = sorted((a.statistics.keys() | b.statistics.keys()) - set(common))
    if left_out:
        log.warning("not in both %s and %s, so not compared: %s", a.name, b.name, ", ".join(left_out))
    return common
