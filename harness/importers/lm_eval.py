"""`lm_eval … --log_samples --output_path DIR`: every task and filter a data set, every numeric metric of a sample a
score. https://github.com/EleutherAI/lm-evaluation-harness

| there | here |
| --- | --- |
| task, and filter where it is not `none` | data set `task` or `task-filter` |
| `doc_id` | id |
| the prompt, `arguments.gen_args_0.arg_0` | source |
| `target`; of a multiple choice the text of the right choice | references |
| `filtered_resps`; of a multiple choice the most likely choice | output |
| `metrics` that are a number for each sample | scores |
| texts, numbers and flags of `doc`; `doc_hash`; `filter` | fields |

A metric that lm-eval computes of all samples at once (bleu, perplexity) has no number for a sample: it is left out, and
named. A folder with several runs of a task: the newest counts, as in lm-eval itself.
"""

from __future__ import annotations

import ast
import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.importers.checked import Choice, items, mapping, named, plain
from harness.importers.log import Log, Origin, Sample
from harness.importers.stored import StoredRun
from harness.inputs import files
from harness.types import HarnessError

log = logging.getLogger(__name__)
NAME = "lm-eval"
KNOWN = (0, 4)
"""The newest version whose logs are known."""
FILE = re.compile(r"samples_(?P<task>.+?)(_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+))?\.jsonl")
EXPECTED = "the samples of lm_eval --log_samples"
NEEDED = ("doc_id", "target", "arguments", "filtered_resps")
TABLES = ("configs", "higher_is_better", "n-samples")
"""What is read of the results, by task."""


def refusal(path: Path) -> str | None:
    """Why a path is none of this format; None: it is."""
    if path.is_dir():
        return None if _newest(path)[0] else "no file samples_TASK_DATE.jsonl in it"
    if not FILE.fullmatch(path.name):
        return "its name is not samples_TASK_DATE.jsonl"
    return None


def logs(path: Path, choice: Choice) -> Iterator[Log]:
    """A log for each task and filter."""
    chosen, older = _newest(path) if path.is_dir() else ([path], 0)
    if older:
        log.warning("%s: older logs of the same tasks (%d) are left out; name the files to import them", path, older)
    for file in chosen:
        yield from _logs(file, choice)


def _newest(folder: Path) -> tuple[list[Path], int]:
    """The newest file of each task in each folder below, and how many older ones there are."""
    newest: dict[tuple[Path, str], tuple[str, Path]] = {}
    older = 0
    for file in sorted(folder.rglob("samples_*.jsonl")):
        match = FILE.fullmatch(file.name)
        if match:
            key, date = (file.parent, match["task"]), match["date"] or ""
            older += key in newest
            if key not in newest or date > newest[key][0]:
                newest[key] = date, file
    return [file for _, file in newest.values()], older


def _logs(file: Path, choice: Choice) -> list[Log]:
    match = FILE.fullmatch(file.name)
    task = match["task"] if match else file.stem
    results = _results(file, match["date"] if match else None)
    task = next((known for known in results["configs"] if re.sub(r"\W", "_", known) == task), task)
    by_filter: dict[str, Log] = {}
    unfit: dict[str, None] = {}
    for place, row in files.read_rows(file, EXPECTED):
        for name in NEEDED:
            if name not in row:
                raise files.missing_field(place, name, row, f" ({EXPECTED})")
        chosen = str(row.get("filter", "none"))
        if chosen not in by_filter:
            by_filter[chosen] = Log(_origin(file, task, chosen, results))
        by_filter[chosen].add(_sample(row, place, choice, unfit), place)
    if not by_filter:
        raise HarnessError(f"{file} is empty; expected {EXPECTED}")
    _check_whole(file, task, results, by_filter)
    if unfit:
        log.warning(
            "%s: %s has no number for a sample, since lm-eval computes it of all at once, and is left out; "
            "harness score RUN metrics=… computes scores of the outputs", file, ", ".join(unfit),
        )  # fmt: skip
    return [part for part in by_filter.values() if not part.blank]


def _results(file: Path, date: str | None) -> Mapping[str, Any]:
    """What lm-eval wrote beside the samples; empty where it is not there."""
    beside = file.parent / f"results_{date}.json"
    if not beside.exists():
        return {name: {} for name in TABLES}
    results = files.read_json(beside, "the results of lm_eval")
    if not isinstance(results, dict):
        raise HarnessError(f"{beside} holds no object; expected the results of lm_eval")
    version = str(results.get("lm_eval_version", ""))
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers > KNOWN:
        raise HarnessError(
            f"{beside} is of lm-eval {version}; expected one up to {KNOWN[0]}.{KNOWN[1]}, whose logs are known"
        )
    return {**results, **{name: mapping(results.get(name), str(beside), name) for name in TABLES}}


def _origin(file: Path, task: str, chosen: str, results: Mapping[str, Any]) -> Origin:
    model = str(results.get("model_name") or file.parent.name.replace("__", "/"))
    better = mapping(results["higher_is_better"].get(task), str(file), "higher_is_better")
    return Origin(
        NAME,
        str(file),
        dataset=named(task) if chosen == "none" else f"{named(task)}-{named(chosen)}",
        system=model.rstrip("/").rpartition("/")[2] or model,
        version=results.get("lm_eval_version"),
        model=model,
        lower_is_better=frozenset(named(metric) for metric, higher in better.items() if higher is False),
    )


def _sample(row: Mapping[str, Any], place: str, choice: Choice, unfit: dict[str, None]) -> Sample:
    asked = _arguments(row["arguments"], place)
    source = asked[0][0] if asked[0] else None
    answer, references = _answer(row, asked)
    scores: dict[str, float | None] = {}
    for metric in items(row.get("metrics"), place, "metrics"):
        value = row.get(metric)
        if not isinstance(value, list | dict):
            choice.keep(scores, str(metric), value, place)
        elif choice.wants(str(metric)):
            unfit[metric] = None
    doc = row.get("doc")
    fields = plain(doc) if isinstance(doc, dict) else {}
    if row.get("filter", "none") != "none":
        fields["filter"] = row["filter"]
    if "doc_hash" in row:
        fields["doc_hash"] = row["doc_hash"]
    return Sample(row["doc_id"], source if isinstance(source, str) else str(source), references, answer, scores, fields)


def _arguments(arguments: Any, place: str) -> list[list[Any]]:
    """What the model was asked, request by request: `[prompt, continuation or options]`."""
    if isinstance(arguments, dict):  # {"gen_args_0": {"arg_0": prompt, "arg_1": …}, …}
        arguments = [list(mapping(request, place, name).values()) for name, request in arguments.items()]
    if not isinstance(arguments, list) or not arguments or not all(isinstance(each, list) for each in arguments):
        raise HarnessError(f"{place}: 'arguments' is not as lm-eval writes it; expected a prompt for each request")
    return arguments


def _answer(row: Mapping[str, Any], asked: list[list[Any]]) -> tuple[str | None, list[str]]:
    """(the output, the references); a text whose likelihood was asked for has no output."""
    answers, target = row["filtered_resps"], str(row["target"])
    if all(len(request) == 1 for request in asked):
        return None, _targets(target)
    first = answers[0] if isinstance(answers, list) and answers else answers
    choices = [str(request[1]).strip() for request in asked if len(request) > 1]
    likelihoods = _likelihoods(answers) if len(choices) == len(asked) else None
    if likelihoods is None:
        while isinstance(first, list):
            first = first[0] if first else ""
        return "" if first is None else str(first), _targets(target)
    if len(choices) == 1:  # is this continuation the most likely one?
        return (choices[0] if str(first[1]) == "True" else ""), _targets(target)
    best = likelihoods.index(max(likelihoods))
    if len(set(choices)) < len(choices):  # prompts differ, continuations do not
        return str(best), [target]
    right = choices[int(target)] if target.isdecimal() and int(target) < len(choices) else target.strip()
    return choices[best], [right]


def _likelihoods(answers: Any) -> list[float] | None:
    """Of each choice, where the answers are [log-likelihood, whether greedy]."""
    try:
        if all(
            isinstance(answer, list) and len(answer) == 2 and str(answer[1]) in ("True", "False") for answer in answers
        ):
            return [float(answer[0]) for answer in answers]
    except (TypeError, ValueError):
        pass
    return None


def _targets(target: str) -> list[str]:
    """lm-eval writes a list of targets as Python prints it.

    >>> _targets("['a', 'b']"), _targets("[sic]")
    (['a', 'b'], ['[sic]'])
    """
    if target[:2] in ("['", '["'):
        try:
            texts = ast.literal_eval(target)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [target]
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return texts
    return [target]


def _check_whole(file: Path, task: str, results: Mapping[str, Any], by_filter: Mapping[str, Log]) -> None:
    """As many samples as lm-eval says that it evaluated."""
    expected = mapping(results["n-samples"].get(task), str(file), "n-samples").get("effective")
    for chosen, part in by_filter.items():
        if isinstance(expected, int) and len(part) != expected:
            raise HarnessError(
                f"{file} has {len(part)} samples of the filter {chosen!r}; expected {expected}, as results_*.json "
                "beside it says: the log is not whole"
            )


# ---------------------------------------------------------------- export


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
