"""Secrets in what has fields: one walk through a config or a manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.masking import patterns
from harness.masking.met import meet, without, without_met
from harness.masking.names import bare, names_data, secret_name
from harness.masking.patterns import MASK

_FLAG = re.compile(r"--?([A-Za-z][\w.-]*)")
_ARGUMENT = re.compile(r"((-{0,2})([A-Za-z][\w.-]*)(?:=|: *))(.+)", re.DOTALL)
Place = tuple[str, ...]
"""The names that lead to a value of a config, from the top."""


@dataclass(frozen=True)
class Origins:
    """Where values of a config come from that interpolations made; whoever resolved it knows."""

    secrets: frozenset[Place] = frozenset()
    """Values made of a secret, or of a variable named like one."""
    environment: frozenset[Place] = frozenset()
    """Values made of any variable of the environment."""
    variables: frozenset[str] = frozenset()
    """What those variables hold."""

    def below(self, *place: str) -> Origins:
        """Those of a part of the config."""
        n = len(place)
        cut = {
            name: frozenset(at[n:] for at in getattr(self, name) if at[:n] == place)
            for name in ("secrets", "environment")
        }
        return replace(self, **cut)


NOWHERE = Origins()


def masked(resolved: Any, origins: Origins = NOWHERE) -> Any:
    """A copy of the config without secrets."""
    for held in origins.variables:
        meet(held)
    return without_met(_Walk(origins.secrets | origins.environment).masked(resolved))


def keyed(resolved: Any, origins: Origins = NOWHERE) -> Any:
    """What of a config tells it from others: without secrets, but with values from the environment.

    It depends on nothing else that this process has met.
    """
    walk = _Walk(origins.secrets)
    return without(walk.masked(resolved), walk.met)


class _Walk:
    """One walk through a config."""

    def __init__(self, hidden: frozenset[Place]) -> None:
        """`hidden`: the places of values that are made of secrets."""
        self.hidden = hidden
        self.met: set[str] = set()

    def masked(self, value: Any, at: Place = ()) -> Any:
        """`at`: the names that lead to this value."""
        if at in self.hidden:
            return self._hidden(value)
        if isinstance(value, Mapping):
            return {k: self._field(str(k), v, (*at, str(k))) for k, v in value.items()}
        if isinstance(value, list):
            items: list[Any] = []
            for i, item in enumerate(value):
                hide = i > 0 and _takes_secret(value[i - 1]) and not _is_flag(item)
                items.append(self._hidden(item) if hide else self._argument(item, (*at, str(i))))
            return items
        return self._text(value) if isinstance(value, str) else value

    def _field(self, name: str, value: Any, at: Place) -> Any:
        if not secret_name(name) or (name.lower() == "key" and (names_data(value) or isinstance(value, Mapping))):
            return self.masked(value, at)
        return self._hidden(value)

    def _argument(self, value: Any, at: Place) -> Any:
        """An item of a list, which can be `--token=…`, `API_KEY=…` or `Authorization: …`; without dashes `key=3` or
        `token=x` is about a field of the data."""
        named = _ARGUMENT.fullmatch(value) if isinstance(value, str) else None
        if named and secret_name(named[3]) and (named[2] or not bare(named[3])) and _given(named[1], named[4]):
            return named[1] + self._hidden(named[4])
        return self.masked(value, at)

    def _text(self, text: str) -> str:
        clean, secrets = patterns.value(text)
        for secret in secrets:
            if len(secret) >= 8 or not secret.isalpha():  # a short word would be found everywhere
                self.met |= meet(secret)
        return clean

    def _hidden(self, value: Any) -> Any:
        """`***` for each scalar, remembered for `redacted`; what says nothing (null, true) stays."""
        if isinstance(value, Mapping):
            return {k: self._hidden(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._hidden(v) for v in value]
        if value is None or isinstance(value, bool) or value in ("", MASK, "???"):
            return value
        self.met |= meet(str(value))
        return MASK


def _given(name: str, value: str) -> bool:
    """Whether that is the value of an argument: not `Secret: never lie.` of a prompt, nor what is filled in later."""
    words = patterns.SCHEME.sub("", value).split()
    return not value.startswith(patterns.PLACEHOLDERS) and (name.endswith("=") or len(words) == 1)


def _is_flag(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"--[A-Za-z]|-[A-Za-z]$", value) is not None


def _takes_secret(value: Any) -> bool:
    """Whether an argument is a flag after which a secret comes."""
    flag = _FLAG.fullmatch(value) if isinstance(value, str) else None
    return flag is not None and secret_name(flag[1])
