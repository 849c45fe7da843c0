"""`harness reproduce`: which runs there are, whether they may be executed, and at which level."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.analysis.papers import bundle_check as bundled
from harness.analysis.papers import bundling
from harness.analysis.papers.reproducing import Again, from_outputs
from harness.analysis.papers.sameness import Checked
from harness.analysis.papers.would_run import would_run
from harness.analysis.stored.loading import find_run
from harness.analysis.stored.trust import Trust
from harness.cli.hydra import calling
from harness.cli.output import complain
from harness.report.terminal.progress import bars
from harness.store import finished, zipped
from harness.types import HarnessError
from harness.types.reproductions import CannotBeTried, Difference, Reproduction, Reproductions


def reproduce(options: Any) -> Reproductions:
    """What the flags of `harness reproduce` ask for."""
    calling.begin(["reproduce", options.run])
    with _opened(Path(options.run)) as bundle:
        folders = [find_run(options.run).absolute()] if bundle is None else _runs(bundle)
        if options.level == "system" or options.environment:
            _announce(folders, options)
        if options.environment:
            from harness.cli.hydra.recreating import in_environment

            return in_environment(folders, options)
        return _at_level(folders, bundle, options)


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


def _runs(bundle: Path) -> list[Path]:
    return [bundle.absolute() / name for name in bundling.described(bundle)["runs"]]


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
        beside.differences += bundled.changed_members(bundle)
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
            if not beside.differences:
                raise
            again = Reproduction(
                folder.name, "outputs", 0, [Difference(folder.name, "cannot be read", None, str(error))]
            )
        runs.append(again.reproduction if isinstance(again, Again) else again)
        scored += [again] if isinstance(again, Again) else []
    if bundle is not None and len(scored) == len(folders):
        here = [again.here for again in scored]
        if bundling.described(bundle)["compared"]:
            bundled.compare_comparisons(bundle, here, beside, progress)
        bundled.compare_tables(bundle, [again.stored for again in scored], here, beside, progress)
    return Reproductions(runs, beside.differences, beside.compared)


def _missing(folder: Path, level: str, error: HarnessError) -> Reproduction:
    manifest = finished.read_manifest(folder) or {}
    return Reproduction(manifest.get("name", folder.name), level, missing=[str(error)])
