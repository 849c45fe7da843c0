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

A metric that lm-eval computes of all samples at once (bleu, perplexity) is no mean of their scores: it is left out, and
named. So is one whose mean is not what lm-eval printed. A folder with several runs of a task: the newest counts, as in
lm-eval itself.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.importers import lm_eval_columns
from harness.importers.checked import Choice, items, mapping, named, plain
from harness.importers.json_tables import Odd, read_pieces
from harness.importers.lm_eval_columns import NEEDED, picked, targets
from harness.importers.log import Log, Origin, Sample, Samples
from harness.inputs import files
from harness.types import HarnessError
from harness.types.shown import counted

log = logging.getLogger(__name__)
NAME = "lm-eval"
KNOWN = (0, 4)
"""The newest version whose logs are known."""
FILE = re.compile(r"samples_(?P<task>.+?)(_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+))?\.jsonl")
EXPECTED = "the samples of lm_eval --log_samples"
LIKELIHOOD = "perplexity"
"""Of a sample it is a log-likelihood; known by its name where lm-eval's results are not beside the samples."""
NESTED = (list, dict)
TABLES = ("configs", "higher_is_better", "n-samples", "results")
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

    def of(chosen: str) -> Log:
        if chosen not in by_filter:
            by_filter[chosen] = Log(_origin(file, task, chosen, results))
        return by_filter[chosen]

    for piece in read_pieces(file):
        parts = _in_columns(piece.table, choice, unfit)
        if parts and all(of(chosen).takes(samples) for chosen, samples in parts.items()):
            for chosen, samples in parts.items():
                of(chosen).extend(samples)
            continue
        for place, row in piece.rows():
            for name in NEEDED:
                if name not in row:
                    raise files.missing_field(place, name, row, f" ({EXPECTED})")
            of(str(row.get("filter", "none"))).add(_sample(row, place, choice, unfit), place)
    if not by_filter:
        raise HarnessError(f"{file} is empty; expected {EXPECTED}")
    _check_whole(file, task, results, by_filter)
    for chosen, part in by_filter.items():
        unfit |= dict.fromkeys(_no_means(part, chosen, mapping(results["results"].get(task), str(file), "results")))
    if unfit:
        log.warning(
            "%s: %s is computed by lm-eval of all samples at once, is no mean of their scores, and is left out; "
            "harness score RUN metrics=… computes scores of the outputs", file, ", ".join(unfit),
        )  # fmt: skip
    return [part for part in by_filter.values() if not part.blank]


def _in_columns(table: Any, choice: Choice, unfit: dict[str, None]) -> Mapping[str, Samples]:
    """The samples of a piece by filter; empty where they are to be read row by row."""
    try:
        return {} if table is None else lm_eval_columns.by_filter(table, choice, unfit)
    except Odd:
        return {}


def _no_means(part: Log, chosen: str, printed: Mapping[str, Any]) -> list[str]:
    """Takes from a log the scores that lm-eval prints something else of than their mean, and names them: the samples'
    `perplexity`, say, is a log-likelihood."""
    names = [] if printed else [LIKELIHOOD]
    for key, value in printed.items() if part.origin.version else ():  # an exported BLEU is no mean, and may stay
        metric, _, of = key.partition(",")
        values = [score for row in part.scores if (score := row.get(named(metric))) is not None]
        known = of == chosen and isinstance(value, int | float) and len(values) == len(part)
        if known and not math.isclose(math.fsum(values) / len(values), value, rel_tol=1e-6, abs_tol=1e-9):
            names.append(metric)
    names = [metric for metric in names if any(named(metric) in row for row in part.scores)]
    left_out = set(map(named, names))
    if left_out:
        part.scores = [{name: score for name, score in row.items() if name not in left_out} for row in part.scores]
    return names


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
    answer, references = _answer(row, asked, place)
    scores: dict[str, float | None] = {}
    for metric in map(str, items(row.get("metrics"), place, "metrics")):
        value = row.get(metric)
        if not isinstance(value, NESTED):
            choice.keep(scores, metric, value, place)
        elif choice.wants(metric):
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
    if not isinstance(arguments, list) or {*map(type, arguments)} != {list}:
        raise HarnessError(f"{place}: 'arguments' is not as lm-eval writes it; expected a prompt for each request")
    return arguments


def _answer(row: Mapping[str, Any], asked: list[list[Any]], place: str) -> tuple[str | None, list[str]]:
    """(the output, the references); a text whose likelihood was asked for has no output."""
    answers, target = row["filtered_resps"], str(row["target"])
    if {*map(len, asked)} == {1}:
        return None, targets(target)
    first = answers[0] if isinstance(answers, list) and answers else answers
    choices = [str(request[1]).strip() for request in asked if len(request) > 1]
    likelihoods = _likelihoods(answers) if len(choices) == len(asked) else None
    if likelihoods is None:
        while isinstance(first, list):
            first = first[0] if first else ""
        return "" if first is None else str(first), targets(target)
    if len(choices) == 1:  # is this continuation the most likely one?
        return (choices[0] if str(first[1]) == "True" else ""), targets(target)
    if len(likelihoods) != len(choices):
        raise HarnessError(
            f"{place} has {len(likelihoods)} likelihoods for {len(choices)} choices; expected one for each"
        )
    best = likelihoods.index(max(likelihoods))
    return picked(choices, best, target)


def _likelihoods(answers: Any) -> list[float] | None:
    """Of each choice, where the answers are [log-likelihood, whether greedy]."""
    try:
        if {*map(type, answers)} == {list} and all(
            len(answer) == 2 and str(answer[1]) in ("True", "False") for answer in answers
        ):
            return [float(answer[0]) for answer in answers]
    except (TypeError, ValueError):
        pass
    return None


def _check_whole(file: Path, task: str, results: Mapping[str, Any], by_filter: Mapping[str, Log]) -> None:
    """As many samples as lm-eval says that it evaluated."""
    expected = mapping(results["n-samples"].get(task), str(file), "n-samples").get("effective")
    for chosen, part in by_filter.items():
        if isinstance(expected, int) and len(part) != expected:
            raise HarnessError(
                f"{file} has {counted(len(part), 'sample')} of the filter {chosen!r}; expected {expected}, "
                "as results_*.json beside it says: the log is not whole"
            )
