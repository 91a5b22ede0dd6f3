"""Prices of a configuration: load of links, blocks of work, a solution's shadow prices.

The blocks enter because they make every other visit wait longer (:mod:`nona.placement.solver.descent`). With
p the root's time, B₀ the block that follows the root on its executor, B the other blocks, and the run
L ahead of the sink, a configuration adds to the sum of squared visits of a job::

    y·(p + B₀ + r·E L) + (p + B₀)² + 2r·(p + B₀)·E L + Σ B² + E L²

r being the probability that the sink runs on (:mod:`nona.placement.queueing`), 1 where all is local. It
is charged ``factor`` for it. Searches of large interiors take r = 0 for what is not local, which is
never dearer. The squared coefficient of variation of the task times adds the same
to both.

The price of the link is the multiplier of the link's row in the linear program; that of blocks
is the gradient of the server wait, see :mod:`~.prices`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nona.arrays import Floats
from nona.placement.configurations import Shape
from nona.placement.link_waits import network_price
from nona.placement.messages import Candidates
from nona.placement.model import Model, value_at
from nona.placement.queueing import Blocks, blocks_of
from nona.placement.solver.inner_program import solve_knapsack
from nona.placement.solver.problem import Group, Problem
from nona.placement.solver.solution import Solution
from nona.placement.spans import VISITS, spans
from nona.system import Discipline


def _none() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class BlockPrice:
    """Price of blocks on K executor classes, (K,) each; see the module's head.

    ``factor`` in 1/s (seconds of mean JCT for each s²), ``run_s`` = y, ``root_s`` = p,
    ``ahead_s`` = E L, ``ahead_s2`` = E L², ``scv`` of the task times, ``busy`` the utilisation of
    the executors; at 1 no sink runs on, as searches count it.
    """

    factor: Floats = field(default_factory=_none)
    run_s: Floats = field(default_factory=_none)
    root_s: Floats = field(default_factory=_none)
    ahead_s: Floats = field(default_factory=_none)
    ahead_s2: Floats = field(default_factory=_none)
    scv: float = 0.0
    busy: float = 1.0

    def of(self, blocks: Blocks) -> Floats:
        """(n,) Charge of the blocks of n configurations, seconds."""
        total = np.zeros(len(blocks.stays))
        for k, factor in enumerate(self.factor.tolist()):
            p, ahead = self.root_s[k], blocks.stays * self.ahead_s[k]
            mean = p + blocks.root[k]
            squares = mean**2 + blocks.other[k] + 2.0 * mean * ahead + self.ahead_s2[k]
            drawn = self.scv * (p**2 + blocks.root_squares[k] + blocks.other_squares[k])
            total += factor * (self.run_s[k] * (mean + ahead) + squares + drawn)
        return total


@dataclass(frozen=True, eq=False)
class Prices:
    """Waits and prices at which configurations are compared.

    ``link_wait`` is W_n in seconds (FIFO) or the stretch w (processor sharing), ``server_wait_s`` is
    W_c; ``load`` and ``square`` (1/s) are charged for each second of link load and s² of squared batches.
    """

    link_wait: float = 0.0
    server_wait_s: float = 0.0
    load: float = 0.0
    square: float = 0.0
    blocks: BlockPrice = field(default_factory=BlockPrice)


def costs(candidates: Candidates, prices: Prices) -> Floats:
    """(n,) Span and charges of every configuration, seconds."""
    span = spans(candidates, prices.link_wait, prices.server_wait_s)[0]
    kept = candidates.messages
    total: Floats = span + prices.load * kept.load_s + prices.square * kept.square_s2
    if len(prices.blocks.factor):
        total = total + prices.blocks.of(blocks_of(candidates, prices.blocks.busy))
    return total


def scatter_s(prices: Prices, shape: Shape) -> float:
    """Return the seconds that the scatter of task times adds to the price of every configuration's blocks."""
    b = prices.blocks
    return float(
        sum(
            b.factor[k] * b.scv * (b.root_s[k] ** 2 + (shape.class_s[k] ** 2).sum())
            for k in range(len(b.factor))
        )
    )


def block_prices(model: Model, x: Sequence[Sequence[Floats]], visits: Floats) -> list[list[BlockPrice]]:
    """The price of blocks of every sub-graph at the point ``x``; ``visits``: (J,) w_j·visits."""
    servers = model.servers
    price = (visits @ servers.shares) / (2.0 * (1.0 - servers.utilization))
    factors = servers.arrivals * price
    result = []
    for j in range(len(model.candidates)):
        marginals = np.array([chain[j].marginals(x[j]) for chain in servers.chains])
        scv = model.system.queries[j].service_scv
        result.append(
            [
                BlockPrice(factors[j], m[:, 0], m[:, 1], m[:, 2], m[:, 3], scv, float(model.busy[j]))
                for m in marginals.swapaxes(0, 1)
            ]
        )
    return result


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
    """Return the prices of a configuration for every group of the priced problem, per unit of weight."""
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
