"""Several ranks of torch.distributed that generate together: each makes every n-th batch, all get all outputs.

Batches are planned from all examples before, the same on every rank, and each has its own random numbers, so that the
outputs are those of one rank alone. A rank that fails tells the others, which fail with it instead of waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.types import HarnessError, Output

Batch = Sequence[int]
"""The places of its examples."""


def world() -> tuple[int, int]:
    """(this rank, how many there are)."""
    import torch.distributed as distributed

    if not (distributed.is_available() and distributed.is_initialized()):
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def is_first() -> bool:
    return world()[0] == 0


def shared(count: int, batches: Sequence[Batch], generate: Callable[[Batch], Sequence[Output]]) -> list[Output]:
    """The outputs of so many examples, on every rank."""
    rank, size = world()

    def own() -> dict[int, Output]:
        return {i: output for batch in batches[rank::size] for i, output in zip(batch, generate(batch), strict=True)}

    made: dict[int, Output] = {}
    for part in together(own):
        made.update(part)
    return [made.get(i, Output(None, "not generated")) for i in range(count)]


def together(work: Callable[[], Any]) -> list[Any]:
    """What the work gives on each rank, on all of them; where it fails on any, it fails on all."""
    rank, size = world()
    if size == 1:
        return [work()]
    import torch.distributed as distributed

    result, failure = None, None
    try:
        result = work()
    except Exception as error:  # the others would wait for ever
        failure = error
    parts: list[Any] = [None] * size
    distributed.all_gather_object(parts, (result, None if failure is None else str(failure) or repr(failure)))
    if failure is not None:
        raise failure
    for other, (_, message) in enumerate(parts):
        if message is not None:
            raise HarnessError(f"rank {other} failed, and rank {rank} with it: {message}")
    return [part for part, _ in parts]
