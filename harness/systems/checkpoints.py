"""`system=checkpoints 'system.path=out/checkpoint-*'`: the checkpoints of one training run, each a run, by step.

`path` is a glob, or the folder that the checkpoints are in (harness/systems/checkpoint_folders.py says which are whole,
and their steps). Each is evaluated as `system=huggingface` would, with the options of that system; checkpoints that are
PEFT adapters need `system.model`, what they were trained on, unless they say it. Called again while training goes on,
finished runs are found by their keys: only new checkpoints cost anything. A folder that is still being written is left
for the next call; with `watch=true` it is waited for.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.inputs.files import digest
from harness.systems.checkpoint_folders import CheckpointFolders
from harness.systems.lora import CONFIG, base_of
from harness.types import HarnessError, Systems

OWN = ("adapter", "step", "series")
"""Options that are each checkpoint's own."""


class Checkpoints(Systems):
    target = "harness.systems.huggingface.HuggingFace"
    """The system that each of them is."""

    def __init__(
        self,
        path: str,
        every: int = 1,
        last: int | None = None,
        name: str | None = None,
        model: str | None = None,
        **options: Any,
    ) -> None:
        """`options`: those of system=huggingface, checked when the checkpoints' own systems are built."""
        self.folders, self.model = CheckpointFolders(str(path), every, last), model
        self.name = name or self.folders.parent.absolute().name
        for option in OWN:
            if options.pop(option, None) is not None:
                raise HarnessError(f"system.{option} is each checkpoint's own; expected it with a single model only")
        self.options = options

    def cells(self) -> list[dict[str, Any]]:
        """The config of each checkpoint's system, by step."""
        series = f"{self.name}-{digest([str(self.folders.parent), self.model, self.options])[:8]}"
        shared = {"_target_": self.target, **self.options, "series": series}
        return [
            {**shared, **self._weights(folder), "name": f"{self.name}-step-{step}", "step": step}
            for step, folder in self.folders.chosen()
        ]

    def watched(self) -> None:
        self.folders = replace(self.folders, watched=True)

    def unfinished(self) -> list[Path]:
        return self.folders.found()[1]

    def finished(self) -> bool:
        return self.folders.finished()

    def _weights(self, folder: Path) -> dict[str, str]:
        if not (folder / CONFIG).exists():
            return {"model": str(folder)}
        model = self.model or base_of(folder)
        if not model:
            raise HarnessError(f"{folder} is an adapter; expected system.model=DIR, the model it was trained on")
        tokenizer = {"tokenizer": str(folder)} if (folder / "tokenizer_config.json").exists() else {}
        return {**tokenizer, "model": str(model), "adapter": str(folder)}
