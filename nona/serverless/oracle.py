"""A lower bound on the cost of a call under any policy, by a stated relaxation.

What is relaxed: resources are unlimited, nothing waits, nothing is moved, every container is warm, every
batch is full and alone on its GPU part, the fastest kind of invoker serves it, the noise of the whole call
is known before its first configuration is chosen, and configurations may be mixed in any proportions.

With ν_s the noise of stage s, t and c the least time and cost a job of a configuration, and D the SLO, a
call that keeps D pays at least (Lagrange's dual; P is a path of the DAG, λ dollars a second)::

    V(ν) = max over λ ≥ 0 of  Σ_{s∈P} ν_s · min_c (c_s + λ t_s)  −  λ D  +  Σ_{s∉P} ν_s · min c_s

and one that does not keep it at least V0(ν) = Σ ν_s · min c_s. Both hold for every call: with the noise
of the oldest job of each of its batches, which is the one that counts, and its part of their costs. Who is
the oldest job is settled before its noise shows, so however a policy forms batches, ν is drawn as the
noise of single calls is. Hence the mean cost of a call, of which a share h keep the SLO, is at least::

    L(h) = E V0  +  least over events A of probability h of  E (V − V0) 1_A

and the cost per hit at least min_h L(h) / h. Without noise this holds for every run, with noise for the
expectation; for single runs it is then taken with the noise of the calls that were run, which is exact
where batches are of one job. It holds for policies that complete all calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nona.core.arrays import Floats
from nona.core.random_streams import RandomStreams
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.sharing import least_times
from nona.serverless.system import LEAST_NOISE, Application, ServerlessSystem, calls, noise_factors

HOW = (
    "unlimited resources, no waiting, transfers, cold starts or set-up, full batches, noise known in "
    "advance, configurations mixed freely"
)
DRAWS = 4096


@dataclass(frozen=True, eq=False)
class Bound:
    """Bounds below the cost of calls, from draws of the noise.

    ``weight``, ``any_usd``, ``hit_usd``: (n,) of each draw its probability, the least cost without a
    limit (V0), and with the SLO kept (V), infinite where it cannot be kept. ``share`` of all calls are such.
    """

    weight: Floats
    any_usd: Floats
    hit_usd: Floats
    share: float = 1.0

    @cached_property
    def most_hits(self) -> float:
        """No policy keeps the SLO of a larger share of calls."""
        return float(self.weight[np.isfinite(self.hit_usd)].sum())

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Shares of hits, from 0 up, and L there; the draws where keeping the SLO costs least come first."""
        possible = np.isfinite(self.hit_usd)
        extra = (self.hit_usd - self.any_usd)[possible]
        order = np.argsort(extra, kind="stable")
        weight = self.weight[possible][order]
        share = np.concatenate([[0.0], np.cumsum(weight)])
        paid = np.concatenate([[0.0], np.cumsum(weight * extra[order])])
        return share, float(self.weight @ self.any_usd) + paid

    def cost_per_call_usd(self, hits: float = 1.0) -> float:
        """L(``hits``): least mean cost of a call when that share keeps the SLO, or as many as can."""
        return float(np.interp(min(hits, self.most_hits), *self._sums))

    @cached_property
    def cost_per_hit_usd(self) -> float:
        """Least cost per call that keeps its SLO; infinite if none can."""
        share, least = self._sums
        some = share > 0
        return float((least[some] / share[some]).min()) if some.any() else float("inf")


def application_bounds(
    system: ServerlessSystem, run: PlatformRunOptions | None = None, replications: int = 1
) -> tuple[Bound, ...]:
    """Return the bound of each application, for the calls that ``run`` measures, each with its noise.

    Without ``run`` it is for calls at large, by draws of the noise.
    """
    time_s, cost = least_times(system)
    noise = _drawn(system) if run is None else _measured(system, run, replications)
    weights = _rates(system) if run is None else np.array([float(len(n)) for n in noise])
    shares = (weights / weights.sum()).tolist()
    return tuple(
        _bound(app, of, time_s[list(app.function)], cost[list(app.function)], share)
        for app, of, share in zip(system.applications, noise, shares, strict=True)
    )


def oracle(system: ServerlessSystem, run: PlatformRunOptions | None = None, replications: int = 1) -> Bound:
    """Return the bound for the calls of all applications, as many as ``run`` measures, or by rates.

    A share of hits is then a share of all calls, and those where they are cheapest come first. To set it
    beside what was simulated, give what was run: else chance alone may put a policy below it.
    """
    bounds = application_bounds(system, run, replications)
    return Bound(
        weight=np.concatenate([b.share * b.weight for b in bounds]),
        any_usd=np.concatenate([b.any_usd for b in bounds]),
        hit_usd=np.concatenate([b.hit_usd for b in bounds]),
    )


def _rates(system: ServerlessSystem) -> Floats:
    return np.array([app.rate for app in system.applications])


def _drawn(system: ServerlessSystem) -> list[Floats]:
    """Noise (n, S) of each application; one row of ones where there is none."""
    streams, noise = RandomStreams(system.seed, 0), []
    for app in system.applications:
        draws = streams.generator("serverless", "oracle", app.name)
        z = draws.standard_normal((DRAWS if system.noise else 1, app.stages))
        noise.append(np.maximum(LEAST_NOISE, 1 + system.noise * z))
    return noise


def _measured(system: ServerlessSystem, run: PlatformRunOptions, replications: int) -> list[Floats]:
    """Noise (n, S) of the calls of each application that ``run`` measures in all replications."""
    by_application: list[list[Floats]] = [[] for _ in system.applications]
    for replication in range(run.replication, run.replication + replications):
        _, application = calls(system, run.first + run.calls, replication)
        noise = noise_factors(system, application, replication)[run.first :]
        for number, app in enumerate(system.applications):
            by_application[number].append(noise[application[run.first :] == number, : app.stages])
    return [np.concatenate(rows) for rows in by_application]


def _bound(app: Application, noise: Floats, time_s: Floats, cost: Floats, share: float) -> Bound:
    """Return the bound of one application: noise (n, S), times and costs (S, C)."""
    prices = _prices(time_s, cost)
    finite = np.isfinite(time_s)
    time = np.where(finite, time_s, 0.0)
    value = np.where(finite[..., None], cost[..., None] + prices * time[..., None], np.inf).min(axis=1)
    cheapest = value[:, 0]
    any_usd: Floats = noise @ cheapest
    hit_usd = any_usd.copy()
    for path in _paths(app, time_s, cost):
        dual = noise[:, path] @ (value[path] - cheapest[path, None]) - prices * app.slo_s
        hit_usd = np.maximum(hit_usd, any_usd + dual.max(axis=1))
        hit_usd[noise[:, path] @ time_s[path].min(axis=1) > app.slo_s * (1 + 1e-12)] = np.inf
    return Bound(np.full(len(noise), 1 / max(1, len(noise))), any_usd, hit_usd, share)


def _prices(time_s: Floats, cost: Floats) -> Floats:
    """Prices λ at which the best configuration of some stage changes, 0 first: the dual peaks at one."""
    prices = {0.0}
    for time, usd in zip(time_s, cost, strict=True):
        order = [i for i in np.lexsort((time, usd)).tolist() if np.isfinite(time[i])]
        at = order[0]
        while True:
            faster = [i for i in order if time[i] < time[at]]
            if not faster:
                break
            slopes = [(usd[i] - usd[at]) / (time[at] - time[i]) for i in faster]
            least = min(slopes)
            at = min((i for i, s in zip(faster, slopes, strict=True) if s == least), key=lambda i: time[i])
            prices.add(float(least))
    return np.array(sorted(prices))


def _paths(app: Application, time_s: Floats, cost: Floats) -> list[list[int]]:
    """Paths that are long when all is cheapest, or fastest; of a chain the only one."""
    stages = np.arange(app.stages)
    cheapest = time_s[stages, cost.argmin(axis=1)]
    weights = (cheapest, time_s.min(axis=1))
    return [list(p) for p in dict.fromkeys(app.dag.critical_path(w.tolist())[1] for w in weights)]
