"""ESG's SLO shares: they add up along every path, on any DAG."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.graph.dag import Dag
from nona.serverless.policies.esg.policy import Chain, Fork, average_normalised_lengths, distribute, reduced

CLOSE = 1e-9


@st.composite
def dags(draw: st.DrawFn) -> Dag:
    """DAGs of up to nine stages, of several entries and exits, connected or not."""
    n = draw(st.integers(1, 9))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    return Dag.from_edges(n, draw(st.lists(st.sampled_from(pairs), max_size=16)) if pairs else [])


def paths(dag: Dag) -> Iterator[tuple[int, ...]]:
    """Every path from an entry to an exit."""
    open_paths = [(v,) for v in range(len(dag)) if not dag.predecessors[v]]
    while open_paths:
        path = open_paths.pop()
        if not dag.successors[path[-1]]:
            yield path
        open_paths += [(*path, v) for v in dag.successors[path[-1]]]


def stages_of(chain: Chain) -> list[int]:
    """All stages in a reduced chain."""
    found: list[int] = []
    for element in chain:
        found += (
            [s for b in element.branches for s in stages_of(b)] if isinstance(element, Fork) else [element]
        )
    return found


@examples(150)
@given(dags(), st.data())
def test_shares_along_every_path_are_at_most_the_slo(dag: Dag, data: st.DataObject) -> None:
    n = len(dag)
    length = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=n, max_size=n)))
    most = data.draw(st.integers(1, 4))
    shares = distribute(dag, length, most)
    assert sorted(stages_of(shares.chain)) == list(range(n))
    for path in paths(dag):
        assert sum(shares.of_slo([s]) for s in path) <= 1 + CLOSE
    for u, v in dag.edges():  # what is left after a stage covers what its successor may still use
        assert shares.rest[v] <= shares.rest[u] - shares.scaled[u] + CLOSE
    for s, group in enumerate(shares.group):
        assert group[0] == s
        assert len(group) <= most
        assert all(v in dag.successors[u] for u, v in pairwise(group))
        assert 0 < shares.of_rest(s) <= 1


@examples(40)
@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=9), st.integers(1, 4))
def test_a_chain_shares_in_proportion_to_length_and_uses_all(lengths: list[float], most: int) -> None:
    n, length = len(lengths), np.array(lengths)
    shares = distribute(Dag.from_edges(n, [(i, i + 1) for i in range(n - 1)]), length, most)
    heads = range(0, n, most)
    assert [shares.group[h] for h in heads] == [tuple(range(h, min(h + most, n))) for h in heads]
    parts = [shares.of_slo(shares.group[h]) for h in heads]
    assert parts == pytest.approx([length[h : h + most].sum() / length.sum() for h in heads])
    assert sum(parts) == pytest.approx(1)
    left = 1.0  # every group uses its share of what is left: the same shares, and nothing remains
    for head, part in zip(heads, parts, strict=True):
        assert left * shares.of_rest(head) == pytest.approx(part)
        left -= left * shares.of_rest(head)
    assert left == pytest.approx(0, abs=CLOSE)


def test_branches_inherit_the_share_of_their_pseudo_node_also_when_nested() -> None:
    # 0 → {1 → {2, 3} → 4, 5} → 6
    dag = Dag.from_edges(7, [(0, 1), (0, 5), (1, 2), (1, 3), (2, 4), (3, 4), (4, 6), (5, 6)])
    length = np.array([1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0])
    shares = distribute(dag, length)
    inner = Fork(((2,), (3,)))
    assert shares.chain == (0, Fork(((1, inner, 4), (5,))), 6)
    assert [shares.of_slo([s]) for s in range(7)] == pytest.approx([0.1, 0.1, 0.3, 0.3, 0.1, 0.5, 0.4])
    assert shares.group == ((0,), (1,), (2,), (3,), (4,), (5,), (6,))
    assert shares.of_rest(5) == pytest.approx(5 / 9)
    assert shares.of_rest(4) == pytest.approx(1 / 5)


def test_an_edge_past_a_stage_does_not_make_it_parallel() -> None:
    shares = distribute(Dag.from_edges(3, [(0, 1), (1, 2), (0, 2)]), np.ones(3))
    assert shares.chain == (0, 1, 2)
    assert shares.group[0] == (0, 1, 2)


def test_what_does_not_nest_goes_by_levels() -> None:
    crossed = Dag.from_edges(4, [(0, 2), (0, 3), (1, 3)])
    assert reduced(crossed) == (Fork(((0,), (1,))), Fork(((2,), (3,))))


def test_lengths_add_up_and_leave_out_what_cannot_run() -> None:
    time = np.array([[1.0, 4.0, np.inf], [3.0, 4.0, 1.0]])
    assert average_normalised_lengths(time) == pytest.approx([3 / 8, 5 / 8])
