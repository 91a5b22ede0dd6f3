"""Runs of a policy in training: what it chose, from what, and what each choice brought."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import (
    PRIME,
    NetworkView,
    Ready,
    Scheduler,
    SchedulerTables,
    SystemView,
    mixed,
)
from nona.queries.schedulers.learned.choose import Learned, candidates, one_of
from nona.queries.schedulers.learned.network import STATE
from nona.queries.simulation.compiled.engine import CompiledRun
from nona.queries.simulation.records import RawRun
from nona.queries.simulation.sizes import RunSize
from nona.queries.system import System

MOST_TASKS = 50  # of a query: they are bits of a number here


class Recording(NamedTuple):
    """The tables of a policy, and room for what it does.

    ``keep`` is the share of choices that are written down, drawn. ``written`` (3,) counts choices made, and
    choices and candidates written down. A choice has a time, the end of its candidates and
    which of them was taken; a candidate the number of its task, the tasks of its job that are not complete
    (a bit each), and P+4 features. What finds no room is done, but not written down.
    """

    policy: Learned
    salt: int
    keep: float
    written: Ints
    end: Ints
    taken: Ints
    task: Ints
    open_tasks: Ints
    time_s: Floats
    features: Floats


def _recording(policy: Learned, salt: int, keep: float, choices: int, candidates_each: int = 24) -> Recording:
    """Room for so many choices; ``salt`` makes other draws of the same simulation.

    Raises ``SimulationError`` when a query has more tasks than a number has bits.
    """
    most = int(np.diff(policy.first).max())
    if most > MOST_TASKS:
        raise SimulationError(
            f"Training: a query has {most} tasks, at most {MOST_TASKS} can be learned from; "
            "draw smaller graphs."
        )
    rows = choices * candidates_each
    written, end, taken, task, open_tasks = (
        np.zeros(n, dtype=np.int64) for n in (3, choices, choices, rows, rows)
    )
    features = np.zeros(rows * (policy.pair + STATE))
    time_s = np.zeros(choices)
    return Recording(policy, salt, keep, written, end, taken, task, open_tasks, time_s, features)


def decide(now: float, view: SystemView, ready: Ready, tables: Recording, u: Any, out: NDArray[Any]) -> bool:
    """Decide as :func:`nona.queries.schedulers.learned.choose.decide`, but draw by the softmax of the scores.

    It is not pure: it writes into its own tables, of which every run has its own.
    """
    t = tables.policy
    pairs = candidates(now, view, ready, t)
    waiting = np.zeros(ready.n, dtype=np.int64)
    while True:
        tables.written[0] += 1
        chosen = drawn(pairs.entry, pairs.score, waiting, u[0], tables)
        if chosen < 0:
            return False
        write(now, ready, pairs.entry, pairs.features, waiting, chosen, tables)
        if view.queue_length[pairs.executor[chosen]] == 0:
            out[0] = pairs.entry[chosen]
            out[1] = one_of(view, ready, t, pairs, chosen, u[0])
            return True
        waiting[pairs.entry[chosen]] = 1


def drawn(entry: Ints, score: Floats, held: Ints, u: float, r: Recording) -> int:
    """One of the candidates whose tasks are not held, by the softmax of their scores; −1: there is none."""
    highest, total = -math.inf, 0.0
    for c in range(len(entry)):
        if not held[entry[c]]:
            highest = max(highest, score[c])
    for c in range(len(entry)):
        if not held[entry[c]]:
            total += math.exp(score[c] - highest)
    left = total * mixed(u, r.written[0], r.salt) / PRIME
    last = -1
    for c in range(len(entry)):
        if not held[entry[c]]:
            last = c
            left -= math.exp(score[c] - highest)
            if left < 0:
                break
    return last


def write(
    now: float, ready: Ready, entry: Ints, features: Floats, held: Ints, chosen: int, r: Recording
) -> None:
    """Write down a choice and what it was made from; a choice of one is none."""
    choice, row, width = r.written[1], r.written[2], r.policy.pair + STATE
    if mixed(r.keep, r.written[0], r.salt) >= r.keep * PRIME:
        return
    count = 0
    for c in range(len(entry)):
        if not held[entry[c]]:
            count += 1
    if count < 2 or choice == len(r.end) or row + count > len(r.task):
        return
    for c in range(len(entry)):
        if held[entry[c]]:
            continue
        i = entry[c]
        if c == chosen:
            r.taken[choice] = row
        first = r.policy.first[ready.query[i]]
        r.task[row] = first + ready.task[i]
        for task in range(r.policy.first[ready.query[i] + 1] - first):
            if ready.places[ready.base[i] + task] >= -1:
                r.open_tasks[row] |= 1 << task
        for f in range(width):
            r.features[row * width + f] = features[c, f]
        row += 1
    r.end[choice] = row
    r.time_s[choice] = now
    r.written[1] = choice + 1
    r.written[2] = row


@dataclass(frozen=True, slots=True)
class NewRecording:
    """Prepares a run of ``policy`` with a recording of its own; see :func:`_recording`."""

    policy: Learned
    salt: int
    keep: float
    choices: int

    def __call__(
        self, system: System, placement: Placement | None, options: Mapping[str, Any]
    ) -> SchedulerTables:
        return SchedulerTables(_recording(self.policy, self.salt, self.keep, self.choices), 1)


def _recorder(view: NetworkView, prepare: NewRecording) -> Scheduler:
    """Return the declaration under which a policy runs while it is trained."""
    return Scheduler(
        name="policy in training",
        kind="pick",
        network_view=view,
        summary="A policy that draws what to do, and writes it down.",
        source="",
        adaptation="",
        decide=decide,
        build=prepare,
        reads_queues=True,
    )


KEPT, CHOICES_PER_JOB = 300, 16  # choices of a run that are learned from, of about so many


@dataclass(frozen=True, slots=True)
class Choices:
    """C choices among M candidates: ``end`` (C,) of each choice's candidates, which was ``taken`` (C,), when;
    ``task``, ``open_tasks`` (M,) and ``features`` (M, P+4) as in
    :class:`~evidence.learning.rollouts.Recording`."""

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
    scheduler = _recorder(view, NewRecording(policy, salt, keep, 2 * KEPT))
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
    prepared = scheduler.prepare(system, None, {})
    run = CompiledRun(system, scheduler, prepared, size, None)
    raw = run.run()
    return Rollout(_choices(run, policy.pair + STATE), *_jobs(raw))


def _jobs(raw: RawRun) -> tuple[Floats, Floats]:
    of = raw.collected
    done = np.where(np.isnan(of.completion_s), of.window_s[1], of.completion_s)
    return np.sort(of.arrival_s), np.sort(done)


def _choices(run: CompiledRun, width: int) -> Choices:
    """Read the choices that the run has written into its copy of the tables."""
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


def job_seconds(rollout: Rollout, until_s: Floats) -> Floats:
    """∫ N(t) dt from 0 to each instant, N(t) being the jobs in the system: Σ (t − a)⁺ − Σ (t − c)⁺."""
    return _past(rollout.arrival_s, until_s) - _past(rollout.completion_s, until_s)


def _past(events_s: Floats, until_s: Floats) -> Floats:
    """Σ (t − event)⁺ for each t; ``events_s`` ascend."""
    before = np.searchsorted(events_s, until_s, side="right")
    sums = np.concatenate([[0.0], np.cumsum(events_s)])
    past: Floats = before * until_s - sums[before]
    return past


def advantages(rollouts: Sequence[Rollout], window_s: float) -> list[Floats]:
    """Return the advantage of each choice: minus the job-seconds of the next ``window_s``, less their mean.

    The mean is over the other rollouts from the same instant on; the unit is the standard deviation over all
    choices. All runs have the same arrivals, so the mean is a baseline that does not depend on the choice. Of
    a differential reward (job-seconds less the long-run average) nothing else remains: the average over a
    window of fixed length is the same constant in the run and in its baseline.
    """
    by_rollout = []
    for number, rollout in enumerate(rollouts):
        t = rollout.choices.time_s
        cost = np.stack([job_seconds(r, t + window_s) - job_seconds(r, t) for r in rollouts])
        others = (cost.sum(axis=0) - cost[number]) / (len(rollouts) - 1)
        by_rollout.append(others - cost[number])
    together = np.concatenate(by_rollout)
    spread = float(together.std()) if len(together) else 0.0
    return [a / spread if spread > 0 else a for a in by_rollout]
