"""Show the working, second part: utilisation and wait at the executors, class by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nona.placement.formula.model import Model, Probabilities
from nona.placement.waits.queueing import second_moment
from nona.report.placements.working.tex import tex_number, tex_rate, tex_sum, tex_time
from nona.report.placements.working.waits import Line


def server_lines(model: Model, x: Probabilities, names: Sequence[str]) -> tuple[list[Line], list[float]]:
    """Utilisation, second moment and wait of each kind of executor; the mean wait of each model's visits.

    Where executors are drawn uniformly every visit waits the same, and the last line says how long.
    """
    stream, lines, waits = model.system.background_compute, [], []
    for k, kind in enumerate(model.system.class_names):
        rows = _rows(model, x, names, k)
        executors = int(model.system.class_counts[k])
        rho = stream.rate * stream.mean
        rho += sum(r["rate 1/s"] * r["share"] * r["compute s per query"] for r in rows) / executors
        moment = stream.rate * second_moment(stream)
        moment += sum(r["rate 1/s"] * r["share"] * r["squared visits s²"] for r in rows) / executors
        waits.append(moment / (2 * (1 - rho)) if rho < 1 else math.inf)
        if len(model.system.class_names) == 1:
            rows = [{name: value for name, value in r.items() if name != "share"} for r in rows]
        lines += _executor_lines(kind, rows, (stream.rate * stream.mean, rho, moment, waits[-1]), executors)
    seen = [sum(float(s) * w for s, w in zip(row, waits, strict=True) if s > 0) for row in model.shares]
    if model.class_shares is None:
        return [*lines, _uniform_line(model, waits, seen[0])], seen
    return [*lines, *(_seen_line(model, j, name, waits, seen[j]) for j, name in enumerate(names))], seen


def visit_line(weights: Sequence[float], visits: Sequence[float], seen: Sequence[float]) -> Line:
    """The mean wait of a visit over the mix, where models wait at executors of other kinds."""
    terms = [(w * a, s) for w, a, s in zip(weights, visits, seen, strict=True) if w * a > 0]
    total = sum(a * s for a, s in terms) / sum(a for a, _ in terms) if terms else seen[0]
    top = tex_sum([rf"{tex_number(a)}\cdot {tex_time(s)}" for a, s in terms])
    bottom = tex_sum([tex_number(a) for a, _ in terms])
    return Line(
        "server_wait",
        "Mean wait of a visit over the mix",
        r"W_c = \frac{\sum_j w_j A_j W_{c,j}}{\sum_j w_j A_j},\quad A_j = \mathrm{visits\ of\ a\ query}",
        rf"W_c = \frac{{{top}}}{{{bottom}}} = {tex_time(total)}",
        total,
        "s",
    )


def _rows(model: Model, x: Probabilities, names: Sequence[str], k: int) -> list[dict[str, Any]]:
    return [
        {
            "model": names[j],
            "rate 1/s": q.rate,
            "share": float(model.shares[j, k]),
            "compute s per query": float(q.tasks.compute_s[k].sum()),
            "squared visits s²": model.chains[k][j].squares(x[j]),
        }
        for j, q in enumerate(model.system.queries)
    ]


def _uniform_line(model: Model, waits: Sequence[float], total: float) -> Line:
    parts = [
        rf"{tex_number(float(share))}\cdot {tex_time(wait)}"
        for share, wait in zip(model.system.class_weights, waits, strict=True)
    ]
    return Line(
        "server_wait",
        "Mean wait of a visit at an executor drawn uniformly",
        r"W_c = \sum_k \mathrm{share}_k\, W_{c,k}",
        rf"W_c = {tex_sum(parts)} = {tex_time(total)}",
        total,
        "s",
    )


def _seen_line(model: Model, j: int, name: str, waits: Sequence[float], total: float) -> Line:
    parts = [
        rf"{tex_number(float(share))}\cdot {tex_time(wait)}"
        for share, wait in zip(model.shares[j], waits, strict=True)
        if share > 0
    ]
    return Line(
        f"server_wait:{name}",
        f"Mean wait of a visit of {name}, which draws executors by its shares",
        r"W_{c,j} = \sum_k s_{jk}\, W_{c,k}",
        rf"W_{{c,j}} = {tex_sum(parts)} = {tex_time(total)}",
        total,
        "s",
    )


def _executor_lines(
    kind: str, rows: list[dict[str, Any]], values: tuple[float, float, float, float], executors: int
) -> list[Line]:
    background, rho, moment, wait = values
    several = "share" in rows[0]  # kinds of executors; with one, every share is 1
    share = " s_{jk}" if several else ""
    terms = [
        rf"{tex_rate(r['rate 1/s'])}\cdot "
        + (rf"{tex_number(r['share'])}\cdot " if several else "")
        + tex_time(r["compute s per query"])
        for r in rows
        if r.get("share", 1.0) > 0
    ]
    sums = rf"{tex_number(background)} + \frac{{{tex_sum(terms)}}}{{{executors}}}"
    return [
        Line(
            f"utilization:{kind}",
            f"Utilisation of an executor, {kind}",
            rf"\rho_k = \rho_{{bg}} + \frac{{1}}{{n_k}}\sum_j \lambda_j{share} \sum_v p_v",
            rf"\rho_k = {sums} = {tex_number(rho)}",
            rho,
            "",
            tuple(rows),
        ),
        Line(
            f"wait:{kind}",
            f"Mean wait at an executor, {kind} (Pollaczek–Khinchine)",
            r"W_k = \frac{(\lambda E[S^2])_{bg} + \frac{1}{n_k}\sum_j \lambda_j"
            rf"{share} \sum_{{visits}} s^2}}{{2(1-\rho_k)}}",
            rf"W_k = \frac{{{tex_time(moment)}}}{{2(1 - {tex_number(rho)})}} = {tex_time(wait)}",
            wait,
            "s",
        ),
    ]
