"""A plan from beginning to end: the search, the headroom of its answer, what failures leave."""

from __future__ import annotations

from collections.abc import Callable

from nona.experiments.workers import ProcessPool
from nona.results.plan import PlanReport
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study.planning.headroom import failures, headroom, loads_of
from nona.study.planning.planner import Planner, RunPool
from nona.study.planning.progress import PlanProgress, PlanStage
from nona.study.planning.question import question_of
from nona.study.planning.week import week_of
from nona.study.planning.written import Further, Written

_NO_SOURCES = Sources()
OnTable = Callable[[PlanReport, PlanProgress], None]


def plan(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    workers: int = 1,
    pool: RunPool | None = None,
    check: Callable[[], None] = lambda: None,
    on_table: OnTable = lambda report, progress: None,
) -> PlanReport:
    """The cheapest servers and scheduler that keep the targets of the scenario's part ``plan``.

    Parameters
    ----------
    workers
        Processes; what is found does not depend on it. ``pool`` takes their place.
    check
        Called now and then; what it raises (``Cancelled``) ends the work and comes out.
    on_table
        Called with all that is known so far and how far the work is: at first the options by prediction, then
        whenever a look at an option has ended. Who cancels keeps the last of these reports.

    Raises
    ------
    NonaError
        For a question that cannot be asked, in one line.
    """
    question = question_of(scenario, sources)
    if pool is None and workers > 1:
        with ProcessPool(workers) as processes:
            return plan(scenario, sources, pool=processes, check=check, on_table=on_table)
    planner = Planner(question, pool, check)
    written = Written(planner)

    def report(stage: PlanStage, last: str = "") -> None:
        on_table(written.report(), PlanProgress(stage, last, len(planner.settled), planner.chains_known))

    def begin(stage: PlanStage) -> None:
        planner.on_known = lambda last: report(stage, last)
        report(stage)

    begin("search")
    planner.search()
    if planner.best is None:
        return written.report()
    begin("headroom")
    factor = headroom(planner, planner.best)
    begin("failures")
    lost = failures(planner, planner.best)
    week = None
    if question.profile is not None:
        begin("week")
        week = week_of(planner, planner.best, question.profile)
    return written.report(Further(factor, loads_of(planner, planner.best), lost, week))
