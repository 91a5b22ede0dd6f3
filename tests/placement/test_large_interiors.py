"""Interiors beyond plain enumeration: symmetry classes, restricted families, and their bounds."""

import math

import numpy as np
import pytest
from placement_helpers import cut, query, system, task_graph

from nona.placement.configurations import canonical, configuration_labels, shapes_of
from nona.placement.enumeration import CLASSES, candidates, component_classes, components
from nona.placement.fixed import local_placement
from nona.placement.messages import Candidates, Link
from nona.placement.solve import solve
from nona.placement.solver.problem import least_column
from nona.placement.spans import spans
from nona.system import Stream


def heads(
    h: int, *, shared: bool = True, chain: int = 1, rate: float = 1.0, times: list[float] | None = None
):  # type: ignore[no-untyped-def]
    """A root, h equal (or ``times``) branches of ``chain`` tasks that exchange much, and a sink."""
    compute, edges = [0.001], []
    sink = 1 + h * chain
    for i in range(h):
        first = 1 + i * chain
        edges.append((0, first, 2.0, "x") if shared else (0, first, 2.0))
        edges += [(first + k, first + k + 1, 50.0) for k in range(chain - 1)]
        edges.append((first + chain - 1, sink, 1.0))
        compute += [(times[i] if times else 0.01) / chain] * chain
    return query([*compute, 0.001], edges, rate)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("h", [3, 4, 5])
def test_symmetry_classes_reach_what_full_enumeration_reaches(h: int, shared: bool) -> None:
    s = system(heads(h, shared=shared, rate=20.0), network=Stream(100.0, 1.0, 1.0), servers=12)
    full, classes = solve(s), solve(s, enumerated=2)
    assert classes.objective_s == pytest.approx(full.objective_s, rel=1e-5)
    assert classes.gap <= 1e-4
    assert not any("Restricted" in n for n in classes.notes)


def test_twelve_heads_are_enumerated_by_class() -> None:
    s = system(heads(12, rate=5.0), servers=40)
    p = solve(s)
    assert p.gap <= 1e-4
    assert not any("Restricted" in n for n in p.notes)
    assert max(len(c.parts) for c in p.queries[0][0].configurations) > 4
    assert p.objective_s < 0.5 * local_placement(s).objective_s


def test_components_and_their_classes() -> None:
    tasks = task_graph(
        [0, 1, 1, 1, 1, 2, 0],
        [
            (0, 1, 3.0),
            (1, 2, 1.0),
            (0, 3, 3.0),
            (3, 4, 1.0),
            (0, 5, 3.0),
            (2, 6, 1.0),
            (4, 6, 1.0),
            (5, 6, 1.0),
        ],
    )
    shape = shapes_of(tasks, cut(tasks).subgraphs, np.ones(1))[0]
    parts = components(shape)
    assert parts == ((1, 2), (3, 4), (5,))
    assert component_classes(shape, parts) == (0, 0, 1)


@pytest.mark.parametrize(("h", "chain"), [(2, 5), (3, 3), (5, 2)])
def test_whole_components_say_that_they_are_a_restriction(h: int, chain: int) -> None:
    s = system(heads(h, chain=chain, rate=2.0), servers=20)
    p = solve(s)
    said = any(f"Restricted: interior of {h * chain} tasks in {h} components" in n for n in p.notes)
    assert said == (p.gap > 1e-4), "said unless the bounds close the gap"
    assert 0 <= p.gap < 1
    assert p.lower_bound_s <= p.objective_s <= local_placement(s).objective_s * (1 + 1e-9)


def test_many_distinct_branches_fall_back_to_a_stated_family() -> None:
    rng = np.random.default_rng(1)
    s = system(heads(40, times=rng.uniform(0.001, 0.01, 40).tolist(), rate=3.0), servers=60, capacity=1e5)
    p = solve(s)
    assert any("40 tasks in 40 components: groups of components" in n for n in p.notes)
    assert p.objective_s < 0.5 * local_placement(s).objective_s
    assert 0 <= p.gap < 0.9
    placed = p.queries[0][0]
    for c in placed.configurations:
        assert sorted(t for part in c.parts for t in part) == list(placed.subgraph.interior)


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_lies_below_every_configuration(seed: int, discipline: str) -> None:
    rng = np.random.default_rng(seed)
    m = 5
    edges = [
        (u, v, float(rng.integers(0, 4))) for v in range(2, m + 1) for u in range(1, v) if rng.random() < 0.3
    ]
    edges += [(0, v, float(rng.integers(1, 4))) for v in range(1, m + 1)]
    edges += [(v, m + 1, float(rng.integers(1, 4))) for v in range(1, m + 1)]
    tasks = task_graph([0.0, *rng.uniform(0, 2, m), 0.0], edges)
    shape = max(shapes_of(tasks, cut(tasks).subgraphs, np.ones(1)), key=lambda s: s.m)
    c = Candidates(shape, configuration_labels(shape.m), Link(2.0, 0.1, discipline))
    away = ~c.local
    for wait, server_wait in ((0.0, 0.0), (0.5, 0.2), (4.0, 1.0)):
        least = least_column(c, server_wait)
        span = spans(c, wait, server_wait)[0][away]
        assert span.min() >= max(least.chain_s, least.message_s + least.slope * wait) * (1 - 1e-12)
    assert c.messages.load_s[away].min() >= least.load_s
    assert c.messages.square_s2[away].min() >= least.square_s2


@pytest.mark.parametrize("chain", [2, 3])
def test_the_bound_of_a_restricted_family_holds_for_all_configurations(chain: int) -> None:
    """Six tasks solved by components only: its bound lies below the optimum over everything."""
    for rate in (1.0, 20.0, 60.0):
        s = system(heads(6 // chain, chain=chain, rate=rate), servers=12, capacity=1e4)
        everything, restricted = solve(s), solve(s, enumerated=1)
        assert restricted.lower_bound_s <= everything.objective_s * (1 + 1e-9)
        assert everything.objective_s <= restricted.objective_s * (1 + 1e-4)
        assert restricted.objective_s <= everything.objective_s * 1.05, "the family contains a good one"


def test_large_interiors_list_valid_rows_once() -> None:
    q = heads(9, chain=3, rate=1.0)
    shape = shapes_of(q.tasks, q.decomposition.subgraphs, np.ones(1))[0]
    for slots in (1, 2, 5, 100):
        c = candidates(shape, Link(1e3, 0.0), slots)
        rows = [tuple(r) for r in c.labels.tolist()]
        assert len(set(rows)) == len(rows) <= CLASSES + 500
        assert rows[0] == (0,) * (shape.m + 1)
        assert all(canonical(r) == r and max(r) < slots for r in rows)
    assert len(candidates(shape, Link(1e3, 0.0), 1)) == 1


def test_one_executor_leaves_only_the_local_placement() -> None:
    p = solve(system(heads(12, rate=1.0), servers=1))
    assert [c.is_local for c in p.queries[0][0].configurations] == [True]
    assert math.isfinite(p.objective_s)
