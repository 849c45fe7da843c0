"""`harness reproduce`: which runs there are, whether they may be executed, and at which level."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.analysis.papers import bundle_check as bundled
from harness.analysis.papers import bundling
from harness.analysis.papers.bundle_facts import stated_differences
from harness.analysis.papers.reproducing import Again, from_outputs
from harness.analysis.papers.sameness import Checked
from harness.analysis.papers.would_run import would_run
from harness.analysis.stored.loading import find_run
from harness.analysis.stored.trust import Trust
from harness.cli.hydra import calling
from harness.cli.output import complain
from harness.inputs import files
from harness.report.terminal.progress import bars
from harness.store import finished, zipped
from harness.types import HarnessError
from harness.types.reproductions import Bundle, CannotBeTried, Difference, Reproduction, Reproductions


def reproduce(options: Any) -> Reproductions:
    """What the flags of `harness reproduce` ask for."""
    calling.begin(["reproduce", options.run])
    path = Path(options.run)
    digest = files.file_digest(path) if path.is_file() else None
    if options.expect and digest is None:
        raise HarnessError(f"--expect is for bundles, and {options.run} is no file; expected a .zip")
    if options.expect and digest != options.expect.lower():  # nothing of it is unpacked
        other = Difference(options.run, "SHA-256", options.expect.lower(), digest)
        return Reproductions([], [other], 1, bundle=Bundle(options.run, digest))
    with _opened(path) as place:
        if place is None:
            return _executed([find_run(options.run).absolute()], None, options)
        folders = [place.absolute() / name for name in bundling.described(place, options.run)["runs"]]
        figures = len(list((place / "figures").glob("*.svg")))
        result = _executed(folders, place, options)
        return replace(result, bundle=Bundle(options.run, digest, figures))


def _executed(folders: list[Path], bundle: Path | None, options: Any) -> Reproductions:
    if options.level == "system" or options.environment:
        _announce(folders, options)
    if not options.environment:
        return _at_level(folders, bundle, options)
    from harness.cli.hydra.recreating import in_environment

    result = in_environment(folders, options)
    beside = [] if bundle is None else _of_files(bundle, folders)  # runs may have been executed one by one
    return replace(result, beside=[*result.beside, *(each for each in beside if each not in result.beside)])


@contextmanager
def _opened(path: Path) -> Iterator[Path | None]:
    """Where a bundle was unpacked; None where a run is named."""
    if path.is_dir() and (path / "bundle.json").is_file():
        yield path
    elif path.is_file():
        with tempfile.TemporaryDirectory(prefix="harness-bundle-") as place:
            zipped.unpack(path, Path(place))
            yield Path(place)
    else:
        yield None


def _of_files(bundle: Path, folders: list[Path]) -> list[Difference]:
    """What of a bundle is not as it was packed, and what does not belong to its runs."""
    return [*bundled.changed_members(bundle), *stated_differences(bundle, folders)]


def _announce(folders: list[Path], options: Any) -> None:
    """Prints what would be run and installed, and goes on only where that is trusted."""
    lines: dict[str, None] = {}
    for folder in folders:
        manifest = finished.documents(folder)[0]
        if options.level == "system":
            lines |= dict.fromkeys(f"run {line}" for line in would_run(manifest))
        if options.environment:
            from harness.cli.hydra.recreating import locked

            scored = (line for line in would_run(manifest) if line.startswith(("metrics.", "postprocess")))
            lines |= dict.fromkeys(f"run {line}" for line in scored)
            packages = sorted(locked([folder])[0][0].packages.items())
            lines |= dict.fromkeys(f"install {name}=={version}" for name, (version, _) in packages)
    for line in lines:
        complain(f"would {line}")
    if not options.trust:
        raise CannotBeTried(
            f"{options.run} names all of this, and may come from anyone; expected --trust, which runs and installs it"
        )


def _at_level(folders: list[Path], bundle: Path | None, options: Any) -> Reproductions:
    progress = bars(not options.no_progress)
    beside = Checked(options.tolerance)
    if bundle is not None:
        beside.differences += _of_files(bundle, folders)
        beside.compared += sum(1 for path in bundle.rglob("*") if path.is_file()) - 1
    runs: list[Reproduction] = []
    scored = []
    for folder in folders:
        if options.level == "system":
            from harness.cli.hydra.executing import from_system

            try:
                runs.append(from_system(folder, options.overrides, Checked(options.tolerance), progress))
            except CannotBeTried as error:
                runs.append(_missing(folder, "system", error))
            continue
        try:
            again = from_outputs(folder, Trust(everything=options.trust), progress, options.tolerance)
        except CannotBeTried as error:
            again = _missing(folder, "outputs", error)
        except HarnessError as error:
            if bundle is None:
                raise
            again = Reproduction(
                folder.name, "outputs", 0, [Difference(folder.name, f"cannot be read: {error}", None, None)]
            )
        runs.append(again.reproduction if isinstance(again, Again) else again)
        scored += [again] if isinstance(again, Again) else []
    if bundle is not None and len(scored) == len(folders):
        here = [again.here for again in scored]
        bundled.compare_comparisons(bundle, here, beside, progress)
        bundled.compare_tables(bundle, [again.stored for again in scored], here, beside, progress)
    return Reproductions(runs, beside.differences, beside.compared)


def _missing(folder: Path, level: str, error: HarnessError) -> Reproduction:
    manifest = finished.read_manifest(folder) or {}
    return Reproduction(manifest.get("name", folder.name), level, missing=[str(error)])
