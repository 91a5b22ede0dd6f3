"""The placement model of a system: candidates of every sub-graph, link load, server waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import VIRTUAL
from nona.placement.configurations.shape import Shape, shapes_of
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.messages import Link
from nona.placement.waits.executor_waits import Servers, cut_times
from nona.placement.waits.link_roles import Role, Traffic, roles_of
from nona.placement.waits.link_route import link_of
from nona.placement.waits.link_wait_curve import Curve
from nona.placement.waits.queueing import fifo_wait_s, second_moment, sharing_stretch
from nona.placement.waits.run_length import Blocks, Chain, blocks_of
from nona.system import System

Floats = NDArray[np.float64]
# Probabilities: one array over the candidates for each sub-graph of each query class.
Probabilities = Sequence[Sequence[Floats]]


def shapes(system: System, shares: Floats | None = None) -> tuple[tuple[Shape, ...], ...]:
    """Shapes of the sub-graphs of every query class; ``shares`` (J, K) as in :class:`Model`."""
    rows = system.uniform_shares if shares is None else shares
    return tuple(shapes_of(q.tasks, q.decomposition.subgraphs, rows[j]) for j, q in enumerate(system.queries))


@dataclass(frozen=True, eq=False)
class Model:
    """A system with candidate configurations for every sub-graph.

    ``candidates[j][k]`` belongs to sub-graph k of query class j; equal sub-graphs share one object.
    ``class_shares`` (J, K) are the shares of the executor classes, ``None``: a uniform draw.
    """

    system: System
    candidates: tuple[tuple[Candidates, ...], ...]
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
        return stream.rate * stream.mean / capacity, stream.rate * second_moment(stream) / capacity**2

    @cached_property
    def blocks(self) -> tuple[tuple[Blocks, ...], ...]:
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

    @property
    def compute_utilization(self) -> Floats:
        """(K,) ρ of an executor of each class: background and queries. It depends on the shares alone."""
        return self.servers.utilization

    @property
    def chains(self) -> tuple[tuple[Chain, ...], ...]:
        """``chains[k][j]``: the run-length recursion of class j on executor class k."""
        return self.servers.chains

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
    def least_server_wait_s(self) -> Floats:
        """(J,) Waits below which no placement brings W^j: each visit's square is at least its tasks'."""
        return self.servers.seen_s(self.servers.waits_s(self.servers.least_squares))

    def server_wait_gradient(self, x: Probabilities, visits: Floats) -> list[list[tuple[Floats, float]]]:
        """Σ_j visits_j·dW^j/dx of every sub-graph, and a lower bound of it for all that are not local."""
        return self.servers.gradient(x, visits)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """The roles of the links on a message's way, where there are several; none where there is one."""
        several = self.system.topology is not None and self.system.topology.links > 1
        return roles_of(self.system, self.class_shares) if several else ()

    @cached_property
    def curve(self) -> Curve:
        """The mean wait of a message over these roles."""
        return Curve.of(self.roles)

    def traffic(self, x: Probabilities, only: Sequence[Sequence[int]] | None = None) -> Traffic:
        """What the queries send over several links; ``only`` as above."""
        load = bundle = batch = 0.0
        places = self.support(x) if only is None else only
        for q, row, ps, at in zip(self.system.queries, self.candidates, x, places, strict=True):
            for c, p, i in zip(row, ps, at, strict=True):
                m = c.messages
                load += q.rate * float(m.load_s[i] if i >= 0 else p @ m.load_s)
                bundle += q.rate * float(m.bundle_s2[i] if i >= 0 else p @ m.bundle_s2)
                batch += q.rate * float(m.square_s2[i] if i >= 0 else p @ m.square_s2)
        return Traffic(load, bundle, batch)

    def busiest(self, traffic: Traffic) -> tuple[float, float]:
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
    """The configuration that has all the probability, −1 where several share it or none has any."""
    at = int(p.argmax())
    return at if p[at] == 1.0 and np.count_nonzero(p) == 1 else -1


def build_model(
    system: System, candidates_of: Callable[[Shape, Link], Candidates], shares: Floats | None = None
) -> Model:
    """Candidates for every sub-graph; sub-graphs of equal structure and times are done once."""
    link = link_of(system, shares)
    known: dict[bytes, Candidates] = {}
    rows = []
    for row in shapes(system, shares):
        for shape in row:
            if shape.signature not in known:
                known[shape.signature] = candidates_of(shape, link)
        rows.append(tuple(known[s.signature] for s in row))
    return Model(system, tuple(rows), shares)
