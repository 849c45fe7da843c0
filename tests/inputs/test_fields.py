"""Fields by column, inside a column and by template; ids checked in a few bytes each; metadata that systems may see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.datasets.file import FileDataset
from harness.inputs import rows
from harness.types import Example, HarnessError
from tests.conftest import Called, write_jsonl

ROW = {
    "key": 7,
    "translation": {"de": "Hallo", "en": "Hello"},
    "title": "Gruß",
    "answers": {"text": ["Hello", "Hi"], "start": [0, 3]},
    "contexts": ["one", "two"],
    "doc": {"id": "d1", "part": {"n": 3}},
}


def read(path: Path, *data: dict[str, Any], **options: Any) -> list[Example]:
    return list(FileDataset(str(write_jsonl(path / "a.jsonl", list(data))), **options).examples())


def test_fields_inside_columns(tmp_path: Path) -> None:
    columns = {"id": "doc.part.n", "source": "translation.de", "references": ["translation.en", "answers.text"]}
    (example,) = read(tmp_path, ROW, columns=columns, cluster="doc.id")
    assert (example.id, example.source, example.references) == ("3", "Hallo", ("Hello", "Hello", "Hi"))
    # what was named is not shown to the system once more as metadata; what is beside it is kept
    assert example.metadata == {
        "key": 7,
        "title": "Gruß",
        "answers": {"start": [0, 3]},
        "doc": {"id": "d1"},
        "doc.id": "d1",
    }
    assert example.fields()["contexts"] == ["one", "two"]


def test_a_column_of_that_very_name_comes_first(tmp_path: Path) -> None:
    row = {"translation.de": "flat", "translation": {"de": "nested"}}
    (example,) = read(tmp_path, row, columns={"source": "translation.de"})
    assert (example.source, example.metadata) == ("flat", {"translation": {"de": "nested"}})


def test_templates(tmp_path: Path) -> None:
    columns = {
        "id": "{{ key }}-{{ doc.id }}",
        "source": "{{ title }}: {{ translation.de | upper }}",
        "references": ["{{ answers.text[0] }}!", "title"],
    }
    (example,) = read(tmp_path, ROW, columns=columns)
    assert (example.id, example.source, example.references) == ("7-d1", "Gruß: HALLO", ("Hello!", "Gruß"))
    assert set(example.metadata) == {"key", "translation", "doc"}  # no answers: references are made of them


def test_a_column_that_makes_the_references_is_not_shown_though_the_source_is_made_of_it_too(tmp_path: Path) -> None:
    columns = {"source": "{{ translation.de }}", "references": "{{ translation.en }}"}
    (example,) = read(tmp_path, ROW, columns=columns)
    assert (example.source, example.references) == ("Hallo", ("Hello",))
    assert "translation" not in example.metadata


@pytest.mark.parametrize(
    ("columns", "row", "expected"),
    [
        ({"source": "{{ titel }}"}, {"title": "x"}, "a.jsonl line 1: dataset.columns.source={{ titel }}: 'titel' is undefined; found: title"),
        ({"source": "{{ t.x }}"}, {"t": {"y": 1}}, "has no attribute 'x'; found: t"),
        ({"source": "{{ t }}"}, {"t": None}, "cannot be filled in (a part of it is null; where that can happen, write {{ field or '' }})"),
        ({"source": "{{ t + 1 }}"}, {"t": "a"}, "cannot be filled in (can only concatenate"),
        ({"source": "{{ t.__class__.__mro__ }}"}, {"t": "a"}, "unsafe"),
        ({"id": "{{ t }}"}, {"t": ""}, "'{{ t }}' is ''; expected a non-empty string"),
        ({"source": "translation.fr"}, ROW, "a.jsonl line 1 has no 'translation.fr'; found: key, translation, title, answers, contexts, doc ('translation' has: de, en)"),
        ({"source": "title.de"}, ROW, "a.jsonl line 1 has no 'title.de'; found: key"),
        ({"references": ["title", "nothing"]}, ROW, "has no 'nothing'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, columns: dict[str, Any], row: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        read(tmp_path, row, columns=columns)
    assert expected in str(raised.value)


def test_a_broken_template_is_refused_before_anything_is_read() -> None:
    with pytest.raises(HarnessError, match=r"dataset.columns.source={{ title is not a template \(unexpected"):
        FileDataset("nowhere.jsonl", columns={"source": "{{ title"})
    with pytest.raises(HarnessError, match=r"dataset.columns.id names 2 columns; expected one"):
        FileDataset("nowhere.jsonl", columns={"id": ["a", "b"]})


def test_null_in_a_template_can_be_allowed(tmp_path: Path) -> None:
    (example,) = read(tmp_path, {"t": None, "u": "x"}, columns={"source": "{{ t or '' }}{{ u }}"})
    assert example.source == "x"


# ---------------------------------------------------------------- ids


@given(st.lists(st.text(), max_size=200))
def test_ids_are_a_set(values: list[str]) -> None:
    ids, plain = rows.Ids(), set[str]()
    for value in values:
        assert ids.add(value) == (value not in plain)
        plain.add(value)


def test_ids_grow_and_stay_small() -> None:
    ids = rows.Ids()
    for i in range(100_000):
        assert ids.add(f"example number {i}")
    assert not any(ids.add(f"example number {i}") for i in range(100_000))
    assert ids._table.nbytes <= 100_000 * 24
    assert ids._count == 100_000


def test_equal_hashes_of_different_ids_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "hash", lambda value: len(value), raising=False)
    data = [{"id": name} for name in ("aa", "bb", "c", "dd")]
    assert [example.id for example in read(tmp_path, *data)] == ["aa", "bb", "c", "dd"]
    with pytest.raises(
        HarnessError, match=r"line 5 has the id 'bb', already used in .*a.jsonl line 2; expected unique"
    ):
        read(tmp_path, *data, {"id": "bb"})


def test_a_repeated_id_is_found_also_among_the_first_rows_only(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": "a"}, {"id": "a"}, {"id": "b"}])
    examples = FileDataset(str(path)).examples()
    assert next(examples).id == "a"
    with pytest.raises(HarnessError, match="line 2 has the id 'a'"):
        next(examples)


# ---------------------------------------------------------------- metadata


def test_lists_and_mappings_reach_the_system_and_the_folder(tmp_path: Path, cli: Callable[..., Called]) -> None:
    """Contexts that come with a question are what the system is shown, and what examples.parquet keeps."""
    import pandas as pd

    data = [{"id": "1", "source": "q", "references": ["a"], "contexts": ["c1", "c2"], "facts": {"n": [1, 2]}},
            {"id": "2", "source": "q", "references": ["b"], "contexts": [], "facts": {"n": []}}]  # fmt: skip
    write_jsonl(tmp_path / "dev.jsonl", data)
    (tmp_path / "shown.py").write_text(
        "import json\nfrom harness.types import Output, System\n"
        "class Shown(System):\n"
        "    name = 'shown'\n"
        "    def generate(self, batch): return [Output(json.dumps(e.fields(), sort_keys=True)) for e in batch]\n"
    )
    (tmp_path / "conf" / "system").mkdir(parents=True)
    (tmp_path / "conf" / "system" / "shown.yaml").write_text("_target_: shown.Shown\n")
    called = cli("run", "--config-dir", "conf", "dataset=file", "dataset.path=dev.jsonl", "system=shown",
                 "metrics=bleu", "tracking=none", "stats.resamples=10", "output_dir=out")  # fmt: skip
    assert called.code == 0, called.err
    table = pd.read_parquet(tmp_path / "out" / "examples.parquet")
    assert table["output"].tolist() == [
        '{"contexts": ["c1", "c2"], "facts": {"n": [1, 2]}, "id": "1", "source": "q"}',
        '{"contexts": [], "facts": {"n": []}, "id": "2", "source": "q"}',
    ]
    assert [list(value) for value in table["contexts"]] == [["c1", "c2"], []]
    assert table["facts"].tolist() == ['{"n": [1, 2]}', '{"n": []}']
