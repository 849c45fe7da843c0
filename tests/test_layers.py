"""The architecture, held by tests: layers of rooms, no cycle, light imports, names used once, tests beside the code.

Every import counts for layers and cycles: those inside functions, those for type checkers only, and modules named by a
text (`import_module("harness.…")`). What loads when a module is imported counts for light imports.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE, TESTS = ROOT / "harness", ROOT / "tests"

LAYERS = (
    ("types",),
    ("masking", "compiled"),
    ("inputs",),
    ("datasets", "systems", "postprocess", "metrics", "stats", "store", "tracking", "engines", "report", "data"),
    ("run", "importers"),
    ("analysis",),
    ("api",),
    ("training", "testing", "cli"),
    ("__main__",),
)
"""From the bottom; a room imports rooms of lower layers only."""
LOOSE = {"__init__", "__main__", "api", "postprocess", "testing"}
"""Modules that may stand at the root of the package."""
KINDS = ("datasets", "systems", "metrics")
"""Rooms with a file for each kind: `systems/python.py` and `metrics/python.py` are both right."""
HEAVY = {
    "torch": (), "transformers": (), "datasets": (), "mlflow": ("harness.tracking.scorers",), "nltk": (), "ot": (), "sumy": (), "bm25s": (), "pandas": (), "ray": (),
    "numba": ("harness.compiled.translation",),
    "altair": ("harness.report.charts", "harness.analysis.figures"),
    "vl_convert": (),
}  # fmt: skip
"""Packages that take long to import, and the modules that may load them when they are imported: those are themselves
imported where they are used only."""
OWNERS = {"mlflow": "harness.tracking", "hydra": "harness.cli.hydra", "omegaconf": "harness.cli.hydra"}
"""Packages that one place alone knows."""
PARAMETERS, RUNNER_LINES = 6, 150
NO_NAMES = {"found", "one", "told"}
"""Names that do not say what a variable holds."""
ACROSS = {"hostile", "docs"}
"""Folders of tests that are of no one room: what strangers send, and that the documents are true."""


# ---------------------------------------------------------------- what is imported


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its name; a package is its `__init__`."""
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sorted(PACKAGE.rglob("*.py"))}
    return {name.removesuffix(".__init__"): path for name, path in paths.items()}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def names_of(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Full names in import statements: `a.b` of `import a.b`, and `a.b` of `from a import b`."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Full names in all import statements of a module."""
    return tuple(names_of(ast.walk(tree(path))))


def called(node: ast.Call) -> str:
    """`f` of `f(…)` and of `a.f(…)`."""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def by_text(path: Path) -> Iterator[str]:
    """Modules that `import_module` is called with by name, or by the start of one: `f"harness.cli.commands.{name}"`."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and node.args and called(node) in ("import_module", "__import__"):
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value
            elif isinstance(text, ast.JoinedStr) and isinstance(text.values[0], ast.Constant):
                start = str(text.values[0].value)
                yield from (name for name in modules() if name.startswith(start))


def at_import(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            yield from at_import(statement.orelse)
            continue
        yield statement
        for part in ("body", "orelse", "finalbody"):
            yield from at_import(getattr(statement, part, ()))
        for handler in getattr(statement, "handlers", ()):
            yield from at_import(handler.body)


def local(names: Iterable[str]) -> set[str]:
    """The modules of this package that are meant by imported names: a module, or the one that holds the name."""
    known = modules()
    owners = {name if name in known else name.rpartition(".")[0] for name in names}
    return {owner for owner in owners if owner in known}


@cache
def graph() -> dict[str, set[str]]:
    """For each module all others that it imports in any way. The facade `harness` is no part of it."""
    return {
        name: local([*imported(path), *by_text(path)]) - {name, "harness"}
        for name, path in modules().items()
        if name != "harness"
    }


@cache
def loaded(name: str) -> frozenset[str]:
    """What importing a module loads: names of modules of this package, and of other packages."""
    loads: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in loads:
            continue
        loads.add(current)
        if current in modules():
            names = list(names_of(at_import(tree(modules()[current]).body)))
            outside = {other.partition(".")[0] for other in names} - {"harness"}
            parents = {current.rpartition(".")[0]} & set(modules())
            waiting.extend((outside | local(names) | parents) - loads)
    return frozenset(loads)


def room(name: str) -> str:
    """`metrics` of `harness.metrics.kernels.tokens`."""
    return name.split(".")[1]


def within(name: str, places: Iterable[str]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


def report(rule: str, offenders: Iterable[str]) -> str:
    return "\n  ".join([rule, *offenders])


# ---------------------------------------------------------------- layers


def test_layers() -> None:
    """A room imports lower layers only: rooms of one layer do not know each other, and types knows nothing local."""
    rank = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    unknown = sorted({room(name) for name in graph()} - set(rank))
    assert not unknown, report("every room has a layer in LAYERS (tests/test_layers.py); without one:", unknown)
    offenders = [
        f"{name} imports {other}"
        for name, others in graph().items()
        for other in sorted(others)
        if room(name) != room(other) and rank[room(other)] >= rank[room(name)]
    ]
    order = " < ".join(", ".join(layer) for layer in LAYERS)
    assert not offenders, report(f"a room imports rooms of lower layers only ({order}):", offenders)


def test_no_cycle() -> None:
    """Nowhere in the whole graph, lazy imports included."""
    offenders = [" <-> ".join(cycle) for cycle in cycles(graph())]
    assert not offenders, report("modules import each other in a circle; expected one way only:", offenders)


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan).

    >>> cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}})
    [['b', 'c']]
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                components.append(sorted(component))

    for node in edges:
        if node not in order:
            visit(node)
    return components


def test_the_facade_is_imported_by_nobody() -> None:
    """`harness.api` and the public names of `harness` are for users; the package's version is for all."""
    offenders = [f"{name} imports harness.api" for name, others in graph().items() if "harness.api" in others]
    for name, path in modules().items():
        if name != "harness":
            offenders += [f"{name} uses harness.{public}" for public in sorted(public_names(path))]
    assert not offenders, report("harness/__init__.py alone imports the facade; imported too by:", offenders)


def public_names(path: Path) -> set[str]:
    """Names that a module takes from the package itself: `compare` of `from harness import compare`, or of
    `harness.compare` after `import harness`."""
    names = {name.removeprefix("harness.") for name in imported(path) if name.startswith("harness.")}
    if "harness" in imported(path):
        nodes = ast.walk(tree(path))
        names |= {n.attr for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "harness"}
    return {n for n in names if "." not in n and not n.startswith("__") and f"harness.{n}" not in modules()}


# ---------------------------------------------------------------- other packages


@pytest.mark.parametrize("package", OWNERS)
def test_a_package_that_one_place_knows(package: str) -> None:
    offenders = [
        name
        for name, path in modules().items()
        if package in {other.partition(".")[0] for other in imported(path)} and not within(name, [OWNERS[package]])
    ]
    assert not offenders, report(f"{OWNERS[package]} alone imports {package}; imported too by:", offenders)


@pytest.mark.parametrize("package", HEAVY)
def test_heavy_packages_are_imported_where_they_are_used(package: str) -> None:
    """Not at the top of a module, nor by way of another module that is imported there."""
    offenders = [name for name in modules() if package in loaded(name) and not within(name, HEAVY[package])]
    allowed = f" (but {', '.join(HEAVY[package])})" if HEAVY[package] else ""
    rule = f"no module{allowed} loads {package} when it is imported, directly or through others; it is loaded by:"
    assert not offenders, report(rule, offenders)


# ---------------------------------------------------------------- names and sizes


def test_no_loose_modules() -> None:
    offenders = sorted(path.name for path in PACKAGE.glob("*.py") if path.stem not in LOOSE)
    rule = f"only {', '.join(sorted(LOOSE))} stand at the root of harness/, all else in a room; found too:"
    assert not offenders, report(rule, offenders)


def test_no_module_name_is_used_twice() -> None:
    """Kinds apart: one name for a data set, a system and a metric is meant."""
    files = [path for path in modules().values() if path.name != "__init__.py"]
    kinds = {path.stem for path in files if path.parent.parent == PACKAGE and path.parent.name in KINDS}
    others = [path for path in files if path.parent.parent != PACKAGE or path.parent.name not in KINDS]
    count = Counter([*kinds, *(path.stem for path in others)])
    offenders = [
        f"{name}: {', '.join(str(path.relative_to(ROOT)) for path in files if path.stem == name)}"
        for name, times in sorted(count.items())
        if times > 1
    ]
    assert not offenders, report(f"a module's name is used once (kinds in {', '.join(KINDS)} apart); twice:", offenders)


@pytest.mark.parametrize("room", ["run", "stats"])
def test_functions_of_the_run_have_few_parameters(room: str) -> None:
    offenders = []
    for path in sorted((PACKAGE / room).rglob("*.py")):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                number = len([argument for argument in arguments if argument.arg not in ("self", "cls")])
                if number > PARAMETERS:
                    offenders.append(f"{path.relative_to(ROOT)} line {node.lineno}: {node.name} has {number}")
    rule = f"a function in harness/{room}/ has at most {PARAMETERS} parameters, what travels together is one record:"
    assert not offenders, report(rule, offenders)


@pytest.mark.parametrize("folder", ["harness", "tests", "benchmarks"])
def test_locals_are_named_for_what_they_hold(folder: str) -> None:
    """Variables, parameters and the targets of loops and comprehensions."""
    offenders = [
        f"{path.relative_to(ROOT)} line {node.lineno}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Name | ast.arg)
        and (name := node.arg if isinstance(node, ast.arg) else node.id) in NO_NAMES
    ]
    rule = f"a variable is named for what it holds, never {', '.join(sorted(NO_NAMES))}:"
    assert not offenders, report(rule, offenders)


def test_the_runner_is_the_flow() -> None:
    lines = len((PACKAGE / "run" / "runner.py").read_text(encoding="utf-8").splitlines())
    assert lines < RUNNER_LINES, f"harness/run/runner.py has {lines} lines; expected under {RUNNER_LINES}"


# ---------------------------------------------------------------- the tests themselves


def test_tests_mirror_the_package() -> None:
    """A folder of tests for every room, and none for a room that does not exist."""
    rooms = {path.name for path in PACKAGE.iterdir() if any(p.name != "__init__.py" for p in path.glob("**/*.py"))}
    without = [f"harness/{name} has no tests/{name}" for name in sorted(rooms) if not _tests(TESTS / name)]
    folders = [path.parent.relative_to(TESTS) for path in TESTS.rglob("__init__.py")]
    folders = [folder for folder in folders if not folder.parts or folder.parts[0] not in ACROSS]
    astray = [f"tests/{folder}: there is no harness/{folder}" for folder in folders if not (PACKAGE / folder).is_dir()]
    assert not without + sorted(astray), report("tests/ mirrors harness/, a folder for each room:", without + astray)


def _tests(folder: Path) -> bool:
    return any(folder.glob("**/test_*.py"))


def test_tests_of_a_module_stand_in_its_room() -> None:
    """A test module named as a module of the package is in that module's room; a name of its own may be anywhere."""
    places: dict[str, set[str]] = {}
    for path in modules().values():
        relative = path.relative_to(PACKAGE)
        if path.name != "__init__.py":
            places.setdefault(path.stem, set()).add(relative.parts[0] if len(relative.parts) > 1 else "")
    offenders = []
    for path in sorted(TESTS.rglob("test_*.py")):
        relative = path.relative_to(TESTS)
        folder = relative.parts[0] if len(relative.parts) > 1 else ""
        rooms = places.get(path.stem.removeprefix("test_"))
        if rooms and folder not in rooms:
            offenders.append(
                f"tests/{relative}: a module of that name is in harness/{', harness/'.join(sorted(rooms))}"
            )
    assert not offenders, report("tests of a module stand in its room, or have a name of their own:", offenders)
