"""The engine equals a second, independent simulator job by job, ties and background included."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_systems import systems
from hypothesis import given
from hypothesis import strategies as st
from reference_simulator import Reference
from simulation_cases import (
    first_fit,
    newest_capped,
    shortest_queue,
    uniform,
)
from sizes import examples

from nona.simulation.run import RunOptions, simulate_run
from nona.system import System

SCHEDULERS = {
    "uniform": lambda: uniform(8),
    "shortest": shortest_queue,
    "first": first_fit,
    "drawn": lambda: first_fit(drawn=True),
    "capped": lambda: newest_capped(1),
}
JOBS = 12


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
    @examples(60)
    @given(systems(grid, "fifo"), st.booleans())
    def check(system: System, run_on: bool) -> None:
        compare(system, name, run_on, exact=True)

    check()


@pytest.mark.parametrize("name", ["uniform", "shortest", "drawn"])
def test_shared_link_equals_naive_sharing(name: str) -> None:
    @examples(60)
    @given(systems(False, "processor-sharing"), st.booleans())
    def check(system: System, run_on: bool) -> None:
        compare(system, name, run_on, exact=False)

    check()
