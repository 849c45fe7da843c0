"""`harness export RUN --format lm-eval`: a run as lm-eval would have logged it (lm_eval.py)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.importers.checked import named
from harness.importers.stored import StoredRun
from harness.types import HarnessError


def export(run: StoredRun, folder: Path) -> list[Path]:
    """Writes a run as lm-eval would have: MODEL/results_DATE.json and MODEL/samples_DATASET_DATE.jsonl."""
    if run.repeats > 1:
        raise HarnessError(
            f"{run.folder} has {run.repeats} outputs of an example, and a sample of lm-eval has one score of each "
            "metric; expected one output each, or --format eee or csv"
        )
    date = run.ended.partition("+")[0].replace(":", "-")
    scores, task = run.headline, named(run.dataset)
    place = Path(run.model.replace("/", "__"))
    lines = [json.dumps(_row(row, run, scores), ensure_ascii=False) + "\n" for row in run.rows()]
    results = {
        "results": {task: {"alias": task, **{f"{name},none": run.scores[name]["estimate"] for name in scores}}},
        "configs": {task: {"task": task, "dataset_name": run.dataset}},
        "higher_is_better": {task: {name: run.scores[name]["higher_is_better"] for name in scores}},
        "n-samples": {task: {"original": len(lines), "effective": len(lines)}},
        "config": {"model": "harness", "model_args": {"pretrained": run.model}},
        "model_name": run.model,
        "model_name_sanitized": str(place),
        "harness_version": run.version,
    }
    return run.write(
        folder,
        {
            place / f"samples_{task}_{date}.jsonl": "".join(lines).encode(),
            place / f"results_{date}.json": json.dumps(results, indent=2, ensure_ascii=False).encode(),
        },
    )


def _row(row: Mapping[str, Any], run: StoredRun, scores: Sequence[str]) -> dict[str, Any]:
    doc = {name: row[name] for name in ("id", "source", "references")} | {name: row[name] for name in run.fields()}
    target = row["references"][0] if len(row["references"]) == 1 else str(list(row["references"]))
    values = {name: None if row[name] != row[name] else row[name] for name in scores}
    return {
        "doc_id": row["id"],
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": row["source"] or "", "arg_1": {}}},
        "resps": [[row["raw_output"] or ""]],
        "filtered_resps": [row["output"] or ""],
        "filter": "none",
        "metrics": list(scores),
        "doc_hash": _hashed(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": _hashed(row["source"] or ""),
        "target_hash": _hashed(target),
        **values,
    }


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
