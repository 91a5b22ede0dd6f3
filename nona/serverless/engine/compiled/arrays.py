"""The arrays of a run, from the system's tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.serverless.dispatch import routes
from nona.serverless.engine.compiled import state as layout
from nona.serverless.engine.compiled.state import Records, State, key_of
from nona.serverless.engine.invokers import Tables
from nona.serverless.engine.options import TAIL_SLOS, RunOptions
from nona.serverless.sharing import gpu_seconds, kinds_of_pool
from nona.serverless.system import calls, noise_factors

FIRST_EVENTS, FIRST_ROWS, MEMO_PLANS = 4096, 256, 64


def margin(state: State, tables: Tables) -> int:
    """Events that serving the queues adds at most at one instant: each dispatch holds a vCPU, and adds
    the batch's end and a container's start; each queue adds a decision or a wait."""
    return 3 * sum(node.vcpus for node in tables.system.invokers) + 2 * int(state.clock["queues"][0]) + 8


def make_state(tables: Tables, run: RunOptions, by_length: bool) -> State:
    """A run before its first event."""
    system = tables.system
    arrival_s, application = calls(system, run.most, run.replication)
    n, width = len(arrival_s), tables.widest
    stages = np.array([app.stages for app in system.applications])
    f, many = len(system.functions), len(system.invokers)
    ring = _ring(tables)
    gpu_free, gpu_slots = _gpus(tables)
    queues, lists = _queues(tables)
    clock = _clock(tables, run, arrival_s)
    clock["gpus"], clock["ring"] = gpu_free.shape[1], ring
    if by_length:
        clock["memo_length"], clock["memo_plans"] = int(system.space.batch.max()), MEMO_PLANS
    event_s, event_key, clock["coming"] = _first_events(tables, float(arrival_s[0]), int(application[0]))
    memo = tables.queues * (int(clock["memo_length"][0]) + 1) * int(clock["memo_plans"][0])
    containers = _records(layout.CONTAINER, f * many)
    containers["idle"] = system.containers.warm
    for name in ("check_s", "last_s", "gap_s"):
        containers[name] = -1.0
    if system.containers.warm:
        containers["check_s"] = system.containers.keep_alive
    return State(
        clock=clock,
        queues=queues,
        invokers=_invokers(tables, gpu_free),
        containers=containers,
        batches=np.empty(int(stages[application].sum()), dtype=layout.BATCH),
        rows=_records(layout.ROW, FIRST_ROWS),
        configurations=_configurations(tables),
        event_s=event_s,
        event_key=event_key,
        idle_s=np.zeros(f * many * ring),
        starting_s=np.zeros(f * many * ring),
        recent_s=np.zeros(tables.queues * (layout.RECENT_MASK + 1)),
        gpu_free=gpu_free.ravel(),
        gpu_slots=gpu_slots.ravel(),
        arrival_s=np.ascontiguousarray(arrival_s),
        application=application,
        left=stages[application],
        carried=np.full(n, -1, dtype=np.int64),
        completion_s=np.full(n, np.nan),
        noise=noise_factors(system, application, run.replication).ravel(),
        waiting=_waiting(tables)[application].ravel(),
        served=np.full(n * width, -1, dtype=np.int64),
        joined_s=np.zeros(n * width),
        next=np.full(n * width, -1, dtype=np.int64),
        least_next=np.full(n * width, -1, dtype=np.int64),
        least_before=np.full(n * width, -1, dtype=np.int64),
        cold_start_s=np.array(tables.cold_start_s, dtype=np.float64),
        cpu_s=np.ascontiguousarray(system.cpu_s),
        gpu_s=np.array([gpu_seconds(system, pool) for pool in kinds_of_pool(system)]),
        routes=np.array(routes(system), dtype=np.int64),
        queue_at=np.array([row + [-1] * (width - len(row)) for row in tables.queue_at], dtype=np.int64),
        ranked=np.zeros(FIRST_ROWS * max(16, len(system.space)), dtype=np.int64),
        memo=np.full(memo, -1, dtype=np.int64),
        **lists,
    )


def with_room(state: State) -> State:
    """The same with twice the room for events and rows."""
    grown = ("event_s", "event_key", "rows", "ranked")
    state.clock["grow"] = 0
    return state._replace(**{name: _doubled(getattr(state, name)) for name in grown})


def _doubled(array: Records) -> Records:
    return np.concatenate([array, np.zeros_like(array)])


def _records(dtype: np.dtype[Any], count: int) -> Records:
    return np.zeros(count, dtype=dtype)


def _ring(tables: Tables) -> int:
    """Containers of a function on an invoker at most: those at the start, or one for each vCPU and spares."""
    kept = tables.system.containers
    return max(kept.warm, max(node.vcpus for node in tables.system.invokers) + kept.spare + 2) + 1


def _gpus(tables: Tables) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(N, most GPUs) Free vGPUs, and the bits of their slots; none where an invoker has fewer GPUs."""
    nodes = tables.system.invokers
    free = np.zeros((len(nodes), max(1, *(node.gpus for node in nodes))), dtype=np.int64)
    for number, node in enumerate(nodes):
        free[number, : node.gpus] = node.vgpus
    return free, (1 << free) - 1


def _invokers(tables: Tables, gpu_free: NDArray[np.int64]) -> Records:
    nodes = tables.system.invokers
    kinds = list(dict.fromkeys(nodes))
    rows = _records(layout.INVOKER, len(nodes))
    rows["kind"] = [kinds.index(node) for node in nodes]
    rows["free_vcpus"] = [node.vcpus for node in nodes]
    rows["free_vgpus"], rows["most"] = gpu_free.sum(axis=1), gpu_free.max(axis=1)
    rows["stranded"] = np.where(rows["free_vcpus"] > 0, 0, rows["free_vgpus"])
    return rows


def _configurations(tables: Tables) -> Records:
    rows = _records(layout.CONFIGURATION, len(tables.configurations))
    rows["batch"], rows["vcpus"], rows["vgpus"] = tables.batch, tables.vcpus, tables.vgpus
    rows["refused"] = -1
    return rows


def _first_events(
    tables: Tables, arrival_s: float, application: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """The first call arrives; containers that are there from the start expire. Sorted, they are a heap."""
    system = tables.system
    events = [(arrival_s, key_of(layout.ARRIVAL, application, 0, 0))]
    if system.containers.warm:
        events += [
            (system.containers.keep_alive, key_of(layout.CONTAINERS, i, f, 0))
            for i in range(len(system.invokers))
            for f in range(len(system.functions))
        ]
    room = max(FIRST_EVENTS, 4 * len(events))
    event_s, event_key = np.zeros(room), np.zeros(room, dtype=np.int64)
    for at, (time_s, key) in enumerate(sorted(events)):
        event_s[at], event_key[at] = time_s, key
    return event_s, event_key, len(events)


def _queues(tables: Tables) -> tuple[Records, dict[str, Any]]:
    """The queues, and the lists that they have parts of."""
    rows, spec = _records(layout.QUEUE, tables.queues), tables.system.dispatch
    for name in ("application", "stage", "function", "input_bytes"):
        rows[name] = getattr(tables, name)
    rows["slo_s"] = [tables.slo_s[a] for a in tables.application]
    rules = [[layout.RULES.index(r) for r in (spec.first if e else spec.later)] for e in tables.entry]
    rows["asks_all"] = [layout.WALK in own or layout.MOST_FREE in own for own in rules]
    parts: dict[str, Iterable[Iterable[int]]] = {
        "rule": rules,
        "before": tables.before,
        "after": tables.after,
    }
    joined = {}
    for name, lists in parts.items():
        joined[name], starts = _joined(lists)
        rows[name], rows[f"{name}s"] = starts[:-1], np.diff(starts)
    entry, entries = _joined(tables.entries)
    for name in ("head", "tail", "least_head", "least_tail", "row"):
        rows[name] = -1
    return rows, {
        "rules": joined["rule"],
        "before": joined["before"],
        "after": joined["after"],
        "entry": entry,
        "entries": entries,
    }


def _joined(lists: Iterable[Iterable[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All lists behind each other, and where each begins; the last is where all end."""
    kept = [list(own) for own in lists]
    flat = np.array([x for own in kept for x in own], dtype=np.int64)
    return flat, np.cumsum([0, *map(len, kept)], dtype=np.int64)


def _waiting(tables: Tables) -> NDArray[np.int64]:
    """(A, width) Stages before each."""
    before = np.zeros((len(tables.system.applications), tables.widest), dtype=np.int64)
    for queue, stages in enumerate(tables.before):
        before[tables.application[queue], tables.stage[queue]] = len(stages)
    return before


def _clock(tables: Tables, run: RunOptions, arrival_s: NDArray[np.float64]) -> Records:
    system = tables.system
    clock = _records(layout.CLOCK, 1)
    c: dict[str, float] = {}
    dispatch, kept, way = system.dispatch, system.containers, system.transfer
    first, end = run.first, run.first + run.calls
    c |= {"queues": tables.queues, "invokers": len(system.invokers), "width": tables.widest}
    c |= {"configurations": len(system.space), "calls": len(arrival_s), "first": first, "end": end}
    c |= {"limit": dispatch.rechecks, "partial": dispatch.partial, "blocking": dispatch.blocking}
    c |= {"by_slack": dispatch.order == "least-slack", "served": tables.queues - 1}
    c |= {"spare": kept.spare if kept.prewarm == "spare" else 0, "predicts": kept.prewarm == "ewma"}
    c |= {"keep_s": kept.keep_alive, "weight": kept.ewma_weight, "open_measured": run.calls}
    c |= {"start_s": arrival_s[first], "end_s": arrival_s[end - 1], "stories_left": run.stories}
    c |= {"stop_s": arrival_s[end - 1] + TAIL_SLOS * max(tables.slo_s)}
    c |= {"next_snapshot_s": np.inf if run.snapshot_s is None else run.snapshot_s}
    c |= {"local_latency_s": way.local_latency, "local_bandwidth": way.local_bandwidth}
    c |= {"remote_latency_s": way.remote_latency, "remote_bandwidth": way.remote_bandwidth}
    for name, value in c.items():
        clock[name] = value
    return clock
