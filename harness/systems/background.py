"""A coroutine in a thread of its own, whose results are taken in groups as they come.

>>> async def work(hand):
...     for i in range(3):
...         hand(i)
>>> [item for group in in_background(work) for item in group]
[0, 1, 2]
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")
PAUSE = 0.05
"""Seconds between groups: each time the other thread wakes, the two contend for the interpreter."""


def in_background(work: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]]) -> Iterator[list[T]]:
    """What a coroutine hands over; its error, if it ends with one, after all that it handed over before.

    It never waits for who takes the groups, and works where the caller's thread has a running loop, as in a notebook.
    Whoever stops taking cancels it.
    """
    groups: SimpleQueue[list[T] | None] = SimpleQueue()
    waiting: list[T] = []
    loop = asyncio.new_event_loop()

    def pass_on() -> None:
        if waiting:
            groups.put(waiting.copy())
            waiting.clear()

    def hand(item: T) -> None:
        if not waiting:
            loop.call_later(PAUSE, pass_on)
        waiting.append(item)

    task = loop.create_task(work(hand))

    def run() -> None:
        with suppress(BaseException):  # raised below, where the caller sees it
            loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_default_executor())
        pass_on()
        groups.put(None)

    thread = Thread(target=run, name="requests", daemon=True)
    thread.start()
    try:
        while (group := groups.get()) is not None:
            yield group
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        loop.close()
    task.result()
