"""The stages of a path and the busiest links, in rows and figures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nona.hardware.cluster import Network, Racks
from nona.report.simulations.series import (
    busiest_links,
    each_link,
    link_stages,
    link_table,
    links_figure,
    stages_figure,
)
from nona.topology import make_topology


@pytest.mark.parametrize("network", [Network(), Network(nic=1e9), Network(nic=1e9, racks=Racks(3, 2e9))])
def test_stages_count_every_link_once(network: Network) -> None:
    stages = link_stages(network, 8)
    racks = (network.racks.size, network.racks.uplink) if network.racks else (None, None)
    topology = make_topology(8, network.capacity, network.nic, *racks)
    assert sum(r.links for r in stages) == topology.links
    assert sum(r.together for r in stages) == pytest.approx(topology.link_capacity.sum())
    longest = [topology.link_names[k] for k in topology.path(0, 7)]
    kinds = [" ".join(w for w in name.split() if not w.isdigit()) for name in longest]
    assert kinds == [r.stage for r in stages]


def test_the_narrowest_stage_is_marked() -> None:
    made = stages_figure(link_stages(Network(capacity=1e9, nic=1e9), 8))
    colours = dict(zip(made.data[0].y, made.data[0].marker.color, strict=True))
    assert colours["core"] != colours["server out"] == colours["server in"]
    assert list(made.data[0].x) == [64.0, 8.0, 64.0]


def test_the_table_says_it_in_words() -> None:
    row = link_table(link_stages(Network(nic=1.25e9), 1200))[0]
    assert row == {
        "link": "server out",
        "number": "1,200",
        "each": "10 Gbit/s",
        "together": "12 Tbit/s",
    }


def run(busy: list[float], names: tuple[str, ...], length: float) -> Any:
    return SimpleNamespace(link_busy_s=np.array(busy), link_names=names, window_s=(1.0, 1.0 + length))


def test_the_busiest_links_come_first_averaged_over_replications() -> None:
    names = ("core", "a", "b")
    found = busiest_links([run([1, 4, 2], names, 10), run([2, 12, 4], names, 20)])
    assert [r.link for r in found] == ["a", "b", "core"]
    assert [r.utilization for r in found] == pytest.approx([0.5, 0.2, 0.1])
    assert list(links_figure(found).data[0].x) == pytest.approx([50, 20, 10])


def test_one_link_needs_no_list() -> None:
    assert busiest_links([run([1.0], ("link",), 10)]) == []


def test_of_many_links_the_busiest_dozen_is_shown() -> None:
    names = tuple(f"l{i}" for i in range(100))
    found = busiest_links([run(list(range(100)), names, 100)])
    assert [r.link for r in found] == [f"l{i}" for i in range(99, 87, -1)]


def test_every_link_is_told_in_the_order_of_the_topology() -> None:
    names = ("core", "server 0 out", "server 1 out")
    found = each_link([run([1, 4, 2], names, 10), run([2, 12, 4], names, 20)])
    assert [x.link for x in found] == list(names)
    assert [x.utilization for x in found] == pytest.approx([0.1, 0.5, 0.2])
    many = tuple(f"server {i} out" for i in range(3000))
    assert each_link([run([1.0] * 3000, many, 10)]) == []
