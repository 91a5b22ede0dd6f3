"""What holds for every registered scheduler: declared, compiled, on lists, blind to what it declares not."""

import math
import pickle
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scheduler_cases as cases
from sizes import sized

from nona.core.compiled import build
from nona.core.errors import SimulationError
from nona.queries.placement.solve import solve
from nona.queries.schedulers import base, registry
from nona.queries.simulation.compiled import core, engine
from nona.queries.simulation.run import RunOptions, simulate_run


@pytest.mark.parametrize("name", registry.scheduler_names())
def test_every_scheduler_declares_itself(name):
    scheduler = registry.get_scheduler(name)
    assert scheduler.name == name
    assert scheduler.kind in ("bind", "pick", "configure", "allocate")
    assert scheduler.family in set(base.FAMILY_TITLES) - {"other"}  # that of a scheduler that declares none
    assert isinstance(scheduler.network_view, base.NetworkView)
    for text in (scheduler.summary, scheduler.source, scheduler.adaptation):
        assert len(text) > 20
        assert "\n" not in text
    assert pickle.loads(pickle.dumps(scheduler)) == scheduler


@pytest.mark.parametrize("name", registry.scheduler_names())
def test_unknown_options_and_missing_placements_are_refused(name):
    scheduler = registry.get_scheduler(name)
    system = cases.system_of([cases.slides_query()])
    with pytest.raises(SimulationError, match=f"{name}.*'cap' is not known"):
        scheduler.prepare(system, None, {"cap": 3})
    if scheduler.needs_placement:
        with pytest.raises(SimulationError, match="solve one first"):
            scheduler.prepare(system, None, {})


SHARES, NO_SHARE = ("fairness", "barrier", "remote_penalty"), (-0.1, 1.1, "half", True)
NO_ORDER = ("slides", ["x"], 3, [["slides"]], [None], ["slides", "slides"])
DRAWING, NO_COUNT = ("least-loaded-d", "jsq-d", "sparrow"), (0, -1, 2.0, "2", True, 65, None)
WRONG = [
    *(("tetris", {o: v}, f"{o}=.* must be a number from 0 to 1") for o in SHARES for v in NO_SHARE),
    *((name, {"d": d}, "d=.* must be a whole number from 1 to 64") for name in DRAWING for d in NO_COUNT),
    ("sparrow", {"round_trip_s": -1e-3}, "round_trip_s=-0.001 must be a number from 0 to 10"),
    ("sparrow", {"round_trip_s": "1 ms"}, "round_trip_s='1 ms' must be a number"),
    ("flexflow", {"steps": 0}, "steps=0 must be a whole number"),
    ("flexflow", {"steps": 2.5}, "steps=2.5 must be a whole number"),
    ("flexflow", {"alpha": -1}, "alpha=-1 must be a number"),
    ("gavel", {"policy": "fifo"}, "policy='fifo'.*choose from max-min-fairness"),
    *(("nona-live", {"link": link}, "link=.* must be one of live, none") for link in ("maybe", None, 1)),
    *(("priority", {"order": o}, "must list names of the workload") for o in NO_ORDER),
    ("expert", {"models": {"nobody": "local"}}, "must map names of the workload"),
    ("expert", {"models": ["local"]}, "must map names of the workload"),
    ("expert", {"models": {"slides": "everywhere"}}, "must be a preset"),
    ("expert", {"models": {"slides": 3}}, "must be a preset"),
    ("expert", {"models": {"slides": ["t1", "t2"]}}, "must be a preset"),
    ("expert", {"models": {"slides": [["t9"]]}}, "'t9' is not a task"),
    ("expert", {"models": {"slides": [["t1"], ["t1"]]}}, "listed twice"),
    ("expert", {"models": {"slides": [["t0"]]}}, "root or sink"),
]


@pytest.mark.parametrize(("name", "options", "says"), WRONG)
def test_options_that_cannot_be_meant_are_refused_in_one_line(name, options, says):
    scheduler, system = registry.get_scheduler(name), cases.system_of([cases.slides_query()])
    placement = cases.random_placement(system) if scheduler.needs_placement else None
    with pytest.raises(SimulationError, match=says) as caught:
        scheduler.prepare(system, placement, options)
    assert "\n" not in str(caught.value)


BUSY = cases.system_of(
    [cases.fork_join_chain("a", (3, 2), 1, 60.0), cases.fork_join_chain("b", (4,), 2, 40.0)]
)


def prepared_for(scheduler, system, seed=9):
    return scheduler.prepare(
        system, cases.random_placement(system, seed) if scheduler.needs_placement else None, {}
    )


@pytest.mark.parametrize("name", registry.scheduler_names())
def test_parts_add_up(name):
    scheduler = registry.get_scheduler(name)
    records = simulate_run(BUSY, scheduler, prepared_for(scheduler, BUSY, 1), RunOptions(jobs=300, warmup=50))
    assert records.parts_s.min() >= 0
    np.testing.assert_allclose(records.parts_s.sum(axis=1), records.completion_time_s, rtol=1e-9)
    np.testing.assert_allclose(records.tally.parts_s.sum(), records.completion_time_s.sum(), rtol=1e-9)
    least = np.array([q.tasks.compute_s.min() for q in BUSY.queries])
    assert (records.parts_s[:, 0] >= 2 * least[records.query]).all()  # a root and a sink at the least


SYSTEMS = [
    cases.system_of(
        [cases.fork_join_chain("a", [3, 0, 4], 1), cases.slides_query(), cases.fork_join_chain("one", [])],
        cluster,
    )
    for cluster in (tuple(range(6)), (0, 0, 1, 1, 2), (0,))
]


@pytest.mark.parametrize("name", registry.scheduler_names())
def test_machine_code_and_decisions_on_lists_are_those_of_the_plain_function(name):
    """The code that the engine calls, kept on disk, and the tables as it gets them."""
    scheduler = registry.get_scheduler(name)
    rng, seen = np.random.default_rng(8), set()
    for system in SYSTEMS:
        prepared = prepared_for(scheduler, system, 5)
        compiled = engine.policy_of(scheduler, prepared)
        tables, lists = (compiled.flat.ints, compiled.flat.floats), base.as_lists(prepared.tables)
        for i in range(100):
            view, u = cases.random_view(system, rng, busiest=3), rng.random(prepared.uniforms_per_job)
            asked = (view, cases.random_ready(system, rng)) if scheduler.picks else (i % 3, view)
            tasks = 2 if scheduler.picks else len(system.queries[i % 3].tasks)
            plain, fast = np.full((2, 12), -1, dtype=np.int64)
            said = scheduler.decide(1.0, *asked, prepared.tables, u, plain)
            assert said == compiled.machine(1.0, *asked, *tables, u, fast)
            assert plain.tolist() == fast.tolist()
            assert (plain[tasks:] == -1).all()
            if scheduler.takes_lists:
                listed = [-1] * tasks
                scheduler.decide(1.0, *asked, lists, u.tolist(), listed)
                assert listed == plain[:tasks].tolist()
            if not scheduler.picks:
                assert plain[:tasks].min() >= 0
            elif said:
                assert 0 <= plain[0] < asked[1].n
                assert view.queue_length[plain[1]] == 0
            seen.add((said, *plain.tolist()))
    assert len(seen) > 5
    assert {said for said, *_ in seen} == ({True, False} if scheduler.picks else {None})


NOWHERE = {"random", "jsq-d", "opportunistic", "spark-fair", "spark-fifo", "priority", "sparrow", "tetris"}


@pytest.mark.parametrize("name", registry.scheduler_names())
def test_no_query_runs_where_its_model_does_not_fit_but_by_those_that_look_at_nothing(name):
    system = cases.quiet(cases.two_speeds((0, 1, 1, 0, 1, 0), slow_memory=1e6))
    large = system.queries[0]
    system = replace(system, queries=(large, replace(large, name="small", weight_bytes=2e5)))
    placement = solve(system) if registry.get_scheduler(name).needs_placement else None
    run = cases.run_of(system, name, placement, jobs=200, warmup=0, timeline_jobs=200)
    of_large = [t for t in run.timeline.tasks if run.query[t.job] == 0]
    used = {int(system.executor_class[t.executor]) for t in of_large}
    assert used == ({0, 1} if name in NOWHERE else {0})


def test_only_plain_functions_are_compiled():
    with pytest.raises(TypeError, match="plain Python function"):
        build.compile_function(len, None)


class Inner(NamedTuple):
    share: float
    rows: Any


class Outer(NamedTuple):
    starts: Any
    inner: Inner
    again: Inner
    count: int


def test_tables_in_tables_travel_flat_and_are_made_again():
    inner, again = Inner(np.float64(0.5), np.array([3])), Inner(np.float64(1.5), np.array([4.0, 5.0]))
    tables = Outer(np.array([1, 2]), inner, again, np.int64(7))
    flat = core.flatten_tables(tables)
    assert flat.kinds == "i(Fi)(Ff)I"
    assert flat.types == (Outer, Inner, Inner)
    scope = {f"tables{i}": made for i, made in enumerate(flat.types)}
    scope["decide"] = lambda now, view, ready, made, uniforms, out: made
    exec(core.adapter_source("pick", flat.kinds), scope)
    made = scope["adapter"](0.0, None, None, flat.ints, flat.floats, None, None)
    assert repr(made) == repr(tables)


FIELD_LEVEL = {
    "capacity": base.NetworkView.N1,
    "latency_s": base.NetworkView.N1,
    "past_transfer_s": base.NetworkView.N2,
    "link_promised_s": base.NetworkView.N3,
    "link_queue_bytes": base.NetworkView.N4,
}
SEEN = cases.system_of(
    [cases.fork_join_chain("a", [3, 2], 1, rate=40.0), cases.slides_query()], (0, 0, 1, 2, 3, 4)
)


def scrambled(view, scheduler, rng):
    """The view with everything changed that the scheduler does not declare."""
    hidden = {f: float(rng.exponential(1e3)) for f, n in FIELD_LEVEL.items() if n > scheduler.network_view}
    if scheduler.network_view < base.NetworkView.N3:
        hidden["card_bytes_s"] = rng.exponential(1e9, len(view.card_bytes_s))
    if not (scheduler.reads_queues or scheduler.picks):
        hidden["queue_length"] = rng.integers(0, 9, len(view.queue_length))
        hidden["backlog_s"] = rng.exponential(1.0, len(view.backlog_s))
    return view._replace(**hidden)


def decision(scheduler, prepared, view, ready, query, u):
    if scheduler.picks:
        return cases.picked(scheduler, prepared.tables, view, ready, u)
    return cases.bound(scheduler, SEEN, prepared.tables, view, u, query).tolist()


def decides_by_what_it_declares(scheduler, rounds=150):
    rng = np.random.default_rng(17)
    prepared = prepared_for(scheduler, SEEN)
    for i in range(rounds):
        view, ready = cases.random_view(SEEN, rng, 2), cases.random_ready(SEEN, rng)
        u = rng.random(prepared.uniforms_per_job)
        before = decision(scheduler, prepared, view, ready, i % 2, u)
        if decision(scheduler, prepared, scrambled(view, scheduler, rng), ready, i % 2, u) != before:
            return False
    return True


@pytest.mark.parametrize("name", registry.scheduler_names())
def test_decisions_do_not_depend_on_what_is_above_the_declared_level(name):
    assert decides_by_what_it_declares(registry.get_scheduler(name))


def watched_run(system, scheduler, prepared, jobs, watch):
    """A whole run whose decisions are looked at one by one."""

    def bind(now, query, view, tables, u, out):
        scheduler.decide(now, query, view, tables, u, out)
        watch((now, query), view, (tables, u), out)

    def pick(now, view, ready, tables, u, out):
        said = scheduler.decide(now, view, ready, tables, u, out)
        watch((now,), view, (ready, tables, u), out, said)
        return said

    spied = replace(scheduler, decide=pick if scheduler.picks else bind, takes_lists=False)
    simulate_run(system, spied, prepared, RunOptions(jobs=jobs, warmup=20))


@pytest.mark.sized
@pytest.mark.parametrize("name", registry.scheduler_names())
def test_in_a_run_hidden_fields_are_nan_and_do_not_matter(name):
    scheduler = registry.get_scheduler(name)
    rng = np.random.default_rng(4)
    calls, jobs = 0, sized(60, 300)

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

    watched_run(SEEN, scheduler, prepared_for(scheduler, SEEN), jobs, watch)
    assert calls >= jobs + 20
