"""Tables on terminals of every width: every number is there, no line is too long, points stand below each other."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.report.terminal.comparisons import print_best, print_comparisons
from harness.report.terminal.costs import print_cache, print_dry_run
from harness.report.terminal.hints import print_next
from harness.report.terminal.layout import Columns
from harness.report.terminal.learning_curve import print_answers, print_curve
from harness.report.terminal.powers import print_powers
from harness.report.terminal.reported import print_reported
from harness.report.terminal.run_list import print_runs
from harness.report.terminal.summary import print_run, print_summary
from harness.stats.options import ComparisonOptions
from harness.types import RunRecords
from tests.conftest import BAD, GOOD, ROWS
from tests.made_up import write_run

WIDTHS = (40, 60, 80, 120, 200)
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\]8;[^\x1b]*\x1b\\")
NUMBER = re.compile(r"(?<![\w.])[-+±]?\d[\d,]*(?:\.\d+)?%?(?![\w])")
Print = Callable[[], None]


@pytest.fixture(scope="module")
def prints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Print]:
    """Everything that prints a table, with numbers of several scales in it."""
    folder = tmp_path_factory.mktemp("runs")
    references = [row["references"] for row in ROWS] * 8
    outputs = {"bad": BAD, "good": GOOD, "a mixed one": [GOOD[0], *BAD[1:]]}
    made = {n: harness.evaluate(o * 8, references, ["lexical"], name=n, resamples=200) for n, o in outputs.items()}
    scores = made["good"].scores
    # failures move the bounds, a thousand times as many examples the lengths
    extreme = {n: replace(s, if_worst=s.low, if_best=s.high) for n, s in scores.items()}
    extreme["bleu.sys_len"] = replace(extreme["bleu.sys_len"], estimate=1_234_567.0, low=1_200_000.0, high=1_300_000.0)
    failed = replace(made["good"], failed=3, scores=extreme)
    comparisons = harness.compare(list(made.values()), resamples=200, cross_check=True)
    powers = harness.power(list(made.values()), resamples=200)
    best = harness.best(list(made.values()), resamples=200)
    series = [
        replace(run, manifest={"system": {"step": 1000 * i, "series": "out"}}) for i, run in enumerate(made.values(), 1)
    ]
    curves = harness.curve(series, resamples=200)
    held_out = [replace(run, dataset="test", dataset_key="test", name=f"test-{run.name}") for run in series]
    reported = harness.report_best(series, held_out, resamples=200)
    for name in ("dev-a", "dev-b"):
        write_run(folder / "runs" / f"{name}-1f2e3d4c", name, failed=2, dataset="dev", scores={
            "bleu": (31.25, 28.5, 33.75), "ter": (104.5, 98.25, 110.75), "rouge1": (0.4125, 0.3875, 0.4375),
        })  # fmt: skip
    listed = RunRecords(
        replace(run, path=Path("runs/an-experiment-of-a-long-name") / run.path.name)
        for run in harness.runs(below=folder / "runs")
    )
    dry = {
        "name": "dev-a", "cell": None, "examples": 12_000, "outputs": 24_000, "journal": 7, "cached": 11, "generate": 23_982,
        "input_tokens": 9_876_543, "output_tokens": None, "seconds": 3_725.0, "cost": 12.5,
    }  # fmt: skip
    usage = SimpleNamespace(entries=12_345, size=67_890_000, oldest=1_700_000_000)
    return {
        "run": lambda: print_run(made["good"]),
        "failed": lambda: print_run(failed),
        "summary": lambda: print_summary(list(made.values())),
        "comparisons": lambda: print_comparisons(comparisons, harness.rankings(comparisons), ComparisonOptions()),
        "powers": lambda: print_powers(powers, 0.8),
        "best": lambda: print_best(best),
        "curve": lambda: print_curve(series),
        "curve with a band": lambda: print_curve(series, curves),
        "answers": lambda: print_answers(curves),
        "reported": lambda: print_reported(reported),
        "dry run": lambda: print_dry_run([dry, {**dry, "name": "dev-b", "cost": 0.25}]),
        "cache": lambda: print_cache("runs/.cache", usage, {"lead": usage}, usage),
        "runs": lambda: print_runs(listed, ["bleu", "ter", "rouge1"], [], "runs"),
    }


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Print, int | None], str]:
    """What a terminal of that width gets, or a pipe."""

    def call(printed: Print, width: int | None) -> str:
        capsys.readouterr()
        monkeypatch.setattr(sys.stdout, "isatty", lambda: width is not None, raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("NO_COLOR", raising=False)
        if width is not None:
            monkeypatch.setenv("COLUMNS", str(width))
        printed()
        return capsys.readouterr().out

    return call


EVERY = (
    "run", "failed", "summary", "comparisons", "powers", "best", "curve", "curve with a band", "answers", "reported",
    "dry run", "cache", "runs",
)  # fmt: skip


@pytest.mark.parametrize("what", EVERY)
def test_no_number_is_lost_and_no_line_too_long(
    what: str, prints: dict[str, Print], shown: Callable[[Print, int | None], str]
) -> None:
    piped = shown(prints[what], None)
    assert "\x1b" not in piped
    numbers = _numbers(piped)
    assert numbers
    for width in WIDTHS:
        text = ESCAPE.sub("", shown(prints[what], width))
        lost = {number for number in numbers - _numbers(text) if not _axis(what, number, piped)}
        assert not lost, (width, text)
        assert "…" not in text.replace("worst … best", "").replace(" … ", ""), (width, text)  # nothing is cut
        assert what != "runs" or text.count("-1f2e3d4c") >= 2, (width, text)  # paths are whole
        for line in text.splitlines():
            assert len(line.rstrip()) <= width or "/" in line, (width, line)  # a path may be longer than the terminal


def _numbers(text: str) -> set[str]:
    return set(NUMBER.findall(text))


def _axis(what: str, number: str, piped: str) -> bool:
    """The ends of a learning curve's axis, which is not drawn where there is no room for it."""
    return (
        what.startswith("curve") and re.search(rf"{re.escape(number)} to |to {re.escape(number)}\n", piped) is not None
    )


def test_a_narrow_table_is_not_the_wide_one(
    prints: dict[str, Print], shown: Callable[[Print, int | None], str]
) -> None:
    for what in EVERY:
        assert ESCAPE.sub("", shown(prints[what], 40)) != ESCAPE.sub("", shown(prints[what], 200)), what


def test_points_stand_below_each_other(prints: dict[str, Print], shown: Callable[[Print, int | None], str]) -> None:
    lines = [line for line in shown(prints["run"], None).splitlines() if "[" in line]
    assert len({line.index(".", 20) for line in lines if "_len" not in line}) == 1
    for group in ([x for x in lines if x.startswith(("BLEU ", "  BLEU p"))], [x for x in lines if "ROUGE" in x]):
        assert len({line.index(", ") for line in group}) == 1
        assert len({line.index("]") for line in group}) == 1


def test_verdicts_have_colours_and_folders_are_links(
    prints: dict[str, Print], shown: Callable[[Print, int | None], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    coloured = shown(prints["comparisons"], 120)
    assert "\x1b[32mbetter\x1b[0m" in coloured
    assert "\x1b[31mworse\x1b[0m" in coloured
    listed = shown(prints["runs"], 200)
    assert re.search(
        r"\x1b\]8;id=\d+;file:///\S*/runs/an-experiment-of-a-long-name/dev-a-1f2e3d4c\x1b\\dev-a\x1b\]8;;", listed
    )
    page = "http://127.0.0.1:5000/#/experiments/1/runs/abc"
    run = replace(
        harness.evaluate(GOOD, [row["references"] for row in ROWS], "bleu", name="good", resamples=0),
        path=tmp_path / "a b",
        manifest={"mlflow": {"where": page}, "system": {"repeats": 1}, "dataset": {"examples": 4}},
    )
    linked = shown(lambda: print_run(run), 80)
    assert f";{(tmp_path / 'a b').as_uri()}\x1b\\" in linked
    assert f";{page}\x1b\\{page}\x1b]8;;" in linked
    local = replace(run, manifest={**run.manifest, "mlflow": {"where": "abc in sqlite:///x.db"}})
    assert "x.db\x1b\\" not in shown(lambda: print_run(local), 80)


def test_no_color(
    prints: dict[str, Print], shown: Callable[[Print, int | None], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def without() -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        prints["comparisons"]()

    assert "better" in shown(without, 120)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7][0-9;]*m", shown(without, 120))


def test_what_to_type_next(tmp_path: Path, shown: Callable[[Print, int | None], str]) -> None:
    folders = [write_run(tmp_path / "a b" / f"r-{i}", f"r-{i}") for i in range(10)]
    few = shown(lambda: print_next(folders[:3], folders[:2], True), 40).splitlines()  # commands are never broken
    quoted = [f"'{folder}'" for folder in folders]
    assert [ESCAPE.sub("", line) for line in few] == [
        "next",
        f"  harness compare {' '.join(quoted[:2])}",
        f"  harness report {' '.join(quoted[:3])} -o report.html",
        "  harness ui",
    ]
    many = shown(lambda: print_next(folders, folders, False), None).splitlines()
    assert many[1:] == [f"  harness {c} '{tmp_path}/a b'/*{o}" for c, o in (
        ("compare", ""), ("best", ""), ("report", " -o report.html"),
    )]  # fmt: skip
    write_run(tmp_path / "a b" / "another", "another")
    some = shown(lambda: print_next(folders, folders, False), None).splitlines()
    assert some[1] == f"  harness compare '{tmp_path}/a b/r-'*"
    left_out = [write_run(tmp_path / "a b" / "r-x", "r-x")]  # by a race, and so by every command
    assert shown(lambda: print_next(folders, folders, False, None, left_out), None).splitlines() == some
    assert "*" not in shown(lambda: print_next(folders, folders, False), None)


CELL = st.text("ab1.,-[] 語", max_size=6).map(str.strip)


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), max_size=4), st.permutations(["left", "point", "interval"]))
def test_every_cell_is_in_every_layout(rows: list[list[str]], kinds: Sequence[str]) -> None:
    table = Columns(*zip(("one", "two", "three"), kinds, strict=True))
    for row in rows:
        table.add_row(*row)
    for layout in (table, table.stacked(20), table.stacked(80)):
        text = Counter("".join(layout.lines()).replace(" ", ""))
        for row in rows:
            assert not Counter("".join(row).replace(" ", "")) - text
        assert all(line == line.rstrip() for line in layout.lines())
