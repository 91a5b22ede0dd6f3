"""INFless: as large a batch as the load fills in time, on the invoker that it leaves least fragmented.

Candidates see :mod:`~nona.serverless.policies.infless.candidates`. The largest batch that any invoker
takes wins; among its configurations and all invokers it is the largest throughput per left-over::

    CRE = (b / t) / (left / capacity)        left = w_v · (free vCPUs − v) + w_g · (free vGPUs − g)

where capacity is ``left`` of the empty invoker without any batch.

Source: Yang et al., INFless, ASPLOS 2022, as read in its published code (estimator, scheduler, dispatcher).
"""

from __future__ import annotations

from collections.abc import Sequence
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
from nona.serverless.policies.infless.settings import DEFAULTS, HELP, InflessOptions
from nona.serverless.policies.options import known_options, number, switch
from nona.serverless.policies.slo_split import static_shares

SMALLEST_LEFT = 1e-9  # of an invoker's capacity: none is left over where a batch fills it
SMALLEST_WEIGHT = 1e-6
SOONEST_S = 1e-9  # a shorter wait has run out
SHORTEST_S = 1e-3  # between two looks at the instances


Wishes = tuple[tuple[float, int], ...]  # (−CRE, column of the row)
NO_WISH = (1.0, -1)  # nothing has room


class _Row(NamedTuple):
    """Ranked configurations of one batch size: their places among the ranked, sizes, jobs a second.

    ``wishes``: by an invoker's kind and free amounts, what has room there by counts, the best first;
    ``heads``: the −CRE of the best.
    """

    places: tuple[int, ...]
    vcpus: NDArray[np.int64]
    vgpus: NDArray[np.int64]
    throughput: NDArray[np.float64]
    wishes: dict[tuple[int, int, int], Wishes]
    heads: dict[tuple[int, int, int], float]


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
        kinds = list(dict.fromkeys(system.invokers))
        self._kind = [kinds.index(node) for node in system.invokers]
        self._vgpu_weight = np.array([chosen.gpu_weight / node.vgpus for node in kinds])
        vcpus = np.array([node.vcpus for node in kinds])
        vgpus = np.array([node.gpus * node.vgpus for node in kinds])
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
        room = list(zip(self._kind, view.free_vcpus, view.free_vgpus, strict=True))
        for row in rows:
            try:
                heads = [row.heads[free] for free in room]
            except KeyError:
                heads = [self._wishes(row, free)[0][0] for free in room]
            found = self._first_with_room(row, heads, room, ranked, view)
            if found is not None:
                return found
        return None

    def _first_with_room(
        self,
        row: _Row,
        heads: list[float],
        room: Sequence[tuple[int, int, int]],
        ranked: Sequence[int],
        view: ClusterView,
    ) -> tuple[int, int] | None:
        """The best wish of all invokers that has room; of equal ones the first invoker's, then in order.

        ``heads``: the best of each invoker, whose kind and free amounts are in ``room``.
        """
        best = min(heads)
        if best == NO_WISH[0]:
            return None  # counts alone say that none has room
        passes = (view.ready, view.fits) if self._slices else (view.fits,)
        invoker = heads.index(best)
        place = row.places[row.wishes[room[invoker]][0][1]]
        if passes[0](invoker, ranked[place]):
            return place, invoker
        every = sorted((w, i, column) for i, free in enumerate(room) for w, column in row.wishes[free])
        for has_room in passes:
            for wish, invoker, column in every:
                if wish != NO_WISH[0] and has_room(invoker, ranked[row.places[column]]):
                    return row.places[column], invoker
        return None

    def _wishes(self, row: _Row, free: tuple[int, int, int]) -> Wishes:
        """What the counts of an invoker, (kind, free vCPUs, free vGPUs), leave room for, the best first."""
        kind, free_v, free_g = free
        spare_v, spare_g = free_v - row.vcpus, free_g - row.vgpus
        left = (self._vcpu_weight * spare_v + self._vgpu_weight[kind] * spare_g) / self._capacity[kind]
        cre = row.throughput / np.maximum(left, SMALLEST_LEFT)
        fitting = np.flatnonzero((spare_v >= 0) & (spare_g >= 0)).tolist()
        found = tuple(sorted((-float(cre[column]), column) for column in fitting)) or (NO_WISH,)
        row.wishes[free], row.heads[free] = found, found[0][0]
        return found

    def _by_batch(self, application: int, stage: int, ranked: tuple[int, ...]) -> tuple[_Row, ...]:
        """Ranked configurations in arrays, those of the largest batch first."""
        space, time_s = self._system.space, self._profiles[application][stage]
        rows = []
        for batch in sorted({space[n].batch for n in ranked}, reverse=True):
            places = tuple(k for k, n in enumerate(ranked) if space[n].batch == batch)
            numbers = [ranked[k] for k in places]
            rows.append(
                _Row(places, space.vcpus[numbers], space.vgpus[numbers], batch / time_s[numbers], {}, {})
            )
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
    option_help=HELP,
    look=Look("#cf7a10", "solid", "diamond"),
)
