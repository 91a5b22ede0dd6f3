"""The coarsening of whole models: its steps, what they end in, and what the placement makes of it."""

import numpy as np
import pytest
from placement_helpers import cut, task_graph

from nona.contraction.contracted import Playback
from nona.hardware.executor import executor_class
from nona.placement.coarsening import NAME, coarsen, coarsen_tasks
from nona.placement.configurations import shapes_of
from nona.placement.enumeration import candidates
from nona.placement.messages import Candidates, Link
from nona.placement.spans import spans
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.sources.samples import load_sample, sample_names, scenario_path
from nona.study.models import PreparedModel, glued_model, prepare_model
from nona.study.preparation import Study, prepare
from nona.study.simulation import place

SLOW, FAST = Link(25e9 / 8, 20e-6), Link(200e9 / 8, 20e-6)


def prepared(name: str) -> PreparedModel:
    return prepare_model(load_sample(name), (executor_class("a100-40gb"),))


@pytest.mark.parametrize("name", ["resnet18", "inception_v3", "moe_block", "gpt2_decode", "slides_example"])
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_the_steps_play_to_the_groups(name: str, share: float) -> None:
    model = prepared(name)
    glued = glued_model(model, SLOW, share=share)
    done, steps = glued.contracted, glued.steps
    assert done.steps[: len(done.steps) - steps] == model.contracted.steps
    assert {s.rule for s in done.steps[len(done.steps) - steps :]} <= {NAME}
    parent = {t.id: t.id for t in done.tasks}

    def find(task: str) -> str:
        while parent[task] != task:
            task = parent[task]
        return task

    nodes = [(s.root, *s.interior, s.sink) for s in model.decomposition.subgraphs]
    for ends, coarsening in zip(nodes, glued.coarsenings, strict=True):
        for v, g in enumerate(coarsening.group.tolist()):
            if -1 not in (ends[v], ends[g]):
                parent[find(done.tasks[ends[v]].id)] = find(done.tasks[ends[g]].id)
    wanted: dict[str, set[str]] = {}
    for t in done.tasks:
        wanted.setdefault(find(t.id), set()).update(t.operators)
    film = Playback(done)
    ids = [o.id for o in done.graph.operators]
    played = {frozenset(ids[o] for o in group) for group in film.groups(len(film))}
    assert played == {frozenset(g) for g in wanted.values()}


@pytest.mark.parametrize("name", [n for n in sample_names() if n != "llama2_7b"])
def test_no_sample_loses_its_best_split(name: str) -> None:
    """At every interior of at most six tasks, over a slow and a fast link, idle and loaded."""
    model = prepared(name)
    for shape in shapes_of(model.tasks, model.decomposition.subgraphs, np.ones(1)):
        if not 0 < shape.m <= 6:
            continue
        for link in (SLOW, FAST):
            every = candidates(shape, link, 8)
            groups = coarsen(shape, link)
            kept = np.array([groups.respects(r) for r in every.labels.tolist()])
            for wait, server_wait in ((0.0, 0.0), (1e-3, 1e-4)):
                span = spans(every, wait, server_wait)[0]
                assert span[kept].min() <= span.min() * (1 + 1e-12)


def test_the_sample_with_experts_gets_smaller_at_a_stated_loss() -> None:
    glued = glued_model(prepared("moe_block"), SLOW, share=0.05)
    assert glued.interior_tasks == 82
    assert glued.interior_units < 60
    assert 0 < glued.bound_share <= 0.05
    assert "at most" in glued.contracted.steps[-1].reason


def test_links_and_latencies_decide() -> None:
    counts = [
        glued_model(prepared("inception_v3"), Link(gbit * 1e9 / 8, 20e-6)).interior_units
        for gbit in (10, 25, 100, 400, 10_000)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    late = glued_model(prepared("inception_v3"), Link(10_000e9 / 8, 1.0))
    assert late.interior_units == 0


def test_equal_sub_graphs_are_done_once() -> None:
    layer = [(0, 1, 5.0, "x"), (0, 2, 5.0, "x"), (1, 3, 2.0), (2, 3, 3.0)]
    edges = layer + [(u + 3, v + 3, *rest) for u, v, *rest in layer]
    tasks = task_graph([1, 2, 3, 1, 2, 3, 1], edges)
    one, two = coarsen_tasks(tasks, cut(tasks), Link(1e3, 0.0), np.ones(1))
    assert one is two


def test_rows_of_units_respect_the_groups() -> None:
    model = prepared("inception_v3")
    shape = max(shapes_of(model.tasks, model.decomposition.subgraphs, np.ones(1)), key=lambda s: s.m)
    c = coarsen(shape, SLOW)
    row = c.labels(range(1, len(c.units) + 1))
    assert c.respects(row)
    assert len(set(row)) == len(c.units) + 1
    apart = list(row)
    apart[c.group.tolist().index(0, 1) - 1] = 99  # a task that stays with the root
    assert not c.respects(apart)
    assert Candidates(shape, np.array([row]), SLOW).messages.load_s[0] > 0


def test_a_scenario_may_name_the_rule_and_keeps_its_tasks() -> None:
    """The rule says what stays together at given waits; it does not restrict the placement."""

    def study(rule: str) -> Study:
        data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
        return prepare(scenario_from_mapping(data | {"contraction": rule}))

    aware, poset = study(NAME), study("poset")
    for one, other in zip(aware.models, poset.models, strict=True):
        assert one.contracted.tasks == other.contracted.tasks
    assert place(aware).objective_s == place(poset).objective_s
