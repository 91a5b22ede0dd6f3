"""The rounds of a run with an ``allocate`` scheduler: what both engines share."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.queries.schedulers.base import NetworkView, RoundInput, Scheduler, SchedulerTables, SystemView
from nona.queries.system import System


class FlowTotals(NamedTuple):
    """Counts since the start of a run: Q flows, K executor classes.

    ``offered`` (Q,) queries arrived, ``completed`` (Q, K) were completed on executors of each class, where
    they ran for ``service_s`` (Q, K); those completed were in the system for ``response_s`` (Q,) in all.
    """

    offered: Ints
    completed: Ints
    service_s: Floats
    response_s: Floats


def no_totals(system: System) -> FlowTotals:
    """Before the first query."""
    flows, both = len(system.queries), (len(system.queries), len(system.class_names))
    return FlowTotals(np.zeros(flows, np.int64), np.zeros(both, np.int64), np.zeros(both), np.zeros(flows))


def _copied(of: FlowTotals) -> FlowTotals:
    """Return a read-only copy of the numbers."""
    return FlowTotals(of.offered.copy(), of.completed.copy(), of.service_s.copy(), of.response_s.copy())


class SchedulerRounds:
    """Asks the scheduler at every round.

    ``next_s`` is when the next round is. What it sees was counted before that instant; of what happens at one
    instant a round comes first. A round without a query, neither in the system nor since the last round, is
    left out: the sets stay.

    Raises ``SimulationError`` when the scheduler prepared no rounds.
    """

    def __init__(self, system: System, scheduler: Scheduler, prepared: SchedulerTables) -> None:
        if prepared.allocate is None or not prepared.round_s > 0:
            raise SimulationError(
                f"Scheduler {scheduler.name!r}: round_s={prepared.round_s:g} must be above 0, and allocate a "
                "function, as its kind is 'allocate'; prepare both."
            )
        self._name, self._allocate, self._round_s = scheduler.name, prepared.allocate, prepared.round_s
        self._sees_own = scheduler.network_view >= NetworkView.N2
        self._work_s: Floats = prepared.tables.work_s.reshape(len(system.queries), system.executors).copy()
        self._may = np.isfinite(self._work_s)
        self._before, self._memory, self._number = no_totals(system), None, 1

    @property
    def next_s(self) -> float:
        """The time of the next round, seconds."""
        return self._number * self._round_s

    def left_out(self, totals: FlowTotals, next_event_s: float) -> bool:
        """Return whether the next round has nothing to see.

        Then ``next_s`` is that of a later round, at most one round after the next event.
        """
        seen, before = totals, self._before
        happened = (seen.offered > before.offered).any() or (seen.completed > before.completed).any()
        if happened or seen.offered.sum() > seen.completed.sum():
            return False
        self._number = max(self._number + 1, math.floor(next_event_s / self._round_s))
        return True

    def work_s(self, totals: FlowTotals, view: SystemView) -> Floats:
        """(Q·E,) The table for decisions after the next round: ``inf`` outside each flow's set.

        Raises ``SimulationError`` when the scheduler's answer is not one set for each flow.
        """
        sets, self._memory = self._allocate(self._round(totals, view), self._memory)
        if sets.shape != self._may.shape or sets.dtype != np.bool_:
            raise SimulationError(
                f"Scheduler {self._name!r}: its sets of {sets.dtype} and shape {sets.shape} must be of bool "
                f"and shape {self._may.shape}, flows by executors; change what allocate returns."
            )
        self._before = _copied(totals)
        self._number += 1
        within = sets & self._may
        empty = ~within.any(axis=1)
        within[empty] = self._may[empty]
        return np.where(within, self._work_s, np.inf).ravel()

    def _round(self, totals: FlowTotals, view: SystemView) -> RoundInput:
        before = self._before
        completed, service_s = totals.completed - before.completed, totals.service_s - before.service_s
        offered, response_s = totals.offered - before.offered, totals.response_s - before.response_s
        slowdown: Any = np.full(len(offered), np.nan)
        if self._sees_own:
            ran_s = service_s.sum(axis=1)
            np.divide(response_s, ran_s, out=slowdown, where=ran_s > 0)
        return RoundInput(
            now_s=self.next_s,
            length_s=self._round_s,
            offered=offered,
            completed=completed,
            service_s=service_s,
            open=totals.offered - totals.completed.sum(axis=1),
            slowdown=slowdown,
            view=view,
        )
