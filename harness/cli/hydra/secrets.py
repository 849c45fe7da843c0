"""Secrets stay out of logs, tracebacks, the files that Hydra writes of itself and the configs that it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hydra.core.utils as hydra_jobs
from hydra._internal.hydra import Hydra
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness import masking
from harness.cli import output
from harness.cli.hydra.interpolations import origins


def keep() -> None:
    """From now on warnings go to standard error, a line each, and nothing that is told holds a secret."""
    output.show_warnings()
    if not hasattr(OmegaConf.save, "keeps_secrets"):
        OmegaConf.save = staticmethod(_masking(OmegaConf.save))  # type: ignore[method-assign]
        OmegaConf.to_yaml = staticmethod(_masking(OmegaConf.to_yaml))  # type: ignore[method-assign]
        hydra_jobs._save_config = _masking(hydra_jobs._save_config)
        Hydra.compose_config = _meeting(Hydra.compose_config)


def _masking(write: Callable[..., Any]) -> Callable[..., Any]:
    """A function that saves or shows a config, without its secrets."""

    def masked(config: Any, *place: Any, resolve: bool = False, **options: Any) -> Any:
        if not OmegaConf.is_config(config):
            return write(config, *place, resolve=resolve, **options)
        content = OmegaConf.to_container(config, resolve=resolve)
        return write(OmegaConf.create(_without_secrets(masking.masked(content))), *place, **options)

    masked.keeps_secrets = True  # type: ignore[attr-defined]
    return masked


def _meeting(compose: Callable[..., Any]) -> Callable[..., Any]:
    """A function that composes a config; its secrets are known from then on, also where it is shown in parts."""

    def composed(*args: Any, **options: Any) -> Any:
        config = compose(*args, **options)
        own = OmegaConf.masked_copy(config, [name for name in config if name != "hydra"])
        try:
            resolved: Any = OmegaConf.to_container(own, resolve=True)
        except OmegaConfBaseException:  # said where the values are needed
            resolved = OmegaConf.to_container(own, resolve=False)
        masking.masked(resolved, origins(own))
        return config

    return composed


def _without_secrets(content: Any) -> Any:
    """Overrides are lists of texts, `system.api_key=…`."""
    if isinstance(content, dict):
        return {name: _without_secrets(value) for name, value in content.items()}
    if isinstance(content, list):
        return [_without_secrets(value) for value in content]
    return masking.redacted(content) if isinstance(content, str) else content
