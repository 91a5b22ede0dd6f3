"""Is the machine idle enough to time anything, and timing in turn."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SPIN_S = 0.5
ENOUGH = 0.9  # share of a core that a busy loop must get, and of the best speed it must keep


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a loop of half a second saw: the share of a core that it got, and its turns per second."""

    share: float
    speed: float
    load: float


def look() -> Measurement:
    """Spin for half a second."""
    turns = 0
    wall, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < SPIN_S:
        sum(range(1000))
        turns += 1
    busy = time.process_time() - cpu
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return Measurement(min(1.0, busy / (time.perf_counter() - wall)), turns / max(busy, 1e-9), load)


def verdict(looks: list[Measurement]) -> str:
    """One line: whether the machine was idle enough from the first look to the last."""
    share = min(x.share for x in looks)
    drift = min(x.speed for x in looks) / max(x.speed for x in looks)
    enough = share >= ENOUGH and drift >= ENOUGH
    return (
        f"machine idle enough: {'yes' if enough else 'NO, the ratios may be off'} (a busy loop got at least "
        f"{share:.0%} of a core, its speed stayed within {1 - drift:.0%}; load {looks[0].load:.1f} before, "
        f"{looks[-1].load:.1f} after, {os.cpu_count()} cores)"
    )


def in_turn(work: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """Median of what each piece of work returns, all called in turn ``repeats`` times."""
    found: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repeats):
        for name, call in work.items():
            found[name].append(call())
    return {name: statistics.median(values) for name, values in found.items()}


def seconds(call: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin
