"""Every registered decision function compiles, and what the compiled engine calls decides the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scheduler_cases import (
    fork_join_chain,
    random_placement,
    random_ready,
    random_view,
    slides_query,
    system_of,
)

from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.simulation.compiled.build import compile_function
from nona.simulation.compiled.core import adapter_source, flatten_tables
from nona.simulation.compiled.engine import policy_of

SYSTEMS = [
    system_of([fork_join_chain("a", [3, 0, 4], 1), slides_query(), fork_join_chain("one", [])], cluster)
    for cluster in (tuple(range(6)), (0, 0, 1, 1, 2), (0,))
]


def machine_code(scheduler, prepared):
    """The machine code that the engine calls, kept on disk, and the tables as it gets them."""
    policy = policy_of(scheduler, prepared)
    assert policy.machine is not None
    return policy


@pytest.mark.parametrize("name", [n for n in scheduler_names() if not get_scheduler(n).picks])
def test_compiled_bind_decides_as_the_plain_one(name):
    scheduler = get_scheduler(name)
    rng = np.random.default_rng(8)
    seen = set()
    for system in SYSTEMS:
        placement = random_placement(system, 5) if scheduler.needs_placement else None
        prepared = scheduler.prepare(system, placement, {})
        compiled = machine_code(scheduler, prepared)
        for i in range(60):
            query = i % 3
            view, u = random_view(system, rng), rng.random(prepared.uniforms_per_job)
            plain = np.full(12, -1, dtype=np.int64)
            fast = plain.copy()
            scheduler.decide(1.0, query, view, prepared.tables, u, plain)
            compiled.machine(1.0, query, view, compiled.flat.ints, compiled.flat.floats, u, fast)
            tasks = len(system.queries[query].tasks)
            assert plain.tolist() == fast.tolist()
            assert plain[:tasks].min() >= 0
            assert (plain[tasks:] == -1).all()
            seen.add(tuple(plain.tolist()))
    assert len(seen) > 10


@pytest.mark.parametrize("name", [n for n in scheduler_names() if get_scheduler(n).kind == "pick"])
def test_compiled_pick_decides_as_the_plain_one(name):
    scheduler = get_scheduler(name)
    rng = np.random.default_rng(8)
    outcomes = set()
    for system in SYSTEMS:
        prepared = scheduler.prepare(system, None, {})
        compiled = machine_code(scheduler, prepared)
        for _ in range(100):
            view, ready = random_view(system, rng, busiest=3), random_ready(system, rng)
            u = rng.random(prepared.uniforms_per_job)
            plain, fast = np.full(2, -1, dtype=np.int64), np.full(2, -1, dtype=np.int64)
            said = scheduler.decide(1.0, view, ready, prepared.tables, u, plain)
            assert said == compiled.machine(
                1.0, view, ready, compiled.flat.ints, compiled.flat.floats, u, fast
            )
            assert plain.tolist() == fast.tolist()
            if said:
                assert 0 <= plain[0] < ready.n
                assert view.queue_length[plain[1]] == 0
            outcomes.add((bool(said), *plain.tolist()))
    assert {o[0] for o in outcomes} == {True, False}
    assert len(outcomes) > 5


def test_only_plain_functions_are_compiled():
    with pytest.raises(TypeError, match="plain Python function"):
        compile_function(len)


class Inner(NamedTuple):
    share: float
    rows: Any


class Outer(NamedTuple):
    starts: Any
    inner: Inner
    again: Inner
    count: int


def test_tables_in_tables_travel_flat_and_are_made_again():
    tables = Outer(np.array([1, 2]), Inner(0.5, np.array([3])), Inner(1.5, np.array([4.0, 5.0])), 7)
    flat = flatten_tables(tables)
    assert flat.kinds == "i(Fi)(Ff)I"
    assert flat.types == (Outer, Inner, Inner)
    scope = {f"tables{i}": made for i, made in enumerate(flat.types)}
    scope["decide"] = lambda now, view, ready, made, uniforms, out: made
    exec(adapter_source("pick", flat.kinds), scope)
    made = scope["adapter"](0.0, None, None, flat.ints, flat.floats, None, None)
    assert isinstance(made, Outer)
    assert isinstance(made.inner, Inner)
    assert made.starts.tolist() == [1, 2]
    assert (made.inner.share, made.inner.rows.tolist()) == (0.5, [3])
    assert (made.again.share, made.again.rows.tolist()) == (1.5, [4.0, 5.0])
    assert made.count == 7
