"""Results as Python and notebooks show them."""

from __future__ import annotations

from dataclasses import fields
from functools import cache

import harness
from harness.analysis.comparing.study import study
from harness.stats.options import ComparisonOptions
from harness.types import Comparison, RunResult, RunResults
from harness.types.shown import MOST, Shape

REFERENCES = [["the cat sat down"], ["a dog ran off"], ["it rains in the hills"]]
OUTPUTS = {"ours": ["the cat sat", "a dog ran off", "rain in the hills"], "<b>base": ["a cat", "the dog", "rain"]}


@cache
def result(name: str = "ours") -> RunResult:
    return harness.evaluate(OUTPUTS[name], REFERENCES, ["bleu", "rouge"], resamples=100, name=name)


def test_a_result_is_its_score_table() -> None:
    shown, score = repr(result()), result().scores["rouge1"]
    assert len(shown) < 1000
    assert shown.startswith("ours on memory, 3 examples, and 20 sub-scores in .scores\n")
    assert f"ROUGE-1     {score.estimate:.4f}    [{score.low:.4f}, {score.high:.4f}]" in shown
    assert "bleu.p1" not in shown
    page = result()._repr_html_()
    assert f"<td>ROUGE-1</td><td>{score.estimate:.4f}</td>" in page and page.startswith("<table>")


def test_comparisons_and_a_study() -> None:
    rows = harness.compare([result("<b>base"), result()], resamples=100)
    assert repr(rows).splitlines()[0] == "5 comparisons"
    assert "<td>&lt;b&gt;base</td>" in rows._repr_html_() and "<b>" not in rows._repr_html_()
    frame = rows.to_pandas()
    assert list(frame.columns) == [field.name for field in fields(Comparison)]
    assert frame["difference"].tolist() == [row.difference for row in rows]
    made = study([result("<b>base"), result()], None, ComparisonOptions(resamples=100))
    assert "2 runs on memory" in repr(made) and "5 comparisons" in made._repr_html_()


def test_lists_of_runs_beside_each_other() -> None:
    shown = repr(RunResults([result("<b>base"), result()])).splitlines()
    assert shown[0] == "2 runs" and len(shown) == 4
    assert shown[1].split() == ["run", "data", "set", "system", "BLEU", "ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum"]
    assert f"{result().scores['rougeL'].estimate:.4f}" in shown[3]


def test_long_tables_are_cut_and_names_cannot_move_the_cursor() -> None:
    shape = Shape("t", ("name",), [(f"\x1b[2J{i}",) for i in range(MOST + 7)])
    assert "\x1b" not in shape.text() and shape.text().endswith("… and 7 more")
    assert shape.html().count("<tr>") == MOST + 1 and "… and 7 more" in shape.html()


def test_columns_stand_below_each_other_in_any_script() -> None:
    lines = Shape("t", ("run", "BLEU"), [("日本", "1"), ("e\u0301te\u0301", "2"), ("abcd", "3")]).text().splitlines()
    assert lines[1:] == ["  run   BLEU", "  日本  1", "  e\u0301te\u0301   2", "  abcd  3"]


def test_only_public_names_are_listed() -> None:
    assert dir(harness) == sorted(harness.__all__) and "Any" not in dir(harness)
    assert {"evaluate", "compare", "table", "plot"} <= set(dir(harness))
