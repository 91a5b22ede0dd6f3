"""The server wait that a placement itself brings about: descent with certified steps.

With the server wait linearised, a move is charged A·ΔW_c; its true effect has the term ΔA·ΔW_c as
well (A: expected visits), which is negative for going local or away. So a point that the priced
problem cannot improve may still be improved by a single sub-graph.

The certified solver holds the server wait W_c constant. W_c depends on the placement, though: long
local runs enlarge it for everyone. So each step linearises W_c at the present point x̂: paths are
evaluated at W_c(x̂), and every candidate is charged the price A_c·∂W_c/∂x (A_c: expected visits),
what its runs cost to all others by lengthening their wait. At x̂ the priced problem has the value
of the objective itself. Its global minimum, certified by the solver, is the next point; W_c is
multilinear, so when many sub-graphs move at once the step can be too long, and then only half,
a quarter, … of them move, those that gain most first. The end is a placement that the priced
problem cannot improve: objective and bound refer to constant W_c and prices there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import scipy

from nona.core.arrays import Floats
from nona.queries.placement.model import PlacementModel, gradient, link_price, objective_s, value_at
from nona.queries.placement.solver.parametric import solve_parametric
from nona.queries.placement.solver.problem import PlacementProgram, ProgramGroup, build_problem, groups_of
from nona.queries.placement.solver.solution import CertifiedPoint, Solution, Table, price, probabilities
from nona.queries.placement.spans import LINK, VISITS, spans

_TRIED = 12


def _best_single_move(model: PlacementModel, x: Table, limit: float) -> Table | None:
    """Return the best of the most promising moves of one sub-graph; None if no objective is below ``limit``.

    Every configuration is scored by the gradient plus ΔA·ΔW_c; the twelve best moves, one for each
    sub-graph and kind of configuration (local or not), are evaluated exactly.
    """
    promising = sorted(_scored(model, x), key=lambda m: m[0])[:_TRIED]
    best, value = None, limit
    for _, j, k, c in promising:
        moved = [list(row) for row in x]
        moved[j][k] = np.eye(1, len(x[j][k]), c)[0]
        moved_value = objective_s(model, value_at(model, moved))
        if moved_value < value:
            best, value = moved, moved_value
    return best


def _scored(model: PlacementModel, x: Table) -> list[tuple[float, int, int, int]]:
    """(score in seconds, class, sub-graph, configuration): the best local and the best other one."""
    value = value_at(model, x, every=True)
    weighted = model.weights @ value.terms
    wait_price = link_price(model, value)
    slopes = model.servers.gradient(x, model.weights * value.terms[:, VISITS])
    moves = []
    for j, row in enumerate(model.candidates):
        rate = model.system.queries[j].rate * weighted[LINK]
        for k, c in enumerate(row):
            if len(c) == 1 or model.weights[j] == 0:
                continue
            span, path = value.spans[j][k]
            traffic = rate * wait_price.wait_seconds(c.messages)
            visits = model.weights[j] * (path[VISITS] - path[VISITS] @ x[j][k])
            wait = slopes[j][k] - slopes[j][k] @ x[j][k]
            direct = model.weights[j] * span + traffic
            score = direct - direct @ x[j][k] + (1.0 + visits / weighted[VISITS]) * wait
            for kind in (c.local, ~c.local):
                at = int(np.argmin(np.where(kind, score, np.inf)))
                if x[j][k][at] < 1:
                    moves.append((float(score[at]), j, k, at))
    return moves


Inner = Callable[[PlacementProgram, Floats | None], CertifiedPoint]
_ROUGH_GAP = 2e-3
TOLERANCE = 1e-6
_ROUGH = 1e-3
_ROUNDS = 60
_FULL = 0.98


def descend_from_starts(model: PlacementModel, gap: float) -> Solution:
    """Descend from several starts to a rough gap, and from the best end to ``gap``.

    The starts are the local placement, the best one (without prices) at the server wait of
    background work alone, and the quickest one without local sub-graphs. It is a heuristic: the end
    is a local optimum.
    """

    def rough(problem: PlacementProgram, start: Floats | None) -> CertifiedPoint:
        return solve_parametric(problem, gap=max(gap, _ROUGH_GAP), start=start)

    def inner(problem: PlacementProgram, start: Floats | None) -> CertifiedPoint:
        return solve_parametric(problem, gap=gap, start=start)

    local = [[c.local.astype(float) for c in row] for row in model.candidates]
    silent = [[np.zeros(len(c)) for c in row] for row in model.candidates]
    groups = groups_of(model)
    eager_problem = build_problem(model, groups, model.server_wait_s(silent))
    eager = probabilities(model, groups, eager_problem, rough(eager_problem, None).x)
    others = (local, eager, _away(model, model.server_wait_s(silent)))
    best = min((descend(model, rough, x, _ROUGH) for x in others), key=lambda s: s.value_s)
    end = descend(model, inner, best.x)
    return replace(end, x=_without_arrivals(model, end.x))


def _away(model: PlacementModel, server_wait_s: Floats) -> Table:
    """Every sub-graph in its quickest configuration that is not local, while the link takes it."""
    quickest: dict[tuple[int, int], Floats] = {}
    for j, row in enumerate(model.candidates):
        for c in row:
            if (j, id(c)) not in quickest:
                span = np.where(c.local & ~c.local.all(), np.inf, spans(c, 0.0, float(server_wait_s[j]))[0])
                quickest[j, id(c)] = np.eye(1, len(c), int(np.argmin(span)))[0]
    load, x = 0.0 if model.roles else model.background[0], []
    whole = model.curve.full_load if model.roles else 1.0
    for j, row in enumerate(model.candidates):
        chosen = []
        for c in row:
            more = model.system.queries[j].rate * float(quickest[j, id(c)] @ c.messages.load_s) / whole
            fits = load + more < _FULL
            load += more if fits else 0.0
            chosen.append(quickest[j, id(c)] if fits else c.local.astype(float))
        x.append(chosen)
    return x


def _without_arrivals(model: PlacementModel, x: Table) -> Table:
    """Give classes without weight in the objective the quickest configurations at the others' waits."""
    value = value_at(model, x, every=True)
    return [
        row
        if model.weights[j] > 0
        else [
            np.eye(1, len(c), int(np.argmin(s)))[0]
            for c, (s, _) in zip(model.candidates[j], value.spans[j], strict=True)
        ]
        for j, row in enumerate(x)
    ]


def descend(model: PlacementModel, inner: Inner, x: Table, tolerance: float = TOLERANCE) -> Solution:
    """Repeat priced steps until none lowers the objective by ``tolerance``, relative."""
    for rounds in range(_ROUNDS + 1):
        value = value_at(model, x)
        here = objective_s(model, value)
        priced = price(model, x, value)
        problem = priced.problem(model)
        solved = inner(problem, _columns_of(priced.groups, problem, x))
        if rounds == _ROUNDS:
            break
        limit, step = here * (1.0 - 0.1 * tolerance), None
        if solved.value_s < here * (1.0 - tolerance):
            step = _step(model, x, probabilities(model, priced.groups, problem, solved.x), limit)
        if step is None:
            step = _best_single_move(model, x, limit)
        if step is None:
            break
        x = step
    return Solution(x, here, priced, solved)


def _step(model: PlacementModel, x: Table, wanted: Table, limit: float) -> Table | None:
    """Move the sub-graphs that gain most towards ``wanted``: all, half, … one.

    None if no such point has an objective below ``limit``. Where the link is overloaded, so that
    nothing has a finite slope, those gain most that take most off it.
    """
    if math.isfinite(limit):
        slope = gradient(model, value_at(model, x, every=True), x, server_wait_fixed=False)
    else:
        slope = [[c.messages.load_s for c in row] for row in model.candidates]
    gains = [
        (float(slope[j][k] @ (x[j][k] - wanted[j][k])), j, k)
        for j, row in enumerate(x)
        for k in range(len(row))
        if not np.array_equal(x[j][k], wanted[j][k])
    ]
    gains.sort(key=lambda g: (-g[0], g[1:]))
    best, value = None, limit
    count = len(gains)
    while count >= 1:
        moved = [list(row) for row in x]
        for _, j, k in gains[:count]:
            moved[j][k] = wanted[j][k]
        moved_value = objective_s(model, value_at(model, moved))
        if moved_value < value:
            best, value = moved, moved_value
        elif best is not None:
            break
        count //= 2
    return best if best is not None or not math.isfinite(limit) else _part_of_the_way(model, x, wanted, limit)


def _part_of_the_way(model: PlacementModel, x: Table, wanted: Table, limit: float) -> Table | None:
    """Return x + t·(wanted − x) at the best t of (0, 1), to three digits.

    None if that is not below ``limit``.

    Visits and their wait both follow the placement, so their product bends: where a whole step is too
    long, sub-graphs mix.
    """

    def table_at(t: float) -> Table:
        return [[p + t * (q - p) for p, q in zip(a, b, strict=True)] for a, b in zip(x, wanted, strict=True)]

    def value(t: float) -> float:
        objective = objective_s(model, value_at(model, table_at(t)))
        return objective if math.isfinite(objective) else 2.0 * limit

    t = float(
        scipy.optimize.minimize_scalar(value, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4}).x
    )
    return table_at(t) if value(t) < limit else None


def _columns_of(
    groups: Sequence[ProgramGroup], problem: PlacementProgram, x: Sequence[Sequence[Floats]]
) -> Floats:
    """Return the point of a problem that stands for ``x``; what has no column becomes local."""
    point = np.zeros(len(problem.a0))
    for g, group in enumerate(groups):
        low, high = int(problem.start[g]), int(problem.start[g + 1])
        mean = np.mean([x[group.query][k] for k in group.members], axis=0)
        point[low:high] = mean[problem.column[low:high]]
        point[low] += 1.0 - point[low:high].sum()
    return point
