"""What is said differently to Hydra 1.3 and to 1.4."""

from __future__ import annotations

import inspect
from typing import Any

import hydra
from hydra.core.config_store import ConfigStore

OLD = hydra.__version__.startswith("1.3")
BASE: dict[str, Any] = {"version_base": "1.3"} if OLD else {}
"""Hydra 1.3 is asked for its own defaults, which are the only ones of 1.4."""


def main_options() -> dict[str, Any]:
    """Of `hydra.main`. Callbacks, launchers and sweepers are named by the user's own config: 1.4 may build them too."""
    if OLD:
        return BASE
    from hydra.utils import UNSAFE_DISABLE_EXECUTION_CHECKS

    return {"execution_whitelist": UNSAFE_DISABLE_EXECUTION_CHECKS}


def put(name: str, node: Any, group: str | None = None) -> None:
    """Puts a config where Hydra composes from, in the place of an earlier one; 1.4 wants to be told so."""
    store = ConfigStore.instance().store
    replace = {"replace": True} if "replace" in inspect.signature(store).parameters else {}
    store(name=name, node=node, group=group, **replace)
