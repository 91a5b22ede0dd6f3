"""The state of every call during the simulation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.tables import Tables
from nona.serverless.model.arrivals import calls, noise_factors
from nona.serverless.records.run import Calls


class CallBook:
    """Calls by number, in order of arrival; what each stage of a call has is at ``call · width + stage``.

    Attributes
    ----------
    waiting
        Predecessors of a stage that have not ended.
    left
        Stages of a call that have not ended.
    carried
        The plan that a call carries, or ``None``.
    dropped_s
        When calls were dropped.
    batch
        The batch that serves a stage, −1 for none.
    arrived, completed, hits, open_measured
        Counts, kept up to date.
    """

    def __init__(self, tables: Tables, options: RunOptions) -> None:
        system = tables.system
        arrival_s, application = calls(system, options.most, options.replication)
        self.width = width = tables.widest
        self.arrival_s: list[float] = arrival_s.tolist()
        self.application: list[int] = application.tolist()
        self.noise: list[float] = noise_factors(system, application, options.replication).ravel().tolist()
        before = np.zeros((len(system.applications), width), dtype=np.int64)
        for queue, stages in enumerate(tables.before):
            before[tables.application[queue], tables.stage[queue]] = len(stages)
        self.waiting: list[int] = before[application].ravel().tolist()
        stages_of = np.array([app.stages for app in system.applications])
        self.left: list[int] = stages_of[application].tolist()
        n = len(self.arrival_s)
        self.carried: list[tuple[int, ...] | None] = [None] * n
        self.batch = [-1] * (n * width)
        self.completion_s = [math.nan] * n
        self.dropped_s: dict[int, float] = {}
        self.slo_s = [tables.slo_s[a] for a in self.application]
        self.first, self.end = options.first, options.first + options.calls
        self.start_s, self.end_s = self.arrival_s[self.first], self.arrival_s[self.end - 1]
        self.arrived = self.completed = self.hits = 0
        self.open_measured = options.calls

    def complete(self, call: int, now_s: float) -> None:
        """The last stage of a call has ended."""
        self.completion_s[call] = now_s
        self.completed += 1
        if now_s - self.arrival_s[call] <= self.slo_s[call]:
            self.hits += 1
        if self.first <= call < self.end:
            self.open_measured -= 1

    def drop(self, call: int, now_s: float) -> None:
        """A call leaves unserved."""
        self.dropped_s[call] = now_s
        if self.first <= call < self.end:
            self.open_measured -= 1

    def records(self) -> Calls:
        """The calls that have arrived."""
        n = self.arrived
        dropped_s = np.full(n, np.nan)
        dropped_s[list(self.dropped_s)] = list(self.dropped_s.values())
        measured = np.zeros(n, dtype=bool)
        measured[self.first : self.end] = True
        batch: NDArray[np.int64] = np.array(self.batch, dtype=np.int64).reshape(-1, self.width)[:n]
        return Calls(
            application=np.array(self.application[:n], dtype=np.int64),
            arrival_s=np.array(self.arrival_s[:n]),
            completion_s=np.array(self.completion_s[:n]),
            measured=measured,
            batch=batch,
            dropped_s=dropped_s,
        )
