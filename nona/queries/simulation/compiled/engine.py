"""The compiled engine as a run calls it: from a system to the run's records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.core.compiled import memory as layout
from nona.core.compiled.memory import Arrays, Records, State, addresses, note_addresses
from nona.queries.schedulers.base import Ready, Scheduler, SchedulerTables, SystemView
from nona.queries.simulation.collected import PARTS, Busy, Collected, JobCollector, OnProgress, busy_shares
from nona.queries.simulation.compiled.arrays import JOBS_AT_ONCE, Background, Feed, make_arrays, with_room
from nona.queries.simulation.compiled.core import (
    Core,
    FlatTables,
    NotFlatError,
    compiled_policy,
    flatten_tables,
    load_core,
)
from nona.queries.simulation.records import MessageInterval, RawRun, TaskInterval
from nona.queries.simulation.reference.bind import bad_binding
from nona.queries.simulation.reference.links import pending_s
from nona.queries.simulation.reference.pick import bad_pick
from nona.queries.simulation.rounds import FlowTotals, SchedulerRounds
from nona.queries.simulation.sizes import RunSize
from nona.queries.simulation.workload import BLOCK, Workload
from nona.queries.system import System


def _shown_view(s: Arrays) -> SystemView:
    """Return the view for plain Python, as ``view_of`` does."""
    arrays = (_frozen(a) for a in (s.executor_server, s.executor_class, s.queue_length, s.backlog_s))
    return SystemView(*arrays, *s.shown.tolist())._replace(card_bytes_s=_frozen(s.card_bytes_s))


def _frozen(array: Any) -> Any:
    """Return a read-only view of the memory."""
    view = array.view()
    view.flags.writeable = False
    return view


def _shown_ready(s: Arrays) -> Ready:
    """Return the list for plain Python, as ``ready_of`` does."""
    n, open_jobs = int(s.clock["ready"][0]), int(s.clock["open_jobs"][0])
    return Ready(
        n,
        s.ready_job[:n],
        s.ready_query[:n],
        s.ready_task[:n],
        s.ready_since_s[:n],
        s.ready_running[:n],
        s.ready_home[:n],
        open_jobs,
        s.ready_batch_first[:n],
        s.ready_batch_size[:n],
        s.ready_draw[:n],
        s.ready_base[:n],
        s.places,
    )


class CompiledRounds:
    """Asks an ``allocate`` scheduler at every round, and writes its answer where decisions look.

    ``tables`` are those for decisions in plain Python; ``flat`` those of compiled ones, if there are any.
    """

    def __init__(
        self, system: System, scheduler: Scheduler, prepared: SchedulerTables, flat: FlatTables | None
    ) -> None:
        self._rounds = SchedulerRounds(system, scheduler, prepared)
        tables: Any = prepared.tables
        self.tables = tables._replace(work_s=tables.work_s.copy())
        self._place = flat.place_of(tables._fields.index("work_s")) if flat else None

    @property
    def next_s(self) -> float:
        """The time of the next round."""
        return self._rounds.next_s

    def due(self, s: Arrays, drawn_s: float) -> bool:
        """Return whether the next round comes before the loop's event; background must be drawn."""
        return self.next_s <= float(s.clock["wanted_s"][0]) and self.next_s < drawn_s

    def allot(self, s: Arrays, state: State, core: Core) -> None:
        """Compute the next round, where there is something to see."""
        totals = FlowTotals(s.flow_offered, s.flow_completed, s.flow_service_s, s.flow_response_s)
        if self._rounds.left_out(totals, float(s.clock["wanted_s"][0])):
            return
        core.look(state, self.next_s)
        work_s = self._rounds.work_s(totals, _shown_view(s))
        self.tables.work_s[:] = work_s
        if self._place:
            s.tables_f[self._place] = work_s


_Both = NDArray[np.float64]  # busy seconds, service done


def _raw_run(system: System, s: Arrays, state: State, core: Core, collected: Collected) -> RawRun:
    """All that the engine hands over; ``state`` is where ``s`` lies, ``collected`` are the jobs."""
    c = s.clock[0]
    end = float(c["now_s"])
    executors, links = _busy_and_work(s, state, core, end)
    return RawRun(
        collected=collected,
        open_at=s.open_at[: c["next_mark"]],
        end_s=end,
        executor_busy_window_s=s.busy_s[1] - s.busy_s[0],
        link_busy_window_s=s.link_busy_s[1] - s.link_busy_s[0],
        executor_busy_s=executors[0],
        executor_work_s=executors[1],
        link_busy_s=links[0],
        link_work_s=links[1],
        jobs_area_s=float(c["window_area_s"]),
        class_completed=s.class_completed,
        class_work_s=s.class_work_s,
        class_bytes=s.class_bytes,
        traced_tasks=_tasks(s.task_traces[: c["task_traces"]], end),
        traced_messages=_messages(s.message_traces[: c["message_traces"]], end),
        decisions="machine code" if c["compiled"] else "python",
        crossed_bytes=np.column_stack([s.crossed_bytes, s.requested_bytes]) if c["paths"] else None,
        batch_sizes=s.batch_sizes if system.batches else None,
    )


def _busy_so_far(s: Arrays, state: State, core: Core) -> Busy:
    """Shares of the time up to now that executors and the busiest link were busy."""
    now = float(s.clock[0]["now_s"])
    executors, links = _busy_and_work(s, state, core, now)
    return busy_shares(executors[0], links[0], now)


def _busy_and_work(s: Arrays, state: State, core: Core, end: float) -> tuple[_Both, _Both]:
    c = s.clock[0]
    executors, links = np.zeros((2, c["executors"])), np.zeros((2, c["links"]))
    core.busy_and_work(state, end, executors, links)
    if c["shared"]:
        flows = int(c["flows"])
        link = s.links[0]
        links[0, 0] = link["closed_s"] + (end - link["since_s"] if flows else 0.0)
        tags = s.flows["time_s"][:flows].tolist()
        left = pending_s(tags, float(c["virtual_s"]), end - float(c["link_last_s"]))
        links[1, 0] = c["requested_s"] - left
    return executors, links


def _tasks(rows: Records, end: float) -> tuple[TaskInterval, ...]:
    done: Any = rows[rows["end_s"] <= end][[f.name for f in fields(TaskInterval)]].tolist()
    return tuple(sorted((TaskInterval(*row) for row in done), key=lambda i: (i.job, i.start_s, i.task)))


def _messages(rows: Records, end: float) -> tuple[MessageInterval, ...]:
    done: Any = rows[rows["delivered_s"] <= end].tolist()
    messages = (MessageInterval(*row) for row in done)
    return tuple(sorted(messages, key=lambda m: (m.job, m.start_s, m.tensor, m.destination)))


@dataclass(frozen=True, slots=True)
class CompiledDecisions:
    """Form of the decisions: ``machine`` is compiled code for ``flat`` tables, or there is none."""

    machine: Any = None
    flat: FlatTables | None = None


def policy_of(scheduler: Scheduler, prepared: SchedulerTables) -> CompiledDecisions:
    """Return the compiled decision function; an empty policy where Numba cannot compile it.

    Such a policy runs on the same core, which stops at every decision and calls it as plain Python.
    """
    try:
        flat = flatten_tables(prepared.tables)
    except NotFlatError:
        return CompiledDecisions()
    machine = compiled_policy(scheduler.decide, "pick" if scheduler.picks else "bind", flat.kinds, flat.types)
    return CompiledDecisions(machine, flat) if machine else CompiledDecisions()


def is_compiled(scheduler: Scheduler, prepared: SchedulerTables) -> bool:
    """Return whether decisions of ``scheduler`` run as machine code in this engine."""
    return policy_of(scheduler, prepared).machine is not None


class CompiledRun:
    """One run: calls the loop, serves its requests, collects its records."""

    def __init__(
        self,
        system: System,
        scheduler: Scheduler,
        prepared: SchedulerTables,
        size: RunSize,
        on_progress: OnProgress | None,
        workload: Workload | None = None,
    ) -> None:
        self.system, self.scheduler, self.prepared, self.size = system, scheduler, prepared, size
        self.on_progress = on_progress
        self.core: Core = load_core()
        self.policy = policy_of(scheduler, prepared)
        self.collector = JobCollector(system, size, watched=on_progress is not None)
        self.arrays: Arrays = make_arrays(system, scheduler, self.policy.flat, size)
        self.arrays.clock["uniforms"] = prepared.uniforms_per_job
        self.arrays.clock["hand_over_s"] = prepared.hand_over_s
        self.state = addresses(self.arrays)
        workload = workload or Workload(system, size.replication, prepared.uniforms_per_job)
        at_once = min(JOBS_AT_ONCE, size.first + size.jobs)
        self.feed = Feed(
            workload, prepared.uniforms_per_job, scheduler.picks, at_once, size.first + size.jobs
        )
        allocates = scheduler.kind == "allocate"
        self.rounds = CompiledRounds(system, scheduler, prepared, self.policy.flat) if allocates else None
        board = bool(self.arrays.clock["board"][0])
        self.background = Background(system, workload, board, at_once)
        self._refill()
        if board:
            own = self.arrays.executors[: system.executors]
            self.arrays.next_change_s[:] = np.where(own["shared"], math.inf, own["next_s"])
        if system.pools:
            self._let_pools_decide()
        self._replace(self.feed.jobs(self.arrays))
        if system.closed:
            self._replace(self.feed.users(self.arrays))
        if on_progress is None:
            self.arrays.clock["next_report"] = np.iinfo(np.int64).max

    def _replace(self, changed: Mapping[str, Any]) -> None:
        """Work with these arrays from now on; ``state`` says where they are."""
        self.arrays = self.arrays._replace(**changed)
        note_addresses(self.state, changed)

    def run(self) -> RawRun:
        """Until it is done."""
        machine, core = self.policy.machine, self.core
        bind = machine if machine and not self.scheduler.picks else core.no_bind
        pick = machine if machine and self.scheduler.picks else core.no_pick
        while (code := int(core.advance(self.state, bind, pick))) != layout.DONE:
            self._give(code)
        self._drain()
        self._report()
        return _raw_run(self.system, self.arrays, self.state, self.core, self.collector.finish())

    def _give(self, code: int) -> None:
        if code == layout.DECIDE:
            self._decide()
        elif code == layout.JOBS:
            if self.arrays.clock["feed_at"][0] == self.arrays.clock["feed_jobs"][0]:
                self._replace(self.feed.jobs(self.arrays))
            else:
                self._replace(self.feed.users(self.arrays))
        elif code == layout.BACKGROUND:
            self._beyond()
        elif code == layout.DRAIN:
            self._drain()
        elif code == layout.PICK_ROWS:
            self._replace(self.feed.pick_rows(self.arrays))
        elif code == layout.ROOM:
            self._replace(with_room(self.arrays))
        elif code == layout.REPORT:
            self._report()
        else:
            self._refuse(code)

    def _let_pools_decide(self) -> None:
        """Set when each pool decides first: when its first background comes."""
        s = self.arrays
        next_s = np.where(s.executors["shared"], s.executors["next_s"], math.inf)
        decide = np.flatnonzero(np.isfinite(next_s))
        s.due_s[:] = next_s
        s.due_executors[: len(decide)] = decide
        s.clock["due_executors"] = len(decide)
        if len(decide):
            s.clock["decider"], s.clock["due_s"] = int(next_s.argmin()), next_s.min()

    def _beyond(self) -> None:
        """Prepare the event beyond the horizon: compute the round that comes first, or draw background."""
        if self.rounds and self.rounds.due(self.arrays, self.background.horizon_s):
            self.rounds.allot(self.arrays, self.state, self.core)
            self._set_horizon()
        else:
            self._refill()

    def _refill(self) -> None:
        self.core.absorb_all(self.state, self.arrays.clock["now_s"][0])
        self._replace(self.background.refill(self.arrays))
        self._set_horizon()

    def _set_horizon(self) -> None:
        """Set the time up to which the loop may go alone."""
        round_s = self.rounds.next_s if self.rounds else math.inf
        self.arrays.clock["horizon_s"] = min(self.background.horizon_s, round_s)

    def _drain(self) -> None:
        """Hand over the jobs that arrived and those that were completed since the last time."""
        s = self.arrays
        arrived, done = int(s.clock["arrived"][0]), int(s.clock["completions"][0])
        if arrived:
            first = int(s.clock["next_number"][0]) - arrived
            self.collector.arrivals(first, s.arrived_query[:arrived].copy(), s.arrived_s[:arrived].copy())
            s.clock["arrived"] = 0
        if done:
            rows = s.completions[:done]
            parts = np.stack([rows[p] for p in _PARTS], axis=1)
            self.collector.completions(rows["number"].copy(), rows["completion_s"].copy(), parts)
            s.clock["completions"] = 0

    def _report(self) -> None:
        if self.on_progress is not None:
            self._drain()
            busy = _busy_so_far(self.arrays, self.state, self.core)
            self.on_progress(self.collector.progress(busy))

    def _decide(self) -> None:
        """Ask a policy that is plain Python."""
        s, c = self.arrays, self.arrays.clock[0]
        decide: Any = self.scheduler.decide
        tables = self.rounds.tables if self.rounds else self.prepared.tables
        now, view = float(c["now_s"]), _shown_view(s)
        if not self.scheduler.picks:
            job = s.jobs[c["admitted"]]
            query = int(job["query"])
            row = s.feed_uniforms[c["feed_at"] - 1]
            if job["user"] >= 0:
                row = s.users_uniforms[query * BLOCK + s.users_at[query] - 1]
            decide(now, query, view, tables, row, s.out)
        else:
            row = s.pick_uniforms[c["pick_at"]]
            s.clock["answer"] = 1 if decide(now, view, _shown_ready(s), tables, row, s.out) else 0

    def _refuse(self, code: int) -> None:
        s, c = self.arrays, self.arrays.clock[0]
        if code == layout.BAD_BIND:
            query = int(s.jobs["query"][c["admitted"]])
            tasks = int(s.queries["tasks"][query])
            raise bad_binding(self.scheduler.name, query, s.out[:tasks].tolist(), self.system.executors)
        raise bad_pick(self.scheduler.name, int(s.out[0]), int(c["ready"]), int(s.out[1]))


_PARTS = tuple(f"{part}_s" for part in PARTS)
