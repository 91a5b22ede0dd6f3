"""One answer of many optima: the analytic centre, by an interior-point method.

The centre is unique, does not depend on the order of jobs, and gives equal jobs equal shares; a vertex
prefers some of them. It is the limit, for t → ∞, of the maximiser of t·objective + Σ log slack over lines,
capacities, row sums and shares. Newton's method follows the maximisers with slack · multiplier = μ = 1/t
down to ``LAST_MU`` in units of the objective, or ends earlier where rounding allows no more. A step costs
O(m J²): a block per job, bordered by J capacities and the level λ (S. J. Wright, Primal-Dual Interior-Point
Methods, 1997, chapters 1 and 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nona.allocation.program import Optimum, Prices, Program, certified, solve_highs
from nona.core.arrays import Bools, Floats, Ints


class NewtonBlocks(NamedTuple):
    """Blocks of k jobs for a Newton step; ``line`` and its multiplier are eliminated after x.

    With G = (diag(1/width) + flat·1 1ᵀ)⁻¹ per job:

    ``along`` (k, J) is G·line, ``stiff`` (k,) is slack/multiplier + lineᵀ G line, and ``inverse`` (k, J, J)
    is G − along alongᵀ / stiff; where a job has no line, it is G.
    """

    along: Floats
    stiff: Floats
    inverse: Floats


def blocks(width: Floats, flat: Floats, line: Floats, slack: Floats, steep: Floats) -> NewtonBlocks:
    """Return the blocks: (k, J) ``width``, ``line``; (k,) ``flat``, ``slack`` = 1/``steep`` (0: no line).

    Near an optimum ``width`` of shares inside and ``flat``, ``steep`` of active constraints grow without
    bound, and differences of such numbers would cancel. Lagrange's identity gives them as sums of squares of
    differences of ``line``: (Σ w a²)(Σ w) − (Σ w a)² = Σ_{j<k} w_j w_k (a_j − a_k)².

    >>> w, a, one = np.array([[1.0, 0.5]]), np.array([[3.0, 1.0]]), np.array([4.0])
    >>> found = blocks(w, one, a, np.array([0.5]), np.array([2.0]))
    >>> whole = np.diag(1 / w[0]) + 4 + 2 * np.outer(a, a)
    >>> bool(np.allclose(found.inverse[0] @ whole, np.eye(2)))
    True
    """
    apart = line[:, :, None] - line[:, None, :]
    both = width[:, :, None] * width[:, None, :]
    size = 1.0 + flat * width.sum(1)
    along = width * (line + flat[:, None] * np.matmul(apart, width[:, :, None])[:, :, 0]) / size[:, None]
    inner = (width * line * line).sum(1) + 0.5 * flat * (both * apart * apart).sum((1, 2))
    return NewtonBlocks(along, slack + inner / size, _inverse(width, flat, line, steep))


def _inverse(width: Floats, flat: Floats, line: Floats, steep: Floats) -> Floats:
    """(diag(1/width) + flat·1 1ᵀ + steep·line lineᵀ)⁻¹ by Woodbury with f, g = the scaled line and ones.

    I + f fᵀ + g gᵀ has determinant 1 + |f|² + |g|² + |f ∧ g|². Its adjugate is the determinant less
    f fᵀ + g gᵀ + (f ∧ g)(f ∧ g)ᵀ, whose diagonal is the determinant without one coordinate: sums of squares.
    """
    root = np.sqrt(width)
    f = root * line * np.sqrt(steep)[:, None]
    g = root * np.sqrt(flat)[:, None]
    area = f[:, :, None] * g[:, None, :] - f[:, None, :] * g[:, :, None]
    ff, gg = f * f, g * g
    squares = area * area
    whole = 1.0 + ff.sum(1) + gg.sum(1) + 0.5 * squares.sum((1, 2))
    outer = f[:, :, None] * f[:, None, :] + g[:, :, None] * g[:, None, :]
    cofactor = -outer - np.matmul(area, np.swapaxes(area, 1, 2))
    kinds = np.arange(width.shape[1])
    others = 1.0 - np.eye(len(kinds))
    pairs = 0.5 * (others[:, :, None] * others[:, None, :]).reshape(len(kinds), -1).T
    cofactor[:, kinds, kinds] = 1.0 + (ff + gg) @ others + squares.reshape(len(width), -1) @ pairs
    inverse: Floats = cofactor * (root[:, :, None] * root[:, None, :] / whole[:, None, None])
    return inverse


def spread(width: Floats, flat: Floats, right: Floats) -> Floats:
    """(k, J) G·right, with G as in :class:`NewtonBlocks`."""
    size = 1.0 + flat * width.sum(1)
    apart = right[:, :, None] - right[:, None, :]
    unscaled: Floats = width * (right + flat[:, None] * np.matmul(apart, width[:, :, None])[:, :, 0])
    whole: Floats = unscaled / size[:, None]
    return whole


@dataclass(frozen=True, eq=False, slots=True)
class FaceProgram:
    """Maximise Σ gain·x + goal·λ subject to line_i·x_i − rise_i λ ≥ floor_i where ``on``, and x in F.

    ``jobs``: (k,) numbers of the jobs that can run.
    ``free``: (k, J) whether x_ij is a variable; elsewhere it is 0.
    ``workers``, ``gpus``: (k,) sf_i; (J,) N_j.
    ``line``, ``gain``: (k, J) T_ij over the job's largest rate; gain, over ``unit``.
    ``rise``, ``floor``, ``on``: (k,) steps and floors in the same scale; ``rise`` also over the scale of λ.
    ``goal``: 1 where there is λ, else 0.
    ``scale``, ``unit``: (k,) largest rate; what 1 of the scaled objective is worth.
    """

    jobs: Ints
    free: Bools
    workers: Floats
    gpus: Floats
    line: Floats
    gain: Floats
    rise: Floats
    floor: Floats
    on: Bools
    goal: float
    scale: Floats
    unit: float

    def start(self) -> Floats:
        """(k, J) equal shares well inside F."""
        even = np.minimum(0.5 * self.gpus / self.workers.sum(), 0.5 / len(self.gpus))
        return np.where(self.free, even, 0.0)

    @property
    def constraints(self) -> int:
        """The number of slacks."""
        return int(self.free.sum()) + int(self.on.sum()) + len(self.jobs) + len(self.gpus)

    def prices(self, program: Program, line: Floats, gpus: Floats, time: Floats) -> Prices:
        """Multipliers of the scaled program as prices of ``program``."""
        m = program.space.jobs
        throughput, times = np.zeros(m), np.zeros(m)
        throughput[self.jobs] = np.where(self.on, line, 0.0) * self.unit / self.scale
        times[self.jobs] = time * self.unit
        return Prices(throughput, gpus * self.unit, times)


def _form_of(program: Program) -> FaceProgram:
    """Return the scaled tables of a program whose rows are all single jobs, of which one at least can run."""
    space = program.space
    shape = (space.jobs, len(space.gpus))
    rate, gain, workers = np.zeros(shape), np.zeros(shape), np.ones(space.jobs)
    rate[space.row, space.column], gain[space.row, space.column] = space.rate, program.gains
    workers[space.row] = space.workers
    jobs = np.flatnonzero(rate.any(axis=1))
    rate, gain, workers = rate[jobs], gain[jobs], workers[jobs]
    scale = rate.max(axis=1)
    line, rise, floor = rate / scale[:, None], program.steps[jobs] / scale, program.floors[jobs] / scale
    free, goal = rate > 0, float(program.levelled)
    even = np.where(free, np.minimum(space.gpus / workers.sum(), 1.0 / shape[1]), 0.0)
    unit = abs(float((gain * even).sum()))
    if goal:
        steps = rise > 0
        unit += float(((line * even).sum(1)[steps] / rise[steps]).min())
    unit = unit or 1.0
    return FaceProgram(
        jobs, free, workers, space.gpus, line, gain / unit, rise * unit, floor,
        (rise > 0) | (floor > 0), goal, scale, unit,
    )  # fmt: skip


LAST_MU = 1e-11
SHRINK = 0.1  # of μ in a step
STEPS = 60
CENTRING = 3  # steps at the last μ
NEAR, SLOW = 1e-8, 0.8  # below this μ a step that leaves more of it is the last
KEPT = 0.99  # of the way to the nearest constraint


@dataclass(frozen=True, eq=False, slots=True)
class _Point:
    """x and λ; slacks of lines, time and capacities; multipliers of x (y), lines, time, capacities."""

    x: Floats
    level: float
    line: Floats
    time: Floats
    gpus: Floats
    y: Floats
    on_line: Floats
    on_time: Floats
    on_gpus: Floats


def centre(program: Program, last_mu: float = LAST_MU) -> Optimum:
    """Return the centre of the optimal face of a program without pairs; its bound says how good it is.

    Where floors cannot be kept, or only just, the point is bad, and its bound says so (or is NaN).
    """
    form = _form_of(program)
    with np.errstate(all="ignore"):  # where there is no centre, numbers overflow before the last step
        point = _last(form, last_mu)
    space = program.space
    table = np.zeros((space.jobs, len(space.gpus)))
    table[form.jobs] = point.x
    x = table[space.row, space.column]
    bound, prices = certified(program, form.prices(program, point.on_line, point.on_gpus, point.on_time))
    return Optimum(x, program.value(x), bound, prices)


def _last(form: FaceProgram, last_mu: float) -> _Point:
    point = _first(form)
    left, mu = CENTRING, _mean(form, point)
    for _ in range(STEPS):
        left -= mu <= 2 * last_mu
        if not left:
            break
        try:
            moved = _moved(form, point, max(SHRINK * mu, last_mu))
        except np.linalg.LinAlgError:
            break
        moved_mu = _mean(form, moved)
        if not np.isfinite(moved_mu) or (mu <= NEAR and moved_mu > SLOW * mu > 2 * last_mu):
            break  # rounding errors have the upper hand
        point, mu = moved, moved_mu
    return point


def _first(b: FaceProgram) -> _Point:
    """Return equal shares, a level below their throughput, and multipliers within the dual's constraints."""
    x = b.start()
    value = (b.line * x).sum(1)
    rising = b.rise > 0
    level = 0.5 * float(((value - b.floor)[rising] / b.rise[rising]).min()) if b.goal else 0.0
    slack = np.where(b.on, np.maximum(value - b.rise * level - b.floor, 0.1 * value), 1.0)
    time, gpus = 1.0 - x.sum(1), b.gpus - b.workers @ x
    on_line = np.where(b.on, 1.0 / len(value), 0.0)
    if b.goal:
        on_line = np.where(rising, 1.0 / (rising.sum() * np.where(rising, b.rise, 1.0)), on_line)
    most = np.maximum(b.gain + on_line[:, None] * b.line, 0.0).max(1)
    on_gpus = np.full(len(b.gpus), (most.sum() + 1e-3) / b.gpus.sum())
    on_time = 1.5 * most + 0.1 * most.mean() + 1e-6
    y = on_time[:, None] + b.workers[:, None] * on_gpus - b.gain - on_line[:, None] * b.line
    return _Point(x, level, slack, time, gpus, np.where(b.free, y, 0.0), on_line, on_time, on_gpus)


def _mean(b: FaceProgram, s: _Point) -> float:
    total = np.vdot(s.x, s.y) + s.line @ s.on_line + s.time @ s.on_time + s.gpus @ s.on_gpus
    return float(total) / b.constraints


def _moved(b: FaceProgram, s: _Point, mu: float) -> _Point:
    """One Newton step towards slack · multiplier = μ, as long as all stays positive."""
    xs = np.where(b.free, s.x, 1.0)
    ys, us = np.where(b.free, s.y, 1.0), np.where(b.on, s.on_line, 1.0)
    short = np.where(b.on, (b.line * s.x).sum(1) - b.rise * s.level - b.floor - s.line, 0.0)
    dx, rise, du, dp = _direction(b, s, mu, short)
    dline = np.where(b.on, (b.line * dx).sum(1) - b.rise * rise + short, 0.0)
    dtime, dgpus = -dx.sum(1), -(b.workers @ dx)
    dy = np.where(b.free, (mu - s.y * dx) / xs - s.y, 0.0)
    dq = (mu - s.on_time * dtime) / s.time - s.on_time
    a = _longest((xs, dx), (s.line, dline), (s.time, dtime), (s.gpus, dgpus))
    d = _longest((ys, dy), (us, du), (s.on_time, dq), (s.on_gpus, dp))
    return _Point(
        s.x + a * dx,
        s.level + a * rise,
        s.line + a * dline,
        s.time + a * dtime,
        s.gpus + a * dgpus,
        s.y + d * dy,
        s.on_line + d * du,
        s.on_time + d * dq,
        s.on_gpus + d * dp,
    )


def _longest(*parts: tuple[Floats, Floats]) -> float:
    """Return the longest step ≤ 1 that leaves all parts above 1 % of their present size."""
    fall = max(float((-change / value).max()) for value, change in parts)
    return 1.0 if fall <= KEPT else KEPT / fall


def _direction(b: FaceProgram, s: _Point, mu: float, short: Floats) -> tuple[Floats, float, Floats, Floats]:
    """Newton's steps of x, λ, and the multipliers of lines and capacities."""
    types, xs = len(b.gpus), np.where(b.free, s.x, 1.0)
    us, flat = np.where(b.on, s.on_line, 1.0), s.on_time / s.time
    width = np.where(b.free, xs / np.where(b.free, s.y, 1.0), 0.0)
    block = blocks(width, flat, b.line, s.line / us, np.where(b.on, us / s.line, 0.0))
    reach = np.where(b.on, 1.0 / block.stiff, 0.0)
    right = b.gain + s.on_line[:, None] * b.line - b.workers[:, None] * s.on_gpus
    right += mu / xs - (mu / s.time)[:, None]
    pull = np.where(b.on, mu / us - s.line - short, 0.0)
    sf = b.workers
    moved = np.matmul(block.inverse, right[:, :, None])[:, :, 0] + block.along * (reach * pull)[:, None]
    schur, rest = np.zeros((types + 1, types + 1)), np.zeros(types + 1)
    schur[:types, :types] = np.tensordot(sf * sf, block.inverse, 1) + np.diag(s.gpus / s.on_gpus)
    schur[types, :types] = (sf * reach * b.rise) @ block.along
    schur[:types, types] = -schur[types, :types]
    schur[types, types] = (b.rise * b.rise) @ reach if b.goal else 1.0
    rest[:types] = mu / s.on_gpus - s.gpus + sf @ moved
    rest[types] = b.goal - b.rise @ s.on_line
    rest[types] -= (b.rise * reach) @ (pull - (block.along * right).sum(1))
    outer = np.linalg.solve(schur, rest)
    dp, rise = outer[:types], float(outer[types]) if b.goal else 0.0
    left = right - sf[:, None] * dp
    du: Floats = reach * (b.rise * rise + pull - (block.along * left).sum(1))
    dx: Floats = spread(width, flat, left + du[:, None] * b.line)
    return dx, rise, du, np.asarray(dp, np.float64)


GOOD = 1e-6
ROUGH = 1e5  # how many μ a rough answer may be off


def solve(program: Program, last_mu: float = LAST_MU) -> Optimum:
    """Return the optimum of a program, the same one whenever it is asked.

    Without pairs it is the analytic centre of the optimal face. With pairs, and where the centre's bound is
    off by more than ``GOOD`` in relation to the objective (floors that leave no room), it is HiGHS's vertex.
    A larger ``last_mu`` gives a rough answer, quicker; its bound is valid all the same.
    """
    if not program.space.paired:
        optimum = centre(program, last_mu)
        off = optimum.bound - optimum.objective
        if off <= max(GOOD, ROUGH * last_mu) * max(1e-12, abs(optimum.bound)) and _keeps_floors(
            program, optimum.x
        ):
            return optimum
    return solve_highs(program)


def _keeps_floors(program: Program, x: Floats) -> bool:
    """Return whether every job has the least throughput that it needs, to ``GOOD``."""
    return bool((program.space.throughputs(x) >= program.floors * (1 - GOOD)).all())
