"""Capacity: the fewest servers of a group with at most a given share of missed SLOs, by prediction.

For each count the placement is solved, and its jobs are walked among the waits
(:func:`nona.placement.response.predict_response`). With more servers alike and the same queries all loads
fall, so the misses fall with the count but for sampling noise, and halving finds the fewest. A count is
taken if its predicted share of misses is at most the target; the standard error and the misses with one
server fewer say how sure that is, and simulation can be asked beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from nona.errors import PlacementError, ScenarioError
from nona.placement.sampled.judge import Judge, rows
from nona.report.means import rate_of
from nona.results.capacity import DeviceCapacity, ServerCount
from nona.scenario.schema import Scenario, SchedulerSpec
from nona.sources.lookup import Sources
from nona.study.cache import StudyCache
from nona.study.preparation import prepare
from nona.study.simulating.run import place, simulate
from nona.study.sweeps.numbers import with_value

SAMPLES = 4096
MOST = 4096


def fewest_servers(
    scenario: Scenario,
    sources: Sources,
    target_miss: float,
    *,
    group: int = 0,
    most: int = MOST,
    prices: Mapping[str, float] | None = None,
    simulated: bool = False,
    check: Callable[[], None] = lambda: None,
) -> DeviceCapacity:
    """The fewest servers of ``cluster.servers[group]`` with at most ``target_miss`` of the SLOs missed.

    Parameters
    ----------
    prices
        Device → price of one GPU, per hour or in any other unit.
    simulated
        Also simulate the count that was found, and one fewer, with the scenario's jobs and replications.

    Raises
    ------
    ScenarioError
        When there is no such group, or the target is not between 0 and 1.
    PlacementError
        When no query has an SLO.
    """
    if not 0 < target_miss < 1:
        raise ScenarioError(
            [f"Capacity: target {target_miss:g} must lie between 0 and 1; give 0.01 for 99 %."]
        )
    if not 0 <= group < len(scenario.cluster.servers):
        raise ScenarioError([f"Capacity: there is no cluster.servers[{group}]; choose an existing group."])
    search = _Search(scenario, sources, group, check)
    count = _halved(search.miss, target_miss, most)
    found = None if count is None else search.tried[count]
    fewer = None if count is None or count == 1 else search.at(count - 1)
    if simulated and found is not None:
        found = search.simulated(found)
        fewer = None if fewer is None or fewer.miss is None else search.simulated(fewer)
    return DeviceCapacity(
        gpu=scenario.cluster.servers[group].gpu,
        servers=count,
        predicted=found,
        one_fewer=fewer,
        cost=None if found is None or prices is None else search.cost(found.servers, prices),
        tried=tuple(search.tried[n] for n in sorted(search.tried)),
    )


def cheapest(found: Sequence[DeviceCapacity]) -> DeviceCapacity | None:
    """The cheapest; without prices the one with the fewest servers."""
    return min(
        (c for c in found if c.servers is not None),
        key=lambda c: (math.inf if c.cost is None else c.cost, c.servers),
        default=None,
    )


def with_gpu(scenario: Scenario, group: int, gpu: str) -> Scenario:
    """The scenario with another device in a group, whole: a MIG layout is for one device only."""
    changed = with_value(scenario, f"cluster.servers[{group}].gpu", gpu)
    spec = changed.cluster.servers[group]
    if spec.mig is None:
        return changed
    groups = list(changed.cluster.servers)
    groups[group] = spec.model_copy(update={"mig": None})
    cluster = changed.cluster.model_copy(update={"servers": tuple(groups)})
    return changed.model_copy(update={"cluster": cluster})


def _halved(miss: Callable[[int], float], target: float, most: int) -> int | None:
    """The least count in 1…``most`` with miss(count) ≤ target, for a miss that falls with the count.

    >>> _halved(lambda n: 1 / n, 0.1, 100), _halved(lambda n: 1 / n, 0.001, 100)
    (10, None)
    """
    high = 1
    while miss(high) > target:
        if high == most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if miss(middle) <= target else (middle, high)
    return high


class _Search:
    """The numbers of servers tried so far."""

    def __init__(self, scenario: Scenario, sources: Sources, group: int, check: Callable[[], None]) -> None:
        self.scenario, self.sources, self.group, self.check = scenario, sources, group, check
        self.cache, self.tried = StudyCache(), dict[int, ServerCount]()

    def scenario_with(self, servers: int) -> Scenario:
        return with_value(self.scenario, f"cluster.servers[{self.group}].count", servers)

    def miss(self, servers: int) -> float:
        """The predicted share of missed SLOs; infinite without a steady state."""
        miss = self.at(servers).miss
        return math.inf if miss is None else miss

    def at(self, servers: int) -> ServerCount:
        if servers not in self.tried:
            self.check()
            study = prepare(self.scenario_with(servers), self.sources, self.cache)
            judge = Judge(study.system, "slo")
            try:
                placement = place(study, cache=self.cache, check=self.check, quick=True)
            except PlacementError:  # the executors or the link are overloaded
                self.tried[servers] = ServerCount(servers=servers, miss=None, error=0.0)
            else:
                judge = Judge(study.system, "slo", placement.class_shares)
                values = judge.values(rows(placement.queries), SAMPLES, self.scenario.seed)
                self.tried[servers] = ServerCount(servers=servers, miss=values.value, error=values.error)
        return self.tried[servers]

    def simulated(self, tried: ServerCount) -> ServerCount:
        scenario = self.scenario_with(tried.servers)
        scenario = scenario.model_copy(update={"schedulers": (SchedulerSpec(name="nona"),)})
        study = prepare(scenario, self.sources, self.cache)
        result = simulate(study, placement=place(study, cache=self.cache, check=self.check, quick=True))
        rate = result.summaries["nona"].hit_rate
        return tried.model_copy(update={"simulated_hit_rate": rate_of(rate)})

    def cost(self, servers: int, prices: Mapping[str, float]) -> float | None:
        groups = self.scenario_with(servers).cluster.servers
        if any(g.gpu not in prices for g in groups):
            return None
        return sum(g.count * g.gpus * prices[g.gpu] for g in groups)
