"""Rounds of the compiled engine: between two events the loop has come back, and the scheduler is asked."""

from __future__ import annotations

from typing import Any

from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.compiled.machine.core import Core
from nona.simulation.compiled.machine.policies import FlatTables
from nona.simulation.compiled.memory.arrays import Arrays, State
from nona.simulation.compiled.shown import shown_view
from nona.simulation.rounds import FlowTotals, Rounds
from nona.system import System


class RoundCalls:
    """Asks an ``allocate`` scheduler at every round, and writes its answer where decisions look.

    ``tables`` are those for decisions in plain Python; ``flat`` those of compiled ones, if there are any.
    """

    def __init__(
        self, system: System, scheduler: Scheduler, prepared: Prepared, flat: FlatTables | None
    ) -> None:
        self._rounds = Rounds(system, scheduler, prepared)
        tables: Any = prepared.tables
        self.tables = tables._replace(work_s=tables.work_s.copy())
        self._place = flat.place_of(tables._fields.index("work_s")) if flat else None

    @property
    def next_s(self) -> float:
        """When the next round is."""
        return self._rounds.next_s

    def due(self, s: Arrays, drawn_s: float) -> bool:
        """Whether the next round comes before the event that the loop came to; background must be drawn."""
        return self.next_s <= float(s.clock["wanted_s"][0]) and self.next_s < drawn_s

    def allot(self, s: Arrays, state: State, core: Core) -> None:
        """The next round, where there is something to see."""
        totals = FlowTotals(s.flow_offered, s.flow_completed, s.flow_service_s, s.flow_response_s)
        if self._rounds.left_out(totals, float(s.clock["wanted_s"][0])):
            return
        core.look(state, self.next_s)
        work_s = self._rounds.work_s(totals, shown_view(s))
        self.tables.work_s[:] = work_s
        if self._place:
            s.tables_f[self._place] = work_s
