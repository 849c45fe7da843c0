"""`system=adapters 'system.path=out/checkpoint-*' system.model=DIR`: checkpoints that are LoRA adapters, on one server.

The server of the model that they were trained on is started once; each adapter is loaded into it, evaluated as a run by
its step, and unloaded. Folders, steps and what is still being written are as for `system=checkpoints`; the options are
those of `system=vllm`. An adapter of another model is refused before anything is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.systems.checkpoints import Checkpoints
from harness.systems.lora import CONFIG, check_base
from harness.systems.server import Server
from harness.systems.serving import Fleet
from harness.types import HarnessError, System


class Adapters(Checkpoints):
    target = "harness.systems.server.Server"

    def __init__(
        self,
        path: str,
        model: str,
        every: int = 1,
        last: int | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        """`options`: those of system=vllm, checked when the adapters' own systems are built."""
        super().__init__(path, every, last, name, model, **options)
        self._fleet: Fleet | None = None

    def _weights(self, folder: Path) -> dict[str, str]:
        if not (folder / CONFIG).exists():
            raise HarnessError(f"{folder} has no {CONFIG}; expected PEFT adapters, or system=checkpoints")
        check_base(folder, str(self.model), self.options.get("base"))
        return {"model": str(self.model), "adapter": str(folder)}

    def system(self, spec: Mapping[str, Any]) -> System:
        """On the servers that all of them share, which are started when the first of them needs them."""
        made = Server(**{option: value for option, value in spec.items() if option != "_target_"})
        if self._fleet is None:
            self._fleet = made.fleet
        made.fleet, made.borrowed = self._fleet, True
        return made

    def close(self) -> None:
        if self._fleet is not None:
            self._fleet.end()
