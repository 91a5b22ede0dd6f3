"""What walked jobs bring to each resource: utilisation, moments, and the work that returning visits add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.placement.response.resources import roles_of
from nona.placement.waits.queueing import fifo_wait_s, second_moment
from nona.system import Stream, System

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Seen:
    """Visits of one query class's N walked jobs: stay, resource, when, work, wait, whether returning."""

    jobs: int
    job: Ints
    stay: Ints
    resource: Ints
    at_s: Floats
    work_s: Floats
    wait_s: Floats
    again: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of resource: how many there are, the background of each (services in seconds)."""

    units: int
    background: Stream
    core: bool = False


def resources_of(system: System) -> tuple[Resource, ...]:
    """The executor classes, then the roles of links; every link has the same utilisation by background."""
    counts = np.bincount(system.executor_class, minlength=len(system.class_names))
    found = [Resource(int(n), system.background_compute) for n in counts]
    stream = system.background_network
    for i, role in enumerate(roles_of(system)):
        rate = stream.rate * role.capacity / system.capacity
        found.append(Resource(role.links, Stream(rate, stream.mean / role.capacity, stream.scv), core=i == 0))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Loads:
    """The load of every resource, from the visits of all classes."""

    system: System
    seen: tuple[Seen, ...]

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """All resources, in the order of the bank's rows."""
        return resources_of(self.system)

    @cached_property
    def core(self) -> int:
        """The number of the core among them."""
        return len(self.system.class_names)

    @cached_property
    def background(self) -> tuple[Floats, Floats, Floats]:
        """Rate (1/s), ρ and λE[S²] (s) of each resource's background."""
        streams = [r.background for r in self.resources]
        rate = np.array([s.rate for s in streams])
        rho = np.array([s.rate * s.mean for s in streams])
        return rate, rho, np.array([s.rate * second_moment(s) for s in streams])

    def per_unit(self, j: int) -> Floats:
        """λ_j/(N·units): what one visit of a walked job stands for, visits/s at each unit."""
        units = np.array([max(r.units, 1) for r in self.resources], dtype=float)
        each: Floats = self.system.queries[j].rate / self.seen[j].jobs / units
        return each

    def _sum(self, power: int) -> Floats:
        count = len(self.resources)
        total = self.background[power].copy()
        for j, s in enumerate(self.seen):
            total += self.per_unit(j) * np.bincount(s.resource, s.work_s**power, count)
        return total

    @cached_property
    def rho(self) -> Floats:
        """Utilisation of each resource."""
        return self._sum(1)

    @cached_property
    def visit_s(self) -> Floats:
        """Mean work of a visit to each resource, background included."""
        rate = self._sum(0)
        result: Floats = self.rho / np.where(rate > 0, rate, 1.0)
        return result

    @cached_property
    def spare(self) -> Floats:
        """1 − ρ, and 1 where a resource is overloaded."""
        return np.where(self.rho < 1, 1.0 - self.rho, 1.0)

    @cached_property
    def independent_s(self) -> Floats:
        """E V if all visits were Poisson (Pollaczek–Khinchine); 0 where overloaded."""
        pairs = zip(self.rho.tolist(), self._sum(2).tolist(), strict=True)
        return np.array([fifo_wait_s(rho, moment) if rho < 1 else 0.0 for rho, moment in pairs])

    def returned_s(self, seen: Sequence[Seen], mean_s: Floats) -> Floats:
        """Σ λ E[S·(W − E V)]/(1 − ρ) over visits that come back to a resource, for each resource.

        The law of conserved work, E V = Σ λ E[S·W] + λE[S²]/2 over all kinds of visits (S. L. Brumelle,
        Operations Research 19, 1971), gives E V = Pollaczek–Khinchine plus this: Poisson visits have
        W = E V on average, those that come back do not. The paths hold whole stays of other processes, so
        these do not count.
        """
        total = np.zeros(len(self.resources))
        for j, s in enumerate(seen):
            if self.system.queries[j].arrivals.process != "poisson":
                continue
            back = s.again
            extra = (s.work_s * (s.wait_s - mean_s[s.resource]))[back]
            total += (
                self.per_unit(j)
                * (self.seen[j].jobs / s.jobs)
                * np.bincount(s.resource[back], extra, len(total))
            )
        result: Floats = total / self.spare
        return result
