"""Run folders made up for tests: what is listed of a run, without the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCORES = {"bleu": (30.0, 28.0, 32.0), "bleu.p1": (60.0, 55.0, 65.0), "rouge1": (0.41, 0.39, 0.43)}


def write_run(folder: Path, name: str, **more: Any) -> Path:
    """A finished run's scores.json and manifest.json, the others empty; `more`: scores, dataset, system, ended, config, mlflow, failed."""
    folder.mkdir(parents=True)
    scores = {
        score: {
            "estimate": estimate, "low": low, "high": high, "level": 0.95, "method": "percentile", "resamples": 100,
            "signature": "nrefs:1", "higher_is_better": True,
        }
        for score, (estimate, low, high) in more.get("scores", SCORES).items()
    }  # fmt: skip
    told = {"schema": 1, "name": name, "examples": 100, "failed": more.get("failed", 0), "health": {}, "scores": scores}
    manifest = {
        "schema": 1, "name": name, "key": "k", "files": {}, "metrics": {}, "group": None, "git": {"commit": "abc123", "dirty": False},
        "dataset": {"name": more.get("dataset", "dev"), "key": more.get("dataset", "dev"), "cluster": None},
        "system": {"name": more.get("system", name), "key": "k", "step": None, "series": None},
        "started": more.get("ended", "2026-03-01T10:00:00+00:00"),
        "ended": more.get("ended", "2026-03-01T10:00:00+00:00"),
        "mlflow": more.get("mlflow"), "mlflow_run_ids": [],
        "config": {
            "limit": None, "stats": {"seed": 1, "strata": None}, "tracking": {"experiment": "harness"},
            "system": {"_target_": "x.Y", "model": "gpt2"}, **more.get("config", {}),
        },
    }  # fmt: skip
    for file in ("examples.parquet", "statistics.parquet"):
        (folder / file).touch()
    (folder / "scores.json").write_text(json.dumps(told))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
