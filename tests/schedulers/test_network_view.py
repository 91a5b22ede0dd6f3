"""Schedulers see of the network what they declare and no more; the tests here can catch a cheat."""

from __future__ import annotations

import math
from dataclasses import replace

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

from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.simulation.run import RunOptions, simulate_run
from nona.system import Stream

FIELD_LEVEL = {
    "capacity": NetworkView.N1,
    "latency_s": NetworkView.N1,
    "past_transfer_s": NetworkView.N2,
    "link_promised_s": NetworkView.N3,
    "link_queue_bytes": NetworkView.N4,
}
SYSTEM = system_of([fork_join_chain("a", [3, 2], 1, rate=40.0), slides_query()], (0, 0, 1, 2, 3, 4))
PLACEMENT = random_placement(SYSTEM, 9)


def cheat(field: str, declared: NetworkView) -> Scheduler:
    """Reads ``field`` and binds accordingly, whatever it declares."""

    def decide(now, query, view, tables, u, out):
        value = getattr(view, field)
        out[:] = 0 if math.isnan(value) else int(value * 1e6) % len(view.executor_server)

    return Scheduler(
        "cheat", "bind", declared, "", "", "", decide, lambda system, placement, options: Prepared((), 1)
    )


def prepared_for(scheduler):
    return scheduler.prepare(SYSTEM, PLACEMENT if scheduler.needs_placement else None, {})


def scrambled(view, scheduler, rng):
    """The view with everything changed that the scheduler does not declare."""
    hidden = {f: float(rng.exponential(1e3)) for f, n in FIELD_LEVEL.items() if n > scheduler.network_view}
    if scheduler.network_view < NetworkView.N3:
        hidden["card_bytes_s"] = rng.exponential(1e9, len(view.card_bytes_s))
    if not (scheduler.reads_queues or scheduler.picks):
        hidden["queue_length"] = rng.integers(0, 9, len(view.queue_length))
        hidden["backlog_s"] = rng.exponential(1.0, len(view.backlog_s))
    return view._replace(**hidden)


def decision(scheduler, prepared, view, ready, query, u):
    if not scheduler.picks:
        out = np.full(len(SYSTEM.queries[query].tasks), -1, dtype=np.int64)
        scheduler.decide(0.0, query, view, prepared.tables, u, out)
        return out.tolist()
    out = np.full(2, -1, dtype=np.int64)
    return [bool(scheduler.decide(0.0, view, ready, prepared.tables, u, out)), *out.tolist()]


def decides_by_what_it_declares(scheduler, rounds=150) -> bool:
    rng = np.random.default_rng(17)
    prepared = prepared_for(scheduler)
    for i in range(rounds):
        view, ready = random_view(SYSTEM, rng, 2), random_ready(SYSTEM, rng)
        u = rng.random(prepared.uniforms_per_job)
        before = decision(scheduler, prepared, view, ready, i % 2, u)
        if decision(scheduler, prepared, scrambled(view, scheduler, rng), ready, i % 2, u) != before:
            return False
    return True


@pytest.mark.parametrize("name", scheduler_names())
def test_decisions_do_not_depend_on_what_is_above_the_declared_level(name):
    assert decides_by_what_it_declares(get_scheduler(name))


@pytest.mark.parametrize("field", FIELD_LEVEL)
def test_a_cheat_is_caught_at_every_level_and_an_honest_reader_is_not(field):
    level = FIELD_LEVEL[field]
    assert not decides_by_what_it_declares(cheat(field, NetworkView(level - 1)))
    assert decides_by_what_it_declares(cheat(field, level))


def test_reading_queues_without_saying_so_is_caught():
    d2 = get_scheduler("nona-d2")
    assert decides_by_what_it_declares(d2)
    assert not decides_by_what_it_declares(replace(d2, reads_queues=False))


# Whole runs: the live state of the network is changed, not only the view.

OTHER_NETWORKS = {
    "more background": {"background_network": Stream(600.0, 1e6, 4.0)},
    "no background": {"background_network": Stream()},
    "slower link": {"capacity": 4e8, "latency_s": 1e-3},
    "shared link": {"discipline": "processor-sharing"},
}


def recorded_run(system, scheduler, prepared, watch=None):
    """The decisions of a whole run, in order."""
    seen = []

    def bind(now, query, view, tables, u, out):
        scheduler.decide(now, query, view, tables, u, out)
        seen.append((query, *out[: len(system.queries[query].tasks)].tolist()))
        if watch:
            watch((now, query), view, (tables, u), out)

    def pick(now, view, ready, tables, u, out):
        said = scheduler.decide(now, view, ready, tables, u, out)
        seen.append((said, *out.tolist()))
        if watch:
            watch((now,), view, (ready, tables, u), out, said)
        return said

    spied = replace(scheduler, decide=pick if scheduler.picks else bind, takes_lists=False)
    simulate_run(system, spied, prepared, RunOptions(jobs=300, warmup=20))
    return seen


OBLIVIOUS = [n for n in scheduler_names() if not get_scheduler(n).picks and not get_scheduler(n).reads_queues]


@pytest.mark.parametrize("change", OTHER_NETWORKS)
@pytest.mark.parametrize("name", OBLIVIOUS)
def test_oblivious_schedulers_decide_alike_on_another_network(name, change):
    scheduler = get_scheduler(name)
    prepared = prepared_for(scheduler)
    before = recorded_run(SYSTEM, scheduler, prepared)
    after = recorded_run(replace(SYSTEM, **OTHER_NETWORKS[change]), scheduler, prepared)
    common = min(len(before), len(after))  # a slower network may need more arrivals to finish
    assert common >= 320
    assert before[:common] == after[:common]


def test_a_reader_of_the_live_link_decides_otherwise_on_another_network_unless_it_is_hidden():
    reader = cheat("link_queue_bytes", NetworkView.N4)
    prepared = prepared_for(reader)
    busier = replace(SYSTEM, **OTHER_NETWORKS["more background"])
    assert recorded_run(SYSTEM, reader, prepared)[:320] != recorded_run(busier, reader, prepared)[:320]
    hidden = cheat("link_queue_bytes", NetworkView.N3)
    assert recorded_run(SYSTEM, hidden, prepared)[:320] == recorded_run(busier, hidden, prepared)[:320]


@pytest.mark.parametrize("name", scheduler_names())
def test_in_a_run_hidden_fields_are_nan_and_do_not_matter(name):
    scheduler = get_scheduler(name)
    rng = np.random.default_rng(4)
    calls = 0

    def watch(before, view, after, out, said=None):
        nonlocal calls
        calls += 1
        for field, level in FIELD_LEVEL.items():
            assert math.isnan(getattr(view, field)) == (level > scheduler.network_view)
        again = np.full_like(out, -1)
        answer = scheduler.decide(*before, scrambled(view, scheduler, rng), *after, again)
        assert answer == said
        decided = again != -1
        assert again[decided].tolist() == out[decided].tolist()

    recorded_run(SYSTEM, scheduler, prepared_for(scheduler), watch)
    assert calls >= 320
