"""The placement of a prepared scenario, solved or remembered, and local and spread beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nona.core.errors import PlacementError
from nona.core.experiments import do_nothing
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.placement.result import Placement
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.placement_times import simulated
from nona.queries.workflows.placing import OnBetter, OnPlacing, place_system
from nona.queries.workflows.preparation import PreparedSystem


@dataclass(frozen=True, eq=False)
class Comparison:
    """The solved placement, and local and spread, which need no solver."""

    nona: Placement
    local: Placement | None
    spread: Placement | None


def place(
    prepared: PreparedSystem,
    cache: PreparationCache | None = None,
    check: Callable[[], None] = do_nothing,
    on_better: OnBetter = do_nothing,
    quick: bool = False,
    on_progress: OnPlacing = do_nothing,
) -> Placement:
    """Choose the placement for the scenario's objective.

    :func:`nona.queries.workflows.placing.place_system` does the work.

    Parameters
    ----------
    prepared : PreparedSystem
        The system.
    cache : PreparationCache, optional
        The cache with which ``prepared`` was made. A placement that it holds is returned at once, in place
        of a ``quick`` one too.
    check : callable, optional
        Called now and then; what it raises ends the search.
    on_better : callable, optional
        Gets every better placement.
    quick : bool, default False
        Compare fewer placements, in shorter simulations.
    on_progress : callable, optional
        Gets the progress; reports change nothing else.

    Returns
    -------
    Placement
        The chosen placement with its prediction and certificate.
    """

    def solved() -> Placement:
        objective = prepared.scenario.objective
        return place_system(prepared.system, objective, check, on_better, quick, on_progress)

    if cache is None or not prepared.key:
        return solved()
    key = prepared.key
    return cache.placements.get(f"quick {key}" if quick and key not in cache.placements else key, solved)


def is_solved(prepared: PreparedSystem, cache: PreparationCache) -> bool:
    """Return whether the cache has the placement from an earlier solve."""
    return bool(prepared.key) and prepared.key in cache.placements


def compare(prepared: PreparedSystem, placement: Placement) -> Comparison:
    """Simulate local and spread, for comparison with a placement.

    Parameters
    ----------
    prepared : PreparedSystem
        The system that the placement is for.
    placement : Placement
        The placement to compare with.

    Returns
    -------
    Comparison
        Both placements, simulated with the same jobs; ``None`` where one has no steady state.
    """
    others = (steady_local(prepared), steady_spread(prepared))
    return Comparison(placement, *(None if p is None else simulated(prepared.system, p) for p in others))


def steady_local(prepared: PreparedSystem) -> Placement | None:
    """All tasks local; ``None`` if a uniform draw of executors overloads some of them."""
    try:
        return local_placement(prepared.system)
    except PlacementError:
        return None


def steady_spread(prepared: PreparedSystem) -> Placement | None:
    """All tasks spread; ``None`` if that overloads link or executors: no steady state."""
    try:
        spread = spread_placement(prepared.system)
    except PlacementError:
        return None
    return spread if spread.prediction.is_steady else None


def predictions(prepared: PreparedSystem, placement: Placement | None) -> dict[str, float | None]:
    """Predict the mean JCT of each scheduler of the scenario that has a prediction.

    Parameters
    ----------
    prepared : PreparedSystem
        The system.
    placement : Placement or None
        The placement from which ``nona`` samples.

    Returns
    -------
    dict of str to float or None
        Scheduler → predicted mean JCT in seconds; ``None`` where there is no steady state. Empty where
        executors batch.
    """
    means_s: dict[str, float | None] = {}
    if prepared.system.beyond_formula:
        return means_s
    names = {s.name for s in prepared.schedulers}
    if placement is not None and "nona" in names:
        means_s["nona"] = placement.prediction.jct_s
    for name, fixed in (("local", local_placement), ("spread", spread_placement)):
        if name in names:
            try:
                means_s[name] = fixed(prepared.system).prediction.jct_s
            except PlacementError:  # the executors themselves are overloaded
                means_s[name] = None
    return means_s
