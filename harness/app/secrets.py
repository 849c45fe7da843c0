"""Secrets stay out of logs, tracebacks and the files that Hydra writes of itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from traceback import format_exception
from typing import Any

import hydra.core.utils as hydra_jobs
from omegaconf import OmegaConf

from harness import masking


def keep() -> None:
    """From now on warnings go to standard error, a line each, and nothing that is told holds a secret."""
    masking.log_to(sys.stderr)
    sys.excepthook = lambda *error: print(masking.redacted("".join(format_exception(*error))), end="", file=sys.stderr)
    if not hasattr(OmegaConf.save, "keeps_secrets"):
        OmegaConf.save = staticmethod(_masking(OmegaConf.save))  # type: ignore[method-assign]
        hydra_jobs._save_config = _masking(hydra_jobs._save_config)


def _masking(save: Callable[..., None]) -> Callable[..., None]:
    """A function that saves a config, without its secrets."""

    def masked(config: Any, *place: Any, **options: Any) -> None:
        content = OmegaConf.to_container(config, resolve=False)
        save(OmegaConf.create(_without_secrets(masking.masked(content))), *place, **options)

    masked.keeps_secrets = True  # type: ignore[attr-defined]
    return masked


def _without_secrets(content: Any) -> Any:
    """Overrides are lists of texts, `system.api_key=…`."""
    if isinstance(content, dict):
        return {name: _without_secrets(value) for name, value in content.items()}
    if isinstance(content, list):
        return [_without_secrets(value) for value in content]
    return masking.redacted(content) if isinstance(content, str) else content
