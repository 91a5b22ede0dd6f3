"""A run against its baseline: intervals by theory, by SciPy, and by coverage; what may be paired."""

import math

import numpy as np
import pytest
from filled import but
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sizes import examples

from nona.report.simulations import comparison
from nona.report.simulations.report import simulation_report
from nona.results.document import Estimate
from nona.results.simulation import ReplicationMeans
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.sources.samples import scenario_path
from nona.study.preparation import prepare
from nona.study.simulation import simulate

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12).filter(lambda v: np.ptp(v) > 1e-3)


def scenario(**parts):
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    return scenario_from_mapping({**data, **parts})


def means(jct, hits=0.9):
    alike = (hits,) * len(jct)
    return ReplicationMeans(jct_s=tuple(jct), slo_hit_rate=alike, compute=alike, network=alike)


@examples(60)
@given(VALUES, VALUES, st.floats(0.5, 0.99))
def test_welch_s_interval_is_scipy_s(a, b, level):
    ours = comparison.welch_interval(a, b, level)
    low, high = stats.ttest_ind(a, b, equal_var=False).confidence_interval(level)
    assert ours.low == pytest.approx(low, rel=1e-6, abs=1e-6)
    assert ours.high == pytest.approx(high, rel=1e-6, abs=1e-6)


def test_welch_s_interval_without_enough_values():
    assert math.isnan(comparison.welch_interval([], [1.0]).mean)
    one = comparison.welch_interval([2.0], [1.0, 3.0])
    assert (one.mean, math.isnan(one.half_width)) == (0.0, True)
    assert comparison.welch_interval([2.0, 2.0], [1.0, 1.0]).half_width == 0


def test_pairing_by_replication_sees_a_change_that_the_noise_of_the_runs_hides():
    noise = np.random.default_rng(1).normal(0.1, 0.03, 6)
    old, new = {"a": means(noise.tolist())}, {"a": means((noise + 0.001).tolist())}
    paired, welch = (comparison.changes(old, new, together)["a"].jct_s for together in (True, False))
    assert paired.change.mean == pytest.approx(0.001) == pytest.approx(welch.change.mean)
    assert (paired.clear, welch.clear) == (True, False)
    assert paired.old.mean == pytest.approx(noise.mean())


def test_only_common_replications_are_paired_and_only_common_schedulers_compared():
    found = comparison.changes(
        {"a": means([1.0, 2.0]), "b": means([1.0])}, {"a": means([2.0, 3.0, 9.0])}, True
    )
    assert list(found) == ["a"]
    assert found["a"].jct_s.change.mean == pytest.approx(1.0)
    assert found["a"].jct_s.new.mean == pytest.approx(14 / 3)


@pytest.mark.parametrize("paired", [True, False])
def test_a_run_that_was_overloaded_has_no_mean_and_no_change(paired):
    found = comparison.changes({"a": means([None, 2.0])}, {"a": means([2.0, 3.0])}, paired)["a"]
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
def test_runs_are_paired_where_they_measured_the_same_jobs(parts, why):
    found = comparison.pairing(scenario(), scenario(**parts), (0, 0))
    assert found.paired == (not why)
    assert why in found.why
    assert (f"another {why}" in found.text) == bool(why)


def test_another_slo_or_warm_up_found_on_pilots():
    row = scenario_to_mapping(load_scenario(scenario_path("slides_example")))["workload"][0]
    assert comparison.pairing(scenario(), scenario(workload=[row | {"slo": "1 s"}]), (3, 3)).paired
    assert not comparison.pairing(scenario(), scenario(), (3, 4)).paired


def test_means_of_replications_are_those_of_the_summary():
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data |= {"schedulers": ["local", "spread"], "simulation": {"jobs": 60, "replications": 3}}
    result = simulate(prepare(scenario_from_mapping(data)), engine="simpy")
    found = comparison.replication_means(result.records, [0.02])
    for name, summary in result.summaries.items():
        assert np.mean(found[name].jct_s) == pytest.approx(summary.jct.mean.mean)
        assert np.mean(found[name].compute) == pytest.approx(summary.utilization_compute)
        assert np.mean(found[name].network) == pytest.approx(summary.utilization_network)
        assert np.mean(found[name].slo_hit_rate) == pytest.approx(summary.hit_rate.mean)
    assert comparison.replication_means(result.records, [None])["local"].slo_hit_rate == (None,) * 3


def test_a_change_that_gains_nothing_is_said_to():
    same = comparison.changes({"a": means([0.020, 0.022])}, {"a": means([0.021, 0.021])}, True)
    assert "neither gain nor loss" in comparison.baseline_headline(
        "Servers 12 → 16", same, {"a": ("stable", "stable")}
    )
    better = comparison.changes({"a": means([0.020, 0.022])}, {"a": means([0.010, 0.012])}, True)
    assert "neither gain" not in comparison.baseline_headline("x", better, {})
    hits = comparison.changes({"a": means([0.020, 0.022])}, {"a": means([0.021, 0.021], hits=0.95)}, True)
    assert "neither gain" not in comparison.baseline_headline("x", hits, {})
    single = comparison.changes({"a": means([0.020])}, {"a": means([0.021])}, True)
    assert "neither gain" not in comparison.baseline_headline("x", single, {}), "nobody knows"
    assert "neither gain" not in comparison.baseline_headline("x", same, {"a": ("overloaded", "stable")})
    old = {"a": means([0.005, 0.006]), "b": means([0.020, 0.022]), "c": means([0.020, 0.030])}
    new = {"a": means([0.006, 0.007]), "b": means([0.010, 0.012]), "c": means([0.030, 0.020])}
    assert comparison.baseline_headline("Servers 12 → 16", comparison.changes(old, new, True), {}).endswith(
        ". b gains by it; a, the fastest, does not."
    )
    worse = {"a": means([0.005, 0.006]), "b": means([0.030, 0.032]), "c": means([0.030, 0.020])}
    told = comparison.baseline_headline("Servers 12 → 16", comparison.changes(old, worse, True), {})
    assert told.endswith(". b takes clearly longer than before."), "not only the fastest is spoken of"
    back = comparison.baseline_headline("Servers 16 → 12", comparison.changes(new, old, True), {})
    assert "gain" not in back, "the fastest gains, as its own figures say"


def test_the_effect_of_what_if_names_only_who_surely_differs():
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    data |= {"schedulers": ["local", "spread"], "simulation": {"jobs": 60, "replications": 3}}
    found = simulation_report(simulate(prepare(scenario_from_mapping(data)), engine="simpy").summaries, 1.0)

    def with_mean(low_s, high_s):
        mean = Estimate(mean=(low_s + high_s) / 2, ci95=(low_s, high_s))
        update = {"jct_s": mean}
        return but(found, schedulers={n: s.model_copy(update=update) for n, s in found.schedulers.items()})

    before, now = with_mean(0.020, 0.022).schedulers, with_mean(0.021, 0.023).schedulers
    assert "nothing is gained" in comparison.effect_text(now, before)
    mixed = {"local": with_mean(0.010, 0.012).schedulers["local"], "spread": now["spread"]}
    told = comparison.effect_text(mixed, before)
    assert told.endswith("clearly faster: local; not clear: spread.")
    assert "clearly slower: local" in comparison.effect_text(before, mixed)
    assert comparison.effect_text(now, {}) == ""


def test_the_headline_says_what_the_table_says():
    old, new = {"a": means([0.020, 0.022])}, {"a": means([0.010, 0.012], hits=0.95)}
    found = comparison.changes(old, new, True)
    told = comparison.baseline_headline("Servers 8 → 12", found, {"a": ("overloaded", "stable")})
    assert told.startswith(
        "Servers 8 → 12: the mean JCT of a falls by 10 ms ± 0 s (-48 %), 5 points ± 0 points more"
    )
    assert told.endswith("a was overloaded, is stable.")
    row = comparison.baseline_rows(found)[0]
    assert (row["mean JCT, baseline"].split(" ±")[0], row["mean JCT, this run"].split(" ±")[0]) == (
        "21 ms",
        "11 ms",
    )
    assert row["mean JCT, change"].endswith("*")
    nothing = comparison.changes({"a": means([None, None])}, {"a": means([0.01, 0.012])}, True)
    assert "had none before" in comparison.baseline_headline("x", nothing, {})
    assert comparison.baseline_headline("x", {}, {}) == "x: no scheduler in common."
