"""The study's unit of work: one policy on one scenario, all its replications, in any process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from nona.scenario.schema import Scenario
from nona.serverless.engine.run import RunOptions, ServerlessProgress, simulate_serverless
from nona.serverless.policies.registry import get_policy
from nona.serverless.records.measured import RunMeasures, measure
from nona.serverless.records.metrics import ServerlessSummary, summarise
from nona.simulation.experiments.pool import Key
from nona.simulation.experiments.workers import ProcessPool
from nona.study.serverless.preparation import prepare_serverless


@dataclass(frozen=True, slots=True)
class Task:
    """A policy with its options on a scenario; ``run`` says how long, for each of ``replications``."""

    scenario: Scenario
    policy: str
    options: Mapping[str, Any]
    run: RunOptions
    replications: int


@dataclass(frozen=True, slots=True)
class Done:
    """What a task found: the summary, and the measures of each replication, for pairing."""

    summary: ServerlessSummary
    runs: tuple[RunMeasures, ...]


@dataclass(frozen=True, slots=True)
class Tasks:
    """What every process gets once; keys are (number of the task, 0)."""

    tasks: tuple[Task, ...]
    reporting: bool = True

    def run(self, key: Key, on_progress: Callable[[ServerlessProgress], None] | None) -> Done:
        """One task. The policy is prepared once: what it computes depends on no replication."""
        task = self.tasks[key[0]]
        system = prepare_serverless(task.scenario)
        policy = get_policy(task.policy)
        planner = policy.prepare(system, task.options)
        ready = replace(policy, prepare=lambda system, options: planner)
        records = []
        for number in range(task.replications):
            run = replace(task.run, replication=number)
            records.append(simulate_serverless(system, ready, task.options, run))
            if on_progress is not None:
                share = (number + 1) / task.replications
                on_progress(ServerlessProgress(task.policy, number, share))
        return Done(summarise(system, records), tuple(measure(system, r) for r in records))


class _Heard:
    """Counts the replications that are done, and tells the share of all."""

    def __init__(self, tasks: Sequence[Task], on_progress: Callable[[float], None]) -> None:
        self._of = [t.replications * (t.run.first + t.run.calls) for t in tasks]
        self._done = [0.0] * len(tasks)
        self._on_progress = on_progress

    def report(self, key: Key, progress: ServerlessProgress) -> None:
        """A replication of a task is done."""
        self._done[key[0]] = max(self._done[key[0]], progress.fraction)
        self._on_progress(sum(d * n for d, n in zip(self._done, self._of, strict=True)) / sum(self._of))

    def repeat(self, key: Key) -> None:
        """A task's process was lost; it begins again."""


def run_tasks(
    tasks: Sequence[Task], workers: int = 1, on_progress: Callable[[float], None] = lambda share: None
) -> list[Done]:
    """What each task found, in their order, whatever the number of processes.

    ``on_progress`` hears the share of all calls that is done; what it raises ends the work.
    """
    work, heard = Tasks(tuple(tasks)), _Heard(tasks, on_progress)
    keys = [(number, 0) for number in range(len(tasks))]
    if workers == 1 or len(tasks) < 2:
        return [
            work.run(key, lambda progress, key=key: heard.report(key, progress))  # type: ignore[misc]
            for key in keys
        ]
    with ProcessPool(min(workers, len(keys))) as processes:  # it asks of a work what ours has
        found = cast(Any, processes).run(work, keys, heard)
    return [found[key] for key in keys]
