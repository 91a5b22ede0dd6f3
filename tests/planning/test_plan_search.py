"""What to buy, where the answer is known: M/M/c, M/D/1, and exhaustive enumeration with theory."""

import json
import math
import re
from datetime import date

import pytest
from sizes import first

from evidence.theory import md1_jct_s
from nona.cli.main import main
from nona.cluster.prices import listed_prices
from nona.core.errors import NonaError
from nona.core.experiments import ProcessPool
from nona.core.queueing import erlang_c
from nona.planning.candidates import PlanCandidate
from nona.planning.offer_series import Bounds
from nona.planning.offers import Option
from nona.planning.plan import plan
from nona.planning.planner import PlanSearch
from nona.planning.question import MILLE, opened, question_of
from nona.planning.report_plan import month_text, plan_finding, tightest
from nona.planning.report_plan_options import plan_text
from nona.planning.results import PlanReport
from nona.planning.servers import cluster_price
from nona.planning.written import PlanReports
from nona.queries.simulation.run import Cancelled
from nona.queries.sweeps.numbers import with_values
from nona.scenario.file import dump_scenario, scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.serverless import ServerlessSpec
from nona.serverless.workflows.preparation import prices_by_gpu
from tests.cli.calling import answer, refusal, text

A, B = "a100-40gb", "l4"


def scenario(rate, slo_ms, plan_part, times_ms=None, scv=1.0, jobs=3000, **cluster):
    """Jobs of one task."""
    node = {"id": "a", "compute_ms": times_ms or {A: 10.0, B: 10.0}}
    slo = None if slo_ms is None else f"{slo_ms} ms"
    row = {"model": "one", "rate": rate, "slo": slo, "service_scv": scv}
    data = {"workload": [row], "models": {"one": {"directed": True, "nodes": [node], "edges": []}}}
    data |= {"cluster": {"servers": [{"count": 2, "gpu": A}], **cluster}}
    return scenario_from_mapping(data | {"simulation": {"jobs": jobs}, "plan": plan_part})


def planned(rate, slo_ms, *given, sources=None, **changes):
    """The plan of what PART asks, with these changes."""
    how = {k: changes.pop(k) for k in ("scv", "jobs", "network") if k in changes}
    asked = scenario(rate, slo_ms, PART | changes, *given, **how)
    return plan(asked, *([sources] if sources else []))


def mmc_within(rate, mean_s, servers, bound_s):
    """P(T ≤ t) in M/M/c."""
    if rate * mean_s >= servers:
        return 0.0
    waits, speed, mu = erlang_c(servers, rate * mean_s), servers / mean_s - rate, 1 / mean_s
    if abs(speed - mu) < 1e-9 * mu:
        speed *= 1 + 1e-6
    both = mu * (math.exp(-speed * bound_s) - math.exp(-mu * bound_s)) / (mu - speed)
    return 1 - math.exp(-mu * bound_s) - waits * both


def least_mmc(rate, mean_s, bound_s, share):
    return next(c for c in range(1, 1000) if mmc_within(rate, mean_s, c, bound_s) >= share)


PART = {"hit": 0.9, "schedulers": ["opportunistic"], "offers": [f"{A}=2"], "most": 40}


@pytest.fixture(scope="module")
def report():
    return planned(450.0, 30.0, growth="5%/month")


def test_the_answer_is_that_of_theory_which_intervals_cover(report):
    least, best = least_mmc(450.0, 0.01, 0.03, 0.9), report.best
    assert ([s.count for s in best.servers], best.verdict) == ([least], "keeps")
    assert (report.complete, bool(report.cheaper_open)) == (True, False)
    assert report.answer.cost_per_hour == 2 * least
    assert report.answer.cost_per_million == pytest.approx(1e6 * 2 * least / (450 * 3600))
    for option in report.options:
        if option.replications >= 4 and option.by == "simulation":
            estimate = option.models["one"].hit_rate
            true = mmc_within(450.0, 0.01, option.servers[0].count, 0.03)
            low, high = estimate.ci95
            assert low - 0.01 <= true <= high + 0.01


def test_parts_of_the_cost_add_up_and_shares_are_those_of_the_targets():
    targets = {"one": {"hit": 0.9, "p50": "30 ms"}}
    report = planned(200.0, 60.0, prices={"server": 0.5, "gb": 0.02}, targets=targets)
    answer, best = report.answer, report.best
    (servers,) = best.servers
    assert servers.price == 2.5
    parts = {c.part: c.per_hour for c in answer.costs if c.part != "data moved"}
    assert parts == {A: servers.price * servers.count}
    total = sum(c.per_hour for c in answer.costs)
    assert total == pytest.approx(answer.cost_per_million * 200 * 3600 / 1e6)
    assert best.cost_per_million == answer.cost_per_million
    assert [t.within_s for t in report.targets] == [0.06, 0.03]
    within_60, within_30 = (s.mean for s in best.shares)
    assert within_60 > within_30
    assert within_60 == best.models["one"].hit_rate.mean


def test_everything_cheaper_is_ruled_out_simulated_or_has_fewer_servers_and_the_words_say_what_to_buy(report):
    (series,) = report.evidence
    assert series.kept == report.best.servers[0].count
    assert series.missed == series.kept - 1 or series.lowest == series.kept
    below = [o for o in report.options if o.servers[0].count == series.lowest - 1]
    assert all((o.verdict, o.by) == ("misses", "load") for o in below)
    text = plan_finding(report).text
    assert text.startswith(f"Buy {report.best.servers[0].count} × {A} under opportunistic at ")
    assert re.search(r"Every cheaper option (misses:|is ruled out by bounds)", text)
    assert text in plan_text(report)
    assert PlanReport.from_json(report.to_json()) == report


def test_the_headroom_is_that_of_theory(report):
    headroom = report.answer.headroom
    servers = report.best.servers[0].count
    edge = next(f / 1000 for f in range(1000, 9000) if mmc_within(0.45 * f, 0.01, servers, 0.03) < 0.9)
    assert edge / 1.12 <= headroom <= edge * 1.02
    assert report.answer.breaks_at == math.floor(math.log(headroom) / math.log(1.05)) + 1
    kept = [c.factor for c in report.curve if c.verdict == "keeps"]
    assert max(kept) == headroom
    (lost,) = report.failures
    assert (lost.lost, lost.verdict) == (f"one server of {A}", "misses")


@pytest.mark.verify
def test_the_headroom_of_an_answer_that_took_many_runs_is_that_of_theory_too():
    """Two servers keep by little: at any factor as many runs are needed as at the traffic as it is."""
    found = planned(40.0, 100.0, {A: 20.0, B: 20.0}, jobs=1000, hit=0.985, offers=[f"{B}=1"])
    edge = next(f / 1000 for f in range(1000, 9000) if mmc_within(0.04 * f, 0.02, 2, 0.1) < 0.985)
    assert found.best.servers[0].count == 2
    assert found.best.replications > 16
    assert edge / 1.12 <= found.answer.headroom <= edge * 1.02


def test_constant_times_on_drawn_servers_are_as_many_md1_queues():
    """Each of c drawn servers is an M/D/1 queue: W ≤ t has a known share, here by Erlang's formula."""
    rate, service, bound, share = 400.0, 0.01, 0.035, 0.95

    def within(servers):
        load = rate * service / servers
        if load >= 1:
            return 0.0
        wait = bound / service - 1
        terms = (
            math.exp(-load * (k - wait)) * (load * (k - wait)) ** k / math.factorial(k)
            for k in range(math.floor(wait) + 1)
        )
        return (1 - load) * sum(terms)

    least = next(c for c in range(1, 99) if within(c) >= share)
    targets = {"one": {"hit": "not asked", "p95": "35 ms"}}
    report = planned(rate, 1000, scv=0.0, targets=targets, schedulers=["local"])
    assert [t.text for t in report.targets] == ["p95 of one at most 35 ms"]
    found = report.best
    assert abs(found.servers[0].count - least) <= (1 if within(least) - share < 0.004 else 0)


def test_a_mean_is_kept_by_as_many_servers_as_the_formula_asks_for():
    """Servers drawn blindly are M/D/1 each."""
    rate, service, bound = 310.0, 0.01, 0.0145
    means = {c: md1_jct_s(rate / c, service) for c in range(4, 20)}
    least = min(c for c, mean in means.items() if mean <= bound)
    assert abs(means[least] / bound - 1) > 0.02 < abs(means[least - 1] / bound - 1)  # runs can decide it
    report = planned(rate, None, scv=0.0, targets={"one": {"mean": "14.5 ms"}}, schedulers=["local"])
    assert [(t.text, t.share) for t in report.targets] == [("mean of one at most 14.5 ms", None)]
    assert report.best.servers[0].count == least
    (seen,) = report.best.shares
    assert seen.ci95[0] <= means[least] <= seen.ci95[1] <= bound
    assert tightest(report.targets, report.best.shares).used == pytest.approx(seen.mean / bound)
    missed = next(o for o in report.options if o.servers[0].count == least - 1)
    assert (missed.verdict, "mean of one" in missed.reason) == ("misses", True)


def test_an_slo_counts_beside_other_targets_unless_it_is_not_asked():
    rate, slo_ms = 330.0, 60.0
    least = least_mmc(rate, 0.01, slo_ms / 1000, 0.99)
    loose = {"one": {"p50": "1 s", "mean": "1 s"}}
    asked = planned(rate, slo_ms, targets=loose, hit=0.99)
    assert [t.within_s for t in asked.targets] == [0.06, 1.0, 1.0]
    assert asked.best.servers[0].count == least
    without = planned(rate, slo_ms, targets={"one": {"hit": "not asked", **loose["one"]}}, hit=0.99)
    assert [t.within_s for t in without.targets] == [1.0, 1.0]
    assert without.best.servers[0].count < least


def test_the_cheapest_of_two_devices_is_found_by_enumeration():
    rate, share, bound = 300.0, 0.9, 0.05
    times = {A: 8.0, B: 20.0}
    for price in (0.3, 0.9):
        prices = {A: 1.0, B: price}
        offers = [f"{g}={p}" for g, p in prices.items()]
        report = planned(rate, 1000 * bound, times, hit=share, offers=offers, mixed=False)
        costs = {g: p * least_mmc(rate, times[g] / 1000, bound, share) for g, p in prices.items()}
        best = min(costs, key=lambda g: costs[g])
        assert report.best.servers[0].gpu == best
        assert report.best.cost_per_hour == pytest.approx(costs[best])


def test_a_mixed_cluster_is_found_where_it_is_cheapest_or_one_offer_has_too_few_servers():
    """One job in flight fits on a slow device; a whole fast one more would cost ten times that."""
    report = planned(250.0, 60.0, {A: 10.0, B: 20.0}, offers=[f"{A}=10", f"{B}=1"], most=6)
    enumerated = [o for o in report.options if o.verdict == "keeps"]
    assert report.best.cost_per_hour == min(o.cost_per_hour for o in enumerated)
    assert report.best.cost_per_hour < min(o.cost_per_hour for o in enumerated if len(o.servers) == 1)
    assert (len(report.best.servers), any(series.others for series in report.evidence)) == (2, True)
    few = planned(400.0, 60.0, offers=[{"gpu": g, "price": 1, "most": 3} for g in (A, B)])
    assert {s.gpu for s in few.best.servers} == {A, B}, "neither has enough servers"
    assert sum(s.count for s in few.best.servers) == least_mmc(400.0, 0.01, 0.06, 0.9)


def test_batches_on_offer_are_worth_servers():
    """A batch of 4 takes 16 ms where four queries take 40: so many fewer servers, and the answer says so."""
    part = {"offers": [f"{A}=2"], "schedulers": ["least-loaded"], "batches": [1, "4:2 ms"]}
    asked = scenario(900.0, 100.0, part, scv=0.0)
    node = {"id": "a", "batch_ms": {"1": 10, "4": 16}}
    models = {"one": {"directed": True, "nodes": [node], "edges": []}}
    asked = scenario_from_mapping(json.loads(asked.model_dump_json()) | {"models": models})
    report = plan(asked)
    assert report.best is not None
    assert report.best.scheduler_text == "least-loaded with batches of 4 after at most 2 ms"
    fewest = 900 * 0.016 / 4  # servers that full batches keep busy
    assert fewest < report.best.servers[0].count <= fewest + 2
    alone = [o for o in report.options if o.batch == 1]
    assert all(o.verdict == "misses" for o in alone if o.servers[0].count < 900 * 0.010)
    (row,) = opened(asked, report.best).workload
    assert (row.batching.max_batch, row.batching.delay) == (4, 0.002)


def test_an_open_count_is_no_evidence_against_fewer_servers():
    """With few runs counts stay open: below them the search goes on to one that misses."""
    report = planned(450.0, 30.0, jobs=500, replications=4)
    counts = {o.servers[0].count: o for o in report.options if o.by in ("simulation", "load")}
    opened = [n for n, o in counts.items() if o.verdict == "open"]
    assert opened
    assert counts[min(opened) - 1].verdict == "misses"
    assert report.cheaper_open
    assert "still open at 95 %" in plan_finding(report).text


@pytest.mark.verify
@pytest.mark.parametrize(("rate", "slo_ms"), first(1, [(990.0, 100.0), (4975.0, 60.0)]))
def test_runs_are_long_enough_for_the_queues_near_saturation(rate, slo_ms):
    """At 99 % load a run of 300 jobs ends long before the queue of M/M/c has grown."""
    report = planned(rate, slo_ms, jobs=300, most=60)
    servers, least = report.best.servers[0].count, least_mmc(rate, 0.01, slo_ms / 1000, 0.9)
    assert mmc_within(rate, 0.01, least - 1, slo_ms / 1000) > 0  # there is a steady state below
    assert servers >= least
    assert mmc_within(rate, 0.01, servers - 1, slo_ms / 1000) < 0.97
    assert all(o.servers[0].count >= least for o in report.options if o.verdict == "keeps")


def test_bounds_never_rule_out_what_keeps():
    """The load bound is the exact stability limit of a single line, also with two classes of speed."""
    part = {**PART, "offers": [f"{A}=1", f"{B}=1"]}
    bounds = Bounds(question_of(scenario(250.0, 60.0, part, {A: 10.0, B: 20.0}), Sources()))
    assert bounds.load(Option((2, 0))) == pytest.approx(1.25)
    assert bounds.load(Option((0, 6))) == pytest.approx(250 * 0.02 / 6)
    assert bounds.load(Option((2, 1))) == pytest.approx(1.0)  # 100/s and 100/s and 50/s
    assert bounds.excluded(Option((2, 1))) is not None
    assert bounds.excluded(Option((2, 2))) is None
    batching = {"max_batch": 4, "per_query": 0.2}
    batched = with_values(scenario(250.0, 60.0, part, {A: 10.0, B: 20.0}), {"batching": batching})
    full_ms = 10.0 * (1 + 0.2 * 3)  # of four queries
    assert Bounds(question_of(batched, Sources())).load(Option((2, 0))) == pytest.approx(
        250 * full_ms / 4000 / 2
    )


def test_what_takes_longer_than_its_target_when_idle_is_out_of_reach():
    report = planned(10.0, 5.0, scv=0.0)
    assert (report.answer, {o.by for o in report.options}) == (None, {"idle"})
    assert "even without queueing" in plan_finding(report).text


def test_a_cluster_costs_what_the_option_costs_that_is_like_it():
    offers = [f"{A}:3g+2g+2g=2", B, {"gpu": "t4", "gpus": 4}]
    asked = scenario(1.0, 30.0, {"offers": offers, "prices": {"server": 0.1, "gpus": {"t4": 0.3}}})
    question = question_of(asked, Sources())
    for counts in ((3, 0, 0), (1, 2, 0), (0, 5, 7)):
        option = Option(counts, 0)
        like_it = question.scenario_of(option).model_copy(update={"plan": asked.plan})
        assert cluster_price(like_it) == pytest.approx(question.cost(option))
    calls = asked.model_copy(update={"plan": None, "serverless": ServerlessSpec()})
    assert cluster_price(calls) == 2 * listed_prices()[A].usd_per_hour  # as in every family
    prices = prices_by_gpu(calls)  # a server has 16 vCPUs and 7 vGPUs
    assert 2 * (16 * prices.vcpu_hour + 7 * prices.vgpu_hour) == pytest.approx(cluster_price(calls))


@pytest.mark.verify
def test_what_must_survive_costs_as_many_servers_more_as_a_failure_takes():
    racks = {"nic": "10 Gbit/s", "racks": {"size": 2, "uplink": "40 Gbit/s"}}
    for survive, spare in (("server", 1), ("rack", 2)):
        report = planned(450.0, 30.0, survive=survive, network=racks)
        (servers,) = report.best.servers
        assert (servers.count, report.complete) == (least_mmc(450.0, 0.01, 0.03, 0.9) + spare, True)
        lost = {f.lost: f.verdict for f in report.failures}
        assert lost == {f"one server of {A}": "keeps", f"one rack of {A}": ("misses", "keeps")[spare - 1]}
        assert f". Keeps its targets without one server of {A}" in plan_finding(report).text
        assert "2 × a100-40gb at $4.00 per hour, does not keep the targets under opp" in plan_text(report)


@pytest.mark.verify
def test_what_is_found_does_not_depend_on_the_processes():
    part = {**PART, "offers": [f"{A}=1", f"{B}=0.4"], "schedulers": ["opportunistic", "local"]}
    asked = scenario(250.0, 60.0, part, {A: 10.0, B: 20.0}, jobs=300)
    alone = plan(asked)
    with ProcessPool(2) as pool:
        together = plan(asked, pool=pool)
    assert together.model_copy(update={"seconds": alone.seconds}) == alone


def test_who_interrupts_the_command_sees_what_is_known(tmp_path, capsys, monkeypatch):
    path = tmp_path / "s.yaml"
    path.write_text(dump_scenario(scenario(120.0, 60.0, PART, jobs=500)))

    def look(self, trials):
        raise KeyboardInterrupt

    monkeypatch.setattr(PlanSearch, "simulate_more", look)
    assert main(["plan", str(path), "--json"]) == 130
    told = capsys.readouterr()
    assert "warning: interrupted" in told.err
    found = json.loads(told.out)
    assert (found["answer"], found["complete"]) == (None, False)
    assert all(o["replications"] == 0 for o in found["options"])


def test_where_nothing_keeps_few_counts_are_looked_at():
    """The target is what jobs keep that never wait, so that no count decides it in few runs."""
    floor = 1 - math.exp(-3)
    found = planned(450.0, 30.0, jobs=500, hit=floor, most=200, replications=4)
    looked = [o for o in found.options if o.replications]
    assert (found.answer, found.complete) == (None, True)
    assert max(o.servers[0].count for o in looked) == 200
    assert len(looked) <= 2 * math.log2(200)


def test_rows_of_a_report_are_written_again_only_when_more_is_known():
    planner = PlanSearch(question_of(scenario(450.0, 30.0, PART, jobs=500), Sources()))
    written, small, large = (
        PlanReports(planner),
        PlanCandidate(Option((6,)), MILLE),
        PlanCandidate(Option((9,)), MILLE),
    )
    planner.simulate_more([small, large])
    before = {o.servers[0].count: o for o in written.report().options}
    planner.simulate_more([large])
    after = {o.servers[0].count: o for o in written.report().options}
    assert after[6] is before[6]
    assert (before[9].replications, after[9].replications) == (4, 8)
    assert tuple(after.values()) == PlanReports(planner).report().options


def test_who_cancels_keeps_what_is_known():
    tables = []

    def check():
        if tables and any(o.replications for o in tables[-1].options):
            raise Cancelled

    with pytest.raises(Cancelled):
        plan(scenario(450.0, 30.0, PART), check=check, on_table=lambda r, text: tables.append(r))
    assert not tables[0].complete
    assert all(o.replications == 0 for o in tables[0].options), "the first table is by prediction"
    assert any(o.replications for o in tables[-1].options)


def test_a_week_is_sized_for_its_peak_beside_a_schedule(tmp_path):
    """Half of each day has a quarter of the traffic: its servers are those of theory at that traffic."""
    hours = "".join(f"{h},{2.0 if h >= 12 else 0.5}\n" for h in range(24))
    (tmp_path / "week.csv").write_text(f"hour,factor\n{hours}")
    report = planned(150.0, 30.0, sources=Sources(tmp_path), profile="week.csv", startup="30 min")
    day, night = least_mmc(300.0, 0.01, 0.03, 0.9), least_mmc(75.0, 0.01, 0.03, 0.9)
    assert report.best.servers[0].count == day
    assert report.week.servers == ((night,) * 12 + (day,) * 12) * 7
    hours_paid = 7 * (12 * day + 12 * night + 0.5 * (day - night))
    assert report.week.schedule_cost == pytest.approx(2 * hours_paid)
    assert report.week.constant_cost == 168 * 2 * day
    assert report.answer.cost_per_million == pytest.approx(1e6 * 2 * day / (1.25 * 150 * 3600))
    assert "Sized for the week's peak, 2× the traffic" in plan_text(report)


def test_a_trace_of_arrivals_is_a_profile(tmp_path):
    """Two hours of three with 360 arrivals, one with none, over two days."""
    instants = [h * 3600 + 10.0 * k for h in range(49) if h % 3 for k in range(360)]
    (tmp_path / "t.csv").write_text("\n".join(f"{t}" for t in instants))
    asked = question_of(scenario(0.1, 500.0, {**PART, "profile": "t.csv"}), Sources(tmp_path))
    assert asked.profile.peak == pytest.approx(1.0)
    assert asked.profile.mean == pytest.approx(2 / 3, abs=0.05)
    assert asked.scenario.workload[0].rate == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("factor\n1\n", "it has 1 hours"),
        ("hour,factor\n" + "0,1\n" * 24, "hour 0 is there twice"),
        ("factor\n" + "-1\n" * 24, "must be a number from 0"),
        ("factor\n" + "nan\n" * 24, "must be a number from 0"),
        ("factor\n" + "a\n" * 24, "line 2: 'a' is not a number"),
        ("factor\n" + "0\n" * 24, "no hour has any traffic"),
        ("hour,factor\n" + "".join(f"{2 * h},1\n" for h in range(24)), "without a gap"),
        ("1\n2\n3\n", "covers 0 whole hours"),
    ],
)
def test_a_bad_profile_is_one_line(text, why, tmp_path):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(NonaError, match=why) as error:
        question_of(scenario(10.0, 50.0, {**PART, "profile": "p.csv"}), Sources(tmp_path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"slo": None}, "no model has an SLO or a target"),
        ({"targets": {"two": {"hit": 0.9}}}, "'two' is not a row of the workload"),
        ({"offers": [f"{A}:3g+9g=1"]}, "has no slice '9g'"),
        ({"offers": [f"{B}:3g=1"]}, "has no MIG"),
        ({"offers": [f"{A}=1", f"{A}=2"]}, "on offer twice"),
        ({"offers": ["abacus=1"]}, "abacus"),
        ({"schedulers": ["guess"]}, "guess"),
        ({"schedulers": ["nona", {"jsq-d": {"d": 2}}, {"jsq-d": {"d": 3}}]}, "jsq-d is there twice"),
        ({"survive": "rack"}, "'rack' needs racks, and the cluster has none"),
        ({"prices": {"gpus": {"abacus": 1}}}, "abacus"),
    ],
)
def test_questions_that_cannot_be_asked_are_one_line(part, why):
    rest = {name: value for name, value in part.items() if name != "slo"}
    with pytest.raises(NonaError, match=why) as error:
        question_of(scenario(10.0, part.get("slo", 50.0), PART | rest), Sources())
    assert "\n" not in str(error.value)


def test_the_command_prints_the_contract(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("nona.cli.planning.now_text", lambda: "2026-11-24 09:30 UTC")
    path = tmp_path / "s.yaml"
    path.write_text(dump_scenario(scenario(120.0, 60.0, {**PART, "hit": 0.8}, jobs=1000)))
    arguments = ["--offer", f"{A}=1.5", "--scheduler", "opportunistic", "--growth", "8%/month"]
    told = answer(capsys, "plan", path, *arguments, "--confidence", "90%")
    assert told["answer"].keys() >= {"option", "cost_per_hour", "cost_per_million", "headroom", "breaks_at"}
    best = told["options"][told["answer"]["option"]]
    assert (told["confidence"], told["seconds"] > 0, best["verdict"]) == (0.9, True, "keeps")
    assert best["servers"][0].keys() >= {"count", "gpu", "mig"}
    assert best["models"]["one"].keys() == {"hit_rate", "p99_s"}
    for option in (best, told["present"]):
        assert option.keys() >= {"scheduler", "cost_per_hour", "headroom", "replications", "looks"}
    assert told["answer"]["cost_per_hour"] == best["cost_per_hour"] == 1.5 * best["servers"][0]["count"]
    shown, months = text(capsys, "plan", path, *arguments), told["answer"]["breaks_at"]
    assert shown.startswith("Buy ")
    assert f"which growth passes in {month_text(months, date(2026, 11, 24))}" in shown


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--offer", "abacus"), "abacus"),
        (("--offer", "l4=cheap"), "Price 'cheap'"),
        (("--growth", "fast"), "Growth 'fast'"),
        (("--confidence", "2"), "--confidence"),
        (("--scheduler", "guess"), "guess"),
        (("--profile", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_bad_options_are_one_line(arguments, why, capsys):
    assert why in refusal(capsys, "plan", "slides_example", *arguments)
