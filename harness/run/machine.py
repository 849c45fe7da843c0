"""The machine that a run was made on, as far as numbers may depend on it: processor, accelerators, linear algebra."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

NVIDIA = Path("/proc/driver/nvidia/gpus")
CPUINFO = Path("/proc/cpuinfo")


@cache
def machine() -> dict[str, Any]:
    """For the manifest; None and nothing for what this machine does not say."""
    return {
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "cpu": processor(),
        "gpus": sorted(accelerators()),
        "blas": linear_algebra(),
    }


def processor() -> str | None:
    """The model of the processor."""
    try:
        with open(CPUINFO, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("model name", "Model")):
                    return line.partition(":")[2].strip() or None
    except OSError:
        pass
    return platform.processor() or None


def accelerators() -> Iterator[str]:
    """The models of GPUs, by the driver's own files: nothing is imported or started for it."""
    for path in NVIDIA.glob("*/information"):
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError:
            continue
        yield from (line.partition(":")[2].strip() for line in lines if line.startswith("Model:"))
    torch = sys.modules.get("torch")
    backends = getattr(torch, "backends", None)
    if backends is not None and getattr(backends, "mps", None) is not None and backends.mps.is_available():
        yield f"Apple {platform.machine()} (MPS)"


def linear_algebra() -> str | None:
    """NumPy's BLAS with its version."""
    config = getattr(sys.modules.get("numpy.__config__"), "CONFIG", {})
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return " ".join(str(blas[part]) for part in ("name", "version") if blas.get(part)) or None
