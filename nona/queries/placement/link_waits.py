"""Waits at links by their roles, as a function of the load, and the price of more load.

All load on links comes from the same messages, so every link's utilisation is a line in one number,
y = Σ λ·D/C: the seconds per second that the queries' messages would take at the core if all of them
crossed it. A link that a message crosses with probability π, c = C/C_l times as slow as the core::

    ρ_l = ρ0_l + π·c·y
    λE[S²]_l = b0_l + c²·(π·B + π2·max(0, 1 − r(1 − ρ_l))·(Q − B))

Q and B are Σ λ·(bytes/C)² over batches and over bundles (a bundle: what of a batch goes to one
server), π2 the probability that two messages of a batch both cross the link. r = (seconds per byte
before the link)/(seconds per byte at it): behind a slow card the messages of a batch arrive one
after the other, and meet at the link only as far as it has not got rid of them
(evidence/notebook/links.md).

With y the load of the queries, B the squares of their bundles and P = Q − B ≥ 0 what their batches
have beyond (:mod:`nona.queries.placement.link_waits`), Pollaczek–Khinchine at every role gives

    w(y, B, P) = A0(y) + A1(y)·B + A2(y)·P
    A0 = Σ_r q_r·b0_r/(2(1 − ρ_r))                     q_r: share of messages that cross role r
    A1 = Σ_r q_r·c_r²·π_r/(2(1 − ρ_r))
    A2 = Σ_r q_r·c_r²·π2_r/2·max(0, 1/(1 − ρ_r) − r_r)

ρ_r is a line in y, so each A is convex and increasing up to the load at which a role is full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nona.core.arrays import Floats
from nona.queries.placement.link_routes import crossings, draws_of
from nona.queries.placement.messages import Messages
from nona.queries.placement.queueing import second_moment
from nona.queries.system import BackgroundStream, System

KINDS = ("server out", "rack up", "core", "rack down", "server in")


@dataclass(frozen=True, slots=True)
class LinkTraffic:
    """Messages of the queries in seconds at the core: y = Σ λD/C, and Σ λ(·)² of bundles and batches."""

    load: float
    bundle_s: float
    batch_s: float


@dataclass(frozen=True, slots=True)
class LinkRole:
    """``links`` links that are alike.

    ``name``, ``kind``: unique name; one of :data:`KINDS`, or ``link`` where there is one link for all.
    ``capacity``: bytes/s of each.
    ``share``: probability that a message crosses one of them.
    ``each``, ``both``: probability that a message crosses a given one; that two of a batch, to different
        servers, do.
    ``slower``: c: how many times as long a byte takes as at the core.
    ``spacing``: r above.
    ``background_utilization``, ``background_moment_s``: ρ0 and b0 = λE[S²] in seconds, of its background.
    """

    name: str
    kind: str
    links: int
    capacity: float
    share: float
    each: float
    both: float
    slower: float
    spacing: float
    background_utilization: float
    background_moment_s: float

    def utilization(self, load: float) -> float:
        """ρ at the load y."""
        return self.background_utilization + self.each * self.slower * load

    def batch_overlap(self, utilization: float) -> float:
        """π2·max(0, 1 − r(1 − ρ)): how much of a batch still meets at the link."""
        return self.both * max(0.0, 1.0 - self.spacing * (1.0 - utilization))

    def moment_s(self, traffic: LinkTraffic) -> float:
        """λE[S²] in seconds, with batches as far as they meet."""
        spread = max(traffic.batch_s - traffic.bundle_s, 0.0)
        own = self.each * traffic.bundle_s
        return self.background_moment_s + self.slower**2 * (
            own + self.batch_overlap(self.utilization(traffic.load)) * spread
        )

    def wait_s(self, traffic: LinkTraffic) -> float:
        """Mean wait (Pollaczek–Khinchine); ``inf`` where the link is overloaded."""
        rho = self.utilization(traffic.load)
        return self.moment_s(traffic) / (2.0 * (1.0 - rho)) if rho < 1.0 else math.inf


def roles_of(system: System, shares: Floats | None = None) -> tuple[LinkRole, ...]:
    """Return the roles of the links of ``system``, in the order in which a message crosses them.

    ``shares`` (J, K) are those of the executor classes, as in the placement's model.

    Links of one role that differ in capacity, background or share (racks of unequal size) come
    apart; those that no message crosses are left out.

    >>> from nona.cluster.topology import make_topology
    >>> system = System(
    ...     np.arange(4), np.zeros(4, dtype=np.int64), ("gpu",), 100.0, 0.0, "fifo",
    ...     BackgroundStream(), BackgroundStream(), (),
    ...     topology=make_topology(4, 100.0, nic=10.0, rack_size=2, uplink=20.0),
    ... )
    >>> [(r.name, r.links, round(r.share, 3)) for r in roles_of(system)][:3]
    [('server out', 4, 1.0), ('rack up', 2, 0.667), ('core', 1, 0.667)]
    """
    if system.servers < 2:
        return ()
    if system.topology is None:
        stream = system.background_network
        return (_role("link", "link", 1, system.capacity, 1.0, _Crossed(1.0, 1.0, 0.0), stream),)
    t = system.topology
    uses = crossings(t, draws_of(system, shares))
    kind = np.full(t.links, -1)
    kind[t.core] = 2
    for place, of in ((0, t.out_link), (1, t.up_link), (3, t.down_link), (4, t.in_link)):
        kind[of[of >= 0]] = place
    alike: dict[tuple[float, ...], list[int]] = {}
    streams = [s for _, s in system.link_streams]
    for k in np.lexsort((np.arange(t.links), kind)).tolist():
        if kind[k] >= 0 and uses.share[k] > 1e-12:
            numbers = (uses.share[k], uses.both[k], uses.ahead[k], t.link_capacity[k], streams[k].rate)
            key = (float(kind[k]), *(float(f"{n:.9e}") for n in numbers))
            alike.setdefault(key, []).append(k)
    kinds = [int(key[0]) for key in alike]
    roles = []
    for links, place in zip(alike.values(), kinds, strict=True):
        k, name = links[0], KINDS[place]
        if kinds.count(place) > 1:
            name = _listed([t.link_names[i] for i in links])
        crossed = _Crossed(float(uses.share[k]), float(uses.both[k]), float(uses.ahead[k]))
        capacity = float(t.link_capacity[k])
        slower = system.capacity / capacity
        roles.append(_role(name, KINDS[place], len(links), capacity, slower, crossed, streams[k]))
    return tuple(roles)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} like it"


class _Crossed(NamedTuple):
    share: float
    both: float
    ahead: float


def _role(
    name: str,
    kind: str,
    links: int,
    capacity: float,
    slower: float,
    crossed: _Crossed,
    stream: BackgroundStream,
) -> LinkRole:
    return LinkRole(
        name=name,
        kind=kind,
        links=links,
        capacity=capacity,
        share=crossed.share * links,
        each=crossed.share,
        both=crossed.both,
        slower=slower,
        spacing=capacity * crossed.ahead if crossed.ahead else 0.0,
        background_utilization=stream.load(capacity),
        background_moment_s=stream.rate * second_moment(stream) / capacity**2,
    )


@dataclass(frozen=True, eq=False)
class WaitCurves:
    """The three curves of some roles; arrays (R,) of the letters above, ``per_load`` is dρ/dy."""

    rho0: Floats
    per_load: Floats
    spacing: Floats
    background: Floats
    bundle: Floats
    pair: Floats

    @staticmethod
    def from_roles(roles: Sequence[LinkRole]) -> WaitCurves:
        """Return the curves of some roles."""

        def column(value: Sequence[float]) -> Floats:
            return np.array(value, dtype=float)

        return WaitCurves(
            rho0=column([r.background_utilization for r in roles]),
            per_load=column([r.each * r.slower for r in roles]),
            spacing=column([r.spacing for r in roles]),
            background=column([0.5 * r.share * r.background_moment_s for r in roles]),
            bundle=column([0.5 * r.share * r.slower**2 * r.each for r in roles]),
            pair=column([0.5 * r.share * r.slower**2 * r.both for r in roles]),
        )

    @property
    def full_load(self) -> float:
        """The load at which the first role is full; ``inf`` where none ever is."""
        used = self.per_load > 0
        return float(((1.0 - self.rho0[used]) / self.per_load[used]).min(initial=math.inf))

    def coefficients(self, load: float) -> tuple[float, float, float]:
        """(A0, A1, A2) at ``load`` below :attr:`full_load`."""
        inverse = 1.0 / (1.0 - self.rho0 - self.per_load * load)
        met = np.maximum(0.0, inverse - self.spacing)
        return float(self.background @ inverse), float(self.bundle @ inverse), float(self.pair @ met)

    def slopes(self, load: float) -> tuple[float, float, float]:
        """Return the slopes of (A0, A1, A2) by the load, at ``load``."""
        inverse = 1.0 / (1.0 - self.rho0 - self.per_load * load)
        steep = self.per_load * inverse**2
        met = np.where(inverse > self.spacing, steep, 0.0)
        return float(self.background @ steep), float(self.bundle @ steep), float(self.pair @ met)

    def waits(self, load: Floats, bundle: Floats, pairs: Floats) -> Floats:
        """Return w at several points; ``inf`` where a role is full."""
        spare = 1.0 - self.rho0 - np.multiply.outer(load, self.per_load)
        stable = spare.min(axis=-1, initial=math.inf) > 0
        inverse = 1.0 / np.where(stable[..., None], spare, 1.0)
        met = np.maximum(0.0, inverse - self.spacing)
        total = inverse @ self.background + (inverse @ self.bundle) * bundle + (met @ self.pair) * pairs
        result: Floats = np.where(stable, total, math.inf)
        return result

    def wait(self, load: float, bundle: float, pairs: float) -> float:
        """Return w at one point."""
        return float(self.waits(np.array(load), np.array(bundle), np.array(pairs)))


@dataclass(frozen=True, slots=True)
class LinkPrice:
    """The gradient of the mean wait of a message: by the load, by the squares of batches and of bundles."""

    load: float
    square: float
    bundle: float = 0.0

    def wait_seconds(self, messages: Messages) -> Floats:
        """(n,) Seconds of wait for each configuration sent once a second."""
        price: Floats = self.load * messages.load_s + self.square * messages.square_s2
        return price + self.bundle * messages.bundle_s2 if self.bundle else price


def network_price(curve: WaitCurves, traffic: LinkTraffic) -> LinkPrice:
    """Return the gradient over several links at ``traffic``, which overloads none.

    Formula: with w = A0(y) + A1(y)·B + A2(y)·(Q − B), ∂w/∂y = A0' + A1'·B + A2'·(Q − B),
    ∂w/∂Q = A2 and ∂w/∂B = A1 − A2.
    """
    pairs = max(traffic.batch_s - traffic.bundle_s, 0.0)
    _, bundle, pair = curve.coefficients(traffic.load)
    s0, s1, s2 = curve.slopes(traffic.load)
    return LinkPrice(s0 + s1 * traffic.bundle_s + s2 * pairs, pair, bundle - pair)


def wait_per_byte(roles: Sequence[LinkRole], traffic: LinkTraffic) -> float:
    """Seconds that the mean wait of a message grows per byte/s that the queries send more.

    Formula: Σ_r q_r·(∂W_r/∂ρ_r)·π_r/C_r, with ∂W/∂ρ = W/(ρ(1 − ρ)) along growing traffic of the
    present mix of sizes, background included, as at one link; ``inf`` where a role is overloaded.
    """
    total = 0.0
    for r in roles:
        rho = r.utilization(traffic.load)
        if rho >= 1.0:
            return math.inf
        if rho > 0.0:
            total += r.share * r.wait_s(traffic) / (rho * (1.0 - rho)) * r.each / r.capacity
    return total
