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

    def slack_s(self, queue: int, now_s: float) -> float:
        """SLO less the age of the oldest call in a queue, which is not empty."""
        oldest_s = self.book.arrival_s[self.queues[queue].oldest]
        return self.tables.slo_s[self.tables.application[queue]] - (now_s - oldest_s)

    def drop_late(self, queue: int, now_s: float) -> list[int]:
        """Calls of a queue that cannot be in time any more leave all queues of their application.

        Returns the queues that have become empty.
        """
        tables, book = self.tables, self.book
        least_s, application = tables.least_left_s[queue], tables.application[queue]
        if self.slack_s(queue, now_s) >= least_s:
            return []
        slo_s = tables.slo_s[application]
        late = {c for c in self.queues[queue].calls if slo_s - (now_s - book.arrival_s[c]) < least_s}
        for call in late:
            book.drop(call, now_s)
        emptied = []
        for other in tables.queue_at[application]:
            waiting = self.queues[other]
            if waiting.calls:
                waiting.remove(late, now_s)
                if not waiting.calls:
                    emptied.append(other)
        return emptied
