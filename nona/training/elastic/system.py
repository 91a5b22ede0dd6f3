"""Elastic jobs on nodes with several GPUs each, and the link that nodes share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nona.cluster.hardware.cluster import Network
from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.queueing import fifo_wait_s
from nona.scenario.training import MOST_RESTART_S, MOST_TICK_S
from nona.training.elastic.applications import Counts, TrainingApplication


class NodeShare(NamedTuple):
    """``gpus`` GPUs of node ``node``."""

    node: int
    gpus: int


#: A job's GPUs in the order in which they were given; () for none.
NodeShares = tuple[NodeShare, ...]


def counts_of(given: NodeShares) -> Counts:
    """GPUs by node, without the nodes.

    >>> counts_of((NodeShare(3, 4), NodeShare(0, 2)))
    (4, 2)
    """
    return tuple(share.gpus for share in given)


def size_of(given: NodeShares) -> int:
    """GPUs in all.

    >>> size_of((NodeShare(3, 4), NodeShare(0, 2)))
    6
    """
    return sum(share.gpus for share in given)


BYTES = 4.0
"""Bytes of a parameter's gradient, in single precision."""
MOST_LOAD = 0.98
"""Closed jobs slow down as the link fills, so that their load stays below 1; the formulas stop here."""


def ring_bytes(parameters: float, nodes: int) -> float:
    """2(n − 1)/n · 4 · parameters: bytes that a node sends in a ring all-reduce over ``nodes`` nodes.

    >>> ring_bytes(1e6, 1), ring_bytes(1e6, 4)
    (0.0, 6000000.0)
    """
    return 2.0 * (nodes - 1) / nodes * BYTES * parameters


@dataclass(frozen=True, slots=True)
class CoreLink:
    """The core's link, and Poisson background on it: utilisation ρ_b, messages of a mean size and an scv.

    >>> CoreLink(Network(1e9), background=0.5).all_reduce_s(1e9, 2, 0.0, 0.0)
    1.00104
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
        """Return the seconds of a transfer of ``size`` bytes."""
        return size / self.network.capacity

    def all_reduce_s(self, size: float, nodes: int, load: float, moment: float) -> float:
        """Seconds until ``size`` bytes went around the ring of ``nodes`` nodes.

        2(n − 1)·latency + W + size/C under FIFO, W = Λ/(2(1 − ρ)) (Pollaczek and Khinchine); and
        2(n − 1)·latency + size/(C·(1 − ρ)) under processor sharing. ρ = ρ_b + load,
        Λ = Σ λ·E[S²] of all others.

        ``load``, ``moment``: of the other jobs: utilisation, and Σ λ_j·S_j² in seconds.
        """
        total = min(self.background + load, MOST_LOAD)
        latency_s = 2 * (nodes - 1) * self.network.latency_s
        if self.network.discipline != "fifo":
            return latency_s + self.service_s(size) / (1.0 - total)
        own = self.background * self.service_s(self.mean_bytes) * (1.0 + self.scv)
        return latency_s + fifo_wait_s(total, own + moment) + self.service_s(size)


@dataclass(frozen=True, slots=True)
class SendingJob:
    """A job on ``nodes`` nodes: bytes of a step, and its seconds if the link were infinitely fast.

    ``sync_s``: those of them that synchronise as measured; the link hides behind them.
    """

    nodes: int
    size: float
    step_s: float
    sync_s: float

    def stepped_s(self, link_s: float) -> float:
        """Return a step whose all-reduce takes ``link_s`` on the link: the longer of both counts."""
        return self.step_s + max(0.0, link_s - self.sync_s)


ROUNDS, DAMPING, CLOSE = 400, 0.25, 1e-7


def balance(link: CoreLink, senders: tuple[SendingJob, ...]) -> tuple[Floats, Floats]:
    """All-reduce seconds and utilisations of jobs that slow each other down.

    Each job has one message on its way at most: its utilisation is u = size/(C·T), and T depends on the
    utilisations of the others. The fixed point is found by damped iteration; u falls as others rise.

    >>> link_s, used = balance(CoreLink(Network(1e9)), (SendingJob(2, 1e9, 1.0, 0.0),))
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


@dataclass(frozen=True, slots=True)
class ElasticJob:
    """A job; ``gpus`` and ``batch`` are its user's choice; policies that choose them ignore it."""

    name: str
    arrival_s: float
    application: TrainingApplication
    gpus: int
    batch: int


@dataclass(frozen=True, slots=True)
class ElasticCluster:
    """``nodes`` nodes with ``gpus`` GPUs of one type each.

    >>> ElasticCluster(16, 4).size
    64
    """

    nodes: int = 16
    gpus: int = 4

    @property
    def size(self) -> int:
        """Number of GPUs."""
        return self.nodes * self.gpus


@dataclass(frozen=True)
class ElasticSystem:
    """Jobs in order of arrival; their places are their numbers.

    ``tick_s``: how often a policy is asked.
    ``restart_s``: how long a job pauses when its GPUs change, and before it starts.
    ``interference``: share of its speed that a job on several nodes loses while it shares a node with another
        such job.
    ``link``: what all-reduce between nodes crosses; ``None``: as fast as when it was measured.
    ``seed``: of policies that draw random numbers.
    """

    cluster: ElasticCluster
    jobs: tuple[ElasticJob, ...]
    tick_s: int = 60
    restart_s: int = 30
    interference: float = 0.0
    seed: int = 0
    source: str = ""
    link: CoreLink | None = None

    def __post_init__(self) -> None:
        if not self.jobs:
            raise SimulationError("Elastic training: there are no jobs; give a workload.")
        arrivals = [job.arrival_s for job in self.jobs]
        if arrivals != sorted(arrivals):
            raise SimulationError("Elastic training: jobs are not in order of arrival; sort them.")
        names = {job.name for job in self.jobs}
        if len(names) < len(self.jobs):
            raise SimulationError("Elastic training: two jobs have one name; rename one.")
        self._refuse_times()
        for job in self.jobs:
            if not 1 <= job.gpus <= self.cluster.size:
                raise SimulationError(
                    f"Elastic training: job {job.name!r} asks for {job.gpus} GPUs of {self.cluster.size}; "
                    f"ask for 1 to {self.cluster.size}."
                )
            if self.link and job.application.parameters is None and job.application.most_gpus != 1:
                raise SimulationError(
                    f"Elastic training: application {job.application.name!r} has no number of parameters, "
                    "which a link needs; add the column parameters to applications.csv."
                )

    def _refuse_times(self) -> None:
        """Longer pauses would have jobs change GPUs for weeks, and hardly train."""
        if not 1 <= self.tick_s <= MOST_TICK_S:
            raise SimulationError(
                f"Elastic training: tick {self.tick_s} s must be from 1 to {MOST_TICK_S} s; change it."
            )
        if not 0 <= self.restart_s <= MOST_RESTART_S:
            raise SimulationError(
                f"Elastic training: restart {self.restart_s} s must be from 0 to {MOST_RESTART_S} s; "
                "change it."
            )
        if not 0 <= self.interference < 1:
            raise SimulationError(
                f"Elastic training: interference {self.interference:g} must be at least 0 and below 1; "
                "change it."
            )
