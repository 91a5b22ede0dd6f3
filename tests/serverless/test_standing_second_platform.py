"""Standing instances: the engine and a second simulator leave equal calls, batches and instances."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from reference_cases import MODES, PlainPlanner, systems
from reference_instances import StandingPlatform
from sizes import examples
from test_second_platform import QUIET, compare

from nona.serverless.checks import run_checks
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.held import container_time
from nona.serverless.policies.base import Fleet, Policy, Service
from nona.serverless.policies.registry import get_policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import ServerlessSystem

CALLS = 60
QUICK = {"standing": True, "scale_s": 0.3107, "window_s": 1.009}


class PlainScaler:
    """Starts and stops by rules without sense; batches wait as long as the number of their configuration."""

    every_s, window_s = 0.2503, 0.7019

    def __init__(self, possible: list[int], wait_s: float) -> None:
        self.possible, self.wait_s = possible, wait_s

    def service(self, application: int, stage: int, configuration: int) -> Service:
        return Service(0.0, 2.0 + configuration % 3, self.wait_s * (configuration % 4))

    def _most(self, fleet: Fleet) -> float:
        return sum(self.service(fleet.application, fleet.stage, c).most for c in fleet.standing)

    def excess(self, fleet: Fleet) -> float:
        return fleet.rate - self._most(fleet)

    def ranked(self, application: int, stage: int, rate: float) -> tuple[int, ...]:
        start = 3 * application + 5 * stage + int(rate)
        return tuple(dict.fromkeys(self.possible[(start + 2 * k) % len(self.possible)] for k in range(3)))

    def stops(self, fleet: Fleet) -> tuple[int, ...]:
        if self._most(fleet) < 1.5 * fleet.rate + 1:
            return ()
        return tuple(range(0, len(fleet.standing), 2))


class PlainStanding(PlainPlanner):
    """The plain planner, with that scaler."""

    def __init__(self, system: ServerlessSystem, options: Mapping[str, Any]) -> None:
        super().__init__(system, options)
        self.scaler = PlainScaler(self.possible, options["wait_s"])


def _prepare(system: ServerlessSystem, options: Mapping[str, Any]) -> PlainStanding:
    return PlainStanding(system, {"places": False, **options})


PLAIN = Policy("plain", "Plain", "", "", "", _prepare, {}, MappingProxyType({}))


def agree(
    system: ServerlessSystem, policy: Policy, options: dict[str, Any], replication: int = 0
) -> tuple[ServerlessRecords, StandingPlatform]:
    run = RunOptions(calls=CALLS, warmup=3, replication=replication)
    records = simulate_serverless(system, policy, options, run)
    reference = StandingPlatform(system, policy, options, 3, CALLS, replication).run()
    compare(records, reference)
    found = records.instances
    assert found is not None
    assert found.of_batch.tolist() == [i.number for i in reference.served_by]
    assert len(found.started_s) == len(reference.instances)
    for n, own in enumerate(reference.instances):
        named = (own.queue.application, own.queue.stage, own.invoker, own.configuration, own.lease.gpu)
        columns = (found.application, found.stage, found.invoker, found.configuration, found.gpu)
        assert tuple(int(column[n]) for column in columns) == named, n
        assert (found.slots[n], found.cold[n], found.forced[n]) == (own.lease.slots, own.cold, own.forced), n
        for column, value in (
            (found.started_s, own.started_s),
            (found.ready_s, own.ready_s),
            (found.ended_s, own.ended_s),
        ):
            assert column[n] == pytest.approx(value, abs=1e-9, nan_ok=True), n
    failed = [c for c in run_checks(system, records) if not c.ok]
    assert failed == []
    return records, reference


@given(system=systems(), wait_s=st.sampled_from((0.0, 0.0303)), places=st.booleans(), run=st.integers(0, 1))
@examples(80, **QUIET)
def test_engine_and_second_platform_agree(
    system: ServerlessSystem, wait_s: float, places: bool, run: int
) -> None:
    note(f"{system.sharing} {system.dispatch} {system.containers} noise={system.noise}")
    agree(system, PLAIN, {"wait_s": wait_s, "places": places}, run)


@pytest.mark.parametrize("name", ["infless", "fast-gshare"])
@given(system=systems())
@examples(40, **QUIET)
def test_they_agree_with_the_policies_that_ship(name: str, system: ServerlessSystem) -> None:
    agree(system, get_policy(name), QUICK)


@pytest.mark.parametrize("mode", sorted(set(MODES)))
@given(data=st.data())
@examples(5, **QUIET)
def test_they_agree_with_every_way_of_sharing(mode: str, data: st.DataObject) -> None:
    agree(data.draw(systems(modes=(mode,))), PLAIN, {"wait_s": 0.0303})


@given(system=systems(shared_links=True, paid_waits=True, scarce=True), places=st.booleans())
@examples(25, **QUIET)
def test_they_agree_with_shared_links_paid_waits_and_little_memory(
    system: ServerlessSystem, places: bool
) -> None:
    records, reference = agree(system, PLAIN, {"wait_s": 0.0303, "places": places})
    assert records.containers is not None
    spent = container_time(system, records, records.containers)
    assert spent.idle_usd == pytest.approx(reference.waiting_usd(), abs=1e-12)


def test_the_cases_reach_what_they_are_for() -> None:
    """Some instances stop, some start cold, some batches are not full: else the tests above say little."""
    seen = {"stopped": 0, "cold": 0, "several": 0, "partial": 0}

    @given(system=systems())
    @examples(30, **QUIET)
    def look(system: ServerlessSystem) -> None:
        records = simulate_serverless(system, PLAIN, {"wait_s": 0.0303}, RunOptions(calls=CALLS, warmup=3))
        of = records.instances
        assert of is not None
        seen["stopped"] += int(np.count_nonzero(~np.isnan(of.ended_s)))
        seen["cold"] += int(of.cold.sum())
        seen["several"] += len(of.started_s) > len(set(zip(of.application, of.stage, strict=True)))
        sizes = system.space.batch[records.batches.configuration]
        seen["partial"] += int(((records.batches.jobs < sizes) & (records.batches.jobs > 0)).sum())

    look()
    assert min(seen.values()) > 3
