"""The placement of a system: solved by formula, judged by sampled jobs, close calls decided by simulation."""

from __future__ import annotations

from collections.abc import Callable

from nona.placement.result.placement import Objective, Placement
from nona.placement.sampled.choose import Improved, choose_placement, has_large_interior, local_answer
from nona.placement.solve import solve
from nona.study.placing.progress import PlacingProgress, PlacingStage, PlacingTold, untold
from nona.study.placing.referee import decide
from nona.system import System

FORMULA_S = 3.0  # about how long large interiors are worked on where the formula gives a start only
QUICK_S = 0.6


def place_system(
    system: System,
    objective: Objective = "mean-jct",
    solver: str = "parametric",
    check: Callable[[], None] = lambda: None,
    on_better: Improved = lambda placement: None,
    quick: bool = False,
    on_progress: PlacingTold = untold,
) -> Placement:
    """Choose the placement for an objective.

    ``mean-jct`` and ``slo`` solve the formula, then judge its optimum and others by sampled jobs
    (:mod:`nona.placement.sampled.choose`); ``formula`` stops at the formula's optimum, the paper's problem.
    ``check`` is called now and then in a search that takes seconds; what it raises comes out.
    ``on_better`` is called with every placement that is the best so far. ``quick`` is for answers while a
    slider moves and for searches over many systems: starts are judged, but neither improved nor simulated.
    ``on_progress`` is called with every :class:`~nona.study.placing.progress.PlacingProgress`.

    Raises
    ------
    PlacementError
        When there is none, or for an unknown solver or objective.
    """
    on_progress(PlacingProgress("formula"))
    if objective == "mean-jct" and has_large_interior(system):
        on_better(local_answer(system))  # the formula takes seconds there
    check()
    if objective == "formula":
        return solve(system, solver)
    optimum = solve(system, solver, time_s=QUICK_S if quick else FORMULA_S)
    work_s = QUICK_S if quick else None
    search, runs = _Counted("search", on_progress), _Counted("simulation", on_progress)
    found = choose_placement(
        system,
        optimum,
        objective,
        work_s=work_s,
        check=check,
        on_better=on_better,
        on_spent=search.tell,
    )
    return found if quick else decide(system, found, check, runs.tell)


class _Counted:
    """Counts what a stage does, and tells of it."""

    def __init__(self, stage: PlacingStage, told: PlacingTold) -> None:
        self._stage, self._told, self._done = stage, told, 0

    def tell(self, share: float) -> None:
        self._done += 1
        self._told(PlacingProgress(self._stage, self._done, share))
