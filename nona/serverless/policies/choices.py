"""Choices of policies: configurations of a stage, carried plans, SLOs split."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from nona.core.arrays import Floats
from nona.scenario.serverless import LATE
from nona.serverless.policies.base import BatchPlan, WaitingQueue
from nona.serverless.sharing import crowded_seconds, holdable
from nona.serverless.system import LEAST_NOISE, Application, ServerlessSystem


def usable(system: ServerlessSystem, function: int) -> tuple[int, ...]:
    """Numbers of the configurations that have a time for the function and that some invoker holds.

    The smallest one is always among them. In increasing order.
    """
    possible = np.isfinite(system.time_s[function]) & holdable(system)
    possible[system.space.smallest] = True
    return tuple(int(n) for n in np.flatnonzero(possible))


def transfer_s(system: ServerlessSystem, application: Application, stage: int) -> Floats:
    """(C,) Seconds in which a full batch's inputs arrive from elsewhere when nothing is in the way.

    Formula: latency + batch · bytes / bandwidth, 0 without bytes. A later stage may find its inputs on its
    own invoker, which is faster; whether there will be room for it is not known when it is planned.
    """
    given = application.input_bytes[stage]
    if given <= 0:
        return np.zeros(len(system.space))
    latency_s, bandwidth = system.remote_path
    return np.asarray(latency_s + system.space.batch * given / bandwidth, dtype=np.float64)


def profiled(system: ServerlessSystem) -> tuple[Floats, Floats]:
    """(F, C) mean seconds of a batch as sharing leaves them on a full GPU, and US dollars a job at those."""
    time_s = system.cpu_s + crowded_seconds(system)
    return time_s, system.job_cost_at(time_s)


def profile_s(system: ServerlessSystem, application: Application) -> Floats:
    """(S, C) Seconds that policies plan with: a stage's transfer, and its time at a percentile of the noise.

    Formula: transfer + time · max(0.1, 1 + z(p) · noise), z(p) the normal quantile of
    ``profile_percentile``. Every policy that plans with a profile takes this one; those that model the
    noise themselves aim at the same percentile.
    """
    z = NormalDist().inv_cdf(system.profile_percentile / 100)
    factor = max(LEAST_NOISE, 1 + z * system.noise)
    time_s = profiled(system)[0]
    stages = enumerate(application.function)
    return np.array([transfer_s(system, application, s) + time_s[f] * factor for s, f in stages])


def too_late(system: ServerlessSystem, function: int, most: int) -> tuple[int, ...]:
    """Return the ``most`` best configurations of the smallest batch for jobs that nothing keeps in time.

    The cheapest or the fastest, as ``dispatch.late`` says.
    """
    numbers = usable(system, function)
    batch, (time_s, cost) = system.space.batch, (of[function] for of in profiled(system))
    least = min(batch[n] for n in numbers)
    alone = (n for n in numbers if batch[n] == least)
    if not LATE.find(system.dispatch.late).fastest:
        return tuple(sorted(alone, key=lambda n: (cost[n], time_s[n], n))[:most])
    return tuple(sorted(alone, key=lambda n: (time_s[n], system.price_per_s[n], n))[:most])


#: Configurations in an answer: the planned one and those nearest to it; as many as ESG's queue has.
RANKED = 5


class CarriedPlans:
    """Answers for policies that plan all stages of an application at its first one.

    A stage's answer is the planned configuration, then those nearest to it. Where the queue does not
    fill the planned batch, that is a configuration miss, and the answer begins with the nearest one that
    the queue fills: on the same vCPUs and vGPUs the largest batch; then by steps on the grid of sizes,
    the fewer vGPUs and vCPUs first among equals. With the scenario's ``partial`` a batch need not be full.
    """

    def __init__(self, system: ServerlessSystem) -> None:
        self._system = system
        self._partial = system.dispatch.partial
        self._functions = [app.function for app in system.applications]
        self._batch = [c.batch for c in system.space.configurations]
        self._most = max(self._batch)
        self._usable = [usable(system, f) for f in range(len(system.functions))]
        self._known: dict[tuple[int, int, int], tuple[int, ...]] = {}
        self._place = _places(system)

    def answer(
        self, ask: WaitingQueue, plan: tuple[int, ...], search_s: float = 0.0, steps: int = 0
    ) -> BatchPlan:
        """Answer at the asked stage under ``plan``; the search is charged only where none is carried."""
        chosen = plan[ask.stage]
        limit = self._most if self._partial else min(ask.length, self._most)
        ranked = self._ranked(self._functions[ask.application][ask.stage], chosen, limit)
        if ask.carried is None:
            return BatchPlan(ranked, search_s, steps, memory=plan)
        return BatchPlan(ranked, memory=plan, missed=limit < self._batch[chosen])

    def _ranked(self, function: int, chosen: int, limit: int) -> tuple[int, ...]:
        key = (function, chosen, limit)
        ranked = self._known.get(key)
        if ranked is None:
            legal = [n for n in self._usable[function] if self._batch[n] <= limit]
            if not legal:  # the smallest batch of all is larger than the queue: nothing else can be named
                legal = [self._system.space.smallest]
            ranked = tuple(sorted(legal, key=lambda n: self._farness(chosen, n))[:RANKED])
            self._known[key] = ranked
        return ranked

    def _farness(self, chosen: int, other: int) -> tuple[int, ...]:
        space, place = self._system.space, self._place
        a, b = space[chosen], space[other]
        steps = sum(abs(x - y) for x, y in zip(place[chosen], place[other], strict=True))
        same = (a.vcpus, a.vgpus) == (b.vcpus, b.vgpus) and b.batch <= a.batch
        return (0 if same else 1, steps, b.vgpus, b.vcpus, -b.batch)


def _places(system: ServerlessSystem) -> list[tuple[int, int, int]]:
    """Return the place of each configuration on the grid: the ranks of its three sizes."""
    space = system.space
    sizes = [sorted({int(x) for x in column}) for column in (space.batch, space.vcpus, space.vgpus)]
    rank = [{x: i for i, x in enumerate(column)} for column in sizes]
    return [(rank[0][c.batch], rank[1][c.vcpus], rank[2][c.vgpus]) for c in space.configurations]


def split(application: Application, weight: Floats) -> tuple[float, ...]:
    """(S,) Seconds of the SLO for each stage, in proportion to ``weight`` along paths.

    Formula: share(s) = SLO · w(s) / W(s), where W(s) is the weight of the heaviest path through s. The
    shares along a path p add up to SLO · Σ w(s)/W(s) ≤ SLO · Σ w(s)/w(p) = SLO; on the heaviest path they
    are the SLO. ``weight``: (S,) above 0.

    Source: Kannan et al., GrandSLAm, EuroSys 2019: slack in proportion to stages' times, on chains; the
    heaviest path through a stage is our extension to DAGs.
    """
    before, after = application.dag.predecessors, application.dag.successors
    head, tail = weight.copy(), weight.copy()
    for s in range(application.stages):
        head[s] += max((head[u] for u in before[s]), default=0.0)
    for s in reversed(range(application.stages)):
        tail[s] += max((tail[v] for v in after[s]), default=0.0)
    shares = application.slo_s * weight / (head + tail - weight)
    return tuple(float(x) for x in shares)


def static_shares(system: ServerlessSystem, application: Application) -> tuple[float, ...]:
    """(S,) Seconds of the SLO for each stage, in proportion to its mean time over its configurations."""
    rows = zip(profile_s(system, application), application.function, strict=True)
    mean = [float(row[list(usable(system, f))].mean()) for row, f in rows]
    return split(application, np.array(mean))
