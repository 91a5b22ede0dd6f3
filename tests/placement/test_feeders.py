"""Feeders: what they are by definition, what fits the link, and that a light load gains by them."""

from __future__ import annotations

import numpy as np
from drawn_shapes import drawn_shape
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.placement.configurations import Shape
from nona.placement.messages import Candidates, Link
from nona.placement.sampled.moves import feeder_configurations


def below_chain(shape: Shape) -> set[int]:
    """Tasks of the longest chain and all that they lead to, found path by path."""
    found = {v + 1 for v in shape.interior_dag.critical_path(shape.mean_s.tolist())[1]}
    edges = [(u, v) for u, v in zip(shape.source.tolist(), shape.target.tolist(), strict=True) if u > 0]
    while True:
        more = {v for u, v in edges if u in found and v <= shape.m} - found
        if not more:
            return found
        found |= more


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(2, 12),
    root=st.booleans(),
    sink=st.booleans(),
    free_s=st.sampled_from([0.0, 0.5, 2.0, 100.0]),
)
def test_the_chain_and_what_follows_it_stay_together(
    seed: int, m: int, root: bool, sink: bool, free_s: float
) -> None:
    """On one server, the root's where there is one; others hold feeders only, and the link suffices."""
    shape, slots = drawn_shape(seed, m, root=root, sink=sink), 4
    rows = feeder_configurations(shape, Link(1.0, 0.0), slots, free_s)
    together = sorted(below_chain(shape))
    for row in rows.tolist():
        home = {row[v - 1] for v in together}
        assert len(home) == 1
        assert not root or home == {0}
        assert not sink or row[-1] in home
        assert max(row) < slots
        assert len(set(row[:m])) > 1
    assert len({tuple(r) for r in rows.tolist()}) == len(rows)
    one = rows[[len(set(r[:m])) == 2 for r in rows.tolist()]]
    if len(one):  # with one other server no tensor goes to two, so a share of the link is kept exactly
        assert Candidates(shape, one, Link(1.0, 0.0)).messages.load_s.max() <= free_s + 1e-9


def test_no_feeders_no_configurations() -> None:
    ints = [np.array(v, dtype=np.int64) for v in ([1], [2], [0])]
    shape = Shape(False, False, np.ones((1, 2)), np.ones(2), *ints, np.ones(1))
    assert feeder_configurations(shape, Link(1.0, 0.0), 4, 10.0).shape == (0, 3)
    side = Shape(False, False, np.ones((1, 2)), np.ones(2), *(i[:0] for i in ints), np.ones(0))
    assert feeder_configurations(side, Link(1.0, 0.0), 1, 10.0).shape == (0, 3)
    assert feeder_configurations(side, Link(1.0, 0.0), 2, 10.0).tolist() == [[0, 1, 0]]
