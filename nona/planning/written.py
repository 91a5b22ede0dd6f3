"""The report of a plan from what is known so far."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nona.cluster.prices import breaks_after, listed_prices
from nona.core.document import number
from nona.planning.candidates import CandidateEvidence, models_of, needed, shares_of
from nona.planning.offer_series import CLOSE, Bounds, OfferSeries, SeriesKey
from nona.planning.offers import Option
from nona.planning.planner import PlanSearch
from nona.planning.question import PlanQuestion
from nona.planning.results import (
    CountRange,
    PlanAnswer,
    PlanCost,
    PlanFailure,
    PlanLoad,
    PlanOption,
    PlanReport,
    PlanSeries,
    PlanServers,
    PlanWeek,
)
from nona.scenario.arrivals import effective_rate

SECONDS, GB = 3600.0, 1e9


@dataclass(frozen=True, slots=True)
class ExtraResults:
    """Results on the answer beside its verdict."""

    headroom: float | None = None
    curve: tuple[PlanLoad, ...] = ()
    failures: tuple[PlanFailure, ...] = ()
    week: PlanWeek | None = None
    ranges: Mapping[SeriesKey, CountRange] = field(default_factory=dict)


NOTHING = ExtraResults()
_PREDICTED = CandidateEvidence()  # of an option that was not looked at


class PlanReports:
    """The reports of one plan: a row is written again only when more is known of its option."""

    def __init__(self, planner: PlanSearch) -> None:
        self._planner = planner
        self._rows: dict[Option, tuple[CandidateEvidence, PlanOption]] = {}
        self.present: PlanOption | None = None

    def report(self, further: ExtraResults = NOTHING) -> PlanReport:
        """All that is known, options in order of cost; those only predicted are there too."""
        planner, question = self._planner, self._planner.question
        by_option = dict(planner.all_known())
        for series in planner.pure:
            if series.low < series.most:
                by_option.setdefault(series.option(series.guess), _PREDICTED)
        rows = sorted(by_option.items(), key=lambda pair: (question.cost(pair[0]), pair[0]))
        options = [self._row(option, evidence) for option, evidence in rows]
        answer = None
        if planner.best is not None:
            place = [option for option, _ in rows].index(planner.best)
            options[place] = options[place].model_copy(update={"headroom": further.headroom})
            answer = _answer(planner, planner.best, place, by_option[planner.best], further.headroom)
        return PlanReport.from_fields(
            further,
            answer=answer,
            options=tuple(options),
            present=self.present,
            confidence=question.spec.confidence,
            seconds=time.perf_counter() - planner.begin,
            currency=question.spec.prices.currency,
            targets=tuple(t.planned(question.scenario.labels[t.model]) for t in question.targets),
            growth=question.spec.growth,
            complete=planner.complete,
            cheaper_open=_cheaper_open(options, answer),
            evidence=tuple(
                _series(planner, s.series, s.found, further.ranges.get(s.series.key))
                for s in planner.searched
            ),
            prices=_price_notes(question),
            work=_work(planner.bounds, question.scenario.labels),
            group=question.spec.group,
        )

    def _row(self, option: Option, evidence: CandidateEvidence) -> PlanOption:
        entry = self._rows.get(option)
        if entry is None or entry[0] is not evidence:
            entry = self._rows[option] = evidence, option_row(self._planner, option, evidence)
        return entry[1]


def _work(bounds: Bounds, models: Sequence[str]) -> dict[str, dict[str, float]]:
    kinds = bounds.system.class_names
    return {
        model: dict(zip(kinds, seconds.tolist(), strict=True))
        for model, seconds in zip(models, bounds.work(Option(())), strict=True)
    }


def _cheaper_open(options: Sequence[PlanOption], answer: PlanAnswer | None) -> tuple[int, ...]:
    if answer is None:
        return tuple(i for i, o in enumerate(options) if o.verdict == "open" and o.replications)
    least = answer.cost_per_hour * (1 - CLOSE)
    return tuple(i for i, o in enumerate(options) if o.verdict == "open" and o.cost_per_hour < least)


def option_row(planner: PlanSearch, option: Option, evidence: CandidateEvidence) -> PlanOption:
    """Return an option as the report has it, without its headroom."""
    question = planner.question
    planned = question.schedulers[option.scheduler]
    rate = queries_per_s(planner.bounds)
    return PlanOption.from_fields(
        evidence,
        servers=servers_of(question, option),
        scheduler=planned.scheduler.name,
        batch=None if planned.batches is None else planned.batches.size,
        delay_s=None if planned.batches is None else planned.batches.delay,
        batches=None if planned.batches is None else planned.batches.text,
        cost_per_hour=question.cost(option),
        models=models_of(question, evidence),
        headroom=None,
        replications=len(evidence.summaries),
        shares=shares_of(question, evidence),
        cost_per_million=number(cost_per_million(question, option, evidence.moved, rate))
        if evidence.summaries
        else None,
        predicted=number(planner.prediction.margin(option)),
        needed=needed(question, evidence),
        grown=None if question.spec.group is None else _grown(question, option),
    )


def _grown(question: PlanQuestion, option: Option) -> PlanServers | None:
    offer = next((k for k in question.growing if option.counts[k]), None)
    return (
        None if offer is None else PlanServers.from_fields(question.offers[offer], count=option.counts[offer])
    )


def servers_of(question: PlanQuestion, option: Option) -> tuple[PlanServers, ...]:
    """Return the servers of an option as results have them."""
    return tuple(
        PlanServers.from_fields(o, count=n) for n, o in zip(option.counts, question.offers, strict=True) if n
    )


def _answer(
    planner: PlanSearch, option: Option, place: int, evidence: CandidateEvidence, headroom: float | None
) -> PlanAnswer:
    question = planner.question
    return PlanAnswer(
        option=place,
        cost_per_hour=question.cost(option),
        cost_per_million=cost_per_million(question, option, evidence.moved, queries_per_s(planner.bounds)),
        headroom=headroom,
        full_at=planner.bounds.full_at(option),
        breaks_at=None if headroom is None else breaks_after(headroom, question.spec.growth),
        costs=_costs(question, option, evidence.moved),
    )


def _costs(question: PlanQuestion, option: Option, moved: float) -> tuple[PlanCost, ...]:
    servers = [(question.offers[k].text, option.counts[k] * question.offers[k].price) for k in option.used]
    data = ("data moved", _moved_per_hour(question, moved))
    return tuple(PlanCost(part=part, per_hour=cost) for part, cost in (*servers, data) if cost)


def queries_per_s(bounds: Bounds) -> float:
    """All queries that arrive in a second, on the mean over the week."""
    peak = sum(effective_rate(q.arrivals, q.rate) for q in bounds.system.queries)
    return float(peak * bounds.question.mean_over_peak)


def cost_per_million(question: PlanQuestion, option: Option, moved: float, rate: float) -> float:
    """Price of a million queries: (servers per hour + GB moved per hour · price) / queries per hour.

    ``moved`` in bytes/s, ``rate`` in queries/s.
    """
    hourly = question.cost(option) + _moved_per_hour(question, moved)
    return 1e6 * hourly / (rate * SECONDS) if rate > 0 else math.inf


def _moved_per_hour(question: PlanQuestion, moved: float) -> float:
    return moved * SECONDS / GB * question.spec.prices.gb


def _series(
    planner: PlanSearch, series: OfferSeries, count: int | None, off: CountRange | None
) -> PlanSeries:
    question = planner.question
    offer = question.offers[series.offer]
    options = [(n, series.option(n)) for n in range(series.low + 1, series.most + 1)]
    judged = [
        (n, planner.judged(o)) for n, o in options if o in planner.asked or planner.evidence_on(o).looks
    ]
    missed = [n for n, k in judged if k.verdict == "misses" or (k.looks and k.verdict == "open")]
    kept = count if count is not None and planner.is_enough(series.option(count)) else None
    return PlanSeries(
        gpu=offer.gpu,
        mig=offer.mig,
        scheduler=question.schedulers[series.base.scheduler].text,
        others=servers_of(question, series.base),
        lowest=series.low + 1,
        missed=max((n for n in missed if kept is None or n < kept), default=None),
        kept=kept,
        settled=True,
        if_times_off=off,
    )


def _price_notes(question: PlanQuestion) -> tuple[str, ...]:
    """State the sources of the shipped prices among the offers, and what no option's cost counts."""
    given = {o.gpu for o in question.spec.offers if o.price is not None} | set(question.spec.prices.gpus)
    listed = listed_prices(question.spec.prices.kind)
    kind = "" if question.spec.prices.kind == "on-demand" else f", {question.spec.prices.kind}"
    names = dict.fromkeys(o.gpu for o in question.offers if o.gpu not in given and o.gpu in listed)
    sources = tuple(
        f"{name}{kind}: ${listed[name].usd_per_hour:.4g}/h as of {listed[name].date} "
        f"({listed[name].source}; {'read there' if listed[name].checked == 'yes' else 'recollected'})"
        for name in names
    )
    if question.scenario.cluster.engine_groups:
        return (*sources, "Servers of language models stay as they are; no option's cost counts them.")
    return sources
