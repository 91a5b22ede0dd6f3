"""One job during one tick."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nona.training.elastic.applications.batches import Split
from nona.training.elastic.applications.times import Counts, StepTime
from nona.training.elastic.model.given import Given, counts_of, size_of
from nona.training.elastic.model.link import Sender, ring_bytes
from nona.training.elastic.model.system import ElasticJob
from nona.training.elastic.policies.base import Agent

NO_SPLIT = Split(0, 0)


@dataclass(slots=True)
class JobState:
    """A job as it goes on.

    ``delay_s`` is left of the pause after its GPUs changed; ``starts``: how many; ``link_s``: seconds that an
    all-reduce takes on the link now; ``lost_gpu_s``: what waiting for it cost.
    """

    job: ElasticJob
    agent: Agent
    given: Given = ()
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
        """Part of its progress that is done."""
        return self.progress / self.job.application.ends[-1]

    def give(self, given: Given, restart_s: float) -> None:
        """From now on the job has these GPUs; what it did is kept."""
        if given == self.given:
            return
        self.given, self.counts = given, counts_of(given)
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
        held, left = size_of(self.given), seconds
        paused = min(self.delay_s, left)
        self.delay_s -= paused
        left -= paused
        self.delayed_gpu_s += paused * held
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
            self.lost_gpu_s += lost * used * held
            self.split = self.agent.split(self.counts)
        self.gpu_s += held * (seconds - left)

    def sender(self) -> Sender | None:
        """What it puts on the link in each step; ``None`` on one node."""
        if len(self.counts) < 2 or self.job.application.parameters is None:
            return None
        seconds, time = self.job.application.step(self.counts, self.split)
        nodes = len(self.counts)
        return Sender(nodes, ring_bytes(self.job.application.parameters, nodes), seconds, time.sync_s)

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
