"""Coarsening: what it loses is never more than it says, against every configuration there is."""

import numpy as np
import pytest
from drawn_shapes import drawn_shape, everything
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import PlacementError
from nona.placement.coarsening import coarsen
from nona.placement.configurations import Shape
from nona.placement.glue import Coarsening
from nona.placement.messages import Candidates, Link
from nona.placement.spans import spans

PRICED = st.lists(
    st.tuples(*(st.sampled_from([0.0, 0.1, 1.0, 7.0]) for _ in range(4))), min_size=3, max_size=6
)
SHAPES = st.builds(
    drawn_shape,
    st.integers(0, 10**6),
    st.integers(1, 5),
    root=st.booleans(),
    sink=st.booleans(),
    light=st.sampled_from([0.0, 0.5, 0.9]),
)
LINKS = st.builds(
    Link,
    st.sampled_from([0.3, 1.0, 3.0, 20.0, 100.0]),
    st.sampled_from([0.0, 0.3, 2.0]),
    st.sampled_from(["fifo", "processor-sharing"]),
)


def greatest_loss(
    c: Coarsening, shape: Shape, link: Link, points: list[tuple[float, float, float, float]]
) -> float:
    """Check the bound at every (W_n, W_c, price of load, price of squares); the greatest loss found."""
    labels = everything(shape)
    kept = np.array([c.respects(r) for r in labels.tolist()])
    assert kept[(labels == 0).all(axis=1)].any(), "the local configuration respects every group"
    every = Candidates(shape, labels, link)
    most = 0.0
    for wait, server_wait, load, square in points:
        priced = load * every.messages.load_s + square * every.messages.square_s2
        cost = spans(every, wait, server_wait)[0] + priced
        least, coarse = float(cost.min()), float(cost[kept].min())
        assert coarse <= least + c.bound_s(load, square) + 1e-9 * (1 + least)
        most = max(most, coarse - least)
    return most


@given(SHAPES, LINKS, st.sampled_from([0.0, 0.05, 0.3, 1.0]), PRICED)
@examples(250)
def test_no_more_is_lost_than_the_bound(
    shape: Shape, link: Link, share: float, points: list[tuple[float, float, float, float]]
) -> None:
    c = coarsen(shape, link, share=share)
    assert c.loss_s + c.load_loss_s <= share * shape.local_s * (1 + 1e-9)
    greatest_loss(c, shape, link, points)
    if share == 0:
        assert c.exact
        assert c.bound_s(1e9, 1e9) == 0


@given(
    SHAPES,
    LINKS,
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.1, 2.0]),
    st.sampled_from([0.0, 1.0]),
    PRICED,
)
@examples(100)
def test_certain_waits_glue_more_and_the_bound_holds_from_them_on(
    shape: Shape,
    link: Link,
    share: float,
    wait: float,
    server_wait: float,
    points: list[tuple[float, float, float, float]],
) -> None:
    c = coarsen(shape, link, share=share, link_wait=wait, server_wait_s=server_wait)
    above = [(wait + n, server_wait + w, *prices) for n, w, *prices in points]
    greatest_loss(c, shape, link, above)  # type: ignore[arg-type]
    if share == 0:
        idle = coarsen(shape, link)
        assert len(set(c.group.tolist())) <= len(set(idle.group.tolist()))


def chain_and_branch(light_s: float) -> Shape:
    """root → 1 → 2 → sink and root → 3 → sink; task 1 is light and hands on what it reads."""
    return Shape(
        has_root=True,
        has_sink=True,
        class_s=np.array([[light_s, 4.0, 5.0]]),
        mean_s=np.array([light_s, 4.0, 5.0]),
        source=np.array([0, 0, 1, 2, 3]),
        target=np.array([1, 3, 2, 4, 4]),
        tensor=np.array([0, 1, 2, 3, 4]),
        size=np.ones(5),
    )


def test_a_light_task_stays_with_its_producer_for_what_it_takes() -> None:
    """Cutting before or after task 1 costs the same message, so the loss is its own 0.1 s at most."""
    shape, link = chain_and_branch(0.1), Link(2.0, 0.0)
    assert coarsen(shape, link).steps == ()
    c = coarsen(shape, link, share=0.02)
    assert [(s.source, s.target, s.kind) for s in c.steps] == [(0, 1, "block")]
    assert c.loss_s == pytest.approx(0.1)
    assert (c.load_loss_s, c.square_loss_s2) == (0.0, 0.0)
    assert c.units == ((2,), (3,), (4,))
    assert c.labels([1, 0, 1]) == [0, 1, 0, 1]
    assert coarsen(shape, link, share=0.01).steps == (), "0.1 s are more than 1 % of 9.1 s"


def test_a_task_longer_than_its_cheapest_message_is_no_block() -> None:
    assert coarsen(chain_and_branch(0.6), Link(2.0, 0.0), share=0.1).steps == ()
    assert len(coarsen(chain_and_branch(0.6), Link(2.0, 0.2), share=0.1).steps) == 1


def test_a_light_source_stays_with_its_reader() -> None:
    """Two sources; the light one is read by task 3 alone and may only delay it."""
    shape = Shape(
        has_root=False,
        has_sink=True,
        class_s=np.array([[4.0, 0.1, 5.0]]),
        mean_s=np.array([4.0, 0.1, 5.0]),
        source=np.array([1, 2, 3]),
        target=np.array([4, 3, 4]),
        tensor=np.array([0, 1, 2]),
        size=np.ones(3),
    )
    c = coarsen(shape, Link(4.0, 0.0), share=0.02)
    assert [(s.source, s.target, s.kind) for s in c.steps] == [(2, 3, "source")]
    assert (c.loss_s, c.load_loss_s) == (pytest.approx(0.1), 0.0)
    assert greatest_loss(c, shape, Link(4.0, 0.0), [(0, 0, 0, 0), (0.1, 0.2, 1, 1)]) <= 0.1 + 1e-12
    assert coarsen(shape, Link(4.0, 0.0)).steps == ()


def test_where_every_cut_takes_longer_than_staying_nothing_is_left() -> None:
    c = coarsen(chain_and_branch(0.1), Link(0.1, 0.0))
    assert c.group.tolist() == [0] * 5
    assert (c.exact, c.units, c.interior_units) == (True, (), 0)
    assert {s.kind for s in c.steps} == {"edge"}
    assert all(s.work_s + s.transfer_s >= s.against_s for s in c.steps)


@pytest.mark.parametrize("key", ["share", "link_wait", "server_wait_s"])
@pytest.mark.parametrize("value", [-0.1, float("inf"), float("nan")])
def test_numbers_that_are_none_are_refused(key: str, value: float) -> None:
    with pytest.raises(PlacementError, match=f"{key}=.* must be at least 0 and finite"):
        coarsen(chain_and_branch(0.1), Link(1.0, 0.0), **{key: value})
