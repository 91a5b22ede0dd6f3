"""Occupation over time: GPUs, leases, instances, containers, memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.arrays import Floats, Ints
from nona.core.checks import Check
from nona.core.statistics import mean_interval
from nona.serverless.records import (
    ContainerLives,
    ContainerPieces,
    DispatchedBatches,
    ServerlessRecords,
    ended_or_stopped,
    gone_s,
    most_at_once,
    overlap_s,
    starting_pieces,
)
from nona.serverless.results import StandingOutcome
from nona.serverless.system import HOUR_S, NodeMemory, ServerlessSystem

MOST_SLOTS = 63


@dataclass(frozen=True, eq=False)
class Leases:
    """The k leases: place and period; one that lasts still ends with the run."""

    invoker: Ints
    gpu: Ints
    configuration: Ints
    slots: Ints
    from_s: Floats
    to_s: Floats


def held_vgpus(system: ServerlessSystem, batches: Leases | DispatchedBatches) -> Ints:
    """Return the vGPUs (m,) of each batch: those of its configuration, or all of its fixed slice."""
    vgpus = system.space.vgpus[batches.configuration]
    if not SHARING_MODES.find(system.sharing.mode).fixed_layout:
        return vgpus
    sizes = np.zeros((len(system.invokers), MOST_SLOTS), dtype=np.int64)
    for number, node in enumerate(system.invokers):
        if node.layout is not None:
            for piece, profile in zip(node.layout.slices, node.layout.profiles, strict=True):
                sizes[number, piece.start] = profile.compute_slices
    starts = np.log2(np.maximum(batches.slots & -batches.slots, 1)).astype(np.int64)
    slice_vgpus: Ints = sizes[batches.invoker, starts]
    return slice_vgpus


def slot_runs(slots: int) -> Sequence[tuple[int, int]]:
    """(first, length) of each run of neighbouring bits.

    >>> slot_runs(0b1101100)
    [(2, 2), (5, 2)]
    """
    return list(_runs(slots))


def _runs(slots: int) -> Iterator[tuple[int, int]]:
    at = 0
    while slots >> at:
        rest = slots >> at
        at += (rest & -rest).bit_length() - 1
        length = (~(slots >> at) & (slots >> at) + 1).bit_length() - 1
        yield at, length
        at += length


def leases(records: ServerlessRecords) -> Leases:
    """Every lease of a run once. Batches either all run on instances or have leases of their own."""
    of, standing = records.batches, records.instances
    if standing is not None:
        to_s = ended_or_stopped(standing.ended_s, records.stopped_s)
        columns = standing.invoker, standing.gpu, standing.configuration, standing.slots
        return Leases(*columns, standing.started_s, to_s)
    to_s = ended_or_stopped(of.ended_s, records.stopped_s)
    return Leases(of.invoker, of.gpu, of.configuration, of.slots, of.dispatched_s, to_s)


def hourly_usd(system: ServerlessSystem, of: Leases) -> Floats:
    """(k,) US dollars an hour of each lease: the price of its vCPUs and of the vGPUs that it holds."""
    prices = system.prices
    hourly: Floats = (
        system.space.vcpus[of.configuration] * prices.vcpu_hour + held_vgpus(system, of) * prices.vgpu_hour
    )
    return hourly


@dataclass(frozen=True, eq=False)
class InstanceCost:
    """Cost of instances in the measured window.

    ``cost`` (k,): US dollars of each for the time that it stood; ``busy`` (k,): those of them for the time
    in which it had a batch.
    """

    cost: Floats
    busy: Floats


def instance_cost(system: ServerlessSystem, records: ServerlessRecords) -> InstanceCost | None:
    """Work out the cost of a run's instances in the window; ``None`` where none stand."""
    standing, of, sums = records.instances, records.batches, records.sums
    if standing is None:
        return None
    rows = leases(records)
    per_s = hourly_usd(system, rows) / HOUR_S
    window = sums.start_s, sums.end_s
    served_s = overlap_s(of.dispatched_s, ended_or_stopped(of.ended_s, records.stopped_s), *window)
    busy_s = np.bincount(standing.of_batch, weights=served_s, minlength=len(per_s))
    return InstanceCost(cost=per_s * overlap_s(rows.from_s, rows.to_s, *window), busy=per_s * busy_s)


def standing_outcome(
    system: ServerlessSystem, replications: Sequence[ServerlessRecords]
) -> StandingOutcome | None:
    """Return what instances did in the windows of a policy's replications; ``None`` where none stand."""
    stood, starts, shares = [], [], []
    for records in replications:
        cost, of, sums = instance_cost(system, records), records.instances, records.sums
        if cost is None or of is None:
            return None
        rows, length_s, whole = leases(records), sums.end_s - sums.start_s, float(cost.cost.sum())
        stood_s = float(overlap_s(rows.from_s, rows.to_s, sums.start_s, sums.end_s).sum())
        stood.append(stood_s / length_s if length_s else math.nan)
        starts.append(float(((of.started_s >= sums.start_s) & (of.started_s <= sums.end_s)).sum()))
        shares.append(float(cost.busy.sum()) / whole if whole else math.nan)
    instances, started, busy = (mean_interval(values).mean for values in (stood, starts, shares))
    return StandingOutcome(instances=instances, starts=started, busy_share=busy, idle_share=1 - busy)


@dataclass(frozen=True, slots=True)
class ContainerTime:
    """Containers in the window of one run: seconds by activity, and US dollars of waiting.

    ``starting_s``: cold starts of batches and starts ahead; ``busy_s``: batches without their cold starts;
    where instances stand it is they that are meant, with a batch or without.
    """

    busy_s: float
    idle_s: float
    starting_s: float
    idle_usd: float

    @property
    def life_s(self) -> float:
        """All three together."""
        return self.busy_s + self.idle_s + self.starting_s


def pieces_of(
    records: ServerlessRecords, lives: ContainerLives
) -> tuple[ContainerPieces, ContainerPieces, ContainerPieces]:
    """Start ahead of a batch, batches (or instances that stood), and waits."""
    use, stopped_s = leases(records), records.stopped_s
    container = lives.of_batch if records.instances is None else records.instances.container
    busy = ContainerPieces(container, use.from_s, use.to_s)
    idle = ContainerPieces(lives.idle, lives.idle_from_s, ended_or_stopped(lives.idle_until_s, stopped_s))
    return starting_pieces(lives, busy, stopped_s), busy, idle


def container_time(
    system: ServerlessSystem, records: ServerlessRecords, lives: ContainerLives
) -> ContainerTime:
    """Work out the time and the cost of containers in the window of a run.

    Waiting costs Σ over waits of (time in the window · price of the configuration that the container had
    last) · the share ``idle_cost``.
    """
    start_s, end_s = records.sums.start_s, records.sums.end_s
    ahead, busy, idle = pieces_of(records, lives)
    ahead_s, busy_s, idle_s = (overlap_s(p.from_s, p.until_s, start_s, end_s) for p in (ahead, busy, idle))
    of, standing = records.batches, records.instances
    whole_s = np.array([f.cold_start_s for f in system.functions])[lives.function[busy.container]]
    if standing is None:
        cold_s, begin_s = whole_s * of.cold, of.dispatched_s + of.setup_s
    else:
        cold_s = whole_s * standing.cold
        begin_s = standing.ready_s - cold_s
    until_s = np.minimum(begin_s + cold_s, busy.until_s)
    starts_s = float(overlap_s(begin_s, until_s, start_s, end_s).sum())
    return ContainerTime(
        busy_s=float(busy_s.sum()) - starts_s,
        idle_s=float(idle_s.sum()),
        starting_s=float(ahead_s.sum()) + starts_s,
        idle_usd=system.idle_cost * float(idle_s @ system.price_per_s[lives.idle_configuration]),
    )


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory of one run: shares of the nodes' memory, and containers that were removed to make room.

    ``mean``: over the window and all nodes; ``most``: at any time on any node; ``evictions``: in the window.
    """

    mean: float
    most: float
    evictions: int


def most_bytes(memory: NodeMemory, records: ServerlessRecords, lives: ContainerLives) -> Ints:
    """(N,) The most that containers hold of each node's memory at any time."""
    needs = np.array(memory.container_bytes, dtype=np.int64)[lives.function]
    until_s = gone_s(lives, records.stopped_s)
    return most_at_once(lives.invoker, lives.born_s, until_s, needs, len(memory.node_bytes))


def memory_use(memory: NodeMemory, records: ServerlessRecords, lives: ContainerLives) -> MemoryUse:
    """Return the use of the memory in the window of a run."""
    start_s, end_s = records.sums.start_s, records.sums.end_s
    node = np.array(memory.node_bytes, dtype=np.int64)
    needs = np.array(memory.container_bytes, dtype=np.int64)[lives.function]
    inside_s = overlap_s(lives.born_s, gone_s(lives, records.stopped_s), start_s, end_s)
    length_s = end_s - start_s
    inside = lives.evicted & (lives.gone_s >= start_s) & (lives.gone_s <= end_s)
    return MemoryUse(
        mean=float(inside_s @ needs) / (length_s * float(node.sum())) if length_s > 0 else np.nan,
        most=float((most_bytes(memory, records, lives) / node).max()),
        evictions=int(inside.sum()),
    )


def check_memory(memory: NodeMemory, records: ServerlessRecords, lives: ContainerLives) -> Check:
    """At no time do the containers of a node hold more memory than it has."""
    most = most_bytes(memory, records, lives)
    over = int((most > np.array(memory.node_bytes)).sum())
    return Check("memory", over == 0, f"at most {most.max() / 1e9:.4g} GB on a node, {over} nodes too full")
