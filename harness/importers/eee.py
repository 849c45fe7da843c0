"""Every Eval Ever (EEE): a record of an evaluation, `UUID.json`, with its samples beside it, `UUID_samples.jsonl`.
https://evalevalai.com/projects/every-eval-ever

| there | here |
| --- | --- |
| `evaluation_name` of a sample | data set |
| `model_info.id` | system |
| `sample_id` | id |
| `input.raw`, `input.reference` | source, references |
| the first of `output.raw`; of a conversation the last answer; `error` | output |
| `evaluation.score` of each `evaluation_result_id` | score, named by its `metric_name`, `metric_id` or the id |
| `lower_is_better` | lower is better |
| texts, numbers and flags of `metadata` | fields, which do not count as data: they may say something of the output |

An EEE record without samples has nothing that could be resampled, and is refused. `harness export RUN --format eee`
(eee_export.py) writes more into a record: then the fields are data again, and the imported run pairs with the exported.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.importers import eee_columns
from harness.importers.checked import Choice, items, mapping, named, plain
from harness.importers.json_tables import Odd
from harness.importers.log import Log, Origin, Sample
from harness.inputs import files
from harness.types import HarnessError
from harness.types.shown import counted

NAME = "eee"
VERSION = "0.3.0"
KNOWN = (0, 3)
"""The newest version of the schema."""
EXPECTED = "a record of Every Eval Ever"
EXAMPLE, REPEAT = "harness_example", "harness_repeat"
"""Fields in which an exported run says which output of which example a sample is."""
VALUES = "harness_values"
"""The field in which it has, as JSON, what of an example is no text: a source of none among them."""
SYSTEM, CLUSTER, DATA = "harness_system", "harness_cluster", "harness_data"
"""Details in which it says what its system is called, by which field its examples belong together, and the key of its
data."""
Samples = dict[str, tuple[str, dict[str, Any], dict[str, float | None]]]
"""By id: (where it is, its first row, its scores)."""
NEEDED = ("evaluation_id", "model_info", "evaluation_results", "schema_version")


def refusal(path: Path) -> str | None:
    """Why a path is none of this format; None: it is."""
    if path.is_dir():
        return None if _files(path) else "no UUID_samples.jsonl with a UUID.json beside it, in it"
    if path.suffix != ".json":
        return "its name does not end with .json"
    return None if _is_record(path) else "it has no schema_version and evaluation_results"


def _is_record(path: Path) -> bool:
    content = path.read_bytes()
    return b'"schema_version"' in content and b'"evaluation_results"' in content


def _files(folder: Path) -> list[Path]:
    records = (path.with_name(path.name.replace("_samples.jsonl", ".json")) for path in folder.rglob("*_samples.jsonl"))
    return sorted(path for path in records if path.exists() and _is_record(path))


def logs(path: Path, choice: Choice) -> Iterator[Log]:
    """A log for each evaluation of each record."""
    for file in _files(path) if path.is_dir() else [path]:
        yield from _logs(file, choice)


def _logs(file: Path, choice: Choice) -> list[Log]:
    record = files.read_json(file, EXPECTED)
    _check(file, record)
    samples = _samples_of(file)
    if not samples.exists():
        raise HarnessError(
            f"{file} has no {samples.name} beside it; expected a record with its samples: a score alone has no "
            "interval and no test"
        )
    described = mapping(record.get("detailed_evaluation_results"), str(file), "detailed_evaluation_results")
    _check_whole(samples, described)
    names = {result.get("evaluation_result_id"): result for result in record["evaluation_results"]}
    logs = _in_columns(file, record, names, choice)
    if logs is not None:
        _check_count(file, described, sum(map(len, logs)))
        return logs
    count = 0
    rows: dict[str, Samples] = {}
    seen: set[tuple[str, str, str]] = set()
    for place, row in files.read_rows(samples, EXPECTED):
        for needed in ("sample_id", "input", "evaluation", "evaluation_name"):
            if needed not in row:
                raise files.missing_field(place, needed, row, f" ({EXPECTED})")
        score = _score_name(_result_id(row, place), names)
        dataset, id_ = str(row["evaluation_name"]), files.identifier(row["sample_id"], place, "sample_id")
        if (dataset, id_, score) in seen:
            raise HarnessError(f"{place} has the sample {id_!r} a second time; expected each once")
        seen.add((dataset, id_, score))
        count += 1
        of_dataset = rows.setdefault(dataset, {})
        _, first, scores = of_dataset.setdefault(id_, (place, row, {}))
        if row.get("error") is None:
            if first.get("error") is not None:  # one score failed, not the sample
                of_dataset[id_] = place, row, scores
            choice.keep(scores, score, mapping(row["evaluation"], place, "evaluation").get("score"), place)
    if not rows:
        raise HarnessError(f"{samples} is empty; expected the samples of {file.name}")
    _check_count(file, described, count)
    return [_log(file, record, dataset, of_dataset) for dataset, of_dataset in rows.items()]


def _in_columns(
    file: Path, record: Mapping[str, Any], names: Mapping[Any, Mapping[str, Any]], choice: Choice
) -> list[Log] | None:
    """A log for each data set; None where the samples are to be read row by row."""
    logs: dict[str, Log] = {}
    try:
        for dataset, samples in eee_columns.by_dataset(
            _samples_of(file), choice, lambda result: _score_name(result, names), frozenset((EXAMPLE, REPEAT, VALUES))
        ):
            if dataset not in logs:
                logs[dataset] = Log(_origin(file, record, dataset))
            if not logs[dataset].takes(samples):  # a sample has several scores
                return None
            logs[dataset].extend(samples)
    except Odd:
        return None
    return list(logs.values()) or None


def _samples_of(record: Path) -> Path:
    return record.with_name(f"{record.stem}_samples.jsonl")


def _check_count(file: Path, described: Mapping[str, Any], count: int) -> None:
    expected = described.get("total_rows")
    if isinstance(expected, int) and expected != count:
        raise HarnessError(
            f"{_samples_of(file)} has {counted(count, 'row')}; expected {expected}, as {file.name} says: "
            "the log is not whole"
        )


def _check(file: Path, record: Any) -> None:
    if not isinstance(record, dict) or any(name not in record for name in NEEDED):
        raise HarnessError(f"{file} lacks one of {', '.join(NEEDED)}; expected {EXPECTED}")
    version = str(record["schema_version"])
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if not numbers or numbers > KNOWN:
        raise HarnessError(f"{file} is of the schema {version}; expected one up to {VERSION}, which is known")
    for result in items(record["evaluation_results"], str(file), "evaluation_results"):
        mapping(mapping(result, str(file), "evaluation_results").get("metric_config"), str(file), "metric_config")
        _result_id(result, str(file))


def _check_whole(samples: Path, described: Mapping[str, Any]) -> None:
    """The file that the record was written with."""
    checksum, algorithm = described.get("checksum"), described.get("hash_algorithm")
    if checksum and algorithm in ("sha256", "md5"):
        with open(samples, "rb") as handle:
            there = hashlib.file_digest(handle, algorithm).hexdigest()
        if there != checksum:
            raise HarnessError(
                f"{samples} has the {algorithm} {there[:12]}…; expected {checksum[:12]}…, as its record says: the file "
                "is not whole, or was changed"
            )


def _result_id(of: Mapping[str, Any], place: str) -> str | None:
    """Of a sample or a result."""
    value = of.get("evaluation_result_id")
    if value is None or isinstance(value, str):
        return value
    raise HarnessError(f"{place}: 'evaluation_result_id' is {str(value)[:40]!r}; expected a text")


def _score_name(result: Any, names: Mapping[Any, Mapping[str, Any]]) -> str:
    about = names.get(result) or (next(iter(names.values())) if len(names) == 1 else {})
    config = about.get("metric_config") or {}
    return named(str(config.get("metric_name") or config.get("metric_id") or result or "score"))


def _origin(file: Path, record: Mapping[str, Any], dataset: str) -> Origin:
    about = mapping(record["model_info"], str(file), "model_info")
    model = str(about.get("id") or about.get("name") or "model")
    lower = [
        _score_name(result.get("evaluation_result_id"), {result.get("evaluation_result_id"): result})
        for result in record["evaluation_results"]
        if (result.get("metric_config") or {}).get("lower_is_better") is True
    ]
    library = mapping(record.get("eval_library"), str(file), "eval_library")
    details = mapping(about.get("additional_details"), str(file), "additional_details")
    return Origin(
        NAME,
        str(file),
        dataset=named(dataset),
        system=str(details.get(SYSTEM) or model.rpartition("/")[2] or model),
        version=str(library.get("version") or "") or None,
        model=model,
        cluster=details.get(CLUSTER),
        of_data=DATA in details,
        data_key=details.get(DATA),
        library=str(library.get("name") or "") or None,
        lower_is_better=frozenset(lower),
    )


def _log(file: Path, record: Mapping[str, Any], dataset: str, rows: Samples) -> Log:
    result = Log(_origin(file, record, dataset))
    for id_, (place, row, scores) in rows.items():
        asked = mapping(row["input"], place, "input")
        fields = plain(mapping(row.get("metadata"), place, "metadata"))
        exact = _exact(fields.pop(VALUES, None), place)
        source = exact.pop("source", asked.get("raw"))
        references, error = asked.get("reference"), row.get("error")
        if isinstance(references, str):
            references = [references]
        result.add(
            Sample(
                fields.pop(EXAMPLE, id_),
                source,
                [str(text) for text in items(references, place, "reference")],
                _output(row, place) if error is None else None,
                scores,
                {**fields, **exact},
                None if error is None else str(error),
                _repeat(fields.pop(REPEAT, 0), place) + 1,
                _info(row, place),
            ),
            place,
        )
    return result


def _exact(text: Any, place: str) -> dict[str, Any]:
    """What of an exported example is no text; empty where that says nothing."""
    if text is None:
        return {}
    try:
        return dict(mapping(json.loads(str(text)), place, VALUES))
    except ValueError:
        raise HarnessError(f"{place}: {VALUES!r} is {str(text)[:40]!r}; expected JSON") from None


def _repeat(value: Any, place: str) -> int:
    if not str(value).isdecimal():
        raise HarnessError(f"{place}: {REPEAT!r} is {str(value)[:40]!r}; expected a whole number")
    return int(value)


def _output(row: Mapping[str, Any], place: str) -> str | None:
    if row.get("output") is not None:
        raw = mapping(row["output"], place, "output").get("raw")
        return str(raw[0]) if isinstance(raw, list) and raw else raw if isinstance(raw, str) else ""
    messages = [mapping(message, place, "messages") for message in items(row.get("messages"), place, "messages")]
    answers = [message for message in messages if message.get("role") == "assistant"]
    return str(answers[-1].get("content") or "") if answers else None


def _info(row: Mapping[str, Any], place: str) -> dict[str, Any]:
    usage = mapping(row.get("token_usage"), place, "token_usage")
    latency = mapping(row.get("performance"), place, "performance").get("latency_ms")
    info = {name: usage[name] for name in ("input_tokens", "output_tokens") if usage.get(name) is not None}
    return {**info, "seconds": latency / 1000} if isinstance(latency, int | float) else info
