"""Placements, what to buy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nona.app.tasks import context as job_context
from nona.planning import results as planning
from nona.planning.holds import holds
from nona.planning.plan import PlanProgress, plan, plan_outcome
from nona.queries.placement.result import Placement
from nona.queries.placement.results import SearchProgress, SolvedPlacement
from nona.queries.report.placement.working import working
from nona.queries.workflows import placements
from nona.queries.workflows.facts import provenance_of
from nona.queries.workflows.placement_outcome import placement_outcome
from nona.queries.workflows.placements import Comparison, compare, is_solved
from nona.queries.workflows.placing import PlacingProgress, SearchSteps
from nona.queries.workflows.preparation import PreparedSystem
from nona.queries.workflows.shipped import now_text
from nona.queries.workflows.stage_layouts import compare_stage_layouts

READ, COMPARE = 0.1, 0.9  # shares of the work that are done by then, about
LAYOUTS = "Comparing layouts of stages"


class _SearchReporter:
    """Reports every better placement during the search.

    The job's ``live`` is a :class:`~nona.queries.placement.results.SearchProgress`, its ``best`` everything
    that the page shows of the best so far: what is left when the job is cancelled.
    """

    def __init__(self, prepared: PreparedSystem, context: job_context.JobContext) -> None:
        self._prepared, self._context = prepared, context
        self._others: SolvedPlacement | None = None  # the first outcome, with local and spread
        self.found = SearchSteps()

    def better(self, placement: Placement) -> None:
        self.found.add(placement)
        self.report(self.found.steps[-1].candidates)
        self._context.emit({"best": self.outcome(self.found.best or placement).to_json()})

    def report(self, candidates: int) -> None:
        """Report the steps, and how many candidates the best so far has met."""
        self._context.emit({"live": SearchProgress(steps=self.found.steps, candidates=candidates).to_json()})

    def outcome(self, placement: Placement, known: bool = False) -> SolvedPlacement:
        """Everything that is shown of a placement; local and spread are the same beside every step."""
        system, names = self._prepared.system, self._prepared.scenario.labels
        others = self._others
        beside = compare(self._prepared, placement) if others is None else Comparison(placement, None, None)
        outcome = placement_outcome(self._prepared, placement, now_text(), beside)
        if others is not None:
            outcome = outcome.model_copy(update={"local": others.local, "spread": others.spread})
        solved = SolvedPlacement.from_fields(
            outcome, working=working(system, placement, names), steps=self.found.steps, known=known
        )
        self._others = others or solved
        return solved


def place_scenario(spec: Mapping[str, Any], context: job_context.JobContext) -> SolvedPlacement:
    """Solve, compare with local and spread, show the formulas; report the best placement so far."""
    prepared = job_context.prepared_of(spec, context)
    search = _SearchReporter(prepared, context)
    was_solved = is_solved(prepared, context.cache)
    watch = job_context.PlacingReporter(context, READ, COMPARE)

    def progressed(progress: PlacingProgress) -> None:
        if watch.on_progress(progress) and search.found.steps:
            search.report(progress.candidates)

    placement = placements.place(
        prepared, context.cache, context.check, search.better, on_progress=progressed
    )
    context.emit({"fraction": COMPARE, "text": "Comparing with local and spread"})
    solved = search.outcome(placement, was_solved)
    context.emit({"best": solved.to_json()})

    def compared(done: float) -> None:
        context.report_progress(COMPARE + (1 - COMPARE) * done, LAYOUTS)

    layouts = compare_stage_layouts(prepared, job_context.sources_of(spec), context.cache, compared)
    if layouts is None:
        return solved
    return solved.model_copy(update={"nona": solved.nona.model_copy(update={"layouts": layouts})})


REPORT_EVERY_S = 0.5


def plan_purchase(spec: Mapping[str, Any], context: job_context.JobContext) -> planning.PlanOutcome:
    """Return the plan of the scenario; what is known so far is the job's ``live`` and ``best``."""
    prepared, made_at = job_context.prepared_of(spec, context), now_text()

    def report_plan(report: planning.PlanReport, progress: PlanProgress) -> None:
        outcome = partial(plan_outcome, prepared, report, made_at)
        context.report_progress(
            progress.whole, progress.text, outcome, every_s=REPORT_EVERY_S, keeps=True, open=True
        )

    report = plan(
        prepared.scenario,
        job_context.sources_of(spec),
        workers=job_context.processes(1, 0),
        check=context.check,
        on_table=report_plan,
    )
    return plan_outcome(prepared, report, made_at)


def does_it_hold(spec: Mapping[str, Any], context: job_context.JobContext) -> planning.HoldsOutcome:
    """Return the cluster as it stands under one scheduler; what is known so far is ``live`` and ``best``."""
    prepared, made_at = job_context.prepared_of(spec, context), now_text()

    def outcome(report: planning.HoldsReport) -> planning.HoldsOutcome:
        return planning.HoldsOutcome(about=provenance_of(prepared, made_at), report=report)

    def report_plan(report: planning.HoldsReport, share: float, text: str) -> None:
        context.report_progress(
            share, text, lambda: outcome(report), every_s=REPORT_EVERY_S, keeps=True, open=True
        )

    report = holds(
        prepared.scenario,
        job_context.sources_of(spec),
        job_context.request_of(spec, job_context.HoldsAsked).scheduler,
        workers=job_context.processes(1, 0),
        check=context.check,
        on_report=report_plan,
    )
    return outcome(report)
