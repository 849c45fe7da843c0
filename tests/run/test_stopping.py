"""Runs that end once their answer is known: what they generate, what they say, and that they resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import harness
from tests.conftest import write_jsonl
from tests.run.test_runner import Cli

N = 400
RIGHT = np.random.default_rng(1).random(N) < 0.8
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=[exact_match,chrf]", "tracking=none", "stats.resamples=50",
       "system=python", "system.function=own.py:answer", "name=early")  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """400 questions; the function answers 80 % of them and counts its calls."""
    rows = [
        {"id": str(i), "source": f"question {i}", "references": [f"answer {i}"], "right": bool(RIGHT[i])}
        for i in range(N)
    ]
    write_jsonl(tmp_path / "dev.jsonl", rows)
    (tmp_path / "own.py").write_text(
        "def answer(example):\n"
        "    with open('calls.txt', 'a') as file:\n"
        "        file.write(example['id'] + '\\n')\n"
        "    return f\"answer {example['id']}\" if example['right'] else 'no idea'\n"
    )
    return tmp_path


def folder() -> Path:
    (run_folder,) = (path.parent for path in Path("runs").rglob("scores.json"))
    return run_folder


def calls() -> list[str]:
    return Path("calls.txt").read_text().split()


def scores() -> dict[str, Any]:
    return json.loads((folder() / "scores.json").read_text())  # type: ignore[no-any-return]


def test_it_ends_when_the_answer_is_known(data: Path, cli: Cli) -> None:
    called = cli(*RUN, "stop.score=exact_match", "stop.threshold=60", "stop.batch=20")
    assert called.code == 0, called.err
    written = scores()
    stopped = written["stopped"]
    assert stopped["answer"] == "exact_match is above 60"
    assert stopped["examples"] == written["examples"] == len(calls()) == len(set(calls()))
    assert stopped["examples"] % 20 == 0
    assert stopped["examples"] < 250
    assert stopped["saved"] == 1 - stopped["examples"] / N
    assert stopped["looks"] == stopped["examples"] / 20
    score = written["scores"]["exact_match"]
    assert (score["method"], score["low"], score["high"]) == ("confidence sequence", stopped["low"], stopped["high"])
    assert 60 < score["low"] < 80 < score["high"] <= 100
    assert score["estimate"] == stopped["estimate"]
    mean = 100 * RIGHT[[int(id_) for id_ in calls()]].mean()
    assert f"the mean of the {stopped['examples']} examples is {mean:.2f}" in score["note"]
    assert 60 < score["estimate"] < mean  # it ended when the mean happened to be high
    assert written["scores"]["chrf"]["note"].startswith(f"looked {stopped['looks']} times by exact_match")
    assert f"stopped     after {stopped['examples']} of 400 examples" in called.out
    assert "Exact match is above 60 [" in called.out
    table = pd.read_parquet(folder() / "examples.parquet")
    assert list(table["id"]) == sorted(calls(), key=int)  # the data's order
    assert calls() != sorted(calls(), key=int)  # but asked in a random one
    again = cli(*RUN, "stop.score=exact_match", "stop.threshold=60", "stop.batch=20")
    assert again.code == 0
    assert len(calls()) == stopped["examples"]  # nothing twice


def test_the_order_depends_on_the_seed_only(data: Path, cli: Cli) -> None:
    for _ in range(2):
        assert cli(*RUN, "stop.score=exact_match", "stop.width=40", "cache=none").code == 0
        first = calls()
        Path("calls.txt").unlink()
        for path in sorted(Path("runs").rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
    assert cli(*RUN, "stop.score=exact_match", "stop.width=40", "stats.seed=2").code == 0
    assert scores()["stopped"]["answer"] == "exact_match is known to within 40"
    assert first != calls()


def test_against_a_baseline(data: Path, cli: Cli) -> None:
    outputs = [{"id": str(i), "output": f"answer {i}" if RIGHT[i] and i % 2 else "x"} for i in range(N)]
    write_jsonl(Path("weak.jsonl"), outputs)
    weak = ("system=predictions", "system.path=weak.jsonl", "name=weak")
    assert cli(*RUN[:6], *weak).code == 0
    called = cli(*RUN, "stop.score=exact_match", "stop.baseline=weak")
    assert called.code == 0, called.err
    run = harness.load_run("early")
    assert run.stopped is not None
    assert run.stopped["answer"] == "exact_match's difference to weak is above 0"
    assert run.stopped["low"] > 0
    assert run.stopped["examples"] < N
    assert run.scores["exact_match"].method == "agresti-coull"  # the bounds are of the difference
    assert run.scores["exact_match"].note is not None


def test_an_answer_that_stays_open(data: Path, cli: Cli) -> None:
    called = cli(*RUN, "stop.score=exact_match", f"stop.threshold={100 * RIGHT.mean():.0f}")
    assert called.code == 0
    assert len(calls()) == N
    assert "stopped     not known after all 400 examples: Exact match [" in called.out
    whole = scores()["scores"]["exact_match"]  # a data set is known at its end: nothing was left out by what was seen
    assert whole["method"] != "confidence sequence"
    assert whole["estimate"] == 100 * RIGHT.mean()
    assert "note" not in whole


def test_what_ended_early_is_not_compared(data: Path, cli: Cli) -> None:
    rule = ("stop.score=exact_match", "stop.threshold=60", "stop.batch=20")
    assert cli(*RUN, *rule).code == 0
    assert cli(*RUN, *rule, "name=other").code == 0
    refused = cli("compare", "early", "other")
    assert refused.code == 1
    assert "early ended after" in refused.err
    assert "expected runs of all examples (without stop.score), or stop.baseline=RUN" in refused.err
    assert cli("table", "early", "other").code == 0  # scores are shown; nothing is tested


def test_scoring_again_keeps_what_was_looked_at(data: Path, cli: Cli) -> None:
    assert cli(*RUN, "stop.score=exact_match", "stop.threshold=60").code == 0
    before = scores()
    (data / "dev.jsonl").unlink()
    assert cli("score", "early", "metrics=[bleu]", "output_dir=again").code == 0
    after = json.loads(Path("again/scores.json").read_text())
    assert after["stopped"] == before["stopped"]
    assert after["scores"]["exact_match"] == before["scores"]["exact_match"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["stop.score=chrf", "stop.width=1"], "stop.score=chrf; expected a chosen score that is a mean of values with known bounds: exact_match"),
        (["stop.score=exact_match"], "stop.score=exact_match without a rule to stop by; expected stop.width, stop.threshold or stop.baseline"),
        (["stop.width=1"], "stop.width is set and stop.score is not; expected the score to stop by"),
        (["stop.score=exact_match", "stop.width=1", "stop.batch=0"], "stop.batch=0; expected at least 1"),
        (["stop.score=exact_match", "stop.width=1", "dataset.cluster=right"], "with dataset.cluster=right; expected independent examples"),
        (["stop.score=exact_match", "stop.width=1", "system.repeats=2"], "with 2 outputs an example; expected independent examples"),
        (["stop.score=exact_match", "stop.baseline=nobody"], "there is no run 'nobody'"),
    ],
)  # fmt: skip
def test_refusals(data: Path, cli: Cli, options: list[str], expected: str) -> None:
    called = cli(*RUN, *options)
    assert called.code == 1
    assert expected in called.err
    assert not Path("calls.txt").exists()
