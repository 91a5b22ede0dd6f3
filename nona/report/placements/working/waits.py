"""Show the working, first part: utilisation and wait at the link."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nona.placement.formula.model import Model, Probabilities
from nona.report.placements.working.tex import tex_number, tex_rate, tex_sum, tex_time
from nona.results.placement.working import Cells, WorkingLine


@dataclass(frozen=True, slots=True)
class LinkWorking:
    """Utilisation, second moment and wait (or stretch) of one shared link, infinite if it is overloaded."""

    lines: tuple[WorkingLine, ...]
    utilization: float
    moment_s: float
    wait: float


@dataclass(frozen=True, slots=True)
class _Load:
    """What one row of the workload puts on the link: seconds and squares of one query."""

    model: str
    rate: float
    link_s: float
    square_s2: float

    @property
    def cells(self) -> Cells:
        return {
            "model": self.model,
            "rate 1/s": self.rate,
            "link s per query": self.link_s,
            "squares s²": self.square_s2,
        }


def link_lines(model: Model, x: Probabilities, names: Sequence[str]) -> LinkWorking:
    """Utilisation and second moment of the link, and its wait (FIFO) or stretch (shared)."""
    rho_bg, moment_bg = model.background
    loads = _loads(model, x, names)
    rho = rho_bg + sum(r.rate * r.link_s for r in loads)
    moment = moment_bg + sum(r.rate * r.square_s2 for r in loads)
    first = _utilization_line(loads, rho_bg, rho)
    if model.system.discipline != "fifo":
        stretch = rho / (1 - rho) if rho < 1 else math.inf
        return LinkWorking((first, _stretch_line(rho, stretch)), rho, moment, stretch)
    wait = moment / (2 * (1 - rho)) if rho < 1 else math.inf
    squares = [rf"{tex_rate(r.rate)}\cdot {tex_number(r.square_s2)}\,\mathrm{{s^2}}" for r in loads]
    second = WorkingLine(
        key="link_moment",
        title="Second moment of the link's service times, per second",
        formula=r"\lambda E[S^2] = (\lambda E[S^2])_{bg} + \sum_j \lambda_j \sum_c x_c "
        r"\sum_{batches} (D/C)^2",
        filled=rf"\lambda E[S^2] = {tex_sum([tex_time(moment_bg), *squares])} = {tex_time(moment)}",
        value=moment,
        unit="s",
    )
    third = WorkingLine(
        key="link_wait",
        title="Mean wait of a message at the link (Pollaczek–Khinchine)",
        formula=r"W_n = \frac{\lambda E[S^2]}{2(1-\rho_n)}",
        filled=rf"W_n = \frac{{{tex_time(moment)}}}{{2(1 - {tex_number(rho)})}} = {tex_time(wait)}",
        value=wait,
        unit="s",
    )
    return LinkWorking((first, second, third), rho, moment, wait)


def _loads(model: Model, x: Probabilities, names: Sequence[str]) -> list[_Load]:
    found = []
    for j, q in enumerate(model.system.queries):
        pairs = list(zip(model.candidates[j], x[j], strict=True))
        load = sum(float(p @ c.messages.load_s) for c, p in pairs)
        square = sum(float(p @ c.messages.square_s2) for c, p in pairs)
        found.append(_Load(names[j], q.rate, load, square))
    return found


def _utilization_line(loads: Sequence[_Load], background: float, rho: float) -> WorkingLine:
    terms = [rf"{tex_rate(r.rate)}\cdot {tex_time(r.link_s)}" for r in loads]
    return WorkingLine(
        key="link_utilization",
        title="Utilisation of the link",
        formula=r"\rho_n = \rho_{bg} + \sum_j \lambda_j \sum_c x_c\, D_c / C",
        filled=rf"\rho_n = {tex_sum([tex_number(background), *terms])} = {tex_number(rho)}",
        value=rho,
        unit="",
        table=tuple(r.cells for r in loads),
    )


def _stretch_line(rho: float, stretch: float) -> WorkingLine:
    return WorkingLine(
        key="link_wait",
        title="Stretch of a transfer on an equally shared link",
        formula=r"w = \frac{\rho_n}{1-\rho_n}",
        filled=rf"w = \frac{{{tex_number(rho)}}}{{1 - {tex_number(rho)}}} = {tex_number(stretch)}",
        value=stretch,
        unit="",
    )
