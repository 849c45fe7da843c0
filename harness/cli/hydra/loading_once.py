"""Hydra composes a config to see its `hydra.mode`, then the same config again with `hydra.mode=RUN`; and a cell of a
multirun to see that it can be composed, then again to run it. Once will do, for Hydra 1.3 as for 1.4.

It also parses every override of every cell anew, and reads and merges the same files for each. What cells that choose
the same configs have in common is made once here, which leaves a fifth of the time.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import hydra._internal.config_loader_impl as hydra_loader
import hydra._internal.hydra as hydra_application
import omegaconf.base
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.plugins.sweeper import Sweeper
from hydra.types import RunMode
from omegaconf import DictConfig, flag_override, grammar_parser

MODE = "hydra.mode=RUN"
"""What Hydra 1.3 adds to the overrides of a run."""
MOST = 500
"""Composed cells that wait to be run are kept, some 0.3 MB each; those of a larger multirun are composed again."""
MOST_TEXTS = 4096
"""Parsed overrides that are kept."""
MOST_LISTS = 100
"""Choices of configs of which the merged ones are kept, some 50 kB each."""


class OnceLoader(ConfigLoaderImpl):  # type: ignore[misc]  # Hydra has no types here
    """Hydra's loader of configs; the one composed to look at it is the one that is run."""

    composed: tuple[Any, DictConfig] | None = None
    """What was asked for, and what that gave, its overrides not yet checked."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cells: dict[tuple[str, ...], DictConfig] = {}
        """By their overrides: composed, and not yet run."""
        self._merged: dict[int, tuple[Any, bytes]] = {}
        """Of a list of configs, by its `id`: itself, and what merging them gave."""
        self._files: dict[str | None, Any] = {}
        """By the primary config: what Hydra read."""
        _listed.clear()

    def __getstate__(self) -> dict[str, Any]:
        """A cell that runs in another process is composed there."""
        return {**self.__dict__, "composed": None, "cells": {}, "_merged": {}, "_files": {}}

    def _load_configuration_impl(self, **options: Any) -> DictConfig:
        overrides, checked = options["overrides"], options.get("validate_sweep_overrides", True)
        asked = (options["config_name"], [word for word in overrides if word != MODE], options.get("from_shell", True))
        alone = options["run_mode"] == RunMode.RUN
        if checked and alone and self.composed and self.composed[0] == asked:
            parsed = OverridesParser.create(config_loader=self).parse_overrides(overrides=overrides)
            self.validate_sweep_overrides_legal(overrides=parsed, run_mode=options["run_mode"], from_shell=asked[2])
            known, self.composed = self.composed[1], None
            with flag_override(known, ["struct", "readonly"], False):
                known.hydra.mode = RunMode.RUN
                known.hydra.overrides.hydra.extend([MODE] if MODE in overrides else [])
            return known
        config: DictConfig = super()._load_configuration_impl(**options)
        if not checked:
            self.composed = (asked, config)
        return config

    def get_mode(self, config_name: str | None, overrides: list[str], parsed_overrides: Any = None) -> Any:
        """Whether it is a multirun, which an experiment may say too; Hydra 1.4 asks the primary config alone."""
        try:
            mode = self.load_configuration(
                config_name, overrides, run_mode=RunMode.MULTIRUN, validate_sweep_overrides=False
            ).hydra.mode
        except Exception:  # said when the config is composed to be run
            return None
        return mode

    def look_at(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """A cell that is to be run later, to see that it can be composed; who looks must leave it as it is."""
        asked = tuple(sweep_overrides)
        if asked in self.cells:
            return self.cells[asked]
        config: DictConfig = super().load_sweep_config(master_config, sweep_overrides)
        if len(self.cells) < MOST:
            self.cells[asked] = config
        return config

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """A cell to be run, which writes into its config: the one that was looked at, once."""
        known = self.cells.pop(tuple(sweep_overrides), None)
        return super().load_sweep_config(master_config, sweep_overrides) if known is None else known

    def _parse_overrides_and_create_caching_repo(
        self, config_name: str | None, overrides: list[str], *parsed: Any
    ) -> Any:
        """The overrides, parsed (Hydra 1.4 may have done so), and the files that they choose among: the same for all
        cells, but for a search path of their own."""
        own = any("hydra.searchpath" in word for word in overrides)
        if own or config_name not in self._files:
            made = super()._parse_overrides_and_create_caching_repo(config_name, overrides, *parsed)
            self._files |= {} if own else {config_name: made[1]}
            return made
        if parsed and parsed[0] is not None:
            return parsed[0], self._files[config_name]
        if hasattr(self, "parse_overrides"):
            return self.parse_overrides(config_name, overrides), self._files[config_name]
        return OverridesParser.create().parse_overrides(overrides=overrides), self._files[config_name]

    def _compose_config_from_defaults_list(self, defaults: Any, repo: Any) -> DictConfig:
        """The configs of a list, merged; overrides are applied to it afterwards, so each cell has a copy."""
        if id(defaults) not in self._merged:
            merged = super()._compose_config_from_defaults_list(defaults=defaults, repo=_Copies(repo))
            if len(self._merged) < MOST_LISTS:
                with suppress(pickle.PicklingError):  # in a process of a launcher, where Hydra imports plug-ins twice
                    self._merged[id(defaults)] = (defaults, pickle.dumps(merged))
            return merged  # type: ignore[no-any-return]
        return pickle.loads(self._merged[id(defaults)][1])  # type: ignore[no-any-return]  # written above


class _Copies:
    """Hydra's repository of the configs that were read; those that it gives may be changed, as merging does."""

    def __init__(self, repo: Any) -> None:
        self._repo = repo

    def load_config(self, config_path: str) -> Any:
        return copy.deepcopy(self._repo.load_config(config_path))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._repo, name)


_listed: dict[Any, Any] = {}
"""Lists of configs that Hydra made, by what was chosen."""


def _list_of_configs(*, repo: Any, overrides_list: Any, **options: Any) -> Any:
    """Hydra's list of the configs that make one; the same list where the same ones are chosen."""
    given = [override for override in overrides_list if not override.is_sweep_override()]
    values = [
        override
        for override in given
        if isinstance(override.value(), dict) or not repo.group_exists(override.key_or_group)
    ]
    paths = [override.input_line for override in given if override.key_or_group == "hydra.searchpath"]
    chosen = [override.input_line for override in given if override not in values]
    asked = (*chosen, None, *paths, *sorted(options.items()))
    if asked not in _listed:
        made = _create_list(repo=repo, overrides_list=overrides_list, **options)
        if len(_listed) < MOST_LISTS:
            _listed[asked] = made
        return made
    return replace(_listed[asked], config_overrides=values)


_create_list = hydra_loader.create_defaults_list
_parse_rule = OverridesParser.parse_rule


_known: dict[Any, Any] = {}
"""What texts were parsed to, by the rule and the functions that they may call."""


def _parse_once(self: OverridesParser, text: str, rule: str) -> Any:
    asked = (text, rule, frozenset(self.functions.functions.items()))
    if asked not in _known:
        if len(_known) >= MOST_TEXTS:
            _known.clear()
        _known[asked] = _parse_rule(self, text, rule)
    return copy.copy(_known[asked])


_parse_interpolation = lru_cache(MOST_TEXTS)(grammar_parser.parse)
"""`${…}` parsed: every cell has the same ones."""
_copy_slowly = DictConfig.__deepcopy__


def _copy(self: DictConfig, memo: dict[int, Any]) -> DictConfig:
    """A deep copy of a config, as OmegaConf makes it value by value: Hydra makes five of each cell.

    Parts that belong to another config as well, as Hydra's own do to a whole cell, bring nothing of that one with them.
    """
    content, parent = self.__dict__["_content"], self.__dict__["_parent"]
    parts = list(content.values()) if isinstance(content, dict) else []
    strangers = [(part, part._get_parent()) for part in parts if part._get_parent() is not self]
    self.__dict__["_parent"] = None
    for part, _ in strangers:
        part.__dict__["_parent"] = self
    try:
        made: DictConfig = pickle.loads(pickle.dumps(self, pickle.HIGHEST_PROTOCOL))
    except Exception:  # a value that cannot be pickled
        self.__dict__["_parent"] = parent
        return _copy_slowly(self, memo)
    finally:
        self.__dict__["_parent"] = parent
        for part, owner in strangers:
            part.__dict__["_parent"] = owner
    made.__dict__["_parent"] = parent
    return made


def _look_at_all(self: Sweeper, batch: Sequence[Sequence[str]]) -> None:
    """That each cell of a batch can be composed."""
    for overrides in batch:
        self.hydra_context.config_loader.look_at(self.config, list(overrides))


def install() -> None:
    """Lets Hydra make its application with this loader."""
    Sweeper.validate_batch_is_legal = _look_at_all
    omegaconf.base.parse = _parse_interpolation  # type: ignore[attr-defined]
    DictConfig.__deepcopy__ = _copy  # type: ignore[method-assign]
    hydra_application.ConfigLoaderImpl = OnceLoader
    hydra_loader.create_defaults_list = _list_of_configs
    OverridesParser.parse_rule = _parse_once
