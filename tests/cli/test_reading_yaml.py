"""YAML read by libyaml's parser is what OmegaConf's own gives, messages and all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import omegaconf._utils
import pytest
import yaml
from omegaconf import OmegaConf

from harness.cli.hydra import reading_yaml
from harness.run.config import conf_dir

needed = pytest.mark.skipif(reading_yaml._slow_loader is None, reason="OmegaConf 2.4 reads with libyaml itself")
TEXTS = [
    "a: 1e3\nb: 2020-01-01\nc: 1:30\nd: .5\ne: yes\nf: 0x1f\ng: ~\nh: .inf",
    "a: !!python/object/apply:pathlib.Path [b, c]",
    "a: 'é\\n'\nb: \"é\\n\"\nc: |\n  two\n  lines\n",
    "&a [*a]",
    "",
    "a: [1",
    "a: 1\na: 2",
    "a: 1\n b: 2",
    "\ta: 1",
    "a: \0",
    "? [1, 2]\n: 3",
    "- 1\n---\n- 2",
]


def given(text: Any, loader: Any) -> str:
    try:
        return repr(yaml.load(text, Loader=loader))
    except Exception as error:
        return f"{type(error).__name__} {error}"


@needed
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_gives_the_same(text: str, tmp_path: Path) -> None:
    assert reading_yaml._loader() is not reading_yaml._slow_loader()
    assert given(text, reading_yaml._loader()) == given(text, reading_yaml._slow_loader())
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    for mode in ("r", "rb"):
        with open(path, mode) as fast, open(path, mode) as slow:
            assert given(fast, reading_yaml._loader()) == given(slow, reading_yaml._slow_loader())


@needed
def test_the_shipped_configs_are_read_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sorted(conf_dir().rglob("*.yaml"))
    assert len(paths) > 50
    monkeypatch.setattr("omegaconf._utils.get_yaml_loader", reading_yaml._slow_loader)
    slowly = [OmegaConf.to_container(OmegaConf.load(path)) for path in paths]
    reading_yaml.install()
    assert [OmegaConf.to_container(OmegaConf.load(path)) for path in paths] == slowly


def test_an_omegaconf_that_needs_no_help_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """OmegaConf 2.4, which Hydra 1.4 brings, has no such function."""
    monkeypatch.delattr("omegaconf._utils.get_yaml_loader", raising=False)
    monkeypatch.setattr(reading_yaml, "_slow_loader", None)
    reading_yaml.install()
    assert not hasattr(omegaconf._utils, "get_yaml_loader")
