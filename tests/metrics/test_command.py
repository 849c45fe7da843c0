"""Metrics by programs of the user's own, as scripts that a test writes; some of them behave badly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings

import harness
from harness.inputs.programs import Program
from harness.metrics.command import CommandMetric
from harness.types import Batch, HarnessError
from tests.conftest import GOOD, ROWS, Called, gone
from tests.metrics import hostile

REFERENCES = [row["references"] for row in ROWS]
SOURCES = [row["source"] for row in ROWS]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "tracking=none")
Cli = Callable[..., Called]
Judge = Callable[..., list[str]]
EACH = "for line in sys.stdin:\n    example = json.loads(line)\n    print(json.dumps({}))\n"
LENGTHS = EACH.format("{'score': len(example['output'])}")


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """The command of a Python script with this text."""

    def written(text: str, name: str = "judge.py") -> list[str]:
        (tmp_path / name).write_text(f"import json, os, sys, time\n{text}")
        return [sys.executable, str(tmp_path / name)]

    return written


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """The programs that a test started."""
    programs: list[Program] = []
    init = Program.__init__

    def recorded(self: Program, *arguments: Any) -> None:
        programs.append(self)
        init(self, *arguments)

    monkeypatch.setattr(Program, "__init__", recorded)
    return programs


def over(programs: list[Program]) -> bool:
    """Whether process and threads have ended and all files are closed."""
    ended = [p.process.returncode is not None and not any(t.is_alive() for t in p.threads) for p in programs]
    closed = [f.closed for p in programs for f in (p.process.stdin, p.process.stdout, p.errors) if f is not None]
    return bool(programs) and all(ended) and all(closed)


def scores(metric: CommandMetric, outputs: list[str] = GOOD) -> list[float]:
    rows = metric.statistics(Batch(outputs, (REFERENCES * len(outputs))[: len(outputs)]))
    scores: list[float] = metric.score_examples(rows)[:, 0].tolist()
    return scores


# ---------------------------------------------------------------- what a program gets and answers


def test_a_score_for_each_line(judge: Judge, started: list[Program]) -> None:
    program = judge(EACH.format("{'score': len(example['output']) + len(example['references']) + example['source'].count('.')}"))  # fmt: skip
    result = harness.evaluate(GOOD, REFERENCES, {"command": {"command": program, "name": "judge"}}, sources=SOURCES)
    expected = [len(o) + 2 + 1 for o in GOOD]
    score = result.scores["judge"]
    assert score.estimate == pytest.approx(np.mean(expected))
    student = scipy.stats.t.interval(0.95, len(expected) - 1, np.mean(expected), scipy.stats.sem(expected))
    assert (score.low, score.high) == pytest.approx(student, rel=0.01)  # of up to six examples
    assert result.examples["judge"].tolist() == expected
    assert len(started) == 1 and over(started)


def test_what_a_program_reads(judge: Judge, tmp_path: Path) -> None:
    program = judge(f"open({str(tmp_path / 'seen')!r}, 'w').write(sys.stdin.read())\nprint('{{\"score\": 1}}\\n' * 2)")
    CommandMetric(program).statistics(Batch(["é\u2028\n", ""], [["a", "b"], []], ["s", None]))
    lines = (tmp_path / "seen").read_text().splitlines()  # which splits at U+2028 too
    assert [json.loads(line) for line in lines] == [
        {"output": "é\u2028\n", "references": ["a", "b"], "source": "s"},
        {"output": "", "references": [], "source": None},
    ]


def test_a_shell_and_numbers_among_the_arguments() -> None:
    assert scores(CommandMetric(["sh", "-c", "while read -r line; do echo '{\"score\": 2}'; done"])) == [2.0] * 4
    assert scores(CommandMetric(["sh", "-c", "cat | sed 's/.*/{\"score\": 3}/'"])) == [3.0] * 4
    spec = {"command": {"command": ["sh", "-c", 'sed "s/.*/{\\"score\\": $1}/"', "sh", 5]}}
    assert harness.evaluate(GOOD, REFERENCES, spec, resamples=0).scores["command"].estimate == 5


def test_several_scores(judge: Judge) -> None:
    program = judge(EACH.format("{'scores': {'fluency': len(example['output']), 'adequacy': 1, 'more': 'x'}}"))
    metric = CommandMetric(program, name="judge", scores=["fluency", "adequacy"])
    result = harness.evaluate(GOOD, REFERENCES, metric, resamples=20)
    assert {name: score.estimate for name, score in result.scores.items()} == {
        "fluency": np.mean([len(o) for o in GOOD]), "adequacy": 1.0,
    }  # fmt: skip
    assert metric.columns == ("fluency", "adequacy", "count")


@pytest.mark.parametrize("none", ["{'score': None}", "{'score': float('nan'), 'why': 'x'}"])
def test_a_missing_score_is_missing_and_said(none: str, judge: Judge, caplog: pytest.LogCaptureFixture) -> None:
    program = judge(EACH.format(f"{none} if 'rain' in example['output'] else {{'score': 3}}"))
    result = harness.evaluate(GOOD, REFERENCES, CommandMetric(program, name="judge"), resamples=50)
    assert [result.scores["judge"].estimate, result.scores["judge"].low] == [3.0, 3.0]
    assert result.examples["judge"].isna().tolist() == [False, True, False, False]
    assert np.isnan(result.statistics["judge"].rows[1]).all()
    assert "judge gave no score for 1 of 4 outputs; they are left out" in caplog.text


@pytest.mark.parametrize("none", ["{'score': None}", "{'scores': {'a': 1, 'b': None}}"])
def test_one_of_several_missing(none: str, judge: Judge) -> None:
    program = judge(EACH.format(f"{none} if 'rain' in example['output'] else {{'scores': {{'a': 1, 'b': True}}}}"))
    result = harness.evaluate(GOOD, REFERENCES, CommandMetric(program, scores=["a", "b"]), resamples=0)
    assert result.examples["a"].isna().tolist() == result.examples["b"].isna().tolist() == [False, True, False, False]
    assert result.scores["b"].estimate == 1


def test_empty_lines_and_advance(judge: Judge) -> None:
    done: list[int] = []
    metric = CommandMetric(judge(LENGTHS.replace("}))", "}) + '\\r\\n\\n')")))
    metric.advance = done.append  # type: ignore[method-assign, assignment]
    assert scores(metric) == [len(o) for o in GOOD]
    assert done == [1] * 4
    assert metric.statistics(Batch([], [])).shape == (0, 2)


def test_it_answers_while_it_is_written_to(judge: Judge) -> None:
    """A program that answers each line is heard at once, not after the last."""
    times: list[float] = []
    metric = CommandMetric(judge(LENGTHS.replace("}))", "}), flush=True); time.sleep(0.2)")))
    metric.advance = lambda n: times.append(time.monotonic())  # type: ignore[method-assign, assignment]
    scores(metric)
    assert times[-1] - times[0] > 0.4


READERS = {
    "line by line": LENGTHS,
    "all before the first answer": f"lines = sys.stdin.readlines()\n{LENGTHS.replace('sys.stdin', 'lines')}",
    "with long answers": LENGTHS.replace("len(", "'x' * 100_000, 'score': len("),
    "with much on standard error": LENGTHS.replace("    print", "    sys.stderr.write('x' * 100_000)\n    print"),
}


@pytest.mark.parametrize("how", READERS)
def test_long_lines_block_no_pipe(how: str, judge: Judge, started: list[Program]) -> None:
    outputs = [*hostile.LONG, *(str(i) * 100_000 for i in range(20))]
    assert scores(CommandMetric(judge(READERS[how]), timeout=60), outputs) == [len(text) for text in outputs]
    assert over(started)


@settings(max_examples=15)
@given(hostile.pairs(most=30))
def test_random_and_hostile_text(pairs: list[tuple[str, list[str]]]) -> None:
    """Each character arrives as it was sent."""
    text = EACH.format("{'score': sum(i * ord(c) for t in [example['output'], *example['references']] for i, c in enumerate(t, 1))}")  # fmt: skip
    metric = CommandMetric([sys.executable, "-c", f"import json, sys\n{text}"])
    rows = metric.statistics(Batch([output for output, _ in pairs], [refs for _, refs in pairs]))
    expected = [sum(i * ord(c) for t in [output, *refs] for i, c in enumerate(t, 1)) for output, refs in pairs]
    assert metric.score_examples(rows)[:, 0].tolist() == expected


def test_stored_rows_need_no_program() -> None:
    metric = CommandMetric(["no-such-program"], higher_is_better=False, needs_references=False)
    assert metric.score(np.array([6.0, 4.0])).tolist() == [1.5]
    assert metric.score(np.ones((2, 3, 2))).shape == (2, 3, 1)
    assert np.isnan(metric.score(np.array([[np.nan, np.nan], [0.0, 0.0]]))).all()
    assert (metric.higher_is_better, metric.needs_references) == (False, False)


# ---------------------------------------------------------------- errors

SAID = ". Standard error of sh: "


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo help >&2; exit 3", "the program ended with code 3 after 0 answers; expected code 0 after 4" + SAID + "help"),
        ("echo '{\"score\": 1}'", "the program ended with code 0 after 1 answer; expected code 0 after 4" + SAID + "empty"),
        ("sed 's/.*/{\"score\": 1}/'; exit 2", "the program ended with code 2 after 4 answers; expected code 0 after 4" + SAID + "empty"),
        ("sed 's/.*/{\"score\": 1}/'; echo bye", "'bye\\n' after 4 answers; expected 4, one per line" + SAID + "empty"),
        ("kill -9 $$", "the program ended with code -9 after 0 answers"),
        ("echo '{\"score\": 1}'; echo Loading; cat", "the answer to line 2 is not JSON (Expecting value: line 1 column 1 (char 0)): 'Loading'; expected one object per line on standard output, all else on standard error" + SAID),
        ("printf '\\377\\n'; cat", "the answer to line 1 is not JSON ('utf-8' codec can't decode byte 0xff"),
        ("echo '{\"score\": \"1\"}'; cat", "the answer to line 1 is str '1'; expected a finite number, or null where there is no score" + SAID),
        ("echo '{\"score\": [1]}'; cat", "the answer to line 1 is list '[1]'; expected a finite number"),
        ("echo '{\"score\": Infinity}'; cat", "the answer to line 1 is float 'inf'; expected a finite number"),
        ("echo '{\"score\": 1e400}'; cat", "the answer to line 1 is float 'inf'; expected a finite number"),
        ("echo 0.5; cat", "the answer to line 1 is '0.5'; expected {\"score\": NUMBER}, or {\"score\": null} where there is none" + SAID),
        ("echo '{\"scores\": {\"judge\": 1}}'; cat", "the answer to line 1 is '{\"scores\": {\"judge\": 1}}'; expected {\"score\": NUMBER}"),
        ("echo '{}'; cat", "the answer to line 1 is '{}'; expected {\"score\": NUMBER}"),
    ],
)  # fmt: skip
def test_bad_programs(script: str, expected: str, started: list[Program]) -> None:
    with pytest.raises(HarnessError) as raised:
        scores(CommandMetric(["sh", "-c", script], name="judge", timeout=30))
    assert str(raised.value).startswith(f"judge: {expected}")
    assert over(started)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"score": 1}', 'is \'{"score": 1}\'; expected {"scores": {"a": NUMBER, "b": NUMBER}}, or {"score": null} where'),
        ('{"scores": {"a": 1}}', 'is \'{"scores": {"a": 1}}\'; expected {"scores": {"a": NUMBER, "b": NUMBER}}'),
        ('{"scores": {"a": 1, "b": "x"}}', "b, is str 'x'; expected a finite number, or null where there is no score"),
        ('{"scores": [1, 2]}', 'is \'{"scores": [1, 2]}\'; expected {"scores": {"a": NUMBER, "b": NUMBER}}'),
    ],
)  # fmt: skip
def test_bad_answers_with_several_scores(answer: str, expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        scores(CommandMetric(["sh", "-c", f"echo '{answer}'; cat"], scores=["a", "b"]))
    assert expected in str(raised.value)


def test_standard_error_is_shown_from_its_end(judge: Judge) -> None:
    program = judge("print('x' * 5000, file=sys.stderr)\nsys.stdin.readline()\nraise MemoryError('of what')")
    with pytest.raises(HarnessError) as raised:
        scores(CommandMetric(program))
    assert str(raised.value).endswith("MemoryError: of what")
    assert len(str(raised.value)) < 2300


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"command": ["no-such-program", "x"]}, "command: 'no-such-program' cannot be started (there is none that can be run); expected a program on the PATH, or its path"),
        ({"command": [os.devnull]}, "cannot be started"),
        ({"command": []}, "command has an empty command; expected [PROGRAM, ARGUMENT, …]"),
        ({"command": "python judge.py"}, "metrics.command.command is 'python judge.py'; expected a list of texts or numbers, as 'metrics.command.command=[python,judge.py]'"),
        ({}, "metrics.command.command is not set; expected metrics.command.command=…"),
        ({"command": ["sh"], "timeout": 0}, "command has timeout=0; expected seconds, more than 0, or null for no limit"),
        ({"command": ["sh"], "timeout": float("inf")}, "command has timeout=inf; expected seconds"),
        ({"command": ["sh"], "name": "a b"}, "the score name 'a b'; expected letters, digits, _, - and single dots"),
    ],
)  # fmt: skip
def test_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        harness.evaluate(GOOD, REFERENCES, {"command": options}, resamples=0)
    assert expected in str(raised.value)


def test_what_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x00\x01")
    (tmp_path / "broken").chmod(0o755)
    metric = CommandMetric([str(tmp_path / "broken")])
    metric.definition()
    with pytest.raises(HarnessError, match="broken' cannot be started .*Exec format error"):
        scores(metric)
    with pytest.raises(HarnessError, match="cannot be started .*null byte"):
        scores(CommandMetric(["sh", "a\0b"]))


ONE = "echo '{\"score\": 1}';"
SILENT = {
    "before the first answer": ("sleep 60", "no answer to line 1 of 4"),
    "after the second": (f"{ONE * 2} sleep 60", "no answer to line 3 of 4"),
    "after the last": (f"{ONE * 4} sleep 60", "no end after the answer to line 4"),
    "after closing": (f"{ONE * 4} exec >&-; sleep 60", "no end after the answer to line 4"),
}


@pytest.mark.slow
@pytest.mark.parametrize("when", SILENT)
def test_a_silent_program_is_ended(when: str, started: list[Program]) -> None:
    script, expected = SILENT[when]
    with pytest.raises(HarnessError) as raised:
        scores(CommandMetric(["sh", "-c", f"echo thinking >&2; {script}"], timeout=1.5))
    assert str(raised.value) == f"command: {expected} within timeout=1.5 seconds; expected one{SAID}thinking"
    assert over(started)


def test_a_slow_program_is_not_silent() -> None:
    """The limit is on the time between answers, not on the whole."""
    script = f"while read -r line; do {ONE} sleep 0.6; done"
    assert scores(CommandMetric(["sh", "-c", script], timeout=2)) == [1.0] * 4


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_ends_the_program_and_what_it_started(
    error: type[BaseException], tmp_path: Path, started: list[Program]
) -> None:
    script = f"sleep 60 & echo $! > {tmp_path / 'pid'}; echo '{{\"score\": 1}}'; wait"

    def interrupt(n: int) -> None:
        raise error

    metric = CommandMetric(["sh", "-c", script])
    metric.advance = interrupt  # type: ignore[method-assign, assignment]
    with pytest.raises(error):
        scores(metric, ["x" * 100_000] * 20)
    assert over(started)
    assert gone([int((tmp_path / "pid").read_text())])


def test_ctrl_c(judge: Judge, files: Path) -> None:
    """A real one, while the program thinks."""
    program = judge(f"open({str(files / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
    arguments = [*RUN, "system.path=good.jsonl", "metrics=command", f"metrics.command.command=[{','.join(program)}]"]
    run = subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments], cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 60
    while not ((files / "pid").exists() and (files / "pid").read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert run.returncode == 130
    assert b"harness: interrupted" in said
    assert b"Traceback" not in said
    assert gone([int((files / "pid").read_text())])


# ---------------------------------------------------------------- identity and the command line


def test_the_signature_knows_the_command_its_files_and_the_revision(judge: Judge, tmp_path: Path) -> None:
    def seen(*more: str, **options: Any) -> str:
        return str(CommandMetric([*program, *more], **options).signature(REFERENCES))

    program = judge(LENGTHS)
    first = seen()
    assert first.startswith("nrefs:2|command:") and len(first) == len("nrefs:2|command:") + 8
    assert seen(name="other", timeout=None, higher_is_better=False) == first
    assert len({first, seen("-v"), seen(str(tmp_path)), seen("x" * 10_000), seen("a\0b"), seen(revision="2")}) == 6
    assert seen(revision="2") == f"{first}|revision:2"
    (tmp_path / "elsewhere").mkdir()
    program = judge(LENGTHS, "elsewhere/judge.py")
    assert seen() == first  # a file is what it holds, wherever it is
    program = judge(f"{LENGTHS}# changed\n")
    assert seen() != first


def test_runs_are_scored_compared_and_scored_again_when_the_program_changes(files: Path, cli: Cli) -> None:
    def rule(factor: int) -> None:
        answer = f"{{'score': {factor} * len(set(example['output'].split()) & set(example['references'][0].split()))}}"
        Path("judge.py").write_text(f"import json, sys\nopen('calls', 'a').write('x')\n{EACH.format(answer)}")

    options = (
        "metrics=[bleu,command]",
        f"metrics.command.command=[{sys.executable},judge.py]",
        "metrics.command.name=overlap",
    )
    rule(1)
    for name in ("good", "bad"):
        called = cli(*RUN, *options, f"system.path={name}.jsonl")
        assert called.code == 0, called.err
        assert "overlap" in called.out
    assert cli(*RUN, *options, "system.path=good.jsonl").code == 0
    assert Path("calls").read_text() == "xx"  # unchanged: nothing is scored again
    rows = {row.score: row for row in harness.compare(["dev-bad", "dev-good"], resamples=500)}
    assert rows["overlap"].difference == pytest.approx((4 + 3 + 2 + 2) / 4 - (0 + 3 + 0 + 0) / 4)
    rule(2)
    assert cli(*RUN, *options, "system.path=good.jsonl").code == 0
    assert Path("calls").read_text() == "xxx"
    compared = cli("compare", "dev-bad", "dev-good")
    assert compared.code == 1
    assert "command of dev-bad and dev-good are defined differently (command: " in compared.err
    assert cli(*RUN, *options, "system.path=bad.jsonl").code == 0
    Path("judge.py").unlink()  # stored rows need no program
    assert cli("compare", "dev-bad", "dev-good").code == 0


def test_two_of_them_by_a_yaml_of_ones_own(files: Path, cli: Cli) -> None:
    (files / "my" / "metrics").mkdir(parents=True)
    (files / "my" / "metrics" / "metricx.yaml").write_text(
        "metricx:\n  _target_: harness.metrics.command.CommandMetric\n  name: metricx\n  higher_is_better: false\n"
        '  needs_references: false\n  command: [sh, -c, "sed \'s/.*/{\\"score\\": 7}/\'"]\n'
    )
    Path("judge.py").write_text(f"import json, sys\n{LENGTHS}")
    options = (
        "--config-dir",
        "my",
        "metrics=[command,metricx]",
        f"metrics.command.command=[{sys.executable},judge.py]",
    )
    called = cli(*RUN, *options, "system.path=good.jsonl")
    assert called.code == 0, called.err
    scores = harness.load_run("dev-good").scores
    assert {name: score.estimate for name, score in scores.items()} == {"command": np.mean([len(o) for o in GOOD]), "metricx": 7.0}  # fmt: skip
    assert (scores["metricx"].higher_is_better, scores["command"].higher_is_better) == (False, True)


def test_errors_are_one_message(files: Path, cli: Cli) -> None:
    called = cli(*RUN, "system.path=good.jsonl", "metrics=command")
    assert (called.code, called.err) == (1, "harness: metrics.command.command is not set; expected metrics.command.command=…\n")  # fmt: skip
    called = cli(*RUN, "system.path=good.jsonl", "metrics=command", "metrics.command.command=[nope]")
    assert called.code == 1
    assert called.err.startswith("harness: command: 'nope' cannot be started")
    assert not Path("runs").exists()  # said before anything is generated
    called = cli(*RUN, "system.path=good.jsonl", "metrics=command", "metrics.command.command=[sh,-c,'exit 4']")
    assert called.code == 1
    assert (
        called.err
        == "harness: command: the program ended with code 4 after 0 answers; expected code 0 after 4. Standard error of sh: empty\n"
    )
