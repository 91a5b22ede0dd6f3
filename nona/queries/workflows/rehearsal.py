"""Rehearsals: short simulations choose how a scheduler that has several ways of deciding decides.

``nona-live`` estimates when a split query would end. The estimate does not know the queries that come later,
so where many are split at once it can lose to splitting fewer, to splitting none, or to drawing
configurations as the placement says. So before a run its ways race, and the quickest is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nona.core.experiments import do_nothing
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.system import System
from nona.queries.workflows.race import Contender, EventBudget, Race

ROUNDS = 4
QUICK_ROUNDS = 2  # where an answer is wanted at once
_EVENTS = 4_000_000  # of all races

Chosen = tuple[Scheduler, SchedulerTables]


def rehearsed(
    system: System,
    scheduler: Scheduler,
    placement: Placement | None,
    options: Mapping[str, Any],
    check: Callable[[], None] = do_nothing,
    rounds: int = ROUNDS,
) -> Chosen:
    """Return a scheduler and its tables, by the fastest of its ``rehearsals`` unless ``options`` settle them.

    Parameters
    ----------
    system : System
        The system.
    scheduler : Scheduler
        The scheduler.
    placement : Placement or None
        For schedulers that need one.
    options : mapping of str to object
        Options of the scheduler; those given are not rehearsed.
    check : callable, optional
        Is called now and then, and may raise to end the work.
    rounds : int, optional
        Rounds of the race.

    Returns
    -------
    Chosen
        The scheduler that decides, and its tables.
    """
    ways = [r for r in scheduler.rehearsals if not r.options.keys() & options.keys()]
    if len(ways) < len(scheduler.rehearsals) or len(ways) < 2 or system.total_rate <= 0:
        return scheduler, _prepared(system, scheduler, placement, options)
    contenders = []
    for way in ways:
        decides = get_scheduler(way.decided_by) if way.decided_by else scheduler
        own = way.options if way.decided_by else {**options, **way.options}
        named = replace(decides, name=scheduler.name)
        contenders.append(Contender(named, _prepared(system, decides, placement, own)))
    best = Race(system, EventBudget(_EVENTS), check=check).run(contenders, rounds).best.contender
    return best.scheduler, best.prepared


def _prepared(
    system: System, scheduler: Scheduler, placement: Placement | None, options: Mapping[str, Any]
) -> SchedulerTables:
    return scheduler.prepare(system, placement if scheduler.needs_placement else None, options)
