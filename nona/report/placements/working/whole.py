"""Show the working: every formula of a prediction with its numbers, each recomputed from its inputs.

The inputs (seconds at the link, squares of visits, terms of paths) are those that the prediction
was made from; each line's value is worked out here from the line's own inputs and earlier lines,
so that it can be held against the prediction. Sources: see the Guide, section *placement*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from nona.decomposition.subgraph import VIRTUAL
from nona.placement.formula.model import Model, Probabilities
from nona.placement.formula.prediction import as_model
from nona.placement.result.placement import Certificate, Placement
from nona.placement.sampled.choose import certificate_of
from nona.placement.spans.longest_paths import COMPUTE, LINK, TRANSFER, VISITS, spans
from nona.report.placements.working.links import path_lines, path_price_line
from nona.report.placements.working.servers import server_lines, visit_line
from nona.report.placements.working.tex import tex_number, tex_rate, tex_sum, tex_time
from nona.report.placements.working.waits import Line, link_lines
from nona.system import System

OVERLOADED_WAIT_S = 1e9  # in place of an endless wait, to find the path with most messages


def working(system: System, placement: Placement, names: Sequence[str]) -> dict[str, Any]:
    """All lines of a placement's prediction as plain data.

    ``{"lines": [...], "models": {name: {"lines": [...], "subgraphs": [...]}}}``; ``names`` are the
    labels of the workload's rows. A sub-graph lists its configurations in use with the terms of
    their longest path.
    """
    model, x = as_model(system, placement.queries, placement.class_shares)
    link, wait = (path_lines if model.roles else link_lines)(model, x, names)
    server, visits_s = server_lines(model, x, names)
    used = wait if math.isfinite(wait) else OVERLOADED_WAIT_S
    models, times, waits, visits = {}, [], [], []
    for j, name in enumerate(names):
        told, jct_s, link_waits, expected = _query(model, x, j, used, wait, visits_s[j])
        models[name] = told
        times.append(jct_s)
        waits.append(link_waits)
        visits.append(expected)
    if model.class_shares is not None:
        server.append(visit_line([float(w) for w in model.weights], visits, visits_s))
    overall = _overall_lines(model, names, times, waits, link, placement)
    return {"lines": [asdict(line) for line in (*link, *server, *overall)], "models": models}


def _query(
    model: Model, x: Probabilities, j: int, used: float, wait: float, visit_s: float
) -> tuple[dict[str, Any], float, float, float]:
    """Lines and sub-graphs of one class, its JCT, and its expected numbers of link waits and of visits."""
    cuts, first = float(model.cut_s[j].sum()), float(model.first_visits[j])
    subgraphs: list[dict[str, Any]] = []
    total, link_waits, expected = cuts + first * visit_s, 0.0, first
    ids = model.system.queries[j].tasks.task_ids
    for number, (c, p) in enumerate(zip(model.candidates[j], x[j], strict=True)):
        path = spans(c, used, visit_s)[1]
        rows, mean = [], 0.0
        for i in np.flatnonzero(p):
            compute, transfer, messages, visits = (
                float(path[t, i]) for t in (COMPUTE, TRANSFER, LINK, VISITS)
            )
            span = compute + transfer + (messages * wait if messages > 0 else 0.0) + visits * visit_s
            mean += float(p[i]) * span
            link_waits += float(p[i]) * messages
            expected += float(p[i]) * visits
            rows.append(
                {
                    "probability": float(p[i]),
                    "local": bool(c.local[i]),
                    "compute_s": compute,
                    "transfer_s": transfer,
                    "link_waits": messages,
                    "visits": visits,
                    "span_s": span,
                }
            )
        total += mean
        ends = model.system.queries[j].decomposition.subgraphs[number]
        subgraphs.append(
            {
                "root": None if ends.root == VIRTUAL else ids[ends.root],
                "sink": None if ends.sink == VIRTUAL else ids[ends.sink],
                "interior": len(ends.interior),
                "span_s": mean,
                "configurations": rows,
            }
        )
    spans_tex = tex_sum([tex_time(s["span_s"]) for s in subgraphs])
    line = Line(
        "jct",
        "Mean JCT of a query: cut tasks, the first visit's wait, and its sub-graphs",
        r"T = \sum_{cuts} p_v + v_1 W_c + \sum_k \sum_c x_{k,c}\, g_{k,c}",
        rf"T = {tex_time(cuts)} + {first:g}\cdot {tex_time(visit_s)} + {spans_tex} = {tex_time(total)}",
        total,
        "s",
    )
    return {"lines": [asdict(line)], "subgraphs": subgraphs}, total, link_waits, expected


def _overall_lines(
    model: Model,
    names: Sequence[str],
    times: Sequence[float],
    waits: Sequence[float],
    link: Sequence[Line],
    placement: Placement,
) -> list[Line]:
    weights = [float(w) for w in model.weights]
    counted = [(w, t) for w, t in zip(weights, times, strict=True) if w > 0]
    objective = sum(w * t for w, t in counted)
    terms = [rf"{tex_number(w)}\cdot {tex_time(t)}" for w, t in counted]
    lines = [
        Line(
            "objective",
            "Mean JCT over the mix, by formula, of this placement",
            r"F = \sum_j w_j T_j,\quad w_j = \lambda_j / \Lambda",
            rf"F = {tex_sum(terms)} = {tex_time(objective)}",
            objective,
            "s",
            tuple(
                {"model": n, "weight": w, "JCT s": t} for n, w, t in zip(names, weights, times, strict=True)
            ),
        ),
        _price_line(model, weights, waits, link),
    ]
    return lines + _gap_line(certificate_of(placement))


def _gap_line(found: Certificate) -> list[Line]:
    """The certified gap of the formula's optimum F*, which may differ from a placement judged by samples."""
    best, bound = found.objective_s, found.lower_bound_s
    if not math.isfinite(bound):
        return []
    top = rf"{tex_time(best)} - {tex_time(bound)}"
    return [
        Line(
            "gap",
            "Certified gap of the formula's optimum, at its server wait",
            r"\mathrm{gap} = \frac{F^* - F_{bound}}{F^*}",
            rf"\mathrm{{gap}} = \frac{{{top}}}{{{tex_time(best)}}} = {tex_number(found.gap)}",
            found.gap,
            "",
        )
    ]


def _price_line(
    model: Model, weights: Sequence[float], waits: Sequence[float], lines: Sequence[Line]
) -> Line:
    """What one more byte on the link costs all queries together, seconds per byte."""
    messages = sum(w * n for w, n in zip(weights, waits, strict=True))
    if model.roles:
        return path_price_line(model, messages, lines)
    link = {line.key: line.value for line in lines}
    rho, wait, rate = link["link_utilization"], link["link_wait"], model.system.total_rate
    fifo = model.system.discipline == "fifo"
    slope = math.inf
    if rho < 1 and fifo:
        slope = wait / (1 - rho) + (link["link_moment"] / rho / (2 * (1 - rho)) if rho > 0 else 0.0)
    elif rho < 1:
        slope = 1 / (1 - rho) ** 2
    price = rate * messages * slope / model.system.capacity if messages > 0 and rate > 0 else 0.0
    capacity = rf"{tex_number(model.system.capacity)}\,\mathrm{{B/s}}"
    steep = tex_time(slope) if fifo else tex_number(slope)
    return Line(
        "price",
        "Price of congestion: what one more byte costs all queries together",
        r"\mathrm{price} = \Lambda\, A_n\, \frac{1}{C}\, \frac{dW_n}{d\rho_n},\quad "
        + (
            r"\frac{dW_n}{d\rho_n} = \frac{W_n}{\rho_n (1-\rho_n)}"
            if fifo
            else r"\frac{dw}{d\rho_n} = \frac{1}{(1-\rho_n)^2}"
        ),
        rf"\mathrm{{price}} = \frac{{{tex_rate(rate)}\cdot {tex_number(messages)}\cdot {steep}}}"
        rf"{{{capacity}}} = {tex_number(price)}\,\mathrm{{s/B}}",
        price,
        "s/B",
    )
