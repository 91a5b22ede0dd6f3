"""What comes into a scenario's system and what it crosses: arrivals, links, their background."""

from __future__ import annotations

from pathlib import PurePath

from nona.cluster.hardware.cluster import Cluster
from nona.cluster.topology import Topology, make_topology
from nona.core.arrays import Floats
from nona.core.errors import ScenarioError
from nona.queries.system import BackgroundStream, SharedNetwork
from nona.scenario.arrivals import Arrivals
from nona.scenario.lookup import Sources
from nona.scenario.schema import BackgroundNetwork, Scenario
from nona.scenario.traces import Clock, Where, read_trace, row_arrivals


def topology_of(cluster: Cluster) -> Topology | None:
    """Return the cluster's links, or ``None`` for a single link."""
    network, racks = cluster.network, cluster.network.racks
    if not network.several_links:
        return None
    size, uplink = (racks.size, racks.uplink) if racks else (None, None)
    return make_topology(cluster.servers, network.capacity, network.nic, size, uplink)


def network_background(spec: BackgroundNetwork, capacity: float) -> BackgroundStream:
    """Return the background of the core, of ``capacity`` bytes/s."""
    return BackgroundStream(spec.utilization * capacity / spec.mean_size, spec.mean_size, spec.scv)


def shared_network(scenario: Scenario) -> SharedNetwork | None:
    """Return the network that the transfers of a serverless scenario share, ``None`` where they do not.

    Raises ``ScenarioError`` when its links are not first come, first served.
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
    return network_of(scenario, sum(group.count for group in scenario.cluster.servers))


def network_of(scenario: Scenario, servers: int) -> SharedNetwork:
    """Return the links between so many servers, first come, first served, with their background."""
    of = scenario.cluster.network
    size, uplink = (of.racks.size, of.racks.uplink) if of.racks else (None, None)
    return SharedNetwork(
        make_topology(servers, of.capacity, of.nic, size, uplink),
        of.latency,
        network_background(scenario.background.network, of.capacity),
    )


def arrivals_of(scenario: Scenario, index: int, sources: Sources) -> Arrivals:
    """Return the arrival process of a row of the workload, those of language models last."""

    def read(name: str, where: Where | None, clock: Clock) -> Floats:
        return read_trace(sources.read(name), PurePath(name).name, where, clock)

    return row_arrivals(scenario, index, read)
