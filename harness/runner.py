"""The flow: data set -> system -> postprocess -> metrics -> statistics -> scores -> run folder -> tracking.

Outputs are looked up in the run folder's journal, then in the shared cache; only what is in neither is generated, batch
by batch, each batch on disk before the next begins. Rows of statistics are reused when nothing they depend on changed.
"""

from __future__ import annotations

import inspect
import logging
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import harness
from harness import files
from harness.config import UNKEYED, masked
from harness.postprocess import Postprocess
from harness.stats import intervals
from harness.store import folder as store
from harness.store.arrays import ArrayStore
from harness.store.cache import SqliteCache
from harness.store.journal import Journal
from harness.types import (
    Advance,
    Cache,
    Dataset,
    Example,
    HarnessError,
    Metric,
    Output,
    Progress,
    RunResult,
    Signature,
    Statistics,
    System,
    Tracker,
)

log = logging.getLogger(__name__)
RUNS = Path("runs")
PACKAGES = ("numpy", "pandas", "pyarrow", "hydra-core", "mlflow", "sacrebleu", "numba", "nltk", "torch", "transformers")


@dataclass(frozen=True)
class Job:
    """One cell: a system on a data set, with everything that decides the result."""

    dataset: Dataset
    system: System
    postprocess: Postprocess
    metrics: Mapping[str, Metric]
    specs: Mapping[str, Mapping[str, Any]]
    """For each metric the `_target_` and options that made it, secrets masked."""
    stats: Mapping[str, Any]
    tracker: Tracker
    key: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """The composed config, secrets masked."""
    name: str | None = None
    limit: int | None = None
    output_dir: str | None = None
    group: str | None = None
    many: bool = False
    """One cell of several, so that `output_dir` is their parent."""
    retry_failed: bool = False


def run(job: Job, progress: Progress) -> RunResult:
    """Evaluates one system on one data set and leaves a run folder."""
    started = _now()
    with progress("reading", 0) as step:
        examples, ids = read_examples(job.dataset, job.limit, whole=job.system.stored, advance=step.advance)
    check_references(examples, job.metrics)
    metrics = fitted(job.metrics, examples)
    for metric in metrics.values():  # says now, not after hours of generation, that a model or tokenizer is missing
        metric.signature([example.references for example in examples])
    job.system.align(ids)
    name = job.name or f"{job.dataset.name}-{job.system.name}"
    where = run_folder(job, name)
    with store.opened(where):
        _same_config(where, job)
        cache = SqliteCache(RUNS / ".cache" / "outputs.sqlite")
        identity = job.system.key()
        raw = outputs_of(job, identity, examples, Journal(where / "outputs.jsonl"), cache, progress)
        processed = [o if o.text is None else job.postprocess(o.text) for o in raw]
        for metric in metrics.values():
            metric.arrays = ArrayStore(RUNS / ".cache" / "arrays.sqlite")
        statistics = statistics_of(metrics, examples, processed, store.stored_rows(where), progress)
        earlier = store.read_manifest(where)
        cluster = job.dataset.cluster
        clusters = [e.metadata[cluster] for e in examples] if cluster else None
        with progress("resampling", job.stats["resamples"] * len(statistics)) as step:
            scores = intervals.scores(list(statistics.values()), clusters, **job.stats, advance=step.advance)
        table = store.examples_table(examples, raw, processed, statistics)
        result = RunResult(
            name=name,
            dataset=job.dataset.name,
            dataset_key=dataset_key(examples),
            system=job.system.name,
            scores=scores,
            statistics=statistics,
            examples=table.to_pandas(),
            failed=sum(o.error is not None for o in processed),
            cluster=store.metadata_name(cluster, scores) if cluster else None,
            path=where,
        )
        result = replace(result, manifest=manifest(job, identity, result, started, earlier))
        if earlier is not None and earlier["dataset"]["key"] != result.dataset_key:
            log.warning("the data changed since the last run of this config; its result in %s is replaced", where)
        config = yaml.safe_dump(dict(job.config), sort_keys=False, allow_unicode=True)
        store.write(where, result, table, job.specs, config)
        with progress("logging", 0):
            result = tracked(job, result)
    if result.failed == len(examples):
        raise HarnessError(
            f"{name}: all {len(examples)} examples failed, the first with: {processed[0].error} "
            f"(outputs and errors are kept in {where})"
        )
    return result


def read_examples(
    dataset: Dataset, limit: int | None, whole: bool, advance: Advance
) -> tuple[list[Example], list[str]]:
    """(the examples to evaluate, their ids or, if `whole`, those of the whole data set)."""
    if limit is not None and limit < 1:
        raise HarnessError(f"limit={limit}; expected at least 1")
    examples: list[Example] = []
    ids: list[str] = []
    for example in dataset.examples():
        if not whole and len(examples) == limit:
            break
        ids.append(example.id)
        if limit is None or len(examples) < limit:
            examples.append(example)
        advance(1)
    if not examples:
        raise HarnessError(f"the data set {dataset.name} is empty; expected at least one example")
    return examples, ids


def dataset_key(examples: Sequence[Example]) -> str:
    """Hash of all rows in any order; runs are aligned by id."""
    return files.digest(sorted(files.digest([e.id, e.source, e.references, e.metadata]) for e in examples))


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


def outputs_of(
    job: Job,
    identity: str | None,
    examples: Sequence[Example],
    journal: Journal,
    cache: Cache,
    progress: Progress,
) -> list[Output]:
    """An output for each example: from the journal, from the shared cache, or generated now."""
    system = job.system
    if system.stored:
        return list(system.generate(examples))
    owner = identity or ["of this config only", job.key]
    keys = [files.digest([owner, system.seen(example), 0]) for example in examples]
    have = journal.read()
    if job.retry_failed:
        have = {key: output for key, output in have.items() if output.error is None}
    if identity is not None:
        found = {key: Output(text) for key, text in cache.get([key for key in keys if key not in have]).items()}
        if found:
            _keep(journal, found)
        have.update(found)
    with progress("generating", len(set(keys))) as step:
        step.advance(len(have.keys() & set(keys)))
        for batch in system.plan(examples):
            todo = {keys[i]: examples[i] for i in batch if keys[i] not in have}
            if not todo:
                continue
            outputs = list(system.generate(list(todo.values())))
            if len(outputs) != len(todo) or not all(isinstance(output, Output) for output in outputs):
                raise HarnessError(
                    f"the system {system.name} gave {len(outputs)} outputs for a batch of {len(todo)}; "
                    "expected one harness.types.Output for each example"
                )
            made = dict(zip(todo, map(_storable, outputs), strict=True))
            _keep(journal, made)
            if identity is not None:
                cache.put({key: output.text for key, output in made.items() if output.text is not None})
            have.update(made)
            step.advance(len(made))
    return [have[key] for key in keys]


def _keep(journal: Journal, outputs: Mapping[str, Output]) -> None:
    try:
        journal.append(outputs)
    except OSError as error:
        raise HarnessError(
            f"{journal.path} cannot be written ({error.strerror or error}); earlier batches are kept in it, "
            "run the same command again when there is room"
        ) from error


def _storable(output: Output) -> Output:
    fault = files.text_fault(output.text) if output.text is not None else None
    return Output(None, f"the output holds {fault}") if fault else output


def statistics_of(
    metrics: Mapping[str, Metric],
    examples: Sequence[Example],
    outputs: Sequence[Output],
    earlier: Mapping[str, store.StoredRows],
    progress: Progress,
) -> dict[str, Statistics]:
    """Rows of every metric; NaN for examples that failed."""
    good = [i for i, output in enumerate(outputs) if output.text is not None]
    texts = [outputs[i].text or "" for i in good]
    references = [examples[i].references for i in good]
    sources = [examples[i].source for i in good]
    content = files.digest([good, len(examples), texts, references, sources])
    found: dict[str, Statistics] = {}
    for name, metric in metrics.items():
        signature = metric.signature([example.references for example in examples])
        identity = [_source(metric), metric.version, metric.columns, dict(signature.definition), metric.context]
        key = files.digest([content, identity])
        if name in earlier and earlier[name].key == key:
            made_by = Signature(signature.definition, earlier[name].provenance)
            found[name] = Statistics(metric, earlier[name].rows, made_by, key)
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


def _source(metric: Metric) -> str:
    """What identifies a metric's code: its name and, for one of the user's own, its text."""
    kind = type(metric)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name.startswith("harness."):
        return name
    try:
        return name + inspect.getsource(kind)
    except (OSError, TypeError):  # made in a shell
        return name


def tracked(job: Job, result: RunResult) -> RunResult:
    """Logs the run; whatever goes wrong there costs a warning, never the result."""
    assert result.path is not None
    try:
        place = job.tracker.log(result, job.group)
    except HarnessError:
        raise
    except Exception as error:
        log.warning(
            "the run was not logged to MLflow: %s\nIt is whole in %s. Run the same command again when the tracking "
            "server is back: nothing is generated or scored again.",
            error,
            result.path,
        )
        return result
    if place is None:
        return result
    logged = {"run_id": place.run_id, "uri": masked(place.uri), "where": masked(place.where)}
    known = [*(run_id for run_id in result.manifest["mlflow_run_ids"] if run_id != place.run_id), place.run_id]
    result = replace(result, manifest={**result.manifest, "mlflow": logged, "mlflow_run_ids": known})
    store.write_manifest(result.path or Path(), result.manifest)
    return result


def manifest(
    job: Job, identity: str | None, result: RunResult, started: str, earlier: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What made the run. MLflow runs of the folder's earlier results stay known."""
    metrics = {name: {"signature": str(one.signature), "key": one.key} for name, one in result.statistics.items()}
    unchanged = earlier is not None and earlier["metrics"] == metrics
    return {
        "schema": store.SCHEMA,
        "name": result.name,
        "key": job.key,
        "group": job.group,
        "dataset": {
            "name": result.dataset,
            "key": result.dataset_key,
            "examples": len(result.examples),
            "cluster": result.cluster,
        },
        "system": {"name": result.system, "key": identity, "step": job.system.step, "series": job.system.series},
        "metrics": metrics,
        "seed": job.stats["seed"],
        "harness": harness.__version__,
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "python": platform.python_version(),
        "machine": {"system": platform.platform(), "cpus": os.cpu_count()},
        "git": _git(),
        "started": started,
        "ended": _now(),
        "mlflow": earlier["mlflow"] if earlier is not None and unchanged else None,
        "mlflow_run_ids": earlier["mlflow_run_ids"] if earlier is not None else [],
        "config": dict(job.config),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git() -> dict[str, Any] | None:
    """The commit of the folder the command was called in, and whether its tracked files were changed."""

    def ask(*arguments: str) -> str:
        asked = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True)
        return asked.stdout.strip()

    try:
        return {"commit": ask("rev-parse", "HEAD"), "dirty": bool(ask("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
