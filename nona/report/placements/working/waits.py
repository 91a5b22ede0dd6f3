"""Show the working, first part: utilisation and wait at the link."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nona.placement.formula.model import Model, Probabilities
from nona.report.placements.working.tex import tex_number, tex_rate, tex_sum, tex_time


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
        title = "Stretch of a transfer on an equally shared link"
        formula = r"w = \frac{\rho_n}{1-\rho_n}"
        return [*lines, Line("link_wait", title, formula, f"w = {filled}", stretch, "")], stretch
    wait = moment / (2 * (1 - rho)) if rho < 1 else math.inf
    squares = [rf"{tex_rate(r['rate 1/s'])}\cdot {tex_number(r['squares s²'])}\,\mathrm{{s^2}}" for r in rows]
    lines.append(
        Line(
            "link_moment",
            "Second moment of the link's service times, per second",
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
