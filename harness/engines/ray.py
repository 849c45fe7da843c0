"""`engine=ray`: replicas in processes of a Ray cluster, on one machine or on many.

Ray places processes and moves bytes; what is given to whom, and again after a loss, is decided here. Actors that Ray
restarts for ever hang when their node goes: so a lost one is replaced by a new one, and what it held is given to
another, an item at most `tries` times.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from harness.engines import cluster
from harness.engines.host import Host, Reply
from harness.types import HarnessError, check_least
from harness.types.engine import Note, Recipe, unheard
from harness.types.shown import counted

log = logging.getLogger(__name__)
PATIENCE = 1.0
"""Seconds after which it is looked again whether there is anybody to wait for."""
AHEAD = 4
"""Times the items in flight: how far the newest may be ahead of the oldest, whose result the caller waits for."""


@dataclass(eq=False)
class _Replica:
    """A process that is there, or will be."""

    actor: Any
    making: Any
    """What is awaited until it is ready; None: it is."""
    place: str = "a node"
    running: deque[tuple[Any, int]] = field(default_factory=deque)
    """(what is awaited, the number of its item), in the order in which they are worked on."""

    @property
    def awaited(self) -> list[Any]:
        return [self.making] if self.making is not None else [result for result, _ in self.running]


class Ray:
    in_process = False

    def __init__(
        self,
        address: str | None = None,
        replicas: int | None = None,
        cpus_per_replica: int = 1,
        gpus_per_replica: float = 0,
        tries: int = 3,
    ) -> None:
        """The options are explained in conf/engine/ray.yaml."""
        self.address, self.replicas, self.tries = address, replicas, tries
        self.cpus, self.gpus = cpus_per_replica, gpus_per_replica
        for option, value in (("replicas", replicas), ("cpus_per_replica", cpus_per_replica), ("tries", tries)):
            check_least(f"engine.{option}", value)
        check_least("engine.gpus_per_replica", gpus_per_replica, 0)
        self._replicas: list[_Replica] = []
        self._wanted = 0
        self._made: Recipe | None = None
        self._options: Any = None
        self._unready = 0
        """Replicas that ended before they were ready, since one was."""
        self._said: set[tuple[str, str]] = set()
        """What replicas warned of."""
        self._lost, self._again = 0, 0
        self._seconds, self._started = 0.0, False
        """How long was waited until a replica was ready, and whether it is."""

    def __enter__(self) -> Ray:
        return self

    def __exit__(self, *exception: object) -> None:
        while self._replicas:
            self._end(self._replicas[-1])
        self._made = self._options = None
        if self._lost:
            log.warning("%s lost; what was held there was done again (%d)", counted(self._lost, "replica"), self._again)

    def about(self) -> Mapping[str, Any]:
        size = {"replicas": self._wanted, "threads": self.cpus, "gpus": self.gpus}
        return {"name": "ray", **size, "start": round(self._seconds, 3), "lost": self._lost, "again": self._again}

    def begin(self, make: Recipe) -> None:
        with self._waiting():
            self._prepare(make)

    @property
    def near(self) -> bool:
        return cluster.on_this_machine()

    def map(self, make: Recipe, items: Iterable[Any], note: Note = unheard) -> Iterator[tuple[int, Any]]:
        left = iter(items)
        first = list(islice(left, 1))
        if not first:
            return
        note("starting Ray")
        with self._waiting():
            self._prepare(make)
        work = _Work(chain(first, left), make)
        try:
            while not work.done:
                self._give(work)
                note(self._state(work))
                with self._waiting():
                    ready = self._ready()
                for replica in ready:
                    yield from self._received(replica, work)
        finally:
            for replica in [replica for replica in self._replicas if replica.running]:
                self._end(replica)

    def _give(self, work: _Work) -> None:
        """Gives items to replicas that have room for one, one to each in turn."""
        ready = [replica for replica in self._replicas if replica.making is None]
        for room in range(1, work.make.queued + 1):
            for replica in (replica for replica in ready if len(replica.running) < room):
                following = work.next(AHEAD * work.make.queued * max(self._wanted, AHEAD))
                if following is None:
                    return
                number, item = following
                replica.running.append((replica.actor.work.remote(item), number))

    def _received(self, replica: _Replica, work: _Work) -> Iterator[tuple[int, Any]]:
        """The results of a replica that are there; none of one that was lost."""
        ray = cluster.imported()
        try:
            if replica.making is not None:
                self._reply(ray.get(replica.making), replica)
                replica.making, self._unready, self._started = None, 0, True
                return
            while replica.running and ray.wait([replica.running[0][0]], timeout=0)[0]:
                result, number = replica.running[0]
                reply = self._reply(ray.get(result), replica)
                replica.running.popleft()
                del work.held[number]
                yield number, reply
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError as error:
            self._replace(replica, work, error)

    def _reply(self, content: bytes, replica: _Replica) -> Any:
        """What a replica gave; an error of the work is raised here."""
        reply: Reply = pickle.loads(content)
        replica.place = reply.place
        for name, text in (said for said in reply.said if said not in self._said):
            self._said.add((name, text))
            logging.getLogger(name).warning("%s", text)
        if isinstance(reply.error, HarnessError):
            raise HarnessError(f"{reply.error} (on {replica.place})")
        if reply.error is not None:
            raise reply.error
        return reply.result

    # ------------------------------------------------------------ replicas

    def _prepare(self, make: Recipe) -> None:
        """Replicas of the recipe, in the processes that are there already or in new ones."""
        ray = cluster.imported()
        if not self._replicas:
            cluster.connect(self.address)
            self._wanted = cluster.check_room(self.replicas, self.cpus, self.gpus)
        if self._made is not make:
            self._made, self._options = make, ray.put(_pickled(make.options, make.target))
            for replica in self._replicas:
                replica.making = self._making(replica.actor)
        while len(self._replicas) < self._wanted:
            self._begin()

    def _begin(self) -> None:
        assert self._made is not None
        kind = cluster.imported().remote(Host)
        size = {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_restarts": 0, "max_task_retries": 0}
        actor = kind.options(scheduling_strategy="SPREAD", **size).remote(_own_folders(), self.cpus)
        self._replicas.append(_Replica(actor, self._making(actor)))

    def _making(self, actor: Any) -> Any:
        """What is awaited until a replica is made in this process; it then loads what it works with, before it is given
        anything."""
        assert self._made is not None
        making = actor.make.remote(self._made.target, self._options)
        actor.load.remote()
        return making

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Counts what passes here, until a replica is ready."""
        begun = time.perf_counter()
        yield
        if not self._started:
            self._seconds += time.perf_counter() - begun

    def _ready(self) -> list[_Replica]:
        """Those that have something to tell."""
        ray = cluster.imported()
        awaited = {result: replica for replica in self._replicas for result in replica.awaited[:1]}
        results, _ = ray.wait(list(awaited), timeout=PATIENCE)
        if not results:
            self._check_somebody_is_there()
            return []
        results, _ = ray.wait(list(awaited), num_returns=len(awaited), timeout=0)
        return [awaited[result] for result in results]

    def _check_somebody_is_there(self) -> None:
        if all(replica.making is not None for replica in self._replicas):
            there = cluster.nodes()
            if not any(node.room(self.cpus, self.gpus) for node in there):
                raise HarnessError(
                    f"all replicas were lost, and none fits on {cluster.shown(there)}; expected a node that has room. "
                    "What is finished is kept: run the same command again"
                )

    def _replace(self, replica: _Replica, work: _Work, error: Exception) -> None:
        """What a lost replica held goes to others, and another one begins."""
        reason = str(error).strip().splitlines()[0]
        self._end(replica)
        self._lost += 1
        self._again += len(replica.running)
        if replica.making is not None:
            self._unready += 1
            if self._unready >= self.tries:
                raise HarnessError(
                    f"{counted(self._unready, 'replica')} ended before being ready, the last on "
                    f"{replica.place} ({reason}); expected one to start in engine.tries={self.tries}"
                )
        work.lost([number for _, number in replica.running], self.tries, f"{replica.place} ({reason})")
        self._begin()

    def _end(self, replica: _Replica) -> None:
        self._replicas.remove(replica)
        with suppress(Exception):  # it may be gone, and the cluster with it
            cluster.imported().kill(replica.actor)

    def _state(self, work: _Work) -> str:
        """For the progress bar."""
        ready = sum(replica.making is None for replica in self._replicas)
        flying = sum(len(replica.running) for replica in self._replicas)
        lost = f", {self._lost} lost" if self._lost else ""
        return f"{ready} of {self._wanted} replicas{lost}, {flying} {work.make.noun} in flight"


class _Work:
    """The items of one `map`."""

    def __init__(self, items: Iterable[Any], make: Recipe) -> None:
        self.make = make
        self._source = enumerate(items)
        self._all = False
        self._tries: Counter[int] = Counter()
        self.held: dict[int, Any] = {}
        """Items that were begun, or are to be begun again, by number, as Ray keeps them."""
        self.again: deque[tuple[int, Any]] = deque()
        """Those that are given first."""

    @property
    def done(self) -> bool:
        return self._all and not self.held

    def next(self, ahead: int) -> tuple[int, Any] | None:
        """The next item, if there is one that is no further `ahead` of the oldest unfinished one."""
        if self.again:
            return self.again.popleft()
        if self._all or (self.held and max(self.held) - min(self.held) >= ahead):
            return None
        following = next(self._source, None)
        if following is None:
            self._all = True
            return None
        number, item = following
        self.held[number] = cluster.imported().put(_pickled(item, self.make.noun))
        return number, self.held[number]

    def lost(self, numbers: list[int], tries: int, where: str) -> None:
        """A replica that held these is gone; it was at work on the first."""
        if numbers:
            self._tries[numbers[0]] += 1
            if self._tries[numbers[0]] >= tries:
                raise HarnessError(
                    f"the replicas that worked on one of the {self.make.noun} (number {numbers[0] + 1}) were lost "
                    f"{counted(tries, 'time')}, the last on {where}; expected one to finish in engine.tries={tries}"
                )
        self.again.extendleft((number, self.held[number]) for number in reversed(numbers))


def _pickled(part: Any, name: str) -> bytes:
    try:
        return pickle.dumps(part, 5)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise HarnessError(
            f"{name} cannot be sent to replicas ({error}); expected what can be pickled, or engine=local"
        ) from None


def _own_folders() -> list[str]:
    """The folder that the command was called in and, after it, those in which it finds plug-ins as well."""
    here = os.getcwd()
    after = sys.path[::-1].index(here) if here in sys.path else 0
    return [here, *sys.path[len(sys.path) - after :]]
