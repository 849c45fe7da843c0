"""Around a multirun: its cells share a group, and a table of the finished ones ends it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar

from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.plugins.launcher import Launcher
from omegaconf import DictConfig, OmegaConf, read_write

from harness.cli.hydra.gathering import Gathering
from harness.cli.hydra.launching import Watched
from harness.cli.hydra.varied import Varied
from harness.inputs.files import digest
from harness.types.settings import deciding

INCIDENTAL = deciding("manner")
"""May differ where a multirun is called again: it is the same multirun, under the same parent."""


class Sweep(Callback):  # type: ignore[misc]  # hydra has no types
    """Hydra tells it that a multirun begins."""

    current: ClassVar[Gathering | None] = None
    """The multirun that this process was called for."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        task = config.hydra.overrides.task
        typed: Any = OmegaConf.to_container(task)  # not resolved: `${.key}` means nothing in this list
        sweeper: Any = OmegaConf.to_container(config.hydra.sweeper)
        varied = Varied({}, {})
        with suppress(HydraException):  # what cannot be parsed, the sweeper says
            varied = Varied.of(typed, sweeper, GlobalHydra.instance().config_loader())
        with read_write(task):  # Hydra 1.4 locks it
            if config.group is None:
                words = sorted(word for word in typed if word.partition("=")[0].lstrip("+") not in INCIDENTAL)
                config.group = digest([words, sweeper.get("params") or {}])[:8]
                task.append(f"group='{config.group}'")
            if varied.space:
                task.append(varied.word)
        Sweep.current = Gathering(config, varied)

    @classmethod
    def watched(cls, launcher: Launcher) -> Launcher:
        """A launcher for the multirun that goes on."""
        assert cls.current is not None
        return Watched(launcher, cls.current)

    @classmethod
    def end(cls) -> int:
        """Prints what the multirun came to; the exit code."""
        return 0 if cls.current is None else cls.current.end()

    @classmethod
    def clean(cls) -> None:
        if cls.current is not None:
            cls.current.close()
            cls.current = None
