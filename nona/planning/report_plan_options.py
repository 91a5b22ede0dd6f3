"""The options of a plan: rows, costs by part, why nothing cheaper does, the printed plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from nona.cluster.prices import Price, age_text
from nona.core.document import Estimate
from nona.core.tables import (
    COUNT,
    KEPT,
    MONEY,
    SHARE,
    TIME,
    Column,
    FilledTable,
    NumberKind,
    Table,
    currency_sign,
)
from nona.planning import report_plan as plan
from nona.planning import results as planning
from nona.planning.offers import gpu_text

OTHERS = 4  # options that keep, beside the answer


@dataclass(frozen=True, slots=True)
class CostBreakdown:
    """An option by name, with the parts of its cost per hour."""

    name: str
    costs: tuple[planning.PlanCost, ...]


def bills(report: planning.PlanReport, pinned: Sequence[int] = ()) -> list[CostBreakdown]:
    """Return the answer, the next options that keep, and pinned ones, the cheapest first."""
    keeping = [i for i, o in enumerate(report.options) if o.verdict == "keeps"]
    chosen = sorted({*keeping[: OTHERS + 1], *pinned})
    return [CostBreakdown(_name(o), _parts_of(report, o)) for o in (report.options[i] for i in chosen)]


def _name(option: planning.PlanOption) -> str:
    return f"{plan.servers_text(option.servers)}, {option.scheduler_text}"


def _parts_of(report: planning.PlanReport, option: planning.PlanOption) -> tuple[planning.PlanCost, ...]:
    """Return the cost of an option per hour: servers of each kind, and data moved where that is known.

    The price of data is what the cost of a million queries holds beyond that of servers.
    """
    servers = [
        planning.PlanCost(part=gpu_text(s.gpu, s.mig), per_hour=s.count * s.price) for s in option.servers
    ]
    data = 0.0
    answer = report.answer
    if answer is not None and answer.cost_per_million and option.cost_per_million is not None:
        millions = sum(c.per_hour for c in answer.costs) / answer.cost_per_million
        data = option.cost_per_million * millions - option.cost_per_hour
    least = 1e-9 * max(option.cost_per_hour, 1e-9)
    return tuple(
        c for c in (*servers, planning.PlanCost(part="data moved", per_hour=data)) if c.per_hour > least
    )


def evidence_text(report: planning.PlanReport) -> str:
    """State the evidence for the verdicts and the assumptions behind them."""
    sure = f"{100 * report.confidence:.4g} %"
    simulated = [o for o in report.options if o.by == "simulation"]
    runs = sum(o.replications for o in simulated)
    return (
        f"{len(simulated):,} options were simulated in {runs:,} runs. Each verdict has {sure} confidence, "
        "which covers all its targets and all repeated checks. Bounds rule out all counts below the first "
        "of each row. Where a count of servers misses, lower counts in the same row are assumed to miss too. "
        "This is proved for one queue with equal servers, not for every scheduler."
    )


class _Target(NamedTuple):
    report: planning.PlanReport
    place: int

    @property
    def target(self) -> planning.PlanTarget:
        return self.report.targets[self.place]

    @property
    def missed_from(self) -> float | None:
        factors = [c.factor for c in self.report.curve if self._is_missed(c)]
        return min(factors, default=None)

    @property
    def held_up_to(self) -> float | None:
        factors = [c.factor for c in self.report.curve if self._is_held(c)]
        return max((f for f in factors if f < (self.missed_from or math.inf)), default=None)

    def _is_missed(self, load: planning.PlanLoad) -> bool:
        ends = self.target.used_of(load.shares[self.place]).ci95 if self.place < len(load.shares) else None
        return ends is not None and ends[0] > 1

    def _is_held(self, load: planning.PlanLoad) -> bool:
        """Return whether it was seen to hold; not where all seem to and the stricter verdict is open."""
        pairs = zip(self.report.targets, load.shares, strict=False)
        used = [target.used_of(share).ci95 for target, share in pairs]
        seem = [ends is not None and ends[1] <= 1 for ends in used]
        return load.verdict == "keeps" or (self.place < len(seem) and seem[self.place] and not all(seem))


TARGETS = Table[_Target](
    "",
    (
        Column("target", lambda r: r.target.text),
        Column("seen to hold up to", lambda r: r.held_up_to, NumberKind(plan.headroom_text)),
        Column("seen to miss from", lambda r: r.missed_from, NumberKind(lambda f: plan.missed_text([f]))),
    ),
)


def targets(report: planning.PlanReport) -> FilledTable:
    """How much traffic the answer was seen to hold each target under, of the factors that were tried."""
    return TARGETS.fill(_Target(report, k) for k in range(len(report.targets)))


def _slowest_s(models: Mapping[str, planning.PlanModel]) -> float | None:
    return max((m.p99_s for m in models.values() if m.p99_s is not None), default=None)


class _Load(NamedTuple):
    report: planning.PlanReport
    load: planning.PlanLoad

    @property
    def used(self) -> Estimate | None:
        budget = plan.tightest(self.report.targets, self.load.shares)
        return None if budget is None else budget.estimate


CURVE = Table[_Load](
    "",
    (
        Column("traffic", lambda r: r.load.factor, NumberKind("{:.3g}×".format)),
        Column("verdict", lambda r: r.load.verdict),
        Column("error budget used", lambda r: r.used, interval=True),
        Column("p99 of the slowest", lambda r: _slowest_s(r.load.models), TIME),
        Column("cost per million", lambda r: r.load.cost_per_million, MONEY),
    ),
)


def curve(report: planning.PlanReport) -> FilledTable:
    """Each factor on the traffic that the answer was tried with."""
    return CURVE.fill(_Load(report, load) for load in report.curve)


CHAINS = Table[planning.PlanSeries](
    "",
    (
        Column("servers counted", lambda c: gpu_text(c.gpu, c.mig), width=200),
        Column(
            "beside",
            lambda c: plan.servers_text(c.others) or None,
            optional=True,
            help="Servers whose number stays.",
            width=180,
        ),
        Column("scheduler", lambda c: c.scheduler, width=210),
        Column("ruled out ≤", lambda c: c.lowest - 1, COUNT, help="By bounds.", width=86),
        Column("not kept ≤", lambda c: c.missed, COUNT, help="Misses or open.", width=84),
        Column("keeps ≥", lambda c: c.kept, COUNT, width=70),
        Column(
            "if task times are wrong",
            lambda c: plan.range_text(c.if_times_off) if c.if_times_off else None,
            optional=True,
            help="All modelled times at the one or the other end of their 90 % intervals.",
        ),
    ),
)


def series_table(report: planning.PlanReport) -> FilledTable:
    """For each kind of cluster, the counts of its servers: ruled out, missed, kept."""
    return CHAINS.fill(report.evidence)


class _Failure(NamedTuple):
    failure: planning.PlanFailure
    budget: plan.ErrorBudget | None


FAILURES = Table[_Failure](
    "",
    (
        Column("lost", lambda r: r.failure.lost),
        Column("left", lambda r: plan.servers_text(r.failure.servers) or "nothing"),
        Column("verdict", lambda r: r.failure.verdict),
        Column("tightest target", lambda r: r.budget.text if r.budget else "ruled out by bounds"),
        Column("error budget used", lambda r: r.budget.estimate if r.budget else None, interval=True),
    ),
)


def failures(report: planning.PlanReport) -> FilledTable:
    """Return what is left without a server of each kind, and without a rack, with its tightest target."""
    return FAILURES.fill(_Failure(f, plan.tightest(report.targets, f.shares)) for f in report.failures)


def work(report: planning.PlanReport) -> FilledTable:
    """Return the time for which one query of each model occupies each kind of executor."""

    def on(kind: str) -> Column[Mapping[str, float]]:
        return Column(kind, lambda seconds: seconds.get(kind), TIME)

    kinds = dict.fromkeys(kind for seconds in report.work.values() for kind in seconds)
    return Table("model", tuple(map(on, kinds))).fill(report.work)


MODELS = Table[planning.PlanModel](
    "model",
    (
        Column("within SLO", lambda m: m.hit_rate, KEPT, interval=True),
        Column("p99", lambda m: m.p99_s, TIME),
    ),
)


class _Option(NamedTuple):
    report: planning.PlanReport
    place: int
    mark: str
    option: planning.PlanOption

    @property
    def budget(self) -> plan.ErrorBudget | None:
        return plan.tightest(self.report.targets, self.option.shares)


PRICE = "per hour"
OPTIONS = Table[_Option](
    "",
    (
        Column("option", lambda r: r.place if r.place >= 0 else None, COUNT),
        Column(
            "answer",
            lambda r: r.mark,
            decides=True,
            help=f"{plan.PRESENT}: the cluster as it is. {plan.ANSWER}: the answer.",
            width=58,
        ),
        Column(
            PRICE,
            lambda r: r.option.cost_per_hour,
            MONEY,
            key="cost_per_hour",
            decides=True,
            help="Cost of servers, without data moved.",
            width=96,
        ),
        Column(
            "verdict",
            lambda r: "not run" if r.option.by == "prediction" else r.option.verdict,
            decides=True,
            help="Not simulated: ordered by prediction alone, so it is open.",
            width=62,
        ),
        Column("servers", lambda r: plan.servers_text(r.option.servers), decides=True, width=250),
        Column("scheduler", lambda r: r.option.scheduler, decides=True, width=98),
        Column(
            "batches", lambda r: (r.option.batches or "").removeprefix("batches of "), decides=True, width=140
        ),
        Column(
            "budget used",
            lambda r: r.budget.used if r.budget else None,
            key="error_budget_used",
            decides=True,
            help="Late jobs of the tightest target over those that it allows; above 1: missed.",
            width=84,
        ),
        Column(
            "p99",
            lambda r: _slowest_s(r.option.models),
            TIME,
            decides=True,
            help="Of the slowest model.",
            width=64,
        ),
        Column("in time", lambda r: r.budget.share if r.budget else None, KEPT, interval=True),
        Column("tightest target", lambda r: r.budget.target.text if r.budget else None),
        Column("cost per million", lambda r: r.option.cost_per_million, MONEY),
        Column("busy", lambda r: r.option.utilization, SHARE),
        Column("headroom", lambda r: r.option.headroom, NumberKind(plan.headroom_text)),
        Column("runs", lambda r: r.option.replications, COUNT),
        Column("evidence", lambda r: r.option.by),
        Column("why", lambda r: plan.why_text(r.option), width=420),
    ),
)
PRINTED = (
    *("answer", "servers", "scheduler", "batches", "cost_per_hour", "verdict", "evidence", "in time"),
    *("p99", "headroom", "runs", "why"),
)


def options(report: planning.PlanReport, places: Sequence[int] | None = None) -> FilledTable:
    """Return the present cluster, then each option, the cheapest first.

    ``places``: those of :func:`marked`.
    """
    entries = plan.marked(report)
    first = len(report.options) - len(entries)
    rows = [_Option(report, k, *entry) for k, entry in enumerate(entries, start=first)]
    filled = OPTIONS.fill(rows if places is None else [rows[k] for k in places])
    filled = filled.renamed(PRICE, f"{currency_sign(report.currency)} {PRICE}")
    return filled if any(option.batches for option in report.options) else filled.without_columns("batches")


MOST_ROWS = 40


def plan_text(report: planning.PlanReport, today: date | None = None) -> str:
    """Format the output of ``nona plan``; ``today`` as for :func:`plan_finding`."""
    lines = [plan.plan_finding(report, today).text]
    if report.group is not None:
        lines += ["", series_table(report).text(), ""]
    if report.answer is not None:
        lines.append(f"Cost: {plan.answer_text(report.answer, report.currency)}.")
    lines.append(f"Targets: {'; '.join(t.text for t in report.targets)}.")
    if now := plan.present_text(report):
        lines.append(now)
    if report.week is not None:
        lines.append(plan.week_text(report.week, report.currency))
    entries = plan.marked(report)
    looked = [k for k, (_, option) in enumerate(entries) if option.by not in plan.BOUNDS]
    shown = (looked or list(range(len(entries))))[:MOST_ROWS]
    lines += ["", options(report, shown).select(*PRINTED).text()] if shown else []
    if len(entries) > len(shown):
        ruled = len(entries) - len(looked) if looked else 0
        dearer = len(entries) - ruled - len(shown)
        lines.append(f"Not shown: {ruled} ruled out by bounds, {dearer} more expensive; --json has all.")
    if report.curve:
        lines += ["", curve(report).text(), "", targets(report).text()]
    if report.prices:
        lines += ["", "Prices as of their date; check them before you buy:", *report.prices]
    return "\n".join(lines)


PRICE_LIST = Table[Price](
    "GPU",
    (
        Column("$ per hour", lambda p: p.usd_per_hour, MONEY),
        Column("as of", lambda p: p.date),
        Column("age", lambda p: age_text(p.date, date.today())),
        Column("source", lambda p: p.source),
        Column("provenance", lambda p: "read there" if p.checked == "yes" else "recollected"),
    ),
)
