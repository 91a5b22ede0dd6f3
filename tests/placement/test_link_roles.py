"""Roles of links: how often a message crosses each, against all pairs of servers, and their waits."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import query, random_system, system
from sizes import examples

from nona.placement.enumeration import candidates
from nona.placement.link_routes import crossings, draws_of, link_of, quickest_link, route_of
from nona.placement.link_waits import Curve, Traffic, roles_of, wait_per_byte
from nona.placement.messages import Candidates, Link
from nona.placement.model import Model, build_model, value_at
from nona.placement.prediction import link_waits, prediction_of, traffic_of
from nona.system import Stream, System
from nona.topology import NONE, Topology, make_topology


def drawn_topology(rng: np.random.Generator) -> Topology:
    """Racks of unequal size; some servers without a card, some racks without an uplink, mixed speeds."""
    servers = int(rng.integers(3, 8))
    rack = np.sort(rng.integers(0, 3, servers))
    names, speeds = ["core"], [float(rng.uniform(1, 9))]

    def link(name: str) -> int:
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


def pairs_of(p: np.ndarray) -> dict[tuple[int, int], float]:
    """Probability of every source and destination: half of the messages run the other way."""
    n = range(len(p))
    ahead = {(s, d): p[s] * p[d] / (1 - p[s]) for s in n for d in n if s != d}
    return {(s, d): 0.5 * (ahead[s, d] + ahead[d, s]) for s, d in ahead}


@pytest.mark.parametrize("seed", range(12))
def test_crossing_probabilities_are_those_of_all_pairs_of_servers(seed: int) -> None:
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


def spread_model(s: System) -> tuple[Model, list[list[np.ndarray]]]:
    model = build_model(s, lambda shape, link: candidates(shape, link, s.servers, 6))
    return model, [[np.full(len(c), 1 / len(c)) for c in row] for row in model.candidates]


def networked(s: System, **more: float) -> System:
    sizes = {"nic": 400.0, "rack_size": 3, "uplink": 700.0} | more
    return replace(s, topology=make_topology(s.servers, s.capacity, **sizes))  # type: ignore[arg-type]


def test_all_bytes_cross_the_links_that_they_must() -> None:
    """Conservation: what the links of all roles carry is what the messages bring, link by link of a path."""
    s = networked(random_system(3, load=0.3, servers=7))
    model, x = spread_model(s)
    sent = model.traffic(x).load * s.capacity  # bytes/s of all messages
    roles = {r.kind: [q for q in model.roles if q.kind == r.kind] for r in model.roles}
    for kind, share in (("server out", 1.0), ("server in", 1.0)):
        carried = sum(
            q.links * q.capacity * (q.utilization(model.traffic(x).load) - q.background_utilization)
            for q in roles[kind]
        )
        assert carried == pytest.approx(share * sent)
    across = [
        sum(
            q.links * q.capacity * (q.utilization(model.traffic(x).load) - q.background_utilization)
            for q in qs
        )
        for kind, qs in roles.items()
        if kind in ("rack up", "core", "rack down")
    ]
    # of 7 servers in racks of 3, 3 and 1, 6 + 6 of the 42 pairs share a rack
    assert across == pytest.approx([sent * 30 / 42] * 3)
    # the rack of one server is a role of its own
    assert [(r.name, r.links) for r in roles["rack up"]] == [("rack 0 up and 1 like it", 2), ("rack 2 up", 1)]


def test_a_topology_of_one_link_is_the_one_link() -> None:
    s = random_system(1, network=0.3)
    plain = Model(s, build_model(s, lambda shape, link: candidates(shape, link, 8, 6)).candidates)
    alone = replace(s, topology=make_topology(s.servers, s.capacity))
    assert link_of(alone) == link_of(s) == Link(s.capacity, s.latency_s)
    assert Model(alone, plain.candidates).roles == ()


def test_cards_that_never_queue_leave_the_core_of_the_one_link() -> None:
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


def test_the_mean_wait_is_that_of_the_roles_and_the_curve() -> None:
    s = networked(random_system(2, network=0.2, servers=7))
    model, x = spread_model(s)
    found, traffic, value = link_waits(model, x), traffic_of(model, x), value_at(model, x)
    assert sum(w.share * w.wait_s for w in found) == pytest.approx(value.link_wait)
    assert sum(r.share * r.wait_s(traffic) for r in model.roles) == pytest.approx(value.link_wait)
    predicted = prediction_of(model, value)
    assert [(a.name, a.utilization, a.wait_s) for a in predicted.links] == [
        (b.name, pytest.approx(b.utilization), pytest.approx(b.wait_s)) for b in found
    ]
    assert predicted.network_utilization == max(w.utilization for w in found)
    assert all(w.square_s2 >= w.wait_s**2 for w in found)


def test_second_moment_of_the_wait_is_that_of_mm1() -> None:
    """Exponential background alone: P(W > t) = ρ·e^(−(1−ρ)t/s), so E[W²] = 2ρs²/(1−ρ)²."""
    one = query([0.0, 0.0, 0.0, 0.0], [(0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0)], 1e-9)
    s = networked(system(one, network=Stream(100.0, 4.0, 1.0)))
    model, x = spread_model(s)
    for w in link_waits(model, x):
        size = 4.0 / w.capacity
        assert w.utilization == pytest.approx(0.4)
        assert w.wait_s == pytest.approx(0.4 * size / 0.6, rel=1e-6)
        assert w.square_s2 == pytest.approx(2 * 0.4 * size**2 / 0.36, rel=1e-6)


@given(seed=st.integers(0, 10_000), load=st.floats(0.0, 0.9), more=st.floats(0.0, 0.09))
@examples(40)
def test_curves_are_convex_increasing_and_end_where_a_role_is_full(
    seed: int, load: float, more: float
) -> None:
    rng = np.random.default_rng(seed)
    s = random_system(1, servers=6, network=float(rng.uniform(0, 0.8)), capacity=1.0)
    t = make_topology(6, 1.0, *rng.uniform(0.05, 2.0, 1), rack_size=4, uplink=float(rng.uniform(0.1, 3)))
    roles = roles_of(replace(s, topology=t))
    curve = Curve.of(roles)
    a, b = load * curve.full_load, min(load + more, 0.99) * curve.full_load
    for low, middle, high in zip(curve.at(a), curve.at((a + b) / 2), curve.at(b), strict=True):
        assert low <= middle * (1 + 1e-12) <= high * (1 + 1e-12) + 1e-300
        assert 2 * middle <= (low + high) * (1 + 1e-9)
    for start, slope, end in zip(curve.at(a), curve.slopes(a), curve.at(b), strict=True):
        assert start + slope * (b - a) <= end * (1 + 1e-9) + 1e-300
    assert curve.wait(curve.full_load * 1.0001, 0.0, 0.0) == np.inf
    traffic = Traffic(a, 0.3 * a, 0.5 * a)
    wait = curve.wait(a, 0.3 * a, 0.2 * a)
    assert sum(r.share * r.wait_s(traffic) for r in roles) == pytest.approx(wait, rel=1e-9)


def test_price_of_a_byte_is_what_a_little_more_traffic_costs() -> None:
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


def test_bundles_and_batches() -> None:
    """Two tensors to one server, one of them also to another: a bundle of both, a batch of all three."""
    q = query(
        [0.0, 1.0, 1.0, 0.0],
        [(0, 1, 3.0, "a"), (0, 1, 2.0, "b"), (0, 2, 3.0, "a"), (1, 3, 1.0), (2, 3, 1.0)],
        1.0,
    )
    s = networked(system(q, capacity=1.0), nic=1.0, uplink=1.0)
    model = build_model(s, lambda shape, link: Candidates(shape, np.array([[1, 2, 0]]), link))
    m = model.candidates[0][0].messages
    assert m.load_s.tolist() == [10.0]
    assert m.square_s2.tolist() == [64.0 + 1 + 1]
    assert m.bundle_s2.tolist() == [25.0 + 9.0 + 1 + 1]


def test_draws_follow_the_shares_of_the_executor_classes() -> None:
    s = random_system(0, classes=2, servers=4)
    assert draws_of(s).tolist() == [0.25] * 4
    only = draws_of(s, np.array([[1.0, 0.0]] * len(s.queries)))
    assert only.tolist() == [0.5, 0.0, 0.5, 0.0]
    one_server = replace(s, executor_class=np.array([0, 1, 1, 1]))
    assert draws_of(one_server, np.array([[1.0, 0.0]] * len(s.queries))).tolist() == [0.25] * 4


@pytest.mark.parametrize("seed", range(6))
def test_no_two_servers_have_a_quicker_route_than_the_quickest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = drawn_topology(rng)
    core = float(t.link_capacity[t.core])
    s = replace(random_system(0, servers=t.servers, capacity=core), topology=t)
    quickest = quickest_link(s, link_of(s)).route
    assert quickest is not None
    pairs = [(a, b) for a in range(t.servers) for b in range(t.servers) if a != b]
    own = [1 / min(t.link_capacity[list(t.path(a, b))]) for a, b in pairs if t.path(a, b)]
    assert quickest.own <= min(own) * (1 + 1e-12)
    for p in (np.full(t.servers, 1 / t.servers), rng.dirichlet(np.ones(t.servers))):
        drawn = route_of(t, p)
        assert quickest.own <= drawn.own * (1 + 1e-12)
        assert quickest.queued <= drawn.queued * (1 + 1e-12)
