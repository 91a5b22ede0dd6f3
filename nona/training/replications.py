"""Replications of several policies, in this process or in several.

A run depends on its system, the policy, its options and the replication's number alone, so results are the
same whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from nona.allocation.problem import Policy
from nona.allocation.registry import POLICIES, get_policy
from nona.experiments import Key, check_runs, run_work
from nona.options import Options
from nona.results.training import PolicyOutcome
from nona.training.extensions import findings_of, hooks_for
from nona.training.ideal import ideal_jcts_s
from nona.training.metrics import Run, measure
from nona.training.records import TrainingRecords, run_checks
from nona.training.rounds import OnProgress, RunOptions, simulate_training
from nona.training.system import TrainingSystem

DEFAULT = RunOptions()
TrainingRun = Run[PolicyOutcome, TrainingRecords]
Progress = TypeVar("Progress")


@dataclass(frozen=True, slots=True)
class TrainingWork:
    """Work that every process receives once; ``systems``: one for each replication."""

    systems: tuple[TrainingSystem, ...]
    policies: tuple[tuple[Policy | str, Options], ...]
    run_options: RunOptions
    ideal: bool
    reporting: bool

    def run(self, key: Key, on_progress: OnProgress | None) -> TrainingRun:
        (sent, options), system = self.policies[key[0]], self.systems[key[1]]
        policy = get_policy(sent) if isinstance(sent, str) else sent
        run = replace(self.run_options, replication=key[1])
        if key[1]:
            run = replace(run, trace_rounds=0)
        hooks = hooks_for(system, key[1])
        records = simulate_training(system, policy, options, run, on_progress, hooks)
        ideal_jct_s = ideal_jcts_s(system, policy, options, key[1]) if self.ideal else None
        return Run(
            outcome=measure(system, records, ideal_jct_s, findings_of(hooks)),
            checks=run_checks(system, records),
            records=None if key[1] else records,
        )


def run_policies(
    systems: Sequence[TrainingSystem],
    policies: Sequence[tuple[Policy, Options]],
    run: RunOptions = DEFAULT,
    *,
    ideal: bool = True,
    workers: int = 1,
    on_progress: OnProgress | None = None,
) -> dict[str, tuple[TrainingRun, ...]]:
    """Simulate every policy, each with its options, on every system: that of replication 0, 1, …

    ``ideal``: whether the fluid bound is computed beside each run.
    ``workers``: Processes; 1 runs all in this one.
    ``on_progress``: called in this process as runs report, each with its own fraction.
    :class:`~nona.simulation.run.Cancelled` raised there stops them all, and comes out.

    Raises
    ------
    SimulationError
        For a number below 1, no policy, two of one name, or a run whose process is lost again and again.
    """
    check_runs("policy", [policy.name for policy, _ in policies], len(systems), workers)
    # every process has the registered policies
    sent = tuple((p.name if POLICIES.get(p.name) is p else p, dict(options)) for p, options in policies)
    work = TrainingWork(tuple(systems), sent, run, ideal, on_progress is not None)
    keys = [(p, r) for r in range(len(systems)) for p in range(len(policies))]
    runs = run_work(work, keys, Passed(on_progress), workers)
    return {p.name: tuple(runs[k] for k in keys if k[0] == i) for i, (p, _) in enumerate(policies)}


class Passed(Generic[Progress]):
    """Passes progress on, with the place of its run among the policies."""

    def __init__(self, on_progress: Callable[[Progress], None] | None) -> None:
        self._on_progress = on_progress

    def report(self, key: Key, progress: Any) -> None:
        if self._on_progress is not None:
            self._on_progress(replace(progress, piece=key[0]))

    def repeat(self, key: Key) -> None:
        """A run's process was lost."""
