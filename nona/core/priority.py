"""The priority of a process beside others."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

LOWEST = 19


def give_way(nice: int) -> None:
    """Take a lower priority by ``nice``, with all processes that this one starts.

    Where Linux groups processes by their session, the group has a priority of its own.
    """
    if hasattr(os, "nice"):  # Windows has none
        with suppress(OSError):
            os.nice(nice)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(nice), encoding="ascii")
