"""Replications of several policies, in this process or in several.

A run depends on the system, the policy, its options and the replication's number alone, so the records are
the same whatever the number of processes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nona.cluster.sharing.pool import Invoker
from nona.core.compiled.build import is_ready
from nona.core.compiled.families import compile_families
from nona.core.experiments import Key, RunListener, Shares, check_runs, run_work
from nona.core.options import Options
from nona.models.graph.dag import Dag
from nona.scenario.arrivals import Arrivals
from nona.serverless.engine.options import OnProgress, PlatformRunOptions, ServerlessProgress
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import CpuLaw, Function, GpuLaw, LawTimes, grid
from nona.serverless.policies.base import ConfigurationPolicy
from nona.serverless.policies.registry import get_policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import Application, ServerlessSystem


def make_ready() -> None:
    """Compile the loop where need be."""
    if not is_ready("serverless"):
        print("nona: the serverless engine is compiled, once: up to a minute.", file=sys.stderr)
        compile_families(["serverless"])


def compile_loop() -> None:
    """Run the smallest system."""
    stage = Function("function", LawTimes(GpuLaw(1.0), CpuLaw(0.0)))
    dag = Dag.from_edges(1, ())
    application = Application("app", ("stage",), (0,), dag, (0.0,), 1.0, 1.0, Arrivals())
    system = ServerlessSystem(grid([1], [1], [1]), (stage,), (application,), (Invoker(),))
    simulate_serverless(system, get_policy("fixed"), {}, PlatformRunOptions(calls=1, warmup=0))


DEFAULT = PlatformRunOptions()


@dataclass(frozen=True, slots=True)
class ServerlessWork:
    """Work that every process receives once; ``reporting``: whether progress is wanted."""

    system: ServerlessSystem
    policies: tuple[tuple[ConfigurationPolicy, Options], ...]
    run_options: PlatformRunOptions
    reporting: bool

    def run(self, key: Key, on_progress: OnProgress | None) -> ServerlessRecords:
        """Run one replication of a policy."""
        policy, options = self.policies[key[0]]
        run = replace(self.run_options, replication=key[1])
        return simulate_serverless(self.system, policy, options, run, on_progress)


def run_policies(
    system: ServerlessSystem,
    policies: Sequence[tuple[ConfigurationPolicy, Options]],
    run: PlatformRunOptions = DEFAULT,
    replications: int = 5,
    workers: int = 1,
    on_progress: OnProgress | None = None,
) -> dict[str, tuple[ServerlessRecords, ...]]:
    """Simulate every policy in every replication.

    ``policies``: each with its options; names must differ.
    ``run``: of every run; replications are numbered from ``run.replication`` on.
    ``workers``: processes; 1 runs all in this one.
    ``on_progress``: called in this process as runs report; ``fraction`` is then that of all runs together.
        ``Cancelled`` raised there stops them all, and comes out of this function.

    Returns policy's name → its records in order of replication.

    Raises ``SimulationError`` for a number below 1, no policy, two of one name, or a run whose process is
    lost again and again.
    """
    check_runs("policy", [policy.name for policy, _ in policies], replications, workers)
    sent = tuple((policy, dict(options)) for policy, options in policies)
    work = ServerlessWork(system, sent, run, on_progress is not None)
    make_ready()  # else each process would compile
    keys = [(p, run.replication + r) for r in range(replications) for p in range(len(policies))]
    shares = Shares(dict.fromkeys(keys, 1.0))

    def report(key: Key, progress: ServerlessProgress) -> None:
        if on_progress is not None:
            fraction = shares.add(key, progress.fraction)
            on_progress(replace(progress, fraction=fraction, own=progress.fraction))

    records = run_work(work, keys, RunListener(report), workers)
    return {p.name: tuple(records[k] for k in keys if k[0] == i) for i, (p, _) in enumerate(policies)}
