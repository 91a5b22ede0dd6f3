"""Plans as saved items: what is said of one, and several beside each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nona.report.plan import day_of, plan_finding
from nona.report.saved import scenario_line
from nona.results.document import UNKNOWN, Estimate
from nona.results.planning import PlanModel, PlanOutcome
from nona.results.saved import MOST_ABOUT, SavedAnswer, SavedFacts, Unit
from nona.scenario.file import parse_scenario
from nona.sources.lookup import Sources
from nona.sources.opening import pack_bundle
from nona.store.contents import PLAN, Answers, Contents, NewItem
from nona.units import duration

_LONGEST = 1000  # characters of a finding


def facts(plan: PlanOutcome) -> SavedFacts:
    """Scenario, schedulers, models and answer of a plan."""
    about, report = plan.about, plan.report
    early = "" if plan.ended_early_s is None else f"Cancelled after {duration(plan.ended_early_s)}. "
    finding = early + plan_finding(report, day_of(about.made)).text
    return SavedFacts(
        fingerprint=about.hash,
        version=about.version,
        made=about.made,
        scenario=about.name,
        schedulers=tuple(dict.fromkeys(o.scheduler for o in report.options)),
        models=plan.models,
        finding=finding if len(finding) <= _LONGEST else f"{finding[: _LONGEST - 1]}…",
        about=scenario_line(parse_scenario(about.yaml))[:MOST_ABOUT],
    )


def plan_item(name: str, note: str, plan: PlanOutcome, sources: Sources) -> NewItem:
    """A plan as it is saved, with the files that its scenario names.

    Raises
    ------
    NonaError
        When a file is missing.
    """
    bundle = pack_bundle(parse_scenario(plan.about.yaml), sources)
    return NewItem(name, note, Contents.of(PLAN, bundle, plan), facts(plan))


def answers(plans: Sequence[PlanOutcome]) -> Answers:
    """The answer of each plan: what it costs, its headroom, and what each model gets.

    Costs are compared where all plans have the same currency.
    """
    first, by_plan = plans[0].report.currency, [plan.report.answer for plan in plans]
    rows: list[SavedAnswer] = []
    if all(plan.report.currency == first for plan in plans):
        hourly = [_number(None if a is None else a.cost_per_hour) for a in by_plan]
        million = [_number(None if a is None else a.cost_per_million) for a in by_plan]
        rows.append(_row("answer", f"cost per hour, {first}", "number", hourly))
        rows.append(_row("answer", f"cost per million queries, {first}", "number", million))
    headroom = [_number(None if a is None else a.headroom) for a in by_plan]
    rows.append(_row("answer", "headroom, times the traffic", "number", headroom))
    for name in dict.fromkeys(name for plan in plans for name in plan.models):
        models = [_model(plan, name) for plan in plans]
        hits = [UNKNOWN if m is None else m.hit_rate for m in models]
        p99 = [_number(None if m is None else m.p99_s) for m in models]
        rows += [_row(name, "within the SLO", "share", hits), _row(name, "p99", "s", p99)]
    rows = [row for row in rows if any(value.mean is not None for value in row.values)]
    return Answers(tuple(rows), ("", *(_note(plans[0], plan) for plan in plans[1:])))


def _model(plan: PlanOutcome, name: str) -> PlanModel | None:
    """A model on the option that the plan answers with."""
    best = plan.report.best
    return None if best is None else best.models.get(name)


def _number(value: float | None) -> Estimate:
    return UNKNOWN if value is None else Estimate(mean=value, ci95=None)


def _row(subject: str, measure: str, unit: Unit, values: Sequence[Estimate]) -> SavedAnswer:
    changes = tuple(change(values[0], value) for value in values)
    return SavedAnswer(
        subject=subject,
        measure=measure,
        unit=unit,
        values=tuple(values),
        changes=changes,
        clear=tuple(c.ci95 is not None and not c.ci95[0] <= 0 <= c.ci95[1] for c in changes),
    )


def change(before: Estimate, after: Estimate) -> Estimate:
    """Return the difference ``after`` − ``before``, with an interval where both have one.

    Formula: with values a, b and intervals [l, u], the difference d = b − a lies within
    d − √((b − l_b)² + (u_a − a)²) and d + √((u_b − b)² + (a − l_a)²) (Newcombe 1998, for estimates that do
    not depend on each other; those of equal random numbers are closer together).

    >>> change(Estimate(mean=0.5, ci95=(0.2, 0.8)), Estimate(mean=0.9, ci95=(0.5, 1.0))).ci95
    (-0.09999999999999998, 0.7162277660168379)
    """
    if before.mean is None or after.mean is None:
        return UNKNOWN
    d = after.mean - before.mean
    if before.ci95 is None or after.ci95 is None:
        return Estimate(mean=d, ci95=None)
    down = math.hypot(after.mean - after.ci95[0], before.ci95[1] - before.mean)
    up = math.hypot(after.ci95[1] - after.mean, before.mean - before.ci95[0])
    return Estimate(mean=d, ci95=(d - down, d + up))


def _note(first: PlanOutcome, plan: PlanOutcome) -> str:
    """List the differences that limit the comparison of two answers."""
    notes = []
    if first.report.currency != plan.report.currency:
        notes.append(f"its currency is {plan.report.currency}, so that costs are not compared")
    if [t.text for t in first.report.targets] != [t.text for t in plan.report.targets]:
        notes.append("its targets are others")
    return "; ".join(notes) or "the same targets; the answers are compared, not each option"
