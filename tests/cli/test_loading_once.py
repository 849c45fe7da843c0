"""A run composes its config once, and ends as if Hydra had composed it as it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl

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
    assert "Ambiguous value for argument 'stats.seed=1,2'" in called.err
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
