"""The engines leave the same records, bit for bit; plain loops complete jobs at the same instants."""

import math
import shutil
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import simulation_cases as cases
from drawn_systems import batched, closed, linked, pooled, systems
from hypothesis import assume, given
from hypothesis import strategies as st
from sizes import examples, sized

from benchmarks import fork_join
from benchmarks.c_loop import CLoop
from benchmarks.heap_loop import HeapLoop
from nona.cluster.topology import make_topology
from nona.core.errors import SimulationError
from nona.models.decomposition import decompose
from nona.queries.placement.capacity import executor_utilization
from nona.queries.placement.fixed import place_fixed
from nona.queries.placement.result import Placement
from nona.queries.placement.results import Prediction
from nona.queries.schedulers.base import NetworkView, NoTables, SchedulerTables
from nona.queries.schedulers.registry import get_scheduler, scheduler_names
from nona.queries.simulation.compiled import core
from nona.queries.simulation.compiled import engine as compiled_engine
from nona.queries.simulation.compiled.events import jobs, loop
from nona.queries.simulation.reference.jobs import JobIntervals
from nona.queries.simulation.reference.kernel import Environment
from nona.queries.simulation.reference.links import SharedLink
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.simulation.workload import Output
from nona.queries.system import BackgroundStream, Batching
from nona.scenario.arrivals import Arrivals
from tests.core.filled import filled

ENGINES = ("simpy", "compiled")


def run(system, made, engine, **options):
    return simulate_run(system, *made, RunOptions(engine=engine, **options))


def compare(system, made, **options):
    """Run on both engines; all that is recorded must be equal. Returns the compiled engine's records."""
    slow, fast = (run(system, made, engine, **options) for engine in ENGINES)
    assert (slow.engine, fast.engine) == ENGINES
    np.testing.assert_array_equal(fast.completion_s, slow.completion_s)
    assert fast.timeline == slow.timeline
    assert fast.digest() == slow.digest()
    assert [c.name for c in fast.checks if not c.ok] == []
    assert fast.executor_busy_s.max() <= (fast.window_s[1] - fast.window_s[0]) * (1 + 1e-9)
    return fast


class Draws(NamedTuple):
    """A table, so that the policy below can be compiled."""

    tasks: np.ndarray


def by_bits(now, query, view, tables, u, out):
    """Bind by all that the view shows: one bit that differs anywhere leads elsewhere."""
    seen = 1e3 * view.past_transfer_s + 7e2 * view.link_promised_s + 3.1 * view.link_queue_bytes
    for e in range(len(view.queue_length)):
        seen += (e + 1) * 0.37 * view.queue_length[e] + 11.0 * view.backlog_s[e]
    for t in range(tables.tasks[query]):
        out[t] = int(seen * (t + 1) * 1e3) % len(view.executor_server)


def sharp_eyed(system):
    sees = {"network_view": NetworkView.N4, "reads_queues": True, "takes_lists": False}
    made = replace(get_scheduler("random"), decide=by_bits, **sees)
    return made, SchedulerTables(Draws(np.array([len(q.tasks) for q in system.queries])), 0)


def registered(name, **options):
    """Of the registry; rounds are short, and a placement splits all it can and predicts nothing."""
    chosen = get_scheduler(name)
    if chosen.kind == "allocate":
        options["round_s"] = 20.0

    def make(system):
        cut = tuple(replace(q, decomposition=decompose(q.tasks.dag)) for q in system.queries)
        system = replace(system, queries=cut)
        queries = tuple(place_fixed(system, q, "spread") for q in cut)
        nothing = filled(Prediction)
        placement = Placement(queries, nothing, "spread", 0.0) if chosen.needs_placement else None
        return chosen, chosen.prepare(system, placement, options)

    return make


COMPILED = {
    **{name: registered(name) for name in scheduler_names()},
    "sparrow, every task 30 ms late": registered("sparrow", round_trip_s=0.03, d=3),
    "all that the view shows": sharp_eyed,
}
PYTHON = {
    "shortest queue, in Python": lambda system: cases.shortest_queue(),
    "drawn, in Python": lambda system: cases.first_fit(drawn=True),
    "capped, in Python": lambda system: cases.newest_capped(1),
}
DRAWN = {
    (kind, grid): draw
    for grid in (False, True)
    for kind, draw in (
        ("fifo", systems(grid, "fifo")),
        ("linked", linked(grid)),
        ("shared", systems(grid, "processor-sharing")),
    )
}
BATCHED = [batched(draw, grid) for (_, grid), draw in DRAWN.items()]
POOLED = [pooled(st.one_of(draw, batched(draw, grid)), grid) for (_, grid), draw in DRAWN.items()]
CLOSED = [closed(st.one_of(draw, batched(draw, grid)), grid) for (_, grid), draw in DRAWN.items()]
CLOSED_POOLED = [closed(pooled(draw, grid), grid) for (_, grid), draw in DRAWN.items()]


def busy(rate=3.0, **changes):
    """Forks on eight executors of four servers, with background everywhere."""
    fields = {
        "latency_s": 0.01,
        "background_compute": BackgroundStream(0.5, 0.2, 1.0),
        "background_network": BackgroundStream(2.0, 0.1, 1.0),
    }
    fork = cases.query(cases.FORK, rate, 0.5, name="fork")
    return cases.make_system(fork, servers=(0, 0, 1, 1, 2, 2, 3, 3), **(fields | changes))


def all_features(discipline):
    """Two executor classes, constant and drawn services, bursts and a trace; racks and cards where fifo."""
    slow = cases.task_graph(
        [cases.FORK.compute_s[0], 1.5 * cases.FORK.compute_s[0]], [(0, [1, 2, 3], 0.05), (1, [4], 0.02)]
    )
    trace = Arrivals("trace", times_s=(0.0, 0.4, 0.4, 1.7, 3.0), scale_to_rate=False)
    queries = (
        cases.query(slow, 0.8, 0.5, Arrivals("gamma", cv=2.0), "bursts"),
        cases.query(cases.task_graph([[0.2], [0.4]]), 1.0, 0.0, trace, "trace"),
    )
    changes = {"discipline": discipline, "queries": queries, "class_names": ("x", "y")}
    if discipline == "fifo":
        changes["topology"] = make_topology(4, 1.0, nic=0.5, rack_size=2, uplink=0.7)
    return busy(executor_class=np.array([0, 1] * 4), **changes)


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("name", COMPILED)
def test_one_system_with_all_features(name, discipline):
    system = all_features(discipline)
    options = {"jobs": 120, "warmup": 20, "timeline_jobs": 20, "replication": 1, "record_jobs": 60}
    assert compare(system, COMPILED[name](system), **options).decisions == "machine code"


@pytest.mark.parametrize("name", [*COMPILED, *PYTHON])
@examples(60)
@given(st.one_of(*DRAWN.values(), *BATCHED), st.booleans())
def test_random_systems(name, system, run_on):
    alone = system.topology is not None and len(set(system.executor_server.tolist())) == 1
    assume(name != "expert" or not alone)  # its prediction takes it that parts can go to another server
    background, queries = executor_utilization(system)
    if name.startswith("decima") and background + max(queries) > 0.9:
        return  # in Python it scores every ready task for every executor: minutes where queues grow
    made = (COMPILED | PYTHON)[name](system)
    compare(system, made, jobs=40, warmup=5, timeline_jobs=10, run_on=run_on)


@pytest.mark.parametrize("name", [*COMPILED, *PYTHON])
@examples(20)
@given(st.one_of(*CLOSED), st.booleans())
def test_random_closed_loops(name, system, run_on):
    alone = system.topology is not None and len(set(system.executor_server.tolist())) == 1
    assume(name != "expert" or not alone)
    compare(system, (COMPILED | PYTHON)[name](system), jobs=40, warmup=5, timeline_jobs=10, run_on=run_on)


@pytest.mark.parametrize("name", ["random", "nona", "least-loaded", "nona-live", "gavel", "jsq-d"])
@examples(150)
@given(st.one_of(*POOLED, *CLOSED_POOLED), st.booleans())
def test_random_pools(name, system, run_on):
    compare(system, COMPILED[name](system), jobs=40, warmup=5, timeline_jobs=10, run_on=run_on)


def test_of_messages_of_one_instant_both_engines_follow_the_same():
    """Task 1 has waited behind the second job, so at 2 s it sends after task 2; the larger number counts."""
    graph = cases.task_graph([[1.0, 0.0, 2.0, 1.0]], [(0, [1], 0.0), (1, [3], 0.0), (2, [3], 0.0)])
    both = Arrivals("trace", times_s=(0.0, 0.0, 99.0), scale_to_rate=False)
    system = cases.make_system(cases.query(graph, 1.0, 0.0, both), servers=(0, 1, 2), latency_s=0.0)
    records = compare(system, cases.fixed([0, 0, 1, 2]), jobs=2, warmup=0, run_on=False)
    assert records.parts_s[0].tolist() == [3.0, 0.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_a_task_joins_in_the_order_of_the_largest_number_that_one_instant_brings(discipline):
    """At 2 s the byte that task 0 sent reaches task 2, then task 1 sends nothing to 2 and to 3, at once."""
    graph = cases.task_graph([[1.0, 2.0, 1.0, 1.0]], [(1, [2], 0.0), (1, [3], 0.0), (0, [2], 1.0)])
    once = Arrivals("trace", times_s=(0.0, 99.0), scale_to_rate=False)
    query = cases.query(graph, 1.0, 0.0, once)
    system = cases.make_system(query, servers=(0, 1, 2), latency_s=0.0, discipline=discipline)
    records = compare(system, cases.fixed([0, 1, 2, 2]), jobs=1, warmup=0, timeline_jobs=1)
    assert {i.task: i.start_s for i in records.timeline.tasks} == {0: 0.0, 1: 0.0, 3: 2.0, 2: 3.0}
    assert records.parts_s[0].tolist() == [2.0, 1.0, 0.0, 0.0, 1.0, 0.0]


def test_members_of_a_batch_that_are_picked_together_join_when_their_last_message_is_there():
    """Both wait for a message that takes no time: of job 0 the second input, of job 1 the first."""
    graph = cases.task_graph([[0.0, 0.0, 1.0]], [(0, [2], 0.0), (1, [2], 0.0)])
    both = Arrivals("trace", times_s=(0.0, 0.0, 99.0), scale_to_rate=False)
    query = replace(
        cases.query(graph, 1.0, 1.0, both), batching=Batching(np.array([[[0.0, 0.0, 1.0]]] * 2), "greedy")
    )
    system = cases.make_system(query, servers=(0, 0, 1, 1), latency_s=0.0)

    def in_pairs(now, view, ready, tables, u, out):
        for i in np.flatnonzero(ready.task < 2):
            out[:] = i, (0, 2, 3, 1)[2 * (ready.job[i] % 2) + ready.task[i]]
            return True
        out[:] = 0, 0
        return ready.n == 2

    made = cases.scheduler(in_pairs, kind="pick", reads_queues=True)
    records = compare(system, made, jobs=2, warmup=0, timeline_jobs=2)
    assert [i.members for i in records.timeline.tasks if i.task == 2] == [2, 2]


@pytest.mark.parametrize("name", ["random", "opportunistic", "priority", "jsq-d", "gavel"])
def test_a_policy_that_cannot_be_compiled_runs_on_the_same_core(name):
    system = busy()
    scheduler, prepared = COMPILED[name](system)
    compiled = compare(system, (scheduler, prepared), jobs=300)
    slow = replace(scheduler, decide=partial(scheduler.decide), takes_lists=False)
    called = run(system, (slow, prepared), "compiled", jobs=300)
    assert (compiled.decisions, called.decisions) == ("machine code", "python")
    assert called.digest() == compiled.digest()


@pytest.mark.parametrize(
    ("name", "tail"), [("random", None), ("opportunistic", 150), ("all that the view shows", None)]
)
@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_overloaded_runs_are_cut_off_alike(name, tail, discipline):
    system = busy(rate=12.0, discipline=discipline)
    records = compare(system, COMPILED[name](system), jobs=500, warmup=100, tail_jobs=tail)
    assert records.state == "overloaded"
    assert records.tally.completed.sum() < records.tally.arrived.sum()


@pytest.mark.sized
def test_thinned_records_and_long_runs():
    system, jobs = busy(), sized(6000, 30_000)
    records = compare(system, COMPILED["random"](system), jobs=jobs, record_jobs=700)
    assert len(records.query) <= 700
    assert records.tally.completed.sum() == jobs


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("name", ["random", "jsq-d", "opportunistic"])
def test_a_watched_run_is_the_same_run_and_both_engines_tell_the_same(name, discipline):
    """Every measured job once, and the same loads."""
    system = busy(discipline=discipline)
    last, jct = [], []
    for engine in ENGINES:
        told = []
        options = RunOptions(jobs=900, engine=engine)
        watched = simulate_run(system, *COMPILED[name](system), options, told.append)
        assert watched.digest() == simulate_run(system, *COMPILED[name](system), options).digest()
        assert len(told) > 50
        assert told[-1].fraction == 1
        assert [p.fraction for p in told] == sorted(p.fraction for p in told)
        jct.append(np.sort(np.concatenate([p.completion_s - p.arrival_s for p in told])))
        np.testing.assert_array_equal(jct[-1], np.sort(watched.completion_time_s))
        assert all(p.busy.known for p in told)
        assert all(0 <= share <= 1 for p in told for share in (*p.busy.executors, *p.busy.links))
        last.append(told[-1].busy)
    assert len(jct[0]) == 900
    assert jct[0].tobytes() == jct[1].tobytes()
    assert last[0].executors.tolist() == last[1].executors.tolist()
    assert last[0].links.tolist() == last[1].links.tolist()
    assert last[0].executors.mean() == pytest.approx(watched.utilization_compute, abs=0.1)
    assert last[0].links.max() == pytest.approx(watched.utilization_network, abs=0.1)


def test_both_engines_refuse_the_same_decisions_in_the_same_words():
    def nowhere(now, view, ready, tables, u, out):
        out[0], out[1] = 5, 0
        return True

    system = busy()
    bad_pick = (
        replace(get_scheduler("opportunistic"), decide=nowhere, name="lost"),
        SchedulerTables(NoTables(), 1),
    )
    for made in (cases.fixed([99] * 5), bad_pick):
        said = []
        for engine in ENGINES:
            with pytest.raises(SimulationError) as error:
                run(system, made, engine, jobs=10)
            said.append(str(error.value))
        assert said[0] == said[1]


def naive_sharing(works):
    """Departures of messages that share a link: every message's rest is updated at every event."""
    rest, now, left = {}, 0.0, {}
    coming = sorted((at, number) for number, (at, _) in enumerate(works))
    while rest or coming:
        end = now + min(rest.values()) * len(rest) if rest else math.inf
        at = min(end, coming[0][0]) if coming else end
        rest = {n: work - (at - now) / len(rest) for n, work in rest.items()}
        now = at
        if coming and at == coming[0][0]:
            number = coming.pop(0)[1]
            rest[number] = works[number][1]
        else:
            number = min(rest, key=rest.get)
            left[number] = now
            del rest[number]
    return [left[n] for n in range(len(works))]


@examples(60)
@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0.01, 2)), min_size=1, max_size=12))
def test_a_shared_link_equals_naive_sharing(works):
    env, trace = Environment(), JobIntervals()
    link = SharedLink(env, busy(discipline="processor-sharing"), iter(()))
    for number, (at, work) in enumerate(works):
        output, job = Output(number, work, work, (0,), (0,), 0), SimpleNamespace(number=number, query=0)
        job.trace, job.sent_bytes, job.deliver = trace, 0.0, lambda number: None
        env.schedule_at(at, number, lambda _, job=job, output=output: link.send(job, output, (0,), 0, 1))
    env.run()
    ends = [m.end_s for m in sorted(trace.messages, key=lambda m: m.tensor)]
    np.testing.assert_allclose(ends, naive_sharing(works), rtol=1e-9)


# The yardsticks of the benchmarks share no event loop with the engines: a plain loop over ``heapq``, and a
# loop in C.
MANY = 500
COMPILER = any(shutil.which(c) for c in ("cc", "gcc", "clang"))
YARDSTICKS = {"fork-join": fork_join.make_system, "queues": fork_join.make_queues}


def completion_s(system, made):
    return simulate_run(system, *made, RunOptions(jobs=MANY, warmup=0, run_on=False)).completion_s


@pytest.mark.parametrize("name", YARDSTICKS)
def test_a_heapq_loop_agrees(name):
    system = YARDSTICKS[name]()
    made = COMPILED["random"](system)
    assert np.array_equal(completion_s(system, made), HeapLoop(system, *made).run(MANY))


@pytest.mark.skipif(not COMPILER, reason="no C compiler (cc, gcc or clang) on the path")
@pytest.mark.parametrize("name", YARDSTICKS)
def test_a_loop_in_c_agrees(name):
    system = YARDSTICKS[name]()
    loop = CLoop(system)
    found = completion_s(system, COMPILED["random"](system))
    assert np.array_equal(found, loop.run(loop.draw(MANY), MANY))


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("name", ["random", "opportunistic"])
def test_the_loop_gone_through_in_python_equals_its_machine_code(name, discipline, monkeypatch):
    system, options = all_features(discipline), {"jobs": 60, "warmup": 0}
    made = registered(name)(system)
    fast = run(system, made, "compiled", **options)
    plain = core.Core(loop.advance, jobs.absorb_all, jobs.busy_and_work, loop.look, None, None)
    monkeypatch.setattr(compiled_engine, "load_core", lambda: plain)
    monkeypatch.setattr(
        compiled_engine, "policy_of", lambda scheduler, prepared: compiled_engine.CompiledDecisions()
    )
    assert run(system, made, "compiled", **options).digest() == fast.digest()
