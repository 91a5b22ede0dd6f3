"""Show the working if messages cross several links: load, then each role's utilisation and wait."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nona.placement.formula.model import Model, Probabilities
from nona.placement.waits.link_roles import Role
from nona.report.placements.working.tex import tex_number, tex_rate, tex_sum, tex_time
from nona.results.placement.working import Cells, WorkingLine


@dataclass(frozen=True, slots=True)
class RoleWait:
    """Utilisation of the links of one role, and the wait of a message there, infinite if overloaded."""

    role: Role
    utilization: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class PathWorking:
    """Utilisation and wait of every role of links; ``wait`` is that of a message on its whole route."""

    lines: tuple[WorkingLine, ...]
    roles: tuple[RoleWait, ...]
    wait: float


@dataclass(frozen=True, slots=True)
class _Load:
    """What one row of the workload puts on the links: seconds and squares of one query."""

    model: str
    rate: float
    core_s: float
    bundles_s2: float
    batches_s2: float

    @property
    def cells(self) -> Cells:
        return {
            "model": self.model,
            "rate 1/s": self.rate,
            "core s per query": self.core_s,
            "bundles s²": self.bundles_s2,
            "batches s²": self.batches_s2,
        }


def path_lines(model: Model, x: Probabilities, names: Sequence[str]) -> PathWorking:
    """Load of the queries, utilisation and wait of every role of links, and the wait of a message."""
    loads = _loads(model, x, names)
    load = math.fsum(r.rate * r.core_s for r in loads)
    bundles = math.fsum(r.rate * r.bundles_s2 for r in loads)
    batches = math.fsum(r.rate * r.batches_s2 for r in loads)
    lines = [_load_line(loads, load, bundles, batches)]
    roles = []
    for role in model.roles:
        found, told = _role_lines(role, load, bundles, max(batches - bundles, 0.0))
        lines += told
        roles.append(found)
    total = math.fsum(r.role.share * r.wait_s for r in roles)
    busiest = max(role.utilization(load) for role in model.roles)
    lines += [_route_line(roles, total), _busiest_line(busiest)]
    return PathWorking(tuple(lines), tuple(roles), total)


def _route_line(roles: Sequence[RoleWait], total: float) -> WorkingLine:
    terms = [rf"{tex_number(r.role.share)}\cdot {tex_time(r.wait_s)}" for r in roles]
    return WorkingLine(
        key="link_wait",
        title="Mean wait of a message on its route: every role weighted by the share of messages that "
        "cross it",
        formula=r"W_n = \sum_r q_r W_r",
        filled=rf"W_n = {tex_sum(terms)} = {tex_time(total)}",
        value=total,
        unit="s",
        table=tuple({"link": r.role.name, "share": r.role.share, "wait s": r.wait_s} for r in roles),
    )


def _busiest_line(rho: float) -> WorkingLine:
    return WorkingLine(
        key="link_utilization",
        title="Utilisation of the most utilised links",
        formula=r"\rho_n = \max_r \rho_r",
        filled=rf"\rho_n = {tex_number(rho)}",
        value=rho,
        unit="",
    )


def _loads(model: Model, x: Probabilities, names: Sequence[str]) -> list[_Load]:
    found = []
    for j, q in enumerate(model.system.queries):
        pairs = [(c.messages, p) for c, p in zip(model.candidates[j], x[j], strict=True)]
        core = sum(float(p @ m.load_s) for m, p in pairs)
        bundles = sum(float(p @ m.bundle_s2) for m, p in pairs)
        batches = sum(float(p @ m.square_s2) for m, p in pairs)
        found.append(_Load(names[j], q.rate, core, bundles, batches))
    return found


def _load_line(loads: Sequence[_Load], load: float, bundles: float, batches: float) -> WorkingLine:
    terms = [rf"{tex_rate(r.rate)}\cdot {tex_time(r.core_s)}" for r in loads]
    return WorkingLine(
        key="link_load",
        title="Load of the queries, as if all messages crossed the core; B, Q: squares of bundles and "
        "batches",
        formula=r"y = \sum_j \lambda_j \sum_c x_c\, D_c / C,\quad "
        r"B = \sum_j \lambda_j \sum_c x_c \sum_{bundles} (D/C)^2",
        filled=rf"y = {tex_sum(terms)} = {tex_number(load)},\quad B = {tex_time(bundles)},\quad "
        rf"Q = {tex_time(batches)}",
        value=load,
        unit="",
        table=tuple(r.cells for r in loads),
    )


def _role_lines(role: Role, load: float, bundles: float, pairs: float) -> tuple[RoleWait, list[WorkingLine]]:
    rho = role.background_utilization + role.each * role.slower * load
    together = role.both * max(0.0, 1.0 - role.spacing * (1.0 - rho))
    moment = role.background_moment_s + role.slower**2 * (role.each * bundles + together * pairs)
    wait = moment / (2.0 * (1.0 - rho)) if rho < 1.0 else math.inf
    slower, each = tex_number(role.slower), tex_number(role.each)
    own = rf"{slower}^2 ({each}\cdot {tex_time(bundles)} + {tex_number(together)}\cdot {tex_time(pairs)})"
    return RoleWait(role, rho, wait), [
        WorkingLine(
            key=f"link_utilization:{role.name}",
            title=f"Utilisation of {role.name}",
            formula=r"\rho_r = \rho_{bg} + \pi\,\frac{C}{C_r}\, y",
            filled=rf"\rho_r = {tex_number(role.background_utilization)} + {each}\cdot {slower}\cdot "
            rf"{tex_number(load)} = {tex_number(rho)}",
            value=rho,
            unit="",
        ),
        WorkingLine(
            key=f"link_wait:{role.name}",
            title=f"Mean wait at {role.name} (Pollaczek–Khinchine)",
            formula=r"W_r = \frac{(\lambda E[S^2])_{bg} + (C/C_r)^2 (\pi B + \pi_2 (Q-B))}{2(1-\rho_r)}",
            filled=rf"W_r = \frac{{{tex_time(role.background_moment_s)} + {own}}}{{2(1 - {tex_number(rho)})}}"
            rf" = {tex_time(wait)}",
            value=wait,
            unit="s",
        ),
    ]


def path_price_line(model: Model, messages: float, path: PathWorking) -> WorkingLine:
    """What one more byte costs all queries together, whose jobs wait for ``messages`` on average."""
    rate, slope = model.system.total_rate, 0.0
    for found in path.roles:
        role, rho, wait = found.role, found.utilization, found.wait_s
        if rho >= 1.0:
            slope = math.inf
        elif rho > 0.0:
            slope += role.share * wait / (rho * (1.0 - rho)) * role.each / role.capacity
    price = rate * messages * slope if messages > 0 and rate > 0 else 0.0
    return WorkingLine(
        key="price",
        title="Price of congestion: what one more byte costs all queries together",
        formula=r"\mathrm{price} = \Lambda\, A_n \sum_r q_r\, \frac{\pi_r}{C_r}\, "
        r"\frac{W_r}{\rho_r (1-\rho_r)}",
        filled=rf"\mathrm{{price}} = {tex_rate(rate)}\cdot {tex_number(messages)}\cdot {tex_number(slope)}"
        rf"\,\mathrm{{s^2/B}} = {tex_number(price)}\,\mathrm{{s/B}}",
        value=price,
        unit="s/B",
    )
