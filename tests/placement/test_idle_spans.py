"""What splitting gains on an idle cluster: between no splitting and a network that costs nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.contraction.task_graph import TaskGraph
from nona.decomposition import decompose
from nona.placement.enumeration import idle_spans
from nona.placement.link_routes import link_between
from nona.placement.messages import Link
from nona.topology import make_topology

FREE = Link(1e30, 0.0)


@st.composite
def forks(draw: st.DrawFn) -> TaskGraph:
    """A root, an interior of up to five tasks with some edges among them, a sink."""
    m = draw(st.integers(1, 5))
    times = draw(st.lists(st.integers(1, 20), min_size=m + 2, max_size=m + 2))
    inner = [(u, v) for v in range(1, m + 1) for u in range(1, v)]
    arcs = set(draw(st.lists(st.sampled_from(inner), max_size=4))) if inner else set()
    arcs |= {(0, v) for v in range(1, m + 1)} | {(v, m + 1) for v in range(1, m + 1)}
    size = draw(st.sampled_from([0.0, 1e5, 1e6]))
    return TaskGraph.from_edges("fork", [t / 1000 for t in times], [(u, v, size) for u, v in arcs])


@examples(80)
@given(forks(), st.floats(1e6, 1e12), st.floats(0, 0.01), st.integers(1, 8))
def test_the_three_times_are_in_order_and_a_faster_link_never_hurts(
    tasks: TaskGraph, capacity: float, latency_s: float, servers: int
) -> None:
    cuts = decompose(tasks.dag)
    slow = idle_spans(tasks, cuts, Link(capacity, latency_s), servers)
    fast = idle_spans(tasks, cuts, Link(2 * capacity, latency_s / 2), servers)
    total, longest = tasks.compute_s.sum(), tasks.dag.critical_path(tasks.compute_s[0])[0]
    for a, b in zip(slow, fast, strict=True):
        assert a.critical_s - 1e-12 <= b.best_s <= a.best_s + 1e-12
        assert a.best_s <= a.local_s + 1e-12
    assert total - sum(s.local_s - s.critical_s for s in slow) == pytest.approx(longest)


@examples(60)
@given(forks())
def test_on_a_free_network_with_enough_servers_the_bound_is_reached(tasks: TaskGraph) -> None:
    for span in idle_spans(tasks, decompose(tasks.dag), FREE, 20):
        assert span.exhaustive
        assert span.best_s == pytest.approx(span.critical_s)


def test_one_server_or_no_network_leaves_all_local() -> None:
    arcs = [(0, 1, 1e6), (0, 2, 1e6), (1, 3, 1e6), (2, 3, 1e6)]
    tasks = TaskGraph.from_edges("slides", [0.002, 0.010, 0.008, 0.002], arcs)
    cuts = decompose(tasks.dag)
    assert idle_spans(tasks, cuts, FREE, 1)[0].best_s == pytest.approx(0.018)
    assert idle_spans(tasks, cuts, Link(1e3, 0.0), 2)[0].best_s == pytest.approx(0.018)


def test_the_bytes_of_a_shared_tensor_count_once_and_progress_ends_at_one() -> None:
    arcs = [(0, 1, 4.0), (0, 2, 4.0), (1, 3, 1.0), (2, 3, 2.0)]
    tasks = TaskGraph.from_edges("shared", [1.0, 1.0, 1.0, 1.0], arcs)
    shared = np.array([0, 0, 1, 2])
    one = TaskGraph(
        **{
            **{f: getattr(tasks, f) for f in tasks.__dataclass_fields__},
            "edge_tensor": shared,
            "tensor_source": np.array([0, 1, 2]),
            "tensor_bytes": np.array([4.0, 1.0, 2.0]),
        }
    )
    told: list[float] = []
    assert idle_spans(tasks, decompose(tasks.dag), FREE, 2)[0].border_bytes == 11.0
    assert idle_spans(one, decompose(one.dag), FREE, 2, on_progress=told.append)[0].border_bytes == 7.0
    assert told == [1.0]


def test_over_several_links_the_slowest_on_the_way_counts() -> None:
    """Cards of a tenth of the core: idle spans are those of one link as slow as a card."""
    tasks = TaskGraph.from_edges(
        "slides", [0.002, 0.010, 0.008, 0.002], [(0, 1, 1e6), (0, 2, 1e6), (1, 3, 1e6), (2, 3, 1e6)]
    )
    cuts = decompose(tasks.dag)
    racks = make_topology(8, 1e9, nic=1e8, rack_size=4, uplink=2e8)
    path = link_between(1e9, 1e-3, "fifo", racks, np.full(8, 1 / 8))
    assert path.speed == pytest.approx(1e8)
    several, one = idle_spans(tasks, cuts, path, 8)[0], idle_spans(tasks, cuts, Link(1e8, 1e-3), 8)[0]
    assert several.best_s == pytest.approx(one.best_s)
    assert several.best_s > idle_spans(tasks, cuts, Link(1e9, 1e-3), 8)[0].best_s
