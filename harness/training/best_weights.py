"""The best weights of a training run, and what being chosen did to their score."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.inputs.files import some
from harness.report.curve_words import answer
from harness.stats.options import Options
from harness.training import shared_ranks as ranks
from harness.training.stop_rule import curves_of
from harness.types import Curve, HarnessError, check_choice, nearest

log = logging.getLogger(__name__)
PREFER = ("best", "earliest")


@dataclass(frozen=True)
class Loaded:
    """Which weights were loaded, and what is to be said of them."""

    step: int
    path: Path
    curve: Curve
    """With the best step's score corrected for having been chosen."""


def load_best(trainer: Any, callback: Any, score: str | None = None, prefer: str = "best") -> Loaded:
    """Loads the weights of the best step that the callback saw into the trainer's model, from the checkpoint that the
    Trainer saved there. Its own score is flattered by the choice: `.curve.corrected` with its bounds is what to report.

    `score` is the one to choose by, the first one by default. `prefer="earliest"` loads the earliest step that cannot
    be told from the best: where that is most of them, the best is the best by luck.
    """
    check_choice("prefer", prefer, PREFER)
    curve = ranks.together(lambda: _curve(callback, score) if ranks.is_first() else None)[0]
    step = curve.best if prefer == "best" else curve.earliest
    folder = Path(trainer.args.output_dir) / f"checkpoint-{step}"
    if not folder.is_dir():
        names = [re.fullmatch(r"checkpoint-(\d+)", path.name) for path in folder.parent.glob("checkpoint-*")]
        saved = [int(name[1]) for name in names if name]
        known = some([f"{at:,}" for at in sorted(saved)]) if saved else "no step"
        raise HarnessError(
            f"{folder} is not there: the {prefer} step by {curve.score} is {step:,}, checkpoints are saved at {known}; "
            "expected one at every evaluation (save_steps as eval_steps), and no save_total_limit"
        )
    trainer._load_from_checkpoint(str(folder))
    log.info("%s is loaded. %s", folder, answer(curve))
    return Loaded(step, folder, curve)


def _curve(callback: Any, score: str | None) -> Curve:
    if len(callback.results) < 2:
        raise HarnessError(f"the callback has {len(callback.results)} evaluations; expected 2 or more to choose from")
    options: Options = callback.resampling
    curves = {curve.score: curve for curve in curves_of(callback.results, options)}
    chosen = score or next(iter(curves), "")
    if chosen not in curves:
        raise HarnessError(f"no score {chosen!r}{nearest(chosen, list(curves))}; expected one of {', '.join(curves)}")
    return curves[chosen]
