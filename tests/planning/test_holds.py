"""Does the cluster hold: its verdicts are those of plain simulations, its bounds those of the plan."""

import pytest
from sizes import first

from nona.core.document import Estimate
from nona.planning.holds import holds
from nona.planning.plan import plan
from nona.planning.report_holds import HELD, holds_finding
from nona.planning.report_plan import beyond_text, headroom_text
from nona.planning.results import HoldsReport, PlanLoad, PlanOption, PlanTarget, TargetOutcome
from nona.queries.placement.capacity import executor_utilization
from nona.queries.report.report import simulation_report
from nona.queries.sweeps.numbers import LOAD, number_named
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from tests.core.filled import but, changed, filled

ROW = {"model": "resnet18", "rate": "300/s", "slo": "3 ms"}


def asked(**changes):
    small = {"jobs": 1500, "replications": 4}
    cluster = {"servers": [{"count": 2, "gpu": "t4"}]}
    base = {"cluster": cluster, "workload": [ROW], "simulation": small, "schedulers": ["least-loaded"]}
    return changed("five_models_80_servers", **{**base, **changes})


def share_at(scenario, factor):
    more = number_named(scenario, LOAD).with_value(scenario, factor)
    (row,) = simulation_report(simulate(prepare(more)).summaries, 0.0).schedulers.values()
    return row.slo_hit_rate.mean


@pytest.mark.parametrize(("slo", "verdict"), first(1, [("30 ms", "keeps"), ("3 ms", "misses")]))
def test_the_verdict_is_that_of_the_plan_and_of_a_simulation_at_the_traffic_where_it_ends(slo, verdict):
    scenario = asked(workload=[ROW | {"slo": slo}])
    report = holds(scenario)
    assert report.option.verdict == verdict == {t.verdict for t in report.targets}.pop()
    now = plan(scenario.model_copy(update={"plan": None})).present
    assert (now.verdict, now.cost_per_hour) == (verdict, report.option.cost_per_hour)
    (target,) = report.targets
    assert (target.time_s.mean <= target.target.within_s) == (verdict == "keeps")
    assert target.share.ci95[0] <= share_at(scenario, 1.0) <= target.share.ci95[1] + 1e-9
    finding = holds_finding(report)
    assert finding.lead.startswith("Holds." if verdict == "keeps" else "Does not hold.")
    assert "a month" in finding.beside
    assert HELD.fill(report.targets).texts()[0]["verdict"] == ("holds" if verdict == "keeps" else "misses")
    missed = [c.factor for c in report.curve if c.verdict == "misses"]
    if report.headroom and missed:
        assert share_at(scenario, min(missed)) < target.target.share <= share_at(scenario, report.headroom)


def test_a_broken_slo_is_no_hold_beside_a_loose_percentile_and_a_mean():
    plan_part = {"targets": {"resnet18": {"p95": "1 s", "mean": "1 s"}}}
    report = holds(asked(plan=plan_part))
    assert [(t.target.within_s, t.verdict) for t in report.targets] == [
        (0.003, "misses"), (1.0, "misses" if report.option.by == "load" else "keeps"),
        (1.0, "misses" if report.option.by == "load" else "keeps"),
    ]  # fmt: skip
    assert holds_finding(report).lead.startswith("Does not hold.")
    mean = report.targets[1]
    assert (mean.target.share, mean.share.mean) == (None, None)
    alone = holds(asked(plan={"targets": {"resnet18": {"hit": "not asked", "mean": "1 s"}}}))
    (target,) = alone.targets
    (row,) = simulation_report(simulate(prepare(asked())).summaries, 0.0).schedulers.values()
    assert target.time_s.mean == pytest.approx(row.jct_s.mean, rel=0.1)
    assert holds_finding(alone).lead.startswith("Holds. Tightest: resnet18 mean")


def test_the_headroom_goes_on_to_where_a_simulation_misses_not_to_a_cap():
    """Traffic so light that the cluster bears far more than a few times as much."""
    few = {"jobs": 500, "replications": 4}
    scenario = asked(workload=[ROW | {"rate": "10/s", "slo": "30 ms"}], simulation=few)
    report = holds(scenario)
    assert 20 < report.headroom < report.full_at
    background, by_class = executor_utilization(prepare(scenario).system)
    assert report.full_at == pytest.approx((1 - background) / max(by_class))
    long = asked(workload=[ROW | {"rate": "10/s", "slo": "30 ms"}], simulation={**few, "jobs": 20_000})
    assert share_at(long, 0.9 * report.headroom) >= 0.99 > share_at(long, 0.99 * report.full_at)
    sentence = holds_finding(report).beside
    assert f"Until {headroom_text(report.headroom)} the traffic (" in sentence
    assert "misses from" in sentence or "the executors are full at" in sentence


@pytest.mark.parametrize(
    ("verdicts", "full_at", "words"),
    [
        ({}, None, "more was not tried"),
        ({}, 5.0, "the executors are full at 5×"),
        ({2.2: "misses", 2.1: "misses"}, 5.0, "misses from 2.1×"),
        ({2.2: "misses", 2.1: "open"}, 5.0, "open at 2.1×, so that it may take more; misses from 2.2×"),
        (
            {2.0: "keeps", 2.1: "open", 2.4: "open"},
            5.0,
            "open from 2.1× to 2.4×, so that it may take more; the",
        ),
    ],
)
def test_what_is_known_of_more_traffic_is_said(verdicts, full_at, words):
    curve = [filled(PlanLoad, factor=factor, verdict=verdict) for factor, verdict in verdicts.items()]
    assert beyond_text(curve, 2.0, full_at).startswith(words)


def test_an_open_verdict_names_the_target_that_keeps_it_open_and_what_would_decide_it():
    def row(model, share, verdict):
        target = filled(PlanTarget, model=model, share=0.9, within_s=0.1)
        return filled(TargetOutcome, target=target, share=Estimate(mean=share, ci95=None), verdict=verdict)

    option = filled(PlanOption, verdict="open", replications=8, needed=64)
    rows = (row("certain", 0.91, "keeps"), row("rare", 0.95, "open"))
    finding = holds_finding(filled(HoldsReport, option=option, targets=rows))
    assert "Undecided: 95 % of rare" in finding.lead
    assert finding.lead.endswith("50 % of its error budget is used."), "5 of the 10 % that may be late"
    known = but(rows[1], share=Estimate(mean=0.91, ci95=(0.89, 0.93)))
    told = holds_finding(filled(HoldsReport, option=option, targets=(known,))).lead
    assert "its error budget is used, and with its interval 70 % to 110 %: so it may exceed 100 %" in told
    assert "64 runs would decide it" in finding.beside


def test_a_check_that_was_cancelled_says_what_it_knows_of_more_traffic():
    option = filled(PlanOption, verdict="keeps", replications=8)
    row = filled(
        TargetOutcome,
        target=filled(PlanTarget, model="m", share=0.9, within_s=0.1),
        share=Estimate(mean=0.95, ci95=None),
        verdict="keeps",
    )
    curve = tuple(
        filled(PlanLoad, factor=factor, verdict=verdict, replications=runs)
        for factor, verdict, runs in ((1.0, "keeps", 8), (2.03, "open", 16), (4.0, "misses", 1))
    )
    report = filled(HoldsReport, option=option, targets=(row,), headroom=None, curve=curve)
    told = "So far, with more traffic: 2.03× open after 16 runs and 4× misses after 1 run."
    assert told in holds_finding(report).beside
    assert "So far" not in holds_finding(but(report, headroom=2.0)).beside


@pytest.mark.verify
def test_a_cluster_without_a_price_is_judged_all_the_same_and_one_server_leaves_none():
    cluster = {
        "devices": {"own": {"base": "t4", "memory": "16 GB"}},
        "servers": [{"count": 1, "gpu": "own"}],
    }
    report = holds(asked(cluster=cluster))
    assert not report.priced
    assert [f.verdict for f in report.failures] == ["misses"]
    assert "a month" not in holds_finding(report).beside
