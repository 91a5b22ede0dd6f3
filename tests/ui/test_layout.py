"""Layouts: nothing overlaps, every column reads downwards, the fallback works without Graphviz."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.graph.dag import Dag
from nona.sources.samples import load_sample
from nona.ui.models import dagview as layout
from nona.ui.models.dagview import NODE_HEIGHT, NODE_WIDTH, lay_out


def overlapping(found):
    places = sorted(zip(found.x, found.y, range(len(found.x)), strict=True))
    return [
        (i, j)
        for k, (x, y, i) in enumerate(places)
        for x2, y2, j in places[k + 1 :]
        if x2 - x < NODE_WIDTH - 0.5 and abs(y2 - y) < NODE_HEIGHT - 0.5
    ]


def check(dag, found):
    assert len(found.x) == len(found.y) == len(found.column) == len(dag)
    assert not overlapping(found)
    for u, v in dag.edges():  # on to the right, or downwards within a column
        assert (found.column[u], found.y[u]) < (found.column[v], found.y[v])


@st.composite
def dags(draw):
    n = draw(st.integers(1, 24))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    return Dag.from_edges(n, draw(st.lists(st.sampled_from(pairs), max_size=40)) if pairs else [])


@examples(80)
@given(dags(), st.floats(0.3, 4))
def test_layers_never_overlap_and_point_downwards(dag, aspect):
    found = lay_out(dag, aspect, limit_s=0)
    assert found.engine == "layers"
    check(dag, found)


@pytest.mark.parametrize("name", ["resnet18", "googlenet", "slides_example", "densenet121"])
def test_graphviz_draws_the_samples(name):
    dag = load_sample(name).dag
    found = lay_out(dag, limit_s=60)
    assert found.engine == "dot"
    check(dag, found)
    width, height = max(found.x) - min(found.x), max(found.y) - min(found.y)
    if len(dag) > 40:
        assert 0.5 < width / height < 8  # a panel, not a strip


def test_a_layout_that_takes_too_long_or_fails_falls_back(monkeypatch):
    dag = load_sample("resnet18").dag
    assert lay_out(dag, limit_s=1e-3).engine == "layers"
    monkeypatch.setattr(layout.sys, "executable", "/nonexistent/python")
    found = lay_out(dag)
    assert found.engine == "layers"
    check(dag, found)


def test_large_and_dense_graphs_do_not_go_to_graphviz(monkeypatch):
    monkeypatch.setattr(layout, "_dot", lambda *_: pytest.fail("Graphviz was asked"))
    chain = Dag.from_edges(3000, ((i, i + 1) for i in range(2999)))
    check(Dag.from_edges(1, []), lay_out(Dag.from_edges(1, []), limit_s=0))
    assert lay_out(chain).engine == "layers"
    dense = Dag.from_edges(
        60, ((u, 20 * k + v) for k in (1, 2) for u in range(20 * k - 20, 20 * k) for v in range(20))
    )
    assert lay_out(dense).engine == "layers"
