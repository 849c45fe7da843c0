"""`system=server` and `system=adapters`, on a stand-in with vLLM's routes; real servers are in test_real_servers.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.systems import serving
from harness.systems.adapters import Adapters
from harness.systems.server import Server
from harness.types import HarnessError
from tests.conftest import Called, example, gone, write_jsonl

Cli = Callable[..., Called]
STANDIN = str(Path(__file__).with_name("standin.py"))
COMMAND = [sys.executable, STANDIN, "{model}", "--port", "{port}"]
LORA = {"arguments": ["--enable-lora"], "load": "/v1/load_lora_adapter", "unload": "/v1/unload_lora_adapter"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a model, and nothing left running in the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    model(tmp_path / "base")
    yield tmp_path
    assert gone(processes())


def model(folder: Path, content: str = "{}") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(content)
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def adapter(folder: Path, base: str = "base", state: int | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base, "name": folder.name}))
    (folder / "adapter_model.safetensors").write_bytes(b"")
    if state is not None:
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": state, "max_steps": 10}))
    return folder


def processes() -> list[int]:
    """All that were started as servers, and by them."""
    started = Path("started.txt")
    return [int(word) for word in started.read_text().split()] if started.exists() else []


def asked(path: str = "/v1/chat/completions") -> list[dict[str, Any]]:
    lines = map(json.loads, Path("asked.jsonl").read_text().splitlines())
    return [line for line in lines if line["path"] == path]


def server(*flags: str, **options: Any) -> Server:
    return Server([*COMMAND, *flags], **{"model": "base", "backoff": 0.05, **options})


EXAMPLES = [example(str(i), f"s{i}") for i in range(12)]
ANSWERS = [f"base: s{i}" for i in range(12)]


def test_it_starts_when_asked_and_ends_with_all_that_it_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")  # a cluster's: it does not lead to this machine
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    system = server()
    system.folder = folder
    assert system.name == "base"
    assert not processes()
    assert [output.text for output in system.generate(EXAMPLES)] == ANSWERS
    assert [output.text for output in system.generate(EXAMPLES[:2])] == ANSWERS[:2]  # the same server
    first, child = processes()
    assert os.getpgid(child) == first
    assert not gone([child], patience=0)
    system.close()
    assert gone([first, child])
    assert {(line["key"], line["device"]) for line in asked()} == {(None, None)}
    assert (folder / "server.log").read_text() == "loading base\nready\n"


def test_one_that_dies_is_started_again_once_and_asked_for_what_is_left(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    system = server("--die-after", "5", concurrency=2)
    assert [output.text for output in system.generate(EXAMPLES)] == ANSWERS
    assert all(output.error is None for output in system.generate(EXAMPLES))
    system.close()
    assert len(processes()) == 4
    assert "base: the server ended with code 3; it is started again and asked for what is left" in caplog.text
    prompts = [line["messages"][0]["content"] for line in asked()]
    assert len(prompts) <= 2 * 12 + 2  # what was under way is asked again, and nothing else


def test_one_that_dies_again_ends_the_run_and_keeps_what_was_answered(folder: Path) -> None:
    system = server("--die-after", "5", "--always", "1", concurrency=2)
    system.folder = folder
    stream, answered = system.stream(EXAMPLES), dict[int, Any]()
    with pytest.raises(HarnessError) as raised:
        deque((answered.update(group) for group in stream), maxlen=0)
    system.close()
    assert "base: the server ended 2 times, the last time with code 3; expected one that stays" in str(raised.value)
    assert "the same command continues from there" in str(raised.value)
    assert f"The end of its log ({folder / 'server.log'}):\n  loading base\n  ready" in str(raised.value)
    assert 4 <= len(answered) <= 8


def test_one_that_is_killed_from_outside_before_it_answered(folder: Path) -> None:
    system = server("--slow", "0.3")
    stream = system.stream(EXAMPLES[:2])
    system._get_ready()
    os.kill(processes()[0], signal.SIGKILL)
    assert sorted(i for group in stream for i in group) == [0, 1]
    system.close()
    assert len(processes()) == 4


def test_one_that_never_becomes_healthy_is_one_message_with_its_log() -> None:
    system = server("--broken", "1")
    with pytest.raises(HarnessError) as raised:
        system.generate(EXAMPLES[:1])
    assert str(raised.value) == (
        "base: the server ended with code 1 before it was healthy; expected one that stays. The end of its log:\n"
        "  loading base\n  out of memory: the model does not fit"
    )
    sick = server("--sick", "1", start_timeout=0.5)
    with pytest.raises(HarnessError) as raised:
        sick.generate(EXAMPLES[:1])
    sick.close()
    assert str(raised.value) == (
        "base: the server was not healthy within system.start_timeout=0.5 seconds (/health: HTTP 503); expected 200 "
        "from system.health. The end of its log:\n  loading base\n  ready"
    )
    with pytest.raises(HarnessError, match="'no-such-program' cannot be started .*expected a program on the PATH"):
        Server(["no-such-program", "{port}"], "base").generate(EXAMPLES[:1])


def test_replicas_share_the_requests_each_on_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6,7")
    for devices, expected in ((None, {"4", "6"}), (["0,1", "2,3"], {"0,1", "2,3"})):
        Path("asked.jsonl").unlink(missing_ok=True)
        system = server("--slow", "0.05", replicas=2, devices=devices, concurrency=2)
        assert [output.text for output in system.generate(EXAMPLES)] == ANSWERS
        system.close()
        assert {line["device"] for line in asked()} == expected
        assert len({line["pid"] for line in asked()}) == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4")
    with pytest.raises(HarnessError, match="system.replicas=2 and CUDA_VISIBLE_DEVICES=4; expected a device for each"):
        server(replicas=2).generate(EXAMPLES)


def test_one_replica_of_two_dies(folder: Path) -> None:
    system = server("--die-after", "3", replicas=2, concurrency=1)
    system.folder = folder
    assert [output.text for output in system.generate(EXAMPLES)] == ANSWERS
    system.close()
    assert len(processes()) == 6
    assert sorted(path.name for path in folder.glob("*.log")) == ["server-0.log", "server-1.log"]


def test_the_key_is_of_the_weights_the_command_and_what_is_asked(folder: Path) -> None:
    model(folder / "elsewhere" / "copy")
    model(folder / "other", '{"layers": 2}')
    key = server().key()
    assert key is not None
    for same in ({"model": "elsewhere/copy"}, {"replicas": 2}, {"devices": [3]}, {"concurrency": 4}, {"name": "x"},
                 {"environment": {"SOME_API_KEY": "sk-1"}}):  # fmt: skip
        again = server(**same)
        assert (again.key() == key) is ("environment" not in same)
    assert server(environment={"MY_KEY": "sk-1"}).key() == server(environment={"MY_KEY": "sk-2"}).key()
    for other in ({"model": "other"}, {"arguments": ["--dtype", "float16"]}, {"prompt": "{{ id }}"}, {"temperature": 0.5},
                  {"environment": {"BACKEND": "x"}}):  # fmt: skip
        assert server(**other).key() != key
    assert server(model="some/hub-name").key() is None
    assert server(model="some/hub-name", revision="main", arguments=["--revision", "main"]).key() is not None


def test_what_is_wrong_is_said() -> None:
    for options, expected in (
        ({"command": ["serve"]}, "has no {port}; expected a part \"{port}\" in it"),
        ({"command": []}, "system.command has an empty command"),
        ({"model": "./nowhere"}, "system.model=./nowhere does not exist"),
        ({"base_url": "http://x/v1"}, "system.base_url is set; expected system=openai"),
        ({"replicas": 0}, "system.replicas"),
        ({"replicas": "two"}, "system.replicas is 'two'; expected a whole number"),
        ({"devices": [0, 1]}, "system.devices has 2 parts; expected system.replicas=1 of them"),
        ({"start_timeout": 0}, "system.start_timeout=0; expected seconds"),
        ({"promt": "x"}, "system.promt is not an option (did you mean 'prompt'?)"),
        ({"replcas": 2}, "system.replcas is not an option (did you mean 'replicas'?)"),
        ({"revision": "abc", "model": "some/name"}, "system.revision=abc is not in the command"),
        ({"lora": {"lod": "x"}}, "system.lora.lod is not an option"),
        ({"adapter": "out/lora"}, "system.adapter with a server that loads none (system.lora.load is null)"),
    ):  # fmt: skip
        with pytest.raises(HarnessError) as raised:
            Server(**{"command": COMMAND, "model": "base", **options})
        assert expected in str(raised.value)


# ---------------------------------------------------------------- `harness run`

RUN = (
    "run",
    "dataset=file",
    "dataset.path=dev.jsonl",
    "metrics=[exact_match,chrf]",
    "stats.resamples=50",
    "tracking=none",
)
WORDS = ",".join(f'"{word}"' for word in COMMAND)
SYSTEM = ("system=server", f"system.command=[{WORDS}]", "system.model=base")
SERIES = ("system=adapters", f"system.command=[{WORDS}]", "system.lora.arguments=[--enable-lora]", "system.model=base",
          "system.path=out/checkpoint-*")  # fmt: skip


@pytest.fixture
def data(folder: Path) -> Path:
    return write_jsonl(
        folder / "dev.jsonl", [{"id": str(i), "source": f"s{i}", "references": [f"base: s{i}"]} for i in range(5)]
    )


def test_a_run_keeps_the_log_and_starts_nothing_where_it_has_all_outputs(folder: Path, data: Path, cli: Cli) -> None:
    called = cli(*RUN, *SYSTEM)
    assert called.code == 0, called.err
    assert "dev-base  5 examples" in called.out
    (log,) = folder.glob("runs/*/*/server.log")
    assert log.read_text().endswith("ready\n")
    assert len(processes()) == 2
    assert gone(processes())
    assert cli(*RUN, *SYSTEM, "system.replicas=3").code == 0  # the same run
    assert cli(*RUN, *SYSTEM, "name=other").code == 0  # its outputs come from the cache
    assert cli(*RUN, *SYSTEM, "--dry-run").code == 0
    assert len(processes()) == 2


def test_a_server_that_breaks_is_one_message(data: Path, cli: Cli) -> None:
    called = cli(*RUN, *SYSTEM, "system.arguments=[--broken,1]")
    assert called.code == 1
    assert called.err.startswith("harness: base: the server ended with code 1 before it was healthy; expected one")
    assert called.err.rstrip().endswith("  out of memory: the model does not fit")
    assert "Traceback" not in called.err


def test_ten_adapters_on_one_running_server(folder: Path, data: Path, cli: Cli) -> None:
    for step in range(1, 11):
        adapter(folder / "out" / f"checkpoint-{step * 100}")
    called = cli(*RUN, *SERIES)
    assert called.code == 0, called.err
    assert len(processes()) == 2
    steps = [step * 100 for step in range(1, 11)]
    manifests = [json.loads(path.read_text()) for path in folder.glob("runs/*/*/manifest.json")]
    assert sorted(manifest["system"]["step"] for manifest in manifests) == steps
    assert len({manifest["system"]["key"] for manifest in manifests}) == 10
    loaded, unloaded = (asked(f"/v1/{verb}_lora_adapter") for verb in ("load", "unload"))
    names = [line["lora_name"] for line in loaded]
    assert [name.split("-")[1] for name in names] == [str(step) for step in steps]
    assert [Path(line["lora_path"]) for line in loaded] == [folder / "out" / f"checkpoint-{step}" for step in steps]
    assert [line["lora_name"] for line in unloaded] == names
    assert [line["model"] for line in asked()] == [name for name in names for _ in range(5)]
    adapter(folder / "out" / "checkpoint-1100")
    assert cli(*RUN, *SERIES).code == 0
    assert len(asked()) == 55  # the new one alone
    assert len(processes()) == 4


def test_a_server_that_dies_gets_its_adapter_again(folder: Path, data: Path, cli: Cli) -> None:
    for step in (1, 2, 3):
        adapter(folder / "out" / f"checkpoint-{step}")
    called = cli(*RUN, *SERIES, "system.arguments=[--die-after,8]", "system.concurrency=1")
    assert called.code == 0, called.err
    assert [Path(line["lora_path"]).name[-1] for line in asked("/v1/load_lora_adapter")] == ["1", "2", "2", "3"]


def test_adapters_that_do_not_belong(folder: Path, data: Path, cli: Cli) -> None:
    adapter(folder / "out" / "checkpoint-1")
    adapter(folder / "out" / "checkpoint-2", base="org/another-7B")
    called = cli(*RUN, *SERIES)
    assert (called.code, processes()) == (1, [])
    assert called.err == (
        "harness: out/checkpoint-2 is an adapter of org/another-7B, and system.model=base is served; expected adapters "
        "of that model, or system.base=org/another-7B if it is the same one under another name\n"
    )
    assert len(Adapters("out", "base", base="org/another-7B").cells()) == 2
    model(folder / "twin")
    model(folder / "stranger", '{"layers": 3}')
    adapter(folder / "more" / "checkpoint-1", base=str(folder / "twin"))
    assert len(Adapters("more", "base").cells()) == 1  # the same files
    adapter(folder / "more" / "checkpoint-2", base=str(folder / "stranger"))
    with pytest.raises(HarnessError, match="is an adapter of .*stranger, and system.model=base is served"):
        Adapters("more", "base").cells()
    (model(folder / "whole" / "checkpoint-1"))
    with pytest.raises(HarnessError, match="has no adapter_config.json; expected PEFT adapters, or system=checkpoints"):
        Adapters("whole", "base").cells()


def test_a_server_that_refuses_an_adapter_says_why(folder: Path, data: Path, cli: Cli) -> None:
    adapter(folder / "out" / "checkpoint-1")
    called = cli(*RUN, *SERIES, "system.lora.arguments=[]")
    assert called.code == 1
    assert "the server does not load it (/v1/load_lora_adapter: HTTP 404" in called.err


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_servers_end_with_the_run_whatever_ends_it(folder: Path, data: Path, number: int) -> None:
    """Even where the run is killed at once, and can do nothing more."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    words = [*RUN, *SYSTEM, "system.arguments=[--slow,600]", "progress=false"]
    with subprocess.Popen(
        [sys.executable, "-m", "harness", *words],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        end = time.monotonic() + 120
        while not Path("asked.jsonl").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number), err
    assert len(processes()) == 2
    assert gone(processes())


def test_ports_are_free_and_different() -> None:
    assert len(set(serving._free_ports(8))) == 8
