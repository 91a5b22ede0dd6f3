"""What to buy for requests to language models: the fewest servers of each offer under each router.

Engines span 1, 2, 4 … GPUs of a server. The load by formula bounds the number from below; above it the test
of :mod:`nona.planning.verdict` decides on simulated replications whether the share of requests that meet all
targets of their row is large enough.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from nona.errors import ScenarioError
from nona.language.draws import replays_once
from nona.language.formula import predict
from nona.language.records import Run
from nona.language.run import simulate_once
from nona.language.system import LanguageSystem, RequestClass
from nona.planning.least import driven, least
from nona.planning.offers import Offer
from nona.planning.verdict import Counts, counted, settle, verdict
from nona.results.document import Verdict
from nona.results.language import LanguageOption, LanguagePlan
from nona.scenario.language import EngineSpec
from nona.scenario.plan import PlanSpec, TargetSpec
from nona.scenario.schema import Scenario, ServerGroupSpec
from nona.sources.lookup import Sources
from nona.statistics import Array
from nona.study.language.preparation import LanguageStudy, MisfitError, prepare_language
from nona.study.language.simulation import RequestTime, drawn, over_targets
from nona.study.planning.question import offers_of

MOST_REPLICATIONS, MOST_JOBS = 16, 6000
IDLE = 0  # a load of next to nothing
TPS = (1, 2, 4, 8)
LOADS = 20  # headroom is sought in twentieths, up to twice the traffic

_Key = tuple[str, int, int, str, str]
OnProgress = Callable[[LanguagePlan, str, float], None]


def _unheard(plan: LanguagePlan, text: str, fraction: float) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class _Target:
    """So many requests of a row meet its slo, or one of their times is within a bound."""

    row: int
    share: float
    text: str
    time: RequestTime | None = None
    bound_s: float = 1.0

    def over(self, system: LanguageSystem, run: Run) -> Array:
        return over_targets(system, run, self.row, self.time, self.bound_s)


@dataclass(frozen=True, eq=False)
class _Case:
    """An offer in engines of ``tp`` GPUs under a router: how many servers, judged as often as asked."""

    study: LanguageStudy
    targets: tuple[_Target, ...]
    alpha: float
    offer: Offer
    tp: int
    router: str
    settings: str
    judged: dict[tuple[int, int], tuple[Verdict, float, int]] = field(default_factory=dict)

    @property
    def engines(self) -> int:
        return self.offer.gpus // self.tp

    def system(self, servers: int, load: int = 20) -> LanguageSystem:
        """So many servers, with ``load`` twentieths of the traffic."""
        one = self.study.system
        engines = tuple(
            replace(engine, name=f"{engine.name} of {k + 1}", server=k)
            for k in range(servers)
            for engine in one.engines
        )
        factor = load / 20 if load != IDLE else 0.01 / self.least
        rows = tuple(_scaled(row, factor) for row in one.rows) if load != 20 else one.rows
        return replace(one, engines=engines, rows=rows)

    @cached_property
    def least(self) -> int:
        """Servers below which an engine has more work than time."""
        system = self.system(1)
        said = predict(system, 0)
        return 1 if said is None else max(1, math.ceil(said.load))

    def judge(self, servers: int, load: int = 20) -> Verdict:
        """Whether all rows keep their targets."""
        if (servers, load) not in self.judged:
            self.judged[servers, load] = self._judge(self.system(servers, load))
        return self.judged[servers, load][0]

    def _judge(self, system: LanguageSystem) -> tuple[Verdict, float, int]:
        spec = self.study.scenario.simulation
        if spec.jobs > MOST_JOBS:
            spec = spec.model_copy(update={"jobs": MOST_JOBS})
        shares = [target.share for target in self.targets]
        runs: list[Run] = []

        def simulate(count: int) -> list[Run]:
            for replication in range(len(runs), count):
                requests, window = drawn(system, spec, replication)
                runs.append(simulate_once(system, requests, self.router, window))
            return runs

        def counts() -> list[Counts]:
            return [counted([t.over(system, run) for run in runs], t.share) for t in self.targets]

        if all(replays_once(row) for row in system.rows):
            simulate(1)
            seen = counts()
            keeps = all(c.share >= share for c, share in zip(seen, shares, strict=True))
            decision: Verdict = "keeps" if keeps else "misses"
        else:
            decision = settle(
                simulate,
                lambda _, look, looks: verdict(counts(), shares, self.alpha, look, looks),
                MOST_REPLICATIONS,
            ).verdict
            seen = counts()
        margins = [c.share - share for c, share in zip(seen, shares, strict=True)]
        worst = min(range(len(margins)), key=margins.__getitem__)
        return decision, seen[worst].share, self.targets[worst].row

    def option(self, survive: bool, below: float) -> LanguageOption:
        """The fewest servers that keep all targets; one more where one may be down.

        Only what costs at most ``below`` an hour is tried.
        """
        spare, most = (1 if survive else 0), self.offer.most
        if below < math.inf:
            most = min(most, math.floor(below / self.offer.price * (1 + 1e-9)) - spare)
        if self.least > most:
            price = (self.least + spare) * self.offer.price
            return self._shown(None, "open", None, 0, f"not tried: at least {price:g} an hour by its load")
        if self.judge(1, IDLE) == "misses":
            _, share, row = self.judged[1, IDLE]
            return self._shown(None, "misses", share, row, "even an idle engine misses")
        count = driven(least(most, self.least, low=self.least - 1), lambda n: self.judge(n) == "keeps")
        if count is None:
            _, share, row = self.judged[max(self.judged)]
            if most < self.offer.most:
                return self._shown(None, "open", share, row, f"{most} do not do; more would cost more")
            return self._shown(None, "misses", share, row, f"misses with {most}, the most on offer")
        decision, share, row = self.judged[count, 20]
        return self._shown(count + spare, decision, share, row)

    def _shown(
        self, servers: int | None, decision: Verdict, share: float | None, row: int, note: str = ""
    ) -> LanguageOption:
        price = None if servers is None else servers * self.offer.price
        made = tokens_per_s(self.study.system)
        return LanguageOption.like(
            self,
            gpu=self.offer.gpu,
            gpus=self.offer.gpus,
            servers=servers,
            price=price,
            per_million=None if price is None or not made else price / (made * 3600 / 1e6),
            verdict=decision,
            share=share,
            tightest=self.study.system.rows[row].name,
            provenance=self.study.facts[0].steps.provenance,
            error=self.study.error,
            note=note,
        )

    @property
    def key(self) -> _Key:
        return self.offer.gpu, self.offer.gpus, self.tp, self.settings, self.router

    def servers_if_off(self, survive: bool) -> tuple[int | None, int | None] | None:
        """The fewest servers with step times at either end of their error; ``None`` where they have none."""
        if not self.study.error:
            return None
        ends = [replace(self, study=self.study.with_steps_off(side), judged={}) for side in (-1, 1)]
        fewer, more = (end.option(survive, math.inf).servers for end in ends)
        return fewer, more

    def most_traffic(self, servers: int) -> float:
        """The largest multiple of the traffic, in twentieths up to two, at which all targets hold."""
        first = driven(
            least(LOADS + 1, 2), lambda n: n == LOADS + 1 or self.judge(servers, 20 + n) != "keeps"
        )
        return (20 + (first or 1) - 1) / 20


def plan_language(scenario: Scenario, sources: Sources, on_progress: OnProgress = _unheard) -> LanguagePlan:
    """Find the fewest servers of every offer under every router, and what they cost.

    Raises
    ------
    ScenarioError
        Without targets, without a price, or with rows of tasks beside.
    """
    begin, spec = time.perf_counter(), scenario.plan or PlanSpec()
    if scenario.workload:
        raise ScenarioError(
            ["plan: rows of tasks stand beside those with llm; plan each in its own scenario."]
        )
    labels = scenario.language_labels
    unknown = [name for name in spec.targets if name not in labels]
    if unknown:
        raise ScenarioError([f"plan.targets: {unknown[0]!r} is no row of the workload; correct the name."])
    options: list[LanguageOption] = []
    cases = list(_cases(scenario, sources, spec))
    if not cases:
        raise ScenarioError(["plan.offers: the model fits no GPU on offer; offer larger ones, or more each."])
    made = tokens_per_s(cases[0].study.system)
    shown = _plan(scenario, spec, options, begin, made)
    cheapest = math.inf
    for place, case in enumerate(sorted(cases, key=lambda c: c.least * c.offer.price)):
        settings = f"{case.settings}, " if case.settings else ""
        text = f"{case.offer.text}, {case.tp} GPU each, {settings}{case.router}"
        on_progress(shown, text, place / len(cases))
        options.append(case.option(spec.survive == "server", cheapest))
        if options[-1].price is not None:
            cheapest = min(cheapest, options[-1].price)
        shown = _plan(scenario, spec, options, begin, made)
    best = shown.best
    if best is not None and best.servers is not None:
        case = next(c for c in cases if c.key == _key(best))
        on_progress(shown, "headroom of the cheapest", 1.0)
        loads = not any(replays_once(row) or row.concurrency for row in case.study.system.rows)
        more = {
            "headroom": case.most_traffic(best.servers) if loads else None,
            "without_one": case.judge(best.servers - 1) if best.servers > 1 else "misses",
            "servers_off": case.servers_if_off(spec.survive == "server"),
        }
        options[options.index(best)] = best.model_copy(update=more)
    return _plan(scenario, spec, options, begin, made)


def _key(option: LanguageOption) -> _Key:
    return option.gpu, option.gpus, option.tp, option.settings, option.router


def _plan(
    scenario: Scenario, spec: PlanSpec, options: list[LanguageOption], begin: float, made: float
) -> LanguagePlan:
    def rank(option: LanguageOption) -> tuple[bool, float, float]:
        price = math.inf if option.price is None else option.price
        return option.verdict != "keeps", price, -(option.share or 0.0)

    return LanguagePlan(
        options=tuple(sorted(options, key=rank)),
        targets=tuple(target.text for target in _targets(scenario, spec)),
        tokens_per_s=made,
        currency=spec.prices.currency,
        growth=spec.growth,
        seconds=time.perf_counter() - begin,
    )


def _targets(scenario: Scenario, spec: PlanSpec) -> tuple[_Target, ...]:
    targets: list[_Target] = []
    for k, (label, row) in enumerate(zip(scenario.language_labels, scenario.language, strict=True)):
        asked = spec.targets.get(label, TargetSpec(hit=spec.hit))
        limits = {"first token": row.slo.ttft, "per token": row.slo.tpot, "last token": row.slo.e2e}
        named = ", ".join(f"{name} within {1e3 * limit:g} ms" for name, limit in limits.items() if limit)
        if asked.hit is not None and named:
            targets.append(_Target(k, asked.hit, f"{100 * asked.hit:.6g} % of {label}: {named}"))
        elif label in spec.targets and asked.hit is not None:
            raise ScenarioError(
                [f"plan.targets.{label}: hit needs an slo; give the row an slo, or ask for ttft_p95."]
            )
        times: tuple[tuple[RequestTime, str, dict[int, float]], ...] = (
            ("ttft_s", "first token", asked.percentiles("ttft_")),
            ("tpot_s", "per token", asked.percentiles("tpot_")),
            ("e2e_s", "last token", asked.percentiles()),
        )
        for time_name, words, bounds in times:
            for percent, bound in bounds.items():
                text = f"{percent} % of {label}: {words} within {1e3 * bound:g} ms"
                targets.append(_Target(k, percent / 100, text, time_name, bound))
    if not targets:
        raise ScenarioError(["plan: no row has a target, so that everything keeps them; give an slo."])
    return tuple(targets)


def _cases(scenario: Scenario, sources: Sources, spec: PlanSpec) -> Iterator[_Case]:
    """Every offer in engines of every size that its servers allow and the model fits, under every router."""
    template = next((g for g in scenario.cluster.servers if g.engine is not None), None)
    own = template.engine if template is not None and template.engine is not None else EngineSpec()
    routers, targets = [entry.name for entry in scenario.routers], _targets(scenario, spec)
    for offer in offers_of(scenario, spec):
        for tp in TPS:
            sized = offer
            if offer.gpus % tp:
                if offer.gpus != 1:
                    continue
                sized = replace(offer, gpus=tp, price=offer.price * tp)
            same = template is not None and template.gpu == offer.gpu and own.tp == tp
            offered: dict[str, EngineSpec] = {settings.text: settings for settings in spec.engines}
            for settings, of in (offered or {"": own}).items():
                engine = of.model_copy(update={"model": own.model, "tp": tp, "role": "both"})
                if not same and of is own:
                    engine = engine.model_copy(update={"steps": None, "blocks": "auto"})
                group = ServerGroupSpec(
                    count=1, gpu=offer.gpu, gpus=sized.gpus, vcpus=offer.vcpus, engine=engine
                )
                cluster = scenario.cluster.model_copy(update={"servers": (group,)})
                try:
                    study = prepare_language(scenario.model_copy(update={"cluster": cluster}), sources)
                except MisfitError:
                    continue
                for router in routers:
                    yield _Case(study, targets, 1 - spec.confidence, sized, tp, router, settings)


def _scaled(row: RequestClass, factor: float) -> RequestClass:
    return replace(row, rate=row.rate * factor)


def tokens_per_s(system: LanguageSystem) -> float:
    """Output tokens a second that open rows ask for."""
    return sum(row.rate * row.lengths.mean_outputs for row in system.rows)
