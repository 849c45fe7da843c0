"""What one would write without a harness: `python by_hand.py DATA OUTPUTS STORE`, both files JSON lines.

BLEU, chrF and ROUGE of a system with their intervals, and a table of examples with the scores of each, into MLflow.

A user would take the metrics from the package `evaluate`. It fetches the code of each from a hub that cannot be
reached here, so this calls what that code calls: its `sacrebleu` and `chrf` are sacrebleu's `corpus_score`, its `rouge`
with `use_aggregator=False` is a loop around rouge-score. What `evaluate` itself adds, a copy of all text to an Arrow
file, is left out, in the script's favour.

The mean of a score over examples gets its interval from `scipy.stats.bootstrap`, in batches, since its default makes
all resamples at once. BLEU and chrF of a corpus are no means and get theirs from sacrebleu, which, too, makes
all resamples at once: 4 GB for BLEU and 7 GB for chrF of 10,000 examples.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]
from scipy.stats import bootstrap

RESAMPLES, SEED = 10_000, 12345
ROUGE = ["rouge1", "rouge2", "rougeL", "rougeLsum"]


def read(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def corpus(name: str, metric: Any, outputs: list[str], references: list[str]) -> dict[str, float]:
    score = metric.corpus_score(outputs, [references], n_bootstrap=RESAMPLES)
    low, high = score._mean - score._ci, score._mean + score._ci
    return {name: score.score, f"{name}_low": low, f"{name}_high": high}


def mean(name: str, values: pd.Series) -> dict[str, float]:
    rng = np.random.default_rng(SEED)
    options: dict[str, Any] = {"n_resamples": RESAMPLES, "batch": 50, "method": "percentile", "rng": rng}
    interval = bootstrap((values.to_numpy(),), np.mean, **options).confidence_interval
    return {name: values.mean(), f"{name}_low": interval.low, f"{name}_high": interval.high}


def by_example(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a column for each score."""
    pairs = list(zip(table["output"], table["reference"], strict=True))
    bleu, chrf = sacrebleu.BLEU(effective_order=True), sacrebleu.CHRF()
    rouge = RougeScorer(ROUGE, use_stemmer=False)
    scores = [rouge.score(reference, output) for output, reference in pairs]
    columns = {name: [score[name].fmeasure for score in scores] for name in ROUGE}
    columns["bleu"] = [bleu.sentence_score(output, [reference]).score for output, reference in pairs]
    columns["chrf"] = [chrf.sentence_score(output, [reference]).score for output, reference in pairs]
    return table.assign(**columns)


def main(data: str, outputs: str, store: str) -> None:
    examples = pd.DataFrame(read(data)).merge(pd.DataFrame(read(outputs)), on="id", validate="one_to_one")
    table = by_example(examples.assign(reference=examples["references"].str[0]))
    texts = table["output"].tolist(), table["reference"].tolist()
    scores = corpus("bleu", sacrebleu.BLEU(), *texts) | corpus("chrf", sacrebleu.CHRF(), *texts)
    for name in ROUGE:
        scores |= mean(name, table[name])
    mlflow.set_tracking_uri(store)
    mlflow.set_experiment("by hand")
    with mlflow.start_run():
        mlflow.log_params({"data": data, "outputs": outputs, "resamples": RESAMPLES, "seed": SEED})
        for name, value in scores.items():
            mlflow.log_metric(name, value)
        mlflow.log_table(table, "examples.json")
    print(pd.Series(scores))


if __name__ == "__main__":
    main(*sys.argv[1:])
