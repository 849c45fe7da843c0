"""The best and the majority of k outputs: by enumeration, unbiased, with intervals that hold."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.coverage.cells import Share
from benchmarks.coverage.repeats import made
from harness.stats import intervals
from harness.stats.design import Design
from harness.stats.of_k import Several, best_of, majority, plurality
from harness.stats.options import Options
from harness.testing import CannedMetric
from harness.types import Rows, Signature, Texts
from tests.conftest import write_jsonl

NAN = np.nan


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=6))
def test_as_enumeration_has_it(outputs: list[tuple[int, float]]) -> None:
    """All ways to choose k outputs; equal texts have equal scores."""
    scored = dict(outputs)
    texts = np.array([text for text, _ in outputs], np.uint64)
    values = np.array([scored[text] for text, _ in outputs])
    best, voted = best_of(values[None])[:, 0], majority(values[None], texts[None])[:, 0]
    for k in range(1, len(outputs) + 1):
        chosen = list(combinations(range(len(outputs)), k))
        assert best[k - 1] == pytest.approx(np.mean([values[list(some)].max() for some in chosen]))
        assert voted[k - 1] == pytest.approx(np.mean([vote(texts[list(some)], scored) for some in chosen]))


def vote(texts: np.ndarray, scored: dict[int, float]) -> float:
    said, counts = np.unique(texts, return_counts=True)
    return float(np.mean([scored[int(text)] for text in said[counts == counts.max()]]))


def test_outputs_that_failed() -> None:
    """Of an example with two outputs left, there is no best of three."""
    best = best_of(np.array([[0.0, NAN, 1.0], [NAN, NAN, NAN]]))
    assert best[:, 0].tolist() == [0.5, 1.0, pytest.approx(NAN, nan_ok=True)]
    assert np.isnan(best[:, 1]).all()


def test_a_majority_of_many_is_found_in_time() -> None:
    counts = (20, 15, 9, 4, 2, 1, 1, 1, 1)
    chances = plurality(counts)
    assert chances.sum(1) == pytest.approx(np.ones(sum(counts)))
    assert chances[-1, 0] == pytest.approx(1.0)


def scores_of(values: np.ndarray, texts: np.ndarray, **options: Any) -> dict[str, Any]:
    n, repeats = values.shape
    metric = CannedMetric()
    metric.bounds = (0.0, 1.0)
    design = Design.of(
        n * repeats, repeats=np.tile(np.arange(repeats), n), ids=np.repeat(np.arange(n), repeats).astype(str).tolist()
    ).of_seeds(1)
    several = Several({"canned": metric})
    flat = values.ravel()
    said = Texts.of([str(text) for text in texts.ravel()])
    several.add(said, {"canned": Rows(np.column_stack([flat, np.ones(len(flat))]))})
    tallies = several.tallies(design, {"canned": Signature({}, {})})
    return intervals.tallied_scores(tallies, Options(**options))


def test_names_by_kind() -> None:
    rng = np.random.default_rng(1)
    right = (rng.random((12, 3)) < 0.5).astype(float)
    scores = scores_of(right, right, resamples=100)
    assert list(scores) == [f"canned.{kind}_{k}" for kind in ("pass", "majority") for k in (1, 2, 3)]
    assert scores["canned.pass_1"].estimate == pytest.approx(right.mean())
    assert scores["canned.pass_3"].estimate == pytest.approx(right.max(1).mean())
    assert scores["canned.pass_3"].title == "canned pass@3"
    graded = scores_of(rng.random((12, 3)), np.arange(36).reshape(12, 3), resamples=0)
    assert list(graded) == [f"canned.best_of_{k}" for k in (1, 2, 3)]


def test_unbiased_with_intervals_that_hold() -> None:
    """Chances of being right that differ between examples; what is true of them is known."""
    rng, simulations, n = np.random.default_rng(2), 200, 80
    held, off = np.zeros(2), np.zeros(2)
    truths = [1 - 1 / 3, 1 - 1 / 5]  # under uniform chances: 1 - 1/(k + 1)
    names = ("canned.pass_2", "canned.pass_4")
    for simulation in range(simulations):
        right = (rng.random((n, 5)) < rng.random((n, 1))).astype(float)
        scores = scores_of(right, np.arange(n * 5).reshape(n, 5), resamples=200, seed=simulation)
        for i, (name, truth) in enumerate(zip(names, truths, strict=True)):
            held[i] += scores[name].low <= truth <= scores[name].high
            off[i] += (scores[name].estimate - truth) / simulations
    assert np.abs(off).max() < 4 * 0.4 / np.sqrt(n * simulations)
    assert (held / simulations > 0.95 - 3 * np.sqrt(0.05 * 0.95 / simulations) - 0.01).all()


def test_a_run_has_them(cli: Any) -> None:
    write_jsonl(Path("dev.jsonl"), [{"id": str(i), "source": "q", "references": ["yes"]} for i in range(6)])
    rows = [
        {"id": str(i), "repeat": repeat, "output": " Yes" if (i + repeat) % 3 else "no"}
        for i in range(6)
        for repeat in range(4)
    ]
    write_jsonl(Path("out.jsonl"), rows)
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=out.jsonl",
        "metrics=[exact_match,token_f1,bleu]", "tracking=none", "stats.resamples=100", "output_dir=run", "postprocess=strip",
    )  # fmt: skip
    assert called.code == 0
    stored = json.loads(Path("run/scores.json").read_text())["scores"]
    right = np.array([[bool((i + repeat) % 3) for repeat in range(4)] for i in range(6)])
    assert stored["exact_match.pass_4"]["estimate"] == pytest.approx(100 * right.any(1).mean())
    assert stored["exact_match.pass_1"]["estimate"] == pytest.approx(stored["exact_match"]["estimate"])
    assert stored["exact_match.pass_2"]["low"] <= stored["exact_match.pass_2"]["estimate"]
    votes = np.where(right.sum(1) == 2, 0.5, right.sum(1) > 2)
    assert stored["exact_match.majority_4"]["estimate"] == pytest.approx(100 * votes.mean())
    assert not any(name.startswith(("bleu.pass", "bleu.best")) for name in stored)
    table = cli("table", "run", "--score", "exact_match.pass_4", "--level", "0.9")
    assert "pass@4" in table.out


def test_shares_of_outputs_near_the_end_have_a_width() -> None:
    """Of sixty examples that are right within four tries the interval was [100, 100]."""
    right = np.ones((60, 4))
    right[:, 1:] = np.random.default_rng(1).random((60, 3)) < 0.5
    several = Several({"share": Share()})
    rows = made("a", right)
    several.add(Texts.of([str(i) for i in range(right.size)]), {"share": rows.statistics["canned"].whole})
    tallies = several.tallies(Design.of_run(rows), {"share": Signature({}, {})})
    scores = intervals.tallied_scores(tallies, Options(resamples=500))
    last, first = scores["share.pass_4"], scores["share.pass_1"]
    assert (last.estimate, last.high, last.method) == (1.0, 1.0, "agresti-coull")
    assert last.low is not None and 0.9 < last.low < 0.95
    assert first.low is not None and first.high is not None
    assert first.high - first.low < 0.13  # a share of 240 outputs, not of 60


def test_how_many_examples_it_is_of_is_said(cli: Any, tmp_path: Path) -> None:
    """Seven examples with three outputs, three with one: by the closed formula, over those that have k."""
    write_jsonl(tmp_path / "dev.jsonl", [{"id": str(i), "source": "s", "references": ["yes"]} for i in range(10)])
    rows = [
        {"id": str(i), "repeat": j, "output": "yes" if (i + j) % 3 == 0 else "no"}
        for i in range(10)
        for j in range(3 if i < 7 else 1)
    ]
    write_jsonl(tmp_path / "out.jsonl", rows)
    called = cli("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=out.jsonl",
                 "metrics=[exact_match]", "tracking=none", "stats.resamples=100", "output_dir=out")  # fmt: skip
    assert called.code == 0, called.err
    scores = json.loads(Path("out/scores.json").read_text())["scores"]
    assert scores["exact_match.pass_2"]["estimate"] == pytest.approx(100 * 2 / 3)
    assert scores["exact_match.pass_2"]["note"] == "of the 7 examples with 2 outputs or more"
    assert scores["exact_match.pass_1"].get("note") is None
