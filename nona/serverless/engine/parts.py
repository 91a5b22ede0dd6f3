"""What the controller and the execution of a run work on together."""

from __future__ import annotations

from dataclasses import dataclass

from nona.serverless.engine.calls import CallBook
from nona.serverless.engine.collector import Collector
from nona.serverless.engine.events import Event
from nona.serverless.engine.invokers import Invokers
from nona.serverless.engine.links import Links
from nona.serverless.engine.queues import AfwQueue
from nona.serverless.engine.tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The system in lists, calls, AFW queues, invokers, what is written down, coming events, shared links."""

    tables: Tables
    book: CallBook
    queues: list[AfwQueue]
    invokers: Invokers
    collector: Collector
    heap: list[Event]
    links: Links | None
