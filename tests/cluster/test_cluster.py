"""Clusters: executors, classes, cards, racks and links; the catalogue and own devices; what is refused."""

import csv
import math
import pickle
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.cluster.hardware.cluster import Cluster, Network, Racks, ServerGroup
from nona.cluster.hardware.device import (
    Device,
    attribute_schema,
    devices,
    find_device,
    links,
    source_texts,
    user_devices,
)
from nona.cluster.hardware.executor import executor_class, make_executor_class
from nona.cluster.hardware.mig import board
from nona.cluster.hardware.table_file import parse_table
from nona.cluster.topology import NONE, make_topology
from nona.core.errors import HardwareError
from nona.queries.workflows.preparation import prepare
from nona.scenario.cluster import ClusterSpec
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping


def test_executors_follow_groups_servers_and_gpus():
    cluster = Cluster((ServerGroup(2, "t4", gpus=2), ServerGroup(1, mig="3g.20gb, 2g.10gb, 2g.10gb")))
    two, three = "a100-40gb/2g.10gb", "a100-40gb/3g.20gb"
    places = [(e.server, e.gpu, e.executor_class) for e in cluster.executors]
    plain = [(server, gpu, "t4") for server in (0, 1) for gpu in (0, 1)]
    assert places == [*plain, (2, 0, two), (2, 0, two), (2, 0, three)]
    assert list(cluster.classes) == ["t4", two, three]
    assert cluster.servers == 3


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


def changed(**changes):
    """Two servers with their links, some of them changed."""
    return replace(make_topology(2, 1.0, nic=1.0), **changes)


ONE_RACK = np.zeros(2, dtype=np.int64)
OWN = [
    ({"fp32": "10 TFLOP/s", "memory": "16 GB"}, "bandwidth must be given"),
    ({"base": "a100-80gb", "bandwith": "1 GB/s"}, "did you mean 'bandwidth'"),
    ({"base": "gtx"}, "not in the catalogue"),
    ({"base": "t4", "memory": "-1 GB"}, "above 0"),
    ({"base": "t4", "memory": True}, "is not a size"),
    ({"base": "t4", "compute_efficiency": 1.5}, "at most 1"),
    ({"base": "t4", "mig": "a100-40gb"}, "must be at least 98"),
    *(({"base": "t4", "sms": sms}, "whole number") for sms in (1.5, -3, 10**5_000)),
    *(
        ({"base": "t4", "fp16": peak}, "is not a rate")
        for peak in ("65", "65 TB", float("nan"), "1e999 TFLOP/s", "9" * 50_000 + "x")
    ),
]


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
        (lambda: changed(link_names=("core", "a", "a", "b", "c")), "two links are named 'a'"),
        (lambda: changed(link_capacity=np.ones(4)), "5 link_names and 4 link_capacity"),
        (lambda: changed(link_capacity=np.array([1.0, 1, 0, 1, 1])), "capacity=0 of link 'server 1 out'"),
        (lambda: changed(link_capacity=np.array([1.0, 1, np.inf, 1, 1])), "capacity=inf"),
        (lambda: changed(core=5), "core=5 is no link"),
        (lambda: changed(out_link=np.array([1, 7])), "out_link names link 7"),
        (lambda: changed(in_link=np.array([1, 4])), "link 'server 0 out' is both out_link and in_link"),
        (lambda: changed(up_link=np.array([0, NONE])), "link 'core' is both core and up_link"),
        (lambda: changed(out_link=np.array([1, 2, 3])), "out_link and rack must be int64 arrays"),
        (lambda: changed(out_link=np.array([1.0, 2.0])), "out_link and rack must be int64 arrays"),
        (
            lambda: changed(rack=ONE_RACK, out_link=np.array([NONE, 1]), in_link=np.array([2, NONE])),
            "no link between them",
        ),
        *((lambda of=of: user_devices({"own": of}), f"'own'.*{why}") for of, why in OWN),
        (lambda: user_devices({"own": {"base": "t4", "mig": "x1"}}), "MIG board 'x1'"),
        *((lambda name=name: Device(name, {}, 1e9, 1e9), "rename") for name in ("", "a/b", "*", "a\nb")),
        (lambda: executor_class("nope"), "unknown"),
        (lambda: executor_class("t4/1g.5gb"), "no MIG"),
        (lambda: executor_class("a100-40gb/9g"), "no such profile"),
        (lambda: executor_class("a100-40gb/mps-1ofx"), "whole number"),
        (lambda: executor_class("a100-40gb/mps-1of0"), "from 1 to 48"),
        (lambda: executor_class("a100-40gb/mps-1of49"), "from 1 to 48"),
        (lambda: executor_class("a100-40gb/1g.5gb/mps-1of7"), "from 1 to 6"),
        (lambda: executor_class("a100-40gb/1g.5gb/2g.10gb"), "write DEVICE"),
        (lambda: parse_table("", "t.csv"), "empty"),
        (lambda: parse_table("a,b\n1\n", "t.csv"), "row 2"),
    ],
)
def test_what_is_impossible_is_refused_in_one_line(make, why):
    with pytest.raises(HardwareError, match=why) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


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
    one_side = changed(rack=ONE_RACK, out_link=np.full(2, NONE))
    assert len(one_side.path(0, 1)) == 1, "one side of a link is enough"


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
    shared = ClusterSpec.model_validate({"servers": [{}], "network": {"discipline": "processor-sharing"}})
    assert shared.build().network == Network(discipline="processor-sharing")
    network = made.cluster.build().network
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


EXPECTED = "k80 p100 v100 t4 a10 a30 a100-40gb a100-80gb h100 h200 l4 l40s b200 h100-pcie h100-nvl h20 gh200 "
EXPECTED += "b300 gb200 l40 a10g rtx-4090 rtx-6000-ada rtx-pro-6000 mi300x mi325x"
FP64_OF_FP32 = {"v100": 1 / 2, "a100-40gb": 1 / 2, "h100": 1 / 2, "p100": 1 / 2, "t4": 1 / 32, "l4": 1 / 64}


def rows(name):
    text = files("nona.cluster.hardware").joinpath(f"data/{name}").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_every_cell_has_a_source_and_says_whether_it_was_checked():
    for row in rows("devices.csv"):
        assert row["attribute"] in attribute_schema(), row
        if row["attribute"] != "label":
            assert row["source"] in source_texts(), row
            assert row["checked"] in {"yes", "recollected"}, row
        expected = attribute_schema()[row["attribute"]]["unit"]
        assert row["unit"] == expected, row
        if expected.endswith("OP/s"):
            assert row["kind"] in {"dense", "sparse"}, row
        if row["attribute"] in {"peer_bandwidth", "host_bandwidth"}:
            assert row["kind"] in {"per-direction", "both-directions"}, row
    assert len({(r["device"], r["attribute"]) for r in rows("devices.csv")}) == len(rows("devices.csv"))
    assert set(EXPECTED.split()) <= set(devices())
    facts = [fact for device in devices().values() for fact in device.facts.values()]
    assert all(fact.checked == "recollected" for fact in facts if "recollected" in fact.source)


def test_direction_flags_count_and_slices_have_their_part():
    nvlink = next(r for r in rows("links.csv") if r["link"] == "nvlink3")
    assert (nvlink["kind"], float(nvlink["capacity"])) == ("both-directions", 600)
    assert links()["nvlink3"].capacity == 300e9
    assert links()["pcie4"].capacity == 32e9
    assert links()["25gbe"].capacity == 25e9 / 8
    v100, a100 = devices()["v100"], devices()["a100-40gb"]
    assert (v100.precision_used("fp8"), v100.peak("tf32")) == ("fp16", 15.7e12), "a stand-in is wider"
    small, seven = (make_executor_class(a100, profile) for profile in ("1g.5gb", "7g.40gb"))
    assert small.peak("fp16") == pytest.approx(312e12 * 14 / 108)
    assert (small.bandwidth, small.memory_bytes) == (pytest.approx(1555e9 / 8), 4.75e9)  # 4864 MiB
    assert (seven.compute_fraction, seven.bandwidth_fraction) == (pytest.approx(98 / 108), 1)


def test_peaks_are_dense_and_plausible_and_travel_between_processes():
    for device in devices().values():
        assert pickle.loads(pickle.dumps(device)) == device
        peaks = device.peaks
        assert 1e12 < peaks["fp32"] < 200e12
        if device.name in FP64_OF_FP32:
            assert peaks["fp64"] / peaks["fp32"] == pytest.approx(FP64_OF_FP32[device.name], rel=0.01)
        # V100 has int8 only outside its tensor cores, B300 little of it, GeForce half of fp16 at fp32 sums.
        if "int8" in peaks and device.name not in {"v100", "b300", "rtx-4090"}:
            # A sparse number in place of a dense one, or the reverse, would break the factor of two.
            assert peaks["int8"] / peaks["fp16"] == pytest.approx(2, rel=0.02)
        if "tf32" in peaks:
            assert peaks["fp16"] / peaks["tf32"] == pytest.approx(2, rel=0.03)


def test_user_device_with_units_and_base():
    mine = {"fp32": "10 TFLOPS", "fp16": 4e13, "memory": "16 GB", "bandwidth": "600 GB/s", "sms": 40}
    pcie = {"base": "a100-80gb", "bandwidth": "1935 GB/s", "compute_efficiency": 0.5}
    own = user_devices({"mine": mine, "pcie": pcie})
    assert own["mine"].peak("fp16") == 4e13
    assert own["mine"].facts["fp16"].checked == "user"
    assert (own["mine"].peaks.get("fp64"), own["pcie"].peaks["fp64"]) == (None, 9.7e12)
    assert own["pcie"].bandwidth == 1.935e12
    assert own["pcie"].peak("fp16") == devices()["a100-80gb"].peak("fp16")
    assert own["pcie"].mig == "a100-80gb"
    assert find_device("mine", own) is own["mine"]


KEYS = st.sampled_from([*attribute_schema(), "other"])


VALUES = st.one_of(st.text(max_size=12), st.floats(), st.integers(), st.none(), st.booleans())


@examples(50)
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_mapping_gives_a_device_or_one_line(attributes):
    problem = ""
    try:
        device = user_devices({"own": attributes})["own"]
    except HardwareError as error:
        problem = str(error)
    assert "\n" not in problem
    assert problem or all(0 < p < math.inf for p in device.peaks.values())


@pytest.mark.parametrize("device", list(devices()))
def test_names_are_read_back(device):
    found = devices()[device]
    slices = [None] if found.mig is None else [None, *(p.name for p in board(found.mig).profiles)]
    for mig in slices:
        for mps in (None, 1, 2, 6):
            made = make_executor_class(found, mig, mps)
            assert executor_class(made.name) == made
            assert 0 < made.compute_fraction <= 1
            assert made.memory_bytes * made.mps <= found.memory_bytes
