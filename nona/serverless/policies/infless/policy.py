"""INFless: as large a batch as the load fills in time, on the invoker that it leaves least fragmented.

Candidates see :mod:`~nona.serverless.policies.infless.candidates`. The largest batch that any invoker
takes wins; among its configurations and all invokers it is the largest throughput per left-over::

    CRE = (b / t) / (left / capacity)        left = w_v · (free vCPUs − v) + w_g · (free vGPUs − g)

where capacity is ``left`` of the empty invoker without any batch.

Source: Yang et al., INFless, ASPLOS 2022, as read in its published code (estimator, scheduler, dispatcher).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.look import Look
from nona.options import Options
from nona.serverless.dispatch.order import looks_for_slices
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Ask, ClusterView, Place, Plan, Policy, Scaler
from nona.serverless.policies.carried import RANKED
from nona.serverless.policies.choices import profile_s, too_late
from nona.serverless.policies.infless.candidates import Group, candidates, listed
from nona.serverless.policies.infless.scaler import InflessScaler
from nona.serverless.policies.options import known_options, number, switch
from nona.serverless.policies.slo_split import static_shares

SMALLEST_LEFT = 1e-9  # of an invoker's capacity: none is left over where a batch fills it
SMALLEST_WEIGHT = 1e-6
SOONEST_S = 1e-9  # a shorter wait has run out
SHORTEST_S = 1e-3  # between two looks at the instances
DEFAULTS: Options = MappingProxyType(
    {
        "wait": True,
        "batch_vcpus": True,
        "gpu_share": 0.5,
        "vcpu_weight": 64.0,
        "gpu_weight": 14_200.0,
        "search_s": 0.0,
        "standing": False,
        "scale_s": 1.0,
        "window_s": 10.0,
    }
)


@dataclass(frozen=True, slots=True)
class InflessOptions:
    """The options of INFless; see :data:`POLICY` for what they do."""

    wait: bool
    batch_vcpus: bool
    gpu_share: float
    vcpu_weight: float
    gpu_weight: float
    search_s: float


class _Row(NamedTuple):
    """Ranked configurations of one batch size: their places among the ranked, sizes, jobs a second."""

    places: tuple[int, ...]
    vcpus: NDArray[np.int64]
    vgpus: NDArray[np.int64]
    throughput: NDArray[np.float64]


class InflessPlanner:
    """INFless for one system."""

    def __init__(self, system: ServerlessSystem, chosen: InflessOptions) -> None:
        self._system, self._wait, self._search_s = system, chosen.wait, chosen.search_s
        allowed = listed(system, chosen.batch_vcpus, chosen.gpu_share)
        self._slices = looks_for_slices(system)
        self.place: Place | None = self._best_place
        self.scaler: Scaler | None = None
        self._groups: list[list[tuple[Group, ...]]] = []
        self._thresholds: list[list[NDArray[np.float64]]] = []
        self._profiles = [profile_s(system, app) for app in system.applications]
        for app, profile in zip(system.applications, self._profiles, strict=True):
            stages = zip(app.function, profile, static_shares(system, app), strict=True)
            groups = [candidates(system, f, time_s, slo_s, allowed) for f, time_s, slo_s in stages]
            self._groups.append(groups)
            self._thresholds.append([np.unique([x for g in gs for x in g.least]) for gs in groups])
        self._most = int(system.space.batch.max())
        self._known: dict[tuple[int, int, int, int], tuple[Plan, int, float]] = {}
        self._vcpu_weight = chosen.vcpu_weight
        self._vgpu_weight = np.array([[chosen.gpu_weight / node.vgpus] for node in system.invokers])
        vcpus = np.array([[node.vcpus] for node in system.invokers])
        vgpus = np.array([[node.gpus * node.vgpus] for node in system.invokers])
        self._capacity = self._vcpu_weight * vcpus + self._vgpu_weight * vgpus
        self._rows: dict[tuple[int, int, tuple[int, ...]], tuple[_Row, ...]] = {}

    def plan(self, ask: Ask) -> Plan:
        """Candidates for the queue, the largest batch first; none while a larger one may still fill."""
        level = int(self._thresholds[ask.application][ask.stage].searchsorted(ask.rate, side="right"))
        key = (ask.application, ask.stage, min(ask.length, self._most), level)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._look(ask)
        plan, target, timeout_s = found
        left_s = timeout_s - ask.waited_s
        if self._wait and ask.length < target and left_s > SOONEST_S:
            return Plan((), wait_s=left_s, wait_for=target)
        return plan

    def _look(self, ask: Ask) -> tuple[Plan, int, float]:
        """The plan if nothing is waited for; the batch to wait for, and for how long at most."""
        groups = self._groups[ask.application][ask.stage]
        loaded = [(group, k) for group in groups if (k := group.loaded(ask.rate))]
        ranked = tuple(n for group, k in loaded if group.batch <= ask.length for n in group.numbers[:k])
        if not ranked:
            function = self._system.applications[ask.application].function[ask.stage]
            ranked = too_late(self._system, function, RANKED)
        target, timeout_s = (
            (loaded[0][0].batch, loaded[0][0].timeout_s[loaded[0][1] - 1]) if loaded else (0, 0.0)
        )
        return Plan(ranked, self._search_s, len(ranked)), target, timeout_s

    def _best_place(self, ask: Ask, ranked: Sequence[int], view: ClusterView) -> tuple[int, int] | None:
        """The largest batch that fits anywhere, where its throughput per left-over is largest.

        With ``ready_first``, invokers that need not make a slice for it come before the others.
        """
        key = (ask.application, ask.stage, tuple(ranked))
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = self._by_batch(*key)
        free_v = np.array(view.free_vcpus)[:, None]
        free_g = np.array(view.free_vgpus)[:, None]
        for row in rows:
            spare_v, spare_g = free_v - row.vcpus, free_g - row.vgpus
            room = (spare_v >= 0) & (spare_g >= 0)
            if not room.any():
                continue
            left = (self._vcpu_weight * spare_v + self._vgpu_weight * spare_g) / self._capacity
            cre = np.where(room, row.throughput / np.maximum(left, SMALLEST_LEFT), -1.0).ravel()
            best = np.argsort(-cre, kind="stable")[: np.count_nonzero(room)].tolist()
            for has_room in (view.ready, view.fits) if self._slices else (view.fits,):
                for at in best:
                    invoker, column = divmod(at, len(row.places))
                    if has_room(invoker, ranked[row.places[column]]):
                        return row.places[column], invoker
        return None

    def _by_batch(self, application: int, stage: int, ranked: tuple[int, ...]) -> tuple[_Row, ...]:
        """Ranked configurations in arrays, those of the largest batch first."""
        space, time_s = self._system.space, self._profiles[application][stage]
        rows = []
        for batch in sorted({space[n].batch for n in ranked}, reverse=True):
            places = tuple(k for k, n in enumerate(ranked) if space[n].batch == batch)
            numbers = [ranked[k] for k in places]
            rows.append(_Row(places, space.vcpus[numbers], space.vgpus[numbers], batch / time_s[numbers]))
        return tuple(rows)


def prepare(system: ServerlessSystem, options: Options) -> InflessPlanner:
    """Split the SLOs and list the candidates of every stage."""
    given = known_options("infless", options, DEFAULTS)
    chosen = InflessOptions(
        wait=switch("infless", given, "wait", "true or false"),
        batch_vcpus=switch("infless", given, "batch_vcpus", "true or false"),
        vcpu_weight=number("infless", given, "vcpu_weight", SMALLEST_WEIGHT),
        gpu_weight=number("infless", given, "gpu_weight", SMALLEST_WEIGHT),
        gpu_share=number("infless", given, "gpu_share", 0, 1),
        search_s=number("infless", given, "search_s"),
    )
    planner = InflessPlanner(system, chosen)
    every_s, window_s = (number("infless", given, key, SHORTEST_S) for key in ("scale_s", "window_s"))
    if switch("infless", given, "standing", "true or false"):
        allowed = listed(system, chosen.batch_vcpus, chosen.gpu_share)
        planner.scaler = InflessScaler(system, allowed, chosen.wait, every_s, window_s)
    return planner


POLICY = Policy(
    name="infless",
    title="INFless",
    summary="Takes the largest batch that the load fills in time, where it fragments least; static SLOs.",
    source="Yang et al., INFless, ASPLOS 2022; TankLabTJU/INFless",
    adaptation=(
        "The SLO is split statically in proportion to mean times (INFless has no workflows). A batch is "
        "one instance's; the load is that of the AFW queue. With `standing` instances stand as in the "
        "source: a look every second, the band and its 0.8 are read in the code; which ones are stopped, the "
        "window of the rate, one queue for all instances of a stage instead of shares of its load, and "
        "that a stop waits for the end of a batch are ours. Rates are not rounded to whole jobs a second, "
        "as functions may take longer than one, and a single job needs no minimum rate. At the time-out "
        "the largest batch that is full runs. Where nothing keeps the share, the scenario's rule for late "
        "jobs holds. The code's errors (the best CRE kept between rounds, rows overwritten when they "
        "parse) are not copied. Weights are the code's GFLOPs per thread and per GPU. The scheduler's own "
        "time is taken as 0; no figure was found."
    ),
    prepare=prepare,
    defaults=DEFAULTS,
    option_help=MappingProxyType(
        {
            "wait": "Whether a batch may wait until it is full or its time-out ends.",
            "batch_vcpus": "Whether a batch of b jobs gets at most b vCPUs (2 for one job), as in the code.",
            "gpu_share": "Largest part of a GPU for a batch; the code's lists end at a half.",
            "vcpu_weight": "Weight of a left-over vCPU (GFLOPs of a thread).",
            "gpu_weight": "Weight of a whole left-over GPU (GFLOPs).",
            "search_s": "Seconds charged for a decision; standing instances need none.",
            "standing": "Whether instances stand, started and stopped by load, instead of a lease per batch.",
            "scale_s": "With standing: seconds between two looks at the number of instances.",
            "window_s": "With standing: seconds over which the rate of a queue is measured.",
        }
    ),
    look=Look("#cf7a10", "solid", "diamond"),
)
