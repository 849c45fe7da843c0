"""Scores among the Trainer's own metrics: the best model, early stopping, and stopping by what can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness import training
from harness.stats.options import Options
from harness.training.stop_rule import StopRule, curves_of
from harness.types import HarnessError, RunResult
from tests.systems import tiny
from tests.training.test_checkpoint_scores import ROWS, loaded

FAST = {"max_new_tokens": 4, "resamples": 100, "track": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make("seq2seq", tmp_path_factory.mktemp("models") / "tiny")


def trainer(folder: Path, out: Path, *callbacks: Any, **arguments: Any) -> Any:
    """That saves and evaluates every two of eight steps."""
    from transformers import Trainer, TrainingArguments, set_seed

    set_seed(0)
    model, tokenizer = loaded(folder)
    data = [{"input_ids": [5, 6, 2], "labels": [5, 18, 2]}] * 16
    settings = TrainingArguments(
        str(out),
        **{
            "max_steps": 8, "save_steps": 2, "eval_steps": 2, "eval_strategy": "steps", "report_to": [], "use_cpu": True,
            "per_device_train_batch_size": 4, "disable_tqdm": True, "save_only_model": True, "learning_rate": 0.01,
            "dataloader_pin_memory": False, **arguments,
        },
    )  # fmt: skip
    return Trainer(
        model, settings, train_dataset=data, eval_dataset=data[:4], processing_class=tokenizer,
        callbacks=list(callbacks),
    )  # fmt: skip


def test_the_trainer_chooses_by_our_scores_and_load_best_corrects_them(folder: Path, tmp_path: Path) -> None:
    import torch

    callback = training.HarnessCallback(ROWS, ["chrf", "exact_match"], **FAST)
    made = trainer(folder, tmp_path, callback, metric_for_best_model="chrf", load_best_model_at_end=True)
    made.train()
    assert sorted(callback.results) == sorted(callback.scores) == [2, 4, 6, 8]
    by_step = {step: result.scores["chrf"].estimate for step, result in callback.results.items()}
    logged = {line["step"]: line["eval_chrf"] for line in made.state.log_history if "eval_chrf" in line}
    assert logged == by_step
    best = max(by_step, key=lambda step: (by_step[step], -step))
    assert made.state.best_global_step == best
    assert made.state.best_metric == by_step[best]
    weights = {name: weight.clone() for name, weight in made.model.state_dict().items()}
    assert made.evaluate()["eval_chrf"] == by_step[best]  # of the weights that are loaded now, not of the last step
    for weight in made.model.parameters():
        weight.data.zero_()
    again = training.load_best(made, callback, "chrf")
    assert (again.step, again.path.name) == (best, f"checkpoint-{best}")
    assert all(torch.equal(weight, weights[name]) for name, weight in made.model.state_dict().items())
    (expected,) = [row for row in harness.best(list(callback.results.values()), resamples=100) if row.score == "chrf"]
    assert (again.curve.corrected, again.curve.corrected_low) == (expected.corrected, expected.corrected_low)
    assert training.load_best(made, callback, "chrf", prefer="earliest").step == again.curve.earliest
    for path in tmp_path.glob("checkpoint-*"):
        path.rename(path.with_name(f"moved-{path.name}"))
    with pytest.raises(
        HarnessError, match=rf"checkpoint-{best} is not there: the best step by chrf is {best}, checkpo"
    ):
        training.load_best(made, callback, "chrf")
    with pytest.raises(HarnessError, match="no score 'blue'; expected one of chrf, exact_match"):
        training.load_best(made, callback, "blue")
    with pytest.raises(HarnessError, match="the callback has 0 evaluations; expected 2 or more to choose from"):
        training.load_best(made, training.HarnessCallback(ROWS))
    with pytest.raises(HarnessError, match="prefer=last; expected one of best, earliest"):
        training.load_best(made, callback, prefer="last")


def test_early_stopping_by_our_scores(folder: Path, tmp_path: Path) -> None:
    from transformers import EarlyStoppingCallback

    callback = training.HarnessCallback(ROWS, ["chrf"], prefix="dev/", **FAST)
    made = trainer(
        folder, tmp_path, callback, EarlyStoppingCallback(1), metric_for_best_model="eval_dev/chrf",
        load_best_model_at_end=True, learning_rate=0.0, save_only_model=False,
    )  # fmt: skip
    made.train()
    assert sorted(callback.results) == [2, 4]  # nothing is learnt, so the second evaluation is the last


def test_training_stops_once_no_gain_can_be_told(folder: Path, tmp_path: Path) -> None:
    callback = training.HarnessCallback(ROWS, ["chrf"], stop_when="no further gain of 0.2 chrF can be told", **FAST)
    trainer(folder, tmp_path / "a", callback, learning_rate=0.0, eval_strategy="no").train()
    assert sorted(callback.results) == [2, 4, 6]
    assert callback.advice.endswith("No further gain of 0.2 chrf can be told: stop.")
    assert callback.advice.startswith("chrf is best at step 2 (")
    rule = StopRule.of("no further gain of 1 blue can be told")
    with pytest.raises(HarnessError, match="no score 'blue'; expected one of chrf"):
        rule.curve(callback.results, Options(100))


def result(quality: float, step: int) -> RunResult:
    right = np.random.default_rng(step).random(200) < quality
    outputs = ["yes" if each else "no" for each in right]
    return harness.evaluate(outputs, [["yes"]] * 200, ["exact_match"], resamples=100, name=f"step-{step}")


def test_the_rule_waits_while_scores_rise_and_where_examples_are_few() -> None:
    rule = StopRule.of("no further gain of 10 exact_match can be told")
    assert rule.curve({1: result(0.5, 1), 2: result(0.5, 2)}, Options(100)) is None
    rising = rule.curve({step: result(0.2 * step, step) for step in (1, 2, 3, 4)}, Options(200))
    assert rising is not None
    assert not rule.met(rising)
    assert rule.advice(rising).endswith("A further gain of 10 exact_match is possible: go on.")
    flat = rule.curve({step: result(0.9, step) for step in (1, 2, 3, 4)}, Options(200))
    assert flat is not None
    assert rule.met(flat)
    assert not StopRule.of("no further gain of 0.1 exact_match can be told").met(flat)  # 200 examples cannot tell
    (curve,) = curves_of({step: result(0.9, step) for step in (1, 2)}, Options(100))
    assert curve.series == "training"


@pytest.mark.parametrize(
    "text", ["stop", "no further gain of BLEU can be told", "no further gain of 0 BLEU can be told"]
)
def test_a_rule_that_nobody_understands(text: str) -> None:
    with pytest.raises(HarnessError, match=r"stop_when='.*'; expected 'no further gain of X SCORE can be told'"):
        training.HarnessCallback(ROWS, stop_when=text)


def test_what_is_refused_before_training(folder: Path, tmp_path: Path) -> None:
    callback = training.HarnessCallback(ROWS, ["ter"], **FAST)
    with pytest.raises(HarnessError, match="metric_for_best_model='ter' with greater_is_better=True; expected greater"):
        trainer(folder, tmp_path, callback, metric_for_best_model="ter", load_best_model_at_end=True).train()
    with pytest.raises(HarnessError, match="stop_when with resamples=0"):
        training.HarnessCallback(ROWS, stop_when="no further gain of 1 chrf can be told", resamples=0)
    callback = training.HarnessCallback(ROWS, ["chrf"], stop_when="no further gain of 1 blue can be told", **FAST)
    with pytest.raises(HarnessError, match="stop_when: no score 'blue'; expected one of chrf"):
        trainer(folder, tmp_path, callback).train()
    assert callback.results == {}


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROWS, {"max_new_tokenz": 4}, r"system\.max_new_tokenz is not an option \(did you mean 'max_new_tokens'\?\)"),
        (ROWS, {"repeats": 2}, "repeats=2; expected 1 in training"),
        (ROWS, {"prompt": "Translate."}, "prompt"),
        ([], {}, "the data to evaluate on has no examples; expected 1 or more"),
        ([{"id": 7, "source": "w1"}], {}, r"1 of 1 examples has no references \('7'\); expected at least one each"),
    ],
)
def test_what_would_fail_at_the_first_evaluation_is_refused_before_training(
    folder: Path, tmp_path: Path, rows: list[Any], options: dict[str, Any], message: str
) -> None:
    made = trainer(folder, tmp_path, training.HarnessCallback(rows, ["chrf"], resamples=100, track=False, **options))
    with pytest.raises(HarnessError, match=message):
        made.train()
    assert made.state.global_step == 0


def test_a_trainer_without_a_tokenizer_is_refused_before_training(folder: Path, tmp_path: Path) -> None:
    made = trainer(folder, tmp_path, training.HarnessCallback(ROWS, ["chrf"], **FAST))
    made.callback_handler.processing_class = None
    with pytest.raises(HarnessError, match="the Trainer has no tokenizer"):
        made.train()
    assert made.state.global_step == 0
