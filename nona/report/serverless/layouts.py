"""Batches on every GPU over time: rows from the records, positions on the GPU, stranded slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from nona.hardware.geometry import board
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.held import slot_runs
from nona.serverless.records.run import ServerlessRecords

Row = Mapping[str, Any]
MOST_ROWS = 1200


def layout_rows(
    records: ServerlessRecords, system: ServerlessSystem, most: int = MOST_ROWS
) -> list[dict[str, Any]]:
    """The first batches that run in the measured window, at most ``most``, times in seconds from its start.

    What was dispatched in the warm-up begins before 0; a batch in flight ends with the run. ``slots`` are
    the bits of the vGPUs or memory slices held, 0 where nothing has a place (MPS, turns).
    """
    b, start_s = records.batches, records.sums.start_s
    ended_s = np.where(np.isfinite(b.ended_s), b.ended_s, records.stopped_s)
    inside = np.flatnonzero(ended_s > start_s)[:most]
    rows = []
    for k in inside.tolist():
        application = system.applications[int(b.application[k])]
        held = system.space[int(b.configuration[k])]
        rows.append(
            {
                "invoker": int(b.invoker[k]),
                "gpu": int(b.gpu[k]),
                "from_s": float(b.dispatched_s[k]) - start_s,
                "computes_s": float(b.started_s[k]) - start_s,
                "to_s": float(ended_s[k]) - start_s,
                "slots": int(b.slots[k]),
                "vgpus": held.vgpus,
                "application": application.name,
                "stage": application.stage_names[int(b.stage[k])],
                "configuration": held.text,
                "jobs": int(b.jobs[k]),
                "cold": bool(b.cold[k]),
            }
        )
    return rows


def clipped(rows: Sequence[Row], until_s: float) -> list[dict[str, Any]]:
    """Rows between 0 and ``until_s``, clipped at both ends.

    >>> clipped([{"from_s": -1.0, "computes_s": -0.5, "to_s": 3.0}], 2.0)
    [{'from_s': 0.0, 'computes_s': 0.0, 'to_s': 2.0}]
    """
    keys = ("from_s", "computes_s", "to_s")
    inside = (r for r in rows if r["from_s"] < until_s and r["to_s"] > 0)
    return [{**r, **{k: min(max(r[k], 0.0), until_s) for k in keys}} for r in inside]


def placed(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows with ``low`` and ``high``, their range on the GPU's axis.

    A row whose slots are not all neighbours (counted vGPUs need not be) comes once for each run of them.
    Rows without slots are put on the lowest lanes that are free for all of their time.

    >>> row = {"slots": 0b0110, "vgpus": 2, "from_s": 0.0, "to_s": 1.0}
    >>> [(r["low"], r["high"]) for r in placed([row, {**row, "slots": 0}, {**row, "slots": 0}])]
    [(1, 3), (0, 2), (2, 4)]
    >>> [(r["low"], r["high"]) for r in placed([{**row, "slots": 0b101}])]
    [(0, 1), (2, 3)]
    """
    until: list[float] = []
    found = []
    for row in sorted(rows, key=lambda r: (r["from_s"], r["to_s"])):
        slots, size = int(row["slots"]), max(1, int(row["vgpus"]))
        if not slots:
            low = next(
                at
                for at in range(len(until) + 1)
                if all(u <= row["from_s"] + 1e-12 for u in until[at : at + size])
            )
            until += [0.0] * (low + size - len(until))
            until[low : low + size] = [row["to_s"]] * size
        runs = slot_runs(slots) if slots else [(low, size)]
        found += [{**row, "low": low, "high": low + length} for low, length in runs]
    return found


def stranded_spans(rows: Sequence[Row], board_name: str, until_s: float) -> list[tuple[float, float, int]]:
    """(from, to, memory slice) of free memory that no further slice could cover; rows of one GPU.

    >>> row = {"slots": 0b1111, "vgpus": 4, "from_s": 0.0, "to_s": 2.0}
    >>> full = {"slots": 0b1111111, "vgpus": 7, "from_s": 2.0, "to_s": 3.0}
    >>> stranded_spans([row, full], "a100-40gb", 3.0)
    [(2.0, 3.0, 7)]
    """
    spans: list[tuple[float, float, int]] = []
    since: dict[int, float] = {}
    for at_s, taken, held in _states(rows, until_s):
        now = _stranded(board_name, taken, held) if at_s < until_s else ()
        for cell in [c for c in since if c not in now]:
            begin = since.pop(cell)
            if at_s > begin:
                spans.append((begin, at_s, cell))
        for cell in now:
            since.setdefault(cell, at_s)
    return spans


def _states(rows: Sequence[Row], until_s: float) -> Iterator[tuple[float, int, int]]:
    """(time, slots taken, compute slices held) after every change, and at the end."""
    changes: dict[float, list[tuple[int, int]]] = {}
    for r in rows:
        changes.setdefault(r["from_s"], []).append((int(r["slots"]), int(r["vgpus"])))
        changes.setdefault(r["to_s"], []).append((-int(r["slots"]), -int(r["vgpus"])))
    taken = held = 0
    for at_s in sorted(changes):
        if at_s >= until_s:
            break
        taken += sum(slots for slots, _ in changes[at_s])
        held += sum(vgpus for _, vgpus in changes[at_s])
        yield at_s, taken, held
    yield until_s, taken, held


@cache
def _stranded(board_name: str, taken: int, held: int) -> tuple[int, ...]:
    """Free memory slices that no standard profile could cover; none on an empty GPU."""
    whole = board(board_name)
    if not taken:
        return ()
    free, covered = whole.compute_slices - held, 0
    for profile in whole.profiles:
        for start in profile.starts:
            bits = ((1 << profile.memory_slices) - 1) << start
            if profile.standard and profile.compute_slices <= free and not taken & bits:
                covered |= bits
    return tuple(c for c in range(whole.memory_slices) if not (taken | covered) >> c & 1)


def layouts_title(rows: Sequence[Row], stranded: Sequence[tuple[float, float, int]], cells: int) -> str:
    """The mean allocated share of the GPU in the drawn window, and the stranded share.

    >>> row = {"from_s": 0.0, "to_s": 1.0, "low": 0, "high": 4}
    >>> layouts_title([row], [(0.0, 0.5, 7)], 8)
    '50 % of the GPU is allocated over 1 s, 6.2 % of it is stranded'
    """
    if not rows:
        return "This GPU served no batch in the recorded part"
    begin, end = min(r["from_s"] for r in rows), max(r["to_s"] for r in rows)
    area = cells * (end - begin)
    held = sum((r["to_s"] - r["from_s"]) * (r["high"] - r["low"]) for r in rows) / area
    lost = sum(b - a for a, b, _ in stranded) / area
    tail = f", {100 * lost:.2g} % of it is stranded" if stranded else ""
    return f"{100 * held:.0f} % of the GPU is allocated over {end - begin:.3g} s{tail}"
