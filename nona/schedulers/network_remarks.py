"""Remarks of the slides on Nona about how other systems see the network.

The remarks are those of the slides (CloudNet 2024). What the sources say comes from the systems' public
programs where there is one, read and run; else from the papers, from memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from nona.schedulers.base import NetworkView
from nona.schedulers.registry import SCHEDULERS

Verdict = Literal["right", "too coarse", "not remarked on"]
Evidence = Literal["public program", "paper, recollected"]

#: What a scheduler of each view may see of the network.
VIEW_MEANINGS: Mapping[NetworkView, str] = MappingProxyType(
    {
        NetworkView.N0: "sees nothing of the network",
        NetworkView.N1: "sees the cost of a transfer in isolation: bytes over capacity, and latency",
        NetworkView.N2: "also sees its own past transfers",
        NetworkView.N3: "also sees reservations: what is promised to other transfers",
        NetworkView.N4: "also sees the live queue of the link",
    }
)


@dataclass(frozen=True, slots=True)
class NetworkRemark:
    """A remark on a system, checked.

    Attributes
    ----------
    scheduler
        The name under which the system's scheduler is registered here; there may be none.
    system
        The system's name.
    slides
        The slides' remark on its view of the network.
    source
        The statement of its source.
    verdict
        Judgement of the remark by the source.
    evidence
        Kind of the source.
    """

    scheduler: str
    system: str
    slides: str
    source: str
    verdict: Verdict
    evidence: Evidence


_REMARKS = (
    NetworkRemark(
        "gandiva",
        "Gandiva",
        "learns isolated network costs",
        "observes its own slowdown and does not model it",
        "right",
        "paper, recollected",
    ),
    NetworkRemark(
        "optimus",
        "Optimus",
        "no congestion",
        "fits communication terms for each job",
        "right",
        "paper, recollected",
    ),
    NetworkRemark(
        "decima-blind",
        "Decima",
        "link sharing is not among its inputs",
        "no input on the network or locality; its simulator has no transfer time between servers",
        "right",
        "public program",
    ),
    NetworkRemark(
        "tiresias",
        "Tiresias",
        "no congestion",
        "its simulator has none; placement uses the skew of a model's tensor sizes",
        "right",
        "public program",
    ),
    NetworkRemark(
        "themis",
        "Themis",
        "no congestion",
        "a static slowdown for each placement",
        "right",
        "paper, recollected",
    ),
    NetworkRemark(
        "pollux",
        "Pollux",
        "no congestion",
        "fits synchronisation over nodes, and allows at most one distributed job per node",
        "too coarse",
        "public program",
    ),
    NetworkRemark(
        "sparrow",
        "Sparrow",
        "no congestion",
        "a constant round trip",
        "right",
        "public program",
    ),
    NetworkRemark(
        "tetris",
        "Tetris",
        "no congestion",
        "packs the rate of each server's network card; knows of no shared bottleneck",
        "too coarse",
        "paper, recollected",
    ),
    NetworkRemark(
        "flexflow",
        "FlexFlow",
        "no congestion",
        "links are FIFO queues inside one job; other jobs are invisible",
        "too coarse",
        "public program",
    ),
    NetworkRemark(
        "gavel",
        "Gavel",
        "not in the list",
        "rates for placements within one server and over several",
        "not remarked on",
        "public program",
    ),
)

#: Scheduler → remark, in the order of the slides, whether it is registered or not.
REMARKS: Mapping[str, NetworkRemark] = MappingProxyType({r.scheduler: r for r in _REMARKS})


def known_remarks() -> tuple[NetworkRemark, ...]:
    """The remarks on systems whose scheduler is registered.

    >>> "sparrow" in [r.scheduler for r in known_remarks()]
    True
    """
    return tuple(r for r in REMARKS.values() if r.scheduler in SCHEDULERS)
