"""What to buy for requests to language models: the fewest servers of each offer under each router.

Engines span 1, 2, 4 … GPUs of a server. The load by formula bounds the number from below; above it the test
of :mod:`nona.core.verdict` decides on simulated replications whether the share of requests that meet all
targets of their row is large enough, and means small enough. Where prompts and answers have servers of their
own, every division of a number of servers among the two is tried.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from nona.core.arrays import Floats
from nona.core.count_search import run_search, smallest_count
from nona.core.document import Verdict
from nona.core.errors import ScenarioError
from nona.core.experiments import do_nothing
from nona.core.text import join_words
from nona.core.verdict import (
    FIRST,
    Evidence,
    Means,
    hit_counts,
    replications_needed,
    replications_of,
    settle,
    verdict,
)
from nona.language.draws import replays_once
from nona.language.formula import engines_busy
from nona.language.records import RouterReplication
from nona.language.results import LanguageOption, LanguagePlan
from nona.language.run import simulate_once
from nona.language.system import Engine, LanguageSystem, RequestClass, Role
from nona.language.workflows.engines import PreparedLanguage
from nona.language.workflows.simulation import RequestTime, drawn, over_targets
from nona.language.workflows.sizes import engine_server, prepared_on
from nona.planning.offers import Offer
from nona.planning.servers import check_targets, offers_of
from nona.queries.workflows.traffic import network_of
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.lookup import Sources
from nona.scenario.plan import PlanSpec, TargetSpec
from nona.scenario.schema import Scenario
from nona.scenario.values import NamedSpec

MOST_JOBS = 6000  # of a run
IDLE, IDLE_JOBS = (
    0,
    500,
)  # a load of next to nothing, at which a run takes long; what is missed is missed soon
TPS = (1, 2, 4, 8)
PLENTY = 16  # times the servers of a load at which engines are as good as idle

_Counts = tuple[int, ...]  # servers of each role: one number where engines do both
OnProgress = Callable[[LanguagePlan, str, float], None]


@dataclass(frozen=True, slots=True)
class _Target:
    """So many requests of a row meet its slo, or one of their times is within a bound.

    Without a ``share`` the mean of that time is.
    """

    row: int
    share: float | None
    text: str
    time: RequestTime | None = None
    bound_s: float = 1.0

    @property
    def threshold(self) -> float:
        return 1.0 if self.share is None else self.share

    def relative_times(self, system: LanguageSystem, run: RouterReplication) -> Floats:
        return over_targets(system, run, self.row, self.time, self.bound_s)

    def evidence(self, runs: Sequence[Floats]) -> Evidence:
        """Return the evidence of the requests of every run, each the time over its bound."""
        if self.share is None:  # a request of one token, which has no time per token, stands with 0
            times = [run[run > 0] for run in runs]
            return Means(tuple(float(of.mean()) for of in times if len(of)))
        return hit_counts(runs, self.share)

    def margin(self, seen: Evidence) -> float:
        """How far what was seen is above its target: a share, or of a mean the part of its bound left."""
        return 1.0 - seen.mean if isinstance(seen, Means) else seen.share - self.threshold


@dataclass(frozen=True, slots=True)
class _Judged:
    """A verdict with the share of the row that is closest to its target; how to decide an open one."""

    verdict: Verdict
    share: float | None
    row: int
    remedy: str = ""


@dataclass(frozen=True, eq=False)
class _OfferCase:
    """An offer in engines of ``tp`` GPUs under a router: how many servers, judged as often as asked."""

    prepared: PreparedLanguage
    targets: tuple[_Target, ...]
    alpha: float
    most_runs: int
    offer: Offer
    tp: int
    router: str
    settings: str
    on_look: Callable[[int, int], None]
    judged: dict[tuple[_Counts, int], _Judged] = field(default_factory=dict)

    @property
    def text(self) -> str:
        settings = f"{self.settings}, " if self.settings else ""
        return f"{self.offer.text}, {self.tp} GPU each, {settings}{self.router}"

    @property
    def engines(self) -> int:
        return self.offer.gpus // self.tp

    @cached_property
    def _roles(self) -> dict[Role, Engine]:
        return {engine.role: engine for engine in self.prepared.system.engines}

    def system(self, counts: _Counts, load: int = 20) -> LanguageSystem:
        """So many servers of each role, with ``load`` twentieths of the traffic."""
        one = self.prepared.system
        servers = [role for role, count in zip(self._roles, counts, strict=True) for _ in range(count)]
        engines = tuple(
            replace(engine, name=f"{engine.name} of {k + 1}", server=k)
            for k, role in enumerate(servers)
            for engine in one.engines
            if engine.role == role
        )
        factor = load / 20 if load != IDLE else 0.01 / self.least_count
        rows = tuple(_scaled(row, factor) for row in one.rows) if load != 20 else one.rows
        rows = tuple(map(_single_user, rows)) if load == IDLE else rows
        network = network_of(self.prepared.scenario, len(servers))
        return replace(one, engines=engines, rows=rows, network=network)

    @cached_property
    def _busy(self) -> tuple[float, ...]:
        """Servers of each role that the work keeps busy."""
        rows = self.prepared.system.rows
        return tuple(engines_busy(engine, rows) / self.engines for engine in self._roles.values())

    @cached_property
    def _least(self) -> _Counts:
        """Servers of each role below which its engines have more work than time."""
        return tuple(max(1, math.ceil(servers)) for servers in self._busy)

    @property
    def least_count(self) -> int:
        return sum(self._least)

    def judge(self, counts: _Counts, load: int = 20) -> Verdict:
        if (counts, load) not in self.judged:
            self.judged[counts, load] = self._judge(counts, load)
        return self.judged[counts, load].verdict

    def _floors(self, most: int) -> _Counts | None:
        """Servers of each role with fewer of which targets are missed beside plenty of the other.

        ``None``: targets are missed with plenty of each, but no more than ``most``.
        """
        if len(self._least) == 1:
            return self._least
        plenty = self._least
        while self.judge(plenty) != "keeps":
            more = tuple(min(2 * n, PLENTY * low, most) for n, low in zip(plenty, self._least, strict=True))
            if more == plenty:
                return None
            plenty = more

        def floor(role: int) -> int:
            def keeps(count: int) -> bool:
                beside = tuple(count if k == role else n for k, n in enumerate(plenty))
                return self.judge(beside) == "keeps"

            low = self._least[role]
            return run_search(smallest_count(plenty[role], low, low=low - 1), keeps) or plenty[role]

        return tuple(floor(role) for role in range(len(plenty)))

    def _judge(self, counts: _Counts, load: int) -> _Judged:
        system, spec = self.system(counts, load), self.prepared.scenario.simulation
        replayed, idle = all(replays_once(row) for row in system.rows), load == IDLE
        jobs = IDLE_JOBS if idle else MOST_JOBS
        if spec.jobs > jobs and not replayed:  # a trace is judged as far as the scenario replays it
            spec = spec.model_copy(update={"jobs": jobs})
        asked = [target.threshold for target in self.targets]
        over: list[list[Floats]] = [[] for _ in self.targets]

        def simulate(count: int) -> list[Evidence]:
            for replication in range(len(over[0]), count):
                requests, window = drawn(system, spec, replication)
                run = simulate_once(system, requests, self.router, window)
                for target, runs in zip(self.targets, over, strict=True):
                    runs.append(target.relative_times(system, run))
            self.on_look(sum(counts), count)
            return [target.evidence(runs) for target, runs in zip(self.targets, over, strict=True)]

        decision: Verdict
        if replayed:
            seen = simulate(1)
            keeps = all(t.margin(of) >= 0 for t, of in zip(self.targets, seen, strict=True))
            decision = "keeps" if keeps else "misses"
        else:
            settled = settle(
                simulate,
                lambda seen, look, looks: verdict(seen, asked, self.alpha, look, looks),
                FIRST if idle else self.most_runs,
            )
            decision, seen = settled.verdict, settled.result
        margins = [t.margin(of) for t, of in zip(self.targets, seen, strict=True)]
        worst = min(range(len(margins)), key=margins.__getitem__)
        requests = sum(map(len, over[0]))
        remedy = _remedy(seen, asked, self.alpha, requests) if decision == "open" else ""
        tightest = seen[worst]
        share = None if isinstance(tightest, Means) else tightest.share
        return _Judged(decision, share, self.targets[worst].row, remedy)

    def option(self, survive: bool, below: float) -> LanguageOption:
        """Return the fewest servers that keep all targets, also without any one of them where it may be down.

        Only what costs at most ``below`` an hour is tried.
        """
        spare, most = (len(self._roles) if survive else 0), self.offer.most
        if below < math.inf:
            most = min(most, math.floor(below / self.offer.price * (1 + 1e-9)))
        if self.least_count + spare > most:
            price = (self.least_count + spare) * self.offer.price
            note = f"not tried: at least {price:g} an hour by its load"
            return self._shown((), _Judged("open", None, 0), note).model_copy(update={"tried": False})
        one_each = (1,) * len(self._roles)
        if self.judge(one_each, IDLE) == "misses":
            return self._shown((), self.judged[one_each, IDLE], "even an idle engine misses")
        counts = self._fewest(survive, most)
        if counts is not None:
            return self._shown(counts, self._tightest(counts, survive), self._open_below(sum(counts), spare))
        largest = max(self.judged, key=lambda one: (sum(one[0]) + spare <= most, sum(one[0]), one[1]))
        last, tried = self.judged[largest], sum(largest[0]) + spare
        if last.verdict == "open":
            return self._shown((), last, f"undecided with {tried}: {last.remedy}")
        if tried < most:
            return self._shown((), last, f"{tried} do not do, {PLENTY} times what the load needs")
        if most < self.offer.most:
            return self._shown((), replace(last, verdict="open"), f"{most} do not do; more would cost more")
        return self._shown((), last, f"misses with {most}, the most on offer")

    def _fewest(self, survive: bool, most: int) -> _Counts | None:
        floors = self._floors(most)
        if floors is None:
            return None
        floors = tuple(n + survive for n in floors)

        def keeping(servers: int) -> _Counts | None:
            return next((way for way in _divided(servers, floors) if self._keeps(way, survive)), None)

        count = run_search(
            smallest_count(most, sum(floors), low=sum(floors) - 1), lambda n: keeping(n) is not None
        )
        return None if count is None else keeping(count)

    def _keeps(self, counts: _Counts, survive: bool) -> bool:
        return all(self.judge(left) == "keeps" for left in _left(counts, survive))

    def _shown(self, counts: _Counts, judged: _Judged, note: str = "") -> LanguageOption:
        servers = sum(counts) or None
        price = None if servers is None else servers * self.offer.price
        token_rate = tokens_per_s(self.prepared.system)
        return LanguageOption.from_fields(
            self,
            gpu=self.offer.gpu,
            gpus=self.offer.gpus,
            servers=servers,
            prefill=counts[0] if len(counts) > 1 else None,
            price=price,
            per_million=None if price is None or not token_rate else price / (token_rate * 3600 / 1e6),
            verdict=judged.verdict,
            share=judged.share,
            least=self.least_count,
            tightest=self.prepared.system.rows[judged.row].name,
            provenance=self.prepared.facts[0].steps.provenance,
            error=self.prepared.error,
            note=note,
        )

    def best_option(self, survive: bool) -> LanguageOption | None:
        """Return the fewest servers that were seen to keep all targets; fewer may do."""
        seen = [counts for counts, load in self.judged if load == 20]
        if survive:
            roles = range(len(self._roles))
            seen = [
                tuple(n + (k == spare) for k, n in enumerate(counts)) for counts in seen for spare in roles
            ]
        keeping = [counts for counts in seen if self._is_known_to_keep(counts, survive)]
        if not keeping:
            return None
        counts = min(keeping, key=sum)
        return self._shown(counts, self._tightest(counts, survive), "not all smaller numbers were tried")

    def _open_below(self, servers: int, spare: int) -> str:
        """Name the smaller numbers of servers that stay open, with what would decide the largest."""
        still = {
            sum(counts) + spare: judged.remedy
            for (counts, load), judged in self.judged.items()
            if load == 20 and judged.verdict == "open" and sum(counts) + spare < servers
        }
        fewer = sorted(still)
        return f"{join_words([*map(str, fewer)])} still open: {still[fewer[-1]]}" if fewer else ""

    def _is_known_to_keep(self, counts: _Counts, survive: bool) -> bool:
        known = [self.judged.get((left, 20)) for left in _left(counts, survive)]
        return all(one is not None and one.verdict == "keeps" for one in known)

    def _tightest(self, counts: _Counts, survive: bool) -> _Judged:
        judged = [self.judged[left, 20] for left in _left(counts, survive)]
        return min(judged, key=lambda one: one.share or 0.0)

    def servers_if_off(self, survive: bool) -> tuple[int | None, int | None] | None:
        """Return the fewest servers with step times at either end of their error.

        ``None`` where they have none.
        """
        if not self.prepared.error:
            return None
        ends = [replace(self, prepared=self.prepared.with_steps_off(side), judged={}) for side in (-1, 1)]
        fewer, more = (end.option(survive, math.inf).servers for end in ends)
        return fewer, more

    def one_less(self, counts: _Counts) -> Verdict:
        verdicts = [self.judge(left) if all(left) else "misses" for left in _left(counts, survive=True)]
        return min(verdicts, key=("misses", "open", "keeps").index)

    def most_traffic(self, counts: _Counts) -> float:
        """Return the largest multiple of the traffic, in twentieths, at which all targets hold.

        The search ends where the engines have as much work as time.
        """
        full_at = min(count / busy for count, busy in zip(counts, self._busy, strict=True) if busy)
        most = max(1, math.ceil(20 * (full_at - 1)))
        first = run_search(
            smallest_count(most, 2), lambda n: n == most or self.judge(counts, 20 + n) != "keeps"
        )
        return (20 + (first or 1) - 1) / 20


def _remedy(seen: Sequence[Evidence], asked: Sequence[float], alpha: float, requests: int) -> str:
    """Say what would decide an open verdict, if shares stayed the same after ``requests`` requests."""
    needed = replications_needed(seen, asked, alpha)
    if needed is None:
        return "what was seen is as good as equal to the target"
    runs = replications_of(seen[0])
    more = requests * (needed - runs) / runs
    return f"about {float(f'{more:.1g}'):,.0f} more requests, {needed} runs in all, would decide"


def _divided(servers: int, floors: _Counts) -> list[_Counts]:
    """Return the ways to divide so many servers among the roles; what is above their floors evenly first.

    >>> _divided(4, (3,)), _divided(6, (1, 3))
    ([(4,)], [(2, 4), (1, 5), (3, 3)])
    """
    if len(floors) == 1:
        return [(servers,)]
    more = servers - sum(floors)
    ways = [(floors[0] + k, floors[1] + more - k) for k in range(more + 1)]
    return sorted(ways, key=lambda way: abs(2 * (way[0] - floors[0]) - more))


def _left(counts: _Counts, survive: bool) -> list[_Counts]:
    """Return the servers that have to do: all, or with ``survive`` those without one of each role in turn."""
    if not survive:
        return [counts]
    return [tuple(n - (k == gone) for k, n in enumerate(counts)) for gone in range(len(counts))]


_LEFT = 0.95  # of a part, after each look: nobody knows how many there will be


@dataclass
class _Search:
    """The options so far, reported after every look; each of its equal ``parts`` takes some looks."""

    plan_of: Callable[[Iterable[LanguageOption]], LanguagePlan]
    survive: bool
    on_progress: OnProgress
    parts: int = 1
    options: dict[_OfferCase, LanguageOption] = field(default_factory=dict)
    case: _OfferCase | None = None
    text: str = ""
    begun: int = 0
    looks: int = 0

    @property
    def plan(self) -> LanguagePlan:
        return self.plan_of(self.options.values())

    def begin(self, text: str, case: _OfferCase | None = None) -> None:
        self.text, self.case, self.begun, self.looks = text, case, self.begun + 1, 0
        self.on_progress(self.plan, text, (self.begun - 1) / self.parts)

    def simulate_more(self, servers: int, runs: int) -> None:
        self.looks += 1
        if self.case is not None and (so_far := self.case.best_option(self.survive)) is not None:
            self.options[self.case] = so_far
        text = f"{self.text}: {servers} server{'' if servers == 1 else 's'}, {runs} runs"
        self.on_progress(self.plan, text, (self.begun - _LEFT**self.looks) / self.parts)


def plan_language(scenario: Scenario, sources: Sources, on_progress: OnProgress = do_nothing) -> LanguagePlan:
    """Find the fewest servers of every offer under every router, and what they cost.

    Rows of tasks, and the servers that run these, stay as they are: engines share no GPU with tasks.

    Parameters
    ----------
    scenario : Scenario
        With engines, offers and targets.
    sources : Sources
        Where its files are.
    on_progress : callable, optional
        Is called with the share of the work that is done.

    Returns
    -------
    LanguagePlan
        Every option that was tried, and the answer.

    Raises
    ------
    ScenarioError
        Without targets, without a price, or with a row that follows one of tasks.
    """
    begin, spec = time.perf_counter(), scenario.plan or PlanSpec()
    check_targets(scenario, spec)
    _check_arrivals(scenario)

    def plan_of(options: Iterable[LanguageOption]) -> LanguagePlan:
        return _plan(scenario, spec, options, begin, tokens_per_s(cases[0].prepared.system))

    survive = spec.survive == "server"
    search = _Search(plan_of, survive, on_progress)
    cases = list(_cases(scenario, sources, spec, search.simulate_more))
    if not cases:
        raise ScenarioError(["plan.offers: the model fits no GPU on offer; offer larger ones, or more each."])
    search.parts, cheapest = len(cases) + 1, math.inf
    for case in sorted(cases, key=lambda c: c.least_count * c.offer.price):
        search.begin(case.text, case)
        option = search.options[case] = case.option(survive, cheapest)
        if option.price is not None:
            cheapest = min(cheapest, option.price)
    best = search.plan.best
    if best is not None:
        case = next(case for case, option in search.options.items() if option is best)
        search.begin("what the cheapest bears")
        loads = not any(replays_once(row) or row.concurrency for row in case.prepared.system.rows)
        more = {
            "headroom": case.most_traffic(best.by_role) if loads else None,
            "without_one": case.one_less(best.by_role),
            "servers_off": case.servers_if_off(survive),
        }
        search.options[case] = best.model_copy(update=more)
    return search.plan


def _check_arrivals(scenario: Scenario) -> None:
    for label, row in zip(scenario.language_labels, scenario.language, strict=True):
        if row.after is not None:
            raise ScenarioError(
                [
                    f"plan: {label} follows {row.after}, so its requests come as those queries end; take out "
                    "after to plan its engines by its rate."
                ]
            )


def opened_option(scenario: Scenario, option: LanguageOption) -> Scenario:
    """Return the scenario with the option's servers, and its router before the others."""
    groups = _engines_tried(scenario, scenario.plan or PlanSpec())[option.settings]
    servers = tuple(
        engine_server(group, option.gpu, option.gpus, option.tp).model_copy(update={"count": count})
        for group, count in zip(groups, option.by_role, strict=True)
    )
    cluster = scenario.cluster.model_copy(update={"servers": scenario.cluster.task_groups + servers})
    routers = {router.name: router for router in (NamedSpec(name=option.router), *scenario.routers)}
    return scenario.model_copy(update={"cluster": cluster, "routers": tuple(routers.values())})


def _plan(
    scenario: Scenario, spec: PlanSpec, options: Iterable[LanguageOption], begin: float, token_rate: float
) -> LanguagePlan:
    def rank(option: LanguageOption) -> tuple[bool, float, float]:
        price = math.inf if option.price is None else option.price
        return option.verdict != "keeps", price, -(option.share or 0.0)

    return LanguagePlan(
        options=tuple(sorted(options, key=rank)),
        targets=tuple(target.text for target in _targets(scenario, spec)),
        tokens_per_s=token_rate,
        currency=spec.prices.currency,
        growth=spec.growth,
        seconds=time.perf_counter() - begin,
    )


def _targets(scenario: Scenario, spec: PlanSpec) -> tuple[_Target, ...]:
    targets: list[_Target] = []
    for k, (label, row) in enumerate(zip(scenario.language_labels, scenario.language, strict=True)):
        asked = spec.targets.get(label, TargetSpec())
        hit = asked.share(spec.hit)
        limits = {"first token": row.slo.ttft, "per token": row.slo.tpot, "last token": row.slo.e2e}
        named = ", ".join(f"{name} within {1e3 * limit:g} ms" for name, limit in limits.items() if limit)
        if hit is not None and named:
            targets.append(_Target(k, hit, f"{100 * hit:.6g} % of {label}: {named}"))
        elif isinstance(asked.hit, float):
            raise ScenarioError(
                [f"plan.targets.{label}: hit needs an slo; give the row an slo, or ask for ttft_p95."]
            )
        times: tuple[tuple[RequestTime, str, float | None, dict[int, float]], ...] = (
            ("ttft_s", "first token", asked.ttft_mean, asked.percentiles("ttft_")),
            ("tpot_s", "per token", asked.tpot_mean, asked.percentiles("tpot_")),
            ("e2e_s", "last token", asked.mean, asked.percentiles()),
        )
        for time_name, words, mean, bounds in times:
            if mean is not None:
                text = f"mean of {label}: {words} within {1e3 * mean:g} ms"
                targets.append(_Target(k, None, text, time_name, mean))
            for percent, bound in bounds.items():
                text = f"{percent} % of {label}: {words} within {1e3 * bound:g} ms"
                targets.append(_Target(k, percent / 100, text, time_name, bound))
    if not targets:
        raise ScenarioError(["plan: no row has a target, so that everything keeps them; give an slo."])
    return tuple(targets)


def _cases(
    scenario: Scenario, sources: Sources, spec: PlanSpec, on_look: Callable[[int, int], None]
) -> Iterator[_OfferCase]:
    routers, targets = [entry.name for entry in scenario.routers], _targets(scenario, spec)
    tried = _engines_tried(scenario, spec)
    for offer in offers_of(scenario, spec, scenario.cluster.engine_groups):
        for tp in TPS:
            sized = offer
            if offer.gpus % tp:
                if offer.gpus != 1:
                    continue
                sized = replace(offer, gpus=tp, price=offer.price * tp)
            for settings, groups in tried.items():
                servers = [engine_server(group, offer.gpu, sized.gpus, tp) for group in groups]
                prepared = prepared_on(scenario, sources, servers)
                if prepared is None:
                    continue
                for router in routers:
                    alpha, runs = 1 - spec.confidence, spec.replications
                    yield _OfferCase(prepared, targets, alpha, runs, sized, tp, router, settings, on_look)


def _engines_tried(scenario: Scenario, spec: PlanSpec) -> Mapping[str, tuple[ServerGroupSpec, ...]]:
    """Return settings in words → servers with such engines, one of each role; by default the cluster's."""
    groups = scenario.cluster.engine_groups
    first = groups[0]
    model = first.engine.model if first.engine else None
    if spec.engines:
        return {
            settings.text: tuple(
                first.model_copy(update={"engine": engine}) for engine in settings.engines(model)
            )
            for settings in spec.engines
        }
    roles = {g.engine.role: g for g in reversed(groups) if g.engine is not None and g.engine.model == model}
    both = first.engine is not None and first.engine.role == "both"
    return {"": (first,) if both else (roles["prefill"], roles["decode"])}


def _scaled(row: RequestClass, factor: float) -> RequestClass:
    return replace(row, rate=row.rate * factor)


def _single_user(row: RequestClass) -> RequestClass:
    """One user in place of many, whom no engine has without queues."""
    return replace(row, concurrency=min(row.concurrency, 1))


def tokens_per_s(system: LanguageSystem) -> float:
    """Output tokens a second that open rows ask for."""
    return sum(row.rate * row.lengths.mean_outputs for row in system.rows)
