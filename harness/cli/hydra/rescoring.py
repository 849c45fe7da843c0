"""`harness score`: a stored run's config takes the place of conf/config.yaml, overrides go on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf

from harness import masking
from harness.cli import output
from harness.cli.hydra import calling, ending, explaining, received, view_words
from harness.cli.hydra.checking import check_flags, check_values
from harness.cli.hydra.composing import SCORING, build, scoring_parts, typed_keys
from harness.cli.hydra.interpolations import origins
from harness.cli.hydra.versions import BASE, put
from harness.run import config as core
from harness.store.records import record
from harness.tracking.surrounding import settled
from harness.types import HarnessError
from harness.types.settings import Config

CHOSEN = (*SCORING, "engine")
"""Parts of the config that overrides change; where the stored run was computed says nothing of where this one is."""
SCORABLE = (*CHOSEN, "name", "output_dir", "progress")


@dataclass(frozen=True)
class Options:
    """The flags of `harness score`."""

    config_dir: str | None = None
    as_json: bool = False
    trust: bool = False


def score(run: str, overrides: list[str], options: Options) -> None:
    """`harness score RUN OVERRIDES…`"""
    calling.begin(["score", run, *overrides])
    with initialize_config_dir(str(core.conf_dir()), **BASE):
        explaining.report(lambda: _score(run, view_words.added(overrides), options), overrides)


@dataclass(frozen=True)
class Origin:
    """The stored run, or runs, whose outputs are scored."""

    manifest: Mapping[str, Any]
    folder: Path
    """That of the manifest's config, for messages."""
    parts: Mapping[str, Any]
    """Of the job: the data set, the system and where rows are."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Name, output_dir and progress, where they are not given as overrides."""


def _score(run: str, overrides: list[str], options: Options) -> None:
    from harness.analysis.stored.loading import find_run
    from harness.store.rescored import Stored, StoredDataset, StoredSystem

    folder = find_run(run)
    stored = Stored(folder)
    if stored.hashed:
        raise HarnessError(f"{folder} was packed without its texts (harness bundle --no-text); expected texts to score")
    parts = {"dataset": StoredDataset(stored), "system": StoredSystem(stored), "source": folder}
    scored(Origin(stored.manifest, folder, parts), overrides, options)


def scored(origin: Origin, overrides: list[str], options: Options) -> None:
    """Scores stored outputs by the config that they have, with overrides on top, and prints the result."""
    from harness.report.terminal.progress import bars
    from harness.report.terminal.summary import print_run
    from harness.run.job import Job
    from harness.run.runner import run as run_job

    config = {**origin.manifest["config"], "name": None, "output_dir": None, "group": None}
    if isinstance(config.get("tracking"), dict):
        config["tracking"] = {**config["tracking"], "under": None}  # that surrounded the stored run, not this one
    parts = received.checked(config, f"{origin.folder / 'manifest.json'}")
    parsed = OverridesParser.create().parse_overrides(overrides)
    composed = compose("stored", overrides=_over_stored(parts, overrides, parsed, options.config_dir))
    check_flags(composed)
    changed: dict[str, Any] = {k: OmegaConf.to_container(composed[k], resolve=True) for k in CHOSEN}
    settings = {k: composed[k] for k in SCORABLE if k not in CHOSEN} | dict(origin.settings)
    check_values({**changed, **settings})
    stranger = received.Received(config, parsed, options.config_dir, options.trust)
    stranger.check(changed)
    tracking, anonymous = stranger.store(changed["tracking"])
    tracking = settled(tracking)
    changed["tracking"] |= {name: tracking[name] for name in ("experiment", "under")}
    sources = origins(composed)
    shown = masking.masked(changed, sources)
    config.update(settings)
    job = Job(
        **origin.parts,
        **scoring_parts({**changed, "tracking": tracking}),
        engine=build(changed["engine"], "engine"),
        recipes={"metrics": changed["metrics"]},
        specs=shown["metrics"],
        key=core.key({**config, **changed}, sources, received=not options.trust),
        config={**config, **shown},
        given_name=settings["name"] or origin.manifest["name"],
        output_dir=settings["output_dir"],
        command=calling.command(),
        overrides=tuple(dict.fromkeys((*origin.manifest.get("overrides", ()), *typed_keys(parsed)))),
        call=calling.recorded(),
    )
    if anonymous:
        job.tracker.anonymous = True  # type: ignore[attr-defined]
    with output.reserved(options.as_json):
        result = run_job(job, bars(settings["progress"]))
    if options.as_json:
        assert result.path is not None
        ending.print_runs_as_json([record(result.path)])
    else:
        print_run(result)


def _over_stored(
    config: Mapping[str, Any], overrides: list[str], parsed: list[Override], config_dir: str | None
) -> list[str]:
    """Puts a stored config where Hydra composes from; gives the overrides, chosen metrics beside the stored ones."""
    put("core", Config)
    for group in SCORING:
        for name in ("_stored", "_kept"):  # before and after what is chosen: the order and the options that were there
            put(name, config[group], group)
    defaults: list[Any] = ["core", {"metrics": ["_stored"]}]
    defaults += [{group: "_stored"} for group in ("postprocess", "stats", "tracking")]
    defaults.append({"engine": "local"})
    put("stored", {"defaults": [*defaults, "_self_"]})
    words = [f"hydra.searchpath=[file://{Path(config_dir).absolute()}]"] if config_dir else []
    for text, override in zip(overrides, parsed, strict=True):
        part = override.key_or_group.partition(".")[0]
        if part not in SCORABLE:
            raise HarnessError(
                f"{text}: harness score generates nothing, so {part} stays as it is; expected {', '.join(SCORABLE)}"
            )
        if override.key_or_group == "metrics" and not override.is_delete():
            chosen = override.value()
            names = chosen if isinstance(chosen, list) else [chosen]
            text = f"metrics=[_stored,{','.join(map(str, names))},_kept]"
        words.append(text)
    return words
