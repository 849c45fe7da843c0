"""Examples as traces in MLflow (`tracking.traces=100`): its own pages then show, filter and compare them.

A trace an example, for the first so many of the data set: the source and the contexts as inputs, the output, tokens and
seconds where the journal tells them, the reference as an expectation, each headline score as feedback with its metric's
signature. Ids are made of run, example and repeat, so that what is there is not logged again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.inputs.files import digest
from harness.tracking import started_traces
from harness.tracking.content import milliseconds
from harness.tracking.labelling import user
from harness.types import RunResult
from harness.types.shown import counted

TAG = "harness.traces"
PAGE = 500
"""Traces that a server gives at once, at most."""
MAX_TRACES = 10_000
MAX_TEXT = 20_000
"""Characters of a text in a trace; examples.parquet has all of it."""
MAX_PREVIEW = 1000
MAX_JOURNAL = 2**26
"""Bytes of a journal that is read for tokens and seconds."""
AT_ONCE = 500
"""Traces that are written together."""
CONTEXTS = "contexts"


@dataclass(frozen=True)
class Place:
    """Where traces go, and what they belong to."""

    experiment: str
    run_id: str
    model: str | None


def log_traces(client: Any, place: Place, run: RunResult, most: int) -> int:
    """Logs those of the first `most` examples that are not there; how many were not."""
    assert run.path is not None
    rows = list(_rows(run.path / "examples.parquet", run, min(most, MAX_TRACES)))
    known = set(_known(client, place))
    infos = _journal(run.path / "outputs.jsonl")
    made = 0
    for first in range(0, len(rows), AT_ONCE):
        traces = [
            _trace(row, place, run, infos.get(str(row.get("raw_output") or row.get("output")), {}))
            for row in rows[first : first + AT_ONCE]
        ]
        new = [info for info, _ in traces if info.trace_id not in known]
        started_traces.start(client, new)
        made += len(new)
        spans = [span for _, span in traces]
        client._tracing_client.log_spans(place.experiment, spans)  # again where a call was cut short: they stay one
    return made


def _known(client: Any, place: Place) -> Iterator[str]:
    """The ids of the run's traces that are there."""
    token = None
    while True:
        page = client.search_traces(
            locations=[place.experiment],
            run_id=place.run_id,
            max_results=PAGE,
            page_token=token,
            include_spans=False,
        )
        yield from (trace.info.trace_id for trace in page)
        token = page.token
        if not token:
            return


def _rows(path: Path, run: RunResult, most: int) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    headlines = [name for name, score in run.scores.items() if score.headline]
    with pq.ParquetFile(path) as file:
        wanted = ("id", "repeat", "source", "references", CONTEXTS, "output", "raw_output", "error", *headlines)
        names = [name for name in wanted if name in file.schema_arrow.names]
        for batch in file.iter_batches(min(most, 1000) or 1, columns=names, use_threads=False):
            for row in batch.to_pylist():
                if most <= 0:
                    return
                most -= 1
                yield row


def _journal(path: Path) -> dict[str, Mapping[str, Any]]:
    """What is known of each output beside its text, by the text, for those that no two examples share."""
    if not path.exists() or path.stat().st_size > MAX_JOURNAL:
        return {}
    infos: dict[str, Mapping[str, Any]] = {}
    count: Counter[str] = Counter()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:  # the end of one that was cut
                continue
            text = record.get("text") if isinstance(record, dict) else None
            if isinstance(text, str) and isinstance(record.get("info"), dict):
                infos[text] = record["info"]
                count[text] += 1
    return {text: info for text, info in infos.items() if count[text] == 1}


def _trace(row: Mapping[str, Any], place: Place, run: RunResult, known: Mapping[str, Any]) -> tuple[Any, Any]:
    """(the trace, its one span)."""
    from mlflow.entities import TraceInfo, TraceLocation, TraceState

    number = digest([place.run_id, str(row["id"]), row.get("repeat", 0)])[:32]
    trace_id = f"tr-{number}"
    end = milliseconds(run.manifest["ended"])
    seconds = known.get("seconds") if isinstance(known.get("seconds"), int | float) else 0
    start = end - round(1000 * (seconds or 0))
    inputs = _inputs(row)
    output = _cut(row.get("output"))
    usage = _usage(known)
    metadata = {"mlflow.sourceRun": place.run_id, "mlflow.user": user()}
    if place.model is not None:
        metadata["mlflow.modelId"] = place.model
    if usage:
        metadata["mlflow.trace.tokenUsage"] = json.dumps(usage)
    info = TraceInfo(
        trace_id=trace_id,
        trace_location=TraceLocation.from_experiment_id(place.experiment),
        request_time=start,
        state=TraceState.OK if row.get("error") is None else TraceState.ERROR,
        request_preview=str(inputs["source"] or "")[:MAX_PREVIEW],
        response_preview=str(output or row.get("error") or "")[:MAX_PREVIEW],
        execution_duration=end - start,
        trace_metadata=metadata,
        tags={"mlflow.traceName": run.system[:200], "harness.example": str(row["id"])[:200]},
        assessments=list(_assessments(row, run, trace_id, end)),
    )
    times = (start * 1_000_000, end * 1_000_000)
    return info, _span(number, run.system, (inputs, output, row.get("error"), usage), times)


def _inputs(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the system saw; of a context what is known of it.

    >>> _inputs({"source": "why?", "contexts": [{"id": None, "text": "so", "score": 0.5}]})
    {'source': 'why?', 'contexts': [{'text': 'so', 'score': 0.5}]}
    """
    inputs: dict[str, Any] = {"source": _cut(row.get("source"))}
    if row.get(CONTEXTS) is not None:
        parts = [part if isinstance(part, Mapping) else {"text": part} for part in row[CONTEXTS]]
        inputs[CONTEXTS] = [{name: _cut(value) for name, value in part.items() if value is not None} for part in parts]
    return inputs


def _usage(known: Mapping[str, Any]) -> dict[str, int]:
    tokens = {name: known.get(name) for name in ("input_tokens", "output_tokens")}
    usage = {name: value for name, value in tokens.items() if isinstance(value, int)}
    return {**usage, "total_tokens": sum(usage.values())} if usage else {}


def _assessments(row: Mapping[str, Any], run: RunResult, trace_id: str, moment: int) -> Iterator[Any]:
    """The reference as an expectation, each score as feedback."""
    from mlflow.entities import AssessmentSource, Expectation, Feedback

    source = AssessmentSource(source_type="CODE", source_id=f"harness {run.manifest['harness']}")
    times = {"create_time_ms": moment, "last_update_time_ms": moment}
    references = [_cut(text) for text in row.get("references") or []]
    if references:
        value = references[0] if len(references) == 1 else references
        yield Expectation("expected_response", value, source=source, trace_id=trace_id, **times)
    for name, score in run.scores.items():
        value = row.get(name)
        if score.headline and isinstance(value, int | float) and value == value:
            signature = {"signature": score.signature} if score.signature else {}
            yield Feedback(name, float(value), source=source, trace_id=trace_id, metadata=signature, **times)


def _span(number: str, name: str, content: Sequence[Any], times: tuple[int, int]) -> Any:
    """The root span, as OpenTelemetry has it."""
    from mlflow.entities import Span
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext, Status, StatusCode

    inputs, output, error, usage = content
    attributes = {
        "mlflow.traceRequestId": f"tr-{number}",
        "mlflow.spanType": "LLM",
        "mlflow.spanInputs": inputs,
        "mlflow.spanOutputs": output,
        **({"mlflow.chat.tokenUsage": usage} if usage else {}),
    }
    context = SpanContext(int(number, 16), int(number[:16], 16) or 1, is_remote=False)
    status = Status(StatusCode.OK) if error is None else Status(StatusCode.ERROR, _cut(error))
    written = {key: json.dumps(value, ensure_ascii=False) for key, value in attributes.items()}
    nobody = Resource.get_empty()  # else each trace has a tag `service.name`, `unknown_service`
    return Span(ReadableSpan(name, context, resource=nobody, attributes=written, status=status,
                             start_time=times[0], end_time=times[1]))  # fmt: skip


def _cut(text: Any) -> Any:
    """A text in a trace, without what databases refuse."""
    if not isinstance(text, str):
        return text
    text = text.replace("\0", "\ufffd")
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} … [{counted(len(text) - MAX_TEXT, 'more character')}]"
