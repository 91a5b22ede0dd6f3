"""INFless: as large a batch as the load fills in time.

With rMin and rMax of each instance from its :func:`~nona.serverless.policies.infless.window`::

    R > Σ rMax                               start for R − Σ rMax: the largest batch first, then R −= rMax
    R ≥ α (Σ rMax − Σ rMin) + Σ rMin         keep all, α = 0.8
    else                                     stop some so that for the rest both are as they should be

Source: Yang et al., INFless, ASPLOS 2022, its published code (dispatcher, scheduler). Which are stopped is
ours: one after the other that with the largest rMax without which Σ rMax is still R at least, the newest
of equal ones, until the rest is in the band or none is left to stop.

Candidates see :mod:`~nona.serverless.policies.infless`. The largest batch that any invoker
takes wins; among its configurations and all invokers it is the largest throughput per left-over::

    CRE = (b / t) / (left / capacity)        left = w_v · (free vCPUs − v) + w_g · (free vGPUs − g)

where capacity is ``left`` of the empty invoker without any batch.

Source: Yang et al., INFless, ASPLOS 2022, as read in its published code (estimator, scheduler, dispatcher).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Bools, Floats, Ints
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
from nona.serverless.policies.choices import RANKED, profile_s, static_shares, too_late, usable
from nona.serverless.system import ServerlessSystem


def window(batch: int, time_s: float, slo_s: float) -> Service:
    """Return the load window of an instance.

    Formula: most = b/t; least = b/(SLO − t) and time-out = SLO − t for b > 1; a single job needs no load
    and does not wait. ``time_s`` t and ``slo_s`` in seconds, t < SLO.

    >>> w = window(8, 0.115, 0.300)
    >>> int(w.most), int(w.least), round(w.timeout_s, 3)
    (69, 43, 0.185)
    """
    if batch == 1:
        return Service(0.0, 1 / time_s, 0.0)
    return Service(batch / (slo_s - time_s), batch / time_s, slo_s - time_s)


class BatchSizeGroup(NamedTuple):
    """Candidates of one batch size, fastest first.

    ``least`` is the load that each needs and ``timeout_s`` how long each may wait; the first increases
    and the second decreases along the group.
    """

    batch: int
    numbers: tuple[int, ...]
    least: tuple[float, ...]
    timeout_s: tuple[float, ...]

    def loaded(self, rate: float) -> int:
        """Count the candidates, from the first, for which a load of ``rate`` jobs per second is enough."""
        return bisect_right(self.least, rate)


def listed(system: ServerlessSystem, batch_vcpus: bool, gpu_share: float) -> Bools:
    """Return, by configuration (C,), whether INFless's enumeration reaches it.

    It goes up to 2 vCPUs for one job and b for b jobs (with ``batch_vcpus``), and to ``gpu_share`` of a
    GPU; the smallest numbers of vCPUs and vGPUs of the scenario are always listed.
    """
    space = system.space
    share = space.vgpus <= gpu_share * max(node.vgpus for node in system.invokers)
    reached: Bools = share | (space.vgpus == space.vgpus.min())
    if batch_vcpus:
        reached &= (space.vcpus <= np.maximum(2, space.batch)) | (space.vcpus == space.vcpus.min())
    return reached


def candidates(
    system: ServerlessSystem,
    function: int,
    time_s: Floats,
    slo_s: float,
    allowed: Bools | None = None,
) -> tuple[BatchSizeGroup, ...]:
    """All candidates under a stage's share of the SLO, the largest batch first.

    The budget is SLO for one job and SLO/2 for more, so that a batch can fill while the one before runs.
    ``time_s``: (C,) seconds of each configuration, as profiled; ``allowed``: (C,), all if not given.
    """
    batch = system.space.batch
    kept: dict[int, list[tuple[float, float, int]]] = {}
    for n in usable(system, function):
        b, t = int(batch[n]), float(time_s[n])
        if (allowed is None or allowed[n]) and t <= (slo_s if b == 1 else slo_s / 2):
            kept.setdefault(b, []).append((t, float(system.price_per_s[n]), n))
    groups = []
    for b in sorted(kept, reverse=True):
        rows = sorted(kept[b])
        windows = [window(b, t, slo_s) for t, _, _ in rows]
        groups.append(
            BatchSizeGroup(
                b,
                tuple(n for _, _, n in rows),
                tuple(w.least for w in windows),
                tuple(w.timeout_s for w in windows),
            )
        )
    return tuple(groups)


def stage_candidates(
    system: ServerlessSystem, allowed: Bools
) -> tuple[tuple[tuple[BatchSizeGroup, ...], ...], ...]:
    """Return the candidates of every stage of every application."""
    return tuple(
        tuple(
            candidates(system, f, time_s, slo_s, allowed)
            for f, time_s, slo_s in zip(
                app.function, profile_s(system, app), static_shares(system, app), strict=True
            )
        )
        for app in system.applications
    )


ALPHA = 0.8


class InflessScaler:
    """INFless's scaler; ``allowed``: (C,) the configurations that it lists; ``wait``: for full batches."""

    def __init__(
        self,
        system: ServerlessSystem,
        allowed: Bools,
        wait: bool,
        every_s: float,
        window_s: float,
    ) -> None:
        self.every_s, self.window_s = every_s, window_s
        self._system, self._wait = system, wait
        self._batch = [c.batch for c in system.space.configurations]
        self._shares = [static_shares(system, app) for app in system.applications]
        self._profiles = [profile_s(system, app) for app in system.applications]
        self._groups = stage_candidates(system, allowed)

    def service(self, application: int, stage: int, configuration: int) -> Service:
        """rMin, rMax and the time-out; one that cannot keep the share needs no load and does not wait."""
        time_s = float(self._profiles[application][stage][configuration])
        slo_s, batch = self._shares[application][stage], self._batch[configuration]
        if time_s >= slo_s:
            return Service(0.0, batch / time_s, 0.0)
        bounds = window(batch, time_s, slo_s)
        return bounds if self._wait else bounds._replace(timeout_s=0.0)

    def _services(self, fleet: Fleet) -> list[Service]:
        return [self.service(fleet.application, fleet.stage, c) for c in fleet.standing]

    def excess(self, fleet: Fleet) -> float:
        """R − Σ rMax."""
        return fleet.rate - sum(s.most for s in self._services(fleet))

    def ranked(self, application: int, stage: int, rate: float) -> tuple[int, ...]:
        """All candidates that the rate is enough for, the largest batch first."""
        groups = self._groups[application][stage]
        numbers = tuple(n for group in groups for n in group.numbers[: group.loaded(rate)])
        function = self._system.applications[application].function[stage]
        return numbers or too_late(self._system, function, RANKED)

    def stops(self, fleet: Fleet) -> tuple[int, ...]:
        """Those whose load would not be enough for all."""
        services, rate = self._services(fleet), fleet.rate
        kept, stopped = list(range(len(services))), []
        while kept:
            least, most = sum(services[k].least for k in kept), sum(services[k].most for k in kept)
            spare = [k for k in kept if most - services[k].most >= rate]
            if rate >= ALPHA * (most - least) + least or not spare:
                break
            gone = max(spare, key=lambda k: (services[k].most, k))
            kept.remove(gone)
            stopped.append(gone)
        return tuple(stopped)


SMALLEST_LEFT = 1e-9  # of an invoker's capacity: none is left over where a batch fills it
SMALLEST_WEIGHT = 1e-6
SOONEST_S = 1e-9  # a shorter wait has run out


Wishes = tuple[tuple[float, int], ...]  # (−CRE, column of the row)
NO_WISH = (1.0, -1)  # nothing has room


class _Row(NamedTuple):
    """Ranked configurations of one batch size: their places among the ranked, sizes, jobs a second.

    ``wishes``: by an invoker's kind and free amounts, what has room there by counts, the best first;
    ``heads``: the −CRE of the best.
    """

    places: tuple[int, ...]
    vcpus: Ints
    vgpus: Ints
    throughput: Floats
    wishes: dict[tuple[int, int, int], Wishes]
    heads: dict[tuple[int, int, int], float]


class InflessPlanner:
    """INFless for one system."""

    def __init__(self, system: ServerlessSystem, options: Mapping[str, Any]) -> None:
        self._system, self._wait, self._search_s = system, options["wait"], options["search_s"]
        self._slices = looks_for_slices(system)
        self.place: Place | None = self._best_place
        self.scaler: Scaler | None = None
        self._profiles = [profile_s(system, app) for app in system.applications]
        self._groups = stage_candidates(system, listed(system, options["batch_vcpus"], options["gpu_share"]))
        self._thresholds = [
            [np.unique([x for group in stage for x in group.least]) for stage in groups]
            for groups in self._groups
        ]
        self._most = int(system.space.batch.max())
        self._plans: dict[tuple[int, int, int, int], tuple[BatchPlan, int, float]] = {}
        self._vcpu_weight = options["vcpu_weight"]
        kinds = list(dict.fromkeys(system.invokers))
        self._kind = [kinds.index(node) for node in system.invokers]
        self._vgpu_weight = np.array([options["gpu_weight"] / node.vgpus for node in kinds])
        vcpus = np.array([node.vcpus for node in kinds])
        vgpus = np.array([node.gpus * node.vgpus for node in kinds])
        self._capacity = self._vcpu_weight * vcpus + self._vgpu_weight * vgpus
        self._rows: dict[tuple[int, int, tuple[int, ...]], tuple[_Row, ...]] = {}

    def plan(self, ask: WaitingQueue) -> BatchPlan:
        """Candidates for the queue, the largest batch first; none while a larger one may still fill."""
        level = int(self._thresholds[ask.application][ask.stage].searchsorted(ask.rate, side="right"))
        key = (ask.application, ask.stage, min(ask.length, self._most), level)
        entry = self._plans.get(key)
        if entry is None:
            entry = self._plans[key] = self._plan_or_wait(ask)
        plan, target, timeout_s = entry
        left_s = timeout_s - ask.waited_s
        if self._wait and ask.length < target and left_s > SOONEST_S:
            return BatchPlan((), wait_s=left_s, wait_for=target)
        return plan

    def _plan_or_wait(self, ask: WaitingQueue) -> tuple[BatchPlan, int, float]:
        """Return the plan if nothing is waited for; the batch to wait for, and for how long at most."""
        groups = self._groups[ask.application][ask.stage]
        loaded = [(group, k) for group in groups if (k := group.loaded(ask.rate))]
        ranked = tuple(n for group, k in loaded if group.batch <= ask.length for n in group.numbers[:k])
        if not ranked:
            function = self._system.applications[ask.application].function[ask.stage]
            ranked = too_late(self._system, function, RANKED)
        target, timeout_s = (
            (loaded[0][0].batch, loaded[0][0].timeout_s[loaded[0][1] - 1]) if loaded else (0, 0.0)
        )
        return BatchPlan(ranked, self._search_s, len(ranked)), target, timeout_s

    def _best_place(
        self, ask: WaitingQueue, ranked: Sequence[int], view: ClusterView
    ) -> tuple[int, int] | None:
        """Return the largest batch that fits anywhere, where its throughput per left-over is largest.

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
            place = self._first_with_room(row, heads, room, ranked, view)
            if place is not None:
                return place
        return None

    def _first_with_room(
        self,
        row: _Row,
        heads: list[float],
        room: Sequence[tuple[int, int, int]],
        ranked: Sequence[int],
        view: ClusterView,
    ) -> tuple[int, int] | None:
        """Return the best wish of all invokers that has room.

        Of equal ones the first invoker's, then in order.

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
        """List the wishes within an invoker's counts (kind, free vCPUs, free vGPUs), best first."""
        kind, free_v, free_g = free
        spare_v, spare_g = free_v - row.vcpus, free_g - row.vgpus
        left = (self._vcpu_weight * spare_v + self._vgpu_weight[kind] * spare_g) / self._capacity[kind]
        cre = row.throughput / np.maximum(left, SMALLEST_LEFT)
        fitting = np.flatnonzero((spare_v >= 0) & (spare_g >= 0)).tolist()
        wishes = tuple(sorted((-float(cre[column]), column) for column in fitting)) or (NO_WISH,)
        row.wishes[free], row.heads[free] = wishes, wishes[0][0]
        return wishes

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


def _build(system: ServerlessSystem, options: Mapping[str, Any]) -> InflessPlanner:
    planner = InflessPlanner(system, options)
    if options["standing"]:
        allowed = listed(system, options["batch_vcpus"], options["gpu_share"])
        every_s, window_s = options["scale_s"], options["window_s"]
        planner.scaler = InflessScaler(system, allowed, options["wait"], every_s, window_s)
    return planner


POLICY = ConfigurationPolicy(
    name="infless",
    title="INFless",
    summary="Takes the largest batch that the load fills in time, where it fragments least; static SLOs.",
    source="Yang et al., INFless, ASPLOS 2022; TankLabTJU/INFless",
    adaptation=(
        "The SLO is split statically in proportion to mean times (INFless has no workflows). A batch is "
        "one instance's; the load is that of the AFW queue. With `standing` instances stand as in the "
        "source. From its code: a scaling step every second, the band and its 0.8. Ours: the choice of "
        "instances to stop, at the end of their batch, and the window of the rate. One queue for all "
        "instances of a stage, instead of shares of its load, is ours too. Rates are not rounded to whole "
        "jobs a second, as functions may take longer, and a single job needs no minimum rate. At the "
        "time-out the largest full batch runs. Where nothing keeps the share, the scenario's rule for late "
        "jobs holds. The code's errors (the best CRE kept between rounds, rows overwritten when they "
        "parse) are not copied. Weights are the code's GFLOPs per thread and per GPU. The scheduler's own "
        "time is taken as 0; no figure was found."
    ),
    build=_build,
    settings={
        "wait": PolicyOption(True, "Whether a batch may wait until it is full or its time-out ends."),
        "batch_vcpus": PolicyOption(
            True, "Whether a batch of b jobs gets at most b vCPUs (2 for one job), as in the code."
        ),
        "gpu_share": PolicyOption(
            0.5, "Largest part of a GPU for a batch; the code's lists end at a half.", most=1
        ),
        "vcpu_weight": PolicyOption(
            64.0, "Weight of a left-over vCPU (GFLOPs of a thread).", least=SMALLEST_WEIGHT
        ),
        "gpu_weight": PolicyOption(
            14_200.0, "Weight of a whole left-over GPU (GFLOPs).", least=SMALLEST_WEIGHT
        ),
        "search_s": SEARCH_S,
        **standing_settings(scale_s=1.0),
    },
    style=ChartStyle("#cf7a10", "solid", "diamond"),
)
