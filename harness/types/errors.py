"""What a user can fix, said in one message: where, what was found, what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Integral

from harness.types.real_numbers import is_number


class HarnessError(Exception):
    """Something the user can fix. The message says where, what was found and what was expected."""


def check_choice(option: str, value: object, choices: Iterable[str]) -> None:
    """Refuses what is not among the choices.

    >>> check_choice("cache", "some", ("auto", "none"))
    Traceback (most recent call last):
    ...
    harness.types.errors.HarnessError: cache=some; expected one of auto, none
    """
    known = tuple(choices)
    if value not in known:
        raise HarnessError(f"{option}={value}; expected one of {', '.join(known)}")


def check_least(option: str, value: float | None, least: float = 1) -> None:
    """Refuses a number that is too small; None is one that was not given.

    >>> check_least("limit", 0)
    Traceback (most recent call last):
    ...
    harness.types.errors.HarnessError: limit=0; expected at least 1
    """
    if value is not None and value < least:
        raise HarnessError(f"{option}={value}; expected at least {least}")


def check_number(option: str, value: object, whole: bool = False) -> None:
    """Refuses what is no number, or no whole one.

    >>> check_number("seed", 1.5, whole=True)
    Traceback (most recent call last):
    ...
    harness.types.errors.HarnessError: seed=1.5; expected a whole number
    """
    if not is_number(value) or (whole and not isinstance(value, Integral)):
        raise HarnessError(f"{option}={value!r}; expected a {'whole ' if whole else ''}number")


def nearest(name: str, names: Iterable[str]) -> str:
    """` (did you mean 'tokenize'?)`, or nothing where no name is near. A score's title is near its name.

    >>> nearest("ROUGE-L", ["rouge1", "rougeL"]), nearest("chrF++", ["chrf", "chrfpp"]), nearest("zzz", ["bleu"])
    (" (did you mean 'rougeL'?)", " (did you mean 'chrfpp'?)", '')
    """
    names = list(names)
    close = [other for other in names if _plain(other) == _plain(name)]
    close = close or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _plain(name: str) -> str:
    """`rougel` of ROUGE-L and rougeL."""
    return "".join(filter(str.isalnum, name.lower().replace("+", "p")))
