"""Examples as traces in MLflow: what they hold, that they are there once, and what is asked for wrongly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.tracking import traces
from tests.conftest import Called
from tests.tracking.servers import client

Cli = Callable[..., Called]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl", "metrics=bleu")
TRACED = (*RUN, "stats.resamples=20", "tracking.traces=3")


def logged(uri: str) -> tuple[Any, Any, list[Any]]:
    """(the store, the run, its traces by example)."""
    store = client(uri)
    experiment = store.get_experiment_by_name("harness").experiment_id
    (run,) = store.search_runs([experiment])
    there = store.search_traces(locations=[experiment], run_id=run.info.run_id)
    return store, run, sorted(there, key=lambda trace: trace.info.tags["harness.example"])


@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_an_example_is_a_trace_with_scores_as_feedback(
    files: Path, cli: Cli, kind: str, request: pytest.FixtureRequest
) -> None:
    uri = f"sqlite:///{files}/runs/mlflow.db" if kind == "sqlite" else request.getfixturevalue("server")
    called = cli(*TRACED, f"tracking.uri={uri}")
    assert called.code == 0, called.err
    (folder,) = Path("runs/harness").iterdir()
    rows = pd.read_parquet(folder / "examples.parquet").sort_values("id")[:3].to_dict("records")
    store, run, there = logged(uri)
    assert [trace.info.tags["harness.example"] for trace in there] == [str(row["id"]) for row in rows]
    for trace, row in zip(there, rows, strict=True):
        (span,) = trace.data.spans
        assert trace.info.trace_metadata["mlflow.user"] == run.data.tags["mlflow.user"]
        assert (span.inputs, span.outputs) == ({"source": row["source"]}, row["output"])
        said = {assessment.name: assessment for assessment in trace.info.assessments}
        assert said["bleu"].feedback.value == pytest.approx(row["bleu"])
        assert said["bleu"].metadata["signature"].startswith("nrefs:")
        references = list(row["references"])
        assert said["expected_response"].expectation.value in (references, references[0])
    store.delete_tag(run.info.run_id, traces.TAG)  # as if it had been cut short
    again = cli("sync", "--uri", uri)
    assert again.code == 0 and again.out.startswith("completed")
    _, _, after = logged(uri)
    assert [len(trace.info.assessments) for trace in after] == [len(trace.info.assessments) for trace in there]
    assert [len(trace.data.spans) for trace in after] == [1, 1, 1]


def test_so_many_traces_are_refused(files: Path, cli: Cli) -> None:
    for wrong in ("-1", "10001"):
        called = cli(*RUN, f"tracking.traces={wrong}")
        assert called.code == 1
        assert f"tracking.traces={wrong}; expected 0 to 10,000: a trace an example" in called.err


def test_what_the_journal_tells_of_an_output(tmp_path: Path) -> None:
    journal = tmp_path / "outputs.jsonl"
    lines = ('{"key": "a", "text": "x", "info": {"seconds": 1}}', '{"key": "b", "text": "y", "info": {"seconds": 2}}')
    journal.write_text("\n".join((*lines, lines[1].replace("2}", "3}"), '{"batch": 3}', "[1]", '{"key": "c", "te')))
    assert traces._journal(journal) == {"x": {"seconds": 1}}  # of two with the same text nothing is known
    assert traces._journal(tmp_path / "none.jsonl") == {}
    assert traces._usage({"input_tokens": 3, "output_tokens": 2}) == {
        "input_tokens": 3,
        "output_tokens": 2,
        "total_tokens": 5,
    }
