"""The direction of imports: rooms know the leaves, never each other; `runner`, `api` and `cli` tie them together."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "harness"
ROOMS = ("datasets", "systems", "metrics", "stats", "store", "tracking", "report")
LEAVES = {
    "harness.types", "harness.files", "harness.rows", "harness.functions", "harness.programs", "harness.prompt",
    "harness.models", "harness.compiled", "harness.masking", "harness.rounding",
}  # fmt: skip
HEAVY = ("torch", "transformers", "datasets", "mlflow", "nltk", "numba", "ot", "sumy")


def imported(path: Path, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def local(names: set[str]) -> set[str]:
    """Modules of this package among the imported names."""
    modules = {".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts) for p in PACKAGE.rglob("*.py")}
    modules |= {m.removesuffix(".__init__") for m in modules}
    return {name for name in names if name in modules and name != "harness"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_no_other_room(room: str) -> None:
    files = list((PACKAGE / room).rglob("*.py"))
    assert files
    for path in files:
        own = {name for name in local(imported(path)) if name.startswith(f"harness.{room}")}
        assert local(imported(path)) - own <= LEAVES, path


def test_types_imports_nothing_local() -> None:
    assert local(imported(PACKAGE / "types.py")) == set()


def test_leaves_import_types_and_files_only() -> None:
    for leaf in LEAVES:
        known = local(imported(PACKAGE.parent / f"{leaf.replace('.', '/')}.py"))
        assert known <= {"harness.types", "harness.files"} - {leaf}, leaf


def test_only_tracking_imports_mlflow() -> None:
    for path in PACKAGE.rglob("*.py"):
        names = {name.split(".")[0] for name in imported(path)}
        assert "mlflow" not in names or path.parent.name == "tracking", path


def test_only_the_application_knows_hydra() -> None:
    for path in PACKAGE.rglob("*.py"):
        names = {name.split(".")[0] for name in imported(path)}
        assert not names & {"hydra", "omegaconf"} or path.parent.name == "app", path


def test_heavy_packages_are_imported_where_used_only() -> None:
    for path in PACKAGE.rglob("*.py"):
        names = {name.split(".")[0] for name in imported(path, top_level_only=True)}
        if "kernels" in (path.parent.name, path.stem) or path.stem == "compiled":  # imported where used only
            continue
        assert not names & set(HEAVY), path
        kernels = {"harness.metrics.kernels", "harness.stats.kernels", "harness.compiled"}
        assert not kernels & imported(path, top_level_only=True), path


def test_altair_is_imported_where_figures_are_drawn_only() -> None:
    drawing = {PACKAGE / "figures", PACKAGE / "report" / "figures"}
    for path in PACKAGE.rglob("*.py"):
        names = imported(path, top_level_only=True)
        if path.parent in drawing:
            continue
        assert not {name.split(".")[0] for name in names} & {"altair", "vl_convert"}, path
        assert not any(name.startswith(("harness.figures", "harness.report.figures")) for name in names), path
