"""Python looks for garbage again and again while thousands of classes and functions are made, none of which is ever
thrown away: that is a fifth of the time that importing a large package takes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def left_alone() -> Iterator[None]:
    """Within it nobody looks, unless somebody asks for it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
