"""The question of a plan: targets, offers and schedulers; an option opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nona.cluster.hardware.device import find_device, user_devices
from nona.core.errors import ScenarioError
from nona.planning.deployed import on_servers, stage_problems
from nona.planning.offers import Offer, Option, Target
from nona.planning.results import PlanOption, PlanServers
from nona.planning.servers import (
    alike,
    check_targets,
    expanded,
    group_offer,
    offers_of,
    servers_now,
    with_prices,
)
from nona.planning.week import WeekProfile, is_table, profile_of_trace, read_profile
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.sweeps.numbers import LOAD, number_named
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.preparation import PreparedSystem, Times, prepare, with_times_off
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.lookup import Sources
from nona.scenario.plan import BatchOfferSpec, PlanSpec, Survival, TargetSpec
from nona.scenario.schema import Scenario
from nona.scenario.traces import read_trace
from nona.scenario.values import NamedSpec

MILLE = 1000  # a factor on the traffic is a whole number of thousandths


@dataclass(frozen=True, slots=True)
class PlannedScheduler:
    """A scheduler, and the batches that executors take under it; ``None``: as the workload's rows say."""

    scheduler: NamedSpec
    batches: BatchOfferSpec | None = None

    @property
    def text(self) -> str:
        """The scheduler in words, with its batches."""
        return f"{self.scheduler.name}{'' if self.batches is None else f' with {self.batches.text}'}"


@dataclass(frozen=True, eq=False)
class PlanQuestion:
    """All that a plan depends on; ``targets`` all hold at once.

    ``scenario`` has the traffic of the profile's peak. The scheduler of an option is one of ``schedulers``.
    ``stay``: servers of each offer that every option has; ``growing``: the offers of which it has more.
    ``times``: those of which tasks are taken.
    """

    scenario: Scenario
    sources: Sources
    spec: PlanSpec
    targets: tuple[Target, ...]
    offers: tuple[Offer, ...]
    schedulers: tuple[PlannedScheduler, ...]
    fixed_servers: tuple[int, ...]
    growing: tuple[int, ...]
    profile: WeekProfile | None = None
    times: Times = "stated"

    @property
    def mean_over_peak(self) -> float:
        """Mean traffic of the week over that of its peak, for which ``scenario`` is sized."""
        return 1.0 if self.profile is None else self.profile.mean / self.profile.peak

    @property
    def alpha(self) -> float:
        """The error allowed to each verdict."""
        return 1 - self.spec.confidence

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The share, or the mean, that each target asks for."""
        return tuple(t.threshold for t in self.targets)

    def cost(self, option: Option) -> float:
        """Price per hour of an option's servers."""
        return option.cost(self.offers)

    def scenario_of(self, option: Option, load: int = MILLE) -> Scenario:
        """Return the scenario on an option, with ``load`` thousandths of its traffic."""
        planned = self.schedulers[option.scheduler]
        placed = on_servers(_batched(self.scenario, planned.batches), self.groups_of(option.counts))
        changed = placed.model_copy(update={"schedulers": (planned.scheduler,), "plan": None})
        return changed if load == MILLE else number_named(changed, LOAD).with_value(changed, load / MILLE)

    def groups_of(self, counts: Sequence[int]) -> tuple[ServerGroupSpec, ...]:
        """Return so many servers of each offer as groups of a scenario."""
        return tuple(server_group(n, o) for n, o in zip(counts, self.offers, strict=True) if n)

    def has_every_stage(self, option: Option) -> bool:
        """Return whether the option's servers have instances of every stage that has some."""
        return not any(stage_problems(self.scenario, self.groups_of(option.counts)))

    def prepared_of(
        self, option: Option, load: int = MILLE, cache: PreparationCache | None = None
    ) -> PreparedSystem:
        """Prepare that scenario, with times as the question takes them."""
        prepared = prepare(self.scenario_of(option, load), self.sources, cache)
        return prepared if self.times == "stated" else with_times_off(prepared, self.times)


def _batched(scenario: Scenario, batches: BatchOfferSpec | None) -> Scenario:
    return scenario if batches is None else scenario.with_batches(batches.size, batches.delay)


def question_of(scenario: Scenario, sources: Sources) -> PlanQuestion:
    """Return the question that a scenario asks; what its ``plan`` leaves out is taken from the scenario.

    Without offers those of the cluster as it is are on offer. Servers with an engine stay as they are: they
    serve rows that ask language models, of which this question takes no account.

    Raises ``ScenarioError`` for a target of a model that is not there, no target at all, or an offer without
    a price. Raises ``HardwareError`` or ``SimulationError`` for an unknown device, layout or scheduler.
    """
    spec = scenario.plan or PlanSpec()
    _check_names(scenario, spec)
    _check_racks(scenario, spec)
    profile = _profile(scenario, spec, sources)
    at_peak = scenario if profile is None else number_named(scenario, LOAD).with_value(scenario, profile.peak)
    offers, stay, growing = _on_offer(scenario, spec)
    question = PlanQuestion(
        scenario=at_peak,
        sources=sources,
        spec=spec,
        targets=_targets(scenario, spec),
        offers=offers,
        schedulers=tuple(PlannedScheduler(s, b) for s in spec.schedulers for b in spec.batches or (None,)),
        fixed_servers=stay,
        growing=growing,
        profile=profile,
    )
    for place in growing:
        counts = [n or int(k == place) for k, n in enumerate(stay)]
        if lines := list(stage_problems(scenario, question.groups_of(counts))):
            raise ScenarioError(lines)
    return question


def _on_offer(
    scenario: Scenario, spec: PlanSpec
) -> tuple[tuple[Offer, ...], tuple[int, ...], tuple[int, ...]]:
    """All servers of an option, how many of each stay, and the places of those that grow."""
    grows, groups = spec.group, scenario.cluster.servers
    if grows is None:
        offers = offers_of(scenario, spec, scenario.cluster.task_groups)
        return offers, (0,) * len(offers), tuple(range(len(offers)))
    if grows >= len(groups):
        raise ScenarioError([f"plan.group: there is no cluster.servers[{grows}]; choose another group."])
    if groups[grows].engine is not None:
        raise ScenarioError(
            [f"plan.group: cluster.servers[{grows}] has an engine; choose a group that runs tasks."]
        )
    spec, priced = with_prices(spec, [*(o.gpu for o in spec.offers), *(g.gpu for g in groups)])
    in_its_place = spec.model_copy(update={"offers": spec.offers or (group_offer(groups[grows]),)})
    servers: list[tuple[Offer, int]] = []
    growing = range(0)
    for place, group in enumerate(groups):
        if place == grows:
            grown = offers_of(scenario, in_its_place, (groups[grows],))
            growing = range(len(servers), len(servers) + len(grown))
            servers += [(offer, 0) for offer in grown]
        elif group.engine is None:
            servers.append((next(expanded(scenario, spec, group_offer(group))), group.count))
    offers = tuple(offer if priced else replace(offer, price=0.0) for offer, _ in servers)
    return offers, tuple(count for _, count in servers), tuple(growing)


def _check_names(scenario: Scenario, spec: PlanSpec) -> None:
    """Check that schedulers and devices exist, and that nothing is asked for twice."""
    for scheduler in spec.schedulers:
        get_scheduler(scheduler.name)
    own = user_devices(scenario.cluster.devices)
    for gpu in spec.prices.gpus:
        find_device(gpu, own)
    for key, names in (
        ("schedulers", [s.name for s in spec.schedulers]),
        ("batches", [batches.text for batches in spec.batches]),
    ):
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise ScenarioError([f"plan.{key}: {twice} is there twice; keep one of them."])


def _check_racks(scenario: Scenario, spec: PlanSpec) -> None:
    if spec.survive == "rack" and scenario.cluster.network.racks is None:
        raise ScenarioError(
            [
                "plan.survive: 'rack' needs racks, and the cluster has none; "
                "give cluster.network.racks, or choose 'server'."
            ]
        )


def _profile(scenario: Scenario, spec: PlanSpec, sources: Sources) -> WeekProfile | None:
    if spec.profile is None:
        return None
    data, rate = sources.read(spec.profile), sum(row.rate for row in scenario.workload)
    if is_table(data):
        return read_profile(data, spec.profile, rate)
    return profile_of_trace(read_trace(data, spec.profile), rate, spec.profile)


def _targets(scenario: Scenario, spec: PlanSpec) -> tuple[Target, ...]:
    check_targets(scenario, spec)
    targets: list[Target] = []
    for j, name in enumerate(scenario.labels):
        asked, slo_s = spec.targets.get(name, TargetSpec()), scenario.workload[j].slo
        hit = asked.share(spec.hit)
        if hit is not None and slo_s is not None:
            targets.append(Target.of_hits(j, hit, slo_s))
        elif isinstance(asked.hit, float):
            raise ScenarioError([f"plan.targets.{name}: hit needs an SLO; give the row an slo, or p99."])
        if asked.mean is not None:
            targets.append(Target.of_mean(j, asked.mean))
        if asked.of_requests:
            raise ScenarioError(
                [f"plan.targets.{name}: ttft and tpot are times of rows with llm; give mean, p95 or p99."]
            )
        targets += [Target.of_percentile(j, p, bound) for p, bound in asked.percentiles().items()]
    if not targets:
        raise ScenarioError(
            ["plan: no model has an SLO or a target, so that everything keeps them; give a row an slo."]
        )
    return tuple(targets)


def question_now(question: PlanQuestion, asked: Scenario) -> tuple[PlanQuestion, tuple[int, ...]]:
    """Return the question with the cluster of ``asked`` alone on offer, and its servers of each kind."""
    servers = servers_now(asked, asked.cluster.task_groups)
    schedulers = tuple(
        PlannedScheduler(w.scheduler)
        for w in question.schedulers
        if w.batches == question.schedulers[0].batches
    )
    stay, growing = (0,) * len(servers), tuple(range(len(servers)))
    now = replace(question, offers=tuple(servers), schedulers=schedulers, fixed_servers=stay, growing=growing)
    return now, tuple(servers.values())


def same_option(question: PlanQuestion, now: PlanQuestion, option: Option) -> Option | None:
    """Return an option of ``now`` as one of ``question``, if everything in it is on offer there."""
    counts = [0] * len(question.offers)
    for server, count in zip(now.offers, option.counts, strict=True):
        place = next((k for k, o in enumerate(question.offers) if alike(o, server)), None)
        if place is None:
            return None
        counts[place] = count
    planned = now.schedulers[option.scheduler]
    if planned not in question.schedulers:
        return None
    return Option(tuple(counts), question.schedulers.index(planned))


def opened(scenario: Scenario, option: PlanOption) -> Scenario:
    """Return the scenario with the option's servers, and its scheduler before the scenario's others.

    The traffic stays as it is, also where the plan is sized for the peak of a week. Where one group grows,
    the others stay; servers with an engine always do.
    """
    group = scenario.plan.group if scenario.plan else None
    groups = tuple(
        server_group(s.count, s) for s in (option.servers if option.grown is None else (option.grown,))
    )
    if option.grown is not None and group is not None:
        before = sum(g.engine is None for g in scenario.cluster.servers[:group])
        tasks = scenario.cluster.task_groups
        groups = (*tasks[:before], *groups, *tasks[before + 1 :])
    asked = scenario.plan.schedulers if scenario.plan else ()
    own = entry_named(asked, option.scheduler)
    batched = scenario if option.batch is None else scenario.with_batches(option.batch, option.delay_s)
    return with_first(on_servers(batched, groups), own)


def server_group(count: int, server: Offer | PlanServers) -> ServerGroupSpec:
    """Return so many servers of a kind as a group of a scenario."""
    return ServerGroupSpec(
        count=count, gpu=server.gpu, gpus=server.gpus, vcpus=server.vcpus, mig=server.mig, mps=server.mps
    )


def entry_named(entries: Sequence[NamedSpec], name: str) -> NamedSpec:
    """Return the scheduler's entry among these, with its options; one without options where it has none."""
    return next((entry for entry in entries if entry.name == name), NamedSpec(name=name))


def with_first(scenario: Scenario, scheduler: NamedSpec) -> Scenario:
    """Return the scenario with a scheduler before its others."""
    others = tuple(s for s in scenario.schedulers if s.name != scheduler.name)
    return scenario.model_copy(update={"schedulers": (scheduler, *others)})


@dataclass(frozen=True, slots=True)
class FailureCase:
    """A failure in words, and the rest of the option after it."""

    text: str
    rest: Option


def losses(question: PlanQuestion, option: Option, of: Survival) -> tuple[FailureCase, ...]:
    """Return the failures of one server or one rack; of several that differ only in size the largest.

    Servers stand in racks in the order of the offers, as the cluster of an option has them.
    """
    if of == "nothing":
        return ()
    names = [offer.text for offer in question.offers]
    if of == "server":
        taken = [tuple(int(k == j) for j in range(len(names))) for k in option.used]
        return tuple(
            FailureCase(f"one server of {names[t.index(1)]}", _without_parts(option, t)) for t in taken
        )
    racks = question.scenario.cluster.network.racks
    return tuple(
        FailureCase(_rack_text(names, t), _without_parts(option, t))
        for t in _racks(option, racks.size if racks else 0)
    )


def _racks(option: Option, size: int) -> list[tuple[int, ...]]:
    """Count the servers of each offer in the racks; without racks that hold no more than another one.

    >>> _racks(Option((3, 6)), 4)  # the third rack has one of the second kind
    [(0, 4), (3, 1)]
    """
    if not size:
        return []
    offer = np.repeat(np.arange(len(option.counts)), option.counts)
    counts = np.zeros((-(-len(offer) // size), len(option.counts)), dtype=np.int64)
    np.add.at(counts, (np.arange(len(offer)) // size, offer), 1)
    racks = np.unique(counts, axis=0)
    within = (racks[:, None] <= racks[None, :]).all(axis=2).sum(axis=1)  # each lies within itself
    return [tuple(rack) for rack in racks[within == 1].tolist()]


def _rack_text(names: list[str], taken: tuple[int, ...]) -> str:
    """Return a rack by the servers in it.

    >>> _rack_text(["l4", "t4"], (0, 4)), _rack_text(["l4", "t4"], (1, 3))
    ('one rack of t4', 'one rack of 1 × l4 + 3 × t4')
    """
    kinds = [(n, name) for n, name in zip(taken, names, strict=True) if n]
    return f"one rack of {kinds[0][1] if len(kinds) == 1 else ' + '.join(f'{n} × {k}' for n, k in kinds)}"


def _without_parts(option: Option, taken: tuple[int, ...]) -> Option:
    counts = tuple(n - t for n, t in zip(option.counts, taken, strict=True))
    return Option(counts, option.scheduler)
