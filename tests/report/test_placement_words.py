"""Words on a placement: errors, gaps, comparisons, executors, said from the report's own numbers."""

from __future__ import annotations

import pytest
from placement_sample import MIX, RESPONSE, outcome, report

from nona.report.placements.certificate import (
    bound_above,
    bound_text,
    comparison_finding,
    error_text,
    gap_text,
    measure_text,
    order_finding,
)
from nona.report.placements.report import gain_finding
from nona.report.placements.text import placement_text, price_text, servers_finding
from nona.results.placement import (
    CertifiedOptimum,
    PlacementReport,
    PredictedClass,
    PredictedLink,
    SampledSearch,
)


def test_the_error_is_said_in_the_unit_of_the_value() -> None:
    assert error_text(report(objective="mean-jct", objective_error_s=0.0003)) == "± 0.3 ms"
    assert error_text(report(objective_error_s=None)) == ""


def test_the_measure_is_the_formula_or_sampled_jobs() -> None:
    assert measure_text(report()) == "by sampled jobs, all equal"
    fields = {k: v for k, v in dict(report()).items() if k != "response"}
    assert measure_text(PlacementReport(**fields)) == "by formula alone: mean waits"
    sampled = report(objective="mean-jct", objective_error_s=0.0003)
    assert measure_text(sampled) == "± 0.3 ms, by sampled jobs"


def test_the_gap_is_a_share_none_or_unknown() -> None:
    assert gap_text(report()) == "15 %"
    assert gap_text(report(gap=None)) == "no bound"
    high = report(
        objective="mean-jct",
        formula=CertifiedOptimum(objective_s=0.1, lower_bound_s=0.09, gap=0.1),
    )
    assert bound_above(high)
    assert gap_text(high) == "none"
    assert bound_text(high) == "the formula's bound, 90 ms, is above the prediction"


def test_comparisons_say_how_far_below_and_what_overloads() -> None:
    found = outcome(3.0, 4.0, None)
    assert comparison_finding(found) == "nona: 25 % below local, spread overloads the link"
    assert order_finding(found) == "nona is faster than local; spread overloads the link"
    assert comparison_finding(outcome(3.0, None, 3.0)) == "nona: local overloads executors, as fast as spread"


def test_one_class_is_told_alone_and_several_by_the_busiest() -> None:
    assert servers_finding(report()) == "All executors are of one class: 50.0 % busy, a visit waits 1 ms"
    busy = PredictedClass(executor_class="l4", executors=1, utilization=0.75, wait_s=0.004)
    several = report(predicted=MIX.model_copy(update={"classes": (*MIX.classes, busy)}))
    assert servers_finding(several) == (
        "l4 is the busiest of 2 executor classes, 75.0 %; a visit waits 1 ms to 4 ms by class"
    )


@pytest.mark.parametrize(
    ("price", "words"), [(None, "at its limit"), (0.0, "no cost"), (2e-9, "2 ms of waiting")]
)
def test_the_price_of_congestion_in_words(price: float | None, words: str) -> None:
    assert words in price_text(MIX.model_copy(update={"congestion_price_s_per_byte": price}))


def test_overloaded_links_are_printed_with_a_dash() -> None:
    card = PredictedLink(
        name="server out", kind="nic", links=2, share=1.0, capacity=1e9, utilization=1.5, wait_s=float("inf")
    )
    core = card.model_copy(update={"name": "core", "wait_s": 0.001})
    printed = placement_text(report(predicted=MIX.model_copy(update={"links": (card, core)})))
    assert "server out: 2 x 8 Gbit/s, crossed by 100%, 150% busy, wait –" in printed
    assert "core: 2 x 8 Gbit/s, crossed by 100%, 150% busy, wait 1 ms" in printed


def test_the_headline_is_by_sampled_jobs_and_in_slo_hits_where_those_count() -> None:
    found = outcome(0.08, 0.1, None)
    printed = placement_text(found.nona)
    assert printed.startswith("mean JCT 80 ms by sampled jobs; ")
    search = SampledSearch(
        value=0.02, error=0.001, bound=0.0, formula_value=0.03, gain=0.01, gain_error=0.001, models={},
        evaluations=3, samples=100, settled=True, origin="search",
    )  # fmt: skip
    late = RESPONSE.model_copy(update={"miss": 0.02})
    later = RESPONSE.model_copy(update={"miss": 0.05})
    slo = found.model_copy(
        update={
            "nona": report(objective="slo", sampled=search, response=late),
            "local": report(response=later),
        }
    )
    assert comparison_finding(slo) == "nona: 3 points more hits than local, spread overloads the link"
    assert order_finding(slo) == "nona keeps more SLOs than local; spread overloads the link"
    assert placement_text(slo.nona).startswith("SLO hits 98 % ± 0.1 points, by sampled jobs\n")
    assert "1 points fewer SLOs than the formula's optimum" in gain_finding(slo.nona)
