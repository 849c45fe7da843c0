"""Plug-ins: a Python class or function and a YAML that names it with `_target_`.

Options are checked against the signature of what `_target_` names, so that a misspelt option is refused with the
nearest valid name whether it came from the command line or from the user's own YAML.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.masking import masked
from harness.types import HarnessError, nearest
from harness.types.real_numbers import is_number


def build(target: str, options: Mapping[str, Any], where: str = "", shared: Iterable[str] = ()) -> Any:
    """Calls what `_target_` names with the options, after checking them; the only place where plug-ins are made."""
    made = locate(target, where)
    return made(**checked(made, options, where or target, shared))


def locate(target: str, where: str = "") -> Any:
    place = f"{where}._target_" if where else "_target_"
    expected = "expected module.Class, found from the folder the command is called in or an installed package"
    if not isinstance(target, str):  # whatever YAML can hold
        raise HarnessError(f"{place} is {target!r}; {expected}")
    module, _, attribute = target.rpartition(".")
    try:
        named = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise HarnessError(f"{place}={target} cannot be imported ({error}); {expected}") from None
    if not callable(named):
        raise HarnessError(f"{place}={target} is a {type(named).__name__}; {expected}")
    return named


def checked(made: Any, options: Mapping[str, Any], where: str, shared: Iterable[str] = ()) -> dict[str, Any]:
    """The options, if they fit the signature; a whole number given for a text (`dataset.name=2024`) is its text.

    `shared`: options of the place beside this plug-in's own, named where one is misspelt.
    """
    parameters = inspect.signature(made).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(options)
    for option in options:
        if option not in parameters:
            valid = [*parameters, *shared]
            raise HarnessError(
                f"{where}.{option} is not an option{nearest(option, valid)}; {where} has: {', '.join(valid)}"
            )
    for option, parameter in parameters.items():
        if parameter.default is parameter.empty and options.get(option, "???") == "???":
            raise HarnessError(f"{where}.{option} is not set; expected {where}.{option}=…")
    return typed(made, options, where)


def typed(made: Any, options: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The options, if those that the signature has a type for are of it."""
    hints = typing.get_type_hints(made.__init__ if inspect.isclass(made) else made)
    fitting = dict(options)
    for option, value in options.items():
        if option in hints and not _fits(value, hints[option]):
            if type(value) is not int or not _fits(str(value), hints[option]):
                shown = masked({option: value})[option]
                asked = _readable(hints[option]) + _as_typed(f"{where}.{option}", shown, hints[option])
                raise HarnessError(f"{where}.{option} is {shown!r}; expected {asked}")
            fitting[option] = str(value)
    return fitting


def _fits(value: Any, hint: Any) -> bool:
    """Whether a config value is of an annotated type; what it does not know, it lets pass."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in typing.get_args(hint))
    if hint is type(None):
        return value is None
    if hint is float:
        return is_number(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (str, bool):
        return isinstance(value, hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        inner = typing.get_args(hint)[0]
        return isinstance(value, list | tuple) and all(_fits(item, inner) for item in value)
    return True


def _as_typed(option: str, value: Any, hint: Any) -> str:
    """How the words of a text are typed where a list was expected, and a list where one value was, which asks for a run
    for each; nothing where they would need quotes."""
    several = isinstance(value, list)
    words = [str(word) for word in (value if several else value.split() if isinstance(value, str) else [])]
    if not words or not all(re.fullmatch(r"[\w./@:-]+", word, re.ASCII) for word in words):
        return ""
    if several:
        fit = all(word is not None and _fits(word, hint) for word in value)
        return f", or for a run with each: --multirun {option}={','.join(words)}" if fit else ""
    return f", as '{option}=[{','.join(words)}]'" if _fits(words, hint) else ""


PLURALS = {int: "whole numbers", float: "numbers", str: "texts"}


def _readable(hint: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(_readable(part) for part in typing.get_args(hint))
    origin = typing.get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        inner = typing.get_args(hint)[0]
        kinds = [kind for kind in typing.get_args(inner) or [inner] if kind is not int or inner is int]
        plurals = [PLURALS[kind] for kind in kinds if kind in PLURALS]
        return f"a list of {' or '.join(plurals) if len(plurals) == len(kinds) else _readable(inner)}"
    return {int: "a whole number", float: "a number", str: "a text", bool: "true or false", type(None): "null"}.get(
        hint, str(hint)
    )


def source(part: object) -> str:
    """What identifies the code of a part: the name of its class and, for one of the user's own, the text of the module
    that it is in, and of those of its bases."""
    kind, inner = type(part), getattr(part, "inner", None)
    own = [base for base in kind.__mro__ if base.__module__.partition(".")[0] not in _KNOWN]
    whole = [f"{kind.__module__}.{kind.__qualname__}", *dict.fromkeys(map(_text, own))]
    return "\n".join(whole if inner is None else [*whole, source(inner)])


_KNOWN = frozenset({"harness", *sys.stdlib_module_names}) - {"__main__"}
"""Packages whose code has a version of its own."""


def _text(kind: type) -> str:
    module = inspect.getmodule(kind)
    whole = module is not None and module.__name__ != "__main__"  # all of a notebook would change with every cell
    try:
        return inspect.getsource(module if whole and module is not None else kind)
    except (OSError, TypeError):  # made in a shell
        return ""
