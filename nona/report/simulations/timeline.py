"""The timeline of a run in Chrome's trace-event format, which Perfetto opens.

Source: Google, Trace Event Format: phases ``X`` (a slice), ``M`` (names), ``C`` (counters), ``s`` and
``f`` (flows). Times are microseconds; here they are whole nanoseconds over 1000, so that slices that
follow one another never overlap by a rounding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from nona import __version__
from nona.results.simulation_charts import Trace, TraceAbout, TraceEvent, TraceJobs
from nona.simulation.records import MessageInterval, Records, TaskInterval, Timeline
from nona.system import System

Args = Mapping[str, str | int | float]
Place = tuple[int, int]
Interval = TaskInterval | MessageInterval


class _When(NamedTuple):
    ts: float
    dur: float


class _Clock:
    """Nanoseconds from the first event of the timeline, and events' microseconds."""

    def __init__(self, begin_s: float) -> None:
        self.begin_s = begin_s

    def ns(self, time_s: float) -> int:
        return round((time_s - self.begin_s) * 1e9)

    def slice(self, start_s: float, end_s: float) -> _When:
        start = self.ns(start_s)
        return _When(start / 1000, (self.ns(end_s) - start) / 1000)


def _scheduler_events(timeline: Timeline, system: System, name: str, first_process: int) -> list[TraceEvent]:
    """All events of one scheduler; its processes are numbered from ``first_process``: links, then servers."""
    clock = _Clock(min(t.ready_s for t in timeline.tasks))
    servers = sorted({int(system.executor_server[t.executor]) for t in timeline.tasks})
    process = {server: first_process + 1 + i for i, server in enumerate(servers)}
    tasks = {t: (process[int(system.executor_server[t.executor])], t.executor + 1) for t in timeline.tasks}
    messages = {m: (first_process, lane) for m, lane in _lanes(timeline.messages, clock)}
    return [
        *_names(name, system, process, first_process, tasks, messages),
        *(_task(t, place, clock, system) for t, place in tasks.items()),
        *(_message(m, place, clock, system) for m, place in messages.items()),
        *_waiting_tasks(timeline.tasks, tasks, clock),
        *_waiting_messages(timeline.messages, first_process, clock, system),
        *_flows(tasks, messages, clock, system, first_process),
    ]


def _lanes(messages: Sequence[MessageInterval], clock: _Clock) -> Iterator[tuple[MessageInterval, int]]:
    """Each message with the first thread that is free for it."""
    free: list[int] = []
    for m in sorted(messages, key=lambda m: (m.start_s, m.end_s, m.job, m.tensor, m.destination)):
        start, end = clock.ns(m.start_s), clock.ns(m.end_s)
        lane = next((i for i, until in enumerate(free) if until <= start), len(free))
        free[lane : lane + 1] = [end]
        yield m, lane + 1


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
        yield _meta("process_name", pid, 0, {"name": title})
        yield _meta("process_sort_index", pid, 0, {"sort_index": pid})
    for pid, tid in sorted(set(tasks.values())):
        kind = system.class_names[int(system.executor_class[tid - 1])]
        yield _meta("thread_name", pid, tid, {"name": f"executor {tid - 1} · {kind}"})
    for pid, tid in sorted(set(messages.values())):
        yield _meta("thread_name", pid, tid, {"name": "messages" if tid == 1 else f"messages, lane {tid}"})


def _meta(what: str, pid: int, tid: int, args: Args) -> TraceEvent:
    return TraceEvent(ph="M", name=what, pid=pid, tid=tid, args=args)


def _task(t: TaskInterval, place: Place, clock: _Clock, system: System) -> TraceEvent:
    query = system.queries[t.query]
    args: Args = {"job": t.job, "model": query.name, "waited_ms": (t.start_s - t.ready_s) * 1e3}
    return _slice(query.tasks.task_ids[t.task], "task", place, clock.slice(t.start_s, t.end_s), args)


def _message(m: MessageInterval, place: Place, clock: _Clock, system: System) -> TraceEvent:
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
    return _slice(title, "message", place, clock.slice(m.start_s, m.end_s), args)


def _slice(name: str, kind: str, place: Place, when: _When, args: Args) -> TraceEvent:
    pid, tid = place
    return TraceEvent(ph="X", name=name, cat=kind, pid=pid, tid=tid, ts=when.ts, dur=when.dur, args=args)


def _waiting_tasks(
    intervals: Iterable[TaskInterval], places: dict[TaskInterval, Place], clock: _Clock
) -> Iterator[TraceEvent]:
    changes: dict[int, list[tuple[int, float]]] = {}
    for t in intervals:
        own = changes.setdefault(places[t][0], [])
        own += [(clock.ns(t.ready_s), 1.0), (clock.ns(t.start_s), -1.0)]
    for pid, steps in sorted(changes.items()):
        yield from _counter("tasks waiting", pid, "tasks", steps)


def _waiting_messages(
    intervals: Iterable[MessageInterval], pid: int, clock: _Clock, system: System
) -> Iterator[TraceEvent]:
    count: list[tuple[int, float]] = []
    size: list[tuple[int, float]] = []
    for m in intervals:
        request, start = clock.ns(m.request_s), clock.ns(m.start_s)
        nbytes = float(system.queries[m.query].tasks.tensor_bytes[m.tensor])
        count += [(request, 1.0), (start, -1.0)]
        size += [(request, nbytes), (start, -nbytes)]
    yield from _counter("messages waiting", pid, "messages", count)
    yield from _counter("bytes waiting", pid, "bytes", size)


def _counter(name: str, pid: int, unit: str, steps: Sequence[tuple[int, float]]) -> Iterator[TraceEvent]:
    """One event for each instant at which the level changes; waits of zero length are not shown."""
    at: dict[int, float] = {}
    for instant, change in steps:
        at[instant] = at.get(instant, 0.0) + change
    level, shown = 0.0, 0.0
    for instant in sorted(at):
        level += at[instant]
        level = 0.0 if abs(level) < 1e-6 else level  # sums of large sizes do not cancel exactly
        if level != shown:
            shown = level
            yield TraceEvent(ph="C", name=name, pid=pid, ts=instant / 1000, args={unit: level})


def _flows(
    tasks: dict[TaskInterval, Place],
    messages: dict[MessageInterval, Place],
    clock: _Clock,
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
        there = [t for t in takers if t and int(system.executor_server[t.executor]) == m.destination]
        pairs: list[tuple[Interval, Place, Interval, Place]] = [(m, place, t, tasks[t]) for t in there]
        if maker:
            pairs.insert(0, (maker, tasks[maker], m, place))
        for begin, begin_place, end, end_place in pairs:
            number += 1
            # A nanosecond before its end a slice is still the one that the arrow leaves.
            left = max(clock.ns(begin.start_s), clock.ns(begin.end_s) - 1) / 1000
            yield from _arrow(f"{group}.{number}", begin_place, left, end_place, clock.ns(end.start_s) / 1000)


def _arrow(number: str, begin: Place, left: float, end: Place, at: float) -> Iterator[TraceEvent]:
    (pid, tid), (end_pid, end_tid) = begin, end
    yield TraceEvent(ph="s", name="tensor", cat="flow", id=number, pid=pid, tid=tid, ts=left)
    yield TraceEvent(ph="f", bp="e", name="tensor", cat="flow", id=number, pid=end_pid, tid=end_tid, ts=at)


def _consumers(tensors: Sequence[int], targets: Sequence[int]) -> dict[int, list[int]]:
    by_tensor: dict[int, list[int]] = {}
    for tensor, target in zip(tensors, targets, strict=True):
        by_tensor.setdefault(tensor, []).append(target)
    return by_tensor


MOST_EVENTS = 100_000


def chrome_trace(
    runs: Mapping[str, Sequence[Records]], system: System, scenario: str = "", most: int = MOST_EVENTS
) -> Trace:
    """The first replication of each scheduler as one trace.

    A process for each server that ran a task and one for the links, of each scheduler; a thread for
    each executor. Messages that overlap (processor sharing, several links) lie on threads of their own.
    Counters: tasks that wait at a server, messages and bytes that wait at the link; only recorded jobs
    count, neither background nor other jobs. Flows lead from a task over its message to the next tasks.
    Beyond ``most`` events whole jobs are left out, the last ones first, but never the first of a
    scheduler; ``about`` says how many there are of each.

    Parameters
    ----------
    runs
        Scheduler → its records; those without a timeline are left out.
    scenario
        Its name, for ``about``.
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
    about = TraceAbout(
        producer=f"Nona Planner {__version__}",
        scenario=scenario,
        jobs=jobs,
        events_at_most=most,
        note="First measured jobs of the first replication; background work is not recorded.",
    )
    return Trace(traceEvents=tuple(events), displayTimeUnit="ms", otherData=about)


def trace_text(trace: Trace) -> str:
    """The trace as JSON, one event per line."""
    head = {"displayTimeUnit": trace.unit, "otherData": trace.about.to_json()}
    lines = ",\n".join(json.dumps(e.to_json(), separators=(",", ":"), allow_nan=False) for e in trace.events)
    return json.dumps(head)[:-1] + ', "traceEvents": [\n' + lines + "\n]}\n"


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
