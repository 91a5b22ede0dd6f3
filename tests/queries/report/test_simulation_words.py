"""What the Simulation page says: headlines, remedies, advice, what changed, how sure; words equal numbers."""

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sizes import examples

from nona.core.document import Estimate, ModelFacts
from nona.core.tables import mean_text
from nona.core.units import format_time
from nona.queries.chart_data import LiveLine
from nona.queries.report import uncertainty as sure
from nona.queries.report.advice import LONGER, scheduler_advice
from nona.queries.report.findings import TARGET, headline, parts_finding, remedies, unsettled_text
from nona.queries.report.live import LiveSeries, bin_edge_s, quantile_s
from nona.queries.report.scenario_diff import change_text, scenario_changes
from nona.queries.results import Resources
from nona.queries.simulation.collected import RunProgress
from nona.queries.simulation.steady_state import SHORT_FIRST
from nona.queries.workflows.outcome import simulation_outcome
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from nona.scenario.file import load_scenario, scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import query_scenario_names, scenario_path
from tests.core.filled import but, changed, filled
from tests.queries.report.simulation_rows import difference, parts, report, scheduler


@examples(80)
@given(st.floats(1.0, 5.0), st.floats(0.0, 0.9))
def test_a_remedy_brings_the_load_to_its_target(load, background):
    (found,) = remedies(Resources(compute=load, network=0.3), Resources(compute=background, network=0.0))
    assert found.resource == "executors"
    queries = load - background
    assert background + found.rate * queries == pytest.approx(TARGET)
    assert background + queries / found.size == pytest.approx(TARGET)


def test_differences_of_language_rows_engines_and_routers_are_words():
    row = {"name": "chat", "rate": 5, "llm": {"model": "llama-3.1-8b", "tokens": {"input": 9, "output": 9}}}
    data = {
        "cluster": {"servers": [{"gpu": "h100", "engine": {}}]},
        "workload": [row],
        "schedulers": ["kv-live"],
    }
    before = scenario_from_mapping(data)
    other = {**row, "name": "code"}
    engine = {"gpu": "h100", "engine": {"budget": 512}}
    plan = {"engines": [{}, {"budget": 512}]}
    more = {"cluster": {"servers": [engine]}, "workload": [{**row, "rate": 3}], "schedulers": ["least-kv"]}
    assert scenario_changes(before, scenario_from_mapping(more)) == [
        "engine token budget automatic → 512",
        "chat rate 5/s → 3/s",
        "router + least-kv",
        "router − kv-live",
    ]
    added = scenario_from_mapping({**data, "workload": [row, other], "plan": plan})
    assert scenario_changes(before, added) == ["requests + code", "plan added"]
    assert scenario_changes(added.model_copy(update={"plan": None}), before) == ["requests − code"]


def test_what_changed_is_said_in_words():
    eight = partial(changed, "vision_language_8_servers")
    before = eight()
    plain = before.model_dump(mode="json")
    group = plain["cluster"]["servers"][0] | {"count": 12, "gpu": "h100-sxm"}
    after = eight(cluster={**plain["cluster"], "servers": [group]})
    assert scenario_changes(before, after) == ["servers 8 → 12", "GPU a100-40gb → h100-sxm"]
    assert change_text(before, eight(schedulers=["nona", "local", "random"])) == (
        "scheduler + random, schedulers − spread, opportunistic, spark-fair, expert"
    )
    background = {**plain["background"], "network": plain["background"]["network"] | {"utilization": 0.5}}
    assert change_text(before, eight(background=background)) == "link background 20 % → 50 %"
    planned = eight(plan={"hit": 0.95})
    assert (change_text(before, planned), change_text(planned, before)) == ("plan added", "plan removed")
    rows = [dict(r) for r in plain["workload"]]
    rows[0]["rate"] = "400/s"
    assert change_text(before, eight(workload=rows)) == "resnet18 rate 300/s → 400/s"
    assert change_text(before, eight(workload=rows[1:])) == "query − resnet18"
    twins = eight(workload=[rows[0], rows[0]])
    assert change_text(eight(workload=rows[:1]), twins) == "query + resnet18 #2"
    slower = eight(workload=[rows[0], rows[0] | {"rate": "5/s"}])
    assert change_text(twins, slower) == "resnet18 #2 rate 400/s → 5/s"
    assert change_text(before, eight(name="other")) == ""
    size = {"jobs": 1, "replications": 1, "warmup": 1, "precision": 0.1}
    assert change_text(before, eight(seed=9, simulation=size)).endswith(", and 1 more change")
    whole = scenario_changes(before, eight(seed=9, simulation=size))
    for longest in range(10, 120):
        told = change_text(before, eight(seed=9, simulation=size), longest=longest)
        shown = told.partition(", and ")[0].split(", ")
        assert told == f"{len(whole)} changes" or (len(told) <= longest and shown == whole[: len(shown)])


@pytest.mark.parametrize("name", query_scenario_names())
def test_no_model_can_be_done_before_its_longest_chain(name):
    """The bound is the mix of each model's critical path, and below its local time on the same device."""
    path = scenario_path(name)
    system = prepare(load_scenario(path), Sources(path.parent)).system
    bound = sure.idle_bound_s(system)
    rates = np.array([q.rate for q in system.queries])
    total = np.array([q.tasks.compute_s.min(axis=0).sum() for q in system.queries])
    assert 0 < bound <= float(rates @ total / rates.sum()) * (1 + 1e-9)


def test_confidence_beside_theory_without_formula_and_without_steady_state():
    effort = {"jobs": 100, "replications": 3}
    study = prepare(changed(schedulers=["local", "spread"], simulation=effort))
    outcome = simulation_outcome(study, simulate(study, engine="simpy"), "now")
    rows = sure.confidence_rows(outcome.report, outcome.predicted, sure.idle_bound_s(study.system))
    local, spread = rows
    assert (local.idle_s, local.jct_s.mean) == (pytest.approx(0.014), pytest.approx(0.022))
    assert local.over_idle == pytest.approx(22 / 14)
    assert abs(local.error) < 1e-3
    assert local.little_s == pytest.approx(0.022, rel=0.02)
    assert spread.jct_s.mean == pytest.approx(0.032)
    table = sure.CONFIDENCE.fill(rows).texts()
    assert (table[0]["predicted"], table[0]["idle bound"]) == ("22 ms", "14 ms")
    assert sure.provenance_lines(outcome.models) == [
        "slides_example on a100-40gb: 100 % given (taken as stated); given for any device, by definition."
    ]
    facts = filled(ModelFacts, device="t4", provenance={"given": 1.0}, sigma={"given": 0.0})
    assert sure.provenance_lines({"m": facts}) == ["m on t4: 100 % given (taken as stated)."]
    found = report({"a": scheduler(0.01), "b": scheduler(None, "overloaded")})
    rows = sure.confidence_rows(found, {"b": None}, 0.005)
    assert [r.prediction for r in rows] == ["none", "overloaded"]
    assert (rows[1].load, rows[1].bottleneck) == (1.25, "link")
    assert sure.CONFIDENCE.fill(rows).texts()[0]["predicted"] == "no prediction"


@examples(60)
@given(st.lists(st.floats(1e-4, 10.0), min_size=1, max_size=60), st.floats(0.05, 1.0))
def test_a_live_quantile_is_right_to_a_bin(times, share):
    live = LiveSeries()
    at = np.zeros(len(times))
    progress = RunProgress(0.5, np.zeros(len(times), dtype=np.int64), at, at + np.array(times))
    live.add("a", SHORT_FIRST, progress)  # the whole run begins again with these jobs
    live.add("a", 0, progress)
    assert live.jobs == len(times)
    exact = sorted(times)[max(0, int(np.ceil(share * len(times) - 1e-9)) - 1)]
    width = bin_edge_s(1) / bin_edge_s(0) * (1 + 1e-6)
    assert exact / width <= quantile_s(live.snapshot()["a"], share) <= exact * width


def line(mean_s, first, **changes):
    made = LiveLine(t=(), jct_s=(), first=first, counts=(4,), jobs=4, mean_s=mean_s, hit_rate=None, busy=None)
    return made.model_copy(update=changes)


def test_a_run_in_which_queues_do_not_fill_is_called_too_short():
    short = {
        "local": but(scheduler(0.02), jct_s=Estimate(mean=0.02, ci95=(0.01, 0.03))),
        "nona": scheduler(0.02),
    }
    assert unsettled_text(short, {"local": 0.29, "nona": 0.021}).startswith("For local the formula expects")
    assert unsettled_text(short, {"local": 0.059, "nona": None, "gone": 9.0}) == ""


def made(*of):
    """A scheduler whose mean is the sum of compute, transfer and waits for links and servers, in ms."""
    return but(scheduler(sum(of) / 1e3), parts_s=parts(*(v / 1e3 for v in of)))


def apart(found, best):
    """Everything is clearly slower than the best."""
    return {best: {n: difference(0.01, 0.5, "slower") for n in found if n != best}}


@examples(80)
@given(
    st.lists(st.floats(0.1, 50), min_size=4, max_size=4), st.lists(st.floats(0.1, 50), min_size=4, max_size=4)
)
def test_the_reason_is_the_part_that_the_loser_takes_most_longer_for_and_its_share_of_the_lead(one, other):
    assume(abs(sum(one) - sum(other)) > 0.01)
    found = {"nona": made(*one), "local": made(*other)}
    best, loser = sorted(found, key=lambda n: found[n].jct_s.mean)
    told = scheduler_advice(found, apart(found, best))
    own, theirs = (found[n].parts_s.by_name() for n in (best, loser))
    more = {part: (theirs[part] or 0) - (own[part] or 0) for part in own}
    most = max(more, key=more.get)
    assert told.startswith(f"Under {loser} {LONGER[most].format(format_time(more[most]))}")
    assert ("of the difference" in told) is (more[most] <= 1.005 * sum(more.values()))


def test_without_a_clear_difference_or_a_steady_state_there_is_no_reason():
    found = {"nona": made(5, 0, 0, 1), "local": made(6, 0, 0, 1)}
    assert scheduler_advice(found, apart(found, "nona"))
    close = difference(0.0005, 0.05, "not told apart")
    over = scheduler(None, "overloaded", offered=Resources(compute=0.5, network=1.25))
    assert scheduler_advice(found, {"nona": {"local": close}}) == ""
    for alone in ({}, {"nona": made(5, 0, 0, 1)}, {"nona": made(5, 0, 0, 1), "local": over}, {"local": over}):
        assert scheduler_advice(alone, {}) == ""


def test_a_headline_says_what_decides_where_intervals_overlap_and_writes_them_as_tables_do():
    """Means of 15.7 and 16.8 ms, each ± 10 %: the paired difference tells them apart, a picture does not."""
    found = {"nona": scheduler(0.0157), "local": scheduler(0.0168)}
    told = headline(found, apart(found, "nona"))
    assert told.lead == "nona is fastest by paired differences"
    half = found["nona"].jct_s.half_width
    assert told.text.partition(": ")[2].startswith(f"15.7 ms ± {format_time(half)} simulated (95 %)")
    assert mean_text(found["nona"].jct_s, format_time) in told.text
    clear = {**found, "local": scheduler(0.0368)}
    assert headline(clear, apart(clear, "nona")).lead == "nona is fastest"


def test_where_time_goes_is_said_of_the_fastest_the_largest_part_first():
    found = {"local": made(20, 0, 0, 10), "nona": made(12, 2, 0.05, 4)}
    assert parts_finding(found) == (
        "Under nona a query takes 18.1 ms: compute 12 ms, wait at servers 4 ms and transfer 2 ms."
    )
    assert parts_finding({"nona": scheduler(None, "overloaded")}) == ""


def test_instances_of_a_stage_that_change_are_not_told_by_the_number_of_their_places():
    old = load_scenario(scenario_path("documents_as_deployed"))
    row = old.workload[0]
    places = tuple(p.model_copy(update={"count": p.count + 2}) for p in row.stages["detect"].instances)
    stages = {**row.stages, "detect": row.stages["detect"].model_copy(update={"instances": places})}
    new = old.model_copy(update={"workload": (row.model_copy(update={"stages": stages}),)})
    (told,) = scenario_changes(old, new)
    assert told.endswith("own instances changed")
