"""Hydra composes a config to see its `hydra.mode`, then the same config again with `hydra.mode=RUN`: once will do."""

from __future__ import annotations

from typing import Any

import hydra._internal.hydra as hydra_application
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, flag_override

MODE = "hydra.mode=RUN"
"""What Hydra adds to the overrides of a run."""


class OnceLoader(ConfigLoaderImpl):  # type: ignore[misc]  # Hydra has no types here
    """Hydra's loader of configs; the one composed to look at its mode is the one that is run."""

    composed: tuple[Any, DictConfig] | None = None
    """What was asked for, and what that gave, its overrides not yet checked."""

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: Any,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        asked = (config_name, [override for override in overrides if override != MODE], from_shell)
        if validate_sweep_overrides and MODE in overrides and self.composed and self.composed[0] == asked:
            parsed = OverridesParser.create(config_loader=self).parse_overrides(overrides=overrides)
            self.validate_sweep_overrides_legal(overrides=parsed, run_mode=run_mode, from_shell=from_shell)
            known, self.composed = self.composed[1], None
            with flag_override(known, ["struct", "readonly"], False):
                known.hydra.mode = RunMode.RUN
                known.hydra.overrides.hydra.append(MODE)
            return known
        config: DictConfig = super().load_configuration(
            config_name, overrides, run_mode, from_shell, validate_sweep_overrides
        )
        if not validate_sweep_overrides:
            self.composed = (asked, config)
        return config


def install() -> None:
    """Lets Hydra make its application with this loader."""
    hydra_application.ConfigLoaderImpl = OnceLoader
