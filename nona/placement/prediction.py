"""Predictions of queueing theory for a placement, and the parts of its time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nona.placement.capacity import check_feasible
from nona.placement.link_waits import Role, Traffic, roles_of, wait_per_byte
from nona.placement.messages import cubes
from nona.placement.model import Known, Model, Value, link_price, objective_s, value_at
from nona.placement.result import (
    ClassPrediction,
    LinkPrediction,
    Prediction,
    QueryPrediction,
    SubGraphPlacement,
)
from nona.placement.spans import COMPUTE, LINK, TRANSFER, VISITS
from nona.system import System

if TYPE_CHECKING:
    from nona.placement.model import Probabilities


Floats = NDArray[np.float64]


def predict(
    system: System,
    queries: Sequence[Sequence[SubGraphPlacement]],
    shares: Floats | None = None,
    known: Known | None = None,
) -> Prediction:
    """Predict the mean JCT of any placement, with waits that are consistent with its own load.

    Parameters
    ----------
    queries
        ``queries[j][k]``: the configurations of sub-graph k of query class j with probabilities.
    shares
        (J, K) Probability that a server drawn for query class j is of executor class k; by default
        every executor is drawn alike.
    known
        Configurations of this system and these shares that were evaluated before.

    Returns
    -------
    Prediction
        An overloaded link gives ``network_wait_s`` = ``inf``, and an infinite JCT for the classes
        that use it.

    Raises
    ------
    PlacementError
        When the executors or the link's background are overloaded: then nothing is stable.

    Notes
    -----
    Limits: messages of a job that meet at the link, and repeated visits to one executor, are
    treated as independent Poisson streams; the mean of a maximum is taken as the maximum of means,
    which understates it. Under processor sharing ``network_wait_s`` is the mean extra time of a
    transfer: w times the mean link seconds of a message batch, the background's if nothing is sent.
    Over several links it is the mean wait of a message on its whole way, and ``network_utilization``
    that of the links used most; ``links`` has every role of links.
    """
    check_feasible(system, shares)
    model, x = as_model(system, queries, shares, known)
    return prediction_of(model, value_at(model, x))


def as_model(
    system: System,
    queries: Sequence[Sequence[SubGraphPlacement]],
    shares: Floats | None = None,
    known: Known | None = None,
) -> tuple[Model, list[list[Floats]]]:
    """A placement's configurations as a model of these alone, with their probabilities as its point.

    ``known`` holds what was evaluated before, of this system under these shares.
    """
    known = Known(system, shares) if known is None else known
    rows = tuple(
        tuple(known.candidates(j, k, placed) for k, placed in enumerate(row)) for j, row in enumerate(queries)
    )
    x = [[np.asarray(placed.probabilities, dtype=float) for placed in row] for row in queries]
    return Model(known.system, rows, shares), x


def prediction_of(model: Model, value: Value) -> Prediction:
    """The :class:`Prediction` of an evaluated point."""
    queries = []
    for t, visit_s in zip(value.terms, value.server_wait_s.tolist(), strict=True):
        wait = t[LINK] * value.link_wait if t[LINK] > 0 else 0.0
        parts = (float(t[COMPUTE]), float(t[TRANSFER]), float(wait), float(t[VISITS] * visit_s))
        queries.append(QueryPrediction(sum(parts), *parts))
    used = model.system.class_weights
    return Prediction(
        jct_s=objective_s(model, value),
        network_wait_s=_network_wait_s(model, value),
        server_wait_s=_visit_wait_s(model, value),
        network_utilization=value.link_utilization,
        compute_utilization=float(used @ model.compute_utilization),
        congestion_price_s_per_byte=congestion_price(model, value),
        queries=tuple(queries),
        classes=tuple(
            ClassPrediction(name, int(n), float(rho), float(wait))
            for name, n, rho, wait in zip(
                model.system.class_names,
                model.system.class_counts,
                model.compute_utilization,
                value.class_wait_s,
                strict=True,
            )
        ),
        links=_links(model, value),
    )


def _visit_wait_s(model: Model, value: Value) -> float:
    """Mean wait of a visit, all query classes together: Σ_j w_j A_j W^j / Σ_j w_j A_j."""
    waits = value.server_wait_s
    visits = model.weights * value.terms[:, VISITS]
    if (waits == waits[0]).all() or visits.sum() <= 0:
        return float(waits[0])
    counted = visits > 0
    return float(np.average(waits[counted], weights=visits[counted]))


def _network_wait_s(model: Model, value: Value) -> float:
    if model.system.discipline == "fifo" or not math.isfinite(value.link_wait):
        return value.link_wait
    stream, system = model.system.background_network, model.system
    sent = sum(q.rate for q in system.queries)
    own = value.link_utilization - model.background[0]
    if own > 0 and sent > 0:
        return value.link_wait * own / sent
    return value.link_wait * stream.mean / system.capacity


def congestion_price(model: Model, value: Value) -> float:
    """Seconds that one more byte on the link costs to all queries together.

    Formula: Λ·A_n·(dw/dρ)/C, with A_n the expected coefficient of the link's wait in the mean JCT,
    and dw/dρ along growing traffic of the present mix of sizes: w/(ρ(1 − ρ)) under FIFO, where the
    second moment grows with ρ, and 1/(1 − ρ)² under processor sharing. 0 at a link without
    traffic or without users, ``inf`` at an overloaded one. Over several links dw/dρ is that of each,
    see :func:`~nona.placement.link_waits.wait_per_byte`.
    """
    weighted = float(model.weights @ value.terms[:, LINK])
    rate = model.system.total_rate
    if weighted <= 0 or rate <= 0:
        return 0.0
    if not math.isfinite(value.link_wait):
        return math.inf
    if value.traffic is not None:
        return rate * weighted * wait_per_byte(model.roles, value.traffic)
    wait = link_price(model, value)
    by_rho = wait.load
    if value.link_utilization > 0:
        by_rho += wait.square * value.link_moment / value.link_utilization
    return rate * weighted * by_rho / model.system.capacity


def _links(model: Model, value: Value) -> tuple[LinkPrediction, ...]:
    """The wait at every role of links; at the one link where there is but one, none with one server."""
    if value.traffic is not None:
        return tuple(
            LinkPrediction(
                r.name,
                r.kind,
                r.links,
                r.share,
                r.capacity,
                r.utilization(value.traffic.load),
                r.wait_s(value.traffic),
            )
            for r in model.roles
        )
    if model.system.servers < 2:
        return ()
    wait_s = _network_wait_s(model, value)
    return (LinkPrediction("link", "link", 1, 1.0, model.system.capacity, value.link_utilization, wait_s),)


@dataclass(frozen=True, slots=True)
class LinkWait:
    """One role of links.

    Attributes
    ----------
    name, kind, links, capacity, share
        As of :class:`~nona.placement.link_waits.Role`: a message crosses one of the ``links``
        with probability ``share``.
    utilization
        ρ of each, background included.
    wait_s
        Mean wait of a message that crosses one; ``inf`` where it is overloaded.
    square_s2
        Mean square of that wait: E[W²] = 2·E[W]² + λE[S³]/(3(1 − ρ)).

    Notes
    -----
    The mean wait of a message on its whole way is Σ share·wait_s. E[W²] is that of the M/G/1 queue,
    first come first served (L. Takács 1962; L. Kleinrock, Queueing Systems I, 1975, 5.7).
    """

    name: str
    kind: str
    links: int
    capacity: float
    share: float
    utilization: float
    wait_s: float
    square_s2: float


def link_waits(model: Model, x: Probabilities) -> tuple[LinkWait, ...]:
    """The waits at the point ``x``, in the order in which a message crosses the roles.

    One entry of share 1 where there is one link; none where there is one server. For links first
    come, first served.
    """
    roles = roles_of(model.system, model.class_shares)
    return _waits_of(roles, traffic_of(model, x), _cubes(model, x)) if roles else ()


def _waits_of(roles: Sequence[Role], traffic: Traffic, cube: tuple[float, float]) -> tuple[LinkWait, ...]:
    """The waits under ``traffic``; ``cube`` is Σ λ(·)³ of its bundles and its batches."""
    waits = []
    for r in roles:
        rho, wait = r.utilization(traffic.load), r.wait_s(traffic)
        third = r.background_cube_s2 + r.slower**3 * (
            r.each * cube[0] + r.together(rho) * max(cube[1] - cube[0], 0.0)
        )
        square = 2.0 * wait**2 + third / (3.0 * (1.0 - rho)) if rho < 1.0 else math.inf
        waits.append(LinkWait(r.name, r.kind, r.links, r.capacity, r.share, rho, wait, square))
    return tuple(waits)


def traffic_of(model: Model, x: Probabilities) -> Traffic:
    """Return the traffic of the queries at the point ``x``."""
    load = bundle = batch = 0.0
    for q, row, ps in zip(model.system.queries, model.candidates, x, strict=True):
        for c, p in zip(row, ps, strict=True):
            m = c.messages
            # Where there is one link, bundles need not be distinguished from batches.
            square = m.square_s2 if c.link.route is None else m.bundle_s2
            load += q.rate * float(p @ m.load_s)
            bundle += q.rate * float(p @ square)
            batch += q.rate * float(p @ m.square_s2)
    return Traffic(load, bundle, batch)


def _cubes(model: Model, x: Probabilities) -> tuple[float, float]:
    """Σ λ(link seconds)³ over bundles and over batches."""
    bundle = batch = 0.0
    for q, row, ps in zip(model.system.queries, model.candidates, x, strict=True):
        for c, p in zip(row, ps, strict=True):
            used = np.flatnonzero(p)
            if len(used):
                whole, parts = cubes(c.shape, c.labels[used], c.link)
                batch += q.rate * float(p[used] @ whole)
                bundle += q.rate * float(p[used] @ parts)
    return bundle, batch
