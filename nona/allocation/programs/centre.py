"""One of many optima: the analytic centre of the optimal face, by a primal-dual interior-point method.

The centre is unique, does not depend on the order of jobs, and gives equal jobs equal shares; a vertex
prefers some of them. It is the limit, for t → ∞, of the maximiser of t·objective + Σ log slack over lines,
capacities, row sums and shares. Newton's method follows the maximisers with slack · multiplier = μ = 1/t
down to ``LAST_MU`` in units of the objective, or ends earlier where rounding allows no more. A step costs
O(m J²): a block per job, bordered by J capacities and the level λ (S. J. Wright, Primal-Dual Interior-Point
Methods, 1997, chapters 1 and 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.programs.blocks import blocks, spread
from nona.allocation.programs.form import Form, form_of
from nona.allocation.programs.polytope import Floats
from nona.allocation.programs.program import Optimum, Program, certified

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
    """The centre of the optimal face of a program without pairs; its bound says how good it is.

    Where floors cannot be kept, or only just, the point is bad, and its bound says so (or is NaN).
    """
    form = form_of(program)
    with np.errstate(all="ignore"):  # where there is no centre, numbers overflow before the last step
        point = _last(form, last_mu)
    space = program.space
    table = np.zeros((space.jobs, len(space.gpus)))
    table[form.jobs] = point.x
    x = table[space.row, space.column]
    bound, prices = certified(program, form.prices(program, point.on_line, point.on_gpus, point.on_time))
    return Optimum(x, program.value(x), bound, prices)


def _last(form: Form, last_mu: float) -> _Point:
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
        found = _mean(form, moved)
        if not np.isfinite(found) or (mu <= NEAR and found > SLOW * mu > 2 * last_mu):
            break  # rounding errors have the upper hand
        point, mu = moved, found
    return point


def _first(b: Form) -> _Point:
    """Equal shares, a level below what they reach, and multipliers that keep the dual's constraints."""
    x = b.start()
    worth = (b.line * x).sum(1)
    rising = b.rise > 0
    level = 0.5 * float(((worth - b.floor)[rising] / b.rise[rising]).min()) if b.goal else 0.0
    slack = np.where(b.on, np.maximum(worth - b.rise * level - b.floor, 0.1 * worth), 1.0)
    time, gpus = 1.0 - x.sum(1), b.gpus - b.workers @ x
    on_line = np.where(b.on, 1.0 / len(worth), 0.0)
    if b.goal:
        on_line = np.where(rising, 1.0 / (rising.sum() * np.where(rising, b.rise, 1.0)), on_line)
    most = np.maximum(b.gain + on_line[:, None] * b.line, 0.0).max(1)
    on_gpus = np.full(len(b.gpus), (most.sum() + 1e-3) / b.gpus.sum())
    on_time = 1.5 * most + 0.1 * most.mean() + 1e-6
    y = on_time[:, None] + b.workers[:, None] * on_gpus - b.gain - on_line[:, None] * b.line
    return _Point(x, level, slack, time, gpus, np.where(b.free, y, 0.0), on_line, on_time, on_gpus)


def _mean(b: Form, s: _Point) -> float:
    total = np.vdot(s.x, s.y) + s.line @ s.on_line + s.time @ s.on_time + s.gpus @ s.on_gpus
    return float(total) / b.constraints


def _moved(b: Form, s: _Point, mu: float) -> _Point:
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
    """The longest step ≤ 1 that leaves all parts above 1 % of what they are."""
    fall = max(float((-change / value).max()) for value, change in parts)
    return 1.0 if fall <= KEPT else KEPT / fall


def _direction(b: Form, s: _Point, mu: float, short: Floats) -> tuple[Floats, float, Floats, Floats]:
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
