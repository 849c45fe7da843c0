"""Two finished runs, made once a session, and copies of them to damage."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile import folders


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished runs `good` and `bad` on four examples, never changed."""
    place = tmp_path_factory.mktemp("finished")
    folders.make(place)
    return place


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that the module `payload` makes, which lies in the folder that commands are called in."""
    marker = tmp_path / "executed"
    (tmp_path / "payload.py").write_text(folders.PAYLOAD.format(marker=str(marker)))
    monkeypatch.delitem(sys.modules, "payload", raising=False)  # of another test, which would not run again
    return marker


@pytest.fixture
def received(finished: Path, tmp_path: Path) -> Callable[..., Path]:
    """`received("good")`: a copy of a finished run below the folder that commands are called in."""

    def copy(name: str = "good", to: str | None = None) -> Path:
        target = tmp_path / (to or name)
        shutil.copytree(finished / name, target)
        return target

    return copy
