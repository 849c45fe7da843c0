"""What a sweep can vary, what it shares, and what it says of cells that are none or the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import harness
from harness.inputs import shelf
from tests.conftest import Called

Cli = Callable[..., Called]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=bleu", "tracking=none", "stats.resamples=20")


@pytest.fixture(autouse=True)
def nothing_kept() -> Any:
    yield
    shelf.kept.resize(0)


# ---------------------------------------------------------------- which cells


def test_a_sweep_without_a_cell_is_an_error(files: Path, cli: Cli) -> None:
    called = cli(*RUN, "--multirun", "system=predictions", "system.path=glob(nothing*)")
    assert (called.code, called.out, called.err.count("\n")) == (1, "", 1)
    assert called.err.startswith(
        "harness: the sweep has no cell: a list of values is empty, or a pattern matches nothing"
    )


def test_a_pattern_is_a_run_for_each_file(files: Path, cli: Cli) -> None:
    for name in ("good", "bad"):
        (files / "outputs").mkdir(exist_ok=True)
        (files / f"{name}.jsonl").rename(files / "outputs" / f"{name}.jsonl")
    called = cli(*RUN, "system=predictions", "system.path=outputs/*.jsonl", "--json")
    assert called.code == 0, called.err
    assert [run["name"] for run in json.loads(called.out)["runs"]] == ["dev-bad", "dev-good"]
    alone = cli(*RUN, "system=predictions", "system.path=outputs/good.jsonl", "--json")
    assert json.loads(alone.out)["runs"][0]["folder"] in called.out  # the same run
    table = cli(*RUN, "system=predictions", "system.path=outputs/*.jsonl", "name=mine")
    assert [run.name for run in harness.runs("name=mine*")] == ["mine-good", "mine-bad"] or "mine-bad" in table.out
    assert "95% intervals" in table.out
    nothing = cli(*RUN, "system=predictions", "system.path=outputs/*.txt")
    assert nothing.err == "harness: system.path=outputs/*.txt matches no file; expected files of outputs\n"


def test_cells_that_are_the_same_run_are_told(files: Path, cli: Cli) -> None:
    called = cli(*RUN, "--multirun", "system=lead", "progress=true,false", "system.sentences=1,2")
    assert called.code == 0
    assert "the cells progress=true sentences=1 and progress=false sentences=1 have the same key" in called.err
    assert called.err.count("have the same key") == 2
    assert len(harness.runs()) == 2


# ---------------------------------------------------------------- what is loaded is shared


def test_data_is_read_once(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.run import reading

    read, times = reading.read_examples, []
    monkeypatch.setattr(reading, "read_examples", lambda *given: times.append(1) or read(*given))
    assert cli(*RUN, "--multirun", "system=lead", "system.sentences=1,2,3").code == 0
    assert len(times) == 1
    shared = {run.path.name: (run.path / "examples.parquet").read_bytes() for run in harness.runs()}
    assert (
        cli(*RUN, "--multirun", "system=lead", "system.sentences=1,2,3", "engine.keep_models=0", "output_dir=o").code
        == 0
    )
    assert len(times) == 4
    assert {path.name: (path / "examples.parquet").read_bytes() for path in Path("o").iterdir()} == shared


def test_data_that_changed_is_read_again(files: Path, cli: Cli) -> None:
    assert cli(*RUN, "system=lead").code == 0
    (files / "dev.jsonl").write_text((files / "dev.jsonl").read_text().replace("sat down", "slept"))
    assert cli(*RUN, "system=lead").code == 0
    assert "slept" in (harness.load_run("dev-lead").examples["references"].iloc[0][0])


def test_data_below_the_home_folder_that_changed_is_read_again(
    files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(files))
    words = ('dataset.path="~/dev.jsonl"' if word == "dataset.path=dev.jsonl" else word for word in RUN)
    command = (*words, "system=lead")
    assert cli(*command).code == 0
    (files / "dev.jsonl").write_text((files / "dev.jsonl").read_text().replace("sat down", "slept"))
    assert cli(*command).code == 0
    assert "slept" in (harness.load_run("dev-lead").examples["references"].iloc[0][0])


@pytest.mark.slow
def test_weights_are_loaded_once(files: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from harness.inputs.pretrained import Pretrained
    from tests.systems.tiny import make

    model = make("causal", tmp_path / "model")
    load, loaded = Pretrained.load, []
    monkeypatch.setattr(Pretrained, "load", lambda self, *given, **more: loaded.append(1) or load(self, *given, **more))
    words = (*RUN, "--multirun", "system=huggingface", f"system.model={model}", "system.max_new_tokens=3", "cache=none")
    words = (*words, "system.num_beams=1,2,3")
    assert cli(*words, "output_dir=here").code == 0
    assert len(loaded) == 1
    assert cli(*words, "output_dir=there", "engine.keep_models=0").code == 0
    assert len(loaded) == 4
    outputs = [
        {path.name: (path / "examples.parquet").read_bytes() for path in sorted(Path(place).iterdir())}
        for place in ("here", "there")
    ]
    assert outputs[0] == outputs[1]


def test_a_shelf_lets_go_of_the_oldest_before_it_loads() -> None:
    held, most = shelf.Shelf(), []
    held.most = 2
    for key in "abacab":
        held.get("x", key, lambda key=key: most.append(len(held._things)) or key)
    assert most == [0, 1, 1, 1]  # c in the place of b, b in that of c
    held.get("y", "a", lambda: "another kind")
    assert len(held._things) == 3
    held.resize(0)
    assert held._things == {}


# ---------------------------------------------------------------- prompts


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    pytest.importorskip("torch")
    from tests.systems.tiny import make

    return str(make("causal", tmp_path / "model"))


def test_prompts_come_from_files_and_from_a_group(files: Path, cli: Cli, tiny: str) -> None:
    (files / "prompts").mkdir()
    for name, text in (("a", "Sum up: {{ source }}\n"), ("b", "Say again: {{ source }}")):
        (files / "prompts" / f"{name}.txt").write_text(text)
    words = (*RUN, "system=huggingface", f"system.model={tiny}", "system.max_new_tokens=2", "--dry-run", "--json")
    swept = cli(*words, "--multirun", "system.prompt=@prompts/a.txt,@prompts/b.txt")
    assert swept.code == 0, swept.err
    assert len(json.loads(swept.out)["runs"]) == 2
    grouped = cli(*words, "--multirun", "prompt=summarize,headline")
    assert grouped.code == 0, grouped.err
    for prompt, message in (
        ("@prompts/c.txt", "prompts/c.txt cannot be read (No such file or directory)"),
        ("Say something.", "system.prompt uses no field of the example"),
    ):
        refused = cli(*words, f"system.prompt={prompt}")
        assert refused.code == 1
        assert message in refused.err


def test_an_edited_prompt_file_is_another_run(files: Path, cli: Cli, tiny: str) -> None:
    """The key holds what is asked: the answers to the first prompt stay."""
    prompt = files / "a.txt"
    prompt.write_text("Sum up: {{ source }}\n")
    words = (*RUN, "system=huggingface", f"system.model={tiny}", "system.max_new_tokens=2", "limit=1", "--json")
    first, same = (json.loads(cli(*words, "system.prompt=@a.txt").out)["runs"][0] for _ in range(2))
    prompt.write_text("${oc.env:HOME}\nSay again: {{ source }}\n")
    edited = json.loads(cli(*words, "system.prompt=@a.txt").out)["runs"][0]
    assert same["folder"] == first["folder"] != edited["folder"]
    config = Path(edited["folder"], "config.yaml")
    assert yaml.safe_load(config.read_text())["system"]["prompt"] == "${oc.env:HOME}\nSay again: {{ source }}"
    again = cli("reproduce", edited["folder"], "--from", "system", "--trust")
    assert again.code == 0, again.out + again.err
