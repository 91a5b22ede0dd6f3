"""What holds on any platform: resources, calls, money, containers' lives, memory, dropped calls."""

import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from reference_cases import MODES, PLAIN, plain_options, systems
from serverless_cases import DIAMOND, function, one_application, run, trace, workflow_system
from sizes import examples

from nona.cluster.hardware.table_file import shipped_table
from nona.cluster.sharing.pool import Invoker
from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.errors import SimulationError
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.sample_files import sample_root, scenario_path
from nona.scenario.serverless import LATE, ContainersSpec, DispatchSpec
from nona.serverless.checks import run_checks
from nona.serverless.dispatch import home_invoker
from nona.serverless.engine.arrays import least_left_s
from nona.serverless.engine.options import PlatformRunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.functions import TABLE
from nona.serverless.metrics import summarise
from nona.serverless.occupation import container_time
from nona.serverless.policies.registry import get_policy, policy_names
from nona.serverless.system import HOUR_S, NodeMemory
from nona.serverless.workflows.preparation import prepare_serverless
from nona.serverless.workflows.run import may_start_cold, report_of, simulate_serverless_scenario

POLICIES = ("esg", "infless", "fast-gshare", "orion", "fixed")
QUIET = {"suppress_health_check": list(HealthCheck)}
RUN = PlatformRunOptions(calls=60, warmup=3)


def held(records):
    """(from, until, batch) of everything that was held."""
    of = records.batches
    return [
        (float(begin), records.stopped_s if math.isnan(end) else float(end), number)
        for number, (begin, end) in enumerate(zip(of.dispatched_s, of.ended_s, strict=True))
    ]


def check_resources(system, records):
    """At the dispatch of every batch: all that is held then, added up by invoker and by GPU."""
    of, space, spans = records.batches, system.space, held(records)
    soft = SHARING_MODES[system.sharing.mode].oversubscribes
    over = system.sharing.oversubscription if soft else 1.0
    for begin, _, number in spans:
        node = system.invokers[of.invoker[number]]
        here = [
            n for b, e, n in spans if b <= begin < e and of.invoker[n] == of.invoker[number] and n <= number
        ]
        assert sum(space[of.configuration[n]].vcpus for n in here) <= node.vcpus
        on_gpu = [n for n in here if of.gpu[n] == of.gpu[number]]
        assert sum(space[of.configuration[n]].vgpus for n in on_gpu) <= over * node.vgpus
        assert 0 <= of.gpu[number] < node.gpus
        for n in on_gpu:
            assert n == number or not int(of.slots[n]) & int(of.slots[number])


def check_calls(system, records):
    """Every call is complete in order, dropped or in flight; a batch's jobs are the calls that name it."""
    calls, of = records.calls, records.batches
    named = np.zeros(len(of.jobs), dtype=int)
    for number, app_number in enumerate(calls.application):
        app = system.applications[app_number]
        batches = calls.batch[number, : app.stages]
        for stage, batch in enumerate(batches):
            if batch < 0:
                continue
            named[batch] += 1
            assert (of.application[batch], of.stage[batch]) == (app_number, stage)
            for before in app.dag.predecessors[stage]:
                assert of.ended_s[batches[before]] <= of.dispatched_s[batch]
            assert of.dispatched_s[batch] >= calls.arrival_s[number]
        last = max((of.ended_s[b] if b >= 0 else math.nan) for b in batches)
        whole = all(b >= 0 and not math.isnan(of.ended_s[b]) for b in batches)
        assert math.isnan(calls.completion_s[number]) != whole
        if whole:
            assert calls.completion_s[number] == last
        if not math.isnan(calls.dropped_s[number]):
            assert system.dispatch.late == "drop"
            assert not whole
    assert named.tolist() == of.jobs.tolist()
    assert (of.jobs <= system.space.batch[of.configuration]).all()
    summary = summarise(system, [records])
    counts = summary.calls
    assert counts.arrived == RUN.calls == counts.completed + counts.dropped + counts.in_flight


def check_money(system, records):
    """Σ over batches of what they hold · price · how long = Σ over calls of their shares of batches."""
    calls, of, prices = records.calls, records.batches, system.prices
    vcpus, vgpus = system.space.vcpus[of.configuration], system.space.vgpus[of.configuration]
    if SHARING_MODES[
        system.sharing.mode
    ].fixed_layout:  # the whole slice is paid; a slice of this layout has as many bits
        vgpus = np.array([int(bits).bit_count() for bits in of.slots], dtype=int)
    rate = vcpus * prices.vcpu_hour + vgpus * prices.vgpu_hour
    cost = (of.ended_s - of.dispatched_s) * rate / HOUR_S
    ended = ~np.isnan(cost)
    shares = sum(float(cost[b] / of.jobs[b]) for row in calls.batch for b in row if b >= 0 and ended[b])
    assert shares == pytest.approx(float(cost[ended].sum()))
    measured = [[cost[b] / of.jobs[b] for b in row if b >= 0] for row in calls.batch[calls.measured]]
    if not np.isnan(calls.completion_s[calls.measured]).any():  # nor is one dropped
        mean = sum(map(sum, measured)) / RUN.calls
        assert summarise(system, [records]).cost_per_call_usd.mean == pytest.approx(float(mean))


@pytest.mark.parametrize("mode", sorted(set(MODES)))
@given(data=st.data(), policy=st.sampled_from(("plain", *POLICIES)))
@examples(24, **QUIET)
def test_resources_calls_and_money_add_up(mode, data, policy):
    """Also with a policy that asks for anything."""
    system = data.draw(systems(modes=(mode,)))
    chosen = (PLAIN, data.draw(plain_options())) if policy == "plain" else (get_policy(policy), {})
    records = simulate_serverless(system, *chosen, RUN)
    check_resources(system, records)
    check_calls(system, records)
    check_money(system, records)


@given(system=systems(paid_waits=True), options=plain_options())
@examples(60, **QUIET)
def test_busy_idle_and_starting_are_the_lives_of_containers(system, options):
    """Σ busy + Σ idle + Σ starting = Σ lifetimes; of each container too, without gap or overlap; and of what
    lies in the window."""
    records = simulate_serverless(system, PLAIN, options, RUN)
    of, lives, end_s = records.batches, records.containers, records.stopped_s

    def until(time_s):
        return end_s if math.isnan(time_s) else time_s

    spent = {c: [] for c in range(len(lives.born_s))}
    for container, begin, end in zip(lives.of_batch, of.dispatched_s, of.ended_s, strict=True):
        spent[container].append((begin, until(end)))
    for container, begin, end in zip(lives.idle, lives.idle_from_s, lives.idle_until_s, strict=True):
        spent[container].append((begin, until(end)))
    for container, pieces in spent.items():
        born_s, gone_s = lives.born_s[container], until(lives.gone_s[container])
        pieces.sort()
        begin = pieces[0][0] if pieces else gone_s
        cold_s = system.functions[lives.function[container]].cold_start_s
        assert begin == pytest.approx(born_s) or begin - born_s == pytest.approx(cold_s) or not pieces
        assert all(a[1] == b[0] for a, b in pairwise(pieces))
        total = sum(b - a for a, b in pieces) + (begin - born_s)
        assert total == pytest.approx(gone_s - born_s, abs=1e-9)
    assert lives.invoker[lives.of_batch].tolist() == of.invoker.tolist()
    assert all(check.ok for check in run_checks(system, records))
    found, sums = container_time(system, records, lives), records.sums
    gone_s = np.where(np.isnan(lives.gone_s), end_s, lives.gone_s)
    inside_s = np.minimum(gone_s, sums.end_s) - np.maximum(lives.born_s, sums.start_s)
    assert found.life_s == pytest.approx(float(np.maximum(inside_s, 0).sum()), abs=1e-6)
    assert min(found.busy_s, found.idle_s, found.starting_s) >= -1e-9


def test_the_result_names_both_costs():
    how = {"policies": ["fixed", "esg"], "calls": 200, "replications": 2}
    settings = (_scenario(idle_cost="2 %"), load_scenario(scenario_path("strict_light")))
    paid, free = (report_of(simulate_serverless_scenario(s, **how)) for s in settings)
    assert all(paid.checks.values())
    for name, outcome in paid.policies.items():
        of, without = outcome.containers, free.policies[name]
        assert without.containers is without.transfers is without.memory is None
        assert of.executing_per_call_usd == without.cost_per_call_usd
        assert of.idle_per_call_usd.mean > 0
        assert outcome.cost_per_call_usd.mean == pytest.approx(
            of.executing_per_call_usd.mean + of.idle_per_call_usd.mean
        )
        assert of.busy + of.idle + of.starting == pytest.approx(1)
        for runs in (outcome.runs, without.runs):
            assert len(runs["cost_per_call_usd"]) == 2
        assert outcome.runs["latency_s"] == without.runs["latency_s"]
        of_cost = ("containers", "cost_per_call_usd", "cost_per_hit_usd", "runs")
        others = [{k: v for k, v in o.to_json().items() if k not in of_cost} for o in (outcome, without)]
        assert others[0] == others[1]


@given(
    system=systems(scarce=True),
    options=plain_options(),
    policy=st.sampled_from(("plain", "esg", "infless", "fast-gshare", "orion")),
)
@examples(60, **QUIET)
def test_containers_never_hold_more_than_their_node_has(system, options, policy):
    """A sweep over the records: whenever a container begins, all that live on its node then are added up."""
    chosen = (PLAIN, options) if policy == "plain" else (get_policy(policy), {})
    records = simulate_serverless(system, *chosen, RUN)
    lives, memory = records.containers, system.memory
    rows = list(zip(lives.invoker, lives.function, lives.born_s, lives.gone_s, strict=True))
    for invoker, _, at_s, _ in rows:
        held = sum(
            memory.container_bytes[f]
            for i, f, born_s, gone_s in rows
            if i == invoker and born_s <= at_s and (math.isnan(gone_s) or gone_s > at_s)
        )
        assert held <= memory.node_bytes[invoker]
    for batch, container in enumerate(lives.of_batch):
        until_s = records.stopped_s if math.isnan(lives.gone_s[container]) else lives.gone_s[container]
        assert lives.born_s[container] <= records.batches.dispatched_s[batch] <= until_s
        ended_s = records.batches.ended_s[batch]
        assert math.isnan(ended_s) or ended_s <= until_s
    assert all(check.ok for check in run_checks(system, records))


def test_what_does_not_fit_here_goes_to_another_node():
    """Both functions have their home on node 0, which holds one container."""
    names = [name for name in "abcdefgh" if home_invoker(name, 2)[0] == 0][:2]
    system = one_application(
        [function(name, 1.0) for name in names],
        arrivals=trace(0.0),
        memory=NodeMemory((1, 1), (1, 1), tuple(names)),
        invokers=(Invoker(vcpus=48, gpus=8),) * 2,
        containers=ContainersSpec(warm=0, prewarm="none", keep_alive=1e6),
    )
    records = run(system, 1)
    assert records.batches.dispatched_s.tolist() == [0.0, 0.0]
    assert records.batches.invoker.tolist() == [0, 1]


def _scenario(**more):
    data = scenario_to_mapping(load_scenario(scenario_path("strict_light")))
    return scenario_from_mapping(data | {"serverless": data["serverless"] | more})


def test_a_scenario_limits_memory_and_the_result_tells_its_use():
    scenario = _scenario(memory={"limit": "gpus", "container": "6 GB"})
    result = simulate_serverless_scenario(scenario, policies=["esg", "infless"], calls=200, replications=2)
    report = report_of(result)
    assert set(result.system.memory.node_bytes) == {40 * 10**9}
    assert all(report.checks.values())
    for outcome in report.policies.values():
        of = outcome.memory
        assert 0 < of.mean <= of.most + 1e-9 <= 1 + 2e-9
        assert outcome.containers is not None
    assert may_start_cold(result.system)


def test_weights_are_those_of_the_sample_models_and_what_is_stated_comes_first():
    known = {
        m["name"]: m["parameters"]
        for m in json.loads((sample_root() / "MANIFEST.json").read_text())["models"]
    }
    named = [r for r in shipped_table(*TABLE) if r["parameters_from"] not in ("", "torchvision")]
    assert len(named) == 6
    assert all(int(r["parameters"]) == known[r["parameters_from"]] for r in named)
    functions = {"deblur": {"network": "vgg16"}, "segmentation": {"network": "bert", "memory": "3 GB"}}
    memory = {"limit": "node", "node": "20 GB", "container": "1 GB", "overhead": "0.25 GB"}
    found = prepare_serverless(_scenario(memory=memory, functions=functions)).memory
    needs = dict(zip(found.names, found.container_bytes, strict=True))
    assert needs["deblur"] == 4 * known["vgg16"] + 250_000_000
    assert needs["segmentation"] == 3_000_000_000
    assert needs["super_resolution"] == 1_000_000_000


@pytest.mark.parametrize("late", list(LATE))
def test_a_policy_s_own_rule_comes_before_the_scenario_s(late):
    """In overload, with branches: equal to the scenario that says so; every dropped call was hopeless."""
    keep = DispatchSpec(late="keep")
    system = workflow_system(
        [0.1, 0.3, 0.2, 0.4], DIAMOND, slo_s=0.9, noise=0.2, dispatch=keep, seed=5, rate=100
    )
    other = replace(system, dispatch=DispatchSpec(late=late))
    size = PlatformRunOptions(calls=150, warmup=20)
    policy = get_policy("esg")
    own = simulate_serverless(system, policy, {"late": late}, size)
    said = simulate_serverless(other, policy, {}, size)
    np.testing.assert_array_equal(own.calls.completion_s, said.calls.completion_s)
    dropped = ~np.isnan(own.calls.dropped_s)
    assert dropped.any() == (late == "drop")
    kept = summarise(other, [own])
    in_time = own.calls.completion_s - own.calls.arrival_s <= 0.9  # who was dropped was not
    assert kept.calls.dropped == dropped[own.calls.measured].sum()
    assert kept.slo_hit_rate.mean == pytest.approx(in_time[own.calls.measured].mean())
    age_s = (own.calls.dropped_s - own.calls.arrival_s)[dropped]
    assert (age_s + max(least_left_s(system)) > 0.9).all()
    assert np.isnan(own.calls.completion_s[dropped]).all()
    assert all(check.ok for check in run_checks(other, own))


def test_refusals_and_the_former_name():
    assert DispatchSpec(late="cheapest").late == "keep"
    with pytest.raises(SimulationError, match="Function 'b': its container needs 5 GB, no node has more"):
        NodeMemory((4 * 10**9,), (10**9, 5 * 10**9), ("a", "b"))
    with pytest.raises(ValueError, match="'keep', 'fastest' or 'drop'"):
        DispatchSpec(late="never")
    for name in policy_names():
        with pytest.raises(SimulationError, match="late='never' must be one of keep, fastest, drop"):
            get_policy(name).prepare(workflow_system([0.3]), {"late": "never"})
