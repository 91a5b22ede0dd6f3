"""Executor classes, shares and memory in reports: the numbers are the placement's, the text says them."""

from __future__ import annotations

import json

import pytest

from nona.placement.fixed import local_placement
from nona.report.html.placement import placement_section
from nona.report.placements.certificate import comparison_finding
from nona.report.placements.report import placement_report
from nona.report.placements.text import (
    class_rows,
    memory_finding,
    placement_text,
    replica_rows,
    servers_finding,
    share_rows,
)
from nona.results.placement import PlacementReport
from nona.scenario.file import load_scenario, scenario_from_mapping
from nona.sources.samples import scenario_path
from nona.study.outcome import placement_outcome
from nona.study.preparation import Study, prepare
from nona.study.simulation import compare, place, predictions


@pytest.fixture(scope="module")
def study() -> Study:
    return prepare(load_scenario(scenario_path("mig_layouts")))


@pytest.fixture(scope="module")
def report(study: Study) -> PlacementReport:
    placement = place(study)
    told = placement_report(study.system, placement, study.scenario.labels)
    for row, predicted in zip(told.predicted.classes, placement.prediction.classes, strict=True):
        assert (row.utilization, row.wait_s) == (predicted.utilization, predicted.wait_s)
    json.dumps(told.to_json(), allow_nan=False)
    return told


def test_weights_are_those_of_the_models_at_their_precision(study: Study, report: PlacementReport) -> None:
    for model, name in zip(study.models, study.scenario.labels, strict=True):
        # fp32 files, costed at fp16
        assert report.memory.models[name].weight_bytes == pytest.approx(model.graph.weight_bytes / 2)
    for row in report.memory.classes:
        assert row.memory_bytes == study.cluster.classes[row.executor_class].memory_bytes
        same = sum(e.executor_class == row.executor_class for e in study.cluster.executors)
        assert row.executors == same


def test_a_uniform_draw_is_told_as_such(study: Study) -> None:
    told = placement_report(study.system, local_placement(study.system), study.scenario.labels)
    for row in told.class_shares.values():
        assert list(row.values()) == pytest.approx(study.system.class_weights.tolist())


def test_rows_and_findings_say_the_numbers(report: PlacementReport) -> None:
    classes = report.predicted.classes
    busiest = max(classes, key=lambda c: c.utilization)
    assert servers_finding(report).startswith(
        f"{busiest.executor_class} is the busiest of 3 executor classes"
    )
    assert "of an executor" in memory_finding(report)
    assert [r["executor class"] for r in class_rows(report)] == [c.executor_class for c in classes]
    shown = {r["model"]: r for r in share_rows(report)}
    for name, row in report.class_shares.items():
        for kind, share in row.items():
            assert (shown[name][kind] == "–") == (share < 1e-6)
    copies = {r["model"]: r["replicas"] for r in replica_rows(report)}
    for name, row in report.class_shares.items():
        held = sum(c.executors for c in classes if row[c.executor_class] > 0)
        assert copies[name] == held


def test_text_and_html_have_every_class(report: PlacementReport) -> None:
    text, html = placement_text(report), placement_section(report)
    for row in report.predicted.classes:
        assert f"{row.executor_class}: {row.executors} x" in text
        assert row.executor_class in html
    assert "Probability of each executor class" in html


def test_one_class_needs_no_shares() -> None:
    scenario = load_scenario(scenario_path("slides_example"))
    study = prepare(scenario)
    told = placement_report(study.system, place(study), scenario.labels)
    assert share_rows(told) == []
    assert "% busy" in servers_finding(told)
    assert memory_finding(told).startswith("No model states weights")
    assert "a100-40gb: 3 x" not in placement_text(told)


def test_where_a_uniform_draw_overloads_executors_local_has_no_steady_state() -> None:
    """Shares keep a slow class out of the way; what draws every executor alike cannot."""
    scenario = scenario_from_mapping(
        {
            "version": 1,
            "cluster": {"servers": [{"count": 2, "gpu": "a100-40gb"}, {"count": 2, "gpu": "t4"}]},
            "workload": [{"model": "vgg16", "rate": "550/s"}],
            "schedulers": ["nona", "local", "spread"],
        }
    )
    study = prepare(scenario)
    placement = place(study)
    found = compare(study, placement)
    assert (found.local, found.spread) == (None, None)
    assert max(c.utilization for c in placement.prediction.classes) < 1
    by_formula = {"nona": placement.prediction.jct_s, "local": None, "spread": None}
    assert predictions(study, placement) == by_formula
    told = placement_outcome(study, placement, "today", found)
    assert comparison_finding(told) == "nona: local overloads executors, spread overloads executors"
