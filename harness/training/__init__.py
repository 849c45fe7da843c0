"""Evaluation inside a training run: scores with their bounds, in the MLflow run that is active, at the step it is at.

With transformers' Trainer, a callback evaluates at every evaluation and checkpoint (or every N steps); its scores are
among the Trainer's own metrics, so that `metric_for_best_model="bleu"` and early stopping know them:

    trainer = Trainer(model, ..., processing_class=tokenizer)
    trainer.add_callback(HarnessCallback("dev.jsonl", ["bleu", "chrf"], max_new_tokens=32))

In a training loop of your own, call a function:

    evaluate_checkpoint(model, tokenizer, "dev.jsonl", ["bleu", "chrf"], step=500, max_new_tokens=32)

MLflow then draws each score by step while training goes on, with its bounds as a band. The training itself is left
alone: none of its random numbers is drawn, and the model is in training mode again afterwards. Under torchrun the ranks
share the examples, and the scores are those of one rank alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.training.best_weights import Loaded, load_best
from harness.training.checkpoint_scores import evaluate_checkpoint

if TYPE_CHECKING:
    from transformers import TrainerCallback

    HarnessCallback: type[TrainerCallback]

__all__ = ["HarnessCallback", "Loaded", "evaluate_checkpoint", "load_best"]


def __getattr__(name: str) -> Any:
    if name == "HarnessCallback":
        from harness.training.trainer_callback import callback_class

        return callback_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
