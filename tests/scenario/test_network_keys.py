"""Cards and racks in a scenario: read, written, refused, and made into links."""

import pytest

from nona.errors import HardwareError, ScenarioError
from nona.hardware.cluster import Cluster, Network, Racks
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.study.preparation import prepare


def scenario(network, servers=5):
    return scenario_from_mapping(
        {
            "version": 1,
            "cluster": {"servers": [{"count": servers, "gpu": "t4"}], "network": network},
            "background": {"network": {"utilization": 0.3, "mean_size": "1 MB"}},
            "workload": [{"model": "slides_example", "rate": "10/s"}],
        }
    )


FULL = {"capacity": "100 Gbit/s", "nic": "10 Gbit/s", "racks": {"size": 2, "uplink": "16 Gbit/s"}}


def test_quantities_are_read_and_written_back():
    made = scenario(FULL)
    assert made.cluster.network.nic == 10e9 / 8
    assert made.cluster.network.racks is not None
    assert made.cluster.network.racks.uplink == 2e9
    text = dump_scenario(made)
    assert "nic: 10 Gbit/s" in text
    assert parse_scenario(text) == made


def test_without_them_nothing_is_written():
    assert not {"nic", "racks"} & set(dump_scenario(scenario({})).replace(":", " ").split())


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        ({"nic": "10 apples"}, "cluster.network.nic: '10 apples' is not a bandwidth"),
        ({"nic": 0}, "cluster.network.nic: 0 must be greater than 0"),
        ({"racks": {"size": 2, "uplink": 1e9}}, "cluster.network: racks without nic"),
        (
            {"nic": 1e9, "racks": {"size": 0, "uplink": 1e9}},
            "cluster.network.racks.size: 0 must be at least 1",
        ),
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


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"nic": -1.0}, "Network: nic=-1 must be above 0"),
        ({"racks": Racks(2, 1e9)}, "racks without nic"),
        ({"nic": 1e9, "discipline": "processor-sharing"}, "is for a single link"),
    ],
)
def test_the_hardware_layer_refuses_the_same(changes, problem):
    with pytest.raises(HardwareError, match=problem):
        Network(**changes)


@pytest.mark.parametrize("size", [0, -1, True, 1.5])
def test_a_rack_has_a_whole_number_of_servers(size):
    with pytest.raises(HardwareError, match="Racks: size="):
        Racks(size, 1e9)


def test_the_cluster_and_the_system_get_them():
    made = scenario(FULL)
    network = Cluster.from_spec(made.cluster).network
    assert (network.nic, network.racks) == (10e9 / 8, Racks(2, 2e9))
    system = prepare(made).system
    topology = system.topology
    assert topology is not None
    assert topology.rack.tolist() == [0, 0, 1, 1, 2]
    assert len(system.link_names) == 1 + 2 * 3 + 2 * 5
    loads = [stream.rate * stream.mean for _, stream in system.link_streams] / system.link_capacity
    assert loads == pytest.approx([0.3] * topology.links)
    streams = dict(zip(system.link_names, (name for name, _ in system.link_streams), strict=True))
    assert streams["core"] == ("link",)
    assert streams["rack 0 up"] == ("link", "rack 0 up")


def test_without_them_there_is_one_link():
    system = prepare(scenario({})).system
    assert system.topology is None
    assert (system.link_names, system.link_capacity.tolist()) == (("link",), [25e9 / 8])
    assert system.link_streams == ((("link",), system.background_network),)
