"""A run by blocks: neither their size, nor where they are kept, nor the number of cores is seen in its files."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import harness
from harness.inputs.kept import Kept
from harness.types import text_columns
from tests.conftest import Called, write_jsonl

Cli = Callable[..., Called]
N = 25
RUN = (
    "run", "dataset=file", "dataset.path=data.jsonl", "dataset.cluster=talk", "system=predictions",
    "system.path=outputs.jsonl", "metrics=[bleu,rouge,chrf,distinct,exact_match]", "stats.resamples=200", "tracking=none",
)  # fmt: skip
WAYS = {"one block": (8192, 2**28, 2), "three": (3, 2**28, 2), "on disk": (4, 0, 2), "one core": (3, 2**28, 1)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Some outputs failed, fields are of several kinds or missing, one kind is met late."""
    chance = random.Random(1)
    rows, outputs = [], []
    for i in range(N):
        words = [chance.choice("abcdefgh") for _ in range(9)]
        row = {"id": f"é{i}", "source": " ".join(words), "references": [" ".join(words[::-1]), "a b c"][: 1 + i % 2]}
        late = {"late": i if i < 20 else "many"} if i % 3 else {}
        rows.append({**row, "talk": f"t{i % 5}", "number": i, "share": i / 7, "nested": {"i": [i]}, **late})
        outputs.append({"id": f"é{i}", "output": None if i in (4, 17) else " ".join(words[: 3 + i % 6])})
    write_jsonl(tmp_path / "data.jsonl", rows)
    write_jsonl(tmp_path / "outputs.jsonl", outputs)
    return tmp_path


def test_the_same_result(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    results = {}
    for way, (size, memory, cores) in WAYS.items():
        monkeypatch.setattr(text_columns, "BLOCK", size)
        monkeypatch.setattr(Kept, "in_memory", memory)
        monkeypatch.setattr("harness.engines.local.cores", lambda cores=cores: cores)
        called = cli(*RUN, f"output_dir={way.replace(' ', '-')}", "engine.keep_models=0")  # blocks of other sizes
        assert called.code == 0, called.err
        folder = data / way.replace(" ", "-")
        manifest = json.loads((folder / "manifest.json").read_text())
        tables = [pq.ParquetFile(folder / name).read() for name in ("examples.parquet", "statistics.parquet")]
        groups = pq.ParquetFile(folder / "examples.parquet").num_row_groups
        assert groups == -(-N // size)
        keys = [manifest["dataset"]["key"], manifest["metrics"]]
        results[way] = [(folder / "scores.json").read_bytes(), keys, [t.to_pylist() for t in tables], tables[0].schema]
    first, *others = results.values()
    assert [way for way, result in results.items() if result != first] == []
    assert first[3].field("late").type == "string"
    assert json.loads(first[0])["failed"] == 2
    assert others


def test_evaluate_agrees_with_the_run(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_columns, "BLOCK", 4)
    called = cli(*RUN, "output_dir=run")
    assert called.code == 0, called.err
    run = harness.load_run("run")
    rows = [row for row in run.table.to_pylist() if row["error"] is None]
    result = harness.evaluate(
        [row["output"] for row in rows], [row["references"] for row in rows], ["bleu", "rouge", "chrf"], resamples=0
    )
    for name, score in result.scores.items():
        assert score.estimate == pytest.approx(run.scores[name].estimate, rel=1e-12), name
    columns = [name for name in result.scores if name in run.table.column_names]
    assert result.table.select(columns).to_pylist() == [{name: row[name] for name in columns} for row in rows]


def test_rows_that_are_there_are_not_computed_again(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another method of intervals scores the run again from its rows, block by block."""
    from harness.metrics.bleu import Bleu

    monkeypatch.setattr(text_columns, "BLOCK", 4)
    asked: list[int] = []
    statistics = Bleu.statistics
    monkeypatch.setattr(Bleu, "statistics", lambda self, batch: asked.append(len(batch)) or statistics(self, batch))
    first = cli(*RUN, "output_dir=run")
    assert first.code == 0, first.err
    assert sum(asked) == N - 2 + 2 * 2  # and what the two that failed could have been
    asked.clear()
    again = cli("score", "run", "stats.seed=7", "output_dir=again")
    assert again.code == 0, again.err
    assert sum(asked) == 2 * 2
    heads = [
        json.loads(pq.ParquetFile(data / name / "statistics.parquet").schema_arrow.metadata[b"harness"])
        for name in ("run", "again")
    ]
    assert heads[0] == heads[1]
    before, after = (pq.ParquetFile(data / name / "statistics.parquet").read() for name in ("run", "again"))
    assert before.to_pylist() == after.to_pylist()


def test_code_of_the_user_s_own_is_called_once(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program is not started for every block, and a function may look at all outputs."""
    (data / "own.py").write_text(
        "def rank(outputs, references, sources):\n    with open('calls.txt', 'a') as file:\n        print(len(outputs), file=file)\n"
        "    return [sorted(outputs).index(text) for text in outputs]\n"
    )
    monkeypatch.setattr(text_columns, "BLOCK", 4)
    arguments = [argument for argument in RUN if not argument.startswith("metrics")]
    own = ("metrics=[python]", "metrics.python.function=own.py:rank")
    called = cli(*arguments, *own, "output_dir=run")
    assert called.code == 0, called.err
    assert (data / "calls.txt").read_text() == f"{N - 2}\n"
    ranks = [rank for rank in harness.load_run("run").table.column("rank").to_pylist() if rank is not None]
    assert (len(ranks), min(ranks)) == (N - 2, 0)


def test_damaged_rows_are_computed_again(data: Path, cli: Cli) -> None:
    first = cli(*RUN, "output_dir=run")
    assert first.code == 0, first.err
    before = (data / "run" / "statistics.parquet").read_bytes()
    (data / "run" / "statistics.parquet").write_bytes(before[: len(before) // 2])
    assert cli(*RUN, "output_dir=run").code == 0
    assert (data / "run" / "statistics.parquet").read_bytes() == before
