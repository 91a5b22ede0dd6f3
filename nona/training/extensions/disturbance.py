"""What jobs do in their time on GPUs when moves take time and nodes fail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from nona.random_streams import RandomStreams
from nona.scenario.training_extensions import FailuresSpec
from nona.training.checkpoints.failures import NodeFailures
from nona.training.checkpoints.intervals import daly_s, young_s
from nona.training.checkpoints.progress import Progress, Saving, advanced, checkpointed, failed
from nona.training.checkpoints.simulation import best_interval, failure_gaps
from nona.training.engine.hooks import Outcome, Stretch
from nona.training.model.system import TrainingSystem
from nona.training.moves.cost import MoveCost
from nona.training.moves.sizes import checkpoint_bytes

_SEARCH = (4_000, 4)  # failures and replications of the search for the best interval


def interval_of(spec: FailuresSpec, nodes: int, streams: RandomStreams) -> float:
    """Seconds of work between checkpoints of a job on some nodes, which fail ``nodes`` times as often.

    >>> round(interval_of(FailuresSpec(mtbf=86400, checkpoint=30, interval="young"), 4, RandomStreams(0)))
    1138
    """
    if not isinstance(spec.interval, str):
        return spec.interval
    mtbf_s = spec.mtbf / nodes
    if spec.checkpoint == 0:
        return 1.0  # saving is free: save all the time
    if spec.interval == "best":
        gaps = failure_gaps(streams, *_SEARCH)
        return best_interval(spec.checkpoint, mtbf_s, spec.restart, gaps).interval_s
    return (young_s if spec.interval == "young" else daly_s)(spec.checkpoint, mtbf_s)


@dataclass(slots=True)
class Tally:
    """Over all jobs: failures, seconds on GPUs for restarts, checkpoints and moves, steps undone and done."""

    failures: int = 0
    restart_s: float = 0.0
    checkpoint_s: float = 0.0
    move_s: float = 0.0
    undone: float = 0.0
    done: float = 0.0


@dataclass(slots=True)
class _State:
    """A job's progress; its steps since the last checkpoint; how much of its start is a move's.

    ``sent_s``: seconds that its next start takes longer, because it changes its region.
    """

    progress: Progress
    unsaved: float = 0.0
    moving_s: float = 0.0
    sent_s: float = 0.0


class Disturbance:
    """Stretches of jobs with moves and failures; a preempted or moved job is checkpointed as it leaves."""

    def __init__(self, system: TrainingSystem, streams: RandomStreams) -> None:
        self._system, self._streams, self._types = system, streams, system.cluster.types
        self._spec, moves = system.failures, system.moves
        self._cost = MoveCost(moves.save, moves.network, moves.load, moves.warmup) if moves else None
        self._failures = NodeFailures(self._spec.mtbf, streams) if self._spec else None
        self._savings: dict[int, Saving] = {}
        self._states: dict[int, _State] = {}
        self._seconds: dict[int, float] = {}
        self.tally = Tally()

    def move_s(self, job: int) -> float:
        """c_i: seconds of a move of the job; 0 where moves are free."""
        if self._cost is None:
            return 0.0
        if job not in self._seconds:
            self._seconds[job] = self._cost.seconds(checkpoint_bytes(self._system.jobs[job]))
        return self._seconds[job]

    def delay(self, job: int, seconds: float) -> None:
        """The job is sent over the network between regions: its next start takes so much longer."""
        self._states.setdefault(job, _State(Progress())).sent_s += seconds

    def run(self, stretch: Stretch) -> Outcome | None:
        """What the job does; ``None``: nothing disturbs it."""
        state = self._states.setdefault(stretch.job, _State(Progress()))
        moved = stretch.moved_from is not None or stretch.paused
        if moved:
            self._move(state, self.move_s(stretch.job))
        if self._failures is None and state.progress.starting_s <= 0:
            return None
        before = state.progress
        steps, end_s = self._advance(state, stretch)
        self._count(before, state, steps)
        return Outcome(steps, end_s, max(0.0, stretch.rate * (end_s - stretch.start_s) - steps))

    def _move(self, state: _State, seconds: float) -> None:
        """Everything is saved; with a cost of moves a start that was under way begins again."""
        left = state.progress.starting_s if self._cost is None else 0.0
        state.moving_s = seconds + state.sent_s
        state.progress = replace(checkpointed(state.progress), starting_s=left + state.moving_s)
        state.unsaved = state.sent_s = 0.0

    def _advance(self, state: _State, stretch: Stretch) -> tuple[float, float]:
        """Steps of the stretch, and when it ended; ``state`` is brought up to date."""
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

    def _count(self, before: Progress, state: _State, steps: float) -> None:
        started = state.progress.restarts_s - before.restarts_s
        moving = started if self._spec is None else min(started, state.moving_s)
        state.moving_s -= moving
        self.tally.move_s += moving
        self.tally.restart_s += started - moving
        self.tally.checkpoint_s += state.progress.checkpoints_s - before.checkpoints_s
        self.tally.done += steps

    def _saving(self, stretch: Stretch) -> Saving:
        if self._spec is None:
            return Saving(inf, 0.0, 0.0)
        nodes = max(1, len(set(stretch.nodes)))
        if nodes not in self._savings:
            interval = interval_of(self._spec, nodes, self._streams)
            self._savings[nodes] = Saving(interval, self._spec.checkpoint, self._spec.restart)
        return self._savings[nodes]

    def _strikes(self, stretch: Stretch) -> list[float]:
        """Failures of the job's nodes within the stretch, in order."""
        if self._failures is None:
            return []
        found = [
            time
            for kind, node in sorted(set(stretch.nodes))
            for time in self._failures.between(self._types[kind], node, stretch.start_s, stretch.end_s)
        ]
        return sorted(found)
