"""Configurations are counted and told apart; coarsening loses no more than it says."""

from math import comb

import numpy as np
import pytest
from drawn_shapes import everything, links, shape_of, shapes
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import task_graph
from sizes import examples

from nona.cost.options import CostOptions
from nona.decomposition import decompose
from nona.errors import PlacementError
from nona.hardware.executor import executor_class
from nona.placement import configurations
from nona.placement.coarsening import NAME, coarsen, coarsen_tasks
from nona.placement.enumeration import candidates, multiset_partitions
from nona.placement.messages import Candidates, Link
from nona.placement.result import Configuration
from nona.placement.spans import spans
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.sources.samples import load_sample, sample_names, scenario_path
from nona.study.models import glued_model, prepare_model
from nona.study.preparation import prepare
from nona.study.simulation import place

SHAPES = shapes(5, light=st.sampled_from([0.0, 0.5, 0.9]))
LINKS = links([0.3, 1.0, 3.0, 20.0, 100.0], [0.0, 0.3, 2.0])
PRICED = st.lists(
    st.tuples(*(st.sampled_from([0.0, 0.1, 1.0, 7.0]) for _ in range(4))), min_size=3, max_size=6
)


def greatest_loss(c, shape, link, points):
    """Check the bound at every (W_n, W_c, price of load, price of squares); the greatest loss found."""
    labels = everything(shape)
    kept = np.array([c.respects(r) for r in labels.tolist()])
    assert kept[(labels == 0).all(axis=1)].any(), "the local configuration respects every group"
    every = Candidates(shape, labels, link)
    most = 0.0
    for wait, server_wait, load, square in points:
        priced = load * every.messages.load_s + square * every.messages.square_s2
        cost = spans(every, wait, server_wait)[0] + priced
        least, coarse = float(cost.min()), float(cost[kept].min())
        assert coarse <= least + c.bound_s(load, square) + 1e-9 * (1 + least)
        most = max(most, coarse - least)
    return most


@given(SHAPES, LINKS, st.sampled_from([0.0, 0.05, 0.3, 1.0]), PRICED)
@examples(350)
def test_no_more_is_lost_than_the_bound(shape, link, share, points):
    c = coarsen(shape, link, share=share)
    greatest_loss(c, shape, link, points)
    assert c.loss_s + c.load_loss_s <= share * shape.local_s * (1 + 1e-9)
    if share == 0:
        assert c.exact
        assert c.bound_s(1e9, 1e9) == 0


def chain_and_branch(light_s):
    """root → 1 → 2 → sink and root → 3 → sink; task 1 is light and hands on what it reads."""
    return shape_of([light_s, 4.0, 5.0], [(0, 1), (0, 3), (1, 2), (2, 4), (3, 4)])


def test_a_light_task_stays_with_its_producer_for_what_it_takes():
    """Cutting before or after task 1 costs the same message, so the loss is its own 0.1 s at most."""
    shape, link = chain_and_branch(0.1), Link(2.0, 0.0)
    assert coarsen(shape, link).steps == ()
    c = coarsen(shape, link, share=0.02)
    assert [(s.source, s.target, s.kind) for s in c.steps] == [(0, 1, "block")]
    assert c.loss_s == pytest.approx(0.1)
    assert (c.load_loss_s, c.square_loss_s2) == (0.0, 0.0)
    assert c.units == ((2,), (3,), (4,))
    assert c.labels([1, 0, 1]) == [0, 1, 0, 1]
    assert coarsen(shape, link, share=0.01).steps == (), "0.1 s are more than 1 % of 9.1 s"
    longer = chain_and_branch(0.6)  # than its cheapest message, unless that is late
    assert [len(coarsen(longer, Link(2.0, late), share=0.1).steps) for late in (0.0, 0.2)] == [0, 1]


def test_where_every_cut_takes_longer_than_staying_nothing_is_left():
    c = coarsen(chain_and_branch(0.1), Link(0.1, 0.0))
    assert c.group.tolist() == [0] * 5
    assert (c.exact, c.units, c.interior_units) == (True, (), 0)
    assert {s.kind for s in c.steps} == {"edge"}
    assert all(s.work_s + s.transfer_s >= s.against_s for s in c.steps)


@pytest.mark.parametrize("share", [-0.1, float("inf"), float("nan")])
def test_numbers_that_are_none_are_refused(share):
    with pytest.raises(PlacementError, match=r"share=.* must be at least 0 and finite"):
        coarsen(chain_and_branch(0.1), Link(1.0, 0.0), share=share)


SLOW, FAST = Link(25e9 / 8, 20e-6), Link(200e9 / 8, 20e-6)


def prepared(name):
    full = CostOptions(precision="model")  # in TF32 nothing of Inception is worth a message
    return prepare_model(load_sample(name), (executor_class("a100-40gb"),), full)


@pytest.mark.parametrize("name", ["resnet18", "inception_v3", "moe_block", "gpt2_decode", "slides_example"])
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_the_steps_play_to_the_groups(name, share):
    model = prepared(name)
    glued = glued_model(model, SLOW, share=share)
    done, steps = glued.contracted, glued.steps
    assert done.steps[: len(done.steps) - steps] == model.contracted.steps
    assert {s.rule for s in done.steps[len(done.steps) - steps :]} <= {NAME}
    parent = {t.id: t.id for t in done.tasks}

    def find(task):
        while parent[task] != task:
            task = parent[task]
        return task

    nodes = [(s.root, *s.interior, s.sink) for s in model.decomposition.subgraphs]
    for ends, coarsening in zip(nodes, glued.coarsenings, strict=True):
        for v, g in enumerate(coarsening.group.tolist()):
            if -1 not in (ends[v], ends[g]):
                parent[find(done.tasks[ends[v]].id)] = find(done.tasks[ends[g]].id)
    wanted = {}
    for t in done.tasks:
        wanted.setdefault(find(t.id), set()).update(t.operators)
    played = {o.id: {o.id} for o in done.graph.operators}
    for step in done.steps:
        merged = played.pop(step.source) | played.pop(step.target)
        assert step.into in merged
        played[step.into] = merged
    assert set(map(frozenset, played.values())) == set(map(frozenset, wanted.values()))


@pytest.mark.parametrize("name", [n for n in sample_names() if n != "llama2_7b"])
def test_no_sample_loses_its_best_split(name):
    """At every interior of at most six tasks, over a slow and a fast link, idle and loaded."""
    model = prepared(name)
    for shape in configurations.shapes_of(model.tasks, model.decomposition.subgraphs, np.ones(1)):
        if not 0 < shape.m <= 6:
            continue
        for link in (SLOW, FAST):
            every = candidates(shape, link, 8)
            groups = coarsen(shape, link)
            kept = np.array([groups.respects(r) for r in every.labels.tolist()])
            for wait, server_wait in ((0.0, 0.0), (1e-3, 1e-4)):
                span = spans(every, wait, server_wait)[0]
                assert span[kept].min() <= span.min() * (1 + 1e-12)


def test_the_sample_with_experts_gets_smaller_at_a_stated_loss():
    glued = glued_model(prepared("moe_block"), SLOW, share=0.05)
    assert glued.interior_tasks == 82
    assert glued.interior_units < 60
    assert 0 < glued.bound_share <= 0.05
    assert "at most" in glued.contracted.steps[-1].reason


def test_links_and_latencies_decide():
    counts = [
        glued_model(prepared("inception_v3"), Link(gbit * 1e9 / 8, 20e-6)).interior_units
        for gbit in (10, 25, 100, 400, 10_000)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    late = glued_model(prepared("inception_v3"), Link(10_000e9 / 8, 1.0))
    assert late.interior_units == 0


def test_equal_sub_graphs_are_done_once_and_unequal_ones_twice():
    layer = [(0, 1, 5.0, "x"), (0, 2, 5.0, "x"), (1, 3, 2.0), (2, 3, 3.0)]
    edges = layer + [(u + 3, v + 3, *rest) for u, v, *rest in layer]
    for times, same in (([1, 2, 3, 1, 2, 3, 1], True), ([1, 2, 3, 1, 2, 3.1, 1], False)):
        tasks = task_graph(times, edges)
        one, two = coarsen_tasks(tasks, decompose(tasks.dag), Link(1e3, 0.0), np.ones(1))
        assert (one is two) == same


def test_rows_of_units_respect_the_groups():
    model = prepared("inception_v3")
    shape = max(
        configurations.shapes_of(model.tasks, model.decomposition.subgraphs, np.ones(1)), key=lambda s: s.m
    )
    slow = Link(5e9 / 8, 20e-6)
    c = coarsen(shape, slow)
    row = c.labels(range(1, len(c.units) + 1))
    assert c.respects(row)
    assert len(set(row)) == len(c.units) + 1
    apart = list(row)
    apart[c.group.tolist().index(0, 1) - 1] = 99  # a task that stays with the root
    assert not c.respects(apart)
    assert Candidates(shape, np.array([row]), slow).messages.load_s[0] > 0


def test_a_scenario_may_name_the_rule_and_keeps_its_tasks():
    """The rule says what stays together at given waits; it does not restrict the placement."""

    def study(rule):
        data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
        return prepare(scenario_from_mapping(data | {"contraction": rule}))

    aware, poset = study(NAME), study("poset")
    for one, other in zip(aware.models, poset.models, strict=True):
        assert one.contracted.tasks == other.contracted.tasks
    assert place(aware).objective_s == place(poset).objective_s


def bell(n):
    row = [1]
    for _ in range(n):
        row.append(sum(comb(len(row) - 1, k) * row[k] for k in range(len(row))))
    return row[n]


@pytest.mark.parametrize("m", range(7))
def test_counts_are_those_of_bell_numbers(m):
    assert len(list(configurations.set_partitions(m))) == bell(m)
    if m > 0:
        assert len(configurations.configuration_labels(m)) == bell(m + 2) - 2 * bell(m + 1)
        assert len(configurations.configuration_labels(m, root_free=True, sink_free=True)) == bell(m)


def every_configuration(interior, **choices):
    labels = configurations.configuration_labels(len(interior), **choices)
    return [configurations.to_configuration(row, interior) for row in labels.tolist()]


@pytest.mark.parametrize("m", range(6))
def test_configurations_are_distinct_complete_and_start_with_local(m):
    interior = tuple(range(10, 10 + m))
    found = every_configuration(interior)
    assert len(set(found)) == len(found)
    assert found[0].is_local
    assert sum(c.is_local for c in found) == 1
    for c in found:
        assert sorted(t for p in c.parts for t in p) == list(interior)
        assert list(c.parts) == sorted(c.parts)


def test_a_virtual_root_or_sink_leaves_no_choice_of_its_part():
    assert len(every_configuration((0, 1, 2), root_free=True, sink_free=True)) == 5
    assert len(every_configuration((0, 1), root_free=True)) == 3


@pytest.mark.parametrize("servers", [1, 2, 3])
def test_few_servers_limit_the_parts(servers):
    found = every_configuration((1, 2, 3, 4), servers=servers)
    everything = every_configuration((1, 2, 3, 4))
    assert set(found) == {c for c in everything if len(c.parts) <= servers}


@given(st.integers(0, 6).flatmap(lambda m: st.tuples(st.just(m), st.integers(0, 10**6))))
@examples(60)
def test_labels_and_configurations_round_trip(case):
    m, number = case
    labels = configurations.configuration_labels(m)
    row = labels[number % len(labels)].tolist()
    interior = tuple(range(m))
    again = configurations.to_labels(configurations.to_configuration(row, interior), interior)
    assert configurations.to_configuration(again, interior) == configurations.to_configuration(row, interior)
    assert again == row


def test_local_and_spread_are_told_apart():
    told = [Configuration(*c) for c in (((), -1, -1), (((1,),), 0, 0), (((1,),), -1, -1))]
    assert [c.is_local for c in told] == [True, True, False]
    assert [c.sink_moves for c in (told[1], Configuration(((1,), (2,)), 0, 1))] == [False, True]


@pytest.mark.parametrize(("counts", "number"), [((12,), 77), ((1,) * 5, 52), ((2, 2), 9), ((0,), 1)])
def test_multiset_partitions_are_counted_right(counts, number):
    found = list(multiset_partitions(counts))
    assert len(found) == len(set(found)) == number
    for split in found:
        assert tuple(sum(p[i] for p in split) for i in range(len(counts))) == counts
        assert list(split) == sorted(split, reverse=True)
    for most in (1, 2, 3):
        assert set(multiset_partitions(counts, most=most)) == {s for s in found if len(s) <= most}
