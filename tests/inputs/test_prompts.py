"""Prompts: few-shot examples drawn for each example, and what is wrong with a template is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.inputs.prompts import Prompt, with_text
from harness.types import Context, Example, HarnessError
from tests.conftest import example, write_jsonl


def test_few_shot_examples_are_drawn_for_each_example(tmp_path: Path) -> None:
    pool = [{"id": str(i), "source": f"w{i}", "references": [f"w{i + 20}"]} for i in range(10)]
    options = {
        "path": str(write_jsonl(tmp_path / "pool.jsonl", pool)),
        "count": 9,
        "template": "{{ source }} {{ references[0] }} ",
    }
    asked = [example(str(i), f"w{i}") for i in range(10)]
    prompts = [Prompt("{{ few_shot }}{{ source }}", options)(item) for item in asked]
    for i, prompt in enumerate(prompts):
        shown = prompt.split()
        assert sorted(shown[:-1:2]) == sorted(f"w{j}" for j in range(10) if j != i)  # never the example itself
        assert all(int(b[1:]) == int(a[1:]) + 20 for a, b in zip(shown[:-1:2], shown[1::2], strict=False))
    assert len({tuple(p.split()[:2]) for p in prompts}) > 3  # drawn anew for each
    assert Prompt("{{ few_shot }}{{ source }}", options)(asked[0]) == prompts[0]  # whatever was drawn before
    assert Prompt("{{ few_shot }}{{ source }}", {**options, "seed": 1})(asked[0]) != prompts[0]
    same_source = Prompt("{{ few_shot }}", {**options, "count": 9})(example("x", "w3"))
    assert "w3 w23" not in same_source


@pytest.mark.parametrize(
    ("prompt", "few_shot", "expected"),
    [
        ("{{ text }}", {}, "system.prompt: 'text' is undefined in example '1'; expected one of: id, source, note, topic"),
        ("{{ text", {}, "system.prompt is not a Jinja template"),
        ("{{ topic }}{{ note }}", {}, "system.prompt: a field is null in example '1'; expected a text, or {{ field or '' }}"),
        ("{{ few_shot", {"path": "pool.jsonl"}, "system.prompt is not a Jinja template"),
        ("{{ source }}", {"path": "pool.jsonl"}, "expected {{ few_shot }} where they go"),
        ("{{ few_shot }}", {"path": "pool.jsonl", "count": 9}, "pool.jsonl has 2 examples other than '1'; expected at least 9"),
        ("{{ few_shot }}", {"path": "pool.jsonl", "count": -1}, "system.few_shot.count=-1; expected a whole number"),
        ("{{ few_shot }}", {"path": "none.jsonl"}, "none.jsonl does not exist; expected a file of examples (system.few_shot.path)"),
        ("{{ few_shot }}", {"path": "pool.jsonl", "count": 1, "template": "{{ x }}"}, "system.few_shot.template: 'x' is undefined"),
        ("{{ few_shot }}", {"paht": "pool.jsonl"}, "system.few_shot.paht is not an option; system.few_shot has: path, count"),
    ],
)  # fmt: skip
def test_a_bad_prompt_is_refused(
    prompt: str, few_shot: dict[str, Any], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "pool.jsonl", [{"source": "a", "references": "b"}, {"source": "c", "references": "d"}])
    with pytest.raises(HarnessError) as raised:
        Prompt(prompt, few_shot)(example("1", "s", note=None, topic="pets"))
    assert expected in str(raised.value)


def test_contexts_of_the_data_are_shown_and_what_was_judged_is_not() -> None:
    """A prompt sees a retrieval that comes with the data; gold passages and judgements are no fields of it."""
    asked = Example("1", "q", ("a",), contexts=(Context("one"), Context("two", "d2", 0.5)), relevant={"d2": 1.0})
    prompt = Prompt(
        "{% for context in contexts %}{{ context if context is string else context.text }};{% endfor %}{{ source }}"
    )
    assert prompt(asked) == "one;two;q"
    for field in ("relevant", "reference_contexts", "references"):
        with pytest.raises(
            HarnessError, match=f"'{field}' is undefined in example '1'; expected one of: id, source, c"
        ):
            Prompt("{{ " + field + " }}")(asked)


def test_no_example_is_zero_shot(tmp_path: Path) -> None:
    few_shot = {"path": str(tmp_path / "not there.jsonl"), "count": 0}
    assert Prompt("{{ few_shot }}Now: {{ source }}", few_shot)(example("1", "a")) == "Now: a"


def test_a_prompt_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Sum up: {{ source }}\n")
    assert Prompt(f"@{tmp_path}/a.txt")(example("1", "a")) == "Sum up: a"
    with pytest.raises(HarnessError, match=r"cannot be read \(No such file or directory\)"):
        Prompt(f"@{tmp_path}/b.txt")


def test_a_config_holds_the_text_of_a_file(tmp_path: Path) -> None:
    def asked(text: str) -> str:
        (tmp_path / "a.txt").write_text(text)
        options = with_text({"prompt": f"@{tmp_path}/a.txt", "seed": 1})
        assert options["seed"] == 1 and str(tmp_path) not in options["prompt"]
        return Prompt(options["prompt"])(example("1", "a"))

    assert asked("Sum up:\n{{ source }}\n") == "Sum up:\na"
    assert asked("@all: {{ source }}") == "@all: a"
    assert asked("prompts:/ {{ source }}") == "prompts:/ a"
    for left in ({"prompt": f"@{tmp_path}/b.txt"}, {"prompt": "{{ source }}"}, {}):
        assert with_text(left) == left


@pytest.mark.parametrize("template", ["Say something.", "{{ 1 + 1 }}"])
def test_a_prompt_without_a_field_is_refused(template: str) -> None:
    with pytest.raises(HarnessError, match="system.prompt uses no field of the example"):
        Prompt(template)
