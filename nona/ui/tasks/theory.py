"""Theory against simulation: what the worker does, system by system."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nona.errors import JobError
from nona.report.checks.theory import comparison_rows
from nona.results.checks import ComparedRow, TheoryProgress, TheoryResult
from nona.simulation.engines import AUTO, engine_named
from nona.simulation.known import EFFORTS, Effort, KnownSystem, compare, known_systems
from nona.ui.jobs.desk import Desk

REPORT_EVERY_S = 0.4


def simulate_known(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Simulate every known system with the effort that ``spec["effort"]`` names.

    Rows that are done come along with the progress, so that the page can tell while it runs.

    Raises
    ------
    JobError
        For an effort of another name.
    """
    name = str(spec.get("effort"))
    if name not in EFFORTS:
        known = ", ".join(EFFORTS)
        raise JobError(f"Validation: effort={name!r} must be one of {known}; choose one of these.")
    effort = replace(EFFORTS[name], engine=engine_named(AUTO))
    begin = time.monotonic()
    rows: list[ComparedRow] = []
    teller = _Teller(list(known_systems()), effort, desk, rows)
    for system in teller.systems:
        rows += comparison_rows(compare(system, effort, teller.report))
        teller.next_system()
    return TheoryResult(
        rows=tuple(rows),
        effort=name,
        engine=effort.engine,
        level=effort.level,
        replications=effort.replications,
        seconds=time.monotonic() - begin,
    ).to_json()


class _Teller:
    """Reports now and then the progress of all systems together, by their jobs."""

    def __init__(
        self, systems: Sequence[KnownSystem], effort: Effort, desk: Desk, rows: Sequence[ComparedRow]
    ) -> None:
        self.systems, self._desk, self._rows = systems, desk, rows
        self._weights = [s.length.jobs * effort.scale + s.length.warmup for s in systems]
        self._place, self._told = 0, 0.0

    def next_system(self) -> None:
        self._place += 1

    def report(self, share: float) -> None:
        """The system at hand is done to ``share``; raises ``Cancelled`` when no session waits any more."""
        self._desk.check()
        if time.monotonic() - self._told < REPORT_EVERY_S:
            return
        self._told = time.monotonic()
        system, weights = self.systems[self._place], self._weights
        done = sum(weights[: self._place]) + share * weights[self._place]
        self._desk.emit(
            {
                "fraction": done / sum(weights),
                "text": f"{system.name} at a load of {system.load:.0%}",
                "live": TheoryProgress(rows=tuple(self._rows)).to_json(),
            }
        )
