"""The objective: mean JCT of the query mix as a function of the probabilities, with its gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.formula.model import Model, Probabilities
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.longest_paths import COMPUTE, LINK, TRANSFER, VISITS, spans
from nona.placement.spans.single_span import single_span
from nona.placement.waits.link_price import LinkPrice, network_price
from nona.placement.waits.link_roles import Traffic

Floats = NDArray[np.float64]
Terms = tuple[float, ...]
_OVERLOADED = 1e9  # seconds of wait, of a link that is overloaded
_FEW = 3  # configurations in use up to which plain numbers are quicker than arrays


@dataclass(frozen=True, eq=False)
class Value:
    """The objective at one point; ``server_wait_s`` (J,) is the wait of a visit of each query class.

    ``terms`` (J, 4) are, for each class, the path's compute seconds, transfer seconds, coefficient
    of the link's wait and number of visits; ``spans`` are those of every candidate, if they were
    asked for. ``class_wait_s`` (K,) are the waits at each executor class, ``nan`` where they were given.

    Where a message crosses several links, ``link_wait`` is its wait on the whole way, and utilisation
    and moment are those of the links used most; ``traffic`` is what they follow from.
    """

    link_utilization: float
    link_moment: float
    link_wait: float
    server_wait_s: Floats
    terms: Floats
    spans: list[list[tuple[Floats, Floats]]]
    class_wait_s: Floats
    traffic: Traffic | None = None

    @property
    def jct_s(self) -> Floats:
        """(J,) Mean JCT of each class; ``inf`` where it uses an overloaded link."""
        link = np.where(self.terms[:, LINK] > 0, self.link_wait, 0.0) * self.terms[:, LINK]
        total: Floats = (
            self.terms[:, COMPUTE]
            + self.terms[:, TRANSFER]
            + link
            + self.terms[:, VISITS] * self.server_wait_s
        )
        return total


def value_at(
    model: Model, x: Probabilities, server_wait_s: Floats | float | None = None, *, every: bool = False
) -> Value:
    """Evaluate equation 10 and 11 of every sub-graph at the waits that ``x`` brings about.

    Formula: T_j = Σ_cuts p + v_j·W_c + Σ_k Σ_c x_k,c·span_c(W_n, W_c), where W_n follows from the
    messages' moments and W_c from the run lengths, and v_j counts the first visit.

    Parameters
    ----------
    x
        ``x[j][k]`` (n,) over the candidates of sub-graph k of class j.
    server_wait_s
        W_c, when it is to be held constant: of every query class (J,), or one for all.
    every
        Evaluate the spans of all candidates, as the gradient needs, not only of those in use.
    """
    only = model.support(x)
    traffic = model.traffic(x, only) if model.roles else None
    if traffic is None:
        rho, moment = model.link_load(x, only)
        link_wait = model.link_wait(rho, moment)
    else:
        rho, moment = model.busiest(traffic)
        link_wait = model.curve.wait(traffic.load, traffic.bundle_s, traffic.batch_s - traffic.bundle_s)
    class_waits = np.full(len(model.system.class_names), math.nan)
    if server_wait_s is None:
        class_waits = model.class_wait_s(x, only)
        server_wait_s = model.servers.seen_s(class_waits)
    waits = np.broadcast_to(np.asarray(server_wait_s, dtype=float), (len(model.candidates),))
    # On an overloaded link the path with most messages counts; its wait is put in afterwards.
    used = link_wait if math.isfinite(link_wait) else _OVERLOADED
    terms, details = np.zeros((len(model.candidates), 4)), []
    for j, (row, visit_s) in enumerate(zip(model.candidates, waits.tolist(), strict=True)):
        own = [float(model.cut_s[j].sum()), 0.0, 0.0, float(model.first_visits[j])]
        known: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        paths: dict[tuple[int, int], Terms] = {}
        found = []
        for c, p, at in zip(row, x[j], only[j], strict=True):
            if every:
                if (id(c), 0) not in known:
                    known[id(c), 0] = spans(c, used, visit_s)
                found.append(known[id(c), 0])
            path = paths.get((id(c), at))
            if path is None:
                path = _path(c, p, at, used, visit_s)
                if at >= 0:
                    paths[id(c), at] = path
            own = [total + term for total, term in zip(own, path, strict=True)]
        terms[j] = own
        details.append(found)
    return Value(rho, moment, link_wait, waits, terms, details, class_waits, traffic)


def _path(c: Candidates, p: Floats, at: int, wait: float, server_wait_s: float) -> Terms:
    """The terms of a sub-graph's path, averaged over its configurations, all on ``at`` if that is not −1."""
    if at >= 0:
        return single_span(c, at, wait, server_wait_s)[1]
    rows = np.flatnonzero(p)
    if len(rows) > _FEW:
        path = spans(c, wait, server_wait_s, rows)[1]
    else:
        path = np.array([single_span(c, row, wait, server_wait_s)[1] for row in rows.tolist()]).T
    mean: Terms = tuple((path.reshape(4, len(rows)) @ p[rows]).tolist())
    return mean


def objective_s(model: Model, value: Value) -> float:
    """F = Σ_j w_j T_j, seconds; classes without arrivals do not count unless none arrive."""
    counted = model.weights > 0
    return float(model.weights[counted] @ value.jct_s[counted])


def link_price(model: Model, value: Value) -> LinkPrice:
    """The gradient of the link's wait: by the load, and by the squares of the batches.

    FIFO: w = M/(2(1 − ρ)), so w/(1 − ρ) and 1/(2(1 − ρ)). Sharing: w = ρ/(1 − ρ), so 1/(1 − ρ)² and 0.
    Several links: :func:`~nona.placement.waits.link_price.network_price`; where one of them is
    overloaded a price on load alone, so high that taking load off comes first.
    """
    if value.traffic is not None:
        if not math.isfinite(value.link_wait):
            return LinkPrice(_OVERLOADED, 0.0)
        return network_price(model.curve, value.traffic)
    spare = 1.0 - value.link_utilization
    if model.system.discipline == "fifo":
        return LinkPrice(value.link_wait / spare, 0.5 / spare)
    return LinkPrice(spare**-2, 0.0)


def gradient(model: Model, value: Value, x: Probabilities, *, server_wait_fixed: bool) -> list[list[Floats]]:
    """dF/dx almost everywhere (the longest path's, where it is unique); ``value`` with ``every``.

    Formula: w_j·span_c + A_n·λ_j·(∂w/∂ρ·load_c + ∂w/∂M·square_c) + A_c·∂W_c/∂x, with A_n and
    A_c the expected coefficients of the link's and the server's wait. The second term is the price
    of congestion (Pigou): what a configuration's traffic costs to all others.
    """
    weighted = model.weights @ value.terms
    wait = link_price(model, value)
    result = []
    for j, row in enumerate(model.candidates):
        rate = weighted[LINK] * model.system.queries[j].rate
        result.append(
            [
                model.weights[j] * span + rate * wait.of(c.messages)
                for c, (span, _) in zip(row, value.spans[j], strict=True)
            ]
        )
    if not server_wait_fixed:
        visits = model.weights * value.terms[:, VISITS]
        for totals, extra in zip(result, model.server_wait_gradient(x, visits), strict=True):
            for total, (part, _) in zip(totals, extra, strict=True):
                total += part
    return result
