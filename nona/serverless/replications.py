"""Replications of several policies, in this process or in several.

A run depends on the system, the policy, its options and the replication's number alone, so the records are
the same whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from nona.errors import SimulationError
from nona.serverless.engine.options import OnProgress, RunOptions, ServerlessProgress
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.base import Policy
from nona.serverless.records.run import ServerlessRecords
from nona.simulation.experiments.pool import Key
from nona.simulation.experiments.workers import ProcessPool

DEFAULT = RunOptions()


@dataclass(frozen=True, slots=True)
class ServerlessWork:
    """What every process gets once; ``reporting``: whether progress is wanted."""

    system: ServerlessSystem
    policies: tuple[tuple[Policy, Mapping[str, Any]], ...]
    run_options: RunOptions
    reporting: bool

    def run(self, key: Key, on_progress: OnProgress | None) -> ServerlessRecords:
        """The run of one policy in one replication."""
        policy, options = self.policies[key[0]]
        run = replace(self.run_options, replication=key[1])
        return simulate_serverless(self.system, policy, options, run, on_progress)


def run_policies(
    system: ServerlessSystem,
    policies: Sequence[tuple[Policy, Mapping[str, Any]]],
    run: RunOptions = DEFAULT,
    replications: int = 5,
    workers: int = 1,
    on_progress: OnProgress | None = None,
) -> dict[str, tuple[ServerlessRecords, ...]]:
    """Simulate every policy in every replication.

    Parameters
    ----------
    policies
        Each with its options; names must differ.
    run
        Of every run; replications are numbered from ``run.replication`` on.
    workers
        Processes; 1 runs all in this one.
    on_progress
        Called in this process as runs report; ``fraction`` is then that of all runs together.
        ``Cancelled`` raised there stops them all, and comes out of this function.

    Returns
    -------
    dict
        Policy's name → its records in order of replication.

    Raises
    ------
    SimulationError
        For a number below 1, no policy, two of one name, or a run whose process is lost again and again.
    """
    _check(policies, replications, workers)
    sent = tuple((_sendable(policy), dict(options)) for policy, options in policies)
    work = ServerlessWork(system, sent, run, on_progress is not None)
    keys = [(p, run.replication + r) for r in range(replications) for p in range(len(policies))]
    merged = _Merged(len(keys), on_progress)
    if workers == 1 or len(keys) == 1:
        found = {key: work.run(key, merged.listener(key)) for key in keys}
    else:
        with ProcessPool(min(workers, len(keys))) as processes:  # it asks of a work what ours has
            found = cast(Any, processes).run(work, keys, merged)
    return {p.name: tuple(found[k] for k in keys if k[0] == i) for i, (p, _) in enumerate(policies)}


class _Merged:
    """Adds up how far all runs are; a run that is repeated does not fall back."""

    def __init__(self, runs: int, on_progress: OnProgress | None) -> None:
        self._runs, self._on_progress = runs, on_progress
        self._done: dict[Key, float] = {}

    def listener(self, key: Key) -> Callable[[ServerlessProgress], None] | None:
        """Hears of one run."""
        return None if self._on_progress is None else lambda progress: self.report(key, progress)

    def report(self, key: Key, progress: ServerlessProgress) -> None:
        """A run is so far."""
        if self._on_progress is not None:
            self._done[key] = max(progress.fraction, self._done.get(key, 0.0))
            fraction = sum(self._done[k] for k in sorted(self._done)) / self._runs
            self._on_progress(replace(progress, fraction=fraction, own=progress.fraction))

    def repeat(self, key: Key) -> None:
        """A run's process was lost."""


def _sendable(policy: Policy) -> Policy:
    """The same with plain dictionaries, for read-only ones cannot be sent to a process."""
    return replace(policy, defaults=dict(policy.defaults), option_help=dict(policy.option_help))


def _check(policies: Sequence[tuple[Policy, Mapping[str, Any]]], replications: int, workers: int) -> None:
    for name, value in (("replications", replications), ("workers", workers)):
        if value < 1:
            raise SimulationError(f"Replications: {name}={value} must be at least 1; give a larger number.")
    names = [policy.name for policy, _ in policies]
    if not names:
        raise SimulationError("Replications: there is no policy; name at least one.")
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise SimulationError(f"Replications: policy {twice!r} is given twice; name each once.")
