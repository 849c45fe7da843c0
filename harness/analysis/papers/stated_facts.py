"""What the files of a run say of each other, on which no score depends: name, seed, signatures, number of examples,
the data's fingerprint, the config. A folder whose scores are right may still state a seed or a tokenizer that it did
not use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import yaml

from harness.analysis.papers.sameness import Checked
from harness.inputs import regular
from harness.inputs.hashing import Content, hashed_examples
from harness.store import finished
from harness.store.rescored import Stored, StoredDataset
from harness.store.textless import HASHED
from harness.types import Examples, RunResult, Texts

MOST_VALUES = 100_000
"""That a config may have: there are a hundred in one."""
HASH = re.compile(r"sha256:[0-9a-f]{64}")
HUMAN = "harness.systems.human.Human"
"""Leaves out the reference that it gives as its output: stored references are not those of the data."""


def compare_stated(folder: Path, stored: RunResult, checked: Checked) -> None:
    """Each statement beside what it is about."""
    manifest, scores = finished.documents(folder)
    config = manifest["config"]
    checked.value("manifest.json", "name", manifest["name"], scores["name"])
    checked.value("manifest.json", "seed", manifest["seed"], (config.get("stats") or {}).get("seed"))
    checked.value("manifest.json", "health", manifest.get("health"), scores.get("health"))
    if manifest.get("texts") == HASHED and not _are_hashes(stored):
        checked.value("manifest.json", "texts", HASHED, "plain texts in examples.parquet")
    for name, statistics in stored.statistics.items():
        signature = str(statistics.signature)
        stated = (manifest["metrics"].get(name) or {}).get("signature")
        checked.value("manifest.json", f"signature of {name}", stated, signature)
        for score in statistics.metric.score_names:
            if score in stored.scores:
                checked.value("scores.json", f"{score}.signature", stored.scores[score].signature, signature)
    if manifest.get("stopped") is None and manifest.get("raced") is None:
        number = len(stored.columns("id").column("id").unique())
        checked.value("manifest.json", "examples", manifest["dataset"]["examples"], number)
        checked.value("scores.json", "examples", scores["examples"], number)
        if (key := _fingerprint(folder, manifest)) is not None:
            checked.value("manifest.json", "the data's fingerprint", manifest["dataset"]["key"], key)
    _compare_config(folder, config, checked)


def _are_hashes(run: RunResult) -> bool:
    """Whether the outputs are as harness bundle --no-text writes them: a folder that only says so is to be scored."""
    outputs = run.columns("output").column("output").to_pylist()
    return all(text is None or HASH.fullmatch(text) for text in outputs)


def _fingerprint(folder: Path, manifest: Mapping[str, Any]) -> str | None:
    """Of the stored examples; None where these do not tell all that the data's is made of (store/rescored.py)."""
    dataset, system = manifest["dataset"], manifest["config"].get("system") or {}
    part = manifest.get("shards") or (dataset.get("content") or {}).get("whole")
    if part or dataset.get("fields") or manifest.get("texts") == HASHED or system.get("_target_") == HUMAN:
        return None
    content = Content()
    for block in StoredDataset(Stored(folder)).blocks():
        if not _whole(block):
            return None
        content.add(hashed_examples(block))
    return content.key


def _whole(examples: Examples) -> bool:
    """Whether these have texts and plain numbers only: what is absent, null or nested is not told apart."""
    if examples.contexts is not None or examples.relevant is not None:
        return False
    return all(
        not column.array.null_count if isinstance(column, Texts) else all(map(_plain, column))
        for column in examples.metadata.values()
    )


def _plain(value: Any) -> bool:
    return type(value) in (str, int) or (type(value) is float and isfinite(value))


def _compare_config(folder: Path, config: Mapping[str, Any], checked: Checked) -> None:
    """config.yaml beside the config of manifest.json."""
    try:
        written = yaml.safe_load(regular.read(folder / "config.yaml"))
    except FileNotFoundError:
        return
    except (OSError, ValueError, yaml.YAMLError) as error:
        checked.value("config.yaml", "cannot be read", None, str(error).splitlines()[0])
        return
    if not _is_small(written):  # a few aliases of aliases are gigabytes once they are written out
        checked.value("config.yaml", "size", f"over {MOST_VALUES:,} values", None)
        return
    written = written if isinstance(written, dict) else {}
    for name in dict.fromkeys((*written, *config)):
        checked.value("config.yaml", name, written.get(name), config.get(name))


def _is_small(document: Any) -> bool:
    waiting, seen = [document], 0
    while waiting and seen <= MOST_VALUES:
        value = waiting.pop()
        seen += 1
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return seen <= MOST_VALUES
