"""What stands in which cell of a results table, and what the note says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness import __version__
from harness.report.tables import notes
from harness.report.tables.cells import Table, half_width, lay_out, number, plain
from harness.types import Study
from tests.report.studies import comparison, run, study


def laid_out(studied: Study, scores: list[str] | None = None, interval: str = "bounds") -> Table:
    return lay_out(studied, scores, interval, None)


def bold(table: Table, section: int = 0) -> dict[str, list[bool | None]]:
    return {row.label: [cell.best if cell else None for cell in row.cells] for row in table.sections[section].rows}


def test_bold_is_what_tests_cannot_tell_from_the_best() -> None:
    a, b, c = (run(name, {"bleu": value}) for name, value in (("a", 10.0), ("b", 30.0), ("c", 29.0)))
    tests = [comparison(a, b, "bleu", "better"), comparison(a, c, "bleu"), comparison(b, c, "bleu")]
    # a and c cannot be told apart either, but a is worse than the best
    assert bold(laid_out(study([a, b, c], tests=tests))) == {"a": [False], "b": [True], "c": [True]}
    tests[2] = comparison(b, c, "bleu", "worse")
    assert bold(laid_out(study([a, b, c], tests=tests))) == {"a": [False], "b": [True], "c": [False]}


def test_lower_may_be_better() -> None:
    a, b = run("a", {"ter": 40.0, "bleu": 5.0}), run("b", {"ter": 60.0, "bleu": 6.0})
    studied = study([a, b], tests=[comparison(a, b, "ter", "worse"), comparison(a, b, "bleu", "better")])
    table = laid_out(studied)
    assert bold(table) == {"a": [True, False], "b": [False, True]}
    assert [column.arrow for column in table.columns] == ["↓", "↑"] and table.mixed
    assert "↓: lower is better." in notes.sentences(studied, table)


def test_an_interval_without_width_asks_for_no_more_digits() -> None:
    alone = run("a", {"exact_match": 200 / 3})
    score = replace(alone.scores["exact_match"], low=66.66666666666666, high=66.66666666666667)
    flat = replace(alone, scores={"exact_match": score})
    table = lay_out(study([flat]), None, "plus-minus", "auto")
    assert table.columns[0].digits == score.digits and half_width(score) == 0
    wide = replace(score, low=66.0, high=67.0)
    assert half_width(wide) == 0.5


def test_one_run_alone_is_never_bold() -> None:
    studied = study([run("a", {"bleu": 10.0})])
    assert bold(laid_out(studied)) == {"a": [None]}
    assert "One run only on dev: nothing to test there, nothing is bold." in notes.sentences(studied, laid_out(studied))


def test_a_run_without_a_value_is_neither_best_nor_as_good() -> None:
    a, b, c = run("a", {"bleu": None}), run("b", {"bleu": 1.0}), run("c", {"bleu": 0.5})
    tests = [comparison(a, b, "bleu"), comparison(a, c, "bleu"), comparison(b, c, "bleu")]
    studied = study([a, b, c], tests=tests)
    assert bold(laid_out(studied)) == {"a": [None], "b": [True], "c": [True]}
    assert "BLEU (a): n/a, no value." in notes.sentences(studied, laid_out(studied))


def test_a_data_set_has_the_systems_that_ran_on_it_in_one_order() -> None:
    first = [run("a", {"bleu": 10.0}), run("b", {"bleu": 20.0, "ter": 50.0})]
    studied = study(first, [run("c", {"bleu": 30.0}, "test"), run("b", {"bleu": 30.0}, "test")])
    table = laid_out(studied)
    assert [[row.label for row in section.rows] for section in table.sections] == [["a", "b"], ["b", "c"]]
    assert [cell is None for cell in table.sections[0].rows[0].cells] == [False, True]
    assert "Empty: not evaluated." in notes.sentences(studied, table)


def test_columns_are_headline_scores_or_those_asked_for() -> None:
    single = run("a", {"bleu": 10.0, "bleu.bp": 1.0, "rougeL": 0.5, "rougeL.precision": 0.4, "own_score": 3.0})
    assert [column.title for column in laid_out(study([single])).columns] == ["BLEU", "ROUGE-L", "own_score"]
    chosen = laid_out(study([single]), ["rougeL.precision", "bleu", "bleu"])
    assert [column.title for column in chosen.columns] == ["ROUGE-L precision", "BLEU"]
    assert [column.digits for column in chosen.columns] == [4, 2]
    assert "Not tested, so never marked: ROUGE-L precision." in notes.sentences(study([single]), chosen)


def test_a_score_has_the_digits_of_the_runs_that_have_it() -> None:
    studied = study([run("a", {"bleu": 10.0}), run("b", {"bleu": 20.0, "ter": 50.0})])
    assert [column.digits for column in laid_out(studied).columns] == [2, 2]


def test_the_note_says_how_and_how_many() -> None:
    a, b = run("a", {"bleu": 10.0}, failed=1), run("b", {"bleu": 20.0})
    studied = study(
        [a, b], tests=[replace(comparison(a, b, "bleu"), excluded=1)], against=[comparison(a, b, "bleu", "better")]
    )
    said = notes.sentences(studied, laid_out(studied))
    assert said[:5] == [
        "n = 3 examples of dev; failed: a 1.",
        "In brackets: 95% intervals (percentile bootstrap, 1,000 resamples).",
        "Bold: the best, with all that cannot be told apart from it (paired bootstrap tests of all pairs, 1,000 "
        "resamples, seed 7; p ≤ 0.05, adjusted over 1 test by step-down max-T).",
        "Each test leaves out the outputs that either system failed on, up to 1.",
        "† better, ‡ worse than a: tests of each system against it, p ≤ 0.05, adjusted over 1 test by step-down max-T.",
    ]
    none = replace(studied, correction="none", against=studied.against.__class__())
    said = notes.sentences(none, laid_out(none, interval="plus-minus"))
    assert "±: half of the 95% interval" in said[1] and "need not lie evenly around the score" in said[1]
    assert said[2].endswith("p ≤ 0.05, not adjusted for 1 test).") and "†" not in " ".join(said)


def test_clusters_and_repeats_are_counted() -> None:
    single = run("a", {"bleu": 10.0}, cluster="doc")
    examples = single.examples.assign(doc=["x", "x", "y"])
    twice = single.with_examples(examples.loc[examples.index.repeat(2)])
    (said, *_) = notes.sentences(study([twice]), laid_out(study([twice])))
    assert said == "n = 3 examples of dev in 2 clusters by doc, 2 outputs each."


def test_signatures_stand_once_unless_they_differ() -> None:
    a, b = run("a", {"rouge1": 0.5, "rouge1.recall": 0.5, "bleu": 5.0}), run("b", {"rouge1": 0.5, "bleu": 5.0})
    table = laid_out(study([a, b]), ["rouge1", "rouge1.recall", "bleu"])
    assert notes.signatures(table)[-1] == ("harness", __version__)
    assert notes.signatures(table)[:-1] == [
        ("ROUGE-1, ROUGE-1 recall", "of:rouge1|version:1"),
        ("BLEU", "of:bleu|version:1"),
    ]
    other = replace(b, scores={**b.scores, "bleu": replace(b.scores["bleu"], signature="of:bleu|version:2")})
    assert notes.signatures(laid_out(study([a, other]), ["bleu"]))[:-1] == [
        ("BLEU (a)", "of:bleu|version:1"),
        ("BLEU (b)", "of:bleu|version:2"),
    ]


def test_rows_lead_back_to_their_runs() -> None:
    manifest = {
        "name": "dev-a", "key": "0123456789abcdef0123", "mlflow": {"run_id": "feed"},
        "git": {"commit": "c0ffee", "dirty": True},
    }  # fmt: skip
    single = run("a", {"bleu": 1.0}, path=Path("/home/somebody/runs/paper/dev-a-01234567"), manifest=manifest)
    assert notes.traces(laid_out(study([single]))) == [
        "dev, a: run dev-a, folder paper/dev-a-01234567, key 0123456789abcdef, dataset_key dev, mlflow_run_id feed, "
        "git_commit c0ffee (changed)"
    ]
    assert notes.traces(laid_out(study([run("b", {"bleu": 1.0})]))) == ["dev, b: run dev-b, dataset_key dev"]


def test_titles_and_digits_are_those_of_the_score_whatever_its_name() -> None:
    single = run("a", {"bleu": 10.0, "own_score.part": 3.0})
    named = {
        "bleu": replace(single.scores["bleu"], title="My BLEU\nof two lines", digits=1),
        "own_score.part": single.scores["own_score.part"],
    }
    columns = laid_out(study([replace(single, scores=named)]), ["bleu", "own_score.part"]).columns
    assert [(column.title, column.digits) for column in columns] == [
        ("My BLEU of two lines", 1),
        ("own_score part", 4),
    ]


def test_the_fewest_digits_where_a_stored_run_does_not_say() -> None:
    now, before = run("a", {"bleu": 10.0}), run("b", {"bleu": 1.0})
    before = replace(before, scores={"bleu": replace(before.scores["bleu"], title="", digits=4)})
    (column,) = laid_out(study([now, before])).columns
    assert (column.title, column.digits) == ("BLEU", 2)


def test_numbers_have_no_negative_zero() -> None:
    assert [number(x, 2) for x in (-0.001, -0.01, 1234.5)] == ["0.00", "-0.01", "1234.50"]


def test_labels_are_one_line() -> None:
    assert plain(" a\n b\t\u2028c\x00\x1b\ud800 ") == "a b c\ufffd\ufffd\ufffd"
