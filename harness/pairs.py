"""Which runs can be compared: grouped by their data, their examples in one order, their metrics of one definition."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from harness import files
from harness.config import nearest
from harness.types import Group, HarnessError, RunResult

log = logging.getLogger(__name__)
Pair = tuple[RunResult, RunResult]
"""(baseline, system)"""


def grouped(runs: Sequence[RunResult], base: RunResult | None = None) -> list[Group]:
    """The runs by their data, each once and under a name of its own, their examples in the order of the first one's.

    Every group of several runs has a baseline where one is given.
    """
    some = _once(runs)
    if base is not None and not any(_same(one, base) for one in some):
        some.insert(0, base)
    named = _distinctly_named(some)
    groups: dict[str, list[int]] = {}
    for i, run in enumerate(some):
        groups.setdefault(run.dataset_key, []).append(i)
    datasets = [some[members[0]].dataset for members in groups.values()]
    found = []
    for key, members in groups.items():
        first = some[members[0]]
        dataset = first.dataset if datasets.count(first.dataset) == 1 else f"{first.dataset} ({key[:8]})"
        ready = tuple(replace(_in_order(named[i], first), dataset=dataset) for i in members)
        against = base is not None and len(members) > 1 and _baseline_of([some[i] for i in members], base)
        found.append(Group(dataset, ready, None if against is False else ready[against]))
    return found


def pairs_of(group: Group, baseline: RunResult | None = None) -> list[Pair]:
    """The pairs of a group, each run against the baseline or all with all, with the metrics that both have."""
    runs = group.runs
    if baseline is None:
        chosen = [(a, b) for i, a in enumerate(runs) for b in runs[i + 1 :]]
    else:
        chosen = [(baseline, one) for one in runs if one is not baseline]
    common = [_common(a, b) for a, b in chosen]
    return [(_with(a, some), _with(b, some)) for (a, b), some in zip(chosen, common, strict=True)]


def check_scores(groups: Sequence[Group], scores: Sequence[str] | None) -> None:
    """Refuses a score that no pair of runs has, and says which runs lack it."""
    runs = [run for group in groups for run in group.runs]
    known: dict[str, list[str]] = {}  # score -> the metrics that give it
    for name, one in ((name, one) for run in runs for name, one in run.statistics.items()):
        for score in one.metric.score_names:
            known.setdefault(score, []).append(name)
    headline = [score for score in known if "." not in score]
    for score in scores or ():
        if score not in known:
            hint = nearest(score, headline)
            raise HarnessError(f"no run has the score {score!r}{hint}; expected one of {', '.join(headline)}")
        if "." in score:
            raise HarnessError(f"{score} is a sub-score, which gets an interval only; expected {score.split('.')[0]}")
        if not any(_pair_has(group, name) for group in groups for name in known[score]):
            metric = known[score][0]
            lacking = [run.name for run in runs if metric not in run.statistics]
            names = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
            first = lacking[0] if len(lacking) == 1 else "RUN"
            raise HarnessError(
                f"{names} {'has' if len(lacking) == 1 else 'have'} no {score}; expected it in every run: "
                f"harness score {first} 'metrics=[{metric}]' adds it"
            )


def _pair_has(group: Group, metric: str) -> bool:
    owners = [run for run in group.runs if metric in run.statistics]
    return len(owners) > 1 and (group.baseline is None or metric in group.baseline.statistics)


def _references(run: RunResult) -> set[tuple[str, ...]]:
    """What each example was scored against, whatever the number of its repeats."""
    columns = run.examples["id"], run.examples["references"]
    return {(id_, *references) for id_, references in zip(*columns, strict=True)}


def _same(a: RunResult, b: RunResult) -> bool:
    return a is b or (a.path is not None and b.path is not None and a.path.resolve() == b.path.resolve())


def _once(runs: Sequence[RunResult]) -> list[RunResult]:
    found: list[RunResult] = []
    for run in runs:
        if not any(_same(run, other) for other in found):
            found.append(run)
    return found


def _distinctly_named(runs: list[RunResult]) -> list[RunResult]:
    """Runs of one name are told apart by their folder, or by number."""
    names = [run.name for run in runs]
    folders = [str(run.path) if run.path else None for run in runs]
    return [
        run
        if names.count(run.name) == 1
        else replace(run, name=folders[i] or f"{run.name} {names[: i + 1].count(run.name)}")
        for i, run in enumerate(runs)
    ]


def _baseline_of(runs: Sequence[RunResult], base: RunResult) -> int:
    """Which run of a group is the baseline, or has its name, or is of its system."""
    rules = (
        lambda one: _same(one, base),
        lambda one: one.name == base.name,
        lambda one: one.system == base.system,
    )
    for rule in rules:
        for i, run in enumerate(runs):
            if rule(run):
                return i
    raise HarnessError(
        f"no run of the baseline's name {base.name!r} or system {base.system!r} on the data of {runs[0].name} "
        f"({', '.join(run.name for run in runs)}); expected one in every group of runs on the same data"
    )


def _in_order(run: RunResult, first: RunResult) -> RunResult:
    """The run with its examples in the order of the first one's, by id."""
    (ids, wanted) = (list(zip(one.examples["id"], one.examples["repeat"], strict=True)) for one in (run, first))
    if ids == wanted:
        return run
    if set(ids) != set(wanted):
        _common(first, run)  # another definition is the better reason
        found = [f"{1 + max(repeat for _, repeat in some)} outputs an example" for some in (ids, wanted)]
        raise HarnessError(f"{run.name} has {found[0]}, {first.name} {found[1]}; expected the same number of repeats")
    place = {key: i for i, key in enumerate(ids)}
    order = [place[key] for key in wanted]
    statistics = {name: replace(one, rows=one.rows[order]) for name, one in run.statistics.items()}
    return replace(run, examples=run.examples.iloc[order].reset_index(drop=True), statistics=statistics)


def alone(run: RunResult, runs: Sequence[RunResult]) -> str:
    """Why a run cannot be paired: how its data differs from the next one's."""
    other = next(one for one in runs if one is not run)
    mine, theirs = list(run.examples["id"]), list(other.examples["id"])
    missing, extra = set(theirs) - set(mine), set(mine) - set(theirs)
    if missing or extra:
        found = f"{len(missing | extra)} ids differ ({files.some(sorted(missing | extra))})"
    else:
        found = "the ids are the same but sources, references or metadata differ"
    return (
        f"{run.name} and {other.name} are runs on different data: {run.name} has {len(mine)} examples of "
        f"{run.dataset}, {other.name} {len(theirs)} of {other.dataset}; {found}; "
        "expected two or more runs on the same data"
    )


def _with(run: RunResult, metrics: Sequence[str]) -> RunResult:
    """The run with these metrics only."""
    return replace(run, statistics={name: run.statistics[name] for name in metrics})


def _common(a: RunResult, b: RunResult) -> list[str]:
    """The metrics that both runs have, if they are of the same definition."""
    for what, mine, theirs in (("dataset.cluster", a.cluster, b.cluster), ("stats.strata", a.strata, b.strata)):
        if mine != theirs:
            raise HarnessError(f"{a.name} has {what}={mine}, {b.name} {what}={theirs}; expected the same")
    common = [name for name in a.statistics if name in b.statistics]
    if not common:
        raise HarnessError(
            f"{a.name} and {b.name} have no metric in common ({', '.join(a.statistics)}; {', '.join(b.statistics)}); "
            "expected at least one"
        )
    for name in common:
        one, other = a.statistics[name], b.statistics[name]
        first, second = one.signature.definition, other.signature.definition
        changed = [k for k in {**first, **second} if first.get(k) != second.get(k)]
        if changed or one.metric.columns != other.metric.columns:
            what = ", ".join(f"{k}: {first.get(k)} and {second.get(k)}" for k in changed)
            what = what or f"scores: {', '.join(one.metric.score_names)} and {', '.join(other.metric.score_names)}"
            raise HarnessError(
                f"{name} of {a.name} and {b.name} are defined differently ({what}): "
                f"{one.signature} and {other.signature}; expected the same definition"
            )
        if first.get("nrefs") == "var" and _references(a) != _references(b):
            raise HarnessError(
                f"{a.name} and {b.name} were scored against different references (as system=human is, which leaves out "
                "the one that it gives); expected the same"
            )
        if one.metric.higher_is_better != other.metric.higher_is_better:
            raise HarnessError(
                f"{name}: higher is better in one of {a.name} and {b.name}, lower in the other; expected the same"
            )
        if one.signature.provenance != other.signature.provenance:
            log.warning(
                "%s of %s and %s were made with other versions: %s and %s",
                name, a.name, b.name, one.signature, other.signature,
            )  # fmt: skip
    left_out = sorted((a.statistics.keys() | b.statistics.keys()) - set(common))
    if left_out:
        log.warning("not in both %s and %s, so not compared: %s", a.name, b.name, ", ".join(left_out))
    return common
