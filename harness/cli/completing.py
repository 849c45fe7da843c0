"""What a shell offers while a command is typed: commands, flags, groups and their choices, options, names of runs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

KEYED = re.compile(r"(.+)-[0-9a-f]{8}")
"""A run folder: its run's name and key."""
OVERRIDING = ("run", "score")
"""Commands that take overrides."""
RUN_FLAGS = ("--multirun", "--dry-run", "--json", "--from", "--trust", "--cfg", "--config-dir", "--help")
MOST = 2_000
"""Folders that are looked at for names of runs."""


def candidates(line: str, commands: Mapping[str, argparse.ArgumentParser]) -> list[str]:
    """What the last word of a line up to the cursor can become; `commands` with their parsers."""
    words = line.split()
    if not words or line[-1:].isspace():
        words.append("")
    words = [word.strip("'\"") for word in words[1:]]  # without the program
    if not words:
        return []
    *before, last = words
    return [word for word in dict.fromkeys(_offered(before, last, commands)) if word.startswith(last) and word != last]


def _offered(before: list[str], last: str, commands: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    if not before:
        yield from (*commands, "--help", "--version")
        return
    command = before[0]
    if last.startswith("-"):
        yield from RUN_FLAGS if command == "run" else _flags(commands.get(command))
        return
    if command in OVERRIDING:
        yield from _overrides(before[1:], last)
    if command != "run" or before[-1] == "--from":
        from harness.inputs.project import runs_folder

        yield from run_names(runs_folder())


def _overrides(before: list[str], last: str) -> Iterator[str]:
    from harness.cli.choices_of_groups import Configs

    configs = Configs.of(before)
    group, equals, typed = last.partition("=")
    if equals:
        begun = re.split(r"[\[,]", typed)[-1]  # of a list, its last
        head = last[: len(last) - len(begun)]
        yield from (f"{head}{choice}" for choice in configs.choices(group) if group in configs.groups())
        return
    yield from (f"{name}=" for name in configs.groups())
    if "." in last:
        chosen = {**configs.defaults(), **configs.chosen(before)}
        group = last.partition(".")[0]
        yield from (f"{key}=" for key in configs.keys(group, chosen.get(group, [])))
    yield from (f"{key}=" for key in configs.top() if "." in last or "." not in key)


def run_names(below: Path) -> Iterator[str]:
    """Names of the runs there are, each once, the newest first, and folders where a run has a name of its own."""
    folders: Iterable[Path] = below.glob("*/*/manifest.json") if below.is_dir() else ()
    known = sorted(((path.stat().st_mtime, path.parent) for path in folders), reverse=True)[:MOST]
    for _, folder in known:
        match = KEYED.fullmatch(folder.name)
        yield match[1] if match else str(folder)


def _flags(parser: argparse.ArgumentParser | None) -> Iterator[str]:
    for action in parser._actions if parser else ():
        yield from (flag for flag in action.option_strings if flag.startswith("--"))
