"""`hydra/sweeper=harness`: a study of trials, each a cell of the multirun, until as many as wanted have been tried."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from omegaconf import DictConfig, OmegaConf

from harness.cli.hydra.space import space
from harness.cli.hydra.studies import Trials, Wanted
from harness.cli.output import tell
from harness.inputs.files import digest
from harness.report.numbers import number as shown
from harness.run import config as core
from harness.run.objective import objectives
from harness.types import HarnessError

STATES = {"FAIL": "failed"}
"""Of trials, where Optuna's words are not ours."""


def optimise(sweeper: Any, arguments: Sequence[str]) -> float | list[float] | None:
    """Runs the trials; the best value, or None where none was finished or there are several objectives."""
    for package in ("optuna", "cmaes"):
        if find_spec(package) is None:
            raise HarnessError(
                f"hydra/sweeper=harness needs {package}, which is not installed; expected this package with its extra: "
                "pip install '.[sweep]' in a checkout"
            )
    config, options = sweeper.config, dict(sweeper.options)
    params = options.pop("params") or {}
    words = [*(f"{name}={value}" for name, value in params.items()), *arguments]
    wanted = Wanted(**{**options, "options": _plain(options["options"])})
    directions = directed(config)
    if not directions:
        raise HarnessError(
            "hydra/sweeper=harness without an objective; expected objective=bleu, say: what is to be the best"
        )
    if config.dry_run:
        raise HarnessError(
            "dry_run with hydra/sweeper=harness: what is tried depends on results; expected a run, or a grid without it"
        )
    searched = space(words, sweeper.hydra_context.config_loader)
    trials = Trials(wanted, searched, directions, digest([config.group, list(directions)])[:8])
    if config.retry_failed:
        trials.again()
    sweeper.launcher.sweep.total = trials.left
    while batch := trials.batch():
        for part in _following(batch):
            cells = [searched.overrides(trial.params) for trial in part]
            sweeper.validate_batch_is_legal(cells)
            with trials.alive(batch):
                returns = sweeper.launcher.launch(cells, initial_job_idx=part[0].number)
            for trial, returned in zip(part, returns, strict=True):
                trials.tell(trial.number, returned.return_value)
    _print_best(trials, list(directions), config.json)
    best = trials.best
    return best[0].value if len(directions) == 1 and best else None


def directed(config: DictConfig) -> dict[str, str]:
    """Each objective of a multirun with its direction, if the chosen metrics have it."""
    wanted = objectives(config.objective)
    if not wanted:
        return {}
    metrics = core.build_metrics(_plain(config.metrics))
    more = {objective.text: objective.check(metrics, config.stats.resamples) for objective in wanted}
    return {text: "maximize" if better else "minimize" for text, better in more.items()}


def _following(batch: Sequence[Any]) -> list[list[Any]]:
    """Trials whose numbers follow each other: a launcher counts on from the first."""
    parts: list[list[Any]] = []
    for trial in batch:
        if parts and trial.number == parts[-1][-1].number + 1:
            parts[-1].append(trial)
        else:
            parts.append([trial])
    return parts


def _plain(value: Any) -> Any:
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _print_best(trials: Trials, names: Sequence[str], as_json: bool) -> None:
    """What the study came to; `harness sweep` tells more."""
    if as_json:
        return
    counts = ", ".join(f"{count} {STATES.get(state, state.lower())}" for state, count in trials.counts.items())
    again = " (retry_failed=true tries what failed once more)" if "FAIL" in trials.counts else ""
    tell(f"\nstudy {trials.name}: {counts}{again}; {trials.place}")
    best = trials.best
    if len(names) > 1 and best:
        tell(f"not beaten in {'both' if len(names) == 2 else 'all of them'} at once:")
    for trial in sorted(best, key=lambda trial: trial.number)[: 1 if len(names) == 1 else None]:
        values = " ".join(f"{name} {shown(value, 4)}" for name, value in zip(names, trial.values, strict=True))
        chosen = " ".join(f"{name}={value}" for name, value in trial.params.items())
        tell(f"{'best' if len(names) == 1 else '  -'}  {chosen}  {values}  (trial {trial.number})")
