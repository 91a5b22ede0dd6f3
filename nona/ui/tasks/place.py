"""Solving a placement, and the curve of congestion: what the worker does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nona import study
from nona.placement.result.placement import Placement
from nona.report.placements.working.whole import working
from nona.results.placement.outcome import SolvedPlacement
from nona.results.placement.search import SearchProgress
from nona.study import Study
from nona.study.congestion import congestion_curve
from nona.study.outcome import placement_outcome
from nona.study.placing.search_steps import SearchSteps
from nona.study.provenance import now_text
from nona.study.simulating.run import Comparison, compare, is_solved
from nona.ui.jobs.desk import Desk
from nona.ui.jobs.placing import PlacingWatch
from nona.ui.tasks.reading import study_of

READ, COMPARE = 0.1, 0.9  # shares of the work that are done by then, about


class _Search:
    """Reports every better placement during the search.

    The job's ``live`` is a :class:`~nona.results.placement.search.SearchProgress`, its ``best`` everything
    that the page shows of the best so far: what is left when the job is cancelled.
    """

    def __init__(self, prepared: Study, desk: Desk) -> None:
        self._prepared, self._desk = prepared, desk
        self._others: SolvedPlacement | None = None  # the first outcome, with local and spread
        self.found = SearchSteps(prepared.system)

    def better(self, placement: Placement) -> None:
        """Take in a placement that is the best so far."""
        if not self.found.take(placement) or self.found.best is None:
            return
        self._desk.emit({"live": SearchProgress(steps=self.found.steps).to_json()})
        self._desk.emit({"best": self.outcome(self.found.best).to_json()})

    def outcome(self, placement: Placement, known: bool = False) -> SolvedPlacement:
        """Everything that is shown of a placement; local and spread are the same beside every step."""
        system, names = self._prepared.system, self._prepared.scenario.labels
        others = self._others
        beside = compare(self._prepared, placement) if others is None else Comparison(placement, None, None)
        found = placement_outcome(self._prepared, placement, now_text(), beside)
        if others is not None:
            found = found.model_copy(update={"local": others.local, "spread": others.spread})
        solved = SolvedPlacement.of(found, working(system, placement, names), self.found.steps, known)
        self._others = others or solved
        return solved


def place_scenario(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """Solve, compare with local and spread, show the working; the best so far is reported on the way."""
    prepared = study_of(spec, desk)
    search, solver = _Search(prepared, desk), str(spec.get("solver", "parametric"))
    known = is_solved(prepared, solver, desk.cache)
    watch = PlacingWatch(desk, READ, COMPARE)
    placement = study.place(prepared, solver, desk.cache, desk.check, search.better, on_progress=watch.take)
    desk.emit({"fraction": COMPARE, "text": "Comparing with local and spread"})
    if search.found.steps:
        search.found.finish(placement)
    return search.outcome(placement, known).to_json()


def predict_congestion(spec: Mapping[str, Any], desk: Desk) -> dict[str, Any]:
    """By formula: its optimum, local and spread over the link's background load."""

    def tell(share: float) -> None:
        desk.check()
        desk.emit({"fraction": share, "text": "Solving the formula at every load"})

    return congestion_curve(study_of(spec, desk).system, progress=tell).to_json()
