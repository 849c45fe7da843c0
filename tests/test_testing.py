"""The shipped fakes: through the whole flow, by the command line and by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import harness
from harness.run.logging import logged
from harness.testing import Call, CannedDataset, CannedMetric, CannedSystem, MemoryTracker, WordCount, read_calls
from harness.types import Example, HarnessError, Output
from tests.conftest import Called, example

Cli = Callable[..., Called]
CONFIG = {
    "dataset/small.yaml": """
_target_: harness.testing.CannedDataset
name: small
examples:
  - {id: a, source: one, references: [one]}
  - {id: b, source: one two, references: [two], domain: news}
  - {id: c, source: one two three}
""",
    "system/fake.yaml": """
_target_: harness.testing.CannedSystem
outputs: "{source} ({repeat})"
failing: []
raise_after: null
revision: null
repeats: 1
batch_size: 2
calls: calls.txt
""",
    "metrics/words.yaml": "words:\n  _target_: harness.testing.WordCount\n",
}
RUN = (
    "run",
    "--config-dir=conf",
    "dataset=small",
    "system=fake",
    "metrics=words",
    "tracking=none",
    "stats.resamples=50",
)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    for name, content in CONFIG.items():
        (tmp_path / "conf" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf" / name).write_text(content)
    return tmp_path


def asked() -> list[str]:
    return [name for batch in read_calls() for name in batch.asked]


def test_a_run_of_fakes(conf: Path, cli: Cli) -> None:
    called = cli(*RUN, "system.repeats=2", "output_dir=out")
    assert called.code == 0, called.err
    table = pd.read_parquet("out/examples.parquet")
    assert table["output"].tolist() == [
        f"{source} ({r})" for source in ("one", "one two", "one two three") for r in (0, 1)
    ]
    assert table["words"].tolist() == [2, 2, 3, 3, 4, 4]
    assert json.loads(Path("out/scores.json").read_text())["scores"]["words"]["estimate"] == 3
    assert [batch.asked for batch in read_calls()] == [["a", "a/1"], ["b", "b/1"], ["c", "c/1"]]


def test_a_run_that_ends_in_the_middle_goes_on(conf: Path, cli: Cli) -> None:
    ended = cli(*RUN, "system.raise_after=1", "system.revision=v1")
    assert ended.code == 1
    assert "the system canned was told to stop after 1 batches" in ended.err
    assert asked() == ["a", "b", "c"]
    assert cli(*RUN, "system.revision=v1").code == 0
    assert asked()[3:] == ["c"]  # the first batch was kept for whoever has the same key


def test_failing_examples_of_a_run(conf: Path, cli: Cli) -> None:
    called = cli(*RUN, "system.failing=[b]")
    assert called.code == 0, called.err
    run = harness.load_run("small-canned")
    assert run.failed == 1
    assert run.examples["error"].tolist()[1] == "refused"
    assert run.scores["words"].estimate == 3


def test_outputs_by_function_id_and_template() -> None:
    first, second = example("a", "x", topic="t"), Example("b", None, (), repeat=2)
    for outputs, texts in (
        (lambda e: f"{e.id}!", ["a!", "b!"]),
        ({"a": "first", "b": "second"}, ["first", "second"]),
        ("{id} {repeat}", ["a 0", "b 2"]),
        ("always this", ["always this"] * 2),
    ):
        system = CannedSystem(outputs, info={"finish": "stop"})
        assert system.generate([first, second]) == [Output(text, None, {"finish": "stop"}) for text in texts]
        assert [(batch.ids, batch.repeats) for batch in system.batches] == [(("a", "b"), (0, 2))]
    with pytest.raises(HarnessError, match="there is no canned output for 'z'; found: a, b"):
        CannedSystem({"a": "", "b": ""}).generate([example("z")])


def test_the_identity_of_a_canned_system() -> None:
    assert CannedSystem().key() is None
    keys = [CannedSystem(o, revision=r).key() for o, r in (("x", "1"), ("x", "2"), ("y", "1"), (str, "1"))]
    assert None not in keys and len(set(keys)) == 4
    assert CannedSystem("x", revision="1", failing=["a"], repeats=3).key() == keys[0]


def test_calls_are_read_while_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "calls.txt"
    assert read_calls(path) == []
    system = CannedSystem(calls=str(path))
    system.generate([example("ä b")])
    with path.open("a") as file:
        file.write('{"ids": ["half')
    assert read_calls(path) == system.batches == [Call(("ä b",), (0,), system.batches[0].process)]


def test_a_data_set_of_examples_and_rows() -> None:
    examples = [example("a", "x", "y", topic="t"), example("b", None)]
    rows = [{"id": "a", "source": "x", "references": ["y"], "topic": "t"}, {"id": "b", "source": None}]
    dataset = CannedDataset(examples)
    assert list(dataset.examples()) == list(CannedDataset(rows).examples()) == examples
    assert (list(dataset.examples()), dataset.reads) == (examples, 2)
    with pytest.raises(HarnessError, match="canned example 2 has the id 'a', already used in canned example 1"):
        list(CannedDataset([example("a"), example("a")]).examples())
    with pytest.raises(HarnessError, match="canned example 2: 'topic' is null|canned example 2 has no 'topic'"):
        list(CannedDataset(examples, cluster="topic").examples())


def test_scores_known_beforehand() -> None:
    metric = CannedMetric({"good": 1.0, "bad": 0.0}, name="judge", higher_is_better=False)
    result = harness.evaluate(["good", "bad", "bad", "odd"], [[]] * 4, metrics=[metric], resamples=100)
    score = result.scores["judge"]
    assert score.estimate == pytest.approx(1 / 3)
    assert not score.higher_is_better
    assert np.isnan(result.statistics["judge"].rows[3]).all()
    other = CannedMetric({"good": 1.0, "bad": 0.5})
    assert other.definition() != metric.definition()
    assert WordCount().definition() == {}


def test_a_tracker_that_remembers(conf: Path, cli: Cli) -> None:
    called = cli(*RUN, "output_dir=out", "tracking._target_=harness.testing.MemoryTracker")
    assert called.code == 0, called.err
    run = harness.load_run("out")
    assert run.manifest["mlflow"] == {"run_id": "memory-1", "uri": "memory:", "where": "memory"}
    tracker = MemoryTracker("mine", "memory:other")
    logged(tracker, run)
    assert (tracker.runs, tracker.groups, tracker.experiment) == ([run], [None], "mine")
    assert json.loads(Path("out/manifest.json").read_text())["mlflow"]["uri"] == "memory:other"
