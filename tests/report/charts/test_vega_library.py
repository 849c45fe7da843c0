"""The script that draws charts is bundled once on a machine."""

from __future__ import annotations

from pathlib import Path

import pytest
import vl_convert

from harness.compiled import made_once
from harness.report.charts import vega_library
from harness.report.charts.vega_library import bundle

EXPORTED = "globalThis.vegaEmbed = vegaEmbed;"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What vl-convert was asked to bundle: it takes a second, so it only says so."""
    asked: list[str] = []

    def made(exported: str = "") -> str:
        asked.append(exported)
        return f"bundle\r\n'é' of {exported!r}"

    monkeypatch.setattr(vl_convert, "javascript_bundle", made)
    return asked


def kept_in(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    monkeypatch.setattr(made_once, "folders", lambda module: folders)


def test_bundled_once(asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_in(monkeypatch, tmp_path)
    scripts = [bundle(exported) for _ in range(2) for exported in ("", EXPORTED)]
    assert asked == ["", EXPORTED]
    assert scripts == ["bundle\r\n'é' of ''", f"bundle\r\n'é' of {EXPORTED!r}"] * 2


def test_another_version_bundles_its_own(asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_in(monkeypatch, tmp_path)
    bundle()
    monkeypatch.setattr(vega_library, "version", lambda package: "99.0.0")
    bundle()
    assert asked == ["", ""]


def test_where_nothing_can_be_kept(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    kept_in(monkeypatch)
    assert bundle() == bundle() == "bundle\r\n'é' of ''"
    assert asked == ["", ""]
