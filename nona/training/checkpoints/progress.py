"""What a job does in a stretch of time with checkpoints, failures and restarts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from nona.errors import SimulationError


@dataclass(frozen=True, slots=True)
class Saving:
    """``interval_s`` τ of work between checkpoints, ``checkpoint_s`` C each, ``restart_s`` r."""

    interval_s: float
    checkpoint_s: float
    restart_s: float


@dataclass(frozen=True, slots=True)
class Progress:
    """Seconds of a job's time, since it began: what it was used for, and what is not saved yet.

    Attributes
    ----------
    saved_s, unsaved_s
        Work that no failure undoes; work since the last complete checkpoint.
    lost_s
        Work that failures undid.
    checkpoints_s, restarts_s
        Time spent on saving and on restarts, also incomplete ones.
    saving_s, starting_s
        Left of the checkpoint, and of the restart, that the job is in; 0: in none.
    failures
        How many struck it.
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
    state: Progress, how: Saving, start_s: float, end_s: float, failures_s: Iterable[float], need_s: float
) -> tuple[Progress, float]:
    """The state after the time from start to end, and when it ended: earlier once ``need_s`` of work is done.

    ``failures_s``: times of failures of the job's nodes, in order; those outside are left out. A failure
    during a restart begins the restart again. Complete work needs no checkpoint.

    >>> after, end = advanced(Progress(), Saving(100, 10, 20), 0, 300, [150], 1e9)
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


def checkpointed(state: Progress) -> Progress:
    """The state of a job that was preempted or moved: everything is saved, the interval begins again.

    What the checkpoint costs is the move's cost, not counted here.

    >>> checkpointed(Progress(saved_s=100.0, unsaved_s=30.0)).saved_s
    130.0
    """
    return replace(state, saved_s=state.work_s, unsaved_s=0.0, saving_s=0.0)


def failed(state: Progress, how: Saving) -> Progress:
    """The state after a failure: unsaved work is lost, a restart begins.

    >>> after = failed(Progress(saved_s=9.0, unsaved_s=5.0), Saving(10, 1, 3))
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


def _until(state: Progress, how: Saving, now: float, end_s: float, need_s: float) -> tuple[Progress, float]:
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


def _saved(state: Progress, used: float) -> Progress:
    left = state.saving_s - used
    state = replace(state, saving_s=left, checkpoints_s=state.checkpoints_s + used)
    return state if left > 0 else checkpointed(state)
