"""Odd answers of programs, servers and functions cost a warning or an example, never a finished generation.

A case is a line: what a system says of an output, what is kept of it, and the warning where something is left out.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from harness.store.journal import Journal
from harness.store.outputs import OutputCache
from harness.systems.openai import OpenAI
from harness.types import Gate, Output
from tests.conftest import example
from tests.run.test_runner import Cli
from tests.systems.faulty import Faulty, Raw, completion, faulty

NAN, INF, HALF = float("nan"), float("inf"), "\ud83d"
WHOLE, FINITE, TEXT = "expected a whole number from 0", "expected a finite number from 0", "expected a text"
DEEP: Any = "bottom"
for _ in range(3000):
    DEEP = [DEEP]


class Wordless:
    def __str__(self) -> str:
        raise RuntimeError("no words")


INFOS: list[tuple[Any, dict[str, Any], str | None]] = [
    ({"output_tokens": 12, "input_tokens": 0, "seconds": 0.5, "cost": 0, "finish": "stop"},) * 2 + (None,),
    ({"output_tokens": "12"}, {"output_tokens": 12}, None),
    ({"output_tokens": 12.0}, {"output_tokens": 12}, None),
    ({"output_tokens": np.int64(12), "seconds": np.float32(0.5)}, {"output_tokens": 12, "seconds": 0.5}, None),
    ({"output_tokens": None, "finish": None}, {}, None),
    ({"output_tokens": "many"}, {}, f"'output_tokens' of an output is str 'many'; {WHOLE}"),
    ({"output_tokens": 1.5}, {}, f"'output_tokens' of an output is float '1.5'; {WHOLE}"),
    ({"output_tokens": -1}, {}, f"'output_tokens' of an output is int '-1'; {WHOLE}"),
    ({"output_tokens": True}, {}, f"'output_tokens' of an output is bool 'True'; {WHOLE}"),
    ({"input_tokens": [12]}, {}, f"'input_tokens' of an output is list '[12]'; {WHOLE}"),
    ({"input_tokens": 10**400}, {}, f"'input_tokens' of an output is int '1{'0' * 39}'; {WHOLE}"),
    ({"input_tokens": 10**5000}, {}, f"'input_tokens' of an output is int 'that cannot be shown'; {WHOLE}"),
    ({"input_tokens": "9" * 5000}, {}, f"'input_tokens' of an output is str '{'9' * 40}'; {WHOLE}"),
    ({"seconds": NAN}, {}, f"'seconds' of an output is float 'nan'; {FINITE}"),
    ({"seconds": "inf"}, {}, f"'seconds' of an output is str 'inf'; {FINITE}"),
    ({"seconds": "0.5"}, {"seconds": 0.5}, None),
    ({"cost": 1e300}, {}, f"'cost' of an output is float '1e+300'; {FINITE}"),
    ({"cost": "free"}, {}, f"'cost' of an output is str 'free'; {FINITE}"),
    ({"cost": Decimal("0.25")}, {"cost": 0.25}, None),
    ({"finish": 5}, {}, f"'finish' of an output is int '5'; {TEXT}"),
    ({"finish": {"reason": "stop"}}, {}, f"'finish' of an output is dict \"{{'reason': 'stop'}}\"; {TEXT}"),
    ({"finish": f"st{HALF}op"}, {"finish": "st\ufffdop"}, None),
    ({"note": f"a{HALF}", f"n{HALF}": [f"b{HALF}"]}, {"note": "a\ufffd", "n\ufffd": ["b\ufffd"]}, None),
    ({"p": {"q": [1, None, True, (2.5,)]}, 7: "seven"}, {"p": {"q": [1, None, True, [2.5]]}, "7": "seven"}, None),
    ({"logprobs": np.array([0.5, 0.25])}, {"logprobs": [0.5, 0.25]}, None),
    ({"logprobs": [0.5, -INF], "n": 1}, {"n": 1}, "'logprobs' of an output is list '[0.5, -inf]'; expected JSON with finite numbers"),
    ({"raw": b"bytes"}, {}, "'raw' of an output is bytes \"b'bytes'\"; expected JSON"),
    ({"big": 2**64}, {}, "'big' of an output is int '18446744073709551616'; expected JSON"),
    ({"deep": DEEP}, {}, "'deep' of an output is list"),
    ({"odd": Wordless()}, {}, "'odd' of an output is Wordless 'that cannot be shown'; expected JSON"),
    ([1], {}, "'info' of an output is list '[1]'; expected fields with values"),
]  # fmt: skip


@pytest.mark.parametrize(("info", "kept", "warning"), INFOS)
def test_what_is_said_of_an_output(
    info: Any, kept: dict[str, Any], warning: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate("the system s")
    for _ in range(2):  # warned of once
        output = gate(Output("text", None, info))
        assert output.text == "text"
        assert json.loads(json.dumps(output.info, allow_nan=False).encode()) == kept
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == (warning is not None), messages
    assert warning is None or f"the system s: {warning}" in messages[0]


TEXTS = [
    (Output("it rains"), "it rains", None),
    (Output(f"half {HALF}"), None, "the output holds a lone surrogate (\\ud83d) at position 6"),
    (Output("a\0b"), None, "the output holds a NUL character at position 2"),
    (Output(5), None, "the output is int '5'; expected a text"),  # type: ignore[arg-type]
    (Output(None, f"no {HALF}"), None, "no \ufffd"),
    (Output(None, ValueError("no")), None, "no"),  # type: ignore[arg-type]
    (Output(None, Wordless()), None, "that cannot be shown"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("output", "text", "error"), TEXTS)
def test_texts_and_errors(output: Output, text: str | None, error: str | None) -> None:
    kept = Gate("s")(output)
    assert (kept.text, kept.error) == (text, error)


# ---------------------------------------------------------------- journals and caches that hold such lines


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "outputs.jsonl")


LINES = [
    ('{"key": "k", "text": "t", "error": null, "info": {"output_tokens": "12", "finish": 5, "seconds": NaN}}', ("t", None, {"output_tokens": 12})),
    ('{"key": "k", "text": "t", "error": null, "info": null}', ("t", None, {})),
    ('{"key": "k", "text": "t", "error": null, "info": [1]}', ("t", None, {})),
    ('{"key": "k", "text": null, "error": "no \\ud83d"}', (None, "no \ufffd", {})),
    ('{"key": "k", "text": "\\ud83d", "error": null}', (None, "the output holds a lone surrogate (\\ud83d) at position 1", {})),
    ('{"key": "k", "text": 5, "error": null}', (None, "the output is int '5'; expected a text", {})),
    ('{"key": "k", "text": "t", "error": "e"}', None),
    ('{"key": "k", "text": ' + "[" * 100_000, None),
    ('{"key": "k", "text": ' + "9" * 5000 + ', "error": null}', None),
    ('{"plan": 5}', None),
    ('{"plan": [5]}', None),
    ("5", None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "kept"), LINES, ids=[line[:60] for line, _ in LINES])
def test_journal_with_an_odd_line(journal: Journal, line: str, kept: tuple[Any, ...] | None) -> None:
    """None: the line is no output, and costs the others nothing."""
    good = '{"key": "g", "text": "good", "error": null}'
    journal.path.write_text(f'{good}\n{line}\n{{"batch": 2, "seconds": 0.5}}\n')
    outputs = {key: (output.text, output.error, dict(output.info)) for key, output in journal.content.outputs.items()}
    assert outputs == {"g": ("good", None, {})} | ({} if kept is None else {"k": kept})


@pytest.mark.parametrize("end", ["NaN", '"long"', "-1", "[]", "1e999"])
def test_journal_whose_batch_took_odd_seconds(journal: Journal, end: str, caplog: pytest.LogCaptureFixture) -> None:
    """Such a batch is not ended, and generated again."""
    journal.path.write_text(f'{{"key": "k", "text": "t", "error": null}}\n{{"batch": 1, "seconds": {end}}}\n')
    assert (journal.content.outputs, journal.content.seconds) == ({}, 0.0)
    assert "has a line that cannot be read" in caplog.text


ENTRIES = [
    (b'{"text": "t", "info": {"output_tokens": "12", "cost": "free"}}', {"k": ("t", {"output_tokens": 12})}),
    (b'{"text": "\\ud83d"}', {}),
    (b'{"text": 5}', {}),
    (b"{}", {}),
    (b"[]", {}),
    (b"\xff", {}),
    (b"[" * 100_000, {}),
]


@pytest.mark.parametrize(("entry", "kept"), ENTRIES, ids=[str(entry[:30]) for entry, _ in ENTRIES])
def test_cache_with_an_odd_entry(tmp_path: Path, entry: bytes, kept: dict[str, Any]) -> None:
    cache = OutputCache(tmp_path / "outputs.sqlite")
    cache.store.put({"k": entry})
    assert {key: (output.text, dict(output.info)) for key, output in cache.get(["k"]).items()} == kept


# ---------------------------------------------------------------- from the system to examples.parquet

PYTHON = """
from harness.types import Output
INFO = {"output_tokens": "12", "input_tokens": -3, "finish": 5, "seconds": float("nan"), "cost": "free", "o": object()}
def odd(example):
    if example["id"] == "b":
        raise ValueError("half \\ud83d")
    if example["id"] == "c":
        return Output(None, "half \\ud83d", {"finish": 5})
    return Output("it rains", None, INFO)
"""
COMMAND = r"""
import json, sys
for line in sys.stdin:
    id = json.loads(line)["id"]
    info = '{"output_tokens": "12", "finish": 5, "seconds": NaN, "cost": "free", "deep": %s}' % ("[" * 500 + "]" * 500)
    answer = '"error": "half \\ud83d"' if id in "bc" else '"output": "it rains", "info": ' + info
    print('{"id": "%s", %s}' % (id, answer), flush=True)
"""
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=exact_match", "tracking=none", "stats.resamples=50")


def check_run(folder: Path) -> None:
    table = pq.read_table(folder / "examples.parquet")
    assert table.column("output").to_pylist() == ["it rains", None, None, "it rains"]
    assert [str(error)[-6:] for error in table.column("error").to_pylist()] == [
        "None",
        "half \ufffd",
        "half \ufffd",
        "None",
    ]
    assert "finish" not in table.column_names
    generation = json.loads((folder / "manifest.json").read_text())["generation"]
    assert (generation["output_tokens"], generation["input_tokens"], generation["cost"]) == (24, None, None)


@pytest.mark.parametrize("kind", ["python", "command"])
def test_run_of_a_system_that_says_odd_things(files: Path, cli: Cli, kind: str) -> None:
    (files / "my.py").write_text(PYTHON)
    (files / "my_program.py").write_text(COMMAND)
    chosen = {
        "python": ["system=python", "system.function=my.py:odd"],
        "command": ["system=command", f"system.command=[{sys.executable},my_program.py]"],
    }[kind]
    called = cli(*RUN, *chosen, "output_dir=run")
    assert called.code == 0, called.err
    assert "'finish' of an output is int '5'; expected a text" in called.err
    check_run(files / "run")


def test_finished_generation_whose_journal_holds_odd_lines_is_resumed(files: Path, cli: Cli) -> None:
    """As an earlier version wrote it: the whole journal is there, and nothing is generated again."""
    (files / "my.py").write_text(PYTHON)
    run = [*RUN, "system=python", "system.function=my.py:odd", "output_dir=run"]
    assert cli(*run).code == 0
    journal = files / "run" / "outputs.jsonl"
    odd = '"info": {"output_tokens": "12", "finish": 5, "seconds": NaN, "cost": "free"}'
    journal.write_text(journal.read_text().replace('"info": {"output_tokens": 12}', odd).replace("\\ufffd", "\\ud83d"))
    assert journal.read_text().count("NaN") == 2
    before = journal.read_bytes()
    for file in ("manifest.json", "scores.json", "examples.parquet", "statistics.parquet"):
        (files / "run" / file).unlink()
    called = cli(*run)
    assert called.code == 0, called.err
    assert journal.read_bytes() == before
    check_run(files / "run")


@pytest.fixture
def server() -> Iterator[Faulty]:
    with faulty() as running:
        yield running


USAGES = [
    ({"prompt_tokens": "7", "completion_tokens": 3.0}, "stop", {"input_tokens": 7, "output_tokens": 3, "finish": "stop", "cost": 37e-6}),
    ({"prompt_tokens": "many", "completion_tokens": -1}, 5, {}),
    ([7, 3], {"a": 1}, {}),
    ("7", None, {}),
    ({"prompt_tokens": {}, "completion_tokens": 3}, f"st{HALF}", {"output_tokens": 3, "finish": "st\ufffd"}),
]  # fmt: skip


@pytest.mark.parametrize(("usage", "finish", "kept"), USAGES)
def test_server_that_says_odd_things(server: Faulty, usage: Any, finish: Any, kept: dict[str, Any]) -> None:
    answer = completion("it rains", finish) | {"usage": usage}
    server.script["p"] = [Raw(json.dumps(answer).encode())]
    system = OpenAI(server.url, "m", price={"input": 1, "output": 10}, tokens_per_minute=1e9, retries=0)
    (output,) = system.generate([example("1", "p")])
    assert output.text == "it rains"
    assert {name: value for name, value in output.info.items() if name not in ("seconds", "tries")} == kept


@pytest.mark.parametrize("field", ["output", "error"])
def test_stored_outputs_with_half_a_character(files: Path, cli: Cli, field: str) -> None:
    """A file of the user's own is refused with its place."""
    rows = [json.dumps({"id": id_, "output": None, field: f"x{HALF}"}) for id_ in "abcd"]
    (files / "odd.jsonl").write_text("\n".join(rows))
    called = cli(*RUN, "system=predictions", "system.path=odd.jsonl")
    assert called.code == 1
    assert (
        f"odd.jsonl line 1: '{field}' holds a lone surrogate (\\ud83d) at position 2; expected Unicode text"
        in called.err
    )


def test_no_logger_breaks_on_half_a_character(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Gate("s")(Output("t", None, {"finish": [HALF]}))
    assert "'finish' of an output is list" in caplog.text
    assert caplog.text.encode().decode() == caplog.text
