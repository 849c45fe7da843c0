"""Is a run worse than another, better than noise can tell? The gate of a pull request.

A score passes where it is shown not to be worse by its margin or more (one-sided, at 1 - level), or to be better; the
whole passes where every score does, so these tests need no correction. That a score is *worse* ends the whole, so that
is corrected over all that is tested. Between the two nothing can be told, which is neither a pass nor a failure: the
number of units that would tell, and the margin that these would have passed, stand beside it.

Nothing is tested here that `harness compare --margin` does not test: harness/stats/comparing/margins.py.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.analysis.comparing.comparing import compared
from harness.analysis.comparing.pairing import Pair, check_ended, check_scores, grouped, pairs_of
from harness.analysis.comparing.questions import asked
from harness.analysis.comparing.slices import by_slices
from harness.analysis.gate import policies
from harness.analysis.gate.policies import Limit, Policy, Rule
from harness.analysis.stored.loading import Run, loaded_runs
from harness.analysis.stored.trust import Trusted
from harness.inputs.project import runs_folder
from harness.report.terminal.gate_answers import HEADS, NO_MARGIN, cells, sentence
from harness.report.terminal.progress import silent
from harness.stats.comparing.margins import NOT_WORSE
from harness.stats.corrections import holm
from harness.stats.options import ComparisonOptions
from harness.stats.power.detection import needed
from harness.store.places import find
from harness.tracking import found_runs
from harness.types import Comparison, Group, HarnessError, Progress, RunResult, nearest
from harness.types.shown import Shape, Shown, bounds, number, signed

log = logging.getLogger(__name__)
BETTER, WORSE, CANNOT_TELL = "better", "worse", "cannot tell"
CODES = {BETTER: 0, NOT_WORSE: 0, WORSE: 1, CANNOT_TELL: 3}
"""What the command ends with."""


@dataclass(frozen=True)
class Check:
    """One thing that was asked, and the answer."""

    dataset: str
    what: str
    """A score, or a fact of the run such as `health/empty`."""
    asked: str
    """`not worse by 0.5`, `at least 25`, …"""
    verdict: str
    """`better`, `not worse`, `worse` or `cannot tell`; limits are `not worse` where they are kept."""
    reason: str
    """The numbers that decide it."""
    slice: str | None = None
    row: Comparison | None = None
    """The comparison that it rests on, p-values of `worse` adjusted over all that was tested."""
    needed: int | None = None
    """Units that would tell, where these cannot."""
    margin_passed: float | None = None
    """The smallest margin that these would have passed, where they cannot tell."""
    title: str = ""
    """What papers call the score; empty: `what` is no score."""
    system: str = ""
    """The run that was asked about."""


@dataclass(frozen=True, repr=False)
class Gated(Shown):
    """The answers, and what they come to."""

    checks: tuple[Check, ...]
    level: float
    correction: str
    on_unknown: str | None

    @property
    def verdict(self) -> str:
        verdicts = {check.verdict for check in self.checks}
        return next(verdict for verdict in (WORSE, CANNOT_TELL, BETTER, NOT_WORSE) if verdict in verdicts)

    @property
    def code(self) -> int:
        if self.verdict == CANNOT_TELL and self.on_unknown is not None:
            return 0 if self.on_unknown == "pass" else 1
        return CODES[self.verdict]

    def shapes(self) -> Iterable[Shape]:
        yield Shape(sentence(self), HEADS, [cells(check, self) for check in self.checks])


@dataclass(frozen=True)
class _Part:
    """A pair of runs, or of a slice of them, with what is asked of it."""

    dataset: str
    pair: Pair
    rules: Mapping[str, Rule]
    slice: str | None = None


def gate(
    runs: Sequence[Run],
    baselines: Sequence[Run],
    policy: Policy,
    options: ComparisonOptions,
    progress: Progress = silent,
    trust: Trusted = False,
) -> Gated:
    """Each run against the baseline on the same data, by what the policy asks."""
    options.check()
    if options.level <= 0.5:
        raise HarnessError(f"level={options.level}; expected more than 0.5, such as 0.95")
    _check_scores_once(policy, options)
    new, old = loaded(runs, trust), loaded(baselines, trust)
    groups = _matched(new, old, options)
    _say_unused(policy, [group.dataset for group in groups])
    parts = [part for group in groups for part in _parts(group, policy, options)]
    rows = _compared(parts, options, progress)
    checks = [check for part, of_it in zip(parts, rows, strict=True) for check in _checks(part, of_it, options)]
    for group in groups:
        checks += _limits(group, policy.on(group.dataset).limits)
    if not checks:
        raise HarnessError("the policy asks for nothing; expected scores, slices or limits")
    correction = options.correction if len(parts) == 1 or options.correction == "none" else "holm"
    return Gated(tuple(checks), options.level, correction, policy.on_unknown)


def loaded(runs: Sequence[Run], trust: Trusted = False) -> list[RunResult]:
    """The runs, whatever names them; also those that MLflow finds."""
    return loaded_runs(_in_mlflow(runs), None, trust)[0]


def _check_scores_once(policy: Policy, options: ComparisonOptions) -> None:
    """Either the policy and the margins say which scores are asked for, or the options do."""
    parts = (policy, *policy.datasets.values())
    if options.scores and any(part.scores or part.slices for part in parts):
        chosen = ", ".join(options.scores)
        raise HarnessError(f"score {chosen}: margins or a policy say which scores are asked for; expected these alone")


def _in_mlflow(runs: Sequence[Run]) -> list[Run]:
    """With the runs that MLflow finds by a tag, an alias of a model or an id that no folder here has."""
    named: list[Run] = []
    for run in runs:
        local = not isinstance(run, str) or not found_runs.is_asked(run) or find(runs_folder(), run) is not None
        named += [run] if local else found_runs.folders(str(run))
    return named


def _say_unused(policy: Policy, names: Sequence[str]) -> None:
    """A data set of the policy that no run is on may be another job's, or a slip."""
    for name in policy.datasets:
        if name not in names:
            log.warning("datasets.%s of the policy: no run is on it%s; runs are on %s", name, nearest(name, names),
                        ", ".join(dict.fromkeys(names)))  # fmt: skip


def _matched(new: Sequence[RunResult], old: Sequence[RunResult], options: ComparisonOptions) -> list[Group]:
    """A group for each run, with its baseline."""
    groups = []
    for run in new:
        same = [base for base in old if base.dataset_key == run.dataset_key]
        if len(same) != 1:
            known = ", ".join(f"{base.name} (on {base.dataset})" for base in old)
            raise HarnessError(
                f"{run.name} (on {run.dataset}) has {'no' if not same else len(same)} baseline on the same data; "
                f"found {known}; expected one"
            )
        ready, base = asked([run, same[0]], options.question)
        (group,) = grouped([ready, base], base)
        if len(group.runs) < 2:
            raise HarnessError(f"{run.name} is its own baseline; expected another run on the same data")
        check_ended(group.runs)
        groups.append(group)
    return groups


def _parts(group: Group, policy: Policy, options: ComparisonOptions) -> Iterator[_Part]:
    """The whole and the slices of a pair that something is asked of."""
    own = policy.on(group.dataset)
    (pair,) = pairs_of(group, group.baseline)
    rules = own.scores
    if not rules and not own.slices and (options.scores or not own.limits):
        headline = [name for part in pair[1].statistics.values() for name in part.metric.score_names if "." not in name]
        rules = dict.fromkeys(options.scores or headline, Rule())
    if rules:
        check_scores([group], tuple(rules))
        yield _Part(group.dataset, pair, rules)
    for name, of_slice in own.slices.items():
        check_scores([group], tuple(of_slice))
        yield _Part(group.dataset, _slice(group, name, options), of_slice, name)


def _slice(group: Group, name: str, options: ComparisonOptions) -> Pair:
    by, value = policies.field_and_value(name)
    prefix = f"{group.dataset}, {by} = "
    parts = {part.dataset.removeprefix(prefix): part for part in by_slices([group], replace(options, sliced_by=by))}
    if value not in parts:
        expected = ", ".join(f"{by}={label}" for label in parts)
        raise HarnessError(f"{group.dataset} has no slice {name}{nearest(value, parts)}; expected one of {expected}")
    (pair,) = pairs_of(parts[value], parts[value].baseline)
    return pair


def _compared(parts: Sequence[_Part], options: ComparisonOptions, progress: Progress) -> list[list[Comparison]]:
    """The comparisons of each part; that one is worse or better is adjusted over all of them."""
    alone = replace(options, margins_adjusted=False, correction=options.correction if len(parts) == 1 else "none")
    rows = []
    for part in parts:
        margins = tuple((score, rule.margin) for score, rule in part.rules.items() if rule.margin is not None)
        rows.append(list(compared([[part.pair]], replace(alone, margins=margins, scores=tuple(part.rules)), progress)))
    if len(parts) < 2 or options.correction == "none":
        return rows
    adjusted = iter(holm([1.0 if row.p_value is None else row.p_value for of_it in rows for row in of_it]))
    return [[replace(row, p_adjusted=next(adjusted)) for row in of_it] for of_it in rows]


def _checks(part: _Part, rows: Sequence[Comparison], options: ComparisonOptions) -> Iterator[Check]:
    known = {row.score: row for row in rows}
    for score, rule in part.rules.items():
        row = known.get(score)
        if row is None or row.difference is None:
            where, of = f" in {part.slice}" if part.slice else "", part.pair[1]
            raise HarnessError(f"{score} of {of.name}{where} cannot be compared; expected it in both runs")
        if rule.floor is None or rule.margin is not None or rule.improve is not None:
            yield _against_baseline(row, rule, part, options)
        if rule.floor is not None:
            yield _against_floor(row, rule.floor, part)


def _against_baseline(row: Comparison, rule: Rule, part: _Part, options: ComparisonOptions) -> Check:
    alpha = 1 - options.level
    assert row.difference is not None
    gain = row.difference if row.higher_is_better else -row.difference
    shown = row.p_adjusted is not None and row.p_adjusted <= alpha and gain != 0
    within = row.p_not_worse is not None and row.p_not_worse <= alpha
    verdict = BETTER if shown and gain > 0 else NOT_WORSE if within else WORSE if shown else CANNOT_TELL
    question = NO_MARGIN if rule.margin is None else f"not worse by {rule.margin:g}"
    name = part.pair[1].name
    reason = f"{signed(row.difference, row.digits)} {bounds(row.low, row.high, row.digits)}, n = {row.n:,}"
    if rule.improve is not None:
        question = f"better by more than {rule.improve:g}" if rule.improve else "better"
        low, high = _gains(row)
        if rule.improve:
            verdict = BETTER if low > rule.improve else WORSE if high < rule.improve else CANNOT_TELL
        elif verdict == NOT_WORSE:
            verdict = CANNOT_TELL
    check = Check(part.dataset, row.score, question, verdict, reason, part.slice, row, title=row.title, system=name)
    if verdict != CANNOT_TELL:
        return check
    if rule.improve is not None or rule.margin is None:
        return replace(check, needed=_needed_beyond(row, rule.improve or 0.0, options))
    passed = _margin_passed(part, row, options)
    enough = None if not row.standard_error else needed(row.n, row.standard_error, rule.margin, options.level, sides=1)
    reason += f"; a margin of {passed:.{row.digits}f} would pass" if passed is not None else ""
    return replace(check, reason=reason, needed=enough, margin_passed=passed)


def _needed_beyond(row: Comparison, improve: float, options: ComparisonOptions) -> int | None:
    """Units that would tell whether it is better by more than that, were the difference the one that is seen."""
    assert row.difference is not None
    beyond = (row.difference if row.higher_is_better else -row.difference) - improve
    if not beyond or not row.standard_error:
        return None
    return needed(row.n, row.standard_error, beyond, options.level)


def _gains(row: Comparison) -> tuple[float, float]:
    low, high = (float("nan") if bound is None else bound for bound in (row.low, row.high))
    return (low, high) if row.higher_is_better else (-high, -low)


def _margin_passed(part: _Part, row: Comparison, options: ComparisonOptions) -> float | None:
    """The least margin in the score's digits beyond the end of the one-sided interval, which is that of a two-sided one
    of twice the error; less two replicates, since a p-value counts one of its own and an interval ends between two."""
    error = 1 - options.level - 2 / (options.resamples + 1)
    if error <= 0:
        return None
    wider = replace(options, level=1 - 2 * error, scores=(row.score,), margins=(), correction="none")
    ((low, _),) = map(_gains, compared([[part.pair]], wider, silent))
    return None if math.isnan(low) else (math.floor(max(0.0, -low) * 10**row.digits + 1e-6) + 1) / 10**row.digits


def _against_floor(row: Comparison, floor: float, part: _Part) -> Check:
    """By the score's own interval, as it is stored; of a slice by its estimate and the slice's own."""
    score = part.pair[1].scores[row.score]
    low, high = (score.low, score.high) if row.higher_is_better else (_negative(score.high), _negative(score.low))
    bound = floor if row.higher_is_better else -floor
    ends = f"{number(score.estimate, row.digits)} {bounds(score.low, score.high, row.digits)}"
    verdict = CANNOT_TELL
    if low is not None and high is not None:
        verdict = NOT_WORSE if low >= bound else WORSE if high < bound else CANNOT_TELL
    asked_for = f"at {'least' if row.higher_is_better else 'most'} {floor:g}"
    name = part.pair[1].name
    return Check(part.dataset, row.score, asked_for, verdict, ends, part.slice, title=row.title, system=name)


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _limits(group: Group, limits: Mapping[str, Limit]) -> Iterator[Check]:
    assert group.baseline is not None
    run = next(run for run in group.runs if run is not group.baseline)
    ours, theirs = _facts(run), _facts(group.baseline)
    for name, limit in limits.items():
        if name not in ours:
            known = ", ".join(sorted(ours))
            raise HarnessError(f"a run has no {name!r}{nearest(name, ours)}; expected one of {known}")
        value, base = ours[name], theirs.get(name)
        allowed = limit.allowed(base)
        if value is None or allowed is None:
            who = run.name if value is None else group.baseline.name
            verdict, reason = CANNOT_TELL, f"{who} does not say"
        else:
            verdict = NOT_WORSE if value <= allowed * (1 + 1e-12) else WORSE
            beside = "" if base is None else f", the baseline's {base:g}"
            reason = f"{value:g}{beside}"
        yield Check(group.dataset, name, f"at most {limit}", verdict, reason, system=run.name)


def _facts(run: RunResult) -> dict[str, float | None]:
    """What a run says of itself, by name; None: that it has nothing to say."""
    parts: dict[str, Mapping[str, Any]] = {"health": run.health, "generation": run.manifest.get("generation") or {}}
    facts = {f"{part}/{name}": value for part, own in parts.items() for name, value in own.items()}
    known = {name: value for name, value in facts.items() if value is None or isinstance(value, int | float)}
    return {**known, "run/failed": run.failed, "run/examples": len(run.columns("id"))}
