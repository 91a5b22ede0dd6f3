"""A plan in words, rows and charts: what is drawn is what the report says."""

from __future__ import annotations

from datetime import date

import pytest

from nona.report.plan.budget import tightest
from nona.report.plan.costs import bills
from nona.report.plan.evidence import chain_rows, failure_rows
from nona.report.plan.figures.costs import costs_figure
from nona.report.plan.figures.load import LOAD_MEASURES, cliff_figure
from nona.report.plan.figures.marks import SYMBOLS
from nona.report.plan.figures.options import options_figure
from nona.report.plan.figures.week import week_figure
from nona.report.plan.rows import option_rows
from nona.report.plan.text import month_text, plan_finding
from nona.results.plan import PlanReport, PlanWeek
from nona.scenario.file import scenario_from_mapping
from nona.study.planning.plan import plan

FAST, SLOW = "a100-40gb", "l4"
DATA = {
    "version": 1,
    "name": "two offers",
    "models": {
        "one": {
            "nodes": [{"id": "a", "op_type": "Relu", "compute_ms": {FAST: 10.0, SLOW: 20.0}}],
            "edges": [],
        }
    },
    "cluster": {"servers": [{"count": 4, "gpu": FAST}], "network": {"capacity": "100 Gbit/s"}},
    "workload": [{"model": "one", "rate": "150/s", "slo": "60 ms"}],
    "simulation": {"jobs": 1500},
    "plan": {
        "hit": 0.9,
        "offers": [{"gpu": FAST, "price": 2}, {"gpu": SLOW, "price": 0.9, "most": 12}],
        "schedulers": ["least-loaded"],
        "prices": {"gb": 0.5, "server": 0.1},
        "growth": "5%/month",
        "most": 12,
    },
}


@pytest.fixture(scope="module")
def report() -> PlanReport:
    return plan(scenario_from_mapping(DATA))


def test_the_tightest_target_is_the_one_with_least_of_its_budget_left(report: PlanReport) -> None:
    simulated = [o for o in report.options if o.shares]
    assert simulated
    for option in simulated:
        found = tightest(report.targets, option.shares)
        assert found is not None
        (share,) = option.shares
        assert share.mean is not None
        assert found.used == pytest.approx((1 - share.mean) / 0.1)
        if option.verdict == "keeps":
            assert found.used < 1
            assert found.interval is not None
            assert found.interval[1] < 1
    assert tightest(report.targets, ()) is None


def test_every_simulated_option_has_a_marker_of_its_verdict(report: PlanReport) -> None:
    drawn = options_figure(report)
    points = {
        (x, m): t.marker.symbol
        for t in drawn.data
        if t.name
        for x, (m, _) in zip(t.x, t.customdata, strict=True)
    }
    simulated = {(o.cost_per_hour, i): SYMBOLS[o.verdict] for i, o in enumerate(report.options) if o.shares}
    assert points == simulated
    assert report.answer is not None
    named = [a.text for a in drawn.layout.annotations if a.arrowcolor]
    assert len(named) == 1
    other = next(i for i, o in enumerate(report.options) if o.shares and i != report.answer.option)
    pinned = options_figure(report, "p99", [other, other])
    assert len([a for a in pinned.layout.annotations if a.arrowcolor]) == 2


def test_the_cliff_shows_every_factor_and_the_headroom(report: PlanReport) -> None:
    known = [c for c in report.curve if c.shares]
    assert report.answer is not None
    for measure in LOAD_MEASURES:
        drawn = cliff_figure(report, measure)
        assert sorted(x for t in drawn.data if t.name for x in t.x) == [c.factor for c in known]
        assert report.answer.headroom in {s.x0 for s in drawn.layout.shapes}
    (costs,) = [t for t in cliff_figure(report, "Cost per million").data if not t.name]
    assert list(costs.y) == [c.cost_per_million for c in known]
    (times,) = [t for t in cliff_figure(report, "p99").data if not t.name]
    assert [y / 1000 for y in times.y] == pytest.approx([c.models["one"].p99_s for c in known])


def test_bills_add_up_to_what_a_million_queries_cost(report: PlanReport) -> None:
    assert report.answer is not None
    found = bills(report)
    keeping = [o for o in report.options if o.verdict == "keeps"]
    assert len(found) == min(5, len(keeping))
    for bill, option in zip(found, keeping, strict=False):
        assert option.cost_per_million is not None
        total = sum(c.per_hour for c in bill.costs)
        assert total == pytest.approx(option.cost_per_million * 150 * 3600 / 1e6)
    bars = costs_figure(report)
    assert sum(sum(t.x) for t in bars.data) == pytest.approx(sum(c.per_hour for b in found for c in b.costs))


def test_the_finding_names_what_to_buy_how_tight_it_is_and_the_month(report: PlanReport) -> None:
    assert report.best is not None
    assert report.answer is not None
    text = plan_finding(report, date(2026, 11, 24))
    (servers, *_) = report.best.servers
    assert text.startswith(f"Buy {servers.count} × {servers.gpu}")
    assert "(target 90 %)" in text
    assert report.answer.breaks_at is not None
    assert f"breaks in {month_text(report.answer.breaks_at, date(2026, 11, 24))}" in text
    assert "Every cheaper option misses" in text


def test_rows_have_every_option_and_one_answer(report: PlanReport) -> None:
    rows = option_rows(report)
    assert len(rows) == len(report.options)
    assert [i for i, row in enumerate(rows) if row["answer"]] == [
        report.answer.option if report.answer else -1
    ]
    assert len(chain_rows(report)) == len(report.evidence)
    assert [row["verdict"] for row in failure_rows(report)] == [f.verdict for f in report.failures]


def test_a_week_is_drawn_hour_by_hour() -> None:
    week = PlanWeek(
        factors=tuple(1 + h % 24 / 24 for h in range(168)),
        peak=2.0,
        gpu=FAST,
        mig=None,
        servers=tuple(1 + (h % 24 > 12) for h in range(168)),
        startup_s=300,
        constant_cost=336,
        schedule_cost=250,
    )
    traffic, constant, by_hour = week_figure(week).data
    assert list(traffic.y) == list(week.factors)
    assert set(constant.y) == {2}
    assert list(by_hour.y) == list(week.servers)
