"""The drawing of a cluster: every executor and link once, in its place, with its own load."""

from __future__ import annotations

from typing import Any

import pytest

from nona.hardware.cluster import Cluster, Network, Racks, ServerGroup
from nona.report.clusters import background_load, cluster_map, executor_rows
from nona.results.simulation_charts import LinkLoad, ResourceLoad
from nona.topology import make_topology
from nona.ui.pages.cluster_drawing import MOST_SERVERS, MOST_UNITS, cluster_tree
from nona.ui.widgets.components import texts

MIXED = (ServerGroup(3, gpus=2, mig="3g.20gb, 2g.10gb, 2g.10gb"), ServerGroup(2, "t4"))


def loads(cluster: Cluster) -> ResourceLoad:
    """A load of its own for every executor and link, by their numbers."""
    network = cluster.network
    racks = (network.racks.size, network.racks.uplink) if network.racks else (None, None)
    names = make_topology(cluster.servers, network.capacity, network.nic, *racks).link_names
    each = tuple(LinkLoad(link=n, utilization=k / len(names)) for k, n in enumerate(names))
    count = len(cluster.executors)
    return ResourceLoad(executors=tuple(e / count for e in range(count)), link=0.9, links=(), each_link=each)


@pytest.mark.parametrize("network", [Network(), Network(nic=1e9), Network(nic=1e9, racks=Racks(2, 2e9))])
def test_every_executor_stands_on_its_server_with_its_load(network: Network) -> None:
    cluster = Cluster(MIXED, network)
    load = loads(cluster)
    found = cluster_map(cluster, load)
    servers = [s for unit in found.units for s in unit.servers]
    assert [s.number for s in servers] == list(range(5))
    assert [u for s in servers for u in s.shares] == list(load.executors)
    for server in servers:
        own = [e for e in cluster.executors if e.server == server.number]
        assert len(server.shares) == len(own)
        assert len(server.gpus) == len({e.gpu for e in own})
        names = [cell.name for gpu in server.gpus for cell in gpu]
        assert names == [e.executor_class.partition("/")[2] or "GPU" for e in own]


def test_links_are_those_of_the_servers_and_racks() -> None:
    cluster = Cluster(MIXED, Network(nic=1e9, racks=Racks(2, 2e9)))
    load = loads(cluster)
    told = {x.link: x.utilization for x in load.each_link}
    found = cluster_map(cluster, load)
    assert found.share == told["core"]
    assert [len(u.servers) for u in found.units] == [2, 2, 1]
    for rack, unit in enumerate(found.units):
        assert unit.uplink == (told[f"rack {rack} up"], told[f"rack {rack} down"])
        for server in unit.servers:
            assert server.card == (told[f"server {server.number} out"], told[f"server {server.number} in"])
    assert "2 × NVIDIA A100" in found.units[1].about
    assert "T4" in found.units[1].about  # the rack holds servers of both groups
    rows = executor_rows(found)
    assert len(rows) == len(cluster.executors)
    assert rows[-1]["card in %"] == pytest.approx(100 * told["server 4 in"])


def elements(node: Any, kind: str) -> list[Any]:
    if isinstance(node, str):
        return []
    own = [node] if node[1].get("class") == kind else []
    return own + [e for child in node[2] for e in elements(child, kind)]


def test_few_executors_have_numbers_and_many_have_colours() -> None:
    few = Cluster((ServerGroup(2, gpus=2),))
    tree = cluster_tree(few, ResourceLoad(executors=(0.1, 0.2, 0.3, 0.4), link=0.5, links=()), measured=True)
    assert {"10 %", "20 %", "30 %", "40 %", "50 % busy"} <= set(texts(tree))
    many = Cluster((ServerGroup(300, gpus=4),))
    tree = cluster_tree(many, background_load(many, 0.55, 0.2), measured=True)
    assert len(elements(tree, "server")) == 300
    assert len(elements(tree, "gpu")) == 1200
    cells = [e for gpu in elements(tree, "gpu") for e in gpu[2]]
    assert {e[1]["--c"] for e in cells} == {"var(--s5)"}
    assert elements(tree, "unit")[0][1]["aria-label"].endswith("executors 55 % busy")


def test_thousands_of_servers_and_hundreds_of_racks_stay_a_small_drawing() -> None:
    large = Cluster((ServerGroup(5000),))
    tree = cluster_tree(large, background_load(large, 0.1, 0.2), measured=True)
    assert len(elements(tree, "dot")) == MOST_SERVERS
    assert "+ 3,800 more" in texts(tree)
    racks = Cluster((ServerGroup(600),), Network(nic=1e9, racks=Racks(6, 1e10)))
    tree = cluster_tree(racks, background_load(racks, 0.1, 0.2), measured=True)
    assert len(elements(tree, "unit")) == MOST_UNITS
    assert any("68 more racks" in t and "10 % to 10 % busy" in t for t in texts(tree))


def test_without_a_run_sizes_give_the_colours_and_nothing_is_said_to_be_busy() -> None:
    cluster = Cluster(MIXED)
    tree = cluster_tree(cluster, background_load(cluster, 0.25, 0.5), measured=False)
    told = " ".join(texts(tree))
    assert "25 % background" in told
    assert "50 % background" in told
    assert "busy" not in told
