"""The flow: data set -> system -> postprocess -> metrics -> statistics -> scores -> run folder -> tracking.

Outputs are generated once (harness/generation.py). Rows of statistics are reused when nothing they depend on changed,
and a finished run of which nothing changed at all is read back instead of computed.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from harness import files, generation, sync
from harness import manifest as made_by
from harness.config import UNKEYED, build
from harness.health import health
from harness.masking import masked
from harness.postprocess import Postprocess
from harness.sequential import Stop, Stopped, until_known
from harness.stats.estimation import Options, estimate
from harness.store import folder as store
from harness.store.arrays import ArrayStore
from harness.store.cache import OutputCache
from harness.store.journal import Journal
from harness.types import (
    Advance,
    Dataset,
    Example,
    HarnessError,
    Metric,
    Output,
    Progress,
    RunResult,
    Score,
    Signature,
    Statistics,
    System,
    Tracker,
)

log = logging.getLogger(__name__)
RUNS = Path("runs")
SHARED = RUNS / ".cache"
Select = Callable[[Iterable[Example]], Iterator[Example]]
"""Some of the examples, in their order."""


@dataclass(frozen=True)
class Job:
    """One cell: a system on a data set, with everything that decides the result."""

    dataset: Dataset
    system: System
    postprocess: Postprocess
    metrics: Mapping[str, Metric]
    specs: Mapping[str, Mapping[str, Any]]
    """For each metric the `_target_` and options that made it, secrets masked."""
    stats: Options
    tracker: Tracker
    key: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """The composed config, secrets masked."""
    select: Select = iter
    """Which examples of the data set are evaluated, before `limit`."""
    name: str | None = None
    limit: int | None = None
    output_dir: str | None = None
    group: str | None = None
    many: bool = False
    """One cell of several, so that `output_dir` is their parent."""
    retry_failed: bool = False
    max_failed: int | float | str | None = None
    cache: str = "auto"
    cache_gb: float = 4.0
    command: str = "the same command"
    """What was typed, to be shown where it should be typed again."""
    stop: Stop | None = None
    """Ends the run once its answer is known."""
    source: Path | None = None
    """The folder of the stored run that is scored again, where this job does nothing else."""


def run(job: Job, progress: Progress) -> RunResult:
    """Evaluates one system on one data set and leaves a run folder."""
    started = made_by.now()
    examples, rows, metrics = prepared(job, progress)
    name = named(job)
    where = run_folder(job, name)
    with store.opened(where):
        _same_config(where, job)
        identity = job.system.key()
        journal = Journal(where / "outputs.jsonl")
        if job.source is not None:
            store.copy_journal(job.source, where)
        job.system.folder = where
        stopped = None
        try:
            if job.stop is not None:
                examples, rows, stopped = _until_known(job, examples, rows, metrics, identity, journal, progress)
            raw = outputs_of(job, identity, rows, journal, progress)
        finally:
            job.system.close()
        earlier = store.read_manifest(where)
        original = store.read_manifest(job.source) if job.source else None
        if original is not None and original.get("stopped"):
            stopped = Stopped.of_stored(original["stopped"])
        data = original["dataset"]["key"] if original else dataset_key(examples)
        keys = {"config": job.key, "system": identity, "result": _result_key(job, name, data, rows, raw, metrics)}
        contents: dict[str, bytes] = {}
        if earlier is not None and earlier.get("result") == keys["result"] and store.intact(where, earlier["files"]):
            result, digests = store.read(where, build), earlier["files"]
        else:
            result, contents = scored(job, name, data, rows, raw, metrics, where, stopped, progress)
            digests = {file: files.bytes_digest(content) for file, content in contents.items()}
            if earlier is not None and earlier["dataset"]["key"] != result.dataset_key:
                log.warning("the data changed since the last run of this config; its result in %s is replaced", where)
        facts = original["generation"] if original else generation.facts(journal.content, raw, job.system.price)
        dataset = {"examples": len(examples), "about": masked(dict(job.dataset.about()))}
        system = {"repeats": job.system.repeats, "about": masked(dict(job.system.about()))}
        system |= {"step": job.system.step, "series": job.system.series}
        told = made_by.manifest(result, dataset, system, job.config, keys, digests, facts, job.group, started, earlier)
        result.manifest.update(told)
        store.write(where, contents, yaml.safe_dump(dict(job.config), sort_keys=False, allow_unicode=True), told)
        with progress("logging", 0):
            sync.tracked(job.tracker, result)
    _check_failed(job, result, where)
    return result


def prepared(job: Job, progress: Progress) -> tuple[list[Example], list[Example], dict[str, Metric]]:
    """(the examples, a row for each of them and repeat, the metrics for this data), after all checks."""
    with progress("reading", 0) as step:
        examples, ids = read_examples(job.dataset, job.limit, job.system.stored, step.advance, job.select)
    check_references(examples, job.metrics)
    metrics = fitted(job.metrics, examples)
    for metric in metrics.values():  # says now, not after hours of generation, that a model or tokenizer is missing
        metric.signature([example.references for example in examples])
    job.system.align(ids)
    return examples, job.system.expand(examples), metrics


def _until_known(
    job: Job,
    examples: Sequence[Example],
    rows: Sequence[Example],
    metrics: Mapping[str, Metric],
    identity: str | None,
    journal: Journal,
    progress: Progress,
) -> tuple[list[Example], list[Example], Stopped]:
    """(the examples and rows that were needed, how the run ended)."""
    assert job.stop is not None
    repeats = max(job.system.repeats, -(-len(rows) // len(examples)))
    metric = job.stop.check(metrics, job.dataset.cluster, repeats)
    chosen, stopped = until_known(
        job.stop, rows, metric, job.postprocess, job.stats.level, job.stats.seed,
        lambda some: outputs_of(job, identity, some, journal, progress),
    )  # fmt: skip
    return [examples[i] for i in chosen], [rows[i] for i in chosen], stopped


def _allowing_for(stopped: Stopped, scores: Mapping[str, Score]) -> dict[str, Score]:
    """The scores of a run that looked before its end: bounds that allow for it where there are any, else a note."""
    note = f"looked {stopped.looks} times by {stopped.score}: the interval does not allow for that"
    found = {name: replace(score, note=score.note or note) for name, score in scores.items()}
    if stopped.baseline is None and stopped.score in scores:
        found[stopped.score] = replace(
            scores[stopped.score],
            low=stopped.low,
            high=stopped.high,
            low_error=None,
            high_error=None,
            method="confidence sequence",
            note=None,
        )
    return found


def named(job: Job) -> str:
    """The run's name."""
    return job.name or f"{job.dataset.name}-{job.system.name}"


def outputs_of(
    job: Job, identity: str | None, rows: Sequence[Example], journal: Journal, progress: Progress
) -> list[Output]:
    """An output for each row: from the journal, from the shared cache, or generated now."""
    if job.system.stored:
        return list(job.system.generate(rows))
    cache = shared_cache(job, identity)
    work = work_of(job, identity, rows, journal, cache)
    if cache is not None and store.read_manifest(journal.path.parent) is None:
        cache.put(work.have, job.system.name)  # a kill may have come after the journal had a batch, before the cache
    return generation.generate(job.system, work, journal, cache, job.max_failed, _again(job), progress)


def _again(job: Job) -> str:
    """The command that generates what failed."""
    return job.command if job.retry_failed else f"{job.command} retry_failed=true"


def work_of(
    job: Job, identity: str | None, rows: Sequence[Example], journal: Journal, cache: OutputCache | None
) -> generation.Work:
    """What must be generated."""
    keys = generation.output_keys(job.system, generation.owner_of(identity, job.key), rows)
    serve = cache if job.cache == "all" or not job.system.sampled else None
    return generation.work_of(job.system, keys, rows, journal.content, serve, job.retry_failed)


def shared_cache(job: Job, identity: str | None, touch: bool = True) -> OutputCache | None:
    """The cache of all runs below runs/, where the system's identity is known and the user wants it."""
    if identity is None or job.cache == "none":
        return None
    return OutputCache(SHARED / "outputs.sqlite", round(job.cache_gb * 1e9), touch)


def _result_key(
    job: Job, name: str, data: str, rows: Sequence[Example], raw: Sequence[Output], metrics: Mapping[str, Metric]
) -> str:
    """Hash of all that decides the result: same key, same files."""
    references = [row.references for row in rows]
    outputs = [[row.id, row.repeat, o.text, o.error, o.info.get("finish")] for row, o in zip(rows, raw, strict=True)]
    code = [made_by.code(), made_by.packages(), made_by.source(job.postprocess)]
    names = [name, job.dataset.name, job.dataset.cluster, job.system.name]
    scorers = [_identity(metric, metric.signature(references)) for metric in metrics.values()]
    return files.digest([code, job.key, names, data, outputs, scorers])


def scored(
    job: Job,
    name: str,
    data: str,
    rows: Sequence[Example],
    raw: Sequence[Output],
    metrics: Mapping[str, Metric],
    where: Path,
    stopped: Stopped | None,
    progress: Progress,
) -> tuple[RunResult, dict[str, bytes]]:
    """(the result, the content of its files)."""
    processed = [o if o.text is None else job.postprocess(o.text) for o in raw]
    for metric in metrics.values():
        metric.arrays = ArrayStore(SHARED / "arrays.sqlite", round(job.cache_gb * 1e9))
    reusable = {**(store.stored_rows(job.source) if job.source else {}), **store.stored_rows(where)}
    statistics = statistics_of(metrics, rows, processed, reusable, progress)
    cluster = job.dataset.cluster
    failed = [i for i, output in enumerate(processed) if output.error is not None]
    with progress("resampling", job.stats.resamples) as step:
        scores = estimate(list(statistics.values()), rows, failed, cluster, job.stats, step.advance)
    if stopped is not None:
        scores = _allowing_for(stopped, scores)
    finish = [output.info.get("finish") for output in raw]
    table = store.examples_table(rows, raw, processed, statistics, finish)
    result = RunResult(
        name=name,
        dataset=job.dataset.name,
        dataset_key=data,
        system=job.system.name,
        scores=scores,
        statistics=statistics,
        examples=table.to_pandas(),
        failed=len(failed),
        cluster=store.metadata_name(cluster, scores) if cluster else None,
        strata=store.metadata_name(job.stats.strata, scores) if job.stats.strata else None,
        path=where,
        health=health(rows, processed, finish),
        stopped=None if stopped is None else stopped.told(),
    )
    return result, store.contents(result, table, job.specs)


def _check_failed(job: Job, result: RunResult, where: Path) -> None:
    """Ends the command where too many outputs failed; the run folder is there."""
    if not result.failed:
        return
    n = len(result.examples)
    failed = [Output(None, error) for error in result.examples["error"] if isinstance(error, str)]
    if len(failed) == n:
        raise HarnessError(
            f"{result.name}: all {n} examples failed, the first with: {failed[0].error} "
            f"(outputs and errors are kept in {where})"
        )
    limit = generation.limit_of(job.max_failed, n)
    if limit is not None and len(failed) > limit:
        raise generation.too_many(failed, n, job.max_failed, where, _again(job))


def read_examples(
    dataset: Dataset, limit: int | None, whole: bool, advance: Advance, select: Select = iter
) -> tuple[list[Example], list[str]]:
    """(the examples to evaluate, their ids or, if `whole`, those of the whole data set)."""
    if limit is not None and limit < 1:
        raise HarnessError(f"limit={limit}; expected at least 1")
    ids: list[str] = []

    def watched() -> Iterator[Example]:
        for example in dataset.examples():
            advance(1)
            if whole:
                ids.append(example.id)
            yield example

    rows = watched()
    examples = list(islice(select(rows), limit))
    if whole:
        deque(rows, maxlen=0)
    if not examples:
        unfit = "has no example that dataset.filter, dataset.sample and dataset.shard leave"
        found = "is empty" if next(dataset.examples(), None) is None else unfit
        raise HarnessError(f"the data set {dataset.name} {found}; expected at least one example")
    return examples, ids if whole else [example.id for example in examples]


def dataset_key(examples: Sequence[Example]) -> str:
    """Hash of all rows in any order; runs are aligned by id."""
    by_id = sorted(examples, key=lambda e: e.id)
    return files.digest_all([e.id, e.source, e.references, e.metadata] for e in by_id)


def check_references(examples: Sequence[Example], metrics: Mapping[str, Metric]) -> None:
    needing = [name for name, metric in metrics.items() if metric.needs_references]
    without = [example.id for example in examples if not example.references]
    if needing and without:
        raise HarnessError(
            f"{len(without)} of {len(examples)} examples have no references ({files.some(without)}); "
            f"expected at least one each, since {needing[0]} needs them"
        )


def fitted(metrics: Mapping[str, Metric], examples: Sequence[Example]) -> dict[str, Metric]:
    """The metrics for this data set: all of its references count, those of failed outputs too."""
    references = [example.references for example in examples]
    return {name: metric.fit(references) for name, metric in metrics.items()}


def run_folder(job: Job, name: str) -> Path:
    """`runs/<experiment>/<name>-<key>` below the current folder, or what `output_dir` says."""
    own = f"{_safe(name)}-{job.key[:8]}"
    if job.output_dir is not None:
        return Path(job.output_dir) / own if job.many else Path(job.output_dir)
    return RUNS / _safe(job.tracker.experiment) / own


def _safe(name: str) -> str:
    """A name as a folder's name."""
    return re.sub(r"[^\w.+-]+", "_", name).strip(".")[:100] or "_"


def _same_config(where: Path, job: Job) -> None:
    """Another config never overwrites a run."""
    earlier = store.read_manifest(where)
    if earlier is None or earlier["key"] == job.key:
        return
    before, after = dict(files.flat(earlier["config"])), dict(files.flat(job.config))
    changed = [
        f"{k}: {before.get(k, 'not set')} there, {after.get(k, 'not set')} here"
        for k in sorted({*before, *after})
        if before.get(k) != after.get(k) and k.partition(".")[0] not in UNKEYED
    ]
    raise HarnessError(
        f"{where} holds a run of another config ({'; '.join(changed[:4])}); "
        "expected the same config, or another output_dir"
    )


def statistics_of(
    metrics: Mapping[str, Metric],
    examples: Sequence[Example],
    outputs: Sequence[Output],
    earlier: Mapping[str, store.StoredRows],
    progress: Progress,
) -> dict[str, Statistics]:
    """Rows of every metric, those in `earlier` (by key) reused; NaN for examples that failed."""
    good = [i for i, output in enumerate(outputs) if output.text is not None]
    texts = [outputs[i].text or "" for i in good]
    references = [examples[i].references for i in good]
    sources = [examples[i].source for i in good]
    content = files.digest([good, len(examples), texts, references, sources])
    found: dict[str, Statistics] = {}
    for name, metric in metrics.items():
        signature = metric.signature([example.references for example in examples])
        key = files.digest([content, _identity(metric, signature)])
        if key in earlier:
            signed = Signature(signature.definition, earlier[key].provenance)
            found[name] = Statistics(metric, earlier[key].rows, signed, key)
            continue
        rows = np.full((len(examples), len(metric.columns)), np.nan)
        if good:
            with progress(f"scoring {name}", len(good)) as step:
                metric.advance = step.advance
                scored = np.asarray(metric.statistics(texts, references, sources), dtype=np.float64)
            if scored.shape != (len(good), len(metric.columns)):
                raise HarnessError(
                    f"{name} gave statistics of shape {scored.shape}; expected ({len(good)}, {len(metric.columns)})"
                )
            rows[good] = scored
        found[name] = Statistics(metric, rows, signature, key)
    return found


def _identity(metric: Metric, signature: Signature) -> list[Any]:
    """What decides a metric's rows beside the texts."""
    return [made_by.source(metric), metric.version, metric.columns, dict(signature.definition), metric.context]
