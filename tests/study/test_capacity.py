"""How many servers keep the SLOs: by prediction, beside simulation."""

import re

import pytest

from nona.errors import ScenarioError
from nona.placement.capacity import least_utilization
from nona.report import capacity
from nona.report.planning_figures import capacity_figure
from nona.results.planning import CapacityReport, DeviceCapacity, ServerCount
from nona.scenario.file import load_scenario, scenario_from_mapping
from nona.schedulers.registry import scheduler_names
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path
from nona.study.capacity import _with_times_off, cheapest, fewest_servers, with_gpu
from nona.study.preparation import prepare
from nona.study.sweep_numbers import with_value
from tests.cli.calling import answer, refusal

NAME = "vision_language_8_servers"
SOURCES = Sources(scenario_path(NAME).parent)


@pytest.fixture(scope="module")
def scenario():
    small = with_value(load_scenario(scenario_path(NAME)), "simulation.jobs", 3000)
    return with_value(small, "simulation.replications", 4).model_copy(update={"objective": "formula"})


@pytest.fixture(scope="module")
def found(scenario):
    return fewest_servers(
        scenario, SOURCES, 0.03, prices={scenario.cluster.servers[0].gpu: 2.0}, simulated=True
    )


@pytest.mark.verify
def test_the_count_found_keeps_the_slo_one_fewer_does_not_and_the_simulation_agrees(found):
    assert found.predicted.miss <= 0.03 < found.one_fewer.miss
    assert found.servers == found.predicted.servers == found.one_fewer.servers + 1
    assert [t.servers for t in found.tried] == sorted({t.servers for t in found.tried})
    assert found.cost == pytest.approx(2.0 * found.servers)
    for tried in (found.predicted, found.one_fewer):
        low, high = tried.simulated_hit_rate.ci95
        error = 2 * tried.error + (high - low) / 2
        missed = 1 - tried.simulated_hit_rate.mean
        assert missed == pytest.approx(tried.miss, abs=0.25 * tried.miss + error)


@pytest.mark.verify
def test_a_scheduler_that_looks_at_queues_needs_fewer_by_simulation(scenario, found):
    """The answer is a scheduler's, and says whose it is: spark-fair keeps with half what nona needs."""
    other = fewest_servers(scenario, SOURCES, 0.03, scheduler="spark-fair")
    assert (found.scheduler, found.method) == ("nona", "prediction")
    assert (other.scheduler, other.method) == ("spark-fair", "simulation")
    assert other.servers < found.servers
    assert other.predicted.simulated_hit_rate.mean >= 0.97
    both = capacity.capacity_report([found, other], cheapest([found, other]), 0.97, 0, 64)
    assert both.found is other or both.best_scheduler == "nona"  # nona alone has a price here
    assert f"Under {both.best_scheduler}, " in capacity.capacity_finding(both)
    assert ("nona" if both.best_scheduler != "nona" else "spark-fair") in capacity.others_finding(both)
    assert re.search(r"needs \d+ \((◇ predicted|● simulated)\)", capacity.others_finding(both)), (
        "it says which is which"
    )
    assert not capacity.alone_note(both, ["nona", "local"])
    alone = capacity.capacity_report([found], found, 0.97, 0, 64)
    assert "nona alone" in capacity.alone_note(alone, ["nona", "local"])


def modelled(slo):
    cluster = {"servers": [{"count": 4, "gpu": "a100-40gb"}]}
    row = {"model": "resnet18", "rate": "9000/s", "slo": slo}
    simulation = {"jobs": 2000, "replications": 3}
    return scenario_from_mapping({"cluster": cluster, "workload": [row], "simulation": simulation})


def test_an_slo_below_the_longest_chain_is_out_of_reach():
    none = fewest_servers(modelled("1 us"), Sources(), 0.03)
    assert (none.servers, none.tried, none.least_miss > 0.03) == (None, (), True)
    told = capacity.capacity_finding(capacity.capacity_report([none], None, 0.97, 0, 4096))
    assert "No number of servers keeps 97 % of the SLOs of every model with nona" in told
    assert "the longest chain of tasks alone" in told


def test_weights_that_fit_no_executor_are_the_reason_as_for_a_placement():
    row = {"model": "llama2_7b", "rate": "0.1/s", "slo": "10 s"}  # 6.74 10^9 parameters in half precision
    given = {"cluster": {"servers": [{"count": 2, "gpu": "k80", "gpus": 1}]}, "workload": [row]}
    none = fewest_servers(scenario_from_mapping({**given, "schedulers": ["local"]}), SOURCES, 0.01)
    told = capacity.capacity_finding(capacity.capacity_report([none], None, 0.99, 0, 4096))
    assert (none.servers, none.tried) == (None, ())
    assert "its weights, 13.5 GB, must fit one executor, and the largest has 12 GB (k80)" in told


def test_modelled_times_make_the_count_a_range_which_the_slo_may_be_beyond():
    found = fewest_servers(modelled("5 ms"), Sources(), 0.05, scheduler="local")
    off = found.if_times_off
    assert off.low < found.servers < off.high
    told = capacity.capacity_finding(capacity.capacity_report([found], found, 0.95, 0, 4096))
    assert f"; {capacity.range_text(off)} if times are off as they usually are)" in told
    total_s = prepare(modelled("5 ms")).models[0].costed[0].critical_path_s
    found = fewest_servers(modelled(f"{1.3 * total_s} s"), Sources(), 0.2, scheduler="local")
    assert found.if_times_off.high is None
    assert "or out of reach" in capacity.range_text(found.if_times_off)


def test_steps_of_batches_are_off_as_times_of_tasks_are():
    plain = modelled("5 ms").model_dump(mode="json")
    rows = [row | {"batching": {"max_batch": 4}} for row in plain["workload"]]
    studies = [prepare(scenario_from_mapping(data)) for data in (plain, plain | {"workload": rows})]
    for end in (min, max):
        alone, batched = (
            least_utilization(_with_times_off(of, end).system) / least_utilization(of.system)
            for of in studies
        )
        assert batched == pytest.approx(alone, rel=0.05)
        assert abs(alone - 1) > 0.1


@pytest.mark.parametrize("scheduler", scheduler_names())
def test_one_per_cent_can_be_seen_on_the_axis(scheduler):
    """The axis is logarithmic, the target is drawn and named, a count without a miss is open at its end."""
    counts = [(1, 0.6, 0.01), (2, 0.02, 0.001), (3, 0.0, 0.0002)]
    tried = tuple(ServerCount(servers=n, miss=m, error=e) for n, m, e in counts)
    changes = {"tried": tried, "one_fewer": tried[1], "scheduler": scheduler}
    device = of(3, "t4", 1.0).model_copy(update=changes)
    made = capacity_figure(capacity.capacity_report([device], device, 0.99, 0, 64))
    assert made.layout.yaxis.type == "log"
    (line,) = [t for t in made.data if t.mode == "lines+markers"]
    assert line.y[1] == pytest.approx(2)
    assert 0 < line.y[2] <= 0.1001
    assert line.marker.symbol[2].endswith("-open")  # some markers are open already
    assert made.layout.shapes[0].y0 == pytest.approx(1)
    assert made.layout.annotations[0].text == "1 % allowed"
    assert all(down < y for down, y in zip(line.error_y.arrayminus, line.y, strict=True))


def test_too_few_at_most_is_said(scenario):
    none = fewest_servers(scenario, SOURCES, 0.03, most=2)
    assert (none.servers, none.predicted, {t.miss for t in none.tried}) == (None, None, {None})
    assert cheapest([none]) is None
    told = capacity.capacity_report([none], None, 0.97, 0, 2)
    assert "2 servers do not suffice to keep 97 % of the SLOs" in capacity.capacity_text(told)
    with pytest.raises(ScenarioError, match="must lie between 0 and 1"):
        fewest_servers(scenario, SOURCES, 1.5)


def of(servers, gpu, cost):
    count = ServerCount(servers=servers, miss=0.01, error=0.001)
    of = {"gpu": gpu, "scheduler": "nona", "method": "prediction", "cost": cost}
    return DeviceCapacity(**of, servers=servers, predicted=count, one_fewer=None, tried=(count,))


def test_the_cheapest_is_not_the_smallest_and_another_device_drops_a_layout_that_is_not_its_own():
    many, few = of(20, "t4", 7.0), of(4, "h100", 16.0)
    assert cheapest([few, many]) is many
    plain = [c.model_copy(update={"cost": None}) for c in (many, few)]
    assert cheapest(plain) is plain[1]
    sliced = load_scenario(scenario_path("mig_layouts"))
    group = next(i for i, g in enumerate(sliced.cluster.servers) if g.mig)
    before, after = (s.cluster.servers[group] for s in (sliced, with_gpu(sliced, group, "t4")))
    assert (after.gpu, after.mig, after.count) == ("t4", None, before.count)


@pytest.mark.verify
def test_the_command_finds_that_splitting_needs_two_and_compares(capsys):
    """The slides' example takes 22 ms on one server and 14 ms on two; its SLO lies between."""
    arguments = ["--hit", "97%", "--scheduler", "nona", "--scheduler", "local"]
    told = answer(capsys, "capacity", "slides_example", *arguments)
    assert {(d["scheduler"], d["method"]) for d in told["devices"]} == {
        ("nona", "prediction"),
        ("local", "prediction"),
    }
    nona, local = told["devices"]
    assert (nona["servers"], nona["predicted"]["miss"], nona["one_fewer"]["miss"]) == (2, 0.0, 1.0)
    assert (told["best_scheduler"], nona["if_times_off"]) == ("nona", None)
    assert local["servers"] is None  # one server takes 22 ms, more than the SLO
    text = capacity.capacity_text(CapacityReport.from_json(told))
    assert "Under nona, 2 servers with" in text
    assert "local cannot keep them" in text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--hit", "2"), "--hit"),
        (("--price", "t4"), "--price 't4' must be DEVICE=NUMBER"),
        (("--group", "7"), "there is no cluster.servers[7]"),
        (("--most", "0"), "--most 0 must be at least 1"),
        (("--gpu", "abacus"), "abacus"),
    ],
)
def test_bad_input_is_one_line(arguments, why, capsys):
    assert why in refusal(capsys, "capacity", NAME, *arguments)
