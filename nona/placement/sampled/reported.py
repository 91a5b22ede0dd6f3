"""What is reported of a placement: its mean by sampled jobs, with the formula's bound below it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nona.placement.response import Response, predict_response
from nona.placement.result.configuration import Queries
from nona.placement.result.placement import Certificate, Placement
from nona.placement.sampled.judge import Judge, Values
from nona.placement.waits.conserved_floor import conserved_floor_s
from nona.system import System

FINAL = 2048  # walked jobs of each class for the figures that are reported
_Shares = tuple[tuple[float, ...], ...] | None


def walked(system: System, queries: Queries, shares: NDArray[np.float64] | None, seed: int) -> Response:
    """The response of the jobs that are reported; it is kept for a while."""
    return _walked(system, queries, None if shares is None else tuple(map(tuple, shares.tolist())), seed)


@lru_cache(maxsize=8)  # a placement is judged as a step of the search, then beside others, then reported
def _walked(system: System, queries: Queries, shares: _Shares, seed: int) -> Response:
    given = None if shares is None else np.array(shares)
    return predict_response(system, queries, shares=given, samples=FINAL, seed=seed + 1)


def mean_of(system: System, optimum: Placement, queries: Queries, seed: int = 0) -> Values:
    """The completion times of a placement on the samples by which placements are reported."""
    response = walked(system, queries, optimum.class_shares, seed)
    return Judge(system, "mean-jct", optimum.class_shares).worth(response)


def reported_response(system: System, placement: Placement, seed: int = 0) -> Response:
    """The distribution behind :func:`mean_of`: the same jobs, so the same mean."""
    return walked(system, placement.queries, placement.class_shares, seed)


def by_response(system: System, placement: Placement, seed: int = 0) -> Placement:
    """A placement that was evaluated by formula, with the response's mean as its objective."""
    values = mean_of(system, placement, placement.queries, seed)
    return replace(
        placement, objective_s=values.value, objective_error_s=values.error, formula=certificate_of(placement)
    )


def certificate_of(placement: Placement) -> Certificate:
    """What the formula says of a placement: kept where the response is the objective."""
    return placement.formula or Certificate(placement.objective_s, placement.lower_bound_s)


def bounded(system: System, placement: Placement) -> Placement:
    """The same with the formula's bounds, or the floor of conserved work where that is higher.

    A bound is never reported above the value that it bounds: a sampled mean has an error, and for some
    placements the formula's waits are too long.
    """
    floor_s, objective_s = conserved_floor_s(system), placement.objective_s
    certified = certificate_of(placement).lower_bound_s
    return replace(
        placement,
        lower_bound_s=_at_most(certified, floor_s, objective_s),
        global_bound_s=_at_most(placement.global_bound_s, floor_s, objective_s),
    )


def _at_most(bound: float, floor: float, value: float) -> float:
    """The larger of two bounds, not above the value; ``nan`` where the formula has none."""
    return bound if math.isnan(bound) else min(max(bound, floor), value)
