"""What the page says, without a browser: verdicts, the rows kept, configs, secrets, the same bytes."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import harness
from harness import write_report
from harness.analysis.comparing import study as studies
from harness.analysis.comparing.leaders import leaders_of
from harness.analysis.figures import figures
from harness.analysis.pages import page_rows
from harness.analysis.pages.pages import PageOptions, page_of
from harness.report.page import alignments, configs, differences_from, examples, verdicts
from harness.report.page.packed import packed_floats, packed_json
from harness.report.page.scores import average, tables
from harness.stats.options import ComparisonOptions
from harness.testing import CannedMetric
from harness.types import Alignment, Comparison, Comparisons, HarnessError, Study
from tests.report.page.conftest import again, made, three_runs, two_retrievers


def study(runs: Any, baseline: Any = None, **options: Any) -> Study:
    return studies.study(runs, baseline, ComparisonOptions(**options))


def block(page: str, name: str) -> Any:
    text = page.split(f'id="block-{name}">')[1].split("</script>")[0]
    return json.loads(text) if text[0] in "[{" else json.loads(zlib.decompress(base64.b64decode(text)))


@pytest.fixture(scope="module")
def runs() -> list[Any]:
    return three_runs(40)


def test_same_runs_same_bytes_and_no_time_of_making(runs: list[Any], tmp_path: Path) -> None:
    paths = [write_report(runs, tmp_path / name, resamples=100) for name in ("a.html", "b.html")]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def with_tests(studied: Study, rows: list[Comparison]) -> Study:
    """The study, had the tests said this."""
    return replace(studied, comparisons=Comparisons(rows), leaders=leaders_of(studied.groups, rows))


def test_many_that_cannot_be_told_apart_are_counted() -> None:
    names = ("best", "b", "c", "d", "e")
    assert verdicts._best(names[:4], ["BLEU"], 11) == "best leads on BLEU, but b, c and d cannot be told apart from it."
    assert verdicts._best(names, ["BLEU"], 11).endswith(", but 4 of the other 10 cannot be told apart from it.")


def test_the_best_is_named_with_all_that_cannot_be_told_apart() -> None:
    studied = study(three_runs(), resamples=300)
    assert verdicts.verdicts(studied, studied.groups[0])[0].startswith("good is best on BLEU")
    alike = [
        replace(row, verdict="not distinguishable") if "fair" in (row.baseline, row.system) else row
        for row in studied.comparisons
    ]
    close = with_tests(studied, alike)
    assert close.leaders["dev", "bleu"] == ["good", "fair"]
    assert "good leads on BLEU" in verdicts.verdicts(close, close.groups[0])[0]
    assert "but fair cannot be told apart from it." in verdicts.verdicts(close, close.groups[0])[0]
    unclear = with_tests(studied, [replace(row, verdict="not distinguishable") for row in studied.comparisons])
    assert verdicts.verdicts(unclear, unclear.groups[0]) == [
        "On BLEU, ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum no run can be told apart from the best (good)."
    ]


def test_over_several_data_sets_the_average_has_a_sentence(runs: list[Any]) -> None:
    both = [
        replace(run, name=f"{data}-{run.name}", system=run.name, dataset=data, dataset_key=data)
        for data in ("dev", "test")
        for run in runs
    ]
    said = average(study(both, resamples=200))
    assert said is not None and said["of"] == "average of 2 data sets"
    assert said["verdicts"][0]["name"] == "good" and said["verdicts"][0]["rest"].startswith("is best on BLEU")
    assert average(study(runs, resamples=50)) is None


def test_of_two_runs_the_sentence_starts_with_the_winner(runs: list[Any]) -> None:
    studied = study([runs[0], runs[2]], resamples=300)
    (said,) = verdicts.verdicts(studied, studied.groups[0])
    assert said.startswith("good is better than bad on BLEU")


def test_lower_is_better_where_it_is() -> None:
    references = [["a b c d e f g"]] * 12
    good = made(["a b c d e f g"] * 11 + ["a b"], references, "good", metrics=["ter"])
    bad = made(["x y z"] * 12, references, "bad", metrics=["ter"])
    studied = study([bad, good], resamples=100)
    assert studied.leaders["dev", "ter"] == ["good"]
    assert page_rows.first_view(studied.groups[0]) == ((1, 0), "ter")


def test_with_repeats_outputs_fail_and_not_examples(runs: list[Any]) -> None:
    (once,) = tables(study(runs, resamples=50))
    assert once.about == "40 examples, up to 2 left out of a comparison because a system has no score for them"
    assert "fair: 2 of 40 examples failed; scores are of the others" in once.warnings
    outputs = [f"text {i} {j}" for i in range(6) for j in range(3)]
    references = [[f"text {i} 0"] for i in range(6) for _ in range(3)]
    # of the first example two outputs failed, of the third one
    failed = {0: "timeout", 1: "timeout", 7: "timeout"}
    thrice = [
        made(outputs, references, "whole", repeats=3),
        made(outputs, references, "torn", repeats=3, failed=failed),
    ]
    (table,) = tables(study(thrice, resamples=50))
    assert table.about == (
        "6 examples, 3 outputs each, "
        "up to 6 outputs of each system left out of a comparison because one has no score for them"
    )
    assert "torn: 3 of 18 outputs failed; scores are of the others" in table.warnings


def test_the_call_that_makes_a_page_of_runs_in_memory_again(runs: list[Any]) -> None:
    end = "  # in Python: the runs were made in memory"
    assert again(page_of(study(runs[:2]))) == ["harness.write_report(runs, 'report.html')" + end]
    studied = study(runs, runs[2], test="randomization", resamples=50, level=0.9, correction="holm", scores=("bleu",))
    (said,) = again(page_of(studied, PageOptions("Bob's page", ("domain",), 0, 10), ["bleu"]))
    assert said == (
        "harness.write_report(runs, 'report.html', baseline='bad', scores=['bleu'], by=['domain'], "
        "title=\"Bob's page\", alignments=0, max_examples=10, test='randomization', correction='holm', level=0.9, "
        "resamples=50)" + end
    )


def test_too_many_examples_keep_the_biggest_differences_and_an_even_share(runs: list[Any]) -> None:
    group = study(runs, resamples=100).groups[0]
    assert page_rows.kept_rows(group, None).tolist() == list(range(40))
    opening = page_rows.opening(group, 10)
    kept = opening.kept
    assert len(kept) == 10 and (np.diff(kept) > 0).all()
    (a, b), score = opening.pair, opening.score
    assert score is not None
    columns = examples.columns(group, score)
    assert int(np.nanargmax(np.abs(columns[a] - columns[b]))) in kept
    info, data = examples.blocks(study(runs, resamples=100), group, 0, opening)
    assert (info["rows"], info["of"]) == (10, 40)
    assert json.loads(zlib.decompress(base64.b64decode(data["texts-0"])))["id"] == [f"example-{i}" for i in kept]


def test_scores_are_kept_as_they_are_and_missing_ones_missing(runs: list[Any]) -> None:
    studied = study(runs, resamples=100)
    info, data = examples.blocks(studied, studied.groups[0], 0, page_rows.opening(studied.groups[0], None))
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(data["scores-0"])), "<f4").reshape(
        len(info["scores"]), 3, 40
    )
    place = [score["name"] for score in info["scores"]].index("rouge2")
    expected = runs[1].examples["rouge2"].to_numpy(float)
    assert np.isnan(numbers[place, 1, [3, 11]]).all()
    np.testing.assert_allclose(numbers[place, 1], expected, rtol=1e-6)


def test_metadata_is_shown_as_it_is(runs: list[Any]) -> None:
    """Whole numbers stay whole where one is missing, and lists are their JSON."""
    fields = {
        "count": ([3, None], [3, None]),
        "large": ([2**60 + 1, None], [str(2**60 + 1), None]),
        "share": ([0.5, float("nan")], [0.5, None]),
        "flag": ([True, None], ["true", None]),
        "tags": ([["a", "é"], []], ['["a", "é"]', "[]"]),
        "gaps": ([[1, None], None], ["[1, null]", None]),
        "nested": ([[[1, 2], [3]], [[]]], ["[[1, 2], [3]]", "[[]]"]),
        "nothing": ([None, None], [None, None]),
    }
    table = runs[0].table
    for name, (values, _) in fields.items():
        table = table.append_column(name, pa.array(values * 20))
    studied = study([replace(runs[0], load=lambda: table)], resamples=50)
    _, data = examples.blocks(studied, studied.groups[0], 0, page_rows.opening(studied.groups[0], None))
    shown = zlib.decompress(base64.b64decode(data["texts-0"]))
    assert {name: json.loads(shown)["fields"][name][:2] for name in fields} == {
        name: expected for name, (_, expected) in fields.items()
    }
    assert b'"count":[3,null,3,' in shown


def test_packing_turns_halves_of_characters_into_a_sign() -> None:
    assert json.loads(zlib.decompress(base64.b64decode(packed_json({"a": ["\ud800x", None, float("nan")]})))) == {
        "a": ["\ufffdx", None, None]
    }
    assert zlib.decompress(base64.b64decode(packed_floats([]))) == b""


def test_only_what_differs_of_the_configs() -> None:
    columns = [{"system": {"field": field, "others": [other]}} for field, other in (("a", "b"), ("b", "a"))]
    assert [row["name"] for row in configs.differing(columns)] == ["system.field"]
    rows = configs.differing([{"a": {"b": 1, "c": [1]}, "d": "x"}, {"a": {"b": 2, "c": [1]}}])
    assert rows == [{"name": "a.b", "values": ["1", "2"]}, {"name": "d", "values": ["x", "–"]}]
    assert configs.common_count([{"a": 1, "b": 2}, {"a": 1, "b": 3}]) == 1


def test_alignments_count_as_browsers_do() -> None:
    alignment = Alignment(
        reference=0,
        output_tokens=("[CLS]", "😀", "cat"), output_spans=((0, 0), (0, 1), (2, 5)), output_matches=(0, 0, 1),
        output_similarity=(1.0, 0.25, 0.875), output_weights=(0.0, 0.5, 0.5),
        reference_tokens=("[CLS]", "cats"), reference_spans=((0, 0), (0, 4)), reference_matches=(0, 2),
        reference_similarity=(1.0, 0.875), reference_weights=(0.0, 1.0),
    )  # fmt: skip
    compacted = alignments.compact(alignment, "😀 cat", "cats")
    assert compacted == {"reference": 0, "output": [[0, 2, -1, 25], [3, 6, 0, 88]], "matched": [[0, 4, 1, 88]]}
    moved = replace(
        alignment,
        output_weights=(0.0, 0.4, 0.6),
        moves=((1, 1, 0.4, 0.256), (2, 1, 0.5999, 0.875), (0, 0, 0.0001, 1.0)),
    )
    assert alignments.compact(moved, "😀 cat", "cats")["moves"] == [[1, 0, 600, 88], [0, 0, 400, 26]]
    weightless = replace(moved, output_weights=(0.0, 0.0, 1.0), moves=((2, 1, 1.0, 0.875),))
    assert alignments.compact(weightless, "😀 cat", "cats") == {
        "reference": 0, "output": [[3, 6, 0, 88]], "matched": [[0, 4, 0, 88]], "moves": [[0, 0, 1000, 88]]
    }  # fmt: skip
    columns = [np.array([0.1, 0.9, np.nan, 0.5, 0.2]), np.zeros(5)]
    assert page_rows.extremes(columns, (0, 1), 1) == [0, 1]


def test_a_model_that_is_not_here_costs_the_alignment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Matching(CannedMetric):
        title, aligns = "My matches", True

        def align(self, outputs: Any, references: Any) -> Any:
            raise RuntimeError("no such model\nand much more")

    runs = three_runs(12)
    some = [
        replace(run, statistics={**run.statistics, "bertscore": replace(run.statistics["bleu"], metric=Matching())})
        for run in runs
    ]
    studied = study(runs, resamples=50)
    broken = replace(studied, groups=(replace(studied.groups[0], runs=tuple(some)),))
    page = page_of(broken)
    (group,) = block(page, "index")["groups"]
    reason = "My matches's model could not be used where the report was made (no such model)."
    assert group["aligners"] == [{"title": "My matches", "moves": False, "unaligned": reason}]
    assert block(page, "alignments-0") == [{}]


def test_where_no_metric_matches_words_the_page_says_so(runs: list[Any]) -> None:
    (group,) = block(page_of(study(runs, resamples=50)), "index")["groups"]
    assert (group["aligners"], group["unaligned"]) == (
        [],
        "No metric of these runs says which words it matched; harness score RUN 'metrics=[bertscore]' adds one that does.",
    )


def test_of_two_runs_the_table_has_the_differences_of_the_figure(runs: list[Any]) -> None:
    """From the first, whichever is better."""
    studied = study([runs[2], runs[0]])
    part = differences_from.part(studied, studied.groups[0], studied.groups[0].runs, ["bleu"])
    assert part is not None
    (row,) = part["rows"]
    assert (part["from"], row["label"], row["cells"][0]["mark"]) == ("bad", "good", "better")
    assert [figure.title for figure in figures(studied)][1] == "Differences from bad on dev"


def test_a_composed_title_is_read_from_the_left_whatever_name_comes_first() -> None:
    texts = ["a cat sat", "a dog ran", "it rained"]
    names = ("نظام", "second")
    page = page_of(study([made(texts, [[text] for text in texts], name) for name in names], resamples=50))
    assert '<h1 id="title"><bdi dir="ltr">نظام and second on dev</bdi></h1>' in page
    titled = page_of(study([made(texts, [[text] for text in texts], "a")], resamples=50), PageOptions("نظام"))
    assert '<h1 id="title"><bdi>نظام</bdi></h1>' in titled


def test_one_run_alone_has_a_page_too(tmp_path: Path) -> None:
    path = harness.write_report(three_runs(12)[:1], tmp_path / "one.html", resamples=50)
    text = path.read_text()
    assert "<h1" in text and 'class="verdicts"' not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"by": ["domian"]},
            "--by domian: no run has that field (did you mean 'domain'?); expected one of domain, year",
        ),
        ({"max_examples": 0}, "max_examples=0; expected at least 1"),
        ({"alignments": -1}, "alignments=-1; expected 0 or more"),
        ({"path": "report.pdf"}, "a report is a page of HTML; expected a file.html"),
        ({"path": "nowhere/report.html"}, "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_is_said(
    runs: list[Any], options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HarnessError) as error:
        write_report(runs, **{"path": "report.html", "resamples": 50, **options})
    assert message in str(error.value)
    assert not list(tmp_path.iterdir())


def test_contexts_come_with_what_was_judged_of_them() -> None:
    page = page_of(study(two_retrievers(), resamples=50))
    (group,) = block(page, "index")["groups"]
    assert group["contextual"] and group["fields"] == []
    first, second = block(page, "outputs-0-0")["contexts"]
    assert [(id_, score, relevant) for id_, _, score, relevant in first] == [
        ("fares", 1.4, False),
        ("ferry", 3.2, True),
    ]
    assert second == [["keepers", "Three keepers lived in the lighthouse.", 2.0, True]]
    assert block(page, "outputs-0-1")["contexts"][1] == []
    plain = page_of(study(three_runs(12), resamples=50))
    assert not block(plain, "index")["groups"][0]["contextual"]
    assert "contexts" not in block(plain, "outputs-0-0")


def test_the_winner_is_on_top_and_the_sentence_has_the_numbers(runs: list[Any]) -> None:
    studied = study(list(reversed(runs)), resamples=300)
    (table,) = tables(studied)
    assert [row["label"] for row in table.rows] == ["good", "fair", "bad"]
    assert table.differences is not None and table.differences["from"] == "good"
    assert [row["label"] for row in table.differences["rows"]] == ["fair", "bad"]
    (row,) = [
        row for row in studied.comparisons if {row.system, row.baseline} == {"good", "bad"} and row.score == "bleu"
    ]
    seen = row if row.system == "bad" else row.turned()
    cell = table.differences["rows"][1]["cells"][0]
    assert cell["value"] == seen.difference and cell["mark"] == "worse"
    assert table.paper.startswith("On dev (n = 40 examples), good has the highest BLEU of 3 systems, ")
    assert "It is better than fair and bad (each p ≤ " in table.paper
    assert "adjusted over 15 tests by step-down max-T" in table.paper and "BLEU signature: " in table.paper
    assert {cell.letters for row in table.rows for cell in row["cells"] if cell.value} >= {"a", "b", "c"}
    (alone,) = tables(study(runs[:1], resamples=50))
    assert alone.differences is None and alone.paper.startswith("good reaches BLEU ")
    (pair,) = tables(study(runs[:2], resamples=100))
    assert "Differences from fair: BLEU +" in pair.paper
    assert "BLEU signature: " in pair.paper and "ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum signature: " in pair.paper


def test_two_retrievers_of_whom_some_scores_have_fewer_examples() -> None:
    relevant = [["a"], ["b"], None]
    ranked = {"good": [["a"], ["b"], ["c"]], "poor": [["c", "a"], ["b"], ["c"]]}
    outputs = {"good": ["a b", "b", "c"], "poor": ["a x", "b", "c"]}
    both = [
        harness.evaluate(
            outputs[name], ["a b", "b", "c"], ["token_f1", "retrieval"], name=name, relevant=relevant, resamples=50,
            contexts=[[{"id": id_} for id_ in ids] for ids in lists],
        )
        for name, lists in ranked.items()
    ]  # fmt: skip
    (table,) = tables(study(both, resamples=50))
    assert table.about == "3 examples, up to 1 left out of a comparison because a system has no score for them"
    assert table.paper.startswith("On memory (n = 2 to 3 examples), ")
    assert "P@10 +0.0000 (95% CI [0.0000, 0.0000]" in table.paper
    few = [line for line in table.warnings if line.startswith("good, poor: nDCG@10, ")]
    assert len(few) == 1 and "MAP, Success@10: 2 examples: the interval says little" in few[0]
