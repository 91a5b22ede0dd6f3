"""Predictions of queueing theory for a placement, and the parts of its time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nona.core.arrays import Floats
from nona.queries.placement.capacity import check_feasible
from nona.queries.placement.link_waits import wait_per_byte
from nona.queries.placement.model import (
    ObjectiveValue,
    PlacementModel,
    SampledCandidates,
    link_price,
    objective_s,
    value_at,
)
from nona.queries.placement.result import SubGraphPlacement
from nona.queries.placement.results import PredictedClass, PredictedLink, PredictedTimes, Prediction
from nona.queries.placement.spans import COMPUTE, LINK, TRANSFER, VISITS
from nona.queries.system import System


def predict(
    system: System,
    queries: Sequence[Sequence[SubGraphPlacement]],
    shares: Floats | None = None,
    evaluated: SampledCandidates | None = None,
) -> Prediction:
    """Predict the mean JCT of any placement, with waits that are consistent with its own load.

    ``queries``: ``queries[j][k]``: the configurations of sub-graph k of query class j with probabilities.
    ``shares``: (J, K) Probability that a server drawn for query class j is of executor class k; by default
        every executor is drawn alike.
    ``evaluated``: configurations of this system and these shares that were evaluated before.

    An overloaded link gives ``network_wait_s`` = ``inf``, and an infinite JCT for the classes that
    use it.

    Raises ``PlacementError`` when the executors or the link's background are overloaded: then nothing is
    stable.

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
    model, x = as_model(system, queries, shares, evaluated)
    return prediction_of(model, value_at(model, x))


def link_utilization(
    system: System,
    queries: Sequence[Sequence[SubGraphPlacement]],
    shares: Floats | None,
    evaluated: SampledCandidates,
) -> float:
    """Return the utilization of the link, or of the fullest one; parameters as of :func:`predict`."""
    model, x = as_model(system, queries, shares, evaluated)
    only = model.support(x)
    return model.busiest(model.traffic(x, only))[0] if model.roles else model.link_load(x, only)[0]


def as_model(
    system: System,
    queries: Sequence[Sequence[SubGraphPlacement]],
    shares: Floats | None = None,
    evaluated: SampledCandidates | None = None,
) -> tuple[PlacementModel, list[list[Floats]]]:
    """Return a placement's configurations as a model of these alone, with their probabilities as its point.

    ``evaluated`` holds what was evaluated before, of this system under these shares.
    """
    evaluated = SampledCandidates(system, shares) if evaluated is None else evaluated
    rows = tuple(
        tuple(evaluated.candidates(j, k, placed) for k, placed in enumerate(row))
        for j, row in enumerate(queries)
    )
    x = [[np.asarray(placed.probabilities, dtype=float) for placed in row] for row in queries]
    return PlacementModel(evaluated.system, rows, shares), x


_PARTS = ("compute_s", "transfer_s", "network_wait_s", "server_wait_s")


def prediction_of(model: PlacementModel, value: ObjectiveValue) -> Prediction:
    """Return the :class:`Prediction` of an evaluated point."""
    queries = []
    for t, visit_s in zip(value.terms, value.server_wait_s.tolist(), strict=True):
        wait = t[LINK] * value.link_wait if t[LINK] > 0 else 0.0
        parts = (float(t[COMPUTE]), float(t[TRANSFER]), float(wait), float(t[VISITS] * visit_s))
        queries.append(PredictedTimes(jct_s=sum(parts), **dict(zip(_PARTS, parts, strict=True))))
    used = model.system.class_weights
    return Prediction(
        jct_s=objective_s(model, value),
        network_wait_s=_network_wait_s(model, value),
        server_wait_s=_visit_wait_s(model, value),
        network_utilization=value.link_utilization,
        compute_utilization=float(used @ model.servers.utilization),
        congestion_price_s_per_byte=congestion_price(model, value),
        queries=tuple(queries),
        classes=tuple(
            PredictedClass(executor_class=name, executors=int(n), utilization=float(rho), wait_s=float(wait))
            for name, n, rho, wait in zip(
                model.system.class_names,
                model.system.class_counts,
                model.servers.utilization,
                value.class_wait_s,
                strict=True,
            )
        ),
        links=_links(model, value),
    )


def _visit_wait_s(model: PlacementModel, value: ObjectiveValue) -> float:
    """Mean wait of a visit, all query classes together: Σ_j w_j A_j W^j / Σ_j w_j A_j."""
    waits = value.server_wait_s
    visits = model.weights * value.terms[:, VISITS]
    if (waits == waits[0]).all() or visits.sum() <= 0:
        return float(waits[0])
    counted = visits > 0
    return float(np.average(waits[counted], weights=visits[counted]))


def _network_wait_s(model: PlacementModel, value: ObjectiveValue) -> float:
    if model.system.discipline == "fifo" or not math.isfinite(value.link_wait):
        return value.link_wait
    stream, system = model.system.background_network, model.system
    sent = sum(q.rate for q in system.queries)
    own = value.link_utilization - model.background[0]
    if own > 0 and sent > 0:
        return value.link_wait * own / sent
    return value.link_wait * stream.mean / system.capacity


def congestion_price(model: PlacementModel, value: ObjectiveValue) -> float:
    """Seconds that one more byte on the link costs to all queries together.

    Formula: Λ·A_n·(dw/dρ)/C, with A_n the expected coefficient of the link's wait in the mean JCT,
    and dw/dρ along growing traffic of the present mix of sizes: w/(ρ(1 − ρ)) under FIFO, where the
    second moment grows with ρ, and 1/(1 − ρ)² under processor sharing. 0 at a link without
    traffic or without users, ``inf`` at an overloaded one. Over several links dw/dρ is that of each,
    see :func:`~nona.queries.placement.link_waits.wait_per_byte`.
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


def _links(model: PlacementModel, value: ObjectiveValue) -> tuple[PredictedLink, ...]:
    """Return the wait at every role of links; at the one link where there is but one."""
    traffic = value.traffic
    if traffic is not None:
        return tuple(
            PredictedLink.from_fields(r, utilization=r.utilization(traffic.load), wait_s=r.wait_s(traffic))
            for r in model.roles
        )
    if model.system.servers < 2:
        return ()
    link = PredictedLink(
        name="link",
        kind="link",
        links=1,
        share=1.0,
        capacity=model.system.capacity,
        utilization=value.link_utilization,
        wait_s=_network_wait_s(model, value),
    )
    return (link,)
