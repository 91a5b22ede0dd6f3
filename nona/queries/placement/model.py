"""The placement model of a system, and its mean JCT as a function of the probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nona.core.arrays import Floats
from nona.core.queueing import fifo_wait_s, sharing_stretch
from nona.models.decomposition import VIRTUAL
from nona.queries.placement.configurations import SubgraphShape, shapes_of, to_labels
from nona.queries.placement.link_routes import link_of
from nona.queries.placement.link_waits import (
    LinkPrice,
    LinkRole,
    LinkTraffic,
    WaitCurves,
    network_price,
    roles_of,
)
from nona.queries.placement.messages import PlacementLink, ShapeCandidates
from nona.queries.placement.queueing import Servers, WorkBlocks, blocks_of, cut_times, second_moment
from nona.queries.placement.result import SubGraphPlacement
from nona.queries.placement.spans import COMPUTE, LINK, TRANSFER, VISITS, single_span, spans
from nona.queries.system import System

# Probabilities: one array over the candidates for each sub-graph of each query class.
Probabilities = Sequence[Sequence[Floats]]


def shapes(system: System, shares: Floats | None = None) -> tuple[tuple[SubgraphShape, ...], ...]:
    """Shapes of the sub-graphs of every query class; ``shares`` (J, K) as in :class:`PlacementModel`."""
    rows = system.uniform_shares if shares is None else shares
    return tuple(shapes_of(q.tasks, q.decomposition.subgraphs, rows[j]) for j, q in enumerate(system.queries))


@dataclass(frozen=True, eq=False)
class PlacementModel:
    """A system with candidate configurations for every sub-graph.

    ``candidates[j][k]`` belongs to sub-graph k of query class j; equal sub-graphs share one object.
    ``class_shares`` (J, K) are the shares of the executor classes, ``None``: a uniform draw.
    """

    system: System
    candidates: tuple[tuple[ShapeCandidates, ...], ...]
    class_shares: Floats | None = None

    @cached_property
    def weights(self) -> Floats:
        """(J,) Share of each class in the mean JCT: λ_j/Λ; equal shares when nothing arrives."""
        rates = np.array([q.rate for q in self.system.queries])
        total = rates.sum()
        return rates / total if total > 0 else np.full(len(rates), 1.0 / max(len(rates), 1))

    @cached_property
    def cut_s(self) -> tuple[Floats, ...]:
        """For each class, mean seconds of its cut tasks, 0 where virtual."""
        return tuple(
            cut_times(self.system, j, self.shares[j] @ q.tasks.compute_s)
            for j, q in enumerate(self.system.queries)
        )

    @cached_property
    def first_visits(self) -> Floats:
        """(J,) 1 where the job's first task queues before all else, 0 where the root is virtual."""
        return np.array([float(q.decomposition.cuts[0] != VIRTUAL) for q in self.system.queries])

    @cached_property
    def background(self) -> tuple[float, float]:
        """(ρ, λE[S²] in s) of the link's background traffic."""
        stream, capacity = self.system.background_network, self.system.capacity
        return stream.load(capacity), stream.rate * second_moment(stream) / capacity**2

    @cached_property
    def blocks(self) -> tuple[tuple[WorkBlocks, ...], ...]:
        """Blocks of every sub-graph's candidates; computed once for those that share candidates."""
        return tuple(
            tuple(blocks_of(c, busy) for c in row)
            for row, busy in zip(self.candidates, self.busy.tolist(), strict=True)
        )

    @cached_property
    def busy(self) -> Floats:
        """(J,) Utilisation of the executor that a visit of each query class finds: Σ_k s_jk ρ_k."""
        result: Floats = self.shares @ Servers(self.system, self.shares, ()).utilization
        return result

    @cached_property
    def shares(self) -> Floats:
        """(J, K) Probability that a server drawn for query class j is of executor class k."""
        return self.system.uniform_shares if self.class_shares is None else self.class_shares

    @cached_property
    def servers(self) -> Servers:
        """Load and waits of the executors under these shares."""
        return Servers(self.system, self.shares, self.blocks)

    def support(self, x: Probabilities) -> list[list[int]]:
        """For every sub-graph the configuration that has all the probability, −1 where none has it all."""
        return [[_only(p) for p in row] for row in x]

    def server_wait_s(self, x: Probabilities, only: Sequence[Sequence[int]] | None = None) -> Floats:
        """(J,) W^j: mean wait of a visit of each query class to an executor drawn by its shares.

        ``only`` is ``support(x)``, for those who have it.
        """
        return self.servers.seen_s(self.class_wait_s(x, only))

    def class_wait_s(self, x: Probabilities, only: Sequence[Sequence[int]] | None = None) -> Floats:
        """(K,) W_k: mean wait of a visit to an executor of each class (Pollaczek–Khinchine)."""
        only = self.support(x) if only is None else only
        return self.servers.waits_s(self.servers.squares(x, only))

    @cached_property
    def roles(self) -> tuple[LinkRole, ...]:
        """The roles of the links on a message's way, where there are several; none where there is one."""
        several = self.system.topology is not None and self.system.topology.links > 1
        return roles_of(self.system, self.class_shares) if several else ()

    @cached_property
    def curve(self) -> WaitCurves:
        """The mean wait of a message over these roles."""
        return WaitCurves.from_roles(self.roles)

    def traffic(self, x: Probabilities, only: Sequence[Sequence[int]] | None = None) -> LinkTraffic:
        """Return the traffic of the queries over several links; ``only`` as above."""
        load = bundle = batch = 0.0
        places = self.support(x) if only is None else only
        for q, row, ps, at in zip(self.system.queries, self.candidates, x, places, strict=True):
            for c, p, i in zip(row, ps, at, strict=True):
                m = c.messages
                load += q.rate * float(m.load_s[i] if i >= 0 else p @ m.load_s)
                bundle += q.rate * float(m.bundle_s2[i] if i >= 0 else p @ m.bundle_s2)
                batch += q.rate * float(m.square_s2[i] if i >= 0 else p @ m.square_s2)
        return LinkTraffic(load, bundle, batch)

    def busiest(self, traffic: LinkTraffic) -> tuple[float, float]:
        """(ρ, λE[S²] in s) of the role that is used most under ``traffic``."""
        role = max(self.roles, key=lambda r: r.utilization(traffic.load))
        return role.utilization(traffic.load), role.moment_s(traffic)

    def link_load(self, x: Probabilities, only: Sequence[Sequence[int]] | None = None) -> tuple[float, float]:
        """(ρ_n, λE[S²] in s) of the link, background included; ``only`` as above."""
        rho, moment = self.background
        places = self.support(x) if only is None else only
        for q, row, ps, at in zip(self.system.queries, self.candidates, x, places, strict=True):
            for c, p, i in zip(row, ps, at, strict=True):
                load, square = c.messages.load_s, c.messages.square_s2
                rho += q.rate * float(load[i] if i >= 0 else p @ load)
                moment += q.rate * float(square[i] if i >= 0 else p @ square)
        return rho, moment

    def link_wait(self, rho: float, moment: float) -> float:
        """Mean wait of a message in seconds (FIFO), or the stretch (processor sharing); inf if ρ ≥ 1."""
        if self.system.discipline == "fifo":
            return fifo_wait_s(rho, moment)
        return sharing_stretch(rho)


def _only(p: Floats) -> int:
    """Return the configuration that has all the probability, −1 where several share it or none has any."""
    at = int(p.argmax())
    return at if p[at] == 1.0 and np.count_nonzero(p) == 1 else -1


def build_model(
    system: System,
    candidates_of: Callable[[SubgraphShape, PlacementLink], ShapeCandidates],
    shares: Floats | None = None,
) -> PlacementModel:
    """Candidates for every sub-graph; sub-graphs of equal structure and times are done once."""
    link = link_of(system, shares)
    by_signature: dict[bytes, ShapeCandidates] = {}
    rows = []
    for row in shapes(system, shares):
        for shape in row:
            if shape.signature not in by_signature:
                by_signature[shape.signature] = candidates_of(shape, link)
        rows.append(tuple(by_signature[s.signature] for s in row))
    return PlacementModel(system, tuple(rows), shares)


MOST = 20_000  # placements of a sub-graph that are kept


class SampledCandidates:
    """Candidates of one system whose servers are drawn by ``shares`` (J, K).

    Sub-graphs that are equal to the last bit, with equal configurations, share one object, within a
    placement and from one placement to the next. A search asks for hundreds of placements that differ in
    a few sub-graphs. Nothing here depends on the waits, so the values are those without it.
    """

    def __init__(self, system: System, shares: Floats | None = None) -> None:
        self.system, self.shares = system, shares
        self._placed: dict[tuple[int, int, int], tuple[SubGraphPlacement, ShapeCandidates]] = {}
        self._made: dict[tuple[int, bytes], ShapeCandidates] = {}

    @cached_property
    def link(self) -> PlacementLink:
        """The link of the placement at its shares."""
        return link_of(self.system, self.shares)

    @cached_property
    def shapes(self) -> tuple[tuple[SubgraphShape, ...], ...]:
        """Shapes of the sub-graphs of every query class; equal ones are one object."""
        seen: dict[bytes, SubgraphShape] = {}
        rows = shapes(self.system, self.shares)
        return tuple(tuple(seen.setdefault(_content(s), s) for s in row) for row in rows)

    def candidates(self, query: int, number: int, placed: SubGraphPlacement) -> ShapeCandidates:
        """Return the configurations of ``placed`` for sub-graph ``number`` of class ``query``."""
        key = (query, number, id(placed))
        entry = self._placed.get(key)
        if entry is None:
            if len(self._placed) >= MOST:
                self._placed.clear()
                self._made.clear()
            entry = self._placed[key] = placed, self._candidates(self.shapes[query][number], placed)
        return entry[1]

    def _candidates(self, shape: SubgraphShape, placed: SubGraphPlacement) -> ShapeCandidates:
        rows = [to_labels(c, placed.subgraph.interior) for c in placed.configurations]
        labels = np.array(rows, dtype=np.int64)
        key = (id(shape), labels.tobytes())
        if key not in self._made:
            self._made[key] = ShapeCandidates(shape, labels, self.link)
        return self._made[key]


def _content(shape: SubgraphShape) -> bytes:
    """Equal for shapes of equal content, to the last bit."""
    flags = np.array([shape.has_root, shape.has_sink, *shape.class_s.shape, len(shape.source)])
    arrays = (shape.class_s, shape.mean_s, shape.source, shape.target, shape.tensor, shape.size)
    return b"".join(np.ascontiguousarray(a).tobytes() for a in (flags.astype(np.int64), *arrays))


Terms = tuple[float, ...]
_OVERLOADED = 1e9  # seconds of wait, of a link that is overloaded
_FEW = 3  # configurations in use up to which plain numbers are quicker than arrays


@dataclass(frozen=True, eq=False)
class ObjectiveValue:
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
    traffic: LinkTraffic | None = None

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
    model: PlacementModel,
    x: Probabilities,
    server_wait_s: Floats | float | None = None,
    *,
    every: bool = False,
) -> ObjectiveValue:
    """Evaluate equation 10 and 11 of every sub-graph at the waits that ``x`` brings about.

    Formula: T_j = Σ_cuts p + v_j·W_c + Σ_k Σ_c x_k,c·span_c(W_n, W_c), where W_n follows from the
    messages' moments and W_c from the run lengths, and v_j counts the first visit.

    ``x``: ``x[j][k]`` (n,) over the candidates of sub-graph k of class j.
    ``server_wait_s``: w_c, when it is to be held constant: of every query class (J,), or one for all.
    ``every``: evaluate the spans of all candidates, as the gradient needs, not only of those in use.
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
        spans_of: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        paths: dict[tuple[int, int], Terms] = {}
        class_spans = []
        for c, p, at in zip(row, x[j], only[j], strict=True):
            if every:
                if (id(c), 0) not in spans_of:
                    spans_of[id(c), 0] = spans(c, used, visit_s)
                class_spans.append(spans_of[id(c), 0])
            path = paths.get((id(c), at))
            if path is None:
                path = _path(c, p, at, used, visit_s)
                if at >= 0:
                    paths[id(c), at] = path
            own = [total + term for total, term in zip(own, path, strict=True)]
        terms[j] = own
        details.append(class_spans)
    return ObjectiveValue(rho, moment, link_wait, waits, terms, details, class_waits, traffic)


def _path(c: ShapeCandidates, p: Floats, at: int, wait: float, server_wait_s: float) -> Terms:
    """Return the mean terms of a sub-graph's path over its configurations, all on ``at`` unless −1."""
    if at >= 0:
        return single_span(c, at, wait, server_wait_s)[1]
    rows = np.flatnonzero(p)
    if len(rows) > _FEW:
        path = spans(c, wait, server_wait_s, rows)[1]
    else:
        path = np.array([single_span(c, row, wait, server_wait_s)[1] for row in rows.tolist()]).T
    mean: Terms = tuple((path.reshape(4, len(rows)) @ p[rows]).tolist())
    return mean


def objective_s(model: PlacementModel, value: ObjectiveValue) -> float:
    """F = Σ_j w_j T_j, seconds; classes without arrivals do not count unless none arrive."""
    counted = model.weights > 0
    return float(model.weights[counted] @ value.jct_s[counted])


def link_price(model: PlacementModel, value: ObjectiveValue) -> LinkPrice:
    """Return the gradient of the link's wait: by the load, and by the squares of the batches.

    FIFO: w = M/(2(1 − ρ)), so w/(1 − ρ) and 1/(2(1 − ρ)). Sharing: w = ρ/(1 − ρ), so 1/(1 − ρ)² and 0.
    Several links: :func:`~nona.queries.placement.link_waits.network_price`; where one of them is
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


def gradient(
    model: PlacementModel, value: ObjectiveValue, x: Probabilities, *, server_wait_fixed: bool
) -> list[list[Floats]]:
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
                model.weights[j] * span + rate * wait.wait_seconds(c.messages)
                for c, (span, _) in zip(row, value.spans[j], strict=True)
            ]
        )
    if not server_wait_fixed:
        visits = model.weights * value.terms[:, VISITS]
        for totals, extra in zip(result, model.servers.gradient(x, visits), strict=True):
            for total, part in zip(totals, extra, strict=True):
                total += part
    return result
