"""Strategy-proof shares, and Themis' auction among the jobs that are worst off: both by Nash welfare.

The largest product of values, each job paying for what others lose:

max Σ_c n_c φ_c(θ_c), φ_c(θ) = ln θ − ln(t_c θ + r_c), θ_c = Σ_j T_cj x_cj, where all n_c jobs of a class c
have the same shares: x ≥ 0, Σ_j x_cj ≤ 1, Σ_c n_c sf_c x_cj ≤ N_j. φ is concave and increasing in θ.

A primal-dual interior-point method; the capacities couple classes through J prices only, so that a step
solves one J × J system per class and one for the prices. x is strictly feasible at every step, and any
prices p ≥ 0 bound the optimum: with the gradient g at x it is at most the value at x plus
Σ_j p_j N_j + Σ_c max(0, max_j(g_cj − n_c sf_c p_j)) − Σ g·x.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from math import ceil, exp

import numpy as np

from nona.allocation.equal_shares import isolated_shares
from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem
from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.core.options import PolicyOption
from nona.core.random_streams import RandomStreams
from nona.core.registry import ChartStyle


def _allocate(problem: AllocationProblem) -> Allocation:
    able = problem.rates.max(axis=1, initial=0.0) > 0
    rows = tuple((i,) for i in range(problem.jobs))
    shares = np.zeros(problem.rates.shape)
    if not able.any():
        return Allocation(rows, shares)
    ones = np.ones(int(able.sum()))
    scale = problem.rates[able].max(axis=1)
    bids = Bids(problem.rates[able], problem.workers[able], 0 * ones, ones * scale, problem.gpus)
    auction = partial_allocation(bids)
    shares[able] = auction.shares * auction.kept[:, None]
    unit = float(np.log(scale).mean())
    return Allocation(
        rows,
        shares,
        objective=float(np.exp(auction.mean_log + unit)),
        bound=float(np.exp(auction.mean_bound + unit)),
    )


STRATEGY_PROOF = AllocationPolicy(
    name="strategy-proof",
    title="Strategy-proof",
    summary="Maximises the product of throughputs; jobs keep a part, so that none gains by false rates.",
    source="Narayanan et al., OSDI 2020 (Gavel); mechanism of Cole, Gkatzelis and Goel, EC 2013, from memory",
    adaptation="The objective is stated before the discount. Jobs that no type can run are left out.",
    build=lambda options: _allocate,
    objective="geometric mean of throughputs before the discount, steps/s",
    style=ChartStyle("#8b3fd9", "longdash", "circle-cross"),
)


def finish_time_fairness(problem: AllocationProblem, rates: Floats) -> Floats:
    """(m,) ρ_i = (t_i + rem_i / thr_i) / (C_i + rem_i / iso_i) at throughputs ``rates``; ∞ without any."""
    alone = (isolated_shares(problem) * problem.rates).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = (problem.elapsed_s + problem.remaining / rates) / (
            problem.isolated_s + problem.remaining / alone
        )
    return np.where(rates > 0, rho, np.inf)


def bidders(problem: AllocationProblem, knob: float) -> Ints:
    """Return the ⌈(1 − f)·m⌉ jobs with the worst ρ, if each had an equal share from now on.

    Ties by number.
    """
    able = np.flatnonzero(problem.rates.max(axis=1, initial=0.0) > 0)
    alone = (isolated_shares(problem) * problem.rates).sum(axis=1)
    worst = able[np.argsort(-finish_time_fairness(problem, alone)[able], kind="stable")]
    return np.sort(worst[: ceil((1 - knob) * len(able) - 1e-9)])


def _auction(problem: AllocationProblem, jobs: Ints) -> PartialAllocation:
    """V_i = 1/ρ_i of the bidders: θ / (t θ + rem), but for a factor that no job can change."""
    bids = Bids(
        problem.rates[jobs],
        problem.workers[jobs],
        problem.elapsed_s[jobs],
        problem.remaining[jobs],
        problem.gpus,
    )
    return partial_allocation(bids)


def _hand_out(problem: AllocationProblem, shares: Floats, order: Ints) -> None:
    """Give the rest of the time to jobs in ``order``, on their fastest types first."""
    free = problem.gpus - problem.workers @ shares
    for job in order:
        time = 1.0
        for kind in np.argsort(-problem.rates[job], kind="stable"):
            part = min(time, max(0.0, free[kind]) / problem.workers[job])
            if problem.rates[job, kind] > 0:
                shares[job, kind] = part
                time, free[kind] = time - part, free[kind] - part * problem.workers[job]


def _themis_auction_allocate(problem: AllocationProblem, knob: float, seed: int) -> Allocation:
    rows = tuple((i,) for i in range(problem.jobs))
    shares = np.zeros(problem.rates.shape)
    jobs = bidders(problem, knob)
    if not jobs.size:
        return Allocation(rows, shares)
    auction = _auction(problem, jobs)
    shares[jobs] = auction.shares * auction.kept[:, None]
    draw = RandomStreams(seed).generator("themis", str(problem.seed), repr(float(problem.elapsed_s.sum())))
    others = np.setdiff1d(np.arange(problem.jobs), jobs)
    _hand_out(problem, shares, draw.permutation(others))
    alone = (isolated_shares(problem) * problem.rates)[jobs].sum(axis=1)
    unit = float(np.log(problem.isolated_s[jobs] + problem.remaining[jobs] / alone).mean())
    return Allocation(
        rows,
        shares,
        objective=exp(auction.mean_log + unit),
        bound=exp(auction.mean_bound + unit),
    )


THEMIS = AllocationPolicy(
    name="themis-auction",
    title="Themis' auction",
    summary="The jobs with the worst finish-time fairness bid for the GPUs; the rest get what is left.",
    source="Mahajan et al., NSDI 2020 (Themis), from memory",
    adaptation="One auction per reallocation, over shares of time instead of whole GPUs; all GPUs are "
    "offered. Who bids is decided by ρ with an equal share from now on (ours). Values are 1/ρ from the known "
    "rates. What the bidders leave goes to the others in random order, fastest type first. With waits "
    "behind them 1/ρ does not grow in proportion to the shares, so truth is best only nearly.",
    build=lambda o: partial(_themis_auction_allocate, knob=o["fairness_knob"], seed=o["seed"]),
    settings={
        "fairness_knob": PolicyOption(0.8, "f: the worst 1 − f of the jobs bid", most=0.999),
        "seed": PolicyOption(0, "seed of the order in which the others get what is left"),
    },
    objective="geometric mean of the bidders' 1/ρ before the discount",
    style=ChartStyle("#e0559a", "longdash", "triangle-up"),
)


STEPS = 80
CENTRING, BACK = 0.15, 0.99  # the next μ over the present one; share of the step to the boundary
BLOCKS = 100_000  # systems of one class that are solved at once
WARM = 1e-2  # mean complementarity from which the problems without one job start


@dataclass(frozen=True, eq=False, slots=True)
class Values:
    """Classes of equal jobs: (c, J) rates, (c,) sf, t and r of φ; (J,) GPUs."""

    rates: Floats
    workers: Floats
    elapsed: Floats
    left: Floats
    gpus: Floats

    def value(self, shares: Floats) -> Floats:
        """(…, c) φ at the shares (…, c, J)."""
        got = (shares * self.rates).sum(axis=-1)
        phi: Floats = np.log(got) - np.log(self.elapsed * got + self.left)
        return phi


@dataclass(frozen=True, eq=False, slots=True)
class AuctionShares:
    """Optimal shares of b problems: (b, c, J); (b,) Σ n φ there and the bound on every allocation's."""

    shares: Floats
    value: Floats
    bound: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Point:
    """A point inside: shares x (b, c, J) with multipliers z, time left (b, c) with y, room (b, J) with p.

    Slacks are carried along: computed from x, the last of them would be lost in rounding.
    """

    x: Floats
    z: Floats
    time: Floats
    y: Floats
    room: Floats
    p: Floats

    def pairs(self) -> tuple[tuple[Floats, Floats], ...]:
        """Return the positive arrays, each with its multiplier."""
        return (self.x, self.z), (self.time, self.y), (self.room, self.p)


def solve(
    values: Values, counts: Floats, start: Point | None = None, tolerance: float = 1e-8
) -> AuctionShares:
    """Return the optimum for each row of ``counts`` (b, c), to ``tolerance`` in Σ n φ for each job.

    >>> one = Values(np.array([[1.0]]), np.ones(1), np.zeros(1), np.ones(1), np.array([2.0]))
    >>> found = solve(one, np.array([[4.0]]))  # four jobs on two GPUs
    >>> found.shares.round(6).tolist(), bool(found.bound[0] - found.value[0] < 1e-6)
    ([[[0.5]]], True)
    """
    return _follow(values, counts, start or _interior_point(values, counts), tolerance, 0.0)[1]


def _with_and_without(
    values: Values, counts: Floats, tolerance: float = 1e-8
) -> tuple[AuctionShares, AuctionShares]:
    """Return the optimum with all jobs, and one for each class with one of its jobs left out (c problems).

    What leaves frees capacity, so the problems without one job start on the way to the full optimum.
    """
    point, _ = _follow(values, counts[None], _interior_point(values, counts[None]), tolerance, WARM)
    full = solve(values, counts[None], _copies(point, 1), tolerance)
    classes = len(counts)
    at_once = max(1, BLOCKS // classes)
    parts = []
    for first in range(0, classes, at_once):
        left_out = np.eye(classes)[first : first + at_once]
        start = _copies(point, len(left_out))
        freed = left_out @ (values.workers[:, None] * point.x[0])
        start = replace(start, room=start.room + freed)
        parts.append(solve(values, counts - left_out, start, tolerance))
    return full, AuctionShares(
        *(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(AuctionShares))
    )


def _copies(point: Point, count: int) -> Point:
    return Point(*(np.repeat(getattr(point, f.name), count, axis=0) for f in fields(Point)))


def _interior_point(values: Values, counts: Floats) -> Point:
    asked = np.maximum((counts * values.workers).sum(axis=1), 1.0)
    kinds = len(values.gpus)
    x: Floats = np.minimum(values.gpus / (2 * asked[:, None]), 0.5 / kinds)[:, None, :]
    x = np.repeat(x, len(values.workers), axis=1)
    used = np.einsum("bc,bcj->bj", counts * values.workers, x)
    time, room = 1 - x.sum(axis=2), values.gpus - used
    return Point(x, 1 / x, time, 1 / time, room, 1 / room)


def _gradient(values: Values, counts: Floats, x: Floats) -> tuple[Floats, Floats]:
    """∇Σ n φ (b, c, J) and −n φ'' (b, c)."""
    got = (x * values.rates).sum(axis=2)
    total = values.elapsed * got + values.left
    slope = counts * values.left / (got * total)
    bend = counts * (1 / got**2 - (values.elapsed / total) ** 2)
    return slope[:, :, None] * values.rates, bend


def _certified(values: Values, counts: Floats, point: Point) -> AuctionShares:
    heavy = counts * values.workers
    used = np.einsum("bc,bcj->bj", heavy, point.x)
    x = point.x * np.minimum(1.0, values.gpus / np.maximum(used, 1e-300))[:, None, :]  # rounding only
    x /= np.maximum(1.0, x.sum(axis=2, keepdims=True))
    slope, _ = _gradient(values, counts, x)
    paid = heavy[:, :, None] * point.p[:, None, :]
    best = np.maximum(0.0, (slope - paid).max(axis=2)).sum(axis=1) + point.p @ values.gpus
    reached = (counts * values.value(x)).sum(axis=1)
    return AuctionShares(x, reached, reached + best - (slope * x).sum(axis=(1, 2)))


def _follow(
    values: Values, counts: Floats, point: Point, tolerance: float, until: float
) -> tuple[Point, AuctionShares]:
    """Newton steps to the optimum, or until the mean complementarity is at most ``until``.

    Problems that are solved take no more steps: further ones would lose what they have to rounding.
    """
    allowed = tolerance * np.maximum(1.0, counts.sum(axis=1))
    solved = _certified(values, counts, point)
    live = np.arange(len(counts))
    for _ in range(STEPS):
        mean = _complementarity(point)
        live = live[(solved.bound - solved.value > allowed)[live] & (mean > until)[live]]
        if not live.size:
            return point, solved
        some = Point(*(getattr(point, f.name)[live] for f in fields(Point)))
        moved = _step(values, counts[live], some, CENTRING * mean[live])
        now = _certified(values, counts[live], moved)
        for f in fields(Point):
            getattr(point, f.name)[live] = getattr(moved, f.name)
        for g in fields(AuctionShares):
            getattr(solved, g.name)[live] = getattr(now, g.name)
    raise SimulationError(
        f"Nash welfare: the optimum was not reached in {STEPS} steps; check that rates are positive numbers."
    )


def _complementarity(point: Point) -> Floats:
    products = [(a * b).reshape(len(a), -1) for a, b in point.pairs()]
    means: Floats = np.concatenate(products, axis=1).mean(axis=1)
    return means


def _step(values: Values, counts: Floats, at: Point, target: Floats) -> Point:
    """One Newton step towards complementarity ``target`` (b,), cut before the boundary."""
    time, room = at.time, at.room
    mu1, mu2 = target[:, None], target[:, None, None]
    heavy = counts * values.workers
    slope, bend = _gradient(values, counts, at.x)
    kinds = len(values.gpus)
    blocks = bend[..., None, None] * values.rates[:, :, None] * values.rates[:, None, :]
    blocks += (at.y / time)[..., None, None]
    blocks[..., np.arange(kinds), np.arange(kinds)] += at.z / at.x + (counts == 0)[..., None]
    inverse = np.linalg.inv(blocks)
    toward = slope + mu2 / at.x - (mu1 / time)[..., None] - heavy[..., None] * (mu1 / room)[:, None, :]
    own = np.einsum("bcjk,bck->bcj", inverse, toward)
    coupled = np.einsum("bc,bcjk->bjk", heavy**2, inverse)
    coupled[:, np.arange(kinds), np.arange(kinds)] += room / at.p
    price = np.linalg.solve(coupled, np.einsum("bc,bcj->bj", heavy, own)[..., None])[..., 0]
    dx = own - np.einsum("bcjk,bk->bcj", inverse, price) * heavy[..., None]
    dtime, droom = -dx.sum(axis=2), -price * room / at.p  # Σ n sf dx, without its rounding
    dz = mu2 / at.x - at.z - at.z / at.x * dx
    dy = mu1 / time - at.y - at.y / time * dtime
    dp = mu1 / room - at.p + price
    moved = Point(dx, dz, dtime, dy, droom, dp)
    most = np.minimum.reduce([_reach(getattr(at, f.name), getattr(moved, f.name)) for f in fields(Point)])
    return Point(*(_moved(getattr(at, f.name), getattr(moved, f.name), most) for f in fields(Point)))


def _moved(value: Floats, change: Floats, part: Floats) -> Floats:
    return value + part.reshape(-1, *[1] * (value.ndim - 1)) * change


def _reach(value: Floats, change: Floats) -> Floats:
    """(b,) the part of a change, at most 1, after which positive values are still positive."""
    flat = (change / value).reshape(len(value), -1).min(axis=1)
    part: Floats = np.minimum(1.0, BACK / np.maximum(-flat, 1e-300))
    return part


@dataclass(frozen=True, eq=False, slots=True)
class Bids:
    """(m, J) rates of jobs that can all run; (m,) sf; t and r of V = θ / (tθ + r); (J,) GPUs."""

    rates: Floats
    workers: Floats
    elapsed: Floats
    left: Floats
    gpus: Floats


@dataclass(frozen=True, eq=False, slots=True)
class PartialAllocation:
    """(m, J) shares that maximise Π V_i; (m,) the part of them that each job keeps; ln V and its bound.

    ``mean_log``: mean of ln V_i at the shares before the discount; ``mean_bound``: the bound on it.
    """

    shares: Floats
    kept: Floats
    mean_log: float
    mean_bound: float


def partial_allocation(bids: Bids) -> PartialAllocation:
    """Maximise Π V_i; job i keeps Π_{k≠i} V_k(x) / Π_{k≠i} V_k(best without i) ≤ 1 of its row.

    Equal jobs are one class, which is solved for once; their shares are equal.

    Source: Cole, Gkatzelis and Goel, EC 2013 (Mechanism design for fair division), from memory.
    """
    best = bids.rates.max(axis=1)
    scaled = bids.rates / best[:, None]
    table = np.column_stack([scaled, bids.workers, bids.elapsed, bids.left / best])
    kinds = bids.rates.shape[1]
    rows, number, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    values = Values(rows[:, :kinds], rows[:, kinds], rows[:, kinds + 1], rows[:, kinds + 2], bids.gpus)
    full, without = _with_and_without(values, counts.astype(float))
    others = full.value[0] - values.value(full.shares[0])
    kept = np.exp(np.minimum(0.0, others - without.value))
    jobs = len(number)
    return PartialAllocation(
        shares=full.shares[0][number],
        kept=kept[number],
        mean_log=float(full.value[0]) / jobs,
        mean_bound=float(full.bound[0]) / jobs,
    )
