"""How many nodes keep a share of the SLOs, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate
from nona.results.verdict import Verdict


class TriedNodes(Document):
    """One number of nodes: hit rate, runs, verdict, and the cluster's price, US dollars an hour.

    ``held_usd_hour`` is what batches held, at the same prices: a cluster is paid for whether used or not.
    """

    nodes: int
    slo_hit_rate: Estimate
    replications: int
    verdict: Verdict
    usd_hour: float
    held_usd_hour: Figure


class NodesFor(Document):
    """The fewest nodes under one policy, ``None`` where there are none; ``tried`` in order of count."""

    found: TriedNodes | None
    tried: tuple[TriedNodes, ...]


class NodesSetting(Document):
    """What was run: the scenario's name and seed, measured calls of each run."""

    calls: int
    seed: int
    name: str


class NodesReport(Document):
    """The share of SLOs to keep, the largest number of nodes that was allowed, and every policy's answer."""

    target: float
    most: int
    policies: Mapping[str, NodesFor]
    setting: NodesSetting
