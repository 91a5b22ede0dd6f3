"""Formulas of links and executors: load, utilisation and wait."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nona.core.arrays import Floats
from nona.queries.placement.link_waits import LinkRole
from nona.queries.placement.messages import ShapeCandidates
from nona.queries.placement.model import PlacementModel, Probabilities
from nona.queries.placement.queueing import second_moment
from nona.queries.placement.results import Cells, WorkingLine

MOST_TERMS = 4
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def tex_number(value: float, digits: int = 4) -> str:
    r"""Return a number, in powers of ten where it is very small or large.

    >>> tex_number(0.25), tex_number(1.5e-9), tex_number(float("inf"))
    ('0.25', '1.5\\cdot 10^{-9}', '\\infty')
    """
    if not math.isfinite(value):
        return r"\infty"
    if value and not 1e-3 <= abs(value) < 1e6:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{float(mantissa):g}\\cdot 10^{{{int(exponent)}}}"
    return f"{value:.{digits}g}"


def tex_time(seconds: float) -> str:
    r"""Seconds in the unit that suits them.

    >>> tex_time(0.0123), tex_time(0.0)
    ('12.3\\,\\mathrm{ms}', '0\\,\\mathrm{s}')
    """
    if not math.isfinite(seconds):
        return tex_number(seconds)
    size, unit = next(((s, u) for s, u in _TIMES if abs(seconds) >= s), _TIMES[-1] if seconds else _TIMES[0])
    return f"{seconds / size:.4g}\\,\\mathrm{{{unit}}}"


def tex_rate(per_s: float) -> str:
    r"""Return a rate per second.

    >>> tex_rate(300)
    '300\\,\\mathrm{s^{-1}}'
    """
    return f"{tex_number(per_s)}\\,\\mathrm{{s^{{-1}}}}"


def tex_sum(terms: Sequence[str]) -> str:
    r"""Terms joined by plus signs; of many terms only the first and the last.

    >>> tex_sum(["a", "b"]), tex_sum(list("abcdefg"))
    ('a + b', 'a + b + c + \\ldots + g')
    """
    if len(terms) <= MOST_TERMS + 1:
        return " + ".join(terms) or "0"
    return " + ".join([*terms[: MOST_TERMS - 1], r"\ldots", terms[-1]])


def formula_line(
    key: str,
    title: str,
    formula: str,
    filled: str,
    value: float,
    unit: str = "",
    table: Iterable[Cells] = (),
    after: str = "",
) -> WorkingLine:
    """Return a formula with its numbers.

    ``filled`` is the right side of ``formula`` with numbers, if there is one.
    """
    symbol, result = formula.split(" = ", 1)[0], tex_time(value) if unit == "s" else tex_number(value)
    result += r"\,\mathrm{s/B}" if unit == "s/B" else ""
    sides = " = ".join(filter(None, (symbol, filled, result))) + after
    return WorkingLine(
        key=key, title=title, formula=formula, filled=sides, value=value, unit=unit, table=tuple(table)
    )


def _means(model: PlacementModel, x: Probabilities, of: Callable[[ShapeCandidates], Floats]) -> list[float]:
    """Mean over the configurations of one query, for each row of the workload."""
    return [
        sum(float(p @ of(c)) for c, p in zip(candidates, own, strict=True))
        for candidates, own in zip(model.candidates, x, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class LinkWorking:
    """Utilisation, second moment and wait (or stretch) of one shared link, infinite if it is overloaded."""

    lines: tuple[WorkingLine, ...]
    utilization: float
    moment_s: float
    wait: float


def link_lines(model: PlacementModel, x: Probabilities, names: Sequence[str]) -> LinkWorking:
    """Utilisation and second moment of the link, and its wait (FIFO) or stretch (shared)."""
    rho_bg, moment_bg = model.background
    rates = [q.rate for q in model.system.queries]
    link_s, squares = _means(model, x, _load), _means(model, x, lambda c: c.messages.square_s2)
    rho = rho_bg + sum(r * s for r, s in zip(rates, link_s, strict=True))
    moment = moment_bg + sum(r * s for r, s in zip(rates, squares, strict=True))
    used = [rf"{tex_rate(r)}\cdot {tex_time(s)}" for r, s in zip(rates, link_s, strict=True)]
    first = formula_line(
        "link_utilization",
        "Utilisation of the link",
        r"\rho_n = \rho_{bg} + \sum_j \lambda_j \sum_c x_c\, D_c / C",
        tex_sum([tex_number(rho_bg), *used]),
        rho,
        table=_table({"model": names, "rate 1/s": rates, "link s per query": link_s, "squares s²": squares}),
    )
    if model.system.discipline != "fifo":
        stretch = rho / (1 - rho) if rho < 1 else math.inf
        ratio = rf"\frac{{{tex_number(rho)}}}{{1 - {tex_number(rho)}}}"
        title = "Stretch of a transfer on an equally shared link"
        last = formula_line("link_wait", title, r"w = \frac{\rho_n}{1-\rho_n}", ratio, stretch)
        return LinkWorking((first, last), rho, moment, stretch)
    wait = moment / (2 * (1 - rho)) if rho < 1 else math.inf
    terms = [
        rf"{tex_rate(r)}\cdot {tex_number(s)}\,\mathrm{{s^2}}" for r, s in zip(rates, squares, strict=True)
    ]
    second = formula_line(
        "link_moment",
        "Second moment of the link's service times, per second",
        r"\lambda E[S^2] = (\lambda E[S^2])_{bg} + \sum_j \lambda_j \sum_c x_c \sum_{batches} (D/C)^2",
        tex_sum([tex_time(moment_bg), *terms]),
        moment,
        "s",
    )
    third = formula_line(
        "link_wait",
        "Mean wait of a message at the link (Pollaczek–Khinchine)",
        r"W_n = \frac{\lambda E[S^2]}{2(1-\rho_n)}",
        rf"\frac{{{tex_time(moment)}}}{{2(1 - {tex_number(rho)})}}",
        wait,
        "s",
    )
    return LinkWorking((first, second, third), rho, moment, wait)


def _load(candidates: ShapeCandidates) -> Floats:
    return candidates.messages.load_s


def _table(columns: Mapping[str, Sequence[float | str]]) -> Iterator[Cells]:
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


@dataclass(frozen=True, slots=True)
class RoleWait:
    """Utilisation of the links of one role, and the wait of a message there, infinite if overloaded."""

    role: LinkRole
    utilization: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class PathWorking:
    """Utilisation and wait of every role of links; ``wait`` is that of a message on its whole route."""

    lines: tuple[WorkingLine, ...]
    roles: tuple[RoleWait, ...]
    wait: float


def path_lines(model: PlacementModel, x: Probabilities, names: Sequence[str]) -> PathWorking:
    """Load of the queries, utilisation and wait of every role of links, and the wait of a message."""
    rates = [q.rate for q in model.system.queries]
    core_s, bundles, batches = (
        _means(model, x, of) for of in (_load, lambda c: c.messages.bundle_s2, lambda c: c.messages.square_s2)
    )
    load, bundled, batched = (
        math.fsum(r * v for r, v in zip(rates, values, strict=True)) for values in (core_s, bundles, batches)
    )
    terms = [rf"{tex_rate(r)}\cdot {tex_time(s)}" for r, s in zip(rates, core_s, strict=True)]
    columns: dict[str, Sequence[float | str]] = {
        "model": names,
        "rate 1/s": rates,
        "core s per query": core_s,
    }
    lines = [
        formula_line(
            "link_load",
            "Load of the queries, as if all messages crossed the core; B, Q: squares of bundles and batches",
            r"y = \sum_j \lambda_j \sum_c x_c\, D_c / C,\quad "
            r"B = \sum_j \lambda_j \sum_c x_c \sum_{bundles} (D/C)^2",
            tex_sum(terms),
            load,
            table=_table({**columns, "bundles s²": bundles, "batches s²": batches}),
            after=rf",\quad B = {tex_time(bundled)},\quad Q = {tex_time(batched)}",
        )
    ]
    roles = []
    for role in model.roles:
        role_wait, role_lines = _role_lines(role, load, bundled, max(batched - bundled, 0.0))
        lines += role_lines
        roles.append(role_wait)
    total = math.fsum(r.role.share * r.wait_s for r in roles)
    crossed = [rf"{tex_number(r.role.share)}\cdot {tex_time(r.wait_s)}" for r in roles]
    lines += [
        formula_line(
            "link_wait",
            "Mean wait of a message on its route: every role weighted by the share of messages that cross it",
            r"W_n = \sum_r q_r W_r",
            tex_sum(crossed),
            total,
            "s",
            ({"link": r.role.name, "share": r.role.share, "wait s": r.wait_s} for r in roles),
        ),
        formula_line(
            "link_utilization",
            "Utilisation of the most utilised links",
            r"\rho_n = \max_r \rho_r",
            "",
            max(role.utilization(load) for role in model.roles),
        ),
    ]
    return PathWorking(tuple(lines), tuple(roles), total)


def _role_lines(
    role: LinkRole, load: float, bundles: float, pairs: float
) -> tuple[RoleWait, list[WorkingLine]]:
    rho = role.background_utilization + role.each * role.slower * load
    together = role.both * max(0.0, 1.0 - role.spacing * (1.0 - rho))
    moment = role.background_moment_s + role.slower**2 * (role.each * bundles + together * pairs)
    wait = moment / (2.0 * (1.0 - rho)) if rho < 1.0 else math.inf
    slower, each = tex_number(role.slower), tex_number(role.each)
    own = rf"{slower}^2 ({each}\cdot {tex_time(bundles)} + {tex_number(together)}\cdot {tex_time(pairs)})"
    return RoleWait(role, rho, wait), [
        formula_line(
            f"link_utilization:{role.name}",
            f"Utilisation of {role.name}",
            r"\rho_r = \rho_{bg} + \pi\,\frac{C}{C_r}\, y",
            rf"{tex_number(role.background_utilization)} + {each}\cdot {slower}\cdot {tex_number(load)}",
            rho,
        ),
        formula_line(
            f"link_wait:{role.name}",
            f"Mean wait at {role.name} (Pollaczek–Khinchine)",
            r"W_r = \frac{(\lambda E[S^2])_{bg} + (C/C_r)^2 (\pi B + \pi_2 (Q-B))}{2(1-\rho_r)}",
            rf"\frac{{{tex_time(role.background_moment_s)} + {own}}}{{2(1 - {tex_number(rho)})}}",
            wait,
            "s",
        ),
    ]


@dataclass(frozen=True, slots=True)
class _ServerLoad:
    """Load of one row of the workload on one kind of executor: share drawn, seconds and squares."""

    model: str
    rate: float
    share: float
    compute_s: float
    squares_s2: float

    def cells(self, several: bool) -> Cells:
        """Return the row of a table; with one kind of executor every share is 1 and not shown."""
        return {
            "model": self.model,
            "rate 1/s": self.rate,
            **({"share": self.share} if several else {}),
            "compute s per query": self.compute_s,
            "squared visits s²": self.squares_s2,
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
    model: PlacementModel, x: Probabilities, names: Sequence[str]
) -> tuple[list[WorkingLine], list[float]]:
    """Utilisation, second moment and wait of each kind of executor; the mean wait of each model's visits.

    Where executors are drawn uniformly every visit waits the same, and the last line says how long.
    """
    stream, lines, waits = model.system.background_compute, [], list[float]()
    several = len(model.system.class_names) > 1
    for k, kind in enumerate(model.system.class_names):
        loads = _server_loads(model, x, names, k)
        executors = int(model.system.class_counts[k])
        background = stream.rate * stream.mean
        rho = background + sum(r.rate * r.share * r.compute_s for r in loads) / executors
        moment = stream.rate * second_moment(stream)
        moment += sum(r.rate * r.share * r.squares_s2 for r in loads) / executors
        waits.append(moment / (2 * (1 - rho)) if rho < 1 else math.inf)
        of_kind = _Executors(kind, executors, background, rho, moment, waits[-1])
        lines.append(_server_utilization_line(of_kind, loads, several))
        lines.append(_wait_line(of_kind, several))
    seen = [sum(float(s) * w for s, w in zip(row, waits, strict=True) if s > 0) for row in model.shares]
    if model.class_shares is None:
        return [*lines, _uniform_line(model, waits, seen[0])], seen
    return [*lines, *(_seen_line(model, j, name, waits, seen[j]) for j, name in enumerate(names))], seen


def visit_line(weights: Sequence[float], visits: Sequence[float], seen: Sequence[float]) -> WorkingLine:
    """Return the mean wait of a visit over the mix, where models wait at executors of other kinds."""
    terms = [(w * a, s) for w, a, s in zip(weights, visits, seen, strict=True) if w * a > 0]
    total = sum(a * s for a, s in terms) / sum(a for a, _ in terms) if terms else seen[0]
    top = tex_sum([rf"{tex_number(a)}\cdot {tex_time(s)}" for a, s in terms])
    bottom = tex_sum([tex_number(a) for a, _ in terms])
    return formula_line(
        "server_wait",
        "Mean wait of a visit over the mix",
        r"W_c = \frac{\sum_j w_j A_j W_{c,j}}{\sum_j w_j A_j},\quad A_j = \mathrm{visits\ of\ a\ query}",
        rf"\frac{{{top}}}{{{bottom}}}",
        total,
        "s",
    )


def _server_loads(model: PlacementModel, x: Probabilities, names: Sequence[str], k: int) -> list[_ServerLoad]:
    return [
        _ServerLoad(
            names[j],
            q.rate,
            float(model.shares[j, k]),
            float(q.load_s[k].sum()),
            model.servers.chains[k][j].squares(x[j]),
        )
        for j, q in enumerate(model.system.queries)
    ]


def _uniform_line(model: PlacementModel, waits: Sequence[float], total: float) -> WorkingLine:
    title, formula = (
        "Mean wait of a visit at an executor drawn uniformly",
        r"W_c = \sum_k \mathrm{share}_k\, W_{c,k}",
    )
    return formula_line(
        "server_wait", title, formula, _weighted(model.system.class_weights, waits), total, "s"
    )


def _seen_line(model: PlacementModel, j: int, name: str, waits: Sequence[float], total: float) -> WorkingLine:
    title = f"Mean wait of a visit of {name}, which draws executors by its shares"
    filled = _weighted(model.shares[j], waits)
    return formula_line(
        f"server_wait:{name}", title, r"W_{c,j} = \sum_k s_{jk}\, W_{c,k}", filled, total, "s"
    )


def _weighted(shares: Iterable[float], waits: Sequence[float]) -> str:
    pairs = zip(map(float, shares), waits, strict=True)
    return tex_sum([rf"{tex_number(share)}\cdot {tex_time(wait)}" for share, wait in pairs if share > 0])


def _server_utilization_line(
    executors: _Executors, loads: Sequence[_ServerLoad], several: bool
) -> WorkingLine:
    terms = [
        rf"{tex_rate(r.rate)}\cdot "
        + (rf"{tex_number(r.share)}\cdot " if several else "")
        + tex_time(r.compute_s)
        for r in loads
        if r.share > 0 or not several
    ]
    sums = rf"{tex_number(executors.background)} + \frac{{{tex_sum(terms)}}}{{{executors.number}}}"
    return formula_line(
        f"utilization:{executors.kind}",
        f"Utilisation of an executor, {executors.kind}",
        rf"\rho_k = \rho_{{bg}} + \frac{{1}}{{n_k}}\sum_j \lambda_j{_share(several)} \sum_v p_v",
        sums,
        executors.utilization,
        table=(r.cells(several) for r in loads),
    )


def _wait_line(executors: _Executors, several: bool) -> WorkingLine:
    return formula_line(
        f"wait:{executors.kind}",
        f"Mean wait at an executor, {executors.kind} (Pollaczek–Khinchine)",
        r"W_k = \frac{(\lambda E[S^2])_{bg} + \frac{1}{n_k}\sum_j \lambda_j"
        rf"{_share(several)} \sum_{{visits}} s^2}}{{2(1-\rho_k)}}",
        rf"\frac{{{tex_time(executors.moment_s)}}}{{2(1 - {tex_number(executors.utilization)})}}",
        executors.wait_s,
        "s",
    )


def _share(several: bool) -> str:
    """Return the factor for the share of a kind of executors; with one kind it is 1."""
    return " s_{jk}" if several else ""
