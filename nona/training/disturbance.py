"""Disturbances of jobs on their GPUs: moves take time and nodes fail."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from nona.core.errors import SimulationError
from nona.core.random_streams import RandomStreams
from nona.scenario.training import FailuresSpec
from nona.training.checkpoints import best_interval, daly_s, failure_gaps, young_s
from nona.training.moves import checkpoint_bytes, move_s
from nona.training.question import CheckpointOutcome, JobInterval
from nona.training.system import TrainingSystem

_BLOCK = 32


@dataclass(eq=False, slots=True)
class NodeFailures:
    """Failure times of nodes with mean gap ``mtbf_s``; a node is back at once, its jobs restart.

    Times of a node depend on the seed, its type and its number only, so that all policies see the same
    failures.

    >>> failures = NodeFailures(1000.0, RandomStreams(3))
    >>> times = failures.failure_times("v100", 0, 0.0, 10_000.0)
    >>> again = NodeFailures(1000.0, RandomStreams(3)).failure_times("v100", 0, 0.0, 10_000.0)
    >>> times == again, 2 < len(times) < 30
    (True, True)
    """

    mtbf_s: float
    streams: RandomStreams
    _times: dict[tuple[str, int], list[float]] = field(default_factory=dict)
    _generators: dict[tuple[str, int], np.random.Generator] = field(default_factory=dict)

    def failure_times(self, gpu: str, node: int, start_s: float, end_s: float) -> list[float]:
        """List the failure times (s) of a node between two instants."""
        key = (gpu, node)
        if key not in self._times:
            self._times[key] = [0.0]
            self._generators[key] = self.streams.generator("failures", gpu, str(node))
        times = self._times[key]
        while times[-1] < end_s:
            gaps = self._generators[key].exponential(self.mtbf_s, size=_BLOCK)
            times.extend((times[-1] + np.cumsum(gaps)).tolist())
        return times[max(bisect_left(times, start_s), 1) : bisect_left(times, end_s)]


@dataclass(frozen=True, slots=True)
class Saving:
    """``interval_s`` τ of work between checkpoints, ``checkpoint_s`` C each, ``restart_s`` r."""

    interval_s: float
    checkpoint_s: float
    restart_s: float


@dataclass(frozen=True, slots=True)
class JobTime:
    """Seconds of a job's time since it began, by use, and those that are not saved yet.

    ``saved_s``, ``unsaved_s``: work that no failure undoes; work since the last complete checkpoint.
    ``lost_s``: work that failures undid.
    ``checkpoints_s``, ``restarts_s``: time spent on saving and on restarts, also incomplete ones.
    ``saving_s``, ``starting_s``: left of the checkpoint, and of the restart, that the job is in; 0: in none.
    ``failures``: how many struck it.
    """

    saved_s: float = 0.0
    unsaved_s: float = 0.0
    lost_s: float = 0.0
    checkpoints_s: float = 0.0
    restarts_s: float = 0.0
    saving_s: float = 0.0
    starting_s: float = 0.0
    failures: int = 0

    @property
    def work_s(self) -> float:
        """Work that counts at present: saved and not yet saved."""
        return self.saved_s + self.unsaved_s

    @property
    def spent_s(self) -> float:
        """All time: work, lost work, checkpoints, restarts."""
        return self.work_s + self.lost_s + self.checkpoints_s + self.restarts_s


def advanced(
    state: JobTime, how: Saving, start_s: float, end_s: float, failures_s: Iterable[float], need_s: float
) -> tuple[JobTime, float]:
    """Return the state after the time from start to end, or after ``need_s`` of work, and when that was.

    ``failures_s``: times of failures of the job's nodes, in order; those outside are left out. A failure
    during a restart begins the restart again. Complete work needs no checkpoint.

    >>> after, end = advanced(JobTime(), Saving(100, 10, 20), 0, 300, [150], 1e9)
    >>> after.work_s, after.lost_s, after.checkpoints_s, after.restarts_s, end
    (220.0, 40.0, 20.0, 20.0, 300.0)
    """
    if not how.interval_s > 0:
        raise SimulationError(f"Failures: interval={how.interval_s!r} s must be above 0; raise it.")
    now = start_s
    for failure in failures_s:
        if now <= failure < end_s:
            state, now = _until(state, how, now, failure, need_s)
            if now < failure:
                return state, now
            state = failed(state, how)
    return _until(state, how, now, end_s, need_s)


def checkpointed(state: JobTime) -> JobTime:
    """Return the state of a job that was preempted or moved: everything is saved, the interval begins again.

    What the checkpoint costs is the move's cost, not counted here.

    >>> checkpointed(JobTime(saved_s=100.0, unsaved_s=30.0)).saved_s
    130.0
    """
    return replace(state, saved_s=state.work_s, unsaved_s=0.0, saving_s=0.0)


def failed(state: JobTime, how: Saving) -> JobTime:
    """Return the state after a failure: unsaved work is lost, a restart begins.

    >>> after = failed(JobTime(saved_s=9.0, unsaved_s=5.0), Saving(10, 1, 3))
    >>> after.work_s, after.lost_s, after.starting_s
    (9.0, 5.0, 3)
    """
    return replace(
        state,
        unsaved_s=0.0,
        lost_s=state.lost_s + state.unsaved_s,
        saving_s=0.0,
        starting_s=how.restart_s,
        failures=state.failures + 1,
    )


def _until(state: JobTime, how: Saving, now: float, end_s: float, need_s: float) -> tuple[JobTime, float]:
    """Without failures: restart, then work and checkpoints in turn."""
    used = min(state.starting_s, end_s - now)
    state = replace(state, starting_s=state.starting_s - used, restarts_s=state.restarts_s + used)
    now += used
    enough = need_s * (1 - 1e-12)  # sums of seconds are not exact
    while now < end_s and state.work_s < enough:
        if state.saving_s > 0:
            used = min(state.saving_s, end_s - now)
            state = _saved(state, used)
        else:
            used = min(how.interval_s - state.unsaved_s, need_s - state.work_s, end_s - now)
            worked = state.unsaved_s + used
            due = worked >= how.interval_s
            state = replace(state, unsaved_s=worked, saving_s=how.checkpoint_s if due else 0.0)
            if due and how.checkpoint_s == 0:
                state = checkpointed(state)
        now += used
    return state, min(now, end_s)


def _saved(state: JobTime, used: float) -> JobTime:
    left = state.saving_s - used
    state = replace(state, saving_s=left, checkpoints_s=state.checkpoints_s + used)
    return state if left > 0 else checkpointed(state)


_SEARCH = (4_000, 4)  # failures and replications of the search for the best interval


def _interval_of(spec: FailuresSpec, nodes: int, streams: RandomStreams) -> float:
    """Seconds of work between checkpoints of a job on some nodes, which fail ``nodes`` times as often.

    >>> round(_interval_of(FailuresSpec(mtbf=86400, checkpoint=30, interval="young"), 4, RandomStreams(0)))
    1138
    """
    if not isinstance(spec.interval, str):
        return spec.interval
    mtbf_s = spec.mtbf / nodes
    if spec.checkpoint == 0:
        return 1.0  # saving is free: save all the time
    if spec.interval == "best":
        gaps = failure_gaps(streams, *_SEARCH)
        return best_interval(spec.checkpoint, mtbf_s, spec.restart, gaps)
    return (young_s if spec.interval == "young" else daly_s)(spec.checkpoint, mtbf_s)


@dataclass(slots=True)
class DisturbanceSums:
    """Over all jobs: failures, seconds on GPUs for restarts, checkpoints and moves, steps undone and done."""

    failures: int = 0
    restart_s: float = 0.0
    checkpoint_s: float = 0.0
    move_s: float = 0.0
    undone: float = 0.0
    done: float = 0.0


@dataclass(slots=True)
class _State:
    """A job's progress; its steps since the last checkpoint; the part of its start due to a move.

    ``sent_s``: seconds that its next start takes longer, because it changes its region.
    """

    progress: JobTime
    unsaved: float = 0.0
    moving_s: float = 0.0
    sent_s: float = 0.0


class Disturbance:
    """Stretches of jobs with moves and failures; a preempted or moved job is checkpointed as it leaves."""

    def __init__(self, system: TrainingSystem, streams: RandomStreams) -> None:
        self._system, self._streams, self._types = system, streams, system.cluster.types
        self._spec, self._moves = system.failures, system.moves
        self._failures = NodeFailures(self._spec.mtbf, streams) if self._spec else None
        self._savings: dict[int, Saving] = {}
        self._states: dict[int, _State] = {}
        self._seconds: dict[int, float] = {}
        self.tally = DisturbanceSums()

    def move_s(self, job: int) -> float:
        """c_i: seconds of a move of the job; 0 where moves are free."""
        if self._moves is None:
            return 0.0
        if job not in self._seconds:
            self._seconds[job] = move_s(self._moves, checkpoint_bytes(self._system.jobs[job]))
        return self._seconds[job]

    def delay(self, job: int, seconds: float) -> None:
        """Send a job over the network between regions: its next start takes so much longer."""
        self._states.setdefault(job, _State(JobTime())).sent_s += seconds

    def run(self, stretch: JobInterval) -> CheckpointOutcome | None:
        """Return how a stretch of a job ends under failures and checkpoints."""
        state = self._states.setdefault(stretch.job, _State(JobTime()))
        moved = stretch.moved_from is not None or stretch.paused
        if moved:
            self._move(state, self.move_s(stretch.job))
        if self._failures is None and state.progress.starting_s <= 0:
            return None
        before = state.progress
        steps, end_s = self._advance(state, stretch)
        self._count(before, state, steps)
        return CheckpointOutcome(steps, end_s, max(0.0, stretch.rate * (end_s - stretch.start_s) - steps))

    def _move(self, state: _State, seconds: float) -> None:
        """Everything is saved; with a cost of moves a start that was under way begins again."""
        left = state.progress.starting_s if self._moves is None else 0.0
        state.moving_s = seconds + state.sent_s
        state.progress = replace(checkpointed(state.progress), starting_s=left + state.moving_s)
        state.unsaved = state.sent_s = 0.0

    def _advance(self, state: _State, stretch: JobInterval) -> tuple[float, float]:
        """Return the steps that a job completes in a stretch with failures, and when it ends (s)."""
        how, steps, now = self._saving(stretch), 0.0, stretch.start_s
        edges = [(f, True) for f in self._strikes(stretch)]
        for edge, strikes in [*edges, (stretch.end_s, False)]:
            old = state.progress
            need_s = old.work_s + (stretch.remaining - steps) / stretch.rate
            new, now = advanced(old, how, now, edge, (), need_s)
            gained = stretch.rate * (new.work_s - old.work_s)
            state.unsaved = (
                stretch.rate * new.unsaved_s if new.saved_s > old.saved_s else state.unsaved + gained
            )
            state.progress, steps = new, steps + gained
            if new.work_s >= need_s * (1 - 1e-12):
                return stretch.remaining, now
            if strikes:
                self.tally.failures += 1
                self.tally.undone += state.unsaved
                steps -= state.unsaved
                state.progress, state.unsaved, state.moving_s = failed(new, how), 0.0, 0.0
        return steps, now

    def _count(self, before: JobTime, state: _State, steps: float) -> None:
        started = state.progress.restarts_s - before.restarts_s
        moving = started if self._spec is None else min(started, state.moving_s)
        state.moving_s -= moving
        self.tally.move_s += moving
        self.tally.restart_s += started - moving
        self.tally.checkpoint_s += state.progress.checkpoints_s - before.checkpoints_s
        self.tally.done += steps

    def _saving(self, stretch: JobInterval) -> Saving:
        if self._spec is None:
            return Saving(inf, 0.0, 0.0)
        nodes = max(1, len(set(stretch.nodes)))
        if nodes not in self._savings:
            interval = _interval_of(self._spec, nodes, self._streams)
            self._savings[nodes] = Saving(interval, self._spec.checkpoint, self._spec.restart)
        return self._savings[nodes]

    def _strikes(self, stretch: JobInterval) -> list[float]:
        if self._failures is None:
            return []
        times_s = [
            time
            for kind, node in sorted(set(stretch.nodes))
            for time in self._failures.failure_times(self._types[kind], node, stretch.start_s, stretch.end_s)
        ]
        return sorted(times_s)
