"""The one environment of users' templates: what it gives, and what it refuses, in prompts, columns and filters alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.datasets.selection import Selection
from harness.inputs.prompts import Prompt
from harness.inputs.rows import examples_of
from harness.inputs.templates import (
    Expression,
    MissingField,
    NullField,
    Template,
    TemplateFault,
    UnsafeTemplate,
    mentioned,
)
from harness.types import Example, HarnessError

FIELDS: dict[str, Any] = {"title": "Rain", "note": None, "list": [1, 2], "nested": {"x": "y"}, "self": "me"}
TOUCH = "{{ cycler.__init__.__globals__.os.popen('touch ran').read() }}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ title }}\n", "Rain\n"),
        ("{{ title | upper }}: {{ nested.x }}", "RAIN: y"),
        ("{{ note or '' }}.", "."),
        ("{% for i in range(3) %}{{ i }}{% endfor %}", "012"),
        ("{{ list | join(' ') }}", "1 2"),
        ("<b> & {{ '<i>' }}", "<b> & <i>"),
    ],
)
def test_a_template_is_filled_in(source: str, expected: str) -> None:
    assert Template(source)(FIELDS) == expected


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("{{ titel }}", MissingField, "'titel' is undefined"),
        ("{{ nested.y }}", MissingField, "'dict object' has no attribute 'y'"),
        ("{{ note }}", NullField, "a field is null"),
        ("{{ title + 1 }}", TemplateFault, "can only concatenate str"),
        ("{{ 1 / 0 }}", TemplateFault, "division by zero"),
        ("{{ title", TemplateFault, "unexpected end of template"),
        ("{{ title | shout }}", TemplateFault, "No filter named 'shout'"),
        ("{% include '/etc/hostname' %}", TemplateFault, "no loader"),
        ("{{ ''.__class__.__mro__ }}", UnsafeTemplate, "access to attribute '__class__' of 'str' object is unsafe"),
        (
            "{{ '{0.__class__}'.format(1) }}",
            UnsafeTemplate,
            "access to attribute '__class__' of 'int' object is unsafe",
        ),
        (
            "{{ cycler.__init__ }}",
            UnsafeTemplate,
            "access to attribute '__init__' of 'type' object is unsafe",
        ),
        ("{{ list.append(3) }}", UnsafeTemplate, "access to attribute 'append' of 'list' object is unsafe"),
        ("{{ nested.update(x='z') }}", UnsafeTemplate, "access to attribute 'update' of 'dict' object is unsafe"),
    ],
)
def test_what_a_template_cannot_do(source: str, kind: type[TemplateFault], message: str) -> None:
    with pytest.raises(kind, match=message):
        Template(source)(FIELDS)
    assert FIELDS["list"] == [1, 2] and FIELDS["nested"] == {"x": "y"}


def test_an_expression_has_fields_and_len_only() -> None:
    assert Expression("len(list) == 2 and nested.x == 'y'")(FIELDS) is True
    for source in ("range", "titel"):
        with pytest.raises(MissingField, match="not a field"):
            Expression(source)(FIELDS)
    with pytest.raises(TemplateFault, match="unexpected"):
        Expression("title ==")


def test_the_fields_that_a_template_uses() -> None:
    assert mentioned("{{ a.b }}{% for c in d %}{{ c }}{{ range(2) }}{% endfor %}") == {"a", "d"}


@pytest.mark.parametrize("source", ["{{ ''.__class__.__mro__ }}", TOUCH])
def test_a_prompt_runs_no_code(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HarnessError) as raised:
        Prompt("{{ source }}" + source)(Example("1", "it rains", ()))
    assert not (tmp_path / "ran").exists()
    attribute = "'__init__' of 'type'" if source == TOUCH else "'__class__' of 'str'"
    assert str(raised.value) == (
        f"system.prompt: access to attribute {attribute} object is unsafe in example '1'; "
        "expected fields only, with Jinja's filters and tests"
    )


def test_worked_examples_a_column_and_a_filter_run_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pool.jsonl").write_text('{"id": "p", "source": "s"}\n')
    asked = Example("1", "it rains", (), {"n": 1})
    with pytest.raises(HarnessError, match="system.few_shot.template: access to attribute '__init__' of 'type'"):
        Prompt("{{ few_shot }}", {"path": "pool.jsonl", "count": 1, "template": TOUCH})(asked)
    with pytest.raises(HarnessError, match="row 1: dataset.columns.source=.* cannot be filled in .*unsafe"):
        list(examples_of(lambda: [("row 1", {"id": 1})], {"source": TOUCH}, None))
    with pytest.raises(HarnessError, match="dataset.filter=.* fails on the example '1' .*unsafe"):
        list(Selection("metadata.update(n=2) or true")([asked]))
    assert not (tmp_path / "ran").exists() and asked.metadata == {"n": 1}


def test_a_prompt_whose_arithmetic_fails_names_the_example() -> None:
    with pytest.raises(
        HarnessError, match=r"system.prompt: division by zero in example '7'; expected what can be computed"
    ):
        Prompt("{{ source }}{{ 1 / 0 }}")(Example("7", "it rains", ()))
    assert Prompt("{{ source }}{{ topic }}")(Example("7", "s", (), {"topic": "t", "self": 1})) == "st"
