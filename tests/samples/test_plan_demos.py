"""What the shipped plans say in their descriptions, judged on single options with other seeds."""

import pytest

from nona.planning.offers import Option
from nona.sources.opening import open_scenario
from nona.sources.samples import scenario_path
from nona.study.planning.plan import judged
from nona.study.planning.planner import Planner
from nona.study.planning.question import MILLE, question_of
from nona.study.planning.trials import Trial

SEED = 4242  # none of the files has it
DEMOS = ("black_friday", "a100s_sliced_or_l4s", "survive_a_rack", "language_and_vision")


def planner_of(name):
    """A demo's question with another seed and a confidence that short runs reach."""
    scenario, sources = open_scenario(scenario_path(name))
    part = scenario.plan.model_copy(update={"confidence": 0.9})
    return Planner(question_of(scenario.model_copy(update={"seed": SEED, "plan": part}), sources))


def verdict(planner, counts, load=1.0):
    (known,) = judged(planner, [Trial(Option(counts), round(load * MILLE))])
    return known.verdict


@pytest.mark.parametrize("name", DEMOS)
def test_a_demo_asks_a_question_with_prices(name):
    question = planner_of(name).question
    assert question.targets
    assert all(offer.price > 0 for offer in question.offers)


def test_a_week_of_black_friday_peaks_on_friday_and_its_mean_hour_needs_far_fewer_servers():
    planner = planner_of("black_friday")
    profile = planner.question.profile
    assert profile.factors.index(profile.peak) // 24 == 4
    assert planner.question.spec.growth == pytest.approx(0.08)
    # five A10 are needed at the peak, two for the mean hour
    assert [verdict(planner, (0, n)) for n in (3, 5)] == ["misses", "keeps"]
    assert verdict(planner, (0, 2), profile.mean / profile.peak) == "keeps"


@pytest.mark.verify
def test_sevenths_of_an_a100_cost_less_than_whole_ones_and_a_mixture_least():
    planner = planner_of("a100s_sliced_or_l4s")
    whole, _, sevenths, l4 = range(4)
    assert planner.question.offers[sevenths].mig is not None
    few = Option((3, 0, 0, 0))  # whole A100s: even three are overloaded, by their load alone
    assert planner.bounds.excluded(few) is not None
    assert verdict(planner, (0, 0, 2, 0)) == "keeps"
    mixed = Option((0, 0, 1, 3))
    assert planner.question.cost(mixed) < planner.question.cost(Option((0, 0, 2, 0)))
    assert planner.question.cost(Option((0, 0, 2, 0))) < planner.question.cost(few)
    assert verdict(planner, mixed.counts) != "misses"
    assert planner.bounds.excluded(Option((0, 0, 0, 7))) is not None  # dearer than the mixture, too few
    assert planner.question.cost(Option((0, 0, 0, 7))) > planner.question.cost(mixed)
    assert (planner.question.offers[whole].mig, planner.question.offers[l4].gpu) == (None, "l4")


@pytest.mark.verify
def test_two_racks_keep_and_neither_a_server_nor_a_rack_may_be_lost():
    planner = planner_of("survive_a_rack")
    racks = planner.question.scenario.cluster.network.racks
    whole = 2 * racks.size
    assert verdict(planner, (whole, 0)) != "misses"
    assert verdict(planner, (whole + 1, 0)) == "keeps"
    assert verdict(planner, (whole - 1, 0)) == "misses"
    assert verdict(planner, (whole - racks.size, 0)) == "misses"


@pytest.mark.verify
def test_language_models_and_vision_share_a_mixture_that_costs_less_than_a100s_alone():
    planner = planner_of("language_and_vision")
    assert verdict(planner, (2, 0)) == "misses"  # A100s alone: three are needed
    assert verdict(planner, (2, 2)) != "misses"
    assert planner.question.cost(Option((2, 2))) < planner.question.cost(Option((3, 0)))
