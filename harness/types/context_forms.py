"""The contexts of one example, in whatever form a file, a program or a function gives them.

>>> context_of({"page_content": "It rains.", "metadata": {"doc_uri": "a.md"}})
Context(text='It rains.', id='a.md', score=None)
>>> listed(["It rains.", {"id": 7, "score": 0.5}])
(Context(text='It rains.', id=None, score=None), Context(text=None, id='7', score=0.5))
>>> listed({"d1": 0.5})
(Context(text=None, id='d1', score=0.5),)
>>> graded({"d1": 2, "d2": 0})
(Context(text=None, id='d1', score=2.0), Context(text=None, id='d2', score=0.0))
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness.types.nouns import Context
from harness.types.real_numbers import is_finite
from harness.types.texts import text_fault

List = tuple[Context, ...]
"""Of one example."""
FORMS = 'a text, {"id", "text", "score"} or {"page_content", "metadata": {"doc_uri"}}'
GRADES = "a list of ids, or grades by id"


class ContextFault(ValueError):
    """What is wrong with the contexts of one example: what was found and what was expected."""

    def __init__(self, words: str, number: int | None = None) -> None:
        """`number`: of the context that it is about, from 1."""
        super().__init__(words)
        self.words, self.number = words, number

    def of(self, field: str) -> str:
        """In words, of the contexts in a field."""
        return f"'{field}'{'' if self.number is None else f', number {self.number},'} {self.words}"


def listed(value: Any) -> List:
    """The contexts of one example; ContextFault where that is no list of them. A text that holds a JSON list is one:
    a CSV file has no other way."""
    if isinstance(value, str):
        value = parsed(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping) and not is_context(value):
        return tuple(Context(None, _id(key), _score(score)) for key, score in value.items())
    if not isinstance(value, list | tuple):
        raise ContextFault(f"is {shown(value)}; expected a list of contexts")
    return tuple(_numbered(value, context_of))


def is_context(value: Any) -> bool:
    """Whether a mapping is a single context, and not scores by id.

    >>> is_context({"id": 7}), is_context({"d7": 0.5})
    (True, False)
    """
    return isinstance(value, Mapping) and ("id" in value or "text" in value or "page_content" in value)


def graded(value: Any) -> List:
    """The judged contexts of one example: ids, or grades by id; ContextFault where it is something else."""
    if isinstance(value, str):
        value = parsed(value)
    if isinstance(value, Mapping):
        return tuple(Context(None, _id(key), _grade(grade, key)) for key, grade in value.items() if grade is not None)
    if not isinstance(value, list | tuple):
        raise ContextFault(f"is {shown(value)}; expected {GRADES}")
    return tuple(_numbered(value, _judged))


def context_of(value: Any) -> Context:
    """A context in any of its forms; ContextFault where it is none."""
    if isinstance(value, Context):
        return value
    if isinstance(value, str):
        return Context(_storable(value))
    if hasattr(value, "page_content"):  # a Document of LangChain or MLflow
        value = {"page_content": value.page_content, "metadata": value.metadata, "id": getattr(value, "id", None)}
    if not isinstance(value, Mapping):
        raise ContextFault(f"is {shown(value)}; expected {FORMS}")
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    text, id_ = value.get("text", value.get("page_content")), value.get("id")
    id_ = metadata.get("doc_uri") if id_ is None else id_
    if text is None and id_ is None:
        raise ContextFault(f"has neither a text nor an id ({shown(dict(value))}); expected {FORMS}")
    if text is not None and not isinstance(text, str):
        raise ContextFault(f"has the text {shown(text)}; expected a string")
    return Context(_storable(text), None if id_ is None else _id(id_), _score(value.get("score")))


def shown(value: Any) -> str:
    """A value for a message."""
    return "null" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"


def _numbered(values: Sequence[Any], parse: Callable[[Any], Context]) -> Iterator[Context]:
    for number, value in enumerate(values, start=1):
        try:
            yield parse(value)
        except ContextFault as fault:
            raise ContextFault(fault.words, number) from None


def _judged(value: Any) -> Context:
    if isinstance(value, Context):
        return value
    if isinstance(value, Mapping) and value.keys() == {"id", "grade"}:  # as `Contexts.array` has it
        return Context(None, _id(value["id"]), _grade(value["grade"], value["id"]))
    return Context(None, _id(value), 1.0)


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ContextFault(f"has the id {shown(value)}; expected a text")
    return str(_storable(str(value)))


def _storable(text: str | None) -> str | None:
    if text is not None and (fault := text_fault(text)):
        raise ContextFault(f"holds {fault}; expected Unicode text")
    return text


def _score(value: Any) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not is_finite(value):
        raise ContextFault(f"has the score {shown(value)}; expected a finite number")
    return float(value)


def _grade(value: Any, id_: Any) -> float:
    if not is_finite(value):
        raise ContextFault(f"has the grade {shown(value)} for {str(id_)[:40]!r}; expected a finite number")
    return float(value)


def parsed(text: str) -> Any:
    """The value that a text holds as JSON; the text itself where it holds none."""
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
