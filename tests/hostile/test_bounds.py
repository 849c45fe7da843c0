"""What strangers send has no bounds; the work that it makes has.

A case is a line. None measures time: what is not linear takes hours at these lengths, or asks for more memory than
there is.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
from harness import masking, postprocess
from harness.systems.openai import OpenAI
from harness.types import HarnessError
from tests.conftest import example, write_jsonl
from tests.hostile import bounded
from tests.made_up import write_run
from tests.systems.faulty import Endless, faulty

# ---------------------------------------------------------------- masking

LONG_WORDS = {
    "one word": "a", "with underscores": "a_", "flags joined by dots": "-a.", "users in addresses": "a://b:",
    "addresses": "http://", "a name of a secret": "token", "a query": "?a.aA", "pairs": "password=", "quotes": "pwd='\"",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("part", LONG_WORDS.values(), ids=LONG_WORDS)
def test_masking_takes_time_linear_in_a_text(part: str) -> None:
    code = "import sys\nfrom harness.masking import redacted\nprint(len(redacted(sys.argv[1] * (300_000 // len(sys.argv[1])))))"
    assert int(bounded.run(code, part, seconds=60)) > 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no room", "no room"),
        ("a" * 30_000, "a" * 9_000 + "…"),
        ("x " * 4_990 + "https://me:" + "p" * 50 + "@host failed", "x " * 4_990 + "…"),
        ("api_key=12345678 " * 1_000, "api_key=*** " * 588 + "…"),
    ],
)
def test_long_error_is_cut_before_it_is_masked(text: str, expected: str) -> None:
    assert masking.excerpt(text) == expected


# ---------------------------------------------------------------- servers

BODIES = [
    (Endless(), "the answer is longer than system.answer_mb=2"),
    (Endless(packed=True), "the answer is longer than system.answer_mb=2"),
    (Endless(400), "HTTP 400: nothing"),
    (Endless(400, packed=True), "HTTP 400: nothing"),
]


@pytest.mark.parametrize(("act", "error"), BODIES)
def test_body_without_end_is_a_failed_example(act: Endless, error: str) -> None:
    with faulty() as server:
        server.script["p"] = [act]
        system = OpenAI(server.url, "m", answer_mb=2, retries=0)
        failed, answered = system.generate([example("1", "p"), example("2", "q")])
        assert (failed.text, failed.error) == (None, error)
        assert answered.text == "echo q"
        assert server.sent < 128  # MiB; what is on its way when the connection is closed


# ---------------------------------------------------------------- texts and expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'<think>' * 300_000", ""),
        ("'<think>' * 300_000 + '</think>yes'", "yes"),
        ("'<think>x</think>' * 100_000 + 'yes'", "yes"),
        ("'</think>' * 300_000 + '<think>no'", "</think>" * 299_999),
        ("'<think' * 300_000", "<think" * 300_000),
    ],
)
def test_reasoning_is_removed_in_linear_time(text: str, expected: str) -> None:
    code = f"from harness.postprocess import Postprocess\nprint(Postprocess(reasoning=['think'])({text}).text, end='')"
    assert bounded.run(code, seconds=60) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'word ' * 280_000 + '.' * 100_000", False),
        ("'a' * 400_000 + 'b' + 'a' * 400_000", False),
        ("'word ' * 100_000 + '.' * 1_000_000", True),
        ("'. ' * 750_000", True),
    ],
)
def test_loops_are_looked_for_in_linear_time(text: str, expected: bool) -> None:
    code = f"from harness.run.health import looping\nprint(looping({text}))"
    assert bounded.run(code, seconds=60) == f"{expected}\n"


SLOW = "postprocess.extract={!r} took longer than 0.1 s for a text of {} characters"


@pytest.mark.parametrize(
    ("pattern", "text", "error"),
    [
        ("(a+)+$", "a" * 40 + "!", None),  # the engine sees that it cannot match
        (r"(.*)*x\d", "a" * 100, None),
        ("(a|aa)+$", "a" * 60 + "!", SLOW.format("(a|aa)+$", 61)),
    ],
)
def test_expression_that_takes_for_ever_is_a_failed_example(pattern: str, text: str, error: str | None) -> None:
    code = (
        "import sys\nfrom harness.postprocess import Postprocess\n"
        "print(Postprocess(extract=sys.argv[1], which='last', no_match='keep', time_limit=0.1)(sys.argv[2]).error)"
    )
    assert bounded.run(code, pattern, text, seconds=60) == f"{error}\n"


def test_expression_that_calls_itself_for_ever_is_a_failed_example() -> None:
    code = "from harness.postprocess import Postprocess\nprint(Postprocess(extract='(?P<x>(?&x)a)', time_limit=60)('a').error)"
    error = "postprocess.extract='(?P<x>(?&x)a)' took too much memory for a text of 1 character"
    assert bounded.run(code, seconds=60) == f"{error}\n"


def test_expression_that_is_slow_for_every_output_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postprocess, "MOST_SLOW", 2)
    process = postprocess.Postprocess(extract="(a|aa)+$", time_limit=0.01)
    text = "a" * 60 + "!"
    assert [process(text).text, process("aa").text, process(text).text] == [None, "a", None]
    with pytest.raises(HarnessError) as raised:
        process(text)
    slow = "postprocess.extract='(a|aa)+$' took longer than 0.01 s for a text of 61 characters"
    assert str(raised.value) == f"{slow}, and so for 2 before; expected a simpler expression"


@pytest.mark.slow
def test_condition_that_takes_for_ever_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "one", "a" * 60 + "!")
    code, said = bounded.harness("runs", "name~(a|aa)+$", seconds=60, folder=tmp_path)
    expected = "name~(a|aa)+$ took longer than 5 s for a text of 61 characters; expected a simpler expression"
    assert (code, said) == (1, f"harness: {expected}\n")


METRICS = ("bleu", "chrf", "chrfpp", "rouge", "nist", "exact_match", "token_f1")
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=sys.jsonl", "tracking=none",
       "stats.resamples=20", "output_dir=run")  # fmt: skip


def write_outputs(folder: Path, outputs: list[str]) -> None:
    rows = [{"id": str(i), "source": "s", "references": ["it rains all day"]} for i in range(len(outputs))]
    write_jsonl(folder / "dev.jsonl", rows)
    write_jsonl(folder / "sys.jsonl", [{"id": str(i), "output": output} for i, output in enumerate(outputs)])


@pytest.mark.slow
def test_output_of_100_million_characters_is_a_failed_example(tmp_path: Path) -> None:
    write_outputs(tmp_path, ["it rains", "a" * 100_000_000, "it rains all day"])
    code, said = bounded.harness(*RUN, "metrics=chrf", folder=tmp_path, memory=4 * bounded.GIB)
    assert code == 0, said
    table = pq.read_table(tmp_path / "run" / "examples.parquet", columns=["error", "chrf"])
    assert table.column("error").to_pylist() == [
        None,
        "the output has 100,000,000 characters; expected at most 10,000,000",
        None,
    ]
    assert [score is None for score in table.column("chrf").to_pylist()] == [False, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "text", ["a" * 10_000_000, "a b " * 2_500_000, "a\n" * 100_000, "漢" * 10_000_000], ids=lambda text: repr(text[:4])
)
def test_longest_output_is_scored(tmp_path: Path, metric: str, text: str) -> None:
    write_outputs(tmp_path, ["it rains", text])
    code, said = bounded.harness(*RUN, f"metrics={metric}", folder=tmp_path, memory=6 * bounded.GIB, seconds=300)
    assert code == 0, said
    assert pq.read_table(tmp_path / "run" / "examples.parquet").column("error").to_pylist() == [None, None]


def test_too_little_memory_for_a_metric_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def statistics(metric: Any, batch: Any) -> Any:
        raise MemoryError("Unable to allocate 18.0 GiB for an array with shape (9, 268435480)")

    monkeypatch.setattr("harness.metrics.chrf.Chrf.statistics", statistics)
    with pytest.raises(HarnessError) as raised:
        harness.evaluate(["it rains"], ["it rains all day"], "chrf")
    assert str(raised.value) == (
        "there is not enough memory for chrf; the longest output or reference has 16 characters; expected shorter "
        "texts, or more memory"
    )


# ---------------------------------------------------------------- many systems

ALL_PAIRS = """
import sys, tracemalloc
import numpy as np, pyarrow as pa
from harness.analysis.comparing.comparing import compare
from harness.stats.options import ComparisonOptions
from harness.testing import CannedMetric
from harness.types import Batch, RunResult, Signature, Statistics

class Given(CannedMetric):
    name, score_names = "given", ("given",)

systems, test = int(sys.argv[1]), sys.argv[2]
rng, metric, n = np.random.default_rng(0), Given(), 50
table = pa.table({"id": [str(i) for i in range(n)], "repeat": [0] * n})
runs = []
for i in range(systems):
    rows = metric.statistics(Batch([str(value) for value in rng.normal(i / 100, 1, n)], []))
    statistics = {"given": Statistics.of(metric, rows, Signature({}, {}), "")}
    runs.append(RunResult(f"s{i}", "d", "d", f"s{i}", {}, statistics, lambda: table, 0))
tracemalloc.start()
rows = compare(runs, None, ComparisonOptions(resamples=10_000, test=test))
print(len(rows), tracemalloc.get_traced_memory()[1] // 2**20)
"""


@pytest.mark.parametrize("test", ["bootstrap", pytest.param("randomization", marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_pairs_of_systems(test: str) -> None:
    """Draws of 1,225 pairs take 190 MiB, and twice that where they are kept for max-T; those of 50 systems take 4."""
    pairs, megabytes = map(int, bounded.run(ALL_PAIRS, "50", test, seconds=300).split())
    assert pairs == 50 * 49 // 2
    assert megabytes < (100 if test == "bootstrap" else 250)


SYSTEMS = """
import sys, tracemalloc
import numpy as np
from harness.analysis.stored import loading
from harness.analysis.stored import many
from harness.types import RunResult, Signature, Statistics
from harness.testing import CannedMetric

runs, rows = 60, 100_000
def stored(name, trust):
    values = np.full((rows, 2), float(name))
    return RunResult(name, "d", "d", name, {}, {"m": Statistics.of(CannedMetric(), values, Signature({}, {}), "")}, list, 0)

loading._load = stored
tracemalloc.start()
loaded, _ = loading.loaded_runs([str(i) for i in range(runs)])
sums = [run.statistics["m"].rows.sum() / rows / 2 for run in loaded]
turned = loaded[-1].statistics["m"].taken([5, 3])
print(sums == list(range(runs)), turned.rows.tolist(), turned.scored.tolist(), tracemalloc.get_traced_memory()[1] // 2**20)
"""


def test_rows_of_many_systems_are_kept_elsewhere() -> None:
    """Those of 60 systems take 92 MiB, of which 64 stay in memory."""
    right, values, scored, megabytes = bounded.run(SYSTEMS, seconds=60).replace(", ", ",").split()
    assert (right, values, scored) == ("True", "[[59.0,59.0],[59.0,59.0]]", "[True,True]")
    assert int(megabytes) < 75


# ---------------------------------------------------------------- files

DATA = ("run", "system=copy", "tracking=none", "stats.resamples=20", "output_dir=run", "metrics=exact_match")
GOOD = [{"id": str(i), "source": "s", "references": ["r"]} for i in range(3)]


def wide_csv(path: Path) -> None:
    names = ["id", "source", "references", *(f"c{i}" for i in range(100_000))]
    path.write_text("".join(",".join(line) + "\n" for line in (names, ["1"] * len(names))))


def wide_rows(path: Path) -> None:
    write_jsonl(path, [GOOD[0] | {f"c{i}": i for i in range(20_000)}])


def short_row(path: Path) -> None:
    path.write_text(",".join(["id", "source", "references", *(f"c{i}" for i in range(9_000))]) + "\n1,2\n")


def repeated_value(path: Path) -> None:
    """A megabyte stored once for 8,192 rows."""
    n = 8192
    source = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), ["x" * 2**20])
    table = pa.table({"id": [str(i) for i in range(n)], "source": source, "references": [["r"]] * n})
    pq.write_table(table, path, compression="zstd")


def repeated_in_lists(path: Path) -> None:
    n = 8192
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), ["x" * 2**20])
    references = pa.ListArray.from_arrays(pa.array(range(n + 1), pa.int32()), texts)
    table = pa.table({"id": [str(i) for i in range(n)], "source": ["s"] * n, "references": references})
    pq.write_table(table, path, compression="zstd")


def endless_list(path: Path) -> None:
    """Two rows, one with twenty million nulls."""
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2 * 10**7, 2 * 10**7 + 1], pa.int32()), pa.nulls(2 * 10**7 + 1, pa.int8())
    )
    pq.write_table(pa.table({"id": ["a", "b"], "references": [["r"]] * 2, "more": lists}), path)


FILES = [
    ("dev.csv", wide_csv, 1, "dev.csv line 1 names 100,003 columns; expected at most 10,000, separated by ','"),
    ("dev.jsonl", wide_rows, 1, "dev.jsonl line 1 has 20,003 fields; expected at most 10,000"),
    ("dev.csv", short_row, 1, "dev.csv line 2 has 2 fields; expected 9003 as in the header (id, source, references, c0, "),
    ("dev.jsonl", os.mkfifo, 1, "dev.jsonl is not a regular file; expected a data file (dataset.path)"),
    ("dev.parquet", os.mkfifo, 1, "dev.parquet is not a regular file; expected a data file (dataset.path)"),
    ("dev.parquet", repeated_value, 0, "5 examples"),
    ("dev.parquet", repeated_in_lists, 0, "5 examples"),
    ("dev.parquet", endless_list, 1, "dev.parquet: the column 'more.list.element' has 20,000,001 values in "),
]  # fmt: skip


@pytest.mark.parametrize(("name", "write", "code", "said"), FILES)
def test_file_of_a_stranger(tmp_path: Path, name: str, write: Callable[[Path], None], code: int, said: str) -> None:
    write(tmp_path / name)
    arguments = [*DATA, "dataset=file", f"dataset.path={name}", "limit=5"]
    ended, printed = bounded.harness(*arguments, folder=tmp_path, memory=4 * bounded.GIB, seconds=60)
    assert ended == code, printed
    assert said in printed
    assert len(printed) < 20_000


@pytest.mark.parametrize("name", ["sys.jsonl", "sys.txt", "sys.parquet"])
def test_named_pipe_for_stored_outputs(tmp_path: Path, name: str) -> None:
    write_jsonl(tmp_path / "dev.jsonl", GOOD)
    os.mkfifo(tmp_path / name)
    arguments = [*DATA, "dataset=file", "dataset.path=dev.jsonl", "system=predictions", f"system.path={name}"]
    ended, printed = bounded.harness(*arguments, folder=tmp_path, seconds=60)
    assert ended == 1
    assert f"{name} is not a regular file; expected a file of outputs" in printed


# ---------------------------------------------------------------- an index that came with a folder

ENDLESS = "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r"
COLUMNS = "key blob primary key, id integer, used integer, size integer, checksum integer"
SCHEMAS = {
    "a view": f"create view entries as select n as key, n as id, 0 as used, 0 as size, 0 as checksum from ({ENDLESS.replace('max(n)', 'n')});",
    "a trigger": f"create trigger t before insert on data begin {ENDLESS}; end;",
    "a column": f"drop table entries; create table entries ({COLUMNS}, more as (length(hex(zeroblob(1000000000)))));",
    "another table": "create table more (n);",
}  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_index_of_a_stranger_runs_nothing(tmp_path: Path, schema: str) -> None:
    runs = tmp_path / "runs"
    for i in range(100):
        write_run(runs / f"r{i}", f"r{i}")
    assert bounded.harness("runs", "--limit", "1", folder=tmp_path)[0] == 0
    with closing(sqlite3.connect(runs / ".cache" / "records.sqlite")) as connection:
        if "view" in schema:
            connection.execute("drop table entries")
        connection.executescript(schema)
    for i in range(3):  # some are to be written to the index
        write_run(runs / f"new{i}", f"new{i}")
    code, said = bounded.harness("runs", "--limit", "1", folder=tmp_path, seconds=30)
    assert code == 0, said
    assert "records.sqlite is broken (it has other tables than a cache); set aside, a new one begins" in said
    assert "records.sqlite" not in bounded.harness("runs", "--limit", "1", folder=tmp_path, seconds=30)[1]
