"""Shares of executor classes: loads, waits, search, bound; memory: weights fit where a model may run."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import query, random_system, system
from sizes import examples

from nona.core.errors import PlacementError
from nona.core.queueing import fifo_wait_s
from nona.queries.placement.capacity import (
    allowed_classes,
    default_shares,
    loads_of,
    replicas,
    resident_bytes,
)
from nona.queries.placement.enumeration import candidates
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.placement.prediction import as_model, predict
from nona.queries.placement.shares import SharesObjective, descend_shares, starting_shares
from nona.queries.placement.solve import solve
from nona.queries.placement.spans import COMPUTE, VISITS, longest_path, plan_of, spans
from nona.queries.system import BackgroundStream, QueryClass

ORDINARY = examples(25)


def shares_of(s, seed, spread=3.0):
    """Random shares near the uniform ones, so that the system stays stable."""
    return np.random.default_rng(seed).dirichlet(spread * s.class_weights * 4, len(s.queries))


def two_speeds(rate, slow=3.0, servers=6, background=0.0):
    """Single tasks, half of the servers ``slow`` times as slow."""
    q = query([0.01], [], rate, classes=(1.0, slow))
    stream = BackgroundStream(background / 0.004, 0.004, 1.0) if background else None
    return system(q, servers=servers, classes=2, compute=stream)


@ORDINARY
@given(st.integers(0, 10**6))
def test_shares_of_a_uniform_draw_change_nothing(seed):
    s = random_system(seed, classes=3, servers=9, load=0.4, network=0.2)
    for made in (local_placement, spread_placement):
        rows = made(s).queries
        # what the formulas for a uniform draw say
        work = sum(q.rate * q.tasks.compute_s.sum(axis=1) for q in s.queries) / s.executors
        as_usual, told = predict(s, rows), predict(s, rows, s.uniform_shares)
        for p in (as_usual, told):
            assert [c.utilization for c in p.classes] == pytest.approx(work, rel=1e-12)
            assert [p.mean_s, p.server_wait_s] == pytest.approx([told.mean_s, told.server_wait_s], rel=1e-12)


@ORDINARY
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_work_is_conserved(seed, other):
    background = BackgroundStream(20.0, 0.004, 1.0)
    s = random_system(seed, classes=2, servers=6, load=0.3, compute=background)
    shares = shares_of(s, other)
    own = [shares[j] @ q.tasks.compute_s.sum(axis=1) * q.rate for j, q in enumerate(s.queries)]
    loads = loads_of(s, allowed_classes(s))
    used = loads.utilization(shares)
    assert s.class_counts @ (used - 20.0 * 0.004) == pytest.approx(sum(own), rel=1e-12)
    if (used < 1).all():
        p = predict(s, local_placement(s).queries, shares)
        assert [c.utilization for c in p.classes] == pytest.approx(used, rel=1e-12)
        assert p.compute_utilization == pytest.approx(used @ s.class_weights, rel=1e-12)


def test_each_class_is_an_exact_single_server_queue():
    """Local jobs: what arrives at an executor of class k is Poisson of rate Σ λ_j s_jk/n_k."""
    a = query([0.01, 0.005], [(0, 1, 1.0)], 60.0, classes=(1.0, 2.5), service_scv=0.5)
    b = query([0.03], [], 20.0, classes=(1.0, 1.5))
    s = system(a, b, servers=6, classes=2, compute=BackgroundStream(5.0, 0.004, 1.0))
    shares = np.array([[0.7, 0.3], [0.2, 0.8]])
    p = predict(s, local_placement(s).queries, shares)
    waits = []
    for k, (x, y) in enumerate(((1.0, 1.0), (2.5, 1.5))):
        arrive = 60.0 * shares[0, k] / 3, 20.0 * shares[1, k] / 3
        rho = 5.0 * 0.004 + arrive[0] * 0.015 * x + arrive[1] * 0.03 * y
        moment = 5.0 * 2 * 0.004**2 + arrive[1] * (0.03 * y) ** 2
        moment += arrive[0] * x**2 * (0.015**2 + 0.5 * (0.01**2 + 0.005**2))
        waits.append(fifo_wait_s(rho, moment))
        assert p.classes[k].utilization == pytest.approx(rho)
        assert p.classes[k].wait_s == pytest.approx(waits[-1])
    times = (shares * (np.array(waits) + np.array([[0.015, 0.0375], [0.03, 0.045]]))).sum(axis=1)
    assert [q.jct_s for q in p.queries] == pytest.approx(times)
    assert p.server_wait_s == pytest.approx((60.0 * shares[0] + 20.0 * shares[1]) @ waits / 80.0)


@ORDINARY
@given(st.integers(0, 10**6))
def test_the_objective_over_shares_is_the_prediction_and_its_gradient_that_of_differences(seed):
    s = random_system(seed, classes=3, servers=9, load=0.35, network=0.2, width=4)
    shares = shares_of(s, seed, 6.0)
    if loads_of(s, allowed_classes(s)).utilization(shares).max() > 0.9:
        return
    for made in (local_placement, spread_placement):
        rows = made(s).queries
        predicted = predict(s, rows, shares)
        objective = SharesObjective.linearised(s, rows, shares, predicted.network_wait_s)
        value, slope = objective.value_and_gradient(shares)
        assert value == pytest.approx(predicted.mean_s, rel=1e-10)
        for j, k in np.ndindex(*shares.shape):
            step = np.zeros(shares.shape)
            step[j, k] = 1e-6
            up, down = (objective.value_and_gradient(shares + sign * step)[0] for sign in (1, -1))
            assert slope[j, k] == pytest.approx((up - down) / 2e-6, rel=2e-4, abs=1e-9)


@ORDINARY
@given(st.integers(0, 10**6), st.floats(0, 0.01), st.floats(0, 0.02))
def test_the_longest_path_is_that_of_the_span(seed, link_wait, visit_s):
    s = random_system(seed, classes=2, servers=8, width=4)
    model, _ = as_model(s, spread_placement(s).queries)
    for row in model.candidates:
        for c in (candidates(c.shape, c.link, 8) for c in row):
            for at in range(0, len(c), max(1, len(c) // 10)):
                (span,), terms = spans(c, link_wait, visit_s, np.array([at]))
                seconds = c.shape.mean_s.tolist()
                path = longest_path(plan_of(c, at), seconds, link_wait, visit_s)
                assert path.value_s == span
                compute = sum(seconds[t] for t in path.tasks)
                assert compute == pytest.approx(terms[COMPUTE, 0], rel=1e-12, abs=1e-15)
                assert path.visits == terms[VISITS, 0]


@pytest.mark.parametrize(
    ("rate", "slow"), [(30.0, 3.0), (150.0, 3.0), (250.0, 2.0), (310.0, 4.0), (60.0, 20.0)]
)
def test_one_model_on_two_classes_against_every_share(rate, slow):
    """M/D/1 queues: the mean time as a function of the one free share, on a fine grid."""
    s = two_speeds(rate, slow, background=0.1)
    found = solve(s)

    def mean_s(share):
        total = 0.0
        for part, time_s in ((share, 0.01), (1 - share, 0.01 * slow)):
            arrive = rate * part / 3
            rho = 0.1 + arrive * time_s
            wait = fifo_wait_s(rho, 0.1 / 0.004 * 2 * 0.004**2 + arrive * time_s**2)
            total += part * (wait + time_s) if part > 0 else 0.0
        return total

    best = min(mean_s(x) for x in np.linspace(0, 1, 4001))
    assert best * (1 - 1e-5) <= found.objective_s <= best * (1 + 1e-6)
    if rate < 100:
        assert found.class_shares[0, 0] == pytest.approx(1.0)


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(2))
def test_two_models_on_two_classes_against_a_grid_of_solved_placements(seed):
    """Configurations and shares together: no pair of shares of the grid solves to less."""
    s = random_system(seed, classes=2, servers=6, load=0.45, network=0.3, capacity=3000.0)
    found = solve(s)
    loads = loads_of(s, allowed_classes(s))
    tried = 0
    for a in np.linspace(0, 1, 4):
        for b in np.linspace(0, 1, 4):
            shares = np.array([[a, 1 - a], [b, 1 - b]])
            if loads.utilization(shares).max() < 0.99:
                at = solve(s, shares=shares, gap=1e-4).objective_s
                tried += 1
                assert found.objective_s <= at * (1 + 1e-4)
    assert tried >= 2


@ORDINARY
@given(st.integers(0, 10**6), st.floats(0.1, 0.8))
def test_descent_never_makes_worse_and_stays_stable(seed, load):
    s = random_system(seed, classes=3, servers=9, load=load)
    loads = loads_of(s, allowed_classes(s))
    peak, balanced = loads.least_peak()
    if peak >= 1:
        return
    assert loads.utilization(balanced).max() == pytest.approx(peak)
    rows = local_placement(s, balanced).queries
    objective = SharesObjective.linearised(s, rows, balanced, 0.0)
    for start in starting_shares(s, loads):
        value, shares = descend_shares(objective, loads, start)
        assert value <= objective.value_and_gradient(start)[0] * (1 + 1e-12)
        assert shares.sum(axis=1) == pytest.approx(1.0)
        assert shares.min() >= 0
        assert loads.utilization(shares).max() < 1


def test_where_executors_are_alike_there_is_nothing_to_search(monkeypatch):
    def refused(*_):
        raise AssertionError("searched")

    monkeypatch.setattr("nona.queries.placement.shares.search_shares", refused)
    found = solve(random_system(3))
    assert found.class_shares is None
    assert len(found.prediction.classes) == 1


def test_shares_gain_where_classes_differ_and_none_where_only_names_do():
    unlike = two_speeds(120.0)
    gained = solve(unlike), solve(unlike, shares="uniform")
    assert gained[0].objective_s < 0.8 * gained[1].objective_s
    alike = two_speeds(200.0, slow=1.0)
    assert solve(alike).objective_s == pytest.approx(solve(alike, shares="uniform").objective_s, rel=1e-9)


def test_given_shares_are_checked_and_used():
    s = two_speeds(50.0)
    found = solve(s, shares=np.array([[0.25, 0.75]]))
    assert found.class_shares.tolist() == [[0.25, 0.75]]
    assert found.prediction.jct_s == pytest.approx(predict(s, found.queries, found.class_shares).jct_s)
    for bad in (np.array([[0.5, 0.6]]), np.array([[1.5, -0.5]]), np.array([0.5, 0.5])):
        with pytest.raises(PlacementError, match="probabilities that add up to 1"):
            solve(s, shares=bad)
    with pytest.raises(PlacementError, match="'optimal', 'uniform' or numbers"):
        solve(s, shares="best")


def test_models_that_never_arrive_are_placed_too():
    s = two_speeds(50.0)
    idle = QueryClass("idle", s.queries[0].tasks, s.queries[0].decomposition, 0.0)
    found = solve(replace(s, queries=(*s.queries, idle)))
    assert found.class_shares.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert np.isfinite(found.prediction.queries[1].jct_s)


GB = 1e9


def models(sizes, memory, rates=None):
    """Single-task models of these weights on classes of this memory, two servers each, equally quick."""
    rates = rates or [10.0] * len(sizes)
    alike = [[1.0] * len(memory)] * len(sizes)
    return models_of([0.002 * (j + 1) for j in range(len(sizes))], sizes, memory, rates, alike)


def models_of(times_s, sizes, memory, rates, factors):
    made = []
    for j, row in enumerate(zip(times_s, sizes, rates, factors, strict=True)):
        time_s, size, rate, classes = row
        made.append(replace(query([time_s], [], rate, classes), name=f"m{j}", weight_bytes=size))
    s = system(*made, servers=2 * len(memory), classes=len(memory))
    return replace(s, class_memory_bytes=np.array(memory))


def test_a_model_that_is_too_large_for_a_class_stays_off_it_and_where_all_fits_nothing_is_restricted():
    fits = models([1 * GB, 2 * GB], [3 * GB, 40 * GB])
    assert default_shares(fits) is None
    assert all(allowed_classes(s).all() for s in (fits, replace(fits, class_memory_bytes=None)))
    s = models([1 * GB, 8 * GB], [5 * GB, 16 * GB])
    assert allowed_classes(s).tolist() == [[True, True], [False, True]]
    assert default_shares(s) == pytest.approx(np.array([[0.5, 0.5], [0.0, 1.0]]))
    found = solve(s)
    assert found.class_shares[1, 0] == 0.0
    assert any("m1" in n and "class0" in n for n in found.notes)
    with pytest.raises(PlacementError, match=r"'m1'.*'class0'.*weights"):
        solve(s, shares=np.array([[0.5, 0.5], [0.5, 0.5]]))


@pytest.mark.parametrize(
    ("sizes", "memory", "words"),
    [
        ([1 * GB, 50 * GB], [5 * GB, 40 * GB], ("'m1'", "50 GB", "40 GB", "class1", "larger GPU")),
        ([6 * GB, 6 * GB, 6 * GB], [7 * GB, 8 * GB], ("'m", "6 GB", "18 GB", "8 GB", "fewer models")),
    ],
)
def test_what_does_not_fit_is_one_line_with_numbers_and_a_remedy(sizes, memory, words):
    with pytest.raises(PlacementError) as error:
        solve(models(sizes, memory))
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words), error.value


def test_models_that_do_not_fit_together_are_dealt_out_by_load():
    """Two classes hold two of three models each: the busiest model gets both, alone with one other."""
    s = models([4 * GB, 4 * GB, 4 * GB], [8 * GB, 8 * GB], rates=[600.0, 50.0, 50.0])
    allowed = allowed_classes(s)
    assert allowed[0].tolist() == [True, True]
    assert allowed[1:].sum() == 2
    assert loads_of(s, allowed).least_peak()[0] == pytest.approx(
        (600 * 0.002 + 50 * 0.004 + 50 * 0.006) / 4, rel=1e-6
    )


@examples(40)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.lists(st.integers(3, 20), min_size=1, max_size=3),
    st.integers(0, 10**6),
)
def test_the_choice_is_the_best_of_all_choices(sizes, memory, seed):
    rates = np.random.default_rng(seed).uniform(1, 120, len(sizes)).tolist()
    s = models([float(x) for x in sizes], [float(x) for x in memory], rates)
    best = np.inf
    for flat in itertools.product([False, True], repeat=len(sizes) * len(memory)):
        mask = np.array(flat).reshape(len(sizes), len(memory))
        if mask.any(axis=1).all() and (np.array(sizes) @ mask <= memory).all():
            # not allowing more than needed never helps: keep only the masks that nothing can be added to
            room = memory - np.array(sizes) @ mask
            if any(not mask[m, k] and sizes[m] <= room[k] for m, k in np.ndindex(*mask.shape)):
                continue
            best = min(best, loads_of(s, mask).least_peak()[0])
    if not np.isfinite(best):
        with pytest.raises(PlacementError, match="take a larger GPU"):
            allowed_classes(s)
        return
    allowed = allowed_classes(s)
    assert (resident_bytes(s, allowed).sum(axis=0) <= np.array(memory) * (1 + 1e-9)).all()
    assert loads_of(s, allowed).least_peak()[0] == pytest.approx(best, abs=1e-6)


@examples(25)
@given(
    st.lists(st.floats(0.5, 9), min_size=1, max_size=4),
    st.lists(st.floats(2, 20), min_size=1, max_size=3),
    st.floats(0.05, 1.5),
    st.integers(0, 10**6),
)
def test_no_share_where_it_does_not_fit_and_every_class_is_stable(sizes, memory, load, seed):
    rng = np.random.default_rng(seed)
    speeds = rng.uniform(0.5, 3, (len(sizes), len(memory)))
    rates = [load * 2 * len(memory) / len(sizes) / 0.002] * len(sizes)
    s = models_of([0.002] * len(sizes), sizes, memory, rates, speeds.tolist())
    try:
        found = solve(s)
    except PlacementError:
        return
    shares = s.uniform_shares if found.class_shares is None else found.class_shares
    assert shares.sum(axis=1) == pytest.approx(1.0)
    for k, room in enumerate(memory):
        held = [size for j, size in enumerate(sizes) if shares[j, k] > 0]
        assert sum(held) <= room * (1 + 1e-9)
    assert all(0 <= c.utilization < 1 for c in found.prediction.classes)


def test_rows_of_one_model_share_its_weights():
    s = models([4 * GB, 4 * GB], [5 * GB])
    with pytest.raises(PlacementError, match=r"'m1'.*8 GB in all"):
        allowed_classes(s)
    shared = replace(s, queries=tuple(replace(q, replica="resnet") for q in s.queries))
    assert allowed_classes(shared).all()
    assert [r.queries for r in replicas(shared)] == [(0, 1)]


def test_many_models_are_dealt_out_by_a_search():
    sizes = [float(x) for x in np.random.default_rng(5).integers(1, 6, 15)]
    s = models(sizes, [18.0, 22.0, 25.0])
    allowed = allowed_classes(s)
    assert allowed.any(axis=1).all()
    assert (resident_bytes(s, allowed).sum(axis=0) <= [18, 22, 25]).all()
    assert loads_of(s, allowed).least_peak()[0] < 1
