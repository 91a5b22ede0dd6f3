"""Gandiva: jobs take turns, move to fewer nodes, and use idle GPUs."""

from __future__ import annotations

from dataclasses import dataclass, field

from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.training.elastic import policy
from nona.training.elastic.applications import Counts, Noise, Split, StepTime
from nona.training.elastic.system import ElasticJob, ElasticSystem, size_of

GROWTH = 2
"""A job grows to this many times what it asked for."""


@dataclass
class Timing(policy.FixedBatch):
    """The batch size that the user chose; keeps the last time of a step by number of GPUs."""

    step_s: dict[int, float] = field(default_factory=dict)

    def measured(self, counts: Counts, split: Split, time: StepTime, noise: Noise) -> None:
        """Record the time of a step on this number of GPUs."""
        self.step_s[sum(counts)] = time.step_s + split.extra * (time.step_s - time.sync_s)

    def gains(self, gpus: int) -> bool:
        """Return whether more GPUs were not tried, or made steps faster."""
        tried, before = self.step_s.get(gpus), self.step_s.get(self.job.gpus)
        return tried is None or before is None or tried < before


@dataclass
class Gandiva(policy.ElasticPlanner):
    """The policy that runs the job with the fewest slices next; a slice that began is finished.

    A slice has so many ticks in which the job trains: ticks that are all pause do not count, so that each
    slice brings progress, however long a restart takes.
    """

    system: ElasticSystem
    slice_ticks: int
    migrate: bool
    grow: bool
    _ticks: dict[int, int] = field(default_factory=dict)
    _trains_s: dict[int, float] = field(default_factory=dict)
    _agents: dict[int, Timing] = field(default_factory=dict)

    def agent(self, job: ElasticJob, number: int) -> policy.BatchAgent:
        """Return the agent that times a job's steps."""
        agent = self._agents[number] = Timing(job)
        return agent

    def plan(self, question: policy.TickQuestion) -> policy.GpuCounts:
        """Order jobs by running slice, slices received, arrival; let jobs grow while no job waits."""
        cluster = self.system.cluster
        for active in question.jobs:
            trained = bool(active.given) and not self._pauses(active.number, question.time_s)
            self._ticks[active.number] = self._ticks.get(active.number, 0) + trained
        wanted = policy.first_fit(
            cluster, sorted(question.jobs, key=lambda active: self._order_key(active, question.time_s))
        )
        if self.grow and len(wanted) == len(question.jobs):
            self._grow(question, wanted)
        slices = {active.number: self._ticks[active.number] / self.slice_ticks for active in question.jobs}
        given = (policy.pack if self.migrate else policy.place)(cluster, question.jobs, wanted)
        for active in question.jobs:
            if given.get(active.number, ()) != active.given:
                self._trains_s[active.number] = question.time_s + self.system.restart_s
        return policy.GpuCounts(given, slices)

    def _pauses(self, number: int, now_s: float) -> bool:
        return now_s <= self._trains_s.get(number, -1.0)

    def _order_key(self, active: policy.ActiveJob, now_s: float) -> tuple[bool, int]:
        had, part = divmod(self._ticks[active.number], self.slice_ticks)
        within = part or self._pauses(active.number, now_s)
        return not (active.given and within), had

    def _grow(self, question: policy.TickQuestion, wanted: dict[int, int]) -> None:
        """Jobs that have grown stay so; others follow by arrival, all of their growth or nothing."""
        free = self.system.cluster.size - sum(wanted.values())
        for active in sorted(question.jobs, key=lambda active: size_of(active.given) <= active.job.gpus):
            job, n = active.job, active.number
            more = min(GROWTH * job.gpus, job.application.most_at(job.batch))
            if job.gpus < more <= job.gpus + free and self._agents[n].gains(more):
                free -= more - job.gpus
                wanted[n] = more


POLICY = policy.ElasticPolicy(
    name="gandiva",
    title="Gandiva",
    summary="Jobs take turns of a few ticks, move to fewer nodes, and use idle GPUs while no job waits.",
    source="Xiao et al., Gandiva, OSDI 2018, section 3 (recollected)",
    adaptation="No packing of two jobs on a GPU: there are no profiles of it. A switch costs the restart "
    "time. A job grows to twice what it asks for, and shrinks if its steps did not get faster. The length of "
    "a slice and the growth are assumed.",
    build=lambda system, options, _: Gandiva(system, *options.values()),
    settings={
        "slice_ticks": PolicyOption(
            10, "ticks of a turn; those that a restart takes whole do not count", least=1, most=10_000
        ),
        "migrate": PolicyOption(True, "move jobs to fewer nodes where there is room"),
        "grow": PolicyOption(
            True, "jobs use idle GPUs while no job waits, as long as their own steps get faster"
        ),
    },
    network_view="N2",
    style=ChartStyle("#d0588f", "longdash", "cross"),
    value="slices had",
)
