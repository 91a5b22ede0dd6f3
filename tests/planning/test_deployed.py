"""A plan's servers run as many tasks at once, and have the stages' instances, that the cluster's have."""

import pytest

from nona.core.errors import ScenarioError
from nona.planning.deployed import on_servers, stage_problems
from nona.planning.holds import holds
from nona.planning.offers import Option
from nona.planning.plan import failures
from nona.planning.planner import PlanSearch
from nona.planning.question import question_now, question_of
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.file import load_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.lookup import Sources
from nona.scenario.sample_files import scenario_path

SPEEDS = {"most": 2, "speed": [1, 0.6]}
HALVES = {"count": 3, "gpu": "a100-40gb", "gpus": 2, "mig": ["3g + 3g", "whole"], "vcpus": 8}
T4S = {"count": 2, "gpu": "t4", "instances": SPEEDS}
ENGINE = {"count": 1, "gpu": "a100-80gb", "engine": {}}
ON_T4S = {"group": 2, "count": 2}
STAGES = {
    "detect": {"instances": [{"group": 1, "count": 3, "gpus": [0]}, {"group": 1, "gpus": [1]}, ON_T4S]},
    "read": {"instances": [{"group": 1}, ON_T4S], "batching": {"max_batch": 4}},
}
CHAT = {"llm": {"model": "llama-3.1-8b", "tokens": {"input": 200, "output": 40}}, "rate": "1/s"}


def graph():
    nodes = [{"id": name, "kind": "Task", "compute_ms": 4.0} for name in ("detect", "read")]
    edge = {"source": "detect", "target": "read", "tensor": "lines", "bytes": 1000}
    own = {"name": "pages", "format": "json", "device": "any"}
    return {"directed": True, "multigraph": True, "graph": own, "nodes": nodes, "edges": [edge]}


def deployed(groups=(ENGINE, HALVES, T4S), stages=STAGES, rows=(CHAT,), **asked):
    row = {"model": "pages", "name": "pages", "rate": "20/s", "slo": "100 ms", "stages": stages}
    return scenario_from_mapping(
        {
            "version": 1,
            "cluster": {"servers": list(groups)},
            "workload": [row, *rows],
            "models": {"pages": graph()},
            "schedulers": ["least-loaded"],
            "simulation": {"jobs": 400, "replications": 4},
            "plan": {"replications": 4, "prices": {"gpus": {"a100-40gb": 1.0, "t4": 0.3}}, **asked},
        }
    )


def now(scenario):
    question, counts = question_now(question_of(scenario, Sources()), scenario)
    return question, Option(counts)


def on_gpus(scenario, kind):
    """Stage → its instances on each GPU of the servers of a kind."""
    number, group = next((k, g) for k, g in enumerate(scenario.cluster.servers) if g.gpu == kind)
    stages = scenario.workload[0].stages
    return {name: [s.instances_on(number, gpu) for gpu in range(group.gpus)] for name, s in stages.items()}


def test_the_present_cluster_is_planned_as_it_is_deployed():
    scenario = deployed()
    question, option = now(scenario)
    after = question.scenario_of(option)
    for kind in ("a100-40gb", "t4"):
        assert on_gpus(after, kind) == on_gpus(scenario, kind)
        own, there = (next(g for g in s.cluster.servers if g.gpu == kind) for s in (scenario, after))
        assert (there.count, there.gpus, there.instances) == (own.count, own.gpus, own.instances)
    assert after.cluster.engine_groups == scenario.cluster.engine_groups
    assert scenario_from_mapping(after.model_dump(mode="json")) == after


def test_every_kind_alone_has_the_instances_that_it_has_in_the_cluster():
    scenario = deployed()
    question, _ = now(scenario)
    for counts, kind in (((1, 0), "a100-40gb"), ((0, 5), "t4")):
        alone = question.scenario_of(Option(counts))
        assert on_gpus(alone, kind) == on_gpus(scenario, kind)
        assert alone.cluster.task_groups[0].count == sum(counts)


def test_other_servers_have_what_is_on_every_gpu_and_run_as_many_tasks_as_their_like():
    uniform = {name: {"instances": [{"group": 0, "count": 2}]} for name in ("detect", "read")}
    scenario = deployed((T4S,), uniform, ())
    after = on_servers(scenario, (ServerGroupSpec(gpu="l4", gpus=4), ServerGroupSpec(gpu="t4", gpus=2)))
    assert on_gpus(after, "l4") == {"detect": [2] * 4, "read": [2] * 4}
    assert {g.instances for g in after.cluster.servers} == {scenario.cluster.servers[0].instances}
    shared = on_servers(scenario, (ServerGroupSpec(gpu="l4", mps=2),))
    assert shared.cluster.servers[0].instances is None  # each client has its part


def test_servers_of_which_nothing_says_what_runs_there_are_refused_in_one_line():
    with pytest.raises(
        ScenarioError, match=r"^plan: stage detect of pages has .* none on servers of l4; plan"
    ):
        question_of(deployed(offers=["l4=1"]), Sources())
    unlike = {"instances": [{"group": 1}, {"group": 2, "count": 5}]}
    twice = deployed((ENGINE, T4S, T4S), {"detect": unlike})
    (line, *_) = stage_problems(twice, [ServerGroupSpec(gpu="t4")])
    assert "servers of t4 have unlike instances of stage" in line


def test_groups_of_a_kind_that_run_unlike_numbers_of_tasks_are_refused_and_not_merged():
    uniform = {name: {"instances": [{"group": 0}, {"group": 1}]} for name in ("detect", "read")}
    unlike = deployed((T4S, {**T4S, "instances": {"most": 3}}), uniform, ())
    with pytest.raises(ScenarioError, match=r"^plan: groups of t4 have unlike concurrent tasks; give"):
        holds(unlike)
    assert not list(stage_problems(deployed((T4S, T4S), uniform, ()), [ServerGroupSpec(gpu="t4")]))


def test_a_cluster_without_the_only_server_of_a_stage_misses():
    apart = {"detect": {"instances": [{"group": 0}]}, "read": {"instances": [{"group": 1}]}}
    scenario = deployed(({**T4S, "count": 1}, {**HALVES, "mig": None, "count": 2}), apart, (), group=0)
    question, counts = question_now(question_of(scenario, Sources()), scenario)
    lost = {row.lost: row.verdict for row in failures(PlanSearch(question), Option(counts))}
    assert lost["one server of t4"] == "misses"


def test_tasks_beside_each_other_count_in_whether_a_cluster_holds():
    text = """
    cluster: {servers: [{count: 1, gpu: t4, instances: {most: 4, speed: [1, SPEED]}}]}
    workload: [{model: pages, rate: 60/s, slo: 60 ms}]
    schedulers: [least-loaded]
    simulation: {jobs: 600, replications: 4}
    """
    shares = {}
    for speed in (0.9, 0.3):  # two at once gain, or lose
        data = parse_scenario(text.replace("SPEED", str(speed))).model_dump(mode="json")
        report = holds(scenario_from_mapping({**data, "models": {"pages": graph()}}))
        shares[speed] = report.full_at
    assert shares[0.9] > shares[0.3]


def test_the_shipped_deployment_is_planned_with_its_concurrent_tasks():
    scenario = load_scenario(scenario_path("documents_as_deployed"))
    question = question_of(scenario, Sources())
    option = PlanSearch(question).pure[0].option(2)
    assert question.scenario_of(option).cluster.servers[0].instances == scenario.cluster.servers[0].instances
