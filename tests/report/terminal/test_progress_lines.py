"""Progress in a log: lines by a clock that the test moves."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from harness.report.terminal import progress
from harness.report.terminal.progress_lines import Lines
from tests.conftest import Called


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def stage(clock: Clock, total: int) -> tuple[Lines, io.StringIO]:
    out = io.StringIO()
    return Lines("generating", total, clock, out), out


def test_what_is_quick_says_nothing(clock: Clock) -> None:
    lines, out = stage(clock, 10)
    with lines:
        for _ in range(10):
            clock.now += 0.9
            lines.advance()
    assert out.getvalue() == ""


def test_a_line_every_ten_seconds(clock: Clock) -> None:
    lines, out = stage(clock, 100)
    with lines:
        for _ in range(31):
            clock.now += 1
            lines.advance()
    assert out.getvalue().splitlines() == [
        "generating: 10/100, 1.0/s, 0:01:30 left",
        "generating: 20/100, 1.0/s, 0:01:20 left",
        "generating: 30/100, 1.0/s, 0:01:10 left",
        "generating: 31/100 in 0:00:31",
    ]


def test_a_long_stage_fills_no_log(clock: Clock) -> None:
    lines, out = stage(clock, 36_000)
    with lines:
        for _ in range(36_000):
            clock.now += 1
            lines.advance()
    written = out.getvalue().splitlines()
    assert 30 < len(written) < 100
    assert written[-1] == "generating: 36,000/36,000 in 10:00:00"


def test_a_tenth_of_the_work_is_told_whatever_the_time(clock: Clock) -> None:
    lines, out = stage(clock, 100)
    clock.now += 1000
    lines.advance(50)
    clock.now += 11  # less than a tenth of the time so far
    lines.advance(5)
    clock.now += 1
    lines.advance(5)
    assert [line.split(",")[0] for line in out.getvalue().splitlines()] == ["generating: 50/100", "generating: 60/100"]


def test_what_does_not_advance_is_not_silent(clock: Clock) -> None:
    lines, out = stage(clock, 100)
    lines.note("$0.12")
    clock.now += 10
    lines.look()
    lines, unknown = stage(clock, 0)
    clock.now += 20
    lines.look()
    lines.advance(8192)
    clock.now += 10
    lines.look()
    assert out.getvalue() == "generating: 0/100, 0:00:10 so far, $0.12\n"
    assert unknown.getvalue() == "generating: 0:00:20 so far\ngenerating: 8,192, 273.1/s, 0:00:30 so far\n"


def test_bars_on_a_terminal_lines_elsewhere_nothing_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress.bars(False) is progress.silent
    assert progress.bars(True) is progress.silent  # as the tests have it: HARNESS_PROGRESS=0
    monkeypatch.delenv("HARNESS_PROGRESS")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress.bars(True) is Lines
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert progress.bars(True) is progress._Bar


def test_a_run_in_a_pipe(cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.report.terminal.progress_lines.SECONDS", 0.0)
    monkeypatch.delenv("HARNESS_PROGRESS")
    words = ("run", "limit=5", "metrics=[exact_match]", "tracking=none", "stats.resamples=20")
    called = cli(*words)
    assert called.code == 0
    assert "generating: 5/5 in 0:00:0" in called.err
    assert "reading: " in called.err
    assert cli(*words, "progress=false", "name=again").err == ""
