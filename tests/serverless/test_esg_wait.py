"""ESG that waits: only for what is cheaper and in time, and never for ever."""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import one_application, run, trace
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.gpu_sharing.pool import Configuration
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import Function, TableTimes, grid
from nona.serverless.policies.base import Ask
from nona.serverless.policies.esg.policy import EsgPlanner
from nona.serverless.policies.registry import get_policy
from tests.serverless.policy_cases import workflow_system

EXACT = {"slack_resolution": 0.0}
SPACE = grid([1, 2, 4], [1], [1])
#: Batches save: 1 job takes 0.3 s, 2 take 0.4 s, 4 take 0.6 s.
SAVING = TableTimes(dict(zip([Configuration(b, 1, 1) for b in (1, 2, 4)], (0.3, 0.4, 0.6), strict=True)))


def saving(slo_s: float, **others: object):  # type: ignore[no-untyped-def]
    """One stage whose batches save time."""
    return one_application([Function("f", SAVING)], slo_s=slo_s, space=SPACE, noise=0.0, **others)


@examples(80)
@given(st.integers(1, 5), st.floats(-0.1, 2.0), st.floats(0.0, 30.0), st.sampled_from([0.5, 1.0, 2.0]))
def test_it_waits_for_the_cheapest_batch_in_time(
    length: int, slack_s: float, rate: float, patience: float
) -> None:
    """By hand, for the one stage: 0.3 s, 0.2 s and 0.15 s a job for batches of 1, 2 and 4."""
    planner = get_policy("esg-wait").prepare(saving(2.0), {**EXACT, "patience": patience, "gain": 0.0})
    plan = planner.plan(Ask(0, 0, length, slack_s, rate=rate))
    batch_s = {1: 0.3, 2: 0.4, 4: 0.6}
    own = max(b for b in batch_s if b <= length)
    now = [b for b in batch_s if b <= own and batch_s[b] <= slack_s]
    later = [
        b
        for b in batch_s
        if b > length and rate > 0 and batch_s[b] <= slack_s - patience * (b - length) / rate - 1e-9
    ]
    best = min((*now, *later), key=lambda b: batch_s[b] / b, default=own)
    close = any(
        abs(batch_s[b] - slack_s + patience * (b - length) / rate) < 1e-6
        for b in batch_s
        if b > length and rate
    )
    if close or min(abs(s - slack_s) for s in batch_s.values()) < 1e-6:
        return
    if now and best > length and patience * (best - length) / rate >= 1e-3:
        assert (plan.ranked, plan.wait_for) == ((), best)
        assert plan.wait_s == pytest.approx(patience * (best - length) / rate)
    else:
        assert plan.ranked


def test_without_larger_batches_it_is_esg() -> None:
    system = workflow_system([0.2, 0.3], [(0, 1)], slo_s=0.7, space=grid([1], [1, 2], [1, 2]), noise=0.1)
    runs = [
        simulate_serverless(system, get_policy(n), {}, RunOptions(calls=80, warmup=5))
        for n in ("esg", "esg-wait")
    ]
    np.testing.assert_array_equal(runs[0].calls.completion_s, runs[1].calls.completion_s)
    np.testing.assert_array_equal(runs[0].batches.configuration, runs[1].batches.configuration)


def test_nobody_waits_for_ever() -> None:
    """Two calls close together promise a third, which does not come: the wait ends and the SLO is kept."""
    records = run(saving(1.0, arrivals=trace(0.0, 0.1, 0.2, 0.3, 0.4)), 5, get_policy("esg-wait"), stories=0)
    late = records.calls.completion_s - records.calls.arrival_s
    assert (late <= 1.0).all()
    assert records.batches.jobs.max() > 1


def test_it_is_marked_as_ours() -> None:
    policy = get_policy("esg-wait")
    assert "ours" in policy.title
    assert policy.source.startswith("ours")
    assert isinstance(policy.prepare(saving(1.0), {}), EsgPlanner)
