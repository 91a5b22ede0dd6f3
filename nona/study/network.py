"""The links of a cluster for the simulation and for the placement."""

from __future__ import annotations

import numpy as np

from nona.hardware.cluster import Cluster
from nona.placement.spans.messages import Link
from nona.placement.waits.link_route import link_between
from nona.topology import Topology, make_topology


def topology_of(cluster: Cluster) -> Topology | None:
    """The cluster's links, or ``None`` for a single link."""
    network, racks = cluster.network, cluster.network.racks
    if not network.several_links:
        return None
    size, uplink = (racks.size, racks.uplink) if racks else (None, None)
    return make_topology(cluster.servers, network.capacity, network.nic, size, uplink)


def placement_link(cluster: Cluster) -> Link:
    """The link between the cluster's servers, with the route over cards and racks where it has them."""
    network = cluster.network
    servers = np.bincount([e.server for e in cluster.executors], minlength=cluster.servers)
    return link_between(
        network.capacity,
        network.latency_s,
        network.discipline,
        topology_of(cluster),
        servers / servers.sum(),
    )
