"""Prices at a solution: what load on the link and blocks of work cost everybody else.

The price of the link is the multiplier of the link's row in the linear program; that of blocks
is the gradient of the server wait, see :mod:`~.prices`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.formula.mean_jct import value_at
from nona.placement.formula.model import Model
from nona.placement.interiors.prices import BlockPrice, Prices, block_prices
from nona.placement.program.problem import Group, Problem
from nona.placement.solver.knapsack import solve_knapsack
from nona.placement.solver.linearised import Solution
from nona.placement.spans.longest_paths import VISITS
from nona.placement.waits.link_price import network_price
from nona.system import Discipline

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shadow:
    """The link's wait at a solution, and the price of the queries' load there, and of squared batches.

    A configuration that is sent once a second costs all others ``load`` for each second at the link
    and ``square`` for each s² of squared batches, seconds of mean JCT.
    """

    wait: float
    load: float
    square: float


def shadow(problem: Problem, x: Floats, discipline: Discipline) -> Shadow:
    """The prices at a point ``x`` of the problem: by the multiplier of the link's row.

    Over several links by the gradient of the mean wait, times how often it is waited for; what
    bundles cost is charged to the batches.
    """
    used = np.flatnonzero(x)
    wait = problem.wait(used, x[used])
    if problem.network is not None:
        waited = float(problem.lines.tangents(wait)[1][used] @ x[used])
        price = network_price(problem.network.curve, problem.network.traffic(x))
        return Shadow(wait, waited * price.load, waited * (price.square + price.bundle))
    row, bound = problem.a0 + wait * problem.a1, wait * problem.b1 - problem.b0
    choice = solve_knapsack(problem.start, problem.group, problem.lines(wait), row, max(bound, 0.0))
    multiplier = choice.multiplier if np.isfinite(choice.multiplier) else 0.0
    if discipline == "fifo":
        return Shadow(wait, multiplier * 2.0 * wait, multiplier)
    return Shadow(wait, multiplier * (1.0 + wait), 0.0)


def group_prices(model: Model, solution: Solution, at: Shadow) -> list[Prices]:
    """For every group of the priced problem what a configuration costs, per unit of the class's weight."""
    value = value_at(model, solution.x)
    visits = model.weights * value.terms[:, VISITS]
    waits = np.broadcast_to(np.asarray(value.server_wait_s, dtype=float), visits.shape)
    charged = block_prices(model, solution.x, visits)
    return [
        _prices(model, g, at, float(waits[g.query]), charged[g.query][g.members[0]])
        for g in solution.priced.groups
    ]


def _prices(model: Model, g: Group, at: Shadow, server_wait_s: float, blocks: BlockPrice) -> Prices:
    weight = weight_of(model, g)
    unit = model.system.queries[g.query].rate / weight
    return Prices(
        link_wait=at.wait,
        server_wait_s=server_wait_s,
        load=unit * at.load,
        square=unit * at.square,
        blocks=replace(blocks, factor=blocks.factor / weight),
    )


def weight_of(model: Model, g: Group) -> float:
    """The weight of a group's class in the problem (a little for classes without arrivals)."""
    return max(float(model.weights[g.query]), 1e-12)
