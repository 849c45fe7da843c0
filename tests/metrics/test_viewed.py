"""Views: any metric between any two texts, folded over contexts; what the pairs give by themselves is what is folded."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
from harness.metrics import columns
from harness.metrics.bertscore import BertScore
from harness.metrics.bleu import Bleu
from harness.metrics.chrf import Chrf
from harness.metrics.distinct import Distinct
from harness.metrics.moverscore import MoverScore
from harness.metrics.named import dressed
from harness.metrics.nist import Nist
from harness.metrics.rouge import Rouge
from harness.metrics.squad import TokenF1
from harness.metrics.ter import Ter
from harness.types import Array, Batch, Contexts, HarnessError, Metric, Rows, Texts
from harness.types.texts import Repeated
from tests.conftest import Called, write_jsonl

WORDS = st.lists(
    st.sampled_from(["the", "a", "ferry", "office", "runs", "opened", "in", "1932", "it"]), min_size=1, max_size=8
).map(" ".join)
PASSAGES = [["the office runs the ferry", "it opened in 1932"], ["a ferry"], [], None]
OUTPUTS = ["the harbour office runs it", "a ferry that is free", "nobody knows", "who knows"]
SOURCES = ["who runs the ferry", None, "when did it open", "why"]


def batch(**others: Any) -> Batch:
    passages = {
        "contexts": Contexts.of(PASSAGES),
        "reference_contexts": Contexts.of([["the office runs it"], None, [], ["x"]]),
    }
    references = [["the harbour office"], ["yes", "it is"], ["in 1932"], ["so"]]
    return Batch(OUTPUTS, references, SOURCES, others, passages, ["q1", "q2", "q3", "q4"])


def view(metric: Metric, **options: Any) -> Metric:
    return dressed("viewed", metric, options)


def rows_of(metric: Metric, some: Batch) -> Rows:
    return Rows.of(metric.statistics(some))


def alone(metric: Metric, output: str, *references: str) -> Array:
    """The scores of one pair, by the metric itself."""
    return metric.score_examples(Rows.of(metric.statistics(Batch([output], [references]))).values)[0]


# ---------------------------------------------------------------- folds


@pytest.mark.parametrize("metric", [Bleu(), Chrf(), Ter(), Rouge(), TokenF1()], ids=lambda metric: metric.name)
def test_the_mean_over_contexts_is_that_of_the_pairs(metric: Metric) -> None:
    seen = view(metric, of="output", against="contexts")
    rows = rows_of(seen, batch())
    assert seen.score_names[0] == "viewed"
    for i, contexts in enumerate(PASSAGES[:2]):
        pairs = [alone(metric, OUTPUTS[i], text) for text in contexts or ()]
        own = dict(zip(metric.score_names, np.mean(pairs, axis=0), strict=True))
        scores = dict(zip(seen.columns, rows.values[i], strict=True))
        assert {name: scores[name] for name in own} == pytest.approx(own)
        assert scores["count"] == 1
        each = rows.lists["each"].values[rows.lists["each"].starts[i] : rows.lists["each"].starts[i + 1]]
        assert each.tolist() == [pair[0] for pair in pairs]
    assert np.isnan(rows.values[2:]).all()  # an empty list, and none: nothing to compare with
    assert np.diff(rows.lists["each"].starts).tolist() == [2, 1, 0, 0]
    assert (seen.higher_is_better, seen.digits_of("viewed")) == (
        metric.higher_is_better,
        metric.digits_of(metric.score_names[0]),
    )


@settings(max_examples=30)
@given(st.lists(st.tuples(WORDS, st.lists(WORDS, max_size=4)), min_size=1, max_size=6))
def test_bleu_of_each_context_is_sacrebleus(examples: list[tuple[str, list[str]]]) -> None:
    """Live: the mean of sacreBLEU's sentence scores, and the best of them."""
    outputs, contexts = zip(*examples, strict=True)
    some = Batch(outputs, [], passages={"contexts": Contexts.of(contexts)})
    for fold, by_hand in (("mean", np.mean), ("best", np.max)):
        rows = rows_of(view(Bleu(), of="output", against="contexts", fold=fold), some)
        for i, (output, texts) in enumerate(examples):
            scores = [sacrebleu.sentence_bleu(output, [text]).score for text in texts]
            assert rows.values[i, 0] == (
                pytest.approx(by_hand(scores)) if scores else pytest.approx(np.nan, nan_ok=True)
            )


def test_weights() -> None:
    own = [{"id": "d1", "text": "the office", "score": 3.0}, {"id": "d2", "text": "a ferry", "score": 1.0}]
    some = Batch(["the office runs"], [], fields={"importance": [[1, 4]]}, passages={"contexts": Contexts.of([own])})
    pairs = [alone(TokenF1(), "the office runs", context["text"])[0] for context in own]
    for weights, expected in ((None, [1, 1]), ("rank", [2, 1]), ("score", [3, 1]), ("importance", [1, 4])):
        rows = rows_of(view(TokenF1(), of="output", against="contexts", weights=weights), some)
        assert rows.values[0, 0] == pytest.approx(np.average(pairs, weights=expected))
    viewed = view(TokenF1(), of="output", against="contexts", weights="importance")
    as_csv_has_them = Batch(
        ["the office runs"], [], fields={"importance": ["[1, 4]"]}, passages={"contexts": some.contexts}
    )
    assert rows_of(viewed, as_csv_has_them).values.tolist() == rows.values.tolist()
    assert viewed.reads == ("outputs", "contexts", "importance")


def test_best_is_by_the_chosen_score() -> None:
    """The best context's whole row counts; of TER, where lower is better, the lowest. The first of equals counts."""
    some = Batch(["a b c d"], [], passages={"contexts": Contexts.of([["a b c d e f g h", "a b", "a b"]])})
    for score, best in (("rouge1.precision", 0), ("rouge1.recall", 1)):
        seen = view(Rouge(), of="output", against="contexts", fold="best", score=score)
        pair = alone(Rouge(), "a b c d", ["a b c d e f g h", "a b"][best])
        names = dict(zip(seen.columns, rows_of(seen, some).values[0], strict=True))
        assert [names[name] for name in Rouge().score_names] == pytest.approx(pair.tolist())
    lowest = rows_of(view(Ter(), of="output", against="contexts", fold="best"), some).values[0, 0]
    assert lowest == min(alone(Ter(), "a b c d", text)[0] for text in ("a b c d e f g h", "a b"))


def test_joined_contexts() -> None:
    seen = view(Rouge(types=["rouge1"]), of="contexts", against="references", fold="joined", score="rouge1.recall")
    rows = rows_of(seen, batch())
    assert rows.lists == {}
    expected = alone(Rouge(types=["rouge1"]), "\n".join(PASSAGES[0] or ()), "the harbour office")
    assert dict(zip(seen.score_names, seen.score(rows.values[0]), strict=True))["viewed"] == expected[2]
    assert np.isnan(rows.values[:, 0]).tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("of", "against", "reads", "scored"),
    [
        ("output", "source", ("outputs", "sources"), [True, False, True, True]),
        ("output", "references", ("outputs", "references"), [True, True, True, True]),
        ("output", "contexts", ("outputs", "contexts"), [True, True, False, False]),
        ("output", "reference_contexts", ("outputs", "reference_contexts"), [True, False, False, True]),
        ("contexts", "source", ("contexts", "sources"), [True, False, False, False]),
        ("contexts", "references", ("contexts", "references"), [True, True, False, False]),
        ("contexts", "reference_contexts", ("contexts", "reference_contexts"), [True, False, False, False]),
    ],
)
def test_what_is_compared(of: str, against: str, reads: tuple[str, ...], scored: list[bool]) -> None:
    """Each view reads what it compares, and has a row where both are there."""
    seen = view(TokenF1(), of=of, against=against)
    assert seen.reads == reads
    rows = rows_of(seen, batch())
    assert (~np.isnan(rows.values[:, 0])).tolist() == scored
    texts = {
        "source": [[SOURCES[0]]], "references": [["the harbour office"]], "reference_contexts": [["the office runs it"]],
        "contexts": [[text] for text in PASSAGES[0] or ()],
    }  # fmt: skip
    pairs = [
        (text, references)
        for text in (PASSAGES[0] or () if of == "contexts" else [OUTPUTS[0]])
        for references in texts[against]
    ]
    assert rows.values[0, 0] == pytest.approx(
        np.mean([alone(TokenF1(), text, *references)[0] for text, references in pairs])
    )


def test_names() -> None:
    seen = dressed(
        "faithfulness", Rouge(types=["rouge1", "rougeL"]), {"against": "contexts", "score": "rouge1.precision"}
    )
    assert seen.score_names == (
        "faithfulness", "faithfulness.f1", "faithfulness.recall",
        "faithfulness.rougeL", "faithfulness.rougeL.precision", "faithfulness.rougeL.recall",
    )  # fmt: skip
    assert (seen.title_of("faithfulness"), seen.title_of("faithfulness.f1")) == ("Faithfulness", "Faithfulness f1")
    assert str(seen.signature([])).startswith("view:output-contexts|score:rouge1.precision|fold:mean|")
    assert list(dressed("b", Bleu(), {"against": "contexts"}).score_names[:3]) == ["b", "b.p1", "b.p2"]


def test_under_its_own_name_a_metric_keeps_its_titles() -> None:
    seen = dressed("rouge", Rouge(types=["rouge1", "rougeL"]), {"against": "contexts", "score": "rougeL.recall"})
    assert [seen.title_of(score) for score in ("rouge", "rouge.rouge1")] == ["ROUGE-L recall", "ROUGE-1"]
    assert dressed("token_f1", TokenF1(), {"against": "contexts"}).title_of("token_f1") == "Token F1"


@pytest.mark.parametrize("make", [Bleu, Rouge, Chrf, Ter, Nist])
def test_an_output_beside_several_texts_is_looked_at_once(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, places = Texts.of(["left out", "it rains.\nit pours", "", "a ação"]), np.array([1, 1, 2, 3, 3, 3])
    references = [["it rains"], ["it pours", "it"], ["x"], ["ação"], ["a"], ["a ação é", "b c d"]]
    metric = make().fit(references)
    repeated = metric.statistics(Batch(Repeated(outputs, places), references))  # type: ignore[arg-type]
    assert repeated.tolist() == metric.statistics(Batch(list(outputs.taken(places)), references)).tolist()  # type: ignore[arg-type]
    monkeypatch.setattr(columns, "EXAMPLES", 2)
    in_chunks = metric.statistics(Batch(Repeated(outputs, places), references))  # type: ignore[arg-type]
    assert in_chunks.tolist() == repeated.tolist()


# ---------------------------------------------------------------- windows


SENTENCES = ["the harbour office runs the ferry across the bay", "tickets are sold on the pier every morning before eight",
             "dogs are welcome on the upper deck of the boat", "in winter the last boat leaves at six in the evening"]  # fmt: skip


@pytest.mark.parametrize(
    "metric", [BertScore(max_length=24), MoverScore(max_length=24, idf=False)], ids=lambda m: m.name
)
def test_a_long_text_is_never_cut(metric: Metric) -> None:
    """What stands at the end of a context that is longer than the window supports an answer as well as at its start."""
    contexts = Contexts.of([[" ".join(SENTENCES)], [SENTENCES[3]], ["short", " ".join(SENTENCES)]])
    some = Batch([SENTENCES[3]] * 3, [], passages={"contexts": contexts})
    seen = view(metric, of="output", against="contexts")
    rows = rows_of(seen, some)
    scores = [dict(zip(seen.score_names, seen.score(row), strict=True)) for row in rows.values]
    assert [score["viewed.windows"] for score in scores] == [1, 0, 1]
    cut = alone(metric, SENTENCES[3], " ".join(SENTENCES))[0]
    assert scores[0]["viewed"] > cut
    assert "|max:24-windows|" in str(seen.signature([]))
    if metric.name == "bertscore":
        precise = rows_of(view(metric, of="output", against="contexts", score="bertscore.precision"), some).values[
            :2, 0
        ]
        assert precise[0] > 0.9  # all of its words are there
        windows = BertScore(max_length=24).in_windows()._encoder.windows([" ".join(SENTENCES), "short"])
        assert " ".join(windows[0]) == " ".join(SENTENCES)
        assert (len(windows[0]) > 1, windows[1]) == (True, ["short"])
        best = max(alone(metric, SENTENCES[3], part)[1] for part in windows[0])
        assert precise[0] >= best - 1e-6  # each word finds its match in any of the windows


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("metric", "options", "words"),
    [
        (BertScore(idf=True), {"against": "contexts"}, "metrics.viewed.view.against=contexts: bertscore has weights (idf"),
        (Nist(), {"against": "contexts"}, "metrics.viewed.view.against=contexts: nist has weights"),
        (MoverScore(), {"against": "source"}, "expected against=references, or idf=false where the metric has that option"),
        (Distinct(), {"against": "source"}, "metrics.viewed.view: distinct has no score of single pairs"),
        (Bleu(), {"against": "context"}, "metrics.viewed.view.against=context; expected one of contexts, source"),
        (Bleu(), {"of": "contexts", "against": "contexts"}, "metrics.viewed.view compares contexts with itself"),
        (Bleu(), {"against": "contexts", "fold": "max"}, "metrics.viewed.view.fold=max; expected one of mean, best, joined"),
        (Bleu(), {"against": "contexts", "score": "bleu.p9"}, "metrics.viewed.view.score=bleu.p9 is no score of bleu"),
        (Bleu(), {"against": "contexts", "weight": "rank"}, "metrics.viewed.view.weight is not an option (did you mean 'weights'?)"),
        (Bleu(), {"against": "source", "weights": "rank"}, "metrics.viewed.view.weights=rank where output is compared with source"),
        (Bleu(), {"against": "contexts", "weights": "rank", "fold": "best"}, "metrics.viewed.view.weights=rank with fold=best"),
        (Bleu(), "contexts", "metrics.viewed.view is 'contexts'; expected a mapping with of and against"),
    ],
)  # fmt: skip
def test_refused(metric: Metric, options: Any, words: str) -> None:
    with pytest.raises(HarnessError) as caught:
        dressed("viewed", metric, options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("contexts", "weights", "field", "words"),
    [
        (["a", {"id": "d7"}], None, None, "viewed: context 2 of example 'q1' has no text (its id is 'd7'); expected the text"),
        (["a", "b"], "w", [1.0], "viewed: 'w' of example 'q1' is 1 number; expected 2 numbers, one for each context"),
        (["a", "b"], "w", None, "viewed: 'w' of example 'q1' is null; expected 2 numbers"),
        (["a", "b"], "w", [1, -1], "viewed: 'w' of context 2 of example 'q1' is negative (-1); expected a number of 0"),
        (["a", "b"], "w", [1, "x"], "viewed: 'w' of context 2 of example 'q1' is str 'x'; expected a number"),
        (["a", "b"], "w", [None, 1], "viewed: 'w' of context 1 of example 'q1' is null; expected a number"),
        (["a", "b"], "w", [1, math.inf], "viewed: 'w' of context 2 of example 'q1' is float 'inf'; expected a number"),
        (["a", "b"], "w", [1, 10**400], "viewed: 'w' of context 2 of example 'q1' is int '1000"),
        (["a", "b"], "w", [0, 0], "viewed: 'w' of all contexts of example 'q1' is 0; expected at least one"),
        (["a"], "score", None, "viewed: the retriever's score of context 1 of example 'q1' is missing; expected a number"),
        ([{"text": "a", "score": -2}], "score", None, "viewed: the retriever's score of context 1 of example 'q1' is negative"),
    ],
)  # fmt: skip
def test_wrong_weights_and_texts(contexts: list[Any], weights: str | None, field: Any, words: str) -> None:
    some = Batch(["x"], [], fields={"w": [field]}, passages={"contexts": Contexts.of([contexts])}, ids=["q1"])
    with pytest.raises(HarnessError) as caught:
        view(TokenF1(), of="output", against="contexts", weights=weights).statistics(some)
    assert str(caught.value).startswith(words)


# ---------------------------------------------------------------- in runs


QUIET = ("tracking=none", "stats.resamples=200", "dataset=file", "dataset.path=dev.jsonl", "system=predictions")
LEXICAL = "{_target_: harness.metrics.rouge.Rouge, types: [rouge1], view: {of: output, against: contexts, score: rouge1.precision}}"


TARGET = {"_target_": "harness.metrics.squad.TokenF1"}
VIEWED = {"support": {**TARGET, "view": {"against": "contexts"}}}
OF_CONTEXTS = {**TARGET, "view": {"of": "contexts", "against": "source"}}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two systems that retrieved other passages, one of them nothing for the third question."""
    questions = [{"id": f"q{i}", "source": f"who runs ferry {i}", "references": ["the office"]} for i in range(8)]
    write_jsonl(tmp_path / "dev.jsonl", questions)
    for name, text in (("good", "the office runs ferry"), ("poor", "it rains")):
        rows = [
            {"id": row["id"], "output": "the office runs it", "contexts": [f"{text} {row['id']}"] * (1 + i % 3)}
            for i, row in enumerate(questions)
        ]
        rows[2]["contexts"] = [] if name == "poor" else rows[2]["contexts"]
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
    return tmp_path


def test_what_is_lacking_is_named() -> None:
    """Contexts are there, the question is not."""
    result = harness.evaluate(
        ["x"], [["x"]], VIEWED | {"context_relevance": OF_CONTEXTS}, contexts=[["x y"]], resamples=0
    )
    assert result.scores["support"].estimate == pytest.approx(200 / 3)
    note = result.scores["context_relevance"].note
    assert note is not None
    assert "1 of 1 outputs have no contexts or no source" in note


def test_python_changes_a_part_of_a_view() -> None:
    scored = [{"text": "It rains here.", "score": 3}, {"text": "x", "score": 1}]
    plain, weighted = (
        harness.evaluate(["It rains."], [[]], metric, contexts=[scored], resamples=0)
        for metric in ("faithfulness", {"faithfulness": {"view": {"weights": "score"}}})
    )
    each = weighted.table.to_pydict()["faithfulness.each"][0]
    assert weighted.scores["faithfulness"].estimate == pytest.approx((3 * each[0] + each[1]) / 4)
    assert plain.scores["faithfulness"].estimate == pytest.approx(sum(each) / 2)


def test_a_view_on_the_command_line(two: Path, cli: Callable[..., Called]) -> None:
    """Without Hydra's plus sign, in `harness run` and in `harness score`."""
    of_good = (*QUIET, "system.path=good.jsonl", "metrics=token_f1")
    words = ("metrics.token_f1.view.against=contexts", "metrics.token_f1.view.fold=best")
    assert cli("run", *of_good, *words, "output_dir=viewed").code == 0
    assert "view:output-contexts" in harness.load_run("viewed").scores["token_f1"].signature
    scored = cli("score", "viewed", "metrics=rouge", "metrics.rouge.view={against: contexts}", "output_dir=again")
    assert scored.code == 0, scored.err
    assert "view:output-contexts" in harness.load_run("again").scores["rouge"].signature
    for wrong, expected in (
        ("metrics.token_f1.view.aganst=contexts", "metrics.token_f1.view.aganst is not an option (did you mean 'against'?)"),
        ("metrics.token_f2.view.against=contexts", "metrics.token_f2.view is a view of a metric that was not chosen (did you mean 'token_f1'?)"),
        ("metrics.token_f1.view={against: contexts, weights: importance}", "token_f1 reads the field 'importance', which neither the examples nor the outputs have"),
    ):  # fmt: skip
        called = cli("run", *of_good, wrong)
        assert (called.code, expected in called.err) == (1, True), called.err


def test_two_retrievers_are_compared(two: Path, cli: Callable[..., Called]) -> None:
    """An example without contexts is left out of both systems, and every table says of how many."""
    for name in ("good", "poor"):
        called = cli(
            "run",
            *QUIET,
            f"system.path={name}.jsonl",
            "metrics=[token_f1]",
            f"+metrics.support={LEXICAL}",
            f"name={name}",
        )
        assert called.code == 0, called.err
    assert "1 of 8 outputs have no contexts and are left out" in called.out
    compared = json.loads(cli("compare", "good", "poor", "--json").out)["comparisons"]
    assert {row["score"]: (row["n"], row["excluded"]) for row in compared} == {"token_f1": (8, 0), "support": (7, 1)}
    assert next(row["difference"] for row in compared if row["score"] == "support") <= -0.5
    table = cli("table", "good", "poor").out
    assert "1 of 8 outputs have no contexts and are left out" in table
    run = harness.load_run("poor")
    assert run.scores["support"].note is not None
    assert run.table.to_pydict()["support.each"][2] == []
    rescored = cli("score", "poor", "metrics=ter", *QUIET[:2], "output_dir=again")
    assert rescored.code == 0, rescored.err
    again = harness.load_run("again")
    assert again.scores["support"].estimate == run.scores["support"].estimate
    assert again.table.to_pydict()["support.each"] == run.table.to_pydict()["support.each"]
    assert "support.each" not in {
        name.removeprefix("metadata.") for name in again.table.column_names if name.startswith("metadata.")
    }


def test_nothing_was_retrieved(two: Path, cli: Callable[..., Called]) -> None:
    write_jsonl(two / "none.jsonl", [{"id": f"q{i}", "output": "x"} for i in range(8)])
    called = cli("run", *QUIET, "system.path=none.jsonl", "metrics=[faithfulness]")
    assert called.code == 1
    assert "faithfulness needs contexts, and no example has any; expected them beside the outputs" in called.err
    gold = LEXICAL.replace("against: contexts", "against: reference_contexts")
    called = cli("run", *QUIET, "system.path=none.jsonl", "metrics=[bleu]", f"+metrics.support={gold}")
    assert "support needs reference_contexts, and no example has any; expected them in the data" in called.err


def test_keys_of_views(two: Path, cli: Callable[..., Called]) -> None:
    """Contexts join a metric's key where it reads them, and no other's: the rest is not scored again."""

    def keys(path: str) -> dict[str, str]:
        called = cli(
            "run",
            *QUIET,
            f"system.path={path}",
            "metrics=[bleu]",
            f"+metrics.support={LEXICAL}",
            "name=keyed",
            f"output_dir={Path(path).stem}",
        )
        assert called.code == 0, called.err
        return {name: part.key for name, part in harness.load_run(two / Path(path).stem).statistics.items()}

    rows = [json.loads(line) for line in (two / "good.jsonl").read_text().splitlines()]
    write_jsonl(two / "other.jsonl", [row | {"contexts": [*row["contexts"], "more"]} for row in rows])
    before, after = keys("good.jsonl"), keys("other.jsonl")
    assert before["bleu"] == after["bleu"]
    assert before["support"] != after["support"]


def test_one_metric_several_times(two: Path, cli: Callable[..., Called]) -> None:
    own = "+metrics.bleu_char={_target_: harness.metrics.bleu.Bleu, tokenize: char}"
    words = "+metrics.words={_target_: harness.metrics.distinct.Distinct}"
    called = cli("run", *QUIET, "system.path=good.jsonl", "metrics=[bleu,distinct]", own, words, "name=twice")
    assert called.code == 0, called.err
    run = harness.load_run("twice")
    assert {"bleu", "bleu_char", "bleu_char.p1", "distinct1", "words1", "words2"} <= set(run.scores)
    assert run.scores["bleu_char"].signature != run.scores["bleu"].signature
    assert (run.scores["bleu_char"].digits, run.scores["bleu_char.bp"].digits) == (2, 4)
    assert run.scores["words1"].estimate == run.scores["distinct1"].estimate
    chars = harness.evaluate(
        ["the office runs it"] * 8, [["the office"]] * 8, {"bleu": {"tokenize": "char"}}, resamples=0
    )
    assert run.scores["bleu_char"].estimate == chars.scores["bleu"].estimate
    assert cli("compare", "twice", "twice", "--json").code == 1  # one run alone
    clash = "+metrics.other={_target_: harness.metrics.python.PythonMetric, function: own.py:bleu}"
    (two / "own.py").write_text("def bleu(outputs, references, sources): return [1] * len(outputs)")
    called = cli("run", *QUIET, "system.path=good.jsonl", "metrics=[bleu]", clash)
    assert "two metrics give the score 'bleu'; expected each score once" in called.err


def test_evaluate_with_contexts() -> None:
    metrics = [{"support": {"_target_": "harness.metrics.rouge.Rouge", "types": ["rouge1"],
                            "view": {"of": "output", "against": "contexts", "score": "rouge1.precision"}}}]  # fmt: skip
    contexts = [["the office runs it", {"text": "it rains", "score": 0.5}], []]
    result = harness.evaluate(["the office", "x"], ["the office", "y"], metrics, contexts=contexts, resamples=0)
    assert result.scores["support"].estimate == pytest.approx(0.5)
    assert result.table.to_pydict()["contexts"][0][1] == {"id": None, "text": "it rains", "score": 0.5}
    recall = {"gold": {"_target_": "harness.metrics.rouge.Rouge", "types": ["rouge1"],
                       "view": {"of": "contexts", "against": "reference_contexts", "score": "rouge1.recall", "fold": "joined"}}}  # fmt: skip
    result = harness.evaluate(
        ["x"], ["y"], [recall], contexts=[["a b"]], reference_contexts=[["a c"]], relevant=[["d1"]], resamples=0
    )
    assert result.scores["gold"].estimate == 0.5
    for wrong, words in (
        ({"contexts": "a"}, "contexts is a string; expected a list, one item for each example"),
        ({"contexts": ["a", "b"]}, r"contexts\[0\]: 'contexts' is str 'a'; expected a list of contexts"),
        ({"contexts": [["a"], [3]]}, r"contexts\[1\]: 'contexts', number 1, is int '3'"),
        ({"relevant": [["a"], True]}, r"relevant\[1\]: 'relevant' is bool 'True'; expected a list of ids"),
    ):
        with pytest.raises(HarnessError, match=words):
            harness.evaluate(["x", "y"], ["x", "y"], "bleu", **wrong)
