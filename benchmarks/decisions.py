"""The decisions of a scheduler that sees nothing of the system's state, for loops that have no view."""

from __future__ import annotations

from typing import Any

import numpy as np

from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables, SystemView, as_lists
from nona.queries.system import System


class Decisions:
    """Calls the scheduler's own function, on lists if it takes them, as the SimPy engine does."""

    def __init__(self, system: System, scheduler: Scheduler, prepared: SchedulerTables) -> None:
        if scheduler.kind != "bind" or scheduler.reads_queues or scheduler.network_view > NetworkView.N1:
            raise ValueError(f"{scheduler.name} looks at the state of the system; choose one that does not")
        self.decide: Any = scheduler.decide
        self.lists = scheduler.takes_lists
        self.tables = as_lists(prepared.tables) if self.lists else prepared.tables
        self.tasks = [len(q.tasks) for q in system.queries]
        out = np.zeros(max(self.tasks), dtype=np.int64)
        self.out: Any = out.tolist() if self.lists else out
        unknown = np.full(system.executors, np.nan)
        self.view = SystemView(
            executor_server=system.executor_server,
            executor_class=system.executor_class,
            queue_length=np.full(system.executors, -1),
            backlog_s=unknown,
            capacity=system.capacity,
            latency_s=system.latency_s,
            past_transfer_s=np.nan,
            link_promised_s=np.nan,
            link_queue_bytes=np.nan,
        )

    def places(self, now: float, query: int, uniforms: Any) -> list[int]:
        """The executor of each task of a job that arrives ``now``."""
        self.decide(now, query, self.view, self.tables, uniforms, self.out)
        return [int(e) for e in self.out[: self.tasks[query]]]
