"""The typed core of the config, and what is checked of a composed one before anything runs.

Dataset, system, postprocess and metric are plug-ins: a Python file and a YAML that names it with `_target_`. Their
options are checked against the `_target_`'s signature, so that a misspelt option is refused with the nearest valid name
whether it came from the command line or from the user's own YAML.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import yaml

from harness.files import digest
from harness.masking import keyed, masked
from harness.types import HarnessError


@dataclass
class StatsConfig:
    resamples: int = 10_000
    level: float = 0.95
    method: str = "percentile"
    seed: int = 12345
    strata: Optional[str] = None  # noqa: UP045  (OmegaConf reads this form)


@dataclass
class StopConfig:
    score: Optional[str] = None  # noqa: UP045
    width: Optional[float] = None  # noqa: UP045
    threshold: Optional[float] = None  # noqa: UP045
    baseline: Optional[str] = None  # noqa: UP045
    batch: int = 50


@dataclass
class TrackingConfig:
    _target_: str = "harness.tracking.none.NoTracking"
    experiment: str = "harness"
    uri: Optional[str] = None  # noqa: UP045  (OmegaConf reads this form)


@dataclass
class Config:
    """The top level; see conf/config.yaml for what each means."""

    dataset: Any = None
    system: Any = None
    postprocess: Any = None
    metrics: Any = None
    stats: StatsConfig = field(default_factory=StatsConfig)
    stop: StopConfig = field(default_factory=StopConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    name: Optional[str] = None  # noqa: UP045
    limit: Optional[int] = None  # noqa: UP045
    output_dir: Optional[str] = None  # noqa: UP045
    group: Optional[str] = None  # noqa: UP045
    retry_failed: bool = False
    max_failed: Any = None
    cache: str = "auto"
    cache_gb: float = 4.0
    dry_run: bool = False
    json: bool = False
    progress: bool = True


UNKEYED = (
    "name", "output_dir", "group", "retry_failed", "max_failed", "cache", "cache_gb", "dry_run", "json", "progress",
    "tracking",
)  # fmt: skip
"""Parts of the config that do not change what is computed."""


def conf_dir() -> Path:
    """The configs: inside the package when installed from a wheel, beside it in a checkout."""
    package = Path(__file__).parent
    return package / "conf" if (package / "conf").is_dir() else package.parent / "conf"


def key(resolved: Mapping[str, Any], raw: Mapping[str, Any] | None = None) -> str:
    """The config's key: runs of the same config find the same folder again. Secrets are no part of it.

    `raw`: the config with its interpolations unresolved, by which secrets are known that come from another field.
    """
    kept = {k: _keyed(v) if k == "system" else v for k, v in resolved.items() if k not in UNKEYED}
    return digest(keyed(kept, raw))


def _keyed(system: Any) -> Any:
    """A system's options without those that say how outputs are had, not what they are."""
    if not isinstance(system, Mapping) or not isinstance(system.get("_target_"), str):
        return system
    incidental = getattr(locate(system["_target_"], "system"), "incidental", ())
    return {k: v for k, v in system.items() if k not in incidental}


# ---------------------------------------------------------------- plug-ins


def build(target: str, options: Mapping[str, Any], where: str = "", shared: Iterable[str] = ()) -> Any:
    """Calls what `_target_` names with the options, after checking them; the only place where plug-ins are made."""
    made = locate(target, where)
    return made(**checked(made, options, where or target, shared))


def locate(target: str, where: str = "") -> Any:
    module, _, attribute = target.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        place = f"{where}._target_" if where else "_target_"
        raise HarnessError(
            f"{place}={target} cannot be imported ({error}); expected module.Class, found from the folder the command "
            "is called in or an installed package"
        ) from None


def checked(made: Any, options: Mapping[str, Any], where: str, shared: Iterable[str] = ()) -> dict[str, Any]:
    """The options, if they fit the signature; a whole number given for a text (`dataset.name=2024`) is its text.

    `shared`: options of the place beside this plug-in's own, named where one is misspelt.
    """
    parameters = inspect.signature(made).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(options)
    for option in options:
        if option not in parameters:
            valid = [*parameters, *shared]
            raise HarnessError(
                f"{where}.{option} is not an option{nearest(option, valid)}; {where} has: {', '.join(valid)}"
            )
    for option, parameter in parameters.items():
        if parameter.default is parameter.empty and options.get(option, "???") == "???":
            raise HarnessError(f"{where}.{option} is not set; expected {where}.{option}=…")
    hints = typing.get_type_hints(made.__init__ if inspect.isclass(made) else made)
    found = dict(options)
    for option, value in options.items():
        if option in hints and not _fits(value, hints[option]):
            if type(value) is not int or not _fits(str(value), hints[option]):
                shown = masked({option: value})[option]
                raise HarnessError(f"{where}.{option} is {shown!r}; expected {_readable(hints[option])}")
            found[option] = str(value)
    return found


def _fits(value: Any, hint: Any) -> bool:
    """Whether a config value is of an annotated type; what it does not know, it lets pass."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in typing.get_args(hint))
    if hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (str, bool):
        return isinstance(value, hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        inner = typing.get_args(hint)[0]
        return isinstance(value, list | tuple) and all(_fits(item, inner) for item in value)
    return True


def _readable(hint: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(_readable(part) for part in typing.get_args(hint))
    origin = typing.get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"a list of {_readable(typing.get_args(hint)[0])}"
    return {int: "a whole number", float: "a number", str: "a text", bool: "true or false", type(None): "null"}.get(
        hint, str(hint)
    )


def nearest(name: str, names: Iterable[str]) -> str:
    """`: did you mean 'tokenize'?`, or nothing where no name is near."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def metric_specs(name: str, folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """The `{key: {_target_, options}}` of conf/metrics/NAME.yaml, suites followed."""
    folder = folder or conf_dir() / "metrics"
    path = folder / f"{name}.yaml"
    if not path.exists():
        known = sorted(p.stem for p in folder.glob("*.yaml"))
        raise HarnessError(
            f"the metric {name!r} is not known{nearest(name, known)}; expected one of {', '.join(known)}"
        )
    content = yaml.safe_load(path.read_text())
    specs: dict[str, dict[str, Any]] = {}
    for other in content.pop("defaults", []):
        specs.update(metric_specs(other, folder))
    return {**specs, **content}
