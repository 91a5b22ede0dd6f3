"""Capacity: the fewest servers that keep the SLOs, by scheduler and by device.

``nona``, ``local`` and ``spread`` draw their servers without looking at queues, and have a prediction: jobs
walked among random waits (:func:`nona.placement.response.equilibrium.predict_response`). The others are
simulated, with more and more replications until the sequential test of :mod:`nona.planning.verdict` has a
verdict. What counts is the model that misses most: the share over all jobs can hide one that never keeps its
SLO.

With more servers alike and the same queries all loads fall, so the misses of a scheduler that draws its
servers fall with the count but for sampling noise, and halving finds the fewest. A scheduler that looks at
queues may do worse with more servers for a while: there the counts beside the one found are looked at too.
A count is taken if its share of misses is at most the target; the standard error and the misses with one
server fewer say how sure that is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nona.arrays import Floats
from nona.contraction.task_graph import TaskGraph
from nona.cost.costed import SIGMA, CostedGraph, OperatorCost, interval
from nona.errors import PlacementError, ScenarioError
from nona.placement.capacity import allowed_classes, least_utilization
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.result import Placement
from nona.placement.sampled.judge import Judge, Values, rows
from nona.planning.least import BESIDE, driven, least
from nona.planning.verdict import counted, settle, verdict
from nona.report.times import LEVEL, TAKEN
from nona.results.document import Verdict
from nona.results.planning import CountRange, DeviceCapacity, ServerCount
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec
from nona.simulation.collected import ROUNDING
from nona.simulation.records import Records
from nona.simulation.summary import Measured, SchedulerSummary
from nona.sources.lookup import Sources
from nona.study.cache import StudyCache
from nona.study.models import PreparedModel
from nona.study.preparation import Study, check_counted, prepare
from nona.study.simulation import Answer, answers, place
from nona.study.sweep_numbers import with_value
from nona.system import QueryClass

End = Callable[[tuple[float, float]], float]


def _can_be_off(study: Study) -> bool:
    """Return whether any operator's time is modelled: given and measured times are taken as exact."""
    return any(_is_modelled(c) for m in study.models for costed in m.costed for c in costed.costs)


def _with_times_off(study: Study, end: End, level: float = LEVEL) -> Study:
    """The study in which every time is one ``end`` (``min`` or ``max``) of its interval.

    All errors are taken to have the same sign, as those of one cost model share their cause: that is the
    widest case. Rates, transfers, background and SLOs stay.
    """
    models = tuple(_off(m, end, level) for m in study.models)
    queries = tuple(_with_tasks(q, m.tasks) for q, m in zip(study.system.queries, models, strict=True))
    key = study.key and f"{study.key} {end.__name__} {level}"
    return replace(study, models=models, system=replace(study.system, queries=queries), key=key)


def _with_tasks(query: QueryClass, tasks: TaskGraph) -> QueryClass:
    """The query with other times of its tasks; those of its steps change as much."""
    if query.batching is None:
        return replace(query, tasks=tasks)
    factor = tasks.compute_s / np.where(query.tasks.compute_s > 0, query.tasks.compute_s, 1.0)
    steps = replace(query.batching, step_s=query.batching.step_s * factor)
    return replace(query, tasks=tasks, batching=steps)


def _off(model: PreparedModel, end: End, level: float) -> PreparedModel:
    weights = [cost.weight_bytes for cost in model.costed[0].costs]
    times = [_times(costed, end, level) for costed in model.costed]
    return replace(model, tasks=TaskGraph.from_contracted(model.contracted, times, weights))


def _times(costed: CostedGraph, end: End, level: float) -> list[float]:
    return [
        end(interval(c.compute_s, c.provenance, level, costed.sliced)) if _is_modelled(c) else c.compute_s
        for c in costed.costs
    ]


def _is_modelled(cost: OperatorCost) -> bool:
    return cost.provenance not in TAKEN and SIGMA[cost.provenance] > 0


SAMPLES = 4096
MOST_REPLICATIONS = 8
ALPHA = 0.05  # of each verdict
PREDICTED = ("nona", "local", "spread")
Check = Callable[[], None]


def _predicted_count(study: Study, scheduler: str, cache: StudyCache, check: Check) -> ServerCount:
    """The missed SLOs by prediction, for a scheduler of ``PREDICTED``."""
    servers = study.system.servers
    try:
        placement = _placement(study, scheduler, cache, check)
    except PlacementError:  # the executors or the link are overloaded
        return ServerCount(servers=servers, miss=None, error=0.0)
    if not math.isfinite(placement.prediction.jct_s):
        return ServerCount(servers=servers, miss=None, error=0.0)
    judge = Judge(study.system, "slo", placement.class_shares)
    values = judge.values(rows(placement.queries), SAMPLES, study.scenario.seed)
    alone = [Values(np.ones(1), (y,), (p,)) for y, p in zip(values.y, values.path, strict=True)]
    j = max(range(len(alone)), key=lambda i: alone[i].value)
    name = study.scenario.labels[judge.counted[j]] if len(alone) > 1 else ""
    worst = alone[j]
    return ServerCount(
        servers=servers, miss=worst.value, error=worst.error, worst=name, miss_of_all=values.value
    )


def _placement(study: Study, scheduler: str, cache: StudyCache, check: Check) -> Placement:
    if scheduler == "local":
        return local_placement(study.system)
    if scheduler == "spread":
        return spread_placement(study.system)
    return place(study, cache=cache, check=check, quick=True)


def simulated_count(study: Study, target_hit: float, cache: StudyCache, check: Check) -> ServerCount:
    """The missed SLOs by simulation of the one scheduler of the study's scenario.

    ``error`` is a quarter of the width of the interval at 95 %. A cluster that is too small for any scheduler
    is not simulated: it has no steady state.
    """
    servers = study.system.servers
    if least_utilization(study.system) >= 1:
        return ServerCount(servers=servers, miss=None, error=0.0)
    (entry,) = study.scenario.schedulers
    most = max(MOST_REPLICATIONS, study.scenario.simulation.replications)
    stream = answers(study, cache=cache, check=check, replications=most)

    def more(count: int) -> Answer:
        answer = next(stream)
        while answer.replications < count and _steady(answer, entry.name) is not None:
            answer = next(stream)
        return answer

    def judge(answer: Answer, look: int, looks: int) -> Verdict:
        if _steady(answer, entry.name) is None:
            return "misses"
        slo_s = [q.slo_s for q in study.system.queries]
        ratios = _ratios(answer.records[entry.name], slo_s)
        return verdict(
            [counted(r, target_hit) for r in ratios], [target_hit] * len(ratios), ALPHA, look, looks
        )

    settled = settle(more, judge, most)
    if _steady(settled.result, entry.name) is None:
        return ServerCount(servers=servers, miss=None, error=0.0)
    return _count(study, settled.result.records[entry.name])


def _steady(answer: Answer, scheduler: str) -> SchedulerSummary | None:
    summary = answer.summaries.get(scheduler)
    return None if summary is None or summary.result.overloaded else summary


def _ratios(runs: Sequence[Records], slo_s: Sequence[float | None]) -> list[list[Floats]]:
    """Return, by model with an SLO and run, its jobs' times over the SLO; ``nan`` for unfinished ones."""
    limits = {j: s * (1 + ROUNDING) for j, s in enumerate(slo_s) if s is not None}
    return [[run.completion_time_s[run.query == j] / s for run in runs] for j, s in limits.items()]


def _count(study: Study, runs: Sequence[Records]) -> ServerCount:
    slo_s = [q.slo_s for q in study.system.queries]
    hits = {
        name: Measured(runs, slo_s, j).hit_rate()
        for j, name in enumerate(study.scenario.labels)
        if slo_s[j] is not None
    }
    if not hits:
        return ServerCount(servers=study.system.servers, miss=None, error=0.0)
    worst = min(hits, key=lambda name: hits[name].mean)
    half_width = hits[worst].half_width
    return ServerCount(
        servers=study.system.servers,
        miss=1 - hits[worst].mean,
        error=half_width / 2 if math.isfinite(half_width) else 0.0,
        simulated_hit_rate=hits[worst].rate,
        worst=worst if len(hits) > 1 else "",
        miss_of_all=1 - Measured(runs, slo_s).hit_rate().mean,
    )


MOST = 4096
IDLE = 0.05  # utilisation of the executors below which waits are rare
SURE = 3.0  # standard errors
LESS = 0.9  # of the misses with half as many servers: what is above is no improvement
_TIMES: Mapping[End | None, str] = {None: "", min: ", short times", max: ", long times"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Request of a search: the share of misses allowed, the group, the most servers, and the scheduler."""

    target_miss: float
    group: int = 0
    most: int = MOST
    scheduler: str = "nona"

    def check(self, scenario: Scenario) -> None:
        """Raise :class:`ScenarioError` where there is no such group, or the target is no share."""
        if not 0 < self.target_miss < 1:
            raise ScenarioError(
                [f"Capacity: target {self.target_miss:g} must lie between 0 and 1; give 0.01 for 99 %."]
            )
        if not 0 <= self.group < len(scenario.cluster.servers):
            raise ScenarioError(
                [f"Capacity: there is no cluster.servers[{self.group}]; choose an existing group."]
            )
        if scenario.cluster.servers[self.group].engine is not None:
            raise ScenarioError(
                [f"Capacity: cluster.servers[{self.group}] has an engine; choose a group that runs tasks."]
            )


def fewest_servers(
    scenario: Scenario,
    sources: Sources,
    target_miss: float,
    *,
    group: int = 0,
    most: int = MOST,
    scheduler: str = "nona",
    prices: Mapping[str, float] | None = None,
    simulated: bool = False,
    cache: StudyCache | None = None,
    check: Callable[[], None] = lambda: None,
    tell: Callable[[str], None] = lambda text: None,
    seen: Callable[[DeviceCapacity], None] = lambda so_far: None,
) -> DeviceCapacity:
    """The fewest servers of ``cluster.servers[group]`` with at most ``target_miss`` of the SLOs missed.

    ``scheduler``: one of :data:`~nona.study.capacity.PREDICTED` by prediction, any other by simulation.
    ``prices``: device → price of one GPU, per hour or in any other unit.
    ``simulated``: also simulate the count that was predicted, and one fewer.
    ``tell``: called with what is done next; ``check`` is called now and then in between.
    ``seen``: called with what is known after each number of servers, not finished.

    Raises ``ScenarioError`` when there is no such group, or the target is not between 0 and 1. Raises
    ``PlacementError`` when no query has an SLO.
    """
    asked = Asked(target_miss, group, most, scheduler)
    asked.check(scenario)
    search = _Search(_alone(scenario, scheduler), sources, asked, cache or StudyCache(), check, tell)
    search.seen = lambda: seen(search.so_far())
    count = search.run(scenario.cluster.servers[group].count)
    fewest = None if count is None else search.tried[count]
    fewer = None if count is None or count == 1 else search.at(count - 1)
    if simulated and fewest is not None and search.predicts:
        fewest = search.simulated(fewest)
        fewer = None if fewer is None or fewer.miss is None else search.simulated(fewer)
    return DeviceCapacity(
        gpu=scenario.cluster.servers[group].gpu,
        scheduler=scheduler,
        method="prediction" if search.predicts else "simulation",
        servers=count,
        predicted=fewest,
        one_fewer=fewer,
        cost=None if fewest is None or prices is None else search.cost(fewest.servers, prices),
        tried=tuple(search.tried[n] for n in sorted(search.tried)),
        least_miss=search.least_miss,
        no_room=search.no_room,
        if_times_off=None if count is None else search.ranged(count),
    )


def unfinished(gpu: str, scheduler: str, tried: Sequence[ServerCount] = ()) -> DeviceCapacity:
    """Return the state of a search that has not ended, or not begun."""
    return DeviceCapacity(
        gpu=gpu,
        scheduler=scheduler,
        method="prediction" if scheduler in PREDICTED else "simulation",
        servers=None,
        predicted=None,
        one_fewer=None,
        cost=None,
        tried=tuple(tried),
        finished=False,
    )


def _alone(scenario: Scenario, scheduler: str) -> Scenario:
    """The scenario with one scheduler: its own entry, with its options, where it has one."""
    own = next((s for s in scenario.schedulers if s.name == scheduler), NamedSpec(name=scheduler))
    return scenario.model_copy(update={"schedulers": (own,)})


def _no_room(study: Study) -> str:
    """Explain that the weights fit on no number of servers; empty where they fit."""
    try:
        allowed_classes(study.system)
    except PlacementError as error:
        return str(error)
    return ""


class _Search:
    """The numbers of servers tried so far; ``end`` is that of the times' intervals, if they are off."""

    def __init__(
        self,
        scenario: Scenario,
        sources: Sources,
        asked: Asked,
        cache: StudyCache,
        check: Callable[[], None],
        tell: Callable[[str], None],
        end: End | None = None,
    ) -> None:
        self.scenario, self.sources, self.asked, self.end = scenario, sources, asked, end
        self.cache, self.check, self.tell = cache, check, tell
        self.tried = dict[int, ServerCount]()
        self.seen: Callable[[], None] = lambda: None
        self.predicts = asked.scheduler in PREDICTED
        present = self.study(scenario.cluster.servers[asked.group].count)
        check_counted(present)
        self.least_miss = max(Judge(present.system, "slo").bounds())
        self.no_room = _no_room(present)

    def run(self, start: int) -> int | None:
        if self.no_room or self.least_miss > self.asked.target_miss:
            return None
        beside = 0 if self.predicts or self.end is not None else BESIDE
        return driven(least(self.asked.most, start, beside=beside, helps=self.helps), self.keeps)

    def keeps(self, servers: int) -> bool:
        return self.miss(servers) <= self.asked.target_miss

    def helps(self, servers: int) -> bool:
        """Return whether more servers could lower the misses.

        False where twice as many clearly raised them, or where little waits and twice as many did not help.
        """
        fewer = max((n for n in self.tried if 2 * n <= servers), default=0)
        half, now = self.tried.get(fewer), self.at(servers)
        if half is None or half.miss is None or now.miss is None:
            return True
        if now.miss > half.miss + SURE * math.hypot(now.error, half.error):
            return False
        if least_utilization(self.study(servers).system) > IDLE:
            return True
        return now.miss < LESS * half.miss

    def miss(self, servers: int) -> float:
        miss = self.at(servers).miss
        return math.inf if miss is None else miss

    def study(self, servers: int) -> Study:
        changed = with_value(self.scenario, f"cluster.servers[{self.asked.group}].count", servers)
        study = prepare(changed, self.sources, self.cache)
        return study if self.end is None else _with_times_off(study, self.end)

    def at(self, servers: int) -> ServerCount:
        if servers not in self.tried:
            self.check()
            self.tell(f"{self.asked.scheduler}, {servers:,} servers{_TIMES[self.end]}")
            study, name = self.study(servers), self.asked.scheduler
            if self.predicts:
                count = _predicted_count(study, name, self.cache, self.check)
            else:
                count = simulated_count(study, 1 - self.asked.target_miss, self.cache, self.check)
            self.tried[servers] = count.model_copy(update={"servers": servers})
            self.seen()
        return self.tried[servers]

    def so_far(self) -> DeviceCapacity:
        """The numbers tried so far; which of them is the fewest is not known yet."""
        return unfinished(
            self.scenario.cluster.servers[self.asked.group].gpu,
            self.asked.scheduler,
            [self.tried[n] for n in sorted(self.tried)],
        )

    def simulated(self, tried: ServerCount) -> ServerCount:
        self.tell(f"{self.asked.scheduler}, {tried.servers:,} servers, simulated")
        study = self.study(tried.servers)
        seen = simulated_count(study, 1 - self.asked.target_miss, self.cache, self.check)
        return tried.model_copy(update={"simulated_hit_rate": seen.simulated_hit_rate})

    def ranged(self, count: int) -> CountRange | None:
        """The fewest servers with all times at the one and the other end of their intervals."""
        now = self.study(count)
        if not _can_be_off(now):
            return None
        work = least_utilization(now.system)
        counts = []
        for end in (min, max):
            other = _Search(self.scenario, self.sources, self.asked, self.cache, self.check, self.tell, end)
            factor = least_utilization(_with_times_off(now, end).system) / work if work > 0 else 1.0
            counts.append(other.run(min(math.ceil(count * factor), self.asked.most)))
        return CountRange(low=counts[0], high=counts[1], level=LEVEL)

    def cost(self, servers: int, prices: Mapping[str, float]) -> float | None:
        scenario = with_value(self.scenario, f"cluster.servers[{self.asked.group}].count", servers)
        groups = scenario.cluster.servers
        if any(g.gpu not in prices for g in groups):
            return None
        return sum(g.count * g.gpus * prices[g.gpu] for g in groups)


def cheapest(capacities: Sequence[DeviceCapacity]) -> DeviceCapacity | None:
    """The cheapest; without prices the one with the fewest servers."""
    return min(
        (c for c in capacities if c.servers is not None),
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
