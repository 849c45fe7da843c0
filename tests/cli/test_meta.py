"""`harness meta`: the tables, the JSON, the figure, predictions, every shape of human file, and one message for each that
cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import harness
from harness.analysis.figures.by_people import _lines, _sums
from tests.conftest import Called, called_in, write_jsonl

WORDS = [f"word{i}" for i in range(18)]
SYSTEMS = {"poor": 2, "fair": 5, "good": 9, "best": 12}
"""How many words of each reference a system gets right."""
ITEMS = 24


def human_rows() -> list[dict[str, Any]]:
    """People see the systems' order, and an error of their own."""
    rng = np.random.default_rng(3)
    return [
        {"id": f"{i}", "system": name, "score": round(float(right / 3 + rng.normal(0, 0.8)), 2)}
        for i in range(ITEMS)
        for name, right in SYSTEMS.items()
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs, and human.jsonl."""
    place = tmp_path_factory.mktemp("meta")
    rng = np.random.default_rng(5)
    texts = [rng.permutation(WORDS)[:13].tolist() for _ in range(ITEMS)]
    rows = [{"id": f"{i}", "source": "x", "references": [" ".join(words)]} for i, words in enumerate(texts)]
    write_jsonl(place / "dev.jsonl", rows)
    for name, right in SYSTEMS.items():
        kept = [max(1, right + int(shift)) for shift in rng.integers(-1, 2, ITEMS)]
        outputs = [" ".join([*words[:k], *["wrong"] * (13 - k)]) for words, k in zip(texts, kept, strict=True)]
        write_jsonl(place / f"{name}.jsonl", [{"id": f"{i}", "output": text} for i, text in enumerate(outputs)])
    write_jsonl(place / "human.jsonl", human_rows())
    write_jsonl(place / "small.jsonl", rows[:5])
    write_jsonl(place / "part.jsonl", [{"id": f"{i}", "output": "x"} for i in range(5)])
    for data, path in (("dev", ",".join(f"{name}.jsonl" for name in SYSTEMS)), ("small", "part.jsonl")):
        called_in(
            place, "run", "--multirun", "dataset=file", f"dataset.path={data}.jsonl", "system=predictions",
            f"system.path={path}", "metrics=[bleu,ter]", "tracking=none", "stats.resamples=0", "progress=false",
        )  # fmt: skip
    return place


@pytest.fixture
def meta(folder: Path, cli: Callable[..., Called], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Called]:
    """`harness meta RUN… --human human.jsonl` of four runs."""
    monkeypatch.chdir(folder)
    names = [f"dev-{name}" for name in SYSTEMS]

    def call(*arguments: str, runs: list[str] = names, human: str = "human.jsonl") -> Called:
        return cli("meta", *runs, "--human", human, "--resamples", "100", *arguments)

    return call


def test_the_tables_and_the_json_agree_with_scipy(meta: Callable[..., Called]) -> None:
    shown = meta("--group", "none")
    assert (shown.code, shown.err) == (0, "")
    assert "dev: 96 outputs of 4 systems on 24 items, score against metrics" in shown.out
    assert "single outputs, all" in shown.out
    assert "\nsystems\n" in shown.out
    assert "acc*eq of single outputs: who agrees better" in shown.out
    assert "Intervals: expanded percentiles over 100 resamples of items and systems." in shown.out
    document = json.loads(meta("--group", "none", "--json").out)
    assert (document["schema"], document["n"], document["items"]) == (1, 96, 24)
    rows = {(row["level"], row["score"], row["coefficient"]): row for row in document["coefficients"]}
    people = {(row["id"], row["system"]): row["score"] for row in human_rows()}
    runs = [harness.load_run(f"dev-{name}") for name in SYSTEMS]
    pairs = [
        (people[id_, run.system], bleu, -ter)
        for run in runs
        for id_, bleu, ter in zip(run.table["id"].to_pylist(), run.table["bleu"].to_pylist(), run.table["ter"].to_pylist(), strict=True)
    ]  # fmt: skip
    human, bleu, ter = np.array(pairs).T
    for name, values in (("bleu", bleu), ("ter", ter)):
        assert rows["segment", name, "pearson"]["estimate"] == pytest.approx(scipy.stats.pearsonr(human, values)[0])
        assert rows["segment", name, "spearman"]["estimate"] == pytest.approx(scipy.stats.spearmanr(human, values)[0])
        assert rows["segment", name, "kendall_b"]["estimate"] == pytest.approx(scipy.stats.kendalltau(human, values)[0])
    corpus = [run.scores["bleu"].estimate for run in runs]
    means = [human[i * ITEMS : (i + 1) * ITEMS].mean() for i in range(4)]
    assert rows["system", "bleu", "pearson"]["estimate"] == pytest.approx(scipy.stats.pearsonr(corpus, means)[0])
    assert rows["system", "bleu", "accuracy"]["estimate"] == 1.0
    assert all(row["low"] <= row["high"] for row in document["coefficients"])
    assert {row["coefficient"] for row in document["tests"]} == {"acc_eq", "spa"}
    again = harness.meta([f"dev-{name}" for name in SYSTEMS], "human.jsonl", group="none", resamples=100)
    assert json.loads(json.dumps({"schema": 1, **again.row()})) == document


def test_one_coefficient_and_what_is_drawn(meta: Callable[..., Called]) -> None:
    document = json.loads(meta("--coefficient", "kendall_b", "--resample", "items", "--json").out)
    assert {row["coefficient"] for row in document["coefficients"]} == {"kendall_b"}
    assert [(row["p_outputs"], row["verdict"]) for row in document["tests"]] == [(None, "not distinguishable")]
    assert document["group"] == "item"
    assert document["note"] is None


def test_four_systems_tell_nothing_of_others(meta: Callable[..., Called]) -> None:
    document = json.loads(meta("--coefficient", "kendall_b", "--json").out)
    (row,) = document["tests"]
    assert row["verdict"] == "too few to tell"
    assert row["p_adjusted"] >= max(2 / 2**4, row["p_outputs"])
    assert document["note"] == (
        "Nothing is told of others by 4 systems: 6 are the fewest that could. --resample items asks about these systems."
    )


def test_one_run_needs_no_system(meta: Callable[..., Called], folder: Path) -> None:
    rows = [{"id": row["id"], "mqm": row["score"]} for row in human_rows() if row["system"] == "good"]
    (folder / "few.csv").write_text("id,mqm\n" + "".join(f"{row['id']},{row['mqm']}\n" for row in rows))
    document = json.loads(meta("--json", runs=["dev-good"], human="few.csv").out)
    assert (document["human"], document["group"], document["resample"], document["n"]) == ("mqm", "none", "items", 24)
    assert {row["level"] for row in document["coefficients"]} == {"segment"}


def test_judgements_without_ids_are_of_systems(meta: Callable[..., Called], folder: Path) -> None:
    rows = [{"sid": i, "system": row["system"], "z": row["score"]} for i, row in enumerate(human_rows())]
    write_jsonl(folder / "z.jsonl", rows)
    shown = meta("--json", "--score-field", "z", human="z.jsonl")
    assert "z.jsonl has no 'id', so agreement is measured on systems only (--id-field NAME names it)" in shown.err
    document = json.loads(shown.out)
    assert {(row["level"], row["coefficient"]) for row in document["coefficients"]} == {
        ("system", "pearson"), ("system", "kendall"), ("system", "accuracy"),
    }  # fmt: skip


def test_missing_scores_and_systems_that_are_not_in_both(meta: Callable[..., Called], folder: Path) -> None:
    rows = [
        row for row in human_rows() if row["system"] != "fair" and not (row["system"] == "good" and row["id"] < "2")
    ]
    rows += [{"id": "1", "system": "reference", "score": 5.0}, {"id": "0", "system": "good", "score": None}]
    rows += [{"id": "no such", "system": "best", "score": 1.0}]
    write_jsonl(folder / "some.jsonl", rows)
    shown = meta("--json", human="some.jsonl")
    assert shown.code == 0
    assert "some.jsonl line 61: no run is of the system 'reference'; its scores are left out" in shown.err
    assert "some.jsonl has no score of fair; the run is left out" in shown.err
    assert "some.jsonl has 1 id that dev does not have ('no such'); left out" in shown.err
    document = json.loads(shown.out)
    assert document["systems"] == ["poor", "good", "best"]
    assert document["n"] == len(rows) - 3


def test_a_lower_score_may_be_the_better_one(meta: Callable[..., Called], folder: Path) -> None:
    write_jsonl(folder / "worse.jsonl", [{**row, "score": -row["score"]} for row in human_rows()])
    plain = json.loads(meta("--json").out)["coefficients"]
    assert json.loads(meta("--json", "--lower-is-better", human="worse.jsonl").out)["coefficients"] == plain
    assert json.loads(meta("--json", human="worse.jsonl").out)["coefficients"] != plain


def test_predictions(meta: Callable[..., Called], folder: Path) -> None:
    rows = human_rows()
    write_jsonl(folder / "half.jsonl", [row for row in rows if int(row["id"]) % 2])
    shown = meta("--predict", "--score", "bleu", human="half.jsonl")
    assert (shown.code, shown.err) == (0, "")
    assert "dev: score of all outputs, from those that people judged" in shown.out
    assert "12 of 24" in shown.out
    assert "This holds where the judged outputs are a random part of all." in shown.out
    predicted = json.loads(meta("--predict", "--score", "bleu", "--json", human="half.jsonl").out)["predictions"]
    means = {row["system"]: row for row in predicted if row["baseline"] is None}
    assert len(predicted) == 4 + 6
    for name in SYSTEMS:
        judged = [row["score"] for row in rows if row["system"] == name and int(row["id"]) % 2]
        assert means[name]["plain"] == pytest.approx(np.mean(judged))
        assert means[name]["low"] < means[name]["estimate"] < means[name]["high"]
    assert means["best"]["saved"] == means["best"]["effective"] - 12


def test_the_line_has_no_slope_from_resamples_of_one_system(meta: Callable[..., Called], folder: Path) -> None:
    """Of three systems a ninth of the resamples hold one alone, thrice; what its sums leave is rounding."""
    few = [f"dev-{name}" for name in ("poor", "fair", "best")]
    called = meta("-o", "three.svg", "--score", "bleu", "--score", "ter", "--resample", "systems", runs=few)
    assert called.code == 0, called.err
    assert "Warning" not in called.err
    x, human = np.array([[31.7, 11.1, 3.3]]), np.array([[2.0, 2.2, 2.4]])
    alone = _lines(_sums(x, human, np.diag([3, 3, 3])), np.array([0.0, 1.0]))
    assert np.isnan(alone).all()


def test_the_figure(meta: Callable[..., Called], folder: Path) -> None:
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        drawn = meta("-o", f"people.{kind}", "--score", "bleu")
        assert (drawn.code, drawn.err) == (0, "")
        assert (folder / f"people.{kind}").read_bytes().startswith(start)
        assert (
            "Metrics and people on dev. A point is a system; the line of least squares with its 95% band" in drawn.out
        )
    assert meta("-o", "outputs.json", "--figure", "outputs").code == 0
    spec = json.loads((folder / "outputs.json").read_text())
    assert len(spec["concat"]) == 2
    points = spec["datasets"][spec["concat"][0]["layer"][2]["data"]["name"]]
    assert len(points) == 96


def refused(rows: list[dict[str, Any]]) -> dict[str, tuple[list[dict[str, Any]], str]]:
    first = rows[0]
    return {
        "ids": ([{**row, "id": f"x{row['id']}"} for row in rows],
                "h.jsonl: none of its 24 ids ('x0', 'x1', 'x2' and 21 more) is one of the 24 of dev ('0', '1', '2' and 21 more); expected the same ids"),
        "systems": ([{**row, "system": row["system"] + "r"} for row in rows],
                    "h.jsonl has scores of 'poorr', 'fairr', 'goodr' and 1 more, and no run is of such a system (did you mean 'poor'?); expected one of poor, fair, good, best"),
        "constant": ([{**row, "score": 3} for row in rows],
                     "h.jsonl: all 96 human scores are 3, and nothing can agree with that; expected scores that differ"),
        "text": ([first, {**rows[1], "score": "good"}], "h.jsonl line 2: 'score' is 'good'; expected a number"),
        "nan": ([first, {**rows[1], "score": float("nan")}], "h.jsonl line 2: 'score' is 'nan'; expected a number"),
        "twice": ([*rows, rows[0]],
                  "h.jsonl line 97 has the id '0' and the system 'poor', already judged in h.jsonl line 1; expected one score of an output: average those of several people first"),
        "no system": ([{"id": row["id"], "score": row["score"]} for row in rows],
                      "h.jsonl line 1 has no 'system', and there are 4 runs; expected whose output was judged (a run's system or name), or one run"),
        "no score": ([{"id": "1", "system": "poor", "text": "x"}],
                     "h.jsonl line 1 has no 'score'; found: id, system, text; expected --score-field NAME, a column of numbers"),
        "scales": ([{"id": "1", "system": "poor", "raw": 1, "z": 0.5}],
                   "h.jsonl line 1 has no 'score'; found: id, system, raw, z; expected --score-field NAME, one of raw, z"),
        "empty": ([], "h.jsonl has no score; expected a file of human scores"),
    }  # fmt: skip


@pytest.mark.parametrize("case", refused(human_rows()))
def test_one_message_for_each_file_that_cannot_be_used(meta: Callable[..., Called], folder: Path, case: str) -> None:
    rows, expected = refused(human_rows())[case]
    write_jsonl(folder / "h.jsonl", rows)
    called = meta(human="h.jsonl")
    assert called.code == 1
    assert expected in called.err
    assert called.err.startswith("harness: ")
    assert len(called.err.strip().splitlines()) == 1
    assert called.out == ""


OPTIONS = {
    "--human no.jsonl": "no.jsonl does not exist; expected a file of human scores (--human)",
    "--score-field scor": "human.jsonl line 1 has no 'scor' (did you mean 'score'?); found: id, system, score",
    "--id-field number": "human.jsonl line 1 has no 'number'; found: id, system, score",
    "--score blue": "not every run has the score 'blue' (did you mean 'bleu'?); expected one of bleu, ter",
    "--coefficient tau": "coefficient=tau; expected one of pearson, spearman, kendall_b, kendall_c, acc_eq, kendall, accuracy, spa",
    "--resamples 1": "resamples=1; expected 2 or more",
    "-o people.jpg": "-o people.jpg: no figure can be written as '.jpg'; expected .pdf .png .svg .json .html",
}


def test_options_that_cannot_be_used(meta: Callable[..., Called]) -> None:
    for words, expected in OPTIONS.items():
        called = meta(*words.split())
        assert called.code == 1, words
        assert expected in called.err
        assert len(called.err.strip().splitlines()) == 1
    called = meta("--group", "item", runs=["dev-good"])
    assert "--group item with one run; expected two or more, or --group none" in called.err
    called = meta("--resample", "systems", runs=["dev-good"])
    assert "--resample systems with one run; expected two or more, or --resample items" in called.err
    called = meta("-o", "x.svg", "--figure", "systems", runs=["dev-good", "dev-poor"])
    assert "--figure systems of 2 runs; expected 3 or more, or --figure outputs" in called.err


def test_too_few_labels_to_predict_from(meta: Callable[..., Called], folder: Path) -> None:
    write_jsonl(folder / "few.jsonl", [row for row in human_rows() if int(row["id"]) < 5])
    called = meta("--predict", human="few.jsonl")
    assert called.code == 1
    assert "--predict: people judged 5 items of poor; expected 10 or more, drawn at random" in called.err


def test_runs_on_other_data(meta: Callable[..., Called]) -> None:
    called = meta(runs=["dev-good", "small-part"])
    assert called.code == 1
    assert "human.jsonl and runs on 2 data sets (dev, small)" in called.err
    assert "; expected runs on the same data" in called.err
