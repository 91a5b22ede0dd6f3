"""The engine and a second simulator, written from the description, leave equal calls and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st
from reference_cases import MODES, PLAIN, plain_options, systems
from reference_platform import ReferencePlatform
from sizes import examples

from nona.serverless.checks import run_checks
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.held import container_time
from nona.serverless.policies.base import Policy
from nona.serverless.policies.registry import get_policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import ServerlessSystem

SECONDS = ("queued_s", "decided_s", "dispatched_s", "started_s", "search_s", "setup_s", "transfer_s")
SHIPPED = ("esg", "esg-wait", "infless", "fast-gshare", "orion")
EXACT = ("cold", "missed", "forced", "local", "steps", "slots", "gpu")
QUIET = {"suppress_health_check": list(HealthCheck)}


def both(
    system: ServerlessSystem, policy: Policy, options: dict[str, Any], calls: int, replication: int = 0
) -> tuple[ServerlessRecords, ReferencePlatform]:
    run = RunOptions(calls=calls, warmup=3, replication=replication)
    records = simulate_serverless(system, policy, options, run)
    return records, ReferencePlatform(system, policy, options, 3, calls, replication).run()


def compare(records: ServerlessRecords, reference: ReferencePlatform) -> None:
    calls, batches = records.calls, records.batches
    assert len(calls.application) == len(reference.calls)
    assert len(batches.application) == len(reference.batches)
    for number, batch in enumerate(reference.batches):
        where = f"batch {number}"
        own = (
            batch.queue.application,
            batch.queue.stage,
            batch.invoker,
            batch.configuration,
            len(batch.jobs),
        )
        found = (batches.application, batches.stage, batches.invoker, batches.configuration, batches.jobs)
        assert tuple(int(column[number]) for column in found) == own, where
        for name in EXACT:
            assert getattr(batches, name)[number] == batch.values[name], f"{where}: {name}"
        for name in SECONDS:
            assert getattr(batches, name)[number] == pytest.approx(batch.values[name], abs=1e-9), (
                f"{where}: {name}"
            )
        assert batches.ended_s[number] == pytest.approx(batch.ended_s, abs=1e-9, nan_ok=True), where
    for call in reference.calls:
        where = f"call {call.number}"
        assert calls.application[call.number] == call.application, where
        assert calls.arrival_s[call.number] == pytest.approx(call.arrival_s, abs=1e-9), where
        assert calls.completion_s[call.number] == pytest.approx(call.completion_s, abs=1e-9, nan_ok=True)
        assert calls.dropped_s[call.number] == pytest.approx(call.dropped_s, abs=1e-9, nan_ok=True), where
        served = {s: int(b) for s, b in enumerate(calls.batch[call.number]) if b >= 0}
        assert served == {s: b.number for s, b in call.batch.items()}, where
    assert np.count_nonzero(calls.measured) == reference.window[1] - reference.window[0]


@given(system=systems(), options=plain_options(), replication=st.integers(0, 1))
@examples(120, **QUIET)
def test_engine_and_second_platform_agree(
    system: ServerlessSystem, options: dict[str, Any], replication: int
) -> None:
    note(f"{system.sharing} {system.dispatch} {system.containers} noise={system.noise}")
    compare(*both(system, PLAIN, options, 60, replication))


@given(system=systems(shared_links=True), options=plain_options(), replication=st.integers(0, 1))
@examples(120, **QUIET)
def test_they_agree_when_transfers_share_links(
    system: ServerlessSystem, options: dict[str, Any], replication: int
) -> None:
    records, reference = both(system, PLAIN, options, 60, replication)
    compare(records, reference)
    assert all(check.ok for check in run_checks(system, records))


@given(system=systems(paid_waits=True), options=plain_options(), replication=st.integers(0, 1))
@examples(120, **QUIET)
def test_they_agree_on_what_waiting_containers_cost(
    system: ServerlessSystem, options: dict[str, Any], replication: int
) -> None:
    records, reference = both(system, PLAIN, options, 60, replication)
    compare(records, reference)
    assert all(check.ok for check in run_checks(system, records))
    assert records.containers is not None
    found = container_time(system, records, records.containers)
    assert found.idle_usd == pytest.approx(reference.waiting_usd(), rel=1e-9, abs=1e-15)


@given(system=systems(scarce=True), options=plain_options(), replication=st.integers(0, 1))
@examples(120, **QUIET)
def test_they_agree_when_memory_is_scarce(
    system: ServerlessSystem, options: dict[str, Any], replication: int
) -> None:
    records, reference = both(system, PLAIN, options, 60, replication)
    compare(records, reference)
    assert all(check.ok for check in run_checks(system, records))
    assert records.containers is not None
    assert records.containers.evicted.sum() == reference.containers.evictions


@given(system=systems(shared_links=True, paid_waits=True, scarce=True), policy=st.sampled_from(SHIPPED))
@examples(30, **QUIET)
def test_they_agree_with_all_of_it_under_the_policies_that_ship(
    system: ServerlessSystem, policy: str
) -> None:
    records, reference = both(system, get_policy(policy), {}, 60)
    compare(records, reference)
    assert all(check.ok for check in run_checks(system, records))


@pytest.mark.parametrize("name", SHIPPED)
@given(system=systems())
@examples(15, **QUIET)
def test_they_agree_with_the_policies_that_ship(name: str, system: ServerlessSystem) -> None:
    compare(*both(system, get_policy(name), {}, 60))


@pytest.mark.parametrize("mode", sorted(set(MODES)))
@given(data=st.data())
@examples(4, **QUIET)
def test_they_agree_with_every_way_of_sharing(mode: str, data: st.DataObject) -> None:
    system = data.draw(systems(modes=(mode,)))
    compare(*both(system, get_policy("fixed"), {}, 60))
