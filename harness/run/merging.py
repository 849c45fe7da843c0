"""`harness merge`: stored runs of all shards of a data set, checked, and what is known of the run that they become.

The run itself is made by runner.py, as any other: its data set and its system are the shards' rows (store/shards.py).
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.inputs.hashing import Content
from harness.inputs.nested import settings
from harness.run import generation
from harness.run.config import UNKEYED, key, of_whole
from harness.run.sharding import without_data
from harness.store import journal
from harness.store.finished import documents
from harness.store.folder import described_rows
from harness.store.shape import time_of
from harness.store.shards import Shards
from harness.types import HarnessError, Outputs
from harness.types.shown import counted

log = logging.getLogger(__name__)
SHARD = re.compile(r"(\d{1,18})/(\d{1,18})", re.ASCII)
SUMMED = ("generated", "cached", "input_tokens", "output_tokens", "cost")
KEPT = ("key", "machine", "git", "harness", "packages", "python", "started", "ended")
"""What the manifest of the whole says of each shard."""
DRAWN = {"harness.systems.random.Random": "its outputs are references of other examples of their shard"}
"""Systems that look at all examples before they answer."""


@dataclass(frozen=True)
class Part:
    """The stored run of one shard."""

    folder: Path
    manifest: Mapping[str, Any]
    number: int
    of: int

    @property
    def shard(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def config(self) -> Mapping[str, Any]:
        config: Mapping[str, Any] = self.manifest["config"]
        return config


def merged(folders: Sequence[Path], received: bool) -> Shards:
    """The shards in these folders as one run, after all checks; `received`: nothing that they name is imported."""
    parts = [_part(folder) for folder in folders]
    _check_numbers(parts)
    parts.sort(key=lambda part: part.number)
    _check_configs(parts, received)
    _check_systems(parts)
    _check_metrics(parts)
    content = _content(parts)
    shards = Shards([part.folder for part in parts], _manifest(parts, content))
    _say_what_differs(parts, received)
    return shards


# ---------------------------------------------------------------- checks


def _part(folder: Path) -> Part:
    manifest, _ = documents(folder)
    config = manifest["config"]
    shard = config.get("dataset", {}).get("shard")
    numbers = SHARD.fullmatch(shard) if isinstance(shard, str) else None
    if not numbers or int(numbers[1]) >= int(numbers[2]):
        raise HarnessError(
            f"{folder} is not the run of a shard (dataset.shard is {shard}); expected runs with dataset.shard=i/n"
        )
    if config.get("limit") is not None:
        raise HarnessError(
            f"{folder} was run with limit={config['limit']}, which each shard counts for itself; expected shards "
            "without limit (dataset.sample=N draws N examples of all)"
        )
    if manifest.get("stopped"):
        raise HarnessError(
            f"{folder} was run with stop.score, and ended when the answer of its shard was known; expected shards "
            "without stop"
        )
    if manifest["dataset"].get("content") is None:
        raise HarnessError(
            f"{folder} is of a harness that did not keep what the data's key is made of; expected the shard to be run "
            "again (the outputs in its journal are kept)"
        )
    return Part(folder, manifest, int(numbers[1]), int(numbers[2]))


def _check_numbers(parts: Sequence[Part]) -> None:
    """All shards of one number, each once."""
    first = parts[0]
    for part in parts:
        if part.of != first.of:
            raise HarnessError(
                f"{first.folder} is shard {first.shard} and {part.folder} is shard {part.shard}; expected shards of "
                "one number"
            )
    counts = Counter(part.number for part in parts)
    for number, count in counts.items():
        if count > 1:
            twice = [str(part.folder) for part in parts if part.number == number]
            raise HarnessError(f"shard {number}/{first.of} is given {count} times ({', '.join(twice)}); expected once")
    if len(parts) < first.of:
        missing = [f"{number}/{first.of}" for number in range(min(first.of, len(parts) + 3)) if number not in counts][
            :3
        ]
        more = "" if first.of - len(parts) <= len(missing) else f" and {first.of - len(parts) - len(missing)} others"
        raise HarnessError(
            f"{len(parts)} of {first.of} shards are given, without {', '.join(missing)}{more}; expected all of them"
        )


def _check_configs(parts: Sequence[Part], received: bool) -> None:
    """One config, but for the shard and for what does not decide results."""
    first, *others = parts
    whole = key(of_whole(first.config), received=received)
    for part in others:
        if key(of_whole(part.config), received=received) == whole:
            continue
        before, after = (dict(settings(of_whole(each.config))) for each in (first, part))
        changed = [
            f"{name}: {before.get(name, 'not set')} in {first.folder}, {after.get(name, 'not set')} in {part.folder}"
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name) and name.partition(".")[0] not in UNKEYED
        ]
        raise HarnessError(f"the shards have different configs ({'; '.join(changed[:4])}); expected the same")


def _check_systems(parts: Sequence[Part]) -> None:
    first, *others = parts
    for part in others:
        keys = [each.manifest["system"]["key"] for each in (first, part)]
        if keys[0] != keys[1]:
            shown = [str(key)[:8] for key in keys]
            raise HarnessError(
                f"the system of {first.folder} has the key {shown[0]}, that of {part.folder} {shown[1]}: its files, "
                "weights or outputs changed in between; expected the same system for all shards"
            )


def _check_metrics(parts: Sequence[Part]) -> None:
    first, *others = parts
    before = _definitions(first)
    for part in others:
        after = _definitions(part)
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                raise HarnessError(
                    f"{name} is defined differently in {first.folder} ({_shown(before.get(name))}) and in "
                    f"{part.folder} ({_shown(after.get(name))}); expected the same definition"
                )


def _definitions(part: Part) -> dict[str, dict[str, str]]:
    return {name: without_data(about["definition"]) for name, about in described_rows(part.folder).items()}


def _shown(definition: Mapping[str, str] | None) -> str:
    return "not there" if definition is None else "|".join(f"{name}:{value}" for name, value in definition.items())


def _content(parts: Sequence[Part]) -> Content:
    """Of all examples, from those of the shards, which must be of the same data."""
    first, *others = parts
    contents = [part.manifest["dataset"]["content"] for part in parts]
    for part, content in zip(others, contents[1:], strict=True):
        if content.get("whole") != contents[0].get("whole"):
            raise HarnessError(
                f"{first.folder} and {part.folder} are shards of different data; expected the same data set for all"
            )
    content = Content.summed(contents)
    selected = any(first.config["dataset"].get(name) is not None for name in ("filter", "sample"))
    if not selected and content.key != contents[0].get("whole"):
        raise HarnessError(
            f"the {counted(content.rows, 'example')} of the {len(parts)} shards are not those of the data "
            "set; expected each once, as dataset.shard chooses them"
        )
    return content


# ---------------------------------------------------------------- what is known


def _manifest(parts: Sequence[Part], content: Content) -> dict[str, Any]:
    """What is known of the whole, from the manifests of its parts."""
    first = parts[0].manifest
    manifests = [part.manifest for part in parts]
    repeats = max(manifest["system"]["repeats"] for manifest in manifests)
    return {
        "name": first["name"] if len({manifest["name"] for manifest in manifests}) == 1 else None,
        "config": of_whole(first["config"]),
        "dataset": {**first["dataset"], "key": content.key, "content": content.document},
        "system": {**first["system"], "repeats": repeats},
        "generation": _generation(parts),
        "started": min((manifest["started"] for manifest in manifests), key=time_of),
        "ended": max((manifest["ended"] for manifest in manifests), key=time_of),
        "shards": [{"shard": part.shard, **{k: part.manifest.get(k) for k in KEPT}} for part in parts],
    }


def _generation(parts: Sequence[Part]) -> dict[str, Any]:
    """Tokens, cost and counts are those of all shards, rates and latencies those of all their outputs."""
    content = journal.Content()
    for part in parts:
        there = journal.Journal(part.folder / "outputs.jsonl").content
        content.outputs.update(there.outputs)
        content.generated += there.generated
        content.cached += there.cached
        content.seconds += there.seconds
    facts = generation.facts(content, [Outputs.of(list(content.outputs.values()))], None)
    return {**facts, **{name: _total(parts, name) for name in SUMMED}}


def _total(parts: Sequence[Part], name: str) -> Any:
    known = [value for part in parts if (value := part.manifest["generation"].get(name)) is not None]
    return sum(known) if known else None


def _say_what_differs(parts: Sequence[Part], received: bool) -> None:
    """Where the run of the whole data set would have been another."""
    for note in _notes(parts[0], received) if len(parts) > 1 else ():
        log.warning("%s; a run of the whole data set may differ from what the shards become", note)


def _notes(part: Part, received: bool) -> Iterator[str]:
    system = part.manifest["system"]
    if system.get("about", {}).get("batch_invariant") == "false":
        yield f"a few tokens of an output of {system['name']} can depend on the batch that it was made in"
    target = part.config.get("system", {}).get("_target_")
    if isinstance(target, str) and target in DRAWN:
        yield f"{system['name']}: {DRAWN[target]}"
    if key(part.config, received=received) != part.manifest["key"]:
        yield "the config in the run folders is not all that its key was made of (values from the environment)"
