"""Stored runs and what people said of them: agreement of metrics with people, and human scores predicted from few."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.analysis.people.judgements import HumanFile, Joined, joined
from harness.analysis.stored.loading import Run, loaded_runs
from harness.report.terminal.progress import silent
from harness.stats.people.agreement import Agreement, agreement, steps
from harness.stats.people.panel import MetaOptions
from harness.stats.people.powered import Prediction, predictions
from harness.types import HarnessError, Progress
from harness.types.shown import counted

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asked:
    """What to find out of the panel."""

    scores: tuple[str, ...] | None = None
    coefficients: tuple[str, ...] = ()
    group: str | None = None
    """By default `item`, or `none` for one run."""
    predict: bool = False


@dataclass(frozen=True)
class Meta:
    """Agreement of metrics with people on one data set."""

    dataset: str
    human: str
    """The column of the human scores."""
    systems: tuple[str, ...]
    n: int
    """Judged outputs."""
    items: int | None
    """Items that were judged; None where judgements are of systems only."""
    unit: str
    group: str
    resample: str
    level: float
    resamples: int
    seed: int
    correction: str
    agreement: Agreement
    predictions: Sequence[Prediction]
    joined: Joined

    def row(self) -> dict[str, Any]:
        """For a JSON document."""
        from dataclasses import asdict

        names = ("dataset", "human", "systems", "n", "items", "unit", "group", "resample", "level", "resamples", "seed")
        parts = {name: getattr(self, name) for name in (*names, "correction")}
        return {
            **parts,
            "coefficients": [asdict(row) for row in self.agreement.coefficients],
            "tests": [asdict(row) for row in self.agreement.tests],
            "sampled": self.agreement.sampled,
            "note": self.agreement.note,
            "predictions": [{**asdict(row), "saved": row.saved} for row in self.predictions],
        }


def meta(
    runs: Sequence[Run] | Run, given: HumanFile, asked: Asked, options: MetaOptions, progress: Progress = silent
) -> Meta:
    """How well the metrics of runs on one data set agree with people, or what people would say of all outputs."""
    options.check()
    loaded, _ = loaded_runs([runs] if isinstance(runs, Run) else runs)
    if not loaded:
        raise HarnessError("no run given; expected at least 1")
    pair = joined(loaded, given, asked.scores, options.seed)
    panel = pair.panel
    options = _fitting(len(panel.systems), asked.group, options)
    answer, predicted = Agreement((), (), False), []
    if asked.predict:
        if panel.human is None:
            raise HarnessError(f"{given.path} has no 'id', and --predict needs to know which outputs were judged")
        judged = pair.sign * panel.human
        predicted = predictions(judged, panel.segments, panel.units, panel.systems, options.level)
    else:
        if panel.human is None:
            log.warning(
                "%s has no 'id', so agreement is measured on systems only (--id-field NAME names it)", given.path
            )
        if panel.human is None and len(panel.systems) < 3:
            raise HarnessError(
                f"{given.path} is about {counted(len(panel.systems), 'system')}; expected 3 or more, or ids of outputs"
            )
        with progress("resampling", steps(panel, options, asked.coefficients)) as step:
            answer = agreement(panel, options, asked.coefficients, step.advance)
    return Meta(
        dataset=pair.dataset,
        human=pair.field,
        systems=panel.systems,
        n=int(panel.cells.sum()) if panel.human is not None else sum(map(len, panel.ratings)),
        items=int(panel.cells.any(axis=0).sum()) if panel.human is not None else None,
        unit=panel.design.label,
        group=options.group,
        resample=options.drawn,
        level=options.level,
        resamples=options.resamples,
        seed=options.seed,
        correction=options.correction,
        agreement=answer,
        predictions=predicted,
        joined=pair,
    )


def _fitting(systems: int, group: str | None, options: MetaOptions) -> MetaOptions:
    """One run has no others to be compared with on an item, and no systems to draw."""
    if systems > 1:
        return replace(options, group=group or options.group)
    if group == "item":
        raise HarnessError("--group item with one run; expected two or more, or --group none")
    if options.drawn == "systems":
        raise HarnessError("--resample systems with one run; expected two or more, or --resample items")
    return replace(options, group=group or "none", drawn="items")
