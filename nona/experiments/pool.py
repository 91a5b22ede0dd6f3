"""Pools that execute many runs, in this process or others, and report the common progress.

A run is a function of the work and its key alone, so the results are the same wherever it runs.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from nona.errors import SimulationError

Key = tuple[int, int]  # what is run, by its place in the work; number of the replication
RETRIES = 2  # times that a run is repeated after its worker was lost, before the experiment gives up
P = TypeVar("P")
R = TypeVar("R")
P_co = TypeVar("P_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)
P_contra = TypeVar("P_contra", contravariant=True)


class Work(Protocol[P_co, R_co]):
    """The work that every worker gets once: makes the result of each key, and reports progress if wanted."""

    @property
    def reporting(self) -> bool:
        """True where progress is wanted."""

    def run(self, key: Key, on_progress: Callable[[P_co], None] | None) -> R_co:
        """The result of one run."""


class Listener(Protocol[P_contra]):
    """Hears of runs while they go on; what it raises ends them all."""

    def report(self, key: Key, progress: P_contra) -> None:
        """A run has come so far."""

    def repeat(self, key: Key) -> None:
        """A run's worker was lost: its reports start again."""


OnEnd = Callable[[Key, R], None]


def unheard(key: Key, result: object) -> None:
    """Nobody listens for the ends of single runs."""


class Pool(Protocol[P, R]):
    """Runs keys of a work. It may be used again, and is closed by whoever made it."""

    def run(
        self, work: Work[P, R], keys: Sequence[Key], listener: Listener[P], on_end: OnEnd[R] = unheard
    ) -> Mapping[Key, R]:
        """The result of every key; what a run, ``listener`` or ``on_end`` raises ends all runs."""


class ThisProcess:
    """One run after the other in this process. It has no workers to lose."""

    def run(
        self, work: Work[P, R], keys: Sequence[Key], listener: Listener[P], on_end: OnEnd[R] = unheard
    ) -> dict[Key, R]:
        """See :class:`Pool`."""

        def listen(key: Key) -> Callable[[P], None] | None:
            return (lambda progress: listener.report(key, progress)) if work.reporting else None

        results: dict[Key, R] = {}
        for key in keys:
            results[key] = work.run(key, listen(key))
            on_end(key, results[key])
        return results


def pickled(work: Work[P, R]) -> bytes:
    """``work`` as it is sent to other processes.

    Raises
    ------
    SimulationError
        When it cannot be: functions that are not defined in a module have no name to send.
    """
    try:
        return pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SimulationError(
            f"Replications: the schedulers cannot be sent to worker processes ({error}); define their "
            "functions in a module, or use one worker."
        ) from error


def check_runs(kind: str, names: Sequence[str], replications: int, workers: int) -> None:
    """Refuse a number below 1, no name, and a name that is given twice; ``kind`` is what they name.

    Raises
    ------
    SimulationError
        See above.
    """
    for name, value in (("replications", replications), ("workers", workers)):
        if value < 1:
            raise SimulationError(f"Replications: {name}={value} must be at least 1; give a larger number.")
    if not names:
        raise SimulationError(f"Replications: there is no {kind}; name at least one.")
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise SimulationError(f"Replications: {kind} {twice!r} is given twice; name each once.")


class Shares:
    """Adds up the shares of runs that are done; a run that is repeated does not fall back.

    Parameters
    ----------
    weights
        Key of every run → its part of the whole work, in any unit.

    Examples
    --------
    >>> shares = Shares({(0, 0): 1.0, (1, 0): 3.0})
    >>> shares.add((1, 0), 0.5), shares.add((1, 0), 0.2), shares.add((0, 0), 1.0)
    (0.375, 0.375, 0.625)
    """

    def __init__(self, weights: Mapping[Key, float]) -> None:
        self._weights = dict(weights)
        self._done = dict.fromkeys(self._weights, 0.0)

    def add(self, key: Key, fraction: float) -> float:
        """Take in the share of a run that is done; the share of all."""
        self._done[key] = max(fraction, self._done[key])
        whole = sum(self._weights.values())
        return sum(self._weights[k] * done for k, done in self._done.items()) / whole
