"""`system.prompt=prompts:/summarise/3`: prompts of MLflow's registry, on SQLite and on a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.inputs.prompts import Prompt
from harness.tracking.registry_prompts import linked, pinned
from harness.types import Example, HarnessError
from tests.conftest import Called
from tests.tracking.servers import client

Cli = Callable[..., Called]
SECOND = "{# prompts:/summarise/2 #}In short: {{ source }}"


def registered(uri: str) -> Any:
    """A store with two versions of a prompt, the first one an alias's, and a chat."""
    from mlflow import MlflowClient

    store = MlflowClient(uri, registry_uri=uri)
    store.register_prompt("summarise", "Sum up: {{ source }}")
    store.register_prompt("summarise", "In short: {{ source }}")
    store.set_prompt_alias("summarise", "champion", 1)
    store.register_prompt("chat", [{"role": "user", "content": "{{ source }}"}])
    store.register_prompt("signs", "{# not a comment #} {% {{source}}")
    return store


@pytest.fixture(scope="module", params=["sqlite", "server"])
def uri(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> str:
    folder = tmp_path_factory.mktemp("registry")
    place = f"sqlite:///{folder}/mlflow.db" if request.param == "sqlite" else str(request.getfixturevalue("server"))
    registered(place)
    return place


def test_a_version_and_an_alias(uri: str) -> None:
    """An alias is pinned to the version that it means; the version's text takes its place."""
    assert pinned({"prompt": "prompts:/summarise/2", "top_p": 1}, uri) == {"prompt": SECOND, "top_p": 1}
    first = pinned({"prompt": "prompts:/summarise@champion"}, uri)["prompt"]
    assert first == "{# prompts:/summarise/1 #}Sum up: {{ source }}"
    assert Prompt(first)(Example("1", "a text", ())) == "Sum up: a text"
    assert linked({"system": {"prompt": first}}) == {"mlflow.linkedPrompts": '[{"name": "summarise", "version": "1"}]'}
    signs = pinned({"prompt": "prompts:/signs/1"}, uri)["prompt"]
    assert Prompt(signs)(Example("1", "a text", ())) == "{# not a comment #} {% a text"  # as MLflow fills it in
    for other in ({}, {"prompt": "{{ source }}"}, {"prompt": "@prompts/a.txt"}):
        assert pinned(other, uri) == other
        assert linked({"system": other}) == {}


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("prompts:/summarize/1", "has no prompt 'summarize'; expected one of: chat, signs, summarise"),
        ("prompts:/summarise/7", "the prompt 'summarise' has no version 7; expected a version that it has: 1, 2"),
        ("prompts:/summarise@best", "the prompt 'summarise' has no alias 'best'; expected a version that it has: 1, 2"),
        ("prompts:/chat/1", "it is a chat of 1 messages; expected a prompt that is one text"),
        ("prompts:/summarise", "expected prompts:/NAME/3 or prompts:/NAME@ALIAS"),
    ],
)
def test_what_is_not_there(uri: str, prompt: str, message: str) -> None:
    with pytest.raises(HarnessError, match="system.prompt=prompts:/") as refused:
        pinned({"prompt": prompt}, uri)
    assert message in str(refused.value)


def test_no_store_is_made_to_look_into(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="there is no MLflow store"):
        pinned({"prompt": "prompts:/summarise/1"}, f"sqlite:///{tmp_path}/none.db")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_run_is_linked_to_its_prompt(files: Path, cli: Cli) -> None:
    """The version is in the config, the key and MLflow; a field that the data does not have is named with the prompt."""
    pytest.importorskip("torch")
    from tests.systems.tiny import make

    store_uri = f"sqlite:///{files}/runs/mlflow.db"
    (files / "runs").mkdir()
    store = registered(store_uri)
    store.register_prompt("wrong", "Sum up: {{ article }}")
    model = make("causal", files / "model")
    run = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=huggingface", f"system.model={model}")
    words = (*run, "system.max_new_tokens=1", "metrics=[bleu]", "stats.resamples=20", "progress=false")
    called = cli(*words, "system.prompt='prompts:/summarise@champion'")
    assert called.code == 0, called.err
    store.set_prompt_alias("summarise", "champion", 2)
    called = cli(*words, "system.prompt='prompts:/summarise@champion'")
    assert called.code == 0, called.err
    manifests = [json.loads(path.read_text()) for path in files.glob("runs/harness/*/manifest.json")]
    prompts = {manifest["config"]["system"]["prompt"] for manifest in manifests}
    assert prompts == {"{# prompts:/summarise/1 #}Sum up: {{ source }}", SECOND}  # a run each, as the alias moved
    entries = client(store_uri).search_runs([store.get_experiment_by_name("harness").experiment_id])
    assert {entry.data.params["system.prompt"] for entry in entries} == {f"prompts:/summarise/{i}" for i in (1, 2)}
    versions = [json.loads(entry.data.tags["mlflow.linkedPrompts"]) for entry in entries]
    assert sorted(version["version"] for (version,) in versions) == ["1", "2"]
    refused = cli(*words, "system.prompt='prompts:/wrong/1'")
    assert refused.code == 1
    assert "system.prompt (prompts:/wrong/1): 'article' " in refused.err
    assert "expected one of: id, source, topic" in refused.err
