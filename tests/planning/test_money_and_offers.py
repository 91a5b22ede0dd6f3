"""Prices, growth, offers, targets, and the scenario's part that holds them."""

from __future__ import annotations

import pytest

from nona.errors import HardwareError, ScenarioError
from nona.hardware.device import devices
from nona.planning.offers import Offer, Option, Target, slicings
from nona.planning.prices import breaks_after, growth_per_month, growth_text, listed_prices, per_hour
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.schema import Scenario


def with_plan(plan: object) -> Scenario:
    return scenario_from_mapping(
        {
            "version": 1,
            "cluster": {"servers": [{"count": 2}]},
            "workload": [{"model": "resnet18", "rate": "100/s", "slo": "40 ms"}],
            "plan": plan,
        }
    )


@pytest.mark.parametrize("text", ["-1", "a", "1/fortnight", "5/0 years", "1e12", "", "1/", True, None])
def test_bad_prices_are_refused_in_one_line(text: object) -> None:
    with pytest.raises(ScenarioError, match="it must be a number of at least 0"):
        per_hour(text)


def test_a_price_per_month_is_that_per_hour_times_its_hours() -> None:
    assert per_hour("730/month") == per_hour("1/h") == per_hour(1) == 1.0
    assert per_hour("8760/year") == pytest.approx(per_hour("17520/2 years")) == 1.0


@pytest.mark.parametrize("share", [0.08, 0.0123456789, -0.05, 1 / 3, 1e-9])
def test_growth_is_written_as_it_is_read(share: float) -> None:
    assert growth_per_month(growth_text(share)) == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize("text", ["8", "8%", "8/month", "-100%/month", "8%/day"])
def test_bad_growth_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="share per time above"):
        growth_per_month(text)


@pytest.mark.parametrize(("headroom", "growth"), [(1.31, 0.08), (1.0, 0.05), (3.7, 0.01), (1.08, 0.08)])
def test_the_month_that_breaks_is_the_first_beyond_the_headroom(headroom: float, growth: float) -> None:
    month = breaks_after(headroom, growth)
    assert month is not None
    assert (1 + growth) ** month > headroom * (1 - 1e-9)
    assert (1 + growth) ** (month - 1) <= headroom * (1 + 1e-9)


def test_layouts_may_be_written_short_and_all_are_the_maximal_ones() -> None:
    assert slicings("a100-40gb", "3g+2g+2g") == slicings("a100-40gb", "2g.10gb, 2g.10gb, 3g.20gb")
    assert "7g.40gb" in slicings("a100-40gb", "all")
    with pytest.raises(HardwareError, match="holds at most 1"):
        slicings("a100-40gb", "4g+4g")


def test_an_option_costs_what_its_servers_and_its_link_cost() -> None:
    offers = [Offer("l4", None, 0.5, 9), Offer("t4", None, 0.25, 9)]
    assert Option((2, 4), link=1).cost(offers, (0.0, 3.0)) == 5.0
    assert Option((0, 4)).used == (1,)


@pytest.mark.parametrize(("share", "bound"), [(0.0, 1.0), (1.0, 1.0), (0.9, 0.0), (0.9, float("inf"))])
def test_impossible_targets_are_refused(share: float, bound: float) -> None:
    with pytest.raises(ScenarioError, match="Target"):
        Target(0, share, bound)


def test_watts_have_a_source() -> None:
    assert set(listed_prices()) == set(devices())
    for price in listed_prices().values():
        assert (price.watts_busy is None) == (price.watts_source == "")
        assert price.watts_idle is None or price.watts_busy is None or price.watts_idle < price.watts_busy


def test_the_part_of_a_scenario_is_read_and_written_back() -> None:
    made = with_plan(
        {
            "hit": "98%",
            "offers": ["a100-40gb:3g+2g+2g=1.29", {"gpu": "l4", "price": "30000/3 years"}, "t4"],
            "schedulers": ["nona", {"jsq-d": {"d": 3}}],
            "growth": "8%/month",
            "targets": {"resnet18": {"p99": "35 ms"}},
            "confidence": "90%",
            "links": [{"capacity": "25 Gbit/s", "price": "100/month"}],
        }
    )
    assert made.plan is not None
    first = made.plan.offers[0]
    assert (first.gpu, first.mig, first.price) == ("a100-40gb", "3g+2g+2g", 1.29)
    assert made.plan.growth == 0.08
    assert made.plan.schedulers[1].options == {"d": 3}
    assert parse_scenario(dump_scenario(made)) == made
    assert with_plan({}).plan is not None


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ({"hit": 2}, "plan.hit"),
        ({"offers": ["t4=x"]}, "plan.offers"),
        ({"offers": ["t4="]}, "plan.offers.*Price ''"),
        ({"offers": ["a30:=1"]}, "plan.offers.*mig"),
        ({"links": ["25 Gbit/s="]}, "plan.links.*Price ''"),
        ({"prices": {"watts": {"t4": {"idle": 70, "busy": 10}}}}, "busy must be at least idle"),
        ({"growth": "fast"}, "plan: Growth 'fast'|plan.growth: Growth 'fast'"),
        ({"budget": 3}, "plan.budget"),
        ({"schedulers": []}, "plan.schedulers"),
        ({"confidence": 0.2}, "plan.confidence"),
    ],
)
def test_bad_parts_are_refused_with_their_place(plan: object, why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        with_plan(plan)
