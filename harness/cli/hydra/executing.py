"""Level 2 of `harness reproduce`: the stored config executed again in an empty place, without caches.

The data is read and its fingerprint compared before anything is generated; so is the identity of the system. What the
config names is run, so the caller has said that it may be.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir

from harness.analysis.comparing.comparing import compare
from harness.analysis.papers.reproducing import changed_files, not_the_same
from harness.analysis.papers.sameness import Checked, compare_results
from harness.analysis.stored.trust import Trust, described
from harness.cli.hydra import recorded
from harness.cli.hydra.composing import contents, jobs
from harness.cli.hydra.received import literal
from harness.cli.hydra.versions import BASE, put
from harness.inputs.nested import leaves
from harness.inputs.remote import is_remote
from harness.masking import MASK
from harness.run import config as core
from harness.run import reading
from harness.run.generation import Source
from harness.run.inputs_used import used
from harness.run.job import Job
from harness.run.runner import run as run_job
from harness.stats.options import ComparisonOptions
from harness.store import finished
from harness.store.rescored import Stored
from harness.store.textless import HASHED, hashed
from harness.types import Examples, HarnessError, Progress, RunResult
from harness.types.reproductions import CannotBeTried, Difference, OutputsAgain, Reproduction
from harness.types.settings import Config

HERE: dict[str, Any] = {
    "tracking": {"_target_": "harness.tracking.none.NoTracking"},
    "engine": {"_target_": "harness.engines.local.Local"},
    "cache": "none",
    "group": None,
    "json": False,
    "dry_run": False,
    "retry_failed": False,
    "max_failed": None,
}
"""Of the config what decides no result, and is the same for every run that is executed again."""


def from_system(folder: Path, overrides: Sequence[str], checked: Checked, progress: Progress) -> Reproduction:
    """The run of a folder executed again; `overrides`: where things are here, such as `dataset.path=…`."""
    manifest = finished.documents(folder)[0]
    stored = finished.read(folder, finished.Scoring(Trust(everything=True).metric, described))
    checked.differences += changed_files(folder, manifest)
    checked.compared += len(manifest["files"])
    with tempfile.TemporaryDirectory(prefix="harness-again-") as empty, _place(manifest):
        job = _job(manifest, overrides, Path(empty) / "run")
        again = Reproduction(stored.name, "system")
        changed = _inputs(manifest, job)
        others = [difference for difference in changed if not difference.what.startswith("dataset.")]
        fingerprints = others or _fingerprints(job, manifest, folder, progress)
        if fingerprints:
            return replace(again, differences=[*checked.differences, *fingerprints], compared=checked.compared)
        notes = [f"{each.what}: other bytes, the same examples" for each in changed]
        try:
            result = run_job(job, progress)
        except HarnessError as error:
            raise CannotBeTried(f"{stored.name} cannot be executed here: {error}") from None
        result = replace(result, load=_kept(result), name=f"{stored.name} again")
        outputs = _outputs(stored, result, manifest)
        if outputs.first is None:
            compare_results(stored, result, checked, manifest.get("texts") != HASHED)
        else:
            options = ComparisonOptions(resamples=job.stats.resamples, seed=job.stats.seed)
            outputs = replace(outputs, changes=tuple(compare([stored, result], stored, options, progress)))
        notes += not_the_same(manifest, stored, result)
    return replace(
        again,
        compared=checked.compared + outputs.of,
        differences=checked.differences,
        example=checked.example,
        notes=notes,
        spread=checked.spread if outputs.first is None else _largest(stored, result),
        outputs=outputs,
    )


def _kept(result: RunResult) -> Callable[[], Any]:
    """What gives the examples when their folder is gone."""
    table = result.table
    return lambda: table


# ---------------------------------------------------------------- where, and what


@contextmanager
def _place(manifest: Mapping[str, Any]) -> Iterator[None]:
    """In the folder that has the files that the run names by relative paths: this one, or the one that it was called
    in."""
    was = (manifest.get("command") or {}).get("folder")
    if was is None or not os.path.isdir(was) or Path(was) == Path.cwd():
        yield
        return
    if was not in sys.path:
        sys.path.append(was)  # plug-ins and functions were checked there
    named = [each["path"] for each in manifest.get("inputs") or []]
    paths = [_file(path) for path in named if not is_remote(path) and not path.startswith("package:")]
    missing = [path for path in paths if not os.path.exists(os.path.expanduser(path))]
    there = missing and all(os.path.exists(os.path.join(was, path)) for path in paths)
    with chdir(was if there else "."):
        yield


def _file(path: str) -> str:
    """`mine.py` of `mine.py:function`."""
    return path if os.path.exists(path) or ".py:" not in path else path.rpartition(":")[0]


def _job(manifest: Mapping[str, Any], overrides: Sequence[str], output: Path) -> Job:
    """The job of the stored config, with the caller's overrides on top."""
    config = {**manifest["config"], **HERE, "name": manifest["name"], "output_dir": str(output)}
    experiment = {"experiment": "harness", "uri": None}
    config["tracking"] = {**HERE["tracking"], **experiment}
    with initialize_config_dir(str(core.conf_dir()), **BASE):
        put("core", Config)
        node = literal(_with_secrets(config, manifest, overrides))
        put("recorded", {"defaults": ["core", "_self_"], **node})
        composed = compose("recorded", overrides=list(overrides))
    resolved, _ = contents(composed)
    _check_there(manifest, resolved)
    try:
        (job,) = jobs(composed)
    except HarnessError as error:
        raise CannotBeTried(f"{manifest['name']} cannot be built here: {error}") from None
    return job


def _with_secrets(config: Mapping[str, Any], manifest: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The config with what was masked in it: composed again from the recorded overrides, which say what of it comes
    from the environment."""
    given = {word.partition("=")[0].lstrip("+") for word in overrides}
    masked = [name for name, value in leaves(config) if MASK in str(value) and name not in given]
    if not masked:
        return dict(config)
    places = (manifest.get("command") or {}).get("config_dirs") or []
    words = [f"hydra.searchpath=[{','.join(f'file://{place}' for place in places)}]"] if places else []
    try:
        composed = dict(leaves(contents(compose("config", overrides=[*words, *recorded.words(manifest)]))[0]))
    except HarnessError as error:
        raise CannotBeTried(f"{', '.join(masked)} cannot be known: {error}") from None
    filled: dict[str, Any] = {**config}
    for name in masked:
        value = composed.get(name)
        if value is None or MASK in str(value):
            raise CannotBeTried(f"{name} was a secret, which is not recorded; expected {name}=… as an override")
        *parents, last = name.split(".")
        place = filled
        for parent in parents:
            place[parent] = dict(place[parent])
            place = place[parent]
        place[last] = value
    return filled


def _check_there(manifest: Mapping[str, Any], resolved: Mapping[str, Any]) -> None:
    """Refuses where a file that the run was made of is missing here; a file of the same option counts for it."""
    here = {(each["option"], each.get("file")) for each in used(resolved)}
    for each in manifest.get("inputs") or []:
        if (each["option"], each.get("file")) not in here:
            was = (manifest.get("command") or {}).get("folder")
            inside = f" {each['file']}" if each.get("file") else ""
            raise CannotBeTried(
                f"{each['option']}: {each['path']}{inside} is missing ({each['bytes']:,} bytes, SHA-256 "
                f"{each['sha256']}); it was {'below ' + was if was else 'where the command was called'}; expected it "
                f"here, or {each['option']}=… as an override"
            )


def _inputs(manifest: Mapping[str, Any], job: Job) -> list[Difference]:
    """The files that have other bytes than were recorded."""
    here = {(each["option"], each.get("file")): each for each in used(job.recipes)}
    changed = []
    for each in manifest.get("inputs") or []:
        now = here.get((each["option"], each.get("file")))
        if now is not None and now["sha256"] != each["sha256"]:
            name = f"{each['path']}/{each['file']}" if each.get("file") else each["path"]
            changed.append(
                Difference("manifest.json", f"{each['option']} {name} SHA-256", each["sha256"], now["sha256"])
            )
    return changed


def _fingerprints(job: Job, manifest: Mapping[str, Any], folder: Path, progress: Progress) -> list[Difference]:
    """What the data or the system is not, before anything is generated."""
    try:
        data = reading.read(job, progress)
        identity = Source.of(job).identity
    except HarnessError as error:
        raise CannotBeTried(f"{manifest['name']} cannot be executed here: {error}") from None
    differences = []
    if manifest.get("stopped") is None and data.key != manifest["dataset"]["key"]:
        differences.append(Difference("manifest.json", "the data's fingerprint", manifest["dataset"]["key"], data.key))
        first = None if manifest.get("texts") == HASHED else _first_example(data.rows, Stored(folder).rows)
        differences += [first] if first else []
    if manifest["system"]["key"] is not None and identity != manifest["system"]["key"]:
        differences.append(Difference("manifest.json", "the system's key", manifest["system"]["key"], identity))
    return differences


def _first_example(here: Sequence[Any], stored: Examples) -> Difference | None:
    """The first example that is another one, with what of it."""
    mine = {(example.id, example.repeat): example for example in here}
    for example in stored:
        other = mine.pop((example.id, example.repeat), None)
        place = f"example {example.id!r}"
        if other is None:
            return Difference(place, "id", example.id, None)
        for what in ("source", "references"):
            before, now = getattr(example, what), getattr(other, what)
            if before != now:
                return Difference(place, what, before, now)
        for field in sorted({*example.metadata, *other.metadata}):
            before, now = example.metadata.get(field), other.metadata.get(field)
            if before != now:
                return Difference(place, field, before, now)
    extra = next(iter(mine.values()), None)
    return None if extra is None else Difference(f"example {extra.id!r}", "id", None, extra.id)


# ---------------------------------------------------------------- what came out


def _outputs(stored: RunResult, here: RunResult, manifest: Mapping[str, Any]) -> OutputsAgain:
    """Raw outputs, paired by id and repeat; of a run without texts their hashes."""
    hide = hashed if manifest.get("texts") == HASHED else (lambda text: text)
    names = ("id", "repeat", "raw_output")
    before, now = (zip(*run.columns(*names).to_pydict().values(), strict=True) for run in (stored, here))
    mine = {(id_, repeat): hide(text) for id_, repeat, text in now}
    identical, of, first = 0, 0, None
    for id_, repeat, text in before:
        of += 1
        other = mine.get((id_, repeat))
        if text == other:
            identical += 1
        elif first is None:
            first = Difference(f"example {id_!r}", "output", text, other)
    return OutputsAgain(identical, of, first)


def _largest(stored: RunResult, here: RunResult) -> float:
    """The largest relative change of a score."""
    changes = [
        abs(before.estimate - now.estimate) / max(abs(before.estimate), abs(now.estimate), 1e-300)
        for name, before in stored.scores.items()
        if (now := here.scores.get(name)) and before.estimate is not None and now.estimate is not None
    ]
    return max(changes, default=0.0)
