"""Jinja templates and expressions that users write: the one environment in which they are evaluated.

It is Jinja's sandbox: a template reads the fields that it is given and nothing else, runs no code and changes no data.
A field that is not there is an error, not an empty text, and so is a null, which Jinja would write as `None`. What it
may take is bounded (sandbox.py). Whatever goes wrong is a `TemplateFault`; who asked knows the place and says the rest.

>>> Template("{{ title }}: {{ body | upper }}")({"title": "Weather", "body": "it rains"})
'Weather: IT RAINS'
>>> Expression("len(source) < 10 and domain == 'news'")({"source": "it rains", "domain": "news"})
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any


class TemplateFault(Exception):
    """A template that cannot be compiled or filled in; its text says why."""


class MissingField(TemplateFault):
    """It uses a field that is not there."""


class NullField(TemplateFault):
    """It writes a field that is null."""


class UnsafeTemplate(TemplateFault):
    """It reaches for what a template has no business with."""


class EndlessTemplate(TemplateFault):
    """It makes or takes more than a template may."""


class Template:
    """A text with places to fill in."""

    def __init__(self, source: str) -> None:
        with _compiling():
            self._render: Callable[[Mapping[str, Any]], str] = _environment().from_string(source).render
            self._bounded = _bounded()

    def __call__(self, fields: Mapping[str, Any]) -> str:
        """The text with these fields filled in."""
        try:
            with self._bounded():
                return self._render(fields)
        except Exception as error:
            raise _fault(error) from error


class Expression:
    """One value computed from fields; the only function that it can call is `len`."""

    def __init__(self, source: str) -> None:
        with _compiling():
            self._value = _environment(expression=True).compile_expression(source, undefined_to_none=False)
            self._bounded = _bounded()

    def __call__(self, fields: Mapping[str, Any]) -> Any:
        """Its value over these fields."""
        from jinja2 import Undefined

        try:
            with self._bounded():
                value = self._value(fields)
        except Exception as error:
            raise _fault(error) from error
        if isinstance(value, Undefined):
            raise MissingField("not a field")
        return value


def mentioned(source: str) -> set[str]:
    """The fields that a template uses."""
    from jinja2 import meta

    with _compiling():
        return meta.find_undeclared_variables(_environment().parse(source))


@cache
def _environment(expression: bool = False) -> Any:
    from jinja2 import StrictUndefined

    from harness.inputs.sandbox import BoundedEnvironment, written

    def shown(value: Any) -> Any:
        if value is None:
            raise NullField("a field is null")
        written(value)
        return value

    environment = BoundedEnvironment(undefined=StrictUndefined, finalize=shown, keep_trailing_newline=True)
    if expression:  # a field that is not there must not be taken for a function of Jinja's
        environment.globals = {"len": len}
    return environment


def _bounded() -> type[AbstractContextManager[None]]:
    from harness.inputs.sandbox import bounded

    return bounded


@contextmanager
def _compiling() -> Iterator[None]:
    try:
        with _bounded()():
            yield
    except TemplateFault:
        raise
    except RecursionError:
        raise TemplateFault("its parts are nested too deeply") from None
    except Exception as error:  # Python's own compiler has limits too, on loops within loops for instance
        raise TemplateFault(str(error)) from None


def _fault(error: Exception) -> TemplateFault:
    """What an error within a template is called here; its own arithmetic may raise anything."""
    from jinja2 import UndefinedError
    from jinja2.exceptions import SecurityError

    from harness.inputs.sandbox import OutOfBounds

    if isinstance(error, TemplateFault):
        return error
    if isinstance(error, OutOfBounds):
        return EndlessTemplate(str(error))
    if isinstance(error, RecursionError):
        return EndlessTemplate("it calls itself without an end")
    if isinstance(error, UndefinedError):
        return MissingField(str(error))
    if isinstance(error, SecurityError):
        return UnsafeTemplate(str(error).rstrip("."))
    return TemplateFault(str(error))
