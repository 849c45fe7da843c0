"""Stored predictions, read as columns: the outputs and the messages of a reader that keeps a dictionary of rows."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.datasets.file import FileDataset
from harness.inputs import files, parts
from harness.inputs.kept import Kept
from harness.systems import predictions
from harness.systems.predictions import Predictions
from harness.types import Context, Example, Examples, HarnessError, Output, Outputs, Texts, text_columns
from harness.types.shown import counted
from tests.conftest import write_jsonl
from tests.hostile import bounded


def row_by_row(path: Path, ids: list[str]) -> dict[tuple[str, int], Output]:
    """What was done before there were columns."""
    outputs: dict[tuple[str, int], Output] = {}
    places: dict[tuple[str, int], str] = {}
    for place, row in files.read_rows(path, "a file of outputs (system.path)"):
        for field in ("id", "output"):
            if field not in row:
                raise files.missing_field(place, field, row)
        id_, repeat = files.identifier(row["id"], place, "id"), row.get("repeat", 0)
        if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 0:
            raise HarnessError(f"{place}: 'repeat' is {repeat!r}; expected a whole number from 0")
        key = id_, repeat
        if key in outputs:
            which = f"the id {key[0]!r}" + (f" with the repeat {key[1]}" if "repeat" in row else "")
            raise HarnessError(f"{place} has {which}, already used in {places[key]}; expected it once")
        if row["output"] is None:
            outputs[key] = Output(None, files.text(str(row.get("error") or "the output is null"), place, "error"))
        else:
            outputs[key] = Output(files.text(row["output"], place, "output"))
        places[key] = place
    answered = {id_ for id_, _ in outputs}
    missing, extra = [id_ for id_ in ids if id_ not in answered], sorted(answered - set(ids))
    if missing or extra:
        faults = [f"lacks {len(missing)} of the data set's ids ({files.some(missing)})"] if missing else []
        if extra:
            faults.append(f"has {counted(len(extra), 'id')} that the data set does not have ({files.some(extra)})")
        hint = " (where there is no output, null: it counts as failed)" if not extra else ""
        expected = f"the data set's {counted(len(ids), 'id')}, each once{hint}"
        raise HarnessError(f"{path} {' and '.join(faults)}; expected {expected}")
    for id_ in ids:
        repeats = sorted(repeat for other, repeat in outputs if other == id_)
        if repeats != list(range(len(repeats))):
            gap = next(repeat for repeat in range(len(repeats)) if repeat not in repeats)
            raise HarnessError(
                f"{path} lacks the repeat {gap} of {id_!r}; expected the repeats of an id from 0 on, without a gap"
            )
    return outputs


def examples_for(ids: list[str], repeats: int = 1) -> list[Example]:
    return [Example(id_, None, (), {}, repeat) for id_ in ids for repeat in range(repeats)]


TEXT = st.text("ab é}\n", max_size=4)
ODD = st.sampled_from(
    [{"output": None}, {"output": None, "error": "é"}, {"output": None, "error": 3}, {"output": 3}, {"id": "a"}, {"id": None}, {"id": 7},
     {"repeat": 1}, {"repeat": True}, {"repeat": 0}, {"repeat": 2**70}, {"output": "\0"}, {"error": "unused"}, {"id": "zz"}]
)  # fmt: skip


@given(
    st.lists(TEXT, min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(0, 9), ODD), max_size=2),
    st.sampled_from(["", "shuffled", "shorter", "twice", "repeated"]),
    st.integers(1, 4),
    st.sampled_from([0, 100, 2**28]),
)
def test_same_as_row_by_row(
    tmp_path_factory: pytest.TempPathFactory,
    outputs: list[str],
    odd: list[tuple[int, dict[str, Any]]],
    change: str,
    size: int,
    in_memory: int,
) -> None:
    path = tmp_path_factory.mktemp("data") / "p.jsonl"
    ids = [str(i) for i in range(len(outputs))]
    rows: list[dict[str, Any]] = [{"id": id_, "output": text} for id_, text in zip(ids, outputs, strict=True)]
    if change == "repeated":
        rows = [row | {"repeat": repeat} for row in rows for repeat in (0, 1)]
    for place, fields in odd:
        rows[place % len(rows)] = rows[place % len(rows)] | fields
    if change in ("shuffled", "repeated"):
        random.Random(size).shuffle(rows)
    rows = rows[:-1] if change == "shorter" else rows + rows[:1] if change == "twice" else rows
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_columns, "BLOCK", size)
        patch.setattr(parts, "BYTES", 20 * size)
        patch.setattr(Kept, "in_memory", in_memory)
        system = Predictions(str(path))
        try:
            expected = row_by_row(path, ids)
        except HarnessError as error:
            with pytest.raises(HarnessError) as raised:
                system.align(Texts.of(ids))
            assert str(raised.value) == str(error)  # noqa: PT017
            return
        system.align(Texts.of(ids))
        asked = [example for example in examples_for(ids, system.repeats) if (example.id, example.repeat) in expected]
        rows_of = system.expand(Kept.of(Examples.of(examples_for(ids))))
        assert [(row.id, row.repeat) for row in rows_of] == [(row.id, row.repeat) for row in asked]
        texts = [expected[example.id, example.repeat] for example in asked]
        assert system.generate(asked) == texts
        for step in (1, size, len(asked)):
            for start in range(0, len(asked), step):
                block = system.generate(Examples.of(asked[start : start + step]))
                assert isinstance(block, Outputs)
                assert list(block) == texts[start : start + step]
        assert list(system.generate(Examples.of(asked[::-2]))) == texts[::-2]


def test_ids_of_equal_hashes_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "hash", lambda text: len(text), raising=False)
    ids = ["a", "b", "cc", "dd"]
    path = write_jsonl(tmp_path / "p.jsonl", [{"id": id_, "output": f"out {id_}"} for id_ in reversed(ids)])
    system = Predictions(str(path))
    system.align(ids)
    assert [output.text for output in system.generate(examples_for(ids))] == [f"out {id_}" for id_ in ids]
    with pytest.raises(HarnessError, match="lacks 1 of the data set's ids"):
        system.align(["a", "b", "cc", "ee"])


def test_repeats_in_csv_and_parquet(tmp_path: Path) -> None:
    rows = [{"id": i, "output": f"{i} {repeat}", "repeat": repeat} for i in (1, 2) for repeat in (1, 0)]
    (tmp_path / "p.csv").write_text(
        "id,output,repeat\n" + "".join("{id},{output},{repeat}\n".format(**r) for r in rows)
    )
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    for name in ("p.csv", "p.parquet"):
        system = Predictions(str(tmp_path / name))
        system.align(["1", "2"])
        assert system.repeats == 2
        outputs = system.generate(Examples.of(examples_for(["1", "2"], 2)))
        assert [output.text for output in outputs] == ["1 0", "1 1", "2 0", "2 1"]


def test_lines_are_aligned_whatever_the_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "BYTES", 5)
    (tmp_path / "p.txt").write_bytes(b"\xef\xbb\xbfone\r\n\ntwo\nthree")
    system = Predictions(str(tmp_path / "p.txt"))
    system.align(list("abcd"))
    assert [output.text for output in system.generate(examples_for(list("abcd")))] == ["one", "", "two", "three"]
    assert [output.text for output in system.generate(examples_for(["c"]))] == ["two"]
    with pytest.raises(KeyError):
        system.generate(examples_for(["e"]))
    (tmp_path / "p.txt").write_bytes(b"one\ntwo\n\xff\n")
    with pytest.raises(HarnessError, match="p.txt line 3 has byte 0xff at position 1, which is not UTF-8"):
        system.align(["a"])


STREAMED = """
import resource, sys
import numpy as np
from harness.inputs.kept import Kept
from harness.systems.predictions import Predictions
from harness.types import Examples, TextLists, Texts
Kept.in_memory = 2**23
n, system = int(sys.argv[2]), Predictions(sys.argv[1])
ids = Texts.of([str(i) for i in range(n)])

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

before = peak()
system.align(ids)
rows = 0
for start in range(0, n, 8192):
    some = ids[start : start + 8192]
    block = Examples(some, Texts.nulls(len(some)), TextLists(Texts.nulls(0), np.zeros(len(some) + 1, np.int64)))
    outputs = system.generate(block)
    assert outputs.texts[0].startswith(some[0] + " "), outputs.texts[0][:20]
    rows += len(outputs)
print(rows, peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("shuffled", [False, True])
def test_outputs_are_not_held_in_memory(tmp_path: Path, shuffled: bool) -> None:
    n = 100_000
    order = list(range(n))
    if shuffled:
        random.Random(0).shuffle(order)
    with open(tmp_path / "p.jsonl", "w") as file:
        file.writelines(f'{{"id": "{i}", "output": "{i} {"x" * 2000}"}}\n' for i in order)
    rows, megabytes = map(int, bounded.run(STREAMED, str(tmp_path / "p.jsonl"), str(n)).split())
    assert rows == n
    assert megabytes < 100  # of 200


# ---------------------------------------------------------------- columns


def test_columns_of_other_names(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The text, what was retrieved and its ids stand in any columns; others are named in a warning, once."""
    rows = [{"qid": "1", "answer": "x", "passages": ["a", "b"], "docs": ["d1", "d2"], "model": "m", "source": "q"},
            {"qid": "2", "answer": "y", "passages": [], "docs": [], "model": "m", "source": "q"}]  # fmt: skip
    names = {"id": "qid", "output": "answer", "contexts": "passages", "context_ids": "docs"}
    write_jsonl(tmp_path / "p.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    for name in ("p.jsonl", "p.parquet"):
        caplog.clear()
        system = Predictions(str(tmp_path / name), columns=names)
        system.align(["2", "1"])
        outputs = system.generate(Examples.of(examples_for(["1", "2"])))
        assert [output.text for output in outputs] == ["x", "y"]
        assert [output.contexts for output in outputs] == [(Context("a", "d1"), Context("b", "d2")), ()]
        assert [record.getMessage() for record in caplog.records] == [
            f"{tmp_path / name} has columns that are not read: model (system.columns says which are)"
        ]
    assert Predictions(str(tmp_path / "p.jsonl"), columns=names).key() != Predictions(str(tmp_path / "p.jsonl")).key()


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        ([{"id": "1", "output": "x"}], {"answer": "output"}, "system.columns.answer is not a field; expected one of id"),
        ([{"id": "1", "output": "x"}], {"output": ["output"]}, "system.columns.output is ['output']; expected the name"),
        ([{"id": "1", "answer": "x"}], {}, "p.jsonl line 1 has no 'output'; found: id, answer (system.columns.output=NAME says which has it)"),
        ([{"id": "1", "output": "x"}], {"contexts": "found"}, "p.jsonl line 1 has no 'found'; found: id, output"),
        ([{"id": "1", "output": "x", "contexts": "a"}], {}, "p.jsonl line 1: 'contexts' is str 'a'; expected a list"),
        (
            [{"id": "1", "output": "x", "contexts": ["a", {"score": 1}]}], {},
            "p.jsonl line 1: 'contexts', number 2, has neither a text nor an id",
        ),
        (
            [{"id": "1", "output": "x", "contexts": ["a", None]}], {},
            "p.jsonl line 1: 'contexts', number 2, is null; expected a text",
        ),
        (
            [{"id": "1", "output": "x", "contexts": ["a"], "context_ids": ["d1", "d2"]}], {},
            "p.jsonl line 1: 'context_ids' has 2 ids; expected 1, one for each of 'contexts'",
        ),
    ],
)  # fmt: skip
def test_wrong_columns(tmp_path: Path, rows: list[Any], columns: dict[str, Any], words: str) -> None:
    path = write_jsonl(tmp_path / "p.jsonl", rows)
    with pytest.raises(HarnessError) as raised:
        Predictions(str(path), columns=columns).align(["1"])
    assert str(raised.value).removeprefix(f"{tmp_path}/").startswith(words)


def test_contexts_row_by_row(tmp_path: Path) -> None:
    """Ids of some rows, texts of others: what no column holds is read row by row, to the same contexts."""
    rows = [{"id": "1", "output": "x", "context_ids": ["d1"]}, {"id": "2", "output": None, "contexts": ["a"]},
            {"id": "3", "output": "z"}]  # fmt: skip
    system = Predictions(str(write_jsonl(tmp_path / "p.jsonl", rows)))
    system.align(["1", "2", "3"])
    outputs = list(system.generate(Examples.of(examples_for(["1", "2", "3"]))))
    assert [output.contexts for output in outputs] == [(Context(None, "d1"),), (Context("a"),), None]
    assert outputs[1].error == "the output is null"


def test_what_pandas_writes_for_nothing(tmp_path: Path) -> None:
    """NaN in place of a text, or of a list, is null."""
    (tmp_path / "p.jsonl").write_text(
        '{"id": "1", "output": "x", "contexts": NaN}\n{"id": "2", "output": NaN, "contexts": ["a"]}\n'
    )
    system = Predictions(str(tmp_path / "p.jsonl"))
    system.align(["1", "2"])
    outputs = list(system.generate(Examples.of(examples_for(["1", "2"]))))
    assert [(output.text, output.contexts) for output in outputs] == [("x", None), (None, (Context("a"),))]
    (tmp_path / "d.jsonl").write_text('{"id": "1", "source": NaN, "references": ["x", NaN], "contexts": NaN}\n')
    example = next(iter(FileDataset(str(tmp_path / "d.jsonl")).examples()))
    assert (example.source, example.references, example.contexts) == (None, ("x",), None)
