"""What the seams give to whoever subclasses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from harness.testing import CannedMetric, CannedSystem
from harness.types import Array, Batch, Dataset, Example, HarnessError, Metric, Output, Rows, System, TextLists
from tests.conftest import example


class Smallest(System):
    name = "smallest"

    def generate(self, batch: Sequence[Example]) -> Any:
        return [Output(example.source) for example in batch]


def test_the_smallest_system() -> None:
    system, asked = Smallest(), [example(str(i), f"s{i}") for i in range(130)]
    assert system.key() is None
    assert system.expand(asked) == asked
    assert [len(batch) for batch in system.plan(asked)] == [64, 64, 2]
    assert [place for batch in system.plan(asked) for place in batch] == list(range(130))
    assert system.seen(example("a", "x", "reference", topic="t")) == {
        "id": "a",
        "source": "x",
        "metadata": {"topic": "t"},
    }
    (group,) = system.stream(asked[:2])
    assert group == {0: Output("s0"), 1: Output("s1")}
    assert (system.estimate(asked), system.about()) == (None, {})


def test_repeats() -> None:
    rows = CannedSystem(repeats=2).expand([example("a"), example("b")])
    assert [(row.id, row.repeat) for row in rows] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    with pytest.raises(HarnessError, match="system.repeats=0; expected at least 1"):
        CannedSystem(repeats=0).expand([example("a")])


def test_a_system_that_gives_plain_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Smallest, "generate", lambda self, batch: ["a", "b"])
    with pytest.raises(
        HarnessError, match="the system smallest gave an output of the type str; expected harness.types"
    ):
        list(Smallest().stream([Example("1", None, ()), Example("2", None, ())]))


@pytest.mark.parametrize("outputs", [[], [Output("x")] * 3])
def test_a_system_that_breaks_its_promise(outputs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Smallest, "generate", lambda self, batch: outputs)
    with pytest.raises(
        HarnessError, match=f"the system smallest gave {len(outputs)} outputs for a batch of 2; expected"
    ):
        list(Smallest().stream([example("a"), example("b")]))


def test_what_must_be_given() -> None:
    for seam, missing in ((Dataset, "examples"), (System, "generate"), (Metric, "score, statistics")):
        assert ", ".join(sorted(seam.__abstractmethods__)) == missing  # type: ignore[attr-defined]


class Overlap(CannedMetric):
    """1 where the output is the first reference."""

    needs_references = True

    def statistics(self, batch: Batch) -> Array:
        return np.array([[float(o == r[0]), 1.0] for o, r in zip(batch.outputs, batch.references, strict=True)])


def test_a_metric_by_default() -> None:
    metric, references = Overlap(), [["a", "b"], ["c", "d"]]
    assert metric.fit(references) is metric
    assert str(metric.signature(references)) == "nrefs:2"
    assert str(metric.signature([["a"], ["b", "c"]])) == "nrefs:var"
    rows = metric.statistics(Batch(["a", "x"], references))
    assert metric.score_examples(rows).tolist() == [[1.0], [0.0]]
    assert metric.score_weighted(np.array([[1.0, 3.0], [2.0, 0.0]]), Rows(rows)).tolist() == [[0.25], [1.0]]
    for lists in (references, TextLists.of(references)):
        extremes = metric.extremes(Batch(["", ""], lists))
        assert extremes is not None
        worst, best = extremes
        assert (worst[:, 0].tolist(), best[:, 0].tolist()) == ([0, 0], [1, 1])
        assert metric.signature(lists) == metric.signature(references)
    assert metric.align(["a"], [["a"]]) is None
    assert (
        CannedMetric().extremes(Batch(["", ""], references)) is None
    )  # it needs no references, and knows no best output


def test_other_options_are_another_definition() -> None:
    first, second = CannedMetric({"x": 1.0}), CannedMetric({"x": 2.0})
    assert first.definition() != second.definition()
    assert first.definition() == CannedMetric({"x": 1.0}).definition()
