"""`system=openai`: against a server that fails on demand, and against `transformers serve`, both on loopback."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from harness.systems.endpoint import Pace
from harness.systems.openai import OpenAI
from harness.types import Example, HarnessError, Output
from tests.conftest import ROWS, example, write_jsonl
from tests.run.test_runner import Cli
from tests.systems.faulty import HANG, RESET, RESET_WITHIN, Act, Faulty, Late, Raw, Status, completion, faulty

KEY = "sk-PLANTED-0123456789"


@pytest.fixture(scope="module", autouse=True)
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int, subprocess.Popen[bytes]]]:
    """`transformers serve` of a tiny model: it starts while the other tests run."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from tests.systems.tiny import tokenizer

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("served") / "tiny-llama"
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    words = tokenizer()
    words.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    words.save_pretrained(folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = "import sys; from transformers.cli.transformers import main; sys.exit(main())"
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, "serve", str(folder), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    yield folder, port, process
    process.kill()
    process.wait()


@pytest.fixture
def server() -> Iterator[Faulty]:
    with faulty() as running:
        yield running


def system(server: Faulty, **options: Any) -> OpenAI:
    return OpenAI(server.url, **{"model": "m", "backoff": 0.01, "read_timeout": 0.5, **options})


def ask(server: Faulty, *acts: Act, **options: Any) -> Output:
    """The output for a prompt at which the server acts so."""
    server.script["p"] = list(acts)
    (output,) = system(server, **options).generate([example("1", "p")])
    return output


# ---------------------------------------------------------------- what is asked, what is answered


def test_a_chat_completion(server: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    made = system(
        server, model="org/m", prompt="{{ source }} ({{ topic }})", system_message="Be brief.", temperature=0.7, top_p=0.9,
        max_tokens=5, stop=["\n"], seed=3, extra={"top_k": 20}, api_key_env="MY_KEY", price={"input": 2, "output": 10},
    )  # fmt: skip
    assert made.name == "m"
    output = made.generate([Example("1", "Hi", ("never sent",), {"topic": "pets"}, repeat=2)])[0]
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi (pets)"}]
    parameters = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 5, "stop": ["\n"], "seed": 5, "top_k": 20}
    assert asked.body == {"model": "org/m", "messages": messages, **parameters}
    assert output.text == "echo Hi (pets)"
    assert output.info.pop("seconds") > 0  # type: ignore[attr-defined]
    expected = {"input_tokens": 7, "output_tokens": 3, "finish": "stop", "tries": 1, "cost": (7 * 2 + 3 * 10) / 1e6}
    assert output.info == expected


def test_a_plain_completion_of_a_server_without_a_key(server: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    answer = {"choices": [{"text": "cut", "finish_reason": "length"}]}
    output = ask(server, Raw(json.dumps(answer).encode()), endpoint="completions", temperature=None, max_tokens=None)
    assert (server.asked[0].path, server.asked[0].body) == ("/v1/completions", {"model": "m", "prompt": "p"})
    assert "authorization" not in server.asked[0].headers
    assert output.text == "cut"
    assert set(output.info) == {"finish", "seconds", "tries"}
    assert output.info["finish"] == "length"


def test_outputs_keep_their_places_and_the_limit_of_concurrency(server: Faulty) -> None:
    server.seconds = 0.05
    examples = [example(str(i), f"s{i}") for i in range(60)]
    made = system(server, concurrency=7, read_timeout=100)
    assert made.plan(examples) == [list(range(60))]
    assert [output.text for output in made.generate(examples)] == [f"echo s{i}" for i in range(60)]
    assert 1 < server.most_under_way <= 7


def test_it_works_where_a_loop_is_running(server: Faulty) -> None:
    async def notebook() -> Output:
        return ask(server)

    assert asyncio.run(notebook()).text == "echo p"


def test_outputs_come_as_they_are_ready(server: Faulty) -> None:
    server.script["s0"] = [Status(500, retry_after="1")]
    groups = list(system(server, concurrency=2).stream([example(str(i), f"s{i}") for i in range(20)]))
    assert sorted(i for group in groups for i in group) == list(range(20))
    assert len(groups) > 1
    assert list(groups[-1]) == [0]


def test_who_stops_taking_ends_the_requests(server: Faulty) -> None:
    server.script = {f"s{i}": [HANG] for i in range(1, 5)}
    groups = system(server, read_timeout=100).stream([example(str(i), f"s{i}") for i in range(5)])
    assert list(next(groups)) == [0]
    groups.close()  # type: ignore[attr-defined]
    assert "requests" not in [thread.name for thread in threading.enumerate()]


# ---------------------------------------------------------------- faults


def later(seconds: float) -> str:
    return format_datetime(datetime.now(timezone.utc) + timedelta(seconds=seconds), usegmt=True)


GOOD = json.dumps(completion("fine")).encode()


@pytest.mark.parametrize(
    "act",
    [Status(429), Status(408), Status(409), Status(500), Status(503), Status(599), HANG, RESET, RESET_WITHIN,
     Raw(GOOD, cut=20), Raw(GOOD[:-9]), Raw(b""), Raw(b'{"choices": []}'), Raw(b'{"error": "busy"}'), Raw(b"[" * 10**5)],
    ids=lambda act: str(act)[:40],
)  # fmt: skip
def test_what_may_pass_is_tried_again(server: Faulty, act: Act) -> None:
    output = ask(server, act, act, read_timeout=0.1 if act == HANG else 5)
    assert (output.text, output.info["tries"]) == ("echo p", 3)


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (Status(500, "out of memory"), "HTTP 500: out of memory; given up after 3 tries in "),
        (HANG, "no answer within 0.1 s; given up after 3 tries in "),
        (RESET, "the connection broke"),
        (RESET_WITHIN, "; given up after 3 tries in "),
        (Raw(GOOD, cut=20), "the answer broke off; given up after 3 tries in "),
        (Raw(GOOD[:-9]), "the answer cannot be read: "),
        (Raw(b'{"choices": []}'), 'the answer cannot be read: expected a completion, found {"choices": []}; given up'),
    ],
    ids=lambda x: str(x)[:30],
)  # fmt: skip
def test_what_does_not_pass_is_a_failed_example(server: Faulty, act: Act, expected: str) -> None:
    output = ask(server, *[act] * 9, retries=2, read_timeout=0.1 if act == HANG else 5)
    assert output.text is None
    assert expected in str(output.error)
    assert output.info["tries"] == 3 == len(server.asked)


@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_request_that_the_server_refuses_fails_alone_and_at_once(server: Faulty, code: int) -> None:
    server.script["s1"] = [
        Status(code, "maximum context length is 16 tokens", error={"code": "context_length_exceeded"})
    ]
    outputs = system(server).generate([example(str(i), f"s{i}") for i in range(3)])
    assert [output.text for output in outputs] == ["echo s0", None, "echo s2"]
    assert outputs[1].error == f"HTTP {code}: maximum context length is 16 tokens (context_length_exceeded)"
    assert len(server.asked) == 3


def test_a_key_on_the_edge_of_a_long_message_is_not_shown_in_part(
    server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    odd: list[Act] = [Status(400, "x" * at + "{key}") for at in range(480, 500, 3)]
    odd += [Raw(b'{"choices": "' + b"y" * at + KEY.encode() + b'"}') for at in range(220, 300, 7)]
    for act in odd:
        assert "sk-" not in str(ask(server, act, retries=0).error)


def test_an_answer_without_text_is_a_failure_and_an_empty_one_is_not(server: Faulty) -> None:
    output = ask(server, Raw(json.dumps(completion(None, "content_filter")).encode()))
    assert output.error == "the answer has no text, its finish reason is content_filter"
    assert output.info["output_tokens"] == 3
    assert ask(server, Raw(json.dumps(completion("")).encode())).text == ""
    withheld = ask(server, Raw(json.dumps(completion("", "content_filter")).encode()))
    assert withheld.error == "the answer has no text, its finish reason is content_filter"
    answer = completion(None)
    answer["choices"][0]["message"]["refusal"] = "I cannot help with that."
    refused = ask(server, Raw(json.dumps(answer).encode()))
    assert refused.error == "the answer has no text, its finish reason is stop, its refusal: I cannot help with that."


def test_a_completion_that_broke_off_behind_a_gateway_is_asked_for_again(server: Faulty) -> None:
    half = Raw(json.dumps(completion("The train is", "error")).encode())
    assert ask(server, half, half).text == "echo p"
    error = str(ask(server, *[half] * 4, retries=1).error)
    assert "expected a whole completion, found the finish reason error after 'The train is'" in error


@pytest.mark.parametrize("header", ["Mon, 01 Jan 2024 00:00:00 +999999999999999999", "nan", "-5", "soon", ""])
def test_a_retry_after_that_is_none(server: Faulty, header: str) -> None:
    output = ask(server, Status(429, retry_after=header))
    assert (output.text, output.info["tries"]) == ("echo p", 2)


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (Status(401, "bad key {key}"), "answered 401: bad key Bearer ***; expected a key in the environment variable OPENAI_API_KEY, its key was refused"),
        (Status(403, "no"), "answered 403: no; expected a key in the environment variable OPENAI_API_KEY"),
        (Status(404, "The model `m` does not exist"), "answered 404: The model `m` does not exist; expected a server's system.base_url and a system.model that it has"),
        (Status(400, "Model Not Exist"), "answered 400: Model Not Exist; expected"),
        (Status(400, "wrong", error={"code": "model_not_found"}), "answered 400: wrong (model_not_found); expected"),
        (Status(307, "elsewhere"), "answered 307: elsewhere, a redirect"),
        (Status(429, "You exceeded your quota", error={"code": "insufficient_quota"}), "expected an account with credit"),
        (Status(429, "come back tomorrow", retry_after="86400"), "to come back in 86400 s, more than system.time_limit=900"),
    ],
    ids=lambda x: str(x)[:30],
)  # fmt: skip
def test_what_no_request_can_pass_ends_the_run(
    server: Faulty, act: Act, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.seconds = 0.02
    server.script = {f"s{i}": [act] for i in range(2, 500)}
    kept: dict[int, Output] = {}
    groups = system(server, concurrency=2).stream([example(str(i), f"s{i}") for i in range(500)])
    with pytest.raises(HarnessError) as raised:
        deque(map(kept.update, groups))
    assert expected in str(raised.value)
    assert KEY not in str(raised.value)
    assert {i: output.text for i, output in kept.items()} == {0: "echo s0", 1: "echo s1"}
    assert len(server.asked) < 7


def test_a_missing_key_is_named(server: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(HarnessError, match="expected a key in the environment variable MY_KEY, which is not set"):
        ask(server, Status(401, "who are you?"), api_key_env="MY_KEY")
    monkeypatch.setenv("MY_KEY", "sk-\nx")
    with pytest.raises(HarnessError, match="the environment variable MY_KEY holds no key; expected printable ASCII"):
        ask(server, api_key_env="MY_KEY")


def test_no_server_ends_the_run_at_once_and_a_lost_one_after_all_tries(server: Faulty) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(HarnessError, match=r"cannot be reached \(.*\); expected a server at system.base_url"):
        OpenAI(f"http://127.0.0.1:{port}/v1", "m").generate([example()])
    with faulty() as lost:
        made = system(lost, concurrency=1, retries=2)
        lost.script["s1"] = [HANG] * 9
        groups = made.stream([example(str(i), f"s{i}") for i in range(3)])
        assert list(next(groups)) == [0]
    with pytest.raises(HarnessError, match="cannot be reached .* given up after 3 tries .* the same command continues"):
        list(groups)


@pytest.mark.parametrize("when", ["seconds", "date"])
def test_retry_after_is_honoured_by_all(server: Faulty, when: str) -> None:
    server.script["s0"] = [Status(429, retry_after="1" if when == "seconds" else later(2))]
    server.script["s1"] = [Late(0.5)]  # its worker then has time for another, but waits
    outputs = system(server, concurrency=2, read_timeout=100).generate([example(str(i), f"s{i}") for i in range(4)])
    assert all(output.text for output in outputs)
    first, second = server.tries("s0")
    assert second - first >= 0.9
    assert min(server.tries("s2") + server.tries("s3")) - first >= 0.9


def test_waits_double_and_vary(server: Faulty) -> None:
    ask(server, *[Status(500)] * 4, backoff=0.05)
    at = server.tries("p")
    waits = [b - a for a, b in itertools.pairwise(at)]
    assert all(wait >= 0.05 * 2**i * 0.5 for i, wait in enumerate(waits))
    assert len(waits) == 4


def test_the_time_limit_of_an_example(server: Faulty) -> None:
    output = ask(server, HANG, HANG, HANG, time_limit=0.3, read_timeout=0.2, retries=50)
    assert "no answer within" in str(output.error)
    assert output.info["tries"] in (1, 2)


def test_requests_and_tokens_a_minute(server: Faulty) -> None:
    pace = Pace(600)
    at = [pace.take(units) for units in (1, 1, 3, 1)]
    assert [round(b - a, 3) for a, b in itertools.pairwise(at)] == [0.1, 0.1, 0.3]
    pace.correct(2)
    assert round(pace.take(1) - at[-1], 3) == 0.3
    for limit in ({"requests_per_minute": 600}, {"tokens_per_minute": 6000, "max_tokens": 1, "concurrency": 1}):
        started = time.monotonic()  # one request, or the ten tokens that it takes, in 0.1 s
        system(server, **limit).generate([example(str(i), f"s{i}") for i in range(5)])
        assert time.monotonic() - started > 0.39


# ---------------------------------------------------------------- identity


def test_the_key_knows_what_decides_an_output() -> None:
    def key(**options: Any) -> str | None:
        return OpenAI(**{"base_url": "http://h/v1", "model": "m", "revision": "1", **options}).key()

    assert key(revision=None) is None
    changed = (
        {"base_url": "http://h2/v1"}, {"model": "n"}, {"revision": "2"}, {"endpoint": "completions"}, {"prompt": "{{ id }}"},
        {"system_message": "x"}, {"temperature": 0.5}, {"top_p": 0.5}, {"max_tokens": 3}, {"stop": "x"}, {"seed": 1},
        {"extra": {"top_k": 1}},
    )  # fmt: skip
    assert len({key(), *(key(**options) for options in changed)}) == len(changed) + 1
    for same in (
        {"base_url": "http://h/v1/"},
        {"concurrency": 9},
        {"retries": 0},
        {"price": {"input": 1, "output": 2}},
        {"temperature": 0},
        {"repeats": 3},
    ):
        assert key(**same) == key()
    system = OpenAI("http://h/v1", "m", prompt="{{ source }}!")
    assert system.seen(Example("1", "s", ("r",), repeat=3)) == "s!"


def test_sampling_without_a_seed_is_known() -> None:
    def sampled(**options: Any) -> bool:
        return OpenAI("http://h/v1", "m", **options).sampled

    assert not sampled()
    assert sampled(temperature=0.5)
    assert sampled(temperature=None)
    assert not sampled(temperature=0.5, seed=1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"base_url": "localhost:8000"}, "system.base_url is not an address; expected one such as http://localhost:8000/v1"),
        ({"base_url": f"http://me:{KEY}@h/v1"}, "system.base_url to h holds more than an address"),
        ({"base_url": f"http://h/v1?key={KEY}"}, "system.base_url to h holds more than an address"),
        ({"base_url": "http://h/v1/chat/completions"}, "ends in /chat/completions; expected the part before"),
        ({"endpoint": "embeddings"}, "system.endpoint=embeddings; expected one of chat, completions"),
        ({"endpoint": "completions", "system_message": "x"}, "system.system_message is set; expected system.endpoint=chat"),
        ({"extra": {"temperature": 1}}, "system.extra.temperature is set; expected system.temperature instead"),
        ({"extra": {"n": 2}}, "system.extra.n is set; expected system.repeats"),
        ({"api_key_env": KEY}, "system.api_key_env is not the name of a variable"),
        ({"price": {"inptu": 1}}, "system.price.inptu is not an option; system.price has: input, output"),
        ({"price": {"input": 1}}, "expected both prices or none"),
        ({"price": {"input": -1, "output": 1}}, "system.price.input=-1; expected 0 or more"),
        ({"concurrency": 0}, "system.concurrency=0; expected more than 0"),
        ({"repeats": 0}, "system.repeats=0; expected more than 0"),
        ({"time_limit": 0}, "system.time_limit=0; expected more than 0"),
        ({"retries": -1}, "system.retries=-1; expected 0 or more"),
    ],
)  # fmt: skip
def test_wrong_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        OpenAI(**{"base_url": "http://h/v1", "model": "m", **options})
    assert expected in str(raised.value)
    assert KEY not in str(raised.value)


def test_a_field_that_is_not_there() -> None:
    with pytest.raises(HarnessError, match="'text' is undefined in example '1'; expected one of: id, source, topic"):
        OpenAI("http://h/v1", "m", prompt="{{ text }}").seen(example("1", "s", topic="x"))
    with pytest.raises(HarnessError, match="system.prompt is not a Jinja template"):
        OpenAI("http://h/v1", "m", prompt="{{ text").seen(example("1", "s"))


# ---------------------------------------------------------------- whole runs


def run(server: Faulty, *options: str) -> tuple[str, ...]:
    own = (f"system.base_url={server.url}", "system.model=m", "system.backoff=0.01")
    return ("run", "dataset=file", "dataset.path=dev.jsonl", "system=openai", *own, "metrics=exact_match", "tracking=none", *options)  # fmt: skip


def test_a_run_leaves_no_key_and_resumes(
    files: Path, cli: Cli, server: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.script[ROWS[1]["source"]] = [Status(400, "the key {key} is odd"), Status(401, "the key {key} is wrong")]
    called = cli(*run(server))
    assert called.code == 0, called.err
    folder = next(path.parent for path in Path("runs").rglob("scores.json"))
    assert json.loads((folder / "scores.json").read_text())["failed"] == 1
    assert "the key Bearer *** is odd" in (folder / "outputs.jsonl").read_text()
    assert len(server.asked) == 4
    again = cli(*run(server))
    assert again.code == 0
    assert len(server.asked) == 4
    refused = cli(*run(server, "retry_failed=true"))
    assert refused.code == 1
    assert "answered 401: the key Bearer *** is wrong; expected a key in" in refused.err
    assert len(refused.err.strip().splitlines()) == 1
    mended = cli(*run(server, "retry_failed=true"))
    assert mended.code == 0
    assert len(server.asked) == 6
    assert json.loads((folder / "scores.json").read_text())["failed"] == 0
    said = "".join(call.out + call.err for call in (called, again, refused, mended))
    assert KEY not in said
    written = [path for path in Path("runs").rglob("*") if path.is_file()]
    assert len(written) > 6
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert KEY not in repr(vars(system(server)))


def test_a_key_given_in_place_of_its_variable_is_kept_nowhere(files: Path, cli: Cli, server: Faulty) -> None:
    called = cli(*run(server, f"system.api_key_env={KEY}"))
    assert called.code == 1
    assert KEY not in called.out + called.err
    assert [path for path in Path(".").rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_what_was_answered_before_a_crash_is_kept(tmp_path: Path, server: Faulty) -> None:
    write_jsonl(tmp_path / "dev.jsonl", [{"id": str(i), "source": f"s{i}", "references": ["x"]} for i in range(8)])
    server.script["s7"] = [HANG]
    command = [sys.executable, "-m", "harness", *run(server, "system.revision=1", "name=x")]
    process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.getcwd()}, stderr=subprocess.DEVNULL)  # fmt: skip
    journal: list[Path] = []
    while not (journal and journal[0].read_text().count('"key"') == 7):
        time.sleep(0.05)
        assert process.poll() is None
        journal = list(tmp_path.rglob("outputs.jsonl"))
    process.kill()
    process.wait()
    assert len(server.asked) == 8
    ended = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.getcwd()}, capture_output=True)
    assert ended.returncode == 0, ended.stderr
    assert sorted(asked.prompt for asked in server.asked) == [f"s{i}" for i in range(8)] + ["s7"]


# ---------------------------------------------------------------- transformers serve


@pytest.fixture(scope="module")
def served(started: tuple[Path, int, subprocess.Popen[bytes]]) -> tuple[Path, str]:
    """(the model's folder, the address of the server that has it)."""
    folder, port, process = started
    while process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                assert answer.status == 200
                return folder, f"http://127.0.0.1:{port}/v1"
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("transformers serve ended")


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_real_server_gives_what_the_model_gives(served: tuple[Path, str], endpoint: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, url = served
    made = OpenAI(url, str(folder), endpoint=endpoint, max_tokens=6, concurrency=3)
    examples = [example(str(i), text) for i, text in enumerate(["w1 w2 w3", "w9", "w7 w8 w1 w30"])]
    outputs = made.generate(examples)
    model, words = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    for item, output in zip(examples, outputs, strict=True):
        assert output.error is None
        ids = words(item.source, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            expected = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False)[0]
        assert output.text == words.decode(expected[ids.shape[1] :], skip_special_tokens=True)
        assert output.info["input_tokens"] == ids.shape[1]
        assert output.info["output_tokens"] == len(expected) - ids.shape[1]
        assert output.info["finish"] == "length"


def test_a_real_server_has_no_such_model(served: tuple[Path, str]) -> None:
    with pytest.raises(HarnessError, match="expected a server's system.base_url"):
        OpenAI(f"{served[1]}/nowhere", str(served[0])).generate([example()])
