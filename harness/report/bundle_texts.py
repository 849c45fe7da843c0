"""What a bundle says of itself: a README with the commands that check it, a card of the data, and how to cite it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class About:
    """What the packer says of the bundle."""

    file: str = "paper.zip"
    title: str | None = None
    authors: Sequence[str] = ()
    licences: Mapping[str, str] | None = None
    """By data set."""
    texts: bool = True


def readme(runs: Mapping[str, Manifest], about: About, compared: bool, tables: Sequence[str]) -> str:
    """`runs`: the manifests by their folders in the bundle."""
    lines = [
        f"# {about.title or 'Evaluation results'}", "",
        "Three commands check this bundle. Each ends with a verdict: exit code 0 the same, 1 different, 3 cannot be "
        "tried.", "",
        "```console",
        *(f"$ {command}" for command in commands(about.file)),
        "```", "",
        _first(about.texts, compared),
        "The second reads the data and generates every output again: DATA.md says which files that takes. It runs what "
        "the configs in `runs/` name.",
        "The third does what the first does, in a new virtual environment with the packages that were recorded.", "",
        "| folder | data set | system | examples |", "| --- | --- | --- | --- |",
    ]  # fmt: skip
    lines += run_rows(runs)
    others = [*tables, *(["comparisons.json"] if compared else [])]
    if others:
        lines += ["", "Made from these runs: " + ", ".join(f"`{name}`" for name in others) + "."]
    lines += [
        "",
        "`sha256sum -c SHA256SUMS` tells whether the files are those that were packed. Whoever changes a file can "
        "change that list too: compare the SHA-256 of this bundle, which the first command prints, with the one "
        "that its authors published (`--expect SHA256`).",
        "",
    ]
    return "\n".join(lines)


def commands(file: str) -> tuple[str, ...]:
    """The three that check a bundle, as one types them.

    >>> commands("my paper.zip")[0]
    "harness reproduce 'my paper.zip'"
    """
    reproduce = f"harness reproduce {shlex.quote(file)}"
    return reproduce, f"{reproduce} --from system --trust", f"{reproduce} --environment --trust"


def run_rows(runs: Mapping[str, Manifest]) -> list[str]:
    """The rows of the README's table of runs."""
    rows = []
    for folder, made in runs.items():
        row = (f"`{folder}`", made["dataset"]["name"], made["system"]["name"], f"{made['dataset']['examples']:,}")
        rows.append(f"| {' | '.join(map(_cell, row))} |")
    return rows


def _first(texts: bool, compared: bool) -> str:
    if texts:
        tests = ", p-value" if compared else ""
        return f"The first scores the stored outputs again and compares every score, bound{tests} and example."
    tests = ", bound and p-value" if compared else " and bound"
    return (
        f"The first computes every score{tests} again from the stored rows of statistics. The texts are not "
        "in this bundle, only their SHA-256: they cannot be scored again from it."
    )


def data_card(runs: Mapping[str, Manifest], about: About) -> str:
    """A section for each data set: its fingerprint, its licence, and the files that it and the systems were read
    from."""
    lines = ["# Data", ""]
    sets: dict[str, list[Manifest]] = {}
    for made in runs.values():
        sets.setdefault(made["dataset"]["key"], []).append(made)
    for key, members in sets.items():
        dataset = members[0]["dataset"]
        licence = (about.licences or {}).get(dataset["name"], "not stated")
        lines += [
            f"## {dataset['name']}", "", f"- examples: {dataset['examples']:,}", f"- fingerprint: `{key}`",
            f"- licence: {' '.join(licence.split())}",
            f"- texts in this bundle: {'yes' if about.texts else 'no, SHA-256 only'}",
        ]  # fmt: skip
        lines += [f"- {name}: {value}" for name, value in (dataset.get("about") or {}).items()]
        files = {
            (each["option"], each["path"], each.get("file", ""), each["sha256"]): each
            for made in members
            for each in made.get("inputs") or []
        }
        if files:
            lines += ["", "| option | file | bytes | SHA-256 |", "| --- | --- | --- | --- |"]
            lines += [
                f"| {_cell(option)} | {_cell(f'{path}/{inside}' if inside else path)} | {each['bytes']:,} | "
                f"`{each['sha256']}` |"
                for (option, path, inside, _), each in files.items()
            ]
        lines.append("")
    return "\n".join(lines)


def citation(runs: Mapping[str, Manifest], about: About) -> str:
    """CITATION.cff of the bundle."""
    names = list(about.authors) or ["The authors of these results"]
    return str(
        yaml.safe_dump(
            {
                "cff-version": "1.2.0",
                "message": "Cite the paper that these results belong to.",
                "type": "dataset",
                "title": about.title or "Evaluation results",
                "authors": [_author(name) for name in names],
                "date-released": max(made["ended"] for made in runs.values())[:10],
                "identifiers": [
                    {"type": "other", "value": made["result"], "description": f"result of {made['name']}"}
                    for made in runs.values()
                    if made.get("result")
                ],
            },
            sort_keys=False,
            allow_unicode=True,
        )
    )


def _author(name: str) -> dict[str, str]:
    """`Family, Given`, or the name of a group."""
    family, comma, given = name.partition(",")
    return {"family-names": family.strip(), "given-names": given.strip()} if comma else {"name": name}


def _cell(text: str) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
