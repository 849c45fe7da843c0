"""Configs that Hydra would silently not read: `--config-dir DIR --config-name config` where DIR has a config.yaml of
its own, such as a run folder. The package's own file of that name comes first: something else would be evaluated."""

from __future__ import annotations

from pathlib import Path

from harness.run import config as core
from harness.types import HarnessError

FLAGS = {
    "--config-dir": "dir", "-cd": "dir", "--config-path": "path", "-cp": "path", "--config-name": "name", "-cn": "name",
}  # fmt: skip


def check(arguments: list[str]) -> None:
    """Refuses a primary config that the package's own hides."""
    given = {"name": "config"}
    for i, argument in enumerate(arguments):
        flag, equals, value = argument.partition("=")
        if flag in FLAGS and (equals or i + 1 < len(arguments)):
            given[FLAGS[flag]] = value if equals else arguments[i + 1]
    name = given["name"].removesuffix(".yaml")
    if "path" in given and (Path(given["path"]) / "manifest.json").exists() and name == "config":
        raise HarnessError(
            f"--config-path {given['path']} is a run folder, whose config.yaml names no groups to compose; expected "
            f"harness run --from {given['path']}"
        )
    if "dir" not in given:
        return
    folder = Path(given["dir"])
    if not (folder / f"{name}.yaml").is_file() or not (core.conf_dir() / f"{name}.yaml").is_file():
        return
    run = (folder / "manifest.json").exists()
    expected = (
        f"harness run --from {folder}"
        if run
        else f"another name for it, and --config-name of it, or {folder} without it"
    )
    raise HarnessError(
        f"{folder / name}.yaml would not be read: this package has a {name}.yaml too, which comes first; expected "
        f"{expected}"
    )
