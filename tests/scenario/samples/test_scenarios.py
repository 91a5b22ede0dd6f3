"""The shipped scenarios: valid, stable, solved with a small gap, and what they promise."""

from functools import cache

import numpy as np
import pytest
from sizes import first, sized

import nona
from nona.core.errors import PlacementError, ScenarioError
from nona.core.statistics import paired_difference
from nona.language.gpu import share_for
from nona.language.workflows.engines import MisfitError, prepare_language
from nona.language.workflows.simulation import simulate_language
from nona.planning.candidates import PlanCandidate
from nona.planning.offers import Option
from nona.planning.plan import judged
from nona.planning.planner import PlanSearch
from nona.planning.question import MILLE, question_of
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.workflows.placement_outcome import full_report
from nona.queries.workflows.placement_times import simulated
from nona.scenario.file import dump_scenario, load_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.opening import open_scenario
from nona.scenario.sample_files import (
    query_scenario_names,
    scenario_description,
    scenario_names,
    scenario_path,
)
from nona.scenario.schema import SimulationSpec
from nona.scenario.values import NamedSpec

PROMISED = (
    "slides_example five_models_80_servers vision_language_8_servers mig_layouts esg_workflows "
    "rag_pipeline ensemble_bursty background_sweep racks_and_nics strict_light "
    "chat_routers prefill_stalls_decode prompt_over_the_network search_then_answer one_engine_or_two "
    "moderate_normal relaxed_heavy mig_or_mps serverless_nodes black_friday "
    "a100s_sliced_or_l4s survive_a_rack language_and_vision batches_save_servers "
    "does_a_4_bit_model_fit who_waits_for_the_long_prompt t4_or_l4"
)
# Solving them all takes minutes: every day two of them.
QUICK = ("slides_example", "five_models_80_servers")
NO_FORMULA = (  # instances share GPUs, users wait
    *("two_instances", "bottleneck_stage", "replay_a_load_test", "documents_as_deployed"),
)
SOME_DAILY = first(
    len(QUICK), [*QUICK, *(n for n in query_scenario_names() if n not in (*QUICK, *NO_FORMULA))]
)


def _load(name):
    return load_scenario(scenario_path(name))


@cache
def _placed(name):
    """The scenario as it ships with its placement: solved once for all tests of this file."""
    prepared = _prepare(name)
    return prepared, nona.place(prepared)


def _prepare(name, schedulers=(), **simulation):
    scenario = _load(name)
    if schedulers:
        chosen = tuple(NamedSpec(name=s) for s in schedulers)
        scenario = scenario.model_copy(update={"schedulers": chosen})
    if simulation:
        scenario = scenario.model_copy(update={"simulation": SimulationSpec(**simulation)})
    return nona.prepare(scenario, Sources(scenario_path(name).parent))


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_survives_a_round_trip_and_says_what_it_is_for(name):
    scenario = _load(name)
    assert parse_scenario(dump_scenario(scenario)) == scenario
    assert 80 < len(scenario_description(name)) < 600
    assert all(row.slo is not None for row in scenario.workload)
    assert len({s.name for s in scenario.schedulers}) >= 5
    assert set(scenario_names()) >= set(PROMISED.split())
    with pytest.raises(ScenarioError, match=r"'slide_example'.*slides_example"):
        scenario_path("slide_example")


@pytest.mark.parametrize("name", SOME_DAILY)
def test_a_scenario_loads_its_resources_sensibly_and_is_solved(name):
    prepared, placement = _placed(name)
    assert placement.formula.gap <= 1e-3
    for fixed in (local_placement, spread_placement):
        assert placement.objective_s <= _objective(fixed, prepared) * 1.01
    if prepared.scenario.serverless is not None:
        return  # its loads and SLOs are those of a published setting, made for larger slices and batches
    if name != "slides_example":  # that one is a single job by design
        assert 0.3 <= placement.prediction.compute_utilization <= 0.7
    assert placement.prediction.network_utilization <= 0.85
    queries = prepared.system.queries
    idle = [min(q.tasks.dag.critical_path(list(row))[0] for row in q.tasks.compute_s) for q in queries]
    for query, predicted, least in zip(queries, placement.prediction.queries, idle, strict=True):
        # an SLO that can be kept, and that says something: twenty times the predicted time are too many,
        # but where queries over fifty times as long run too, those that are short must wait for one of them
        longest = max(idle)
        waits = longest if longest > 50 * least else 0.0
        assert least < query.slo_s < 20 * max(predicted.jct_s, waits)


@pytest.mark.parametrize("name", SOME_DAILY)
def test_the_report_on_a_placement_is_consistent(name):
    placed = full_report(*_placed(name))
    assert placed.objective_s == placed.simulated.mean
    assert placed.simulated.ci95[0] <= placed.objective_s <= placed.simulated.ci95[1]
    assert placed.formula.gap <= 1e-4
    assert placed.formula.lower_bound_s <= placed.formula.objective_s * (1 + 1e-12)
    predicted = placed.predicted
    assert 0 <= predicted.network_utilization < 1
    assert 0 < predicted.compute_utilization < 1
    links = predicted.links
    assert max(link.utilization for link in links) == pytest.approx(predicted.network_utilization)
    on_the_way = sum(link.share * link.wait_s for link in links)
    assert on_the_way == pytest.approx(predicted.network_wait_s)
    assert (len(links) > 1) == (name in {"racks_and_nics", "survive_a_rack"})
    for model in placed.models.values():
        for subgraph in model.subgraphs:
            shares = [c.probability for c in subgraph.configurations]
            assert sum(shares) == pytest.approx(1)
            assert min(shares) > 0


def _objective(fixed, prepared):  # type: ignore[no-untyped-def]
    try:
        return simulated(prepared.system, fixed(prepared.system)).objective_s
    except PlacementError:
        return float("inf")  # spread may overload the link


@pytest.mark.parametrize("name", SOME_DAILY)
def test_every_scheduler_of_a_scenario_runs_and_passes_its_checks(name):
    short = _prepare(name, jobs=300, replications=1, warmup=50)
    result = nona.simulate(short, placement=_placed(name)[1])
    for scheduler, summary in result.summaries.items():
        failed = [f"{scheduler}: {c.name}: {c.detail}" for c in summary.checks if not c.ok]
        assert failed == []
        jobs = summary.result.jobs
        assert jobs.arrived == jobs.completed + jobs.in_flight


@pytest.mark.verify
@pytest.mark.parametrize("name", query_scenario_names())
def test_simulated_the_placement_is_not_clearly_slower_than_one_by_hand(name):
    """By no more than the interval of paired runs, and 1 %."""
    schedulers = ("nona", "local", "spread", "expert")
    longer = _prepare(name, schedulers, jobs=3000, replications=5, warmup=750)
    result = nona.simulate(longer, placement=_placed(name)[1])
    mean_s = {
        n: np.array([r.completion_time_s.mean() for r in records])
        for n, records in result.records.items()
        if all(r.state != "overloaded" for r in records)
    }
    for other_s in (mean_s[n] for n in schedulers[1:] if n in mean_s):
        slower = paired_difference(mean_s["nona"], other_s).difference
        assert slower.low <= 0.01 * float(other_s.mean())


def test_the_slides_example_takes_22_32_and_14_milliseconds():
    result = nona.simulate(_prepare("slides_example"))
    expected = {"local": 22, "spread": 32, "nona": 14, "nona-d2": 14, "expert": 14}
    for scheduler, milliseconds in expected.items():
        mean = result.summaries[scheduler].result.jct_s
        np.testing.assert_allclose(1e3 * mean.mean, milliseconds, rtol=1e-9)
        assert mean.half_width < 1e-9


def test_the_solver_finds_the_placement_of_the_slides():
    prepared, placement = _placed("slides_example")
    (part,) = placement.queries[0]
    ids = prepared.system.queries[0].tasks.task_ids
    likely = part.configurations[int(np.argmax(part.probabilities))]
    assert part.probabilities.max() == pytest.approx(1.0)
    parts = [{ids[t] for t in p} for p in likely.parts]
    assert parts[likely.root_part] == {"2"}
    assert parts[1 - likely.root_part] == {"3"}
    assert not likely.sink_moves
    # at a rate near zero the prediction is the plain sum along the longest path
    assert placement.objective_s == pytest.approx(14e-3, rel=2e-3)
    assert local_placement(prepared.system).objective_s == pytest.approx(22e-3, rel=2e-3)
    assert spread_placement(prepared.system).objective_s == pytest.approx(32e-3, rel=2e-3)


@pytest.mark.verify
def test_bursts_make_the_prediction_too_good():
    """The placement assumes Poisson arrivals; with bursts the simulation must come out longer."""
    prepared = _prepare("ensemble_bursty", ("nona",), jobs=6000, replications=3)
    placement = _placed("ensemble_bursty")[1]
    measured = nona.simulate(prepared, placement=placement).summaries["nona"].result.jct_s
    assert measured.mean > 1.2 * placement.prediction.jct_s


SEED = 4242  # none of the files has it
DEMOS = (
    "black_friday", "a100s_sliced_or_l4s", "survive_a_rack", "language_and_vision", "batches_save_servers",
    "t4_or_l4",
)  # fmt: skip


@cache
def planner_of(name):
    """A demo's question with another seed and a confidence that short runs reach."""
    scenario, sources = open_scenario(scenario_path(name))
    part = scenario.plan.model_copy(update={"confidence": 0.9})
    return PlanSearch(question_of(scenario.model_copy(update={"seed": SEED, "plan": part}), sources))


def verdict(planner, counts, load=1.0):
    (known,) = judged(planner, [PlanCandidate(Option(counts), round(load * MILLE))])
    return known.verdict


def test_demos_ask_with_prices_and_black_friday_needs_far_fewer_servers_in_its_mean_hour():
    for name in DEMOS:
        question = planner_of(name).question
        assert question.targets
        assert all(offer.price > 0 for offer in question.offers)
    planner = planner_of("black_friday")
    profile = planner.question.profile
    assert profile.factors.index(profile.peak) // 24 == 4
    assert planner.question.spec.growth == pytest.approx(0.08)
    # six A10 keep at the peak, two in the mean hour
    assert [verdict(planner, (0, n)) for n in (3, 6)] == ["misses", "keeps"]
    assert verdict(planner, (0, 2), profile.mean / profile.peak) == "keeps"


@pytest.mark.verify
@pytest.mark.parametrize(
    ("name", "counts", "expected"),
    [
        ("a100s_sliced_or_l4s", (0, 0, 2, 0), {"keeps"}),  # sevenths of an A100
        ("a100s_sliced_or_l4s", (0, 0, 1, 3), {"keeps", "open"}),  # a mixture
        ("survive_a_rack", (8, 0), {"keeps", "open"}),  # two racks of four
        ("survive_a_rack", (9, 0), {"keeps"}),
        ("survive_a_rack", (7, 0), {"misses"}),  # without a server
        ("survive_a_rack", (4, 0), {"misses"}),  # without a rack
        ("t4_or_l4", (0, 4), {"keeps"}),
        ("t4_or_l4", (0, 3), {"misses"}),
        ("t4_or_l4", (6, 0), {"misses"}),  # T4s for the same money
        ("language_and_vision", (2, 0), {"misses"}),  # A100s alone: three are needed
        ("language_and_vision", (2, 2), {"keeps", "open"}),
    ],
)
def test_what_the_descriptions_of_the_demos_say(name, counts, expected):
    assert verdict(planner_of(name), counts) in expected


def test_mixtures_cost_less_than_sevenths_and_those_less_than_whole_gpus():
    planner = planner_of("a100s_sliced_or_l4s")
    mixed, sevenths, whole, l4s = map(Option, ((0, 0, 1, 3), (0, 0, 2, 0), (3, 0, 0, 0), (0, 0, 0, 7)))
    cost = planner.question.cost
    assert cost(mixed) < cost(sevenths) < cost(whole)
    assert cost(mixed) < cost(l4s)
    for few in (whole, Option((0, 0, 0, 6))):  # overloaded, by their load alone
        assert planner.bounds.excluded(few) is not None
    offers = planner.question.offers
    assert [bool(o.mig) for o in (offers[0], offers[2])] == [False, True]
    assert offers[3].gpu == "l4"
    assert planner_of("survive_a_rack").question.scenario.cluster.network.racks.size == 4
    cost = planner_of("t4_or_l4").question.cost
    assert cost(Option((6, 0))) < cost(Option((0, 4))) < cost(Option((7, 0)))
    cost = planner_of("language_and_vision").question.cost
    assert cost(Option((2, 2))) < cost(Option((3, 0)))


def _served(name, **engine):
    """The sample with a part of its requests, all of its engines changed; router → its result."""
    scenario, _ = open_scenario(scenario_path(name))
    data = scenario.model_dump(mode="json")
    data["simulation"] |= {"jobs": scenario.simulation.jobs // sized(6, 3), "replications": 3}
    for group in data["cluster"]["servers"]:
        group["engine"] |= engine
    study = prepare_language(scenario_from_mapping(data))
    return simulate_language(study).report.schedulers


@pytest.mark.verify
@pytest.mark.sized
def test_what_the_descriptions_of_language_samples_say():
    routers = _served("chat_routers")
    assert routers["round-robin"].predicted["llama-3.1-8b"].load > 1  # of the slower cards
    assert routers["round-robin"].state == "overloaded"
    assert all(routers[name].goodput.mean > 0.99 for name in ("least-kv", "kv-live"))
    large, small = (
        _served("prefill_stalls_decode", budget=b)["round-robin"].models["chat"] for b in (8192, 1024)
    )
    assert small.itl_s.p99 < 0.5 * large.itl_s.p99
    assert small.ttft_s.mean > 1.2 * large.ttft_s.mean
    apart, both = (_served("prompt_over_the_network", **roles) for roles in ({}, {"role": "both"}))
    for name, router in apart.items():
        row, other = router.models["chat"], both[name].models["chat"]
        assert row.sent_s > 0.01
        assert row.ttft_s.mean > other.ttft_s.mean
        assert row.itl_s.p99 < 0.5 * other.itl_s.p99


def test_times_of_a_t4_and_an_l4_are_those_that_were_published():
    """MLPerf, offline, INT8: 6,036 and 12,882 images a second; a query holds 32."""
    scenario = _load("t4_or_l4")
    (task,) = scenario.models["resnet50_int8"]["nodes"]
    assert task["compute_ms"]["t4"] == pytest.approx(1e3 * 32 / 6036, abs=1e-3)
    assert task["compute_ms"]["l4"] == pytest.approx(1e3 * 32 / 12_882, abs=1e-3)


def test_a_4_bit_model_fits_where_its_16_bits_do_not():
    scenario = _load("does_a_4_bit_model_fit")
    memory = prepare_language(scenario).facts[0].memory
    assert memory.weights == pytest.approx(5.5e9, abs=0.05e9)
    assert share_for(memory, 20, 1000) < 0.92 < 15.2e9 / memory.memory
    whole = scenario.model_copy(update={"cost": scenario.cost.model_copy(update={"precision": "fp16"})})
    with pytest.raises(MisfitError, match=r"15\.2 GB of weights for 14\.4 GB.*smallest tp that fits is 2"):
        prepare_language(whole)


def test_a_long_prompt_stops_answers_for_a_step_and_those_who_come_for_all_of_them():
    routers = _served("who_waits_for_the_long_prompt")
    dealt, sent = (routers[name].models for name in ("round-robin", "least-kv"))
    assert dealt["reports"].ttft_s.mean > 3
    assert dealt["chat"].max_gap_s.most < 1.5
    assert dealt["chat"].ttft_s.mean > 3 * sent["chat"].ttft_s.mean
    prompts_first = _served("who_waits_for_the_long_prompt", scheduler="sglang")["round-robin"].models
    assert prompts_first["chat"].max_gap_s.most > 3


def test_one_engine_of_two_gpus_is_sooner_at_low_rates_and_two_engines_at_high_ones():
    scenario, _ = open_scenario(scenario_path("one_engine_or_two"))
    sooner = {}
    for rate in (scenario.language[0].rate, 45.0):
        token_s = {}
        for tp in (1, 2):
            data = scenario.model_dump(mode="json")
            data["simulation"] |= {"jobs": 3000, "replications": 2}
            data["cluster"]["servers"][0]["engine"]["tp"] = tp
            data["language"][0]["rate"] = rate
            study_of = prepare_language(scenario_from_mapping(data))
            router = simulate_language(study_of, ["least-kv"]).report.schedulers["least-kv"]
            token_s[tp] = router.models["chat"].tpot_s.mean
        sooner[rate] = min(token_s, key=token_s.get)
    assert sooner == {scenario.language[0].rate: 2, 45.0: 1}


@pytest.mark.verify
def test_splitting_a_search_brings_the_first_word_of_its_answer_sooner():
    scenario, sources = open_scenario(scenario_path("search_then_answer"))
    first_s = {}
    for name in ("nona", "local"):
        size = scenario.simulation.model_copy(update={"jobs": 2000, "replications": 3})
        update = {"schedulers": (NamedSpec(name=name),), "routers": scenario.routers[:1], "simulation": size}
        study_of = prepare_language(scenario.model_copy(update=update), sources)
        (router,) = simulate_language(study_of).report.schedulers.values()
        first_s[name] = router.models["answer"].ttft_s.mean
    assert first_s["nona"] < 0.8 * first_s["local"]
