"""Parts of a plan: the least count, prices, growth, offers, targets, the week, jobs that just keep SLOs."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.cluster.hardware.device import devices
from nona.cluster.prices import (
    USD_PER_KWH,
    PriceKind,
    breaks_after,
    growth_per_month,
    growth_text,
    listed_prices,
    per_hour,
    prices_of,
)
from nona.core.count_search import run_search, smallest_count
from nona.core.errors import HardwareError, ScenarioError
from nona.core.queueing import erlang_c
from nona.planning.offers import Offer, Option, Target, slicings
from nona.planning.plan import plan
from nona.planning.question import question_of
from nona.planning.week import is_table, read_profile
from nona.queries.report.live import LiveSeries
from nona.queries.report.series import hits_over_time
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.lookup import Sources


@examples(300)
@given(st.integers(0, 400), st.integers(1, 300), st.integers(1, 350), st.integers(0, 5), st.integers(0, 3))
def test_a_monotone_target_is_found(answer, most, start, low, beside):
    answer = max(answer, low + 1)
    asked = []

    def keeps(count):
        asked.append(count)
        return count >= answer

    found = run_search(smallest_count(most, start, low=low, beside=beside), keeps)
    assert found == (answer if low < answer <= most else None)
    assert len(asked) == len(set(asked))
    assert all(low < count <= most for count in asked)
    distance = abs(answer - min(max(start, low + 1), max(most, low + 1))) + 2
    assert len(asked) <= 2 * distance.bit_length() + 4 + 2 * beside


@examples(300)
@given(st.sets(st.integers(1, 40)), st.integers(1, 40), st.integers(1, 40), st.integers(1, 3))
def test_what_is_found_is_settled_and_none_just_below(kept, most, start, beside):
    found = run_search(smallest_count(most, start, beside=beside), lambda count: count in kept)

    def settled(count):
        return all(n in kept for n in range(count, min(count + beside, most) + 1))

    if found is None:
        assert not (settled(most) and most in kept) or most == 0
    else:
        assert settled(found)
        assert not any(settled(n) for n in range(max(1, found - beside), found))


def with_plan(plan):
    row = {"model": "resnet18", "rate": "100/s", "slo": "40 ms"}
    return scenario_from_mapping({"cluster": {"servers": [{"count": 2}]}, "workload": [row], "plan": plan})


@pytest.mark.parametrize(
    ("make", "inputs", "why"),
    [
        (per_hour, ["-1", "a", "1/fortnight", "5/0 years", "1e12", "1/"], "a number of at least 0"),
        (per_hour, ["", True, None], "it must be a number of at least 0"),
        (growth_per_month, ["8", "8%", "8/month", "-100%/month", "8%/day"], "share per time above"),
        (lambda of: Target(0, *of), [(0.0, 1.0), (1.0, 1.0), (0.9, 0.0), (0.9, float("inf"))], "Target"),
    ],
)
def test_bad_prices_growths_and_targets_are_refused(make, inputs, why):
    for given_ in inputs:
        with pytest.raises(ScenarioError, match=why):
            make(given_)


def test_targets_of_requests_are_refused_for_rows_of_tasks():
    asked = {"targets": {"resnet18": {"ttft_p95": "10 ms"}}, "offers": ["l4=1"]}
    with pytest.raises(ScenarioError, match="resnet18: ttft and tpot are times of rows with llm"):
        question_of(with_plan(asked), Sources())


def test_a_price_per_month_is_that_per_hour_times_its_hours_and_growth_is_written_as_it_is_read():
    assert per_hour("730/month") == per_hour("1/h") == per_hour(1) == 1.0
    assert per_hour("8760/year") == pytest.approx(per_hour("17520/2 years")) == 1.0
    for share in (0.08, 0.0123456789, -0.05, 1 / 3, 1e-9):
        assert growth_per_month(growth_text(share)) == pytest.approx(share, rel=1e-12)


def test_the_month_that_growth_passes_the_headroom_is_the_first_beyond_it():
    for headroom, growth in ((1.31, 0.08), (1.0, 0.05), (3.7, 0.01), (1.08, 0.08)):
        month = breaks_after(headroom, growth)
        assert (1 + growth) ** month > headroom * (1 - 1e-9)
        assert (1 + growth) ** (month - 1) <= headroom * (1 + 1e-9)


def test_layouts_may_be_written_short_and_an_option_costs_what_its_servers_cost():
    assert slicings("a100-40gb", "3g+2g+2g") == slicings("a100-40gb", "2g.10gb, 2g.10gb, 3g.20gb")
    assert "7g.40gb" in slicings("a100-40gb", "all")
    with pytest.raises(HardwareError, match="holds at most 1"):
        slicings("a100-40gb", "4g+4g")
    offers = [Offer("l4", None, 0.5, 9), Offer("t4", None, 0.25, 9)]
    assert Option((2, 4)).cost(offers) == 2.0
    assert Option((0, 4)).used == (1,)


def test_prices_have_date_and_source():
    assert {"t4", "l4", "a100-40gb", "h100", "h200", "b200"} <= set(listed_prices()) <= set(devices())
    for price in (p for kind in get_args(PriceKind) for p in listed_prices(kind).values()):
        assert price.usd_per_hour > 0
        assert price.date[:2] == "20"
        assert price.source
        assert price.checked in {"yes", "recollected"}
    bought = listed_prices("bought")["h100"]
    assert bought.usd_per_hour == pytest.approx(30000 / (3 * 8760) + 0.7 * USD_PER_KWH)
    assert prices_of(["k80", "dream"], {"k80": 7}) == {"k80": 7, "dream": 0}


def test_the_part_of_a_scenario_is_read_and_written_back():
    made = with_plan(
        {
            "hit": "98%",
            "offers": ["a100-40gb:3g+2g+2g=1.29", {"gpu": "l4", "price": "30000/3 years"}, "t4"],
            "schedulers": ["nona", {"jsq-d": {"d": 3}}],
            "growth": "8%/month",
            "targets": {"resnet18": {"p99": "35 ms"}},
            "confidence": "90%",
        }
    )
    first = made.plan.offers[0]
    assert (first.gpu, first.mig, first.price) == ("a100-40gb", "3g+2g+2g", 1.29)
    assert (made.plan.growth, made.plan.schedulers[1].options) == (0.08, {"d": 3})
    assert parse_scenario(dump_scenario(made)) == made
    assert with_plan({}).plan is not None


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ({"hit": 2}, "plan.hit"),
        ({"offers": ["t4=x"]}, "plan.offers"),
        ({"offers": ["t4="]}, "plan.offers.*Price ''"),
        ({"offers": ["a30:=1"]}, "plan.offers.*mig"),
        ({"links": ["25 Gbit/s"]}, "plan.links"),
        ({"growth": "fast"}, "plan: Growth 'fast'|plan.growth: Growth 'fast'"),
        ({"budget": 3}, "plan.budget"),
        ({"schedulers": []}, "plan.schedulers"),
        ({"confidence": 0.2}, "plan.confidence"),
    ],
)
def test_bad_parts_are_refused_with_their_place(plan, why):
    with pytest.raises(ScenarioError, match=why):
        with_plan(plan)


DAY = [f"{hour},{1 + hour / 24:.3f}" for hour in range(24)]


def profile_table(rows, head="hour,factor"):
    return "\n".join([head, *rows, ""]).encode()


PLAIN = profile_table(DAY)


@pytest.mark.parametrize(
    "data",
    [
        profile_table(DAY, '"hour","factor"'),
        profile_table([",".join(f'"{cell}"' for cell in row.split(",")) for row in DAY], '"Hour", "Factor"'),
        b"\xef\xbb\xbf" + PLAIN.replace(b"\n", b"\r\n"),
        b"\n\n" + PLAIN,
        profile_table(list(reversed(DAY))),
        PLAIN.replace(b",", b";").replace(b".", b","),
        PLAIN.replace(b",", b"\t"),
    ],
    ids=["quoted head", "quoted", "spreadsheet", "blank lines first", "another order", "semicolons", "tabs"],
)
def test_a_table_is_read_however_a_spreadsheet_writes_it(data):
    assert is_table(data)
    assert read_profile(data, "w.csv", 10.0) == read_profile(PLAIN, "w.csv", 10.0)


HOURS = [profile_table([f"{hour},1", *DAY[1:]]) for hour in ("nan", "inf", "-1", "0.4", "168", "1e300")]


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        (HOURS, "Profile 'w.csv', line 2: hour .* must be a whole number from 0"),
    ],
)
def test_tables_that_cannot_be_meant_are_refused(tables, why):
    for data in tables:
        assert is_table(data)
        with pytest.raises(ScenarioError, match=why):
            read_profile(data, "w.csv", 10.0)


RATE, SERVICE_S, HIT = 40.0, 0.02, 0.9


def scenario(slo_ms, servers=1):
    """M/D/c: a job that need not wait takes 20 ms."""
    node = {"id": "a", "compute_ms": {"l4": 1000 * SERVICE_S}}
    return scenario_from_mapping(
        {
            "cluster": {"servers": [{"count": servers, "gpu": "l4"}]},
            "workload": [{"model": "one", "rate": RATE, "slo": f"{slo_ms} ms"}],
            "models": {"one": {"directed": True, "nodes": [node], "edges": []}},
            "simulation": {"jobs": 1000, "replications": 4},
            "schedulers": ["opportunistic"],
            "plan": {"hit": HIT, "schedulers": ["opportunistic"], "offers": ["l4=1"], "most": 16},
        }
    )


# So few jobs wait in M/M/c, and fewer in M/D/c, that the target holds by far.
ENOUGH = next(c for c in range(1, 16) if erlang_c(c, RATE * SERVICE_S) < (1 - HIT) / 2)


def test_a_plan_and_a_simulation_count_jobs_that_take_just_their_slo():
    best = plan(scenario(1000 * SERVICE_S)).best
    assert best.servers[0].count <= ENOUGH
    assert best.models["one"].hit_rate.mean > HIT
    assert plan(scenario(999 * SERVICE_S)).answer is None
    (summary,) = simulate(prepare(scenario(1000 * SERVICE_S, ENOUGH))).summaries.values()
    assert summary.result.slo_hit_rate.mean > HIT


def test_live_figures_and_hits_over_time_count_as_the_result_does():
    study = prepare(scenario(1000 * SERVICE_S, ENOUGH))
    slo_s = [row.slo for row in study.scenario.workload]
    live = LiveSeries(slo_s)
    found = simulate(study, on_progress=lambda p: live.add(p.scheduler, p.replication, p.run))
    ((name, runs),) = found.records.items()
    kept = [int(run.tally.hits.sum()) for run in runs]
    shown = [sum(w.hits for w in hits_over_time({name: [run]}, slo_s)[name]) for run in runs]
    assert shown == kept
    line = live.snapshot()[name]
    assert line.hit_rate == sum(kept) / line.jobs
