"""Logs are read as whole columns where they are as their tools write them, else row by row: with the same result."""

import json

import pytest

import harness.importers.json_tables
from harness.importers.json_tables import parsed
from harness.importers.known_formats import read
from harness.types import HarnessError
from tests.importers.conftest import LOGS

COLUMNS = ("ids", "epochs", "sources", "references", "outputs", "errors", "fields", "scores", "infos")
ASKED = {"gen_args_0": {"arg_0": "prompt", "arg_1": {"until": ["\n"]}}}


def contents(path):
    return [
        (log.origin, {name: getattr(log, name) for name in COLUMNS}, log.content, log.score_names)
        for log in read([path])
    ]


def lists(part):
    """References of columns are tuples."""
    return [
        (origin, {**columns, "references": list(map(list, columns["references"]))}, *rest)
        for origin, columns, *rest in part
    ]


def by_rows(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(harness.importers.json_tables, "parsed", lambda content: None)
        return contents(path)


def sample(i, **changes):
    return {
        "doc_id": i, "doc": {"question": f"q{i}", "year": i}, "target": str(i), "arguments": ASKED, "resps": [["x"]],
        "filtered_resps": [f"answer {i}"], "filter": "none", "metrics": ["acc"], "doc_hash": f"h{i}", "acc": i % 2,
    } | changes  # fmt: skip


def choice(i, options, likelihoods, target):
    asked = {f"gen_args_{j}": {"arg_0": "prompt", "arg_1": option} for j, option in enumerate(options)}
    return sample(
        i, arguments=asked, target=target, filtered_resps=[[str(value), "False"] for value in likelihoods]
    )  # fmt: skip


def written(folder, rows):
    path = folder / "samples_qa.jsonl"
    lines = [row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode() for row in rows]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


WHOLE = {
    "plain": [sample(0), sample(1)],
    "unicode": [sample(0, filtered_resps=["né 日本\u2028"], doc={"question": "\U0001f600"}), sample(1)],
    "times": [
        sample(0, doc={"day": "2026-01-01"}, target="2026-01-01"),
        sample(1, doc={"day": "2026-01-01T00:00:00Z"}),
    ],
    "lists of targets": [sample(0, target="['a', \"b's\"]"), sample(1, target="[sic]")],
    "numbers as targets": [sample(0, target=3), sample(1, target=4)],
    "missing fields": [sample(0, doc={"a": 1, "b": None}), sample(1, doc={"b": "x", "c": True, "d": [1], "e": 0.5})],
    "no doc": [sample(0, doc="text"), sample(1, doc="text")],
    "scores": [sample(0, acc=0.25), sample(1, acc=None)],
    "not a number": [sample(0, acc=float("nan")), sample(1, acc=1)],
    "no number of a sample": [sample(0, acc=["a", "b"]), sample(1, acc=["a", "c"])],
    "filters": [sample(i // 2, filter=["strict", "loose"][i % 2]) for i in range(6)],
    "choices": [
        choice(0, [" a", " b", " c"], [-1.5, -0.5, -2], "0"),
        choice(1, [" a", " b", " c"], [-1, -1, float("-inf")], "2"),
        choice(2, [" a", " a", " c"], [-3, -2, -1], "1"),
        choice(3, [" a", " b", " c"], [-3, -2, -1], " b"),
    ],
    "two choices": [choice(0, [" yes", " no"], [-1, -2], 1), choice(1, [" yes", " no"], [-2, -1], 9)],
}
ODD = {
    "numbers of both kinds": [sample(0, doc={"n": 1}), sample(1, doc={"n": 0.5})],
    "a number of many digits": [sample(0, doc={"n": 2**63 + 1}), sample(1)],
    "a key twice": [b'{"doc_id": 9, ' + json.dumps(sample(0)).encode()[1:], sample(1)],
    "empty answers": [sample(0, filtered_resps=[]), sample(1)],
    "half a pair": [json.dumps(sample(0, doc={"a": "\ud800"})).encode(), sample(1)],
    "a NUL nobody needs": [json.dumps(sample(0, doc={"a": "\0"})).encode(), sample(1)],
    "other metrics": [sample(0), sample(1, metrics=["acc", "f1"], f1=0.5)],
    "several answers": [sample(0, filtered_resps=[["a", "b"]]), sample(1, filtered_resps=[["c"]])],
    "other numbers of choices": [choice(0, ["a", "b"], [-1, -2], 0), choice(1, ["a", "b", "c"], [-1, -2, -3], 0)],
    "one choice": [choice(0, ["a"], [-1], 0), choice(1, ["a"], [-2], 0)],
    "a blank line": [sample(0), b"", sample(1)],
    "a line of several kinds": [sample(0, target="x"), sample(1, target=2)],
    "likelihood of a text": [
        sample(i, arguments={"gen_args_0": {"arg_0": "text"}}, filtered_resps=["-1.5"]) for i in range(2)
    ],
}


@pytest.mark.parametrize("rows", [*WHOLE.values(), *ODD.values()], ids=[*WHOLE, *ODD])
def test_same_as_row_by_row(rows, tmp_path, monkeypatch):
    path = written(tmp_path, rows)
    assert lists(contents(path)) == lists(by_rows(path, monkeypatch))


@pytest.mark.parametrize("rows", WHOLE.values(), ids=WHOLE)
def test_usual_logs_are_read_as_columns(rows, tmp_path, monkeypatch):
    """No line of them is looked at by itself."""
    monkeypatch.setattr("harness.importers.lm_eval._sample", None)
    assert contents(written(tmp_path, rows))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([sample(0), sample(1, acc="good")], "line 2: the score 'acc' is the text 'good'"),
        ([sample(0, acc=float("inf")), sample(1)], "line 1: the score 'acc' is"),
        ([sample(0), sample(1), sample(0)], "line 3 has the sample '0' a second time"),
        ([sample(0), sample(1, doc_id=None)], "line 2: 'id' is null"),
        ([sample(0), sample(1, doc_id="")], "line 2: 'id' is ''"),
        ([choice(0, ["a", "b"], [-2, -3, -1], "0")], "line 1 has 3 likelihoods for 2 choices"),
        ([sample(0), b'{"doc_id": 1'], "line 2 is not JSON"),
        ([sample(0), b"\xff"], "line 2 has byte 0xff"),
        ([sample(0), {"doc_id": 1}], "line 2 has no 'target'"),
        ([sample(0), sample(1, filtered_resps=["a\0"])], "line 2: 'output' holds"),
    ],
)
def test_faults_have_their_place(rows, message, tmp_path):
    with pytest.raises(HarnessError, match=message):
        read([written(tmp_path, rows)])


def test_a_sample_twice_in_another_piece(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.inputs.parts.BYTES", 100)
    with pytest.raises(HarnessError, match="line 4 has the sample '1' a second time"):
        read([written(tmp_path, [sample(0), sample(1), sample(2), sample(1)])])


def test_lines_are_objects_each(tmp_path):
    """Arrow reads any number of objects, wherever lines end."""
    assert parsed(b'{"a": 1} {"a": 2}\n') is None
    assert parsed(b'{"a":\n{"b": 1}}\n') is None
    assert parsed(b'{"a": {"b": 1}}\r\n{"a": null}').to_pylist() == [{"a": {"b": 1}}, {"a": None}]


@pytest.mark.parametrize("path", sorted(LOGS.glob("lm-eval/*")), ids=lambda path: path.name)
def test_logs_made_by_lm_eval(path, monkeypatch):
    read_as_columns = contents(path)
    assert lists(read_as_columns) == lists(by_rows(path, monkeypatch))


def record(folder, rows):
    made = json.loads(next((LOGS / "eee").glob("*.json")).read_text())
    made["detailed_evaluation_results"] = {"total_rows": len(rows)}
    (folder / "r.json").write_text(json.dumps(made))
    (folder / "r_samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "r.json"


def eee_rows():
    (path,) = (LOGS / "eee").glob("*_samples.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_eee_same_as_row_by_row(tmp_path, monkeypatch):
    rows = [row for row in eee_rows() if row["evaluation_result_id"] == "acc"]
    for changed in (rows, [{**rows[0], "error": "no answer", "output": None}, *rows[1:]], [*rows[1:], rows[0]]):
        path = record(tmp_path, changed)
        assert lists(contents(path)) == lists(by_rows(path, monkeypatch))
    assert lists(contents(LOGS / "eee")) == lists(by_rows(LOGS / "eee", monkeypatch))


@pytest.mark.parametrize("count", [1, 12])
def test_eee_results_are_named_by_texts(count, tmp_path):
    rows = [row for row in eee_rows() if row["evaluation_result_id"] == "acc"]
    for row in rows[:count]:
        row["evaluation_result_id"] = ["acc"]
    with pytest.raises(HarnessError, match="line 1: 'evaluation_result_id' is"):
        read([record(tmp_path, rows)])


def test_eee_of_one_score_is_read_as_columns(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.importers.eee._log", None)
    rows = [row for row in eee_rows() if row["evaluation_result_id"] == "acc"]
    (log,) = read([record(tmp_path, rows)])
    assert len(log) == len(rows)
