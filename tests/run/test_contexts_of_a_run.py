"""Contexts through a whole run: what a system sees, what is kept, what decides keys, and what the folder gives back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import harness
from harness.store.journal import Journal
from tests.conftest import Called, write_jsonl

Cli = Callable[..., Called]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "a", "source": "who runs the ferry", "references": ["the harbour office"], "relevant": ["d1"],
     "reference_contexts": ["the harbour office runs the ferry"]},
    {"id": "b", "source": "when did it open", "references": ["in 1932"], "relevant": {"d3": 2, "d4": 0}},
    {"id": "c", "source": "is it free", "references": ["no"]},
]  # fmt: skip
PASSAGES = {"a": [{"id": "d1", "text": "the harbour office runs it", "score": 0.75}, {"id": "d2", "text": "a ferry"}],
            "b": [{"id": "d3", "text": "it opened in 1932"}], "c": []}  # fmt: skip
QUIET = ("tracking=none", "stats.resamples=50", "metrics=bleu")
OWN = """
import json
from pathlib import Path

def answer(example):
    with Path("asked.jsonl").open("a") as file:
        file.write(json.dumps(example) + "\\n")
    return {"output": "the office", "contexts": json.loads(Path("passages.json").read_text())[example["id"]]}
"""


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """Questions, passages and a function that answers with them; what it was shown is in asked.jsonl."""
    write_jsonl(tmp_path / "dev.jsonl", QUESTIONS)
    (tmp_path / "passages.json").write_text(json.dumps(PASSAGES))
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def run(cli: Cli, *arguments: str) -> Called:
    called = cli("run", "dataset=file", "dataset.path=dev.jsonl", *QUIET, *arguments)
    assert called.code == 0, called.err
    return called


def test_a_function_retrieves(asked: Path, cli: Cli) -> None:
    """What it retrieved is journaled, served from there and from the cache, and stored; what was judged it never saw."""
    function = ("system=python", "system.function=own.py:answer", "system.revision=1")
    run(cli, *function, "output_dir=out")
    shown = [json.loads(line) for line in (asked / "asked.jsonl").read_text().splitlines()]
    assert shown == [{"id": row["id"], "source": row["source"]} for row in QUESTIONS]
    outputs = Journal(asked / "out" / "outputs.jsonl").content.outputs.values()
    assert [[context.plain() for context in output.contexts or ()] for output in outputs] == list(PASSAGES.values())
    table = pq.read_table(asked / "out" / "examples.parquet").to_pydict()
    everything = [[{"id": None, "score": None, **context} for context in part] for part in PASSAGES.values()]
    assert table["contexts"] == everything
    assert table["reference_contexts"] == [["the harbour office runs the ferry"], None, None]
    assert table["relevant"] == [
        [{"id": "d1", "grade": 1.0}],
        [{"id": "d3", "grade": 2.0}, {"id": "d4", "grade": 0.0}],
        None,
    ]
    run(cli, *function, "metrics=chrf", "output_dir=again")  # from the shared cache
    assert len((asked / "asked.jsonl").read_text().splitlines()) == 3
    assert pq.read_table(asked / "again" / "examples.parquet").to_pydict()["contexts"] == everything
    assert cli("score", "out", "metrics=ter", *QUIET[:2], "output_dir=scored").code == 0
    scored = pq.read_table(asked / "scored" / "examples.parquet").to_pydict()
    assert [scored[name] for name in ("contexts", "reference_contexts", "relevant")] == [
        table[name] for name in ("contexts", "reference_contexts", "relevant")
    ]


def test_a_program_retrieves(asked: Path, cli: Cli) -> None:
    (asked / "own.sh").write_text("""while read -r line; do
  id=$(echo "$line" | sed 's/.*"id": "\\([a-z]\\)".*/\\1/')
  echo "{\\"id\\": \\"$id\\", \\"output\\": \\"x\\", \\"contexts\\": [\\"p $id\\"]}"
done""")
    run(cli, "system=command", "system.command=[sh,own.sh]", "output_dir=out")
    assert pq.read_table(asked / "out" / "examples.parquet").to_pydict()["contexts"] == [["p a"], ["p b"], ["p c"]]


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        ("{'output': 'x', 'contexts': 'one passage'}", "'contexts' is str 'one passage'; expected a list of contexts"),
        ("{'output': 'x', 'contexts': ['a', 7]}", "'contexts', number 2, is int '7'; expected a text"),
        ("{'output': None, 'contexts': ['a']}", 'expected {"output": a text, "contexts": […]}'),
        ("{'answer': 'x'}", "own.py:answer returned dict \"{'answer': 'x'}\"; expected {\"output\": a text"),
    ],
)
def test_what_is_no_retrieval_fails(asked: Path, cli: Cli, returned: str, error: str) -> None:
    """An answer whose contexts are none is a failed example, with the reason."""
    (asked / "own.py").write_text(f"def answer(e): return {returned} if e['id'] == 'a' else 'y'")
    run(cli, "system=python", "system.function=own.py:answer", "output_dir=out")
    errors = pq.read_table(asked / "out" / "examples.parquet").to_pydict()["error"]
    assert error in errors[0]
    assert errors[1:] == [None, None]


def test_two_systems_with_other_contexts_are_compared(asked: Path, cli: Cli) -> None:
    """Contexts belong to the output and are no part of the data's key; given with the data, they are."""
    for name in ("one", "two"):
        rows = [{"id": row["id"], "output": "the office", "contexts": [f"{name} passage"]} for row in QUESTIONS]
        write_jsonl(asked / f"{name}.jsonl", rows)
        run(cli, "system=predictions", f"system.path={name}.jsonl", f"name={name}")
    called = cli("compare", "one", "two")
    assert called.code == 0, called.err
    assert harness.load_run("one").dataset_key == harness.load_run("two").dataset_key
    write_jsonl(asked / "dev.jsonl", [{**row, "contexts": ["given"]} for row in QUESTIONS])
    run(cli, "system=predictions", "system.path=one.jsonl", "name=fixed")
    assert harness.load_run("fixed").dataset_key != harness.load_run("one").dataset_key
    table = harness.load_run("fixed").examples
    assert [list(contexts) for contexts in table["contexts"]] == [["one passage"]] * 3  # the output's own win
    for field, value in (("relevant", ["d9"]), ("reference_contexts", ["other"])):
        write_jsonl(asked / "dev.jsonl", [{**row, field: value} for row in QUESTIONS])
        run(cli, "system=predictions", "system.path=one.jsonl", f"name={field}")
        assert harness.load_run(field).dataset_key != harness.load_run("one").dataset_key


def test_contexts_of_the_data_are_shown(asked: Path, cli: Cli) -> None:
    """A fixed retrieval reaches functions, programs and prompts, in the form that the data has it."""
    write_jsonl(asked / "dev.jsonl", [{**row, "contexts": PASSAGES[row["id"]] or ["free"]} for row in QUESTIONS])
    run(cli, "system=python", "system.function=own.py:answer", "output_dir=out")
    shown = [json.loads(line) for line in (asked / "asked.jsonl").read_text().splitlines()]
    assert [row["contexts"] for row in shown] == [PASSAGES["a"], PASSAGES["b"], ["free"]]
    assert all(set(row) == {"id", "source", "contexts"} for row in shown)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"contexts": "one"}, "dev.jsonl line 2: 'contexts' is str 'one'; expected a list of contexts"),
        ({"contexts": [{"title": "t"}]}, "dev.jsonl line 2: 'contexts', number 1, has neither a text nor an id"),
        ({"reference_contexts": [3]}, "dev.jsonl line 2: 'reference_contexts', number 1, is int '3'; expected a text"),
        ({"relevant": "d1"}, "dev.jsonl line 2: 'relevant' is str 'd1'; expected a list of ids, or grades by id"),
        ({"relevant": {"d1": None, "d2": "x"}}, "dev.jsonl line 2: 'relevant' has the grade str 'x' for 'd2'"),
    ],
)
def test_wrong_data(asked: Path, cli: Cli, row: dict[str, Any], words: str) -> None:
    write_jsonl(asked / "dev.jsonl", [QUESTIONS[0], {**QUESTIONS[1], **row}, QUESTIONS[2]])
    called = cli("run", "dataset=file", "dataset.path=dev.jsonl", *QUIET, "system=copy")
    assert (called.code, words in called.err) == (1, True), called.err


def test_shards_with_contexts_are_merged(asked: Path, cli: Cli) -> None:
    rows = [{"id": id_, "output": "x", "contexts": contexts} for id_, contexts in PASSAGES.items()]
    write_jsonl(asked / "p.jsonl", rows)
    arguments = ("system=predictions", "system.path=p.jsonl")
    run(cli, *arguments, "output_dir=whole")
    for shard in (0, 1):
        run(cli, *arguments, f"dataset.shard={shard}/2", f"output_dir=s{shard}")
    assert cli("merge", "s0", "s1", "-o", "merged").code == 0
    names = ["contexts", "reference_contexts", "relevant"]
    assert [
        pq.read_table(asked / folder / "examples.parquet").select(names).to_pydict() for folder in ("merged", "whole")
    ].count(pq.read_table(asked / "whole" / "examples.parquet").select(names).to_pydict()) == 2


# ---------------------------------------------------------------- ragas' names


RAGAS = [
    {"user_input": "who runs the ferry", "response": "the office", "retrieved_contexts": ["the office runs it"],
     "retrieved_context_ids": ["d1"], "reference": "the harbour office", "reference_contexts": ["it is the office"],
     "reference_context_ids": ["d1"], "topic": "ferry"},
    {"user_input": "is it free", "response": "no", "retrieved_contexts": [], "retrieved_context_ids": [], "reference": "no",
     "topic": "ferry"},
]  # fmt: skip


def rag(cli: Cli, *arguments: str) -> Called:
    return cli("run", "dataset=rag", *QUIET, "system=rag", *arguments)


def test_a_file_of_ragas(tmp_path: Path, cli: Cli) -> None:
    """Questions and answers in one file: the answers are no part of the data, so that two such files compare."""
    write_jsonl(tmp_path / "one.jsonl", RAGAS)
    write_jsonl(
        tmp_path / "two.jsonl",
        [
            {**row, "response": "nobody", "retrieved_contexts": ["x"]} | {"retrieved_context_ids": ["d7"]}
            for row in RAGAS
        ],
    )
    for name in ("one", "two"):
        called = rag(cli, f"dataset.path={name}.jsonl", f"name={name}")
        assert called.code == 0, called.err
        assert "not read" not in called.err
    table = harness.load_run("one").table.to_pydict()
    assert (table["id"], table["output"], table["topic"]) == (["1", "2"], ["the office", "no"], ["ferry", "ferry"])
    assert table["contexts"] == [[{"id": "d1", "text": "the office runs it", "score": None}], []]
    assert (table["reference_contexts"], table["relevant"]) == (
        [["it is the office"], None],
        [[{"id": "d1", "grade": 1.0}], None],
    )
    assert "response" not in table
    assert cli("compare", "one", "two").code == 0


def test_other_names_and_columns_that_are_dropped(tmp_path: Path, cli: Cli) -> None:
    write_jsonl(tmp_path / "f.jsonl", [{**row, "qid": f"q{i}", "comment": f"c{i}"} for i, row in enumerate(RAGAS)])
    answers = "response,retrieved_contexts,retrieved_context_ids"
    names = ("dataset.columns.id=qid", "system.columns.id=qid", "name=named")
    assert rag(cli, "dataset.path=f.jsonl", f"dataset.drop=[{answers},comment]", *names).code == 0
    table = harness.load_run("named").table.to_pydict()
    assert table["id"] == ["q0", "q1"]
    assert "comment" not in table
    called = rag(cli, "dataset.path=f.jsonl", "dataset.drop=[respnse]")
    assert called.code == 1
    assert "f.jsonl line 1 has no 'respnse'; found: user_input, response" in called.err
    assert "(dataset.drop)" in called.err
    called = rag(cli, "dataset.path=f.jsonl", "dataset.columns.references=ground_truth")
    assert "f.jsonl line 1 has no 'ground_truth'" in called.err


def test_answers_need_a_file(tmp_path: Path, cli: Cli) -> None:
    called = cli("run", "dataset=embedded", "system=rag", *QUIET)
    assert (called.code, "system.path is not set and the data set has no path" in called.err) == (1, True)


def test_contexts_in_a_csv_file(tmp_path: Path, cli: Cli) -> None:
    """A cell holds a JSON list, or nothing."""
    cells = 'user_input,response,retrieved_contexts\nwho,the office,"[""a"", ""b""]"\nwhat,x,\n'
    (tmp_path / "f.csv").write_text(cells)
    assert rag(cli, "dataset.path=f.csv", "metrics=distinct", "name=cells").code == 0
    assert harness.load_run("cells").table.to_pydict()["contexts"] == [["a", "b"], None]
    (tmp_path / "f.csv").write_text(cells.replace("[", "("))
    called = rag(cli, "dataset.path=f.csv", "metrics=distinct")
    assert "f.csv line 2: 'retrieved_contexts' is str" in called.err
