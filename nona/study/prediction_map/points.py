"""The points of the map: scenarios, placements between local and spread, loads of servers and link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.feasibility import executor_utilization
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.placement import Queries
from nona.placement.prediction import predict
from nona.placement.sampled.starts import blend
from nona.study.placing import place_system
from nona.system import Stream, System

SCENARIOS = (
    "slides_example",
    "vision_language_8_servers",
    "five_models_80_servers",
    "background_sweep",
    "ensemble_bursty",
    "esg_workflows",
    "mig_layouts",
    "racks_and_nics",
    "rag_pipeline",
)
PLACEMENTS = ("local", "quarter", "half", "spread", "nona")
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
    )
}
OF_SERVERS = ("as shipped", "both 0.6", "servers 0.85")  # enough where no message is sent


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
    """The placement called ``name`` for ``system``; ``nona`` is solved there."""
    if name == "nona":
        solved = place_system(system)
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
    found = placed(half if name == "nona" else busy, name)
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


def names_of(queries_can_split: bool) -> Sequence[tuple[str, str]]:
    """(placement, load) of every point of a scenario; just local ones where nothing can be split."""
    if not queries_can_split:
        return [("local", load) for load in OF_SERVERS]
    return [(name, load) for name in PLACEMENTS for load in (OF_SERVERS if name == "local" else tuple(LOADS))]
