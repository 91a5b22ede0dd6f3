"""Pause Python's cyclic garbage collector while a large graph is built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """No cyclic garbage collection inside; as it was before, afterwards.

    A graph is hundreds of thousands of objects without a cycle. The collector would walk over all
    of them again and again while they are made, which takes most of the time at 50,000 operators.
    Reference counting goes on. Threads may overlap: whoever found the collector on switches it on.

    >>> with paused_collector():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
