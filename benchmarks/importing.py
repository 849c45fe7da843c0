"""`harness import` of 100,000 samples of each format, beside reading the same file with the format's own library.

Inspect and Every Eval Ever need packages that do not fit beside ours: the environment variables INSPECT_PYTHON and
EEE_PYTHON name the interpreters of virtual environments that have them; a row without one is left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SAMPLES = 100_000
LOGS = Path(__file__).parent.parent / "tests" / "importers" / "logs"
OURS = """
import sys, time
import harness
start = time.perf_counter()
harness.import_logs(sys.argv[1], output_dir=sys.argv[1] + ".run", metrics=sys.argv[2:])
print(time.perf_counter() - start)
"""
JSON = """
import json, sys, time
from pathlib import Path
start = time.perf_counter()
for path in Path(sys.argv[1]).rglob("samples_*.jsonl"):
    rows = [json.loads(line) for line in open(path)]
print(time.perf_counter() - start)
"""
DATASETS = """
import sys, tempfile, time
import datasets
datasets.disable_progress_bars()
with tempfile.TemporaryDirectory() as folder:
    start = time.perf_counter()
    datasets.load_dataset("json", data_files=f"{sys.argv[1]}/m/*.jsonl", cache_dir=folder, split="train")
    print(time.perf_counter() - start)
"""
INSPECT = """
import sys, time
from inspect_ai.log import read_eval_log
start = time.perf_counter()
read_eval_log(sys.argv[1])
print(time.perf_counter() - start)
"""
EEE = """
import sys, time
from every_eval_ever.eval_types import EvaluationLog
from every_eval_ever.instance_level_types import InstanceLevelEvaluationLog
from pathlib import Path
start = time.perf_counter()
for path in Path(sys.argv[1]).glob("*.json"):
    EvaluationLog.model_validate_json(path.read_bytes())
for path in Path(sys.argv[1]).glob("*.jsonl"):
    rows = [InstanceLevelEvaluationLog.model_validate_json(line) for line in open(path)]
print(time.perf_counter() - start)
"""
SACREBLEU = """
import sys, time
from pathlib import Path
import sacrebleu
start = time.perf_counter()
texts = {name: (Path(sys.argv[1]) / name).read_text().splitlines() for name in ("sys.en", "ref.en")}
sacrebleu.corpus_bleu(texts["sys.en"], [texts["ref.en"]])
print(time.perf_counter() - start)
"""
PACK = """
import json, sys, zipfile
import zipfile_zstd
source, target, samples = sys.argv[1], sys.argv[2], int(sys.argv[3])
with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_ZSTANDARD) as made:
    names = [name for name in archive.namelist() if name.startswith("samples/")]
    rows = [json.loads(archive.read(name)) for name in names]
    for row in rows:
        row.update(events=[], attachments={}, store={})
        row.pop("events_data", None)
    header = json.loads(archive.read("header.json"))
    header["results"]["total_samples"] = header["results"]["completed_samples"] = samples
    header["eval"]["model_args"] = {}
    for i in range(samples):
        made.writestr(f"samples/{i}_epoch_1.json", json.dumps({**rows[i % len(rows)], "id": i, "epoch": 1}))
    made.writestr("header.json", json.dumps(header))
"""


def tables() -> Iterator[str]:
    yield (
        f"{SAMPLES:,} samples, made from the logs of tests/importers. `harness import` reads and checks them, "
        "estimates every score with its interval and writes the run; its own library only reads the file (sacreBLEU "
        "scores too). The better of two, imports of modules left out. Inspect's samples have no transcripts."
    )
    yield ""
    yield f"| {SAMPLES:,} samples | MB | `harness import`, s | own library, s | ratio |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    with tempfile.TemporaryDirectory() as folder:
        for name, make, python, peer, metrics in FORMATS:
            if python is None:
                continue
            place = make(Path(folder))
            size = sum(path.stat().st_size for path in ([place] if place.is_file() else place.rglob("*.*"))) / 1e6
            ours = min(seconds(sys.executable, OURS, str(place), *metrics) for _ in range(2))
            theirs = min(seconds(python, peer, str(place)) for _ in range(2))
            yield f"| {name} | {size:,.0f} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |"


def seconds(python: str, code: str, *arguments: str) -> float:
    """What a script says that it took, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)} if python == sys.executable else None
    time.sleep(0.1)
    said = subprocess.run(
        [python, "-c", code, *arguments], check=True, capture_output=True, text=True, env=environment
    ).stdout
    return float(said.split()[-1])


def lm_eval(folder: Path) -> Path:
    place = folder / "lm-eval"
    if not place.exists():
        (place / "m").mkdir(parents=True)
        (source,) = (LOGS / "lm-eval" / "smollm2").glob("samples_qa_gen_*")
        rows = [json.loads(line) for line in source.read_text().splitlines()]
        rows = [row for row in rows if row["filter"] == "strict"]
        _lines(
            place / "m" / "samples_qa_2026-01-01T00-00-00.jsonl",
            rows,
            "doc_id",
            lambda row, i: row.update(exact_match=i % 2),
        )
    return place


def eee(folder: Path) -> Path:
    place = folder / "eee"
    place.mkdir()
    (record,) = (LOGS / "eee").glob("*.json")
    content = json.loads(record.read_text())
    content["detailed_evaluation_results"].pop("checksum", None)
    content["detailed_evaluation_results"]["total_rows"] = SAMPLES
    (place / record.name).write_text(json.dumps(content))
    source = (LOGS / "eee" / f"{record.stem}_samples.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, source) if row["evaluation_result_id"] == "acc"]
    _lines(place / f"{record.stem}_samples.jsonl", rows, "sample_id", lambda row, i: row.update(sample_id=str(i)))
    return place


def inspect_ai(folder: Path) -> Path:
    place = folder / "log.eval"
    python = os.environ["INSPECT_PYTHON"]
    subprocess.run([python, "-c", PACK, str(LOGS / "inspect" / "good.eval"), str(place), str(SAMPLES)], check=True)
    return place


def aligned(folder: Path) -> Path:
    place = folder / "aligned"
    place.mkdir()
    texts = [json.loads(line)["question"] for line in (LOGS / "qa.jsonl").read_text().splitlines()]
    for name, other in (("ref.en", ""), ("sys.en", " now")):
        lines = (f"{texts[i % len(texts)]} {i}{other if i % 3 else ''}\n" for i in range(SAMPLES))
        (place / name).write_text("".join(lines))
    return place


def _lines(path: Path, rows: list[dict[str, Any]], id_: str, change: Callable[[dict[str, Any], int], None]) -> None:
    with open(path, "w") as file:
        for i in range(SAMPLES):
            row = {**rows[i % len(rows)], id_: i}
            change(row, i)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


FORMATS = (
    ("lm-eval, json", lm_eval, sys.executable, JSON, ()),
    ("lm-eval, datasets", lm_eval, sys.executable, DATASETS, ()),
    ("Inspect .eval, `read_eval_log`", inspect_ai, os.environ.get("INSPECT_PYTHON"), INSPECT, ()),
    ("Every Eval Ever, its types", eee, os.environ.get("EEE_PYTHON"), EEE, ()),
    ("aligned lines, sacreBLEU", aligned, sys.executable, SACREBLEU, ("bleu",)),
)
