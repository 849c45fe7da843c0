"""A run composes its config once, and ends as if Hydra had composed it as it does."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from omegaconf import OmegaConf

from harness.cli.hydra import loading_once
from harness.types.settings import Config
from tests.run.test_runner import PREDICT, Cli


@pytest.fixture
def compositions(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The overrides of each config that Hydra composes."""
    asked: list[list[str]] = []
    compose = ConfigLoaderImpl._load_configuration_impl

    def recorded(self: Any, **options: Any) -> Any:
        asked.append(list(options["overrides"]))
        return compose(self, **options)

    monkeypatch.setattr(ConfigLoaderImpl, "_load_configuration_impl", recorded)
    return asked


def test_a_run_composes_its_config_once(files: Path, cli: Cli, compositions: list[list[str]]) -> None:
    called = cli("run", *PREDICT, "system.path=good.jsonl", "metrics=[bleu]")
    assert called.code == 0, called.err
    assert len(compositions) == 1


def test_a_list_of_values_needs_multirun_all_the_same(files: Path, cli: Cli, compositions: list[list[str]]) -> None:
    called = cli("run", *PREDICT, "system.path=good.jsonl", "metrics=[bleu]", "stats.seed=1,2")
    assert called.code == 1
    assert called.err == (
        "harness: stats.seed=1,2 has several values; expected --multirun, which runs each of them, or for a list "
        "'stats.seed=[1,2]'\n"
    )
    assert not Path("runs").exists()
    swept = cli("run", *PREDICT, "system.path=good.jsonl", "metrics=[bleu]", "stats.seed=1,2", "--multirun")
    assert swept.code == 0, swept.err
    assert len(list(Path("runs").glob("*/dev-*"))) == 2


def test_a_cell_is_composed_once(files: Path, cli: Cli, compositions: list[list[str]]) -> None:
    called = cli("run", *PREDICT, "system.path=good.jsonl,bad.jsonl", "metrics=[bleu]", "--multirun")
    assert called.code == 0, called.err
    cells = [words for words in compositions if "system.path=good.jsonl" in words]
    assert len(cells) == 1
    assert len(compositions) == 4  # which mode, the multirun, two cells


def test_a_cell_that_ran_is_not_run_again_with_what_it_wrote(
    files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweeper may ask for the same cell twice; Hydra 1.4 then found its config read-only."""
    ran: list[Any] = []
    load = loading_once.OnceLoader.load_sweep_config

    def loaded(self: Any, *arguments: Any) -> Any:
        ran.append(load(self, *arguments))
        assert ran[-1].hydra.job.get("id") != "used"
        ran[-1].hydra.job.id = "used"
        return ran[-1]

    monkeypatch.setattr(loading_once.OnceLoader, "load_sweep_config", loaded)
    called = cli("run", *PREDICT, "system.path=good.jsonl,good.jsonl", "metrics=[bleu]", "--multirun")
    assert called.code == 0, called.err
    assert len(ran) == 2
    assert ran[0] is not ran[1]


def test_a_copy_of_a_config_is_what_omegaconf_makes() -> None:
    whole = OmegaConf.structured(Config)
    whole.metrics = {"bleu": {"order": 4, "texts": ["a", None, "${name}"]}}
    whole.name = "n"
    OmegaConf.set_readonly(whole.metrics, True)
    for part in (whole, whole.metrics, whole.metrics.bleu):
        made, expected = loading_once._copy(part, {}), loading_once._copy_slowly(part, {})
        assert made == expected == part
        assert made._get_parent() is expected._get_parent() is part._get_parent()
        assert made._metadata == expected._metadata
        assert OmegaConf.is_readonly(made) == OmegaConf.is_readonly(expected)
    copied = loading_once._copy(whole, {})
    copied.name = "m"
    assert (copied.metrics.bleu.texts[2], whole.metrics.bleu.texts[2]) == ("m", "n")


def test_a_config_that_cannot_be_pickled_is_copied_all_the_same() -> None:
    lock = threading.Lock()
    held = OmegaConf.create({"a": {"b": lock}}, flags={"allow_objects": True})
    made = loading_once._copy(held.a, {})
    assert made.b is lock
    assert made._get_parent() is held.a._get_parent() is held


def test_a_copy_of_a_part_does_not_bring_the_whole() -> None:
    """Hydra's own part of a cell has that cell for its parent."""
    whole = OmegaConf.create({"hydra": {"job": {"num": 3}}, "metrics": {"bleu": {"order": 4}}})
    part = OmegaConf.masked_copy(whole, "hydra")
    part.hydra._set_parent(whole)
    made, expected = loading_once._copy(part, {}), loading_once._copy_slowly(part, {})
    assert made == expected == part
    assert made.hydra._get_parent() is made
    assert expected.hydra._get_parent() is expected
    assert part.hydra._get_parent() is whole
