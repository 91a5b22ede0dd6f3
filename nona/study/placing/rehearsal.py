"""Options that a scheduler leaves open: the fastest for this system, by short runs.

``nona-live`` estimates when a split query would end. The estimate does not know the queries that come later,
so where many are split at once it can lose to splitting fewer, to splitting none, or to drawing
configurations as the placement says. That shows before a run: the candidates are simulated in short runs with
common random numbers, and the quickest is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nona.placement.result.placement import Placement
from nona.schedulers.base import Prepared, Scheduler
from nona.schedulers.registry import get_scheduler
from nona.study.placing.short_runs import RUNS, short_means_s
from nona.system import System

Chosen = tuple[Scheduler, Prepared]


def rehearsed(
    system: System,
    scheduler: Scheduler,
    placement: Placement | None,
    options: Mapping[str, Any],
    check: Callable[[], None] = lambda: None,
    runs: int = RUNS,
) -> Chosen:
    """A scheduler and its tables, by the fastest of its ``rehearsals`` unless ``options`` settle them.

    ``placement`` goes to schedulers that need one; ``runs`` are simulated of each candidate. Of equally
    quick candidates the first is taken.
    """
    ways = [r for r in scheduler.rehearsals if not r.options.keys() & options.keys()]
    if len(ways) < len(scheduler.rehearsals) or len(ways) < 2 or system.total_rate <= 0:
        return scheduler, _prepared(system, scheduler, placement, options)
    found: list[Chosen] = []
    for way in ways:
        decides = get_scheduler(way.decided_by) if way.decided_by else scheduler
        own = way.options if way.decided_by else {**options, **way.options}
        found.append((replace(decides, name=scheduler.name), _prepared(system, decides, placement, own)))
    means = [float(short_means_s(system, *chosen, check=check, runs=runs).mean()) for chosen in found]
    return found[means.index(min(means))]


def _prepared(
    system: System, scheduler: Scheduler, placement: Placement | None, options: Mapping[str, Any]
) -> Prepared:
    return scheduler.prepare(system, placement if scheduler.needs_placement else None, options)
