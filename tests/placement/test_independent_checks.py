"""The placement's formulas and its oracle against other statements of the same model.

A story told event by event, every configuration one after the other, and a mixed-integer program.
"""

import numpy as np
import pytest
from drawn_shapes import drawn_shape, everything
from event_walk import EventWalk
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples
from span_milp import cheapest_by_milp

from nona.placement.configurations import Shape
from nona.placement.interiors.column_generation import best_configuration
from nona.placement.messages import Candidates, Link
from nona.placement.spans import spans

LINKS = st.builds(
    Link,
    st.sampled_from([1.0, 4.0, 20.0]),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from(["fifo", "processor-sharing"]),
    crosses=st.sampled_from([True, True, True, False]),
)
SHAPES = st.builds(
    drawn_shape,
    st.integers(0, 10**6),
    st.integers(1, 6),
    root=st.booleans(),
    sink=st.booleans(),
    dense=st.sampled_from([0.15, 0.4, 0.8]),
)
WAITS = st.sampled_from([0.0, 0.2, 1.0])


@given(SHAPES, LINKS, WAITS, WAITS)
@examples(120)
def test_spans_and_messages_are_those_of_the_story(
    shape: Shape, link: Link, wait: float, server_wait: float
) -> None:
    rows = everything(shape)
    rows = rows[np.random.default_rng(len(rows)).permutation(len(rows))[:25]]
    c = Candidates(shape, rows, link)
    span = spans(c, wait, server_wait)[0]
    for i, labels in enumerate(rows.tolist()):
        story = EventWalk(shape, labels, link, wait, server_wait)
        assert span[i] == pytest.approx(story.span_s, rel=1e-12, abs=1e-12)
        assert c.messages.load_s[i] == pytest.approx(story.load_s, rel=1e-12, abs=1e-12)
        assert c.messages.square_s2[i] == pytest.approx(story.square_s2, rel=1e-12, abs=1e-12)


@given(
    SHAPES,
    LINKS,
    WAITS,
    WAITS,
    st.sampled_from([0.0, 0.5, 3.0]),
    st.sampled_from([0.0, 0.4]),
    st.integers(1, 7),
)
@examples(150)
def test_the_oracle_finds_the_best_of_all_stories(
    shape: Shape,
    link: Link,
    wait: float,
    server_wait: float,
    load_price: float,
    square_price: float,
    slots: int,
) -> None:
    rows = everything(shape)
    least = np.inf
    for labels in rows[rows.max(axis=1) < slots].tolist():
        story = EventWalk(shape, labels, link, wait, server_wait)
        least = min(least, story.span_s + load_price * story.load_s + square_price * story.square_s2)
    found = best_configuration(
        shape,
        link,
        slots,
        link_wait=wait,
        server_wait_s=server_wait,
        load_price=load_price,
        square_price=square_price,
    )
    assert found.closed
    assert found.cost_s == pytest.approx(least, rel=1e-9)
    assert found.bound_s <= least * (1 + 1e-9)


@pytest.mark.parametrize("m", [7, 8, 9, 10])
@pytest.mark.parametrize(
    ("root", "sink", "discipline"),
    [
        (True, True, "fifo"),
        (True, True, "processor-sharing"),
        (False, True, "fifo"),
        (True, False, "fifo"),
    ],
)
def test_the_oracle_agrees_with_a_mixed_integer_program(
    m: int, root: bool, sink: bool, discipline: str
) -> None:
    """Sixteen interiors of 7 to 10 tasks; most of the optima use several servers."""
    shape = drawn_shape(40 * m + 2 * root + sink, m, root=root, sink=sink, dense=0.25, light=0.1)
    link = Link(12.0, 0.05, discipline)  # type: ignore[arg-type]
    at = {"link_wait": 0.2, "server_wait_s": 0.1, "load_price": 0.5}
    value, labels = cheapest_by_milp(shape, link, 4, **at)
    found = best_configuration(shape, link, 4, **at)
    assert found.closed
    assert found.cost_s == pytest.approx(value, rel=1e-5)
    story = EventWalk(shape, labels, link, at["link_wait"], at["server_wait_s"])
    assert story.span_s + at["load_price"] * story.load_s == pytest.approx(found.cost_s, rel=1e-5)


def test_most_of_those_optima_are_split() -> None:
    at = {"link_wait": 0.2, "server_wait_s": 0.1, "load_price": 0.5}
    away = 0
    for m in (7, 8, 9, 10):
        shape = drawn_shape(40 * m + 3, m, dense=0.25, light=0.1)
        away += bool(best_configuration(shape, Link(12.0, 0.05), 4, **at).labels.any())
    assert away >= 3
