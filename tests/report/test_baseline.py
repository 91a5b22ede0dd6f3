"""A run against its baseline: intervals by theory, by SciPy, and by coverage; what may be paired."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sizes import examples

from nona.report.simulations.comparison import (
    baseline_headline,
    baseline_rows,
    changes,
    effect_text,
    pairing,
    replication_means,
    welch_interval,
)
from nona.report.simulations.report import simulation_report
from nona.results.document import Estimate
from nona.results.simulation import ReplicationMeans, SimulationReport
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.schema import Scenario
from nona.sources.samples import scenario_path
from nona.study.preparation import prepare
from nona.study.simulation import simulate

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12).filter(lambda v: np.ptp(v) > 1e-3)


def scenario(**parts: Any) -> Scenario:
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    return scenario_from_mapping({**data, **parts})


def means(jct: list[float | None], hits: float = 0.9) -> ReplicationMeans:
    alike = (hits,) * len(jct)
    return ReplicationMeans(jct_s=tuple(jct), slo_hit_rate=alike, compute=alike, network=alike)


@examples(60)
@given(VALUES, VALUES, st.floats(0.5, 0.99))
def test_welch_s_interval_is_scipy_s(a: list[float], b: list[float], level: float) -> None:
    ours = welch_interval(a, b, level)
    low, high = stats.ttest_ind(a, b, equal_var=False).confidence_interval(level)
    assert ours.low == pytest.approx(low, rel=1e-6, abs=1e-6)
    assert ours.high == pytest.approx(high, rel=1e-6, abs=1e-6)


def test_welch_s_interval_covers_the_true_difference_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    samples = 1200
    hits = sum(welch_interval(rng.normal(5, 1, 6), rng.normal(3, 4, 9)).covers(2.0) for _ in range(samples))
    low, high = stats.binom.ppf([0.0005, 0.9995], samples, 0.95)
    assert low <= hits <= high


def test_welch_s_interval_without_enough_values() -> None:
    assert math.isnan(welch_interval([], [1.0]).mean)
    one = welch_interval([2.0], [1.0, 3.0])
    assert (one.mean, math.isnan(one.half_width)) == (0.0, True)
    assert welch_interval([2.0, 2.0], [1.0, 1.0]).half_width == 0


def test_pairing_by_replication_sees_a_change_that_the_noise_of_the_runs_hides() -> None:
    noise = np.random.default_rng(1).normal(0.1, 0.03, 6)
    old, new = {"a": means(noise.tolist())}, {"a": means((noise + 0.001).tolist())}
    paired, welch = (changes(old, new, together)["a"].jct_s for together in (True, False))
    assert paired.change.mean == pytest.approx(0.001) == pytest.approx(welch.change.mean)
    assert (paired.clear, welch.clear) == (True, False)
    assert paired.old.mean == pytest.approx(noise.mean())


def test_only_common_replications_are_paired_and_only_common_schedulers_compared() -> None:
    found = changes({"a": means([1.0, 2.0]), "b": means([1.0])}, {"a": means([2.0, 3.0, 9.0])}, True)
    assert list(found) == ["a"]
    assert found["a"].jct_s.change.mean == pytest.approx(1.0)
    assert found["a"].jct_s.new.mean == pytest.approx(14 / 3)


@pytest.mark.parametrize("paired", [True, False])
def test_a_run_that_was_overloaded_has_no_mean_and_no_change(paired: bool) -> None:
    found = changes({"a": means([None, 2.0])}, {"a": means([2.0, 3.0])}, paired)["a"]
    assert found.jct_s.old == Estimate(mean=None, ci95=None)
    assert found.jct_s.change.mean is None
    assert not found.jct_s.clear
    assert found.slo_hit_rate.change.mean == 0


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"seed": 5}, "seed"),
        ({"simulation": {"jobs": 77, "replications": 2, "warmup": 0}}, "number of jobs"),
        ({"simulation": {"jobs": 200, "replications": 9, "warmup": 0}}, ""),
        ({"simulation": {"jobs": 200, "replications": 2, "warmup": 5}}, "warm-up"),
        ({"cluster": {"servers": [{"count": 9, "gpu": "a100-40gb"}]}}, ""),
        ({"workload": [{"model": "slides_example", "rate": "0.2/s"}]}, "workload"),
    ],
)
def test_runs_are_paired_where_they_measured_the_same_jobs(parts: dict[str, Any], why: str) -> None:
    found = pairing(scenario(), scenario(**parts), (0, 0))
    assert found.paired == (not why)
    assert why in found.why
    assert (f"another {why}" in found.text) == bool(why)


def test_another_slo_or_warm_up_found_on_pilots() -> None:
    row = scenario_to_mapping(load_scenario(scenario_path("slides_example")))["workload"][0]
    assert pairing(scenario(), scenario(workload=[row | {"slo": "1 s"}]), (3, 3)).paired
    assert not pairing(scenario(), scenario(), (3, 4)).paired


def test_means_of_replications_are_those_of_the_summary() -> None:
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data |= {"schedulers": ["local", "spread"], "simulation": {"jobs": 60, "replications": 3}}
    result = simulate(prepare(scenario_from_mapping(data)), engine="simpy")
    found = replication_means(result.records, [0.02])
    for name, summary in result.summaries.items():
        assert np.mean(found[name].jct_s) == pytest.approx(summary.jct.mean.mean)
        assert np.mean(found[name].compute) == pytest.approx(summary.utilization_compute)
        assert np.mean(found[name].network) == pytest.approx(summary.utilization_network)
        assert np.mean(found[name].slo_hit_rate) == pytest.approx(summary.hit_rate.mean)
    assert replication_means(result.records, [None])["local"].slo_hit_rate == (None,) * 3


def test_a_change_that_gains_nothing_is_said_to() -> None:
    same = changes({"a": means([0.020, 0.022])}, {"a": means([0.021, 0.021])}, True)
    assert "neither gain nor loss" in baseline_headline("Servers 12 → 16", same, {"a": ("stable", "stable")})
    better = changes({"a": means([0.020, 0.022])}, {"a": means([0.010, 0.012])}, True)
    assert "neither gain" not in baseline_headline("x", better, {})
    hits = changes({"a": means([0.020, 0.022])}, {"a": means([0.021, 0.021], hits=0.95)}, True)
    assert "neither gain" not in baseline_headline("x", hits, {})
    single = changes({"a": means([0.020])}, {"a": means([0.021])}, True)
    assert "neither gain" not in baseline_headline("x", single, {}), "nobody knows"
    assert "neither gain" not in baseline_headline("x", same, {"a": ("overloaded", "stable")})
    old = {"a": means([0.005, 0.006]), "b": means([0.020, 0.022]), "c": means([0.020, 0.030])}
    new = {"a": means([0.006, 0.007]), "b": means([0.010, 0.012]), "c": means([0.030, 0.020])}
    assert baseline_headline("Servers 12 → 16", changes(old, new, True), {}).endswith(
        ". b gains by it; a, the fastest, does not."
    )
    worse = {"a": means([0.005, 0.006]), "b": means([0.030, 0.032]), "c": means([0.030, 0.020])}
    told = baseline_headline("Servers 12 → 16", changes(old, worse, True), {})
    assert told.endswith(". b takes clearly longer than before."), "not only the fastest is spoken of"
    back = baseline_headline("Servers 16 → 12", changes(new, old, True), {})
    assert "gain" not in back, "the fastest gains, as its own figures say"


def test_the_effect_of_what_if_names_only_who_surely_differs() -> None:
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data |= {"schedulers": ["local", "spread"], "simulation": {"jobs": 60, "replications": 3}}
    found = simulation_report(simulate(prepare(scenario_from_mapping(data)), engine="simpy").summaries, 1.0)

    def with_mean(low_s: float, high_s: float) -> SimulationReport:
        mean = Estimate(mean=(low_s + high_s) / 2, ci95=(low_s, high_s))
        update = {"jct_s": mean}
        return found.model_copy(
            update={"schedulers": {n: s.model_copy(update=update) for n, s in found.schedulers.items()}}
        )

    before, now = with_mean(0.020, 0.022).schedulers, with_mean(0.021, 0.023).schedulers
    assert "nothing is gained" in effect_text(now, before)
    mixed = {"local": with_mean(0.010, 0.012).schedulers["local"], "spread": now["spread"]}
    told = effect_text(mixed, before)
    assert told.endswith("clearly faster: local; not clear: spread.")
    assert "clearly slower: local" in effect_text(before, mixed)
    assert effect_text(now, {}) == ""


def test_the_headline_says_what_the_table_says() -> None:
    old, new = {"a": means([0.020, 0.022])}, {"a": means([0.010, 0.012], hits=0.95)}
    found = changes(old, new, True)
    told = baseline_headline("Servers 8 → 12", found, {"a": ("overloaded", "stable")})
    assert told.startswith(
        "Servers 8 → 12: the mean JCT of a falls by 10 ms ± 0 s (-48 %), 5 points ± 0 points more"
    )
    assert told.endswith("a was overloaded, is stable.")
    row = baseline_rows(found)[0]
    assert (row["mean JCT, baseline"].split(" ±")[0], row["mean JCT, this run"].split(" ±")[0]) == (
        "21 ms",
        "11 ms",
    )
    assert row["mean JCT, change"].endswith("*")
    nothing = changes({"a": means([None, None])}, {"a": means([0.01, 0.012])}, True)
    assert "had none before" in baseline_headline("x", nothing, {})
    assert baseline_headline("x", {}, {}) == "x: no scheduler in common."
