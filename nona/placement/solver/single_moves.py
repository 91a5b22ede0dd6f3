"""Moves of one sub-graph, judged by the objective itself where the linearised problem overcharges them.

With the server wait linearised, a move is charged A·ΔW_c; its true effect has the term ΔA·ΔW_c as
well (A: expected visits), which is negative for going local or away. So a point that the priced
problem cannot improve may still be improved by a single sub-graph.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.formula.mean_jct import link_price, objective_s, value_at
from nona.placement.formula.model import Model
from nona.placement.spans.longest_paths import LINK, VISITS

Floats = NDArray[np.float64]
Table = list[list[Floats]]
_TRIED = 12


def best_single_move(model: Model, x: Table, limit: float) -> Table | None:
    """The best of the most promising moves of one sub-graph; None if no objective is below ``limit``.

    Every configuration is scored by the gradient plus ΔA·ΔW_c; the twelve best moves, one for each
    sub-graph and kind of configuration (local or not), are evaluated exactly.
    """
    promising = sorted(_scored(model, x), key=lambda m: m[0])[:_TRIED]
    best, value = None, limit
    for _, j, k, c in promising:
        moved = [list(row) for row in x]
        moved[j][k] = np.eye(1, len(x[j][k]), c)[0]
        found = objective_s(model, value_at(model, moved))
        if found < value:
            best, value = moved, found
    return best


def _scored(model: Model, x: Table) -> list[tuple[float, int, int, int]]:
    """(score in seconds, class, sub-graph, configuration): the best local and the best other one."""
    value = value_at(model, x, every=True)
    weighted = model.weights @ value.terms
    wait_price = link_price(model, value)
    slopes = model.server_wait_gradient(x, model.weights * value.terms[:, VISITS])
    moves = []
    for j, row in enumerate(model.candidates):
        rate = model.system.queries[j].rate * weighted[LINK]
        for k, c in enumerate(row):
            if len(c) == 1 or model.weights[j] == 0:
                continue
            span, path = value.spans[j][k]
            traffic = rate * wait_price.of(c.messages)
            visits = model.weights[j] * (path[VISITS] - path[VISITS] @ x[j][k])
            wait = slopes[j][k][0] - slopes[j][k][0] @ x[j][k]
            direct = model.weights[j] * span + traffic
            score = direct - direct @ x[j][k] + (1.0 + visits / weighted[VISITS]) * wait
            for kind in (c.local, ~c.local):
                at = int(np.argmin(np.where(kind, score, np.inf)))
                if x[j][k][at] < 1:
                    moves.append((float(score[at]), j, k, at))
    return moves
