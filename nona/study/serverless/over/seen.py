"""What has been simulated of a policy at a value, and the point that is made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nona.planning.counted import counted
from nona.planning.settle import Settled
from nona.planning.verdict import verdict
from nona.report.means import mean_of, rate_of
from nona.results.serverless.outcome import Utilization
from nona.results.serverless.over import OverPoint
from nona.results.verdict import Verdict
from nona.serverless.records.measured import RunMeasures, ratio
from nona.serverless.records.metrics import STATES
from nona.simulation.statistics.intervals import mean_interval
from nona.study.serverless.tasks import Done

ALPHA = 0.05  # of each verdict


@dataclass(frozen=True, eq=False)
class Seen:
    """The replications of one policy at one value so far, in parts as they were simulated."""

    parts: tuple[Done, ...] = ()
    warmup: int = 0

    @property
    def replications(self) -> int:
        """How many there are."""
        return sum(len(part.runs) for part in self.parts)

    @property
    def state(self) -> str:
        """The worst state of a run."""
        return max((s for part in self.parts for s in part.states), key=STATES.index)

    @property
    def overloaded(self) -> bool:
        """Whether a run had no steady state: then no more are needed."""
        return bool(self.parts) and self.state == "overloaded"

    def runs(self) -> list[tuple[RunMeasures, float]]:
        """Measures and seconds of the window of every run."""
        return [pair for part in self.parts for pair in zip(part.runs, part.windows_s, strict=True)]


def judging(target: float) -> Callable[[Seen, int, int], Verdict]:
    """The verdict on ``target`` at a look: a policy without a steady state misses it."""

    def judge(seen: Seen, look: int, looks: int) -> Verdict:
        if seen.overloaded:
            return "misses"
        counts = counted([r for part in seen.parts for r in part.ratios], target)
        return verdict([counts], [target], ALPHA, look, looks)

    return judge


def point_of(value: float, settled: Settled[Seen]) -> OverPoint:
    """The point of a settled test.

    Goodput: hits / seconds of the window, for each run, then as the others the mean over the runs.
    """
    seen = settled.result
    runs = seen.runs()

    def mean(of: Callable[[RunMeasures], float]) -> list[float]:
        return [of(run) for run, _ in runs]

    goodput = [ratio(run.all.hits, window_s) for run, window_s in runs]
    return OverPoint(
        value=value,
        slo_hit_rate=rate_of(mean_interval(mean(lambda r: r.all.hit_rate))),
        goodput_per_s=mean_of(mean_interval(goodput)),
        cost_per_call_usd=mean_of(mean_interval(mean(lambda r: r.all.cost_per_call))),
        cost_per_hit_usd=mean_of(mean_interval(mean(lambda r: r.cost_per_hit))),
        utilization=Utilization(
            vcpu=mean_interval(mean(lambda r: r.vcpu_utilization)).mean,
            vgpu=mean_interval(mean(lambda r: r.vgpu_utilization)).mean,
        ),
        cold_start_rate=mean_interval(mean(lambda r: r.cold_start_rate)).mean,
        warmup=seen.warmup,
        replications=seen.replications,
        verdict=settled.verdict,
        state=seen.state,
    )
