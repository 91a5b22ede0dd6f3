"""The links of a cluster for the simulation and for the placement."""

from __future__ import annotations

import numpy as np

from nona.errors import ScenarioError
from nona.hardware.cluster import Cluster
from nona.placement.spans.messages import Link
from nona.placement.waits.link_route import link_between
from nona.scenario.schema import BackgroundNetwork, Scenario
from nona.serverless.model.network import SharedNetwork
from nona.system import Stream
from nona.topology import Topology, make_topology


def topology_of(cluster: Cluster) -> Topology | None:
    """The cluster's links, or ``None`` for a single link."""
    network, racks = cluster.network, cluster.network.racks
    if not network.several_links:
        return None
    size, uplink = (racks.size, racks.uplink) if racks else (None, None)
    return make_topology(cluster.servers, network.capacity, network.nic, size, uplink)


def network_background(spec: BackgroundNetwork, capacity: float) -> Stream:
    """The background of the core, of ``capacity`` bytes/s."""
    return Stream(spec.utilization * capacity / spec.mean_size, spec.mean_size, spec.scv)


def shared_network(scenario: Scenario) -> SharedNetwork | None:
    """The network that the transfers of a serverless scenario share, ``None`` where they do not.

    Raises
    ------
    ScenarioError
        When its links are not first come, first served.
    """
    spec, of = scenario.serverless, scenario.cluster.network
    if spec is None or spec.transfer.remote != "network":
        return None
    if of.discipline != "fifo":
        raise ScenarioError(
            [
                f"serverless.transfer.remote: 'network' needs links that are first come, first served, not "
                f"{of.discipline!r}; set cluster.network.discipline to fifo, or remote to alone."
            ]
        )
    size, uplink = (of.racks.size, of.racks.uplink) if of.racks else (None, None)
    servers = sum(group.count for group in scenario.cluster.servers)
    return SharedNetwork(
        make_topology(servers, of.capacity, of.nic, size, uplink),
        of.latency,
        network_background(scenario.background.network, of.capacity),
    )


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
