"""`hydra/sweeper=race`: a grid in rounds. All cells answer the same first sixteenth of the data, then the same eighth,
and so on; after each round those that are known to be worse than the leader are dropped
(harness/stats/selection/racing.py).

Whatever a cell has answered is in its run folder, so that no round generates an output again, and the same command
called again goes on where it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from omegaconf import OmegaConf

from harness.analysis.sweeps.races import race_of, stands
from harness.cli.hydra.composing import members
from harness.cli.hydra.gathering import NUMBER
from harness.cli.hydra.received import literal
from harness.cli.output import tell
from harness.inputs.project import runs_folder
from harness.report.numbers import number
from harness.run import config as core
from harness.stats.selection.racing import SHARES, Race, Standing
from harness.store.records import records
from harness.types import HarnessError, RunRecord, nearest

SEVERAL = ("system", "system.path", "experiment")
"""What decides whether a system stands for several."""


def raced(sweeper: Any, arguments: Sequence[str]) -> None:
    """Runs the rounds."""
    config, error = sweeper.config, sweeper.options["error"]
    words = [*(f"{name}={value}" for name, value in (sweeper.options["params"] or {}).items()), *arguments]
    overrides = OverridesParser.create(config_loader=sweeper.hydra_context.config_loader).parse_overrides(words)
    (combined,) = BasicSweeper.split_arguments(overrides, None)
    if not 0 < error < 1:
        raise HarnessError(f"hydra.sweeper.error={error}; expected how often the best may be dropped, as 0.05")
    sweeper.validate_batch_is_legal(combined)
    if config.dry_run:
        sweeper.launcher.launch(combined, initial_job_idx=0)
        return
    cells = list(_each(sweeper, combined))
    if len(cells) < 2:
        raise HarnessError("hydra/sweeper=race of one cell; expected a parameter with several values")
    _Rounds(sweeper, cells, _score(config)).run()


def _each(sweeper: Any, combined: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """The cells of all combinations: of each one, or one for each checkpoint, adapter or file that its system stands
    for."""
    known: dict[tuple[str, ...], list[str]] = {}
    for words in combined:
        deciding = tuple(word for word in words if word.partition("=")[0] in SEVERAL)
        if deciding not in known:
            known[deciding] = []
            with nullcontext() if len(combined) == 1 else suppress(HarnessError):  # which that cell says
                composed = sweeper.hydra_context.config_loader.load_sweep_config(sweeper.config, list(words))
                known[deciding] = members(composed)
        if not known[deciding]:
            yield list(words)
        base = [] if any(word.startswith("sweep=") for word in words) else ["sweep={space:{}}"]
        for member in known[deciding]:
            yield [*words, *base, f"++sweep.member={QuotedString(literal(member), Quote.single).with_quotes()}"]


def _score(config: Any) -> str:
    """What is raced for: the objective, or the first score of the first metric."""
    specs: Any = OmegaConf.to_container(config.metrics, resolve=True) if config.metrics else None
    metrics = core.build_metrics(specs)
    scores = [score for metric in metrics.values() for score in metric.score_names if "." not in score]
    wanted = config.get("objective")
    if wanted is None and scores:
        return scores[0]
    if wanted not in scores:
        raise HarnessError(
            f"objective={wanted} with hydra/sweeper=race{nearest(str(wanted), scores)}; expected one score of a chosen "
            f"metric: {', '.join(scores)}"
        )
    return str(wanted)


class _Rounds:
    """A race that goes on."""

    def __init__(self, sweeper: Any, cells: Sequence[Sequence[str]], score: str) -> None:
        self.sweeper, self.cells, self.score = sweeper, cells, score
        self.config, self.error = sweeper.config, sweeper.options["error"]
        self.left = list(range(len(cells)))
        self.launched = 0
        self.race: Race | None = None

    def run(self) -> None:
        for place, share in enumerate(SHARES):
            if self.race is not None and self._units(share) not in self.race.looks:
                continue  # too few to tell anything
            entrants = self._answered(1.0 if len(self.left) == 1 else share, place)
            self.left = [cell for cell in self.left if cell in entrants]
            if len(self.left) < 2:
                if len(self.left) == 1 and share < 1.0 and entrants[self.left[0]].manifest["raced"]["share"] < 1.0:
                    self._answered(1.0, place + 1)
                return
            runs = [entrants[cell] for cell in self.left]
            if self.race is None:
                self.race = race_of(runs, self.error, self.config.stats.seed)
                self._tell_too_few()
            units = self._units(share)
            if units not in self.race.looks[:-1]:
                continue
            metrics: Any = OmegaConf.to_container(self.config.metrics, resolve=True)
            now = stands(runs, self.race, self.race.looks.index(units), metrics)
            self._tell(place, runs, now, units)
            self.left = [cell for cell, beaten in zip(self.left, now.beaten, strict=True) if not beaten]

    def _units(self, share: float) -> int:
        assert self.race is not None
        return math.ceil(share * self.race.units - 1e-9)

    def _answered(self, share: float, place: int) -> dict[int, RunRecord]:
        """The runs of the cells that are left, by number, once they have answered this share; one that failed has
        none."""
        about = f"race={{share:{share!r},score:{self.score},error:{self.error!r},left:{self.left}}}"
        batch = [[*self.cells[cell], f"{NUMBER}{cell}", about] for cell in self.left]
        first = self.launched
        self.launched += len(batch)
        self.sweeper.launcher.sweep.earlier = first
        self.sweeper.launcher.launch(batch, initial_job_idx=first)
        below = Path(self.config.output_dir) if self.config.output_dir else runs_folder()
        stored = records(below) if below.is_dir() else []
        runs: dict[int, RunRecord] = {}
        for run in stored:
            own, raced = run.manifest.get("cell"), run.manifest.get("raced")
            if own and raced and run.manifest["group"] == self.config.group and raced["share"] >= share:
                if own["number"] in runs:
                    raise HarnessError(
                        f"cell {own['number']} of the race is several runs ({runs[own['number']].path}, {run.path}); "
                        "expected one each: another output_dir, or another group"
                    )
                runs[own["number"]] = run
        return {cell: runs[cell] for cell in self.left if cell in runs}

    def _tell_too_few(self) -> None:
        """Says where no cell can be dropped before it has answered everything."""
        assert self.race is not None
        if len(self.race.looks) == 1 and not self.config.json:
            unit = "clusters" if self.race.clustered else "examples"
            tell(f"{self.race.units:,} {unit} are too few to drop a cell early: all cells answer everything\n")

    def _tell(self, place: int, runs: Sequence[RunRecord], now: Standing, units: int) -> None:
        """How the race stands, unless the answer is to be JSON alone."""
        if self.config.json:
            return
        examples = runs[0].manifest["raced"]
        score = runs[0].scores[self.score]
        head = f"round {place + 1} of {len(SHARES)}: {units:,} of {examples['of_units']:,} "
        head += "examples" if runs[0].manifest["dataset"]["cluster"] is None else "clusters"
        leader = runs[now.leader]
        lines = [
            f"{head}, leader {leader.cell} ({score.title} {number(float(now.estimates[now.leader]), score.digits)})"
        ]
        for i, run in enumerate(runs):
            if now.beaten[i]:
                lines.append(f"  dropped {run.cell}: {number(float(now.lead[i]), score.digits)} behind")
        lines.append("" if now.beaten.any() else "  nothing can be dropped yet\n")
        tell("\n".join(lines))
