"""Programs that write without end: they are ended, and one message or one failed example is left of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Thread

import pyarrow.parquet as pq
import pytest

from harness.inputs.programs import Lines
from harness.systems.command import Command
from harness.types import HarnessError
from tests.conftest import write_jsonl
from tests.hostile import bounded

HEAD = "import json, sys\nwrite = sys.stdout.write\n"
GOOD = {
    "system": "write(json.dumps({'id': e['id'], 'output': e['source']}) + '\\n')",
    "metrics": "write(json.dumps({'score': 1}) + '\\n')",
}
ODD = [
    ("a line without end", "while True: write('x' * 2**20)", "longer than 16 MB: 'xxxx"),
    ("blanks without end", "while True: write(' ' * 2**20)", "longer than 16 MB: '    "),
    ("empty lines without end", "while True: write('\\n' * 2**20)", "within timeout=3 seconds"),
    ("a long answer", "write(json.dumps({'id': 'b', 'output': 'x' * 2**24}) + '\\n')", 'longer than 16 MB: \'{"id": "b"'),
    ("lines without end", "while True: write('5\\n' * 2**10)", "'5'; expected"),
]  # fmt: skip
SAYS = pytest.mark.parametrize(("odd", "said"), [case[1:] for case in ODD], ids=[case[0] for case in ODD])
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "tracking=none", "stats.resamples=20", "output_dir=run")


def program(folder: Path, kind: str, odd: str) -> str:
    """A program that answers each line but the one of the second example."""
    rows = [{"id": id_, "source": f"text {id_}", "references": ["r"]} for id_ in "abc"]
    write_jsonl(folder / "dev.jsonl", rows)
    each = f"for line in sys.stdin:\n    e = json.loads(line)\n    if 'text b' in line:\n        {odd}\n    else: {GOOD[kind]}\n"
    (folder / "own.py").write_text(HEAD + each)
    return f"[{sys.executable},own.py]"


@pytest.mark.slow
@SAYS
def test_system_that_writes_without_end(tmp_path: Path, odd: str, said: str) -> None:
    command = f"system.command={program(tmp_path, 'system', odd)}"
    code, printed = bounded.harness(
        *RUN, "system=command", command, "system.timeout=3", "metrics=exact_match", folder=tmp_path, seconds=60
    )
    assert code == 0, printed
    table = pq.read_table(tmp_path / "run" / "examples.parquet", columns=["output", "error"])
    assert table.column("output").to_pylist() == ["text a", None, "text c"]
    assert said in table.column("error").to_pylist()[1]


@pytest.mark.slow
@SAYS
def test_metric_that_writes_without_end(tmp_path: Path, odd: str, said: str) -> None:
    command = f"metrics.command.command={program(tmp_path, 'metrics', odd)}"
    code, printed = bounded.harness(
        *RUN, "system=copy", "metrics=command", command, "metrics.command.timeout=3", folder=tmp_path, seconds=60
    )
    assert code == 1, printed
    assert said in printed
    # a traceback may be the program's own last words, where it had the time for them
    assert "Traceback" not in printed or "BrokenPipeError" in printed
    assert printed.startswith("harness: ") and "harness/cli" not in printed


@pytest.mark.parametrize("answer_mb", [0, -1, 1e6, float("nan"), float("inf")])
def test_length_of_an_answer_that_is_none(answer_mb: float) -> None:
    with pytest.raises(HarnessError) as raised:
        Command(["cat"], answer_mb=answer_mb)
    assert str(raised.value) == f"system.answer_mb={answer_mb}; expected more than 0 and at most 1024"


def test_what_nobody_reads_is_bounded(tmp_path: Path) -> None:
    """The program waits: of a file of 50 MB no more than two lines are held at a time."""
    line = json.dumps("x" * 700_000).encode() + b"\n"
    (tmp_path / "lines").write_bytes(b"\n" + line * 70)
    lines = Lines(answer_mb=1)
    with (tmp_path / "lines").open("rb") as pipe:
        thread = Thread(target=lines.fill, args=(pipe,), daemon=True)
        thread.start()
        assert lines.get(60) == line
        assert lines.number == 2
        assert pipe.tell() < 10 * len(line)
        assert sum(1 for _ in iter(lambda: lines.get(60), None)) == 69
        thread.join(60)


def test_line_that_is_too_long_is_shown_by_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"\n{}\n" + b"y" * 2**20 + b"!\n")
    lines = Lines(answer_mb=1)
    with (tmp_path / "lines").open("rb") as pipe:
        lines.fill(pipe)
    assert lines.get(60) == b"{}\n"
    with pytest.raises(HarnessError) as raised:
        lines.get(60)
    assert str(raised.value) == (
        f"line 3 of its standard output is longer than 1 MB: '{'y' * 100}'; expected one object per line"
    )
    assert lines.get(60) is None
