"""LoRA adapters as PEFT saves them: which model they were trained on, and whether that is the one that is served.

>>> same_model("org/base-7B", "org/base-7B"), same_model("org/base-7B", "models/base-7B"), same_model("org/a", "org/b")
(True, True, False)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.inputs import model_files
from harness.types import HarnessError

CONFIG = "adapter_config.json"


def adapter_config(folder: Path) -> dict[str, Any]:
    """What an adapter says of itself."""
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HarnessError(f"{path} cannot be read ({error}); expected a folder with a PEFT adapter") from None
    if not isinstance(config, dict):
        raise HarnessError(f"{path} holds no object; expected the config of a PEFT adapter")
    return config


def base_of(folder: Path) -> str | None:
    """The model that an adapter says it was trained on."""
    named = adapter_config(folder).get("base_model_name_or_path")
    return str(named) if named else None


def check_base(folder: Path, model: str, base: str | None = None) -> None:
    """Refuses an adapter of another model. `base`: what adapters call the model, where they do not call it so."""
    named = base_of(folder)
    if named is None or named == base or same_model(named, model):
        return
    raise HarnessError(
        f"{folder} is an adapter of {named}, and system.model={model} is served; expected adapters of that model, or "
        f"system.base={named} if it is the same one under another name"
    )


def same_model(named: str, model: str) -> bool:
    """Whether two names are of one model: of folders that are both here the files decide, else the last part of the
    names, since an adapter may have been trained elsewhere."""
    if named == model:
        return True
    paths = [Path(name).expanduser() for name in (named, model)]
    if all(path.is_dir() for path in paths):
        first, second = (model_files.fingerprint(model_files.digests(path)) for path in paths)
        return first == second
    return paths[0].name == paths[1].name
