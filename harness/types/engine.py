"""The seam between the work of a run and where it runs: threads of this process, or processes on many machines.

>>> upper = Recipe("builtins.str", {}, str.upper)
>>> list(in_order(iter([(1, "B"), (0, "A"), (2, "C")])))
[(0, 'A'), (1, 'B'), (2, 'C')]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from harness.types.metric import Metric

Note = Callable[[str], None]
"""Told what is going on, for the progress bar."""
T = TypeVar("T")
HANDED = ("advance", "arrays", "folder")
"""What the runner hands to a part: of this process, and of no other."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a replica is made where it runs. It is called with one item after the other, and gives a result for each."""

    target: str
    """`module.Class`, called with the options."""
    options: Mapping[str, Any]
    here: Callable[[Any], Any]
    """The replica of this process, made of what is here already."""
    threads: bool = False
    """Whether that may be called from several threads at once."""
    queued: int = 1
    """Items that a replica is given ahead: more than one where the next must not wait for whoever takes the results."""
    noun: str = "items"
    """What people call them."""


class Engine(Protocol):
    """Where replicas run. Used as a context: replicas stay from one `map` to the next, and end with it."""

    in_process: bool
    """True where replicas are of this process. Then what may be called from one thread only is left to the caller."""

    @property
    def near(self) -> bool:
        """Whether all replicas are on this machine, once they were begun: what is in its memory need not be read again
        by each of them."""
        ...

    def begin(self, make: Recipe) -> None:
        """Replicas of this recipe will be wanted: they may be made while the caller still prepares their work."""
        ...

    def map(self, make: Recipe, items: Iterable[Any], note: Note) -> Iterator[tuple[int, Any]]:
        """(number of the item, its result), as they become ready. An item is computed whole by one replica. What a lost
        replica held is given to another; an error of the work itself is raised. Items are taken when they are needed,
        and few are ahead of the oldest whose result is awaited."""
        ...

    def about(self) -> Mapping[str, Any]:
        """For the manifest: which engine it was, and what happened."""
        ...

    def __enter__(self) -> Engine: ...
    def __exit__(self, *exception: object) -> None: ...


def in_order(results: Iterator[tuple[int, T]]) -> Iterator[tuple[int, T]]:
    """The same by number: those that are early wait."""
    waiting: dict[int, T] = {}
    wanted = 0
    for number, result in results:
        waiting[number] = result
        while wanted in waiting:
            yield wanted, waiting.pop(wanted)
            wanted += 1


def unheard(text: str) -> None:
    """A `Note` that nobody reads."""


def learnt(part: object) -> dict[str, Any]:
    """What a metric or a system holds after it has seen the data, to be given to its like elsewhere: without what is
    computed on demand, and what is of this process."""
    lazy = {
        name for kind in type(part).__mro__ for name, value in vars(kind).items() if isinstance(value, cached_property)
    }
    kept = {name: value for name, value in vars(part).items() if name not in lazy and name not in HANDED}
    return {name: learnt(value) if isinstance(value, Metric) else value for name, value in kept.items()}
