"""Secrets planted in every way, then looked for in every file, every row of every table and everything printed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
import yaml

from harness.cli.hydra import Sweep, calling
from harness.cli.main import _parser
from tests.conftest import Called
from tests.tracking.servers import free_port

Cli = Callable[..., Called]
PLANTED = "PLANTED"
NUMBER = "7314159265358"
CODE = """
import os
from harness.types import HarnessError
from harness.testing import WordCount

class Judge(WordCount):
    name = "judge"
    def __init__(self, api_key, password, url, endpoint, headers, sent, near, copied, database, fail=None):
        if api_key != "***":  # harness score has what was stored
            assert (sent, near, copied) == (f"Bearer {api_key}", url, database), "real values must come here"
            assert url == os.environ["JUDGE"] == database["from"] and "pa/" in database["uri"]
        self._all = [api_key, password, url, endpoint, headers, sent, near, copied, database]
        self._fail, self.keep = fail, 1
    def statistics(self, batch):
        told = f"401 from {self._all[3]} for {self._all} with {os.environ['JUDGE']}"
        if self._fail == "mendable":
            raise HarnessError(told)
        if self._fail:
            raise ValueError(told)
        import logging
        logging.getLogger("judge").warning("asked %s", told)
        return super().statistics(batch)

def answer(example):
    if example["id"] == "a":
        raise ValueError(f"the server refused the key {os.environ['JUDGE']}: api_key=PLANTED5, http://u:PLANTED6@h/x")
    return "it is raining"
"""
JUDGE = (
    "+metrics.judge={_target_: planted.Judge, api_key: PLANTED1, password: " + NUMBER + ", url: '${oc.env:JUDGE}', "
    "endpoint: 'https://me:PLANTED2@host/v1?token=PLANTED3&client_secret=PLANTED3&sig=PLANTED3', "
    "headers: {Authorization: Bearer PLANTED4}, sent: 'Bearer ${metrics.judge.api_key}', near: '${.url}', "
    "copied: '${.database}', database: {uri: 'postgresql://me:pa/PLANTEDA@host/db', from: '${..url}', "
    "note: 'asks with ${metrics.judge.api_key}, not with PLANTED1'}}"
)
PROGRAM = """
import json, sys
assert [len(argument) for argument in sys.argv[1:]] == [9, 14, 22, 23], "real values must come here"
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "output": "it is raining"}))
"""
COMMAND = (
    "run", "dataset=file", "dataset.path=dev.jsonl", "metrics=bleu", "system=command", "stats.resamples=20",
    "system.command=[python3,echo.py,--api-key,PLANTED8secret,'--token=PLANTED9secret','Authorization: PLANTEDB']",
    "hydra.output_subdir=.hydra",
)  # fmt: skip
RUN = (
    "run", "dataset=file", "dataset.path=dev.jsonl", "metrics=bleu", JUDGE, "system=python",
    "system.function=planted.py:answer", "stats.resamples=20", "hydra.output_subdir=.hydra",
)  # fmt: skip


def rows_of(uri: str) -> Iterator[tuple[str, Any]]:
    """(table, row) of everything in a database."""
    engine = sqlalchemy.create_engine(uri)
    with engine.connect() as connection:
        for name in sqlalchemy.inspect(engine).get_table_names():
            for row in connection.execute(sqlalchemy.text(f'select * from "{name}"')):
                yield name, row
    engine.dispose()


def leaked(text: object) -> bool:
    return PLANTED in str(text) or NUMBER in str(text)


def look(folder: Path, uri: str) -> None:
    """Fails where a secret is in a file or in the database."""
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("planted.")]
    assert any(path.name == "multirun.yaml" for path in paths) and any(path.parent.name == ".hydra" for path in paths)
    assert len(paths) > 20
    for path in paths:
        content = path.read_bytes()
        assert PLANTED.encode() not in content and NUMBER.encode() not in content, path
    rows = list(rows_of(uri))
    assert {"params", "tags", "metrics", "datasets"} <= {name for name, _ in rows}
    assert [(name, row) for name, row in rows if leaked(row)] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_a_planted_secret_is_nowhere(
    files: Path, cli: Cli, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE", "PLANTED too")
    monkeypatch.setattr(Sweep, "clean", classmethod(lambda cls: setattr(cls, "current", None)))  # as if killed
    (files / "planted.py").write_text(CODE)
    (files / "echo.py").write_text(PROGRAM)
    uri = database = f"sqlite:///{files}/runs/mlflow.db"
    if kind == "server":
        database = request.getfixturevalue("database")
        uri = request.getfixturevalue("server").replace("//", "//me:PLANTED7@")
    folder = "runs/harness/dev-planted"
    calls = [
        (0, *RUN, f"tracking.uri={uri}", f"output_dir={folder}"),
        (0, *RUN, f"tracking.uri={uri}", "--multirun", "limit=2,3"),
        (0, *RUN, f"tracking.uri=http://me:PLANTED8@127.0.0.1:{free_port()}", "limit=4"),  # nobody there
        (0, *COMMAND, f"tracking.uri={uri}", "output_dir=runs/harness/dev-command"),
        (2, *COMMAND[:5], "system.command=[python3,echo.py,--api-key,PLANTED8secret"),
        (1, *RUN, "+metrics.judge.fail=mendable"),
        (0, *RUN, "+metrics.judge.fail=mendable", "--multirun", "limit=2", "--dry-run"),
        (1, *RUN, "metrics.judge.password=PLANTED9", "+nothing.token=PLANTED9"),
        (2, *RUN, "api_key: PLANTED9}"),
        (0, "sync", "--uri", uri),
        (0, "sync", "--uri", uri, "--json"),
        (1, "sync", "--uri", f"http://me:PLANTED8@127.0.0.1:{free_port()}"),
        (1, "score", folder, "metrics=chrf", "metrics.judge.url=${oc.env:JUDGE}"),  # a class that the folder names
        (
            0,
            "score",
            folder,
            "metrics=chrf",
            "metrics.judge.url=${oc.env:JUDGE}",
            "--trust",
        ),  # what is not stored is given again
    ]
    known = _parser()._subparsers._group_actions[0].choices or {}  # type: ignore[union-attr]
    more = {
        "table": ("table", folder, "--format", "csv"), "report": ("report", folder, "-o", "report.html"),
        "runs": ("runs", "--json"), "ui": ("ui", "--uri", "http://me:PLANTED@h"),
    }  # fmt: skip
    calls += [(0, *call) for name, call in more.items() if name in known]
    if kind == "server":
        calls = [call for call in calls if "PLANTED7" in str(call)]  # those that reach it
    for code, *call in calls:
        called = cli(*call)
        assert called.code == code, (call, called.out, called.err)
        assert not leaked(called.out + called.err), (call, called.out, called.err)
        assert call[0] != "run" or not leaked(calling.command())
    look(files, database)
    assert (Path(folder) / "config.yaml").read_text().count("***") >= 12
    if kind == "sqlite":
        config = yaml.safe_load(Path("runs/harness/dev-command/config.yaml").read_text())
        assert config["system"]["command"][2:] == ["--api-key", "***", "--token=***", "Authorization: ***"]
    assert "the key ***: api_key=***, http://***@h/x" in (Path(folder) / "outputs.jsonl").read_text()


def test_a_traceback_shows_no_secret(files: Path) -> None:
    (files / "planted.py").write_text(CODE)
    command = [sys.executable, "-m", "harness", *RUN, "+metrics.judge.fail=badly", "tracking=none"]
    done = subprocess.run(
        command, cwd=files, env={**os.environ, "JUDGE": "PLANTED too"}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert (
        "Traceback" in done.stderr
        and "ValueError: 401 from https://***@host/v1?token=***&client_secret=***&sig=*** for" in done.stderr
    )
    assert not leaked(done.stdout + done.stderr), done.stderr
