"""A metric of the user's own with lists beside its numbers: run, stored, read back, reused, compared, scored again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
from harness.types import Batch, HarnessError, Lists, Rows
from tests.conftest import Called, write_jsonl

Cli = Callable[..., Called]
VOCABULARY = '''
import zlib
from pathlib import Path

import numpy as np
from harness.types import Lists, Metric, Rows


class Vocabulary(Metric):
    """How many different words all outputs have: no function of a sum."""

    name, columns, lists, score_names = "vocabulary", ("words",), ("hashes",), ("vocabulary",)
    needs_references = False
    jackknifed = True

    def statistics(self, batch):
        with Path("scored.txt").open("a") as file:
            file.write("x")
        hashes = [sorted({zlib.crc32(word.encode()) for word in text.split()}) for text in batch.outputs]
        return Rows(np.array([[float(len(values))] for values in hashes]), {"hashes": Lists.of(hashes)})

    def score(self, sums):
        return sums

    def score_weighted(self, weights, rows):
        lists = rows.lists["hashes"]
        present = np.repeat(weights > 0, np.diff(lists.starts), axis=1)
        return np.array([[len(np.unique(lists.values[some]))] for some in present], dtype=float)
'''
RUN = ("run", "--config-dir=conf", "dataset=file", "dataset.path=dev.jsonl", "tracking=none", "stats.resamples=200")
OUTPUTS = {
    "rich": ["a cat sat down", "rain is falling", "dogs bark", "snow fell", "so it goes", "who knows"],
    "poor": ["a cat", "a cat", "a dog", "a cat", "a dog", "a cat"],
}


@pytest.fixture
def author(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A folder with the author's metric and two systems, one of which fails once."""
    for kind in ("metrics", "system"):
        (files / "conf" / kind).mkdir(parents=True)
    (files / "vocabulary.py").write_text(VOCABULARY)
    (files / "conf" / "metrics" / "vocabulary.yaml").write_text("vocabulary:\n  _target_: vocabulary.Vocabulary\n")
    for name, outputs in OUTPUTS.items():
        canned = {
            "_target_": "harness.testing.CannedSystem",
            "name": name,
            "outputs": dict(zip("abcdef", outputs, strict=True)),
        }
        (files / "conf" / "system" / f"{name}.yaml").write_text(
            json.dumps(canned | {"failing": ["b"] if name == "poor" else []})
        )
    rows = [{"id": id_, "source": "s", "half": i // 3, "pair": i // 2} for i, id_ in enumerate("abcdef")]
    write_jsonl(files / "dev.jsonl", rows)
    monkeypatch.delitem(sys.modules, "vocabulary", raising=False)
    return cli


def called(cli: Cli, *arguments: str) -> str:
    result = cli(*arguments)
    assert result.code == 0, result.err
    return result.out


def test_a_metric_with_lists_goes_all_the_way(author: Cli, files: Path) -> None:
    for name in OUTPUTS:
        called(author, *RUN, "metrics=vocabulary", f"system={name}", f"output_dir={name}")
    rich, poor = (harness.load_run(name, trust=True) for name in OUTPUTS)
    assert (rich.scores["vocabulary"].estimate, poor.scores["vocabulary"].estimate) == (16, 3)
    assert rich.scores["vocabulary"].method == "jackknife"
    assert rich.examples["vocabulary"].tolist() == [4, 3, 2, 2, 3, 2]

    stored = pq.read_table("poor/statistics.parquet")
    assert stored.schema.field("vocabulary:hashes").type == pa.large_list(pa.int64())
    assert [len(values) for values in stored.column("vocabulary:hashes").to_pylist()] == [2, 0, 2, 2, 2, 2]
    assert np.isnan(poor.statistics["vocabulary"].rows[1]).all()

    ours = ("rich", "poor", "--config-dir", "conf")
    for test in ("bootstrap", "randomization"):
        compared = json.loads(called(author, "compare", *ours, "--test", test, "--resamples", "500", "--json"))
        (row,) = compared["comparisons"]
        assert (row["baseline_estimate"], row["system_estimate"], row["excluded"]) == (13, 3, 1)
        assert row["verdict"] == "too few to tell"  # of 32 swaps at most
    powers = json.loads(called(author, "power", *ours, "--json"))
    assert powers["rows"][0]["standard_error"] > 0

    computed, before = Path("scored.txt").read_text(), Path("rich/statistics.parquet").read_bytes()
    Path("rich/scores.json").unlink()
    called(author, *RUN, "metrics=vocabulary", "system=rich", "output_dir=rich")
    again = harness.load_run("rich")
    assert Path("rich/statistics.parquet").read_bytes() == before
    assert again.scores["vocabulary"] == rich.scores["vocabulary"]
    called(author, "score", "rich", "--config-dir=conf", "metrics=[vocabulary,distinct]", "output_dir=later")
    assert Path("scored.txt").read_text() == computed  # both times the lists were read back
    later = harness.load_run("later", trust=True)
    assert later.scores["vocabulary"].estimate == 16
    assert later.scores["distinct1"].estimate == 1.0
    assert (
        later.statistics["vocabulary"].lists["hashes"].values == rich.statistics["vocabulary"].lists["hashes"].values
    ).all()


@pytest.mark.parametrize("option", ["dataset.cluster=pair", "stats.strata=half"])
def test_clusters_and_strata(author: Cli, option: str) -> None:
    called(author, *RUN, "metrics=vocabulary", "system=rich", option, "output_dir=out")
    score = harness.load_run("out").scores["vocabulary"]
    assert score.estimate == 16
    assert score.low is not None and score.high is not None
    assert score.low < 16 < score.high


def test_bytes_are_the_same_twice(author: Cli) -> None:
    for name in ("one", "two"):
        called(author, *RUN, "metrics=[vocabulary,distinct]", "system=poor", f"output_dir={name}")
    for file in ("statistics.parquet", "examples.parquet"):
        assert Path("one", file).read_bytes() == Path("two", file).read_bytes()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones((2, 1)), "words gave the lists none; expected hashes, as its `lists` says"),
        (Rows(np.ones((2, 1)), {"other": Lists.of([[1], []])}), "words gave the lists other; expected hashes"),
        (Rows(np.ones((2, 1)), {"hashes": Lists.of([[1]])}), "the list hashes has 1 lists of 1 value; expected 2, one"),
        (Rows(np.ones((3, 1)), {"hashes": Lists.of([[1]])}), r"words gave statistics of shape \(3, 1\); expected \(2, 1\)"),
        (
            Rows(np.ones((2, 1)), {"hashes": Lists(np.ones(2), np.array([0, 1, 2]))}),  # type: ignore[arg-type]
            "the list hashes has float64 values; expected int64",
        ),
    ],
)  # fmt: skip
def test_what_an_author_gets_wrong(rows: object, message: str) -> None:
    from harness.testing import WordCount

    class Wrong(WordCount):
        columns, lists = ("words",), ("hashes",)

        def statistics(self, batch: Batch) -> object:  # type: ignore[override]
            return rows

    with pytest.raises(HarnessError, match=message):
        harness.evaluate(["a", "b"], [[], []], [Wrong()], resamples=0)


def test_statistics_that_hold_something_else_are_refused(author: Cli) -> None:
    called(author, *RUN, "metrics=vocabulary", "system=rich", "output_dir=out")
    path = Path("out/statistics.parquet")
    table = pq.read_table(path)
    floats = table.set_column(1, "vocabulary:hashes", pa.array([1.0] * 6))
    pq.write_table(floats.replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(
        HarnessError, match="statistics.parquet cannot be read .vocabulary:hashes: double for lists of whole numbers"
    ):
        harness.load_run("out")
