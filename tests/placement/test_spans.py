"""The span of a configuration against an explicit longest path, and its lines against itself."""

import networkx as nx
import numpy as np
import pytest
from placement_helpers import cut, task_graph

from nona.placement.configurations import Shape, configuration_labels, shapes_of
from nona.placement.messages import Candidates, Link
from nona.placement.spans import envelope, spans


def random_shape(seed: int, m: int, *, root: bool = True, sink: bool = True) -> Shape:
    """An interior with random dependencies, shared tensors and zero sizes."""
    rng = np.random.default_rng(seed)
    edges = []
    for v in range(1, m + 1):
        above = [u for u in range(1, v) if rng.random() < 0.3]
        names = [f"own{u}" if rng.random() < 0.5 else f"{u}-{v}" for u in above]
        edges += [(u, v, float(rng.integers(0, 4)), name) for u, name in zip(above, names, strict=True)]
        if root and (not above or rng.random() < 0.3):
            edges.append(
                (0, v, 2.0, "shared") if rng.random() < 0.5 else (0, v, float(rng.integers(1, 5)), f"r{v}")
            )
    below = {e[0] for e in edges}
    if sink:
        edges += [(u, m + 1, float(rng.integers(0, 5)), f"{u}-s") for u in range(1, m + 1) if u not in below]
        edges += [(0, m + 1, 3.0, "skip")] if root and rng.random() < 0.5 else []
    sizes: dict[tuple[int, str], float] = {}
    edges = [(u, v, sizes.setdefault((u, t), s), t) for u, v, s, t in edges]
    offset = 0 if root else 1
    tasks = task_graph(
        rng.integers(0, 9, m + 1 + sink - offset).astype(float) / 4,
        [(u - offset, v - offset, s, t) for u, v, s, t in edges],
    )
    decomposition = cut(tasks)
    shapes = shapes_of(tasks, decomposition.subgraphs, np.ones(1))
    return max(shapes, key=lambda s: s.m)


def explicit_span(
    shape: Shape, labels: list[int], link: Link, wait: float, server_wait: float
) -> tuple[float, float, float]:
    """Span, link seconds and squared batches, written down message by message on a networkx graph."""
    place = [0, *labels]
    g = nx.DiGraph()
    g.add_node(("end", 0))
    total = square = 0.0
    arrival: dict[tuple[int, int, int], str] = {}
    delay: dict[tuple[int, int, int], float] = {}
    for u in range(shape.m + 1):
        queue: list[tuple[int, float]] = []
        keys = []
        for e in range(len(shape.source)):
            key = (u, int(shape.tensor[e]), place[int(shape.target[e])])
            if shape.source[e] == u and place[u] != key[2] and key not in keys and link.crosses:
                keys.append(key)
                queue.append((e, float(shape.size[e]) / link.capacity))
        for i, key in enumerate(keys):
            if link.discipline == "fifo":
                delay[key] = sum(s for _, s in queue[: i + 1]) + wait
            else:
                delay[key] = sum(min(s, queue[i][1]) for _, s in queue) * (1 + wait)
            delay[key] += link.latency_s
            arrival[key] = "sent"
        total += sum(s for _, s in queue)
        square += sum(s for _, s in queue) ** 2
    last: dict[int, int] = {0: 0} if shape.has_root else {}
    nonlocal_ = any(labels)
    for v in range(1, shape.m + 2):
        time = float(shape.mean_s[v - 1]) if v <= shape.m else 0.0
        inputs = [e for e in range(len(shape.source)) if shape.target[e] == v]
        if v <= shape.m:
            g.add_edge(("start", v), ("end", v), weight=time)
            if place[v] in last:
                g.add_edge(("end", last[place[v]]), ("start", v), weight=0.0)
            if not inputs:
                g.add_edge(("end", 0), ("start", v), weight=server_wait)
            last[place[v]] = v
        for e in inputs:
            u = int(shape.source[e])
            weight = 0.0
            if place[u] != place[v]:
                weight = delay.get((u, int(shape.tensor[e]), place[v]), 0.0)
                weight += server_wait if v <= shape.m else 0.0
            key = (("end", u), ("start", v))
            old = g.get_edge_data(*key, {"weight": -1.0})["weight"]
            g.add_edge(*key, weight=max(old, weight))
    sink = ("start", shape.m + 1)
    if not shape.has_sink:
        g.add_edges_from([(("end", v), sink, {"weight": 0.0}) for v in range(1, shape.m + 1)])
    length = nx.dag_longest_path_length(g) if g.number_of_edges() else 0.0
    return length + (server_wait if nonlocal_ and shape.has_sink else 0.0), total, square


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize(("root", "sink"), [(True, True), (False, True), (True, False), (False, False)])
@pytest.mark.parametrize("seed", range(6))
def test_spans_equal_an_explicit_longest_path(discipline: str, root: bool, sink: bool, seed: int) -> None:
    shape = random_shape(seed, 4, root=root, sink=sink)
    link = Link(2.0, 0.125, discipline, crosses=seed != 5)
    c = Candidates(shape, configuration_labels(shape.m), link)
    for wait, server_wait in ((0.0, 0.0), (0.7, 0.3), (5.0, 0.01)):
        found, path = spans(c, wait, server_wait)
        np.testing.assert_allclose(
            found, path[0] + path[1] + path[2] * wait + path[3] * server_wait, rtol=1e-12
        )
        for i in range(0, len(c), 7):
            span, total, square = explicit_span(shape, c.labels[i].tolist(), link, wait, server_wait)
            assert found[i] == pytest.approx(span, rel=1e-12)
            assert c.messages.load_s[i] == pytest.approx(total, abs=1e-12)
            assert c.messages.square_s2[i] == pytest.approx(square, abs=1e-12)


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("seed", range(5))
def test_lines_are_the_span_at_every_wait(discipline: str, seed: int) -> None:
    c = Candidates(random_shape(seed, 5), configuration_labels(5), Link(2.0, 0.01, discipline))
    lines = envelope(c, 0.2)
    assert (lines.slope >= 0).all()
    for wait in (0.0, 1e-6, 0.03, 0.5, 2.0, 11.0, 40.0):
        np.testing.assert_allclose(lines(wait), spans(c, wait, 0.2)[0], rtol=1e-10)
    some = np.array([0, 7, 3])
    np.testing.assert_allclose(lines.of(some, 0.5), lines(0.5)[some])
    value, slope = lines.tangents(0.4317)
    np.testing.assert_allclose(lines(0.4317 + 1e-7), value + 1e-7 * slope, rtol=1e-12)


def test_every_message_counts_on_some_path() -> None:
    """No configuration loads the link without waiting for it: else extra traffic would look free."""
    for seed in range(8):
        c = Candidates(random_shape(seed, 4), configuration_labels(4), Link(2.0, 0.0))
        far = spans(c, 1e6, 0.0)[1][2]
        assert (far[c.messages.load_s > 0] >= 1).all()


def test_a_shared_tensor_is_one_message_for_each_server() -> None:
    tasks = task_graph(
        [0, 1, 1, 1, 0], [(0, v, 6.0, "x") for v in (1, 2, 3)] + [(v, 4, 1.0) for v in (1, 2, 3)]
    )
    shape = shapes_of(tasks, cut(tasks).subgraphs, np.ones(1))[0]
    labels = np.array([[0, 1, 1, 0], [0, 1, 2, 0], [1, 1, 1, 1]])
    load = Candidates(shape, labels, Link(1.0, 0.0)).messages.load_s
    assert load.tolist() == [6 + 2, 12 + 2, 6]


def test_equal_layers_have_equal_signatures() -> None:
    layer = [(0, 1, 5.0, "x"), (0, 2, 5.0, "x"), (1, 3, 2.0), (2, 3, 3.0)]
    edges = layer + [(u + 3, v + 3, *rest) for u, v, *rest in layer]
    tasks = task_graph([1, 2, 3, 1, 2, 3, 1], edges)
    first, second = shapes_of(tasks, cut(tasks).subgraphs, np.ones(1))
    other = task_graph([1, 2, 3.1, 1], layer)
    assert first.signature == second.signature
    assert shapes_of(other, cut(other).subgraphs, np.ones(1))[0].signature != first.signature
