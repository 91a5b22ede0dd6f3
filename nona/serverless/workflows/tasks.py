"""The unit of work of a comparison: one policy on one scenario, in any process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nona.core.experiments import InProcess, Key, Pool, RunListener, Shares, do_nothing
from nona.core.options import Options
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.serverless import metrics
from nona.serverless.engine.options import OnProgress, PlatformRunOptions, ServerlessProgress
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.policies.base import PreparedPolicy
from nona.serverless.policies.registry import get_policy
from nona.serverless.results import ServerlessPolicyResult
from nona.serverless.workflows.preparation import prepare_serverless

NO_SOURCES = Sources()


@dataclass(frozen=True, slots=True)
class PolicyTask:
    """A policy with its options on a scenario; ``run`` says how long, for each of ``replications``.

    Replications are numbered from ``run.replication`` on. ``sources`` are those of the scenario's files.
    ``planner``: prepared already.
    """

    scenario: Scenario
    policy: str
    options: Options
    run: PlatformRunOptions
    replications: int
    sources: Sources = NO_SOURCES
    planner: PreparedPolicy | None = None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of a task."""

    summary: ServerlessPolicyResult
    runs: tuple[metrics.RunMeasures, ...]


@dataclass(frozen=True, slots=True)
class Tasks:
    """Work that every process receives once; keys are (number of the task, 0)."""

    tasks: tuple[PolicyTask, ...]
    reporting: bool = True

    def run(self, key: Key, on_progress: Callable[[ServerlessProgress], None] | None) -> TaskResult:
        """One task. The policy is prepared once: what it computes depends on no replication."""
        task = self.tasks[key[0]]
        system = prepare_serverless(task.scenario, task.sources)
        policy = get_policy(task.policy)
        planner = policy.prepare(system, task.options) if task.planner is None else task.planner
        ready = replace(policy, build=lambda system, options: planner)
        records = []
        for number in range(task.replications):
            run = replace(task.run, replication=task.run.replication + number)
            within = None if on_progress is None else partial(_task_progress, task, number, on_progress)
            records.append(simulate_serverless(system, ready, task.options, run, within))
            if on_progress is not None:
                share = (number + 1) / task.replications
                on_progress(ServerlessProgress(task.policy, number, share))
        return TaskResult(
            summary=metrics.summarise(system, records),
            runs=tuple(metrics.measure(system, r) for r in records),
        )


def _task_progress(task: PolicyTask, number: int, on_progress: OnProgress, run: ServerlessProgress) -> None:
    """Report the progress of one replication as that of its task, without the platform's picture."""
    on_progress(ServerlessProgress(task.policy, number, (number + run.fraction) / task.replications))


TaskPool = Pool[ServerlessProgress, TaskResult]


def run_tasks(
    tasks: Sequence[PolicyTask],
    pool: TaskPool | None = None,
    on_progress: Callable[[float], None] = do_nothing,
) -> list[TaskResult]:
    """Return the results of the tasks in order, whatever runs them; without a pool this process does.

    ``on_progress`` gets the share of all calls that is done; an exception that it raises ends the work.
    """
    keys = [(number, 0) for number in range(len(tasks))]
    calls = [float(task.replications * (task.run.first + task.run.calls)) for task in tasks]
    shares = Shares(dict(zip(keys, calls, strict=True)))

    def report(key: Key, progress: ServerlessProgress) -> None:
        on_progress(shares.add(key, progress.fraction))

    by_key = (pool or InProcess()).run(Tasks(tuple(tasks)), keys, RunListener(report))
    return [by_key[key] for key in keys]
