"""Spans and messages: against a story told event by event, one against many, idle clusters, feeders."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_shapes import drawn_shape, everything, links, shapes
from event_walk import EventWalk
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import random_system
from sizes import examples

from nona.cluster.topology import make_topology
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import decompose
from nona.queries.placement.configurations import configuration_labels
from nona.queries.placement.enumeration import candidates, idle_spans
from nona.queries.placement.link_routes import link_between
from nona.queries.placement.messages import PlacementLink, ShapeCandidates
from nona.queries.placement.model import build_model
from nona.queries.placement.spans import envelope, single_span, spans


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("seed", range(5))
def test_lines_are_the_span_at_every_wait(discipline, seed):
    c = ShapeCandidates(drawn_shape(seed, 5), configuration_labels(5), PlacementLink(2.0, 0.01, discipline))
    lines = envelope(c, 0.2)
    assert (lines.slope >= 0).all()
    for wait in (0.0, 1e-6, 0.03, 0.5, 2.0, 11.0, 40.0):
        np.testing.assert_allclose(lines(wait), spans(c, wait, 0.2)[0], rtol=1e-10)
    some = np.array([0, 7, 3])
    np.testing.assert_allclose(lines.spans(some, 0.5), lines(0.5)[some])
    value, slope = lines.tangents(0.4317)
    np.testing.assert_allclose(lines(0.4317 + 1e-7), value + 1e-7 * slope, rtol=1e-12)


def test_every_message_counts_on_some_path():
    """No configuration loads the link without waiting for it: else extra traffic would look free."""
    for seed in range(8):
        c = ShapeCandidates(drawn_shape(seed, 4), configuration_labels(4), PlacementLink(2.0, 0.0))
        far = spans(c, 1e6, 0.0)[1][2]
        assert (far[c.messages.load_s > 0] >= 1).all()


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize(("root", "sink"), [(True, True), (False, True), (True, False), (False, False)])
def test_the_span_of_one_equals_that_of_all(discipline, root, sink):
    for seed in range(6):
        shape = drawn_shape(seed, 4, root=root, sink=sink)
        c = ShapeCandidates(
            shape, configuration_labels(shape.m), PlacementLink(2.0, 0.125, discipline, crosses=seed != 5)
        )
        for wait, server_wait in ((0.0, 0.0), (0.7, 0.3), (5.0, 0.01)):
            every, path = spans(c, wait, server_wait)
            for row in range(0, len(c), 5):
                span, terms = single_span(c, row, wait, server_wait)
                assert span == every[row]
                assert list(terms) == path[:, row].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_squared_visits_with_and_without_plain_numbers(seed):
    """Points where some sub-graphs are decided and others mix."""
    system = random_system(seed, network=0.3, classes=2)
    model = build_model(system, lambda shape, link: candidates(shape, link, system.servers))
    rng = np.random.default_rng(seed)
    for share in (0.0, 0.5, 1.0):
        for j, row in enumerate(model.candidates):
            x, only = [], []
            for c in row:
                decided = rng.random() >= share
                x.append(np.eye(len(c))[rng.integers(len(c))] if decided else rng.dirichlet(np.ones(len(c))))
                only.append(int(np.argmax(x[-1])) if decided or len(c) == 1 else -1)
            for chains in model.servers.chains:
                assert chains[j].squares(x, only) == chains[j].squares(x)


LINKS = links([1.0, 4.0, 20.0], [0.0, 0.1], crosses=st.sampled_from([True, True, True, False]))
SHAPES = shapes(6, dense=st.sampled_from([0.15, 0.4, 0.8]))
WAITS = st.sampled_from([0.0, 0.2, 1.0])


@given(SHAPES, LINKS, WAITS, WAITS)
@examples(120)
def test_spans_and_messages_are_those_of_the_story(shape, link, wait, server_wait):
    rows = everything(shape)
    rows = rows[np.random.default_rng(len(rows)).permutation(len(rows))[:25]]
    c = ShapeCandidates(shape, rows, link)
    span, path = spans(c, wait, server_wait)
    np.testing.assert_allclose(span, path[0] + path[1] + path[2] * wait + path[3] * server_wait, rtol=1e-12)
    for i, labels in enumerate(rows.tolist()):
        story = EventWalk(shape, labels, link, wait, server_wait)
        assert span[i] == pytest.approx(story.span_s, rel=1e-12, abs=1e-12)
        assert c.messages.load_s[i] == pytest.approx(story.load_s, rel=1e-12, abs=1e-12)
        assert c.messages.square_s2[i] == pytest.approx(story.square_s2, rel=1e-12, abs=1e-12)


FREE_LINK = PlacementLink(1e30, 0.0)


@st.composite
def drawn_forks(draw):
    """A root, an interior of up to five tasks with some edges among them, a sink."""
    m = draw(st.integers(1, 5))
    times = draw(st.lists(st.integers(1, 20), min_size=m + 2, max_size=m + 2))
    inner = [(u, v) for v in range(1, m + 1) for u in range(1, v)]
    arcs = set(draw(st.lists(st.sampled_from(inner), max_size=4))) if inner else set()
    arcs |= {(0, v) for v in range(1, m + 1)} | {(v, m + 1) for v in range(1, m + 1)}
    size = draw(st.sampled_from([0.0, 1e5, 1e6]))
    return TaskGraph.from_edges("fork", [t / 1000 for t in times], [(u, v, size) for u, v in arcs])


@examples(80)
@given(drawn_forks(), st.floats(1e6, 1e12), st.floats(0, 0.01), st.integers(1, 8))
def test_the_three_times_are_in_order_and_a_faster_link_never_hurts(tasks, capacity, latency_s, servers):
    cuts = decompose(tasks.dag)
    slow = idle_spans(tasks, cuts, PlacementLink(capacity, latency_s), servers)
    fast = idle_spans(tasks, cuts, PlacementLink(2 * capacity, latency_s / 2), servers)
    total, longest = tasks.compute_s.sum(), tasks.dag.critical_path(tasks.compute_s[0])[0]
    for a, b in zip(slow, fast, strict=True):
        assert a.critical_s - 1e-12 <= b.best_s <= a.best_s + 1e-12
        assert a.best_s <= a.local_s + 1e-12
    assert total - sum(s.local_s - s.critical_s for s in slow) == pytest.approx(longest)


@examples(60)
@given(drawn_forks())
def test_on_a_free_network_with_enough_servers_the_bound_is_reached(tasks):
    for span in idle_spans(tasks, decompose(tasks.dag), FREE_LINK, 20):
        assert span.exhaustive
        assert span.best_s == pytest.approx(span.critical_s)


SLIDES = TaskGraph.from_edges(
    "slides", [0.002, 0.010, 0.008, 0.002], [(0, 1, 1e6), (0, 2, 1e6), (1, 3, 1e6), (2, 3, 1e6)]
)


def test_one_server_or_no_network_leaves_all_local():
    cuts = decompose(SLIDES.dag)
    assert idle_spans(SLIDES, cuts, FREE_LINK, 1)[0].best_s == pytest.approx(0.018)
    assert idle_spans(SLIDES, cuts, PlacementLink(1e3, 0.0), 2)[0].best_s == pytest.approx(0.018)


def test_the_bytes_of_a_shared_tensor_count_once():
    arcs = [(0, 1, 4.0), (0, 2, 4.0), (1, 3, 1.0), (2, 3, 2.0)]
    tasks = TaskGraph.from_edges("shared", [1.0, 1.0, 1.0, 1.0], arcs)
    shared = np.array([0, 0, 1, 2])
    sizes = {"tensor_source": np.array([0, 1, 2]), "tensor_bytes": np.array([4.0, 1.0, 2.0])}
    one = replace(tasks, edge_tensor=shared, **sizes)
    assert idle_spans(tasks, decompose(tasks.dag), FREE_LINK, 2)[0].border_bytes == 11.0
    assert idle_spans(one, decompose(one.dag), FREE_LINK, 2)[0].border_bytes == 7.0


def test_over_several_links_the_slowest_on_the_way_counts():
    """Cards of a tenth of the core: idle spans are those of one link as slow as a card."""
    cuts = decompose(SLIDES.dag)
    racks = make_topology(8, 1e9, nic=1e8, rack_size=4, uplink=2e8)
    path = link_between(1e9, 1e-3, "fifo", racks, np.full(8, 1 / 8))
    assert path.speed == pytest.approx(1e8)
    several, one = (
        idle_spans(SLIDES, cuts, path, 8)[0],
        idle_spans(SLIDES, cuts, PlacementLink(1e8, 1e-3), 8)[0],
    )
    assert several.best_s == pytest.approx(one.best_s)
    assert several.best_s > idle_spans(SLIDES, cuts, PlacementLink(1e9, 1e-3), 8)[0].best_s
