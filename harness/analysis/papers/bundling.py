"""`harness bundle`: runs, their tables, figures and comparisons in one file, so that a reader can check all of it.

README.md          three commands that check the bundle
DATA.md            the data sets with their fingerprints and licences, and the files that the runs were made of
CITATION.cff
bundle.json        what is in it, for `harness reproduce`
runs/NAME/         the run folders: outputs and rows, or without texts rows and hashes
comparisons.json   paired tests of runs on the same data
tables/ figures/   made from these runs
SHA256SUMS         of all of the above
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from harness.analysis.comparing.comparing import compare
from harness.analysis.papers.reproducing import changed_files
from harness.analysis.papers.tabulate import FORMATS, Layout, table
from harness.analysis.stored.loading import load_run
from harness.inputs import regular
from harness.masking import packing
from harness.report import bundle_texts
from harness.report.bundle_texts import About
from harness.stats.options import ComparisonOptions
from harness.store import finished
from harness.store.shape import FILES
from harness.store.textless import without_texts
from harness.types import HarnessError, Progress, RunResult, nearest

SCHEMA = 1
PACKED = (*FILES, "config.yaml", "environment.json", "outputs.jsonl")
TEXTLESS = (*FILES, "config.yaml", "environment.json")
TEXTS = ("source", "references", "output", "raw_output", "error")
COMPARISONS = "comparisons.json"
SUFFIXES = {"markdown": "md", "latex": "tex", "csv": "csv"}
OPTIONS = ("test", "alternative", "correction", "method", "level", "resamples", "seed")


def run_files(folder: Path, texts: bool) -> dict[str, bytes]:
    """The files of a run folder as they are packed: the manifest without the name of the folder on this machine."""
    manifest, scores = finished.documents(folder)
    if changed := changed_files(folder, manifest):
        file = folder / changed[0].place
        raise HarnessError(f"{file} is not as the run wrote it; expected a run that harness reproduce finds the same")
    if manifest.get("texts") is not None and texts:
        raise HarnessError(f"{folder} was packed without its texts; expected harness bundle --no-text for it too")
    contents = {}
    for name in PACKED if texts else TEXTLESS:
        path = folder / name
        if path.exists():
            contents[name] = regular.read(path)
    command = manifest.get("command")
    if command:
        manifest["command"] = {**command, "folder": None}
    if not texts and manifest.get("texts") is None:
        metrics = [statistics.metric for statistics in load_run(folder).statistics.values()]
        read = {field for metric in metrics for field in (*metric.reads, *metric.needs_fields, metric.groups) if field}
        contents["examples.parquet"], manifest = without_texts(folder, manifest, scores["scores"], read - {"id"})
    contents["manifest.json"] = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
    return contents


def laid_out(folders: Sequence[Path], texts: bool, place: Path) -> dict[str, dict[str, Any]]:
    """Puts the runs into an empty folder as they lie in the bundle; their manifests by their names there."""
    manifests: dict[str, dict[str, Any]] = {}
    for folder in folders:
        contents = run_files(folder, texts)
        manifest = orjson.loads(contents["manifest.json"])
        stem = re.sub(r"[^\w.+-]+", "_", manifest["name"]).strip(".")[:80] or "run"
        name, number = f"runs/{stem}", 2
        while name in manifests:
            name, number = f"runs/{stem}-{number}", number + 1
        (place / name).mkdir(parents=True)
        for file, content in contents.items():
            (place / name / file).write_bytes(content)
        manifests[name] = manifest
    return manifests


def check_secrets(place: Path, allowed: bool) -> list[str]:
    """The places of what looks like a secret in the files that would be packed; refuses them unless allowed."""
    held = packing.of_environment()
    places: list[str] = []
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.suffix == ".json":
            document = {k: v for k, v in orjson.loads(path.read_bytes()).items() if k not in ("packages", "key")}
            places += [f"{name}: {at}" for at in packing.in_document(document)]
            places += [name] if any(value in path.read_text("utf-8") for value in held.values()) else []
        elif path.suffix == ".parquet" and path.stem == "examples":
            places += [f"{name}: {at}" for at in _in_examples(path.parent, held)]
        elif path.is_file() and path.suffix in (".jsonl", ".yaml"):
            places += [f"{name} line {number}" for number in packing.in_lines(path.read_bytes(), held)]
    if places and not allowed:
        raise HarnessError(
            f"{places[0]} looks like a secret{f' (and {len(places) - 1} more places)' if len(places) > 1 else ''}; "
            "expected none in what is given away: --no-text leaves texts out, --allow-secrets packs it all the same"
        )
    return places


def _in_examples(folder: Path, held: dict[str, str]) -> list[str]:
    """The examples of which a text holds a secret."""
    from harness.store.example_table import read_examples

    rows = read_examples(folder)
    names = [name for name in rows.column_names if str(rows.schema.field(name).type).endswith(("string", "string>"))]
    places = []
    for name in names:
        for id_, value in zip(rows.column("id").to_pylist(), rows.column(name).to_pylist(), strict=True):
            texts = value if isinstance(value, list) else [value]
            if any(isinstance(text, str) and packing.in_text(text, held) for text in texts):
                places.append(f"{name} of example {id_!r}")
    return places


def together(runs: Sequence[RunResult]) -> list[RunResult]:
    """Those that share their data with another run: they can be compared."""
    counts = Counter(run.dataset_key for run in runs)
    return [run for run in runs if counts[run.dataset_key] > 1]


def comparable(runs: Sequence[RunResult]) -> bool:
    """Whether a bundle of these runs has comparisons."""
    return any(run.statistics for run in together(runs))


def comparisons(runs: Sequence[RunResult], options: ComparisonOptions, progress: Progress) -> dict[str, Any] | None:
    """comparisons.json: paired tests of all runs on the same data; None where there are no two."""
    if not comparable(runs):
        return None
    rows = compare(together(runs), None, options, progress)
    return {
        "schema": SCHEMA,
        **{name: getattr(options, name) for name in OPTIONS},
        "comparisons": [asdict(row) for row in rows],
        "macro_average": [asdict(row) for row in rows.macro],
    }


def contents(folders: Sequence[Path], place: Path, about: About, allowed: bool, progress: Progress) -> dict[str, bytes]:
    """All files of the bundle by name; `place`: an empty folder to lay them out in."""
    manifests = laid_out(folders, about.texts, place)
    _check_licences(about, [manifest["dataset"]["name"] for manifest in manifests.values()])
    check_secrets(place, allowed)
    runs = [load_run(place / name) for name in manifests]
    options = ComparisonOptions()
    made: dict[str, bytes] = {}
    compared = comparisons(runs, options, progress)
    if compared is not None:
        made[COMPARISONS] = (json.dumps(compared, indent=2) + "\n").encode()
    for form in FORMATS:
        made[f"tables/scores.{SUFFIXES[form]}"] = table(runs, None, Layout(form), options, progress).encode()
    made |= _figures(runs, options, progress)
    tables = sorted(name for name in made if "/" in name)
    made["README.md"] = bundle_texts.readme(manifests, about, compared is not None, tables).encode()
    made["DATA.md"] = bundle_texts.data_card(manifests, about).encode()
    made["CITATION.cff"] = bundle_texts.citation(manifests, about).encode()
    described = {"schema": SCHEMA, "runs": list(manifests), "texts": about.texts, "compared": compared is not None}
    made["bundle.json"] = (json.dumps(described, indent=2) + "\n").encode()
    packed = {p.relative_to(place).as_posix(): p.read_bytes() for p in place.rglob("*") if p.is_file()}
    return {**packed, **made}


def _check_licences(about: About, datasets: Sequence[str]) -> None:
    for name in about.licences or {}:
        if name not in datasets:
            known = ", ".join(dict.fromkeys(datasets))
            raise HarnessError(f"licence {name}: no run is on it{nearest(name, datasets)}; expected one of {known}")


def _figures(runs: Sequence[RunResult], options: ComparisonOptions, progress: Progress) -> dict[str, bytes]:
    """The figures that make sense for the runs, as SVG."""
    from harness.analysis.figures import Wanted, wanted_figures
    from harness.report.charts.rendering import rendered

    figures = wanted_figures(runs, None, Wanted(), options, progress)
    return {f"figures/{figure.name}.svg": rendered(figure, ".svg") for figure in figures}


def described(place: Path, name: str = "the bundle") -> Mapping[str, Any]:
    """bundle.json of an unpacked bundle; `name`: what it is called in a message."""
    try:
        document = orjson.loads(regular.read(place / "bundle.json"))
        names = document["runs"]
        right = (
            document["schema"] == SCHEMA and names and all(re.fullmatch(r"runs/[\w+-][\w.+-]*", name) for name in names)
        )
        right = right and isinstance(document["compared"], bool) and len(set(names)) == len(names)
    except (OSError, ValueError, KeyError, TypeError):
        right = False
    if not right:
        raise HarnessError(f"{name} has no bundle.json of a bundle; expected a zip that harness bundle wrote")
    bundle: Mapping[str, Any] = document
    return bundle
