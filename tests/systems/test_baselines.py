"""Baselines made from the data itself: the source, references of other examples, people against each other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import sacrebleu

from harness.systems.copy import Copy
from harness.systems.human import Human
from harness.systems.random import Random
from harness.types import Example, HarnessError, Output
from tests.conftest import ROWS, Called, example, write_jsonl

Cli = Callable[..., Called]
RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=[bleu]", "tracking=none", "stats.resamples=100")


def only() -> Path:
    (scores,) = Path("runs").rglob("scores.json")
    return scores.parent


# ---------------------------------------------------------------- copy


def test_copy() -> None:
    batch = [example("1", "one", second="uno", year=1999), example("2", "", second=""), example("3", None, second=None)]
    assert Copy().generate(batch) == [Output("one"), Output(""), Output(None, "the example has no source")]
    assert Copy("second").generate(batch) == [Output("uno"), Output(""), Output(None, "the example has no second")]
    assert Copy("id").generate(batch[:1]) == [Output("1")]
    assert Copy("year").generate(batch[:1]) == [Output(None, "'year' is 1999; expected a text")]
    with pytest.raises(
        HarnessError, match="system.field=third is not a field of example '1'; found: second, year, id, source"
    ):
        Copy("third").seen(batch[0])


@pytest.mark.parametrize("system", ["lead", "lexrank"])
def test_no_sentence_is_no_summary(system: str, files: Path, cli: Cli) -> None:
    called = cli("run", f"system={system}", "system.sentences=0", "metrics=bleu", "tracking=none", "limit=2")
    assert (called.code, called.err) == (1, "harness: system.sentences=0; expected at least 1\n")


def test_a_second_translator_is_compared_with_a_system(files: Path, cli: Cli) -> None:
    """The fair comparison with people: both against the same references."""
    rows = [{"id": r["id"], "source": r["source"], "r0": r["references"][0], "r1": r["references"][1]} for r in ROWS]
    write_jsonl(files / "dev.jsonl", rows)
    for system in (("system=copy", "system.field=r0"), ("system=predictions", "system.path=bad.jsonl")):
        called = cli(*RUN, "dataset.columns.references=[r1]", *system)
        assert called.code == 0, called.err
    called = cli("compare", "dev-r0", "dev-bad", "--json")
    assert called.code == 0, called.err
    assert {row["system"] for row in json.loads(called.out)["comparisons"]} == {"dev-bad"}


# ---------------------------------------------------------------- random


def several(n: int) -> list[Example]:
    return [Example(str(i), None, tuple(f"{i}.{r}" for r in range(i % 4))) for i in range(n)]


def test_random_takes_any_reference_of_another_example() -> None:
    examples = several(9)
    drawn: dict[str, Counter[str]] = {item.id: Counter() for item in examples}
    system = Random(repeats=400)
    rows = system.expand(examples)
    for row, output in zip(rows, system.generate(rows), strict=True):
        drawn[row.id][output.text or ""] += 1
    everything = {text for item in examples for text in item.references}
    for item in examples:
        assert drawn[item.id].keys() == everything - set(item.references)
        assert max(drawn[item.id].values()) < 3 * min(drawn[item.id].values())  # about 400 / 12 each


def test_random_depends_on_seed_id_and_repeat_only() -> None:
    def texts(seed: int = 1, repeats: int = 1) -> list[str | None]:
        system = Random(seed, repeats)
        return [output.text for output in system.generate(system.expand(several(50)))]

    assert texts() == texts()
    assert texts() != texts(seed=2)
    assert texts(repeats=2)[::2] == texts()
    assert texts(repeats=2)[1::2] != texts()


def test_random_without_others() -> None:
    system = Random()
    rows = system.expand([example("1", "s", "mine"), example("2", "s")])
    message = "no other example has a reference; expected at least one"
    assert system.generate(rows) == [Output(None, message), Output("mine")]
    with pytest.raises(HarnessError, match="system.repeats=0; expected at least 1"):
        Random(repeats=0)


def test_random_runs_again_when_the_data_changes(files: Path, cli: Cli) -> None:
    assert cli(*RUN, "system=random").code == 0
    before = pd.read_parquet(only() / "examples.parquet")
    for row in before.itertuples():
        assert row.output not in row.references
    write_jsonl(files / "dev.jsonl", [{**row, "references": [t + "!" for t in row["references"]]} for row in ROWS])
    assert cli(*RUN, "system=random").code == 0
    after = pd.read_parquet(only() / "examples.parquet")
    assert list(after["output"]) == [text + "!" for text in before["output"]]


# ---------------------------------------------------------------- human


def test_each_reference_against_the_others(files: Path, cli: Cli) -> None:
    write_jsonl(
        files / "dev.jsonl", [{**row, "references": [*row["references"], f"third {row['id']}"]} for row in ROWS]
    )
    called = cli(*RUN, "system=human")
    assert called.code == 0, called.err
    table = pd.read_parquet(only() / "examples.parquet")
    assert list(table["id"]) == [row["id"] for row in ROWS for _ in range(3)]
    assert list(table["repeat"]) == [0, 1, 2] * 4
    written = [[*row["references"], f"third {row['id']}"] for row in ROWS]
    assert list(table["output"]) == [text for texts in written for text in texts]
    others = [[t for t in texts if t != text] for texts in written for text in texts]
    assert [list(texts) for texts in table["references"]] == others
    scores = json.loads((only() / "scores.json").read_text())
    assert scores["failed"] == 0
    expected = sacrebleu.corpus_bleu(list(table["output"]), [list(texts) for texts in zip(*others, strict=True)])
    assert scores["scores"]["bleu"]["estimate"] == pytest.approx(expected.score, abs=1e-9)
    assert scores["scores"]["bleu"]["signature"].startswith("nrefs:2|")


def test_one_reference_is_a_failure_and_none_is_refused(files: Path, cli: Cli) -> None:
    short = [{**ROWS[0], "references": ["alone"]}, *ROWS[1:]]
    write_jsonl(files / "dev.jsonl", short)
    assert cli(*RUN, "system=human").code == 0
    table = pd.read_parquet(only() / "examples.parquet")
    assert list(table["id"]) == ["a", "b", "b", "c", "c", "d", "d"]
    assert list(table["error"].dropna()) == [
        "the example has 1 reference; expected 2 or more, to score each against the others"
    ]
    write_jsonl(files / "dev.jsonl", [{**row, "references": ["alone"]} for row in ROWS])
    called = cli(*RUN, "system=human", "output_dir=other")
    assert called.code == 1
    assert "all 4 examples failed, the first with: the example has 1 reference; expected 2 or more" in called.err
    write_jsonl(files / "dev.jsonl", [{**row, "references": []} for row in ROWS])
    called = cli(*RUN, "system=human", "output_dir=third")
    assert called.code == 1
    assert "4 of 4 examples have no references" in called.err


@pytest.mark.parametrize("counts", [(2, 2, 2, 2), (2, 3, 2, 3)], ids=["as many each", "more for some"])
def test_people_are_not_compared_with_a_system_that_has_one_reference_more(counts: tuple[int, ...], files: Path, cli: Cli) -> None:  # fmt: skip
    rows = [{**row, "references": ["x y z", "x z", "z"][:n]} for row, n in zip(ROWS, counts, strict=True)]
    write_jsonl(files / "dev.jsonl", rows)
    for system in (("system=human",), ("system=predictions", "system.path=good.jsonl")):
        assert cli(*RUN, *system).code == 0
    for runs in (("dev-human", "dev-good"), ("dev-good", "dev-human")):
        called = cli("compare", *runs)
        assert called.code == 1
        assert "nrefs: " in called.err or "were scored against different references" in called.err


def test_identical_people_are_perfect() -> None:
    system = Human()
    rows = system.expand([example("1", "s", "same", "same")])
    assert [row.references for row in rows] == [("same",), ("same",)]
    assert system.generate(rows) == [Output("same"), Output("same")]
    assert system.repeats == 2
