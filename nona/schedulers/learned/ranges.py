"""The ranges of systems on which a policy was trained, and how far a system lies outside of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.schedulers.learned.features import mean_work_s
from nona.system import System


@dataclass(frozen=True, slots=True)
class Ranges:
    """From and to of each number.

    ``load`` is the share of the executors' time that queries take, ``background`` and ``link`` that of the
    executors and of the link by others; ``crossing`` the share of the link that the queries would take if
    every tensor crossed it; ``speed`` how much slower the slowest class of executors is than the fastest.
    """

    servers: tuple[int, int] = (2, 96)
    executors_per_server: tuple[int, int] = (1, 2)
    load: tuple[float, float] = (0.1, 0.85)
    background: tuple[float, float] = (0.0, 0.4)
    link: tuple[float, float] = (0.0, 0.8)
    crossing: tuple[float, float] = (0.01, 5.0)
    tasks: tuple[int, int] = (1, 24)
    speed: tuple[float, float] = (1.0, 4.0)
    queries: tuple[int, int] = (1, 5)


WORDS = {
    "servers": "servers",
    "executors_per_server": "executors per server",
    "load": "load",
    "background": "background of the executors",
    "link": "background of the link",
    "crossing": "load of the link if every tensor crossed it",
    "tasks": "tasks per query",
    "speed": "times between the slowest and the fastest executor",
    "queries": "query classes",
}


def numbers_of(system: System) -> Ranges:
    """The least and the greatest of each number in a system."""
    each = np.bincount(system.executor_server)
    times = np.array([q.tasks.compute_s.sum(axis=1) for q in system.queries])
    tasks = [len(q.tasks) for q in system.queries]
    compute, network = system.background_compute, system.background_network
    crossing = sum(q.rate * float(q.tasks.tensor_bytes.sum()) for q in system.queries) / system.capacity
    load = system.total_rate * mean_work_s(system) / system.executors
    busy, link = compute.rate * compute.mean, network.rate * network.mean / system.capacity
    return Ranges(
        servers=(system.servers, system.servers),
        executors_per_server=(int(each.min()), int(each.max())),
        load=(load, load),
        background=(busy, busy),
        link=(link, link),
        crossing=(crossing, crossing),
        tasks=(min(tasks), max(tasks)),
        speed=(1.0, float((times.max(axis=1) / times.min(axis=1)).max())),
        queries=(len(system.queries), len(system.queries)),
    )


def outside(ranges: Ranges, system: System) -> tuple[str, ...]:
    """What of the system lies outside, e.g. ``80 servers (2 to 16)``; a hundredth of a range is forgiven."""
    numbers = numbers_of(system)
    return tuple(
        f"{_text(name, value)} {words} ({_text(name, least)} to {_text(name, most)})"
        for name, words in WORDS.items()
        for least, most in (getattr(ranges, name),)
        for value in dict.fromkeys(getattr(numbers, name))
        if abs(value - (least + most) / 2) > 0.51 * (most - least)
    )


SHARES = ("load", "background", "link", "crossing")


def _text(name: str, value: float) -> str:
    return f"{100 * value:.3g} %" if name in SHARES else f"{value:.3g}"
