"""Offered load and arrival samples against the placement's and the simulation's own numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.placement.capacity import executor_utilization
from nona.report.workloads import GAP_BINS, LARGEST_GAP, arrival_sample, load_text, offered_load, slo_text
from nona.scenario.file import scenario_from_mapping
from nona.simulation.workload import Workload
from nona.study.preparation import prepare
from nona.system import Arrivals

SCENARIO = {
    "version": 1,
    "seed": 11,
    "cluster": {"servers": [{"count": 2}, {"count": 1, "mig": "3g.20gb, 3g.20gb"}]},
    "background": {"compute": {"utilization": 0.2}},
    "workload": [
        {"model": "resnet18", "rate": "200/s"},
        {"model": "slides_example", "rate": "10/s", "arrivals": {"process": "gamma", "cv": 3}},
        {"model": "resnet18", "rate": "20/s", "batch": 4},
    ],
}


def test_the_load_is_that_of_the_placement() -> None:
    study = prepare(scenario_from_mapping(SCENARIO))
    system = study.system
    background, queries = executor_utilization(system)
    seconds = {
        name: [model.costed[k].total_compute_s for model in study.models]
        for k, name in enumerate(system.class_names)
    }
    found = offered_load([q.rate for q in system.queries], seconds, system.executors, background)
    assert found.background == pytest.approx(0.2)
    assert found.queries == pytest.approx(max(queries), rel=1e-9)
    assert found.kind == "a100-40gb/3g.20gb"
    assert sum(found.shares) == pytest.approx(1)
    filled = offered_load(
        [q.rate * found.factor for q in system.queries], seconds, system.executors, background
    )
    assert filled.total == pytest.approx(1)


@examples(60)
@given(st.floats(0, 0.99), st.floats(0, 3))
def test_the_sentence_tells_overload_exactly(background: float, queries: float) -> None:
    text = load_text("link", background, queries)
    assert ("overloaded" in text) == (background + queries >= 1)
    assert text.endswith(".")


@pytest.mark.parametrize(
    ("slo", "kind"), [(None, "ok"), (0.0139, "never"), (0.014, "split"), (0.0219, "split"), (0.022, "ok")]
)
def test_what_is_possible_of_an_slo(slo: float | None, kind: str) -> None:
    found, text = slo_text(slo, 0.022, 0.014, False)
    assert found == kind
    assert "14 ms" in text
    if kind == "never":
        assert "rarely" in slo_text(slo, 0.022, 0.014, True)[1]


@pytest.mark.parametrize(
    ("arrivals", "cv"),
    [
        (Arrivals(), 1.0),
        (Arrivals("gamma", cv=3.0), 3.0),
        (Arrivals("gamma", cv=0.3), 0.3),
        (Arrivals("deterministic"), 0.0),
        (Arrivals("trace", times_s=(0.0, 1.0, 2.0, 3.0)), 0.0),
    ],
)
def test_samples_have_the_spread_of_their_process(arrivals: Arrivals, cv: float) -> None:
    sample = arrival_sample(arrivals, 50.0, 3, "x")
    assert sample.cv == pytest.approx(cv, rel=0.2, abs=1e-9)
    assert sample.density.sum() * LARGEST_GAP / GAP_BINS + sample.beyond == pytest.approx(1)
    assert math.isfinite(sample.window_s)


def test_bursts_are_seen() -> None:
    sample = arrival_sample(
        Arrivals("mmpp", burst_factor=8, burst_fraction=0.1, burst_mean_s=2), 50.0, 3, "x"
    )
    assert sample.cv > 1.3
    assert sample.counts.max() > 3 * max(1.0, float(np.median(sample.counts)))


def test_the_sample_is_what_the_first_run_simulates() -> None:
    system = prepare(scenario_from_mapping(SCENARIO)).system
    chunk = next(Workload(system, 0).chunks())
    for j, query in enumerate(system.queries):
        own = chunk.arrival_s[chunk.query == j]
        sample = arrival_sample(query.arrivals, query.rate, system.seed, query.name)
        within = own[own < sample.window_s]
        if own[-1] >= sample.window_s:
            counts, _ = np.histogram(within, bins=len(sample.counts), range=(0.0, sample.window_s))
            assert counts.tolist() == sample.counts.tolist()
