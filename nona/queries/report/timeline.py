"""The timeline of a run of queries as a trace for Perfetto: links and servers, tasks, messages, waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from nona.core.chrome_trace import (
    Args,
    ChromeTrace,
    Clock,
    Place,
    TraceEvent,
    TraceJobs,
    counter,
    process_names,
    thread_name,
    trace_of,
)
from nona.queries.simulation.records import MessageInterval, Records, TaskInterval, Timeline
from nona.queries.system import System

Interval = TaskInterval | MessageInterval


def _executor_title(system: System, executor: int) -> str:
    if executor >= system.executors and system.pools:
        return system.pools.title(executor)
    return f"executor {executor} · {system.class_names[int(system.executor_class[executor])]}"


def _scheduler_events(timeline: Timeline, system: System, name: str, first_process: int) -> list[TraceEvent]:
    """All events of one scheduler; its processes are numbered from ``first_process``: links, then servers."""
    clock = Clock(min(t.ready_s for t in timeline.tasks))
    servers = sorted({int(system.instance_server[t.executor]) for t in timeline.tasks})
    process = {server: first_process + 1 + i for i, server in enumerate(servers)}
    tasks = {t: (process[int(system.instance_server[t.executor])], t.executor + 1) for t in timeline.tasks}
    sent = sorted(timeline.messages, key=lambda m: (m.start_s, m.end_s, m.job, m.tensor, m.destination))
    lanes = clock.lanes((m, m.start_s, m.end_s) for m in sent)
    messages = {m: (first_process, lane) for m, lane in lanes}
    return [
        *_names(name, system, process, first_process, tasks, messages),
        *(_task(t, place, clock, system) for t, place in tasks.items()),
        *(_message(m, place, clock, system) for m, place in messages.items()),
        *_waiting_tasks(timeline.tasks, tasks, clock),
        *_waiting_messages(timeline.messages, first_process, clock, system),
        *_flows(tasks, messages, clock, system, first_process),
    ]


def _names(
    name: str,
    system: System,
    process: dict[int, int],
    links: int,
    tasks: dict[TaskInterval, Place],
    messages: dict[MessageInterval, Place],
) -> Iterator[TraceEvent]:
    titles = {links: f"{name} · network", **{pid: f"{name} · server {s}" for s, pid in process.items()}}
    for pid, title in titles.items():
        yield from process_names(pid, title)
    for place in sorted(set(tasks.values())):
        executor = place[1] - 1
        yield thread_name(place, _executor_title(system, executor))
    for place in sorted(set(messages.values())):
        yield thread_name(place, "messages" if place[1] == 1 else f"messages, lane {place[1]}")


def _task(t: TaskInterval, place: Place, clock: Clock, system: System) -> TraceEvent:
    query = system.queries[t.query]
    args: Args = {"job": t.job, "model": query.name, "waited_ms": (t.start_s - t.ready_s) * 1e3}
    return clock.slice(query.tasks.task_ids[t.task], "task", place, t.start_s, t.end_s, args)


def _message(m: MessageInterval, place: Place, clock: Clock, system: System) -> TraceEvent:
    query = system.queries[m.query]
    made_by = query.tasks.task_ids[int(query.tasks.tensor_source[m.tensor])]
    args: Args = {
        "job": m.job,
        "model": query.name,
        "tensor_of": made_by,
        "bytes": float(query.tasks.tensor_bytes[m.tensor]),
        "from_server": m.source,
        "to_server": m.destination,
        "waited_ms": (m.start_s - m.request_s) * 1e3,
        "delivered_us": clock.ns(m.delivered_s) / 1000,
    }
    title = f"server {m.source} → {m.destination}"
    return clock.slice(title, "message", place, m.start_s, m.end_s, args)


def _waiting_tasks(
    intervals: Iterable[TaskInterval], places: dict[TaskInterval, Place], clock: Clock
) -> Iterator[TraceEvent]:
    changes: dict[int, list[tuple[int, float]]] = {}
    for t in intervals:
        own = changes.setdefault(places[t][0], [])
        own += [(clock.ns(t.ready_s), 1.0), (clock.ns(t.start_s), -1.0)]
    for pid, steps in sorted(changes.items()):
        yield from counter("tasks waiting", pid, "tasks", steps)


def _waiting_messages(
    intervals: Iterable[MessageInterval], pid: int, clock: Clock, system: System
) -> Iterator[TraceEvent]:
    count: list[tuple[int, float]] = []
    size: list[tuple[int, float]] = []
    for m in intervals:
        request, start = clock.ns(m.request_s), clock.ns(m.start_s)
        nbytes = float(system.queries[m.query].tasks.tensor_bytes[m.tensor])
        count += [(request, 1.0), (start, -1.0)]
        size += [(request, nbytes), (start, -nbytes)]
    yield from counter("messages waiting", pid, "messages", count)
    yield from counter("bytes waiting", pid, "bytes", size)


def _flows(
    tasks: dict[TaskInterval, Place],
    messages: dict[MessageInterval, Place],
    clock: Clock,
    system: System,
    group: int,
) -> Iterator[TraceEvent]:
    """From the task that produces a tensor to its message, and from there to the tasks that read it."""
    ran = {(t.job, t.task): t for t in tasks}
    needs = [_consumers(q.tasks.edge_tensor.tolist(), q.tasks.edge_target.tolist()) for q in system.queries]
    number = 0
    for m, place in messages.items():
        maker = ran.get((m.job, int(system.queries[m.query].tasks.tensor_source[m.tensor])))
        takers = [ran.get((m.job, target)) for target in needs[m.query].get(m.tensor, ())]
        there = [t for t in takers if t and int(system.instance_server[t.executor]) == m.destination]
        pairs: list[tuple[Interval, Place, Interval, Place]] = [(m, place, t, tasks[t]) for t in there]
        if maker:
            pairs.insert(0, (maker, tasks[maker], m, place))
        for begin, begin_place, end, end_place in pairs:
            number += 1
            span_s, mark = (begin.start_s, begin.end_s), f"{group}.{number}"
            yield from clock.arrow("tensor", mark, begin_place, span_s, end_place, end.start_s)


def _consumers(tensors: Sequence[int], targets: Sequence[int]) -> dict[int, list[int]]:
    by_tensor: dict[int, list[int]] = {}
    for tensor, target in zip(tensors, targets, strict=True):
        by_tensor.setdefault(tensor, []).append(target)
    return by_tensor


MOST_EVENTS = 100_000


def chrome_trace(
    runs: Mapping[str, Sequence[Records]], system: System, scenario: str = "", most: int = MOST_EVENTS
) -> ChromeTrace:
    """Return the first replication of each scheduler as one trace.

    A process for each server that ran a task and one for the links, of each scheduler; a thread for
    each executor. Messages that overlap (processor sharing, several links) lie on threads of their own.
    Counters: tasks that wait at a server, messages and bytes that wait at the link; only recorded jobs
    count, neither background nor other jobs. Flows lead from a task over its message to the next tasks.
    Beyond ``most`` events whole jobs are left out, the last ones first, but never the first of a
    scheduler; ``about`` says how many there are of each.

    ``runs``: scheduler → its records; those without a timeline are left out. ``scenario``: its name, for
    ``about``.
    """
    timelines = {n: r[0].timeline for n, r in runs.items() if r and r[0].timeline and r[0].timeline.tasks}
    share = most // max(1, len(timelines))
    events: list[TraceEvent] = []
    jobs: dict[str, TraceJobs] = {}
    first_process = 1
    for name, timeline in timelines.items():
        if timeline is None:
            continue
        shown = _fitting(timeline, system, name, first_process, share)
        events += shown
        first_process = 1 + max(e.pid for e in shown)
        kept = {e.args["job"] for e in shown if e.ph == "X" and e.args is not None}
        jobs[name] = TraceJobs(shown=len(kept), recorded=len({t.job for t in timeline.tasks}))
    note = "First measured jobs of the first replication; background work is not recorded."
    return trace_of(events, jobs, scenario, most, note)


def _fitting(
    timeline: Timeline, system: System, name: str, first_process: int, most: int
) -> list[TraceEvent]:
    jobs = sorted({t.job for t in timeline.tasks})
    while True:
        events = _scheduler_events(_only(timeline, set(jobs)), system, name, first_process)
        if len(events) <= most or len(jobs) == 1:
            return events
        jobs = jobs[: max(1, min(len(jobs) - 1, len(jobs) * most // len(events)))]


def _only(timeline: Timeline, jobs: set[int]) -> Timeline:
    return Timeline(
        tuple(t for t in timeline.tasks if t.job in jobs),
        tuple(m for m in timeline.messages if m.job in jobs),
    )
