"""Examples as traces in MLflow: what they hold, that they are there once, and what is asked for wrongly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.tracking import started_traces, traces
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
        assert "service.name" not in trace.info.tags  # OpenTelemetry would say `unknown_service`
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


def begun(uri: str, calls: list[list[Any]]) -> list[dict[str, Any]]:
    """Traces of a new store as it has them, begun in these calls."""
    store = client(uri)
    store.create_experiment("traces", "file:///nowhere")
    for infos in calls:
        started_traces.start(store, infos)
    experiment = store.get_experiment_by_name("traces").experiment_id
    there = store.search_traces(locations=[experiment], include_spans=False)
    return sorted((without_ids(trace.info.to_dict()) for trace in there), key=lambda info: info["trace_id"])


def without_ids(info: dict[str, Any]) -> dict[str, Any]:
    """A trace without the ids that MLflow makes up for its assessments."""
    kept = [{name: value for name, value in said.items() if name != "assessment_id"} for said in info["assessments"]]
    return {**info, "assessments": sorted(kept, key=lambda said: str(said["assessment_name"]))}


def trace_infos(number: int) -> list[Any]:
    from mlflow.entities import AssessmentSource, Expectation, Feedback, TraceInfo, TraceLocation, TraceState

    source = AssessmentSource(source_type="CODE", source_id="test")
    return [
        TraceInfo(
            trace_id=f"tr-{i}",
            trace_location=TraceLocation.from_experiment_id("1"),
            request_time=1000 + i,
            execution_duration=i,
            state=TraceState.OK,
            request_preview=f"question {i}",
            trace_metadata={"mlflow.user": "someone", "mlflow.trace.tokenUsage": '{"total_tokens": 3}'},
            tags={"mlflow.traceName": "system", "harness.example": str(i)},
            assessments=[
                Expectation("expected_response", f"answer {i}", source=source, create_time_ms=5, last_update_time_ms=5),
                Feedback("bleu", i / 10, source=source, create_time_ms=5, last_update_time_ms=5),
            ],
        )
        for i in range(number)
    ]


def test_traces_begun_together_are_those_begun_one_by_one(tmp_path: Path) -> None:
    infos = trace_infos(5)
    single = begun(f"sqlite:///{tmp_path}/single.db", [[info] for info in infos])
    assert len(single) == 5 and single[0]["assessments"]
    assert begun(f"sqlite:///{tmp_path}/together.db", [infos]) == single
    # another process began two of them meanwhile
    assert begun(f"sqlite:///{tmp_path}/raced.db", [infos[1:3], infos]) == single


def test_traces_are_begun_in_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy.orm import Session

    store = client(f"sqlite:///{tmp_path}/store.db")
    store.create_experiment("traces", "file:///nowhere")
    commits: list[Session] = []
    commit = Session.commit
    monkeypatch.setattr(Session, "commit", lambda self: (commits.append(self), commit(self))[1])
    started_traces.start(store, trace_infos(50))
    assert len(commits) < 5


def test_so_many_traces_are_refused(files: Path, cli: Cli) -> None:
    for wrong in ("-1", "10001"):
        called = cli(*RUN, f"tracking.traces={wrong}")
        assert called.code == 1
        assert f"tracking.traces={wrong}; expected 0 to 10,000: a trace an example" in called.err


def test_a_context_is_cut_as_any_text() -> None:
    contexts = [{"id": "c1", "text": "word " * 5000, "score": None}]
    (context,) = traces._inputs({"source": "a", "contexts": contexts})["contexts"]
    assert context["id"] == "c1" and "score" not in context
    assert context["text"].endswith(" … [5,000 more characters]")


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
