"""What a run records of the machine, the packages and the files that made it."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from importlib.metadata import distribution, version
from pathlib import Path

import pytest

from harness.inputs import files as hashing
from harness.run import environment, machine
from harness.run.inputs_used import used
from tests.conftest import Called

Cli = Callable[..., Called]


def test_distributions_took_part_whose_modules_are_loaded() -> None:
    import numpy  # noqa: F401
    import yaml  # noqa: F401  (of a distribution of another name)

    packages = {package["name"]: package for package in environment.document()["packages"]}
    assert packages["numpy"]["version"] == version("numpy")
    assert packages["pyyaml"]["version"] == version("pyyaml")
    assert len(packages["numpy"]["record"]) == 64
    loaded = {name.partition(".")[0] for name in sys.modules}
    assert ("torch" in packages) is ("torch" in loaded)
    assert "harness" not in packages


def test_what_took_part_in_an_earlier_run_stays_where_it_is_the_same() -> None:
    known = version("mkdocs"), [{"name": "mkdocs", "version": version("mkdocs")}]
    assert "mkdocs" not in {package["name"] for package in environment.document()["packages"]}
    kept = {package["name"]: package["version"] for package in environment.document(known[1])["packages"]}
    assert kept["mkdocs"] == known[0]
    gone = environment.document([{"name": "mkdocs", "version": "0.1"}, {"name": "no-such", "version": "1"}])
    assert {"mkdocs", "no-such"}.isdisjoint(package["name"] for package in gone["packages"])


def test_the_hash_of_a_record_does_not_depend_on_the_installer() -> None:
    """Scripts hold the interpreter's path, byte code is made or not, REQUESTED depends on what was typed."""
    wheel = b"a.py,sha256=x,1\nb.py,sha256=y,2\na-1.dist-info/METADATA,sha256=z,3\na-1.dist-info/RECORD,,\n"
    installed = (
        b"../../../bin/a,sha256=s,9\n__pycache__/a.cpython-311.pyc,,\nb.py,sha256=y,2\na.py,sha256=x,1\n"
        b"a-1.dist-info/INSTALLER,sha256=i,4\na-1.dist-info/REQUESTED,sha256=e,0\n"
        b"a-1.dist-info/METADATA,sha256=z,3\na-1.dist-info/RECORD,,\n"
    )
    assert environment.record_digest(wheel) == environment.record_digest(installed) is not None
    assert environment.record_digest(wheel.replace(b"sha256=y", b"sha256=q")) != environment.record_digest(wheel)
    assert environment.record_digest(b"") is None


def test_all_installed_versions_are_those_that_python_tells() -> None:
    versions = environment.versions()
    for name in ("numpy", "pyarrow", "hydra-core", "pytest"):
        assert versions[name] == distribution(name).version


def test_a_run_records_command_files_and_machine(files: Path, cli: Cli) -> None:
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl",
        "metrics=[bleu,chrf]", "tracking=none", "output_dir=out", "+system.columns.token=abc", "stats.resamples=50",
    )  # fmt: skip
    assert called.code == 1  # no such column: nothing is recorded of what failed
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl",
        "metrics=[bleu,chrf]", "tracking=none", "output_dir=out", "stats.resamples=50",
    )  # fmt: skip
    assert called.code == 0, called.err
    manifest = json.loads(Path("out/manifest.json").read_text())
    command = manifest["command"]
    assert command["typed"].startswith("harness run dataset=file dataset.path=dev.jsonl")
    assert command["overrides"][-1] == "stats.resamples=50"
    assert command["choices"]["system"] == "predictions"
    assert command["folder"] == str(files)
    for given, option in (("dev.jsonl", "dataset.path"), ("good.jsonl", "system.path")):
        content = (files / given).read_bytes()
        about = {
            "option": option, "path": given, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(),
        }  # fmt: skip
        assert about in manifest["inputs"]
    assert len(manifest["inputs"]) == 2
    assert manifest["machine"]["cpu"] == machine.processor()
    assert manifest["packages"]["numpy"] == version("numpy")
    assert len(manifest["code"]["hash"]) == 64
    written = json.loads(Path("out/environment.json").read_text())
    assert {"numpy", "pyarrow", "hydra-core"} <= {package["name"] for package in written["packages"]}


def test_secrets_are_not_recorded(files: Path, cli: Cli) -> None:
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=openai", "system.base_url=http://127.0.0.1:9/v1",
        "system.model=m", "+system.extra.api_key=Geheimnis12345", "metrics=bleu", "tracking=none", "output_dir=out",
        "stats.resamples=50", "system.retries=0",
    )  # fmt: skip
    assert "Geheimnis12345" not in called.out + called.err
    for path in Path("out").iterdir() if Path("out").exists() else ():
        assert b"Geheimnis12345" not in path.read_bytes(), path


def test_files_of_folders_functions_and_programs_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    for name in ("config.json", "model.safetensors", "optimizer.pt"):
        Path("model", name).write_text(name)
    Path("mine.py").write_text("def f(example): return ''")
    Path("dev").mkdir()  # a data set of that name is not that folder
    recorded = used({
        "dataset": {"_target_": "x", "path": "nowhere.jsonl", "name": "dev"},
        "system": {"_target_": "x", "model": "model", "function": "mine.py:f", "command": ["python", "mine.py"]},
        "metrics": {"own": {"_target_": "y", "prompt": "a\nb"}},
    })  # fmt: skip
    assert [(each["option"], each["path"], each.get("file")) for each in recorded] == [
        ("system.model", "model", "config.json"),
        ("system.model", "model", "model.safetensors"),
        ("system.function", "mine.py:f", None),
        ("system.command", "mine.py", None),
    ]


def test_an_edited_file_has_another_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    first = hashing.file_digest(path)
    path.write_text("two")
    assert hashing.file_digest(path) == hashlib.sha256(b"two").hexdigest() != first
    monkeypatch.setattr(hashing, "SETTLED", 0.0)  # as if it had been left alone for long
    hashing.file_digest(path)
    path.write_text("three")
    assert hashing.file_digest(path) == hashlib.sha256(b"three").hexdigest()


def test_a_processor_is_named_where_the_system_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Made Up 9000\n")
    monkeypatch.setattr(machine, "CPUINFO", cpuinfo)
    assert machine.processor() == "Made Up 9000"
    gpu = tmp_path / "gpus" / "0"
    gpu.mkdir(parents=True)
    (gpu / "information").write_text("Model: \t\t Made Up A100\nIRQ: 3\n")
    monkeypatch.setattr(machine, "NVIDIA", tmp_path / "gpus")
    assert "Made Up A100" in list(machine.accelerators())
