"""The flow of one evaluation: read, generate, postprocess, score, estimate, write, log.

Outputs are generated once (generation.py). Rows of statistics are reused where nothing that they depend on changed, and
a finished run of which nothing changed at all is read back instead of computed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from harness.inputs import files
from harness.inputs.plugins import source as source_of
from harness.run import environment, generation, manifest, reading
from harness.run.answers import Answers, Located
from harness.run.facts import facts_of
from harness.run.generation import Source
from harness.run.job import Job, check_same_config
from harness.run.logging import logged
from harness.run.manifest import Facts
from harness.run.reading import Data
from harness.run.rounds import data_of, entered, of_round, partial
from harness.run.scoring import Scorer, Subject, score
from harness.run.sharding import noted
from harness.run.sinks import InFolder
from harness.run.stopping import Stopped, allowing_for, until_known
from harness.store import finished
from harness.store import folder as store
from harness.store.arrays import ArrayStore
from harness.store.places import shared_folder
from harness.store.sweep_cells import working
from harness.store.writing import Writer
from harness.types import Array, Example, Progress, RunResult

log = logging.getLogger(__name__)
CHANGED = "the data changed since the last run of this config; its result in %s is replaced"


def run(job: Job, progress: Progress) -> RunResult:
    """Evaluates one system on one data set and leaves a run folder."""
    started = manifest.now()
    with working(job.folder, job.group, job.cell, started):
        return _run(job, started, progress)


def _run(job: Job, started: str, progress: Progress) -> RunResult:
    data, scorer = prepared(job, progress)
    with job.engine, store.opened(job.folder, awaited=job.cell is not None):  # cells that are one run go one by one
        earlier = finished.read_manifest(job.folder)
        check_same_config(job, earlier)
        store.copy_journals(job.origins, job.folder)
        source = Source.of(job)
        data, raced = entered(data, job.race, job.dataset.cluster, job.stats.seed, earlier)
        data, answers, stopped = answered(data, scorer, source, progress)
        subject = subject_of(job, data)
        key = _result_key(subject, answers, scorer, job)
        unchanged = finished.unchanged(job.folder, earlier, key, scorer.metrics)
        keys = {"config": job.key, "system": source.identity, "result": key}
        facts = replace(facts_of(source, data, answers, keys, started, earlier), raced=raced)
        if earlier and unchanged:
            result = replace(unchanged, manifest=manifest.manifest(job, unchanged, facts, earlier["files"]))
            store.write(job.folder, None, b"", _yaml(job.config), result.manifest, environment.of(job))
        else:
            if earlier and data_of(earlier) != (raced["data"] if raced else subject.dataset_key):
                log.warning(CHANGED, job.folder)
            with Writer(job.folder) as writer:
                for metric in scorer.metrics.values() if job.cache != "none" else ():
                    metric.arrays = ArrayStore(shared_folder() / "arrays.sqlite", job.cache_bytes)
                sink = InFolder(writer, scorer, answers, job)
                result = score(subject, answers, scorer, job.stats, sink, progress)
                result = of_round(result, raced)
                result = noted(allowing_for(stopped, result) if stopped else result, scorer, job.shard)
                result = written(result, writer, job, facts)
        if not partial(raced):
            with progress("logging", 0):
                result = logged(job.tracker, result)
    generation.check_failed(job, result)
    return result


def prepared(job: Job, progress: Progress) -> tuple[Data, Scorer]:
    """The data, and the metrics for it, after all checks."""
    data = reading.read(job, progress)
    scorer = Scorer.fit(job.metrics, *data.references)
    return data, replace(scorer, engine=job.engine, specs=job.recipes)


def answered(data: Data, scorer: Scorer, source: Source, progress: Progress) -> tuple[Data, Answers, Stopped | None]:
    """The outputs: of all the data or, where the run stops once its answer is known, of what that took."""
    job, stopped = source.job, None
    job.system.folder = job.folder
    try:
        if job.stop is not None:
            data, stopped = _until_known(data, scorer, source, progress)
        answers = source.answers(data.rows, scorer.reads, progress)
        answers.located = Located(job.dataset, job.system) if data.first and job.system.stored else None
    finally:
        job.system.close()
    original = job.original()
    if original is not None and original.get("stopped"):
        stopped = Stopped.of_stored(original["stopped"])
    return data, answers, stopped


def _until_known(data: Data, scorer: Scorer, source: Source, progress: Progress) -> tuple[Data, Stopped]:
    """(what of the data was needed, how the run ended)."""
    job, stop = source.job, source.job.stop
    assert stop is not None
    metric = stop.check(scorer.metrics, job.dataset.cluster, max(job.system.repeats, data.repeats))

    def values(rows: Sequence[Example]) -> Array:
        return scorer.values(stop.score, Answers.of(rows, source.outputs(rows, progress), job.postprocess))

    needed, stopped = until_known(stop, data.rows, metric, job.stats, values)
    return data.part(needed), stopped


def written(result: RunResult, writer: Writer, job: Job, facts: Facts) -> RunResult:
    """The result with its manifest, when all of it is in the folder."""
    scores = store.scores_json(result, facts.examples)
    digests = {**writer.digests(), "scores.json": files.bytes_digest(scores)}
    result = replace(result, manifest=manifest.manifest(job, result, facts, digests))
    store.write(job.folder, writer, scores, _yaml(job.config), result.manifest, environment.of(job))
    return result


def subject_of(job: Job, data: Data) -> Subject:
    original = job.original()
    key = original["dataset"]["key"] if original else data.key
    return Subject(job.name, job.dataset.name, key, job.system.name, job.dataset.cluster, job.folder)


def _result_key(subject: Subject, answers: Answers, scorer: Scorer, job: Job) -> str:
    """Hash of all that decides the result: same key, same files."""
    code = [manifest.code(), manifest.deciding_packages(), source_of(job.postprocess)]
    names = [subject.name, subject.dataset, subject.cluster, subject.system]
    scorers = [scorer.identity(name) for name in scorer.metrics]
    assert answers.outputs is not None  # they were made for a run
    return files.digest([code, job.key, names, subject.dataset_key, answers.outputs.ordered, scorers])


def _yaml(config: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
