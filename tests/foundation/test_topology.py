"""The links of a cluster: paths, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import HardwareError
from nona.topology import NONE, make_topology


def names(topology, source, destination):
    return [topology.link_names[link] for link in topology.path(source, destination)]


@examples(80)
@given(st.integers(1, 9), st.one_of(st.none(), st.integers(1, 4)), st.integers(0, 8), st.integers(0, 8))
def test_a_path_goes_out_up_over_the_core_down_and_in(servers, rack_size, a, b):
    a, b = a % servers, b % servers
    uplink = None if rack_size is None else 20.0
    found = names(make_topology(servers, 100.0, 10.0, rack_size, uplink), a, b)
    size = rack_size or 1
    if a == b:
        assert found == []
        return
    assert (found[0], found[-1]) == (f"server {a} out", f"server {b} in")
    if a // size == b // size:
        assert len(found) == 2  # it stays in its rack
    elif rack_size is None:
        assert found[1:-1] == ["core"]
    else:
        assert found[1:-1] == [f"rack {a // size} up", "core", f"rack {b // size} down"]


def test_capacities_go_with_names():
    t = make_topology(3, 100.0, nic=10.0, rack_size=2, uplink=20.0)
    of = dict(zip(t.link_names, t.link_capacity.tolist(), strict=True))
    assert len(of) == t.links == 1 + 2 * 2 + 2 * 3
    assert of["core"] == 100.0
    assert {of[n] for n in of if n.startswith("rack")} == {20.0}
    assert {of[n] for n in of if n.startswith("server")} == {10.0}


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
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(changes, problem):
    with pytest.raises(HardwareError) as error:
        replace(make_topology(2, 1.0, nic=1.0), **changes)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_two_servers_without_a_link_between_them_are_refused():
    with pytest.raises(HardwareError, match="rack 0 has servers with no link between them"):
        make_topology(3, 1.0, rack_size=2, uplink=1.0)
    whole = make_topology(2, 1.0, nic=1.0)
    both = np.zeros(2, dtype=np.int64)
    one_side = np.full(2, NONE)
    assert len(replace(whole, rack=both, out_link=one_side).path(0, 1)) == 1
    with pytest.raises(HardwareError, match="no link between them"):
        replace(whole, rack=both, out_link=np.array([NONE, 1]), in_link=np.array([2, NONE]))


@pytest.mark.parametrize("given", [{"rack_size": 2}, {"uplink": 1.0}])
def test_racks_need_size_and_uplink(given):
    with pytest.raises(HardwareError, match="go together"):
        make_topology(2, 1.0, nic=1.0, **given)
