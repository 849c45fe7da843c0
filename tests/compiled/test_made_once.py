"""What is kept is read back whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compiled import made_once


def test_kept_and_read_back(tmp_path: Path) -> None:
    places = (tmp_path / "not there yet",)
    assert made_once.read(places, "name") is None
    for content in (b"first", b"", b"second"):
        made_once.keep(places, "name", content)
        assert made_once.read(places, "name") == content
    (file,) = places[0].iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert made_once.read(places, "name") is None


def test_in_the_first_place_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    places = (tmp_path / "file" / "folder", tmp_path / "folder")
    made_once.keep(places, "name", b"content")
    assert (made_once.read(places, "name"), made_once.read(places[:1], "name")) == (b"content", None)
    made_once.keep(places[:1], "name", b"content")


def test_the_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert made_once.folders(__file__) == (Path(__file__).parent / "__pycache__", tmp_path / "harness")
    assert made_once.folders("<stdin>") == ()
