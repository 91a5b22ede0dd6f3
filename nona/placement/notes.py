"""The scope of a solution's bounds, and the assumptions of its prediction, a sentence each."""

from __future__ import annotations

import math

from nona.placement.certificate.bounds import CLOSED
from nona.placement.solver.linearised import Solution
from nona.system import System
from nona.units import format_time


def bound_notes(
    solution: Solution, wait_s: float, bound: float, everywhere: float, free: bool
) -> tuple[str, ...]:
    """What the bounds hold for; ``free``: the shares of the executor classes could be chosen."""
    notes = []
    if math.isnan(bound):
        notes.append("No bound: this solver gives none.")
    else:
        notes.append(
            f"The bound is certified at the server wait of the formula's optimum "
            f"({format_time(wait_s)}), linearised there; at a different "
            f"server wait a placement may be better, but no placement is below {format_time(everywhere, 4)}."
            + (
                " That holds for all shares of the executor classes, the gap for the shares found."
                if free
                else ""
            )
        )
    if not solution.certified.complete:
        notes.append(f"Stopped after {solution.certified.cells} linear programs, before the requested gap.")
    closed = bound >= solution.value_s * (1.0 - CLOSED)
    restricted = dict.fromkeys(
        g.candidates.note for g in solution.priced.groups if not g.candidates.exhaustive and not closed
    )
    notes += [f"Restricted: {note}; the bounds hold for all configurations." for note in restricted]
    return tuple(notes)


def assumptions(system: System) -> tuple[str, ...]:
    """The prediction's assumptions that this system violates, a sentence each."""
    notes = []
    bursty = [q.name for q in system.queries if q.arrivals.process != "poisson"]
    if bursty:
        notes.append(
            f"The formula assumes Poisson arrivals, but those of {', '.join(bursty)} are not Poisson: the "
            "simulation shows the effect on the waits."
        )
    if len(system.class_names) > 1:
        notes.append(
            f"The formula uses mean times over executors of {len(system.class_names)} classes "
            f"({', '.join(system.class_names)}); the simulation uses the times of each class."
        )
    return tuple(notes)
