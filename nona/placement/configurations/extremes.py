"""The two extreme configurations, everything local and everything spread; how many servers can be used."""

from __future__ import annotations

from nona.decomposition.subgraph import SubGraph
from nona.placement.configurations.labels import to_configuration
from nona.placement.result.configuration import Configuration
from nona.system import System


def server_slots(system: System) -> int:
    """Servers that a sub-graph can use; in a system of one server, its executors."""
    return system.servers if system.servers > 1 else system.executors


def local_configuration(subgraph: SubGraph) -> Configuration:
    """Everything on the root's server.

    >>> local_configuration(SubGraph(0, 3, (1, 2)))
    Configuration(parts=((1, 2),), root_part=0, sink_part=0)
    """
    return to_configuration([0] * (len(subgraph.interior) + 1), subgraph.interior)


def spread_configuration(subgraph: SubGraph, slots: int) -> Configuration:
    """A part for every interior task, as far as ``slots`` servers besides the root's allow.

    >>> spread_configuration(SubGraph(0, 3, (1, 2)), 80)
    Configuration(parts=((1,), (2,)), root_part=-1, sink_part=-1)
    """
    if slots < 2:
        return local_configuration(subgraph)
    labels = [1 + i % (slots - 1) for i in range(len(subgraph.interior))]
    return to_configuration([*labels, 0], subgraph.interior)
