"""Show the working if messages cross several links: load, then each role's utilisation and wait."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nona.placement.formula.model import Model, Probabilities
from nona.placement.waits.link_roles import Role
from nona.report.placements.working.tex import tex_number, tex_rate, tex_sum, tex_time
from nona.report.placements.working.waits import Line


def path_lines(model: Model, x: Probabilities, names: Sequence[str]) -> tuple[list[Line], float]:
    """Load of the queries, utilisation and wait of every role of links, and the wait of a message."""
    rows = _rows(model, x, names)
    load, bundles, batches = (
        math.fsum(r["rate 1/s"] * r[key] for r in rows)
        for key in ("core s per query", "bundles s²", "batches s²")
    )
    lines = [_load_line(rows, load, bundles, batches)]
    waits = []
    for role in model.roles:
        found, wait = _role_lines(role, load, bundles, max(batches - bundles, 0.0))
        lines += found
        waits.append((role, wait))
    total = math.fsum(role.share * wait for role, wait in waits)
    terms = [rf"{tex_number(role.share)}\cdot {tex_time(wait)}" for role, wait in waits]
    lines.append(
        Line(
            "link_wait",
            "Mean wait of a message on its route: every role weighted by the share of messages that cross it",
            r"W_n = \sum_r q_r W_r",
            rf"W_n = {tex_sum(terms)} = {tex_time(total)}",
            total,
            "s",
            tuple({"link": role.name, "share": role.share, "wait s": wait} for role, wait in waits),
        )
    )
    busiest = max(model.roles, key=lambda r: r.utilization(load))
    lines.append(
        Line(
            "link_utilization",
            "Utilisation of the most utilised links",
            r"\rho_n = \max_r \rho_r",
            rf"\rho_n = {tex_number(busiest.utilization(load))}",
            busiest.utilization(load),
            "",
        )
    )
    return lines, total


def _rows(model: Model, x: Probabilities, names: Sequence[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for j, q in enumerate(model.system.queries):
        pairs = [(c.messages, p) for c, p in zip(model.candidates[j], x[j], strict=True)]
        rows.append(
            {
                "model": names[j],
                "rate 1/s": q.rate,
                "core s per query": sum(float(p @ m.load_s) for m, p in pairs),
                "bundles s²": sum(float(p @ m.bundle_s2) for m, p in pairs),
                "batches s²": sum(float(p @ m.square_s2) for m, p in pairs),
            }
        )
    return rows


def _load_line(rows: Sequence[dict[str, Any]], load: float, bundles: float, batches: float) -> Line:
    terms = [rf"{tex_rate(r['rate 1/s'])}\cdot {tex_time(r['core s per query'])}" for r in rows]
    return Line(
        "link_load",
        "Load of the queries, as if all messages crossed the core; B, Q: squares of bundles and batches",
        r"y = \sum_j \lambda_j \sum_c x_c\, D_c / C,\quad "
        r"B = \sum_j \lambda_j \sum_c x_c \sum_{bundles} (D/C)^2",
        rf"y = {tex_sum(terms)} = {tex_number(load)},\quad B = {tex_time(bundles)},\quad "
        rf"Q = {tex_time(batches)}",
        load,
        "",
        tuple(rows),
    )


def _role_lines(role: Role, load: float, bundles: float, pairs: float) -> tuple[list[Line], float]:
    rho = role.background_utilization + role.each * role.slower * load
    together = role.both * max(0.0, 1.0 - role.spacing * (1.0 - rho))
    moment = role.background_moment_s + role.slower**2 * (role.each * bundles + together * pairs)
    wait = moment / (2.0 * (1.0 - rho)) if rho < 1.0 else math.inf
    slower, each = tex_number(role.slower), tex_number(role.each)
    own = rf"{slower}^2 ({each}\cdot {tex_time(bundles)} + {tex_number(together)}\cdot {tex_time(pairs)})"
    return [
        Line(
            f"link_utilization:{role.name}",
            f"Utilisation of {role.name}",
            r"\rho_r = \rho_{bg} + \pi\,\frac{C}{C_r}\, y",
            rf"\rho_r = {tex_number(role.background_utilization)} + {each}\cdot {slower}\cdot "
            rf"{tex_number(load)} = {tex_number(rho)}",
            rho,
            "",
        ),
        Line(
            f"link_wait:{role.name}",
            f"Mean wait at {role.name} (Pollaczek–Khinchine)",
            r"W_r = \frac{(\lambda E[S^2])_{bg} + (C/C_r)^2 (\pi B + \pi_2 (Q-B))}{2(1-\rho_r)}",
            rf"W_r = \frac{{{tex_time(role.background_moment_s)} + {own}}}{{2(1 - {tex_number(rho)})}} "
            rf"= {tex_time(wait)}",
            wait,
            "s",
        ),
    ], wait


def path_price_line(model: Model, messages: float, lines: Sequence[Line]) -> Line:
    """What one more byte costs all queries together, whose jobs wait for ``messages`` on average."""
    told = {line.key: line.value for line in lines}
    rate, slope = model.system.total_rate, 0.0
    for role in model.roles:
        rho, wait = told[f"link_utilization:{role.name}"], told[f"link_wait:{role.name}"]
        if rho >= 1.0:
            slope = math.inf
        elif rho > 0.0:
            slope += role.share * wait / (rho * (1.0 - rho)) * role.each / role.capacity
    price = rate * messages * slope if messages > 0 and rate > 0 else 0.0
    return Line(
        "price",
        "Price of congestion: what one more byte costs all queries together",
        r"\mathrm{price} = \Lambda\, A_n \sum_r q_r\, \frac{\pi_r}{C_r}\, \frac{W_r}{\rho_r (1-\rho_r)}",
        rf"\mathrm{{price}} = {tex_rate(rate)}\cdot {tex_number(messages)}\cdot {tex_number(slope)}"
        rf"\,\mathrm{{s^2/B}} = {tex_number(price)}\,\mathrm{{s/B}}",
        price,
        "s/B",
    )
