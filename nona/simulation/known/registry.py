"""All known systems by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from nona.simulation.known import classes, links, networks, stations
from nona.simulation.known.agreement import Comparison, Effort, compare
from nona.simulation.known.parts import KnownSystem

LOADS = (0.3, 0.6, 0.9)
Build = Callable[[float], KnownSystem]
_BUILDERS: tuple[Build, ...] = (
    stations.single_queue(0.0),
    stations.single_queue(0.5),
    stations.single_queue(1.0),
    stations.single_queue(2.0),
    stations.queue_with_background,
    stations.several_servers,
    stations.priorities,
    stations.background_first,
    classes.two_kinds,
    links.fifo_link,
    links.sharing_link,
    links.rack_uplink,
    networks.tandem,
    networks.random_chain,
    networks.routed_network,
    networks.fork_join(2),
    networks.fork_join(4),
    networks.choices(2),
    networks.choices(3),
)
#: Name → the system at a load between 0 and 1.
KNOWN: Mapping[str, Build] = MappingProxyType({build(LOADS[0]).name: build for build in _BUILDERS})


def known_systems(loads: tuple[float, ...] = LOADS) -> Iterator[KnownSystem]:
    """Every known system at every load.

    >>> {s.load for s in known_systems((0.5,))}
    {0.5}
    """
    for build in KNOWN.values():
        for load in loads:
            yield build(load)


@cache
def known_result(name: str, load: float, effort: Effort) -> Comparison:
    """The comparison of one system, which depends on these three alone; it is made once per process."""
    return compare(KNOWN[name](load), effort)
