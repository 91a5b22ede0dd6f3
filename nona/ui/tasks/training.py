"""Training clusters and elastic jobs: every policy, one more GPU; reports while it runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nona.experiments.pool import Shares
from nona.report.text import counted
from nona.report.training.traces import elastic_history
from nona.results.elastic import ElasticLive, ElasticMoment, ElasticSoFar
from nona.results.training import PolicySoFar, Stay, TrainingLive
from nona.study.outcome import about_scenario
from nona.study.shipped import now_text
from nona.study.training.elastic import ElasticRequest, elastic_request, simulate_elastic_jobs
from nona.study.training.preparation import prepare_training
from nona.study.training.run import TRACE_ROUNDS, one_more_gpu, outcome_of, simulate_training_scenario
from nona.training.elastic.engine import ElasticProgress
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import replications_of
from nona.training.elastic.system import Given, size_of
from nona.training.rounds import TrainingProgress
from nona.training.system import TrainingCluster
from nona.ui.tasks.asked import OneMoreAsked
from nona.ui.tasks.desk import Desk, Message, processes, scenario_of, sources_of

MOST_POINTS = 60  # of a policy's curve
MOST_STAYS = 400
ENDED = 0.99  # share of the jobs after which the picture may turn to another policy
PATIENCE = 5  # reports of others after which it does
NOTHING = PolicySoFar(curve=(), mean_jct_s=None, completed=0, running=0, waiting=0, time_s=0.0)


class TrainingWatch:
    """Takes in progress, keeps a curve for each policy and the latest stays of one, all of replication 0."""

    def __init__(self, cluster: TrainingCluster, policies: Sequence[str]) -> None:
        self._types, self._gpus = cluster.types, cluster.gpus
        self._order = tuple(policies)
        self._policies: dict[str, PolicySoFar] = dict.fromkeys(policies, NOTHING)
        self._sums: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._done: dict[str, float] = dict.fromkeys(policies, 0.0)
        self._focus, self._silent, self._until_s = "", 0, 0.0
        self._stays: dict[tuple[tuple[int, ...], str, tuple[int, ...], float], Stay] = {}

    def take(self, progress: TrainingProgress) -> None:
        """Take in the report of one run."""
        name = progress.policy
        if name not in self._policies or progress.replication != 0:
            return
        self._done[name] = progress.fraction
        self._policies[name] = self._so_far(name, progress)
        self._silent = 0 if name == self._focus else self._silent + 1
        if not self._focus or self._done[self._focus] >= ENDED or self._silent >= PATIENCE:
            self._turn_to(name)
        if name == self._focus:
            self._place(progress)

    def _turn_to(self, name: str) -> None:
        if name != self._focus:
            self._focus, self._silent, self._until_s = name, 0, 0.0
            self._stays.clear()

    def _so_far(self, name: str, progress: TrainingProgress) -> PolicySoFar:
        before = self._policies[name]
        self._sums[name] += sum(progress.jcts_s)
        completed = before.completed + len(progress.jcts_s)
        mean = self._sums[name] / completed if completed else None
        curve = before.curve if mean is None else (*before.curve, (progress.time_s, mean))
        return PolicySoFar(
            curve=curve[::2] if len(curve) > MOST_POINTS else curve,
            mean_jct_s=mean,
            completed=completed,
            running=progress.running,
            waiting=progress.waiting,
            time_s=progress.time_s,
        )

    def _place(self, progress: TrainingProgress) -> None:
        """Add the reported round, drawn from the end of the one reported before; equal ones become one stay.

        Rounds between two reports are not known, so the picture is a sample.
        """
        until_s = max((row[4] for row in progress.placed), default=progress.time_s)
        for jobs, kind, gpus, start_s, _ in progress.placed:
            where = (jobs, self._types[kind], gpus)
            before = self._stays.pop((*where, self._until_s), None)
            begin_s = min(self._until_s, start_s) if before is None else before.start_s
            self._stays[(*where, until_s)] = Stay(
                jobs=jobs, gpu=self._types[kind], gpus=gpus, start_s=begin_s, end_s=until_s
            )
        self._until_s = until_s
        for old in list(self._stays)[: max(0, len(self._stays) - MOST_STAYS)]:
            del self._stays[old]

    def told(self) -> TrainingLive:
        """All that is known so far."""
        types: Mapping[str, int] = dict(self._gpus)
        return TrainingLive(
            order=self._order,
            policies=dict(self._policies),
            types=types,
            focus=self._focus,
            stays=tuple(self._stays.values()),
        )


FEW_JOBS = 300  # in all runs: below, processes of their own cost more than they save
REPORT_EVERY_S = 0.2
MOST_ROUNDS = 2000  # of each policy, whose priorities are kept
MOST_ROWS = 60_000  # of priorities that are kept of each policy, about


def run_training(spec: Mapping[str, Any], desk: Desk) -> Message:
    """Run every policy; the JSON of a :class:`~nona.results.training.TrainingOutcome`."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    desk.emit({"fraction": 0.0, "text": "Reading the jobs"})
    system = prepare_training(scenario, sources)
    policies = scenario.training.policies if scenario.training else ()
    watch = TrainingWatch(system.cluster, [p.name for p in policies])
    runs = len(policies) * scenario.simulation.replications
    workers = processes(runs * len(system.jobs), FEW_JOBS)
    desk.emit(
        {"fraction": 0.0, "text": f"Starting {counted(runs, 'run')} of {counted(len(system.jobs), 'job')}"}
    )
    on_progress = _teller(desk, watch, runs, in_order=workers == 1)
    rows = len(system.jobs) * len(system.cluster.types)
    kept = min(MOST_ROUNDS, max(TRACE_ROUNDS, MOST_ROWS // rows))
    result = simulate_training_scenario(
        scenario, sources, workers=workers, trace_rounds=kept, on_progress=on_progress
    )
    return outcome_of(result, about_scenario(scenario, scenario, now_text())).to_json()


def _teller(
    desk: Desk, watch: TrainingWatch, runs: int, in_order: bool
) -> Callable[[TrainingProgress], None]:
    """Return the listener to all runs; ``in_order``: one run after the other, in this process."""
    last, done = 0.0, dict[tuple[str, int], float]()

    def told(progress: TrainingProgress) -> None:
        nonlocal last
        desk.check()
        watch.take(progress)
        if in_order:  # those that reported before are complete
            done.update(dict.fromkeys(done, 1.0))
        done[progress.policy, progress.replication] = progress.fraction
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            text = f"{progress.policy}, replication {progress.replication + 1}"
            fraction = min(1.0, sum(done.values()) / max(1, runs))
            desk.emit({"fraction": fraction, "text": text, "live": watch.told().to_json()})

    return told


def add_one_gpu(spec: Mapping[str, Any], desk: Desk) -> Message:
    """One more GPU of each type; the JSON of a :class:`~nona.results.training.OneMoreReport`."""
    scenario, sources, asked = scenario_of(spec), sources_of(spec), OneMoreAsked.of(spec)
    last = 0.0

    def told(done: float, gpu: str) -> None:
        nonlocal last
        desk.check()
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            desk.emit({"fraction": done, "text": f"One more {gpu}" if gpu else "The cluster as it is"})

    return one_more_gpu(scenario, asked.policy, sources, told).to_json()


MOST_ELASTIC_POINTS = 120  # of a policy's curve
ELASTIC_ENDED = 0.999  # share of the jobs after which the picture may turn to another policy
ELASTIC_PATIENCE = 8  # reports of others after which it does
ELASTIC_NOTHING = ElasticSoFar(curve=(), completed=0)


class ElasticWatch:
    """Takes in progress, keeps a curve for each policy and the GPUs of one, all of replication 0."""

    def __init__(self, policies: Sequence[str], nodes: int, gpus: int) -> None:
        self._nodes, self._gpus = nodes, gpus
        self._policies = dict.fromkeys(policies, ELASTIC_NOTHING)
        self._work: dict[str, tuple[float, float]] = {}
        self._done = dict.fromkeys(policies, 0.0)
        self._focus, self._silent, self._time_s = "", 0, 0.0
        self._given: Mapping[int, Given] = {}

    def take(self, progress: ElasticProgress) -> None:
        """Take in the report of one run."""
        name = progress.policy
        if name not in self._policies or progress.replication:
            return
        self._done[name] = progress.fraction
        self._policies[name] = self._so_far(name, progress)
        self._silent = 0 if name == self._focus else self._silent + 1
        if not self._focus or self._done[self._focus] >= ELASTIC_ENDED or self._silent >= ELASTIC_PATIENCE:
            self._focus, self._silent = name, 0
        if name == self._focus:
            self._given, self._time_s = progress.given, progress.time_s

    def _so_far(self, name: str, progress: ElasticProgress) -> ElasticSoFar:
        """Goodput: the work since the report before, by the simulated hours since."""
        before = self._policies[name]
        then_s, done = self._work.get(name, (0.0, 0.0))
        hours = (progress.time_s - then_s) / 3600
        goodput = (progress.work - done) / hours if hours > 0 else 0.0
        self._work[name] = (progress.time_s, progress.work)
        used = sum(size_of(given) for given in progress.given.values())
        mean_s = None if math.isnan(progress.mean_jct_s) else progress.mean_jct_s
        now = ElasticMoment(progress.time_s, progress.running, progress.waiting, used, goodput, mean_s)
        curve = (*before.curve, now)
        return ElasticSoFar(
            curve=curve[::2] if len(curve) > MOST_ELASTIC_POINTS else curve,
            completed=round(progress.fraction * progress.jobs),
        )

    def told(self) -> ElasticLive:
        """All that is known so far."""
        return ElasticLive(
            order=tuple(self._policies),
            policies=dict(self._policies),
            nodes=self._nodes,
            gpus=self._gpus,
            focus=self._focus,
            time_s=self._time_s,
            given={n: tuple((s.node, s.gpus) for s in given) for n, given in self._given.items() if given},
        )


ELASTIC_REPORT_EVERY_S = 0.3
SEARCHED = 60.0  # how many times as long a run of a policy that searches takes, about


def run_elastic(spec: Mapping[str, Any], desk: Desk) -> Message:
    """Run every policy; the JSON of an :class:`~nona.results.elastic.ElasticHistory`."""
    scenario, sources = scenario_of(spec), sources_of(spec)
    desk.emit({"fraction": 0.0, "text": "Reading the jobs"})
    request = elastic_request(scenario, sources)
    searched = sum(ELASTIC[n].drawn for n in request.policies) * request.replications
    workers = processes(searched, 1)  # others end within a second
    on_progress = _elastic_teller(desk, request, in_order=workers == 1)
    result = simulate_elastic_jobs(request, workers=workers, on_progress=on_progress)
    about = about_scenario(scenario, scenario, now_text())
    return elastic_history(result.system, result.runs, result.report, about).to_json()


def _elastic_teller(desk: Desk, request: ElasticRequest, in_order: bool) -> Callable[[ElasticProgress], None]:
    """Return the listener to all runs; ``in_order``: one by one, so that earlier ones are complete."""
    weights = {
        (place, replication): SEARCHED if ELASTIC[name].drawn else 1.0
        for place, name in enumerate(request.policies)
        for replication in range(replications_of(ELASTIC[name], request.replications))
    }
    shares, last = Shares(weights), 0.0
    watch = ElasticWatch(request.policies, request.nodes, request.gpus)

    def told(progress: ElasticProgress) -> None:
        nonlocal last
        desk.check()
        watch.take(progress)
        key = (progress.piece, progress.replication)
        for earlier in (k for k in weights if in_order and k < key):
            shares.add(earlier, 1.0)
        fraction = shares.add(key, progress.fraction)
        if time.monotonic() - last >= ELASTIC_REPORT_EVERY_S:
            last = time.monotonic()
            text = f"{progress.policy}, run {progress.replication + 1}"
            desk.emit({"fraction": fraction, "text": text, "live": watch.told().to_json()})

    return told
