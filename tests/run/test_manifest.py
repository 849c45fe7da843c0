"""What a result depends on, and what it does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.run import manifest

PACKAGE = Path(manifest.__file__).parents[1]
INDIFFERENT = (
    "report/page/build.py",
    "cli/main.py",
    "analysis/comparing/study.py",
    "tracking/mlflow.py",
    "systems/lead.py",
)
DECIDING = (
    "metrics/bleu.py",
    "metrics/kernels/ngrams.py",
    "stats/intervals.py",
    "postprocess.py",
    "run/scoring.py",
    "inputs/arrow.py",
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package's code."""
    for path in PACKAGE.rglob("*.py"):
        copy = tmp_path / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return tmp_path


@pytest.mark.parametrize("edited", [*INDIFFERENT, *DECIDING])
def test_a_result_is_computed_again_only_where_code_that_decides_it_changed(package: Path, edited: str) -> None:
    before = manifest.code(package)
    (package / edited).write_text('"""Another docstring."""\n' + (package / edited).read_text())
    manifest.code.cache_clear()
    assert (manifest.code(package) == before) is (edited in INDIFFERENT)


def test_all_code_that_is_named_as_deciding_is_there() -> None:
    assert all((PACKAGE / place).exists() for place in manifest.DECIDING)
    assert set(manifest.INDIFFERENT) <= set(manifest.PACKAGES)
