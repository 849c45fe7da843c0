"""Hydra composes a config to see its `hydra.mode`, then the same config again with `hydra.mode=RUN`; and a cell of a
multirun to see that it can be composed, then again to run it. Once will do, for Hydra 1.3 as for 1.4."""

from __future__ import annotations

from typing import Any

import hydra._internal.hydra as hydra_application
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, flag_override

MODE = "hydra.mode=RUN"
"""What Hydra 1.3 adds to the overrides of a run."""
MOST = 500
"""Composed cells that wait to be run are kept, some 0.3 MB each; those of a larger multirun are composed again."""


class OnceLoader(ConfigLoaderImpl):  # type: ignore[misc]  # Hydra has no types here
    """Hydra's loader of configs; the one composed to look at it is the one that is run."""

    composed: tuple[Any, DictConfig] | None = None
    """What was asked for, and what that gave, its overrides not yet checked."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cells: dict[tuple[str, ...], DictConfig] = {}
        """By their overrides: composed, and not yet run."""

    def __getstate__(self) -> dict[str, Any]:
        """A cell that runs in another process is composed there."""
        return {**self.__dict__, "composed": None, "cells": {}}

    def _load_configuration_impl(self, **options: Any) -> DictConfig:
        overrides, checked = options["overrides"], options.get("validate_sweep_overrides", True)
        asked = (options["config_name"], [word for word in overrides if word != MODE], options.get("from_shell", True))
        alone = options["run_mode"] == RunMode.RUN
        if checked and alone and self.composed and self.composed[0] == asked:
            parsed = OverridesParser.create(config_loader=self).parse_overrides(overrides=overrides)
            self.validate_sweep_overrides_legal(overrides=parsed, run_mode=options["run_mode"], from_shell=asked[2])
            known, self.composed = self.composed[1], None
            with flag_override(known, ["struct", "readonly"], False):
                known.hydra.mode = RunMode.RUN
                known.hydra.overrides.hydra.extend([MODE] if MODE in overrides else [])
            return known
        config: DictConfig = super()._load_configuration_impl(**options)
        if not checked:
            self.composed = (asked, config)
        return config

    def get_mode(self, config_name: str | None, overrides: list[str], parsed_overrides: Any = None) -> Any:
        """Whether it is a multirun, which an experiment may say too; Hydra 1.4 asks the primary config alone."""
        try:
            mode = self.load_configuration(
                config_name, overrides, run_mode=RunMode.MULTIRUN, validate_sweep_overrides=False
            ).hydra.mode
        except Exception:  # said when the config is composed to be run
            return None
        return mode

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """A cell; asked for it a second time, the one that was composed the first time."""
        known = self.cells.pop(tuple(sweep_overrides), None)
        if known is not None:
            return known
        config: DictConfig = super().load_sweep_config(master_config, sweep_overrides)
        if len(self.cells) < MOST:
            self.cells[tuple(sweep_overrides)] = config
        return config


def install() -> None:
    """Lets Hydra make its application with this loader."""
    hydra_application.ConfigLoaderImpl = OnceLoader
