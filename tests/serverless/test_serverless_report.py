"""Serverless figures and titles: drawn is what was given, names are text, titles follow numbers."""

import pytest

from nona.core.document import Estimate
from nona.serverless import results as serverless
from nona.serverless.chart_data import LayoutBatch
from nona.serverless.report import figures as charts
from nona.serverless.report import findings
from nona.serverless.report.layouts import clipped, layouts_title, placed, stranded_spans
from nona.serverless.report.text import PARTS, POLICIES, serverless_text, sharing_text
from tests.core.filled import NASTY, but, drawn, filled
from tests.queries.report.simulation_rows import within


def spread(p95=0.9):
    return serverless.Spread(mean=0.5, p5=0.3, p25=0.4, p50=0.5, p75=0.6, p95=p95, p99=2.0)


def policy(hits, usd, p95=0.9, state="stable"):
    shares = {"slo_hit_rate": hits, "cost_per_call_usd": usd}
    per_hit = None if not hits or usd is None else usd / hits
    means = {n: within(v, 0.1) for n, v in (shares | {"cost_per_hit_usd": per_hit}).items()}
    of = {"slo_s": 1.0, "calls": 10, "latency_s": spread(p95), **shares}
    searches = {"mean": 0.002, "p5": 0.0, "p25": 0.0, "p50": 0.001, "p75": 0.002, "p95": 0.004, "p99": 0.005}
    return filled(
        serverless.ServerlessPolicyResult,
        **means,
        state=state,
        state_reason="" if state == "stable" else "calls pile up",
        replications=3,
        latency_s=serverless.Latency(ci95=None, **spread(p95).to_json()),
        applications={"app": filled(serverless.ApplicationOutcome, **of)},
        cold_start_rate=0.01,
        search_s=serverless.Spread(**searches),
        steps_mean=10.0,
        utilization=serverless.Utilization(vcpu=0.5, vgpu=0.6),
        calls=serverless.CallCounts(arrived=10, completed=10, in_flight=0),
    )


COSTS = {"cost_per_call_usd": 5e-5, "cost_per_hit_usd": 5e-5, "curve": ((0.0, 4e-5), (1.0, 5e-5))}
ORACLE = serverless.Oracle(most_hits=1.0, how="all is free", **COSTS)


def report(**policies):
    of = {"oracle": ORACLE, "checks": {"counts": True}, "seconds": 1.0}
    return filled(serverless.ServerlessReport, policies=policies, **of)


def test_the_pareto_figure_shows_both_means_the_oracle_and_names_as_text():
    given = {"esg": policy(0.9, 1e-4), NASTY: policy(0.5, 2e-4, state="overloaded")}
    made = charts.pareto_figure(given, ORACLE)
    points = {t.name: (t.x[0], t.y[0]) for t in made.data if t.mode == "markers"}
    assert points["esg"] == pytest.approx((0.1, 90.0))
    assert any("overloaded" in name for name in points)
    (oracle,) = [t for t in made.data if t.mode == "lines"]
    assert list(oracle.x) == pytest.approx([0.04, 0.05])
    assert "<b>x" not in drawn(made)
    assert len(charts.pareto_figure({"esg": policy(None, None)}, ORACLE).data) == 1  # the oracle alone


def test_latency_boxes_are_percentiles_over_the_slo_and_searches_of_no_time_have_no_point():
    given = {"esg": policy(0.9, 1e-4), "orion": policy(0.5, 1e-4, p95=1.4)}
    (esg, _) = charts.latency_figure(given).data
    box = (esg.lowerfence[0], esg.q1[0], esg.median[0], esg.q3[0], esg.upperfence[0])
    assert box == pytest.approx((0.3, 0.4, 0.5, 0.6, 0.9))
    (_, orion) = charts.latency_figure(given, "app").data
    assert orion.upperfence[0] == pytest.approx(1400)
    made = charts.search_figure({"esg": policy(1.0, 1.0).search_s, "infless": filled(serverless.Spread)})
    values = [v for t in made.data for v in t.x]
    assert values
    assert all(v > 0 for v in values)


def test_text_and_page_tell_every_policy_and_of_instances_where_some_stand():
    given = report(esg=policy(0.9, 1e-4), orion=policy(None, None, state="overloaded"))
    told = serverless_text(given)
    assert "calls pile up" in told
    assert "oracle: $0.05 per 1,000 calls" in told
    assert "checks: all passed" in told
    assert "mps" in sharing_text(serverless.SharingReport(sharing={"mig-counter": given, "mps": given}))
    standing = serverless.StandingOutcome(instances=7.25, starts=3, busy_share=0.6, idle_share=0.4)
    stands = but(policy(0.5, 2e-4), standing=standing)
    mixed, plain = report(leased=policy(0.9, 1e-4), stands=stands), report(leased=policy(0.9, 1e-4))
    assert "  instances  starts  " in serverless_text(mixed)
    assert "instances" not in serverless_text(plain)
    stand = PARTS[-1]
    assert stand.filled(mixed.policies).texts() == [
        {"policy": "stands", "instances": "7.25", "starts": "3", "busy": "60.0 %", "idle": "40.0 %"}
    ]
    assert not stand.filled(plain.policies)
    again = serverless.ServerlessReport.model_validate_json(mixed.model_dump_json())
    assert again.policies["stands"].standing == stands.standing


def tried(nodes, hits=0.99):
    of = {"slo_hit_rate": Estimate(mean=hits, ci95=(0.8, 1.2)), "verdict": "keeps", "usd_hour": 5.0 * nodes}
    return filled(serverless.TriedNodes, nodes=nodes, **of)


def nodes_report(target, **policies):
    setting = serverless.NodesSetting(calls=10, seed=1, name="made up")
    return serverless.NodesReport(target=target, most=9, policies=policies, setting=setting)


def test_the_finding_on_nodes_names_who_needs_fewest_and_who_never_does():
    a, b = (serverless.NodesFor(found=tried(nodes), tried=()) for nodes in (4, 6))
    none = serverless.NodesFor(found=None, tried=())
    told = findings.nodes_finding(nodes_report(0.99, a=a, b=b, c=none))
    assert told.startswith(
        "a keeps 99.0 % of the SLOs with 4 nodes, $20.00 per hour for their vCPUs and vGPUs; b 6 ($30.00)"
    )
    assert "up to 9 nodes are too few for c" in told
    looked = tried(3, 0.93), tried(4, 0.94)
    (line,) = charts.nodes_figure(
        nodes_report(0.93, a=serverless.NodesFor(found=looked[1], tried=looked))
    ).data
    assert list(line.y) == pytest.approx([93.0, 94.0])
    assert max(v + e for v, e in zip(line.y, line.error_y.array, strict=True)) == pytest.approx(100.0)
    assert line.marker.size[1] > line.marker.size[0]
    assert "no policy reliably keeps 99.0 %" in findings.nodes_finding(nodes_report(0.99, c=none))


def test_policies_are_ranked_set_beside_the_oracle_and_money_has_no_powers_of_ten():
    given = {"a": policy(0.5, 9e-5), "b": policy(0.9, 9e-5), "c": policy(None, None)}
    assert findings.ranked(given, findings.hit_rate, highest=True) == {"b": 0.9, "a": 0.5}
    assert findings.over_oracle(given, ORACLE) == {"a": pytest.approx(1.0), "b": pytest.approx(9 / 4.9 - 1)}
    assert findings.over_oracle(given, None) == {}
    swamped = policy(0.5, 1e-6, state="overloaded")
    assert findings.over_oracle(given | {"a": swamped}, ORACLE) == {"b": pytest.approx(9 / 4.9 - 1)}
    assert findings.oracle_title({"a": swamped}, ORACLE) == "Every policy is overloaded"
    made = report(esg=policy(0.9, 1.47e-6), orion=policy(None, None))
    rows = POLICIES.fill(made.policies)
    assert rows.texts()[0][f"$ per {findings.PER:,} calls"] == "$0.00147 ± $0.000147"
    assert 1 < len(rows.deciding) < len(rows.headings)
    tiny = Estimate(mean=1.47e-6, ci95=(1.47e-6 - 2.42e-9, 1.47e-6 + 2.42e-9))
    assert findings.cost_text(tiny) == "$0.00147 ± $0.00000242"


def batch(slots, vgpus, from_s=0.0, to_s=1.0):
    times = {"from_s": from_s, "computes_s": from_s, "to_s": to_s}
    return filled(LayoutBatch, slots=slots, vgpus=vgpus, jobs=1, **times)


def test_batches_have_places_on_the_gpu_and_stranded_slices_are_found():
    free = batch(0, 2)
    assert [(r.low, r.high) for r in placed([batch(0b0110, 2), free, free])] == [(1, 3), (0, 2), (2, 4)]
    assert [(r.low, r.high) for r in placed([batch(0b101, 2)])] == [(0, 1), (2, 3)]
    (one,) = clipped(placed([batch(1, 1, -1.0, 3.0)]), 2.0)
    assert (one.from_s, one.computes_s, one.to_s) == (0.0, 0.0, 2.0)
    rows = placed([batch(0b1111, 4, to_s=2.0), batch(0b1111111, 7, 2.0, 3.0)])
    assert stranded_spans(rows, "a100-40gb", 3.0) == [(2.0, 3.0, 7)]
    told = layouts_title(placed([batch(0b1111, 4)]), [(0.0, 0.5, 7)], 8)
    assert told == "50 % of the GPU is allocated over 1 s, 6.2 % of it is stranded"
