"""The flow: nothing is generated twice, nothing is lost, the same inputs give the same bytes."""

from __future__ import annotations

import importlib
import json
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import harness
from harness.testing import CannedSystem
from tests.conftest import GOOD, ROWS, Called, write_jsonl
from tests.made_up import calls

Cli = Callable[..., Called]
PREDICT = ("dataset=file", "dataset.path=dev.jsonl", "system=predictions", "metrics=lexical", "tracking=none")


def system(*options: str) -> tuple[str, ...]:
    """Arguments that choose a canned system with counted calls."""
    return ("dataset=file", "dataset.path=dev.jsonl", "--config-dir=conf", "system=counted", "metrics=lexical", "tracking=none", *options)  # fmt: skip


@pytest.fixture
def counted(files: Path) -> Path:
    (files / "conf" / "system").mkdir(parents=True)
    (files / "conf" / "system" / "counted.yaml").write_text(
        "_target_: harness.testing.CannedSystem\nname: counted\noutputs: ' {source} '\nfailing: []\nrevision: v1\n"
        "batch_size: 1\ncalls: calls.txt\n"
    )
    return files


def only(folder: Path) -> Path:
    paths = list(folder.rglob("scores.json"))
    assert len(paths) == 1
    return paths[0].parent


def test_the_run_folder(files: Path, cli: Cli) -> None:
    called = cli("run", *PREDICT, "system.path=good.jsonl", "stats.resamples=200")
    assert called.code == 0, called.err
    where = only(Path("runs"))
    assert where.parent == Path("runs/harness")
    assert where.name.startswith("dev-good-")
    scores = json.loads((where / "scores.json").read_text())
    assert {k: scores[k] for k in ("schema", "name", "examples", "failed")} == {
        "schema": 1, "name": "dev-good", "examples": 4, "failed": 0,
    }  # fmt: skip
    bleu = scores["scores"]["bleu"]
    assert set(bleu) >= {"estimate", "low", "high", "level", "method", "resamples", "signature"}
    expected = harness.evaluate(GOOD, [r["references"] for r in ROWS], ["lexical"], resamples=200)
    for name, score in expected.scores.items():
        stored = scores["scores"][name]
        assert (stored["estimate"], stored["low"], stored["high"]) == (score.estimate, score.low, score.high)
    examples = pd.read_parquet(where / "examples.parquet")
    assert list(examples["id"]) == ["a", "b", "c", "d"]
    assert list(examples["output"]) == GOOD
    assert list(examples["topic"]) == ["pets", "weather", "pets", "weather"]
    assert list(examples["repeat"]) == [0] * 4
    assert examples["error"].isna().all()
    assert list(examples["references"][0]) == ROWS[0]["references"]
    assert set(scores["scores"]) <= set(examples.columns)
    rows = pq.read_table(where / "statistics.parquet")
    assert rows.column_names[:3] == ["bleu:sys_len", "bleu:ref_len", "bleu:correct1"]
    assert rows.num_rows == 4
    manifest = json.loads((where / "manifest.json").read_text())
    assert manifest["seed"] == 12345
    assert manifest["metrics"]["bleu"]["signature"] == bleu["signature"]
    assert manifest["dataset"]["key"]
    assert manifest["packages"]["sacrebleu"]
    assert (where / "config.yaml").read_text().startswith("dataset:")


def test_same_inputs_same_bytes(files: Path, cli: Cli) -> None:
    for folder, more in (("one", ()), ("two", ()), ("three", ("metrics=[rouge,bleu]",))):
        assert cli("run", *PREDICT, "system.path=good.jsonl", f"output_dir={folder}", *more).code == 0
    for name in ("scores.json", "examples.parquet", "statistics.parquet"):
        assert (files / "one" / name).read_bytes() == (files / "two" / name).read_bytes()
    scores_of_one, scores_of_three = (
        json.loads((files / f / "scores.json").read_text())["scores"] for f in ("one", "three")
    )
    assert scores_of_one == scores_of_three  # whatever the order of the metrics


def test_a_second_run_generates_and_scores_nothing(counted: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("run", *system()).code == 0
    assert calls() == ["a", "b", "c", "d"]
    before = (only(Path("runs")) / "scores.json").read_bytes()

    def never(*arguments: Any) -> None:
        raise AssertionError("scored again")

    monkeypatch.setattr("harness.metrics.bleu.Bleu.statistics", never)
    monkeypatch.setattr("harness.metrics.rouge.Rouge.statistics", never)
    assert cli("run", *system()).code == 0
    assert calls() == ["a", "b", "c", "d"]
    assert (only(Path("runs")) / "scores.json").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "generated"),
    [
        (("metrics=bleu",), []),
        (("postprocess=strip",), []),
        (("stats.seed=1",), []),
        (("limit=2",), []),
        (("system.revision=v2",), ["a", "b", "c", "d"]),
    ],
)
def test_what_changed_decides_what_is_generated(
    counted: Path, cli: Cli, change: tuple[str], generated: list[str]
) -> None:
    assert cli("run", *system()).code == 0
    assert cli("run", *system(*change)).code == 0
    assert calls()[4:] == generated
    assert len(list(Path("runs").rglob("scores.json"))) == 2


def test_a_changed_example_is_generated_alone(counted: Path, cli: Cli) -> None:
    for revision in ("v2", "null"):
        write_jsonl(counted / "dev.jsonl", ROWS)
        Path("calls.txt").unlink(missing_ok=True)
        assert cli("run", *system(f"system.revision={revision}")).code == 0
        write_jsonl(counted / "dev.jsonl", [*ROWS[:3], {**ROWS[3], "source": "another"}])
        assert cli("run", *system(f"system.revision={revision}")).code == 0
        assert calls() == ["a", "b", "c", "d", "d"]


def test_a_system_without_identity_is_reused_in_its_folder_only(counted: Path, cli: Cli) -> None:
    assert cli("run", *system("system.revision=null")).code == 0
    assert cli("run", *system("system.revision=null")).code == 0
    assert len(calls()) == 4
    assert cli("run", *system("system.revision=null", "postprocess=strip")).code == 0
    assert len(Path("calls.txt").read_text().splitlines()) == 8


def test_raw_and_processed_outputs_are_kept(counted: Path, cli: Cli) -> None:
    assert cli("run", *system("postprocess=strip", "postprocess.lowercase=true")).code == 0
    examples = pd.read_parquet(only(Path("runs")) / "examples.parquet")
    assert examples["output"][0] == "the cat sat."
    assert examples["raw_output"][0] == " The cat sat. "


def test_failures_are_kept_counted_and_left_out(counted: Path, cli: Cli) -> None:
    failing = system("system.failing=[d]")
    called = cli("run", *failing)
    assert called.code == 0
    assert "4 examples, 1 failed" in called.out
    run = harness.load_run("dev-counted")
    assert run.failed == 1
    assert run.examples["error"].tolist()[3] == "refused"
    assert pd.isna(run.examples["bleu"][3])
    outputs = [f" {r['source']} " for r in ROWS[:3]]
    alone = harness.evaluate(outputs, [r["references"] for r in ROWS[:3]], ["bleu"], resamples=0)
    assert run.scores["bleu"].estimate == alone.scores["bleu"].estimate
    assert cli("run", *failing).code == 0
    assert len(calls()) == 4
    assert cli("run", *failing, "retry_failed=true").code == 0
    assert calls()[4:] == ["d"]


def test_if_all_fail_the_run_says_so(counted: Path, cli: Cli) -> None:
    called = cli("run", *system("system.failing=[a,b,c,d]"))
    assert called.code == 1
    assert "all 4 examples failed, the first with: refused" in called.err
    assert json.loads((only(Path("runs")) / "scores.json").read_text())["scores"]["bleu"]["estimate"] is None


def test_an_extraction_that_finds_nothing_is_a_failure(files: Path, cli: Cli) -> None:
    called = cli("run", *PREDICT, "system.path=good.jsonl", "postprocess.extract=cat.*")
    assert called.code == 0
    assert "3 failed" in called.out


def test_another_config_never_overwrites_a_folder(files: Path, cli: Cli) -> None:
    assert cli("run", *PREDICT, "system.path=good.jsonl", "output_dir=out").code == 0
    before = Path("out/scores.json").read_bytes()
    assert cli("run", *PREDICT, "system.path=good.jsonl", "output_dir=out", "name=dev-good").code == 0
    called = cli("run", *PREDICT, "system.path=bad.jsonl", "output_dir=out")
    assert called.code == 1
    assert "out holds a run of another config (system.path: good.jsonl there, bad.jsonl here)" in called.err
    assert Path("out/scores.json").read_bytes() == before


def test_clusters_and_awkward_metadata(files: Path, cli: Cli) -> None:
    rows = [
        {**row, "output": i, "bleu": "mine", "mixed": i if i % 2 else [str(i)], "big": 2**70}
        for i, row in enumerate(ROWS)
    ]
    write_jsonl(files / "dev.jsonl", rows)
    called = cli("run", *PREDICT, "system.path=good.jsonl", "dataset.cluster=topic")
    assert called.code == 0, called.err
    assert "clustered by topic" in called.out
    run = harness.load_run("dev-good")
    assert run.cluster == "topic"
    assert run.examples["metadata.output"].tolist() == [0, 1, 2, 3]
    assert run.examples["metadata.bleu"].tolist() == ["mine"] * 4
    assert run.examples["mixed"].tolist() == ['["0"]', "1", '["2"]', "3"]
    clustered = harness.evaluate(GOOD, [r["references"] for r in ROWS], ["bleu"], clusters=[r["topic"] for r in ROWS])
    assert (run.scores["bleu"].low, run.scores["bleu"].high) == (
        clustered.scores["bleu"].low,
        clustered.scores["bleu"].high,
    )


def test_a_new_metric_is_one_file_and_one_yaml(files: Path, cli: Cli) -> None:
    (files / "length.py").write_text(
        "import numpy as np\nfrom harness.types import Metric\n"
        "class Length(Metric):\n"
        "    name, columns, score_names, needs_references = 'length', ('words', 'count'), ('length',), False\n"
        "    def statistics(self, batch):\n"
        "        return np.array([[len(text.split()), 1.0] for text in batch.outputs])\n"
        "    def score(self, sums):\n"
        "        return sums[..., :1] / sums[..., 1:]\n"
    )
    (files / "conf" / "metrics").mkdir(parents=True)
    (files / "conf" / "metrics" / "length.yaml").write_text("length:\n  _target_: length.Length\n")
    arguments = [a for a in PREDICT if not a.startswith("metrics")]
    called = cli("run", *arguments, "system.path=good.jsonl", "--config-dir", "conf", "metrics=[bleu,length]")
    assert called.code == 0, called.err
    assert harness.load_run("dev-good").scores["length"].estimate == pytest.approx(13 / 4)


def test_outputs_of_one_config_are_never_served_for_another(counted: Path, cli: Cli) -> None:
    """Two systems without a known identity, the second in the folder where the first was killed before it ended."""
    assert cli("run", *system("system.revision=null", "system.outputs=one", "output_dir=out")).code == 0
    Path("out/manifest.json").unlink()
    assert cli("run", *system("system.revision=null", "system.outputs=two", "output_dir=out")).code == 0
    assert all(text.startswith("two") for text in pd.read_parquet("out/examples.parquet")["output"])


def test_a_cluster_field_of_a_taken_name(files: Path, cli: Cli) -> None:
    write_jsonl(files / "dev.jsonl", [{**row, "output": i // 2} for i, row in enumerate(ROWS)])
    for name in ("good", "bad"):
        assert cli("run", *PREDICT, f"system.path={name}.jsonl", "dataset.cluster=output").code == 0
    assert harness.load_run("dev-good").cluster == "metadata.output"
    assert {row.n for row in harness.compare(["dev-good", "dev-bad"], resamples=100)} == {2}
    write_jsonl(files / "dev.jsonl", [{**row, "output": None} for row in ROWS])
    called = cli("run", *PREDICT, "system.path=good.jsonl", "dataset.cluster=output")
    assert "dev.jsonl line 1: 'output' is null; expected the cluster of the example" in called.err


def test_reused_rows_keep_the_versions_that_made_them(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("run", *PREDICT, "system.path=good.jsonl").code == 0
    monkeypatch.setattr("sacrebleu.__version__", "9.9.9")
    assert cli("run", *PREDICT, "system.path=good.jsonl").code == 0
    assert "version:2.6.0" in harness.load_run("dev-good").scores["bleu"].signature


def test_a_changed_metric_of_the_users_own_is_scored_again(
    files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    code = "from harness.testing import CannedMetric\nclass Own(CannedMetric):\n    def value(self, output):\n        return float({})\n"
    arguments = [a for a in PREDICT if not a.startswith("metrics")]
    for value in (1, 2):
        (files / "own.py").write_text(code.format(value))
        monkeypatch.delitem(sys.modules, "own", raising=False)
        importlib.invalidate_caches()
        linecache.clearcache()
        called = cli("run", *arguments, "system.path=good.jsonl", "+metrics.own._target_=own.Own", "metrics=bleu")
        assert called.code == 0, called.err
        assert harness.load_run("dev-good").scores["canned"].estimate == value


def test_failed_cells_do_not_hide_the_others(files: Path, cli: Cli) -> None:
    called = cli("run", *PREDICT, "--multirun", "system.path=good.jsonl,nowhere.jsonl,bad.jsonl")
    assert called.code == 1
    assert called.err.splitlines()[0].startswith(
        "harness: cell 1 (path=nowhere.jsonl) failed: nowhere.jsonl does not exist"
    )
    assert "harness: 1 of 3 cells failed:\n  1 path=nowhere.jsonl: nowhere.jsonl does not exist" in called.err
    assert "good " in called.out
    assert "harness compare runs/harness/dev-good" in called.out
    assert not Path("runs/.multirun").exists()


def test_what_is_missing_is_said_before_anything_is_generated(counted: Path, cli: Cli) -> None:
    called = cli("run", *system("metrics.bleu.tokenize=nonsense"))
    assert called.code == 1
    assert calls() == []
    refused = cli("run", *PREDICT, "system.path=dev.jsonl")
    assert refused.code == 1
    assert not Path("runs").exists()


def test_a_system_that_breaks_its_promise_is_named(counted: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CannedSystem, "generate", lambda self, batch: [])
    called = cli("run", *system())
    assert called.code == 1
    assert "the system counted gave 0 outputs for a batch of 1; expected one harness.types.Output" in called.err


def test_a_very_long_name(files: Path, cli: Cli) -> None:
    assert cli("run", *PREDICT, "system.path=good.jsonl", f"name={'n' * 300}").code == 0
    assert harness.load_run("n" * 300).name == "n" * 300


MINE = """
from harness.types import Output, System

class Mine(System):
    name = "mine"

    def key(self):
        return None

    def generate(self, batch):
        with open("calls.txt", "a") as file:
            file.writelines(f"{example.id}\\n" for example in batch)
        return [Output(answer(example)) for example in batch]

def answer(example):
    return "ANSWER"
"""


def test_outputs_of_an_edited_plug_in_are_generated_again(files: Path, cli: Cli) -> None:
    """Its identity is unknown, so its source is: also what stands beside the class."""
    conf = files / "conf" / "system"
    conf.mkdir(parents=True)
    (conf / "mine.yaml").write_text("_target_: mine.Mine\n")
    arguments = ("run", "dataset=file", "dataset.path=dev.jsonl", "--config-dir=conf", "system=mine", "metrics=exact_match", "tracking=none")  # fmt: skip
    outputs = []
    for text in ("good", "good", "nonsense"):
        (files / "mine.py").write_text(MINE.replace("ANSWER", text))
        sys.modules.pop("mine", None)  # as in a new process
        importlib.invalidate_caches()
        called = cli(*arguments)
        assert called.code == 0, called.err
        outputs.append(harness.load_run(only(Path("runs"))).examples["output"].unique().tolist())
    assert outputs == [["good"], ["good"], ["nonsense"]]
    assert len(Path("calls.txt").read_text().splitlines()) == 8
