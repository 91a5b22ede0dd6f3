"""Clusters: executors, classes, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import HardwareError
from nona.hardware.cluster import Cluster, Network, ServerGroup
from nona.hardware.device import devices, user_devices
from nona.scenario.schema import ClusterSpec


def test_executors_follow_groups_servers_and_gpus():
    cluster = Cluster((ServerGroup(2, "t4", gpus=2), ServerGroup(1, mig="3g.20gb, 2g.10gb, 2g.10gb")))
    places = [(e.server, e.gpu, e.executor_class) for e in cluster.executors]
    assert places == [
        (0, 0, "t4"),
        (0, 1, "t4"),
        (1, 0, "t4"),
        (1, 1, "t4"),
        (2, 0, "a100-40gb/2g.10gb"),
        (2, 0, "a100-40gb/2g.10gb"),
        (2, 0, "a100-40gb/3g.20gb"),
    ]
    assert list(cluster.classes) == ["t4", "a100-40gb/2g.10gb", "a100-40gb/3g.20gb"]
    assert cluster.servers == 3
    assert cluster.server_vcpus == (16, 16, 16)
    assert cluster.server_memory_bytes == (32e9, 32e9, 40e9)


@examples(40)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 5),
            st.sampled_from(["t4", "a100-40gb", "a30"]),
            st.integers(1, 4),
            st.sampled_from([None, 1, 2, 4]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_shares_of_every_gpu_add_up(groups):
    cluster = Cluster(tuple(ServerGroup(c, g, n, mps=k) for c, g, n, k in groups))
    shares = {}
    for e in cluster.executors:
        key = (e.server, e.gpu)
        shares[key] = shares.get(key, 0.0) + cluster.classes[e.executor_class].compute_fraction
    assert len(shares) == sum(c * n for c, _, n, _ in groups)
    assert all(s == pytest.approx(1) for s in shares.values())
    assert [e.server for e in cluster.executors] == sorted(e.server for e in cluster.executors)


def test_mps_inside_mig_shares_each_slice():
    cluster = Cluster((ServerGroup(1, mig="3g.20gb, 3g.20gb", mps=2),))
    assert [e.executor_class for e in cluster.executors] == ["a100-40gb/3g.20gb/mps-1of2"] * 4
    (only,) = cluster.classes.values()
    assert only.compute_fraction == pytest.approx(42 / 108 / 2)


def test_one_mps_client_is_the_whole_device():
    assert list(Cluster((ServerGroup(1, "t4", mps=1),)).classes) == ["t4"]


def test_users_own_device_is_used():
    own = user_devices({"mine": {"base": "t4", "fp16": "1 TFLOP/s"}})
    cluster = Cluster((ServerGroup(1, "mine"),), devices=own)
    assert cluster.classes["mine"].peak("fp16") == 1e12
    assert "mine" not in devices()


def test_from_a_scenario():
    spec = ClusterSpec.model_validate(
        {
            "servers": [{"count": 2, "gpu": "mine", "mps": 4}],
            "network": {"capacity": "10 Gbit/s", "latency": "0.5 ms", "discipline": "processor-sharing"},
            "devices": {"mine": {"base": "h100"}},
        }
    )
    cluster = Cluster.from_spec(spec)
    assert cluster.network == Network(1.25e9, 0.5e-3, "processor-sharing")
    assert list(cluster.classes) == ["mine/mps-1of4"]
    assert len(cluster.executors) == 8


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
    ],
)
def test_impossible_clusters(make, why):
    with pytest.raises(HardwareError, match=why) as caught:
        make()
    assert "\n" not in str(caught.value)
