"""How long a message waits at each role of links, at a point of the placement model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nona.placement.spans.messages import cubes
from nona.placement.waits.link_roles import Role, Traffic, roles_of

if TYPE_CHECKING:
    from nona.placement.formula.model import Model, Probabilities

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinkWait:
    """One role of links.

    Attributes
    ----------
    name, kind, links, capacity, share
        As of :class:`~nona.placement.waits.link_roles.Role`: a message crosses one of the ``links``
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
    return waits_of(roles, traffic_of(model, x), _cubes(model, x)) if roles else ()


def waits_of(roles: Sequence[Role], traffic: Traffic, cube: tuple[float, float]) -> tuple[LinkWait, ...]:
    """The waits under ``traffic``; ``cube`` is Σ λ(·)³ of its bundles and its batches."""
    found = []
    for r in roles:
        rho, wait = r.utilization(traffic.load), r.wait_s(traffic)
        third = r.background_cube_s2 + r.slower**3 * (
            r.each * cube[0] + r.together(rho) * max(cube[1] - cube[0], 0.0)
        )
        square = 2.0 * wait**2 + third / (3.0 * (1.0 - rho)) if rho < 1.0 else math.inf
        found.append(LinkWait(r.name, r.kind, r.links, r.capacity, r.share, rho, wait, square))
    return tuple(found)


def traffic_of(model: Model, x: Probabilities) -> Traffic:
    """What the queries send at the point ``x``."""
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
