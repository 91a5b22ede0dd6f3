"""Runs of a policy that is trained, and what each of its choices brought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.learning.recording import NewRecording, Recording, recorder
from nona.schedulers.base import NetworkView
from nona.schedulers.learned.choose import Learned
from nona.schedulers.learned.network import STATE
from nona.simulation.compiled.engine import CompiledRun
from nona.simulation.records.run import RawRun
from nona.simulation.sizes import RunSize
from nona.system import System

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


KEPT, CHOICES_PER_JOB = 300, 16  # choices of a run that are learned from, of about so many


@dataclass(frozen=True, slots=True)
class Choices:
    """C choices among M candidates: ``end`` (C,) of each choice's candidates, which was ``taken`` (C,), when;
    ``task``, ``open_tasks`` (M,) and ``features`` (M, P+4) as in
    :class:`~nona.learning.recording.Recording`."""

    end: Ints
    taken: Ints
    time_s: Floats
    task: Ints
    open_tasks: Ints
    features: Floats


@dataclass(frozen=True, slots=True)
class Rollout:
    """One run: its choices, and when its jobs came and went, each in order; what was not complete when the
    run was cut off counts as going then."""

    choices: Choices
    arrival_s: Floats
    completion_s: Floats

    @property
    def mean_jct_s(self) -> float:
        """Mean seconds from arrival to completion."""
        return float(self.completion_s.mean() - self.arrival_s.mean())


def rolled_out(system: System, policy: Learned, view: NetworkView, jobs: int, salt: int) -> Rollout:
    """``jobs`` jobs from an empty system; runs with other ``salt`` have the same arrivals and services."""
    keep = min(1.0, KEPT / (jobs * CHOICES_PER_JOB))
    scheduler = recorder(view, NewRecording(policy, salt, keep, 2 * KEPT))
    size = RunSize(
        first=0,
        jobs=jobs,
        replication=0,
        run_on=True,
        timeline_jobs=0,
        tail_jobs=jobs,
        tail_s=0.0,
        record_jobs=jobs,
    )
    run = CompiledRun(system, scheduler, scheduler.prepare(system, None, {}), size, None)
    raw = run.run()
    return Rollout(_choices(run, policy.pair + STATE), *_jobs(raw))


def _jobs(raw: RawRun) -> tuple[Floats, Floats]:
    of = raw.collected
    done = np.where(np.isnan(of.completion_s), of.window_s[1], of.completion_s)
    return np.sort(of.arrival_s), np.sort(done)


def _choices(run: CompiledRun, width: int) -> Choices:
    """What the run has written into its copy of the tables."""
    flat = run.policy.flat
    if flat is None:
        raise TypeError("The recording does not run as machine code.")
    ints, floats = run.arrays.tables_i, run.arrays.tables_f
    fields = Recording._fields
    before = len(Learned._fields)
    borders = {name: ints[2 * (before + i) : 2 * (before + i) + 2] for i, name in enumerate(fields[1:])}

    def part(name: str, source: NDArray[Any], count: int) -> NDArray[Any]:
        begin = int(borders[name][0])
        return source[begin : begin + count].copy()

    _, choices, rows = part("written", ints, 3).tolist()
    return Choices(
        end=part("end", ints, choices),
        taken=part("taken", ints, choices),
        time_s=part("time_s", floats, choices),
        task=part("task", ints, rows),
        open_tasks=part("open_tasks", ints, rows),
        features=part("features", floats, rows * width).reshape(rows, width),
    )
