"""The steps of a search for a placement: the best so far at each, all judged by the same sampled jobs.

A search tells of every placement that its own few samples prefer. Here each is judged once more by the
samples of the final report, so that steps can be compared with each other, with local and with spread, and
one that is not better there is left out. The first step may have no bound: the formula is solved later.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from nona.placement.result.placement import Placement
from nona.placement.sampled.reported import bounded, by_response, certificate_of
from nona.results.placement.search import SearchStep
from nona.system import System


class SearchSteps:
    """Collects the steps of one search; ``best`` is the best placement so far."""

    def __init__(self, system: System, clock: Callable[[], float] = time.perf_counter) -> None:
        self.system, self.best, self.steps = system, None, ()
        self._clock, self._began = clock, clock()

    best: Placement | None
    steps: tuple[SearchStep, ...]

    def take(self, placement: Placement) -> bool:
        """Add a placement of the search; returns whether the best, or its bound, changed."""
        found, old = bounded(self.system, by_response(self.system, placement)), self.best
        if old is None or found.objective_s < old.objective_s:
            self._become(found)
            return True
        if math.isnan(old.lower_bound_s) and not math.isnan(found.lower_bound_s):
            self._become(with_bound_of(self.system, old, found))
            return True
        return False

    def finish(self, placement: Placement) -> None:
        """Add the result, which is final whatever the steps were."""
        last = self.best
        bound_is_new = last is not None and math.isnan(last.gap) and not math.isnan(placement.gap)
        if last is None or bound_is_new or last.objective_s != placement.objective_s:
            self._become(placement)
        self.best = placement  # with the seconds that it counts itself

    def _become(self, best: Placement) -> None:
        elapsed_s = self._clock() - self._began
        self.best = replace(best, seconds=elapsed_s)
        step = SearchStep(
            elapsed_s=elapsed_s,
            objective_s=best.objective_s,
            error_s=best.objective_error_s,
            lower_bound_s=best.lower_bound_s,
            gap=best.gap,
            origin=best.origin,
        )
        self.steps = (*self.steps, step)


def with_bound_of(system: System, placement: Placement, solved: Placement) -> Placement:
    """The same with the certificate and the bounds of a placement for which the formula was solved."""
    return bounded(
        system,
        replace(
            placement,
            formula=certificate_of(solved),
            global_bound_s=solved.global_bound_s,
            solver=solved.solver,
            notes=solved.notes,
        ),
    )
