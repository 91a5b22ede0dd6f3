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

from nona import __version__
from nona.results.simulation_charts import Trace, TraceAbout, TraceEvent, TraceJobs
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

    frames = [_frame(name, r, system) for name, records in runs.items() for r in records]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _frame(policy: str, records: ServerlessRecords, system: ServerlessSystem) -> pd.DataFrame:
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
Place = tuple[int, int]


def serverless_trace(
    runs: Mapping[str, Sequence[ServerlessRecords]],
    system: ServerlessSystem,
    scenario: str = "",
    most: int = MOST_EVENTS,
) -> Trace:
    """The first measured calls of each policy's first replication; beyond ``most`` events fewer calls."""
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
    return Trace(
        traceEvents=tuple(events),
        displayTimeUnit="ms",
        otherData=TraceAbout(
            producer=f"Nona Planner {__version__}",
            scenario=scenario,
            jobs=jobs,
            events_at_most=most,
            note="Batches of the first measured calls of the first replication of each policy.",
        ),
    )


class _PolicyEvents:
    """The events of one policy; its processes are numbered from ``first`` on, one a node."""

    def __init__(self, run: ServerlessRecords, system: ServerlessSystem, policy: str, first: int) -> None:
        self._run, self._system, self._policy, self._first = run, system, policy, first

    def events(self, calls: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[TraceEvent]:
        """Names, slices and arrows of the batches that served ``calls``."""
        of = self._run.batches
        served = self._run.calls.batch[calls]
        used = np.unique(served[served >= 0])
        used = used[~np.isnan(of.ended_s[used])]
        if not len(used):
            return []
        self._begin_s = float(of.queued_s[used].min())
        places = self._places(used)
        return [
            *self._names(places),
            *(e for k in used.tolist() for e in self._slices(k, places[k])),
            *self._arrows(calls, places),
        ]

    def _ns(self, time_s: float) -> int:
        return round((float(time_s) - self._begin_s) * 1e9)

    def _places(self, used: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[int, Place]:
        """Batch → process of its node, and the first thread there that is free."""
        of, free, places = self._run.batches, dict[int, list[int]](), {}
        for k in sorted(used.tolist(), key=lambda k: (of.dispatched_s[k], k)):
            node = int(of.invoker[k])
            lanes = free.setdefault(node, [])
            start, end = self._ns(of.dispatched_s[k]), self._ns(of.ended_s[k])
            lane = next((i for i, until in enumerate(lanes) if until <= start), len(lanes))
            lanes[lane : lane + 1] = [end]
            places[k] = (self._first + node, lane + 1)
        return places

    def _names(self, places: Mapping[int, Place]) -> Iterator[TraceEvent]:
        for pid in sorted({pid for pid, _ in places.values()}):
            title = f"{self._policy} · node {pid - self._first}"
            yield TraceEvent(ph="M", name="process_name", pid=pid, tid=0, args={"name": title})
            yield TraceEvent(ph="M", name="process_sort_index", pid=pid, tid=0, args={"sort_index": pid})
        for pid, tid in sorted(set(places.values())):
            yield TraceEvent(ph="M", name="thread_name", pid=pid, tid=tid, args={"name": f"batches {tid}"})

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
        yield self._slice(stage, "batch", place, of.dispatched_s[k], of.ended_s[k], args)
        if of.started_s[k] > of.dispatched_s[k]:
            yield self._slice("set-up", "set-up", place, of.dispatched_s[k], of.started_s[k], None)

    def _slice(
        self,
        name: str,
        kind: str,
        place: Place,
        start_s: float,
        end_s: float,
        args: Mapping[str, str | int | float] | None,
    ) -> TraceEvent:
        start, end = self._ns(start_s), self._ns(end_s)
        pid, tid = place
        return TraceEvent(
            ph="X",
            name=name,
            cat=kind,
            pid=pid,
            tid=tid,
            ts=start / 1000,
            dur=(end - start) / 1000,
            args=args,
        )

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
                    left = max(self._ns(of.dispatched_s[begin]), self._ns(of.ended_s[begin]) - 1)
                    mark = f"{self._first}.{number}"
                    yield from _arrow(mark, places[begin], left, places[end], self._ns(of.dispatched_s[end]))


def _arrow(mark: str, begin: Place, left_ns: int, end: Place, at_ns: int) -> Iterator[TraceEvent]:
    (pid, tid), (end_pid, end_tid) = begin, end
    yield TraceEvent(ph="s", name="call", cat="flow", id=mark, pid=pid, tid=tid, ts=left_ns / 1000)
    yield TraceEvent(
        ph="f", bp="e", name="call", cat="flow", id=mark, pid=end_pid, tid=end_tid, ts=at_ns / 1000
    )
