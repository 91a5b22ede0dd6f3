"""The working at links and executors: load, utilisation and wait as formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nona.placement.link_waits import Role
from nona.placement.model import Model, Probabilities
from nona.placement.queueing import second_moment
from nona.results.placement import Cells, WorkingLine

MOST_TERMS = 4
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def tex_number(value: float, digits: int = 4) -> str:
    """A number, in powers of ten where it is very small or large.

    >>> tex_number(0.25), tex_number(1.5e-9), tex_number(float("inf"))
    ('0.25', '1.5\\\\cdot 10^{-9}', '\\\\infty')
    """
    if not math.isfinite(value):
        return r"\infty"
    if value and not 1e-3 <= abs(value) < 1e6:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{float(mantissa):g}\\cdot 10^{{{int(exponent)}}}"
    return f"{value:.{digits}g}"


def tex_time(seconds: float) -> str:
    """Seconds in the unit that suits them.

    >>> tex_time(0.0123), tex_time(0.0)
    ('12.3\\\\,\\\\mathrm{ms}', '0\\\\,\\\\mathrm{s}')
    """
    if not math.isfinite(seconds):
        return tex_number(seconds)
    size, unit = next(((s, u) for s, u in _TIMES if abs(seconds) >= s), _TIMES[-1] if seconds else _TIMES[0])
    return f"{seconds / size:.4g}\\,\\mathrm{{{unit}}}"


def tex_rate(per_s: float) -> str:
    """A rate per second.

    >>> tex_rate(300)
    '300\\\\,\\\\mathrm{s^{-1}}'
    """
    return f"{tex_number(per_s)}\\,\\mathrm{{s^{{-1}}}}"


def tex_sum(terms: Sequence[str]) -> str:
    """Terms joined by plus signs; of many terms only the first and the last.

    >>> tex_sum(["a", "b"]), tex_sum(list("abcdefg"))
    ('a + b', 'a + b + c + \\\\ldots + g')
    """
    if len(terms) <= MOST_TERMS + 1:
        return " + ".join(terms) or "0"
    return " + ".join([*terms[: MOST_TERMS - 1], r"\ldots", terms[-1]])


@dataclass(frozen=True, slots=True)
class LinkWorking:
    """Utilisation, second moment and wait (or stretch) of one shared link, infinite if it is overloaded."""

    lines: tuple[WorkingLine, ...]
    utilization: float
    moment_s: float
    wait: float


@dataclass(frozen=True, slots=True)
class _LinkLoad:
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
    loads = _link_loads(model, x, names)
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


def _link_loads(model: Model, x: Probabilities, names: Sequence[str]) -> list[_LinkLoad]:
    loads = []
    for j, q in enumerate(model.system.queries):
        pairs = list(zip(model.candidates[j], x[j], strict=True))
        load = sum(float(p @ c.messages.load_s) for c, p in pairs)
        square = sum(float(p @ c.messages.square_s2) for c, p in pairs)
        loads.append(_LinkLoad(names[j], q.rate, load, square))
    return loads


def _utilization_line(loads: Sequence[_LinkLoad], background: float, rho: float) -> WorkingLine:
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
class _RoleLoad:
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
    loads = _role_loads(model, x, names)
    load = math.fsum(r.rate * r.core_s for r in loads)
    bundles = math.fsum(r.rate * r.bundles_s2 for r in loads)
    batches = math.fsum(r.rate * r.batches_s2 for r in loads)
    lines = [_load_line(loads, load, bundles, batches)]
    roles = []
    for role in model.roles:
        role_wait, role_lines = _role_lines(role, load, bundles, max(batches - bundles, 0.0))
        lines += role_lines
        roles.append(role_wait)
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


def _role_loads(model: Model, x: Probabilities, names: Sequence[str]) -> list[_RoleLoad]:
    loads = []
    for j, q in enumerate(model.system.queries):
        pairs = [(c.messages, p) for c, p in zip(model.candidates[j], x[j], strict=True)]
        core = sum(float(p @ m.load_s) for m, p in pairs)
        bundles = sum(float(p @ m.bundle_s2) for m, p in pairs)
        batches = sum(float(p @ m.square_s2) for m, p in pairs)
        loads.append(_RoleLoad(names[j], q.rate, core, bundles, batches))
    return loads


def _load_line(loads: Sequence[_RoleLoad], load: float, bundles: float, batches: float) -> WorkingLine:
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
    """Work out the cost of one more byte to all queries, whose jobs wait for ``messages`` on average."""
    rate, slope = model.system.total_rate, 0.0
    for role_wait in path.roles:
        role, rho, wait = role_wait.role, role_wait.utilization, role_wait.wait_s
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


@dataclass(frozen=True, slots=True)
class _ServerLoad:
    """Load of one row of the workload on one kind of executor: share drawn, seconds and squares.

    With batches the seconds are those of full steps, and the wait of a visit is given in place of squares.
    """

    model: str
    rate: float
    share: float
    compute_s: float
    squares_s2: float
    wait_s: float | None = None

    def cells(self, several: bool) -> Cells:
        """The row of a table; with one kind of executor every share is 1 and not shown."""
        return {
            "model": self.model,
            "rate 1/s": self.rate,
            **({"share": self.share} if several else {}),
            "compute s per query": self.compute_s,
            **({"squared visits s²": self.squares_s2} if self.wait_s is None else {"wait s": self.wait_s}),
        }


@dataclass(frozen=True, slots=True)
class _Executors:
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
    stream, lines, waits = model.system.background_compute, [], list[float]()
    batched = model.servers.met is not None
    several = len(model.system.class_names) > 1
    for k, kind in enumerate(model.system.class_names):
        loads = _server_loads(model, x, names, k)
        executors = int(model.system.class_counts[k])
        background = stream.rate * stream.mean
        rho = background + sum(r.rate * r.share * r.compute_s for r in loads) / executors
        moment = stream.rate * second_moment(stream)
        moment += sum(r.rate * r.share * r.squares_s2 for r in loads) / executors
        if batched:
            waits.append(float(model.class_wait_s(x)[k]))
        else:
            waits.append(moment / (2 * (1 - rho)) if rho < 1 else math.inf)
        of_kind = _Executors(kind, executors, background, rho, moment, waits[-1])
        lines.append(_server_utilization_line(of_kind, loads, several, batched))
        lines.append(_batch_wait_line(of_kind, loads, several) if batched else _wait_line(of_kind, several))
    seen = (
        model.server_wait_s(x).tolist()
        if batched
        else [sum(float(s) * w for s, w in zip(row, waits, strict=True) if s > 0) for row in model.shares]
    )
    if batched:
        return lines, seen
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


def _server_loads(model: Model, x: Probabilities, names: Sequence[str], k: int) -> list[_ServerLoad]:
    return [
        _ServerLoad(
            names[j],
            q.rate,
            float(model.shares[j, k]),
            float(q.load_s[k].sum()),
            model.chains[k][j].squares(x[j]),
            None if model.servers.met is None else float(model.servers.met.wait_s[j, k]),
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


def _server_utilization_line(
    executors: _Executors, loads: Sequence[_ServerLoad], several: bool, batched: bool
) -> WorkingLine:
    seconds = r"\sum_v s_v(B)/B" if batched else r"\sum_v p_v"
    terms = [
        rf"{tex_rate(r.rate)}\cdot "
        + (rf"{tex_number(r.share)}\cdot " if several else "")
        + tex_time(r.compute_s)
        for r in loads
        if r.share > 0 or not several
    ]
    sums = rf"{tex_number(executors.background)} + \frac{{{tex_sum(terms)}}}{{{executors.number}}}"
    return WorkingLine(
        key=f"utilization:{executors.kind}",
        title=f"Utilisation of an executor, {executors.kind}",
        formula=rf"\rho_k = \rho_{{bg}} + \frac{{1}}{{n_k}}\sum_j \lambda_j{_share(several)} {seconds}",
        filled=rf"\rho_k = {sums} = {tex_number(executors.utilization)}",
        value=executors.utilization,
        unit="",
        table=tuple(r.cells(several) for r in loads),
    )


def _wait_line(executors: _Executors, several: bool) -> WorkingLine:
    rho, wait = tex_number(executors.utilization), tex_time(executors.wait_s)
    return WorkingLine(
        key=f"wait:{executors.kind}",
        title=f"Mean wait at an executor, {executors.kind} (Pollaczek–Khinchine)",
        formula=r"W_k = \frac{(\lambda E[S^2])_{bg} + \frac{1}{n_k}\sum_j \lambda_j"
        rf"{_share(several)} \sum_{{visits}} s^2}}{{2(1-\rho_k)}}",
        filled=rf"W_k = \frac{{{tex_time(executors.moment_s)}}}{{2(1 - {rho})}} = {wait}",
        value=executors.wait_s,
        unit="s",
    )


def _batch_wait_line(executors: _Executors, loads: Sequence[_ServerLoad], several: bool) -> WorkingLine:
    """The mean of the queries' waits; each is that of the queue of its steps beside those of the others."""
    terms = [(r.rate * r.share, r.wait_s) for r in loads if r.wait_s is not None and r.rate * r.share > 0]
    top = tex_sum([rf"{tex_rate(rate)}\cdot {tex_time(wait)}" for rate, wait in terms])
    bottom = tex_sum([tex_rate(rate) for rate, _ in terms])
    each = rf"\sum_j \lambda_j{_share(several)}"
    return WorkingLine(
        key=f"wait:{executors.kind}",
        title=f"Mean wait for a step at an executor, {executors.kind} (queues of batches)",
        formula=rf"W_k = \frac{{{each} W_{{jk}}}}{{{each}}}",
        filled=rf"W_k = \frac{{{top}}}{{{bottom}}} = {tex_time(executors.wait_s)}",
        value=executors.wait_s,
        unit="s",
    )


def _share(several: bool) -> str:
    """The factor for the share of a kind of executors; with one kind it is 1."""
    return " s_{jk}" if several else ""
