"""The arrays of a run: query classes, room for what goes on, jobs drawn ahead."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.cluster.topology import Topology
from nona.core.compiled.memory import (
    CLOCK,
    COMPLETION,
    COMPLETIONS,
    EVENT,
    EXECUTOR,
    LINK,
    OUTPUT,
    PLAN,
    QUERY,
    QUEUE,
    READ,
    USE,
    Arrays,
    Floats,
    Ints,
    Records,
    blank_arrays,
)
from nona.queries.schedulers.base import NetworkView, Scheduler
from nona.queries.simulation.batching import StepRule, batch_keys, no_batch_sizes, step_rule
from nona.queries.simulation.compiled.core import FlatTables
from nona.queries.simulation.reference.executors import TICK_S
from nona.queries.simulation.reference.kernel import USER_SHIFT, user_key
from nona.queries.simulation.reference.pick import uniform_blocks
from nona.queries.simulation.rounds import no_totals
from nona.queries.simulation.sizes import TAIL_FACTOR, RunSize
from nona.queries.simulation.workload import BLOCK, QueryPlan, Workload, make_plan
from nona.queries.system import QueryClass, System


class Plans(NamedTuple):
    """Plans of the query classes, as in :class:`~nona.core.compiled.memory.State`."""

    queries: Records
    plan: Records
    outputs: Records
    uses: Records
    reads: Records
    sources: Ints
    successors: Ints
    times: Floats
    ticks: Ints
    loads: Floats
    steps: Floats
    preferred: Ints


@lru_cache(maxsize=8)  # a comparison makes hundreds of short runs of one system
def _flatten(system: System) -> Plans:
    """Return the plans of all query classes of ``system``; no run changes them."""
    plans = [make_plan(q, system.capacity) for q in system.queries]
    rules = [[step_rule(q, task) for task in range(len(q.tasks))] for q in system.queries]
    rows = _Rows()
    for query, plan, rule, keys in zip(system.queries, plans, rules, batch_keys(system), strict=True):
        rows.add(query, plan, rule, keys)
    times, loads = (
        np.concatenate([np.array(of, dtype=np.float64) for of in parts], axis=1)
        for parts in ([p.times for p in plans], [p.loads for p in plans])
    )
    every = [rule for of in rules for rule in of]
    most = max(rule.most for rule in every)
    return Plans(
        queries=_records(QUERY, rows.queries),
        plan=_records(PLAN, rows.plan),
        outputs=_records(OUTPUT, rows.outputs),
        uses=_records(USE, rows.uses),
        reads=_records(READ, rows.reads),
        sources=np.array(rows.sources, dtype=np.int64),
        successors=np.array(rows.successors, dtype=np.int64),
        times=np.ascontiguousarray(times),
        ticks=np.array([[_ticks_of(t) for t in row] for row in loads.tolist()], dtype=np.int64),
        loads=np.ascontiguousarray(loads),
        steps=_steps(system, most),
        preferred=np.array(
            [[*rule.preferred, *[0] * (most + 1 - len(rule.preferred))] for rule in every], dtype=np.int64
        ),
    )


def _steps(system: System, most: int) -> Floats:
    """(executor classes × tasks, B) Seconds of a step by members; beyond a class's own B none is used."""
    padded = [np.pad(q.step_s, ((0, most - len(q.step_s)), (0, 0), (0, 0))) for q in system.queries]
    return np.ascontiguousarray(np.concatenate(padded, axis=2).reshape(most, -1).T)


def _ticks_of(seconds: float) -> int:
    return round(seconds / TICK_S)


class _Rows:
    """The columns of :class:`Plans` while they grow."""

    def __init__(self) -> None:
        self.queries: list[tuple[float, ...]] = []
        self.plan: list[tuple[float, ...]] = []
        self.outputs: list[tuple[float, ...]] = []
        self.uses: list[tuple[int, int]] = []
        self.reads: list[tuple[int, int, int]] = []
        self.sources: list[int] = []
        self.successors: list[int] = []

    def add(self, query: QueryClass, plan: QueryPlan, rules: Sequence[StepRule], keys: Sequence[int]) -> None:
        sources = len(self.sources), len(plan.sources)
        loop = query.users, query.think_s
        self.queries.append((len(self.plan), plan.tasks, sum(plan.inputs), *sources, *loop))
        self.sources += plan.sources
        first: dict[int, tuple[int, int]] = {}  # tensor → its output, its first use
        ranges = []
        for outputs in plan.outputs:
            begin = len(self.outputs)
            for output in outputs:
                first[output.tensor] = (len(self.outputs), len(self.uses))
                end = len(self.uses) + len(output.targets)
                self.outputs.append((output.tensor, len(self.uses), end, output.size_bytes, output.work_s))
                self.uses += zip(output.targets, output.numbers, strict=True)
            ranges.append((begin, len(self.outputs)))
        for t in range(plan.tasks):
            read = len(self.reads)
            for output, place, source in plan.reads[t]:
                number, use = first[output.tensor]
                self.reads.append((number, use + place, source))
            successor = len(self.successors)
            self.successors += plan.successors[t]
            self.plan.append(
                (
                    plan.inputs[t],
                    plan.predecessors[t],
                    *ranges[t],
                    read,
                    len(self.reads),
                    successor,
                    len(self.successors),
                    keys[t],
                    *(rules[t].most, rules[t].ahead, rules[t].largest, rules[t].delay_s),
                )
            )


def _records(dtype: np.dtype[Any], rows: Sequence[Iterable[float]]) -> Records:
    return np.array([tuple(r) for r in rows], dtype=dtype)


JOBS, ROWS = (
    512,
    1 << 18,
)  # room at first, for so many jobs in the system and in no more rows; untouched, it costs nothing
PARTIALS = 64  # more than any sum of doubles can have without overlap


def make_arrays(
    system: System,
    scheduler: Scheduler,
    flat: FlatTables | None,
    size: RunSize,
) -> Arrays:
    """Return the state before the first event."""
    plans = _flatten(system)
    servers = system.servers
    links = len(system.link_capacity)
    executors, queries = system.executors, len(system.queries)
    largest = int(plans.queries["tasks"].max())
    executors_of = _instances(system) if system.pools else _executors(system)
    parts = {
        **{name: np.zeros(n) for name, n in (("shown", 5), ("partials", PARTIALS))},
        **_recorded(executors, links, queries),
        **plans._asdict(),
        **_queues(system, plans),
        **_network(system.topology, servers),
        "clock": np.zeros(1, dtype=CLOCK),
        "executors": executors_of,
        "links": _links(system),
        "executor_server": executors_of["server"].astype(np.int64),
        "executor_class": executors_of["kind"].astype(np.int64),
        "server_stamp": np.zeros(servers, dtype=np.int64),
        "out": np.zeros(2 if scheduler.picks else largest, dtype=np.int64),
        "marks": np.append(size.marks(), -1),
        "traced": np.append(size.traced(), -1),
        "free_slots": np.full(queries, -1, dtype=np.int64),
        "completions": np.zeros(COMPLETIONS + plans.steps.shape[1], dtype=COMPLETION),
        "tables_i": flat.ints if flat else np.zeros(0, dtype=np.int64),
        "tables_f": flat.floats if flat else np.zeros(0),
        "arrived_query": np.zeros(COMPLETIONS, dtype=np.int64),
        "arrived_s": np.zeros(COMPLETIONS),
        "users_at": np.zeros(queries, dtype=np.int64),
        "events": _first_of_users(system),
        **_board(system, scheduler),
        **_flows(system, scheduler),
    }
    arrays = blank_arrays()._replace(**parts)
    _set_clock(arrays, system, scheduler, size)
    arrays.clock["most_tasks"] = len(arrays.out)
    arrays.clock["compiled"] = flat is not None
    return arrays._replace(**with_room(arrays))


def _queues(system: System, plans: Plans) -> dict[str, Any]:
    """Return what executors that batch need."""
    if not system.decides_in_turn:
        return {}
    sizes, pools = no_batch_sizes(system), system.pools
    rows = len(pools.pool) if pools else system.executors
    queues = np.zeros((rows, len(plans.plan)), dtype=QUEUE)
    queues["head"] = queues["tail"] = -1
    queues["limit"] = plans.plan["most"]
    of_pools = {"joins": pools.joins, "speeds": pools.speed} if pools else {}
    return {
        "queues": queues.ravel(),
        "batch_sizes": np.zeros((len(system.queries), 2), dtype=np.int64) if sizes is None else sizes,
        "due_s": np.full(rows, math.inf),
        "due_executors": np.zeros(rows, dtype=np.int64),
        **of_pools,
    }


def _recorded(executors: int, links: int, queries: int) -> dict[str, Any]:
    return {
        "open_at": np.zeros(21, dtype=np.int64),
        "busy_s": np.zeros((2, executors)),
        "link_busy_s": np.zeros((2, links)),
        "class_completed": np.zeros(queries, dtype=np.int64),
        "class_work_s": np.zeros(queries),
        "class_bytes": np.zeros(queries),
        "crossed_bytes": np.zeros((queries, links)),
        "requested_bytes": np.zeros(queries),
    }


def _network(topology: Topology | None, servers: int) -> dict[str, Any]:
    names = ("out_link", "up_link", "down_link", "in_link", "rack")
    if topology is None:
        return {name: np.full(servers, -1, dtype=np.int64) for name in names}
    return {name: np.array(getattr(topology, name), dtype=np.int64) for name in names}


def _executors(system: System) -> Records:
    rows = np.zeros(system.executors, dtype=EXECUTOR)
    rows["server"], rows["kind"] = system.executor_server, system.executor_class
    for name in ("task", "head", "tail", "last"):
        rows[name] = -1
    rows["next_s"] = math.inf
    return rows


def _instances(system: System) -> Records:
    """Return a row for each instance of the pools; those of executors come first."""
    pools = system.all_pools
    n = len(pools.pool)
    rows = np.zeros(n, dtype=EXECUTOR)
    rows["server"], rows["kind"], rows["pool"], rows["gpu"] = pools.server, pools.kind, pools.pool, pools.gpu
    rows["shared"], rows["speed"], rows["board"] = pools.shared, pools.speed[:, 0], pools.board
    for name in ("task", "head", "tail", "last", "pool_next", "gpu_first", "gpu_next"):
        rows[name] = -1
    rows["next_s"] = math.inf
    for i in reversed(range(n)):
        pool, gpu = int(pools.pool[i]), int(pools.gpu[i])
        rows["idle"][pool] += 1
        if i != pool:
            rows["pool_next"][i], rows["pool_next"][pool] = rows["pool_next"][pool], i
        rows["gpu_next"][i], rows["gpu_first"][gpu] = rows["gpu_first"][gpu], i
    return rows


def _first_of_users(system: System) -> Records:
    """Return the events of the users of closed loops, who all send their first query at 0."""
    users = [(q, u) for q, query in enumerate(system.queries) for u in range(query.users)]
    return _records(EVENT, [(0.0, user_key(q, u), (q << USER_SHIFT) + u) for q, u in users])


def _links(system: System) -> Records:
    rows = np.zeros(len(system.link_capacity), dtype=LINK)
    rows["capacity"] = system.link_capacity
    rows["next_s"] = math.inf
    return rows


def _board(system: System, scheduler: Scheduler) -> dict[str, Any]:
    executors = system.executors
    read = scheduler.sees_loads
    cards = scheduler.picks and scheduler.network_view >= NetworkView.N3
    return {
        "queue_length": np.full(executors, 0 if read else -1, dtype=np.int64),
        "card_bytes_s": np.full(2 * system.servers, 0.0 if cards else math.nan),
        "backlog_s": np.full(executors, 0.0 if read else math.nan),
        "ticks_ahead": np.zeros(executors, dtype=np.int64),
        "next_change_s": np.full(executors, math.inf),
    }


def _flows(system: System, scheduler: Scheduler) -> dict[str, Any]:
    """Count for rounds."""
    if scheduler.kind != "allocate":
        return {}
    return {f"flow_{name}": array for name, array in no_totals(system)._asdict().items()}


def _set_clock(s: Arrays, system: System, scheduler: Scheduler, size: RunSize) -> None:
    level = scheduler.network_view
    values: dict[str, float] = {
        "executors": system.executors,
        "servers": system.servers,
        "cards": scheduler.picks and level >= NetworkView.N3,
        "links": len(system.link_capacity),
        "core": system.topology.core if system.topology else 0,
        "first": size.first,
        "jobs": size.jobs,
        "last": size.last,
        "tail_jobs": size.tail_jobs,
        "tail_most": TAIL_FACTOR * size.tail_jobs,
        "report_every": size.report_every,
        "run_on": size.run_on,
        "board": scheduler.sees_loads,
        "watched": level >= NetworkView.N2,
        "picks": scheduler.picks,
        "rounds": scheduler.kind == "allocate",
        "shared": system.topology is None and system.discipline != "fifo",
        "paths": system.topology is not None,
        "network_view": int(level),
        "has_background": system.background_compute.rate > 0,
        "batching": len(s.queues) > 0,
        "pools": system.pools is not None,
        "closed": system.closed,
        "events": len(s.events),
        "keys": len(s.plan),
        "mean_ticks": _ticks_of(system.background_compute.mean),
        "free_message": -1,
        "unmeasured": size.jobs,
        "free": system.executors,
        "latency_s": system.latency_s,
        "capacity": system.capacity,
        "tail_s": size.tail_s,
        "horizon_s": math.inf,
        "wake_s": math.inf,
        "link_end_s": math.inf,
        "due_s": math.inf,
    }
    for name, value in values.items():
        s.clock[name] = value
    s.shown[:] = math.nan
    if level >= NetworkView.N1:
        s.shown[:2] = system.capacity, system.latency_s


def with_room(s: Arrays) -> dict[str, Any]:
    """Arrays with room for the next job of any class, at least twice as much where it was tight."""
    c = s.clock[0]
    tasks, inputs = int(s.queries["tasks"].max()), int(s.queries["inputs"].max())
    room = {
        "jobs": (int(c["jobs_used"]), 1, JOBS),
        "tasks": (int(c["arena"]), tasks, min(JOBS * tasks, ROWS)),
        "messages": (int(c["promised_messages"]), inputs, min(JOBS * inputs, ROWS)),
        "task_traces": (int(c["task_traces_promised"]), tasks, min(JOBS * tasks, ROWS)),
        "message_traces": (int(c["message_traces_promised"]), inputs, min(JOBS * inputs, ROWS)),
    }
    grown = {name: _grown(getattr(s, name), *need) for name, need in room.items()}
    places, messages = len(grown["tasks"]), len(grown["messages"])
    users = int(s.queries["users"].sum())
    at_once = 2 * len(s.executors) + places + messages + 1 + users
    s.clock["events_at_once"] = at_once
    # with pools ends change, and those that do not count any more stay in the list until their time
    kept = int(c["events"]) + at_once if c["pools"] else 0
    grown["events"] = _longer(s.events, max(at_once, 2 * kept))
    if places > len(s.line):  # turned so that the ring begins at 0, and goes on into the new rows
        grown["line"] = _longer(np.roll(s.line, -int(c["line_first"])), places)
        s.clock["line_first"], s.clock["room_line"] = 0, places
    flows = len(s.flows)
    if not c["shared"]:
        flows = 0
    elif c["flows"] >= flows - messages or flows == 0:
        flows = 2 * (flows + messages) + 1024
    grown["flows"] = _longer(s.flows, flows)
    watched = messages + 1 if c["watched"] else 0
    grown["due"], grown["due_transfer_s"] = _longer(s.due, watched), _longer(s.due_transfer_s, watched)
    grown["due_slots"] = np.concatenate(
        [s.due_slots, np.arange(len(s.due_slots), max(watched, len(s.due_slots)))]
    )
    if c["picks"]:
        for name in Arrays._fields:
            if name.startswith("ready_") or name == "places":
                grown[name] = _longer(getattr(s, name), places)
    for name in (*room, "flows", "events"):
        s.clock[f"room_{name}"] = len(grown[name])
    return grown


def _grown(array: Any, used: int, need: int, least: int) -> Any:
    """``array`` with ``need`` rows free beyond ``used``; twice as long where it has not."""
    if used + need <= len(array):
        return array
    return _longer(array, max(2 * len(array), used + need, least))


def _longer(array: Any, length: int) -> Any:
    """``array`` with zeros behind it; itself where it is long enough."""
    if length <= len(array):
        return array
    longer = np.zeros(length, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


Block = tuple[NDArray[np.float64], NDArray[np.float64]]
JOBS_AT_ONCE = 16_384  # what is drawn at a time, jobs and background: a crossing costs as much as many events
JOBS_IN_TAIL = 1024  # fewer are wanted once those that are expected have come
PICK_BLOCKS = 8


class Feed:
    """The next jobs and pick uniforms of one run.

    ``at_once`` jobs at least make a chunk, until the ``expected`` ones of the run have come.
    """

    def __init__(self, workload: Workload, uniforms: int, picks: bool, at_once: int, expected: int) -> None:
        self._chunks, self.at_once, self._left = workload.chunks(), at_once, expected
        self._of_users = {
            q: workload.of_users(q) for q, query in enumerate(workload.system.queries) if query.users
        }
        self._rows = uniform_blocks(workload.streams, uniforms) if picks else iter(())

    def jobs(self, s: Arrays) -> dict[str, Any]:
        """Return the next chunk of jobs."""
        chunks, offsets, jobs, draws = [], [], 0, 0
        wanted = min(self.at_once, max(self._left, JOBS_IN_TAIL))
        while jobs < wanted:
            chunk = next(self._chunks)
            chunks.append(chunk)
            offsets.append(np.where(chunk.offsets < 0, -1, chunk.offsets + draws))
            jobs += len(chunk.arrival_s)
            draws += len(chunk.services)
        self._left -= jobs
        s.clock["feed_at"], s.clock["feed_jobs"] = 0, jobs
        return {
            "feed_s": np.concatenate([c.arrival_s for c in chunks]),
            "feed_query": np.concatenate([c.query for c in chunks]),
            "feed_draws": np.concatenate(offsets),
            "feed_draw": np.concatenate([c.services for c in chunks]),
            "feed_uniforms": np.concatenate([c.uniforms for c in chunks]),
        }

    def users(self, s: Arrays) -> dict[str, Any]:
        """Return the next draws of the classes in a closed loop that have none left."""
        classes, tasks = len(s.users_at), int(s.queries["tasks"].max())
        draws, uniforms = s.users_draw, s.users_uniforms
        if not len(draws):
            draws = np.ones((classes * BLOCK, tasks))
            uniforms = np.zeros((classes * BLOCK, int(s.clock["uniforms"][0])))
            s.users_at[:] = BLOCK
        for q, chunks in self._of_users.items():
            if s.users_at[q] == BLOCK:
                rows, (services, drawn) = slice(q * BLOCK, (q + 1) * BLOCK), next(chunks)
                draws[rows, : services.shape[1]], uniforms[rows] = services, drawn
                s.users_at[q] = 0
        return {"users_draw": draws, "users_uniforms": uniforms}

    def pick_rows(self, s: Arrays) -> dict[str, Any]:
        """Return the uniforms of the next picks."""
        rows = np.concatenate([next(self._rows) for _ in range(PICK_BLOCKS)])
        s.clock["pick_at"], s.clock["pick_rows"] = 0, len(rows)
        return {"pick_uniforms": rows}


class Background:
    """Background items of executors and links, drawn ahead.

    The loop may go on until the instant at which the first of them runs out of items. Every time it
    gets as many as ``jobs`` jobs will need.
    """

    def __init__(self, system: System, workload: Workload, board: bool, jobs: int) -> None:
        self._executors = Items([workload.executor_background(e) for e in range(system.executors)], board)
        self._links = Items([workload.link_background(k) for k in range(len(system.link_streams))])
        self._ahead_s = jobs / max(system.total_rate, 1e-9)

    @property
    def horizon_s(self) -> float:
        """Up to here all background is drawn."""
        return min(self._executors.horizon_s, self._links.horizon_s)

    def refill(self, s: Arrays) -> dict[str, Any]:
        """Top up background that runs out soon; all up to now must have been absorbed."""
        x, links = s.executors[: len(self._executors.time_s)], s.links
        until_s = float(s.clock["wanted_s"][0]) + self._ahead_s
        needed = np.minimum(x["absorbed"], x["served"])
        if self._executors.keep_ends:
            needed = np.minimum(needed, x["ended"])
        for r in self._executors.refill(until_s, needed - x["dropped"]):
            x["dropped"][r] = needed[r]
        for r in self._links.refill(until_s, links["at"]):
            links["at"][r] = 0
        rows = np.arange(len(self._executors.time_s))
        x["next_s"] = self._executors.time_s[rows, x["absorbed"] - x["dropped"]]
        rows = np.arange(len(links))
        links["next_s"] = self._links.time_s[rows, links["at"]]
        links["next_work_s"] = self._links.work_s[rows, links["at"]]
        return {
            "background_s": self._executors.time_s,
            "background_work_s": self._executors.work_s,
            "background_end_s": self._executors.end_s,
            "link_background_s": self._links.time_s,
            "link_background_work_s": self._links.work_s,
        }


class Items:
    """Rows of (instant, work), each fed from its own stream; ``filled`` of each row are drawn.

    ``end_s`` is for the loop to write into.
    """

    def __init__(self, sources: list[Iterator[Block]], keep_ends: bool = False) -> None:
        self.sources, self.keep_ends = sources, keep_ends
        self.filled = np.zeros(len(sources), dtype=np.int64)
        self.last_s = np.zeros(len(sources))
        self.time_s, self.work_s = np.full((len(sources), 1), math.inf), np.zeros((len(sources), 1))
        self.end_s = np.zeros((len(sources), 1 if keep_ends else 0))

    @property
    def horizon_s(self) -> float:
        """The instant at which the first row runs out."""
        return float(self.last_s.min(initial=math.inf))

    def refill(self, until_s: float, drop: NDArray[np.int64]) -> list[int]:
        """Draw until each row goes beyond ``until_s``; the rows that got items lose their first ``drop``."""
        short = np.flatnonzero(self.last_s <= until_s).tolist()
        fresh = {r: block for r in short if (block := _beyond(self.sources[r], until_s)) is not None}
        self.last_s[[r for r in short if r not in fresh]] = math.inf  # there is no background
        kept = self.filled - drop
        self._widen(max((int(kept[r]) + len(block[0]) for r, block in fresh.items()), default=0))
        for r, (times, works) in fresh.items():
            n, old = int(kept[r]), slice(int(drop[r]), int(self.filled[r]))
            for rows in (
                (self.time_s, self.work_s, self.end_s) if self.keep_ends else (self.time_s, self.work_s)
            ):
                rows[r, :n] = rows[r, old].copy()
            self.filled[r] = end = n + len(times)
            self.time_s[r, n:end], self.work_s[r, n:end] = times, works
            self.last_s[r] = times[-1]
        return list(fresh)

    def _widen(self, width: int) -> None:
        more = width - self.time_s.shape[1]
        if more > 0:
            self.time_s, self.work_s = (
                np.pad(rows, ((0, 0), (0, more))) for rows in (self.time_s, self.work_s)
            )
            if self.keep_ends:
                self.end_s = np.pad(self.end_s, ((0, 0), (0, more)))


def _beyond(source: Iterator[Block], until_s: float) -> Block | None:
    """Blocks of a stream until the last item comes after ``until_s``; ``None`` where it has none."""
    blocks = []
    for block in source:
        blocks.append(block)
        if block[0][-1] > until_s:
            break
    if not blocks:
        return None
    return np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])
