"""A timeline as a file in Chrome's trace-event format; its keys are the format's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from nona.results.document import Document


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
        """The event without what it does not need."""
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


class Trace(Document):
    """All events, and where they come from."""

    events: tuple[TraceEvent, ...] = Field(alias="traceEvents")
    unit: Literal["ms"] = Field(alias="displayTimeUnit")
    about: TraceAbout = Field(alias="otherData")
