"""Every YAML in conf/ composes and can be built; options are checked; secrets are masked; keys know what matters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf, open_dict

from harness import app, config
from harness.masking import masked
from harness.types import HarnessError, Metric

CONF = config.conf_dir()
GROUPS = sorted(p.name for p in CONF.iterdir() if p.is_dir())
CHOICES = [(group, path.stem) for group in GROUPS for path in sorted((CONF / group).glob("*.yaml"))]
NEEDED = {  # what the user must give (`???`), by choice
    "file": {"path": "dev.jsonl"},
    "text": {"references": ["ref.txt"]},
    "wmt": {"testset": "wmt22", "langpair": "de-en"},
    "mlflow": {"path": "support_qa", "model": "models:/summarizer/3"},
    "huggingface": {"path": "data", "split": "test", "model": "some/model"},
    "openai": {"base_url": "http://localhost:8000/v1", "model": "some/model"},
    "predictions": {"path": "out.txt"},
    "checkpoints": {"path": "out"},
    "python": {"python.function": "quality.py:adequacy", "function": "my.py:summarize"},
    "command": {"command.command": ["judge"], "command": ["translate"]},
    "perplexity": {"perplexity.model": "some/model"},
}


def test_groups() -> None:
    assert GROUPS == ["dataset", "experiment", "metrics", "postprocess", "stats", "system", "tracking"]


@pytest.mark.parametrize(("group", "choice"), CHOICES, ids=lambda x: str(x))
def test_every_yaml_composes_and_is_built(
    group: str, choice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ConfigStore.instance().store(name="core", node=config.Config)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        composed = compose("config", overrides=[f"{group}={choice}"])
    with open_dict(composed):
        for key in OmegaConf.missing_keys(composed):
            OmegaConf.update(composed, key, NEEDED[choice][key.removeprefix(f"{group}.")])
    job = app.job(composed)
    assert job.dataset.name
    assert job.system.name
    assert all(isinstance(metric, Metric) for metric in job.metrics.values())
    assert job.postprocess("x").text == "x"
    assert job.tracker.experiment


@pytest.mark.parametrize(("group", "choice"), [c for c in CHOICES if c[0] != "stats"], ids=lambda x: str(x))
def test_every_yaml_says_how_it_is_used_and_shows_every_option(group: str, choice: str) -> None:
    import inspect

    import yaml

    text = (CONF / group / f"{choice}.yaml").read_text()
    assert text.startswith("#")
    content = yaml.safe_load(text)
    if "defaults" in content or group == "experiment":
        return
    for spec in content.values() if group == "metrics" else [content]:
        target = config.locate(spec["_target_"])
        assert set(spec) - {"_target_"} <= set(inspect.signature(target).parameters)
        if group not in ("tracking",):
            assert set(spec) - {"_target_"} == set(inspect.signature(target).parameters)


class Plugin:
    def __init__(self, size: int, names: list[str] | None = None, rate: float = 0.5, on: bool = False) -> None:
        self.size = size


HERE = f"{__name__}.Plugin"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"size": 1, "nmaes": []}, "x.nmaes is not an option (did you mean 'names'?); x has: size, names, rate, on"),
        ({}, "x.size is not set; expected x.size=…"),
        ({"size": "big"}, "x.size is 'big'; expected a whole number"),
        ({"size": True}, "x.size is True; expected a whole number"),
        ({"size": 1, "names": "a"}, "x.names is 'a'; expected a list of a text or null"),
        ({"size": 1, "names": [1]}, "x.names is [1]; expected a list of a text or null"),
        ({"size": 1, "rate": "x"}, "x.rate is 'x'; expected a number"),
        ({"size": 1, "on": 1}, "x.on is 1; expected true or false"),
    ],
)
def test_options_are_checked(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        config.build(HERE, options, "x")
    assert str(raised.value) == expected


def test_good_options_and_bad_targets() -> None:
    assert config.build(HERE, {"size": 3, "names": ["a"], "rate": 1, "on": True}, "x").size == 3
    assert config.build("harness.datasets.text.TextDataset", {"references": 2024}, "x").references == ["2024"]
    for target in ("harness.metrics.blue.Blue", "harness.metrics.bleu.Blue", "Bleu"):
        with pytest.raises(HarnessError, match=f"x._target_={target} cannot be imported"):
            config.build(target, {}, "x")


def test_secrets_are_masked() -> None:
    raw = {"api_key": "s1", "system": {"hf_token": "s2", "max_new_tokens": 3, "api_key_env": "NAME", "x": "${oc.env:X}"},
           "uri": "http://me:s3@host/x", "list": [{"password": "s4"}]}  # fmt: skip
    resolved = {**raw, "system": {**raw["system"], "x": "s5"}}  # type: ignore[dict-item]
    found = masked(resolved, raw)
    assert found == {
        "api_key": "***",
        "system": {"hf_token": "***", "max_new_tokens": 3, "api_key_env": "NAME", "x": "***"},
        "uri": "http://***@host/x",
        "list": [{"password": "***"}],
    }


def test_more_secrets() -> None:
    raw = {"env": "${oc.env:X}", "indirect": "${env}", "X-Api-Key": "s1", "pad_token": "<pad>", "auth": "s2",
           "uri": "http://u:p@ss@h/x?token=s3&a=b", "spaced": "${ oc.env:X}"}  # fmt: skip
    found = masked({**raw, "env": "s4", "indirect": "s4", "spaced": "s5"}, raw)
    assert found == {"spaced": "***", "env": "***", "indirect": "***", "X-Api-Key": "***", "pad_token": "<pad>", "auth": "***",
                     "uri": "http://***@h/x?token=***&a=b"}  # fmt: skip


def test_the_key_knows_what_changes_the_result() -> None:
    base = {"dataset": {"path": "a"}, "metrics": {"bleu": {"tokenize": "13a"}}, "stats": {"seed": 1}, "limit": None}
    key = config.key({**base, "name": "x", "tracking": {"uri": "u"}, "output_dir": "o", "progress": True})
    assert key == config.key({**base, "name": "y", "tracking": {}, "output_dir": None, "progress": False})
    for changed in ({"limit": 3}, {"stats": {"seed": 2}}, {"dataset": {"path": "b"}}, {"metrics": {}}):
        assert config.key({**base, **changed}) != key


def test_the_key_is_the_same_whatever_says_how_outputs_are_had() -> None:
    system = {"_target_": "harness.systems.openai.OpenAI", "base_url": "http://h/v1", "model": "m", "concurrency": 32}
    key = config.key({"system": system})
    assert key == config.key({"system": {**system, "concurrency": 4, "read_timeout": 9, "requests_per_minute": 60}})
    for changed in ({"model": "n"}, {"temperature": 1.0}, {"max_tokens": 5}, {"extra": {"top_k": 2}}):
        assert config.key({"system": {**system, **changed}}) != key
    for name in ("openai", "command", "python"):  # all that is named is an option
        spec = yaml.safe_load((config.conf_dir() / "system" / f"{name}.yaml").read_text())
        assert set(config.locate(spec["_target_"]).incidental) <= set(spec)


def test_metric_specs_follow_suites() -> None:
    assert list(config.metric_specs("standard")) == ["bleu", "rouge", "bertscore"]
    with pytest.raises(
        HarnessError, match=r"the metric 'blue' is not known \(did you mean 'bleu'\?\); expected one of"
    ):
        config.metric_specs("blue")


MISSPELT: list[tuple[list[str], str]] = [
    (
        ["metrics.bleu.tokenise=zh"],
        "metrics.bleu.tokenise is not in the config (did you mean 'metrics.bleu.tokenize'?)",
    ),
    (["stats.resampels=10"], "(did you mean 'stats.resamples'?); stats has: level, method, resamples, seed"),
    (["datset=file"], "datset is not in the config (did you mean 'dataset'?)"),
    (["nmae=x"], "nmae is not in the config (did you mean 'name'?)"),
    (["metrics=standrd"], "metrics=standrd is not a choice (did you mean 'standard'?); metrics has: bertscore, bleu"),
    (["metrics=[bleu,rogue]"], "metrics=rogue is not a choice (did you mean 'rouge'?)"),
    (["system=leed"], "system=leed is not a choice (did you mean 'lead'?)"),
    (["+metrics.bleu.tokenise=zh"], "metrics.bleu.tokenise is not an option (did you mean 'tokenize'?)"),
    (["+limt=2"], "limt is not in the config (did you mean 'limit'?)"),
    (["metrics.bleu.max_order=abc"], "metrics.bleu.max_order is 'abc'; expected a whole number"),
    (["stats.resamples=abc"], "Value 'abc' of type 'str' could not be converted to Integer"),
    (["dataset=file"], "dataset.path is not set; expected dataset.path=…"),
    (["stats.method=magic"], "method=magic; expected one of percentile, basic, bca"),
    (["tracking=mlflow", "tracking.uri=file:./store"], "is a folder store, which MLflow 3 no longer writes"),
    (["--multirun", "system=lead,lexrank", "metrics.rouge.stemer=true"], "(did you mean 'metrics.rouge.stemmer'?)"),
]


@pytest.mark.parametrize(("arguments", "expected"), MISSPELT, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_misspelt_overrides_are_refused(cli: Callable[..., Any], arguments: list[str], expected: str) -> None:
    called = cli("run", "tracking=none", *arguments) if "tracking=mlflow" not in arguments else cli("run", *arguments)
    assert called.code == 1
    assert expected in called.err
    assert "Traceback" not in called.err
    assert called.out == ""
    assert not any(Path("runs").rglob("scores.json"))
