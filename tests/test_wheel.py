"""The wheel in a second virtual environment: conf/ is inside, runs go where the command is called, no torch is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (built,) = dist.glob("*.whl")
    return built


def test_a_registry_would_take_both(dist: Path) -> None:
    """What `twine check` says of metadata and of README, which a registry renders."""
    built = sorted(path.name for path in dist.iterdir())
    assert [name.rpartition("-")[0] for name in built if name.endswith(".tar.gz")] == ["harness_eval"]
    command = [sys.executable, "-m", "twine", "check", "--strict", *built]
    done = subprocess.run(command, cwd=dist, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == len(built) == 2
    (source,) = dist.glob("*.tar.gz")
    with tarfile.open(source) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"README.md", "LICENSE", "SECURITY.md", "conf/config.yaml", "harness/api.py"} <= names


def test_the_wheel_holds_configs_and_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (ROOT / "conf").rglob("*.yaml"):
        assert f"harness/conf/{path.relative_to(ROOT / 'conf')}" in names
    assert "hydra_plugins/harness_sweepers.py" in names  # Hydra finds its plug-ins in this namespace
    assert "hydra_plugins/__init__.py" not in names
    assert {"harness/data/briefs.jsonl", "harness/data/README.md", "harness/py.typed"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    for path in (ROOT / "harness" / "report" / "page").rglob("*.[hcj][ts]*"):  # template, styles and scripts
        assert str(path.relative_to(ROOT)) in names
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)


def installed(wheel: Path, folder: Path) -> Path:
    """The Python of a new virtual environment with the wheel and what it declares to need, without any extra. Packages
    are linked from this environment: installing half a gigabyte again takes minutes."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    (own,) = site.glob("harness_eval-*.dist-info")
    todo, done = [(Distribution.at(own), frozenset[str]())], set[tuple[str, frozenset[str]]]()
    while todo:
        package, extras = todo.pop()
        for needed in map(Requirement, package.requires or []):
            wanted = needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *extras))
            key = needed.name, frozenset(needed.extras)
            if wanted and key not in done:
                done.add(key)
                todo.append((distribution(needed.name), key[1]))
        for part in {file.parts[0] for file in package.files or [] if file.parts[0] != ".."}:
            if not (site / part).exists():
                (site / part).symlink_to(Path(str(package.locate_file(part))))
    return folder / "bin" / "python"


@pytest.mark.slow
def test_installed_it_works_from_any_folder(wheel: Path, files: Path) -> None:
    """Core dependencies only: the lexical suite runs and is tracked; what needs torch says how to get it."""
    python = installed(wheel, files / "venv")
    here = files / "somewhere"
    (here / "my" / "system").mkdir(parents=True)
    (here / "shout.py").write_text(
        "from harness.types import Output, System\n"
        "class Shout(System):\n"
        "    name = 'shout'\n"
        "    def generate(self, batch): return [Output(e.source.upper()) for e in batch]\n"
    )
    (here / "my" / "system" / "shout.yaml").write_text("_target_: shout.Shout\n")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(python.parent / "harness"), *arguments]
        return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True)

    assert (python.parent / "harness-eval").exists()  # what pipx run and uvx look for: the distribution's name
    done = run("run", "--config-dir", "my", "dataset=embedded", "system=shout", "metrics=lexical", "limit=20")
    assert done.returncode == 0, done.stderr
    (scores,) = here.glob("runs/harness/embedded-shout-*/scores.json")
    assert json.loads(scores.read_text())["examples"] == 20
    assert (here / "runs" / "mlflow.db").exists()
    lacking = run("run", "dataset=embedded", "system=lead", "limit=5")
    assert lacking.returncode == 1
    assert "bertscore needs torch and transformers, and" in lacking.stderr
    assert "pip install '.[neural]' in a checkout), or metrics=lexical" in lacking.stderr
    assert "pip install '.[demo]'" in run("run", "system=lexrank", "metrics=lexical").stderr
    assert "pip install '.[huggingface]'" in run("run", "dataset=huggingface", "dataset.path=x", "dataset.split=y", "metrics=lexical").stderr  # fmt: skip
    assert subprocess.run([str(python), "-c", "import torch"], capture_output=True).returncode == 1
    again = run("compare", "embedded-shout", "embedded-shout")  # the installed command finds runs too
    assert "the same run twice" in again.stderr


def test_what_names_the_release_agrees() -> None:
    import tomllib

    import yaml

    import harness
    from harness.run import environment

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert project["name"] == environment.OWN
    assert citation["version"] == harness.__version__
    assert citation["license"] == project["license"]
    own = [Requirement(line) for lines in project["optional-dependencies"].values() for line in lines]
    extras = {extra for needed in own if needed.name == project["name"] for extra in needed.extras}
    assert extras and extras <= set(project["optional-dependencies"])
    assert not any(needed.name == environment.FORMER for needed in own)
