"""Playback and summary: every state from the first to the last, in any order."""

import random
from dataclasses import replace

import pytest
from contraction_cases import deep_arcs, graphs, model
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.contraction.contracted import Playback, summarize_contraction
from nona.contraction.rules import RULES, contract, contract_by
from nona.errors import GraphError


@pytest.mark.parametrize("rule", RULES)
@examples(60)
@given(graph=graphs, seed=st.integers(0, 10**6))
def test_states_follow_the_steps(rule, graph, seed):
    rng = random.Random(seed)
    done = contract_by(graph, RULES[rule], [rng.random() for _ in graph.operators])
    film = Playback(done)
    place = graph.index
    tasks = {o: [o] for o in place}
    states = []
    for k in range(len(film) + 1):
        states.append({t: tuple(ops) for t, ops in tasks.items()})
        if k < len(film):
            step = done.steps[k]
            view = film.view(k)
            assert (view.step, view.source_operators, view.target_operators) == (
                step,
                tuple(tasks[step.source]),
                tuple(tasks[step.target]),
            )
            both = sorted(tasks.pop(step.source) + tasks.pop(step.target), key=place.__getitem__)
            tasks[step.into] = both
    for k in rng.sample(range(len(states)), len(states)):
        state = film.state(k)
        assert {t.id: t.operators for t in state.tasks} == states[k]
        assert state.steps == done.steps[:k]
        assert all(state.index[e.source] < state.index[e.target] for e in state.edges)
    assert film.state(len(film)) == done


def test_states_that_do_not_exist():
    film = Playback(contract(model(3, [(0, 1), (1, 2)])))
    for k in (-1, 3):
        with pytest.raises(GraphError, match=f"no state {k}; give a number from 0 to 2"):
            film.state(k)
    for k in (-1, 2):
        with pytest.raises(GraphError, match=f"no step {k}; it has 2"):
            film.view(k)


@pytest.mark.parametrize("change", [{"into": "o2"}, {"source": "nobody"}, {"target": "o0"}])
def test_steps_that_do_not_fit(change):
    done = contract(model(3, [(0, 1), (1, 2)]))
    steps = (replace(done.steps[0], **change), *done.steps[1:])
    with pytest.raises(GraphError, match=r"step 0: .* do not merge into .* contract the graph again"):
        Playback(replace(done, steps=steps))


@examples(60)
@given(graph=graphs)
def test_summary_counts(graph):
    done = contract(graph)
    summary = summarize_contraction(done)
    assert summary.operators - sum(summary.steps_by_rule.values()) == summary.tasks == len(done.tasks)
    assert summary.edges_after == sum(len(s) for s in done.dag.successors)
    assert summary.edges_before == sum(len(s) for s in graph.dag.successors)
    between = {(done.task_of[e.source], e.source, e.tensor): e.size_bytes for e in graph.edges}
    kept = {(e.source, e.tensor): e.size_bytes for e in done.edges}
    assert summary.bytes_before == sum(between.values())
    assert summary.bytes_after == sum(kept.values())
    assert summary.single == len([t for t in done.tasks if len(t.operators) == 1])
    assert len(summary.largest[0].operators) == max(len(t.operators) for t in done.tasks)


def test_summary_in_words():
    chain = summarize_contraction(contract(model(4, [(0, 1), (1, 2), (2, 3)])))
    assert chain.text == "4 operators became 1 task in 3 steps (3 by the direct rule)."
    assert (chain.bytes_before, chain.bytes_after) == (24.0, 0.0)
    diamond = summarize_contraction(contract(model(4, [(0, 1), (0, 2), (1, 3), (2, 3)])))
    assert diamond.text == "Nothing was merged: each of the 4 operators is a task."
    deep = summarize_contraction(contract(model(60, deep_arcs(60, 3))))
    assert len(deep.largest) <= 10
