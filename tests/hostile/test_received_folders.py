"""A run folder from a stranger: nothing that it names is run, and its scores are shown all the same."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.analysis.stored.trust import METRICS, Trust
from harness.inputs import plugins
from harness.run import config as core
from harness.testing import WordCount
from harness.types import HarnessError
from tests.conftest import Called
from tests.hostile import folders

Cli = Callable[..., Called]
Received = Callable[..., Path]
FAST = ("--resamples", "100", "--no-progress")
COMMANDS = {
    "compare": ("compare", *FAST),
    "compare-json": ("compare", "--json", *FAST),
    "table": ("table", *FAST),
    "report": ("report", "-o", "report.html", *FAST),
    "plot": ("plot", "--figure", "forest", "-o", "figure.json", *FAST),
    "power": ("power", *FAST),
    "best": ("best", *FAST),
}


def metrics(marker: Path, folder: Path) -> dict[str, tuple[Any, Any]]:
    """What statistics.parquet can name, by what it tries: (`_target_`, options)."""
    (folder / "payload.py").write_text(folders.PAYLOAD.format(marker=str(marker)))
    return {
        "a function": ("os.system", {"command": f"touch {marker}"}),
        "a class of any module": ("subprocess.Popen", {"args": ["touch", str(marker)]}),
        "an import": ("payload.Metric", {}),
        "this package, another place": ("harness.inputs.functions.load", {"place": f"{folder}/payload.py:score"}),
        "this package's imports": ("harness.metrics.ter.subprocess.Popen", {"args": ["touch", str(marker)]}),
        "a file of the folder": (
            "harness.metrics.python.PythonMetric",
            {"function": "f.py:f", "name": "bleu", "columns": ["a"], "score": f"{folder}/payload.py:score"},
        ),
        "a module of the score": (
            "harness.metrics.python.PythonMetric",
            {"function": "payload:score", "name": "bleu", "columns": ["a"], "score": "payload:score"},
        ),
    }


PAYLOADS = (
    "a function", "a class of any module", "an import", "this package, another place", "this package's imports",
    "a file of the folder", "a module of the score",
)  # fmt: skip


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_runs_that_a_folder_names(cli: Cli, received: Received, marker: Path, payload: str) -> None:
    good, bad = received("good"), received("bad")
    for folder in (good, bad):
        folders.name_metric(folder, *metrics(marker, folder)[payload])
    for name, command in COMMANDS.items():
        called = cli(command[0], "good", "bad", *command[1:])
        assert not marker.exists(), name
        assert called.code == 0, (name, called.err)
        assert " is shown and not tested: its scores come from" in called.err, name
        assert "(--trust, in Python trust=True, runs it)" in called.err, name
    run = harness.load_run("good")
    assert not marker.exists()
    assert list(run.statistics) == ["chrf"] and list(run.untested) == ["bleu"]
    assert run.scores["bleu"].estimate == pytest.approx(71.86, abs=0.01)
    assert "71.9 [26.0, 100.0]" in cli("table", "good", "bad", *FAST).out
    assert "BLEU" in cli("runs", "--in", ".").out
    assert {row.score for row in harness.compare(["good", "bad"], resamples=100)} == {"chrf"}
    assert not marker.exists()


def test_what_cannot_be_tested_is_said_in_one_line(cli: Cli, received: Received, marker: Path) -> None:
    for name in ("good", "bad"):
        folder = received(name)
        for metric in ("bleu", "chrf"):
            folders.name_metric(folder, "payload.Metric", {}, metric)
    for command in ("compare", "power", "best"):
        called = cli(command, "good", "bad", *FAST)
        assert called.code == 1
        assert called.err.splitlines()[-1].startswith("harness: nothing of good and bad can be tested: its rows are ")
        assert "expected --trust (in Python trust=True)" in called.err
    for command in ("table", "report", "plot"):
        name, *options = COMMANDS[command]
        assert cli(name, "good", "bad", *options).code == 0
    named = cli("compare", "good", "bad", "--score", "bleu", *FAST)
    assert "bleu of good cannot be tested" in named.err
    assert "71.9" in cli("table", "good", "bad", "--score", "bleu", *FAST).out
    another_level = cli("table", "good", "bad", "--level", "0.9", *FAST).out
    assert "cannot be computed anew without its metric (--trust)" in another_level
    assert not marker.exists()


def test_trusted_and_shown_before_it_runs(cli: Cli, received: Received, marker: Path, tmp_path: Path) -> None:
    """The user's own score function, in a file: only with --trust, a YAML that names it, or as an object."""
    (tmp_path / "mine.py").write_text(
        f"import pathlib\npathlib.Path({str(marker)!r}).touch()\ndef total(s): return s[:, 0]\n"
    )
    options = {"function": "mine.py:rows", "name": "bleu", "score": "mine.py:total"}
    for name in ("good", "bad"):
        folder = received(name)
        columns = folders.described(folder)["metrics"]["bleu"]["columns"]
        folders.name_metric(folder, "harness.metrics.python.PythonMetric", {**options, "columns": columns})
    assert cli("compare", "good", "bad", "--score", "bleu", *FAST).code == 1
    own = tmp_path / "conf" / "metrics"
    own.mkdir(parents=True)
    spec = {"_target_": "harness.metrics.python.PythonMetric", **options, "columns": columns}
    (own / "other.yaml").write_text(json.dumps({"bleu": {**spec, "score": "other.py:total"}}))
    assert cli("compare", "good", "bad", "--config-dir", "conf", "--score", "bleu", *FAST).code == 1
    assert not marker.exists()
    for flag in ("--trust", "--json"):
        called = cli("compare", "good", "bad", "--score", "bleu", "--trust", flag, *FAST)
        assert called.code == 0, called.err
        shown = "harness: trusted, so run or loaded: harness.metrics.python.PythonMetric with function=mine.py:rows"
        assert called.err.startswith(shown)
        assert "mine.py:total" in called.err
    assert marker.exists()
    (own / "mine.yaml").write_text(json.dumps({"anything": spec}))
    quiet = cli("compare", "good", "bad", "--config-dir", "conf", "--score", "bleu", *FAST)
    assert (quiet.code, quiet.err) == (0, "")
    trusted = harness.compare(["good", "bad"], scores=["bleu"], resamples=100, trust=True)
    assert trusted[0].score == "bleu"


def test_an_object_of_the_callers_own(received: Received, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    class Mine(WordCount):
        name = "bleu"
        columns = ()

    folder = received("good")
    mine = Mine()
    mine.columns = tuple(folders.described(folder)["metrics"]["bleu"]["columns"])
    folders.name_metric(folder, "notebook.Mine", {})
    assert "bleu" not in harness.load_run(folder).statistics
    assert harness.load_run(folder, trust=[mine]).statistics["bleu"].metric is mine
    with pytest.raises(HarnessError, match="expected True, or objects with the Metric seam"):
        harness.load_run(folder, trust=[Mine])  # type: ignore[list-item]


def test_a_mean_needs_none_of_the_users_code(cli: Cli, received: Received, marker: Path) -> None:
    """metrics=python and metrics=command without a score function: tested without it, and without trust."""
    for target, options in (
        ("harness.metrics.python.PythonMetric", {"function": "payload:score", "name": "mine"}),
        ("harness.metrics.command.CommandMetric", {"command": ["touch", str(marker)], "name": "mine"}),
    ):
        runs = []
        for name in ("good", "bad"):
            folder = received(name, f"{name}-{target[-13:]}")
            content = folders.described(folder)
            content["metrics"] = {"mine": {**content["metrics"]["chrf"], "_target_": target, "options": options}}
            content["metrics"]["mine"]["columns"] = ["mine", "count"]
            values = np.array([1.0, 0.5, 0.25, 1.0]) * (1 if name == "good" else 0.5)
            folders.replace_column(folder, "mine:mine", values, "statistics.parquet")
            folders.replace_column(folder, "mine:count", np.ones(4), "statistics.parquet")
            folders.describe(folder, content)
            runs.append(str(folder))
        (row,) = harness.compare(runs, resamples=100)
        assert (row.score, row.baseline_estimate, row.system_estimate) == ("mine", 0.6875, 0.34375)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("target", "options", "columns"),
    [
        ("bertscore.BertScore", {"model": "./theirs", "trust_remote_code": True, "pickle": "pytorch_model.bin"}, 5),
        ("bertscore.BertScore", {"model": "/dev/zero", "all_layers": True, "rescale": "/dev/zero"}, 11),
        ("moverscore.MoverScore", {"model": "./theirs", "stop_words": "/dev/zero"}, 2),
        ("perplexity.Perplexity", {"model": "./theirs", "trust_remote_code": True}, 3),
        ("rouge.Rouge", {"compat": "rouge155", "stopwords": "/dev/zero", "types": ["rouge1"]}, 4),
    ],
)
def test_models_and_files_of_a_folder_are_not_opened(
    monkeypatch: pytest.MonkeyPatch, target: str, options: dict[str, Any], columns: int
) -> None:
    def never(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("opened")

    monkeypatch.setattr("harness.inputs.pretrained.on_disk", never)
    monkeypatch.setattr("builtins.open", never)
    stored = {"_target_": f"harness.metrics.{target}", "options": options, "columns": [str(i) for i in range(columns)]}
    metric = Trust().metric("m", stored)
    assert metric is not None
    assert len(metric.columns) == columns
    assert metric.score(np.ones((2, columns))).shape == (2, len(metric.score_names))
    assert not metric.aligns  # a report loads no model that a folder names


NAMING = {
    "BertScore": {"model", "rescale", "revision", "pickle", "trust_remote_code"},
    "MoverScore": {"model", "stop_words", "revision", "pickle", "trust_remote_code"},
    "Perplexity": {"model", "revision", "pickle", "trust_remote_code"},
    "PythonMetric": {"function", "columns", "score"},
    "CommandMetric": {"command"},
    "Rouge": {"stopwords"},
    "Diversity": {"bertscore"},
    "MlflowScorer": {"scorer"},
}
"""Options that name code, files or models, or go with them."""


@pytest.mark.parametrize("target", sorted(METRICS))
def test_every_option_of_a_metric_is_plain_or_names_something(target: str) -> None:
    """A new option must be put into `plain`, or into the table above, by someone who thought about it."""
    metric = plugins.locate(target)
    options = set(inspect.signature(metric).parameters)
    assert options - set(metric.plain) == NAMING.get(metric.__name__, set())
    assert set(metric.plain) <= options


def test_all_metrics_of_the_configs_are_in_the_table() -> None:
    specs = [spec for name in (core.conf_dir() / "metrics").glob("*.yaml") for spec in _specs(name)]
    of_importers = {"harness.metrics.imported.Imported"}  # made of logs, never of a config
    assert {spec["_target_"] for spec in specs} | of_importers == METRICS


def _specs(path: Path) -> list[dict[str, Any]]:
    import yaml

    content = yaml.safe_load(path.read_text())
    return [spec for spec in content.values() if isinstance(spec, dict) and "_target_" in spec]


def test_too_many_orders_cost_nothing(cli: Cli, received: Received) -> None:
    received("bad")
    folders.name_metric(received("good"), "harness.metrics.chrf.Chrf", {"char_order": 10**9}, "chrf")
    called = cli("compare", "good", "bad", *FAST)
    assert (called.code, called.err) == (1, "harness: metrics.chrf.char_order=1000000000; expected 1 to 100\n")
