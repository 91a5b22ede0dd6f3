"""Containers against a naive model that looks at a list of all containers at every instant."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.scenario.serverless import ContainersSpec
from nona.serverless.containers import Containers

COLD = 3.0
Event = tuple[float, int, int]  # time, 0: container due, 1: batch, and how long it runs


@dataclass
class One:
    """A container of the naive model: idle from ``since`` on, while no batch has it."""

    since: float
    busy: bool = False


def naive_cold_starts(spec: ContainersSpec, batches: list[Event]) -> list[bool]:
    """Every instant at which something may happen is visited; all containers are looked at each time."""
    every = [One(0.0) for _ in range(spec.warm)]
    ends: list[tuple[float, One]] = []
    found = []
    for at, _, length in batches:
        for container in [c for end, c in ends if end <= at]:
            container.busy = False
        ends = [(end, c) for end, c in ends if end > at]
        every = [c for c in every if c.busy or c.since > at or c.since + spec.keep_alive >= at]
        idle = [c for c in every if not c.busy and c.since <= at]
        found.append(not idle)
        used = max(idle, key=lambda c: c.since) if idle else One(at)
        if not idle:
            every.append(used)
        used.busy, used.since = True, at + length
        ends.append((at + length, used))
        waiting = [c for c in every if not c.busy]
        if spec.prewarm == "spare" and len(waiting) < spec.spare:
            every.append(One(at + COLD))
    return found


def cold_starts(spec: ContainersSpec, batches: list[Event]) -> tuple[list[bool], int]:
    """The same by the event loop that the engine has; also the most events that waited at once."""
    kept = Containers(spec, [COLD], 1)
    heap: list[tuple[float, int, float]] = [(t, 2, 0.0) for t, _, _ in kept.begin()]
    for at, _, length in batches:
        heappush(heap, (at, 1, float(length)))
    found, most = [], 0
    while heap:
        now, kind, length = heappop(heap)
        if kind == 1:
            cold, times = kept.take(0, 0, now)
            found.append(cold)
            heappush(heap, (now + length, 0, 0.0))
        else:
            times = kept.give_back(0, 0, now) if kind == 0 else kept.due(0, 0, now)
        for time in times:
            heappush(heap, (time, 2, 0.0))
        most = max(most, sum(k == 2 for _, k, _ in heap))
    return found, most


@given(
    gaps=st.lists(st.tuples(st.integers(0, 14), st.integers(1, 9)), min_size=1, max_size=25),
    warm=st.integers(0, 2),
    spare=st.integers(0, 2),
    keep_alive=st.sampled_from([2.25, 5.25, 20.25]),
)
@examples(100)
def test_cold_starts_as_in_a_list_of_all_containers(
    gaps: list[tuple[int, int]], warm: int, spare: int, keep_alive: float
) -> None:
    prewarm = "spare" if spare else "none"
    spec = ContainersSpec.model_validate(
        {"warm": warm, "prewarm": prewarm, "spare": max(1, spare), "keep_alive": keep_alive}
    )
    batches, now = [], 0.0
    for number, (gap, length) in enumerate(gaps):
        now += gap + 2**-20  # no two batches at one instant, no container ready as one comes
        batches.append((now, number, length))
    assert cold_starts(spec, batches)[0] == naive_cold_starts(spec, batches)


def test_looking_for_expiries_takes_one_event_at_a_time() -> None:
    spec = ContainersSpec(warm=0, prewarm="none", keep_alive=100.0)
    found, most = cold_starts(spec, [(float(t), t, 1) for t in range(0, 60, 2)])
    assert (found.count(True), most) == (1, 1)


def _idle_at(kept: Containers, times: tuple[float, ...], now: float) -> int:
    """Containers idle at ``now`` when :meth:`due` is called at every instant that was asked for."""
    waiting = sorted(times)
    while waiting and waiting[0] <= now:
        waiting = sorted([*waiting[1:], *kept.due(0, 0, waiting[0])])
    return kept.idle(0, 0)


@pytest.mark.parametrize(
    ("keep_alive", "gap", "ready"),
    [
        (1.0, 20.0, 40.0),  # the container goes at 22; the prediction is 20 after the last batch at 20
        (16.0, 20.0, 40.0),  # it goes at 37, and a cold start just takes until 40
        (18.0, 20.0, 42.0),  # it goes at 39: as soon as it can be
        (25.0, 20.0, None),  # it goes at 46, when the prediction has passed
    ],
)
def test_a_container_is_ready_for_the_predicted_call(
    keep_alive: float, gap: float, ready: float | None
) -> None:
    spec = ContainersSpec(warm=0, prewarm="ewma", keep_alive=keep_alive)
    kept = Containers(spec, [COLD], 1)
    times: tuple[float, ...] = ()
    for now in (0.0, gap):
        kept.take(0, 0, now)
        _idle_at(kept, times, now)
        times = kept.give_back(0, 0, now + 1.0)
    gone = gap + 1.0 + keep_alive
    after = kept.due(0, 0, gone)
    assert kept.idle(0, 0) == 0
    assert after == (() if ready is None else (ready,))
    if ready is not None:
        assert kept.due(0, 0, ready) == (ready + keep_alive,)
        assert kept.idle(0, 0) == 1
        assert kept.due(0, 0, ready + keep_alive) == ()  # it was not needed, and no other follows
        assert kept.idle(0, 0) == 0


def test_the_mean_of_gaps_is_weighted() -> None:
    spec = ContainersSpec(warm=0, prewarm="ewma", keep_alive=8.5, ewma_weight=0.25)
    kept = Containers(spec, [0.0], 1)
    found = []
    for now in (0.0, 8.0, 20.0):
        found.append(kept.take(0, 0, now)[0])
        kept.give_back(0, 0, now)
        after = kept.due(0, 0, now + 8.5) if now else ()
    assert found == [True, False, True]
    assert after == (20.0 + 0.25 * 12 + 0.75 * 8,)
