"""Distinct-n: by hand, against a plain implementation, and its interval by leaving out."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.metrics import distinct as module
from harness.metrics.distinct import Distinct
from harness.stats.design import Design
from harness.stats.resampling import Draws, Sample, replicates, resampled
from harness.stats.seeds import seeded
from harness.types import Array, Batch, HarnessError, Metric, Rows
from tests.conftest import Called, write_jsonl
from tests.metrics import hostile

BY_HAND = [
    # outputs, (different 1-grams, all of them), (different 2-grams, all of them); counted by hand
    (["so it is so", "it is not"], (4, 7), (4, 5)),
    (["a a a", "a a"], (1, 5), (1, 3)),
    (["a b", "b a"], (2, 4), (2, 2)),
    (["I don't know .", "I don't know .", "No ."], (5, 10), (4, 7)),
    (["x", "", "y x"], (2, 3), (1, 1)),
]  # fmt: skip


def corpus(outputs: list[str], **options: object) -> list[float]:
    metric = Distinct(**options)  # type: ignore[arg-type]
    rows = metric.statistics(Batch(outputs, []))
    return [float(value) for value in metric.score_weighted(np.ones((1, len(outputs))), rows)[0]]


def plain(outputs: list[str], n: int) -> tuple[int, int]:
    """(different, all) as one would write it."""
    words = [output.split() for output in outputs]
    ngrams = list(chain.from_iterable(zip(*(text[i:] for i in range(n)), strict=False) for text in words))
    return len(set(ngrams)), len(ngrams)


@pytest.mark.parametrize(("outputs", "words", "pairs"), BY_HAND)
def test_by_hand(outputs: list[str], words: tuple[int, int], pairs: tuple[int, int]) -> None:
    assert corpus(outputs, tokenize="none") == [words[0] / words[1], pairs[0] / pairs[1]]


def test_of_single_outputs() -> None:
    run = harness.evaluate(["so it is so", "it", ""], [[]] * 3, [Distinct(tokenize="none")], resamples=0)
    table = run.examples
    assert table["distinct1"].tolist()[:2] == [0.75, 1.0]
    assert table["distinct2"].tolist()[0] == 1.0
    assert np.isnan(table["distinct2"].tolist()[1:]).all()  # too short: missing, not 0
    assert run.scores["distinct1"].estimate == 0.6
    assert run.scores["distinct1"].title == "Distinct-1"


def test_nothing_to_count_is_missing() -> None:
    scores = harness.evaluate(["x", "", "y"], [[]] * 3, ["distinct"], resamples=50).scores
    assert scores["distinct1"].estimate == 1.0
    assert (scores["distinct2"].estimate, scores["distinct2"].note) == (None, "undefined on this data")


def test_tokens_are_those_of_its_option() -> None:
    outputs = ["The cat.", "the cat"]
    assert corpus(outputs) == [4 / 5, 1.0]  # The cat . the
    assert corpus(outputs, lowercase=True)[0] == 3 / 5
    assert corpus(outputs, tokenize="none")[0] == 1.0
    assert corpus(["ab", "ba"], tokenize="char", orders=[2, 3])[0] == 1.0
    assert Distinct().definition() == {"case": "mixed", "tok": "13a"}


@pytest.mark.parametrize("orders", [[], [0, 1], [1, 1]])
def test_orders_that_make_no_sense(orders: list[int]) -> None:
    with pytest.raises(HarnessError, match=r"metrics.distinct.orders=.* expected different numbers, 1 to 100"):
        Distinct(orders)


@given(st.lists(hostile.texts, min_size=1, max_size=6), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_as_a_plain_implementation_has_it(outputs: list[str], counts: list[int]) -> None:
    metric = Distinct(orders=(1, 2, 3), tokenize="none")
    rows = metric.statistics(Batch(outputs, []))
    weights = np.array([counts[: len(outputs)], [1] * len(outputs)], dtype=float)
    scores = metric.score_weighted(weights, rows)
    for weight, row in zip(weights, scores, strict=True):
        drawn = [text for text, count in zip(outputs, weight, strict=True) for _ in range(int(count))]
        for n, score in enumerate(row, start=1):
            different, total = plain(drawn, n)
            assert (np.isnan(score) and not total) or score == different / total


@given(st.lists(hostile.texts, min_size=1, max_size=6), st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_the_short_way_to_leave_out_is_that_of_all_metrics(outputs: list[str], units: list[int]) -> None:
    metric = Distinct()
    rows = metric.statistics(Batch(outputs, []))
    of_units = np.array(units[: len(outputs)], dtype=np.int64)
    short = metric.score_left_out(rows, of_units, 4)
    assert short == pytest.approx(Metric.score_left_out(metric, rows, of_units, 4), nan_ok=True)


@pytest.mark.parametrize("resamples", [1, 63, 64, 65, 150])
def test_any_number_of_resamples_at_once(resamples: int) -> None:
    rng = np.random.default_rng(resamples)
    outputs = [" ".join(rng.choice(list("abcdefgh"), 3)) for _ in range(9)]
    weights = rng.integers(0, 2, (resamples, 9)).astype(float)
    weights[0] = 1
    metric = Distinct(tokenize="none")
    scores = metric.score_weighted(weights, metric.statistics(Batch(outputs, [])))
    for weight, (words, _) in zip(weights, scores, strict=True):
        different, total = plain([text for text, count in zip(outputs, weight, strict=True) if count], 1)
        assert words == different / total if total else np.isnan(words)


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = [f"the {i % 7} of {i % 3}" for i in range(50)]
    whole = Distinct().statistics(Batch(outputs, []))
    monkeypatch.setattr(module, "CHUNK", 8)
    parts = Distinct().statistics(Batch(outputs, []))
    assert parts.values.tobytes() == whole.values.tobytes()
    for name, lists in whole.lists.items():
        assert (parts.lists[name].values == lists.values).all()
        assert (parts.lists[name].starts == lists.starts).all()
    assert Distinct().statistics(Batch([], [])).values.shape == (0, 4)


def test_hashes_are_the_same_everywhere() -> None:
    """They are stored, and n-grams of two runs are put together: no process may have its own."""
    rows = Distinct(tokenize="none").statistics(Batch(["so it", "zzz so it"], []))
    so, it, zzz = -3277256177526311673, -6855228581115138126, -1146608946221892187  # blake2b of their UTF-8
    assert rows.lists["ngrams1"].values.tolist() == [it, so, it, so, zzz]
    assert rows.lists["ngrams2"].values.tolist() == [6802493972292876321, 6802493972292876321, 8142840942323970552]


# ---------------------------------------------------------------- intervals


VOCABULARY = 400


def outputs_of(n: int, rng: np.random.Generator) -> list[str]:
    """Texts of words of Zipf's frequencies."""
    chances = 1 / np.arange(1, VOCABULARY + 1)
    return [" ".join(map(str, rng.choice(VOCABULARY, 8, p=chances / chances.sum()))) for _ in range(n)]


def rows_of(outputs: list[str]) -> Rows:
    return Distinct(tokenize="none").statistics(Batch(outputs, []))


def test_the_spread_of_replicates_is_that_of_the_jackknife() -> None:
    n = 60
    sample = Sample(Distinct(), rows_of(outputs_of(n, np.random.default_rng(1))), Design.of(n))
    left_out = sample.left_out()
    expected = np.sqrt((n - 1) / n * ((left_out - left_out.mean(0)) ** 2).sum(0))
    drawn = replicates([sample], 20_000, 1, "x")[0]
    assert drawn.std(0) == pytest.approx(expected, rel=0.02)
    assert drawn.mean(0) == pytest.approx(sample.estimate(), abs=3e-4)


def test_clusters_strata_and_repeats() -> None:
    n, repeats = 40, 3
    outputs = outputs_of(n * repeats, np.random.default_rng(2))
    ids, which = np.repeat(np.arange(n), repeats), np.tile(np.arange(repeats), n)
    design = Design.of(
        n * repeats,
        clusters=(ids // 2).tolist(),
        strata=(ids // 20).tolist(),
        repeats=which.tolist(),
    )
    rows = rows_of(outputs)
    sample = Sample(Distinct(), rows, design)
    of_units = sample.shifts()
    draws = Draws(design, 64, 5, "x")
    counts = resampled([np.eye(design.units)], draws)[0]
    assert (counts[:, :10].sum(1) == 10).all()  # strata keep their sizes
    assert replicates([sample], 64, 5, "x")[0] == pytest.approx(sample.estimate() + (counts - 1) @ of_units)
    alone = Sample(Distinct(), rows[which == 1], Design.of(int((which == 1).sum()))).estimate()
    assert seeded(sample).by_seed[1] == pytest.approx(alone)


def test_intervals_hold_the_expected_score_of_new_outputs() -> None:
    """Those of real resamples, which score far too low, do not once."""
    rng, n = np.random.default_rng(3), 60
    truth = np.mean([corpus(outputs_of(n, rng), tokenize="none") for _ in range(400)], axis=0)
    held = np.zeros(2)
    simulations = 120
    for seed in range(simulations):
        rows = rows_of(outputs_of(n, rng))
        drawn = replicates([Sample(Distinct(), rows, Design.of(n))], 200, seed, "x")[0]
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        held += (low <= truth) & (truth <= high)
        weights = rng.multinomial(n, np.full(n, 1 / n), 50).astype(float)
        assert (Distinct().score_weighted(weights, rows) < truth).all()
    assert (held / simulations > 0.9).all()


def test_a_score_says_how_its_interval_was_made(tmp_path: Path) -> None:
    outputs = outputs_of(30, np.random.default_rng(4))
    score = harness.evaluate(outputs, [[]] * 30, ["distinct"], resamples=500).scores["distinct1"]
    assert score.method == "jackknife"
    assert score.low is not None and score.estimate is not None and score.high is not None
    assert score.low < score.estimate < score.high


def test_comparisons(tmp_path: Path) -> None:
    """A dull system against a varied one, by either test; systems of one kind are not told apart."""
    rng = np.random.default_rng(5)
    varied, alike = outputs_of(80, rng), outputs_of(80, rng)
    dull = [" ".join(str(int(word) % 20) for word in output.split()) for output in outputs_of(80, rng)]
    runs = [
        harness.evaluate(outputs, [[]] * 80, ["distinct"], name=name, resamples=0)
        for name, outputs in (("varied", varied), ("alike", alike), ("dull", dull))
    ]
    for test in ("bootstrap", "randomization"):
        rows = harness.compare(runs, "varied", test=test, resamples=999)
        verdicts = {(row.system, row.score): row.verdict for row in rows}
        assert verdicts["alike", "distinct1"] == "not distinguishable", test
        assert verdicts["dull", "distinct1"] == verdicts["dull", "distinct2"] == "worse", test


def bytes_of(values: list[Array]) -> list[bytes]:
    return [value.tobytes() for value in values]


def test_bytes_do_not_depend_on_what_else_is_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from harness.metrics.rouge import Rouge

    rows, design = rows_of(outputs_of(500, np.random.default_rng(6))), Design.of(500)
    other = np.random.default_rng(7).random((500, 4))
    alone = bytes_of(replicates([Sample(Distinct(), rows, design)], 3000, 1, "x"))
    beside = replicates([Sample(Rouge(["rouge1"]), other, design), Sample(Distinct(), rows, design)], 3000, 1, "x")
    assert bytes_of(beside[1:]) == alone
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert bytes_of(replicates([Sample(Distinct(), rows, design)], 3000, 1, "x")) == alone


def test_from_the_command_line(files: Path, cli: object) -> None:
    write_jsonl(files / "some.jsonl", [{"id": str(i), "output": f"word {i % 3}"} for i in range(9)])
    write_jsonl(files / "data.jsonl", [{"id": str(i), "source": "s"} for i in range(9)])
    called: Called = cli(  # type: ignore[operator]
        "run", "dataset=file", "dataset.path=data.jsonl", "system=predictions", "system.path=some.jsonl",
        "metrics=distinct", "metrics.distinct.orders=[1,2,3]", "tracking=none", "output_dir=out",
    )  # fmt: skip
    assert called.code == 0, called.err
    scores = harness.load_run("out").scores
    assert [scores[f"distinct{n}"].estimate for n in (1, 2, 3)] == [4 / 18, 3 / 9, None]
