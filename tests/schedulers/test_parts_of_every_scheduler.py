"""Under every registered scheduler the parts of each completion time add up to it."""

from __future__ import annotations

import numpy as np
import pytest
from scheduler_cases import fork_join_chain, random_placement, system_of

from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.simulation.run import RunOptions, simulate_run

SYSTEM = system_of([fork_join_chain("a", (3, 2), 1, 60.0), fork_join_chain("b", (4,), 2, 40.0)])


@pytest.mark.parametrize("name", scheduler_names())
def test_parts_add_up(name: str) -> None:
    scheduler = get_scheduler(name)
    placement = random_placement(SYSTEM) if scheduler.needs_placement else None
    prepared = scheduler.prepare(SYSTEM, placement, {})
    records = simulate_run(SYSTEM, scheduler, prepared, RunOptions(jobs=300, warmup=50))
    done = ~np.isnan(records.completion_s)
    assert done.all()
    assert records.parts_s.min() >= 0
    np.testing.assert_allclose(records.parts_s.sum(axis=1), records.completion_time_s, rtol=1e-9)
    np.testing.assert_allclose(records.tally.parts_s.sum(), records.completion_time_s.sum(), rtol=1e-9)
    least = np.array([q.tasks.compute_s.min() for q in SYSTEM.queries])
    assert (records.parts_s[:, 0] >= 2 * least[records.query]).all()  # a root and a sink at the least
