"""Logs of Inspect, `.eval` and `.json`: samples, epochs as repeats, every scorer's value a score.
https://inspect.aisi.org.uk/eval-logs.html

| there | here |
| --- | --- |
| `eval.task` | data set |
| sample `id` | id |
| `epoch` 1, 2, … | repeat 0, 1, … |
| `input`; of messages their texts | source |
| `target` | references |
| `output.completion`; `error` where the sample failed | output |
| `scores.NAME.value`: a number, true or false, or C, P, I, N as 1, 0.5, 0, 0 | score `NAME` |
| a value that is a mapping | a score `NAME_KEY` for each key |
| texts, numbers and flags of `metadata` | fields |
| `cluster` of a metric, such as `stderr(cluster="topic")` | the cluster |

A text that Inspect would count as 0 is refused: it is no number.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from harness.importers.checked import Choice, items, mapping, named, plain
from harness.importers.log import Log, Origin, Sample
from harness.inputs import files
from harness.types import HarnessError
from harness.types.shown import counted

NAME = "inspect"
KNOWN = 2
"""The newest version of the log format."""
EXPECTED = "a log of Inspect"
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
ZSTANDARD = 93
"""What Inspect compresses its logs with; Python's zipfile cannot."""
LOCAL_HEADER = struct.Struct("<26xHH")
MOST = 2**31
"""Bytes of one sample."""


def refusal(path: Path) -> str | None:
    """Why a path is none of this format; None: it is."""
    if path.is_dir():
        return None if _files(path) else "no .eval file, and no .json with version, eval and samples, in it"
    if path.suffix == ".eval":
        return None if zipfile.is_zipfile(path) else "it is no whole zip archive"
    if path.suffix != ".json":
        return "its name ends neither with .eval nor with .json"
    return None if _is_log(path) else "it has no version, status and eval at its start"


def _is_log(path: Path) -> bool:
    with open(path, "rb") as file:
        head = file.read(4096)
    return b'"version"' in head and b'"status"' in head and b'"eval"' in head


def _files(folder: Path) -> list[Path]:
    """Those below a folder; a .json beside a .eval of the same name is the same log once more."""
    others = (path for path in folder.rglob("*.json") if not path.with_suffix(".eval").exists() and _is_log(path))
    return sorted([*folder.rglob("*.eval"), *others])


def logs(path: Path, choice: Choice) -> Iterator[Log]:
    """A log for each file."""
    for file in _files(path) if path.is_dir() else [path]:
        yield _log(file, choice)


def _log(file: Path, choice: Choice) -> Log:
    header, samples = _archive(file) if file.suffix == ".eval" else _document(file)
    _check(file, header)
    result = Log(_origin(file, header))
    for place, sample in samples:
        result.add(_sample(sample, place, choice), place)
    expected = mapping(header.get("results"), str(file), "results").get("total_samples")
    if isinstance(expected, int) and expected != len(result):
        raise HarnessError(
            f"{file} has {counted(len(result), 'sample')}; expected {expected}, as its header says: half a log"
        )
    if not len(result):
        raise HarnessError(f"{file} has no samples; expected {EXPECTED} with samples (log_samples)")
    return result


def _check(file: Path, header: Mapping[str, Any]) -> None:
    version, status = header.get("version"), header.get("status")
    if not isinstance(version, int) or not isinstance(header.get("eval"), dict):
        raise HarnessError(f"{file} has no version and eval; expected {EXPECTED}")
    if version > KNOWN:
        raise HarnessError(f"{file} is of version {version}; expected one up to {KNOWN}, whose logs are known")
    if status != "success":
        raise HarnessError(f"{file} ended with the status {status!r}; expected 'success': half a log is no result")


def _origin(file: Path, header: Mapping[str, Any]) -> Origin:
    about = header["eval"]
    model = str(about.get("model") or "model")
    return Origin(
        NAME,
        str(file),
        dataset=named(str(about.get("task") or "task").rpartition("/")[2]),
        system=model.rpartition("/")[2] or model,
        version=mapping(about.get("packages"), str(file), "packages").get("inspect_ai"),
        model=model,
        cluster=_cluster(mapping(header.get("results"), str(file), "results"), str(file)),
    )


def _cluster(results: Mapping[str, Any], place: str) -> str | None:
    """The field that a metric of Inspect's own was clustered by."""
    for score in items(results.get("scores"), place, "scores"):
        metrics = mapping(mapping(score, place, "scores").get("metrics"), place, "metrics")
        for name, metric in metrics.items():
            cluster = mapping(mapping(metric, place, name).get("params"), place, "params").get("cluster")
            if isinstance(cluster, str):
                return cluster
    return None


# ---------------------------------------------------------------- files


Rows = Iterator[tuple[str, Mapping[str, Any]]]
"""(where it is, the sample)."""


def _document(file: Path) -> tuple[Mapping[str, Any], Rows]:
    content = files.read_json(file, EXPECTED)
    if not isinstance(content, dict):
        raise HarnessError(f"{file} holds no object; expected {EXPECTED}")
    return content, files.item_rows(file, items(content.get("samples"), str(file), "samples"))


def _archive(file: Path) -> tuple[Mapping[str, Any], Rows]:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except (OSError, zipfile.BadZipFile) as error:
        raise HarnessError(f"{file} cannot be read ({error}); expected {EXPECTED}") from None
    header = next((entry for entry in entries if entry.filename == "header.json"), None)
    if header is None:
        raise HarnessError(f"{file} has no header.json: the evaluation did not end; expected {EXPECTED}, whole")
    samples = [entry for entry in entries if entry.filename.startswith("samples/")]
    with open(file, "rb") as handle:
        content = _entry(file, handle, header)
    return content, _samples(file, samples)


def _samples(file: Path, entries: Sequence[zipfile.ZipInfo]) -> Rows:
    with open(file, "rb") as handle:
        for entry in entries:
            yield f"{file} {entry.filename}", _entry(file, handle, entry)


def _entry(file: Path, handle: Any, entry: zipfile.ZipInfo) -> Mapping[str, Any]:
    """One JSON object of the archive."""
    try:
        value = _parsed(_content(file, handle, entry))
    except (ValueError, OSError, zipfile.BadZipFile, struct.error) as error:
        raise HarnessError(f"{file} {entry.filename} cannot be read ({error}); expected {EXPECTED}, whole") from None
    if not isinstance(value, dict):
        raise HarnessError(f"{file} {entry.filename} holds no object; expected {EXPECTED}")
    return value


def _parsed(content: bytes) -> Any:
    """Of JSON; Inspect writes NaN for the mean of nothing, which only Python's own parser takes."""
    try:
        return orjson.loads(content)
    except ValueError:
        return json.loads(content)


def _content(file: Path, handle: Any, entry: zipfile.ZipInfo) -> bytes:
    if entry.file_size > MOST:
        raise ValueError(f"{entry.file_size:,} bytes")
    if entry.compress_type != ZSTANDARD:
        with zipfile.ZipFile(file) as archive:
            return archive.read(entry)
    import pyarrow as pa

    handle.seek(entry.header_offset)
    name, extra = LOCAL_HEADER.unpack(handle.read(LOCAL_HEADER.size))
    handle.seek(name + extra, 1)
    content: bytes = pa.decompress(handle.read(entry.compress_size), entry.file_size, "zstd", asbytes=True)
    return content


# ---------------------------------------------------------------- samples


def _sample(sample: Mapping[str, Any], place: str, choice: Choice) -> Sample:
    if sample.get("id") is None:
        raise HarnessError(f"{place} has no id; expected {EXPECTED}, with an id for each sample")
    attached = mapping(sample.get("attachments"), place, "attachments")
    output = mapping(sample.get("output"), place, "output")
    choices = items(output.get("choices"), place, "choices")
    answer = mapping(choices[0], place, "choices") if choices else {}
    target, error, epoch = sample.get("target"), sample.get("error"), sample.get("epoch") or 1
    if not isinstance(epoch, int):
        raise HarnessError(f"{place}: 'epoch' is {str(epoch)[:40]!r}; expected a whole number")
    references = target if isinstance(target, list) else [] if target is None else [target]
    return Sample(
        sample["id"],
        _text(sample.get("input"), attached),
        [_text(reference, attached) for reference in references],
        None if error else _completion(output, answer, attached),
        _scores(mapping(sample.get("scores"), place, "scores"), place, choice),
        plain(mapping(sample.get("metadata"), place, "metadata")),
        str(error.get("message", error) if isinstance(error, dict) else error) if error else None,
        epoch,
        _info(output, answer, place),
    )


def _text(content: Any, attached: Mapping[str, Any]) -> str:
    """A text, or the texts of messages or of the parts of one; long ones are attached."""
    if isinstance(content, str):
        return (
            str(attached.get(content.removeprefix("attachment://"), content))
            if content[:13] == "attachment://"
            else content
        )
    if isinstance(content, list):
        return "\n\n".join(text for part in content if (text := _text(part, attached)))
    if isinstance(content, dict):
        return _text(content.get("content", content.get("text", "")), attached)
    return "" if content is None else json.dumps(content)  # a number, as it is written


def _completion(output: Mapping[str, Any], answer: Mapping[str, Any], attached: Mapping[str, Any]) -> str:
    whole = output.get("completion")
    return _text(whole if isinstance(whole, str) else answer.get("message"), attached)


def _scores(scores: Mapping[str, Any], place: str, choice: Choice) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        parts = value.items() if isinstance(value, dict) else enumerate(value, 1) if isinstance(value, list) else None
        for name, part in [(scorer, value)] if parts is None else [(f"{scorer}_{key}", item) for key, item in parts]:
            choice.keep(values, name, _graded(part), place)
    return values


def _graded(value: Any) -> Any:
    """The number of what Inspect writes as text."""
    if not isinstance(value, str):
        return value
    grade = GRADES.get(value, WORDS.get(value.lower()))
    if grade is not None:
        return grade
    try:
        return float(value)
    except ValueError:
        return value


def _info(output: Mapping[str, Any], answer: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Tokens, seconds and how the output ended."""
    usage = mapping(output.get("usage"), place, "usage")
    ended = {"stop": "stop", "max_tokens": "length"}.get(str(answer.get("stop_reason")))
    known = {
        "input_tokens": usage.get("input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "seconds": output.get("time"),
        "finish": ended,
    }
    return {name: value for name, value in known.items() if value is not None}
