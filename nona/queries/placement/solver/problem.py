"""The placement problem at a constant server wait, in arrays: columns and lines.

Choose for every group (the equal sub-graphs of one query class) a point x of a simplex::

    minimise  constant + Σ_c x_c·cost_c(w(x)),   w(x) = (b0 + a0·x) / (b1 − a1·x)

``cost_c`` is convex, piecewise linear and increasing in the link's wait w. Under FIFO
a0 = λ·D2/C² and a1 = 2λ·D/C (Pollaczek–Khinchine), b0 = λE[S²] and b1 = 2(1 − ρ) of the
background; under processor sharing a0 = a1 = λ·D/C, b0 = ρ and b1 = 1 − ρ of the background.
Over several links w(x) is that of ``network``, and these are a rough stand-in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.queries.placement.link_waits import LinkTraffic, WaitCurves
from nona.queries.placement.messages import ShapeCandidates
from nona.queries.placement.model import PlacementModel
from nona.queries.placement.spans import Envelope, envelope


@dataclass(frozen=True, eq=False)
class TrafficRows:
    """Traffic of n columns, and the curve of the waits: w(x) = A0(y) + A1(y)·B·x + A2(y)·P·x, y = load·x.

    ``load``, ``bundle``, ``pairs`` (n,): λ·D/C, and λ times the squares of bundles, and what those of batches
    have beyond, at the core's capacity; all ≥ 0.
    """

    curve: WaitCurves
    load: Floats
    bundle: Floats
    pairs: Floats

    def wait(self, columns: Ints, shares: Floats) -> float:
        """w(x) of the point with ``shares`` in ``columns``; ``inf`` where a link is overloaded."""
        return self.curve.wait(
            float((self.load[columns] * shares).sum()),
            float((self.bundle[columns] * shares).sum()),
            float((self.pairs[columns] * shares).sum()),
        )

    def traffic(self, x: Floats) -> LinkTraffic:
        """Return the load and the bundles that the placement ``x`` sends over the link."""
        bundle = float(self.bundle @ x)
        return LinkTraffic(float(self.load @ x), bundle, bundle + float(self.pairs @ x))

    def single_link_row(self) -> tuple[Floats, Floats, float, float]:
        """(a0, a1, b0, b1) of one link that is full when the first of these is, and waits alike when idle.

        For choosing columns and starting points by the same rules as at one link, never for a value.
        """
        idle, bundle, pair = self.curve.coefficients(0.0)
        return bundle * self.bundle + pair * self.pairs, self.load / self.curve.full_load, idle, 1.0

    @property
    def ratios(self) -> tuple[float, float, float]:
        """(least B/load, greatest B/load, greatest P/load) over the columns that load the links."""
        used = self.load > 0
        if not used.any():
            return 0.0, 0.0, 0.0
        bundle, pairs = self.bundle[used] / self.load[used], self.pairs[used] / self.load[used]
        return float(bundle.min()), float(bundle.max()), float(pairs.max())


# Classes without arrivals count this little, so that they too get their best configuration.
_LEAST_WEIGHT = 1e-12


@dataclass(frozen=True, eq=False)
class PlacementProgram:
    """Arrays of the problem above, n columns in G groups.

    ``start`` (G+1,): columns of each group; the first column of each is its local configuration.
    ``lines``: cost of each column as lines in w, weights included: seconds of mean JCT.
    ``a0``, ``a1`` (n,): coefficients of w(x).
    ``b0``, ``b1``, ``constant``: as above; b1 > 0.
    ``column`` (n,): which candidate of its group a column is.
    ``network``: what the columns send over several links; ``None`` where there is one.
    """

    start: Ints
    lines: Envelope
    a0: Floats
    a1: Floats
    b0: float
    b1: float
    constant: float
    column: Ints
    network: TrafficRows | None = None

    @property
    def groups(self) -> int:
        """G."""
        return len(self.start) - 1

    @cached_property
    def group(self) -> Ints:
        """(n,) Group of each column."""
        return np.repeat(np.arange(self.groups), np.diff(self.start))

    @property
    def least_wait(self) -> float:
        """The link's wait when no query uses it."""
        if self.network is not None:
            return self.network.curve.wait(0.0, 0.0, 0.0)
        return self.b0 / self.b1

    def wait(self, columns: Ints, shares: Floats) -> float:
        """w(x) of the point with ``shares`` in ``columns``; ``inf`` where the link is overloaded."""
        if self.network is not None:
            return self.network.wait(columns, shares)
        spare = self.b1 - float((self.a1[columns] * shares).sum())
        return (self.b0 + float((self.a0[columns] * shares).sum())) / spare if spare > 0 else np.inf

    def value(self, x: Floats) -> float:
        """Return the objective at ``x`` (n,), seconds; ``inf`` where the link is overloaded."""
        columns = np.flatnonzero(x)
        shares = x[columns]
        wait = self.wait(columns, shares)
        if not np.isfinite(wait):
            return np.inf
        return self.constant + float((self.lines.spans(columns, wait) * shares).sum())


@dataclass(frozen=True, eq=False)
class ProgramGroup:
    """Equal sub-graphs of one query class: sub-graph numbers ``members`` of class ``query``.

    ``price_s`` (n,) is charged for each candidate besides its span, seconds of mean JCT.
    """

    query: int
    members: tuple[int, ...]
    candidates: ShapeCandidates
    price_s: Floats


def groups_of(
    model: PlacementModel, prices: Sequence[Sequence[Floats]] | None = None
) -> tuple[ProgramGroup, ...]:
    """Group the sub-graphs of every class by candidates and prices, in order of first appearance."""
    members: dict[tuple[int, int, bytes], list[int]] = {}
    for j, row in enumerate(model.candidates):
        for k, c in enumerate(row):
            key = (j, id(c), b"" if prices is None else _digits(prices[j][k]))
            members.setdefault(key, []).append(k)
    groups = []
    for (j, _, _), ks in members.items():
        c = model.candidates[j][ks[0]]
        price = np.zeros(len(c)) if prices is None else prices[j][ks[0]]
        groups.append(ProgramGroup(j, tuple(ks), c, price))
    return tuple(groups)


def _digits(price: Floats) -> bytes:
    scale = float(np.abs(price).max(initial=0.0))
    return np.round(price / scale, 10).tobytes() + f"{scale:.10e}".encode() if scale > 0 else b"0"


def build_problem(
    model: PlacementModel,
    groups: Sequence[ProgramGroup],
    server_wait_s: Floats | float,
    *,
    credit_s: float = 0.0,
) -> PlacementProgram:
    """Return the problem at W_c = ``server_wait_s``, (J,) or one for all, with prices, less ``credit_s``.

    Columns that cost no less than the local configuration at an idle link are left out: they load
    the link and can never be better.
    """
    envelopes: dict[tuple[int, float], Envelope] = {}
    waits = np.broadcast_to(np.asarray(server_wait_s, dtype=float), (len(model.candidates),)).tolist()
    columns: list[_Columns] = []
    for g in groups:
        c, wait = g.candidates, waits[g.query]
        if (id(c), wait) not in envelopes:
            envelopes[id(c), wait] = envelope(c, wait)
        weight = max(float(model.weights[g.query]), _LEAST_WEIGHT)
        rate = model.system.queries[g.query].rate * len(g.members)
        columns.append(_columns(g, envelopes[id(c), wait], weight, rate))
    rho, moment = model.background
    fifo = model.system.discipline == "fifo"
    constant = sum(
        w * (cuts.sum() + visit * wait)
        for w, cuts, visit, wait in zip(model.weights, model.cut_s, model.first_visits, waits, strict=True)
    )
    load, square = (
        np.concatenate([np.zeros(0), *(getattr(c, a) for c in columns)]) for a in ("load", "square")
    )
    network = _traffic_rows(model, columns, load, square) if model.roles else None
    if network is not None:
        a0, a1, b0, b1 = network.single_link_row()
    else:
        a0, a1 = (square, 2.0 * load) if fifo else (load, load)
        b0, b1 = (moment, 2.0 * (1.0 - rho)) if fifo else (rho, 1.0 - rho)
    return PlacementProgram(
        start=np.concatenate([[0], np.cumsum([len(c.load) for c in columns])]).astype(np.int64),
        lines=_joined([c.lines for c in columns]),
        a0=a0,
        a1=a1,
        b0=b0,
        b1=b1,
        constant=float(constant) - credit_s,
        column=np.concatenate([np.zeros(0, dtype=np.int64), *(c.column for c in columns)]),
        network=network,
    )


def _traffic_rows(
    model: PlacementModel, columns: Sequence[_Columns], load: Floats, square: Floats
) -> TrafficRows:
    bundle = np.concatenate([np.zeros(0), *(c.bundle for c in columns)])
    return TrafficRows(model.curve, load, bundle, np.maximum(square - bundle, 0.0))


@dataclass(frozen=True, slots=True)
class _Columns:
    lines: Envelope
    load: Floats
    square: Floats
    bundle: Floats
    column: Ints


def _columns(g: ProgramGroup, lines: Envelope, weight: float, rate: float) -> _Columns:
    kept = g.candidates.messages
    idle = weight * lines(0.0) + g.price_s
    local = int(np.argmax(g.candidates.local))
    keep = np.concatenate([[local], np.flatnonzero(idle < idle[local])]).astype(np.int64)
    counts = np.diff(lines.start)[keep]
    at = np.concatenate([np.arange(lines.start[i], lines.start[i + 1]) for i in keep])
    const, slope = weight * lines.const[at] + np.repeat(g.price_s[keep], counts), weight * lines.slope[at]
    load, square, bundle = kept.load_s[keep], kept.square_s2[keep], kept.bundle_s2[keep]
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    n = len(g.members)
    return _Columns(Envelope(start, n * const, n * slope), rate * load, rate * square, rate * bundle, keep)


def _joined(parts: Sequence[Envelope]) -> Envelope:
    offset, starts = 0, [np.zeros(1, dtype=np.int64)]
    for p in parts:
        starts.append(p.start[1:] + offset)
        offset += int(p.start[-1])
    empty = np.zeros(0)
    return Envelope(
        np.concatenate(starts),
        np.concatenate([empty, *(p.const for p in parts)]),
        np.concatenate([empty, *(p.slope for p in parts)]),
    )
