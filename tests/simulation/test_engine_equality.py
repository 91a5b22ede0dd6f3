"""The compiled engine and the SimPy engine leave the same records, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from drawn_systems import linked, systems
from hypothesis import given
from simulation_cases import first_fit, fixed, make_system, newest_capped, query, shortest_queue, task_graph
from sizes import examples

from nona import study
from nona.decomposition import decompose
from nona.errors import SimulationError
from nona.placement.fixed import place_fixed
from nona.placement.result import Placement, Prediction
from nona.placement.solve import solve
from nona.scenario.file import load_scenario
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.schedulers.free_executors import NoTables
from nona.schedulers.registry import get_scheduler, scheduler_names
from nona.simulation.collected import Progress
from nona.simulation.records import Records
from nona.simulation.run import RunOptions, simulate_run
from nona.sources import samples
from nona.sources.lookup import Sources
from nona.system import Stream, System

Made = tuple[Scheduler, Prepared]
ENGINES = ("simpy", "compiled")


def run(system: System, made: Made, engine: str, **options: Any) -> Records:
    return simulate_run(system, *made, RunOptions(engine=engine, **options))


def compare(system: System, made: Made, **options: Any) -> Records:
    """Run on both engines; all that is recorded must be equal. Returns the compiled engine's records."""
    slow, fast = (run(system, made, engine, **options) for engine in ENGINES)
    assert (slow.engine, fast.engine) == ENGINES
    np.testing.assert_array_equal(fast.completion_s, slow.completion_s)
    assert fast.timeline == slow.timeline
    assert fast.digest() == slow.digest()
    return fast


@pytest.mark.parametrize("scenario", samples.query_scenario_names())
def test_every_scheduler_on_every_shipped_scenario(scenario: str) -> None:
    path = samples.scenario_path(scenario)
    loaded = load_scenario(path)
    prepared = study.prepare(loaded, Sources(path.parent))
    placement = solve(prepared.system)  # whatever is placed, both engines must do the same with it
    options = {entry.name: entry.options for entry in loaded.schedulers}
    for name in scheduler_names():
        # The cluster that a plan begins with is too small: tasks pile up, and tetris looks at all of them.
        beyond = (3, 1) if name == "tetris" else (30, 6)
        jobs, warmup = (250, 50) if loaded.plan is None else beyond
        chosen = get_scheduler(name)
        tables = chosen.prepare(
            prepared.system, placement if chosen.needs_placement else None, options.get(name, {})
        )
        records = compare(
            prepared.system, (chosen, tables), jobs=jobs, warmup=warmup, timeline_jobs=20, replication=1
        )
        assert records.decisions == "machine code", name
        assert [c.name for c in records.checks if not c.ok] == []


class Draws(NamedTuple):
    """A table, so that the policies below can be compiled."""

    tasks: np.ndarray


def by_bits(now: float, query: int, view: Any, tables: Draws, u: Any, out: Any) -> None:
    """Bind by all that the view shows: one bit that differs anywhere leads elsewhere."""
    seen = 1e3 * view.past_transfer_s + 7e2 * view.link_promised_s + 3.1 * view.link_queue_bytes
    for e in range(len(view.queue_length)):
        seen += (e + 1) * 0.37 * view.queue_length[e] + 11.0 * view.backlog_s[e]
    for t in range(tables.tasks[query]):
        out[t] = int(seen * (t + 1) * 1e3) % len(view.executor_server)


def sharp_eyed(system: System) -> Made:
    tables = Draws(np.array([len(q.tasks) for q in system.queries]))
    made = replace(
        get_scheduler("random"),
        decide=by_bits,
        network_view=NetworkView.N4,
        reads_queues=True,
        takes_lists=False,
    )
    return made, Prepared(tables, 0)


def registered(name: str) -> Callable[[System], Made]:
    def make(system: System) -> Made:
        scheduler = get_scheduler(name)
        return scheduler, scheduler.prepare(system, None, {})

    return make


def live(system: System) -> Made:
    """With a plan that splits all it can, and nothing predicted."""
    scheduler = get_scheduler("nona-live")
    cut = tuple(replace(q, decomposition=decompose(q.tasks.dag)) for q in system.queries)
    system = replace(system, queries=cut)
    queries = tuple(place_fixed(system, q, "spread") for q in system.queries)
    nothing = Prediction(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ())
    placement = Placement(queries, nothing, 0.0, 0.0, "spread", 0.0)
    return scheduler, scheduler.prepare(system, placement, {})


def late_sparrow(system: System) -> Made:
    scheduler = get_scheduler("sparrow")
    return scheduler, scheduler.prepare(system, None, {"round_trip_s": 0.03, "d": 3})


def in_rounds(name: str) -> Callable[[System], Made]:
    """With several rounds even in a short run."""

    def make(system: System) -> Made:
        scheduler = get_scheduler(name)
        return scheduler, scheduler.prepare(system, None, {"round_s": 20.0})

    return make


ALLOCATE = [n for n in scheduler_names() if get_scheduler(n).kind == "allocate"]
LEARNED = ("decima-blind", "decima-link")
PICK = ("opportunistic", "spark-fair", "spark-fifo", "priority", "sparrow", "tetris", *LEARNED)
MAKERS: dict[str, Callable[[System], Made]] = {
    **{n: registered(n) for n in ("random", "jsq-d", "least-loaded", "least-loaded-d", "flexflow", *PICK)},
    **{n: in_rounds(n) for n in ALLOCATE},
    "sparrow, every task 30 ms late": late_sparrow,
    "nona-live": live,
    "all that the view shows": sharp_eyed,
    "shortest queue, in Python": lambda system: shortest_queue(),
    "drawn, in Python": lambda system: first_fit(drawn=True),
    "capped, in Python": lambda system: newest_capped(1),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("network", ["fifo", "processor-sharing", "several links"])
@pytest.mark.parametrize("grid", [False, True], ids=["drawn", "grid"])
def test_random_systems(name: str, network: str, grid: bool) -> None:
    drawn = linked(grid) if network == "several links" else systems(grid, network)

    @examples(6)
    @given(drawn)
    def check(system: System) -> None:
        for run_on in (True, False):
            compare(system, MAKERS[name](system), jobs=40, warmup=5, timeline_jobs=10, run_on=run_on)

    check()


class Callable5:
    """A decision that is no plain function, so that it cannot be compiled."""

    def __init__(self, decide: Any) -> None:
        self.decide = decide
        self.__name__ = "called"

    def __call__(self, *arguments: Any) -> Any:
        return self.decide(*arguments)


def busy(rate: float = 3.0, **changes: Any) -> System:
    """Forks on eight executors of four servers, with background everywhere."""
    fork = task_graph(
        [0.2, 0.5, 0.3, 0.4, 0.1], [(0, [1, 2, 3], 0.05), (1, [4], 0.02), (2, [4], 0.02), (3, [4], 0)]
    )
    fields: dict[str, Any] = {
        "latency_s": 0.01,
        "background_compute": Stream(0.5, 0.2, 1.0),
        "background_network": Stream(2.0, 0.1, 1.0),
    }
    return make_system(
        query(fork, rate, 0.5, name="fork"), servers=(0, 0, 1, 1, 2, 2, 3, 3), **(fields | changes)
    )


@pytest.mark.parametrize("name", ["random", "opportunistic", "priority", "jsq-d"])
def test_a_policy_that_cannot_be_compiled_runs_on_the_same_core(name: str) -> None:
    system = busy()
    scheduler, prepared = registered(name)(system)
    compiled = compare(system, (scheduler, prepared), jobs=600)
    plain = replace(scheduler, decide=Callable5(scheduler.decide), takes_lists=False)
    called = run(system, (plain, prepared), "compiled", jobs=600)
    assert (compiled.decisions, called.decisions) == ("machine code", "python")
    assert called.digest() == compiled.digest()


def test_a_partial_function_decides_as_plain_python() -> None:
    system = busy()
    scheduler, prepared = registered("random")(system)
    plain = replace(scheduler, decide=partial(scheduler.decide), takes_lists=False)
    assert run(system, (plain, prepared), "compiled", jobs=50).decisions == "python"


@pytest.mark.parametrize("name", ["random", "opportunistic", "all that the view shows"])
@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_overloaded_runs_are_cut_off_alike(name: str, discipline: str) -> None:
    system = busy(rate=12.0, discipline=discipline)
    records = compare(system, MAKERS[name](system), jobs=1500, warmup=100)
    assert records.state == "overloaded"


def test_thinned_records_and_long_runs() -> None:
    system = busy()
    records = compare(system, MAKERS["random"](system), jobs=30_000, record_jobs=700)
    assert len(records.query) <= 700
    assert records.tally.completed.sum() == 30_000


def test_progress_tells_of_every_measured_job_once() -> None:
    system = busy()
    told: dict[str, list[Progress]] = {engine: [] for engine in ENGINES}
    for engine in ENGINES:
        simulate_run(
            system, *MAKERS["random"](system), RunOptions(jobs=900, engine=engine), told[engine].append
        )
        assert told[engine][-1].fraction == 1
        assert [p.fraction for p in told[engine]] == sorted(p.fraction for p in told[engine])
    jct = [np.sort(np.concatenate([p.completion_s - p.arrival_s for p in told[e]])) for e in ENGINES]
    assert len(jct[0]) == 900
    assert jct[0].tobytes() == jct[1].tobytes()
    assert len(told["compiled"]) > 50


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("name", ["random", "jsq-d", "opportunistic"])
def test_a_watched_run_is_the_same_run_and_both_engines_tell_the_same_loads(
    name: str, discipline: str
) -> None:
    system = busy(discipline=discipline)
    last = []
    for engine in ENGINES:
        told: list[Progress] = []
        options = RunOptions(jobs=900, engine=engine)
        watched = simulate_run(system, *MAKERS[name](system), options, told.append)
        assert watched.digest() == simulate_run(system, *MAKERS[name](system), options).digest()
        assert all(p.busy.known for p in told)
        assert all(0 <= share <= 1 for p in told for share in (*p.busy.executors, *p.busy.links))
        last.append(told[-1].busy)
    assert last[0].executors.tolist() == last[1].executors.tolist()
    assert last[0].links.tolist() == last[1].links.tolist()
    assert last[0].executors.mean() == pytest.approx(watched.utilization_compute, abs=0.1)
    assert last[0].links.max() == pytest.approx(watched.utilization_network, abs=0.1)


def test_a_run_can_be_cancelled() -> None:
    class EnoughError(Exception):
        pass

    def stop(progress: Progress) -> None:
        raise EnoughError

    system = busy()
    with pytest.raises(EnoughError):
        simulate_run(system, *MAKERS["random"](system), RunOptions(jobs=900, engine="compiled"), stop)


def test_both_engines_refuse_the_same_decisions_in_the_same_words() -> None:
    def nowhere(now: float, view: Any, ready: Any, tables: NoTables, u: Any, out: Any) -> bool:
        out[0], out[1] = 5, 0
        return True

    system = busy()
    bad_pick = (
        replace(get_scheduler("opportunistic"), decide=nowhere, name="lost"),
        Prepared(NoTables(), 1),
    )
    for made in (fixed([99] * 5), bad_pick):
        said = []
        for engine in ENGINES:
            with pytest.raises(SimulationError) as error:
                run(system, made, engine, jobs=10)
            said.append(str(error.value))
        assert said[0] == said[1]


def test_an_unknown_engine_is_named_with_those_there_are() -> None:
    system = busy()
    with pytest.raises(SimulationError, match=r"'steam'.*auto, compiled, simpy"):
        run(system, MAKERS["random"](system), "steam", jobs=10)
