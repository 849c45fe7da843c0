"""`harness export RUN --format eee`: a run as a record of Every Eval Ever (eee.py), a row for each example and headline
score, with the interval of each score as its uncertainty.

What the format has no place for stands in fields of our own, so that the record imported again is on the same data.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.importers.checked import named
from harness.importers.eee import CLUSTER, DATA, EXAMPLE, NAME, REPEAT, SYSTEM, VALUES, VERSION
from harness.importers.stored import StoredRun, stamp

SOURCE = {
    "source_name": "harness",
    "source_type": "evaluation_run",
    "source_organization_name": "unknown",
    "evaluator_relationship": "other",
}


def export(run: StoredRun, folder: Path) -> list[Path]:
    """Writes a run below a folder as EEE has them: data/DATASET/DEVELOPER/MODEL/UUID.json and the samples."""
    unique = uuid.UUID(bytes=hashlib.sha256(f"{run.key} {NAME} {VERSION}".encode()).digest()[:16], version=4)
    model = run.model if "/" in run.model else f"unknown/{run.model}"
    developer, name = _split(model)
    place = Path("data", named(run.dataset), developer, name)
    evaluation = f"{run.dataset}/{model}/{stamp(run.ended)}"
    scores = run.headline
    details = {"deployment_type": "unknown", "model_availability": "unknown"}
    details |= {SYSTEM: run.system, DATA: run.dataset_key}
    if run.cluster is not None:
        details[CLUSTER] = run.cluster
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(run, model, evaluation, scores)]
    content = "".join(lines).encode()
    sidecar = place / f"{unique}_samples.jsonl"
    record = {
        "schema_version": VERSION,
        "evaluation_id": evaluation,
        "evaluation_timestamp": run.ended,
        "retrieved_timestamp": stamp(run.ended),
        "source_metadata": SOURCE,
        "eval_library": {"name": "harness", "version": run.version},
        "model_info": {"name": run.system, "id": model, "additional_details": details},
        "evaluation_results": [_result(run, score) for score in scores],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": sidecar.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(content).hexdigest(),
            "total_rows": len(lines),
        },
    }
    record_content = json.dumps(record, indent=2, ensure_ascii=False).encode()
    return run.write(folder, {sidecar: content, place / f"{unique}.json": record_content})


def _split(model: str) -> tuple[str, str]:
    developer, _, name = model.rpartition("/")
    return named(developer), re.sub(r"[^\w.+-]+", "_", name) or "model"


def _result(run: StoredRun, name: str) -> dict[str, Any]:
    score = run.scores[name]
    there = {"lower": "low", "upper": "high", "confidence_level": "level", "method": "method"}
    interval = {name: score[here] for name, here in there.items()}
    known = score["low"] is not None and score["high"] is not None
    uncertainty = {"num_samples": run.examples, **({"confidence_interval": interval} if known else {})}
    return {
        "evaluation_result_id": f"{run.dataset}/{name}",
        "evaluation_name": run.dataset,
        "source_data": {
            "dataset_name": run.dataset,
            "source_type": "other",
            "additional_details": {"key": run.dataset_key},
        },
        "metric_config": {
            "metric_id": name,
            "metric_name": name,
            "lower_is_better": not score["higher_is_better"],
            "additional_details": {"signature": score["signature"]},
        },
        "score_details": {"score": score["estimate"], "uncertainty": uncertainty},
    }  # fmt: skip


def _rows(run: StoredRun, model: str, evaluation: str, scores: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One for each example and headline score; several outputs of an example are samples ID#1, ID#2, …

    A sample is correct whose score is the best that there is: 1, or 100 where some score is above 1.
    """
    best = {name: run.best(name) for name in scores}
    for row, fields in zip(run.rows(), run.data_fields(), strict=True):
        metadata = {name: str(value) for name, value in fields.items() if value is not None}
        others = {name: value for name, value in fields.items() if not isinstance(value, str)}
        if row["source"] is None:
            others["source"] = None
        if others:
            metadata[VALUES] = json.dumps(others, ensure_ascii=False, sort_keys=True)
        if run.repeats > 1:
            metadata |= {EXAMPLE: row["id"], REPEAT: str(row["repeat"])}
        sample = row["id"] if run.repeats == 1 else f"{row['id']}#{row['repeat'] + 1}"
        asked = {"raw": row["source"] or "", "reference": list(row["references"])}
        hashed = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        answer = {
            "turn_idx": 0,
            "source": "output.raw",
            "extracted_value": row["output"] or "",
            "extraction_method": "none" if row["output"] == row["raw_output"] else "postprocess",
            "is_terminal": True,
        }
        for name in scores:
            value = row[name]
            failed = row["error"] or (f"no {name}" if value is None or value != value else None)
            yield {
                "schema_version": VERSION,
                "evaluation_id": evaluation,
                "model_id": model,
                "evaluation_name": run.dataset,
                "evaluation_result_id": f"{run.dataset}/{name}",
                "sample_id": sample,
                "sample_hash": hashed,
                "interaction_type": "single_turn",
                "input": asked,
                "output": {"raw": [row["raw_output"] or ""]},
                "answer_attribution": [answer],
                "evaluation": {"score": 0.0 if failed else value, "is_correct": not failed and value >= best[name]},
                "error": failed,
                "metadata": metadata,
            }
