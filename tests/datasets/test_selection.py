"""Filter, sample and shard: the same for every data set, in this order, before the limit."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.datasets.selection import Selection
from harness.types import Example, Examples, HarnessError
from tests.conftest import Called, write_jsonl

EXAMPLES = [
    Example(str(i), "x" * i, ("r",), {"domain": "news" if i % 3 else "chat", "n": i, "my field": i}) for i in range(60)
]


def ids(selection: Selection, examples: list[Example] = EXAMPLES) -> list[str]:
    return [example.id for example in selection(examples)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("domain == 'news' and len(source) < 5", ["1", "2", "4"]),
        ("n in [3, 5] or id == '7'", ["3", "5", "7"]),
        ("metadata['my field'] > 57", ["58", "59"]),
        ("source.startswith('x') and n < 3", ["1", "2"]),
        ("speaker is defined", []),
        ("references | length == 2", []),
    ],
)
def test_filter(expression: str, expected: list[str]) -> None:
    assert ids(Selection(expression)) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"filter": "domain = 'news'"}, "dataset.filter=domain = 'news' is not an expression ("),
        ({"filter": "domian == 'news'"}, "fails on the example '0' ('domian' is undefined); it has: domain, n, my field, id, source, references"),
        ({"filter": "speaker"}, "fails on the example '0' (not a field)"),
        ({"filter": "domain"}, "gives 'chat' for the example '0'; expected true or false"),
        ({"filter": "n + source == 1"}, "fails on the example '0' (unsupported operand"),
        ({"filter": "''.__class__.__mro__ == 1"}, "fails on the example '0' ("),
        ({"sample": 0}, "dataset.sample=0; expected at least 1"),
        ({"shard": "4/4"}, "dataset.shard=4/4; expected i/n with i from 0 to n - 1"),
        ({"shard": "1"}, "dataset.shard=1; expected i/n"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(options: dict[str, object], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        ids(Selection(**options))  # type: ignore[arg-type]
    assert expected in str(raised.value)


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 3), st.randoms())
def test_a_sample_is_part_of_a_larger_one_and_independent_of_the_order(
    small: int, large: int, seed: int, rng: random.Random
) -> None:
    small, large = sorted((small, large))
    chosen = ids(Selection(sample=small, sample_seed=seed))
    assert len(chosen) == min(small, 60)
    assert chosen == sorted(chosen, key=int)  # the data's order
    assert set(chosen) <= set(ids(Selection(sample=large, sample_seed=seed)))
    shuffled = rng.sample(EXAMPLES, len(EXAMPLES))
    assert set(ids(Selection(sample=small, sample_seed=seed), shuffled)) == set(chosen)


def test_samples_are_uniform_over_seeds() -> None:
    """Each of 60 examples is in a sample of 20 with probability 1/3; 5 standard deviations of 600 draws."""
    draws = 600
    counts = dict.fromkeys((e.id for e in EXAMPLES), 0)
    for seed in range(draws):
        for id_ in ids(Selection(sample=20, sample_seed=seed)):
            counts[id_] += 1
    assert all(abs(count - draws / 3) < 5 * (draws * 2 / 9) ** 0.5 for count in counts.values())


@given(st.integers(1, 70))
def test_shards_are_disjoint_and_cover(n: int) -> None:
    shards = [ids(Selection(shard=f"{i}/{n}")) for i in range(n)]
    assert sorted((id_ for shard in shards for id_ in shard), key=int) == [e.id for e in EXAMPLES]
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_the_order_is_filter_sample_shard() -> None:
    news = ids(Selection("domain == 'news'", sample=10, sample_seed=3))
    assert len(news) == 10
    assert all(int(id_) % 3 for id_ in news)
    assert ids(Selection("domain == 'news'", 10, 3, "1/4")) == news[1::4]


@given(
    st.sampled_from([{}, {"filter": "domain == 'news'"}, {"sample": 7}, {"sample": 500}, {"shard": "2/7"}, {"shard": "0/1"},
                     {"filter": "domain == 'news'", "sample": 9, "shard": "1/2"}, {"filter": "id == 'none'"}]),
    st.lists(st.integers(0, 40), max_size=30),
)  # fmt: skip
def test_columns_are_selected_like_rows(options: dict[str, Any], sizes: list[int]) -> None:
    """Whatever the sizes of the parts, and however few candidates are held."""
    bounds = [0, *itertools.accumulate(sizes), len(EXAMPLES)]
    parts = [Examples.of(EXAMPLES[a:b]) for a, b in itertools.pairwise(bounds)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.datasets.selection.BLOCK", 3)
        chosen = itertools.chain.from_iterable(Selection(**options).blocks(parts))
    assert list(chosen) == list(Selection(**options)(EXAMPLES))


def test_columns_before_an_example_that_cannot_be_judged() -> None:
    parts = Selection("1 / n > 0").blocks([Examples.of([Example(str(n), None, (), {"n": n}) for n in (2, 1, 0)])])
    assert [example.id for example in next(parts)] == ["2", "1"]
    with pytest.raises(HarnessError, match="fails on the example '0'"):
        next(parts)


def test_nothing_but_the_sample_is_held() -> None:
    alive: list[int] = []

    class Counted(Example):
        def __del__(self) -> None:
            alive[0] -= 1

    def stream() -> object:
        for i in range(5000):
            alive[0] += 1
            most[0] = max(most[0], alive[0])
            yield Counted(str(i), None, ())

    for options in ({"sample": 10}, {"shard": "0/1000"}, {"filter": "id == '7'"}):
        alive, most = [0], [0]
        assert len(list(Selection(**options)(stream()))) <= 10  # type: ignore[arg-type]
        assert most[0] <= 20, options


RUN = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "metrics=bleu", "tracking=none",
       "stats.resamples=10", "progress=false")  # fmt: skip


@pytest.fixture
def many(tmp_path: Path) -> Path:
    data = [{"id": e.id, "source": e.source, "references": [f"r {e.id}"], **e.metadata} for e in EXAMPLES]
    write_jsonl(tmp_path / "dev.jsonl", data)
    write_jsonl(tmp_path / "out.jsonl", [{"id": row["id"], "output": f"r {row['id']}"} for row in reversed(data)])
    (tmp_path / "out.txt").write_text("".join(f"r {row['id']}\n" for row in data))
    return tmp_path


@pytest.mark.parametrize("outputs", ["out.jsonl", "out.txt"])
def test_predictions_of_the_whole_data_set_fit_a_selection(
    many: Path, cli: Callable[..., Called], outputs: str
) -> None:
    import pandas as pd

    chosen = ("dataset.filter='domain == \"news\"'", "dataset.sample=20", "dataset.shard=0/2", "limit=7")
    called = cli(*RUN, f"system.path={outputs}", *chosen, "output_dir=run")
    assert called.code == 0, called.err
    table = pd.read_parquet(many / "run" / "examples.parquet")
    assert table["id"].tolist() == ids(Selection("domain == 'news'", 20, 0, "0/2"))[:7]
    assert table["output"].tolist() == [f"r {id_}" for id_ in table["id"]]
    (many / "out.jsonl").write_text((many / "out.jsonl").read_text() + '{"id": "zz", "output": "x"}\n')
    (many / "out.txt").write_text((many / "out.txt").read_text() + "x\n")
    refused = cli(*RUN, f"system.path={outputs}", *chosen)  # another data set's outputs are still refused
    assert refused.code == 1
    assert "zz" in refused.err or "has 61 lines; expected 60" in refused.err


def test_statistics_of_shards_are_those_of_the_whole(many: Path, cli: Callable[..., Called]) -> None:
    import numpy as np

    import harness

    assert cli(*RUN, "system.path=out.jsonl", "output_dir=whole").code == 0
    for i in range(3):
        assert cli(*RUN, "system.path=out.jsonl", f"dataset.shard={i}/3", f"output_dir=shard{i}").code == 0
    whole = harness.load_run(many / "whole").statistics["bleu"].rows
    parts = [harness.load_run(many / f"shard{i}").statistics["bleu"].rows for i in range(3)]
    assert np.array_equal(np.concatenate(parts).sum(0), whole.sum(0))
    assert all(np.array_equal(parts[i], whole[i::3]) for i in range(3))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("dataset.sampel=3",), "dataset.sampel is not in the config (did you mean 'dataset.sample'?)"),
        (("+dataset.sharp=0/2",), "dataset.sharp is not an option (did you mean 'shard'?); dataset has: path, columns, cluster, quoting, name, drop, filter, sample, sample_seed, shard"),
        (("dataset.sample=many",), "dataset.sample is 'many'; expected a whole number or null"),
        (("dataset.filter='n > 99'",), "the data set dev has no example that dataset.filter, dataset.sample and dataset.shard leave"),
    ],
)  # fmt: skip
def test_options_are_checked(many: Path, cli: Callable[..., Called], arguments: tuple[str, ...], expected: str) -> None:
    called = cli(*RUN, "system.path=out.jsonl", *arguments)
    assert called.code == 1
    assert expected in called.err


def test_every_kind_has_them_and_a_users_own_yaml_can_set_them(many: Path, cli: Callable[..., Called]) -> None:
    (many / "conf" / "dataset").mkdir(parents=True)
    (many / "conf" / "dataset" / "news.yaml").write_text(
        "_target_: harness.datasets.file.FileDataset\npath: dev.jsonl\nfilter: domain == 'news'\nsample: 5\n"
    )
    mine = cli("run", "--config-dir", "conf", "dataset=news", *RUN[3:], "system.path=out.jsonl", "output_dir=mine")
    assert mine.code == 0, mine.err
    assert json.loads((many / "mine" / "scores.json").read_text())["examples"] == 5
    text = cli("run", "dataset=text", "dataset.references=out.txt", *RUN[3:], "system.path=out.txt",
               "dataset.shard=1/20", "output_dir=text")  # fmt: skip
    assert text.code == 0, text.err
    assert json.loads((many / "text" / "scores.json").read_text())["examples"] == 3
