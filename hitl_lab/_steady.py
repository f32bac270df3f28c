"""Keeps Python's cyclic garbage collector from looking through a long trace again and again while one is read."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector in the enclosed code, which makes many objects and no cycle.

    Each full collection looks at all events and tables that are there already, none of which can be garbage: with
    100,000 events that was two fifths of the time. Left as it was if somebody else has paused it.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
