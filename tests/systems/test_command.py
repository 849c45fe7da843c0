"""Systems that are programs of the user's own, as scripts that a test writes; some of them behave badly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.systems.command import LOG, Command
from harness.types import Example, HarnessError, Output
from tests.conftest import Called, example, write_jsonl

Cli = Callable[..., Called]
Make = Callable[..., Command]
RUN = (
    "run",
    "dataset=file",
    "dataset.path=dev.jsonl",
    "system=command",
    "metrics=[bleu]",
    "tracking=none",
    "stats.resamples=0",
)
HEAD = "import json, os, sys, time\nprint('started', os.getpid(), file=sys.stderr)\n"
EACH = (
    HEAD
    + "for line in sys.stdin:\n    e = json.loads(line)\n    {}\n    print(json.dumps({{'id': e['id'], 'output': {}}}))\n"
)
UPPER = EACH.format("pass", "e['source'].upper()")
BATCH = [example(id_, f"text {id_}") for id_ in "abcde"]
TEXTS = [Output(f"TEXT {id_.upper()}") for id_ in "abcde"]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A system that is this script; closed after the test."""
    made: list[Command] = []

    def of(script: str, **options: Any) -> Command:
        (tmp_path / "own.py").write_text(script)
        made.append(Command([sys.executable, str(tmp_path / "own.py")], **options))
        made[-1].folder = tmp_path
        return made[-1]

    yield of
    for system in made:
        system.close()


def starts(folder: Path) -> list[int]:
    """The ids of the processes that were started, from the log of standard error; a line that is half written is none."""
    lines = (folder / LOG).read_text().splitlines(keepends=True)
    return [int(line.split()[1]) for line in lines if line.startswith("started") and line.endswith("\n")]


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_is_kept_between_batches_and_ended(make: Make, tmp_path: Path) -> None:
    system = make(UPPER)
    assert system.generate(BATCH[:3]) == TEXTS[:3]
    assert system.generate(BATCH[3:]) == TEXTS[3:]
    (pid,) = starts(tmp_path)
    assert running(pid)
    system.close()
    assert not running(pid)
    assert system.generate(BATCH[:1]) == TEXTS[:1]  # started again when asked again
    assert len(starts(tmp_path)) == 2


def test_one_that_nobody_closes_is_ended_with_its_system(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(UPPER)
    system = Command([sys.executable, str(tmp_path / "own.py")])
    system.folder = tmp_path
    assert system.generate(BATCH) == TEXTS
    del system
    assert not running(starts(tmp_path)[0])


def test_what_it_reads(make: Make, tmp_path: Path) -> None:
    system = make(f"{HEAD}for line in sys.stdin:\n    e = json.loads(line)\n    print(json.dumps({{'id': e['id'], 'output': line}}))", repeats=2)  # fmt: skip
    asked = Example("1", "ü\n", ("never",), {"topic": "x", "day": pd.Timestamp("2024-01-02")}, repeat=1)
    (output,) = system.generate([asked])
    assert json.loads(output.text or "") == {
        "topic": "x",
        "day": "2024-01-02 00:00:00",
        "id": "1",
        "source": "ü\n",
        "repeat": 1,
    }
    assert system.name == "own"


def test_its_name(make: Make, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(UPPER)
    assert Command(["python", "-u", str(tmp_path / "run.py"), "other.txt"]).name == "run"
    assert Command(["/usr/bin/apertium", "eng-spa"]).name == "apertium"
    assert Command([sys.executable, "-c", f"{UPPER}# {'long ' * 100}.x"], name="mine").name == "mine"
    assert Command(["python", "-c", f"{UPPER}# {'long ' * 100}.x"]).name == "python"


def test_answers_in_any_order_and_empty_lines(make: Make) -> None:
    script = (
        HEAD
        + "lines = [json.loads(sys.stdin.readline()) for _ in range(5)]\nfor e in reversed(lines): print(json.dumps({'id': e['id'], 'output': e['source'].upper()}) + '\\n')"
    )
    assert make(script).generate(BATCH) == TEXTS


def test_errors_information_and_wrong_outputs(make: Make) -> None:
    answers = {
        "a": {"output": "x", "info": {"finish": "length"}, "more": 1},
        "b": {"error": "too long"},
        "c": {"output": 3},
        "d": {},
        "e": {"output": None, "error": None},
    }
    script = f"{HEAD}answers = {answers!r}\nfor line in sys.stdin:\n    id_ = json.loads(line)['id']\n    print(json.dumps({{'id': id_, **answers[id_]}}))"
    assert make(script).generate(BATCH) == [
        Output("x", info={"finish": "length"}),
        Output(None, "too long"),
        Output(None, """the answer is '{"id": "c", "output": 3}'; expected a text as "output", or an "error\""""),
        Output(None, """the answer is '{"id": "d"}'; expected a text as "output", or an "error\""""),
        Output(None, """the answer is '{"id": "e", "output": null, "error": null}'; expected a text as "output", or an "error\""""),
    ]  # fmt: skip


def test_a_line_for_a_batch(make: Make) -> None:
    script = f"{HEAD}for line in sys.stdin:\n    batch = json.loads(line)\n    for e in batch: print(json.dumps({{'id': e['id'], 'output': str(len(batch))}}))"
    system = make(script, batch=True, batch_size=2)
    assert system.plan(BATCH) == [[0, 1], [2, 3], [4]]
    assert [output.text for output in system.generate(BATCH[:2])] == ["2", "2"]
    assert [output.text for output in system.generate(BATCH[4:])] == ["1"]


def test_no_id_is_twice_in_a_batch(make: Make) -> None:
    system = make(EACH.format("pass", "str(e['repeat'])"), repeats=3, batch_size=2)
    rows = system.expand(BATCH[:3])
    plan = system.plan(rows)
    assert sorted(i for batch in plan for i in batch) == list(range(9))
    for batch in plan:
        assert len({rows[i].id for i in batch}) == len(batch) <= 2
        assert [o.text for o in system.generate([rows[i] for i in batch])] == [str(rows[i].repeat) for i in batch]


def test_long_lines_both_ways(make: Make) -> None:
    long = [example(str(i), "x" * 300_000) for i in range(8)]
    assert make(UPPER).generate(long) == [Output("X" * 300_000)] * 8


# ---------------------------------------------------------------- programs that break


@pytest.mark.parametrize(
    ("breaking", "expected"),
    [
        ("sys.exit(3)", "it ended with code 3. The end of its standard error: started "),
        ("sys.exit('out of luck')", "it ended with code 1. The end of its standard error: out of luck (all of it in "),
        ("os.kill(os.getpid(), 9)", "it ended with code -9."),
        ("print('Loading …')", "of its standard output is not JSON (Expecting value: line 1 column 1 (char 0)): 'Loading …'; expected one object per line on standard output"),
        ("print(json.dumps({'id': 'z', 'output': ''}))", """of its standard output is '{"id": "z", "output": ""}'; expected {"id": …, "output": …} with the id of an example that it has read and not answered yet: 'c'"""),
        ("print('[1]')", "of its standard output is '[1]'; expected {"),
        ("sys.stdout.write('{\"id\": '); sys.exit(1)", "of its standard output is not JSON"),
        ("raise ValueError('see here')", "The end of its standard error: ValueError: see here"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("batch", [False, True], ids=["lines", "lists"])
def test_only_the_example_that_breaks_it_fails(breaking: str, expected: str, batch: bool, make: Make, tmp_path: Path) -> None:  # fmt: skip
    each = (
        f"    if e['id'] == 'c': {breaking}\n    print(json.dumps({{'id': e['id'], 'output': e['source'].upper()}}))\n"
    )
    lists = f"{HEAD}for line in sys.stdin:\n  for e in json.loads(line):\n{each}"
    system = make(
        lists if batch else f"{HEAD}for line in sys.stdin:\n    e = json.loads(line)\n{each}", batch=batch, timeout=2
    )
    outputs = system.generate(BATCH)
    assert [output for output in outputs if output.text is not None] == [*TEXTS[:2], *TEXTS[3:]]
    assert expected in (outputs[2].error or "")
    assert len(starts(tmp_path)) == 3  # at first, after the batch, after the culprit
    assert not any(map(running, starts(tmp_path)[:2]))


@pytest.mark.slow
def test_an_example_that_takes_too_long_fails(make: Make, tmp_path: Path) -> None:
    system = make(EACH.format("time.sleep(600 if e['id'] == 'c' else 0)", "e['source'].upper()"), timeout=3)
    outputs = system.generate(BATCH)
    assert [*outputs[:2], *outputs[3:]] == [*TEXTS[:2], *TEXTS[3:]]
    assert (outputs[2].error or "").startswith(
        "no answer within timeout=3 seconds (does it flush each line?). The end of "
    )
    assert len(starts(tmp_path)) == 3


def test_a_program_that_dies_by_chance_costs_nothing(make: Make, tmp_path: Path) -> None:
    """It ends once, at the third example."""
    once = "if e['id'] == 'c' and not os.path.exists('{0}'):\n        open('{0}', 'w').close()\n        sys.exit(1)".format(tmp_path / "died")  # fmt: skip
    assert make(EACH.format(once, "e['source'].upper()")).generate(BATCH) == TEXTS
    assert len(starts(tmp_path)) == 2


@pytest.mark.parametrize(
    ("answering", "warnings"),
    [("time.sleep(1.5 if e['id'] == 'a' else 0)", 1), ("time.sleep(1.5 if e['id'] == 'b' else 0)", 0)],
    ids=["the first answer", "a later one"],
)
def test_a_first_answer_that_does_not_come_is_warned_of_once(
    answering: str, warnings: int, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A program that reads to the end of its input would wait for ever, and its user for `timeout`."""
    monkeypatch.setattr("harness.systems.command.PATIENCE", 0.5 if warnings else 20)
    system = make(EACH.format(answering, "e['source'].upper()"))
    assert system.generate(BATCH[:1]) == TEXTS[:1]
    monkeypatch.setattr("harness.systems.command.PATIENCE", 0.5)
    assert system.generate(BATCH[1:]) == TEXTS[1:]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == warnings
    assert all("it waits for the end of its input, or keeps its answers back" in message for message in messages)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"{HEAD}raise ImportError('no such thing')", "it ended with code 1. The end of its standard error: ImportError: no such thing"),
        (f"{HEAD}print('Welcome')\nfor line in sys.stdin: pass", "line 1 of its standard output is not JSON"),
        (f"{HEAD}sys.stdin.read()\ntime.sleep(600)", "no answer within timeout=1 seconds"),
        (f"{HEAD}os.close(1)\ntime.sleep(600)", "it closed its standard output"),
    ],
    ids=["dies", "says hello", "is silent", "closes"],
)  # fmt: skip
def test_one_that_never_answers_ends_the_run(script: str, expected: str, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr("harness.systems.command.GRACE", 0.2)
    with pytest.raises(HarnessError) as raised:
        make(script, timeout=1 if "within" in expected else 60).generate([example(str(i)) for i in range(20)])
    assert "was started 5 times without a single answer, the last time: " in str(raised.value)
    assert expected in str(raised.value)
    assert len(starts(tmp_path)) == 5 or "within" in expected  # it may be too slow to say so
    assert not any(map(running, starts(tmp_path)))


def test_all_of_standard_error_is_kept(make: Make, tmp_path: Path) -> None:
    system = make(EACH.format("print('word ' * 100_000, file=sys.stderr)", "'x'"))
    assert system.generate(BATCH) == [Output("x")] * 5
    system.close()
    assert (tmp_path / LOG).read_text().count("word ") == 500_000


def test_an_interrupt_ends_the_program_and_what_it_started(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    system = make(
        f"{HEAD}import subprocess\nsleeper = subprocess.Popen(['sleep', '600'])\nprint('started', sleeper.pid, file=sys.stderr)\ntime.sleep(600)"
    )

    def interrupted(self: Any, *waiting: Any) -> bytes:
        while len(starts(tmp_path)) < 2:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.systems.command._Kept.next", interrupted)
    with pytest.raises(KeyboardInterrupt):
        system.generate(BATCH)
    for pid in starts(tmp_path):
        assert _ended(pid)


def _ended(pid: int) -> bool:
    """Gone, or dead and waiting for whoever takes in orphans."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"command": []}, "system.command has an empty command; expected [PROGRAM, ARGUMENT, …]"),
        ({"command": ["x"], "timeout": 0}, "system.command has timeout=0; expected seconds, more than 0"),
        ({"command": ["x"], "batch_size": 0}, "system.batch_size and system.repeats: expected at least 1"),
    ],
)
def test_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        Command(**options)
    assert expected in str(raised.value)


def test_identity(make: Make, tmp_path: Path) -> None:
    assert make(UPPER).key() is None
    assert make(UPPER, revision="1").key() not in (None, make(UPPER, revision="2").key())
    seen = make(UPPER).seen(BATCH[0])
    assert seen == make(UPPER).seen(Example("a", "text a", ("reference",), repeat=2))
    assert seen != make(UPPER + "\n").seen(BATCH[0])
    assert seen != Command([sys.executable, str(tmp_path / "own.py"), "--fast"]).seen(BATCH[0])
    with pytest.raises(HarnessError, match="'no-such-program' cannot be started .*; expected a program on the PATH"):
        Command(["no-such-program"]).seen(BATCH[0])


# ---------------------------------------------------------------- runs


def test_a_run(files: Path, cli: Cli) -> None:
    Path("own.py").write_text(UPPER)
    run = (*RUN, f"system.command=[{sys.executable},own.py]", "system.batch_size=2")
    called = cli(*run)
    assert called.code == 0, called.err
    (scores,) = Path("runs").rglob("scores.json")
    assert scores.parent.name.startswith("dev-own-")
    assert pd.read_parquet(scores.parent / "examples.parquet")["output"][0] == "THE CAT SAT."
    assert len(starts(scores.parent)) == 1
    assert not running(starts(scores.parent)[0])
    assert cli(*run).code == 0
    assert len(starts(scores.parent)) == 1  # nothing to ask
    Path("own.py").write_text(EACH.format("pass", "e['topic']"))
    assert cli(*run).code == 0
    assert len(starts(scores.parent)) == 2
    assert pd.read_parquet(scores.parent / "examples.parquet")["output"][0] == "pets"


def test_a_broken_program_is_one_message(files: Path, cli: Cli) -> None:
    Path("own.py").write_text("import no_such_module")
    called = cli(*RUN, f"system.command=[{sys.executable},own.py]")
    assert called.code == 1
    assert "ModuleNotFoundError: No module named 'no_such_module' (all of it in runs/" in called.err
    assert "Traceback" not in called.err


def test_ctrl_c_keeps_what_was_answered_and_ends_the_program(files: Path) -> None:
    write_jsonl(files / "dev.jsonl", [{"id": str(i), "source": "s", "references": ["r"]} for i in range(6)])
    (files / "own.py").write_text(EACH.format("time.sleep(600 if e['id'] == '4' else 0)", "'x'"))
    arguments = [*RUN, f"system.command=[{sys.executable},own.py]", "system.batch_size=2"]
    process = subprocess.Popen([sys.executable, "-m", "harness", *arguments], cwd=files, stderr=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip

    def kept() -> int:
        return sum(path.read_text().count('"key"') for path in files.rglob("outputs.jsonl"))

    while kept() < 4:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode != 0
    assert kept() == 4
    (log,) = files.rglob(LOG)
    assert _ended(starts(log.parent)[0])
