"""The demonstration of checkpoints: its data, and its training shortened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from harness.data import dates
from tests.conftest import Called
from tests.training.test_checkpoint_scores import history


def test_dates_in_words() -> None:
    for day, words in (
        (date(2024, 3, 5), "the fifth of march two thousand twenty-four"),
        (date(1999, 12, 31), "the thirty-first of december one thousand nine hundred ninety-nine"),
        (date(1012, 8, 12), "the twelfth of august one thousand twelve"),
        (date(2000, 1, 20), "the twentieth of january two thousand"),
    ):
        assert dates.in_words(day) == words
        ids = dates.tokenizer()(words)["input_ids"]
        assert dates.tokenizer().decode(ids, skip_special_tokens=True) == words
    assert dates.tokenizer().tokenize("2024-03-05") == list("2024-03-05")
    train, test = dates.examples(50, 20)
    assert not {row["id"] for row in train} & {row["id"] for row in test}


@pytest.mark.slow
def test_the_demonstration_shortened(
    tmp_path: Path, cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of a few seconds: its curve rises from the first checkpoint to the last, and MLflow has its steps."""
    from mlflow import MlflowClient

    monkeypatch.setattr(dates, "TRAIN", 500)
    monkeypatch.setattr(dates, "TEST", 40)
    dates.train(Path("runs/dates"), steps=100, width=32, batch=32, rate=3e-3)
    called = cli("run", "experiment=checkpoints", "stats.resamples=200")
    assert called.code == 0, called.err
    assert "harness compare runs/checkpoints/*" in called.out
    store = MlflowClient(f"sqlite:///{tmp_path}/runs/mlflow.db")
    runs = store.search_runs([store.get_experiment_by_name("checkpoints").experiment_id])
    (curve,) = [run for run in runs if "harness.series" in run.data.tags]
    chrf = history(store, curve.info.run_id, "chrf")
    assert list(chrf) == [20, 40, 60, 80, 100]
    assert chrf[100] > chrf[20] + 10
    low, high = (history(store, curve.info.run_id, f"interval/chrf.{bound}") for bound in ("low", "high"))
    assert all(low[step] < chrf[step] < high[step] for step in chrf)
    dates.main(["runs/dates"])  # nothing is trained twice
    assert len(list(Path("runs/dates").glob("checkpoint-*"))) == 5
