"""Models inside a scenario: small ones are read here, large ones in a child process with limits."""

import os
from typing import Any

import pytest

from nona.errors import GraphError
from nona.graph.node_link import from_node_link
from nona.sources import lookup
from nona.sources.lookup import SMALL, Sources

Document = dict[str, Any]


def chain(length):
    """A chain of operators in node-link form."""
    nodes = [{"id": f"n{i}", "compute_ms": 1 + i % 7} for i in range(length)]
    edges = [{"source": f"n{i}", "target": f"n{i + 1}", "bytes": i} for i in range(length - 1)]
    return {"nodes": nodes, "edges": edges}


@pytest.fixture
def here(monkeypatch):
    """The processes in which documents were read, as far as this one sees."""
    seen = []

    def read(document, name):
        seen.append(os.getpid())
        return from_node_link(document, name)

    monkeypatch.setattr(lookup, "from_node_link", read)
    return seen


@pytest.mark.parametrize("name", ["m.json", "my model"])
def test_both_ways_give_the_same_graph(name, here):
    small, large = chain(SMALL // 2), chain(SMALL // 2 + 2)
    for document in (small, large):
        graph = Sources().model(name, inline={name: document})
        assert graph == from_node_link(document, name)
    assert here == [os.getpid()]  # the large one was read elsewhere


def test_a_large_one_that_is_wrong_is_one_line(here):
    document = chain(SMALL)
    document["edges"].append({"source": "n1", "target": "n0"})
    with pytest.raises(GraphError) as raised:
        Sources().model("m.json", inline={"m.json": document})
    assert "cycle" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not here
