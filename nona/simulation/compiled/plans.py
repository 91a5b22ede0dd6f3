"""The query classes in flat arrays: the plans of the readable engine, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nona.simulation.compiled.memory.arrays import Floats, Ints, Records
from nona.simulation.compiled.memory.layout import OUTPUT, PLAN, QUERY, READ, USE
from nona.simulation.reference.load import TICK_S
from nona.simulation.workload.plans import QueryPlan, make_plan
from nona.system import System


class Plans(NamedTuple):
    """As in :class:`~nona.simulation.compiled.memory.layout.State`."""

    queries: Records
    plan: Records
    outputs: Records
    uses: Records
    reads: Records
    sources: Ints
    successors: Ints
    times: Floats
    ticks: Ints


def flatten(system: System) -> Plans:
    """The plans of all query classes of ``system``."""
    plans = [make_plan(q.tasks, system.capacity) for q in system.queries]
    rows = _Rows()
    for plan in plans:
        rows.add(plan)
    times = np.concatenate([np.array(p.times, dtype=np.float64) for p in plans], axis=1)
    return Plans(
        queries=_records(QUERY, rows.queries),
        plan=_records(PLAN, rows.plan),
        outputs=_records(OUTPUT, rows.outputs),
        uses=_records(USE, rows.uses),
        reads=_records(READ, rows.reads),
        sources=np.array(rows.sources, dtype=np.int64),
        successors=np.array(rows.successors, dtype=np.int64),
        times=np.ascontiguousarray(times),
        ticks=np.array([[ticks_of(t) for t in row] for row in times.tolist()], dtype=np.int64),
    )


def ticks_of(seconds: float) -> int:
    """Whole picoseconds, as the load board counts."""
    return round(seconds / TICK_S)


class _Rows:
    """The columns of :class:`Plans` while they grow."""

    def __init__(self) -> None:
        self.queries: list[tuple[int, ...]] = []
        self.plan: list[tuple[int, ...]] = []
        self.outputs: list[tuple[float, ...]] = []
        self.uses: list[tuple[int, int]] = []
        self.reads: list[tuple[int, int, int]] = []
        self.sources: list[int] = []
        self.successors: list[int] = []

    def add(self, plan: QueryPlan) -> None:
        """Append one query class."""
        self.queries.append(
            (len(self.plan), plan.tasks, sum(plan.inputs), len(self.sources), len(plan.sources))
        )
        self.sources += plan.sources
        first: dict[int, tuple[int, int]] = {}  # tensor → its output, its first use
        ranges = []
        for made in plan.outputs:
            begin = len(self.outputs)
            for output in made:
                first[output.tensor] = (len(self.outputs), len(self.uses))
                end = len(self.uses) + len(output.targets)
                self.outputs.append((output.tensor, len(self.uses), end, output.size_bytes, output.work_s))
                self.uses += zip(output.targets, output.numbers, strict=True)
            ranges.append((begin, len(self.outputs)))
        for t in range(plan.tasks):
            read = len(self.reads)
            for output, place, source in plan.reads[t]:
                number, use = first[output.tensor]
                self.reads.append((number, use + place, source))
            successor = len(self.successors)
            self.successors += plan.successors[t]
            self.plan.append(
                (
                    plan.inputs[t],
                    plan.predecessors[t],
                    *ranges[t],
                    read,
                    len(self.reads),
                    successor,
                    len(self.successors),
                )
            )


def _records(dtype: np.dtype[Any], rows: Sequence[Iterable[float]]) -> Records:
    return np.array([tuple(r) for r in rows], dtype=dtype)
