"""The engine equals a second, independent simulator job by job, ties and background included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_simulator import Reference
from simulation_cases import (
    first_fit,
    make_system,
    newest_capped,
    query,
    shortest_queue,
    task_graph,
    uniform,
)

from nona.contraction.task_graph import TaskGraph
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Arrivals, Stream, System

SCHEDULERS = {
    "uniform": lambda: uniform(8),
    "shortest": shortest_queue,
    "first": first_fit,
    "drawn": lambda: first_fit(drawn=True),
    "capped": lambda: newest_capped(1),
}
JOBS = 12


@st.composite
def graphs(
    draw: st.DrawFn, times: st.SearchStrategy[float], sizes: st.SearchStrategy[float], classes: int
) -> TaskGraph:
    n = draw(st.integers(1, 6))
    compute = [[draw(times) for _ in range(n)] for _ in range(classes)]
    tensors = []
    for source in range(n - 1):
        for _ in range(draw(st.integers(0, 2))):
            targets = draw(st.sets(st.integers(source + 1, n - 1), min_size=1, max_size=3))
            tensors.append((source, sorted(targets), draw(sizes)))
    return task_graph(compute, tensors)


@st.composite
def systems(draw: st.DrawFn, grid: bool, discipline: str) -> System:
    """On a grid everything happens at whole seconds, so that ties abound."""
    times = st.integers(0, 3).map(float) if grid else st.floats(0.1, 2.0)
    sizes = st.integers(0, 2).map(float) if grid else st.floats(0.1, 2.0)
    executors = draw(st.integers(1, 5))
    classes = draw(st.integers(1, 2))
    instants = sorted(draw(st.lists(st.integers(0, 40).map(float), min_size=3, max_size=6)))
    trace = Arrivals("trace", times_s=(*instants, 60.0), scale_to_rate=False)
    arrivals = trace if grid else Arrivals()
    queries = [
        query(
            draw(graphs(times, sizes, classes)),
            0.1,
            0.0 if grid else draw(st.sampled_from([0.0, 0.5, 1.0])),
            arrivals,
            name,
        )
        for name in ("a", "b")[: draw(st.integers(1, 2))]
    ]
    busy = not grid and draw(st.booleans())
    return make_system(
        *queries,
        servers=[draw(st.integers(0, 2)) for _ in range(executors)],
        executor_class=np.array([draw(st.integers(0, classes - 1)) for _ in range(executors)]),
        class_names=("x", "y")[:classes],
        latency_s=float(draw(st.integers(0, 1))) if grid else draw(st.sampled_from([0.0, 0.3])),
        capacity=1.0 if grid else 2.0,
        discipline=discipline,
        background_compute=Stream(0.4, 0.5, draw(st.sampled_from([0.0, 1.0]))) if busy else Stream(),
        background_network=Stream(0.3, 0.7, 1.0) if busy else Stream(),
        seed=draw(st.integers(0, 1000)),
    )


def compare(system: System, name: str, run_on: bool, exact: bool) -> None:
    made, prepared = SCHEDULERS[name]()
    records = simulate_run(system, made, prepared, RunOptions(jobs=JOBS, warmup=0, run_on=run_on))
    expected = Reference(system, made, prepared, run_on).run(JOBS, records.arrived)
    if exact:
        np.testing.assert_array_equal(records.completion_s, expected)
    else:
        np.testing.assert_allclose(records.completion_s, expected, rtol=1e-9)
    assert [c.name for c in records.checks if not c.ok] == []


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("grid", [False, True], ids=["drawn", "grid"])
def test_fifo_link_equals_the_reference_bit_for_bit(name: str, grid: bool) -> None:
    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(systems(grid, "fifo"), st.booleans())
    def check(system: System, run_on: bool) -> None:
        compare(system, name, run_on, exact=True)

    check()


@pytest.mark.parametrize("name", ["uniform", "shortest", "drawn"])
def test_shared_link_equals_naive_sharing(name: str) -> None:
    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(systems(False, "processor-sharing"), st.booleans())
    def check(system: System, run_on: bool) -> None:
        compare(system, name, run_on, exact=False)

    check()
