"""The engine against a second simulator, which shares little with it."""

from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st
from reference_cases import PLAIN, PlainPlanner, plain_options, systems
from reference_instances import StandingPlatform
from reference_platform import ReferencePlatform
from serverless_cases import told
from sizes import examples, first

from nona.core.options import PolicyOption
from nona.queries.simulation.run import Cancelled
from nona.serverless.checks import run_checks
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.occupation import container_time
from nona.serverless.policies.base import ConfigurationPolicy, Service
from nona.serverless.policies.registry import get_policy

SECONDS = ("queued_s", "decided_s", "dispatched_s", "started_s", "search_s", "setup_s", "transfer_s")
SHIPPED = ("esg", "infless", "fast-gshare", "orion", "fixed")
EXACT = ("cold", "missed", "forced", "local", "steps", "slots", "gpu")
QUIET = {"suppress_health_check": list(HealthCheck)}


def both(system, policy, options, calls, replication=0):
    run = PlatformRunOptions(calls=calls, warmup=3, replication=replication)
    records = simulate_serverless(system, policy, options, run)
    return records, ReferencePlatform(system, policy, options, 3, calls, replication).run()


def compare(records, reference):
    calls, batches = records.calls, records.batches
    assert len(calls.application) == len(reference.calls)
    assert len(batches.application) == len(reference.batches)
    for number, batch in enumerate(reference.batches):
        where, queue = f"batch {number}", batch.queue
        own = (queue.application, queue.stage, batch.invoker, batch.configuration, len(batch.jobs))
        found = (batches.application, batches.stage, batches.invoker, batches.configuration, batches.jobs)
        assert tuple(int(column[number]) for column in found) == own, where
        exact = {name: getattr(batches, name)[number] for name in EXACT}
        assert exact == {name: batch.values[name] for name in EXACT}, where
        seconds = {name: getattr(batches, name)[number] for name in SECONDS}
        assert seconds == pytest.approx({name: batch.values[name] for name in SECONDS}, abs=1e-9), where
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


@pytest.mark.parametrize("feature", first(2, [None, "scarce", "shared_links", "paid_waits"]))
@given(data=st.data(), options=plain_options(), replication=st.integers(0, 1))
@examples(120, **QUIET)
def test_engine_and_second_platform_agree(feature, data, options, replication):
    system = data.draw(systems(**({feature: True} if feature else {})))
    records, reference = both(system, PLAIN, options, 60, replication)
    compare(records, reference)
    assert all(check.ok for check in run_checks(system, records))
    if feature == "paid_waits":
        found = container_time(system, records, records.containers)
        assert found.idle_usd == pytest.approx(reference.waiting_usd(), rel=1e-9, abs=1e-15)
    if feature == "scarce":
        assert records.containers.evicted.sum() == reference.containers.evictions


@pytest.mark.parametrize("name", SHIPPED)
@given(data=st.data(), everything=st.booleans())
@examples(20, **QUIET)
def test_they_agree_with_the_policies_that_ship(name, data, everything):
    features = dict.fromkeys(("shared_links", "paid_waits", "scarce"), everything)
    system = data.draw(systems(**features))
    records, reference = both(system, get_policy(name), {}, 60)
    compare(records, reference)
    assert all(check.ok for check in run_checks(system, records))


CALLS = 60
QUICK = {"standing": True, "scale_s": 0.3107, "window_s": 1.009}


class PlainScaler:
    """Starts and stops by rules without sense; batches wait as long as the number of their configuration."""

    every_s, window_s = 0.2503, 0.7019

    def __init__(self, possible, wait_s):
        self.possible, self.wait_s = possible, wait_s

    def service(self, application, stage, configuration):
        return Service(0.0, 2.0 + configuration % 3, self.wait_s * (configuration % 4))

    def _most(self, fleet):
        return sum(self.service(fleet.application, fleet.stage, c).most for c in fleet.standing)

    def excess(self, fleet):
        return fleet.rate - self._most(fleet)

    def ranked(self, application, stage, rate):
        start = 3 * application + 5 * stage + int(rate)
        return tuple(dict.fromkeys(self.possible[(start + 2 * k) % len(self.possible)] for k in range(3)))

    def stops(self, fleet):
        if self._most(fleet) < 1.5 * fleet.rate + 1:
            return ()
        return tuple(range(0, len(fleet.standing), 2))


class PlainStanding(PlainPlanner):
    def __init__(self, system, options):
        super().__init__(system, options)
        self.scaler = PlainScaler(self.possible, options["wait_s"])


STANDING = ConfigurationPolicy(
    name="plain",
    build=PlainStanding,
    settings={"places": PolicyOption(False, ""), "wait_s": PolicyOption(0.0, "")},
    **dict.fromkeys(("summary", "source", "adaptation"), ""),
)


def agree(system, policy, options, replication=0):
    run = PlatformRunOptions(calls=CALLS, warmup=3, replication=replication)
    records = simulate_serverless(system, policy, options, run)
    reference = StandingPlatform(system, policy, options, 3, CALLS, replication).run()
    compare(records, reference)
    found = records.instances
    assert found.of_batch.tolist() == [i.number for i in reference.served_by]
    assert len(found.started_s) == len(reference.instances)
    for n, own in enumerate(reference.instances):
        named = (own.queue.application, own.queue.stage, own.invoker, own.configuration, own.lease.gpu)
        columns = (found.application, found.stage, found.invoker, found.configuration, found.gpu)
        assert tuple(int(column[n]) for column in columns) == named, n
        assert (found.slots[n], found.cold[n], found.forced[n]) == (own.lease.slots, own.cold, own.forced), n
        for name in ("started_s", "ready_s", "ended_s"):
            assert getattr(found, name)[n] == pytest.approx(getattr(own, name), abs=1e-9, nan_ok=True), n
    assert [c for c in run_checks(system, records) if not c.ok] == []
    return records, reference


@pytest.mark.verify
@given(system=systems(), wait_s=st.sampled_from((0.0, 0.0303)), places=st.booleans(), run=st.integers(0, 1))
@examples(80, **QUIET)
def test_they_agree_where_instances_stand(system, wait_s, places, run):
    note(f"{system.sharing} {system.dispatch} {system.containers} noise={system.noise}")
    agree(system, STANDING, {"wait_s": wait_s, "places": places}, run)


@pytest.mark.parametrize("name", ["infless", "fast-gshare"])
@given(system=systems())
@examples(40, **QUIET)
def test_they_agree_with_the_instances_of_the_policies_that_ship(name, system):
    agree(system, get_policy(name), QUICK)


@given(system=systems(shared_links=True, paid_waits=True, scarce=True), places=st.booleans())
@examples(25, **QUIET)
def test_they_agree_with_shared_links_paid_waits_and_little_memory(system, places):
    records, reference = agree(system, STANDING, {"wait_s": 0.0303, "places": places})
    spent = container_time(system, records, records.containers)
    assert spent.idle_usd == pytest.approx(reference.waiting_usd(), abs=1e-12)


def test_the_cases_reach_what_they_are_for():
    """Some instances stop, some start cold, some batches are not full: else the tests above say little."""
    seen = {"stopped": 0, "cold": 0, "several": 0, "partial": 0}

    @given(system=systems())
    @examples(30, **QUIET)
    def look(system):
        records = simulate_serverless(
            system, STANDING, {"wait_s": 0.0303}, PlatformRunOptions(calls=CALLS, warmup=3)
        )
        of = records.instances
        seen["stopped"] += int(np.count_nonzero(~np.isnan(of.ended_s)))
        seen["cold"] += int(of.cold.sum())
        seen["several"] += len(of.started_s) > len(set(zip(of.application, of.stage, strict=True)))
        sizes = system.space.batch[records.batches.configuration]
        seen["partial"] += int(((records.batches.jobs < sizes) & (records.batches.jobs > 0)).sum())

    look()
    assert min(seen.values()) > 3


LONG = PlatformRunOptions(calls=150, warmup=20, snapshot_s=0.7)


@given(system=systems())
@examples(3, **QUIET)
def test_what_a_planner_raises_comes_out_and_progress_may_cancel(system):
    with pytest.raises(ZeroDivisionError):
        simulate_serverless(system, told(lambda ask: 1 / 0), {}, LONG)
    with pytest.raises(Cancelled):
        simulate_serverless(system, PLAIN, {}, LONG, Mock(side_effect=Cancelled))
