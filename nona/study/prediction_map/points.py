"""The points of the map: scenarios, placements between local and spread, loads of servers and link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.capacity.stability import executor_utilization
from nona.placement.fixed.local_and_spread import local_placement, spread_placement
from nona.placement.formula.prediction import predict
from nona.placement.result.configuration import Queries
from nona.placement.sampled.starts import blend
from nona.study.networks import NETWORKS
from nona.study.placing.place import place_system
from nona.study.prediction_map.systems import BURSTS
from nona.system import Stream, System

PLACEMENTS = ("local", "quarter", "half", "spread", "nona")
OF_NETWORKS = ("local", "formula", "nona")  # large interiors overload any link when they are spread
_SPREAD_SHARE = {"local": 0.0, "quarter": 0.25, "half": 0.5, "spread": 1.0}
HIGHEST = 0.85  # utilisation of the map's most loaded points


@dataclass(frozen=True, slots=True)
class Load:
    """Utilisation of the most loaded executors and of the most loaded links, ``None``: as in the scenario."""

    name: str
    servers: float | None
    link: float | None


LOADS: Mapping[str, Load] = {
    load.name: load
    for load in (
        Load("as shipped", None, None),
        Load("both 0.6", 0.6, 0.6),
        Load("servers 0.85", HIGHEST, 0.5),
        Load("link 0.85", 0.5, HIGHEST),
        Load("both 0.85", HIGHEST, HIGHEST),
        Load("both 0.3", 0.3, 0.3),
        Load("servers 0.3, link 0.6", 0.3, 0.6),
        Load("servers 0.3, link 0.85", 0.3, HIGHEST),
        Load("servers 0.6, link 0.3", 0.6, 0.3),
        Load("servers 0.85, link 0.3", HIGHEST, 0.3),
    )
}
OF_SERVERS = ("as shipped", "both 0.6", "servers 0.85", "both 0.3")  # enough where no message is sent
OF_OTHERS = ("as shipped", "both 0.6", "servers 0.85", "link 0.85", "both 0.85")
NETWORK_LOADS: Mapping[str, tuple[str, ...]] = {  # placing a large network takes seconds
    "local": OF_SERVERS,
    "formula": ("as shipped", "servers 0.3, link 0.6"),
    "nona": (*OF_OTHERS, "both 0.3", "servers 0.3, link 0.6"),
}
OF_BURSTS = ("as shipped", "both 0.6", "servers 0.85", "both 0.3")


def splits(queries: Queries) -> float:
    """Mean probability of leaving the root's server, over the sub-graphs that have an interior."""
    shares = [
        sum(p for c, p in zip(s.configurations, s.probabilities.tolist(), strict=True) if not c.is_local)
        for row in queries
        for s in row
        if s.subgraph.interior
    ]
    return float(np.mean(shares)) if shares else 0.0


@dataclass(frozen=True, eq=False)
class Placed:
    """Configurations of every sub-graph, and shares (J, K) of the executor classes if not a uniform draw."""

    queries: Queries
    shares: NDArray[np.float64] | None = None


def placed(system: System, name: str) -> Placed:
    """The placement called ``name`` for ``system``; ``nona`` and ``formula`` are solved there."""
    if name in ("nona", "formula"):
        solved = place_system(system, "formula" if name == "formula" else "mean-jct")
        return Placed(solved.queries, solved.class_shares)
    local, spread = local_placement(system).queries, spread_placement(system).queries
    return Placed(blend(local, spread, _SPREAD_SHARE[name]))


def point(system: System, name: str, load: Load) -> tuple[System, Placed]:
    """The system at a load, and a placement there.

    All rates are scaled alike until the most loaded executors are at ``load.servers``; then the link's
    background fills the most loaded links up to ``load.link``. Where the messages alone are more, the
    rates go down instead, and the executors stay below.
    """
    if load.servers is None or load.link is None:
        return system, placed(system, name)
    quiet = replace(system, background_network=replace(system.background_network, rate=0.0))
    busy = scaled(quiet, _factor(quiet, load.servers))
    half = with_link(busy, system.background_network, 0.5 * load.link)
    found = placed(half if name in ("nona", "formula") else busy, name)
    own = predict(busy, found.queries, found.shares).network_utilization
    if own > load.link:
        busy = scaled(busy, load.link / own)
        own = load.link
    return with_link(busy, system.background_network, load.link - own), found


def scaled(system: System, factor: float) -> System:
    """All query rates times ``factor``."""
    return replace(system, queries=tuple(replace(q, rate=factor * q.rate) for q in system.queries))


def with_link(system: System, stream: Stream, utilization: float) -> System:
    """The link's background at ``utilization``, its messages as in ``stream``."""
    mean = stream.mean if stream.mean > 0 else 1e6
    rate = utilization * system.capacity / mean
    return replace(system, background_network=replace(stream, rate=rate, mean=mean))


def _factor(system: System, servers: float) -> float:
    background, queries = executor_utilization(system)
    highest = max(queries)
    return max(servers - background, 0.05 * servers) / highest if highest > 0 else 1.0


def names_of(name: str, can_split: bool) -> Sequence[tuple[str, str]]:
    """(placement, load) of every point of the system ``name``; just local ones where nothing can be split."""
    if not can_split:
        return [("local", load) for load in OF_SERVERS]
    if name in BURSTS:
        return [(p, load) for p in ("local", "half", "nona") for load in OF_BURSTS]
    if name in NETWORKS:
        return [(p, load) for p in OF_NETWORKS for load in NETWORK_LOADS[p]]
    return [(p, load) for p in PLACEMENTS for load in _loads_of(p)]


def _loads_of(placement: str) -> tuple[str, ...]:
    """The default is tested at every load, what it is compared with at some."""
    if placement == "local":
        return OF_SERVERS
    return tuple(LOADS) if placement == "nona" else OF_OTHERS
