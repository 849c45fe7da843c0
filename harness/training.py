"""Evaluation inside a training run: scores with their bounds, in the MLflow run that is active, at the step it is at.

With transformers' Trainer, a callback evaluates at every checkpoint (or every N steps):

    trainer = Trainer(model, ..., processing_class=tokenizer)
    trainer.add_callback(HarnessCallback("dev.jsonl", ["bleu", "chrf"], max_new_tokens=32))

In a training loop of your own, call a function:

    evaluate_checkpoint(model, tokenizer, "dev.jsonl", ["bleu", "chrf"], step=500, max_new_tokens=32)

MLflow then draws each score by step while training goes on, with `interval/<name>.low` and `.high` as its band. The
training itself is left alone: none of its random numbers is drawn, and the model is in training mode again afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.datasets.file import FileDataset
from harness.postprocess import Postprocess
from harness.run.answers import Answers
from harness.run.config import Choice, chosen_metrics
from harness.run.memory import evaluate_examples
from harness.stats.options import Options
from harness.systems.huggingface import HuggingFace
from harness.types import Dataset, Example, HarnessError, Output, RunResult

if TYPE_CHECKING:
    from transformers import TrainerCallback

    HarnessCallback: type[TrainerCallback]

log = logging.getLogger(__name__)
Data = str | Path | Dataset | Sequence[Example] | Sequence[Mapping[str, Any]]
Metrics = Sequence[Choice] | Choice


def evaluate_checkpoint(
    model: Any,
    tokenizer: Any,
    dataset: Data,
    metrics: Metrics = "lexical",
    step: int = 0,
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 12345,
    postprocess: Postprocess | None = None,
    cluster: str | None = None,
    track: bool = True,
    prefix: str = "",
    **options: Any,
) -> RunResult:
    """Scores of a model in memory on a data set; logged, if `track`, to the active MLflow run at `step`, each name
    behind `prefix` (`dev/`, where several data sets go into one run). What failed is left out and counted.

    `dataset` is a file of examples, a data set, or a list of examples or of rows with `source` and `references`.
    `cluster` names the metadata field by which examples belong together, by default the data set's own. `options` are
    those of system=huggingface: `prompt`, `max_new_tokens`, `num_beams`, `batch_tokens` and so on.
    """
    examples = _examples(dataset)
    cluster = cluster or getattr(dataset, "cluster", None)
    if options.get("repeats", 1) != 1:
        raise HarnessError(f"repeats={options['repeats']}; expected 1 in training, one output for each example")
    system = HuggingFace.in_memory(model, tokenizer, **options)
    made: list[Output] = [Output(None, "not generated")] * len(examples)
    training = bool(model.training)
    model.eval()
    try:
        for batch in system.plan(examples):
            for i, output in zip(batch, system.generate([examples[i] for i in batch]), strict=True):
                made[i] = output
    finally:
        model.train(training)
    chosen = chosen_metrics(metrics)
    answers = Answers.of(examples, made, postprocess)
    if len(answers.failed) == len(made):
        first = next(answers.blocks()).processed[0]
        raise HarnessError(f"step {step}: all {len(made)} examples failed, the first with: {first.error}")
    result = evaluate_examples(answers, chosen, Options(resamples, level, seed=seed), f"step-{step}", cluster)
    if track:
        from harness.tracking.curve_parent import log_to_active_run

        if log_to_active_run(result, step, prefix) is None:
            log.warning(
                "there is no active MLflow run: step %d is not logged; expected mlflow.start_run() before", step
            )
    return result


def _examples(dataset: Data) -> list[Example]:
    if isinstance(dataset, str | Path):
        return list(FileDataset(str(dataset)).examples())
    if hasattr(dataset, "examples"):
        return list(dataset.examples())
    from harness.inputs.rows import examples_of

    rows = [row for row in dataset if not isinstance(row, Example)]
    if not rows:
        return [row for row in dataset if isinstance(row, Example)]
    return list(examples_of(lambda: ((f"dataset[{i}]", dict(row)) for i, row in enumerate(rows)), None, None))


@cache
def _callback() -> type[Any]:
    """The class, made when it is asked for: its base takes seconds to import."""
    from transformers import TrainerCallback

    class HarnessCallback(TrainerCallback):  # type: ignore[misc]  # transformers has no types here
        """Evaluates the model at every checkpoint that the Trainer saves, or every `every` steps.

        The scores are in `results`, by step. The other arguments are those of `evaluate_checkpoint`.
        """

        def __init__(
            self, dataset: Data, metrics: Metrics = "lexical", every: int | None = None, **options: Any
        ) -> None:
            if every is not None and every < 1:
                raise HarnessError(f"every={every}; expected at least 1, or None for every checkpoint")
            self.examples, self.metrics, self.every = _examples(dataset), metrics, every
            self.options = {"cluster": getattr(dataset, "cluster", None), **options}
            self.results: dict[int, RunResult] = {}

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.every is None:
                self._evaluate(state, **kwargs)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.every is not None and state.global_step % self.every == 0:
                self._evaluate(state, **kwargs)

        def _evaluate(self, state: Any, model: Any, processing_class: Any = None, **kwargs: Any) -> None:
            if not state.is_world_process_zero:
                return
            if processing_class is None:
                raise HarnessError("the Trainer has no tokenizer; expected Trainer(..., processing_class=tokenizer)")
            self.results[state.global_step] = evaluate_checkpoint(
                model, processing_class, self.examples, self.metrics, state.global_step, **self.options
            )

    return HarnessCallback


def __getattr__(name: str) -> Any:
    if name == "HarnessCallback":
        return _callback()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
