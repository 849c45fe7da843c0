"""`harness score` and `harness sync` of a run folder from a stranger: what its config names is not followed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from omegaconf import OmegaConf

from harness.cli.hydra.received import literal
from tests.conftest import Called
from tests.hostile import folders

Cli = Callable[..., Called]
Received = Callable[..., Path]
SCORE = ("score", "good", "metrics=[ter]", "tracking=none", "progress=false")


@pytest.fixture
def stranger() -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """A server that keeps what it is asked, and by whom."""
    asked: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Authorization")))
            self.send_response(404)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *arguments: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


# ---------------------------------------------------------------- harness score

NAMED = [
    ("postprocess", {"_target_": "payload.Metric"}, "postprocess of the run folder names payload.Metric, and you did not; expected --trust"),
    ("postprocess", {"_target_": "os.system", "command": "touch executed"}, "postprocess of the run folder names os.system"),
    ("metrics.bleu", {"_target_": "payload.Metric"}, "metrics.bleu of the run folder names payload.Metric"),
    ("metrics.bleu", {"_target_": "os.system", "command": "touch executed"}, "metrics.bleu of the run folder names os.system"),
    ("metrics.bleu", {"_target_": "harness.metrics.python.PythonMetric", "function": "payload:score"},
     "metrics.bleu of the run folder names harness.metrics.python.PythonMetric with function=payload:score"),
    ("metrics.bleu", {"_target_": "harness.metrics.command.CommandMetric", "command": ["touch", "executed"]},
     "CommandMetric with command=['touch', 'executed'], and you did not; expected --trust"),
    ("metrics.bleu", {"_target_": "harness.metrics.bertscore.BertScore", "trust_remote_code": True}, "BertScore with trust_remote_code=True"),
    ("metrics.bleu", {"_target_": "harness.metrics.rouge.Rouge", "compat": "rouge155", "stopwords": "/etc/passwd"}, "with stopwords=/etc/passwd"),
    ("metrics.bleu", {"_target_": "harness.metrics.bleu.Bleu", "tokenize": "/dev/zero.model"}, "Bleu with tokenize=/dev/zero.model"),
    ("tracking", {"_target_": "payload.Metric", "experiment": "harness"}, "tracking of the run folder names payload.Metric"),
    ("metrics", {"defaults": ["/payload"]}, "config.metrics is no mapping"),
    ("metrics", {"bleu": {"tokenize": "13a"}}, "config.metrics is not that of a finished run; expected _target_ and options"),
    ("metrics", [1], "config.metrics is no mapping; expected the config of a finished run"),
    ("stats", None, "config.stats is no mapping; expected the config of a finished run"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "spec", "expected"), NAMED)
def test_score_builds_nothing_that_only_the_folder_names(
    cli: Cli, received: Received, marker: Path, place: str, spec: Any, expected: str
) -> None:
    folders.put(received("good"), "manifest.json", f"config.{place}", spec)
    words = [word for word in SCORE if place != "tracking" or word != "tracking=none"]
    called = cli(*words)
    assert not marker.exists()
    assert called.code == 1
    assert called.err.startswith("harness: ") and expected in called.err
    assert "Traceback" not in called.err


def test_score_does_not_import_the_system_of_the_folder(cli: Cli, received: Received, marker: Path) -> None:
    folders.put(received("good"), "manifest.json", "config.system", {"_target_": "payload.Metric"})
    called = cli(*SCORE, "output_dir=out")
    assert called.code == 0, called.err
    assert not marker.exists()


SERVER = {"_target_": "harness.systems.server.Server", "command": ["touch", "executed", "{port}"], "model": "base",
          "adapter": "out/lora", "environment": {"LD_PRELOAD": "theirs.so"}}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("target", ["server.Server", "adapters.Adapters"])
def test_a_server_that_the_folder_names_is_not_started(
    cli: Cli, received: Received, marker: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Whatever is done with a stored run, and whoever is trusted: outputs that are there are not asked for."""
    from harness.systems.serving import Running

    started: list[Any] = []
    monkeypatch.setattr(Running, "__init__", lambda self, *arguments: started.append(arguments))
    for name in ("good", "bad"):
        folders.put(
            received(name), "manifest.json", "config.system", {**SERVER, "_target_": f"harness.systems.{target}"}
        )
    for words in (
        [*SCORE, "output_dir=out"],
        [*SCORE, "--trust", "output_dir=out2"],
        ["compare", "good", "bad"],
        ["compare", "good", "bad", "--trust"],
        ["table", "good", "bad"],
        ["report", "good", "bad", "-o", "page.html"],
        ["best", "good", "bad"],
        ["runs", "--in", "."],
    ):
        called = cli(*words)
        assert called.code == 0, (words, called.err)
    assert not marker.exists()
    assert started == []


def test_score_of_what_the_caller_names_too(cli: Cli, received: Received, marker: Path, tmp_path: Path) -> None:
    """In an override, in a YAML of one's own, by taking it away, or with --trust, which shows it."""
    (tmp_path / "mine.py").write_text(
        f"import pathlib\npathlib.Path({str(marker)!r}).touch()\ndef f(outputs, references, sources): return [1.0] * len(outputs)\n"
    )
    spec = {"_target_": "harness.metrics.python.PythonMetric", "function": "mine.py:f", "name": "mine"}
    folders.put(received("good"), "manifest.json", "config.metrics.mine", spec)
    refused = cli(*SCORE, "output_dir=a")
    assert refused.code == 1 and not marker.exists()
    assert "or ~metrics.mine" in refused.err
    without = cli(*SCORE, "~metrics.mine", "output_dir=b")
    assert without.code == 0 and not marker.exists(), without.err
    own = tmp_path / "conf" / "metrics"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text(json.dumps({"mine": spec}))
    for number, more in enumerate((["metrics.mine.function=mine.py:f"], ["--config-dir", "conf"], ["--trust"])):
        called = cli(*SCORE, *more, f"output_dir=named{number}")
        assert called.code == 0, called.err
        shown = "trusted, so run or loaded: harness.metrics.python.PythonMetric with function=mine.py:f"
        assert (shown in called.err) == (more == ["--trust"])
    assert marker.exists()


def test_stored_interpolations_are_text(
    cli: Cli, received: Received, monkeypatch: pytest.MonkeyPatch, stranger: tuple[str, list[Any]]
) -> None:
    uri, asked = stranger
    monkeypatch.setenv("PLANTED", "planted-secret")
    folder = received("good")
    folders.put(folder, "manifest.json", "config.tracking", {
        "_target_": "harness.tracking.mlflow.MlflowTracker", "uri": f"{uri}/${{oc.env:PLANTED}}", "experiment": "e",
    })  # fmt: skip
    folders.put(folder, "manifest.json", "config.postprocess.extract", "(${oc.env:PLANTED}|.*)")
    words = ["score", "good", "metrics=[ter]", "progress=false", "output_dir=out"]
    called = cli(*words)
    assert called.code == 1
    assert f"the run folder names the store {uri}/" in called.err
    assert cli(*words, "tracking=none").code == 0
    kept = "".join(path.read_text() for path in (Path("out/manifest.json"), Path("out/config.yaml")))
    assert "${oc.env:PLANTED}" in kept
    assert "planted-secret" not in kept + called.err
    assert asked == []


@pytest.mark.parametrize(
    "text", ["${a}", r"\${a}", r"\\${a}", r"a\b${c}\\${d}$", "$", "{}", r"\\", "${oc.env:HOME}", "${"]
)
def test_literal_texts_come_back(text: str) -> None:
    stored = OmegaConf.create({"x": literal(text), "deep": literal([{"y": text}])})
    plain = OmegaConf.to_container(stored, resolve=True)
    assert plain == {"x": text, "deep": [{"y": text}]}


# ---------------------------------------------------------------- where it is sent


def test_sync_does_not_follow_the_store_of_a_folder(
    cli: Cli, received: Received, monkeypatch: pytest.MonkeyPatch, stranger: tuple[str, list[Any]]
) -> None:
    uri, asked = stranger
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "planted-secret")
    tracking = {"_target_": "harness.tracking.mlflow.MlflowTracker", "uri": uri, "experiment": "e"}
    folders.put(received("good"), "manifest.json", "config.tracking", tracking)
    for more in ([], ["--json"], ["--experiment", "other"]):
        called = cli("sync", "good", *more)
        assert called.code == 1
        assert f"the run folder names the store {uri}, and you did not; expected the address of the store" in called.out
    scored = cli("score", "good", "metrics=[ter]", "progress=false")
    assert scored.code == 1 and f"the run folder names the store {uri}, and you did not" in scored.err
    assert asked == []
    trusted = cli("sync", "good", "--trust")
    assert f"trusted, so logged to: {uri} (nobody is logged in there)" in trusted.err
    assert asked and {authorization for _, authorization in asked} == {None}
    assert os.environ["MLFLOW_TRACKING_PASSWORD"] == "planted-secret"
    asked.clear()
    cli("sync", "good", "--uri", uri)  # which the caller names: theirs to log in to
    assert {authorization is not None for path, authorization in asked if "/api/" in path} == {True}


def test_the_same_store_however_it_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from harness.run.logging import followed

    monkeypatch.chdir(tmp_path)
    default = f"sqlite:///{tmp_path}/runs/mlflow.db"
    assert followed(None, trust=False) == followed(default, trust=False) == (None, False)
    assert followed("sqlite:///runs/../runs/mlflow.db", trust=False) == (None, False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://me:pw@host/mlflow")
    assert followed("https://host:443/mlflow/", trust=False) == (None, False)


def test_ui_serves_no_store_that_only_a_folder_names(
    cli: Cli, received: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database elsewhere is not opened because a manifest names it; a page is only told."""
    started: list[Any] = []
    monkeypatch.setattr("os.execv", lambda *arguments: started.append(arguments))
    folder = received("good", "runs/good")
    for uri in ("postgresql://db.example/x", "sqlite:////etc/other.db"):
        folders.put(folder, "manifest.json", "mlflow", {"run_id": "1", "uri": uri, "where": "there"})
        called = cli("ui")
        assert called.code == 1 and not started
        assert f"the newest run folder names the store {uri}, and you did not; expected --uri" in called.err


# ---------------------------------------------------------------- symbolic links and other files that are none

LINKED = (
    "manifest.json",
    "scores.json",
    "examples.parquet",
    "statistics.parquet",
    "outputs.jsonl",
    "config.yaml",
    ".lock",
)
COMMANDS = (
    ("compare", "good", "bad"), ("table", "good", "bad"), ("report", "good", "-o", "r.html"), ("plot", "good", "-o", "f"),
    ("power", "good", "bad"), ("best", "good", "bad"), SCORE,
)  # fmt: skip


@pytest.mark.parametrize("name", LINKED)
def test_links_are_not_followed(cli: Cli, received: Received, tmp_path: Path, name: str) -> None:
    """Neither read from nor written through."""
    good, bad = received("good"), received("bad")
    private = tmp_path / "private"
    private.write_bytes((bad / name).read_bytes() if (bad / name).exists() else b'{"key": "mine"}\n')
    before = private.read_bytes()
    folders.as_link(good, name, private)
    for command in COMMANDS:
        called = cli(*command)
        assert called.code == 1
        expected = f"harness: good/{name} is a symbolic link; expected a plain file, as a run leaves it\n"
        assert called.err == expected, command
    synced = cli("sync", "good", "--uri", "sqlite:///s.db")
    assert synced.code == 1 and "is a symbolic link; expected a plain file" in synced.out + synced.err
    run = ("run", "dataset.limit=1", "tracking=none", "output_dir=good", "progress=false")
    assert f"good/{name} is a symbolic link; expected a plain file" in cli(*run[:1], *run[2:]).err
    assert private.read_bytes() == before
    assert (good / name).is_symlink()


@pytest.mark.parametrize(("make", "kind"), [(folders.as_pipe, "a named pipe"), (folders.as_folder, "a folder")])
@pytest.mark.parametrize("name", ["manifest.json", "scores.json", "examples.parquet", "statistics.parquet"])
def test_pipes_and_folders_in_place_of_files(
    cli: Cli, received: Received, make: Callable[[Path, str], None], kind: str, name: str
) -> None:
    received("bad")
    make(received("good"), name)
    for command in (*COMMANDS, ("sync", "good"), ("runs", "--in", ".")):
        called = cli(*command)
        assert "Traceback" not in called.err
        if command[0] != "runs":
            assert called.code == 1
            assert f"good/{name} is {kind}; expected a plain file" in called.err + called.out, command
    assert "good" in cli("runs", "--in", ".").out


def test_a_run_folder_may_be_a_link_that_the_user_names(cli: Cli, received: Received) -> None:
    received("good", "kept")
    received("bad")
    Path("mine").symlink_to("kept")
    called = cli("compare", "mine", "bad", "--resamples", "100")
    assert called.code == 0, called.err
    shutil.rmtree("kept")


# ---------------------------------------------------------------- work without end that a folder asks for

ASKED = [
    ("stats.resamples", 10**9, "stats.resamples of the run folder is 1000000000, and you did not ask for it; expected at most 100,000, --trust, or stats.resamples=…"),
    ("stats.resamples", 2**63, "stats.resamples=9223372036854775808; expected a whole number of at most 18 digits"),
    ("stats.resamples", -1, "resamples=-1; expected 2 or more"),
    ("stats.resamples", 1e300, "good/manifest.json: config.stats is not that of a finished run (Value '1e+300' of type 'float' could not be converted to Integer)"),
    ("stats.level", 1, "level=1.0; expected a share between 0 and 1"),
    ("stats.level", 1e300, "level=1e+300; expected a share between 0 and 1"),
    ("stats.seed", -1, "seed=-1; expected 0 or more"),
    ("stats.seed", 2**63, "stats.seed=9223372036854775808; expected a whole number of at most 18 digits"),
    ("stats.buckets", 2**40, "stats.buckets=1099511627776; expected 1024 to 65536"),
    ("stats.method", "x", "method=x; expected one of "),
    ("stats.strata", "nowhere", "nowhere"),
    ("stats.more", 1, "good/manifest.json: config.stats is not that of a finished run (Key 'more' not in 'StatsConfig')"),
    ("tracking.experiment", [1], "good/manifest.json"),
    ("postprocess.time_limit", 1e9, "postprocess.time_limit of the run folder is 1000000000.0, and you did not ask for it; expected at most 60.0, --trust, or"),
    ("postprocess.extract", "(" * 5_000 + ")" * 5_000, "cannot be used (RecursionError); expected a simpler expression"),
    ("metrics.bleu.max_order", 10**12, "max_order=1000000000000; expected 1 to 9"),
    ("metrics.chrf.char_order", 10**12, "char_order=1000000000000; expected "),
    ("metrics.nist", {"_target_": "harness.metrics.nist.Nist", "max_order": 10**12}, "max_order=1000000000000; expected 1 to 9"),
    ("metrics.rouge", {"_target_": "harness.metrics.rouge.Rouge", "compat": "rouge155", "types": ["rougeW"], "weight": 1e300},
     "metrics.rouge.weight=1e+300; expected at most 4"),
    ("metrics.chrf.word_order", 10**12, "word_order=1000000000000; expected "),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("place", "value", "expected"), ASKED, ids=[f"{place}={str(v)[:12]}" for place, v, _ in ASKED])
def test_score_does_not_follow_numbers_beyond_reason(
    cli: Cli, received: Received, place: str, value: Any, expected: str
) -> None:
    folders.put(received("good"), "manifest.json", f"config.{place}", value)
    called = cli(*SCORE)
    assert called.code == 1
    assert called.err.startswith("harness: ") and "Traceback" not in called.err
    assert expected in called.err
    assert len(called.err) < 2_000


@pytest.mark.parametrize("more", [["stats.resamples=50"], ["--trust", "stats.level=0.9"]])
def test_score_of_many_resamples_that_the_caller_decides(cli: Cli, received: Received, more: list[str]) -> None:
    folders.put(received("good"), "manifest.json", "config.stats.resamples", 100_001)
    called = cli(*SCORE, *more, "output_dir=out")
    assert called.code == 0, called.err


@pytest.mark.parametrize(
    "command",
    [("compare", "good", "bad"), ("table", "good", "bad"), ("best", "good", "bad"), ("power", "good", "bad"),
     ("report", "good", "bad", "-o", "r.html"), ("plot", "good", "bad", "-o", "f")],
)  # fmt: skip
@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--resamples", 10**12, "resamples=1000000000000; expected at most 10,000,000"),
        ("--resamples", 10**30, f"resamples={10**30}; expected at most 10,000,000"),
        ("--seed", 2**63, f"seed={2**63}; expected at most {2**63 - 1}"),
    ],
)
def test_numbers_beyond_reason_of_the_caller(
    cli: Cli, received: Received, command: tuple[str, ...], option: str, value: int, expected: str
) -> None:
    received("good"), received("bad")
    called = cli(*command, option, str(value), "--no-progress")
    assert (called.code, called.err) == (1, f"harness: {expected}\n")
