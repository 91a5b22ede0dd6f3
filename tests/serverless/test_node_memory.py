"""Memory of nodes: never more than there is, the least recently used goes first, the rest waits."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from engine_cases import function, one_application, run, trace
from hypothesis import given
from hypothesis import strategies as st
from reference_cases import PLAIN, plain_options, systems
from sizes import examples
from test_idle_cost import same_calls_and_batches
from test_platform_invariants import QUIET, RUN

from nona.errors import SimulationError
from nona.gpu_sharing.pool import Invoker
from nona.graph.dag import Dag
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.schema import Scenario
from nona.scenario.serverless import ContainersSpec
from nona.serverless.checks import run_checks
from nona.serverless.dispatch import home_invoker
from nona.serverless.engine.invokers import NO_MEMORY
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.policies.registry import get_policy
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import Application, NodeMemory, ServerlessSystem
from nona.sources.samples import sample_root, scenario_path
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import may_start_cold, report_of, simulate_serverless_scenario

COLD_S = 2.0


def workflow(
    memory: NodeMemory | None, names: str, edges: tuple[tuple[int, int], ...] = (), **others: Any
) -> ServerlessSystem:
    """One call of an application whose stages run these functions, for 1 s each; one node of much else."""
    known = sorted(set(names))
    usual = {"containers": ContainersSpec(warm=0, prewarm="none", keep_alive=1e6)}
    system = one_application(
        [function(name, 1.0, cold_s=COLD_S) for name in known], memory=memory, **{**usual, **others}
    )
    n = len(names)
    app = Application(
        "app",
        tuple(f"s{k}" for k in range(n)),
        tuple(known.index(name) for name in names),
        Dag.from_edges(n, edges),
        (0.0,) * n,
        1000.0,
        1.0,
        trace(0.0),
    )
    return replace(system, applications=(app,))


def chain(count: int) -> tuple[tuple[int, int], ...]:
    return tuple((k, k + 1) for k in range(count - 1))


def memory_for(count: int, *names: str) -> NodeMemory:
    return NodeMemory((count,), (1,) * len(names), names)


def served(records: ServerlessRecords, names: str) -> list[tuple[str, float, bool]]:
    """(function, dispatched, whether it started cold) of each batch."""
    of = records.batches
    return [
        (names[stage], float(at), bool(cold))
        for stage, at, cold in zip(of.stage, of.dispatched_s, of.cold, strict=True)
    ]


@given(
    system=systems(scarce=True),
    options=plain_options(),
    policy=st.sampled_from(("plain", "esg", "infless", "fast-gshare", "orion")),
)
@examples(60, **QUIET)
def test_containers_never_hold_more_than_their_node_has(
    system: ServerlessSystem, options: dict[str, Any], policy: str
) -> None:
    """A sweep over the records: whenever a container begins, all that live on its node then are added up."""
    chosen = (PLAIN, options) if policy == "plain" else (get_policy(policy), {})
    records = simulate_serverless(system, *chosen, RUN)
    lives, memory = records.containers, system.memory
    assert lives is not None
    assert memory is not None
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


@given(system=systems(), options=plain_options())
@examples(60, **QUIET)
def test_memory_for_all_is_as_no_limit(system: ServerlessSystem, options: dict[str, Any]) -> None:
    names = tuple(f.name for f in system.functions)
    much = NodeMemory((10**15,) * len(system.invokers), (1,) * len(names), names)
    free = simulate_serverless(system, PLAIN, options, RUN)
    limited = simulate_serverless(replace(system, memory=much), PLAIN, options, RUN)
    assert same_calls_and_batches(free, limited)
    assert limited.sums.rechecks == free.sums.rechecks
    assert limited.containers is not None
    assert not limited.containers.evicted.any()


def test_the_least_recently_used_makes_room() -> None:
    """Two fit. At 6 s c takes the place of a, which waits since 3 s; b is still there at 9 s; then c goes."""
    records = run(workflow(memory_for(2, "a", "b", "c"), "abcba", chain(5)), 1)
    assert served(records, "abcba") == [
        ("a", 0.0, True),
        ("b", 3.0, True),
        ("c", 6.0, True),
        ("b", 9.0, False),
        ("a", 10.0, True),
    ]
    lives = records.containers
    assert lives is not None
    gone = [(int(f), float(s)) for f, s in zip(lives.function, lives.gone_s, strict=True) if s == s]
    assert gone == [(0, 6.0), (2, 10.0)]
    assert lives.evicted.sum() == 2


def test_what_does_not_fit_waits_for_a_container_in_use() -> None:
    """One fits. a starts and runs from 0 to 3 s; then it goes, and b starts cold."""
    records = run(workflow(memory_for(1, "a", "b"), "ab"), 1)
    assert served(records, "ab") == [("a", 0.0, True), ("b", 3.0, True)]
    assert records.calls.completion_s.tolist() == [6.0]
    assert records.sums.rechecks == 1
    assert run(workflow(None, "ab"), 1).calls.completion_s.tolist() == [3.0]


def test_what_does_not_fit_here_goes_to_another_node() -> None:
    """Both functions have their home on node 0, which holds one container."""
    one, other = [name for name in "abcdefgh" if home_invoker(name, 2)[0] == 0][:2]
    two = (Invoker(vcpus=48, gpus=8),) * 2
    system = workflow(NodeMemory((1, 1), (1, 1), (one, other)), one + other, invokers=two)
    records = run(system, 1, stories=2)
    assert records.batches.dispatched_s.tolist() == [0.0, 0.0]
    assert records.batches.invoker.tolist() == [0, 1]
    assert [[(r.invoker, r.why) for r in story.refusals] for story in records.stories] == [
        [],
        [(0, NO_MEMORY)],
    ]


SPARE = ContainersSpec(warm=0, prewarm="spare", spare=1, keep_alive=1e6)


def test_starts_ahead_take_free_memory_only() -> None:
    """Three fit: a's batch, a spare one of a, b's batch; a spare one of b would have to remove one."""
    records = run(workflow(memory_for(3, "a", "b"), "ab", containers=SPARE), 1)
    lives = records.containers
    assert lives is not None
    assert lives.function.tolist() == [0, 0, 1]
    assert not lives.evicted.any()


def test_a_queue_is_looked_at_again_when_a_start_ahead_is_over() -> None:
    """Two fit: a's batch until 3 s, and a spare one of a, which is ready at 2 s and then goes for b."""
    records = run(workflow(memory_for(2, "a", "b"), "ab", containers=SPARE), 1)
    assert served(records, "ab") == [("a", 0.0, True), ("b", 2.0, True)]


def test_a_function_that_no_node_holds_is_refused() -> None:
    with pytest.raises(SimulationError, match="Function 'b': its container needs 5 GB, no node has more"):
        NodeMemory((4 * 10**9,), (10**9, 5 * 10**9), ("a", "b"))


def _scenario(memory: dict[str, object], **more: object) -> Scenario:
    data = scenario_to_mapping(load_scenario(scenario_path("strict_light")))
    data["serverless"] = {**data["serverless"], "memory": memory, **more}
    return scenario_from_mapping(data)


def test_a_scenario_limits_memory_and_the_result_tells_its_use() -> None:
    scenario = _scenario({"limit": "gpus", "container": "6 GB"})
    result = simulate_serverless_scenario(scenario, policies=["esg", "infless"], calls=200, replications=2)
    report = report_of(result)
    assert result.system.memory is not None
    assert set(result.system.memory.node_bytes) == {40 * 10**9}
    assert all(report.checks.values())
    for outcome in report.policies.values():
        of = outcome.memory
        assert of is not None
        assert of.mean is not None
        assert of.most is not None
        assert 0 < of.mean <= of.most + 1e-9 <= 1 + 2e-9
        assert outcome.containers is not None
    assert may_start_cold(result.system)


def test_weights_are_those_of_the_sample_models_and_what_is_stated_comes_first() -> None:
    known = {
        m["name"]: m["parameters"]
        for m in json.loads((sample_root() / "MANIFEST.json").read_text())["models"]
    }
    text = files("nona.serverless").joinpath("data/network_inputs.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    named = [r for r in rows if r["parameters_from"] != "torchvision"]
    assert len(named) == 6
    assert all(int(r["parameters"]) == known[r["parameters_from"]] for r in named)
    functions = {
        "deblur": {"network": "vgg16"},
        "segmentation": {"network": "bert", "memory": "3 GB"},
    }
    memory = {"limit": "node", "node": "20 GB", "container": "1 GB", "overhead": "0.25 GB"}
    found = prepare_serverless(_scenario(memory, functions=functions)).memory
    assert found is not None
    needs = dict(zip(found.names, found.container_bytes, strict=True))
    assert needs["deblur"] == 4 * known["vgg16"] + 250_000_000
    assert needs["segmentation"] == 3_000_000_000
    assert needs["super_resolution"] == 1_000_000_000
