"""Training clusters and elastic jobs: every policy, one more GPU; reports while it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from nona.app.tasks.context import JobContext, OneMoreRequest, processes, request_of, scenario_of, sources_of
from nona.core.document import number
from nona.core.experiments import Key, Shares
from nona.core.text import count_text
from nona.queries.workflows.shipped import now_text
from nona.scenario.provenance import about_scenario
from nona.training import results as training
from nona.training.elastic.engine import ElasticProgress
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import replications_of
from nona.training.elastic.results import ElasticHistory, ElasticLive
from nona.training.elastic.system import NodeShares, size_of
from nona.training.report.traces import elastic_history
from nona.training.rounds import TrainingProgress
from nona.training.system import TrainingCluster
from nona.training.workflows.elastic import elastic_part, simulate_elastic_jobs
from nona.training.workflows.preparation import prepare_training
from nona.training.workflows.run import TRACE_ROUNDS, one_more_gpu, outcome_of, simulate_training_scenario

MOST_POINTS = 120  # of a policy's curve
MOST_STAYS = 400
ENDED = 0.99  # share of the jobs after which the picture may turn to another policy
PATIENCE = 5  # reports of others after which it does
P = TypeVar("P", bound=TrainingProgress | ElasticProgress)


class ProgressReporter(ABC, Generic[P]):
    """Takes in progress, keeps a curve for each policy and the GPUs of one, all of replication 0."""

    def __init__(self, policies: Sequence[str]) -> None:
        self._policies: dict[str, training.PolicyProgress] = dict.fromkeys(
            policies, training.PolicyProgress()
        )
        self._done = dict.fromkeys(policies, 0.0)
        self._focus, self._silent = "", 0

    def on_progress(self, progress: P) -> None:
        """Take in the report of one run."""
        name = progress.policy
        if name not in self._policies or progress.replication:
            return
        self._done[name] = progress.fraction
        moment, completed = self._moment(progress)
        curve = (*self._policies[name].curve, moment)
        thin = (*curve[:-1:2], moment) if len(curve) > MOST_POINTS else curve
        self._policies[name] = training.PolicyProgress(curve=thin, completed=completed)
        self._silent = 0 if name == self._focus else self._silent + 1
        if not self._focus or self._done[self._focus] >= ENDED or self._silent >= PATIENCE:
            turned, self._focus, self._silent = name != self._focus, name, 0
            if turned:
                self._forget()
        if name == self._focus:
            self._place(progress)

    @abstractmethod
    def _moment(self, progress: P) -> tuple[training.RunMoment, int]:
        """Return the run now, and how many jobs are complete."""

    @abstractmethod
    def _place(self, progress: P) -> None:
        """Take in who has which GPUs under the policy that is drawn."""

    def _forget(self) -> None:
        """Another policy is drawn from now on."""

    @abstractmethod
    def live(self) -> training.LivePolicies:
        """All that is known so far."""


class TrainingWatch(ProgressReporter[TrainingProgress]):
    """Of jobs in rounds: the latest stays."""

    def __init__(self, cluster: TrainingCluster, policies: Sequence[str]) -> None:
        super().__init__(policies)
        self._types, self._gpus = cluster.types, cluster.gpus
        self._until_s = 0.0
        self._stays: dict[tuple[tuple[int, ...], str, tuple[int, ...], float], training.GpuInterval] = {}

    def _moment(self, progress: TrainingProgress) -> tuple[training.RunMoment, int]:
        mean = number(progress.mean_jct_s)
        moment = training.RunMoment(progress.time_s, progress.running, progress.waiting, mean)
        return moment, progress.completed

    def _forget(self) -> None:
        self._until_s = 0.0
        self._stays.clear()

    def _place(self, progress: TrainingProgress) -> None:
        """Add the reported round, drawn from the end of the one reported before; equal ones become one stay.

        Rounds between two reports are not known, so the picture is a sample.
        """
        until_s = max((row[4] for row in progress.placed), default=progress.time_s)
        for jobs, kind, gpus, start_s, _ in progress.placed:
            where = (jobs, self._types[kind], gpus)
            before = self._stays.pop((*where, self._until_s), None)
            begin_s = min(self._until_s, start_s) if before is None else before.start_s
            self._stays[(*where, until_s)] = training.GpuInterval(
                jobs=jobs, gpu=self._types[kind], gpus=gpus, start_s=begin_s, end_s=until_s
            )
        self._until_s = until_s
        for old in list(self._stays)[: max(0, len(self._stays) - MOST_STAYS)]:
            del self._stays[old]

    def live(self) -> training.TrainingLive:
        """Return the state of the run for the page."""
        return training.TrainingLive(
            order=tuple(self._policies),
            policies=dict(self._policies),
            types=dict(self._gpus),
            focus=self._focus,
            stays=tuple(self._stays.values()),
        )


class ElasticWatch(ProgressReporter[ElasticProgress]):
    """Of elastic jobs: the GPUs that each has now."""

    def __init__(self, policies: Sequence[str], nodes: int, gpus: int) -> None:
        super().__init__(policies)
        self._nodes, self._gpus, self._time_s = nodes, gpus, 0.0
        self._work: dict[str, tuple[float, float]] = {}
        self._given: Mapping[int, NodeShares] = {}

    def _moment(self, progress: ElasticProgress) -> tuple[training.RunMoment, int]:
        then_s, done = self._work.get(progress.policy, (0.0, 0.0))
        hours = (progress.time_s - then_s) / 3600
        self._work[progress.policy] = (progress.time_s, progress.work)
        moment = training.RunMoment(
            time_s=progress.time_s,
            running=progress.running,
            waiting=progress.waiting,
            mean_jct_s=number(progress.mean_jct_s),
            used=sum(size_of(given) for given in progress.given.values()),
            goodput=(progress.work - done) / hours if hours > 0 else 0.0,
        )
        return moment, round(progress.fraction * progress.jobs)

    def _place(self, progress: ElasticProgress) -> None:
        self._given, self._time_s = progress.given, progress.time_s

    def live(self) -> ElasticLive:
        """Return the state of the run for the page."""
        return ElasticLive(
            order=tuple(self._policies),
            policies=dict(self._policies),
            nodes=self._nodes,
            gpus=self._gpus,
            focus=self._focus,
            time_s=self._time_s,
            given={n: tuple((s.node, s.gpus) for s in given) for n, given in self._given.items() if given},
        )


def _listener(
    context: JobContext, watch: ProgressReporter[P], weights: Mapping[Key, float], in_order: bool
) -> Callable[[P], None]:
    """Return the listener to all runs; ``in_order``: when one begins, those before it are complete."""
    shares, order = Shares(weights), list(weights)

    def report(progress: P) -> None:
        watch.on_progress(progress)
        key = (progress.piece, progress.replication)
        for earlier in order[: order.index(key)] if in_order else ():
            shares.add(earlier, 1.0)
        fraction = shares.add(key, progress.fraction)
        context.report_progress(
            fraction, f"{progress.policy}, replication {progress.replication + 1}", watch.live
        )

    return report


FEW_JOBS = 300  # in all runs: below, processes of their own cost more than they save
MOST_ROUNDS = 2000  # of each policy, whose priorities are kept
MOST_ROWS = 60_000  # of priorities that are kept of each policy, about


def run_training(spec: Mapping[str, Any], context: JobContext) -> training.TrainingOutcome:
    """Run every training policy of the scenario."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    context.emit({"fraction": 0.0, "text": "Reading the jobs"})
    system = prepare_training(scenario, sources)
    policies = scenario.training.policies if scenario.training else ()
    keys = [(p, r) for r in range(scenario.simulation.replications) for p in range(len(policies))]
    workers = processes(len(keys) * len(system.jobs), FEW_JOBS)
    starting = f"Starting {count_text(len(keys), 'run')} of {count_text(len(system.jobs), 'job')}"
    context.emit({"fraction": 0.0, "text": starting})
    watch = TrainingWatch(system.cluster, [p.name for p in policies])
    rows = len(system.jobs) * len(system.cluster.types)
    result = simulate_training_scenario(
        scenario,
        sources,
        workers=workers,
        trace_rounds=min(MOST_ROUNDS, max(TRACE_ROUNDS, MOST_ROWS // rows)),
        on_progress=_listener(context, watch, dict.fromkeys(keys, 1.0), in_order=workers == 1),
    )
    return outcome_of(result, about_scenario(scenario, scenario, now_text()))


def add_one_gpu(spec: Mapping[str, Any], context: JobContext) -> training.OneMoreReport:
    """Run a policy with one more GPU of each type in turn."""
    scenario, sources, asked = scenario_of(spec), sources_of(spec), request_of(spec, OneMoreRequest)

    def report_share(done: float, gpu: str) -> None:
        context.report_progress(done, f"One more {gpu}" if gpu else "The cluster as it is")

    return one_more_gpu(scenario, asked.policy, sources, report_share)


SEARCHED = 60.0  # how many times as long a run of a policy that searches takes, about


def run_elastic(spec: Mapping[str, Any], context: JobContext) -> ElasticHistory:
    """Run every policy of elastic jobs of the scenario."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    context.emit({"fraction": 0.0, "text": "Reading the jobs"})
    policies = [ELASTIC.find(entry.name) for entry in elastic_part(scenario).policies]
    weights = {
        (place, replication): SEARCHED if policy.drawn else 1.0
        for place, policy in enumerate(policies)
        for replication in range(replications_of(policy, scenario.simulation.replications))
    }
    workers = processes(sum(weight == SEARCHED for weight in weights.values()), 1)  # others end in a second
    nodes = scenario.cluster.servers[0]
    watch = ElasticWatch([policy.name for policy in policies], nodes.count, nodes.gpus)
    on_progress = _listener(context, watch, weights, in_order=workers == 1)
    result = simulate_elastic_jobs(scenario, sources, workers=workers, on_progress=on_progress)
    about = about_scenario(scenario, scenario, now_text())
    return elastic_history(result.system, result.runs, result.report, about)
