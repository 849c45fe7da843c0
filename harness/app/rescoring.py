"""`harness score`: a stored run's config takes the place of conf/config.yaml, overrides go on top."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from harness import config as core
from harness import masking
from harness.app import calling, ending, errors
from harness.app.jobs import parts
from harness.store.listing import record
from harness.types import HarnessError

SCORABLE = ("metrics", "postprocess", "stats", "tracking", "name", "output_dir", "progress")


def score(run: str, overrides: list[str], config_dir: str | None = None, as_json: bool = False) -> None:
    """`harness score RUN OVERRIDES…`"""
    calling.begin(["score", run, *overrides])
    with calling.interruptible(), initialize_config_dir(str(core.conf_dir()), version_base="1.3"):
        errors.report(lambda: _score(run, overrides, config_dir, as_json), overrides)


def _score(run: str, overrides: list[str], config_dir: str | None, as_json: bool) -> None:
    from harness import runner
    from harness.api import find_run
    from harness.report.progress import bars
    from harness.report.terminal import print_run
    from harness.store.rescored import Stored, StoredDataset, StoredSystem

    folder = find_run(run)
    stored = Stored(folder)
    config = {**stored.manifest["config"], "name": None, "output_dir": None, "group": None}
    composed = compose("stored", overrides=_over_stored(config, overrides, config_dir))
    changed = {k: OmegaConf.to_container(composed[k], resolve=True) for k in SCORABLE[:4]}
    raw = {k: OmegaConf.to_container(composed[k], resolve=False) for k in SCORABLE[:4]}
    shown = masking.masked(changed, raw)
    config.update({k: composed[k] for k in SCORABLE[4:]})
    plan = runner.Job(
        dataset=StoredDataset(stored),
        system=StoredSystem(stored),
        **parts(changed),
        specs=shown["metrics"],
        key=core.key({**config, **changed}, raw),
        config={**config, **shown},
        name=composed.name or stored.manifest["name"],
        output_dir=composed.output_dir,
        command=calling.command(),
        source=folder,
    )
    with ending.reserved(as_json):
        result = runner.run(plan, bars(composed.progress))
    if as_json:
        assert result.path is not None
        ending.print_runs_as_json([record(result.path)])
    else:
        print_run(result)


def _over_stored(config: Mapping[str, Any], overrides: list[str], config_dir: str | None) -> list[str]:
    """Puts a stored config where Hydra composes from; the overrides, chosen metrics beside the stored ones."""
    store = ConfigStore.instance()
    store.store(name="core", node=core.Config)
    for group in ("metrics", "postprocess", "stats", "tracking"):
        for name in ("_stored", "_kept"):  # before and after what is chosen: the order and the options that were there
            store.store(group=group, name=name, node=config[group])
    defaults: list[Any] = ["core", {"metrics": ["_stored"]}]
    defaults += [{group: "_stored"} for group in ("postprocess", "stats", "tracking")]
    store.store(name="stored", node={"defaults": [*defaults, "_self_"]})
    found = [f"hydra.searchpath=[file://{Path(config_dir).absolute()}]"] if config_dir else []
    for text, override in zip(overrides, OverridesParser.create().parse_overrides(overrides), strict=True):
        part = override.key_or_group.partition(".")[0]
        if part not in SCORABLE:
            raise HarnessError(
                f"{text}: harness score generates nothing, so {part} stays as it is; expected {', '.join(SCORABLE)}"
            )
        if override.key_or_group == "metrics" and not override.is_delete():
            chosen = override.value()
            names = chosen if isinstance(chosen, list) else [chosen]
            text = f"metrics=[_stored,{','.join(map(str, names))},_kept]"
        found.append(text)
    return found
