"""The recorded timeline of a run in Chrome's trace-event format, which Perfetto and chrome://tracing open.

Source: Google, Trace Event Format: phases ``X`` (a slice), ``M`` (names), ``C`` (counters), ``s`` and
``f`` (flows). Times are microseconds; here they are whole nanoseconds over 1000, so that slices that
follow one another never overlap by a rounding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from nona import __version__
from nona.report.simulations.timeline.events import scheduler_events
from nona.results.simulation.trace import Trace, TraceAbout, TraceEvent, TraceJobs
from nona.simulation.records.run import Records, Timeline
from nona.system import System

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
    told: dict[str, TraceJobs] = {}
    first_process = 1
    for name, timeline in timelines.items():
        if timeline is None:
            continue
        shown = _fitting(timeline, system, name, first_process, share)
        events += shown
        first_process = 1 + max(e.pid for e in shown)
        kept = {e.args["job"] for e in shown if e.ph == "X" and e.args is not None}
        told[name] = TraceJobs(shown=len(kept), recorded=len({t.job for t in timeline.tasks}))
    about = TraceAbout(
        producer=f"Nona Planner {__version__}",
        scenario=scenario,
        jobs=told,
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
        events = scheduler_events(_only(timeline, set(jobs)), system, name, first_process)
        if len(events) <= most or len(jobs) == 1:
            return events
        jobs = jobs[: max(1, min(len(jobs) - 1, len(jobs) * most // len(events)))]


def _only(timeline: Timeline, jobs: set[int]) -> Timeline:
    return Timeline(
        tuple(t for t in timeline.tasks if t.job in jobs),
        tuple(m for m in timeline.messages if m.job in jobs),
    )
