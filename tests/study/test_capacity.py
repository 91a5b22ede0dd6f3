"""How many servers keep the SLOs: by prediction, beside simulation."""

from __future__ import annotations

import json

import pytest

from nona.cli.main import main
from nona.errors import ScenarioError
from nona.report.capacity.report import capacity_report, capacity_text
from nona.results.capacity import CapacityReport, DeviceCapacity, ServerCount
from nona.scenario.file import load_scenario
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.sources.samples import scenario_path
from nona.study.capacity import cheapest, fewest_servers, with_gpu
from nona.study.sweeps.numbers import with_value

NAME = "vision_language_8_servers"
SOURCES = Sources(scenario_path(NAME).parent)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    small = with_value(load_scenario(scenario_path(NAME)), "simulation.jobs", 6000)
    return with_value(small, "simulation.replications", 4)


@pytest.fixture(scope="module")
def found(scenario: Scenario) -> DeviceCapacity:
    return fewest_servers(
        scenario, SOURCES, 0.03, prices={scenario.cluster.servers[0].gpu: 2.0}, simulated=True
    )


def test_the_count_found_keeps_the_slo_and_one_fewer_does_not(found: DeviceCapacity) -> None:
    assert found.predicted is not None
    assert found.one_fewer is not None
    assert found.predicted.miss is not None
    assert found.one_fewer.miss is not None
    assert found.predicted.miss <= 0.03 < found.one_fewer.miss
    assert found.servers == found.predicted.servers == found.one_fewer.servers + 1
    assert [t.servers for t in found.tried] == sorted({t.servers for t in found.tried})
    assert found.cost == pytest.approx(2.0 * found.servers)


def test_the_simulation_agrees_with_what_was_predicted(found: DeviceCapacity) -> None:
    for tried in (found.predicted, found.one_fewer):
        assert tried is not None
        assert tried.simulated_hit_rate is not None
        low, high = tried.simulated_hit_rate.ci95
        error = 2 * tried.error + (high - low) / 2
        missed = 1 - tried.simulated_hit_rate.mean
        assert missed == pytest.approx(tried.miss, abs=0.25 * tried.miss + error)


def test_what_has_no_steady_state_misses_all(found: DeviceCapacity) -> None:
    first = found.tried[0]
    assert first.servers == 1
    assert first.miss is None


def test_too_few_at_most_is_said(scenario: Scenario) -> None:
    none = fewest_servers(scenario, SOURCES, 0.03, most=2)
    assert none.servers is None
    assert none.predicted is None
    assert cheapest([none]) is None
    told = capacity_report([none], None, 0.97, 0, 2)
    assert "2 servers do not suffice to keep 97 % of the SLOs" in capacity_text(told)


def of(servers: int, gpu: str, cost: float) -> DeviceCapacity:
    count = ServerCount(servers=servers, miss=0.01, error=0.001)
    return DeviceCapacity(
        gpu=gpu, servers=servers, predicted=count, one_fewer=None, cost=cost, tried=(count,)
    )


def test_the_cheapest_is_not_the_smallest() -> None:
    many, few = of(20, "t4", 7.0), of(4, "h100", 16.0)
    assert cheapest([few, many]) is many
    plain = [c.model_copy(update={"cost": None}) for c in (many, few)]
    assert cheapest(plain) is plain[1]


def test_another_device_drops_a_layout_that_is_not_its_own() -> None:
    sliced = load_scenario(scenario_path("mig_layouts"))
    group = next(i for i, g in enumerate(sliced.cluster.servers) if g.mig)
    changed = with_gpu(sliced, group, "t4")
    assert changed.cluster.servers[group].gpu == "t4"
    assert changed.cluster.servers[group].mig is None
    assert changed.cluster.servers[group].count == sliced.cluster.servers[group].count


def test_the_command_finds_that_splitting_needs_two(capsys: pytest.CaptureFixture[str]) -> None:
    """The slides' example takes 22 ms on one server and 14 ms on two; its SLO lies between."""
    assert main(["capacity", "slides_example", "--hit", "97%", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["devices"][0]["servers"] == 2
    assert told["devices"][0]["predicted"]["miss"] == 0.0
    assert told["devices"][0]["one_fewer"]["miss"] == 1.0
    assert "2 servers with" in capacity_text(CapacityReport.from_json(told))


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
def test_bad_input_is_one_line(
    arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["capacity", NAME, *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert why in told.err
    assert len(told.err.strip().splitlines()) == 1


def test_a_target_is_a_share(scenario: Scenario) -> None:
    with pytest.raises(ScenarioError, match="must lie between 0 and 1"):
        fewest_servers(scenario, SOURCES, 1.5)
