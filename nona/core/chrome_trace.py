"""Timelines in Chrome's trace-event format, which Perfetto opens.

Source: Google, Trace Event Format: phases ``X`` (a slice), ``M`` (names), ``C`` (counters), ``s`` and
``f`` (flows). Times are microseconds; here they are whole nanoseconds over 1000, so that slices that
follow one another never overlap by a rounding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import Field

from nona import __version__
from nona.core.document import Document

Args = Mapping[str, str | int | float]
Place = tuple[int, int]
K = TypeVar("K")


class TraceEvent(Document):
    """One event; times in microseconds. What its phase does not need is ``None`` and not written.

    ``ph`` is the phase: a slice, names (``M``), a counter, the begin and the end of an arrow.
    """

    ph: Literal["X", "M", "C", "s", "f"]
    bp: Literal["e"] | None = None
    name: str
    cat: str | None = None
    id: str | None = None
    pid: int
    tid: int | None = None
    ts: float | None = None
    dur: float | None = None
    args: Mapping[str, str | int | float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the event without what it does not need."""
        return self.model_dump(mode="json", exclude_none=True)


class TraceJobs(Document):
    """The numbers of jobs of a scheduler in the trace, and of recorded ones."""

    shown: int
    recorded: int


class TraceAbout(Document):
    """The source of a trace; ``jobs`` is scheduler → number of its jobs in the trace."""

    producer: str
    scenario: str
    jobs: Mapping[str, TraceJobs]
    events_at_most: int
    note: str


class ChromeTrace(Document):
    """All events, and where they come from."""

    events: tuple[TraceEvent, ...] = Field(alias="traceEvents")
    unit: Literal["ms"] = Field(alias="displayTimeUnit")
    about: TraceAbout = Field(alias="otherData")


@dataclass(frozen=True, slots=True)
class Clock:
    """Nanoseconds from the first event of the timeline, and events' microseconds."""

    begin_s: float

    def ns(self, time_s: float) -> int:
        """Whole nanoseconds since the first event."""
        return round((float(time_s) - self.begin_s) * 1e9)

    def slice(
        self, name: str, kind: str, place: Place, start_s: float, end_s: float, args: Args | None = None
    ) -> TraceEvent:
        """Return a slice on a thread of a process."""
        (pid, tid), start = place, self.ns(start_s)
        ts, dur = start / 1000, (self.ns(end_s) - start) / 1000
        return TraceEvent(ph="X", name=name, cat=kind, pid=pid, tid=tid, ts=ts, dur=dur, args=args)

    def arrow(
        self, name: str, mark: str, begin: Place, span_s: tuple[float, float], end: Place, at_s: float
    ) -> Iterator[TraceEvent]:
        """Yield an arrow from the end of a slice, whose span is given, to the begin of another."""
        # A nanosecond before its end a slice is still the one that the arrow leaves.
        left, at = max(self.ns(span_s[0]), self.ns(span_s[1]) - 1) / 1000, self.ns(at_s) / 1000
        yield TraceEvent(ph="s", name=name, cat="flow", id=mark, pid=begin[0], tid=begin[1], ts=left)
        yield TraceEvent(ph="f", bp="e", name=name, cat="flow", id=mark, pid=end[0], tid=end[1], ts=at)

    def lanes(self, spans: Iterable[tuple[K, float, float]]) -> Iterator[tuple[K, int]]:
        """Give each span (key, from, to) the first thread that is free for it, from 1 on."""
        free: list[int] = []
        for key, start_s, end_s in spans:
            start = self.ns(start_s)
            lane = next((i for i, until in enumerate(free) if until <= start), len(free))
            free[lane : lane + 1] = [self.ns(end_s)]
            yield key, lane + 1


def process_names(pid: int, title: str) -> Iterator[TraceEvent]:
    """Events that name a process and put it in its place."""
    yield TraceEvent(ph="M", name="process_name", pid=pid, tid=0, args={"name": title})
    yield TraceEvent(ph="M", name="process_sort_index", pid=pid, tid=0, args={"sort_index": pid})


def thread_name(place: Place, title: str) -> TraceEvent:
    """Return an event that names a thread."""
    return TraceEvent(ph="M", name="thread_name", pid=place[0], tid=place[1], args={"name": title})


def counter(name: str, pid: int, unit: str, steps: Sequence[tuple[int, float]]) -> Iterator[TraceEvent]:
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


def trace_of(
    events: Iterable[TraceEvent], jobs: Mapping[str, TraceJobs], scenario: str, most: int, note: str
) -> ChromeTrace:
    """Return a trace of the jobs of each scheduler or policy.

    Parameters
    ----------
    events : iterable of TraceEvent
        The events, in order.
    jobs : mapping of str to TraceJobs
        Scheduler or policy → the jobs that are traced.
    scenario : str
        Name of the scenario.
    most : int
        Largest number of events.
    note : str
        What the trace leaves out.

    Returns
    -------
    ChromeTrace
        The trace.
    """
    made_by = f"Nona Planner {__version__}"
    about = TraceAbout(producer=made_by, scenario=scenario, jobs=jobs, events_at_most=most, note=note)
    return ChromeTrace(traceEvents=tuple(events), displayTimeUnit="ms", otherData=about)


def trace_text(trace: ChromeTrace) -> str:
    """Return the trace as JSON, one event per line."""
    head = {"displayTimeUnit": trace.unit, "otherData": trace.about.to_json()}
    lines = ",\n".join(json.dumps(e.to_json(), separators=(",", ":"), allow_nan=False) for e in trace.events)
    return json.dumps(head)[:-1] + ', "traceEvents": [\n' + lines + "\n]}\n"
