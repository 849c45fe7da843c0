"""Systems under test: stored predictions, the two extractive summarisers, and the smallest plug-in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import harness
from harness.datasets.embedded import EmbeddedDataset
from harness.systems.lead import Lead
from harness.systems.lexrank import LexRank
from harness.systems.predictions import Predictions
from harness.systems.sentences import sentences
from harness.types import HarnessError, Output
from tests.conftest import Called, example, write_jsonl

IDS = ["a", "b", "c"]


def predictions(path: Path, ids: list[str] = IDS) -> list[Output]:
    system = Predictions(str(path))
    system.align(ids)
    return system.generate([example(i) for i in ids])


def test_predictions_in_every_format(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"id": i, "output": f"out {i}"} for i in reversed(IDS)]
    write_jsonl(tmp_path / "p.jsonl", rows)
    (tmp_path / "p.csv").write_text("id,output\n" + "".join(f"{r['id']},{r['output']}\n" for r in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    (tmp_path / "p.txt").write_text("out a\nout b\nout c\n")
    for name in ("p.jsonl", "p.csv", "p.parquet", "p.txt"):
        assert [o.text for o in predictions(tmp_path / name)] == ["out a", "out b", "out c"], name


def test_a_null_output_is_a_failure(tmp_path: Path) -> None:
    rows = [{"id": "a", "output": None, "error": "timeout"}, {"id": "b", "output": None}, {"id": "c", "output": ""}]
    outputs = predictions(write_jsonl(tmp_path / "p.jsonl", rows))
    assert outputs == [Output(None, "timeout"), Output(None, "the output is null"), Output("")]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("p.txt", "x\ny\n", "p.txt has 2 lines; expected 3, one for each example"),
        ("p.jsonl", '{"id": "a", "output": "x"}\n', "lacks 2 of the data set's ids ('b', 'c'); expected the data set's 3"),
        ("p.jsonl", "".join(f'{{"id": "{i}", "output": "x"}}\n' for i in "abcdefgh"), "has 5 ids that the data set does not have ('d', 'e', 'f' and 2 more)"),
        ("p.jsonl", '{"id": "a", "output": "x"}\n' * 2, "line 2 has the id 'a', already used in"),
        ("p.jsonl", '{"id": "a", "text": "x"}\n', "line 1 has no 'output'; found: id, text"),
        ("p.csv", "output\nx\n", "line 2 has no 'id'; found: output"),
        ("p.jsonl", '{"id": "a", "output": 3}\n', "'output' is int '3'; expected a string"),
    ],
)  # fmt: skip
def test_predictions_of_other_data_are_refused(tmp_path: Path, name: str, content: str, expected: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(HarnessError) as raised:
        predictions(tmp_path / name)
    assert expected in str(raised.value)


def test_the_key_of_predictions_is_their_content(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("x\n")
    first = Predictions(str(tmp_path / "p.txt")).key()
    (tmp_path / "q.txt").write_text("x\n")
    assert Predictions(str(tmp_path / "q.txt")).key() == first
    (tmp_path / "p.txt").write_text("y\n")
    assert Predictions(str(tmp_path / "p.txt")).key() != first


def test_sentences() -> None:
    text = 'Dr. A. Orme paid $3.50 at 5 p.m. on Monday. "Really?" she asked. (It rained.) Then: the end'
    assert sentences(text) == [
        "Dr. A. Orme paid $3.50 at 5 p.m. on Monday.",
        '"Really?" she asked.',
        "(It rained.)",
        "Then: the end",
    ]
    assert sentences("  ") == []


def test_lead_takes_the_first_sentences() -> None:
    batch = [example("1", "One. Two. Three."), example("2", ""), example("3", None)]
    assert [o.text for o in Lead(2).generate(batch)] == ["One. Two.", "", None]
    assert Lead(2).generate(batch)[2].error == "the example has no source"
    assert Lead(1).key() != Lead(2).key()


def test_lexrank_takes_a_sentence_and_not_always_the_first() -> None:
    examples = list(EmbeddedDataset().examples())
    texts = [output.text for output in LexRank(1).generate(examples)]
    assert all(text in sentences(e.source or "") for text, e in zip(texts, examples, strict=True))
    first = [output.text for output in Lead(1).generate(examples)]
    assert 30 < sum(a != b for a, b in zip(texts, first, strict=True)) < 120
    assert [o.text for o in LexRank(1).generate([example("2", ""), example("3", None)])] == ["", None]
    assert LexRank(1).key() != LexRank(1, threshold=0.1).key()


def test_the_last_bits_of_a_rank_choose_no_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of the processor's own way to multiply matrices."""
    from sumy.summarizers.lex_rank import LexRankSummarizer

    text = "The ferry runs at noon. The ferry runs at dusk. A lighthouse stands alone."
    expected = LexRank(1).generate([example("1", text)])[0].text
    ranks = LexRankSummarizer.power_method
    for bits in (np.array([0, 3e-13, 0]), np.array([3e-13, 0, 0])):
        monkeypatch.setattr(
            LexRankSummarizer, "power_method", staticmethod(lambda *given, bits=bits: ranks(*given) + bits)
        )
        assert LexRank(1).generate([example("1", text)])[0].text == expected


def test_a_plug_in_needs_a_name_and_generate_only(files: Path, cli: Callable[..., Called]) -> None:
    """Without `key` its identity is unknown: outputs are reused in the run folder, and nowhere else."""
    (files / "shout.py").write_text(
        "from harness.types import Output, System\n"
        "class Shout(System):\n"
        "    name = 'shout'\n"
        "    def generate(self, batch):\n"
        "        with open('calls.txt', 'a') as file:\n"
        "            file.write('x' * len(batch))\n"
        "        return [Output(example.source.upper()) for example in batch]\n"
    )
    (files / "conf" / "system").mkdir(parents=True)
    (files / "conf" / "system" / "shout.yaml").write_text("_target_: shout.Shout\n")
    arguments = ("run", "--config-dir=conf", "dataset=file", "dataset.path=dev.jsonl", "system=shout", "tracking=none")
    for metrics, generated in (("bleu", 4), ("bleu", 4), ("chrf", 8)):
        called = cli(*arguments, f"metrics={metrics}", "stats.resamples=50")
        assert called.code == 0, called.err
        assert len(Path("calls.txt").read_text()) == generated
    run = harness.load_run("dev-shout")
    assert run.examples["output"].tolist()[0] == "THE CAT SAT."
    assert run.manifest["system"]["key"] is None
