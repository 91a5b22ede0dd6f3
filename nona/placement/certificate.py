"""The certificate: bounds on every placement, unlisted configurations included.

The relaxed columns (:mod:`~.interiors.relaxed_columns`) hold from a wait of the link upwards, and are the
sharper the higher it is. So the axis of the wait is cut at a few waits around the solution's; on each piece
the problem is solved with the columns that hold there, and the least of the pieces' bounds is one for all.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from nona.arrays import Floats
from nona.placement.configurations import server_slots
from nona.placement.interiors.column_generation import Budget
from nona.placement.interiors.exchange_groups import ExchangeGroups, exchange_groups_of
from nona.placement.interiors.prices import BlockPrice, Prices, group_prices, shadow, weight_of
from nona.placement.model import Model
from nona.placement.solver.parametric import bound_between, solve_parametric
from nona.placement.solver.problem import Group, Least, Problem, build_problem, groups_of
from nona.placement.solver.solution import Solution

# Waits of the pieces, as shares of the way from the least wait to the solution's.
_PIECES = (0.0, 0.4, 0.75, 0.92, 1.0, 1.1, 1.4, 2.0, 4.0)
_HALVINGS = 24  # of the pieces with the least bound, until the gap is closed
_CELLS = 300
_PER_EDGE = 40  # steps for each pair of a task and an edge: so many earliest starts are computed
_GAP = 1e-4


@dataclass(frozen=True, eq=False)
class Task:
    """A problem to be bounded: its groups, server waits (J,), prices of each group, and credit."""

    model: Model
    groups: Sequence[Group]
    server_wait_s: Floats
    prices: Sequence[Prices]
    credit_s: float = 0.0

    @cached_property
    def families(self) -> dict[int, tuple[ExchangeGroups, ...]]:
        """The groups of all candidates of which not all are listed, by identity."""
        families: dict[int, tuple[ExchangeGroups, ...]] = {}
        for g in self.groups:
            if not g.candidates.exhaustive and id(g.candidates) not in families:
                families[id(g.candidates)] = exchange_groups_of(g.candidates.shape)
        return families

    def problem(self, floor: float, end: float = math.inf) -> Problem:
        """With relaxed columns that hold where the link's wait is between ``floor`` and ``end``."""
        from nona.placement.interiors.relaxed_columns import least_columns  # it imports Numba

        slots = server_slots(self.model.system)
        columns: dict[tuple[int, int], tuple[Least, ...]] = {}
        least: list[tuple[Least, ...]] = []
        for g, prices in zip(self.groups, self.prices, strict=True):
            key = (id(g.candidates), g.query)
            if g.candidates.exhaustive:
                least.append(())
                continue
            if key not in columns or len(prices.blocks.factor):
                at, families = replace(prices, link_wait=floor), self.families[id(g.candidates)]
                columns[key] = least_columns(g.candidates, slots, at, end, families)
            least.append(columns[key])
        return build_problem(self.model, self.groups, self.server_wait_s, credit_s=self.credit_s, least=least)

    @cached_property
    def anywhere(self) -> Problem:
        """With relaxed columns that hold at every wait."""
        plain = build_problem(self.model, self.groups, self.server_wait_s, credit_s=self.credit_s)
        return self.problem(plain.least_wait)

    @property
    def steps(self) -> float:
        """The work of making the relaxed columns once, roughly."""
        shapes = [g.candidates.shape for g in self.groups if not g.candidates.exhaustive]
        return sum(_PER_EDGE * s.m * (s.m + len(s.source)) for s in shapes)

    def bound(self, upper: float, wait: float, budget: Budget, halvings: int = 0) -> float:
        """No placement of the problem is below this; at most ``upper``, the value of one.

        So many times the piece of the axis with the least bound is cut in two.
        """
        plain = build_problem(self.model, self.groups, self.server_wait_s, credit_s=self.credit_s)
        first = plain.least_wait
        if plain.network is not None:
            relaxed = solve_parametric(self.anywhere, gap=_GAP, max_cells=_CELLS)
            return min(upper, relaxed.lower_bound_s)
        floors = sorted({first + share * max(wait - first, 0.0) for share in _PIECES})
        pieces = [
            (self._between(low, high, upper, budget), low, high)
            for low, high in pairwise([*floors, math.inf])
        ]
        heapq.heapify(pieces)
        for _ in range(halvings):
            lowest, low, high = pieces[0]
            if budget.spent or lowest >= upper * (1.0 - _GAP):
                break
            middle = 0.5 * (low + high) if math.isfinite(high) else 2.0 * low
            if not low < middle < high:
                break
            heapq.heappop(pieces)
            for ends in ((low, middle), (middle, high)):
                heapq.heappush(pieces, (max(lowest, self._between(*ends, upper, budget)), *ends))
        return min(upper, pieces[0][0])

    def _between(self, low: float, high: float, upper: float, budget: Budget) -> float:
        """A bound where the link's wait is between ``low`` and ``high``; coarse once the budget is spent."""
        budget.spend(self.steps)
        columns = self.problem(low, high) if not budget.spent else self.anywhere
        return bound_between(columns, low, high, upper, gap=_GAP, max_cells=_CELLS)


def _linearised_bound_s(model: Model, solution: Solution, budget: Budget) -> float:
    """A bound at the placement's own server wait, linearised there."""
    priced = solution.priced
    at = shadow(priced.problem(model), solution.certified.x, model.system.discipline)
    prices = group_prices(model, solution, at)
    waits = np.broadcast_to(np.asarray(priced.server_wait_s, dtype=float), (len(model.candidates),))
    task = Task(model, priced.groups, waits, prices, priced.credit_s)
    return task.bound(solution.certified.value_s, at.wait, budget, _HALVINGS)


def _unconditional_bound_s(model: Model, solution: Solution, budget: Budget) -> float:
    """A bound for every server wait that a placement may bring about."""
    groups = groups_of(model)
    waits = np.broadcast_to(np.asarray(model.least_server_wait_s, dtype=float), (len(model.candidates),))
    at = shadow(solution.priced.problem(model), solution.certified.x, model.system.discipline)
    prices = []
    for g in groups:
        load = at.load * model.system.queries[g.query].rate / weight_of(model, g)
        prices.append(Prices(at.wait, float(waits[g.query]), load, 0.0, BlockPrice()))
    return Task(model, groups, waits, prices).bound(solution.value_s, at.wait, budget)


CLOSED = 1e-4  # a gap at which nothing is said to be left out


def bounds_s(model: Model, solution: Solution, budget: Budget) -> tuple[float, float]:
    """(bound at this server wait, bound for every server wait), of all configurations, listed or not.

    Where the columns that are quickly made leave a gap, those of
    :mod:`nona.placement.certificate` are taken, within the ``budget``. ``nan`` without a
    certificate.
    """
    bound = solution.certified.lower_bound_s
    if math.isnan(bound):
        return bound, bound
    value, everywhere = solution.value_s, global_bound_s(model)
    if not all(g.candidates.exhaustive for g in solution.priced.groups):
        relaxed = solution.priced.problem(model, relaxed=True)
        listed, bound = bound, min(bound, solve_parametric(relaxed, gap=1e-4).lower_bound_s)
        if bound < value * (1.0 - CLOSED):
            bound = max(bound, min(listed, _linearised_bound_s(model, solution, budget)))
        if bound < value * (1.0 - CLOSED):
            everywhere = max(everywhere, _unconditional_bound_s(model, solution, budget))
    everywhere = min(everywhere, value)
    return max(bound, everywhere), everywhere


def global_bound_s(model: Model) -> float:
    """A bound for every placement with the server wait that it itself brings about.

    The objective grows with W_c, so its minimum at the least W_c there can be lies below.
    """
    problem = build_problem(model, groups_of(model), model.least_server_wait_s, relaxed=True)
    return solve_parametric(problem, gap=1e-3).lower_bound_s
