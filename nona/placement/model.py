"""The placement model of a system: candidates of every sub-graph, link load, server waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import VIRTUAL
from nona.placement.evaluate import Candidates
from nona.placement.messages import Link
from nona.placement.queueing import fifo_wait_s, second_moment, sharing_stretch
from nona.placement.run_length import Blocks, Chain, blocks
from nona.placement.shape import Shape, shapes_of
from nona.system import System

Floats = NDArray[np.float64]
# Probabilities: one array over the candidates for each sub-graph of each query class.
Probabilities = Sequence[Sequence[Floats]]


def link_of(system: System) -> Link:
    """The system's link; with one server no message crosses it."""
    return Link(system.capacity, system.latency_s, system.discipline, crosses=system.servers > 1)


def shapes(system: System) -> tuple[tuple[Shape, ...], ...]:
    """Shapes of the sub-graphs of every query class."""
    return tuple(shapes_of(q.tasks, q.decomposition.subgraphs, system.class_weights) for q in system.queries)


@dataclass(frozen=True, eq=False)
class Model:
    """A system with candidate configurations for every sub-graph.

    ``candidates[j][k]`` belongs to sub-graph k of query class j; equal sub-graphs share one object.
    """

    system: System
    candidates: tuple[tuple[Candidates, ...], ...]

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
            _cut_times(self.system, j, self.system.mean_compute_s(j)) for j in range(len(self.weights))
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
        seen: dict[int, Blocks] = {}
        for row in self.candidates:
            for c in row:
                if id(c) not in seen:
                    seen[id(c)] = blocks(c)
        return tuple(tuple(seen[id(c)] for c in row) for row in self.candidates)

    @cached_property
    def compute_utilization(self) -> Floats:
        """(K,) ρ of an executor of each class: background and queries. Any placement has the same."""
        stream, system = self.system.background_compute, self.system
        work = sum(
            (q.rate * q.tasks.compute_s.sum(axis=1) for q in system.queries),
            np.zeros(len(system.class_names)),
        )
        result: Floats = stream.rate * stream.mean + work / system.executors
        return result

    @cached_property
    def chains(self) -> tuple[tuple[Chain, ...], ...]:
        """``chains[k][j]``: the run-length recursion of class j on executor class k."""
        system = self.system
        return tuple(
            tuple(
                Chain(_cut_times(system, j, q.tasks.compute_s[k]), self.blocks[j], k, q.service_scv)
                for j, q in enumerate(system.queries)
            )
            for k in range(len(system.class_names))
        )

    @cached_property
    def visit_factors(self) -> Floats:
        """(K, J) dW_c/dM_kj: class share · λ_j / (executors · 2(1 − ρ_k))."""
        rates = np.array([q.rate for q in self.system.queries])
        share = self.system.class_weights / (2.0 * (1.0 - self.compute_utilization))
        return np.outer(share, rates) / self.system.executors

    def support(self, x: Probabilities) -> list[list[int]]:
        """For every sub-graph the configuration that has all the probability, −1 where none has it all."""
        return [[_only(p) for p in row] for row in x]

    def server_wait_s(self, x: Probabilities, only: Sequence[Sequence[int]] | None = None) -> float:
        """W_c: mean wait of a visit to a uniformly drawn executor (Pollaczek–Khinchine per class).

        ``only`` is ``support(x)``, for those who have it.
        """
        stream = self.system.background_compute
        base = stream.rate * second_moment(stream)
        idle = sum(
            w * fifo_wait_s(rho, base)
            for w, rho in zip(self.system.class_weights, self.compute_utilization, strict=True)
        )
        only = self.support(x) if only is None else only
        squares = np.array([[c.squares(x[j], only[j]) for j, c in enumerate(row)] for row in self.chains])
        return float(idle + (self.visit_factors * squares).sum())

    @cached_property
    def least_server_wait_s(self) -> float:
        """A wait below which no placement brings W_c: each visit's square is at least that of its tasks.

        M ≥ (1 + scv)·Σ p² over the tasks of a job, however they are cut into visits.
        """
        stream = self.system.background_compute
        base = stream.rate * second_moment(stream)
        total = 0.0
        for k, (weight, rho) in enumerate(
            zip(self.system.class_weights, self.compute_utilization, strict=True)
        ):
            total += weight * fifo_wait_s(rho, base)
            for j, q in enumerate(self.system.queries):
                squares = (1 + q.service_scv) * float((q.tasks.compute_s[k] ** 2).sum())
                total += self.visit_factors[k, j] * squares
        return float(total)

    def server_wait_gradient(self, x: Probabilities) -> list[list[tuple[Floats, float]]]:
        """dW_c/dx of every sub-graph, and a lower bound of it for all that are not local."""
        result = [[(np.zeros(len(c)), 0.0) for c in row] for row in self.candidates]
        for k, row in enumerate(self.chains):
            for j, chain in enumerate(row):
                factor = self.visit_factors[k, j]
                if factor > 0:
                    slopes = chain.gradient(x[j])
                    result[j] = [
                        (total + factor * part, least + factor * bound)
                        for (total, least), (part, bound) in zip(result[j], slopes, strict=True)
                    ]
        return result

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


def _cut_times(system: System, j: int, times: Floats) -> Floats:
    return np.array([times[t] if t != VIRTUAL else 0.0 for t in system.queries[j].decomposition.cuts])


def build_model(system: System, candidates_of: Callable[[Shape, Link], Candidates]) -> Model:
    """Candidates for every sub-graph; sub-graphs of equal structure are done once."""
    link = link_of(system)
    known: dict[bytes, Candidates] = {}
    rows = []
    for row in shapes(system):
        for shape in row:
            if shape.signature not in known:
                known[shape.signature] = candidates_of(shape, link)
        rows.append(tuple(known[s.signature] for s in row))
    return Model(system, tuple(rows))
