"""FaST-GShare: the most throughput per resource within a static share of the SLO, on GPUs in use.

With T(p) = b / t jobs a second of configuration p and Δ = R − Σ T::

    Δ > 0.2 Σ T       start ⌊Δ / T(p_eff)⌋ of p_eff, which has the most throughput per resource, and for
                      the rest r > 0 one p with the least T(p) − r > 0
    −Δ > 0.2 Σ T      stop in increasing order of throughput per resource while Σ T stays at least R

Source: Gu et al., FaST-GShare, ICPP 2023; the published autoscaler's code, where the choice for the rest
stands in a comment. Of equal ones the newest is stopped first, which is ours.

Among the configurations that keep a stage's static share of the SLO, the one with the largest throughput
per resource. FaST-GShare's measure is RPR = throughput / (SM share · time quota); here a batch also holds
vCPUs, so resources are counted by what they cost::

    efficiency = (b / t) / (dollars per second)

Its GPUs are rectangles of time by SMs, and a batch goes where it fills a maximal free rectangle best
(MAXRECTS, best-area fit: Jylänki, A Thousand Ways to Pack the Bin, 2010). Leases here hold their slices all
the time and may be moved together, so that what is free of a GPU is one strip of the whole time.

Source: Gu et al., FaST-GShare, ICPP 2023; the published autoscaler's code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.cluster.sharing.pool import Invoker
from nona.core.arrays import Floats
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.serverless.dispatch import looks_for_slices
from nona.serverless.policies.base import (
    SEARCH_S,
    BatchPlan,
    ClusterView,
    ConfigurationPolicy,
    Fleet,
    Place,
    Scaler,
    Service,
    WaitingQueue,
    standing_settings,
)
from nona.serverless.policies.choices import profile_s, profiled, static_shares, too_late, usable
from nona.serverless.sharing import kinds_of_gpu
from nona.serverless.system import ServerlessSystem


def _ranking(system: ServerlessSystem, function: int, time_s: Floats, slo_s: float) -> tuple[int, ...]:
    """Return configurations that keep ``slo_s`` seconds, by throughput per cost, the largest first.

    Ties go to the faster, then to the lower number. b/t per dollar a second is one over the dollars a
    job, so without prices everything ties and the fastest wins. ``time_s``: (C,) seconds, as profiled.
    """
    cost = profiled(system)[1][function]
    kept = [n for n in usable(system, function) if time_s[n] <= slo_s]
    return tuple(sorted(kept, key=lambda n: (cost[n], time_s[n], n)))


TOLERANCE = 0.2  # of the capacity: smaller differences change nothing


class FastGshareScaler:
    """FaST-GShare's scaler; ``late``: how many configurations are tried where none keeps the share."""

    def __init__(self, system: ServerlessSystem, late: int, every_s: float, window_s: float) -> None:
        self.every_s, self.window_s = every_s, window_s
        self._system, self._late = system, late
        self._batch = [c.batch for c in system.space.configurations]
        self._profiles = [profile_s(system, app) for app in system.applications]
        shares = [static_shares(system, app) for app in system.applications]
        self._orders = [
            [
                _ranking(system, f, time_s, slo_s)
                for f, time_s, slo_s in zip(app.function, profile, share, strict=True)
            ]
            for app, profile, share in zip(system.applications, self._profiles, shares, strict=True)
        ]

    def _throughput(self, application: int, stage: int, configuration: int) -> float:
        return self._batch[configuration] / float(self._profiles[application][stage][configuration])

    def service(self, application: int, stage: int, configuration: int) -> Service:
        """Its throughput; jobs are served at once."""
        return Service(0.0, self._throughput(application, stage, configuration), 0.0)

    def _capacity(self, fleet: Fleet) -> float:
        return sum(self._throughput(fleet.application, fleet.stage, c) for c in fleet.standing)

    def excess(self, fleet: Fleet) -> float:
        """Δ, where it is more than the tolerance."""
        capacity = self._capacity(fleet)
        lacking = fleet.rate - capacity
        return lacking if lacking > TOLERANCE * capacity else 0.0

    def ranked(self, application: int, stage: int, rate: float) -> tuple[int, ...]:
        """Order configurations: the most efficient while the rate fills one, else the smallest sufficient.

        All of them: what does not fit now is not tried again before the next look.
        """
        order = self._orders[application][stage]
        if not order:
            function = self._system.applications[application].function[stage]
            return too_late(self._system, function, self._late)
        does = {n: self._throughput(application, stage, n) for n in order}
        if rate < does[order[0]]:
            return tuple(sorted(order, key=lambda n: (does[n] <= rate, abs(does[n] - rate))))
        return order

    def stops(self, fleet: Fleet) -> tuple[int, ...]:
        """Return the least efficient ones that the rate does not need."""
        capacity, place = self._capacity(fleet), (fleet.application, fleet.stage)
        if capacity - fleet.rate <= TOLERANCE * capacity:
            return ()
        order = self._orders[fleet.application][fleet.stage]
        efficient = {n: -k for k, n in enumerate(order)}  # what keeps no share is the least so
        stopped: list[int] = []
        inverse = sorted(
            range(len(fleet.standing)), key=lambda k: (efficient.get(fleet.standing[k], -len(order)), -k)
        )
        for k in inverse:
            capacity -= self._throughput(*place, fleet.standing[k])
            if capacity < fleet.rate:
                break
            stopped.append(k)
        return tuple(stopped)


NO_ROOM = 1 << 60  # later than any invoker
WHOLE_TIME = 100  # per cent: a lease has its slices all the time


class FastGsharePlanner:
    """FaST-GShare for one system."""

    def __init__(self, system: ServerlessSystem, ranked: int, search_s: float) -> None:
        self._system, self._ranked, self._search_s = system, ranked, search_s
        self._shares = [static_shares(system, app) for app in system.applications]
        self._profiles = [profile_s(system, app) for app in system.applications]
        self._most = int(system.space.batch.max())
        self._plans: dict[tuple[int, int, int], BatchPlan] = {}
        self._vgpus = [int(g) for g in system.space.vgpus]
        gpus = zip(dict.fromkeys(system.invokers), kinds_of_gpu(system), strict=True)
        self._most_free = {node: gpu.vgpus * node.gpus for node, gpu in gpus}
        self._late: dict[int, list[list[int]]] = {}
        self._slices = looks_for_slices(system)
        self.place: Place | None = self._best_place
        self.scaler: Scaler | None = None

    def plan(self, ask: WaitingQueue) -> BatchPlan:
        """Return the most efficient configurations that keep the stage's share and that the queue fills."""
        key = (ask.application, ask.stage, min(ask.length, self._most))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan_now(ask)
        return plan

    def _plan_now(self, ask: WaitingQueue) -> BatchPlan:
        function = self._system.applications[ask.application].function[ask.stage]
        time_s = self._profiles[ask.application][ask.stage]
        order = _ranking(self._system, function, time_s, self._shares[ask.application][ask.stage])
        batch = self._system.space.batch
        legal = tuple(n for n in order if batch[n] <= ask.length)
        ranked = legal[: self._ranked] or too_late(self._system, function, self._ranked)
        return BatchPlan(ranked, self._search_s, len(legal))

    def _best_place(
        self, ask: WaitingQueue, ranked: Sequence[int], view: ClusterView
    ) -> tuple[int, int] | None:
        """Return the first configuration that fits anywhere: in-use GPUs first, best-area fit, lowest number.

        With ``ready_first``, invokers that need not make a slice for it come before the others.
        """
        passes = (view.ready, view.fits) if self._slices else (view.fits,)
        free = view.free_vgpus
        for place, chosen in enumerate(ranked):
            worth = [by_free[n] for by_free, n in zip(self._lateness(self._vgpus[chosen]), free, strict=True)]
            best = min(worth)
            if best == NO_ROOM:
                continue
            invoker = worth.index(best)
            if passes[0](invoker, chosen):
                return place, invoker
            asked = [i for w, i in sorted((w, i) for i, w in enumerate(worth)) if w != NO_ROOM]
            for room in passes:
                for invoker in asked:
                    if room(invoker, chosen):
                        return place, invoker
        return None

    def _lateness(self, wanted: int) -> list[list[int]]:
        """By invoker and its free vGPUs, how late it comes for a batch of ``wanted`` vGPUs.

        In the order of (all are free, area of the rectangle, how many are free), as one whole number.
        """
        by_invoker = self._late.get(wanted)
        if by_invoker is None:
            by_invoker = self._late[wanted] = [self._order(node, wanted) for node in self._system.invokers]
        return by_invoker

    def _order(self, node: Invoker, wanted: int) -> list[int]:
        most = self._most_free[node] + 1
        lateness = []
        for free in range(most):
            strip = min(free, node.vgpus)
            unused = free == node.gpus * node.vgpus
            late = (unused * (WHOLE_TIME * node.vgpus + 1) + WHOLE_TIME * strip) * most + free
            lateness.append(late if strip >= wanted else NO_ROOM)
        return lateness


def _build(system: ServerlessSystem, options: Mapping[str, Any]) -> FastGsharePlanner:
    ranked = options["ranked"]
    planner = FastGsharePlanner(system, ranked, options["search_s"])
    if options["standing"]:
        planner.scaler = FastGshareScaler(system, ranked, options["scale_s"], options["window_s"])
    return planner


POLICY = ConfigurationPolicy(
    name="fast-gshare",
    title="FaST-GShare",
    summary="Takes the largest throughput per cost within a static share of the SLO, on as few GPUs as "
    "possible.",
    source="Gu et al., FaST-GShare, ICPP 2023; KontonGu/FaST-GShare and its autoscaler",
    adaptation=(
        "The SLO is split statically in proportion to mean times (FaST-GShare has no workflows). "
        "Throughput is taken per dollar, as batches hold vCPUs too. Its GPUs are shared by time quota and "
        "SM share. Here a batch holds k of the vGPUs all the time: rectangles become strips, and best-area "
        "fit becomes the fullest GPU with room. It scales instances by load, without "
        "batches in a queue: here each batch is one choice, or with `standing` instances stand as in the "
        "source. From its code: the rule, 20 %, 10 s between looks, windows of 10 s. Ours: jobs go at once, "
        "up to the batch, to the largest idle instance. The instance with the least throughput per dollar is "
        "stopped first, at the end of its batch. FaST-GShare "
        "names one configuration; the next best ones are our fall-backs. Where nothing keeps the share, the "
        "scenario's rule for late jobs holds. The published autoscaler looks profiles up in a stub, which is "
        "not copied. The scheduler's own time is taken as 0; no figure was found."
    ),
    build=_build,
    settings={
        "ranked": PolicyOption(
            5, "How many configurations, best first, are tried for a batch when there is no room.", least=1
        ),
        "search_s": SEARCH_S,
        **standing_settings(scale_s=10.0),
    },
    style=ChartStyle("#0f9b8e", "solid", "square"),
    by_length=True,
)
