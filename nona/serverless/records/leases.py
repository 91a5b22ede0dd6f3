"""All leases of a run: those of batches that have their own, and those of instances that stood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.serverless.model.system import HOUR_S, ServerlessSystem
from nona.serverless.records.held import held_vgpus
from nona.serverless.records.intervals_held import ended_or_stopped, overlap_s
from nona.serverless.records.run import ServerlessRecords

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Leases:
    """(k,) What was held, and from when to when; what is still held ends when the run stopped."""

    invoker: Ints
    gpu: Ints
    configuration: Ints
    slots: Ints
    from_s: Floats
    to_s: Floats


def leases(records: ServerlessRecords) -> Leases:
    """Every lease of a run once. Batches either all run on instances or have leases of their own."""
    of, standing = records.batches, records.instances
    if standing is not None:
        to_s = ended_or_stopped(standing.ended_s, records.stopped_s)
        held = standing.invoker, standing.gpu, standing.configuration, standing.slots
        return Leases(*held, standing.started_s, to_s)
    to_s = ended_or_stopped(of.ended_s, records.stopped_s)
    return Leases(of.invoker, of.gpu, of.configuration, of.slots, of.dispatched_s, to_s)


def hourly_usd(system: ServerlessSystem, held: Leases) -> Floats:
    """(k,) US dollars an hour of each lease: the price of its vCPUs and of the vGPUs that it holds."""
    prices = system.prices
    hourly: Floats = (
        system.space.vcpus[held.configuration] * prices.vcpu_hour
        + held_vgpus(system, held) * prices.vgpu_hour
    )
    return hourly


@dataclass(frozen=True, eq=False)
class Stood:
    """What instances did in the measured window.

    ``cost`` (k,): US dollars of each for the time that it stood; ``busy`` (k,): those of them for the time
    in which it had a batch.
    """

    cost: Floats
    busy: Floats


def stood(system: ServerlessSystem, records: ServerlessRecords) -> Stood | None:
    """What the instances of a run cost in the window; ``None`` where none stand."""
    standing, of, sums = records.instances, records.batches, records.sums
    if standing is None:
        return None
    held = leases(records)
    per_s = hourly_usd(system, held) / HOUR_S
    window = sums.start_s, sums.end_s
    served_s = overlap_s(of.dispatched_s, ended_or_stopped(of.ended_s, records.stopped_s), *window)
    busy_s = np.bincount(standing.of_batch, weights=served_s, minlength=len(per_s))
    return Stood(cost=per_s * overlap_s(held.from_s, held.to_s, *window), busy=per_s * busy_s)
