"""Where a model is computed and in how many bits: a device, a map of devices, or quantised by bitsandbytes.

What this machine cannot do is refused when the model is asked for, with one message.

>>> Placement(device_map="everywhere")
Traceback (most recent call last):
    ...
harness.types.errors.HarnessError: system.device_map=everywhere; expected one of auto, balanced, balanced_low_0,
sequential
>>> Placement(quantization="4bit").fields
{'load_in_4bit': True}
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.types import HarnessError, check_choice

ANYWHERE = ("auto", "cpu")
"""Devices that every machine has."""
MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
BITS = {"8bit": {"load_in_8bit": True}, "4bit": {"load_in_4bit": True}}


@dataclass(frozen=True)
class Placement:
    device: str = "auto"
    device_map: str | Mapping[str, Any] | None = None
    """How accelerate spreads a model over devices: a way to do so, or a device for each module."""
    quantization: str | Mapping[str, Any] | None = None
    """`8bit`, `4bit`, or the fields of transformers' BitsAndBytesConfig."""
    place: str = "system"
    """Whose options these are, for messages."""

    def __post_init__(self) -> None:
        if isinstance(self.device_map, str):
            check_choice(f"{self.place}.device_map", self.device_map, MAPS)
        if isinstance(self.quantization, str):
            check_choice(f"{self.place}.quantization", self.quantization, BITS)
        if self.device_map is not None and self.device != "auto":
            raise HarnessError(
                f"{self.place}.device={self.device} and {self.place}.device_map are both set; expected one of them"
            )

    @property
    def fields(self) -> dict[str, Any] | None:
        """Of the quantisation; None where there is none."""
        if self.quantization is None:
            return None
        return dict(BITS[self.quantization] if isinstance(self.quantization, str) else self.quantization)

    @property
    def spread(self) -> bool:
        """Whether loading puts the model where it belongs."""
        return self.device_map is not None or self.quantization is not None

    def arguments(self, gguf: bool) -> dict[str, Any]:
        """For `from_pretrained`. `gguf`: the weights are quantised already."""
        options: dict[str, Any] = {}
        if self.fields is not None:
            if gguf:
                raise HarnessError(
                    f"{self.place}.quantization={self.quantization} of a .gguf file; expected a folder or a hub name"
                )
            options["quantization_config"] = self._quantization(self.fields)
        if self.spread:
            if importlib.util.find_spec("accelerate") is None:
                raise self._needs("device_map", "accelerate", "pip install '.[huggingface]' in a checkout")
            options["device_map"] = self._map()
        return options

    def _map(self) -> str | dict[str, str]:
        if isinstance(self.device_map, str):
            return self.device_map
        if self.device_map is None:
            return {"": self.usable()}
        return {str(module): self.usable(str(device)) for module, device in self.device_map.items()}

    def _quantization(self, fields: Mapping[str, Any]) -> Any:
        if importlib.util.find_spec("bitsandbytes") is None:
            raise self._needs("quantization", "bitsandbytes", "pip install bitsandbytes, or no quantisation")
        from transformers import BitsAndBytesConfig

        known = [name for name in inspect.signature(BitsAndBytesConfig).parameters if name != "kwargs"]
        for name in fields:
            if name not in known:
                raise HarnessError(
                    f"{self.place}.quantization.{name} is not an option; expected those of BitsAndBytesConfig: "
                    f"{', '.join(known)}"
                )
        try:
            return BitsAndBytesConfig(**fields)
        except (TypeError, ValueError) as error:
            raise HarnessError(
                f"{self.place}.quantization={dict(fields)} ({error}); expected options of BitsAndBytesConfig"
            ) from None

    def _needs(self, option: str, package: str, expected: str) -> HarnessError:
        return HarnessError(f"{self.place}.{option} needs {package}, which is not installed; expected {expected}")

    def usable(self, device: str | None = None) -> str:
        """A device that there is; `auto`: the accelerator where there is one."""
        import torch

        wanted = self.device if device is None else f"cuda:{device}" if device.isdecimal() else device
        option = "device" if device is None else "device_map"
        accelerators = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
        there = [name for name, available in accelerators.items() if available]
        if wanted == "auto":
            return [*there, "cpu"][0]
        try:
            if torch.empty(0, device=wanted).is_meta:
                raise RuntimeError("it computes nothing")
        except (RuntimeError, AssertionError, NotImplementedError, ValueError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")[:200]
            raise HarnessError(
                f"{self.place}.{option}={wanted} cannot be used here ({reason}); "
                f"expected one of {', '.join([*ANYWHERE, *there])}"
            ) from None
        return wanted
