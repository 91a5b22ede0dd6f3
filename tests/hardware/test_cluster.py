"""Clusters: executors, classes, cards, racks and links; and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import HardwareError, ScenarioError
from nona.hardware.cluster import Cluster, Network, Racks, ServerGroup
from nona.hardware.device import devices
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.schema import ClusterSpec
from nona.study.preparation import prepare
from nona.topology import NONE, make_topology


def test_executors_follow_groups_servers_and_gpus():
    cluster = Cluster((ServerGroup(2, "t4", gpus=2), ServerGroup(1, mig="3g.20gb, 2g.10gb, 2g.10gb")))
    two, three = "a100-40gb/2g.10gb", "a100-40gb/3g.20gb"
    places = [(e.server, e.gpu, e.executor_class) for e in cluster.executors]
    plain = [(server, gpu, "t4") for server in (0, 1) for gpu in (0, 1)]
    assert places == [*plain, (2, 0, two), (2, 0, two), (2, 0, three)]
    assert list(cluster.classes) == ["t4", two, three]
    assert cluster.servers == 3
    assert cluster.server_vcpus == (16, 16, 16)
    assert cluster.server_memory_bytes == (32e9, 32e9, 40e9)


gpus = st.sampled_from(["t4", "a100-40gb", "a30"])
groups = st.tuples(st.integers(1, 5), gpus, st.integers(1, 4), st.sampled_from([None, 1, 2, 4]))


@examples(40)
@given(st.lists(groups, min_size=1, max_size=4))
def test_shares_of_every_gpu_add_up(groups):
    cluster = Cluster(tuple(ServerGroup(c, g, n, mps=k) for c, g, n, k in groups))
    shares = {}
    for e in cluster.executors:
        key = (e.server, e.gpu)
        shares[key] = shares.get(key, 0.0) + cluster.classes[e.executor_class].compute_fraction
    assert len(shares) == sum(c * n for c, _, n, _ in groups)
    assert all(s == pytest.approx(1) for s in shares.values())
    assert [e.server for e in cluster.executors] == sorted(e.server for e in cluster.executors)


def test_mps_inside_mig_shares_each_slice_and_one_client_is_the_whole_device():
    cluster = Cluster((ServerGroup(1, mig="3g.20gb, 3g.20gb", mps=2),))
    assert [e.executor_class for e in cluster.executors] == ["a100-40gb/3g.20gb/mps-1of2"] * 4
    (only,) = cluster.classes.values()
    assert only.compute_fraction == pytest.approx(42 / 108 / 2)
    assert list(Cluster((ServerGroup(1, "t4", mps=1),)).classes) == ["t4"]


def test_from_a_scenario():
    network = {"capacity": "10 Gbit/s", "latency": "0.5 ms", "discipline": "processor-sharing"}
    servers = [{"count": 2, "gpu": "mine", "mps": 4}]
    spec = {"servers": servers, "network": network, "devices": {"mine": {"base": "h100"}}}
    cluster = Cluster.from_spec(ClusterSpec.model_validate(spec))
    assert cluster.network == Network(1.25e9, 0.5e-3, "processor-sharing")
    assert [e.executor_class for e in cluster.executors] == ["mine/mps-1of4"] * 8
    assert "mine" not in devices()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Cluster(()), "no servers"),
        (lambda: Cluster((ServerGroup(1, "gtx"),)), "'gtx': it is unknown"),
        (lambda: Cluster((ServerGroup(1, "t4", mig="1g.5gb"),)), "has no MIG"),
        (lambda: Cluster((ServerGroup(1, mig="4g.20gb, 4g.20gb"),)), "at most 1"),
        (lambda: Cluster((ServerGroup(1, mig="1g.5gb", mps=7),)), "from 1 to 6"),
        (lambda: Cluster((ServerGroup(100_000, gpus=64),)), "more than 1000000"),
        (lambda: ServerGroup(0), "count=0"),
        (lambda: ServerGroup(gpus=True), "gpus=True"),
        (lambda: Network(float("inf")), "capacity=inf"),
        (lambda: Network(latency_s=-1), "latency_s=-1"),
        (lambda: Network(discipline="lifo"), "discipline='lifo'"),
        (lambda: Network(nic=-1.0), "Network: nic=-1 must be above 0"),
        (lambda: Network(racks=Racks(2, 1e9)), "racks without nic"),
        (lambda: Network(nic=1e9, discipline="processor-sharing"), "is for a single link"),
        *((lambda size=size: Racks(size, 1e9), "Racks: size=") for size in (0, -1, True, 1.5)),
        (lambda: make_topology(2, 1.0, nic=1.0, rack_size=2), "go together"),
        (lambda: make_topology(2, 1.0, nic=1.0, uplink=1.0), "go together"),
        (lambda: make_topology(3, 1.0, rack_size=2, uplink=1.0), "rack 0 has servers with no link between"),
    ],
)
def test_impossible_clusters(make, why):
    with pytest.raises(HardwareError, match=why) as caught:
        make()
    assert "\n" not in str(caught.value)


@examples(80)
@given(st.integers(1, 9), st.none() | st.integers(1, 4), st.integers(0, 8), st.integers(0, 8))
def test_a_path_goes_out_up_over_the_core_down_and_in(servers, rack_size, a, b):
    a, b = a % servers, b % servers
    uplink = None if rack_size is None else 20.0
    topology = make_topology(servers, 100.0, 10.0, rack_size, uplink)
    found = [topology.link_names[link] for link in topology.path(a, b)]
    size = rack_size or 1
    if a == b:
        assert found == []
        return
    assert (found[0], found[-1]) == (f"server {a} out", f"server {b} in")
    racks = [] if rack_size is None else [f"rack {a // size} up", f"rack {b // size} down"]
    assert found[1:-1] == ([] if a // size == b // size else [*racks[:1], "core", *racks[1:]])


def test_capacities_go_with_names():
    t = make_topology(3, 100.0, nic=10.0, rack_size=2, uplink=20.0)
    of = dict(zip(t.link_names, t.link_capacity.tolist(), strict=True))
    assert len(of) == t.links == 1 + 2 * 2 + 2 * 3
    assert of["core"] == 100.0
    assert {of[n] for n in of if n.startswith("rack")} == {20.0}
    assert {of[n] for n in of if n.startswith("server")} == {10.0}


ONE_RACK = {"rack": np.zeros(2, dtype=np.int64)}
ONE_EACH = ONE_RACK | {"out_link": np.array([NONE, 1]), "in_link": np.array([2, NONE])}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"link_names": ("core", "a", "a", "b", "c")}, "two links are named 'a'"),
        ({"link_capacity": np.ones(4)}, "5 link_names and 4 link_capacity"),
        ({"link_capacity": np.array([1.0, 1, 0, 1, 1])}, "capacity=0 of link 'server 1 out'"),
        ({"link_capacity": np.array([1.0, 1, np.inf, 1, 1])}, "capacity=inf"),
        ({"core": 5}, "core=5 is no link"),
        ({"out_link": np.array([1, 7])}, "out_link names link 7"),
        ({"in_link": np.array([1, 4])}, "link 'server 0 out' is both out_link and in_link"),
        ({"up_link": np.array([0, NONE])}, "link 'core' is both core and up_link"),
        ({"out_link": np.array([1, 2, 3])}, "out_link and rack must be int64 arrays"),
        ({"out_link": np.array([1.0, 2.0])}, "out_link and rack must be int64 arrays"),
        (ONE_EACH, "no link between them"),
    ],
)
def test_links_that_do_not_fit_are_refused_in_one_line(changes, problem):
    with pytest.raises(HardwareError) as error:
        replace(make_topology(2, 1.0, nic=1.0), **changes)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_one_side_of_a_link_is_enough():
    one_side = replace(make_topology(2, 1.0, nic=1.0), **ONE_RACK, out_link=np.full(2, NONE))
    assert len(one_side.path(0, 1)) == 1


def scenario(network, servers=5):
    made = {"version": 1, "workload": [{"model": "slides_example", "rate": "10/s"}]}
    made["cluster"] = {"servers": [{"count": servers, "gpu": "t4"}], "network": network}
    made["background"] = {"network": {"utilization": 0.3, "mean_size": "1 MB"}}
    return scenario_from_mapping(made)


RACKED = {"capacity": "100 Gbit/s", "nic": "10 Gbit/s", "racks": {"size": 2, "uplink": "16 Gbit/s"}}


def test_cards_and_racks_of_a_scenario_reach_the_cluster_and_the_system():
    made = scenario(RACKED)
    text = dump_scenario(made)
    assert "nic: 10 Gbit/s" in text
    assert parse_scenario(text) == made
    network = Cluster.from_spec(made.cluster).network
    assert (network.nic, network.racks) == (10e9 / 8, Racks(2, 2e9))
    system = prepare(made).system
    topology = system.topology
    assert topology.rack.tolist() == [0, 0, 1, 1, 2]
    assert len(system.link_names) == 1 + 2 * 3 + 2 * 5
    loads = [stream.rate * stream.mean for _, stream in system.link_streams] / system.link_capacity
    assert loads == pytest.approx([0.3] * topology.links)
    streams = dict(zip(system.link_names, (name for name, _ in system.link_streams), strict=True))
    assert streams["core"] == ("link",)
    assert streams["rack 0 up"] == ("link", "rack 0 up")


def test_without_them_there_is_one_link_and_nothing_is_written():
    assert not {"nic", "racks"} & set(dump_scenario(scenario({})).replace(":", " ").split())
    system = prepare(scenario({})).system
    assert system.topology is None
    assert (system.link_names, system.link_capacity.tolist()) == (("link",), [25e9 / 8])
    assert system.link_streams == ((("link",), system.background_network),)


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        ({"nic": "10 apples"}, "cluster.network.nic: '10 apples' is not a bandwidth"),
        ({"nic": 0}, "cluster.network.nic: 0 must be greater than 0"),
        ({"racks": {"size": 2, "uplink": 1e9}}, "cluster.network: racks without nic"),
        ({"nic": 1e9, "racks": {"size": 0, "uplink": 1e9}}, "network.racks.size: 0 must be at least 1"),
        ({"nic": 1e9, "racks": {"size": 2}}, "cluster.network.racks.uplink: is missing"),
        ({"nic": 1e9, "racks": {"size": 2, "uplink": 1, "x": 1}}, "racks.x: is not a known key"),
        ({"nic": 1e9, "discipline": "processor-sharing"}, "'processor-sharing' is for a single link"),
    ],
)
def test_errors_name_the_place_and_the_remedy(network, problem):
    with pytest.raises(ScenarioError) as error:
        scenario(network)
    assert problem in str(error.value)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)
