"""Places of batches: GPUs over time, idle instances, stranded slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from nona.cluster.hardware.mig import board
from nona.core.tables import time_text
from nona.core.units import format_number
from nona.serverless.chart_data import LayoutBatch
from nona.serverless.occupation import leases, slot_runs
from nona.serverless.records import DispatchedBatches, Instances, ServerlessRecords
from nona.serverless.system import ServerlessSystem


def _idle_rows(records: ServerlessRecords, system: ServerlessSystem) -> tuple[LayoutBatch, ...]:
    """Every stretch in which an instance stood without a batch, as rows of no jobs; not what ended earlier.

    Times are in seconds from the start of the measured window; what began before it begins below 0.
    """
    standing, start_s = records.instances, records.sums.start_s
    if standing is None:
        return ()
    until_s = leases(records).to_s
    spans = (
        (n, begin, end)
        for n in range(len(standing.started_s))
        for begin, end in _gaps(records, standing, n, float(until_s[n]))
        if end > max(begin, start_s)
    )
    return tuple(
        _row(standing, system, n, (begin - start_s, end - start_s, end - start_s), 0)
        for n, begin, end in spans
    )


def _gaps(
    records: ServerlessRecords, standing: Instances, number: int, until_s: float
) -> Iterator[tuple[float, float]]:
    """(from, to) between an instance's batches, before the first and after the last."""
    at_s = float(standing.started_s[number])
    for k in np.flatnonzero(standing.of_batch == number).tolist():  # in order of dispatch
        yield at_s, float(records.batches.dispatched_s[k])
        end_s = float(records.batches.ended_s[k])
        at_s = until_s if np.isnan(end_s) else end_s
    yield at_s, until_s


def _row(
    of: DispatchedBatches | Instances,
    system: ServerlessSystem,
    k: int,
    times_s: tuple[float, float, float],
    jobs: int,
) -> LayoutBatch:
    """Return the k-th batch or idle instance; ``times_s``: from when, from when it computes, until when."""
    application = system.applications[int(of.application[k])]
    configuration = system.space[int(of.configuration[k])]
    from_s, computes_s, to_s = times_s
    return LayoutBatch(
        invoker=int(of.invoker[k]),
        gpu=int(of.gpu[k]),
        from_s=from_s,
        computes_s=computes_s,
        to_s=to_s,
        slots=int(of.slots[k]),
        vgpus=configuration.vgpus,
        application=application.name,
        stage=application.stage_names[int(of.stage[k])],
        configuration=configuration.text,
        jobs=jobs,
        cold=bool(of.cold[k]),
    )


MOST_ROWS = 1200


@dataclass(frozen=True, slots=True)
class DrawnBatch:
    """A batch with its range on the GPU's axis, from ``low`` to ``high``; times in seconds as drawn."""

    batch: LayoutBatch
    low: int
    high: int
    from_s: float
    computes_s: float
    to_s: float


def layout_rows(
    records: ServerlessRecords, system: ServerlessSystem, most: int = MOST_ROWS
) -> tuple[LayoutBatch, ...]:
    """Return the first batches that run in the measured window, at most ``most``, idle instances among them.

    What was dispatched in the warm-up begins before 0; a batch in flight ends with the run.
    """
    b, start_s = records.batches, records.sums.start_s
    ended_s = np.where(np.isfinite(b.ended_s), b.ended_s, records.stopped_s)
    inside = np.flatnonzero(ended_s > start_s)[:most]
    times_s = [t - start_s for t in (b.dispatched_s, b.started_s, ended_s)]
    rows = [
        _row(b, system, k, (float(times_s[0][k]), float(times_s[1][k]), float(times_s[2][k])), int(b.jobs[k]))
        for k in inside.tolist()
    ]
    rows += _idle_rows(records, system)
    return tuple(sorted(rows, key=lambda r: r.from_s)[:most])


def clipped(rows: Sequence[DrawnBatch], until_s: float) -> list[DrawnBatch]:
    """Rows between 0 and ``until_s``, clipped at both ends."""

    def inside(at_s: float) -> float:
        return min(max(at_s, 0.0), until_s)

    return [
        replace(r, from_s=inside(r.from_s), computes_s=inside(r.computes_s), to_s=inside(r.to_s))
        for r in rows
        if r.from_s < until_s and r.to_s > 0
    ]


def placed(rows: Sequence[LayoutBatch]) -> list[DrawnBatch]:
    """Return the batches with their ranges on the GPU's axis.

    A row whose slots are not all neighbours (counted vGPUs need not be) comes once for each run of them.
    Rows without slots are put on the lowest lanes that are free for all of their time.
    """
    until: list[float] = []
    ranges: list[DrawnBatch] = []
    for row in sorted(rows, key=lambda r: (r.from_s, r.to_s)):
        slots, size = row.slots, max(1, row.vgpus)
        if not slots:
            low = next(
                at
                for at in range(len(until) + 1)
                if all(u <= row.from_s + 1e-12 for u in until[at : at + size])
            )
            until += [0.0] * (low + size - len(until))
            until[low : low + size] = [row.to_s] * size
        runs = slot_runs(slots) if slots else [(low, size)]
        times = row.from_s, row.computes_s, row.to_s
        ranges += [DrawnBatch(row, low, low + length, *times) for low, length in runs]
    return ranges


def stranded_spans(
    rows: Sequence[DrawnBatch], board_name: str, until_s: float
) -> list[tuple[float, float, int]]:
    """(from, to, memory slice) of free memory that no further slice could cover; rows of one GPU."""
    spans: list[tuple[float, float, int]] = []
    since: dict[int, float] = {}
    for at_s, taken, compute in _states(rows, until_s):
        now = _stranded(board_name, taken, compute) if at_s < until_s else ()
        for cell in [c for c in since if c not in now]:
            begin = since.pop(cell)
            if at_s > begin:
                spans.append((begin, at_s, cell))
        for cell in now:
            since.setdefault(cell, at_s)
    return spans


def _states(rows: Sequence[DrawnBatch], until_s: float) -> Iterator[tuple[float, int, int]]:
    """(time, slots taken, compute slices held) after every change, and at the end."""
    changes: dict[float, list[tuple[int, int]]] = {}
    for r in rows:
        changes.setdefault(r.from_s, []).append((r.batch.slots, r.batch.vgpus))
        changes.setdefault(r.to_s, []).append((-r.batch.slots, -r.batch.vgpus))
    taken = compute = 0
    for at_s in sorted(changes):
        if at_s >= until_s:
            break
        taken += sum(slots for slots, _ in changes[at_s])
        compute += sum(vgpus for _, vgpus in changes[at_s])
        yield at_s, taken, compute
    yield until_s, taken, compute


@cache
def _stranded(board_name: str, taken: int, in_use: int) -> tuple[int, ...]:
    whole = board(board_name)
    if not taken:
        return ()
    free, covered = whole.compute_slices - in_use, 0
    for profile in whole.profiles:
        for start in profile.starts:
            bits = ((1 << profile.memory_slices) - 1) << start
            if profile.standard and profile.compute_slices <= free and not taken & bits:
                covered |= bits
    return tuple(c for c in range(whole.memory_slices) if not (taken | covered) >> c & 1)


def layouts_title(
    rows: Sequence[DrawnBatch], stranded: Sequence[tuple[float, float, int]], cells: int
) -> str:
    """Return the mean allocated share of the GPU in the drawn window, and the stranded share."""
    if not rows:
        return "This GPU served no batch in the recorded part"
    begin, end = min(r.from_s for r in rows), max(r.to_s for r in rows)
    area = cells * (end - begin)
    allocated = sum((r.to_s - r.from_s) * (r.high - r.low) for r in rows) / area
    lost = sum(b - a for a, b, _ in stranded) / area
    tail = f", {format_number(100 * lost, 2)} % of it is stranded" if stranded else ""
    return f"{100 * allocated:.0f} % of the GPU is allocated over {time_text(end - begin)}{tail}"
