"""Pollux's search: legal solutions, ranks by definition, the best of all where all can be listed."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.training.elastic.pollux_search import (
    Effort,
    Jobs,
    cross,
    crowding,
    evolve,
    fronts,
    mutate,
    repair,
    survivors,
    value_of,
)

GPUS = 4


def _legal(state, most, avoid):
    assert (state >= 0).all()
    assert (state.sum(axis=0) <= GPUS).all()
    assert (state.sum(axis=1) <= most).all()
    if avoid:
        wide = (state > 0).sum(axis=1) > 1
        assert ((state[wide] > 0).sum(axis=0) <= 1).all()


@st.composite
def matrices(draw):
    jobs, nodes = draw(st.integers(1, 6)), draw(st.integers(1, 20))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    return rng.integers(0, GPUS + 1, (jobs, nodes)).astype(np.int8), rng


@examples(100)
@given(matrices(), st.booleans())
def test_repaired_solutions_are_legal_and_stay_so(drawn, avoid):
    state, rng = drawn
    most = rng.integers(1, 30, len(state))
    before = state.copy()
    repair(state, GPUS, most, avoid, rng)
    _legal(state, most, avoid)
    assert (state <= before).all()
    assert ((state > 0).sum(axis=1) <= 16).all()
    again = state.copy()
    repair(again, GPUS, most, avoid, rng)
    assert (again == state).all()


@examples(100)
@given(matrices())
def test_mutation_stays_within_nodes_and_crossover_keeps_rows(drawn):
    state, rng = drawn
    other = rng.integers(0, GPUS + 1, state.shape).astype(np.int8)
    first, second = state.copy(), other.copy()
    cross(first, second, rng)
    for j in range(len(state)):
        rows = {(first[j].tobytes(), second[j].tobytes()), (second[j].tobytes(), first[j].tobytes())}
        assert (state[j].tobytes(), other[j].tobytes()) in rows
    mutate(first, state, GPUS, rng)
    assert ((first >= 0) & (first <= GPUS)).all()


POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30)


@examples(100)
@given(POINTS)
def test_fronts_are_those_of_the_definition(points):
    values = np.array(points, float)
    worse = (values[None] >= values[:, None]).all(axis=2) & (values[None] > values[:, None]).any(axis=2)
    expected = np.zeros(len(values), int)
    for i in np.argsort(-values.sum(axis=1)):  # who dominates has the larger sum
        expected[i] = max((expected[k] + 1 for k in np.flatnonzero(worse[i])), default=0)
    assert fronts(values).tolist() == expected.tolist()  # the longest chain of who dominates whom


@examples(100)
@given(POINTS, st.integers(1, 30))
def test_survivors_are_of_the_first_fronts(points, count):
    values = np.array(points, float)
    front, kept = fronts(values), survivors(values, count)
    assert len(set(kept.tolist())) == min(count, len(values))
    left = np.setdiff1d(np.arange(len(values)), kept)
    if len(left):
        assert front[kept].max() <= front[left].min()


def test_crowding_by_hand():
    values = np.array([[0.0, 4.0], [1.0, 2.0], [4.0, 0.0]])
    assert crowding(values, fronts(values)).tolist() == [np.inf, 2.0, np.inf]


def _jobs(base, rng, most):
    jobs = len(base)
    table = np.zeros((jobs, 2, 2 * GPUS + 1))
    grow = np.sort(rng.random((jobs, 2 * GPUS)), axis=1)
    table[:, 0, 1:], table[:, 1, 1:] = grow, 0.9 * grow
    return Jobs(base, table, np.full(jobs, 0.8), np.full(jobs, most))


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_best_of_all_solutions(seed):
    rng = np.random.default_rng(seed)
    base = np.zeros((2, 2), np.int8)
    jobs = _jobs(base, rng, 5)
    best = 0.0
    for entries in itertools.product(range(GPUS + 1), repeat=4):
        state = np.array(entries, np.int8).reshape(2, 2)
        wide = ((state > 0).sum(axis=1) > 1)[:, None] & (state > 0)
        if (
            (state.sum(axis=0) <= GPUS).all()
            and (state.sum(axis=1) <= 5).all()
            and (wide.sum(axis=0) < 2).all()
        ):
            best = max(best, value_of(state, jobs, GPUS)[0])
    states, values = evolve(base[None], jobs, Effort(40, 40, GPUS, True), rng)
    assert values[:, 0].max() == pytest.approx(best)
    for state in states:
        _legal(state, 5, True)
    assert (fronts(values) == 0).all()


def test_equal_seeds_give_equal_fronts():
    base = np.zeros((3, 4), np.int8)
    jobs = _jobs(base, np.random.default_rng(0), 6)
    once, twice, other = (
        evolve(base[None], jobs, Effort(20, 20, GPUS, True), np.random.default_rng(seed))[0]
        for seed in (1, 1, 2)
    )
    assert once.tobytes() == twice.tobytes()
    assert once.tobytes() != other.tobytes()
