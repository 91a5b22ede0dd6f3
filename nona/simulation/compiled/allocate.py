"""Arrays for a run: allocated, and made larger when the loop asks for room."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nona.schedulers.base import NetworkView, Scheduler
from nona.simulation.compiled.machine.policies import FlatTables
from nona.simulation.compiled.memory.arrays import Arrays, Records
from nona.simulation.compiled.memory.fields import blank_arrays
from nona.simulation.compiled.memory.layout import CLOCK, COMPLETION, COMPLETIONS, EXECUTOR, LINK
from nona.simulation.compiled.plans import flatten, ticks_of
from nona.simulation.rounds import no_totals
from nona.simulation.sizes import TAIL_FACTOR, RunSize
from nona.system import System
from nona.topology import Topology

JOBS, ROWS = (
    512,
    1 << 18,
)  # room at first, for so many jobs in the system and in no more rows; untouched, it costs nothing
PARTIALS = 64  # more than any sum of doubles can have without overlap


def make_arrays(system: System, scheduler: Scheduler, flat: FlatTables | None, size: RunSize) -> Arrays:
    """The state before the first event."""
    plans = flatten(system)
    servers = system.servers
    links = len(system.link_capacity)
    executors, queries = system.executors, len(system.queries)
    largest = int(plans.queries["tasks"].max())
    made = {
        **{name: np.zeros(n) for name, n in (("shown", 5), ("partials", PARTIALS))},
        **_recorded(executors, links, queries),
        **plans._asdict(),
        **_network(system.topology, servers),
        "clock": np.zeros(1, dtype=CLOCK),
        "executors": _executors(system),
        "links": _links(system),
        "executor_server": system.executor_server.astype(np.int64),
        "executor_class": system.executor_class.astype(np.int64),
        "server_stamp": np.zeros(servers, dtype=np.int64),
        "out": np.zeros(2 if scheduler.picks else largest, dtype=np.int64),
        "marks": np.append(size.marks(), -1),
        "traced": np.append(size.traced(), -1),
        "free_slots": np.full(queries, -1, dtype=np.int64),
        "completions": np.zeros(COMPLETIONS, dtype=COMPLETION),
        "tables_i": flat.ints if flat else np.zeros(0, dtype=np.int64),
        "tables_f": flat.floats if flat else np.zeros(0),
        **_board(system, scheduler),
        **_flows(system, scheduler),
    }
    arrays = blank_arrays()._replace(**made)
    _set_clock(arrays, system, scheduler, size)
    arrays.clock["most_tasks"] = len(arrays.out)
    arrays.clock["compiled"] = flat is not None
    return arrays._replace(**with_room(arrays))


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
    for name in ("task", "head", "tail"):
        rows[name] = -1
    rows["next_s"] = math.inf
    return rows


def _links(system: System) -> Records:
    rows = np.zeros(len(system.link_capacity), dtype=LINK)
    rows["capacity"] = system.link_capacity
    rows["next_s"] = math.inf
    return rows


def _board(system: System, scheduler: Scheduler) -> dict[str, Any]:
    executors = system.executors
    read = scheduler.reads_queues or scheduler.picks
    cards = scheduler.picks and scheduler.network_view >= NetworkView.N3
    return {
        "queue_length": np.full(executors, 0 if read else -1, dtype=np.int64),
        "card_bytes_s": np.full(2 * system.servers, 0.0 if cards else math.nan),
        "backlog_s": np.full(executors, 0.0 if read else math.nan),
        "ticks_ahead": np.zeros(executors, dtype=np.int64),
        "next_change_s": np.full(executors, math.inf),
    }


def _flows(system: System, scheduler: Scheduler) -> dict[str, Any]:
    """Counts for rounds."""
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
        "board": scheduler.reads_queues or scheduler.picks,
        "watched": level >= NetworkView.N2,
        "picks": scheduler.picks,
        "rounds": scheduler.kind == "allocate",
        "shared": system.topology is None and system.discipline != "fifo",
        "paths": system.topology is not None,
        "network_view": int(level),
        "has_background": system.background_compute.rate > 0,
        "mean_ticks": ticks_of(system.background_compute.mean),
        "free_message": -1,
        "unmeasured": size.jobs,
        "free": system.executors,
        "latency_s": system.latency_s,
        "capacity": system.capacity,
        "tail_s": size.tail_s,
        "horizon_s": math.inf,
        "wake_s": math.inf,
        "link_end_s": math.inf,
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
    grown["events"] = _longer(s.events, int(c["executors"]) + places + messages + 1)
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
    for name in (*room, "flows"):
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
