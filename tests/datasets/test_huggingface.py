"""Hub data sets, from a real HTTP server that speaks the part of the hub's protocol that `datasets` asks of it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.datasets.huggingface import HuggingFaceDataset
from harness.types import HarnessError
from tests.conftest import ROWS, Called, write_jsonl

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CARD = b"---\nconfigs:\n- config_name: de\n  data_files:\n  - split: test\n    path: de/test.jsonl\n---\n"
DATA = "".join(
    json.dumps({"id": i, "translation": {"de": f"Satz {i}", "en": f"sentence {i}"}, "domain": "news"}) + "\n"
    for i in range(50)
).encode()
FILES = {"README.md": CARD, "de/test.jsonl": DATA}


class Hub(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in {**headers, "X_Repo_Commit": COMMIT, "Content_Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[:4] == ["api", "datasets", "me", "tiny"]:
            info: Any = {"id": "me/tiny", "sha": COMMIT, "private": False, "tags": [], "siblings": []}
            if parts[4:5] == ["tree"]:
                below = "/".join(parts[6:])
                info = [
                    {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                    for name, data in FILES.items()
                    if name.startswith(below)
                ]
            self.answer(200, json.dumps(info).encode(), Content_Type="application/json")
        elif parts[:4] == ["datasets", "me", "tiny", "resolve"] and "/".join(parts[5:]) in FILES:
            data = FILES["/".join(parts[5:])]
            self.answer(200, data, ETag=f'"{hashlib.sha1(data).hexdigest()}"', Accept_Ranges="bytes")
        elif parts[:3] == ["datasets", "me", "tiny"]:
            self.answer(404, X_Error_Code="EntryNotFound")
        else:
            self.answer(404, X_Error_Code="RepoNotFound")

    do_HEAD = do_GET


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which that server is the hub, with a cache of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    yield environment | {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(tmp_path_factory.mktemp("hub")),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1",
    }
    server.shutdown()
    server.server_close()


READ = """
import dataclasses, json, sys
from harness.datasets.huggingface import HuggingFaceDataset
from harness.types import HarnessError

columns = {"source": "translation.de", "references": "translation.en"}
for options in json.loads(sys.argv[1]):
    dataset = HuggingFaceDataset("me/tiny", "test", "de", columns=columns, **options)
    try:
        print(json.dumps([[dataclasses.asdict(example) for example in dataset.examples()], dict(dataset.about())]))
    except HarnessError as error:
        print(json.dumps(str(error)))
"""


def read(environment: dict[str, str], *options: dict[str, Any]) -> list[Any]:
    """[examples, about] or the error for each, from a new process: `datasets` reads its environment on import."""
    command = [sys.executable, "-c", READ, json.dumps(options)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_the_commit_of_a_hub_name_is_pinned(hub: dict[str, str]) -> None:
    """Downloaded, streamed and from the cache while offline: the same rows of the same commit."""
    whole, streamed = read(hub, {"revision": "main"}, {"revision": "main", "streaming": True})
    examples, about = whole
    assert len(examples) == 50
    assert examples[3] == {
        "id": "3", "source": "Satz 3", "references": ["sentence 3"], "metadata": {"domain": "news"}, "repeat": 0,
        "contexts": None, "reference_contexts": None, "relevant": None,
    }  # fmt: skip
    assert about == {"revision": COMMIT}
    assert streamed == whole
    cached, refused = read(hub | {"HF_HUB_OFFLINE": "1"}, {"revision": COMMIT}, {"revision": "f" * 40})
    assert cached == whole
    assert f"what is cached is of the revision {COMMIT}, not dataset.revision=fff" in refused


def test_local_files_are_pinned_by_their_hash(tmp_path: Path) -> None:
    def about(streaming: bool = False) -> dict[str, str]:
        dataset = HuggingFaceDataset(str(tmp_path / "data"), "test", streaming=streaming)
        assert [example.id for example in dataset.examples()] == ["a", "b", "c", "d"]
        return dict(dataset.about())

    (tmp_path / "data").mkdir()
    write_jsonl(tmp_path / "data" / "test.jsonl", ROWS)
    first = about()
    assert first["files"] == "1"
    assert first == about(streaming=True)
    write_jsonl(tmp_path / "data" / "test.jsonl", [*ROWS[:3], {**ROWS[3], "topic": "other"}])
    assert about()["sha256"] != first["sha256"]


def test_saved_data_is_pinned_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    import datasets

    datasets.Dataset.from_list(ROWS).save_to_disk(str(tmp_path / "saved"))
    dataset = HuggingFaceDataset(str(tmp_path / "saved"), "test")
    assert len(list(dataset.examples())) == 4
    assert len(dataset.about()["sha256"]) == 64
    (tmp_path / "data").mkdir()
    write_jsonl(tmp_path / "data" / "test.jsonl", ROWS)
    (tmp_path / "data" / "test2.jsonl").write_text('{"id": ')
    with pytest.raises(HarnessError, match=r"data \[test\] cannot be read after row|cannot be loaded"):
        list(HuggingFaceDataset(str(tmp_path / "data"), "test", streaming=True).examples())


def test_the_pins_are_in_the_manifest(files: Path, cli: Callable[..., Called]) -> None:
    common = ("system=lead", "metrics=bleu", "tracking=none", "stats.resamples=10")
    (files / "data").mkdir()
    (files / "dev.jsonl").rename(files / "data" / "test.jsonl")
    called = cli("run", "dataset=huggingface", "dataset.path=data", "dataset.split=test", *common, "output_dir=a")
    assert called.code == 0, called.err
    about = json.loads((files / "a" / "manifest.json").read_text())["dataset"]["about"]
    assert set(about) == {"files", "sha256"}
    assert cli("run", "dataset=file", "dataset.path=data/test.jsonl", *common, "output_dir=b").code == 0
    assert json.loads((files / "b" / "manifest.json").read_text())["dataset"]["about"] == {}
