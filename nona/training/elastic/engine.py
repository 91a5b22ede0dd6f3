"""One run: every tick all jobs advance, then the policy gives GPUs for the next."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from nona.core.errors import SimulationError
from nona.core.options import Options
from nona.core.random_streams import RandomStreams
from nona.training.elastic import system as elastic_system
from nona.training.elastic.applications import Counts, Split, StepTime
from nona.training.elastic.policy import (
    ActiveJob,
    BatchAgent,
    ElasticPolicy,
    ElasticTraffic,
    GpuCounts,
    TickQuestion,
)
from nona.training.elastic.records import ElasticRecords, GpuChange, TickRows


@dataclass(slots=True)
class Balancer:
    """Balance of the link's senders in one run."""

    link: elastic_system.CoreLink
    _senders: tuple[elastic_system.SendingJob, ...] | None = None
    _link_s: tuple[float, ...] = ()
    _used: tuple[float, ...] = ()

    def spread(
        self, senders: Mapping[int, elastic_system.SendingJob]
    ) -> tuple[dict[int, float], ElasticTraffic]:
        """Seconds of an all-reduce by job, and the traffic that a policy of view N4 sees."""
        chosen = tuple(senders.values())
        if chosen != self._senders:
            link_s, used = elastic_system.balance(self.link, chosen)
            self._senders, self._link_s, self._used = chosen, tuple(link_s.tolist()), tuple(used.tolist())
        service_s = {n: self.link.service_s(sender.size) for n, sender in senders.items()}
        traffic = ElasticTraffic(self.link, dict(zip(senders, self._used, strict=True)), service_s)
        return dict(zip(senders, self._link_s, strict=True)), traffic


NO_SPLIT = Split(0, 0)


@dataclass(slots=True)
class JobState:
    """A job as it goes on.

    ``delay_s`` is left of the pause after its GPUs changed; ``starts``: how many; ``link_s``: seconds that an
    all-reduce takes on the link now; ``lost_gpu_s``: what waiting for it cost.
    """

    job: elastic_system.ElasticJob
    agent: BatchAgent
    given: elastic_system.NodeShares = ()
    counts: Counts = ()
    split: Split = NO_SPLIT
    delay_s: float = 0.0
    progress: float = 0.0
    epoch: int = 0
    gpu_s: float = 0.0
    delayed_gpu_s: float = 0.0
    starts: int = 0
    completion_s: float = math.nan
    link_s: float = 0.0
    lost_gpu_s: float = 0.0

    @property
    def share(self) -> float:
        """Completed share of the job's progress."""
        return self.progress / self.job.application.ends[-1]

    def give(self, given: elastic_system.NodeShares, restart_s: float) -> None:
        """Give the job other GPUs; a change pauses it for ``restart_s`` seconds."""
        if given == self.given:
            return
        self.given, self.counts = given, elastic_system.counts_of(given)
        if given:
            self.split = self.agent.split(self.counts)
            self.delay_s = restart_s
            self.starts += 1
        else:
            self.split = NO_SPLIT

    def advance(self, now_s: float, seconds: float, kept: float) -> None:
        """Run for a tick from ``now_s`` at the share ``kept`` of the speed that it would have alone.

        An epoch ends at whole seconds, rounded half to even, as the public simulator has it.
        """
        if not self.given:
            return
        gpus, left = elastic_system.size_of(self.given), seconds
        paused = min(self.delay_s, left)
        self.delay_s -= paused
        left -= paused
        self.delayed_gpu_s += paused * gpus
        clock = now_s + paused
        application = self.job.application
        while left > 0 and math.isnan(self.completion_s):
            rate, lost = self._rate()
            rate *= kept
            end = application.ends[self.epoch]
            if self.progress + rate * left < end:
                self.progress += rate * left
                used = left
                clock, left = clock + left, 0.0
            else:
                used = round((end - self.progress) / rate)
                self.progress, self.epoch = end, self.epoch + 1
                clock, left = clock + used, left - used
                if self.epoch == application.epochs:
                    self.completion_s = clock
            self.lost_gpu_s += lost * used * gpus
            self.split = self.agent.split(self.counts)
        self.gpu_s += gpus * (seconds - left)

    def sender(self) -> elastic_system.SendingJob | None:
        """Return the job's load on the link in each step; ``None`` on one node."""
        if len(self.counts) < 2 or self.job.application.parameters is None:
            return None
        seconds, time = self.job.application.step(self.counts, self.split)
        nodes = len(self.counts)
        return elastic_system.SendingJob(
            nodes, elastic_system.ring_bytes(self.job.application.parameters, nodes), seconds, time.sync_s
        )

    def _rate(self) -> tuple[float, float]:
        """Progress per second, and the share of time that the link costs; the agent sees what is measured."""
        application = self.job.application
        seconds, time = application.step(self.counts, self.split)
        more = max(0.0, self.link_s - time.sync_s)
        batch = self.split.batch(sum(self.counts))
        noise = application.noise(batch, self.epoch)
        seen = StepTime(time.step_s + more, time.sync_s + more)
        self.agent.measured(self.counts, self.split, seen, noise)
        return noise.gain(batch / application.batches.least) / (seconds + more), more / (seconds + more)


PACE_S = 0.1  # of reports
MOST_TICKS = 200_000


@dataclass(frozen=True, slots=True)
class ElasticProgress:
    """A run so far: share of jobs complete, the clock, the mean JCT of those, and who has which GPUs.

    ``work``: the progress of all ``jobs``, each as a part of its own; all complete: ``jobs``.
    ``piece``: its place among several runs.
    """

    policy: str
    replication: int
    fraction: float
    time_s: float
    running: int
    waiting: int
    mean_jct_s: float
    given: Mapping[int, elastic_system.NodeShares]
    jobs: int
    work: float
    piece: int = 0


OnProgress = Callable[[ElasticProgress], None]


def simulate_elastic(
    system: elastic_system.ElasticSystem,
    policy: ElasticPolicy,
    options: Options,
    replication: int = 0,
    on_progress: OnProgress | None = None,
) -> ElasticRecords:
    """Run a policy until all jobs are complete.

    Semantics of a tick: a job whose GPUs changed pauses first; then it advances, epoch by epoch; then the
    clock moves on, and the policy sees the jobs that came and are not complete. Jobs on several nodes lose
    ``system.interference`` of their speed while they share a node with another such job.

    ``options``: of the policy, over its defaults.
    ``replication``: which random numbers a policy draws.
    ``on_progress``: called now and then; may raise to stop the run.

    Source: Qiao et al., Pollux, OSDI 2021, section 5.3 and its public simulator.
    """
    return _Run(system, policy, options, replication, on_progress).finish()


class _Run:
    def __init__(
        self,
        system: elastic_system.ElasticSystem,
        policy: ElasticPolicy,
        options: Options,
        replication: int,
        on_progress: OnProgress | None,
    ) -> None:
        self.system, self.policy, self.replication = system, policy, replication
        rng = RandomStreams(system.seed, replication).generator("elastic", policy.name)
        self.planner = policy.prepare(system, options, rng)
        self.jobs = [JobState(job, self.planner.agent(job, n)) for n, job in enumerate(system.jobs)]
        self.balancer = None if system.link is None else Balancer(system.link)
        self.traffic: ElasticTraffic | None = None
        self.now_s, self.came = 0.0, 0
        self.active: list[int] = []
        self.jcts_s: list[float] = []
        self.changes: list[GpuChange] = []
        self.points: list[tuple[float, int, int, int, float]] = []
        self.ticks: list[tuple[float, int, int]] = []
        self._on_progress, self._told_s = on_progress, time.monotonic()

    def finish(self) -> ElasticRecords:
        self._refuse_late()
        while self.came < len(self.jobs) or self.active:
            if len(self.ticks) >= MOST_TICKS:
                raise SimulationError(
                    f"Policy {self.policy.name!r}: {len(self.active)} jobs are not complete after "
                    f"{MOST_TICKS} ticks; give more GPUs or longer ticks."
                )
            self._advance()
            self._admit()
            if self.active:
                self._plan_tick()
            running = sum(bool(self.jobs[n].given) for n in self.active)
            self.ticks.append((self.now_s, running, len(self.active) - running))
            self._report()
        return self._records()

    def _refuse_late(self) -> None:
        last = self.system.jobs[-1]
        if last.arrival_s > MOST_TICKS * self.system.tick_s:
            raise SimulationError(
                f"Elastic training: job {last.name!r} arrives after {last.arrival_s:g} s, but a run ends "
                f"after {MOST_TICKS} ticks of {self.system.tick_s} s; let it come earlier or lengthen "
                "ticks."
            )

    def _advance(self) -> None:
        tick = float(self.system.tick_s)
        slowed = self._slowed()
        self._load()
        for n in self.active:
            state = self.jobs[n]
            state.advance(self.now_s, tick, 1.0 - self.system.interference if n in slowed else 1.0)
        self.now_s += tick
        for n in self.active:
            self._note(n)
        self.active = [n for n in self.active if math.isnan(self.jobs[n].completion_s)]

    def _load(self) -> None:
        if self.balancer is None:
            return
        senders = {n: sender for n in self.active if (sender := self.jobs[n].sender())}
        link_s, self.traffic = self.balancer.spread(senders)
        for n in self.active:
            self.jobs[n].link_s = link_s.get(n, 0.0)

    def _slowed(self) -> set[int]:
        if not self.system.interference:
            return set()
        wide = {n: self.jobs[n].given for n in self.active if len(self.jobs[n].given) > 1}
        users = Counter(share.node for given in wide.values() for share in given)
        return {n for n, given in wide.items() if any(users[share.node] > 1 for share in given)}

    def _note(self, n: int) -> None:
        state = self.jobs[n]
        if state.given:
            gpus = elastic_system.size_of(state.given)
            ends = state.job.application.ends
            start = ends[state.epoch - 1] if state.epoch else 0.0
            part = (state.progress - start) / (ends[state.epoch] - start) if state.epoch < len(ends) else 0.0
            self.points.append((self.now_s, n, gpus, state.split.batch(gpus), state.epoch + part))
        if not math.isnan(state.completion_s):
            self.jcts_s.append(state.completion_s - state.job.arrival_s)
            self._give(n, (), None, {})

    def _admit(self) -> None:
        while self.came < len(self.jobs) and self.system.jobs[self.came].arrival_s <= self.now_s:
            self.active.append(self.came)
            self.came += 1

    def _plan_tick(self) -> None:
        seen = tuple(self._observed(n) for n in self.active)
        traffic = self.traffic if self.policy.network_view == "N4" else None
        answer = self.planner.plan(TickQuestion(self.now_s, seen, traffic))
        self._refuse_twice(answer)
        for n in self.active:
            given = answer.given.get(n, ())
            if given != self.jobs[n].given:
                self._give(n, given, answer.values.get(n), answer.facts_of(n))

    def _observed(self, n: int) -> ActiveJob:
        s = self.jobs[n]
        restarts = max(s.starts - 1, 0)
        return ActiveJob(n, s.job, s.epoch, s.given, s.gpu_s, restarts, self.now_s - s.job.arrival_s)

    def _give(
        self, n: int, given: elastic_system.NodeShares, value: float | None, facts: Mapping[str, float]
    ) -> None:
        self.jobs[n].give(given, float(self.system.restart_s))
        self.changes.append(GpuChange(self.now_s, n, given, value, facts))

    def _refuse_twice(self, answer: GpuCounts) -> None:
        used = Counter[int]()
        for given in answer.given.values():
            for share in given:
                used[share.node] += share.gpus
        for node, gpus in used.items():
            if gpus > self.system.cluster.gpus or not 0 <= node < self.system.cluster.nodes:
                raise SimulationError(
                    f"Policy {self.policy.name!r}: it gives {gpus} GPUs of node {node}, which has "
                    f"{self.system.cluster.gpus}; correct the policy."
                )

    def _report(self) -> None:
        if self._on_progress is None or time.monotonic() - self._told_s < PACE_S:
            return
        self._told_s = time.monotonic()
        _, running, waiting = self.ticks[-1]
        self._on_progress(
            ElasticProgress(
                policy=self.policy.name,
                replication=self.replication,
                fraction=len(self.jcts_s) / len(self.jobs),
                time_s=self.now_s,
                running=running,
                waiting=waiting,
                mean_jct_s=float(np.mean(self.jcts_s)) if self.jcts_s else math.nan,
                given={n: self.jobs[n].given for n in self.active},
                jobs=len(self.jobs),
                work=len(self.jcts_s) + sum(self.jobs[n].share for n in self.active),
            )
        )

    def _records(self) -> ElasticRecords:
        points, ticks = np.array(self.points, float).reshape(-1, 5), np.array(self.ticks, float)
        job, gpus, batch = points[:, 1:4].astype(np.int64).T
        return ElasticRecords(
            policy=self.policy.name,
            arrival_s=np.array([job.arrival_s for job in self.system.jobs]),
            completion_s=np.array([s.completion_s for s in self.jobs]),
            gpu_s=np.array([s.gpu_s for s in self.jobs]),
            paused_gpu_s=np.array([s.delayed_gpu_s for s in self.jobs]),
            link_gpu_s=np.array([s.lost_gpu_s for s in self.jobs]),
            restarts=np.array([max(s.starts - 1, 0) for s in self.jobs]),
            epochs=np.array([s.epoch for s in self.jobs]),
            tick_s=ticks[:, 0],
            running=ticks[:, 1].astype(np.int64),
            waiting=ticks[:, 2].astype(np.int64),
            changes=tuple(self.changes),
            points=TickRows(points[:, 0], job, gpus, batch, points[:, 4]),
        )
