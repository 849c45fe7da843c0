"""Around a multirun: its cells share a group, and a table of the finished ones ends it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from harness.files import digest


class Sweep(Callback):  # type: ignore[misc]  # hydra has no types
    """Around a multirun: its cells share a group, and a table of the finished ones ends it."""

    started: tuple[DictConfig, str] | None = None

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        task = config.hydra.overrides.task
        if config.group is None:
            sweep = OmegaConf.to_container(config.hydra.sweeper).get("params") or {}  # type: ignore[union-attr]
            config.group = digest([sorted(task), sweep])[:8]
            task.append(f"group='{config.group}'")
        Sweep.started = config, datetime.now(timezone.utc).isoformat(timespec="milliseconds")

    @classmethod
    def end(cls) -> int:
        """Prints the table; the exit code."""
        if cls.started is None:
            return 0
        if cls.started[0].dry_run:
            return cls._end_of_dry_run(Path(cls.started[0].hydra.sweep.dir))
        from harness.api import load_run
        from harness.report.terminal import print_compare_command, print_summary
        from harness.runner import RUNS
        from harness.store.folder import read_manifest, stored_runs

        config, since = cls.started
        below = Path(config.output_dir) if config.output_dir else RUNS
        folders = sorted(
            path
            for path, manifest in stored_runs(below)
            if manifest["group"] == config.group and manifest["started"] >= since
        )
        folders.sort(key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)])
        if folders:
            print_summary([load_run(folder) for folder in folders])
        keys = [read_manifest(path)["dataset"]["key"] for path in folders]  # type: ignore[index]  # just listed
        paired = [path for path, key in zip(folders, keys, strict=True) if keys.count(key) > 1]
        if paired:
            print_compare_command(paired)
        failed = len(list(Path(config.hydra.sweep.dir).glob("*.failed")))
        if failed:
            print(f"harness: {failed} of {failed + len(folders)} runs failed, see above", file=sys.stderr)
        return 1 if failed else 0

    @staticmethod
    def _end_of_dry_run(folder: Path) -> int:
        from harness.report.terminal import print_dry_run

        found = sorted(folder.glob("*.dry"), key=lambda path: int(path.stem))
        if found:
            print_dry_run([cell for path in found for cell in json.loads(path.read_text())])
        return 1 if list(folder.glob("*.failed")) else 0

    @classmethod
    def clean(cls) -> None:
        """Removes the sweep's folder: Hydra's copy of the config there is not masked."""
        if cls.started is not None:
            folder, cls.started = Path(cls.started[0].hydra.sweep.dir), None
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # kept where there is something else in them
                folder.parent.rmdir()
                folder.parent.parent.rmdir()
