"""What a run is in MLflow, within MLflow's limits whatever names, notes and texts it has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mlflow.entities import Metric, Param, RunTag
from mlflow.utils.validation import _validate_batch_log_data, _validate_batch_log_limits, _validate_dataset_inputs

from harness.store import sweep_cells
from harness.tracking import content, evaluation_table, labelling, logged_numbers
from harness.tracking.description import MAX_NOTE, description, escaped
from harness.types import RunResult, Score

HOSTILE = "a|b\n\n# <script>alert(1)</script> *x* `y` [l](javascript:z) | --- |"


def score(name: str, estimate: float | None = 12.5, note: str | None = None) -> Score:
    return Score(name, estimate, 10.0, 15.0, 0.95, "percentile", 100, "sig", note=note, digits=2)


def run(scores: list[Score], **more: Any) -> RunResult:
    manifest = {
        "dataset": {"examples": 10, "cluster": None, "about": {}},
        "system": {"key": None, "repeats": 1},
        "metrics": {"m": {"signature": "nrefs:1|`x`"}},
        "generation": {}, "config": {}, "seed": 1, "harness": "0", "git": None,
        "started": "2026-01-01T00:00:00+00:00", "ended": "2026-01-01T00:00:02.500+00:00",
    }  # fmt: skip
    result = RunResult(
        "n", "d", "k" * 64, "s", {score.name: score for score in scores}, {}, lambda: None, 0, manifest=manifest
    )
    return replace(result, **more)


def test_as_few_calls_as_mlflow_allows() -> None:
    metrics = [Metric(f"m{i}", 1.0, 0, 0) for i in range(1700)]
    params = [Param(f"p{i}", "v" * 6000) for i in range(150)]
    tags = [RunTag(f"t{i}", "é" * 5000) for i in range(30)]
    batches = list(content.batches(metrics, params, tags))
    assert len(batches) == 3  # 1,880 items would fit in two, their bytes do not
    for batch in batches:
        _validate_batch_log_limits(batch["metrics"], batch["params"], batch["tags"])
        _validate_batch_log_data(batch["metrics"], batch["params"], batch["tags"])
        items = [*batch["params"], *batch["tags"]]
        payload = [{"key": entity.key, "value": entity.value} for entity in items]
        assert len(json.dumps(payload)) + 150 * len(batch["metrics"]) < 1_000_000
    for kind, given in (("metrics", metrics), ("params", params), ("tags", tags)):
        assert [entity.key for batch in batches for entity in batch[kind]] == [entity.key for entity in given]
    assert len(list(content.batches(metrics[:900], params[:50], tags[:10]))) == 1


def test_names_that_mlflow_takes() -> None:
    names = ["bleu", "a b/c:d.e-f", "chrf++", "chrf+-", "../up", "/root", "a//b", "x" * 300, "x" * 301, "ü", "50%", ""]
    taken = [name for name, _ in content.named([(name, 0) for name in names])]
    assert taken[:2] == names[:2] and taken[9] == "ü"
    assert len(set(taken)) == len(names)
    _validate_batch_log_data([Metric(name, 1.0, 0, 0) for name in taken], [], [RunTag(name, "") for name in taken])


def test_a_slice_whose_name_mlflow_refuses_leaves_scores_their_names() -> None:
    keys = [f"slice/{kind}/{name}" for kind in ("kind: (none)", "kind: [none]") for name in ("bleu", "bleu.low")]
    slices, scores = zip(*(name.rsplit("/", 1) for name, _ in content.named([(key, 0) for key in keys])), strict=True)
    assert scores == ("bleu", "bleu.low", "bleu", "bleu.low")
    assert slices[0] == slices[1] != slices[2] == slices[3]


def test_parameters_that_are_too_long_are_cut_with_a_mark() -> None:
    logged = run([score("bleu")])
    logged.manifest["overrides"] = ["system", "system.prompt", "system.nul", "name", "dataset.path", "system.gone"]
    logged.manifest["config"] = {"system": {"prompt": "x" * 9000, "nul": "a\0b", "top_p": 1.0}, "name": "n", "limit": 5}
    params = {param.key: param.value for param in labelling.params_of(logged)}
    prompt = params.pop("system.prompt")
    assert len(prompt) == 6000 and prompt.endswith("xx … (whole in config.yaml)")
    # PostgreSQL refuses NUL
    assert params == {"system": "s", "dataset": "d", "metrics": "m", "system.nul": "a\ufffdb", "limit": "5"}


def test_the_name_of_a_cell_tells_it_from_the_others() -> None:
    cell = {"system.temperature": 0.7, "system.top_p": 0.9}
    for parameters, name in (
        (cell, "s temperature=0.7 top_p=0.9"),
        ({"system": "lead", "system.sentences": 2}, "s sentences=2"),
        ({"dataset.path": "a.jsonl", **cell}, "n temperature=0.7 top_p=0.9"),
        ({"system.path": "good.jsonl"}, "n"),
        ({"system.seed": 1, "stats.seed": 2}, "s system.seed=1 stats.seed=2"),
    ):
        logged = run([score("bleu")])
        logged.manifest["cell"] = sweep_cells.cell(parameters, 0)
        assert labelling.name_of(logged) == name
    logged.manifest["config"] = {"name": "n"}  # which tells nothing of system or data
    for parameters, name in (
        ({"system.seed": 1, "stats.seed": 2}, "n system.seed=1 stats.seed=2"),
        ({"system": "lead", "system.sentences": 2}, "n lead sentences=2"),
        ({"system": "lead"}, "n lead"),
        ({"dataset": "a", "system.k": 2}, "n dataset=a k=2"),
    ):
        logged.manifest["cell"] = sweep_cells.cell(parameters, 0)
        assert labelling.name_of(logged) == name
    prompts = [f"Summarise the text in {n} of your own words: {{source}}" for n in ("six", "ten")]
    logged.manifest["config"] = {}
    logged.manifest["cell"] = sweep_cells.cell({"system.prompt": prompts[0]}, 0, {"system.prompt": prompts})
    assert labelling.name_of(logged) == "s prompt=Summarise …six of your own words: {sourc…"


def test_tags_and_data_set_within_limits() -> None:
    logged = run([score("bleu")], dataset="d" * 900, name="é" * 9000)
    logged.manifest["dataset"]["about"] = {"note": "x" * 90_000}
    tags = labelling.tags_of(logged, {})
    _validate_batch_log_data([], [], tags)
    assert all(len(tag.value) <= 5000 for tag in tags)
    given = content.dataset_of(logged, {f"field{i}": "string" for i in range(40_000)})
    _validate_dataset_inputs([given])
    assert given.dataset.digest == "k" * 16
    assert json.loads(given.dataset.source)["key"] == json.loads(given.dataset.profile)["key"] == "k" * 64


def test_steps_and_times() -> None:
    logged = run([score("bleu"), replace(score("none", None), low=None, high=None)])
    logged.manifest["system"]["step"] = 500
    metrics = {
        metric.key: (metric.value, metric.step, metric.timestamp)
        for metric in logged_numbers.metrics_of(logged, logged_numbers.Of())
    }
    assert metrics["interval/bleu.high"] == (15.0, 500, 1767225602500)
    assert metrics["run/seconds"][0] == 2.5
    assert "none" not in metrics  # missing is missing


def rendered(text: str) -> list[str]:
    """The lines of a description that are part of its table."""
    return [line for line in text.splitlines() if line.startswith("|")]


def test_hostile_names_and_notes_stay_in_their_cells() -> None:
    logged = run(
        [score("bleu"), score(HOSTILE, note=HOSTILE), score("bleu.p1")],
        system=HOSTILE, health={"warnings": [HOSTILE]},
    )  # fmt: skip
    text = description(logged, 10, 10)
    assert "<script" not in text and "](javascript" not in text
    rows = rendered(text)
    assert len(rows) == 5 and {row.count("|") for row in rows} == {4}
    assert [row.split("|")[1].strip()[:8] for row in rows[2:]] == ["**bleu**", "**a&#124", "bleu.p1"]
    assert text.startswith("**bleu** 12.50 [10.00,\N{NO-BREAK SPACE}15.00] · **a&#124;b")
    assert escaped("a_b") == "a\\_b"


@pytest.mark.parametrize("n", [10, 200, 5000])
def test_a_description_that_is_too_long_ends_with_a_whole_row(n: int) -> None:
    logged = run([score("bleu"), *(score(f"{'long' * 5}.{i}") for i in range(n))], failed=3)
    text = description(logged, 500, 10_000)
    assert len(text) <= MAX_NOTE
    rows = rendered(text)
    assert {row.count("|") for row in rows} == {4}
    shown = len(rows) - 2
    assert (shown == n + 1) == (n == 10)
    if n > 10:
        assert f"… {n + 1 - shown:,} more scores, notes and signatures in the artifact `scores.json`." in text
        assert len(text) > MAX_NOTE - 200
    assert "**3 failed**" in text
    assert "the first 500 of 10,000 in `eval_results_table.json`" in text


def test_the_description_of_endless_warnings_and_names() -> None:
    assert len(description(run([score("x" * 9000)], health={"warnings": ["w" * 9000] * 100}), 1, 1)) <= MAX_NOTE


def parquet(path: Path, rows: int, length: int, repeats: int = 1) -> Path:
    n = rows * repeats
    texts = [f"{i} " + "ü" * length for i in range(n)]
    columns = {
        "id": [str(i // repeats) for i in range(n)], "repeat": [i % repeats for i in range(n)], "source": texts,
        "references": [[text, "second"] for text in texts], "output": [None if i == 3 else t for i, t in enumerate(texts)],
        "error": ["it broke" if i == 3 else None for i in range(n)], "raw_output": texts, "pages": [[1]] * n,
        "bleu": [i / 3 for i in range(n)], "bleu.p1": [1.0] * n,
    }  # fmt: skip
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(("rows", "length", "shown"), [(4, 10, 4), (2000, 10, 500), (2000, 100_000, 163)])
def test_the_table_is_bounded(tmp_path: Path, rows: int, length: int, shown: int) -> None:
    if length > 1000:
        rows = 300
    bounded = evaluation_table.examples_of(parquet(tmp_path / "e.parquet", rows, length), rows, ["bleu", "bleu.p1"])
    assert (bounded.shown, bounded.rows) == (shown, rows)
    assert len(bounded.content) <= evaluation_table.MAX_BYTES
    table = json.loads(bounded.content)
    assert table["columns"] == ["id", "source", "references", "output", "error", "bleu"]
    assert len(table["data"]) == shown
    assert table["data"][3][3:5] == [None, "it broke"]
    assert table["data"][1][5] == 0.333333
    if length > 1000:
        assert table["data"][0][1].endswith("ü … [99,002 more characters]")
    assert bounded.fields == {
        "id": "string",
        "source": "string",
        "references": "list of string",
        "pages": "list of long",
    }


def test_repeats_are_shown_where_there_are_any(tmp_path: Path) -> None:
    bounded = evaluation_table.examples_of(parquet(tmp_path / "e.parquet", 2, 1, repeats=3), 2, ["bleu"])
    table = json.loads(bounded.content)
    assert table["columns"][:2] == ["id", "repeat"]
    assert [row[:2] for row in table["data"]] == [[str(i // 3), i % 3] for i in range(6)]
