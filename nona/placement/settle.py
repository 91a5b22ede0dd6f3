"""The outer fixed point: a server wait that the placement found at this wait brings about.

The certified solver holds the server wait W_c constant. Here W_c and the placement are made
consistent: solve at W_c, compute the W_c of the solution from its run lengths, and repeat. A larger
W_c favours long local runs, which enlarge W_c in turn, so the iteration is monotone from either
end and there may be two fixed points: it is started from the wait of the local placement and from
the wait of background work alone, and the better end is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.assemble import probabilities
from nona.placement.model import Model
from nona.placement.objective import evaluate, objective_s
from nona.placement.parametric import Certified
from nona.placement.problem import Group, Problem, build_problem

Floats = NDArray[np.float64]
Inner = Callable[[Problem, Floats | None], Certified]
TOLERANCE = 1e-6
_ROUNDS = 25


@dataclass(frozen=True, eq=False)
class Settled:
    """A placement and the server wait at which it was solved.

    ``frozen_s`` is the objective at that constant wait, ``consistent_s`` at the wait that the
    placement itself brings about; they agree to ``TOLERANCE`` when ``converged``.
    """

    x: list[list[Floats]]
    inner: Certified
    server_wait_s: float
    frozen_s: float
    consistent_s: float

    @property
    def converged(self) -> bool:
        """Whether both objectives agree."""
        return abs(self.consistent_s - self.frozen_s) <= TOLERANCE * self.consistent_s


def settle(model: Model, groups: Sequence[Group], inner: Inner) -> Settled:
    """Iterate from both ends; see the module's head."""
    local = [[c.local.astype(float) for c in row] for row in model.candidates]
    above = _iterate(model, groups, inner, model.server_wait_s(local))
    if not model.visit_factors.any():
        return above
    silent = [[np.zeros(len(c)) for c in row] for row in model.candidates]
    below = _iterate(model, groups, inner, model.server_wait_s(silent))
    if above.converged != below.converged:
        return above if above.converged else below
    return below if below.consistent_s < above.consistent_s else above


def _iterate(model: Model, groups: Sequence[Group], inner: Inner, wait_s: float) -> Settled:
    """Solve and update until both objectives agree; bisect once the wait has been passed on both sides."""
    low, high = 0.0, np.inf
    start: list[list[Floats]] | None = None
    tried: list[Settled] = []
    while len(tried) < _ROUNDS:
        problem = build_problem(model, groups, wait_s)
        solved = inner(problem, None if start is None else _columns(groups, problem, start))
        x = probabilities(model, groups, problem, solved.x)
        value = evaluate(model, x)
        own = value.server_wait_s
        frozen = objective_s(model, evaluate(model, x, wait_s))
        tried.append(Settled(x, solved, wait_s, frozen, objective_s(model, value)))
        if tried[-1].converged:
            return tried[-1]
        low, high = (max(low, wait_s), high) if own > wait_s else (low, min(high, wait_s))
        wait_s = own if low < own < high else 0.5 * (low + high)
        start = x
    return min(tried, key=_mismatch)


def _mismatch(s: Settled) -> float:
    return abs(s.consistent_s - s.frozen_s)


def _columns(groups: Sequence[Group], problem: Problem, x: Sequence[Sequence[Floats]]) -> Floats:
    """The point of a new problem that stands for ``x``; what has lost its column becomes local."""
    point = np.zeros(len(problem.a0))
    for g, group in enumerate(groups):
        low, high = int(problem.start[g]), int(problem.start[g + 1])
        mean = np.mean([x[group.query][k] for k in group.members], axis=0)
        point[low:high] = mean[problem.column[low:high]]
        point[low] += 1.0 - point[low:high].sum()
    return point
