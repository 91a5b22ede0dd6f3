"""The link that jobs on several nodes share with background traffic."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nona.allocation.policies.problem import Floats
from nona.errors import SimulationError
from nona.hardware.network import Network
from nona.placement.waits.queueing import fifo_wait_s

BYTES = 4.0
"""Of a parameter's gradient, in single precision."""
MOST_LOAD = 0.98
"""Closed jobs slow down as the link fills, so that their load stays below 1; the formulas stop here."""


def ring_bytes(parameters: float, nodes: int) -> float:
    """2(n − 1)/n · 4 · parameters: bytes that a node sends in a ring all-reduce over ``nodes`` nodes.

    >>> ring_bytes(1e6, 1), ring_bytes(1e6, 4)
    (0.0, 6000000.0)
    """
    return 2.0 * (nodes - 1) / nodes * BYTES * parameters


@dataclass(frozen=True, slots=True)
class Link:
    """The core's link, and Poisson background on it: utilisation ρ_b, messages of a mean size and an scv.

    >>> Link(Network(1e9), background=0.5).all_reduce_s(1e9, 2, 0.0, 0.0)
    1.00104

    Raises
    ------
    SimulationError
        For a background that is not in [0, 1), or sizes that are not above 0.
    """

    network: Network = field(default_factory=lambda: Network(1.25e9))
    background: float = 0.0
    mean_bytes: float = 1e6
    scv: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.background < 1 or self.mean_bytes <= 0 or self.scv < 0:
            raise SimulationError(
                f"Elastic training: background {self.background:g}, message size {self.mean_bytes:g} and scv "
                f"{self.scv:g} must be in [0, 1), above 0 and at least 0; change them."
            )

    def service_s(self, size: float) -> float:
        """Seconds of a message alone, without latency."""
        return size / self.network.capacity

    def all_reduce_s(self, size: float, nodes: int, load: float, moment: float) -> float:
        """Seconds until ``size`` bytes went around the ring of ``nodes`` nodes.

        2(n − 1)·latency + W + size/C under FIFO, W = Λ/(2(1 − ρ)) (Pollaczek and Khinchine); and
        2(n − 1)·latency + size/(C·(1 − ρ)) under processor sharing. ρ = ρ_b + load,
        Λ = Σ λ·E[S²] of all others.

        Parameters
        ----------
        load, moment
            Of the other jobs: utilisation, and Σ λ_j·S_j² in seconds.
        """
        total = min(self.background + load, MOST_LOAD)
        latency_s = 2 * (nodes - 1) * self.network.latency_s
        if self.network.discipline != "fifo":
            return latency_s + self.service_s(size) / (1.0 - total)
        own = self.background * self.service_s(self.mean_bytes) * (1.0 + self.scv)
        return latency_s + fifo_wait_s(total, own + moment) + self.service_s(size)


@dataclass(frozen=True, slots=True)
class Sender:
    """A job on ``nodes`` nodes: bytes of a step, and its seconds if the link were infinitely fast.

    ``sync_s``: those of them that synchronise as measured; the link hides behind them.
    """

    nodes: int
    size: float
    step_s: float
    sync_s: float

    def stepped_s(self, link_s: float) -> float:
        """A step whose all-reduce takes ``link_s`` on the link: synchronising takes the longer of both."""
        return self.step_s + max(0.0, link_s - self.sync_s)


ROUNDS, DAMPING, CLOSE = 400, 0.25, 1e-7


def balance(link: Link, senders: tuple[Sender, ...]) -> tuple[Floats, Floats]:
    """All-reduce seconds and utilisations of jobs that slow each other down.

    Each job has one message on its way at most: its utilisation is u = size/(C·T), and T depends on the
    utilisations of the others. The fixed point is found by damped iteration; u falls as others rise.

    Examples
    --------
    >>> link_s, used = balance(Link(Network(1e9)), (Sender(2, 1e9, 1.0, 0.0),))
    >>> round(float(link_s[0]), 4), round(float(used[0]), 4)
    (1.0, 0.5)
    """
    used, link_s = np.zeros(len(senders)), np.zeros(len(senders))
    service_s = np.array([link.service_s(sender.size) for sender in senders])
    for _ in range(ROUNDS):
        load, moment = used.sum(), float(used @ service_s)
        link_s = np.array(
            [
                link.all_reduce_s(sender.size, sender.nodes, load - u, moment - u * s)
                for sender, u, s in zip(senders, used.tolist(), service_s.tolist(), strict=True)
            ]
        )
        stepped = [sender.stepped_s(t) for sender, t in zip(senders, link_s.tolist(), strict=True)]
        step = service_s / np.array(stepped) - used
        used += DAMPING * step
        if np.abs(step).max(initial=0.0) < CLOSE:
            break
    return link_s, used
