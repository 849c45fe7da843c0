"""What a person reads: tables that do not fold when piped, sentences that say who is better, bars that stay quiet."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import harness
from harness.report.terminal import sweep_table
from harness.report.terminal.comparisons import print_best, print_comparisons
from harness.report.terminal.powers import print_powers
from harness.report.terminal.progress import bars, silent
from harness.report.terminal.slice_table import interaction_lines
from harness.report.terminal.summary import print_run, print_summary
from harness.report.terminal.wording import sentence, stages
from harness.stats.options import ComparisonOptions
from harness.types import Comparison, Comparisons, Interaction
from tests.conftest import BAD, GOOD, ROWS

ROUGE = "harness.metrics.rouge.Rouge"
REFERENCES = [row["references"] for row in ROWS]


def row(score: str, verdict: str, **more: object) -> Comparison:
    fields: dict[str, object] = {
        "dataset": "dev", "baseline": "a", "system": "b", "score": score, "n": 40, "unit": "examples", "excluded": 0, "baseline_estimate": 20.0,
        "system_estimate": 21.0, "difference": 1.0, "low": 0.5, "high": 1.5, "p_value": 0.01, "p_adjusted": 0.02,
        "verdict": verdict, "smallest_detectable": 0.8, "needed": 90, "standard_error": 0.3, "effect_size": 0.2,
        "won": 0.5, "tied": 0.1, "lost": 0.4, "p_t": None, "p_wilcoxon": None, "higher_is_better": True, "digits": 2,
    }  # fmt: skip
    return Comparison(**{**fields, **more})  # type: ignore[arg-type]


def test_sentences() -> None:
    assert sentence([row("bleu", "better"), row("rougeL", "better")]) == "b is better than a on bleu and rougeL."
    assert (
        sentence([row("bleu", "better"), row("ter", "worse")]) == "b is better than a on bleu and worse than a on ter."
    )
    assert sentence([row("bleu", "not distinguishable")]) == (
        "b and a cannot be told apart. Smallest difference that 40 examples can detect: bleu 0.80. "
        "To detect a difference as seen: 90 examples for bleu."
    )
    assert sentence([row("bleu", "better"), row("rouge1", "not distinguishable")]) == (
        "b is better than a on bleu; not distinguishable on the rest. "
        "Smallest difference that 40 examples can detect: rouge1 0.80. "
        "To detect a difference as seen: 90 examples for rouge1."
    )
    assert sentence([row("bleu", "not distinguishable", needed=None, n=1984)], "better") == (
        "b is not shown to be better than a. Smallest difference that 1,984 examples can detect: bleu 0.80."
    )
    assert sentence([row("bleu", "worse"), row("ter", "not distinguishable", needed=None)], "worse") == (
        "b is worse than a on bleu; not shown to be worse on the rest. "
        "Smallest difference that 40 examples can detect: ter 0.80."
    )
    within = [row("bleu", "equivalent", margin=0.5), row("ter", "not worse", margin=1.0), row("chrf", "worse")]
    assert sentence(within) == (
        "b is worse than a on chrf; b and a are equivalent on bleu (within ±0.5); "
        "b is not worse than a on ter (by 1 or more)."
    )
    assert sentence([row("bleu", "not distinguishable", margin=0.5, needed=None)]) == (
        "b and a cannot be told apart, which is not to say that they are equal. Smallest difference that 40 examples "
        "can detect: bleu 0.80."
    )
    both = row("bleu", "not distinguishable", needed=None, needed_seeds=None, seeds=(3, 3))
    assert sentence([both]).endswith("bleu 0.80. Neither more examples nor more seeds alone will do for bleu.")
    assert sentence([both], "better").endswith("40 examples can detect: bleu 0.80.")
    few = [row(score, "too few to tell", note="4 examples: no p below 0.12 is possible") for score in ("bleu", "ter")]
    assert sentence(few) == "too few to tell b from a (4 examples: no p below 0.12 is possible)."


def test_differences_that_are_the_same_in_every_slice_take_one_line() -> None:
    same, varying = (Interaction("a", "b", "bleu", 4, p, p, "domain = law", -1.5, 2) for p in (0.9, 0.01))
    alone = "b against a, bleu: the difference is not shown to vary between 4 slices (p = 0.9000); worst in domain = law: -1.50"
    assert interaction_lines([same], 0.95) == [alone]
    assert interaction_lines([same] * 3, 0.95) == ["none of 3 differences is shown to vary between slices (p ≥ 0.9000)"]
    assert interaction_lines([same, varying, same], 0.95) == [
        "b against a, bleu: the difference varies between 4 slices (p = 0.0100); worst in domain = law: -1.50",
        "none of the other 2 differences is shown to vary between slices (p ≥ 0.9000)",
    ]


def test_a_sweep_that_tells_no_cell_from_the_best_says_it_once() -> None:
    row: dict[str, Any] = {
        "system": "k=1",
        "corrected": 4.7,
        "corrected_low": 2.9,
        "corrected_high": 7.4,
        "estimate": 5.0,
        "digits": 2,
    }
    for rivals, of, said in (
        (["k=2", "k=3"], 9, "Not told apart from it: k=2 and k=3."),
        ([f"k={i}" for i in range(2, 6)], 5, "None of the others is told apart from it."),
        (["k=2"], 2, "Not told apart from it: k=2."),
    ):
        winner = SimpleNamespace(**row, rivals=rivals, of=of)
        lines = sweep_table.best(SimpleNamespace(best=winner, alone=None, score="BLEU", cheapest=None))
        assert lines == [
            f"Best: k=1, BLEU 4.70 [2.90, 7.40] corrected for the choice among {of} (5.00 as it stands).",
            said,
        ]


def test_of_several_runs_each_says_what_its_intervals_are_worth(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(harness.evaluate(["a b c", "d e", "f"], ["a b", "d e", "g"], ["chrf"]), scores=False)
    shown = capsys.readouterr().out
    assert "note        chrF: 3 examples: the interval says little" in shown and "estimate" not in shown


def test_which_part_of_a_rag_system_moved() -> None:
    improved = [row("ndcg_10", "better", stage="retrieval"), row("mrr", "better", stage="retrieval")]
    kept_less = [row("faithfulness", "worse", stage="faithfulness")]
    same = [row("rouge1", "not distinguishable", stage="answer"), row("bleu", "too few to tell", stage="answer")]
    assert stages([*improved, *kept_less, *same]) == (
        "Which part moved: retrieval is better (ndcg_10 and mrr); faithfulness is worse (faithfulness); "
        "the answer is not shown to have moved."
    )
    mixed = [row("ndcg_10", "worse", stage="retrieval"), improved[1], row("rouge1", "better", stage="answer")]
    assert stages(mixed) == (
        "Which part moved: retrieval is better (mrr) and worse (ndcg_10); the answer is better (rouge1)."
    )
    still = [replace(each, verdict="not distinguishable") for each in (*improved, *kept_less)]
    assert stages(still) == "Which part moved: retrieval and faithfulness are not shown to have moved."
    assert stages(same) is None  # no score of contexts: not such a system


def test_the_part_of_a_score_is_told_by_what_it_reads() -> None:
    passages = [["rain falls", "the cat sat"]] * 4
    metrics = [
        "rouge",
        {"support": {"_target_": ROUGE, "types": ["rouge1"], "view": {"of": "output", "against": "contexts"}}},
        {"aim": {"_target_": ROUGE, "types": ["rouge1"], "view": {"of": "contexts", "against": "source"}}},
    ]
    runs = [
        harness.evaluate(outputs, REFERENCES, metrics, name=name, resamples=0, contexts=passages, sources=["a cat"] * 4)
        for outputs, name in ((BAD, "bad"), (GOOD, "good"))
    ]
    stage_of = {each.score: each.stage for each in harness.compare(runs, resamples=100)}
    assert stage_of["rouge1"] == "answer"
    assert stage_of["support"] == "faithfulness"
    assert stage_of["aim"] == "retrieval"


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = (
        harness.evaluate(o, REFERENCES, ["lexical"], name=n, resamples=200) for o, n in ((BAD, "bad"), (GOOD, "good"))
    )
    print_run(b)
    print_summary([a, b])
    print_comparisons(harness.compare([a, b], resamples=200), [], ComparisonOptions())
    lines = capsys.readouterr().out.splitlines()
    bleu = b.scores["bleu"]
    words = f"BLEU {bleu.estimate:.2f} [{bleu.low:.2f}, {bleu.high:.2f}] ±"
    (line,) = [x for x in lines if re.sub(r"(?<=\[) +| +(?= )", "", x).startswith(words)]
    assert line.endswith(f"±{max(bleu.low_error, bleu.high_error):.3f}")  # type: ignore[type-var]
    assert any(
        line.startswith("good") and "ROUGE-Lsum" not in line and f"{bleu.estimate:.2f}" in line for line in lines
    )
    assert "good against bad" in lines
    assert sum(line.startswith("too few to tell good from bad (4 examples: no p below 0.12") for line in lines) == 1


def test_rankings_power_and_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = {"bad": BAD, "good": GOOD, "mixed": [GOOD[0], *BAD[1:]]}
    runs = [harness.evaluate(o * 8, REFERENCES * 8, ["lexical"], name=n, resamples=0) for n, o in outputs.items()]
    rows = harness.compare(runs, resamples=400)
    print_comparisons(rows, harness.rankings(rows), ComparisonOptions())
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    start = lines.index("rank and group BLEU ROUGE-1 ROUGE-2 ROUGE-L ROUGE-Lsum")
    assert lines[start + 1 : start + 4] == [
        "good 1 a 1 a 1 a 1 a 1 a",
        "mixed 2 b 2 b 2 b 2 b 2 b",
        "bad 3 c 3 c 3 c 3 c 3 c",
    ]
    print_powers(harness.power(runs[:2], difference=5, scores=["bleu"], resamples=400), 0.8)
    shown = capsys.readouterr().out
    assert "memory: good against bad, n = 32 examples" in shown
    assert "5.00" in shown
    print_best(harness.best(runs, resamples=400))
    shown = capsys.readouterr().out
    assert "memory: the best of 3 runs, n = 32 examples" in shown
    assert "100%" in shown


def test_notes_say_what_was_adjusted_together_and_what_was_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row("bleu", "better", n=1984), row("rouge1", "better", n=1984, p_t=0.01, p_wilcoxon=0.02)]
    average = [row("bleu", "better", dataset="average of 2 data sets")]
    print_comparisons(Comparisons(rows), [], ComparisonOptions(cross_check=True))
    shown = capsys.readouterr().out
    assert "dev: n = 1,984 examples, paired bootstrap" in shown
    assert "p adj.: step-down max-T over all rows; verdicts" in shown
    assert "No t-test and no Wilcoxon's for bleu: they are for means over independent examples." in shown
    print_comparisons(Comparisons(rows, average), [], ComparisonOptions())
    shown = capsys.readouterr().out
    assert "p adj.: step-down max-T over all rows, averages over data sets by themselves; verdicts" in shown
    assert "No t-test" not in shown
    print_comparisons(Comparisons(rows, average), [], ComparisonOptions(correction="none"))
    assert "p adj.: not adjusted; verdicts" in capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 80, 200])
def test_nothing_is_cut_on_a_narrow_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    monkeypatch.setattr("harness.report.terminal.summary.console", lambda: Console(width=width, markup=False))
    a, b = (
        harness.evaluate(o, REFERENCES, ["lexical"], name=n, resamples=200) for o, n in ((BAD, "bad"), (GOOD, "good"))
    )
    print_summary([a, b])
    shown = capsys.readouterr().out
    for name in ("bleu", "rouge1", "rougeLsum"):
        score = b.scores[name]
        digits = 2 if name == "bleu" else 4
        assert f"[{score.low:.{digits}f}, {score.high:.{digits}f}]" in shown
    assert "…" not in shown


def test_names_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    run = harness.evaluate(GOOD, REFERENCES, ["bleu"], name="a[/b][red]c", resamples=200)
    print_run(run)
    print_summary([run])
    assert capsys.readouterr().out.count("a[/b][red]c") == 2


def test_one_example_is_counted_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    run = harness.evaluate(["a"], ["a"], ["rouge"], resamples=0)
    manifest: dict[str, Any] = {"system": {"repeats": 1}, "dataset": {"examples": 1}}
    for each in (run, replace(run, manifest=manifest), replace(run, manifest={**manifest, "system": {"repeats": 3}})):
        print_run(each)
    heads = [line for line in capsys.readouterr().out.splitlines() if line.startswith("outputs  1")]
    assert heads == ["outputs  1 example", "outputs  1 example", "outputs  1 example, up to 3 outputs each"]


def test_what_generating_took_is_shown_where_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    run = harness.evaluate(["a"], ["a"], ["exact_match"], resamples=0)
    manifest: dict[str, Any] = {"system": {"repeats": 1}, "dataset": {"examples": 1}}
    print_run(replace(run, manifest={**manifest, "generation": {"generated": 1, "cost": None}}))
    assert "generated" not in capsys.readouterr().out
    facts = {"input_tokens": 1000, "output_tokens": 20, "latency_p50": 0.5, "cost": 0.002}
    print_run(replace(run, manifest={**manifest, "generation": facts}))
    shown = "generated   1,000 tokens in, 20 out; latency 0.50 s (median); cost 0.002\n"
    assert shown in capsys.readouterr().out


def test_missing_values_are_shown_as_missing(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(harness.evaluate(["a"], ["a"], ["rouge"], resamples=200))
    assert "one example: no interval" in capsys.readouterr().out


def test_bars_are_silent_when_unwanted() -> None:
    assert bars(False) is silent
    with silent("x", 3) as step:
        assert step.advance(2) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("option", "shown"), [("progress=true", True), ("progress=false", False)])
def test_a_live_bar_on_a_terminal(files: Path, option: str, shown: bool) -> None:
    arguments = ["run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=good.jsonl",
                 "metrics=lexical", "tracking=none", option]  # fmt: skip
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "harness", *arguments], cwd=files, stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 65536):
            seen += part
    except OSError:  # the terminal has no more
        pass
    os.close(ours)
    assert done.returncode == 0
    assert (b"scoring" in seen) == shown
    assert b"scoring" not in done.stdout


def test_one_example_is_not_said_to_be_several(capsys: pytest.CaptureFixture[str]) -> None:
    print_run(harness.evaluate(["the cat sat"], [["the cat sat"]], ["exact_match"], resamples=0))
    assert "1 example\n" in capsys.readouterr().out
