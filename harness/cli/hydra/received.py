r"""What of a stored config `harness score` follows: a run folder may come from anyone.

Its `${…}` are text and never looked up, its metrics and postprocessing are built where they are this package's own and
name no code, file or model, and its store is followed where it is the caller's. The rest must be named by the caller:
in the overrides, in a YAML of --config-dir, or by --trust.

>>> print(literal({"uri": r"http://host/${oc.env:TOKEN} and \${text}"})["uri"])
http://host/\${oc.env:TOKEN} and \\\${text}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.analysis.stored.trust import MISSING, Trust, in_folder
from harness.run import config as core
from harness.run.logging import followed
from harness.types import HarnessError
from harness.types.settings import StatsConfig, TrackingConfig

POSTPROCESS = "harness.postprocess.Postprocess"
TRACKERS = ("harness.tracking.none.NoTracking", "harness.tracking.mlflow.MlflowTracker")
PARTS = ("metrics", "postprocess", "stats", "tracking")
BOUNDS = {("stats", "resamples"): 100_000, ("postprocess", "time_limit"): 60.0}
"""Work that a folder may ask for: ten times the defaults."""
INTERPOLATION = re.compile(r"(\\*)\$\{")


def literal(value: Any) -> Any:
    """A stored value that OmegaConf takes for what it is."""
    if isinstance(value, str):
        return INTERPOLATION.sub(r"\1\1\\${", value)
    if isinstance(value, Mapping):
        return {name: literal(item) for name, item in value.items()}
    return [literal(item) for item in value] if isinstance(value, list) else value


def checked(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The parts of a stored config that say how outputs are scored, as Hydra may compose them."""
    parts: dict[str, Any] = {}
    for part in PARTS:
        named = config.get(part)
        specs: list[Any] = list(named.values()) if part == "metrics" and isinstance(named, dict) else [named]
        if not isinstance(named, dict) or not all(isinstance(spec, dict) for spec in specs):
            raise HarnessError(f"{where}: config.{part} is no mapping; expected the config of a finished run")
        targets = [] if part == "stats" else [spec.get("_target_") for spec in specs]
        if "defaults" in named or not all(isinstance(target, str) for target in targets):
            raise HarnessError(f"{where}: config.{part} is not that of a finished run; expected _target_ and options")
        parts[part] = literal(named)
    for part, kind in (("stats", StatsConfig), ("tracking", TrackingConfig)):
        try:
            OmegaConf.merge(OmegaConf.structured(kind), parts[part])
        except OmegaConfBaseException as error:
            raise HarnessError(
                f"{where}: config.{part} is not that of a finished run ({str(error).splitlines()[0]}); expected the "
                "options that it has"
            ) from None
    return parts


@dataclass(frozen=True)
class Received:
    """The config of a run folder, and what the caller says beside it."""

    stored: Mapping[str, Any]
    overrides: Sequence[Override]
    config_dir: str | None = None
    trust: bool = False

    def check(self, resolved: Mapping[str, Any]) -> None:
        """Refuses to build what only the folder names, or shows what will run because it is trusted."""
        trust = Trust(self.trust, specs=_known(self.config_dir))
        strangers = {
            f"metrics.{name}": trust.strangers(
                spec, self._own(f"metrics.{name}", spec, self.stored["metrics"].get(name))
            )
            for name, spec in resolved["metrics"].items()
        }
        for part, known in (("postprocess", (POSTPROCESS,)), ("tracking", TRACKERS)):
            target = resolved[part]["_target_"]
            if target not in known and "_target_" not in self._own(part, resolved[part], self.stored[part]):
                strangers[part] = [target]
        if not self.trust:
            for where, what in strangers.items():
                if what:
                    raise HarnessError(
                        f"{where} of the run folder names {what[0]}, and you did not; expected --trust, which runs or "
                        f"loads it, {where}=… or {where}.OPTION=… of your own, or "
                        f"{'~' + where if where.startswith('metrics.') else where + '=none'}"
                    )
            self._check_bounds(resolved)
        trust.announce([what for names in strangers.values() for what in names])

    def _check_bounds(self, resolved: Mapping[str, Any]) -> None:
        """Refuses work without end that only the folder asks for."""
        for (part, option), most in BOUNDS.items():
            value = resolved[part].get(option)
            asked = isinstance(value, int | float) and not value <= most
            if asked and option not in self._own(part, resolved[part], self.stored[part]):
                raise HarnessError(
                    f"{part}.{option} of the run folder is {value}, and you did not ask for it; expected at most "
                    f"{most:,}, --trust, or {part}.{option}=… of your own"
                )

    def store(self, tracking: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """(the tracking with the store to log to, whether without credentials)."""
        if "uri" not in tracking or "uri" in self._own("tracking", tracking, self.stored["tracking"]):
            return dict(tracking), False
        if tracking["_target_"] == TRACKERS[0]:
            return dict(tracking), False
        uri, anonymous = followed(tracking["uri"], self.trust)
        return {**tracking, "uri": uri}, anonymous

    def _own(self, place: str, spec: Mapping[str, Any], stored: Mapping[str, Any] | None) -> set[str]:
        """The fields of a spec that the caller gave: named in an override, or not as the folder has them."""
        given = {override.key_or_group for override in self.overrides}
        if place in given:
            return set(spec)
        there = stored or {}
        return {
            field for field, value in spec.items() if f"{place}.{field}" in given or there.get(field, MISSING) != value
        }


def _known(config_dir: str | None) -> tuple[Mapping[str, Any], ...]:
    """The metrics of this package's YAML files and of the caller's."""
    return (*in_folder(core.conf_dir()), *(in_folder(config_dir) if config_dir else ()))
