"""`system=checkpoints 'system.path=out/checkpoint-*'`: the checkpoints of one training run, each a run, by step.

`path` is a glob, or the folder that the checkpoints are in. A checkpoint's step is the `global_step` in its
trainer_state.json, else the number at the end of its name. Each is evaluated as `system=huggingface` would, with the
options of that system; checkpoints that are PEFT adapters need `system.model`, what they were trained on, unless they
say it. Called again while training goes on, finished runs are found by their keys: only new checkpoints cost anything.
A folder that is still being written is left for the next call.

>>> step_of(Path("out/checkpoint-500")), step_of(Path("out/best"))
(500, None)
"""

from __future__ import annotations

import glob
import json
import logging
import re
from pathlib import Path
from typing import Any

from harness.inputs.files import digest
from harness.types import HarnessError

log = logging.getLogger(__name__)
TARGET = "harness.systems.huggingface.HuggingFace"
WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin", "adapter_model.bin", "*.gguf")


class Checkpoints:
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
        for option, value in (("every", every), ("last", 1 if last is None else last)):
            if not isinstance(value, int) or value < 1:
                raise HarnessError(f"system.{option}={value}; expected a whole number, at least 1")
        self.path, self.every, self.last, self.model = str(path), every, last, model
        self.name = name or _parent(self.path).absolute().name
        for option in ("adapter", "step", "series"):
            if options.pop(option, None) is not None:
                raise HarnessError(
                    f"system.{option} is each checkpoint's own; expected it with system=huggingface only"
                )
        self.options = options

    def cells(self) -> list[dict[str, Any]]:
        """The config of each checkpoint's system, by step."""
        series = f"{self.name}-{digest([str(_parent(self.path)), self.model, self.options])[:8]}"
        shared = {"_target_": TARGET, **self.options, "series": series}
        return [
            {**shared, **self._weights(folder), "name": f"{self.name}-step-{step}", "step": step}
            for step, folder in self._chosen()
        ]

    def _weights(self, folder: Path) -> dict[str, str]:
        if not (folder / "adapter_config.json").exists():
            return {"model": str(folder)}
        model = self.model or json.loads((folder / "adapter_config.json").read_text()).get("base_model_name_or_path")
        if not model:
            raise HarnessError(f"{folder} is an adapter; expected system.model=DIR, the model it was trained on")
        tokenizer = {"tokenizer": str(folder)} if (folder / "tokenizer_config.json").exists() else {}
        return {**tokenizer, "model": str(model), "adapter": str(folder)}

    def _chosen(self) -> list[tuple[int, Path]]:
        by_step: dict[int, Path] = {}
        for folder in self._folders():
            step = step_of(folder)
            if step is None:
                continue
            if step in by_step:
                raise HarnessError(
                    f"{by_step[step]} and {folder} are both at step {step}; "
                    "expected the checkpoints of one training run"
                )
            by_step[step] = folder
        if not by_step:
            raise HarnessError(
                f"system.path={self.path} has no checkpoints; expected folders with a model, a number at the end of "
                "their names or a trainer_state.json in them"
            )
        kept = sorted(by_step.items())[:: self.every]
        return kept[-self.last :] if self.last else kept

    def _folders(self) -> list[Path]:
        """Folders with a whole model in them; one without the trainer's state, where others have it, is not whole."""
        pattern = self.path if glob.has_magic(self.path) else str(Path(self.path) / "*")
        folders = sorted(Path(p) for p in glob.glob(str(Path(pattern).expanduser())) if Path(p).is_dir())
        weighted = [folder for folder in folders if any(next(folder.glob(w), None) for w in WEIGHTS)]
        trained = [folder for folder in weighted if (folder / "trainer_state.json").exists()]
        whole = trained or weighted
        for folder in folders:
            if folder not in whole and re.search(r"\d$", folder.name):
                log.warning("%s is incomplete; it is left for the next call", folder)
        return whole


def step_of(folder: Path) -> int | None:
    """The training step of a checkpoint."""
    state = folder / "trainer_state.json"
    if state.exists():
        try:
            return int(json.loads(state.read_text())["global_step"])
        except (ValueError, KeyError, TypeError) as error:
            raise HarnessError(f"{state} cannot be read ({error!r}); expected the trainer's global_step") from None
    number = re.search(r"\d+$", folder.name)
    return int(number[0]) if number else None


def _parent(path: str) -> Path:
    """The folder that the checkpoints are in: of a glob, what comes before its first wildcard."""
    if not glob.has_magic(path):
        return Path(path)
    fixed: list[str] = []
    for part in Path(path).parts:
        if glob.has_magic(part):
            break
        fixed.append(part)
    return Path(*fixed)
