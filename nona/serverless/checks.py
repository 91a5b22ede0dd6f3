"""Checks that every run makes on itself: counts, resources, money, queues, causes.

The records state what each batch occupied and when. The areas and counts that the engine added up as it
went must agree with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.arrays import Floats
from nona.core.checks import Check
from nona.serverless.occupation import check_memory, held_vgpus, leases, pieces_of
from nona.serverless.records import (
    ContainerLives,
    Instances,
    LinkTransfers,
    ServerlessRecords,
    ended_or_stopped,
    gone_s,
    most_at_once,
    overlap_s,
    sharing_pairs,
    tiled,
)
from nona.serverless.system import HOUR_S, ServerlessSystem

TOLERANCE = 1e-9  # relative; sums of up to millions of terms
CLOCK_S = 1e-9  # below any modelled time, above rounding at a run's clock times


def run_checks(system: ServerlessSystem, records: ServerlessRecords) -> tuple[Check, ...]:
    """All checks of one run."""
    joined_s = _stage_joined_s(system, records)
    shared, lives = records.transfers, records.containers
    return (
        _conservation(system, records),
        _capacity(system, records),
        _slots(records),
        _money(system, records),
        _little(system, records, joined_s),
        _causality(system, records, joined_s),
        _in_turn(system, records, joined_s),
        _batches(system, records),
        *(() if records.instances is None else (_instances(records, records.instances),)),
        *(() if shared is None else (_transfers(shared, records.batches.transfer_s),)),
        *(() if lives is None else (_containers(records, lives),)),
        *(() if lives is None or system.memory is None else (check_memory(system.memory, records, lives),)),
    )


def ended_s(records: ServerlessRecords) -> Floats:
    """Return the end (m,) of each batch; for one in flight, the end of the run."""
    return ended_or_stopped(records.batches.ended_s, records.stopped_s)


def _stage_joined_s(system: ServerlessSystem, records: ServerlessRecords) -> Floats:
    """Return the times (n, S) at which calls joined the queues of stages; ``nan`` where they did not."""
    calls = records.calls
    joined = np.full(calls.batch.shape, np.nan)
    stage_end_s = np.append(records.batches.ended_s, np.nan)[calls.batch]
    for number, app in enumerate(system.applications):
        own = np.flatnonzero(calls.application == number)
        for stage, before in enumerate(app.dag.predecessors):
            if before:
                joined[own, stage] = stage_end_s[np.ix_(own, np.array(before))].max(axis=1)
            else:
                joined[own, stage] = calls.arrival_s[own]
    return joined


def _conservation(system: ServerlessSystem, records: ServerlessRecords) -> Check:
    """Check that batches match calls, one a stage at most, and that a call completes with its last batch."""
    calls, of = records.calls, records.batches
    served = calls.batch[calls.batch >= 0]
    jobs_agree = np.array_equal(np.bincount(served, minlength=len(of.jobs)), of.jobs)
    stages = np.array([app.stages for app in system.applications])[calls.application]
    ends = np.append(of.ended_s, np.nan)[calls.batch]
    done = (~np.isnan(ends)).sum(axis=1) == stages
    completed, dropped = ~np.isnan(calls.completion_s), ~np.isnan(calls.dropped_s)
    last_s = np.nanmax(np.where(np.isnan(ends), -np.inf, ends), axis=1)
    ok = (
        jobs_agree
        and np.array_equal(done, completed)
        and not (completed & dropped).any()
        and np.array_equal(last_s[completed], calls.completion_s[completed])
    )
    n, whole, gone = len(stages), int(completed.sum()), int(dropped.sum())
    parts = f"{whole} completed + {f'{gone} dropped + ' if gone else ''}{n - whole - gone} in flight"
    return Check("conservation", bool(ok), f"{n} arrived = {parts}")


def _capacity(system: ServerlessSystem, records: ServerlessRecords) -> Check:
    """At no time do leases hold more than an invoker, or a GPU, has to give."""
    of = leases(records)
    nodes, space = system.invokers, system.space
    more = SHARING_MODES.find(system.sharing.mode).oversubscribes
    over = system.sharing.oversubscription if more else 1.0
    vcpus = most_at_once(of.invoker, of.from_s, of.to_s, space.vcpus[of.configuration], len(nodes))
    most_gpus = max(node.gpus for node in nodes)
    place = of.invoker * most_gpus + of.gpu
    vgpus = most_at_once(place, of.from_s, of.to_s, held_vgpus(system, of), len(nodes) * most_gpus).reshape(
        len(nodes), most_gpus
    )
    there = np.array([node.vcpus for node in nodes])
    on_gpu = np.array([int(over * node.vgpus + TOLERANCE) for node in nodes])
    worst_vcpus, worst_vgpus = int((vcpus - there).max()), int((vgpus - on_gpu[:, None]).max())
    return Check(
        "capacity",
        worst_vcpus <= 0 and worst_vgpus <= 0,
        f"at most {vcpus.max()} vCPUs held on a node, and {vgpus.max()} vGPUs on a GPU",
    )


def _slots(records: ServerlessRecords) -> Check:
    of = leases(records)
    place = of.invoker * (int(of.gpu.max(initial=0)) + 1) + of.gpu
    shared = sharing_pairs(place, of.slots, of.from_s, of.to_s)
    return Check("slots", shared == 0, f"{shared} pairs of batches on one slot at one time")


def _money(system: ServerlessSystem, records: ServerlessRecords) -> Check:
    """Compare the vCPU and vGPU time, and their cost, summed over leases with the areas of the engine."""
    of, sums, prices = leases(records), records.sums, system.prices
    inside_s = overlap_s(of.from_s, of.to_s, sums.start_s, sums.end_s)
    vcpu_s = float(inside_s @ system.space.vcpus[of.configuration])
    vgpu_s = float(inside_s @ held_vgpus(system, of))
    by_batch = (vcpu_s * prices.vcpu_hour + vgpu_s * prices.vgpu_hour) / HOUR_S
    by_area = (sums.vcpu_area * prices.vcpu_hour + sums.vgpu_area * prices.vgpu_hour) / HOUR_S
    ok = _close(vcpu_s, sums.vcpu_area) and _close(vgpu_s, sums.vgpu_area) and _close(by_batch, by_area)
    return Check("money", ok, f"batches cost ${by_batch:.6g} in the window, held resources ${by_area:.6g}")


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 100 * TOLERANCE * max(abs(a), abs(b)) + CLOCK_S


def _little(system: ServerlessSystem, records: ServerlessRecords, joined_s: Floats) -> Check:
    """For every AFW queue: ∫ jobs in it over the window, against the time that each job was in it."""
    calls, sums = records.calls, records.sums
    unserved_s = ended_or_stopped(calls.dropped_s, records.stopped_s)[:, None]
    left_s = np.where(
        calls.batch < 0, unserved_s, np.append(records.batches.dispatched_s, np.nan)[calls.batch]
    )
    inside_s = np.nan_to_num(overlap_s(joined_s, left_s, sums.start_s, sums.end_s))
    worst, total = 0.0, 0.0
    for queue, (application, stage) in enumerate(system.queues):
        spent_s = float(inside_s[calls.application == application, stage].sum())
        area = float(sums.queue_area[queue])
        total += spent_s
        worst = max(worst, abs(spent_s - area) / (100 * TOLERANCE * max(spent_s, area) + 1e-6))
    length_s = sums.end_s - sums.start_s
    mean = total / length_s if length_s > 0 else 0.0
    return Check("Little's law", worst <= 1, f"mean number of jobs in all queues {mean:.6g}")


def _causality(system: ServerlessSystem, records: ServerlessRecords, joined_s: Floats) -> Check:
    """Check that a batch's instants are in order, and that its oldest job joined with its last input."""
    of = records.batches
    until_s = ended_s(records)
    setup_s = of.setup_s + of.transfer_s
    in_order = (
        (of.queued_s <= of.decided_s)
        & (of.decided_s + of.search_s <= of.dispatched_s + CLOCK_S)
        & (of.dispatched_s + setup_s <= of.started_s + CLOCK_S)
        & ((of.started_s <= until_s) | np.isnan(of.ended_s))
    )
    calls, stages = np.nonzero(records.calls.batch >= 0)
    first_s = np.full(len(of.queued_s), np.inf)
    np.minimum.at(first_s, records.calls.batch[calls, stages], joined_s[calls, stages])
    wrong = int((~in_order).sum()) + int((first_s != of.queued_s).sum())
    return Check(
        "causality", wrong == 0, f"{len(of.queued_s)} batches, {wrong} with an effect before its cause"
    )


def _in_turn(system: ServerlessSystem, records: ServerlessRecords, joined_s: Floats) -> Check:
    """In every queue a job that joined earlier is dispatched no later."""
    calls, wrong = records.calls, 0
    for application, stage in system.queues:
        own = np.flatnonzero((calls.application == application) & (calls.batch[:, stage] >= 0))
        order = own[np.lexsort((own, joined_s[own, stage]))]
        wrong += int((np.diff(calls.batch[order, stage]) < 0).sum())
    return Check("first come, first served", wrong == 0, f"{wrong} jobs were overtaken in their queue")


def _batches(system: ServerlessSystem, records: ServerlessRecords) -> Check:
    of = records.batches
    wrong = (
        (of.jobs < 1)
        | (of.jobs > system.space.batch[of.configuration])
        | (of.local < 0)
        | (of.local > of.jobs)
    )
    if not system.dispatch.partial and records.instances is None:  # instances serve what is there
        wrong |= of.jobs != system.space.batch[of.configuration]
    count = int(wrong.sum())
    return Check("batches", count == 0, f"{len(of.jobs)} batches, {count} of an illegal size")


def _instances(records: ServerlessRecords, standing: Instances) -> Check:
    """Check that an instance's batches are of its queue, on its resources, in order, while it is ready."""
    of, on = records.batches, standing.of_batch
    wrong = (of.dispatched_s < standing.ready_s[on]) | (ended_s(records) > _never(standing.ended_s)[on])
    for name in ("application", "stage", "invoker", "gpu", "configuration", "slots"):
        wrong |= getattr(of, name) != getattr(standing, name)[on]
    order = np.lexsort((of.dispatched_s, on))
    same = on[order][1:] == on[order][:-1]
    overlaps = same & (of.dispatched_s[order][1:] < ended_s(records)[order][:-1])
    count = int(wrong.sum()) + int(overlaps.sum())
    text = f"{len(standing.started_s)} instances, {count} batches that one could not serve"
    return Check("instances", count == 0, text)


def _never(ended_s: Floats) -> Floats:
    return np.where(np.isnan(ended_s), np.inf, ended_s)


def _containers(records: ServerlessRecords, lives: ContainerLives) -> Check:
    """Return starting ahead, serving batches and waiting fill each container's life from birth to end."""
    pieces = pieces_of(records, lives)
    wrong = tiled(lives, pieces, records.stopped_s)
    life_s = float((gone_s(lives, records.stopped_s) - lives.born_s).sum())
    parts_s = float(sum((p.until_s - p.from_s).sum() for p in pieces))
    ok = wrong == 0 and _close(life_s, parts_s)
    return Check("containers", ok, f"{len(lives.born_s)} containers lived {life_s:.6g} s, {wrong} with a gap")


def _transfers(used: LinkTransfers, transfer_s: Floats) -> Check:
    """Links work whenever they have work, and no transfer is faster than alone."""
    idle_s = np.abs(used.busy_s - used.work_s)
    early_s = np.nan_to_num(used.alone_s - transfer_s)
    ok = bool((idle_s <= 1e-9 * (1 + used.busy_s)).all() and (early_s <= 1e-9).all())
    busiest = int(used.busy_s.argmax())
    return Check(
        "links", ok, f"{used.links[busiest]} busy for {used.busy_s[busiest]:.6g} s, none idle with work"
    )


def checks_of(system: ServerlessSystem, runs: Sequence[ServerlessRecords]) -> tuple[Check, ...]:
    """Merge the checks of several runs of a policy: each as in the first run where it fails, if any."""
    every = [run_checks(system, records) for records in runs]
    return tuple(next((c for c in same if not c.ok), same[0]) for same in zip(*every, strict=True))
