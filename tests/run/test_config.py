"""Every YAML in conf/ composes and can be built; misspelt overrides are refused; keys know what matters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf, open_dict

from harness.cli import hydra
from harness.inputs import plugins
from harness.run import config
from harness.types import HarnessError, Metric
from harness.types.settings import Config

CONF = config.conf_dir()
GROUPS = sorted(p.name for p in CONF.iterdir() if p.is_dir())
CHOICES = [(group, path.stem) for group in GROUPS for path in sorted((CONF / group).glob("*.yaml"))]
NEEDED = {  # what the user must give (`???`), by choice
    "file": {"path": "dev.jsonl"},
    "rag": {"path": "dev.jsonl"},
    "beir": {"path": "scifact"},
    "trec": {"qrels": "qrels.txt", "path": "bm25.run"},
    "column": {"column.field": "adequacy", "field": "hyp"},
    "text": {"references": ["ref.txt"]},
    "wmt": {"testset": "wmt22", "langpair": "de-en"},
    "mlflow": {"path": "support_qa", "model": "models:/summarizer/3", "mlflow.scorer": "judges.py:polite"},
    "huggingface": {"path": "data", "split": "test", "model": "some/model"},
    "openai": {"base_url": "http://localhost:8000/v1", "model": "some/model"},
    "predictions": {"path": "out.txt"},
    "checkpoints": {"path": "out"},
    "adapters": {"path": "out", "model": "some/model"},
    "server": {"command": ["serve", "{port}"], "model": "some/model"},
    **{server: {"model": "some/model"} for server in ("vllm", "sglang", "llama.cpp", "transformers")},
    "python": {"python.function": "quality.py:adequacy", "function": "my.py:summarize"},
    "command": {"command.command": ["judge"], "command": ["translate"]},
    "perplexity": {"perplexity.model": "some/model"},
}


def test_groups() -> None:
    assert GROUPS == [
        "dataset",
        "engine",
        "experiment",
        "metrics",
        "postprocess",
        "prompt",
        "stats",
        "system",
        "tracking",
    ]


@pytest.mark.parametrize(("group", "choice"), CHOICES, ids=lambda x: str(x))
def test_every_yaml_composes_and_is_built(
    group: str, choice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ConfigStore.instance().store(name="core", node=Config)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        asked = ["system=openai", "system.base_url=http://localhost/v1", "system.model=m"] if group == "prompt" else []
        composed = compose("config", overrides=[*asked, f"{group}={choice}"])
    with open_dict(composed):
        for key in OmegaConf.missing_keys(composed):
            OmegaConf.update(composed, key, NEEDED[choice][key.removeprefix(f"{group}.")])
    job = hydra.job(composed)
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
    if "defaults" in content or group in ("experiment", "prompt"):
        return
    for spec in content.values() if group == "metrics" else [content]:
        target = plugins.locate(spec["_target_"])
        options = set(spec) - {"_target_", *(["view"] if group == "metrics" else [])}  # any metric can have a view
        assert options <= set(inspect.signature(target).parameters)
        if group not in ("tracking",):
            assert options == set(inspect.signature(target).parameters)


def test_the_key_knows_what_changes_the_result() -> None:
    base = {"dataset": {"path": "a"}, "metrics": {"bleu": {"tokenize": "13a"}}, "stats": {"seed": 1}, "limit": None}
    key = config.key({**base, "name": "x", "tracking": {"uri": "u"}, "output_dir": "o", "progress": True})
    assert key == config.key({**base, "name": "y", "tracking": {}, "output_dir": None, "progress": False})
    for changed in ({"limit": 3}, {"stats": {"seed": 2}}, {"dataset": {"path": "b"}}, {"metrics": {}}):
        assert config.key({**base, **changed}) != key


def test_the_key_is_the_same_whatever_says_how_outputs_are_made() -> None:
    system = {"_target_": "harness.systems.openai.OpenAI", "base_url": "http://h/v1", "model": "m", "concurrency": 32}
    key = config.key({"system": system})
    assert key == config.key({"system": {**system, "concurrency": 4, "read_timeout": 9, "requests_per_minute": 60}})
    for changed in ({"model": "n"}, {"temperature": 1.0}, {"max_tokens": 5}, {"extra": {"top_k": 2}}):
        assert config.key({"system": {**system, **changed}}) != key
    for name in ("openai", "command", "python"):  # all that is named is an option
        spec = yaml.safe_load((config.conf_dir() / "system" / f"{name}.yaml").read_text())
        assert set(plugins.locate(spec["_target_"]).incidental) <= set(spec)


def test_metric_specs_follow_suites() -> None:
    assert list(config.metric_specs("standard")) == ["bleu", "rouge", "bertscore"]
    with pytest.raises(
        HarnessError, match=r"the metric 'blue' is not known \(did you mean 'bleu'\?\); expected one of"
    ):
        config.metric_specs("blue")


def test_a_metric_by_name_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training loop asks at every step, and to parse YAML takes longer than to score ten pairs."""
    first = config.metric_specs("bleu")
    first["bleu"]["tokenize"] = "zh"
    monkeypatch.delattr(yaml, "safe_load")
    assert config.metric_specs("bleu")["bleu"]["tokenize"] == "13a"


def test_a_yaml_that_changed_is_read_again(tmp_path: Path) -> None:
    for tokenize in ("13a", "zh"):
        (tmp_path / "mine.yaml").write_text(f"mine: {{tokenize: {tokenize}}}\n")
        assert config.metric_specs("mine", tmp_path) == {"mine": {"tokenize": tokenize}}


MISSPELT: list[tuple[list[str], str]] = [
    (
        ["metrics.bleu.tokenise=zh"],
        "metrics.bleu.tokenise is not in the config (did you mean 'metrics.bleu.tokenize'?)",
    ),
    (
        ["stats.resampels=10"],
        "(did you mean 'stats.resamples'?); stats has: buckets, level, method, repeats, resamples, seed",
    ),
    (["datset=file"], "datset is not in the config (did you mean 'dataset'?)"),
    (
        ["system=python", "system.function=a:b", "system.options.beams=4"],
        "expected +system.options.beams=… for one of your own",
    ),
    (
        ["system=huggingface", "system.max_new_token=8", "system.temprature=1"],  # the first of two
        "system.max_new_token is not in the config (did you mean 'system.max_new_tokens'?)",
    ),
    (["dataset=file", "path=dev.jsonl"], "path is not in the config (did you mean 'dataset.path'?)"),
    (["nmae=x"], "nmae is not in the config (did you mean 'name'?)"),
    (
        ["metrics=standrd"],
        "metrics=standrd is not a choice (did you mean 'standard'?); metrics has: answer_relevance, bertscore, bleu",
    ),
    (["metrics=[bleu,rogue]"], "metrics=rogue is not a choice (did you mean 'rouge'?)"),
    (["system=leed"], "system=leed is not a choice (did you mean 'lead'?)"),
    (
        ["dataset.path=dev.csv"],
        "dataset.path is not an option of what is chosen; expected with it one of dataset=beir, dataset=file, dataset=",
    ),
    (
        ["metrics=bleu", "metrics.rouge.stemmer=true"],
        "is not an option of what is chosen; expected with it one of metrics=lexical, metrics=rouge, metrics=standard",
    ),
    (["+metrics.bleu.tokenise=zh"], "metrics.bleu.tokenise is not an option (did you mean 'tokenize'?)"),
    (["+limt=2"], "limt is not in the config (did you mean 'limit'?)"),
    (["metrics.bleu.max_order=abc"], "metrics.bleu.max_order is 'abc'; expected a whole number"),
    (["stats.resamples=abc"], "Value 'abc' of type 'str' could not be converted to Integer"),
    (["dataset=file"], "dataset.path is not set; expected dataset.path=…"),
    (["stats.method=magic"], "method=magic; expected one of auto, expanded, percentile, basic, bca"),
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
