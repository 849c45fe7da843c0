"""The Python interface: evaluate in memory, load stored runs, compare either."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import config, files, runner
from harness.health import health
from harness.pairs import Pair, alone, check_scores, grouped, pairs_of
from harness.report.progress import silent
from harness.stats import comparison, family
from harness.stats.estimation import Options, estimate
from harness.stats.power import POWER, Power, powers
from harness.stats.selection import Best, best_of
from harness.store import folder as store
from harness.types import Comparisons, Example, HarnessError, Metric, Output, Progress, RunRecord, RunResult

log = logging.getLogger(__name__)
Run = RunResult | RunRecord | str | Path
"""A run, or what names one."""


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


def load_run(path: str | Path | RunRecord) -> RunResult:
    """A stored run: `.scores`, `.examples` (pandas), `.statistics`. `path` is a run folder, the name of a run below
    runs/ (the newest of that name), an MLflow run id, or what `harness.runs` lists."""
    return store.read(path.path if isinstance(path, RunRecord) else find_run(path), config.build)


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
    pairs = _pairs(runs, baseline, scores)
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
    one seen; where given, of the scores of one metric), and the number of examples or clusters that would detect it."""
    chosen = None if scores is None else tuple(scores)
    options = family.Options(resamples=resamples, level=level, seed=seed, scores=chosen)
    options.check()
    pairs = _pairs(runs, baseline, scores)
    if difference is not None:
        _check_one_metric(pairs, difference, scores)
    with progress("resampling", resamples * len(pairs)) as step:
        rows = comparison.compare(pairs, options, step.advance)
    return powers(rows, difference, level, power)


def _check_one_metric(pairs: Sequence[Sequence[Pair]], difference: float, scores: Sequence[str] | None) -> None:
    """Refuses one difference for scores of several metrics, of which some go to 100 and some to 1."""
    metrics: dict[str, str] = {}  # metric -> its first score
    for name, one in ((name, one) for group in pairs for _, run in group for name, one in run.statistics.items()):
        asked = [score for score in one.metric.score_names if scores is None or score in scores]
        if asked:
            metrics.setdefault(name, asked[0])
    if len(metrics) > 1:
        raise HarnessError(
            f"difference={difference:g} for scores of {len(metrics)} metrics ({', '.join(metrics)}), which need not be "
            f"on one scale; expected scores of one metric, such as --score {next(iter(metrics.values()))}"
        )


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


def _run_of(pairs: Sequence[Pair]) -> list[RunResult]:
    """The runs of all pairs, each once."""
    return list({run.name: run for pair in pairs for run in pair}.values())


def _pairs(runs: Sequence[Run], baseline: Run | None, scores: Sequence[str] | None = None) -> list[list[Pair]]:
    """(baseline, system) pairs of runs, grouped by data; every run has a partner."""
    loaded, base = loaded_runs(runs, baseline)
    groups = grouped(loaded, base)
    members = [run for group in groups for run in group.runs]
    if len(members) < 2:
        raise HarnessError(
            f"{'the same run twice' if len(runs) > 1 else '1 run given'}; expected at least 2 to compare"
        )
    for group in groups:
        if len(group.runs) == 1:
            raise HarnessError(alone(group.runs[0], members))
    check_scores(groups, scores)
    return [pairs_of(group, group.baseline) for group in groups]


def loaded_runs(runs: Sequence[Run], baseline: Run | None) -> tuple[list[RunResult], RunResult | None]:
    """(the runs, the baseline), whatever names them; the baseline's name is looked for among the runs first."""
    if isinstance(runs, Run):
        raise HarnessError("one run given; expected a list of at least 2 to compare")
    loaded = [one if isinstance(one, RunResult) else load_run(one) for one in runs]
    if baseline is None or isinstance(baseline, RunResult):
        return loaded, baseline
    return loaded, next((one for one in loaded if one.name == str(baseline)), None) or load_run(baseline)
