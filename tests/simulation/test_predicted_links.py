"""The waits that the placement predicts per role of links, against what the simulator's links do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulation_cases import make_system, task_graph

from nona.decomposition import decompose
from nona.placement.configurations import spread_configuration
from nona.placement.model import Model
from nona.placement.prediction import LinkWait, as_model, link_waits, predict
from nona.placement.result import SubGraphPlacement
from nona.scenario.file import load_scenario
from nona.schedulers.registry import get_scheduler
from nona.simulation.records import Records
from nona.simulation.run import RunOptions, simulate_run
from nona.sources.samples import scenario_path
from nona.study.preparation import prepare
from nona.system import QueryClass, Stream, System
from nona.topology import make_topology

KINDS = {"server out": " out", "rack up": " up", "core": "core", "rack down": " down", "server in": " in"}
Point = list[list[np.ndarray]]


def forks(
    rho: float, *, servers: int = 16, core: float, nic: float, uplink: float, background: float = 0.0
) -> System:
    """Servers without work that send one tensor to three others, so that only links rule; busiest at ρ."""
    graph = task_graph([0.0] * 4, [(0, [1, 2, 3], 1.0)])
    query = QueryClass("fork", graph, decompose(graph.dag), 1.0)
    system = make_system(
        query,
        servers=range(servers),
        capacity=core,
        topology=make_topology(servers, core, nic=nic, rack_size=4, uplink=uplink),
        background_network=Stream(background * core / 0.5, 0.5, 1.0),
    )
    model, x = spread(system)
    load = model.traffic(x).load
    rate = min((rho - r.background_utilization) / (r.each * r.slower * load) for r in model.roles)
    return replace(system, queries=(replace(query, rate=rate),))


def spread(system: System) -> tuple[Model, Point]:
    placed = [
        [
            SubGraphPlacement(s, (spread_configuration(s, system.servers),), np.ones(1))
            for s in q.decomposition.subgraphs
        ]
        for q in system.queries
    ]
    return as_model(system, placed)


def runs(system: System, jobs: int, replications: int) -> list[Records]:
    policy = get_scheduler("spread")
    prepared = policy.prepare(system, None, {})
    found = [
        simulate_run(system, policy, prepared, RunOptions(jobs=jobs, replication=r, timeline_jobs=jobs))
        for r in range(replications)
    ]
    assert all(r.state == "stable" for r in found)
    return found


def busy(found: list[Records], kind: str) -> float:
    """Mean utilisation of the links of one role."""
    names = [k for k, name in enumerate(found[0].link_names) if name.endswith(KINDS[kind])]
    return float(np.mean([r.link_busy_s[names] / (r.window_s[1] - r.window_s[0]) for r in found]))


def on_the_way_s(found: list[Records]) -> np.ndarray:
    """Mean seconds of a message from request until all of it is through, for each replication."""
    return np.array([np.mean([m.end_s - m.request_s for m in r.timeline.messages]) for r in found])


def predicted_s(model: Model, waits: tuple[LinkWait, ...]) -> float:
    (candidates,) = model.candidates[0]
    return float(candidates.messages.through_s.mean()) + sum(w.share * w.wait_s for w in waits)


@pytest.mark.parametrize(
    ("speeds", "background"),
    [
        ({"core": 1e4, "nic": 1.0, "uplink": 1e4}, 0.0),  # the cards rule
        ({"core": 4.0, "nic": 100.0, "uplink": 100.0}, 0.0),  # the core rules, batches arrive whole
        ({"core": 400.0, "nic": 1.0, "uplink": 2.0}, 0.0),  # the uplinks rule
        ({"core": 8.0, "nic": 1.0, "uplink": 3.0}, 0.0),  # all together
        ({"core": 8.0, "nic": 1.0, "uplink": 3.0}, 0.2),
    ],
)
def test_messages_take_as_long_as_predicted_at_half_load(speeds: dict[str, float], background: float) -> None:
    system = forks(0.5, background=background, **speeds)
    model, x = spread(system)
    waits = link_waits(model, x)
    assert max(w.utilization for w in waits) == pytest.approx(0.5)
    found = runs(system, 5000, 4)
    for w in waits:
        assert busy(found, w.kind) == pytest.approx(w.utilization, rel=0.04, abs=2e-3)
    times, expected = on_the_way_s(found), predicted_s(model, waits)
    assert times.std(ddof=1) / 2 < 0.02 * times.mean()
    assert expected == pytest.approx(times.mean(), rel=0.06)
    least = float(model.candidates[0][0].messages.through_s.mean())
    assert expected - least == pytest.approx(times.mean() - least, rel=0.15)


def test_the_links_carry_what_the_messages_bring() -> None:
    """Busy seconds times capacity, summed over a role, are the bytes that crossed it; shares are counts."""
    system = forks(0.6, core=8.0, nic=1.0, uplink=3.0)
    model, x = spread(system)
    found = runs(system, 6000, 2)
    capacity = system.link_capacity
    for w in link_waits(model, x):
        at = [k for k, name in enumerate(system.link_names) if name.endswith(KINDS[w.kind])]
        carried = sum(float((r.link_busy_s * capacity)[at].sum()) for r in found)
        sent = sum(r.window_s[1] - r.window_s[0] for r in found) * 3.0 * system.queries[0].rate
        assert carried / sent == pytest.approx(w.share, rel=0.03)
    racks = np.arange(16) // 4
    pairs = [(m.source, m.destination) for r in found for m in r.timeline.messages]
    across = np.mean([racks[s] != racks[d] for s, d in pairs])
    (core,) = (w for w in link_waits(model, x) if w.kind == "core")
    assert across == pytest.approx(core.share, rel=0.02)


def test_links_of_the_shipped_racks_are_as_busy_as_predicted() -> None:
    scenario = load_scenario(scenario_path("racks_and_nics"))
    system = prepare(scenario).system
    policy = get_scheduler("spread")
    prepared = policy.prepare(system, None, {})
    found = [simulate_run(system, policy, prepared, RunOptions(jobs=3000, replication=r)) for r in range(2)]
    model, x = spread(system)
    prediction = predict(system, [
        [SubGraphPlacement(s, (spread_configuration(s, system.servers),), np.ones(1))
         for s in q.decomposition.subgraphs] for q in system.queries
    ])  # fmt: skip
    assert [link.name for link in prediction.links] == [w.name for w in link_waits(model, x)]
    for link in prediction.links:
        assert busy(found, link.kind) == pytest.approx(link.utilization, rel=0.05)
