"""The YAML files of conf/ as people read them: which groups there are, what can be chosen of each, and the options of a
choice with the comments beside them. `harness run --help` and shell completion show it; neither needs Hydra."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.types import HarnessError, nearest

KEY = re.compile(r"^( *)([\w.]+):")
"""A line of YAML that sets a key."""
UNSHOWN = ("_target_", "defaults", "hydra")
"""Keys that are no options."""


@dataclass(frozen=True)
class Configs:
    """The folders with configs, those of users first."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Configs:
        """This package's, and before it that which the words of a command name by --config-dir, or the project file."""
        from harness.inputs.project import current
        from harness.run.config import conf_dir

        own = []
        for i, word in enumerate(words):
            flag, equals, value = word.partition("=")
            if flag in ("--config-dir", "-cd") and (equals or i + 1 < len(words)):
                own.append(Path(value if equals else words[i + 1]))
        project = current().config_dir
        return cls((*(own or ([] if project is None else [project])), conf_dir()))

    def groups(self) -> list[str]:
        return sorted(
            {
                path.name
                for folder in self.folders
                if folder.is_dir()
                for path in folder.iterdir()
                if path.is_dir() and not path.name.startswith(("_", "."))
            }
        )

    def choices(self, group: str) -> list[str]:
        return sorted({path.stem for folder in self.folders for path in (folder / group).glob("*.yaml")})

    def text(self, name: str) -> str:
        """Of `config`, or of a choice as `group/choice`."""
        for folder in self.folders:
            path = folder / f"{name}.yaml"
            if path.is_file():
                return path.read_text(encoding="utf-8")
        group, _, choice = name.rpartition("/")
        known = self.choices(group)
        raise HarnessError(f"there is no {group}={choice}{nearest(choice, known)}; expected one of {', '.join(known)}")

    def defaults(self) -> dict[str, list[str]]:
        """What is chosen of each group where nothing is said."""
        chosen = {}
        for entry in yaml.safe_load(self.text("config"))["defaults"]:
            for group, choice in entry.items() if isinstance(entry, dict) else ():
                if not group.startswith("override ") and choice is not None:
                    chosen[group] = _listed(choice)
        return chosen

    def chosen(self, words: Sequence[str]) -> dict[str, list[str]]:
        """What these overrides choose: `system=openai`, `metrics=[bleu,rouge]`."""
        groups = set(self.groups())
        chosen = {}
        for word in words:
            group, equals, choice = word.lstrip("+").partition("=")
            if equals and group in groups:
                chosen[group] = _listed(choice.strip("[]").split(","))
        return chosen

    def parts(self, group: str, choice: str) -> Iterator[tuple[str, str]]:
        """(choice, its options as they stand in its YAML), of what a choice is built on first."""
        text = self.text(f"{group}/{choice}")
        for entry in (yaml.safe_load(text) or {}).get("defaults") or ():
            if isinstance(entry, str) and entry != "_self_" and entry in self.choices(group):
                yield from self.parts(group, entry)
        if shown := options_of(text):
            yield choice, shown

    def keys(self, group: str, choices: Sequence[str]) -> list[str]:
        """`system.path`, …: what can be set of these choices."""
        names: dict[str, None] = {}
        for choice in choices:
            for _, text in self.parts(group, choice):
                names |= dict.fromkeys(f"{group}.{key}" for key in _keys(text))
        return list(names)

    def top(self) -> list[str]:
        """Keys beside the groups."""
        of_data = [f"dataset.{key}" for key in _keys(options_of(self.text("selection")))]
        return [*_keys(options_of(self.text("config"))), *of_data]


def options_of(text: str) -> str:
    """A config without what is no option: `_target_`, the defaults list, Hydra's own settings.

    >>> options_of("# use it so\\n_target_: a.B\\ndefaults:\\n  - other\\npath: ???   # a file\\n")
    '# use it so\\npath: ???   # a file'
    """
    kept, skipped = [], False
    for line in text.splitlines():
        match = KEY.match(line)
        if match and not match[1]:
            skipped = match[2] in UNSHOWN
        elif line and not line.startswith((" ", "-")):
            skipped = False
        nested = match and match[2] == "_target_"
        if not skipped and not nested and not line.startswith("# @package"):
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _keys(text: str) -> Iterator[str]:
    """Dotted names of the keys of a YAML text."""
    content = yaml.safe_load(text)
    yield from _below(content, "") if isinstance(content, dict) else ()


def _below(content: dict[str, Any], before: str) -> Iterator[str]:
    for key, value in content.items():
        if isinstance(value, dict) and value:
            yield from _below(value, f"{before}{key}.")
        else:
            yield f"{before}{key}"


def _listed(choice: Any) -> list[str]:
    return [
        str(each).strip() for each in (choice if isinstance(choice, list) else [choice]) if each not in ("", "null")
    ]
