"""The model of a placement: objective, gradients and waits against second statements of them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from other_solvers import solve_exhaustive, solve_slsqp
from placement_helpers import query, random_query, random_system, system
from scipy.optimize import linprog
from sizes import examples, first

from nona.cluster.topology import NONE, Topology, make_topology
from nona.core.errors import PlacementError
from nona.queries.placement.configurations import server_slots
from nona.queries.placement.enumeration import candidates
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.placement.link_routes import ServerDraws, crossings, draws_of, link_of, route_of
from nona.queries.placement.link_waits import LinkTraffic, WaitCurves, roles_of, wait_per_byte
from nona.queries.placement.messages import PlacementLink, ShapeCandidates
from nona.queries.placement.model import PlacementModel, build_model, gradient, objective_s, value_at
from nona.queries.placement.prediction import congestion_price, prediction_of
from nona.queries.placement.solve import solve
from nona.queries.placement.solver.inner_program import TwoRowDual, solve_two_rows
from nona.queries.placement.solver.parametric import solve_parametric
from nona.queries.placement.solver.problem import build_problem, groups_of
from nona.queries.system import BackgroundStream


def model_of(s, shares=None):
    """Where there are several links, larger interiors are not listed in full."""
    most = () if s.topology is None else (6,)
    return build_model(s, lambda shape, link: candidates(shape, link, server_slots(s), *most), shares)


def spread_model(s):
    model = model_of(s)
    return model, [[np.full(len(c), 1 / len(c)) for c in row] for row in model.candidates]


def random_x(model, seed, local=0.6):
    rng = np.random.default_rng(seed)
    return [
        [local * c.local + (1 - local) * rng.dirichlet(np.full(len(c), 0.3)) for c in row]
        for row in model.candidates
    ]


@pytest.mark.parametrize(("fixed", "shared"), [(True, False), (False, False), (False, True)])
@pytest.mark.parametrize("network", ["fifo", "processor-sharing", "several links"])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_equals_finite_differences(seed, network, fixed, shared):
    several = network == "several links"
    plain = {"discipline": "fifo" if several else network, "classes": 2, "capacity": 2000.0, "network": 0.2}
    s = random_system(seed, **plain)
    if several:
        s = loaded(random_system(seed), core=0.5, card=0.3, uplink=0.5)
    rng = np.random.default_rng(seed)
    model = model_of(s, rng.dirichlet(np.full(len(s.class_names), 9.0), len(s.queries)) if shared else None)
    x = random_x(model, seed)
    held = model.server_wait_s(x) if fixed else None
    slope = gradient(model, value_at(model, x, held, every=True), x, server_wait_fixed=fixed)
    for j, row in enumerate(x):
        for k, p in enumerate(row):
            to, ends = rng.dirichlet(np.ones(len(p))), []
            for step in (1e-6, -1e-6):
                moved = [list(r) for r in x]
                moved[j][k] = p + step * (to - p)
                ends.append(objective_s(model, value_at(model, moved, held)))
            difference = (ends[0] - ends[1]) / 2e-6
            assert slope[j][k] @ (to - p) == pytest.approx(difference, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
@pytest.mark.parametrize("seed", range(3))
def test_the_problem_has_the_value_of_the_objective(seed, discipline):
    """The solver's arrays and the independent evaluation agree at constant server wait."""
    s = random_system(seed, network=0.1, discipline=discipline)
    model = model_of(s)
    problem = build_problem(model, groups_of(model), 0.0)
    groups = groups_of(model)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        z = rng.exponential(size=len(problem.a0)) ** 3
        z[problem.start[:-1]] += 5.0
        z /= np.bincount(problem.group, weights=z)[problem.group]
        x = [[np.zeros(len(c)) for c in row] for row in model.candidates]
        for g, group in enumerate(groups):
            for column in range(problem.start[g], problem.start[g + 1]):
                for k in group.members:
                    x[group.query][k][problem.column[column]] = z[column]
        assert problem.value(z) == pytest.approx(objective_s(model, value_at(model, x, 0.0)), rel=1e-9)


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_prediction_adds_up(discipline):
    s = random_system(2, network=0.3, discipline=discipline, latency_s=1e-3)
    model = model_of(s)
    value = value_at(model, random_x(model, 1))
    found = prediction_of(model, value)
    for q, t in zip(found.queries, value.jct_s, strict=True):
        assert q.compute_s + q.transfer_s + q.network_wait_s + q.server_wait_s == pytest.approx(q.jct_s)
        assert q.jct_s == pytest.approx(t)
        assert min(q.compute_s, q.transfer_s, q.network_wait_s, q.server_wait_s) > 0
    rates = np.array([q.rate for q in s.queries])
    assert found.jct_s == pytest.approx(float(rates @ [q.jct_s for q in found.queries]) / rates.sum())


@pytest.mark.parametrize("discipline", ["fifo", "processor-sharing"])
def test_congestion_price_is_the_effect_of_a_little_more_traffic(discipline):
    """All streams of the link grow alike: the mean JCT times the rate changes by the price per byte."""
    s = random_system(4, network=0.3, discipline=discipline)
    model = model_of(s)
    value = value_at(model, random_x(model, 4))
    rho, moment = value.link_utilization, value.link_moment
    coefficient = float(model.weights @ value.terms[:, 2])
    extra = 1e-6  # bytes per second
    grown = 1 + extra / (rho * s.capacity)
    more = model.link_wait(rho * grown, moment * grown) - value.link_wait
    assert congestion_price(model, value) == pytest.approx(
        s.total_rate * coefficient * more / extra, rel=1e-4
    )


def sink_runs_on(c, i, busy):
    """Told task by task: does the root's part end after all outputs are back, and is nobody in the way?"""
    labels, edges = c.labels[i], range(len(c.shape.source))
    if (labels == 0).all():
        return 1.0
    if labels[-1] != 0 or not (labels[:-1] == 0).any():
        return 0.0
    end, server = [0.0] * (c.shape.m + 2), [0, *labels.tolist()]
    free = dict.fromkeys(server, 0.0)
    for v in range(1, c.shape.m + 2):
        into = [e for e in edges if c.shape.target[e] == v]
        end[v] = max(end[c.shape.source[e]] + c.messages.through_s[e, i] for e in into)
        if v <= c.shape.m:
            end[v] = free[server[v]] = max(end[v], free[server[v]]) + c.shape.mean_s[v - 1]
    return (1.0 - busy) ** len(set(server) - {0}) if end[-1] <= free[0] else 0.0


def explicit_squares(cut_s, choices, on, scv):
    """Σ of squared visits of one job whose sub-graphs have these (labels, interior times): antichains.

    ``on`` says where the sink runs on after the work on the root's server.
    """
    visits, run = [], [cut_s[0]]
    for k, (labels, times) in enumerate(choices):
        run += [t for t, label in zip(times, labels, strict=False) if label == 0]
        servers = set(labels[:-1].tolist()) - {0}
        visits += [[t for t, label in zip(times, labels, strict=False) if label == s] for s in servers]
        if not on[k]:
            visits.append(run)
            run = []
        run.append(cut_s[k + 1])
    visits.append(run)
    return sum(sum(v) ** 2 + scv * sum(t * t for t in v) for v in visits)


@pytest.mark.parametrize("scv", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_run_lengths_are_the_mean_over_all_sequences(seed, scv):
    q = random_query(np.random.default_rng(seed), 1.0, diamonds=3, width=2, service_scv=scv)
    model = model_of(system(q))
    x = random_x(model, seed, 0.0)
    row = model.candidates[0]
    expected = 0.0
    for combination in itertools.product(*(range(len(c)) for c in row)):
        probability = float(np.prod([p[i] for p, i in zip(x[0], combination, strict=True)]))
        chosen = list(zip(row, combination, strict=True))
        choices = [(c.labels[i], c.shape.class_s[0]) for c, i in chosen]
        chance = [sink_runs_on(c, i, float(model.busy[0])) for c, i in chosen]
        for on in itertools.product((False, True), repeat=len(row)):
            outcome = float(np.prod([r if go else 1.0 - r for r, go in zip(chance, on, strict=True)]))
            expected += probability * outcome * explicit_squares(model.cut_s[0], choices, on, scv)
    assert model.servers.chains[0][0].squares(x[0]) == pytest.approx(expected, rel=1e-12)


def drawn_topology(rng):
    """Racks of unequal size; some servers without a card, some racks without an uplink, mixed speeds."""
    servers = int(rng.integers(3, 8))
    rack = np.sort(rng.integers(0, 3, servers))
    names, speeds = ["core"], [float(rng.uniform(1, 9))]

    def link(name):
        names.append(name)
        speeds.append(float(rng.uniform(1, 9)))
        return len(names) - 1

    cards = rng.random(2) < 0.8  # one direction may be missing everywhere, not both
    cards[int(rng.integers(2))] = True
    up = {r: link(f"rack {r} up") if rng.random() < 0.8 else NONE for r in set(rack.tolist())}
    down = {r: link(f"rack {r} down") if rng.random() < 0.8 else NONE for r in set(rack.tolist())}
    return Topology(
        out_link=np.array([link(f"{s} out") if cards[0] else NONE for s in range(servers)], dtype=np.int64),
        in_link=np.array([link(f"{s} in") if cards[1] else NONE for s in range(servers)], dtype=np.int64),
        up_link=np.array([up[r] for r in rack.tolist()], dtype=np.int64),
        down_link=np.array([down[r] for r in rack.tolist()], dtype=np.int64),
        rack=rack.astype(np.int64),
        core=0,
        link_names=tuple(names),
        link_capacity=np.array(speeds),
    )


def pairs_of(p):
    """Probability of every source and destination: half of the messages run the other way."""
    n = range(len(p))
    ahead = {(s, d): p[s] * p[d] / (1 - p[s]) for s in n for d in n if s != d}
    return {(s, d): 0.5 * (ahead[s, d] + ahead[d, s]) for s, d in ahead}


@pytest.mark.parametrize("seed", range(12))
def test_crossing_probabilities_are_those_of_all_pairs_of_servers(seed):
    rng = np.random.default_rng(seed)
    t = drawn_topology(rng)
    p = rng.dirichlet(np.full(t.servers, 5.0)) if seed % 2 else np.full(t.servers, 1 / t.servers)
    found, pairs = crossings(t, p), pairs_of(p)
    share, both = np.zeros(t.links), np.zeros(t.links)
    source = np.zeros(t.servers)
    for (s, d), chance in pairs.items():
        source[s] += chance
        for link in t.path(s, d):
            share[link] += chance
    for s, d1, d2 in itertools.permutations(range(t.servers), 3):
        chance = source[s] * p[d1] / (1 - p[s]) * p[d2] / (1 - p[s] - p[d1])
        for link in set(t.path(s, d1)) & set(t.path(s, d2)):
            both[link] += chance
    np.testing.assert_allclose(found.share, share, atol=1e-12)
    np.testing.assert_allclose(found.both, both, atol=1e-12)
    own = sum(c / min(t.link_capacity[list(t.path(s, d))]) for (s, d), c in pairs.items() if t.path(s, d))
    assert route_of(t, p).own == pytest.approx(own)
    assert route_of(t, p).queued <= own * (1 + 1e-12)


def networked(s, **more):
    sizes = {"nic": 400.0, "rack_size": 3, "uplink": 700.0} | more
    return replace(s, topology=make_topology(s.servers, s.capacity, **sizes))


def test_all_bytes_cross_the_links_that_they_must():
    """Conservation: what the links of all roles carry is what the messages bring, link by link of a path."""
    s = networked(random_system(3, load=0.3, servers=7))
    model, x = spread_model(s)
    sent = model.traffic(x).load * s.capacity  # bytes/s of all messages
    roles = {r.kind: [q for q in model.roles if q.kind == r.kind] for r in model.roles}
    # of 7 servers in racks of 3, 3 and 1, 6 + 6 of the 42 pairs share a rack
    for kind, share in (dict.fromkeys(roles, 30 / 42) | {"server out": 1.0, "server in": 1.0}).items():
        carried = sum(
            q.links * q.capacity * (q.utilization(model.traffic(x).load) - q.background_utilization)
            for q in roles[kind]
        )
        assert carried == pytest.approx(share * sent)
    # the rack of one server is a role of its own
    assert [(r.name, r.links) for r in roles["rack up"]] == [("rack 0 up and 1 like it", 2), ("rack 2 up", 1)]


def test_a_topology_of_one_link_is_the_one_link():
    s = random_system(1, network=0.3)
    plain = PlacementModel(s, model_of(s).candidates)
    alone = replace(s, topology=make_topology(s.servers, s.capacity))
    assert link_of(alone) == link_of(s) == PlacementLink(s.capacity, s.latency_s)
    assert PlacementModel(alone, plain.candidates).roles == ()


def test_cards_that_never_queue_leave_the_core_of_the_one_link():
    """Fast cards and uplinks, as many racks as servers: every message crosses the core, in batches."""
    s = random_system(5, network=0.3)
    fast = networked(s, nic=1e9, rack_size=1, uplink=1e9)
    model, x = spread_model(s)
    several, y = spread_model(fast)
    one, many = value_at(model, x), value_at(several, y)
    assert many.link_wait == pytest.approx(one.link_wait, rel=1e-5)
    assert many.link_utilization == pytest.approx(one.link_utilization)
    np.testing.assert_allclose(many.jct_s, one.jct_s, rtol=1e-5)
    p, q = prediction_of(model, one), prediction_of(several, many)
    assert q.congestion_price_s_per_byte == pytest.approx(p.congestion_price_s_per_byte, rel=1e-4)
    assert [link.kind for link in p.links] == ["link"]
    (core,) = (link for link in q.links if link.kind == "core")
    assert core.wait_s == pytest.approx(p.network_wait_s, rel=1e-5)


def test_the_mean_wait_is_that_of_the_roles_and_the_curve():
    s = networked(random_system(2, network=0.2, servers=7))
    model, x = spread_model(s)
    value = value_at(model, x)
    predicted = prediction_of(model, value)
    assert sum(w.share * w.wait_s for w in predicted.links) == pytest.approx(value.link_wait)
    assert predicted.network_utilization == max(w.utilization for w in predicted.links)


def test_a_link_with_exponential_background_alone_is_an_m_m_1_queue():
    one = query([0.0, 0.0, 0.0, 0.0], [(0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0)], 1e-9)
    s = networked(system(one, network=BackgroundStream(100.0, 4.0, 1.0)))
    model, x = spread_model(s)
    for w in prediction_of(model, value_at(model, x)).links:
        size = 4.0 / w.capacity
        assert w.utilization == pytest.approx(0.4)
        assert w.wait_s == pytest.approx(0.4 * size / 0.6, rel=1e-6)


@given(seed=st.integers(0, 10_000), load=st.floats(0.0, 0.9), more=st.floats(0.0, 0.09))
@examples(40)
def test_curves_are_convex_increasing_and_end_where_a_role_is_full(seed, load, more):
    rng = np.random.default_rng(seed)
    s = random_system(1, servers=6, network=float(rng.uniform(0, 0.8)), capacity=1.0)
    t = make_topology(6, 1.0, *rng.uniform(0.05, 2.0, 1), rack_size=4, uplink=float(rng.uniform(0.1, 3)))
    roles = roles_of(replace(s, topology=t))
    curve = WaitCurves.from_roles(roles)
    a, b = load * curve.full_load, min(load + more, 0.99) * curve.full_load
    for low, middle, high in zip(
        curve.coefficients(a), curve.coefficients((a + b) / 2), curve.coefficients(b), strict=True
    ):
        assert low <= middle * (1 + 1e-12) <= high * (1 + 1e-12) + 1e-300
        assert 2 * middle <= (low + high) * (1 + 1e-9)
    for start, slope, end in zip(curve.coefficients(a), curve.slopes(a), curve.coefficients(b), strict=True):
        assert start + slope * (b - a) <= end * (1 + 1e-9) + 1e-300
    assert curve.wait(curve.full_load * 1.0001, 0.0, 0.0) == np.inf
    traffic = LinkTraffic(a, 0.3 * a, 0.5 * a)
    wait = curve.wait(a, 0.3 * a, 0.2 * a)
    assert sum(r.share * r.wait_s(traffic) for r in roles) == pytest.approx(wait, rel=1e-9)


def test_price_of_a_byte_is_what_a_little_more_traffic_costs():
    """All traffic grows at every link as if one byte per second more of the same mix crossed the paths."""
    s = networked(random_system(4, network=0.3, servers=7))
    model, x = spread_model(s)
    traffic = model.traffic(x)
    step, total = 1e-6 * s.capacity, 0.0
    for r in model.roles:
        rho, moment = r.utilization(traffic.load), r.moment_s(traffic)
        grown = rho + r.each * step / r.capacity
        wait = moment * grown / rho / (2 * (1 - grown))
        total += r.share * (wait - r.wait_s(traffic)) / step
    assert wait_per_byte(model.roles, traffic) == pytest.approx(total, rel=1e-4)


def test_bundles_and_batches():
    """Two tensors to one server, one of them also to another: a bundle of both, a batch of all three."""
    edges = [(0, 1, 3.0, "a"), (0, 1, 2.0, "b"), (0, 2, 3.0, "a"), (1, 3, 1.0), (2, 3, 1.0)]
    q = query([0.0, 1.0, 1.0, 0.0], edges, 1.0)
    s = networked(system(q, capacity=1.0), nic=1.0, uplink=1.0)
    model = build_model(s, lambda shape, link: ShapeCandidates(shape, np.array([[1, 2, 0]]), link))
    m = model.candidates[0][0].messages
    assert m.load_s.tolist() == [10.0]
    assert m.square_s2.tolist() == [64.0 + 1 + 1]
    assert m.bundle_s2.tolist() == [25.0 + 9.0 + 1 + 1]


def test_draws_follow_the_shares_of_the_executor_classes():
    s = random_system(0, classes=2, servers=4)
    assert draws_of(s).tolist() == [0.25] * 4
    only = draws_of(s, np.array([[1.0, 0.0]] * len(s.queries)))
    assert only.tolist() == [0.5, 0.0, 0.5, 0.0]
    one_server = replace(s, executor_class=np.array([0, 1, 1, 1]))
    assert draws_of(one_server, np.array([[1.0, 0.0]] * len(s.queries))).tolist() == [0.25] * 4
    draws = ServerDraws.from_shares(
        np.array([1.0, 0.0]), np.array([0, 1])
    )  # no message leaves a server that has all
    assert not draws.source.any()
    assert not draws.near.any()


DIAMOND = [(0, 1, 3.0), (0, 2, 1.0), (1, 3, 3.0), (2, 3, 1.0)]


def loaded(s, core, card, uplink, background=0.2, size=0.05):
    """``s`` with links that its traffic loads by these shares when everything is spread out.

    Racks of four; the background's messages are ``size`` times the mean of a query's.
    """
    probe = replace(s, topology=make_topology(s.servers, s.capacity, nic=1.0, rack_size=4, uplink=1.0))
    model = model_of(probe)
    away = [[np.eye(1, len(c), len(c) - 1)[0] for c in row] for row in model.candidates]
    sent = model.traffic(away).load * s.capacity
    speed = {r.kind: r.each * sent / want for r, want in zip(model.roles, (card, uplink, core), strict=False)}
    topology = make_topology(
        s.servers, speed["core"], nic=speed["server out"], rack_size=4, uplink=speed["rack up"]
    )
    mean = size * sent / max(sum(q.rate for q in s.queries), 1e-9)
    stream = BackgroundStream(background * speed["core"] / mean, mean, 1.0)
    return replace(s, capacity=speed["core"], topology=topology, background_network=stream)


def problem_of(s):
    model = model_of(s)
    idle = model.server_wait_s([[np.zeros(len(c)) for c in row] for row in model.candidates])
    return build_problem(model, groups_of(model), idle)


def wait_by_hand(p, s, roles, x):
    """The mean wait from the model's roles, one M/G/1 queue after the other: a second implementation."""
    load, bundle, pairs = (float(row @ x) for row in (p.network.load, p.network.bundle, p.network.pairs))
    total = 0.0
    for r in roles:
        slower = s.capacity / r.capacity
        rho = r.background_utilization + r.each * slower * load
        if rho >= 1:
            return np.inf
        together = r.both * max(0.0, 1 - r.spacing * (1 - rho))
        moment = r.background_moment_s + slower**2 * (r.each * bundle + together * pairs)
        total += r.share * moment / (2 * (1 - rho))
    return total


@given(
    seed=st.integers(0, 10_000),
    loads=st.tuples(st.floats(0.1, 3), st.floats(0.05, 0.8), st.floats(0.1, 3)),
    background=st.floats(0.0, 0.85),
    size=st.sampled_from([0.01, 0.3]),
)
@examples(25)
def test_no_point_lies_below_the_certified_bound(seed, loads, background, size):
    rng = np.random.default_rng(seed)
    s = random_system(seed, queries=2, load=float(rng.uniform(0.1, 0.6)))
    s = loaded(s, *loads, background=background, size=size)
    p = problem_of(s)
    found = solve_parametric(p, gap=1e-4)
    assert found.complete
    assert found.gap <= 1e-4 * (1 + 1e-9)
    assert p.value(found.x) == found.value_s
    roles = model_of(s).roles
    for _ in range(300):
        draw = rng.exponential(size=len(p.a0)) ** float(rng.choice([1.0, 6.0, 30.0]))
        x = draw / np.bincount(p.group, weights=draw)[p.group]
        stay = np.zeros(len(x))
        stay[p.start[:-1]] = 1.0
        x = x + float(rng.uniform(0, 1)) * (stay - x)
        value = p.value(x)
        assert value >= found.lower_bound_s * (1 - 1e-9)
        if np.isfinite(value):
            wait = wait_by_hand(p, s, roles, x)
            assert value == pytest.approx(p.constant + float(p.lines(wait) @ x), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_closes_where_core_and_cards_are_both_at_eighty_percent(seed):
    """Small background messages, so that it pays to fill links that others use to three quarters."""
    s = random_system(seed, queries=3, load=0.3, servers=24)
    s = loaded(s, core=0.3, card=0.2, uplink=0.3, background=0.77, size=1e-5)
    p = problem_of(s)
    found = solve_parametric(p, gap=1e-4)
    assert found.complete
    load = float(p.network.load @ found.x)
    busy = {r.kind: r.utilization(load) for r in model_of(s).roles}
    assert min(busy.values()) > 0.8


@pytest.mark.parametrize("seed", range(6))
def test_two_rows_agree_with_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    groups, width = 4, 5
    n = groups * width
    start = np.arange(0, n + 1, width)
    group = np.repeat(np.arange(groups), width)
    cost, a, d = rng.uniform(1, 5, n), rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    for row in (a, d):
        row[start[:-1]] = 0.0
    cost[start[:-1]] = 6.0
    alpha, delta = rng.uniform(0.2, 3, 2)
    sums = (group[None, :] == np.arange(groups)[:, None]).astype(float)
    exact = linprog(cost, np.stack([a, d]), [alpha, delta], sums, np.ones(groups), method="highs")
    found = solve_two_rows(TwoRowDual(start, group, cost, a, alpha, d, delta))
    assert found.bound == pytest.approx(exact.fun, rel=1e-9)
    again = solve_two_rows(TwoRowDual(start, group, cost, a, alpha, d, delta), guess=7.0)
    assert again.bound == pytest.approx(exact.fun, rel=1e-9)
    assert solve_two_rows(TwoRowDual(start, group, cost, a, -1.0, d, delta)).bound == np.inf


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_solvers_agree_and_beat_the_fixed_placements(seed):
    s = loaded(random_system(seed, queries=1), core=0.5, card=0.25, uplink=0.5, size=0.02)
    found = solve(s)
    model = model_of(s)
    every = solve_exhaustive(model).value_s
    assert found.formula.gap <= 2e-5
    assert found.objective_s <= every * (1 + 2e-5)
    assert found.formula.lower_bound_s <= every
    assert solve_slsqp(model).value_s >= found.formula.lower_bound_s
    for other in (local_placement(s), spread_placement(s)):
        assert found.objective_s <= other.objective_s * (1 + 1e-12)
    assert not any("core alone" in note for note in found.notes)


def test_a_slow_card_keeps_home_what_a_fast_core_would_send_away():
    q = query([0.002, 0.010, 0.009, 0.002], DIAMOND, 20.0)
    s = replace(system(q, servers=8), capacity=1e5)
    fast = solve(replace(s, topology=make_topology(8, 1e5, nic=1e5)))
    slow = solve(replace(s, topology=make_topology(8, 1e5, nic=200.0)))
    assert not fast.queries[0][0].configurations[0].is_local
    assert slow.queries[0][0].configurations[0].is_local
    assert fast.objective_s < slow.objective_s


def test_overloaded_cards_are_told_and_an_overloaded_background_is_refused():
    q = query([0.002, 0.010, 0.009, 0.002], DIAMOND, 300.0)
    s = replace(system(q, servers=8), capacity=1e6, topology=make_topology(8, 1e6, nic=100.0))
    placed = spread_placement(s)
    p = placed.prediction
    assert placed.formula is None
    assert not p.is_steady
    assert p.network_wait_s is None
    assert p.mean_s == np.inf
    assert p.network_utilization == max(link.utilization for link in p.links) > 1
    assert solve(s).prediction.network_utilization < 1
    full = replace(s, background_network=BackgroundStream(1e6 / 8, 10.0, 1.0))
    with pytest.raises(PlacementError, match="and must be less"):
        solve(full)
