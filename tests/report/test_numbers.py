"""What a metric says of its scores is what every view shows: one title, one number of digits."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.metrics.bertscore import BertScore
from harness.metrics.bleu import Bleu
from harness.metrics.chrf import Chrf, ChrfPlusPlus
from harness.metrics.moverscore import MoverScore
from harness.metrics.nist import Nist
from harness.metrics.perplexity import Perplexity
from harness.metrics.rouge import Rouge
from harness.metrics.squad import ExactMatch, TokenF1
from harness.metrics.ter import Ter
from harness.report.terminal.comparisons import print_best, print_comparisons
from harness.report.terminal.powers import print_powers
from harness.report.terminal.summary import print_run
from harness.stats.options import ComparisonOptions
from harness.tracking.description import description
from harness.types import Batch, Metric, RunResult, Score
from tests.conftest import BAD, ROWS
from tests.run.test_runner import PREDICT, Cli

REFERENCES = [row["references"] for row in ROWS]


@pytest.mark.parametrize(
    ("metric", "score", "title", "digits"),
    [
        (Bleu, "bleu", "BLEU", 2), (Bleu, "bleu.p1", "BLEU p1", 2), (Bleu, "bleu.r4", "BLEU r4", 2),
        (Bleu, "bleu.bp", "BLEU bp", 4), (Bleu, "bleu.ratio", "BLEU ratio", 4),
        (Bleu, "bleu.sys_len", "BLEU sys_len", 0), (Bleu, "bleu.ref_len", "BLEU ref_len", 0),
        (Chrf, "chrf", "chrF", 2), (ChrfPlusPlus, "chrfpp", "chrF++", 2), (Ter, "ter", "TER", 2),
        (Nist, "nist", "NIST", 2), (Nist, "nist.n1", "NIST n1", 2),
        (Rouge, "rouge1", "ROUGE-1", 4), (Rouge, "rougeLsum", "ROUGE-Lsum", 4),
        (Rouge, "rougeSU.recall", "ROUGE-SU recall", 4),
        (ExactMatch, "exact_match", "Exact match", 2), (TokenF1, "token_f1", "Token F1", 2),
        (BertScore, "bertscore", "BERTScore", 4), (BertScore, "bertscore.recall", "BERTScore recall", 4),
        (MoverScore, "moverscore", "MoverScore", 4),
        (Perplexity, "perplexity", "Perplexity", 2),
        (Perplexity, "perplexity.bits_per_byte", "Perplexity bits_per_byte", 4),
    ],
)  # fmt: skip
def test_what_our_metrics_say(metric: type[Metric], score: str, title: str, digits: int) -> None:
    made = metric.__new__(metric)  # the neural ones need a model to be made
    assert (made.title_of(score), made.digits_of(score)) == (title, digits)
    assert metric.aligns == (metric in (BertScore, MoverScore))


class Own(Metric):
    """A plug-in that says nothing of how it is shown."""

    name, columns, score_names, averaged = "own_score", ("value", "count"), ("own_score", "own_score.part"), True

    def statistics(self, batch: Batch) -> Any:
        return np.array([[float(len(text)), 1.0] for text in batch.outputs])

    def score(self, sums: Any) -> Any:
        return np.repeat(sums[..., :1] / sums[..., 1:], 2, axis=-1)


class OutOfHundred(Own):
    bounds = (0.0, 100.0)


class Said(Own):
    title, digits, counts = "My score", 1, ("own_score.part",)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Own(), {"own_score": ("own_score", 4), "own_score.part": ("own_score part", 4)}),
        (OutOfHundred(), {"own_score": ("own_score", 2), "own_score.part": ("own_score part", 2)}),
        (Said(), {"own_score": ("My score", 1), "own_score.part": ("My score part", 0)}),
    ],
)
def test_a_plug_in_has_defaults_and_a_say(metric: Metric, expected: dict[str, tuple[str, int]]) -> None:
    run = harness.evaluate(BAD, REFERENCES, [metric], resamples=100)
    assert {name: (score.title, score.digits) for name, score in run.scores.items()} == expected


@pytest.fixture(scope="module")
def short() -> RunResult:
    """Outputs a little too short: the brevity penalty is a little below 1, and BLEU below 1.5."""
    references = [["a b c d e f g h i j"]] * 40
    outputs = ["a b x c y d z e v f"] * 30 + ["a b x c y d z e v"] * 10
    return harness.evaluate(outputs, references, ["bleu"], name="short", resamples=100)


def test_a_brevity_penalty_has_four_digits_everywhere(short: RunResult, capsys: pytest.CaptureFixture[str]) -> None:
    penalty = short.scores["bleu.bp"].estimate
    assert penalty is not None and 0.97 < penalty < 1
    print_run(short)
    shown = dict(re.findall(r"^ *BLEU (\S+) +([\d.]+) ", capsys.readouterr().out, re.MULTILINE))
    assert (shown["bp"], shown["sys_len"], shown["ref_len"]) == (f"{penalty:.4f}", "390", "400")
    assert f"| {penalty:.4f} [" in harness.table([short], scores=["bleu.bp"], resamples=100, digits="metric")
    chart = json.dumps(harness.plot([short], "forest", scores=["bleu.bp"], resamples=100).to_dict())
    assert f'"shown": "{penalty:.4f}"' in chart


def test_mlflows_description_has_the_same_digits(short: RunResult) -> None:
    manifest = {"metrics": {}, "system": {"name": "short"}, "dataset": {"examples": 40}}
    text = description(replace(short, manifest=manifest), 40, 40)
    assert f"| bleu.bp | {short.scores['bleu.bp'].estimate:.4f} | [" in text
    assert "| bleu.sys\\_len | 390 | [" in text


def test_a_small_bleu_has_the_same_digits_in_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    references = [[f"a{i} b c d e f g h i j k l m n o p"] for i in range(40)]
    outputs = {
        "first": [f"a{i} x b y c z d v e w f u g t" for i in range(40)],
        "second": [f"a{i} b x y c z d v e w f u g t" for i in range(40)],
    }
    runs = [harness.evaluate(o, references, ["bleu"], name=name, resamples=0) for name, o in outputs.items()]
    assert all(0 < (run.scores["bleu"].estimate or 0) < 1.5 for run in runs)
    (row,) = rows = harness.compare(runs, resamples=200)
    assert row.digits == 2
    print_comparisons(rows, [], ComparisonOptions())
    assert f"{row.difference:+.2f} " in capsys.readouterr().out
    (power,) = harness.power(runs, resamples=200)
    print_powers([power], 0.8)
    assert f" {power.difference:.2f} " in capsys.readouterr().out
    (best,) = harness.best(runs, resamples=200)
    print_best([best])
    assert f" {best.estimate:.2f} " in capsys.readouterr().out


def test_a_stored_run_says_it_and_one_that_does_not_is_read(files: Path, cli: Cli) -> None:
    assert cli("run", *PREDICT, "system.path=good.jsonl", "metrics=[bleu]").code == 0
    (path,) = Path("runs").rglob("scores.json")
    stored = json.loads(path.read_text())
    assert (stored["scores"]["bleu.bp"]["title"], stored["scores"]["bleu.bp"]["digits"]) == ("BLEU bp", 4)
    assert harness.load_run(path.parent).scores["bleu"].digits == 2
    for score in stored["scores"].values():
        del score["title"], score["digits"]
    path.write_text(json.dumps(stored))
    before = harness.load_run(path.parent).scores["bleu.bp"]
    assert (before.title, before.digits) == ("bleu bp", 4)
    (record,) = harness.runs()
    assert record.scores["bleu"].digits == 4
    for field, value in (("digits", "2"), ("digits", -1), ("digits", 10**9), ("digits", True), ("title", 3)):
        stored["scores"]["bleu"] = {**stored["scores"]["bleu"], "digits": 2, "title": "BLEU", field: value}
        path.write_text(json.dumps(stored))
        with pytest.raises(harness.HarnessError, match=f"for '.*{field}'"):
            harness.load_run(path.parent)


def test_a_score_without_a_title_has_its_name() -> None:
    values = (1.0, None, None, 0.95, "percentile", 0, "")
    assert [Score(name, *values).title for name in ("own", "own.part")] == ["own", "own part"]
