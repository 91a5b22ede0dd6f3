"""FaST-GShare: the configuration with the most throughput per cost, on as few GPUs as possible.

Among the configurations that keep a stage's static share of the SLO, the one with the largest throughput
per resource. FaST-GShare's measure is RPR = throughput / (SM share · time quota); here a batch also holds
vCPUs, so resources are counted by what they cost::

    efficiency = (b / t) / (dollars per second)

GPUs are rectangles of time by SMs; a batch goes where it fills a maximal free rectangle best.

Source: Gu et al., FaST-GShare, ICPP 2023; the published autoscaler's code.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from nona.gpu_sharing.resources import Invoker
from nona.look import Look
from nona.options import Options
from nona.serverless.dispatch.order import looks_for_slices
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Ask, ClusterView, Place, Plan, Policy, Scaler
from nona.serverless.policies.choices import profile_s, too_late
from nona.serverless.policies.gshare.ranking import ranking
from nona.serverless.policies.gshare.rectangles import FreeRectangles
from nona.serverless.policies.gshare.scaler import FastGshareScaler
from nona.serverless.policies.options import known_options, number, switch, whole
from nona.serverless.policies.slo_split import static_shares
from nona.serverless.sharing.pools import kinds_of_pool

DEFAULTS: Options = MappingProxyType(
    {"ranked": 5, "search_s": 0.0, "standing": False, "scale_s": 10.0, "window_s": 10.0}
)
NO_ROOM = 1 << 60  # later than any invoker
WHOLE_TIME = 100  # per cent: a lease has its slices all the time
SHORTEST_S = 1e-3  # between two looks at the instances


class FastGsharePlanner:
    """FaST-GShare for one system."""

    def __init__(self, system: ServerlessSystem, ranked: int, search_s: float) -> None:
        self._system, self._ranked, self._search_s = system, ranked, search_s
        self._shares = [static_shares(system, app) for app in system.applications]
        self._profiles = [profile_s(system, app) for app in system.applications]
        self._most = int(system.space.batch.max())
        self._known: dict[tuple[int, int, int], Plan] = {}
        self._vgpus = [int(g) for g in system.space.vgpus]
        pools = zip(dict.fromkeys(system.invokers), kinds_of_pool(system), strict=True)
        self._most_free = {node: pool.vgpus for node, pool in pools}
        self._late: dict[int, list[list[int]]] = {}
        self._slices = looks_for_slices(system)
        self.place: Place | None = self._best_place
        self.scaler: Scaler | None = None

    def plan(self, ask: Ask) -> Plan:
        """The most efficient configurations that keep the stage's share and that the queue fills."""
        key = (ask.application, ask.stage, min(ask.length, self._most))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._look(ask)
        return found

    def _look(self, ask: Ask) -> Plan:
        function = self._system.applications[ask.application].function[ask.stage]
        time_s = self._profiles[ask.application][ask.stage]
        order = ranking(self._system, function, time_s, self._shares[ask.application][ask.stage])
        batch = self._system.space.batch
        legal = tuple(n for n in order if batch[n] <= ask.length)
        ranked = legal[: self._ranked] or too_late(self._system, function, self._ranked)
        return Plan(ranked, self._search_s, len(legal))

    def _best_place(self, ask: Ask, ranked: Sequence[int], view: ClusterView) -> tuple[int, int] | None:
        """The first configuration that fits anywhere: in-use GPUs first, best-area fit, lowest number.

        With ``ready_first``, invokers that need not make a slice for it come before the others.
        """
        passes = (view.ready, view.fits) if self._slices else (view.fits,)
        free = view.free_vgpus
        for place, chosen in enumerate(ranked):
            worth = [known[n] for known, n in zip(self._worth(self._vgpus[chosen]), free, strict=True)]
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

    def _worth(self, wanted: int) -> list[list[int]]:
        """By invoker and its free vGPUs, how late it comes for a batch of ``wanted`` vGPUs.

        In the order of (all are free, area of the rectangle, how many are free), as one whole number.
        """
        known = self._late.get(wanted)
        if known is None:
            known = self._late[wanted] = [self._order(node, wanted) for node in self._system.invokers]
        return known

    def _order(self, node: Invoker, wanted: int) -> list[int]:
        most = self._most_free[node] + 1
        found = []
        for free in range(most):
            area = self._area(min(free, node.vgpus), node.vgpus, wanted)
            unused = free == node.gpus * node.vgpus
            late = (unused * (WHOLE_TIME * node.vgpus + 1) + (area or 0)) * most + free
            found.append(NO_ROOM if area is None else late)
        return found

    def _area(self, free: int, vgpus: int, wanted: int) -> int | None:
        """Area of the free rectangle that takes a batch of ``wanted`` vGPUs, ``free`` of a GPU being free.

        Leases hold their slices all the time and may be moved together, so what is in use is one strip.
        """
        gpu = FreeRectangles(WHOLE_TIME, vgpus)
        if free < vgpus:
            gpu.place(WHOLE_TIME, vgpus - free)
        room = gpu.best(WHOLE_TIME, wanted)
        return None if room is None else room.area


def prepare(system: ServerlessSystem, options: Options) -> FastGsharePlanner:
    """Split the SLOs of all applications."""
    given = known_options("fast-gshare", options, DEFAULTS)
    ranked = whole("fast-gshare", given, "ranked")
    planner = FastGsharePlanner(system, ranked, number("fast-gshare", given, "search_s"))
    every_s, window_s = (number("fast-gshare", given, key, SHORTEST_S) for key in ("scale_s", "window_s"))
    if switch("fast-gshare", given, "standing", "true or false"):
        planner.scaler = FastGshareScaler(system, ranked, every_s, window_s)
    return planner


POLICY = Policy(
    name="fast-gshare",
    title="FaST-GShare",
    summary="Takes the largest throughput per cost within a static share of the SLO, on as few GPUs as "
    "possible.",
    source="Gu et al., FaST-GShare, ICPP 2023; KontonGu/FaST-GShare and its autoscaler",
    adaptation=(
        "The SLO is split statically in proportion to mean times (FaST-GShare has no workflows). "
        "Throughput is taken per dollar, as batches hold vCPUs too. Its GPUs are shared by time quota and "
        "SM share; here a batch holds k of the vGPUs all the time, so rectangles become strips, and "
        "best-area fit becomes the fullest GPU that has room. It scales instances by load, without "
        "batches in a queue: here each batch is one choice, or with `standing` instances stand as in the "
        "source: its rule, 20 %, 10 s between looks and the windows of 10 s are read in the code; that "
        "jobs go at once, up to the batch, to the largest idle instance, that what has the least "
        "throughput per dollar is stopped first, and that a stop waits for the end of a batch are ours. It "
        "names one configuration; the next best ones are our fall-backs. Where nothing keeps the share, the "
        "scenario's rule for late jobs holds. The published autoscaler looks profiles up in a stub, which is "
        "not copied. The scheduler's own time is taken as 0; no figure was found."
    ),
    prepare=prepare,
    defaults=DEFAULTS,
    option_help=MappingProxyType(
        {
            "ranked": "How many configurations, best first, are tried for a batch when there is no room.",
            "search_s": "Seconds charged for a decision; standing instances need none.",
            "standing": "Whether instances stand, started and stopped by load, instead of a lease per batch.",
            "scale_s": "With standing: seconds between two looks at the number of instances.",
            "window_s": "With standing: seconds over which the rate of a queue is measured.",
        }
    ),
    look=Look("#0f9b8e", "solid", "square"),
    by_length=True,
)
