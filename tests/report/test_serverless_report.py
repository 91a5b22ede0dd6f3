"""Serverless figures and titles: drawn is what was given, names are text, titles follow numbers."""

from __future__ import annotations

import json
from typing import Any

import plotly.graph_objects as go
import pytest

from nona.report.serverless.figures.nodes import nodes_figure
from nona.report.serverless.figures.policies import latency_figure, pareto_figure, search_figure
from nona.report.serverless.figures.study import (
    cutoff_figure,
    misses_figure,
    sensitivity_figure,
    settings_figure,
    sharing_figure,
)
from nona.report.serverless.figures.time import queues_figure, use_figure
from nona.report.serverless.nodes import nodes_finding
from nona.report.serverless.study_text import cutoff_title
from nona.report.serverless.text import serverless_text, sharing_text
from nona.report.serverless.titles import (
    latency_title,
    pareto_title,
    queues_title,
    search_title,
    use_title,
)
from nona.scenario.file import load_scenario
from nona.serverless.records.run import Snapshot
from nona.sources.samples import scenario_path
from nona.study.serverless.alternatives import ALTERNATIVES
from nona.study.serverless.preparation import prepare_serverless
from nona.study.shipped import shipped

NASTY = "<b>x</b><a href='http://e'>"


def policy(hits: float | None, usd: float | None, p95: float = 0.9, state: str = "stable") -> dict[str, Any]:
    spread = {"mean": 0.5, "p5": 0.3, "p25": 0.4, "p50": 0.5, "p75": 0.6, "p95": p95, "p99": 2.0}

    def around(value: float | None) -> dict[str, Any]:
        return {"mean": value, "ci95": None if value is None else [0.9 * value, 1.1 * value]}

    return {
        "state": state,
        "state_reason": "" if state == "stable" else "calls pile up",
        "slo_hit_rate": around(hits),
        "cost_per_call_usd": around(usd),
        "cost_per_hit_usd": around(None if not hits or usd is None else usd / hits),
        "latency_s": {**spread, "ci95": None},
        "applications": {
            "app": {"slo_s": 1.0, "slo_hit_rate": hits, "latency_s": spread, "cost_per_call_usd": usd}
        },
        "configuration_miss_rate": None,
        "cold_start_rate": 0.01,
        "locality": None,
        "search_s": {"mean": 0.002, "p50": 0.001, "p95": 0.004, "p99": 0.005},
        "steps_mean": 10.0,
        "utilization": {"vcpu": 0.5, "vgpu": 0.6},
        "stranded_vgpus": 0.0,
        "mean_batch": 1.0,
        "forced": 0.0,
        "rechecks": 0.0,
    }


def report(**policies: dict[str, Any]) -> dict[str, Any]:
    return {
        "policies": policies,
        "oracle": {"cost_per_call_usd": 5e-5, "curve": [[0.0, 4e-5], [1.0, 5e-5]], "how": "all is free"},
        "checks": {"counts": True},
        "failed_checks": [],
        "seconds": 1.0,
        "setting": {},
    }


def drawn(figure: go.Figure) -> str:
    return str(json.dumps(json.loads(figure.to_json()), ensure_ascii=False))


def test_the_pareto_figure_shows_both_means_the_oracle_and_names_as_text() -> None:
    given = report(esg=policy(0.9, 1e-4), **{NASTY: policy(0.5, 2e-4, state="overloaded")})
    made = pareto_figure(given)
    points = {t.name: (t.x[0], t.y[0]) for t in made.data if t.mode == "markers"}
    assert points["esg"] == pytest.approx((0.1, 90.0))
    assert any("overloaded" in name for name in points)
    (oracle,) = [t for t in made.data if t.mode == "lines"]
    assert list(oracle.x) == pytest.approx([0.04, 0.05])
    assert "<b>x" not in drawn(made)
    assert len(pareto_figure(report(esg=policy(None, None))).data) == 1  # the oracle alone


def test_latency_boxes_are_the_percentiles_over_the_slo() -> None:
    given = report(esg=policy(0.9, 1e-4), orion=policy(0.5, 1e-4, p95=1.4))
    (esg, _) = latency_figure(given).data
    assert (esg.q1[0], esg.median[0], esg.q3[0], esg.lowerfence[0], esg.upperfence[0]) == (
        pytest.approx((0.4, 0.5, 0.6, 0.3, 0.9))
    )
    (_, orion) = latency_figure(given, "app").data
    assert orion.upperfence[0] == pytest.approx(1400)
    assert latency_title(given) == (
        "esg keeps the 95th percentile of every application within its SLO; orion does not"
    )
    assert "app" in latency_title(given, "app")


def test_titles_name_the_best_and_the_cheapest() -> None:
    told = pareto_title(
        report(a=policy(0.99, 3e-4), b=policy(0.5, 1e-4), c=policy(0.2, 9e-4, state="overloaded"))
    )
    assert told.startswith("a keeps most SLOs, 99.0 %, at $0.3")
    assert "b is cheapest at $0.1 and keeps 50.0 %" in told
    assert told.endswith("c is overloaded")
    assert "none is cheaper" in pareto_title(report(a=policy(0.9, 1e-4), b=policy(0.5, 2e-4)))
    quick, slow = {"mean": 0.001}, {"mean": 0.1}
    assert search_title({"a": quick}).startswith("All mean searches are below 10 ms")
    assert search_title({"a": quick, "b": slow}).startswith("Only a searches below 10 ms")


def test_searches_of_no_time_have_no_point_on_a_logarithmic_axis() -> None:
    none = {"mean": 0.0, "p50": 0.0, "p95": 0.0, "p99": 0.0}
    made = search_figure({"esg": policy(1.0, 1.0)["search_s"], "infless": none})
    values = [v for t in made.data for v in t.x]
    assert values
    assert all(v > 0 for v in values)


def test_snapshots_become_queues_and_shares_of_what_there_is() -> None:
    system = prepare_serverless(load_scenario(scenario_path("strict_light")))
    nodes, queues = len(system.invokers), len(system.queues)

    def snapshot(time_s: float, waiting: int, free: int) -> Snapshot:
        first = (waiting, *[0] * (queues - 1))
        return Snapshot(time_s, first, (16,) * nodes, (free,) * nodes, (0,) * nodes, 0, 0)

    shots = [snapshot(0.0, 1, 7), snapshot(1.0, 5, 0)]
    assert max(max(t.y) for t in queues_figure(shots, system).data) == 5
    held = {t.name: list(t.y) for t in use_figure(shots, system).data}
    assert held["vGPUs held"] == pytest.approx([0.0, 100.0])
    assert held["vCPUs held"] == pytest.approx([0.0, 0.0])
    assert "At most 5 jobs wait in one queue" in queues_title(shots, system)
    assert use_title(shots, system).startswith("vGPUs are the scarcer: 50 % of the vGPUs")


def test_the_text_of_a_simulation_tells_every_policy() -> None:
    given = report(esg=policy(0.9, 1e-4), orion=policy(None, None, state="overloaded"))
    told = serverless_text(given)
    assert "calls pile up" in told
    assert "oracle: $0.05 per 1,000 calls" in told
    assert "checks: all passed" in told
    assert "mps" in sharing_text({"mig-counter": given, "mps": given})


def test_study_figures_draw_the_stored_numbers() -> None:
    data = shipped("serverless")
    bars = {t.name: list(t.y) for t in settings_figure(data).data}
    for name, values in bars.items():
        rows = [s["policies"][name]["slo_hit_rate"]["mean"] for s in data["settings"].values()]
        assert values == pytest.approx([100 * r for r in rows])
    misses = {t.name: list(t.y) for t in misses_figure(data).data}
    assert misses["orion, slides"] == pytest.approx([9.6, 27.32, 51.68])
    assert len(cutoff_figure(data).data[0].x) == len(data["cutoff"]["points"])
    assert data["cutoff"]["setting"] in cutoff_title(data)
    made = sensitivity_figure(data, "strict_light", "costs")
    esg = next(t for t in made.data if t.name == "esg")
    assert esg.x[0] == pytest.approx(1.0)
    assert len(esg.x) == 1 + len(ALTERNATIVES)
    assert {x for t in sharing_figure(data).data for x in t.x} == set(data["sharing"]["modes"])


def test_the_finding_on_nodes_names_who_needs_fewest_and_who_never_does() -> None:
    def found(nodes: int) -> dict[str, Any]:
        return {"found": {"nodes": nodes, "usd_hour": 5.0 * nodes}, "tried": []}

    none = {"found": None, "tried": []}
    told = nodes_finding({"target": 0.99, "most": 9, "policies": {"a": found(4), "b": found(6), "c": none}})
    assert told.startswith("a keeps 99.0 % of the SLOs with 4 nodes, $20.00 an hour; b 6 ($30.00)")
    assert "not with up to 9 nodes: c" in told
    tried = [
        {"nodes": n, "slo_hit_rate": {"mean": 0.9 + n / 100, "ci95": [0.8, 1.2]}, "usd_hour": 5.0 * n}
        for n in (3, 4)
    ]
    given = {"target": 0.93, "policies": {"a": {"found": tried[1], "tried": tried}}}
    (line,) = nodes_figure(given).data
    assert list(line.y) == pytest.approx([93.0, 94.0])
    assert max(v + e for v, e in zip(line.y, line.error_y.array, strict=True)) == pytest.approx(100.0)
    assert line.marker.size[1] > line.marker.size[0]
    assert "no policy reliably keeps 99.0 %" in nodes_finding(
        {"target": 0.99, "most": 9, "policies": {"c": none}}
    )
