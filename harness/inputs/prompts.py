"""A prompt: a Jinja template over the example's fields, with a few worked examples drawn for each.

The fields are `id`, `source`, `contexts` where they come with the data, and every field of the metadata, by name; the
references are not among them. `@FILE` is the template in a file; one from MLflow's registry names its version in a
comment. With
`few_shot.path`, a file of examples, `{{ few_shot }}` is the text of `count` of them (0: of none), each written by
`few_shot.template` over its own fields (`references` too). They are drawn for each example anew, from the seed and the
example's id: the same whatever else is in the data, and no score hangs on one lucky draw. An example is never shown
itself, nor another with its source.

>>> Prompt("Translate: {{ source }}")(Example("1", "der Hund", ()))
'Translate: der Hund'
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from harness.inputs import files
from harness.inputs.templates import (
    EndlessTemplate,
    MissingField,
    NullField,
    Template,
    TemplateFault,
    UnsafeTemplate,
    mentioned,
)
from harness.types import Example, HarnessError
from harness.types.shown import counted

ORIGIN = re.compile(r"\{# (prompts:/\S+) #\}")
"""What stands before the template of a prompt that a registry has (harness/tracking/registry_prompts.py)."""
FEW_SHOT: dict[str, Any] = {"path": None, "count": 3, "seed": 0, "template": "{{ source }}\n{{ references[0] }}\n\n"}


class Prompt:
    def __init__(self, template: str, few_shot: Mapping[str, Any] | None = None) -> None:
        self.template = _content(template)
        unknown = [name for name in few_shot or {} if name not in FEW_SHOT]
        if unknown:
            raise HarnessError(
                f"system.few_shot.{unknown[0]} is not an option; system.few_shot has: {', '.join(FEW_SHOT)}"
            )
        self.few_shot = {**FEW_SHOT, **(few_shot or {})}
        count = self.few_shot["count"]
        if not isinstance(count, int) or count < 0:
            raise HarnessError(f"system.few_shot.count={count}; expected a whole number, 0 for none")
        if self._constant:
            raise HarnessError(
                "system.prompt uses no field of the example, so that all outputs would be the same; expected "
                "{{ source }}, say"
            )

    def __call__(self, example: Example) -> str:
        """What the system is asked about the example."""
        template = self._compiled
        fields = example.fields()
        if not self.few_shot["count"]:
            fields["few_shot"] = ""
        elif self._shown is not None:
            fields["few_shot"] = self._draw(example)
        return self._render(template, "prompt", fields, f"in example {example.id!r}")

    def _draw(self, example: Example) -> str:
        pool, count = self._shown or [], self.few_shot["count"]
        order = generator(self.few_shot["seed"], example.id).permutation(len(pool))
        drawn = list(itertools.islice((pool[i] for i in order if _differs(pool[i], example)), count))
        if len(drawn) < count:
            raise HarnessError(
                f"{self.few_shot['path']} has {counted(len(drawn), 'example')} other than {example.id!r}; "
                f"expected at least {count} (system.few_shot.count)"
            )
        where = f"in {self.few_shot['path']}"
        return "".join(self._render(self._shot, "few_shot.template", row, where) for row in drawn)

    @cached_property
    def _shown(self) -> list[dict[str, Any]] | None:
        """The examples to draw from; None where none are wanted."""
        if self.few_shot["path"] is None:
            return None
        if "few_shot" not in mentioned(self.template):
            raise HarnessError(
                "system.prompt does not show the examples of system.few_shot.path; "
                "expected {{ few_shot }} where they go"
            )
        rows = files.read_rows(self.few_shot["path"], "a file of examples (system.few_shot.path)")
        return [{**row, "references": _listed(row.get("references"))} for _, row in rows]

    @property
    def _constant(self) -> bool:
        """Whether the template asks the same whatever the example is."""
        try:
            return not mentioned(self.template) - (set() if self.few_shot["count"] else {"few_shot"})
        except TemplateFault:  # said when it is used
            return False

    @cached_property
    def _compiled(self) -> Template:
        return self._template(self.template, "prompt")

    @cached_property
    def _shot(self) -> Template:
        return self._template(self.few_shot["template"], "few_shot.template")

    def _template(self, text: str, option: str) -> Template:
        try:
            return Template(text)
        except TemplateFault as error:
            raise HarnessError(f"system.{option} is not a Jinja template: {error}") from None

    def _render(self, template: Template, option: str, fields: Mapping[str, Any], where: str) -> str:
        try:
            return template(fields)
        except TemplateFault as error:
            expected = "what can be computed for every example"
            if isinstance(error, NullField):
                expected = "a text, or {{ field or '' }}"
            elif isinstance(error, EndlessTemplate):
                expected = "a template that ends, and a text of a size that a model can read"
            elif isinstance(error, MissingField):
                names = sorted(fields, key=lambda name: (name not in ("id", "source"), name))
                expected = f"one of: {', '.join(names)}"
            elif isinstance(error, UnsafeTemplate):
                expected = "fields only, with Jinja's filters and tests"
            origin = f" ({named})" if option == "prompt" and (named := origin_of(self.template)) else ""
            raise HarnessError(f"system.{option}{origin}: {error} {where}; expected {expected}") from None


def _content(template: str) -> str:
    """`@FILE` stands for the text of the file, without the end of its last line."""
    if not template.startswith("@"):
        return template
    path = Path(template[1:]).expanduser()
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise HarnessError(
            f"system.prompt={template}: {path} cannot be read ({reason}); expected a file with a template"
        ) from None


def with_text(system: Mapping[str, Any]) -> dict[str, Any]:
    """A system's options with the text of the file that its prompt names, so that a config, and the key of it, hold
    what is asked and not where it stood: an edited prompt is another one. What cannot be read stays as it is: the
    system says so.

    >>> with_text({"model": "some/model", "prompt": "Sum up: {{ source }}"})
    {'model': 'some/model', 'prompt': 'Sum up: {{ source }}'}
    """
    prompt = system.get("prompt")
    if not isinstance(prompt, str) or not prompt.startswith("@"):
        return dict(system)
    with suppress(HarnessError):
        text = _content(prompt)
        named = text.startswith(("@", "prompts:/"))  # else a text would be taken for the name of one
        return {**system, "prompt": f"{{{{ '{text[0]}' }}}}{text[1:]}" if named else text}
    return dict(system)


def origin_of(template: str) -> str | None:
    """The prompt of a registry that a template is.

    >>> origin_of("{# prompts:/summarise/3 #}Sum up: {{ source }}")
    'prompts:/summarise/3'
    """
    match = ORIGIN.match(template)
    return match[1] if match else None


def generator(*parts: Any) -> np.random.Generator:
    """Randomness that belongs to these values and to nothing else."""
    return np.random.default_rng(int(files.digest(parts), 16))


def _differs(row: Mapping[str, Any], example: Example) -> bool:
    return str(row.get("id", "")) != example.id and (example.source is None or row.get("source") != example.source)


def _listed(references: Any) -> list[Any]:
    return references if isinstance(references, list) else [] if references is None else [references]
