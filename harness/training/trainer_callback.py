"""A callback for transformers' Trainer, whose scores are among the Trainer's own metrics."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from harness.run.config import chosen_metrics
from harness.stats.options import Options
from harness.training import shared_ranks as ranks
from harness.training.checkpoint_scores import Data, Metrics, check_ready, examples_in, generated, log_to_mlflow, scored
from harness.training.stop_rule import StopRule
from harness.training.whole_weights import check_whole
from harness.types import HarnessError, RunResult, Score

log = logging.getLogger(__name__)
EVAL = "eval_"
"""How the Trainer's own metrics begin."""


@cache
def callback_class() -> type[Any]:
    """The class, made when it is asked for: its base takes seconds to import."""
    from transformers import TrainerCallback

    class HarnessCallback(TrainerCallback):  # type: ignore[misc]  # transformers has no types here
        """Evaluates the model whenever the Trainer evaluates or saves, or every `every` steps.

        The scores are in `scores`, by step, on every rank, and in `results` with all that belongs to them on the first
        one. Where the Trainer evaluates they are among its metrics as `eval_bleu` and so on: `metric_for_best_model`,
        `load_best_model_at_end` and EarlyStoppingCallback (behind this one in the list) know them.

        `stop_when="no further gain of 0.2 BLEU can be told"` ends training once that is so; `advice` says how it
        stands. The other arguments are those of `evaluate_checkpoint`.
        """

        def __init__(
            self,
            dataset: Data,
            metrics: Metrics = "lexical",
            every: int | None = None,
            stop_when: str | None = None,
            **options: Any,
        ) -> None:
            if every is not None and every < 1:
                raise HarnessError(f"every={every}; expected at least 1, or None for every checkpoint")
            self.examples, self.metrics, self.every = examples_in(dataset), metrics, every
            self.rule = None if stop_when is None else StopRule.of(stop_when)
            level, seed = options.pop("level", 0.95), options.pop("seed", 12345)
            self.resampling = Options(options.pop("resamples", 10_000), level, seed=seed)
            if self.rule is not None and self.resampling.resamples == 0:
                raise HarnessError("stop_when with resamples=0; expected 2 or more")
            self.postprocess = options.pop("postprocess", None)
            self.cluster = options.pop("cluster", None) or getattr(dataset, "cluster", None)
            self.track, self.prefix = options.pop("track", True), options.pop("prefix", "")
            self.options = options
            self.results: dict[int, RunResult] = {}
            self.scores: dict[int, dict[str, Score]] = {}
            self.advice = ""
            self._training = False

        def on_train_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, processing_class: Any = None, **kwargs: Any
        ) -> None:
            """Refuses what would fail, or wait for ever, at the first evaluation."""
            self._training = True
            for known in (self.results, self.scores):  # of another training, unless this one goes on from it
                for step in [step for step in known if step > state.global_step]:
                    del known[step]
            if model is not None:
                _check_tokenizer(processing_class)
                check_whole(model)
                check_ready(model, processing_class, self.examples, self.metrics, self.options)
            self._check_direction(args)
            if self.rule is not None:
                metrics = chosen_metrics(self.metrics).values()
                self.rule.check_known([name for metric in metrics for name in metric.score_names if "." not in name])

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self._training = False  # the weights may be others from now on, at the same step

        def on_evaluate(
            self, args: Any, state: Any, control: Any, metrics: dict[str, float] | None = None, **kwargs: Any
        ) -> None:
            if metrics is None or not any(name.startswith(EVAL) for name in metrics):
                return
            known = {f"{EVAL}{self.prefix}{name}": score.estimate for name, score in self._at(state, control, **kwargs)}
            own = {name: value for name, value in known.items() if value is not None}
            metrics.update(own)
            if state.log_history and any(name in state.log_history[-1] for name in metrics):
                state.log_history[-1].update(own)

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.every is None:
                self._at(state, control, **kwargs)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.every is not None and state.global_step % self.every == 0:
                self._at(state, control, **kwargs)

        def _at(self, state: Any, control: Any, **kwargs: Any) -> list[tuple[str, Score]]:
            """The headline scores of the model as it is, evaluated once a step while training goes on."""
            step = state.global_step
            if not self._training or step not in self.scores:
                scores = self._evaluated(step, **kwargs)
                if not self._training:
                    return [(name, score) for name, score in scores.items() if score.headline]
                self.scores[step] = scores
                if self.rule is not None and ranks.together(self._stop)[0]:
                    control.should_training_stop = True
            return [(name, score) for name, score in self.scores[step].items() if score.headline]

        def _evaluated(
            self, step: int, model: Any = None, processing_class: Any = None, **kwargs: Any
        ) -> dict[str, Score]:
            """The scores, on every rank: all generate, the first one scores."""
            _check_tokenizer(processing_class)
            made = generated(model, processing_class, self.examples, self.options)

            def score() -> dict[str, Score] | None:
                if not ranks.is_first():
                    return None
                more = {"postprocess": self.postprocess, "cluster": self.cluster}
                result = scored(self.examples, made, self.metrics, self.resampling, step, **more)
                if self.track:
                    log_to_mlflow(result, step, self.prefix)
                if self._training:
                    self.results[step] = result
                return result.scores

            first: dict[str, Score] = ranks.together(score)[0]
            return first

        def _stop(self) -> bool:
            """Whether the rule is met, which the first rank decides."""
            if self.rule is None or not ranks.is_first():
                return False
            curve = self.rule.curve(self.results, self.resampling)
            if curve is None:
                return False
            self.advice = self.rule.advice(curve)
            log.info("step %d: %s", curve.trend.last, self.advice)
            return self.rule.met(curve)

        def _check_direction(self, args: Any) -> None:
            """Refuses to look for the highest of a score of which the lowest is best."""
            wanted = (getattr(args, "metric_for_best_model", None) or "").removeprefix(EVAL)
            for metric in chosen_metrics(self.metrics).values():
                if wanted.removeprefix(self.prefix) not in metric.score_names or not wanted.startswith(self.prefix):
                    continue
                if bool(args.greater_is_better) != metric.higher_is_better:
                    raise HarnessError(
                        f"metric_for_best_model={args.metric_for_best_model!r} with greater_is_better="
                        f"{args.greater_is_better}; expected greater_is_better={metric.higher_is_better}"
                    )

    return HarnessCallback


def _check_tokenizer(tokenizer: Any) -> None:
    if tokenizer is None:
        raise HarnessError("the Trainer has no tokenizer; expected Trainer(..., processing_class=tokenizer)")
