"""Memory that a long-lived server no longer uses goes back to the machine."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress


def give_back_memory() -> None:
    """Collect what is unreachable, and have the C library return its free pages where it can (glibc)."""
    gc.collect()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
