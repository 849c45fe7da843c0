"""Which runs can be compared: grouped by their data, their examples in one order, their metrics of one definition."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.comparing.shared_scores import on_shared_scores
from harness.analysis.stored.cell_names import cell_of, labels
from harness.inputs import files
from harness.types import Group, HarnessError, RunResult, nearest

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)
Pair = tuple[RunResult, RunResult]
"""(baseline, system)"""


def grouped(runs: Sequence[RunResult], base: RunResult | None = None) -> list[Group]:
    """The runs by their data, each once and under a name of its own, their examples in the order of the first one's.

    Every group of several runs has a baseline where one is given.
    """
    distinct = _once(runs)
    if base is not None and not any(_same(run, base) for run in distinct):
        distinct.insert(0, base)
    named = _distinctly_named(distinct)
    places: dict[str, list[int]] = {}
    for i, run in enumerate(distinct):
        places.setdefault(run.dataset_key, []).append(i)
    datasets = [distinct[members[0]].dataset for members in places.values()]
    groups = []
    for key, members in places.items():
        first = distinct[members[0]]
        dataset = first.dataset if datasets.count(first.dataset) == 1 else f"{first.dataset} ({key[:8]})"
        order = first.columns("id", "repeat") if len(members) > 1 else None
        ordered = [replace(in_order(named[i], first, order), dataset=dataset) for i in members]
        ready = tuple(on_shared_scores(ordered))
        against = base is not None and len(members) > 1 and _baseline_of([distinct[i] for i in members], base)
        groups.append(Group(dataset, ready, None if against is False else ready[against]))
    return groups


def pairs_of(group: Group, baseline: RunResult | None = None) -> list[Pair]:
    """The pairs of a group, each run against the baseline or all with all, with the metrics that both have."""
    runs = group.runs
    if baseline is None:
        chosen = [(a, b) for i, a in enumerate(runs) for b in runs[i + 1 :]]
    else:
        chosen = [(baseline, run) for run in runs if run is not baseline]
    references: dict[int, str] = {}
    views: dict[tuple[int, tuple[str, ...]], RunResult] = {}  # of hundreds of runs there are tens of thousands of pairs
    pairs = []
    for a, b in chosen:
        common = tuple(common_metrics(a, b, references))
        for run in (a, b):
            if (id(run), common) not in views:
                views[id(run), common] = _with(run, common)
        pairs.append((views[id(a), common], views[id(b), common]))
    return pairs


def check_known(scores: Iterable[str] | None, known: Collection[str]) -> None:
    """Refuses a score that is none of these."""
    for score in scores or ():
        if score not in known:
            raise HarnessError(
                f"no run has the score {score!r}{nearest(score, known)}; expected one of {', '.join(known)}"
            )


def check_scores(groups: Sequence[Group], scores: Sequence[str] | None) -> None:
    """Refuses a score that no pair of runs has, and says which runs lack it."""
    runs = [run for group in groups for run in group.runs]
    known: dict[str, list[str]] = {}  # score -> the metrics that give it
    for name, statistics in (item for run in runs for item in run.statistics.items()):
        for score in statistics.metric.score_names:
            known.setdefault(score, []).append(name)
    headline = [score for score in known if "." not in score]
    for score in scores or ():
        if score not in known and (owner := next((run for run in runs if score in run.scores and run.untested), None)):
            raise HarnessError(f"{score} of {owner.name} cannot be tested: {_untested([owner])}")
        lacking = [run.name for run in runs if score not in run.scores]
        if score not in known and len(lacking) < len(runs):  # some were asked for it, and others for other scores
            raise HarnessError(f"{files.some(lacking)} {_has_or_have(lacking)} no {score}; expected it in every run")
        if score not in known:
            check_known([score], headline)
        if "." in score:
            raise HarnessError(f"{score} is a sub-score, which gets an interval only; expected {score.split('.')[0]}")
        if not any(_pair_has(group, score) for group in groups):
            metric = known[score][0]
            lacking = [run.name for run in runs if not _has(run, score)]
            names = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
            first = lacking[0] if len(lacking) == 1 else "RUN"
            raise HarnessError(
                f"{names} {_has_or_have(lacking)} no {score}; expected it in every run: "
                f"harness score {first} 'metrics=[{metric}]' adds it"
            )


def _untested(runs: Sequence[RunResult]) -> str:
    """Why rows of runs cannot be scored here."""
    what = dict.fromkeys(what for run in runs for what in run.untested.values())
    return (
        f"its rows are scored by {files.some(list(what))}, which the run folder names and you did not; "
        "expected --trust (in Python trust=True), or a metric of this package"
    )


def ended_early(run: RunResult) -> bool:
    """Whether it ended because of what it had seen, so that tests of its examples would raise too many alarms."""
    return run.stopped is not None and run.stopped["examples"] < run.stopped["of"]


def check_ended(runs: Sequence[RunResult]) -> None:
    """Refuses runs whose examples were chosen by what they showed."""
    for run in runs:
        if run.stopped and ended_early(run):
            raise HarnessError(
                f"{run.name} ended after {run.stopped['examples']:,} of {run.stopped['of']:,} examples, once its "
                "answer was known; a test of these would find differences where there are none; expected runs of all "
                "examples (without stop.score), or stop.baseline=RUN, which tests as it goes"
            )


def can_be_tested(group: Group) -> bool:
    """Whether no run ended early and no two lack a common metric because what scores their rows is not trusted."""
    if any(ended_early(run) for run in group.runs):
        return False
    pairs = [(a, b) for i, a in enumerate(group.runs) for b in group.runs[i + 1 :]]
    return not any((a.untested or b.untested) and not a.statistics.keys() & b.statistics.keys() for a, b in pairs)


def tested(groups: Sequence[Group], scores: Sequence[str] | None) -> tuple[str, ...] | None:
    """The chosen scores without those whose rows nothing trusted can score: they are shown all the same."""
    if scores is None:
        return None
    runs = [run for group in groups for run in group.runs]
    scored = {name for run in runs for rows in run.statistics.values() for name in rows.metric.score_names}
    untested = {name for run in runs if run.untested for name in run.scores} - scored
    return tuple(score for score in scores if score not in untested)


def _pair_has(group: Group, score: str) -> bool:
    owners = [run for run in group.runs if _has(run, score)]
    return len(owners) > 1 and (group.baseline is None or _has(group.baseline, score))


def _has_or_have(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _has(run: RunResult, score: str) -> bool:
    return any(score in statistics.metric.score_names for statistics in run.statistics.values())


def _references(run: RunResult) -> str:
    """Hash of what each example was scored against, whatever the number of its repeats."""
    columns = run.columns("id", "references").to_pydict().values()
    return files.digest(sorted({(id_, *references) for id_, references in zip(*columns, strict=True)}))


def _same(a: RunResult, b: RunResult) -> bool:
    return _place(a) == _place(b)


def _place(run: RunResult) -> Path | int:
    """What tells a run from others: its folder or, in memory, itself."""
    return id(run) if run.path is None else run.path.resolve()


def _once(runs: Sequence[RunResult]) -> list[RunResult]:
    distinct: dict[Path | int, RunResult] = {}
    for run in runs:
        distinct.setdefault(_place(run), run)
    return list(distinct.values())


def _distinctly_named(runs: list[RunResult]) -> list[RunResult]:
    """Runs of one name are told apart by what their sweep varies, by their folder, or by number."""
    names = [run.name for run in runs]
    if len(set(names)) == len(names):
        return runs
    called = labels(runs)
    if called is not None:
        return [replace(run, name=label) for run, label in zip(runs, called, strict=True)]
    own = [_in_sweep(run) or str(run.path or "") for run in runs]
    clear = [
        name if own.count(name) == 1 and name not in names else str(run.path or "")
        for name, run in zip(own, runs, strict=True)
    ]
    return [
        run
        if names.count(run.name) == 1
        else replace(run, name=clear[i] or f"{run.name} {names[: i + 1].count(run.name)}")
        for i, run in enumerate(runs)
    ]


def _in_sweep(run: RunResult) -> str:
    """A run's name with what its sweep varies, where it is of one."""
    cell = cell_of(run)
    return f"{run.name} {cell['label']}" if cell else ""


def _baseline_of(runs: Sequence[RunResult], base: RunResult) -> int:
    """Which run of a group is the baseline, or has its name, or is of its system."""
    rules = (
        lambda run: _same(run, base),
        lambda run: run.name == base.name,
        lambda run: run.system == base.system,
    )
    for rule in rules:
        for i, run in enumerate(runs):
            if rule(run):
                return i
    raise HarnessError(
        f"no run on the data of {runs[0].name} ({', '.join(run.name for run in runs)}) has the baseline's name "
        f"{base.name!r} or system {base.system!r}; expected one in every group of runs on the same data"
    )


def in_order(run: RunResult, first: RunResult, wanted_rows: pa.Table | None) -> RunResult:
    """The run with its examples in the order of the first one's, by id; `wanted_rows`: ids and repeats of the first."""
    if run is first or wanted_rows is None:
        return run
    rows = run.columns("id", "repeat")
    if rows.equals(wanted_rows):
        return run
    ids, wanted = (list(zip(*of.to_pydict().values(), strict=True)) for of in (rows, wanted_rows))
    if ids == wanted:
        return run
    example = {id_: i for i, id_ in enumerate(dict.fromkeys(id_ for id_, _ in wanted))}
    if ids_differ := {id_ for id_, _ in ids} ^ example.keys():
        raise HarnessError(
            f"{run.name} and {first.name} do not have the same ids ({files.some(sorted(ids_differ))}); "
            "expected runs on the same data"
        )
    order = sorted(range(len(ids)), key=lambda i: (example[ids[i][0]], ids[i][1]))
    return run.taken(np.array(order, np.int64))


def _differ(a: RunResult, b: RunResult, references: dict[int, str]) -> bool:
    for run in (a, b):
        if id(run) not in references:
            references[id(run)] = _references(run)
    return references[id(a)] != references[id(b)]


def _with(run: RunResult, metrics: Sequence[str]) -> RunResult:
    """The run with these metrics only."""
    return replace(run, statistics={name: run.statistics[name] for name in metrics})


def common_metrics(a: RunResult, b: RunResult, references: dict[int, str]) -> list[str]:
    """The metrics that both runs have, if they are of the same definition; `references`: the hashes known so far."""
    for option, own, other in (("dataset.cluster", a.cluster, b.cluster), ("stats.strata", a.strata, b.strata)):
        if own != other:
            raise HarnessError(f"{a.name} has {option}={own}, {b.name} {option}={other}; expected the same")
    common = [name for name in a.statistics if name in b.statistics]
    if not common and (a.untested or b.untested):
        raise HarnessError(f"nothing of {a.name} and {b.name} can be tested: {_untested([a, b])}")
    if not common:
        raise HarnessError(
            f"{a.name} and {b.name} have no metric in common ({', '.join(a.statistics)}; {', '.join(b.statistics)}); "
            "expected at least one"
        )
    for name in common:
        mine, theirs = a.statistics[name], b.statistics[name]
        first, second = mine.signature.definition, theirs.signature.definition
        changed = [k for k in {**first, **second} if first.get(k) != second.get(k)]
        if changed or mine.metric.columns != theirs.metric.columns:
            differing = ", ".join(f"{k}: {first.get(k)} and {second.get(k)}" for k in changed)
            differing = (
                differing or f"scores: {', '.join(mine.metric.score_names)} and {', '.join(theirs.metric.score_names)}"
            )
            raise HarnessError(
                f"{name} of {a.name} and {b.name} are defined differently ({differing}): "
                f"{mine.signature} and {theirs.signature}; expected the same definition"
            )
        if first.get("nrefs") == "var" and _differ(a, b, references):
            raise HarnessError(
                f"{a.name} and {b.name} were scored against different references (system=human leaves out the "
                "reference that it gives as its output); expected the same"
            )
        if mine.metric.higher_is_better != theirs.metric.higher_is_better:
            raise HarnessError(
                f"{name}: higher is better in one of {a.name} and {b.name}, lower in the other; expected the same"
            )
        if mine.signature.provenance != theirs.signature.provenance:
            log.warning(
                "%s of %s and %s were made with different versions: %s and %s",
                name, a.name, b.name, mine.signature, theirs.signature,
            )  # fmt: skip
    left_out = sorted((a.statistics.keys() | b.statistics.keys()) - set(common))
    if left_out:
        log.warning("not in both %s and %s, so not compared: %s", a.name, b.name, ", ".join(left_out))
    return common
