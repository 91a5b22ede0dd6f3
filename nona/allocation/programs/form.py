"""A program without pairs as tables of jobs by types, scaled so that all its numbers are about 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.allocation.programs.polytope import Floats
from nona.allocation.programs.program import Prices, Program


@dataclass(frozen=True, eq=False, slots=True)
class Form:
    """Maximise Σ gain·x + goal·λ subject to line_i·x_i − rise_i λ ≥ floor_i where ``on``, and x in F.

    Attributes
    ----------
    jobs
        (k,) numbers of the jobs that can run.
    free
        (k, J) whether x_ij is a variable; elsewhere it is 0.
    workers, gpus
        (k,) sf_i; (J,) N_j.
    line, gain
        (k, J) T_ij over the job's largest rate; gain, over ``unit``.
    rise, floor, on
        (k,) steps and floors in the same scale; ``rise`` also over the scale of λ.
    goal
        1 where there is λ, else 0.
    scale, unit
        (k,) largest rate; what 1 of the scaled objective is worth.
    """

    jobs: NDArray[np.int64]
    free: NDArray[np.bool_]
    workers: Floats
    gpus: Floats
    line: Floats
    gain: Floats
    rise: Floats
    floor: Floats
    on: NDArray[np.bool_]
    goal: float
    scale: Floats
    unit: float

    def start(self) -> Floats:
        """(k, J) equal shares well inside F."""
        even = np.minimum(0.5 * self.gpus / self.workers.sum(), 0.5 / len(self.gpus))
        return np.where(self.free, even, 0.0)

    @property
    def constraints(self) -> int:
        """How many slacks there are."""
        return int(self.free.sum()) + int(self.on.sum()) + len(self.jobs) + len(self.gpus)

    def prices(self, program: Program, line: Floats, gpus: Floats, time: Floats) -> Prices:
        """Multipliers of the scaled program as prices of ``program``."""
        m = program.space.jobs
        throughput, times = np.zeros(m), np.zeros(m)
        throughput[self.jobs] = np.where(self.on, line, 0.0) * self.unit / self.scale
        times[self.jobs] = time * self.unit
        return Prices(throughput, gpus * self.unit, times)


def form_of(program: Program) -> Form:
    """The scaled tables of a program whose rows are all single jobs, of which one at least can run."""
    space = program.space
    shape = (space.jobs, len(space.gpus))
    rate, gain, workers = np.zeros(shape), np.zeros(shape), np.ones(space.jobs)
    rate[space.row, space.column], gain[space.row, space.column] = space.rate, program.gains
    workers[space.row] = space.workers
    jobs = np.flatnonzero(rate.any(axis=1))
    rate, gain, workers = rate[jobs], gain[jobs], workers[jobs]
    scale = rate.max(axis=1)
    line, rise, floor = rate / scale[:, None], program.steps[jobs] / scale, program.floors[jobs] / scale
    free, goal = rate > 0, float(program.levelled)
    even = np.where(free, np.minimum(space.gpus / workers.sum(), 1.0 / shape[1]), 0.0)
    unit = abs(float((gain * even).sum()))
    if goal:
        steps = rise > 0
        unit += float(((line * even).sum(1)[steps] / rise[steps]).min())
    unit = unit or 1.0
    return Form(
        jobs, free, workers, space.gpus, line, gain / unit, rise * unit, floor,
        (rise > 0) | (floor > 0), goal, scale, unit,
    )  # fmt: skip
