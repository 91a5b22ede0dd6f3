"""Show the working, first half: utilisation and wait at the link and at the executors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nona.placement.model import Model, Probabilities
from nona.placement.queueing import second_moment
from nona.report.placements.tex import tex_number, tex_rate, tex_sum, tex_time


@dataclass(frozen=True, slots=True)
class Line:
    """One formula: a title, the formula and the same with numbers (LaTeX), the value (SI) and its unit.

    ``table`` holds the terms of a sum, a row each.
    """

    key: str
    title: str
    formula: str
    filled: str
    value: float
    unit: str
    table: tuple[dict[str, Any], ...] = ()


def link_lines(model: Model, x: Probabilities, names: Sequence[str]) -> tuple[list[Line], float]:
    """Utilisation and second moment of the link, and its wait (FIFO) or stretch (shared)."""
    rho_bg, moment_bg = model.background
    rows: list[dict[str, Any]] = []
    for j, q in enumerate(model.system.queries):
        pairs = list(zip(model.candidates[j], x[j], strict=True))
        load = sum(float(p @ c.messages.load_s) for c, p in pairs)
        square = sum(float(p @ c.messages.square_s2) for c, p in pairs)
        rows.append({"model": names[j], "rate 1/s": q.rate, "link s per query": load, "squares s²": square})
    rho = rho_bg + sum(r["rate 1/s"] * r["link s per query"] for r in rows)
    moment = moment_bg + sum(r["rate 1/s"] * r["squares s²"] for r in rows)
    terms = [rf"{tex_rate(r['rate 1/s'])}\cdot {tex_time(r['link s per query'])}" for r in rows]
    lines = [
        Line(
            "link_utilization",
            "Utilisation of the link",
            r"\rho_n = \rho_{bg} + \sum_j \lambda_j \sum_c x_c\, D_c / C",
            rf"\rho_n = {tex_sum([tex_number(rho_bg), *terms])} = {tex_number(rho)}",
            rho,
            "",
            tuple(rows),
        )
    ]
    if model.system.discipline != "fifo":
        stretch = rho / (1 - rho) if rho < 1 else math.inf
        filled = rf"\frac{{{tex_number(rho)}}}{{1 - {tex_number(rho)}}} = {tex_number(stretch)}"
        title = "Stretch of a transfer on a link that is shared equally"
        formula = r"w = \frac{\rho_n}{1-\rho_n}"
        return [*lines, Line("link_wait", title, formula, f"w = {filled}", stretch, "")], stretch
    wait = moment / (2 * (1 - rho)) if rho < 1 else math.inf
    squares = [rf"{tex_rate(r['rate 1/s'])}\cdot {tex_number(r['squares s²'])}\,\mathrm{{s^2}}" for r in rows]
    lines.append(
        Line(
            "link_moment",
            "Second moment of what the link serves, per second",
            r"\lambda E[S^2] = (\lambda E[S^2])_{bg} + \sum_j \lambda_j \sum_c x_c \sum_{batches} (D/C)^2",
            rf"\lambda E[S^2] = {tex_sum([tex_time(moment_bg), *squares])} = {tex_time(moment)}",
            moment,
            "s",
        )
    )
    lines.append(
        Line(
            "link_wait",
            "Mean wait of a message at the link (Pollaczek–Khinchine)",
            r"W_n = \frac{\lambda E[S^2]}{2(1-\rho_n)}",
            rf"W_n = \frac{{{tex_time(moment)}}}{{2(1 - {tex_number(rho)})}} = {tex_time(wait)}",
            wait,
            "s",
        )
    )
    return lines, wait


def server_lines(model: Model, x: Probabilities, names: Sequence[str]) -> tuple[list[Line], float]:
    """Utilisation, second moment and wait of each kind of executor, and the mean wait over them."""
    system, stream, lines, total = model.system, model.system.background_compute, [], 0.0
    parts = []
    for k, kind in enumerate(system.class_names):
        rows: list[dict[str, Any]] = [
            {
                "model": names[j],
                "rate 1/s": q.rate,
                "compute s per query": float(q.tasks.compute_s[k].sum()),
                "squared visits s²": model.chains[k][j].squares(x[j]),
            }
            for j, q in enumerate(system.queries)
        ]
        rho = stream.rate * stream.mean
        rho += sum(r["rate 1/s"] * r["compute s per query"] for r in rows) / system.executors
        moment = stream.rate * second_moment(stream)
        moment += sum(r["rate 1/s"] * r["squared visits s²"] for r in rows) / system.executors
        wait = moment / (2 * (1 - rho)) if rho < 1 else math.inf
        share = float(system.class_weights[k])
        total += share * wait
        parts.append(rf"{tex_number(share)}\cdot {tex_time(wait)}")
        lines += _executor_lines(kind, rows, (stream.rate * stream.mean, rho, moment, wait), system.executors)
    lines.append(
        Line(
            "server_wait",
            "Mean wait of a visit at an executor drawn uniformly",
            r"W_c = \sum_k \mathrm{share}_k\, W_{c,k}",
            rf"W_c = {tex_sum(parts)} = {tex_time(total)}",
            total,
            "s",
        )
    )
    return lines, total


def _executor_lines(
    kind: str, rows: list[dict[str, Any]], values: tuple[float, float, float, float], executors: int
) -> list[Line]:
    background, rho, moment, wait = values
    terms = [rf"{tex_rate(r['rate 1/s'])}\cdot {tex_time(r['compute s per query'])}" for r in rows]
    sums = rf"{tex_number(background)} + \frac{{{tex_sum(terms)}}}{{{executors}}}"
    return [
        Line(
            f"utilization:{kind}",
            f"Utilisation of an executor, {kind}",
            r"\rho_c = \rho_{bg} + \frac{1}{E}\sum_j \lambda_j \sum_v p_v",
            rf"\rho_c = {sums} = {tex_number(rho)}",
            rho,
            "",
            tuple(rows),
        ),
        Line(
            f"wait:{kind}",
            f"Mean wait at an executor, {kind} (Pollaczek–Khinchine)",
            r"W_c = \frac{(\lambda E[S^2])_{bg} + \frac{1}{E}\sum_j \lambda_j \sum_{visits} s^2}"
            r"{2(1-\rho_c)}",
            rf"W_c = \frac{{{tex_time(moment)}}}{{2(1 - {tex_number(rho)})}} = {tex_time(wait)}",
            wait,
            "s",
        ),
    ]
