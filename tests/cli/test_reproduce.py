"""`harness reproduce`: a copied run folder in an empty place is the same again, and whatever was changed is named."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.cli.hydra import recreating
from tests.conftest import ROWS, Called, called_in, write_files, write_jsonl
from tests.made_up import ARGUMENTS, calls, install

Cli = Callable[..., Called]
RUN = (
    "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl",
    "metrics=[bleu,rouge]", "tracking=none", "stats.resamples=50", "stats.slices=[topic]", "output_dir=first",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, in the folder that it was made in."""
    place = write_files(tmp_path_factory.mktemp("made"))
    called_in(place, *RUN)
    return place


@pytest.fixture
def stored(made: Path, tmp_path: Path, cli: Cli) -> Path:
    """The folder of that run, for one test."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "first"


@pytest.fixture
def copied(stored: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run folder alone in an empty folder; where it was made, nothing is left."""
    place = stored.parent / "elsewhere"
    place.mkdir()
    shutil.copytree(stored, place / "run")
    for path in stored.parent.iterdir():
        if path != place:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    monkeypatch.chdir(place)
    return place / "run"


def edit(path: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def rewrite(path: Path, column: str, row: int, value: Any) -> None:
    """One value of a table, the rest and what is stored with it as they were."""
    table = pq.ParquetFile(path).read()
    values = table.column(column).to_pylist()
    values[row] = value
    place = table.schema.get_field_index(column)
    changed = table.set_column(place, table.schema.field(column), pa.array(values, table.schema.field(column).type))
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)


# ---------------------------------------------------------------- level 1


def test_a_copy_in_an_empty_place_is_the_same(copied: Path, cli: Cli) -> None:
    before = {path.name: path.read_bytes() for path in copied.iterdir()}
    called = cli("reproduce", "run")
    assert called.code == 0, called.out + called.err
    assert called.out.splitlines()[-1].startswith("same: 1 run, ")
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == before
    assert [path.name for path in copied.parent.iterdir()] == ["run"]
    document = json.loads(cli("reproduce", "run", "--json").out)
    assert document["verdict"] == "same"
    assert document["runs"][0]["spread"] == 0


def test_a_tampered_number_is_named_with_both_values(copied: Path, cli: Cli) -> None:
    edit(copied / "scores.json", lambda scores: scores["scores"]["bleu"].update(estimate=99.5))
    called = cli("reproduce", "run")
    assert called.code == 1
    assert "scores.json: bleu.estimate is 99.5 there, " in called.out
    assert "scores.json: SHA-256 is" in called.out
    assert called.out.splitlines()[-1] == "different: dev-good"


def test_a_tampered_bound_of_a_slice_is_named(copied: Path, cli: Cli) -> None:
    edit(copied / "scores.json", lambda scores: scores["slices"][0]["scores"]["rouge1"].update(low=0.123))
    document = json.loads(cli("reproduce", "run", "--json").out)
    differences = [each for each in document["runs"][0]["differences"] if each["what"] == "rouge1.low"]
    assert differences[0]["place"] == "scores.json, slice topic=pets"
    assert differences[0]["stored"] == 0.123


def test_a_tampered_output_is_named_by_its_example(copied: Path, cli: Cli) -> None:
    for column in ("output", "raw_output"):
        rewrite(copied / "examples.parquet", column, 1, "something else")
    called = cli("reproduce", "run")
    assert called.code == 1
    assert "the first example that differs is example 'b': " in called.out
    assert "examples.parquet: SHA-256" in called.out


def test_a_tampered_score_of_an_example_is_shown_with_both_values(copied: Path, cli: Cli) -> None:
    rewrite(copied / "examples.parquet", "rouge1", 2, 0.25)
    document = json.loads(cli("reproduce", "run", "--json").out)
    example = document["runs"][0]["example"]
    assert example["place"] == "example 'c'"
    assert (example["what"], example["stored"], example["here"]) == ("rouge1", 0.25, 1.0)


def test_tampered_rows_are_named(copied: Path, cli: Cli) -> None:
    name = next(name for name in pq.read_schema(copied / "statistics.parquet").names if name.startswith("rouge:"))
    rewrite(copied / "statistics.parquet", name, 3, 7.0)
    called = cli("reproduce", "run")
    assert called.code == 1
    assert f"example 'd': {name} of statistics.parquet is 7.0 there" in called.out


@pytest.mark.parametrize(
    ("file", "change", "expected"),
    [
        ("manifest.json", lambda made: made.update(seed=7), "manifest.json: seed is 7 there, 12345 here"),
        ("manifest.json", lambda made: made["dataset"].update(examples=9), "manifest.json: examples is 9 there"),
        ("manifest.json", lambda made: made["dataset"].update(key="0"), "the data's fingerprint is \"0\" there"),
        ("manifest.json", lambda made: made["system"].update(seeds=3), "manifest.json: system.seeds is 3 there, 1 here"),
        ("manifest.json", lambda made: made["health"].update(empty=0.5), "manifest.json: health is"),
        (
            "manifest.json",
            lambda made: made.update(texts="hashed"),
            'manifest.json: texts is "hashed" there, "plain texts in examples.parquet" here',
        ),
        (
            "manifest.json",
            lambda made: made["metrics"]["bleu"].update(signature="tok:zh"),
            'manifest.json: signature of bleu is "tok:zh" there, "nrefs',
        ),
        ("manifest.json", lambda made: made["config"]["system"].update(path="other.jsonl"), "config.yaml: system is"),
        (
            "scores.json",
            lambda made: made["scores"]["bleu"].update(signature="tok:zh"),
            'scores.json: bleu.signature is "tok:zh" there, "nrefs',
        ),
    ],
)  # fmt: skip
def test_what_a_run_says_of_itself_is_compared(
    copied: Path, cli: Cli, file: str, change: Callable[[Any], None], expected: str
) -> None:
    edit(copied / file, change)
    called = cli("reproduce", "run")
    assert called.code == 1, called.out
    assert expected in called.out


def test_a_source_that_no_score_depends_on_is_found_by_the_fingerprint(copied: Path, cli: Cli) -> None:
    rewrite(copied / "examples.parquet", "source", 0, "another question")
    digest = hashlib.sha256((copied / "examples.parquet").read_bytes()).hexdigest()
    edit(copied / "manifest.json", lambda made: made["files"].update({"examples.parquet": digest}))
    called = cli("reproduce", "run")
    assert called.code == 1
    assert "manifest.json: the data's fingerprint is" in called.out


@pytest.mark.parametrize("name", ["--index-url=http://127.0.0.1", "evil @ file:///x.whl", "-r"])
def test_a_package_that_would_be_an_option_of_pip_is_refused(copied: Path, cli: Cli, name: str) -> None:
    edit(copied / "environment.json", lambda made: made["packages"].append({"name": name, "version": "1"}))
    called = cli("reproduce", "run", "--environment", "--trust")
    assert called.code == 3
    assert "no environment.json that can be read" in called.err


def test_all_that_is_installed_and_scores_is_announced(copied: Path, cli: Cli) -> None:
    called = cli("reproduce", "run", "--environment")
    assert called.code == 3
    assert "would run metrics.bleu: harness.metrics.bleu.Bleu" in called.err
    assert "would install sacrebleu==" in called.err  # harness needs it to start, though it took no part


def test_a_crash_is_no_verdict(copied: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("harness.cli.hydra.levels._at_level", broken)
    called = cli("reproduce", "run")
    assert called.code == 2
    assert "a bug" in called.err


def test_a_damaged_file_is_named(copied: Path, cli: Cli) -> None:
    (copied / "statistics.parquet").write_bytes(b"PAR1 nothing")
    called = cli("reproduce", "run")
    assert called.code == 1
    assert "statistics.parquet: SHA-256" in called.out
    assert "cannot be read" in called.out


def test_a_config_whose_aliases_stand_for_gigabytes_ends_with_a_line(copied: Path, cli: Cli) -> None:
    levels = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    (copied / "config.yaml").write_text(f"a0: &a0 [1]\n{levels}")
    called = cli("reproduce", "run")
    assert called.code == 1
    assert 'config.yaml: size is "over 100,000 values" there' in called.out
    assert len(called.out) < 2000


def test_a_missing_file_cannot_be_tried(copied: Path, cli: Cli) -> None:
    (copied / "statistics.parquet").unlink()
    called = cli("reproduce", "run", "--json")
    assert called.code == 3
    assert json.loads(called.out)["verdict"] == "cannot be tried"
    assert "statistics.parquet" in called.out + called.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere"], "there is no run 'nowhere'"),
        (["run", "limit=3"], "expected overrides with --from system only"),
        (["run", "--tolerance", "2"], "expected a share"),
    ],
)
def test_errors_are_no_verdict(copied: Path, cli: Cli, arguments: list[str], expected: str) -> None:
    called = cli("reproduce", *arguments)
    assert called.code == 2
    assert expected in called.err


def test_another_machine_and_another_version_are_named(copied: Path, cli: Cli) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["machine"] |= {"blas": "another 1.0", "gpus": ["Made Up A100"]}
        manifest["packages"]["numpy"] = "1.0"

    edit(copied / "manifest.json", change)
    called = cli("reproduce", "run")
    assert called.code == 0
    assert "not the same here: BLAS: another 1.0 there, " in called.out
    assert "not the same here: GPU: Made Up A100 there, none here" in called.out
    assert "not the same here: numpy: 1.0 there, " in called.out
    assert "the largest relative change of a score or a bound is 0" in called.out


def test_small_changes_are_the_same_where_that_is_said(copied: Path, cli: Cli) -> None:
    edit(
        copied / "scores.json", lambda s: s["scores"]["bleu"].update(estimate=s["scores"]["bleu"]["estimate"] * 1.0001)
    )
    edit(copied / "manifest.json", lambda manifest: manifest["files"].pop("scores.json"))
    assert cli("reproduce", "run").code == 1
    assert cli("reproduce", "run", "--tolerance", "0.001").code == 0


def test_code_that_the_folder_names_is_not_run(files: Path, cli: Cli) -> None:
    Path("mine.py").write_text("def f(output, references, source):\n    return [float(len(text)) for text in output]\n")
    called = cli(*RUN[:-1], "output_dir=own", "metrics=[bleu,python]", "metrics.python.function=mine.py:f")
    assert called.code == 0, called.err
    Path("mine.py").write_text("raise SystemExit('it ran')\n")
    called = cli("reproduce", "own")
    assert called.code == 0, called.out + called.err
    assert "from stored rows, not from texts: " in called.out


# ---------------------------------------------------------------- level 2


@pytest.fixture
def generated(files: Path, cli: Cli) -> Path:
    install(files)
    Path("weights.bin").write_text("weights")
    called = cli(*ARGUMENTS, "output_dir=first", "system.model=weights.bin")
    assert called.code == 0, called.err
    return files / "first"


def test_what_would_run_is_shown_and_refused(generated: Path, cli: Cli) -> None:
    before = calls()
    called = cli("reproduce", "first", "--from", "system")
    assert called.code == 3
    assert "would run system: tests.made_up.MadeUp(model=weights.bin" in called.err
    assert "--trust" in called.err
    assert calls() == before


def test_outputs_generated_again_are_the_same(generated: Path, cli: Cli) -> None:
    before = len(calls())
    called = cli("reproduce", "first", "--from", "system", "--trust")
    assert called.code == 0, called.out + called.err
    assert "4 of 4 outputs are identical (100.0%)" in called.out
    assert len(calls()) == 2 * before  # no cache, no journal
    assert sorted(path.name for path in generated.parent.iterdir() if path.is_dir()) == ["conf", "first", "runs"]


def test_outputs_that_differ_are_shown_side_by_side_and_tested(files: Path, cli: Cli) -> None:
    install(files)
    assert cli(*ARGUMENTS, "output_dir=first", "system.sampled=true").code == 0
    called = cli("reproduce", "first", "--from", "system", "--trust")
    assert called.code == 1
    assert "0 of 4 outputs are identical (0.0%)" in called.out
    assert "the first output that differs is of example 'a'" in called.out
    assert '\n    there  "The cat sat. 0 ' in called.out
    assert '\n    here   "The cat sat. 0 ' in called.out
    assert "bleu changed by " in called.out


def test_a_swapped_model_is_named(generated: Path, cli: Cli) -> None:
    before = calls()
    Path("weights.bin").write_text("others!")
    called = cli("reproduce", "first", "--from", "system", "--trust")
    assert called.code == 1
    assert "system.model weights.bin SHA-256 is " in called.out
    assert "nothing generated, " in called.out
    assert calls() == before


def test_outputs_of_a_neural_model_generated_again(files: Path, cli: Cli) -> None:
    """Sampled, in batches: the recorded weights, prompt, parameters and seeds give the same texts."""
    pytest.importorskip("torch")
    from tests.systems.tiny import make

    make("causal", files / "model")
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=huggingface", "system.model=model",
        "system.prompt='w1 w2 {{ source }}'", "system.do_sample=true", "system.temperature=5.0", "system.repeats=2",
        "system.max_new_tokens=6", "metrics=[bleu]", "tracking=none", "stats.resamples=50", "output_dir=first",
    )  # fmt: skip
    assert called.code == 0, called.err
    again = ("reproduce", "first", "--from", "system", "--trust", "--json")
    same = cli(*again)
    assert same.code == 0, same.out + same.err
    (outputs,) = [run["outputs"] for run in json.loads(same.out)["runs"]]
    assert outputs["identical"] == outputs["of"] == 2 * len(ROWS)
    swapped = make("causal", files / "other", seed=1)
    named = cli(*again, f"system.model={swapped.name}")
    assert named.code == 1
    (run,) = json.loads(named.out)["runs"]
    assert any(each["what"].startswith("system.model") and "SHA-256" in each["what"] for each in run["differences"])


def test_an_edited_data_file_is_named_by_its_example(generated: Path, cli: Cli) -> None:
    rows = [{**row, "source": "It pours."} if row["id"] == "b" else row for row in ROWS]
    write_jsonl(Path("dev.jsonl"), rows)
    called = cli("reproduce", "first", "--from", "system", "--trust")
    assert called.code == 1
    assert "the data's fingerprint is " in called.out
    assert """example 'b': source is "It rains." there, "It pours." here""" in called.out


def test_other_bytes_with_the_same_examples_are_no_difference(generated: Path, cli: Cli) -> None:
    Path("dev.jsonl").write_text("".join(json.dumps(dict(reversed(row.items()))) + "\n" for row in ROWS))
    called = cli("reproduce", "first", "--from", "system", "--trust")
    assert called.code == 0, called.out + called.err
    assert "dataset.path dev.jsonl SHA-256: other bytes, the same examples" in called.out


def test_a_missing_data_file_is_named_with_where_it_was(generated: Path, cli: Cli) -> None:
    shutil.move("dev.jsonl", "moved.jsonl")
    called = cli("reproduce", "first", "--from", "system", "--trust", "--json")
    assert called.code == 3
    (missing,) = json.loads(called.out)["runs"][0]["missing"]
    assert missing.startswith("dataset.path: dev.jsonl is missing (")
    assert f"it was below {generated.parent}" in missing
    moved = cli("reproduce", "first", "dataset.path=moved.jsonl", "--from", "system", "--trust")
    assert moved.code == 0, moved.out + moved.err


def test_it_is_executed_where_its_files_are(generated: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (generated.parent / "below").mkdir()
    monkeypatch.chdir(generated.parent / "below")
    called = cli("reproduce", "../first", "--from", "system", "--trust")
    assert called.code == 0, called.out + called.err


# ---------------------------------------------------------------- level 3


def test_a_missing_package_is_named(stored: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pip is asked, and has no index; what it would have installed is shown before."""
    package = {"name": "no-such-package", "version": "9.9", "record": None}
    edit(stored / "environment.json", lambda environment: environment.update(packages=[package]))
    edit(stored / "manifest.json", lambda manifest: manifest.update(packages={}))
    refused = cli("reproduce", "first", "--environment")
    assert refused.code == 3
    assert "would install no-such-package==9.9" in refused.err
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    called = cli("reproduce", "first", "--environment", "--trust")
    assert called.code == 3
    assert "no-such-package 9.9 has no wheel for this machine" in called.err


def test_another_python_is_named(stored: Path, cli: Cli) -> None:
    edit(stored / "environment.json", lambda environment: environment.update(python="3.2.1"))
    called = cli("reproduce", "first", "--environment", "--trust")
    assert called.code == 3
    assert "the run was made with Python 3.2.1" in called.err


def test_a_local_version_falls_back_to_the_public_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def pip(command: list[str], **options: Any) -> Any:
        asked.append(command[-1:])
        missing = "+" in command[-1]
        text = f"ERROR: No matching distribution found for {command[-1]}" if missing else ""
        return recreating.subprocess.CompletedProcess(command, int(missing), "", text)

    monkeypatch.setattr(recreating.subprocess, "run", pip)
    lock = recreating.Lock("3.11.1", {"made-up": ("2.5.1+cpu", None)})
    recreating._install(lock, Path("python"), tmp_path)
    assert asked == [["made-up==2.5.1+cpu"], ["made-up==2.5.1"]]
    assert lock.notes == ["made-up: 2.5.1+cpu there, 2.5.1 here: the local version is on no index"]


def test_what_has_no_wheel_is_copied_where_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import version

    from harness.run import environment

    dist = next(dist for dist in environment.distributions() if dist.name == "pyyaml")
    lock = recreating.Lock("3.11.1", {"pyyaml": (version("pyyaml"), environment.record_digest(dist.contents))})

    def pip(command: list[str], **options: Any) -> Any:
        return recreating.subprocess.CompletedProcess(command, 1, "", "No matching distribution found for PyYAML==1")

    monkeypatch.setattr(recreating.subprocess, "run", pip)
    recreating._install(lock, Path("python"), tmp_path)
    assert (tmp_path / "yaml" / "__init__.py").is_file()
    recreating._check(lock, tmp_path)
    assert [note for note in lock.notes if "another wheel" in note] == []
    (tmp_path / dist.folder.name / "RECORD").write_text("yaml/__init__.py,sha256=other,1\n")
    recreating._check(lock, tmp_path)
    assert "another wheel than was recorded" in lock.notes[-1]


@pytest.mark.slow
def test_in_an_environment_with_the_recorded_packages(copied: Path, cli: Cli) -> None:
    called = cli("reproduce", "run", "--environment", "--trust", "--json")
    assert called.code == 0, called.out + called.err
    document = json.loads(called.out)
    assert document["verdict"] == "same"
    assert document["environment"]["packages"] > 10
