"""Layouts of stages: apportionment against exhaustive search, throughput against theory, the way back."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nona.queries.report.report import simulation_report
from nona.queries.report.stage_loads import stage_finding, stage_loads
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.simulation import simulate
from nona.queries.workflows.stage_layouts import (
    APART,
    EVERYWHERE,
    SCHEDULER,
    compare_stage_layouts,
    stage_layouts,
    with_layout,
)
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from tests.queries.test_pools import STAGES, chain

USERS = 64


def staged(times_ms, servers, stages=None, **row):
    """A row whose stages are all on the first group, with users who keep it busy."""
    names = "abcdefgh"[: len(times_ms)]
    everywhere = {name: {"instances": [{"group": 0}]} for name in names}
    traffic = row or {"concurrency": USERS}
    data = {
        "cluster": {"servers": servers, "network": {"capacity": "400 Gbit/s", "latency": 0}},
        "workload": [{"model": "m", **traffic, "stages": everywhere | (stages or {})}],
        "models": {"m": chain(*times_ms)},
    }
    return Scenario.model_validate(data)


def carried(layout, times_ms):
    """Queries per second by theory: GPUs of a set over the seconds of its stages, of the slowest set."""
    seconds = dict(zip("abcdefgh", times_ms, strict=False))
    sets = {}
    for gpus in layout.gpus:
        stages = tuple(sorted(gpus.instances))
        sets[stages] = sets.get(stages, 0) + gpus.gpus
    return min(n / sum(seconds[stage] for stage in stages) for stages, n in sets.items()) * 1e3


def partitions(names):
    """All partitions, by brute force: every stage gets the number of a set."""
    found = set()
    for numbers in product(range(len(names)), repeat=len(names)):
        sets = {}
        for name, number in zip(names, numbers, strict=True):
            sets.setdefault(number, []).append(name)
        found.add(frozenset(tuple(s) for s in sets.values()))
    return found


def most_carried(sets, gpus, times_ms):
    """The best way to give so many GPUs to the sets, of all ways."""
    seconds = dict(zip("abcdefgh", times_ms, strict=False))
    work = [sum(seconds[s] for s in part) for part in sets]
    cuts = combinations_with_replacement(range(gpus + 1), len(work) - 1)
    counts = [[b - a for a, b in zip((0, *cut), (*cut, gpus), strict=True)] for cut in cuts]
    return max(min(n / w for n, w in zip(row, work, strict=True)) * 1e3 for row in counts)


@given(
    times_ms=st.lists(st.floats(1, 20).map(lambda t: round(t, 2)), min_size=2, max_size=4),
    servers=st.integers(1, 3),
    gpus=st.integers(1, 3),
)
def test_each_partition_divides_the_gpus_as_well_as_can_be(times_ms, servers, gpus):
    group = [{"gpu": "t4", "count": servers, "gpus": gpus}]
    names, total = "abcdefgh"[: len(times_ms)], servers * gpus
    layouts = [layout for layout in stage_layouts(prepare(staged(times_ms, group)), 0) if layout.gpus]
    expected = [
        most_carried(sets, total, times_ms) for sets in partitions(tuple(names)) if len(sets) <= total
    ]
    assert sorted(carried(layout, times_ms) for layout in layouts) == pytest.approx(sorted(expected))
    for layout in layouts:
        assert sum(group.count * group.gpus for group in layout.scenario.cluster.servers) == total
        assert Scenario.model_validate(layout.scenario.model_dump(mode="json")) == layout.scenario


def test_layouts_carry_what_theory_says_and_the_best_one_leads():
    """Triton issue 3245 on four GPUs: users keep the slowest set busy in every layout."""
    given_scenario = staged(STAGES, [{"gpu": "t4", "gpus": 4}])
    found = compare_stage_layouts(prepare(given_scenario), Sources())
    by_title = {layout.title: layout for layout in found.layouts}
    for layout in found.layouts:
        if layout.gpus:
            assert layout.per_s.mean == pytest.approx(carried(layout, STAGES), rel=0.02)
            assert layout.per_s.mean * layout.jct_s.mean == pytest.approx(USERS, rel=0.02)
    assert by_title[f"{EVERYWHERE} (as set)"].per_s.mean == pytest.approx(4 * 50.2, rel=0.02)
    assert by_title[APART].per_s.mean == pytest.approx(2e3 / 11.11, rel=0.02)
    means = [layout.jct_s.mean for layout in found.layouts]
    assert means == sorted(means)


def test_a_layout_becomes_the_scenario_and_gives_the_same_times():
    given_scenario = staged((4, 11, 4), [{"gpu": "t4", "gpus": 2, "count": 2}], rate="150/s", slo="80 ms")
    prepared = prepare(given_scenario)
    found = compare_stage_layouts(prepared, Sources())
    layout = found.layouts[0]
    changed = with_layout(prepared.scenario, layout)
    effort = changed.simulation.model_copy(update={"jobs": 10_000, "replications": 5, "warmup": "auto"})
    named = [{"name": SCHEDULER}]
    data = changed.model_copy(update={"simulation": effort}).model_dump(mode="json") | {"schedulers": named}
    again = simulate(prepare(Scenario.model_validate(data))).summaries[SCHEDULER].result
    assert again.jct_s.mean == layout.jct_s.mean
    assert changed.name == given_scenario.name


def test_loads_of_stages_say_where_the_bottleneck_is():
    """Open: rate × seconds over GPUs or processes, in full batches; users fill their GPUs."""
    stages = {"a": {"cpu": 3}, "b": {"instances": [{"group": 0}], "batching": {"max_batch": 4}}}
    opened = staged((4, 11, 5), [{"gpu": "t4", "gpus": 2}], stages, rate="60/s")
    prepared = prepare(opened)
    a, b, c = stage_loads(prepared.system, {"m": 60.0})
    batch_s = prepared.system.queries[0].step_s[3, 0, 1]
    assert [a.load, b.load, c.load] == pytest.approx([60 * 4e-3 / 3, 60 * batch_s / 4 / 2, 60 * 5e-3 / 2])
    assert (a.gpus, b.gpus, [s.instances for s in (a, b, c)]) == ((), (0, 1), [3, 2, 2])
    users = prepare(staged((4, 11, 5), [{"gpu": "t4", "gpus": 2}]))
    result = simulate(users)
    report = simulation_report(result.summaries, 0.0, system=users.system)
    assert sum(stage.load for stage in report.stages) == pytest.approx(1.0, abs=0.02)
    assert "b takes 55" in stage_finding(report.stages)
    assert simulation_report(result.summaries, 0.0).stages == ()


def test_loads_count_the_traffic_of_the_pool_alone_and_the_gain_of_instances():
    """A row without stages takes no instances; two beside each other carry 1.22 times as much."""
    given_scenario = staged(
        (4, 11), [{"gpu": "t4", "instances": {"most": 2, "speed": [1, 0.61]}}], rate="20/s"
    )
    data = given_scenario.model_dump(mode="json")
    data["workload"].append({"model": "m", "name": "z", "rate": "5/s"})
    data["workload"][0]["stages"]["b"]["instances"][0]["count"] = 2
    system = prepare(Scenario.model_validate(data)).system
    a, b = stage_loads(system, {"m": 20.0, "z": 5.0})
    assert [a.load, b.load] == pytest.approx([20 * 4e-3, 20 * 11e-3 / 1.22])
    twins = Scenario.model_validate(data | {"workload": [data["workload"][0], data["workload"][0]]})
    both = stage_loads(prepare(twins).system, {"m": 20.0, "m #2": 5.0})
    assert [s.load for s in both] == pytest.approx([25 * 4e-3, 25 * 11e-3 / 1.22])


def test_processes_of_the_host_and_batching_stay():
    stages = {
        "a": {"cpu": 3},
        "b": {"instances": [{"group": 0, "count": 2}], "batching": {"max_batch": 4, "delay": "1 ms"}},
    }
    group = [{"gpu": "t4", "count": 2}, {"gpu": "a100-40gb", "gpus": 2, "mig": "3g.20gb, 3g.20gb"}]
    layouts = stage_layouts(prepare(staged((4, 11, 4), group, stages)), 0)
    for layout in layouts:
        row = layout.scenario.workload[0]
        assert row.stages["a"].cpu == 3
        assert row.stages["b"].batching.max_batch == 4
        assert all(places.count == 2 for places in row.stages["b"].instances)
        assert all("a" not in gpus.instances for gpus in layout.gpus)


def test_stages_of_other_rows_stay_on_their_gpus():
    data = staged((4, 11), [{"gpu": "t4", "gpus": 2}, {"gpu": "l4", "gpus": 2}]).model_dump(mode="json")
    other = {"model": "m", "name": "z", "rate": 1.0, "stages": {"b": {"instances": [{"group": 1}]}}}
    prepared = prepare(Scenario.model_validate(data | {"workload": [*data["workload"], other]}))
    for layout in stage_layouts(prepared, 0):
        groups = layout.scenario.cluster.servers
        places = layout.scenario.workload[1].stages["b"].instances
        assert {groups[p.group].gpu for p in places} == {"l4"}
        assert sum(groups[p.group].count * groups[p.group].gpus for p in places) == 2


def test_rows_without_stages_have_no_layouts():
    data = staged((4, 11), [{"gpu": "t4"}]).model_dump(mode="json")
    data["workload"][0]["stages"] = {}
    assert compare_stage_layouts(prepare(Scenario.model_validate(data)), Sources()) is None


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ([{"group": 0, "gpus": [2]}], "has no GPU 2; give numbers from 0 to 1"),
        ([{"group": 0, "gpus": [0, 1]}, {"group": 0, "gpus": [1]}], "name a GPU of group 0 twice"),
        ([{"group": 0}, {"group": 0, "gpus": [1]}], "name a GPU of group 0 twice"),
    ],
)
def test_gpus_that_do_not_exist_or_are_named_twice_are_refused(instances, message):
    with pytest.raises(ValidationError, match=message):
        staged((4, 11), [{"gpu": "t4", "gpus": 2}], {"a": {"instances": instances}})
