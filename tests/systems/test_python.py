"""Systems that are functions of the user's own, from files that a test writes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.systems.python import Python
from harness.types import Example, HarnessError, Output
from tests.conftest import Called, example

Cli = Callable[..., Called]
Make = Callable[..., Python]
RUN = (
    "run",
    "dataset=file",
    "dataset.path=dev.jsonl",
    "system=python",
    "metrics=[bleu]",
    "tracking=none",
    "stats.resamples=0",
)
BATCH = [example("1", "one", topic="x"), example("2", "two", topic="y"), example("3", None, topic="z")]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A system whose function `f` is written to a file; closed after the test."""
    made: list[Python] = []

    def of(text: str, **options: Any) -> Python:
        (tmp_path / "own.py").write_text(text)
        made.append(Python(f"{tmp_path}/own.py:f", **options))
        return made[-1]

    yield of
    for system in made:
        system.close()


def test_the_example_as_a_dict(make: Make) -> None:
    system = make("import json\ndef f(example): return json.dumps(example)")
    seen = [json.loads(output.text or "") for output in system.generate(BATCH)]
    assert seen == [
        {"topic": "x", "id": "1", "source": "one"},
        {"topic": "y", "id": "2", "source": "two"},
        {"topic": "z", "id": "3", "source": None},
    ]
    assert system.name == "f"


def test_options_are_keywords_and_the_repeat_is_told(make: Make) -> None:
    system = make("def f(example, *, mark): return example['source'] + mark + str(example['repeat'])", repeats=2, options={"mark": "?"})  # fmt: skip
    rows = system.expand(BATCH[:2])
    assert [(row.id, row.repeat) for row in rows] == [("1", 0), ("1", 1), ("2", 0), ("2", 1)]
    assert [output.text for output in system.generate(rows)] == ["one?0", "one?1", "two?0", "two?1"]


def test_a_batch(make: Make) -> None:
    system = make(
        "def f(examples): return [f\"{e['id']} of {len(examples)}\" for e in examples]", batch=True, batch_size=2
    )
    assert system.plan(BATCH) == [[0, 1], [2]]
    assert [output.text for output in system.generate(BATCH)] == ["1 of 3", "2 of 3", "3 of 3"]


GATE = """
import asyncio
now, most, gate = 0, 0, asyncio.Event()
async def f(example):
    global now, most
    now += 1
    most = max(most, now)
    if now == {wanted}:
        gate.set()
    await asyncio.wait_for(gate.wait(), 60)
    now -= 1
    return f"{{most}}"
"""


def test_async_calls_run_at_once_in_one_event_loop(make: Make) -> None:
    """Each call waits until as many are running; an event belongs to the loop it was first awaited in."""
    system = make(GATE.format(wanted=5), concurrency=5)
    for _ in range(2):
        outputs = system.generate([example(str(i)) for i in range(20)])
        assert [output.error for output in outputs] == [None] * 20
        assert outputs[-1].text == "5"


def test_plain_calls_run_at_once_in_threads(make: Make) -> None:
    text = "import threading\nbarrier = threading.Barrier(4)\ndef f(example): return str(barrier.wait(60) in range(4))"
    system = make(text, concurrency=4)
    assert [output.text for output in system.generate([example(str(i)) for i in range(8)])] == ["True"] * 8


def test_an_async_batch_and_an_async_object(make: Make) -> None:
    assert (
        make("async def f(examples): return ['x' for _ in examples]", batch=True).generate(BATCH) == [Output("x")] * 3
    )
    own = "class F:\n    async def __call__(self, example): return example['id']\nf = F()"
    assert [output.text for output in make(own).generate(BATCH)] == ["1", "2", "3"]


RAISING = "def f(example):\n    if example['id'] == '2': raise ValueError('bad two')\n    return 'fine'"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (RAISING, {}),
        (RAISING, {"concurrency": 2}),
        (f"async {RAISING}", {}),
        ("def f(examples):\n    if any(e['id'] == '2' for e in examples): raise ValueError('bad two')\n    return ['fine'] * len(examples)", {"batch": True}),
    ],
    ids=["plain", "threads", "async", "batch"],
)  # fmt: skip
def test_what_is_raised_fails_that_example_only(text: str, options: dict[str, Any], make: Make, caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    system = make(text, **options)
    for _ in range(2):
        assert system.generate(BATCH) == [Output("fine"), Output(None, "ValueError: bad two"), Output("fine")]
    (record,) = caplog.records  # once, with its traceback
    assert "own.py:f raised" in record.message
    assert record.exc_info is not None and str(record.exc_info[1]) == "bad two"


def test_exit_is_a_failure_and_an_interrupt_is_none(make: Make) -> None:
    assert make("import sys\ndef f(example): sys.exit(3)").generate(BATCH[:1]) == [Output(None, "SystemExit: 3")]
    with pytest.raises(KeyboardInterrupt):
        make("def f(example): raise KeyboardInterrupt").generate(BATCH)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("def f(example): return give(example)", {}),
        ("def f(example): return give(example)", {"concurrency": 2}),
        ("async def f(example): return give(example)", {}),
        ("def f(examples): return [give(each) for each in examples]", {"batch": True}),
        ("async def f(examples): return [give(each) for each in examples]", {"batch": True}),
    ],
    ids=["plain", "threads", "async", "batch", "async batch"],
)
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("from asyncio import CancelledError as Odd", "CancelledError: lost"),  # a library cancelled its own task
        ("class Odd(BaseException): pass", "Odd: lost"),  # such as the panic of a library in Rust
    ],
)
def test_what_is_no_exception_fails_that_example_only(
    text: str, options: dict[str, Any], error: str, expected: str, make: Make
) -> None:
    give = "def give(example):\n    if example['id'] == '2': raise Odd('lost')\n    return 'fine'"
    outputs = make(f"{error}\n{give}\n{text}", **options).generate(BATCH)
    assert outputs == [Output("fine"), Output(None, expected), Output("fine")]


def test_what_is_returned(make: Make, tmp_path: Path) -> None:
    own = "from harness.types import Output\ndef f(example): return {'1': 3, '2': None, '3': Output('x', info={'finish': 'length'})}[example['id']]"
    assert make(own).generate(BATCH) == [
        Output(None, f"{tmp_path}/own.py:f returned int '3'; expected a text"),
        Output(None, f"{tmp_path}/own.py:f returned None; expected a text"),
        Output("x", info={"finish": "length"}),
    ]
    array = "import numpy as np\ndef f(examples): return np.array([e['id'] for e in examples])"
    assert make(array, batch=True).generate(BATCH) == [Output("1"), Output("2"), Output("3")]
    assert make("def f(examples): return ['a', 2, 'c']", batch=True).generate(BATCH)[1].error == (
        f"{tmp_path}/own.py:f returned int '2'; expected a text"
    )
    for returned, shown in (("['a', 'b']", "a list of 2"), ("'abc'", "str 'abc'"), ("None", "None")):
        with pytest.raises(HarnessError) as raised:
            make(f"def f(examples): return {returned}", batch=True).generate(BATCH)
        assert str(raised.value) == (
            f"{tmp_path}/own.py:f returned {shown} for a batch of 3 examples; expected a list of 3, an output for each"
        )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"batch_size": 0}, "system.batch_size=0; expected at least 1"),
        ({"repeats": 0}, "system.repeats=0; expected at least 1"),
        ({"concurrency": 0}, "system.concurrency=0; expected at least 1"),
        ({"batch": True, "concurrency": 4}, "system.batch=true with system.concurrency=4; expected one of them"),
    ],
)
def test_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        Python("own:f", **options)
    assert expected in str(raised.value)


def test_identity(make: Make) -> None:
    text = "def f(example): return 'x'"
    assert make(text).key() is None
    keys = {
        make(text, **options).key()
        for options in ({"revision": "1"}, {"revision": "2"}, {"revision": "1", "options": {"a": 1}})
    }
    assert len(keys) == 3 and None not in keys
    asked = Example("1", "s", ("r",), {"a": 1}, repeat=3)
    seen = make(text).seen(asked)
    assert seen == make(text).seen(Example("1", "s", ("another",), {"a": 1}))  # neither references nor the repeat
    assert seen != make(text.replace("'x'", "'y'")).seen(asked)  # the text of the file


def test_a_run_reuses_what_the_same_file_made(files: Path, cli: Cli) -> None:
    def write(sign: str) -> None:
        Path("own.py").write_text(
            f"def f(example):\n    with open('calls', 'a') as file: file.write(example['id'])\n    return example['topic'] + '{sign}'\n"
        )

    def calls() -> str:
        logged = Path("calls").read_text() if Path("calls").exists() else ""
        Path("calls").unlink(missing_ok=True)
        return logged

    write("!")
    run = (*RUN, "system.function=own.py:f", "system.batch_size=3")
    called = cli(*run)
    assert called.code == 0, called.err
    assert calls() == "abcd"
    assert cli(*run).code == 0
    assert calls() == ""
    assert cli(*run, "metrics=[chrf]").code == 0  # no revision: another run knows nothing of it
    assert calls() == "abcd"
    write("?")
    assert cli(*run).code == 0
    assert calls() == "abcd"
    (where,) = (path.parent for path in Path("runs").rglob("scores.json") if '"bleu"' in path.read_text())
    assert list(pd.read_parquet(where / "examples.parquet")["output"]) == ["pets?", "weather?", "pets?", "weather?"]
    assert cli(*run, "system.revision=1").code == 0
    assert calls() == "abcd"
    assert cli(*run, "system.revision=1", "metrics=[chrf]").code == 0
    assert calls() == ""
    assert cli(*run, "system.revision=2").code == 0
    assert calls() == "abcd"


def test_repeats_are_rows_of_their_own(files: Path, cli: Cli) -> None:
    Path("own.py").write_text("def f(example, mark): return f\"{example['source']} {mark}{example['repeat']}\"")
    run = (*RUN, "system.function=own.py:f", "system.repeats=3", "stats.resamples=50", "system.options={mark: no. }")
    assert cli(*run).code == 0
    (where,) = (path.parent for path in Path("runs").rglob("scores.json"))
    table = pd.read_parquet(where / "examples.parquet")
    assert list(table["id"]) == [id_ for id_ in "abcd" for _ in range(3)]
    assert list(table["repeat"]) == [0, 1, 2] * 4
    assert list(table["output"][:3]) == ["The cat sat. no.0", "The cat sat. no.1", "The cat sat. no.2"]
    journal = [json.loads(line) for line in (where / "outputs.jsonl").read_text().splitlines()]
    assert len({record["key"] for record in journal if "key" in record}) == 12


def test_a_run_with_failures_as_a_process(files: Path) -> None:
    (files / "own.py").write_text(
        "def f(example):\n    if example['id'] != 'a': raise KeyError('lost')\n    return 'x'\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "harness", *RUN, "system.function=own:f"], cwd=files, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Traceback") == 1
    assert 'own.py", line 2, in f' in done.stderr
    (scores,) = files.rglob("scores.json")
    assert json.loads(scores.read_text())["failed"] == 3
    assert list(pd.read_parquet(scores.parent / "examples.parquet")["error"])[1:] == ["KeyError: 'lost'"] * 3


def test_a_function_that_is_not_there(files: Path, cli: Cli) -> None:
    Path("own.py").write_text("def g(example): return 'x'")
    called = cli(*RUN, "system.function=own.py:f")
    assert called.code == 1
    assert "own.py has no function 'f'; expected one of 'g'" in called.err
    assert "Traceback" not in called.err
