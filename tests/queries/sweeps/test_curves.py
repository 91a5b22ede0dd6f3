"""Sweeps against loads in closed form; an overloaded scheduler that prediction knows is stopped early."""

import itertools
import math
from unittest.mock import MagicMock, Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

import nona
from nona.core.document import UNKNOWN
from nona.core.errors import ScenarioError
from nona.core.experiments import InProcess
from nona.queries.simulation.run import Cancelled
from nona.queries.simulation.summary import hit_rate_difference, jct_difference
from nona.queries.sweeps.numbers import number_named
from nona.queries.sweeps.results import FormulaPoint, GridRequest, SweepRequest
from nona.queries.sweeps.run import sweep, sweep_grid
from nona.queries.sweeps.sweep_points import swept_scenario
from nona.queries.sweeps.values import bends, middle, near_enough, spread_order
from nona.queries.workflows import simulation as bounded
from nona.queries.workflows.outcome import simulation_outcome
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.sample_files import scenario_path

COUNT = "cluster.servers[0].count"
# Two parallel tasks of 4 ms between a first and a last of 1 ms: 10 ms of work, 3 + 3 MB when split.
GRAPH = {
    "directed": True,
    "nodes": [{"id": n, "compute_ms": ms} for n, ms in (("a", 1), ("b", 4), ("c", 4), ("d", 1))],
    "edges": [
        {"source": "a", "target": "b", "bytes": 1_000_000, "tensor": "ab"},
        {"source": "a", "target": "c", "bytes": 2_000_000, "tensor": "ac"},
        {"source": "b", "target": "d", "bytes": 1_500_000, "tensor": "bd"},
        {"source": "c", "target": "d", "bytes": 1_500_000, "tensor": "cd"},
    ],
}
WORK_S, BYTES = 10e-3, 6e6


def scenario(rate=80.0, servers=4, capacity=2e9, **more):
    return scenario_from_mapping(
        {
            "seed": 5,
            "cluster": {"servers": [{"count": servers}], "network": {"capacity": capacity, "latency": 0}},
            "workload": [{"model": "split", "rate": rate, "slo": "40 ms"}],
            "models": {"split": GRAPH},
            "simulation": {"jobs": 400, "replications": 2},
            "schedulers": ["local", "spread"],
            "objective": "formula",
        }
        | more
    )


def asked(key, values, names, jobs, runs, edges=True):
    return SweepRequest(
        number=key, values=values, schedulers=names, jobs=jobs, replications=runs, edges=edges
    )


def swept(given_, key, values, *names, jobs=400, runs=2):
    return sweep(given_, asked(key, values, names, jobs, runs))


def points(report, name):
    """Value → the scheduler's point."""
    return {p.value: p for p in report.schedulers[name].points}


def edges(found, name, of="edges"):
    return [(e.stable, e.overloaded) for e in getattr(found.schedulers[name], of)]


@pytest.mark.verify
def test_local_gives_up_where_the_executors_are_offered_all_they_can_do():
    rate, servers = 80.0, 4
    truth = servers / (rate * WORK_S)  # the load factor at which rate · work = servers
    found = swept(scenario(rate, servers), "load", (2.0, 4.0, 6.0, 8.0), "local", jobs=2000)
    ((stable, overloaded),) = edges(found, "local")
    assert stable < truth <= overloaded
    assert overloaded - stable <= 0.01 * overloaded + 1e-9
    ((stable, overloaded),) = edges(found, "local", "formula_edges")
    assert stable < truth <= overloaded


def test_spread_gives_up_where_the_link_is_full_of_its_own_messages_and_of_others():
    rate, capacity = 100.0, 2e9
    truth = 1 - rate * BYTES / capacity  # background and messages fill the link
    found = swept(scenario(rate, 8, capacity), "background.network.utilization", (0.0, 0.5, 0.95), "spread")
    ((stable, overloaded),) = edges(found, "spread")
    assert stable < truth <= overloaded
    assert overloaded - stable <= 0.01


def test_more_capacity_and_more_servers_make_it_stable_from_the_other_side():
    rate = 100.0
    given_ = scenario(rate, 8, background={"network": {"utilization": 0.2}})
    truth = rate * BYTES / 0.8
    found = swept(given_, "cluster.network.capacity", (3e8, 3e9), "spread")
    ((stable, overloaded),) = edges(found, "spread")
    assert overloaded <= truth < stable
    assert stable / overloaded < 1.02

    found = swept(scenario(250.0), "cluster.servers[0].count", (1.0, 8.0), "local", jobs=2000)
    assert edges(found, "local") == [(3.0, 2.0)]  # 2.5 servers' worth of work
    assert all(v == int(v) for v in points(found, "local"))


@pytest.mark.verify
def test_unstable_everywhere_and_a_single_value():
    over = swept(scenario(900.0), "load", (1.0, 2.0), "local", "spread")
    assert [p.state for p in points(over, "local").values()] == ["overloaded"] * 2
    assert edges(over, "local") == []
    assert over.schedulers["spread"].points[0].ratio == UNKNOWN
    one = swept(scenario(), "background.compute.utilization", (0.3,), "local")
    assert list(points(one, "local")) == [0.3]
    assert one.complete


def test_its_points_are_those_of_a_simulation_with_the_same_random_numbers():
    given_ = scenario(150.0, 4)
    chosen = asked("load", (0.5, 1.0, 1.5), ("local", "spread"), 300, 3)
    found = sweep(given_, chosen)
    for value in chosen.values:
        whole = simulate(prepare(swept_scenario(given_, chosen, value)))
        for name, summary in whole.summaries.items():
            point = points(found, name)[value]
            assert point.state == summary.result.state
            if not summary.result.overloaded:
                jct_s = summary.result.jct_s
                assert (point.jct_s.mean, point.jct_s.ci95) == (jct_s.mean, jct_s.ci95)
                assert len(point.means_s) == 3


def test_what_a_number_does_not_touch_stays_the_same_to_the_last_bit():
    """Common random numbers over values: local sends nothing, so the link's background is nothing to it."""
    found = swept(scenario(200.0), "background.network.utilization", (0.0, 0.3, 0.9), "local")
    assert len({p.means_s for p in points(found, "local").values()}) == 1


def test_workers_take_the_runs_and_change_nothing(monkeypatch):
    """That processes give the same records is tested where they are made; here, that they are asked."""
    pool = MagicMock()
    run = pool.return_value.__enter__.return_value.run = Mock(side_effect=InProcess().run)
    monkeypatch.setattr("nona.queries.sweeps.sweep_points.ProcessPool", pool)
    given_ = scenario(150.0)
    chosen = asked("load", (0.5, 1.5), ("local", "spread"), 100, 2, edges=False)
    alone = sweep(given_, chosen)
    assert not pool.called
    shared = sweep(given_, chosen, workers=2)
    pool.assert_called_once_with(2)
    pool.return_value.__exit__.assert_called_once()
    assert (
        sum(len(asked.args[1]) for asked in run.call_args_list) == 8
    )  # two values, two schedulers, two runs
    for name in chosen.schedulers:
        one, other = ({v: p.means_s for v, p in points(of, name).items()} for of in (alone, shared))
        assert one == other


def test_where_there_is_no_placement_nona_has_no_steady_state_and_the_others_go_on():
    found = swept(scenario(150.0, 2), "load", (1.0, 2.0), "nona", "local")
    point = points(found, "nona")[2.0]
    assert (point.state, point.slo_hit_rate, point.means_s) == ("overloaded", UNKNOWN, ())
    assert "must be below 1" in point.state_reason
    assert points(found, "nona")[1.0].state != "overloaded"
    assert found.schedulers["nona"].formula[-1] == FormulaPoint(value=2.0, jct_s=None)
    ((stable, overloaded),) = edges(found, "nona")
    assert stable < 2 / (150 * WORK_S) <= overloaded


def test_it_tells_early_never_goes_back_and_stops_when_nobody_wants_it_any_more():
    given_ = scenario()
    chosen = asked("load", (0.5, 1.0, 4.0), ("local", "spread"), 100, 2)
    told = []
    last = sweep(given_, chosen, on_progress=lambda share, text, report: told.append((share, report())))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] < 1
    reports = [report for _, report in told] + [last]
    assert len(points(reports[0], "local")) == 1
    assert [r.complete for r in reports] == [False] * len(told) + [True]
    for before, after in itertools.pairwise(reports):
        for name in chosen.schedulers:
            assert points(before, name).keys() <= points(after, name).keys()
    chosen = asked("load", (0.5, 1.0), ("local",), 400, 2)
    with pytest.raises(Cancelled):
        sweep(scenario(), chosen, check=Mock(side_effect=[None] * 5 + [Cancelled]))


@pytest.mark.parametrize(
    ("key", "values", "names", "why"),
    [
        ("background.network.utilization", (0.0, 1.0), ("local",), "must be less than 1"),
        ("load", (0.0, 1.0), ("local",), "rate"),
        ("load", (1.0,), (), "no scheduler is chosen"),
        ("load", (1.0,), ("local", "local"), "given twice"),
        ("load", (), ("local",), "give 1 to"),
    ],
)
def test_what_cannot_be_swept_is_said_before_anything_runs(key, values, names, why):
    with pytest.raises(ScenarioError, match=why):
        sweep(scenario(), asked(key, values, names, 10, 1))


@given(st.integers(1, 60))
def test_every_value_is_looked_at_once_the_ends_first(count):
    order = spread_order(count)
    assert sorted(order) == list(range(count))
    assert set(order[:2]) == {0, count - 1}


@examples(100)
@given(
    st.sampled_from(["fraction", "count", "bandwidth", "factor"]), st.integers(0, 500), st.integers(1, 500)
)
def test_halving_ends_and_stays_between(unit, low, width):
    a, b = (float(low), float(low + width)) if unit == "count" else (low / 100, (low + width) / 100)
    span, steps = b - a, 0
    while not near_enough(a, b, unit, span):
        new = middle(a, b, unit)
        assert a < new < b
        a, b, steps = (new, b, steps + 1) if steps % 2 else (a, new, steps + 1)
    assert steps <= 12


def test_more_values_go_where_a_curve_bends():
    curve = [(x / 10, 1 / (1 - x / 10)) for x in range(10)]
    new = bends(curve, "fraction", 0.9, 1)
    assert len(new) == 1
    assert new[0] > 0.7
    assert bends([(v, math.exp(3 * v)) for v, _ in curve], "fraction", 0.9, 3) == []


def test_the_servers_that_more_load_needs_are_simulated_counts():
    given_ = scenario(300.0, 4)
    chosen = asked("load", (0.5, 1.0, 1.5), ("local",), 400, 2)
    (need,) = sweep(given_, chosen).needed
    assert (need.scheduler, need.now, need.most) == ("local", 4, 16)
    loaded = number_named(given_, chosen.number).with_value(given_, need.value)

    def hits(servers):
        there = swept_scenario(loaded, chosen.model_copy(update={"number": COUNT}), servers)
        rate = simulate(prepare(there)).summaries["local"].result.slo_hit_rate
        return 0.0 if rate is None else rate.mean

    assert hits(need.servers) >= chosen.target > hits(need.servers - 1)


def test_a_grid_is_a_sweep_in_every_row_and_ends_when_asked():
    given_ = scenario(100.0, 4)
    chosen = asked("load", (0.5, 1.0), ("local", "spread"), 200, 2, edges=False)
    both = GridRequest(sweep=chosen, second=COUNT, values=(3.0, 4.0))
    told = []
    whole = sweep_grid(given_, both, on_progress=lambda share, text, report: told.append((share, report())))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert whole.complete
    assert not any(report.complete for _, report in told)
    for row in whole.rows:
        alone = sweep(number_named(given_, COUNT).with_value(given_, row.value), chosen)
        assert row.sweep.schedulers == alone.schedulers
    with pytest.raises(Cancelled):
        sweep_grid(given_, both, check=Mock(side_effect=Cancelled))
    with pytest.raises(ScenarioError, match="given twice"):
        sweep_grid(given_, both.model_copy(update={"second": chosen.number}))


def prepared(jobs, rate="90/s", **simulation):
    """The slides' example with a load under which spreading overloads the link, but one server does not."""
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    row = data["workload"][0] | {"rate": rate, "arrivals": {"process": "poisson"}, "slo": "60 ms"}
    data |= {"workload": [row], "schedulers": ["local", "spread", "least-loaded"]}
    data["simulation"] = {"jobs": jobs, "replications": 2, **simulation}
    return nona.prepare(scenario_from_mapping(data))


def simulated(of):
    return nona.simulate(of, engine="compiled")


def test_it_stops_says_why_and_leaves_all_others_as_they_were(monkeypatch):
    of = prepared(6000)
    found = simulated(of)
    with monkeypatch.context() as patched:
        patched.setattr("nona.queries.workflows.simulation.SHORT_JOBS", 10**9)  # nothing is known ahead
        whole = simulated(of)
    stopped = found.records["spread"]
    assert [r.jobs for r in stopped] == [bounded.SHORT_JOBS] * 2
    assert found.summaries["spread"].result.state == whole.summaries["spread"].result.state == "overloaded"
    assert "Stopped after 4,000 of 6,000 jobs" in found.summaries["spread"].result.state_reason
    assert list(found.records) == ["local", "spread", "least-loaded"]
    for name in ("local", "least-loaded"):
        assert found.summaries[name].result.jct_s == whole.summaries[name].result.jct_s
        pairs = zip(found.records[name], whole.records[name], strict=True)
        assert all((a.completion_s == b.completion_s).all() for a, b in pairs)
    assert jct_difference(stopped, found.records["local"]).difference.n == 0
    assert hit_rate_difference(stopped, found.records["local"], [0.06]).difference.n == 0
    outcome = simulation_outcome(of, found, "now")
    assert outcome.differences["local"]["spread"].verdict == "overloaded"


def test_a_precision_counts_it_among_the_overloaded():
    found = simulated(prepared(6000, precision="20 %", max_replications=10))
    assert "spread" in found.precision.overloaded
    assert found.precision.not_reached == ()
    assert len(found.records["local"]) > len(found.records["spread"])
    every = simulated(prepared(6000, rate="100000/s"))
    assert {s.result.state for s in every.summaries.values()} == {"overloaded"}
    assert all(r.jobs == bounded.SHORT_JOBS for runs in every.records.values() for r in runs)


def test_a_prediction_that_is_wrong_costs_a_short_run_and_nothing_else(monkeypatch):
    of = prepared(6000)
    whole = simulated(of)
    monkeypatch.setattr(
        "nona.queries.workflows.placements.predictions", lambda *a: dict.fromkeys(("local", "spread"))
    )
    found = simulated(of)
    assert [r.jobs for r in found.records["local"]] == [6000, 6000]
    assert found.summaries["local"].result.jct_s == whole.summaries["local"].result.jct_s
