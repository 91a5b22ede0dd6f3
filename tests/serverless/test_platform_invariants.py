"""What must hold of every run of every policy, whatever the system; judged from the records anew."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from reference_cases import MODES, PLAIN, plain_options, systems
from sizes import examples

from nona.gpu_sharing.registry import WAYS
from nona.scenario.serverless import SharingSpec
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import grid
from nona.serverless.metrics import summarise
from nona.serverless.policies.registry import get_policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import HOUR_S, ServerlessSystem

POLICIES = ("esg", "esg-wait", "infless", "fast-gshare", "orion", "fixed")
QUIET = {"suppress_health_check": list(HealthCheck)}
RUN = RunOptions(calls=60, warmup=3)


def held(records: ServerlessRecords) -> list[tuple[float, float, int]]:
    """(from, until, batch) of everything that was held."""
    of = records.batches
    return [
        (float(begin), records.stopped_s if math.isnan(end) else float(end), number)
        for number, (begin, end) in enumerate(zip(of.dispatched_s, of.ended_s, strict=True))
    ]


def check_resources(system: ServerlessSystem, records: ServerlessRecords) -> None:
    """At the dispatch of every batch: all that is held then, added up by invoker and by GPU."""
    of, space, spans = records.batches, system.space, held(records)
    soft = WAYS[system.sharing.mode].oversubscribes
    over = system.sharing.oversubscription if soft else 1.0
    for begin, _, number in spans:
        node = system.invokers[of.invoker[number]]
        here = [
            n for b, e, n in spans if b <= begin < e and of.invoker[n] == of.invoker[number] and n <= number
        ]
        assert sum(space[of.configuration[n]].vcpus for n in here) <= node.vcpus
        on_gpu = [n for n in here if of.gpu[n] == of.gpu[number]]
        assert sum(space[of.configuration[n]].vgpus for n in on_gpu) <= over * node.vgpus
        assert 0 <= of.gpu[number] < node.gpus
        for n in on_gpu:
            assert n == number or not int(of.slots[n]) & int(of.slots[number])


def check_calls(system: ServerlessSystem, records: ServerlessRecords) -> None:
    """Every call is complete in order, dropped or in flight; a batch's jobs are the calls that name it."""
    calls, of = records.calls, records.batches
    named = np.zeros(len(of.jobs), dtype=int)
    for number, app_number in enumerate(calls.application):
        app = system.applications[app_number]
        batches = calls.batch[number, : app.stages]
        for stage, batch in enumerate(batches):
            if batch < 0:
                continue
            named[batch] += 1
            assert (of.application[batch], of.stage[batch]) == (app_number, stage)
            for before in app.dag.predecessors[stage]:
                assert of.ended_s[batches[before]] <= of.dispatched_s[batch]
            assert of.dispatched_s[batch] >= calls.arrival_s[number]
        last = max((of.ended_s[b] if b >= 0 else math.nan) for b in batches)
        whole = all(b >= 0 and not math.isnan(of.ended_s[b]) for b in batches)
        assert math.isnan(calls.completion_s[number]) != whole
        if whole:
            assert calls.completion_s[number] == last
        if not math.isnan(calls.dropped_s[number]):
            assert system.dispatch.late == "drop"
            assert not whole
    assert named.tolist() == of.jobs.tolist()
    assert (of.jobs <= system.space.batch[of.configuration]).all()
    summary = summarise(system, [records])
    assert summary.arrived == RUN.calls == summary.completed + summary.dropped + summary.in_flight


def check_money(system: ServerlessSystem, records: ServerlessRecords) -> None:
    """Σ over batches of what they hold · price · how long = Σ over calls of their shares of batches."""
    calls, of, prices = records.calls, records.batches, system.prices
    vcpus, vgpus = system.space.vcpus[of.configuration], system.space.vgpus[of.configuration]
    if WAYS[
        system.sharing.mode
    ].fixed_layout:  # the whole slice is paid; a slice of this layout has as many bits
        vgpus = np.array([int(bits).bit_count() for bits in of.slots], dtype=int)
    rate = vcpus * prices.vcpu_hour + vgpus * prices.vgpu_hour
    cost = (of.ended_s - of.dispatched_s) * rate / HOUR_S
    ended = ~np.isnan(cost)
    shares = sum(float(cost[b] / of.jobs[b]) for row in calls.batch for b in row if b >= 0 and ended[b])
    assert shares == pytest.approx(float(cost[ended].sum()))
    measured = [[cost[b] / of.jobs[b] for b in row if b >= 0] for row in calls.batch[calls.measured]]
    if not np.isnan(calls.completion_s[calls.measured]).any():  # nor is one dropped
        mean = sum(map(sum, measured)) / RUN.calls
        assert summarise(system, [records]).cost_per_call_usd.mean == pytest.approx(float(mean))


@given(system=systems(), policy=st.sampled_from(POLICIES))
@examples(60, **QUIET)
def test_resources_calls_and_money_add_up(system: ServerlessSystem, policy: str) -> None:
    records = simulate_serverless(system, get_policy(policy), {}, RUN)
    check_resources(system, records)
    check_calls(system, records)
    check_money(system, records)


@pytest.mark.parametrize("mode", sorted(set(MODES)))
@given(data=st.data())
@examples(12, **QUIET)
def test_they_add_up_with_a_policy_that_asks_for_anything(mode: str, data: st.DataObject) -> None:
    system = data.draw(systems(modes=(mode,)))
    records = simulate_serverless(system, PLAIN, data.draw(plain_options()), RUN)
    check_resources(system, records)
    check_calls(system, records)
    check_money(system, records)


def lived(records: ServerlessRecords) -> tuple[Any, ...]:
    """All that does not say which slice of a GPU was held."""
    of = records.batches
    columns = [
        of.application,
        of.stage,
        of.invoker,
        of.configuration,
        of.jobs,
        of.dispatched_s,
        of.ended_s,
        of.cold,
    ]
    return (records.calls.completion_s.tolist(), *(c.tolist() for c in columns))


@given(
    system=systems(modes=("mig-counter",)),
    vgpus=st.sampled_from(((1,), (7,))),
    options=plain_options(),
)
@examples(25, **QUIET)
def test_geometry_is_the_counter_where_slices_always_fit(
    system: ServerlessSystem, vgpus: tuple[int, ...], options: dict[str, Any]
) -> None:
    sizes = sorted({c.batch for c in system.space.configurations})
    cpus = sorted({c.vcpus for c in system.space.configurations})
    counter = replace(system, space=grid(sizes, cpus, vgpus))
    sharing = SharingSpec(mode="mig-geometry", reconfiguration=0.0)
    runs = [
        lived(simulate_serverless(s, PLAIN, options, RUN))
        for s in (counter, replace(counter, sharing=sharing))
    ]
    np.testing.assert_equal(runs[0], runs[1])
