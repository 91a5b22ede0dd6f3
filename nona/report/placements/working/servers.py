"""Show the working, second part: utilisation and wait at the executors, class by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nona.placement.formula.model import Model, Probabilities
from nona.placement.waits.queueing import second_moment
from nona.report.placements.working.tex import tex_number, tex_rate, tex_sum, tex_time
from nona.results.placement.working import Cells, WorkingLine


@dataclass(frozen=True, slots=True)
class _Load:
    """What one row of the workload puts on one kind of executor: share drawn, seconds and squares."""

    model: str
    rate: float
    share: float
    compute_s: float
    squares_s2: float

    def cells(self, several: bool) -> Cells:
        """The row of a table; with one kind of executor every share is 1 and not shown."""
        return {
            "model": self.model,
            "rate 1/s": self.rate,
            **({"share": self.share} if several else {}),
            "compute s per query": self.compute_s,
            "squared visits s²": self.squares_s2,
        }


@dataclass(frozen=True, slots=True)
class _Executors:
    """One kind of executor with its number, background, utilisation, second moment and wait."""

    kind: str
    number: int
    background: float
    utilization: float
    moment_s: float
    wait_s: float


def server_lines(
    model: Model, x: Probabilities, names: Sequence[str]
) -> tuple[list[WorkingLine], list[float]]:
    """Utilisation, second moment and wait of each kind of executor; the mean wait of each model's visits.

    Where executors are drawn uniformly every visit waits the same, and the last line says how long.
    """
    stream, lines, waits = model.system.background_compute, [], []
    several = len(model.system.class_names) > 1
    for k, kind in enumerate(model.system.class_names):
        loads = _loads(model, x, names, k)
        executors = int(model.system.class_counts[k])
        background = stream.rate * stream.mean
        rho = background + sum(r.rate * r.share * r.compute_s for r in loads) / executors
        moment = stream.rate * second_moment(stream)
        moment += sum(r.rate * r.share * r.squares_s2 for r in loads) / executors
        waits.append(moment / (2 * (1 - rho)) if rho < 1 else math.inf)
        found = _Executors(kind, executors, background, rho, moment, waits[-1])
        lines += [_utilization_line(found, loads, several), _wait_line(found, several)]
    seen = [sum(float(s) * w for s, w in zip(row, waits, strict=True) if s > 0) for row in model.shares]
    if model.class_shares is None:
        return [*lines, _uniform_line(model, waits, seen[0])], seen
    return [*lines, *(_seen_line(model, j, name, waits, seen[j]) for j, name in enumerate(names))], seen


def visit_line(weights: Sequence[float], visits: Sequence[float], seen: Sequence[float]) -> WorkingLine:
    """The mean wait of a visit over the mix, where models wait at executors of other kinds."""
    terms = [(w * a, s) for w, a, s in zip(weights, visits, seen, strict=True) if w * a > 0]
    total = sum(a * s for a, s in terms) / sum(a for a, _ in terms) if terms else seen[0]
    top = tex_sum([rf"{tex_number(a)}\cdot {tex_time(s)}" for a, s in terms])
    bottom = tex_sum([tex_number(a) for a, _ in terms])
    return WorkingLine(
        key="server_wait",
        title="Mean wait of a visit over the mix",
        formula=r"W_c = \frac{\sum_j w_j A_j W_{c,j}}{\sum_j w_j A_j},\quad "
        r"A_j = \mathrm{visits\ of\ a\ query}",
        filled=rf"W_c = \frac{{{top}}}{{{bottom}}} = {tex_time(total)}",
        value=total,
        unit="s",
    )


def _loads(model: Model, x: Probabilities, names: Sequence[str], k: int) -> list[_Load]:
    return [
        _Load(
            names[j],
            q.rate,
            float(model.shares[j, k]),
            float(q.tasks.compute_s[k].sum()),
            model.chains[k][j].squares(x[j]),
        )
        for j, q in enumerate(model.system.queries)
    ]


def _uniform_line(model: Model, waits: Sequence[float], total: float) -> WorkingLine:
    parts = [
        rf"{tex_number(float(share))}\cdot {tex_time(wait)}"
        for share, wait in zip(model.system.class_weights, waits, strict=True)
    ]
    return WorkingLine(
        key="server_wait",
        title="Mean wait of a visit at an executor drawn uniformly",
        formula=r"W_c = \sum_k \mathrm{share}_k\, W_{c,k}",
        filled=rf"W_c = {tex_sum(parts)} = {tex_time(total)}",
        value=total,
        unit="s",
    )


def _seen_line(model: Model, j: int, name: str, waits: Sequence[float], total: float) -> WorkingLine:
    parts = [
        rf"{tex_number(float(share))}\cdot {tex_time(wait)}"
        for share, wait in zip(model.shares[j], waits, strict=True)
        if share > 0
    ]
    return WorkingLine(
        key=f"server_wait:{name}",
        title=f"Mean wait of a visit of {name}, which draws executors by its shares",
        formula=r"W_{c,j} = \sum_k s_{jk}\, W_{c,k}",
        filled=rf"W_{{c,j}} = {tex_sum(parts)} = {tex_time(total)}",
        value=total,
        unit="s",
    )


def _utilization_line(found: _Executors, loads: Sequence[_Load], several: bool) -> WorkingLine:
    terms = [
        rf"{tex_rate(r.rate)}\cdot "
        + (rf"{tex_number(r.share)}\cdot " if several else "")
        + tex_time(r.compute_s)
        for r in loads
        if r.share > 0 or not several
    ]
    sums = rf"{tex_number(found.background)} + \frac{{{tex_sum(terms)}}}{{{found.number}}}"
    return WorkingLine(
        key=f"utilization:{found.kind}",
        title=f"Utilisation of an executor, {found.kind}",
        formula=rf"\rho_k = \rho_{{bg}} + \frac{{1}}{{n_k}}\sum_j \lambda_j{_share(several)} \sum_v p_v",
        filled=rf"\rho_k = {sums} = {tex_number(found.utilization)}",
        value=found.utilization,
        unit="",
        table=tuple(r.cells(several) for r in loads),
    )


def _wait_line(found: _Executors, several: bool) -> WorkingLine:
    rho = tex_number(found.utilization)
    return WorkingLine(
        key=f"wait:{found.kind}",
        title=f"Mean wait at an executor, {found.kind} (Pollaczek–Khinchine)",
        formula=r"W_k = \frac{(\lambda E[S^2])_{bg} + \frac{1}{n_k}\sum_j \lambda_j"
        rf"{_share(several)} \sum_{{visits}} s^2}}{{2(1-\rho_k)}}",
        filled=rf"W_k = \frac{{{tex_time(found.moment_s)}}}{{2(1 - {rho})}} = {tex_time(found.wait_s)}",
        value=found.wait_s,
        unit="s",
    )


def _share(several: bool) -> str:
    """The factor for the share of a kind of executors; with one kind it is 1."""
    return " s_{jk}" if several else ""
