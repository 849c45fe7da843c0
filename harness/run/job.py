"""One cell of work: a system on a data set, with everything that decides the result and where it goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.engines.local import Local
from harness.inputs.nested import settings
from harness.inputs.project import runs_folder
from harness.postprocess import Postprocess
from harness.run.config import UNKEYED
from harness.run.stopping import Stop
from harness.stats.options import Options
from harness.store.finished import read_manifest
from harness.store.shards import Shards
from harness.types import Dataset, Engine, Examples, HarnessError, Metric, System, Tracker, check_least

Select = Callable[[Iterable[Examples]], Iterator[Examples]]
"""Some of the examples, in their order."""

LARGEST = 1e9
"""Gigabytes: more than a file can have."""


@dataclass(frozen=True)
class Round:
    """How far a cell goes in a round of a race (harness/run/rounds.py)."""

    share: float
    """Of the units of the data."""
    score: str
    """That is raced for."""
    error: float
    """How often the best may be dropped."""
    left: Sequence[int] = ()
    """The cells that are still in the race, by their numbers."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise HarnessError(f"race.share={self.share}; expected a share of the data, above 0 and at most 1")


@dataclass(frozen=True)
class Job:
    """One cell: the parts in the order in which data flows through them, then what goes with the run."""

    dataset: Dataset
    system: System
    postprocess: Postprocess
    metrics: Mapping[str, Metric]
    stats: Options
    tracker: Tracker
    key: str
    specs: Mapping[str, Mapping[str, Any]]
    """For each metric the `_target_` and options that made it, secrets masked."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The composed config, secrets masked."""
    select: Select = iter
    """Which examples of the data set are evaluated, before `limit`."""
    given_name: str | None = None
    limit: int | None = None
    output_dir: str | None = None
    group: str | None = None
    cell: Mapping[str, Any] | None = None
    """Which cell of the group's sweep it is (harness/store/sweep_cells.py)."""
    many: bool = False
    """One cell of several, so that `output_dir` is their parent."""
    retry_failed: bool = False
    max_failed: int | float | str | None = None
    cache: str = "auto"
    cache_gb: float = 4.0
    command: str = "the same command"
    """What was typed, to be shown where it should be typed again."""
    overrides: Sequence[str] = ()
    """The keys of the config that were set, by whoever typed the command or by a sweep."""
    call: Mapping[str, Any] | None = None
    """The same for the manifest: words, overrides and choices, secrets masked, and the folder it was typed in."""
    stop: Stop | None = None
    """Ends the run once its answer is known."""
    race: Round | None = None
    """How far it goes in this round of a race."""
    source: Path | None = None
    """The folder of the stored run that is scored again, where this job does nothing else."""
    engine: Engine = field(default_factory=Local)
    """Where outputs are generated and blocks are scored."""
    recipes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What makes the `system` and the `metrics` again elsewhere: `_target_` and options, secrets and all."""
    shards: Shards | None = None
    """The stored runs that become one, where this job does nothing else."""
    whole_key: str | None = None
    """Of a shard: the key of the config without `dataset.shard`. Outputs of a system whose identity is not known belong
    to it, so that those of all shards are those of the whole."""

    def __post_init__(self) -> None:
        named = self.given_name
        if named is not None and not any(letter.isprintable() and letter != " " for letter in named):
            raise HarnessError(f"name={named!r} is blank; expected a name, or null for <dataset>-<system>")
        if self.output_dir is not None and not self.output_dir.strip():
            raise HarnessError(f"output_dir={self.output_dir!r} is blank; expected a folder, . for the one you are in")
        check_least("limit", self.limit)
        if not 0 <= self.cache_gb < LARGEST:
            raise HarnessError(f"cache_gb={self.cache_gb}; expected gigabytes, 0 or more (0 keeps nothing)")

    @property
    def name(self) -> str:
        """The run's name."""
        return self.given_name or f"{self.dataset.name}-{self.system.name}"

    @property
    def folder(self) -> Path:
        """`runs/<experiment>/<name>-<key>` below the current folder, or what `output_dir` says."""
        own = f"{_safe(self.name)}-{self.key[:8]}"
        if self.output_dir is not None:
            return Path(self.output_dir) / own if self.many else Path(self.output_dir)
        return runs_folder() / _safe(self.tracker.experiment) / own

    @property
    def origins(self) -> Sequence[Path]:
        """The folders of the stored runs that this one is made of."""
        if self.shards is not None:
            return self.shards.folders
        return () if self.source is None else (self.source,)

    @property
    def shard(self) -> str | None:
        """`i/n` where the examples are a shard of the data set."""
        dataset = self.config.get("dataset")
        return dataset.get("shard") if isinstance(dataset, Mapping) else None

    @property
    def cache_bytes(self) -> int:
        return round(self.cache_gb * 1e9)

    @property
    def again(self) -> str:
        """The command that generates what failed."""
        return self.command if self.retry_failed else f"{self.command} retry_failed=true"

    def original(self) -> dict[str, Any] | None:
        """The manifest of the stored run that is scored again, or what is known of the run that shards become."""
        if self.shards is not None:
            return dict(self.shards.manifest)
        return read_manifest(self.source) if self.source else None


def check_same_config(job: Job, earlier: Mapping[str, Any] | None) -> None:
    """Another config never overwrites a run; `earlier` is the manifest that is in the folder."""
    if earlier is None or earlier["key"] == job.key:
        return
    before, after = dict(settings(earlier["config"])), dict(settings(job.config))
    changed = [
        f"{k}: {before.get(k, 'not set')} there, {after.get(k, 'not set')} here"
        for k in sorted({*before, *after})
        if before.get(k) != after.get(k) and k.partition(".")[0] not in UNKEYED
    ]
    raise HarnessError(
        f"{job.folder} holds a run of another config ({'; '.join(changed[:4])}); "
        "expected the same config, or another output_dir"
    )


def _safe(name: str) -> str:
    """A name as a folder's name."""
    return re.sub(r"[^\w.+-]+", "_", name).strip(".")[:100] or "_"
