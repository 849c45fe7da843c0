"""Level 1 of `harness reproduce`: the stored outputs of a run scored again, with the metrics of here.

Nothing but the run folder is read, and nothing that it names is run: metrics of this package only are built, from
options that name no code, file or model (trust.py). Scores of other metrics are computed again from their stored rows
where that takes none of their code; what cannot be computed at all is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.analysis.papers.sameness import TOLERANCE, Checked, compare_results
from harness.analysis.papers.stated_facts import compare_stated
from harness.analysis.stored.trust import Trust, described, in_folder
from harness.inputs import files, plugins
from harness.postprocess import Postprocess
from harness.run import manifest as here
from harness.run.again import FromRows, scored_again
from harness.run.config import build_metric, conf_dir
from harness.run.job import Job
from harness.run.machine import machine
from harness.stats.options import Options
from harness.store import finished
from harness.store.folder import described_rows
from harness.store.rescored import Stored, StoredDataset, StoredSystem
from harness.store.shape import FILES
from harness.store.textless import HASHED
from harness.types import HarnessError, Metric, Progress, RunResult
from harness.types.reproductions import CannotBeTried, Difference, Reproduction

POSTPROCESS = "harness.postprocess.Postprocess"
MOST_RESAMPLES = 100_000
"""Work that a folder may ask for: ten times the default."""
NAMES_OF_MACHINE = {"cpu": "processor", "gpus": "GPU", "blas": "BLAS", "system": "operating system"}


@dataclass(frozen=True)
class Again:
    """A stored run beside the same computed again."""

    stored: RunResult
    here: RunResult
    reproduction: Reproduction


def from_outputs(folder: Path, trust: Trust, progress: Progress, tolerance: float = TOLERANCE) -> Again | Reproduction:
    """Scores the stored outputs again; a reproduction alone where that cannot be tried."""
    manifest = _manifest(folder)
    damaged = changed_files(folder, manifest)
    checked = Checked(tolerance, differences=list(damaged), compared=len(manifest["files"]))
    try:
        stored = finished.read(folder, finished.Scoring(trust.metric, described))
        job, from_rows, missing = _job(folder, stored, trust)
        scored = _scored(job, from_rows, progress)
    except CannotBeTried:
        raise
    except HarnessError as error:
        if not damaged:
            raise
        unread = Difference(folder.name, "cannot be read", None, str(error))
        return Reproduction(manifest["name"], "outputs", checked.compared, [*damaged, unread])
    texts = manifest.get("texts") != HASHED
    kept = tuple(part for part in stored.slices if part.by in job.stats.slices)
    compare_results(replace(_without(stored, missing), slices=kept), scored, checked, texts)
    compare_stated(folder, stored, checked)
    notes = [*_rows_only(from_rows, texts), *not_the_same(manifest, stored, scored)]
    if len(kept) < len(stored.slices):
        others = dict.fromkeys(part.by for part in stored.slices if part not in kept)
        notes.append(f"not computed again: slices by {', '.join(others)}, which take the texts")
    return Again(
        stored,
        scored,
        Reproduction(
            stored.name,
            "outputs",
            checked.compared,
            checked.differences,
            checked.example,
            missing,
            notes,
            checked.spread,
        ),
    )


def _scored(job: Job, from_rows: FromRows, progress: Progress) -> RunResult:
    try:
        return scored_again(job, from_rows, progress)
    except HarnessError as error:  # a model or a tokenizer that is not here
        raise CannotBeTried(f"{job.name} cannot be scored here: {error}") from None


def _manifest(folder: Path) -> dict[str, Any]:
    lacking = [name for name in FILES if not (folder / name).exists()]
    if lacking and (folder / "manifest.json").exists():
        raise CannotBeTried(f"{folder} has no {', '.join(lacking)}; expected all files of the run")
    return finished.documents(folder)[0]


def changed_files(folder: Path, manifest: Mapping[str, Any]) -> list[Difference]:
    """The files of a result that are not as the run wrote them."""
    changed = []
    for name, digest in manifest["files"].items():
        if name not in FILES:
            continue
        now = files.file_digest(folder / name)
        if now != digest:
            changed.append(Difference(name, "SHA-256", digest, now))
    return changed


def _job(folder: Path, run: RunResult, trust: Trust) -> tuple[Job, FromRows, list[str]]:
    """(what scores the texts, what scores stored rows, what cannot be scored)."""
    from harness.tracking.none import NoTracking

    manifest = run.manifest
    config = manifest["config"]
    described_by = described_rows(folder)
    texts = manifest.get("texts") != HASHED
    specs: Mapping[str, Any] = config.get("metrics") or {}
    known = Trust(trust.everything, trust.metrics, (*trust.specs, *in_folder(conf_dir())), trust.shown)
    metrics: dict[str, Metric] = {}
    for name, spec in specs.items() if texts else ():
        if not isinstance(spec, Mapping) or not isinstance(spec.get("_target_"), str):
            raise HarnessError(f"{folder}/manifest.json: config.metrics.{name} has no _target_; expected that of a run")
        strangers = known.strangers(spec)
        if not strangers or trust.everything:
            known.announce(strangers)
            metrics[name] = _built(name, spec)
    others = {name: about for name, about in described_by.items() if name not in metrics}
    from_rows = {name: (run.statistics[name].metric, about) for name, about in others.items() if name in run.statistics}
    missing = [
        f"{name} comes from {what}, which the run folder names and you did not (--trust runs it)"
        for name, what in run.untested.items()
        if name not in metrics
    ]
    stored = Stored(folder)
    stats = _stats(folder, config)
    if not texts:
        stats = replace(stats, slices=[by for by in stats.slices if by in stored.rows.metadata])
    job = Job(
        dataset=StoredDataset(stored),
        system=StoredSystem(stored),
        postprocess=_postprocess(config, trust) if texts else Postprocess(),
        metrics=metrics,
        stats=stats,
        tracker=NoTracking(),
        key=manifest["key"],
        specs=dict(specs),
        config=config,
        given_name=run.name,
        output_dir=str(folder),
        source=folder,
    )
    return job, from_rows, missing


def _built(name: str, spec: Mapping[str, Any]) -> Metric:
    try:
        return build_metric(name, spec)
    except HarnessError as error:
        raise CannotBeTried(f"metrics.{name} cannot be built here: {error}") from None


def _postprocess(config: Mapping[str, Any], trust: Trust) -> Any:
    spec = config.get("postprocess")
    if not isinstance(spec, Mapping) or not isinstance(spec.get("_target_"), str):
        raise HarnessError("config.postprocess of the run has no _target_; expected that of a run")
    options = {name: value for name, value in spec.items() if name != "_target_"}
    if spec["_target_"] != POSTPROCESS:
        if not trust.everything:
            raise CannotBeTried(
                f"postprocess of the run is {spec['_target_']}, which the run folder names and you did not; expected "
                "--trust, which runs it"
            )
        trust.announce([spec["_target_"]])
    return plugins.build(spec["_target_"], options, "postprocess")


def _stats(folder: Path, config: Mapping[str, Any]) -> Options:
    try:
        options = Options(**config["stats"])
        options.check()
    except (TypeError, KeyError, HarnessError) as error:
        raise HarnessError(
            f"{folder}/manifest.json: config.stats is not that of a run ({error}); expected its options"
        ) from None
    if options.resamples > MOST_RESAMPLES:
        raise HarnessError(f"the run has stats.resamples={options.resamples:,}; expected at most {MOST_RESAMPLES:,}")
    return options


def _without(run: RunResult, missing: list[str]) -> RunResult:
    """The stored run without the scores that nothing here can compute."""
    if not missing:
        return run
    tested = {score for statistics in run.statistics.values() for score in statistics.metric.score_names}
    kept = {name: score for name, score in run.scores.items() if name in tested or not run.untested}
    parts = (replace(part, scores={k: v for k, v in part.scores.items() if k in kept}) for part in run.slices)
    return replace(run, scores=kept, slices=tuple(parts))


def _rows_only(from_rows: FromRows, texts: bool) -> list[str]:
    if not from_rows:
        return []
    names = ", ".join(from_rows)
    why = "the run was packed without its texts" if not texts else "their code or model is the run folder's own"
    return [f"from stored rows, not from texts: {names} ({why}); scores and intervals were computed again from them"]


def not_the_same(manifest: Mapping[str, Any], stored: RunResult, scored: RunResult) -> list[str]:
    """What is another one here, and may change numbers."""
    notes = []
    code, own = manifest.get("code") or {}, here.own_code()
    if code.get("hash") is not None and code["hash"] != own["hash"]:
        commits = [each.get("commit") or "no commit" for each in (code, own)]
        if commits[0] == commits[1]:  # changed since, and not committed
            commits = [str(each["hash"]) for each in (code, own)]
        notes.append(f"the code of harness that decides results: {commits[0][:12]} there, {commits[1][:12]} here")
    recorded = manifest.get("machine") or {}
    for name, label in NAMES_OF_MACHINE.items():
        before, now = recorded.get(name), machine()[name]
        if name in recorded and before != now:
            notes.append(f"{label}: {_named(before)} there, {_named(now)} here")
    packages = manifest.get("packages") or {}
    for name, version in here.deciding_packages().items():
        if packages.get(name) not in (None, version):
            notes.append(f"{name}: {packages[name]} there, {version} here")
    for name, statistics in stored.statistics.items():
        if (other := scored.statistics.get(name)) is None:
            continue
        for what, before in statistics.signature.provenance.items():
            now = other.signature.provenance.get(what)
            if now != before and not any(note.startswith(f"{what}:") for note in notes):
                notes.append(f"{what}: {before} there, {now} here")
    return notes


def _named(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value or "not known")
