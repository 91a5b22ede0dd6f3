"""A plan in words, rows and charts: what is drawn is what the report says."""

import re
from datetime import date

import pytest

from nona.core.document import Estimate
from nona.planning import figures as charts
from nona.planning import report_plan_options as tables
from nona.planning.plan import plan
from nona.planning.report_plan import floor_note, month_text, plan_finding, ruled_out, tightest
from nona.planning.report_plan_options import bills, plan_text
from nona.planning.results import PlanLoad, PlanOption, PlanReport, PlanTarget, PlanWeek
from nona.scenario.file import scenario_from_mapping
from tests.core.filled import FAST, SLOW, TWO_OFFERS, but, filled

DATA = TWO_OFFERS | {
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
def report():
    return plan(scenario_from_mapping(DATA))


def test_the_tightest_target_is_the_one_with_least_of_its_budget_left(report):
    simulated = [o for o in report.options if o.shares]
    assert simulated
    for option in simulated:
        found = tightest(report.targets, option.shares)
        (share,) = option.shares
        assert found.used == pytest.approx((1 - share.mean) / 0.1)
        if option.verdict == "keeps":
            assert found.used < 1
            assert found.estimate.ci95[1] < 1
    assert tightest(report.targets, ()) is None


def test_every_simulated_option_has_a_marker_of_its_verdict(report):
    drawn = charts.options_figure(report)
    named = [t for t in drawn.data if t.name]
    points = {(x, m): t.marker.symbol for t in named for x, (m, _) in zip(t.x, t.customdata, strict=True)}
    simulated = {
        (o.cost_per_hour, i): charts.SYMBOLS[o.verdict] for i, o in enumerate(report.options) if o.shares
    }
    assert points == simulated
    named = [a.text for a in drawn.layout.annotations if a.arrowcolor]
    assert len(named) == 1
    other = next(i for i, o in enumerate(report.options) if o.shares and i != report.answer.option)
    pinned = charts.options_figure(report, "p99", [other, other])
    assert len([a for a in pinned.layout.annotations if a.arrowcolor]) == 2


def test_the_cliff_shows_every_factor_and_the_headroom(report):
    known = [c for c in report.curve if c.shares]
    for measure in charts.LOAD_MEASURES:
        drawn = charts.cliff_figure(report, measure)
        assert sorted(x for t in drawn.data if t.name for x in t.x) == [c.factor for c in known]
        assert report.answer.headroom in {s.x0 for s in drawn.layout.shapes}
    (costs,) = [t for t in charts.cliff_figure(report, "Cost per million").data if not t.name]
    assert list(costs.y) == [c.cost_per_million for c in known]
    (times,) = [t for t in charts.cliff_figure(report, "p99").data if not t.name]
    assert [y / 1000 for y in times.y] == pytest.approx([c.models["one"].p99_s for c in known])


def test_a_budget_drawn_above_its_value_says_so_where_the_pointer_is(report):
    """A logarithmic axis has no place for 0: every marker that stands higher than its value tells both."""
    never_late = (Estimate(mean=1.0, ci95=(0.99, 1.0)),)
    options = [but(o, shares=never_late) if o.shares else o for o in report.options[:-1]]
    curve = [but(report.curve[0], shares=never_late), *report.curve[1:]]
    some = but(report, options=(*options, report.options[-1]), curve=tuple(curve))
    by_option, by_factor = (
        {key: tightest(some.targets, of.shares) for key, of in rows}
        for rows in (enumerate(some.options), ((c.factor, c) for c in curve))
    )
    traces = [t for t in charts.options_figure(some).data if t.name]
    told = [(y, *m) for t in traces for y, m in zip(t.y, t.customdata, strict=True)]
    option_dots = [(y, by_option[i], hover) for y, i, hover in told]
    traces = [t for t in charts.cliff_figure(some).data if t.name]
    told = [dot for t in traces for dot in zip(t.x, t.y, t.customdata, strict=True)]
    curve_dots = [(y, by_factor[x], hover) for x, y, hover in told]
    for dots in (option_dots, curve_dots):
        moved = [(y, found, hover) for y, found, hover in dots if found and y != found.used]
        assert moved
        for y, found, hover in moved:
            assert f"error budget used: {found.used:.3g}, drawn at {y:g}" in hover
        assert floor_note(found for _, found, _ in dots)
    assert not floor_note(tightest(report.targets, o.shares) for o in report.options)


def test_options_that_differ_late_in_their_names_have_bars_of_their_own(report):
    """Names cut to a length were one bar of two options."""
    mig = "3g.20gb, 2g.10gb, 2g.10gb"
    keeping = [o for o in report.options if o.verdict == "keeps"][:2]
    servers = tuple(but(s, mig=mig) for s in keeping[0].servers)
    both = zip(keeping, ("least-loaded", "least-loaded-d"), strict=True)
    alike = tuple(but(o, servers=servers, scheduler=name) for o, name in both)
    changed = but(report, options=alike)
    shown = {y for t in charts.costs_figure(changed).data for y in t.y}
    assert {y.replace("<br>", " ") for y in shown} == {b.name for b in bills(changed)}
    assert len(shown) == 2


def test_bills_add_up_to_what_a_million_queries_cost(report):
    assert report.answer is not None
    found = bills(report)
    keeping = [o for o in report.options if o.verdict == "keeps"]
    assert len(found) == min(5, len(keeping))
    for bill, option in zip(found, keeping, strict=False):
        total = sum(c.per_hour for c in bill.costs)
        assert total == pytest.approx(option.cost_per_million * 150 * 3600 / 1e6)
    bars = charts.costs_figure(report)
    assert sum(sum(t.x) for t in bars.data) == pytest.approx(sum(c.per_hour for b in found for c in b.costs))


def test_the_finding_names_what_to_buy_and_rows_have_every_option_and_one_answer(report):
    text = plan_finding(report, date(2026, 11, 24)).text
    (servers, *_) = report.best.servers
    assert text.startswith(f"Buy {servers.count} × {servers.gpu}")
    assert "(target 90 %)" in text
    assert report.answer.breaks_at is not None
    assert f"which growth passes in {month_text(report.answer.breaks_at, date(2026, 11, 24))}; " in text
    assert re.search(r"\. Misses its targets without one server of \S+\. Every cheaper option misses", text)
    shown, missed = map(
        float, re.search(r"up to ([\d.]+)× .*(?:misses from|are full at) ([\d.]+)×", text).groups()
    )
    assert shown <= report.answer.headroom < shown + 0.01 < missed, "no more than was seen to keep"
    now, *rows = tables.options(report).numbers().to_dict("records")
    assert (now["answer"], now["servers"], now["verdict"]) == ("now", f"4 × {FAST}", "keeps")
    assert now["cost_per_hour"] == pytest.approx(4 * 2.1), "at the price of the offer"
    assert f"4 × {FAST} at $8.40 per hour, keeps all targets" in plan_text(report)
    likely = but(report, present=but(report.present, by="prediction", verdict="open"))
    assert "is ◇ predicted to keep" in plan_text(likely)
    assert [i for i, row in enumerate(rows) if row["answer"]] == [report.answer.option]
    assert len(rows) == len(report.options)
    assert len(tables.series_table(report)) == len(report.evidence)
    lost = tables.failures(report).texts()
    assert [row["verdict"] for row in lost] == [f.verdict for f in report.failures]
    for row, failure in zip(lost, report.failures, strict=True):
        assert (row["tightest target"] == "ruled out by bounds") == (not failure.shares)
        if failure.verdict == "keeps":
            assert float(row["error budget used"].split()[0]) <= 1


def test_each_target_says_up_to_which_traffic_it_holds(report):
    shares = {"a": 0.9, "b": 0.99, "c": 0.5}
    targets = tuple(PlanTarget(model=m, share=s, within_s=0.1, text=m) for m, s in shares.items())

    def load(factor, *lows):
        shares = tuple(Estimate(mean=low + 0.005, ci95=(low, low + 0.01)) for low in lows)
        return PlanLoad(factor=factor, verdict="open", models={}, cost_per_million=1.0, shares=shares)

    first, second = load(1.0, 0.95, 0.985, 0.9), load(1.5, 0.91, 0.97, 0.9)
    curve = (first, second, load(2.0, 0.85, 0.9, 0.8), load(2.5, 0.91, 0.9, 0.7))
    shown = tables.targets(but(report, targets=targets, curve=curve)).texts()
    assert [tuple(row.values()) for row in shown] == [
        ("a", "1.5×", "2×"),  # what holds beyond a factor that misses is luck
        ("b", "–", "1.5×"),
        ("c", "2.5×", "–"),
    ]
    sure = (Estimate(mean=0.95, ci95=(0.91, 0.99)),)
    usual = {"models": {}, "cost_per_million": 1.0, "shares": sure}
    curve = (PlanLoad(factor=1.019, verdict="keeps", **usual), PlanLoad(factor=1.1, verdict="open", **usual))
    asked = (PlanTarget(model="a", share=0.9, within_s=0.1, text="a"),)
    (row,) = tables.targets(but(report, targets=asked, curve=curve)).texts()
    assert row["seen to hold up to"] == "1.01×"


def test_a_week_is_drawn_hour_by_hour():
    factors = tuple(1 + h % 24 / 24 for h in range(168))
    servers = tuple(1 + (h % 24 > 12) for h in range(168))
    week = filled(PlanWeek, factors=factors, peak=2.0, gpu=FAST, servers=servers)
    traffic, constant, by_hour = charts.week_figure(week).data
    assert list(traffic.y) == list(week.factors)
    assert set(constant.y) == {2}
    assert list(by_hour.y) == list(week.servers)


def test_what_the_prediction_rules_out_is_not_shown_beside_what_is_looked_at():
    usual = {"verdict": "open", "replications": 0}
    options = (
        filled(PlanOption, by="prediction", predicted=1.01, cost_per_hour=16.0, **usual),
        filled(PlanOption, by="prediction", predicted=0.9, cost_per_hour=17.0, **usual),
        filled(PlanOption, by="prediction", predicted=1.2, cost_per_hour=200.0, **usual),
        filled(
            PlanOption, by="simulation", predicted=0.9, cost_per_hour=300.0, verdict="misses", replications=8
        ),
        filled(PlanOption, by="load", predicted=None, cost_per_hour=1.0, verdict="misses", replications=0),
    )
    assert ruled_out(filled(PlanReport, options=options, answer=None)) == (False, True, True, False, True)
