"""A serverless run as files: a table of its calls, a timeline for Perfetto.

A process for each node of each policy, threads as many as batches run on it at once. A slice is a batch
from dispatch to end; within it lies its set-up (MIG, cold start, inputs), where it took time. Instances
that stand are not drawn, only their batches. Arrows lead
from the batch of a stage to those of the next stages of the same call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nona.core.chrome_trace import (
    ChromeTrace,
    Clock,
    Place,
    TraceEvent,
    TraceJobs,
    process_names,
    thread_name,
    trace_of,
)
from nona.serverless.metrics import call_cost, hits
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import ServerlessSystem

if TYPE_CHECKING:
    import pandas as pd


Runs = Mapping[str, Sequence[ServerlessRecords]]


def call_table(runs: Runs, system: ServerlessSystem) -> pd.DataFrame:
    """One row per measured call: policy, replication, application, times (s), SLO, whether kept, cost ($).

    ``completion_s`` and ``latency_s`` are empty for a call that was dropped, or not complete when the run
    ended; ``dropped_s`` is when it was dropped.
    """
    import pandas as pd

    frames = [_jobs_frame(name, r, system) for name, records in runs.items() for r in records]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _jobs_frame(policy: str, records: ServerlessRecords, system: ServerlessSystem) -> pd.DataFrame:
    import pandas as pd

    calls = records.calls
    measured = np.flatnonzero(calls.measured)
    application = calls.application[measured]
    names = np.array([a.name for a in system.applications], dtype=object)
    slo_s = np.array([a.slo_s for a in system.applications])
    return pd.DataFrame(
        {
            "policy": policy,
            "replication": records.replication,
            "application": names[application],
            "arrival_s": calls.arrival_s[measured],
            "completion_s": calls.completion_s[measured],
            "dropped_s": calls.dropped_s[measured],
            "latency_s": (calls.completion_s - calls.arrival_s)[measured],
            "slo_s": slo_s[application],
            "slo_kept": hits(system, records)[measured],
            "cost_usd": call_cost(system, records)[measured],
        }
    )


MOST_EVENTS = 100_000
CALLS = 500  # of each policy


def serverless_trace(
    runs: Mapping[str, Sequence[ServerlessRecords]],
    system: ServerlessSystem,
    scenario: str = "",
    most: int = MOST_EVENTS,
) -> ChromeTrace:
    """Return the first measured calls of each policy's first replication.

    Beyond ``most`` events fewer calls.
    """
    events: list[TraceEvent] = []
    jobs: dict[str, TraceJobs] = {}
    first = 1
    for name, records in runs.items():
        run = records[0]
        measured = np.flatnonzero(run.calls.measured)
        count = min(CALLS, len(measured))
        while True:
            shown = _PolicyEvents(run, system, name, first).events(measured[:count])
            if len(shown) <= most // len(runs) or count <= 1:
                break
            count //= 2
        events += shown
        first += len(system.invokers)
        jobs[name] = TraceJobs(shown=count, recorded=len(measured))
    note = "Batches of the first measured calls of the first replication of each policy."
    return trace_of(events, jobs, scenario, most, note)


class _PolicyEvents:
    """The events of one policy; its processes are numbered from ``first`` on, one a node."""

    def __init__(self, run: ServerlessRecords, system: ServerlessSystem, policy: str, first: int) -> None:
        self._run, self._system, self._policy, self._first = run, system, policy, first

    def events(self, calls: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[TraceEvent]:
        of = self._run.batches
        served = self._run.calls.batch[calls]
        used = np.unique(served[served >= 0])
        used = used[~np.isnan(of.ended_s[used])]
        if not len(used):
            return []
        self._clock = Clock(float(of.queued_s[used].min()))
        places = self._places(used)
        return [
            *self._names(places),
            *(e for k in used.tolist() for e in self._slices(k, places[k])),
            *self._arrows(calls, places),
        ]

    def _places(self, used: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[int, Place]:
        """Batch → process of its node, and the first thread there that is free."""
        of, by_node = self._run.batches, dict[int, list[int]]()
        for k in sorted(used.tolist(), key=lambda k: (of.dispatched_s[k], k)):
            by_node.setdefault(int(of.invoker[k]), []).append(k)
        return {
            k: (self._first + node, lane)
            for node, own in by_node.items()
            for k, lane in self._clock.lanes((k, of.dispatched_s[k], of.ended_s[k]) for k in own)
        }

    def _names(self, places: Mapping[int, Place]) -> Iterator[TraceEvent]:
        for pid in sorted({pid for pid, _ in places.values()}):
            yield from process_names(pid, f"{self._policy} · node {pid - self._first}")
        for place in sorted(set(places.values())):
            yield thread_name(place, f"batches {place[1]}")

    def _slices(self, k: int, place: Place) -> Iterator[TraceEvent]:
        of = self._run.batches
        app = self._system.applications[int(of.application[k])]
        args: dict[str, str | int | float] = {
            "application": app.name,
            "jobs": int(of.jobs[k]),
            "configuration": self._system.space[int(of.configuration[k])].text,
            "queued_ms": 1e3 * float(of.dispatched_s[k] - of.queued_s[k]),
            "search_ms": 1e3 * float(of.search_s[k]),
            "cold_start": "yes" if of.cold[k] else "no",
        }
        stage = app.stage_names[int(of.stage[k])]
        yield self._clock.slice(stage, "batch", place, of.dispatched_s[k], of.ended_s[k], args)
        if of.started_s[k] > of.dispatched_s[k]:
            yield self._clock.slice("set-up", "set-up", place, of.dispatched_s[k], of.started_s[k])

    def _arrows(
        self, calls: np.ndarray[tuple[int], np.dtype[np.int64]], places: Mapping[int, Place]
    ) -> Iterator[TraceEvent]:
        of, number = self._run.batches, 0
        for call in calls.tolist():
            app = self._system.applications[int(self._run.calls.application[call])]
            for stage, before in enumerate(app.dag.predecessors):
                end = int(self._run.calls.batch[call, stage])
                for earlier in before:
                    begin = int(self._run.calls.batch[call, earlier])
                    if begin not in places or end not in places:
                        continue
                    number += 1
                    span_s, at_s = (of.dispatched_s[begin], of.ended_s[begin]), of.dispatched_s[end]
                    mark = f"{self._first}.{number}"
                    yield from self._clock.arrow("call", mark, places[begin], span_s, places[end], at_s)
