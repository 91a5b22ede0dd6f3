"""Formulas of a prediction, each with its numbers, recomputed.

The inputs (seconds at the link, squares of visits, terms of paths) are those that the prediction
was made from; each line's value is worked out here from the line's own inputs and earlier lines,
so that it can be held against the prediction. Sources: see the Guide, section *placement*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Floats
from nona.models.decomposition import VIRTUAL
from nona.queries.placement.messages import ShapeCandidates
from nona.queries.placement.model import PlacementModel, Probabilities
from nona.queries.placement.prediction import as_model
from nona.queries.placement.result import Placement
from nona.queries.placement.results import (
    CertifiedOptimum,
    Working,
    WorkingConfiguration,
    WorkingLine,
    WorkingModel,
    WorkingSubgraph,
)
from nona.queries.placement.spans import COMPUTE, LINK, TRANSFER, VISITS, spans
from nona.queries.report.placement.waits_shown import (
    formula_line,
    link_lines,
    path_lines,
    server_lines,
    tex_number,
    tex_sum,
    tex_time,
    visit_line,
)
from nona.queries.system import System

OVERLOADED_WAIT_S = 1e9  # in place of an endless wait, to find the path with most messages


@dataclass(frozen=True, slots=True)
class _Waits:
    """Waits that a class meets: at the link for paths and as it is, at a server."""

    path_link: float
    link: float
    visit_s: float


@dataclass(frozen=True, slots=True)
class _Class:
    formulas: WorkingModel
    jct_s: float
    link_waits: float
    visits: float


def working(system: System, placement: Placement, names: Sequence[str]) -> Working:
    """All lines of a placement's prediction; ``names`` are the labels of the workload's rows.

    A sub-graph lists its configurations in use with the terms of their longest path. There are no lines
    where executors batch, whose waits the formula does not know.
    """
    if system.beyond_formula:
        return Working(lines=(), models={})
    model, x = as_model(system, placement.queries, placement.class_shares)
    link = path_lines(model, x, names) if model.roles else link_lines(model, x, names)
    server, visits_s = server_lines(model, x, names)
    used = link.wait if math.isfinite(link.wait) else OVERLOADED_WAIT_S
    classes = [_class_formulas(model, x, j, _Waits(used, link.wait, visits_s[j])) for j in range(len(names))]
    if model.class_shares is not None:
        server.append(visit_line([float(w) for w in model.weights], [c.visits for c in classes], visits_s))
    overall = [
        _objective_line(model, names, classes),
        *([] if placement.formula is None else [_gap_line(placement.formula)]),
    ]
    return Working(
        lines=(*link.lines, *server, *overall),
        models={name: c.formulas for name, c in zip(names, classes, strict=True)},
    )


def _class_formulas(model: PlacementModel, x: Probabilities, j: int, waits: _Waits) -> _Class:
    """Return the formulas of a query class with their numbers, its mean JCT, link waits and visits."""
    cuts, first = float(model.cut_s[j].sum()), float(model.first_visits[j])
    total, link_waits, visits = cuts + first * waits.visit_s, 0.0, first
    subgraphs: list[WorkingSubgraph] = []
    means = []
    for number, (candidates, p) in enumerate(zip(model.candidates[j], x[j], strict=True)):
        rows = _configurations(candidates, p, waits)
        mean = 0.0
        for row, span_s in rows:
            mean += row.probability * span_s
            link_waits += row.probability * row.link_waits
            visits += row.probability * row.visits
        total += mean
        means.append(mean)
        subgraphs.append(_subgraph(model, j, number, mean, [row for row, _ in rows]))
    spans_tex = tex_sum([tex_time(mean) for mean in means])
    jct = formula_line(
        "jct",
        "Mean JCT of a query: cut tasks, the first visit's wait, and its sub-graphs",
        r"T = \sum_{cuts} p_v + v_1 W_c + \sum_k \sum_c x_{k,c}\, g_{k,c}",
        rf"{tex_time(cuts)} + {first:g}\cdot {tex_time(waits.visit_s)} + {spans_tex}",
        total,
        "s",
    )
    return _Class(WorkingModel(lines=(jct,), subgraphs=tuple(subgraphs)), total, link_waits, visits)


def _configurations(
    candidates: ShapeCandidates, p: Floats, waits: _Waits
) -> list[tuple[WorkingConfiguration, float]]:
    """Return the used configurations of a sub-graph with times, ``inf`` if the link is overloaded."""
    path = spans(candidates, waits.path_link, waits.visit_s)[1]
    rows = []
    for i in np.flatnonzero(p):
        compute, transfer, messages, visits = (float(path[t, i]) for t in (COMPUTE, TRANSFER, LINK, VISITS))
        at_link = messages * waits.link if messages > 0 else 0.0
        span_s = compute + transfer + at_link + visits * waits.visit_s
        row = WorkingConfiguration(
            probability=float(p[i]),
            local=bool(candidates.local[i]),
            compute_s=compute,
            transfer_s=transfer,
            link_waits=messages,
            visits=visits,
            span_s=span_s,
        )
        rows.append((row, span_s))
    return rows


def _subgraph(
    model: PlacementModel, j: int, number: int, span_s: float, rows: Sequence[WorkingConfiguration]
) -> WorkingSubgraph:
    query = model.system.queries[j]
    ends, ids = query.decomposition.subgraphs[number], query.tasks.task_ids
    return WorkingSubgraph(
        root=None if ends.root == VIRTUAL else ids[ends.root],
        sink=None if ends.sink == VIRTUAL else ids[ends.sink],
        interior=len(ends.interior),
        span_s=span_s,
        configurations=tuple(rows),
    )


def _objective_line(model: PlacementModel, names: Sequence[str], classes: Sequence[_Class]) -> WorkingLine:
    weighted = [(float(w), c.jct_s) for w, c in zip(model.weights, classes, strict=True)]
    counted = [(w, t) for w, t in weighted if w > 0]
    objective = sum(w * t for w, t in counted)
    terms = [rf"{tex_number(w)}\cdot {tex_time(t)}" for w, t in counted]
    return formula_line(
        "objective",
        "Mean JCT over the mix, by formula, of this placement",
        r"F = \sum_j w_j T_j,\quad w_j = \lambda_j / \Lambda",
        tex_sum(terms),
        objective,
        "s",
        ({"model": n, "weight": w, "JCT s": t} for n, (w, t) in zip(names, weighted, strict=True)),
    )


def _gap_line(certificate: CertifiedOptimum) -> WorkingLine:
    """Show the certified gap of the formula's optimum F*, which may differ from the chosen placement."""
    best, bound = certificate.objective_s, certificate.lower_bound_s
    top = rf"{tex_time(best)} - {tex_time(bound)}"
    title, ratio = (
        "Certified gap of the formula's optimum, at its server wait",
        rf"\frac{{{top}}}{{{tex_time(best)}}}",
    )
    formula = r"\mathrm{gap} = \frac{F^* - F_{bound}}{F^*}"
    return formula_line("gap", title, formula, ratio, certificate.gap)
